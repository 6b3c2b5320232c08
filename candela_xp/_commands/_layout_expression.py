"""Expressions such as ``zeros((4, 6))[1:, ::-1].T``, parsed and carried out node by node, never by `eval`.

`evaluate` knows the functions, attributes and literals listed here and nothing else; whatever it does not know
is an `ExpressionError` that shows the place. Sizes and depth are bounded before anything is allocated, so that
no text can exhaust memory or time.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import candela_xp as xp
from candela_xp._array import NDArray
from candela_xp._dtypes import DTYPES

MAX_CHARACTERS = 1000
MAX_DEPTH = 64
MAX_ELEMENTS = 10**6
MAX_SLICES = 4096  # of unstack, which makes one array object for each
_SHOWN = 100  # characters of the expression that an error shows around the place

_PREFIXES = ("xp.", "candela_xp.")

# function -> what its arguments are, by name and in order
_Kinds = dict[str, str]
_CREATION: dict[str, _Kinds] = {
    "zeros": {"shape": "shape", "dtype": "dtype"},
    "ones": {"shape": "shape", "dtype": "dtype"},
    "empty": {"shape": "shape", "dtype": "dtype"},
    "full": {"shape": "shape", "fill_value": "number", "dtype": "dtype"},
    "arange": {"start": "number", "stop": "number", "step": "number", "dtype": "dtype"},
    "eye": {"n_rows": "integer", "n_cols": "integer", "k": "integer", "dtype": "dtype"},
}
_VIEWS: dict[str, _Kinds] = {
    "permute_dims": {"x": "array", "axes": "axes"},
    "matrix_transpose": {"x": "array"},
    "moveaxis": {"x": "array", "source": "axes", "destination": "axes"},
    "expand_dims": {"x": "array", "axis": "axes"},
    "squeeze": {"x": "array", "axis": "axes"},
    "flip": {"x": "array", "axis": "axes"},
    "broadcast_to": {"x": "array", "shape": "shape"},
    "reshape": {"x": "array", "shape": "shape"},
    "real": {"x": "array"},
    "imag": {"x": "array"},
    "unstack": {"x": "array", "axis": "integer"},
    "linalg.diagonal": {"x": "array", "offset": "integer"},
}
FUNCTIONS = _CREATION | _VIEWS
ATTRIBUTES = ("T", "mT")

ALLOWED = (
    f"allowed are {', '.join(_CREATION)} of literal numbers and tuples, with dtype= by name; "
    f"{', '.join(_VIEWS)}; {' and '.join('.' + name for name in ATTRIBUTES)}; "
    "and indices of integers, slices, None and ..."
)


class ExpressionError(ValueError):
    """An expression that `evaluate` does not carry out.

    Attributes
    ----------
    problem : str
        What is wrong, in one line.
    expression : str
        The whole expression.
    start, stop : int
        The characters of it that are meant.
    """

    def __init__(self, problem: str, expression: str, start: int, stop: int) -> None:
        self.problem = problem
        self.expression = expression
        self.start = max(0, min(start, len(expression)))
        self.stop = max(self.start + 1, min(stop, len(expression)))
        super().__init__(f"{problem}\n{self.excerpt()}\n{textwrap.fill(ALLOWED, 78)}")

    def excerpt(self) -> str:
        """The part of the expression around the place, with carets under it."""
        first = max(0, self.start - _SHOWN // 2)
        last = min(len(self.expression), first + _SHOWN)
        shown = "".join(c if c.isprintable() else "�" for c in self.expression[first:last])
        before, after = "..." if first else "", "..." if last < len(self.expression) else ""
        carets = "^" * max(1, min(self.stop, last) - self.start)
        return f"  {before}{shown}{after}\n  {' ' * (len(before) + self.start - first)}{carets}"


class Evaluated(NamedTuple):
    """The array that an expression gives, and how it came about.

    ``root_shape`` is the shape of the dense array that filled the buffer, in elements of the result's dtype;
    ``notes`` tell of steps that a reader may want to know about.
    """

    array: NDArray
    root_shape: tuple[int, ...]
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """Elements that the buffer holds."""
        return self.array._memory.nbytes // self.array.itemsize


class _Slices(NamedTuple):
    """What unstack gave: several arrays over one buffer."""

    arrays: tuple[NDArray, ...]
    origin: Evaluated


def evaluate(expression: str) -> Evaluated:
    """Carry out an expression.

    Parameters
    ----------
    expression
        Text, one expression of at most ``MAX_CHARACTERS`` characters.

    Returns
    -------
    Evaluated
        The array, never larger than ``MAX_ELEMENTS`` elements.

    Raises
    ------
    ExpressionError
        Whatever else the text holds; no other exception leaves this function.
    """
    text = re.sub(r"\s", " ", expression).strip()
    if len(text) > MAX_CHARACTERS:
        problem = f"the expression has {len(text)} characters; {MAX_CHARACTERS} are possible"
        raise ExpressionError(problem, text, MAX_CHARACTERS, len(text))
    with warnings.catch_warnings():
        # The parser warns of odd literals, kernels of values that overflow; neither matters to a layout.
        warnings.simplefilter("ignore")
        evaluator = _Evaluator(text)
        result = evaluator.array(evaluator.parsed(), 0)
    return result


class _Evaluator:
    """One expression on its way; every method takes the node and its depth."""

    def __init__(self, text: str) -> None:
        self.text = text

    # -- places and problems -----------------------------------------------------------------------

    def _problem(self, node: ast.expr | ast.keyword, problem: str) -> ExpressionError:
        """An error at a node; the parser counts bytes, the reader characters."""
        raw = self.text.encode()
        start = len(raw[: node.col_offset].decode(errors="ignore"))
        stop = len(raw[: node.end_col_offset].decode(errors="ignore"))
        return ExpressionError(problem, self.text, start, stop)

    def _at_end(self, node: ast.Attribute, problem: str) -> ExpressionError:
        """An error at the name of an attribute, which is where its node ends."""
        whole = self._problem(node, problem)
        return ExpressionError(problem, self.text, max(whole.start, whole.stop - len(node.attr)), whole.stop)

    def parsed(self) -> ast.expr:
        """The expression as a tree."""
        if not self.text:
            raise ExpressionError("the expression is empty", self.text, 0, 1)
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            start = (error.offset or 1) - 1
            stop = (error.end_offset or 0) - 1
            raise ExpressionError(f"not an expression: {error.msg}", self.text, start, stop) from None
        except (ValueError, OverflowError) as error:  # null bytes, lone surrogates, numbers of too many digits
            raise ExpressionError(f"not an expression: {error}", self.text, 0, len(self.text)) from None
        except (RecursionError, MemoryError):
            raise ExpressionError("the expression is nested too deeply", self.text, 0, len(self.text)) from None

    # -- arrays --------------------------------------------------------------------------------------

    def array(self, node: ast.expr, depth: int) -> Evaluated:
        """A node that must give one array."""
        found = self._value(node, depth)
        if isinstance(found, _Slices):
            raise self._problem(node, f"unstack gives {len(found.arrays)} arrays; take one of them by [i]")
        return found

    def _value(self, node: ast.expr, depth: int) -> Evaluated | _Slices:
        if depth > MAX_DEPTH:
            raise self._problem(node, f"the expression is nested more than {MAX_DEPTH} deep")
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.Name):
            known = "is a function; call it" if node.id in FUNCTIONS else "is unknown"
            raise self._problem(node, f"the name {node.id!r} {known}")
        raise self._problem(node, f"{_named(node)} cannot stand here")

    def _attribute(self, node: ast.Attribute, depth: int) -> Evaluated:
        if node.attr not in ATTRIBUTES:
            name = _function_name(node)
            known = "is a function; call it" if name in FUNCTIONS else "is not allowed"
            raise self._at_end(node, f"the attribute {node.attr!r} {known}")
        origin = self.array(node.value, depth + 1)
        return self._derived(node, origin, lambda: getattr(origin.array, node.attr))

    def _subscript(self, node: ast.Subscript, depth: int) -> Evaluated:
        origin = self._value(node.value, depth + 1)
        if isinstance(origin, _Slices):
            place = self._integer(node.slice)
            if not -len(origin.arrays) <= place < len(origin.arrays):
                raise self._problem(node.slice, f"index {place} is out of range for {len(origin.arrays)} arrays")
            return origin.origin._replace(array=origin.arrays[place])
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        key = tuple([self._key_part(part) for part in parts])
        array = origin.array
        return self._derived(node.slice, origin, lambda: array[key])

    def _key_part(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*[None if bound is None else self._optional_integer(bound) for bound in bounds])
        if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis):
            return node.value
        return self._integer(node)

    def _call(self, node: ast.Call, depth: int) -> Evaluated | _Slices:
        name = _function_name(node.func)
        kinds = FUNCTIONS.get(name or "")
        if name is None or kinds is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr in ATTRIBUTES:
                raise self._at_end(node.func, f"{node.func.attr!r} is an attribute; it is not called")
            raise self._problem(node.func, f"{_named(node.func)} is not a function that can be called here")
        positional, keywords = self._arguments(name, node, kinds, depth)
        self._check_size(name, node, positional, keywords)
        function: Callable[..., Any] = xp.linalg.diagonal if name == "linalg.diagonal" else getattr(xp, name)
        origins = [value for value in (*positional, *keywords.values()) if isinstance(value, Evaluated)]
        plain = [value.array if isinstance(value, Evaluated) else value for value in positional]
        named = {key: value.array if isinstance(value, Evaluated) else value for key, value in keywords.items()}

        def run() -> Any:
            return function(*plain, **named)

        if name == "unstack":
            return self._unstacked(node, origins, plain, named, run)
        if name in _CREATION:
            made = self._run(node, run)
            return Evaluated(made, made.shape)
        if not origins:  # the array is missing: the function says so
            self._run(node, run)
            raise self._problem(node, f"{name} needs an array")
        return self._derived(node, origins[0], run, reshape=name == "reshape")

    def _unstacked(
        self, node: ast.Call, origins: list[Evaluated], plain: list[Any], named: dict[str, Any], run: Callable[[], Any]
    ) -> _Slices:
        if origins:
            longest = max(origins[0].array.shape, default=0)
            if longest > MAX_SLICES:
                raise self._problem(node, f"unstack of an axis of length {longest}; {MAX_SLICES} arrays are possible")
        arrays = self._run(node, run)
        return _Slices(arrays, origins[0])

    def _derived(
        self, node: ast.expr, origin: Evaluated, run: Callable[[], Any], *, reshape: bool = False
    ) -> Evaluated:
        """An array made of another one: a view of its buffer, but where reshape had to copy."""
        array = self._run(node, run)
        notes = origin.notes
        if array._memory is not origin.array._memory:
            if reshape:
                layout = origin.array.layout
                notes += (
                    f"reshape to {array.shape} is a copy: no strides express it "
                    f"over shape {layout.shape}, stride {layout.stride}",
                )
            return Evaluated(array, array.shape, notes)
        if reshape:
            notes += (f"reshape to {array.shape} is a view",)
        root = origin.root_shape
        parts = origin.array.itemsize // array.itemsize
        if parts > 1:  # a component of complex elements
            root = (*root[:-1], root[-1] * parts) if root else (parts,)
        return Evaluated(array, root, notes)

    def _run(self, node: ast.expr, run: Callable[[], Any]) -> Any:
        """Call the library; what it refuses is an error at this node."""
        try:
            result = run()
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            raise self._problem(node, str(error)) from None
        if isinstance(result, NDArray) and result.size > MAX_ELEMENTS:
            raise self._problem(node, _too_large(result.size))
        return result

    # -- arguments ------------------------------------------------------------------------------------

    def _arguments(self, name: str, node: ast.Call, kinds: _Kinds, depth: int) -> tuple[list[Any], dict[str, Any]]:
        if len(node.args) > len(kinds):
            extra = node.args[len(kinds)]
            raise self._problem(extra, f"{name} takes {len(kinds)} arguments: {', '.join(kinds)}")
        positional = [self._argument(part, kind, depth) for part, kind in zip(node.args, kinds.values())]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in kinds:
                raise self._problem(keyword, f"{name} takes the arguments {', '.join(kinds)}")
            keywords[keyword.arg] = self._argument(keyword.value, kinds[keyword.arg], depth)
        return positional, keywords

    def _argument(self, node: ast.expr, kind: str, depth: int) -> Any:
        if kind == "array":
            return self.array(node, depth + 1)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if kind == "dtype":
            return self._dtype(node)
        if kind == "number":
            return self._number(node)
        if kind == "integer":
            return self._integer(node)
        found = self._integers(node)
        if kind == "shape":
            extents = found if isinstance(found, tuple) else (found,)
            self._check_elements(node, math.prod(abs(extent) for extent in extents))
        return found

    def _dtype(self, node: ast.expr) -> Any:
        name = _function_name(node)
        if name is None or name not in DTYPES:
            raise self._problem(node, f"{_named(node)} is no dtype; there are {', '.join(DTYPES)}")
        return DTYPES[name]

    def _integers(self, node: ast.expr) -> int | tuple[int, ...]:
        if isinstance(node, ast.Tuple):
            return tuple([self._integer(part) for part in node.elts])
        return self._integer(node)

    def _optional_integer(self, node: ast.expr) -> int | None:
        return None if isinstance(node, ast.Constant) and node.value is None else self._integer(node)

    def _integer(self, node: ast.expr) -> int:
        value = self._literal(node)
        if type(value) is not int:
            raise self._problem(node, f"{_named(node)} is no literal integer")
        return value

    def _number(self, node: ast.expr) -> bool | int | float | complex:
        value = self._literal(node)
        if not isinstance(value, bool | int | float | complex):
            raise self._problem(node, f"{_named(node)} is no literal number")
        return value

    def _literal(self, node: ast.expr) -> Any:
        """A constant with at most one sign; other nodes give None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = node.operand.value if isinstance(node.operand, ast.Constant) else None
            if type(operand) in (int, float, complex):
                return -operand if isinstance(node.op, ast.USub) else operand  # type: ignore[operator]  # just checked
            return None
        return node.value if isinstance(node, ast.Constant) else None

    # -- bounds ---------------------------------------------------------------------------------------

    def _check_elements(self, node: ast.expr, count: float) -> None:
        if count > MAX_ELEMENTS:
            raise self._problem(node, _too_large(count))

    def _check_size(self, name: str, node: ast.Call, positional: list[Any], keywords: dict[str, Any]) -> None:
        """Refuse arange and eye where they would be too large; shapes were checked when they were read."""
        if name in ("arange", "eye"):
            given = dict(zip(FUNCTIONS[name], positional)) | keywords
            count = _arange_size(given) if name == "arange" else _eye_size(given)
            self._check_elements(node, count)


def _arange_size(given: dict[str, Any]) -> float:
    """How many elements arange makes, 0 where it refuses the arguments itself."""
    start, stop, step = given.get("start"), given.get("stop"), given.get("step", 1)
    if stop is None:
        start, stop = 0, start
    if not (
        isinstance(start, int | float) and isinstance(stop, int | float) and isinstance(step, int | float) and step
    ):
        return 0
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return -(-(stop - start) // step)
    try:
        count = (stop - start) / step
    except OverflowError:  # an integer beyond the floats
        return math.inf
    return math.ceil(count) if math.isfinite(count) else math.inf


def _eye_size(given: dict[str, Any]) -> int:
    """How many elements eye makes, 0 where it refuses the arguments itself."""
    rows = given.get("n_rows")
    columns = given.get("n_cols")
    columns = rows if columns is None else columns
    return rows * columns if isinstance(rows, int) and isinstance(columns, int) else 0


def _too_large(count: float) -> str:
    shown = f"{count} elements" if isinstance(count, int) and count < 10**15 else "more elements than can be counted"
    return f"{shown}; {MAX_ELEMENTS} are possible"


def _function_name(node: ast.expr) -> str | None:
    """The dotted name that a node spells, without the namespace in front; None where it is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    name = ".".join([node.id, *reversed(parts)])
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


_NODE_NAMES: Sequence[tuple[type[ast.expr], str]] = (
    (ast.Lambda, "a lambda"),
    (ast.ListComp, "a comprehension"),
    (ast.SetComp, "a comprehension"),
    (ast.DictComp, "a comprehension"),
    (ast.GeneratorExp, "a comprehension"),
    (ast.BinOp, "a computation"),
    (ast.BoolOp, "a computation"),
    (ast.UnaryOp, "a computation"),
    (ast.Compare, "a comparison"),
    (ast.IfExp, "a condition"),
    (ast.NamedExpr, "an assignment"),
    (ast.JoinedStr, "an f-string"),
    (ast.Starred, "a starred argument"),
    (ast.Slice, "a slice"),
    (ast.Tuple, "a tuple"),
    (ast.List, "a list"),
    (ast.Dict, "a dict"),
    (ast.Set, "a set"),
    (ast.Call, "a call"),
    (ast.Subscript, "a subscript"),
    (ast.Attribute, "an attribute"),
)


def _named(node: ast.expr) -> str:
    """What a reader calls a node."""
    if isinstance(node, ast.Constant):
        text = repr(node.value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    name = _function_name(node)
    if name is not None:
        return repr(name)
    for kind, words in _NODE_NAMES:
        if isinstance(node, kind):
            return words
    return f"a {type(node).__name__}"
