"""The vocabulary in which rules say what they watch for: tests of one argument, and relations between several.

A condition reads ``subject: test`` (``key: mask``, ``x: not 0-d``), where the subject is the name of an argument, *any*
argument or *all arrays*; or it is the name of a relation (``the shape grows``). All conditions of a rule hold at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from linecache import getline
from math import prod
from sys import getrefcount
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from candela_xp._array import NDArray
from candela_xp._audit._events import REFLECTED
from candela_xp._audit._origins import Origins, overlap
from candela_xp._audit._readers import may_be_read
from candela_xp._audit._sites import calls
from candela_xp._creation import asarray
from candela_xp._dtypes import DTYPES, DType
from candela_xp._layout import broadcast_shapes
from candela_xp._manipulation import reshape

ABSENT = object()
NumPyArray = np.ndarray[Any, Any]
_PLACES = {"first": 0, "second": 1}
_WIDE = ("float64", "int64", "uint64", "complex128")
_INDICES = ("int32", "int64", "uint8")  # dtypes of indices that torch takes
_FEW = 16  # elements of a sequence that are looked at


class Use:
    """One use of the library, as a rule looks at it.

    Parameters
    ----------
    event
        The function, operator or attribute.
    parameters
        What its arguments are called: as the documentation does, for operators ``x`` and ``other``, for keys ``key``
        and ``value``.
    args, kwargs
        The arguments.
    frame
        The user's frame.
    origins
        Where arrays came from.
    held
        How many variables and containers hold ``x``, as far as reference counts tell; 0 is a temporary.
    through_numpy
        The file of the NumPy function that called, if one did.
    converted_at
        Where a number was last taken out of an array: code and line.
    """

    def __init__(
        self,
        event: str,
        parameters: Sequence[str],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        frame: FrameType,
        origins: Origins,
        held: int = 0,
        through_numpy: str = "",
        converted_at: tuple[Any, int] | None = None,
    ) -> None:
        self.event = event
        self.frame = frame
        self.origins = origins
        self.held = held
        self.through_numpy = through_numpy
        self.converted_at = converted_at
        self.args = args
        self.kwargs = kwargs
        self._parameters = parameters

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name."""
        return {**dict(zip(self._parameters, self.args)), **self.kwargs}

    def subject(self, name: str) -> list[Any]:
        """The values that a condition is about."""
        if name == "any":
            return list(self.arguments.values())
        if name in _PLACES:
            return list(self.arguments.values())[_PLACES[name] : _PLACES[name] + 1]
        return [self.value(name)]

    @cached_property
    def aliases(self) -> frozenset[str]:
        """By which uses another living array shows the memory of x."""
        return _aliases(self)

    def value(self, name: str) -> Any:
        """The argument of that name, or `ABSENT`."""
        return self.arguments.get(name, ABSENT)

    @property
    def arrays(self) -> list[NDArray]:
        """The arguments that are arrays, those in sequences too."""
        found: list[NDArray] = []
        for value in self.arguments.values():
            found += [
                each for each in (value[:_FEW] if isinstance(value, list | tuple) else (value,)) if is_array(each)
            ]
        return found


# -- one value ------------------------------------------------------------------------------------


def is_array(value: Any) -> bool:
    """Whether a value is an array of ours."""
    return type(value) is NDArray


def _kind(*kinds: str) -> Callable[[Any], bool]:
    return lambda value: is_array(value) and value._dtype.kind in kinds


def _dtype(*names: str) -> Callable[[Any], bool]:
    return lambda value: is_array(value) and value._dtype.name in names


def _axes(value: Any) -> int:
    return len(value.shape) if is_array(value) else -1


def _limits(value: NDArray) -> np.iinfo[Any] | None:
    return np.iinfo(value._dtype.dtype) if value._dtype.kind in ("int", "uint") else None


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _is_integer(part: Any) -> bool:
    return (isinstance(part, int | np.integer) and not isinstance(part, bool)) or (
        is_array(part) and part._dtype.kind in ("int", "uint") and not part.shape
    )


def _is_indices(part: Any) -> bool:
    return is_array(part) and part._dtype.kind in ("int", "uint") and bool(part.shape)


def _is_mask(part: Any) -> bool:
    return is_array(part) and part._dtype.kind == "bool"


def _any_part(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda key: any(map(test, _parts(key)))


def _all_parts(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda key: all(map(test, _parts(key)))


def _reversed(part: Any) -> bool:
    return isinstance(part, slice) and _is_integer(part.step) and part.step < 0


def _numbers(value: Any) -> list[Any]:
    """What asarray is given: the numbers themselves, out of nested sequences; the first few are enough."""
    while isinstance(value, list | tuple):
        if any(type(each) is float for each in value[:_FEW]):
            return [0.0]
        if not value:
            return []
        value = value[0]
    return [value]


TESTS: dict[str, Callable[[Any], bool]] = {
    "array": is_array,
    "given": lambda value: value is not ABSENT and value is not None,
    "present": lambda value: value is not ABSENT,
    "nothing": lambda value: type(value) is int and value == 0,  # xp.empty(0) asks for a namespace or a device
    "an empty text": lambda value: value == "",
    "None": lambda value: value is None,
    "0-d": lambda value: _axes(value) == 0,
    "1-d": lambda value: _axes(value) == 1,
    "2-d": lambda value: _axes(value) == 2,
    "of axes": lambda value: _axes(value) > 0,
    "of several axes": lambda value: _axes(value) > 1,
    "boolean": _kind("bool"),
    "integer": _kind("int", "uint"),
    "unsigned": _kind("uint"),
    "signed": _kind("int"),
    "floating": _kind("float"),
    "complex": _kind("complex"),
    "real": _kind("bool", "int", "uint", "float"),
    "numeric": _kind("int", "uint", "float", "complex"),
    "wide unsigned": _dtype("uint16", "uint32", "uint64"),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, float) and not isinstance(value, np.generic),
    "scalar": lambda value: isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic),
    "str": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, list),
    "sequence": lambda value: isinstance(value, list | tuple),
    "NumPy scalar": lambda value: isinstance(value, np.generic),
    "NumPy float64": lambda value: type(value) is np.float64,
    "NumPy array": lambda value: isinstance(value, np.ndarray),
    "False": lambda value: value is False,
    "True": lambda value: value is True,
    "negative": lambda value: isinstance(value, int) and value < 0,
    "empty": lambda value: is_array(value) and 0 in value.shape,
    "64-bit dtype": lambda value: isinstance(value, DType) and value.name in _WIDE,
    "real dtype": lambda value: isinstance(value, DType) and value.kind not in ("bool", "complex"),
    "integer dtype": lambda value: isinstance(value, DType) and value.kind in ("int", "uint"),
    "unsigned dtype": lambda value: isinstance(value, DType) and value.kind == "uint",
    "floats": lambda value: any(type(each) is float for each in _numbers(value)),  # NumPy's keep their dtype
    "ints": lambda value: all(isinstance(each, int) and not isinstance(each, bool) for each in _numbers(value)),
    "sequence of arrays": lambda value: isinstance(value, list | tuple) and any(map(is_array, value[:_FEW])),
    "with a negative one": lambda value: isinstance(value, tuple) and any(isinstance(n, int) and n < 0 for n in value),
    # keys
    "integers": _all_parts(_is_integer),
    "with an integer": _any_part(_is_integer),
    "elements": _all_parts(lambda part: _is_integer(part) or part is Ellipsis),
    "view": _all_parts(lambda part: _is_integer(part) or part is None or part is Ellipsis or isinstance(part, slice)),
    "one array of indices": lambda key: _is_indices(key),
    "arrays of indices": lambda key: isinstance(key, tuple) and len(key) > 1 and all(
        _is_indices(part) or _is_integer(part) for part in key
    ) and sum(map(_is_indices, key)) > 1,
    "indices beside slices": lambda key: isinstance(key, tuple)
    and any(map(_is_indices, key))
    and any(isinstance(part, slice) for part in key),
    "with indices": _any_part(_is_indices),
    "mask": _is_mask,
    "mask of one axis": lambda key: _is_mask(key) and len(key.shape) == 1,
    "mask of several axes": lambda key: _is_mask(key) and len(key.shape) > 1,
    "mask beside others": lambda key: isinstance(key, tuple) and len(key) > 1 and any(map(_is_mask, key)),
    "with mask": _any_part(_is_mask),
    "reversed": _any_part(_reversed),
    "with small indices": _any_part(lambda part: _is_indices(part) and part._dtype.name not in _INDICES),
    "with bytes": _any_part(lambda part: _is_indices(part) and part._dtype.name == "uint8"),
}  # fmt: skip
TESTS |= {name: _dtype(name) for name in DTYPES if name != "bool"}


# -- relations ---------------------------------------------------------------------------------------


def _two(use: Use) -> tuple[NDArray, NDArray] | None:
    found = use.arrays
    return (found[0], found[1]) if len(found) == 2 else None


def _bare_wider(use: Use) -> bool:
    """An array without axes is of a wider dtype of the same kind than the one with axes."""
    two = _two(use)
    if two is None or bool(two[0].shape) == bool(two[1].shape):
        return False
    bare, other = sorted(two, key=lambda array: len(array.shape))
    groups = {"uint": "int"}
    kinds = {groups.get(array._dtype.kind, array._dtype.kind) for array in two}
    return len(kinds) == 1 and bare._dtype.bits > other._dtype.bits


def _kinds(*pairs: set[str]) -> Callable[[Use], bool]:
    def test(use: Use) -> bool:
        kinds = {array._dtype.kind for array in use.arrays}
        return any(len(kinds & pair) == 2 for pair in pairs)

    return test


def _mixed(use: Use) -> bool:
    """Integers that float32 can't hold, and single precision."""
    names = {array._dtype.name for array in use.arrays}
    return bool(names & {"int32", "int64", "uint32", "uint64"}) and bool(names & {"float32", "complex64"})


def _mixed_signs(use: Use) -> bool:
    names = {array._dtype.name for array in use.arrays}
    kinds = {array._dtype.kind for array in use.arrays}
    return kinds == {"int", "uint"} and bool(names & {"uint16", "uint32", "uint64"})


def _outside(array: Any, value: Any) -> bool:
    limits = _limits(array) if is_array(array) else None
    return limits is not None and type(value) is int and not limits.min <= value <= limits.max


def _grows(use: Use) -> bool:
    x, other = use.arguments["x"], use.arguments["other"]
    return is_array(other) and broadcast_shapes([x.shape, other.shape]) not in (None, x.shape)


def _promotes(use: Use) -> bool:
    x, other = use.arguments["x"], use.arguments["other"]
    kind, bits = x._dtype.kind, x._dtype.bits
    return is_array(other) and other._dtype.kind == kind and other._dtype.bits > bits


def _past_end(use: Use) -> bool:
    x, key = use.arguments["x"], use.arguments["key"]
    shape = x.shape
    if type(key) is int:
        return not -shape[0] <= key < shape[0]
    # An array without axes is left out: it would have to be computed.
    return any(isinstance(part, int) and not -n <= part < n for part, n in _by_axis(x, key))


def _slice_past_end(use: Use) -> bool:
    x, key = use.arguments["x"], use.arguments["key"]
    return any(
        isinstance(part, slice) and any(_is_integer(end) and not -n <= end <= n for end in (part.start, part.stop))
        for part, n in _by_axis(x, key)
    )


def _by_axis(x: NDArray, key: Any) -> list[tuple[Any, int]]:
    """The integers and slices of a key, each with the extent of its axis; nothing where masks shift the axes."""
    shape, named = x.shape, [part for part in _parts(key) if part is not None]
    for before, part in enumerate(named):
        if part is Ellipsis:
            after = named[before + 1 :]
            return [*zip(named[:before], shape), *zip(after, shape[len(shape) - len(after) :])]
        if _is_mask(part):
            return []
    return list(zip(named, shape))


def _too_few(use: Use) -> bool:
    parts = _parts(use.arguments["key"])
    if any(part is Ellipsis or _is_mask(part) or isinstance(part, list | np.ndarray) for part in parts):
        return False
    return sum(part is not None for part in parts) < len(use.arguments["x"].shape)


def _value_for_each(use: Use) -> bool:
    """Whether what is written has the axis that the mask makes, with more than one value along it."""
    x, key, value = (use.arguments[name] for name in ("x", "key", "value"))
    return len(value.shape) == len(x.shape) - len(key.shape) + 1 and value.shape[0] > 1


def _fewer_axes(use: Use) -> bool:
    value, x = use.arguments["value"], use.arguments["x"]
    parts = _parts(use.arguments["key"])
    left = len(x.shape) - sum(map(_is_integer, parts))
    return is_array(value) and all(isinstance(p, slice) or p is Ellipsis or _is_integer(p) for p in parts) and (
        0 < len(value.shape) < left
    )  # fmt: skip


def _regroups(use: Use) -> bool:
    """A reshape that neither only splits nor only merges axes."""
    x, shape = use.value("x"), use.value("shape")
    if not is_array(x) or not isinstance(shape, tuple) or 0 in x.shape:
        return False
    size = prod(x.shape)
    known = prod(n for n in shape if n != -1) or 1
    new = [n if n != -1 else size // known for n in shape]
    return not _refines(list(x.shape), new) and not _refines(new, list(x.shape))


def _refines(fine: list[int], coarse: list[int]) -> bool:
    """Whether each of the coarse extents is the product of a run of the fine ones."""
    left = [n for n in fine if n != 1]
    for n in coarse:
        run = 1
        while run < n and left:
            run *= left.pop(0)
        if run != n:
            return False
    return True


def _overlaps_target(use: Use) -> bool:
    """The value shares memory with what is written, without being just that: x[1:] += 1 writes a view upon itself."""
    x, key, value = (use.arguments[name] for name in ("x", "key", "value"))
    if not is_array(value) or x._buffer is not value._buffer or x._buffer is None:
        return False
    target = x[key]
    return target._buffer is x._buffer and target.layout != value.layout and overlap(target, value)


def _line(use: Use) -> str:
    """The line of source, if it can be read."""
    return getline(use.frame.f_code.co_filename, use.frame.f_lineno)


def _needs_copy(use: Use) -> bool:
    """Whether the function refuses the call, which asks for no copy, for want of one."""
    function: Callable[..., Any] = reshape if use.event == "reshape" else asarray
    try:
        function(*use.args, **use.kwargs)
    except ValueError:
        return True
    return False


RELATIONS: dict[str, Callable[[Use], bool]] = {
    "the 0-d one is wider": _bare_wider,
    "in a while": lambda use: _line(use).lstrip().startswith("while "),
    "another extent": lambda use: re.search(r"\.shape\[(?!0\])", _line(use)) is not None,
    "to several axes": lambda use: isinstance(use.value("shape"), tuple) and len(use.value("shape")) > 1,
    "asked by name": lambda use: calls(use.frame),
    "guarded": lambda use: use.origins.guards.asked(use.frame, use.event.removeprefix(".")),
    "wide integers and float32": _mixed,
    "booleans and numbers": _kinds(*({"bool", kind} for kind in ("int", "uint", "float", "complex"))),
    "signed and unsigned": _mixed_signs,
    "the dtypes differ": lambda use: len({array._dtype.name for array in use.arrays}) > 1,
    "all integers": lambda use: all(a._dtype.kind in ("int", "uint") for a in use.arrays),
    "the text names the dtype": lambda use: use.value("x").dtype == np.dtype(use.value("other")),
    "some of 64 bits": lambda use: any(array._dtype.bits == 64 for array in use.arrays),
    "the dtype would grow": _promotes,
    "fewer indices than axes": _too_few,
    "fewer axes than the target": _fewer_axes,
    "by position": lambda use: len(use.args) > 1,
    "reflected": lambda use: use.event in REFLECTED,
    "through NumPy": lambda use: bool(use.through_numpy),
    "through numpy.testing": lambda use: "testing" in use.through_numpy,
    "one axis less": lambda use: _axes(use.value("x2")) == _axes(use.value("x1")) - 1 > 0,
}  # fmt: skip

# What changes from call to call though types, dtypes and ranks stay.
FLEETING: dict[str, Callable[[Use], bool]] = {
    "the int is outside the dtype": lambda use: _outside(use.arguments["x"], use.arguments["other"]),
    "a bound is outside the dtype": lambda use: any(
        _outside(use.value("x"), use.value(name)) for name in ("min", "max")
    ),
    "the shape grows": _grows,
    "past the end": _past_end,
    "a slice past the end": _slice_past_end,
    "needs a copy": _needs_copy,
    "axes regrouped": _regroups,
    "wider than high": lambda use: isinstance(use.value("n_cols"), int) and use.value("n_cols") > use.value("n_rows"),
    "empty": lambda use: any(0 in array.shape for array in use.arrays[:1]),
    "a value for each that the mask selects": lambda use: _value_for_each(use),
    "source and target overlap": lambda use: _overlaps_target(use),
    "size from a value": lambda use: use.converted_at == (use.frame.f_code, use.frame.f_lineno),
    "of unknown shape": lambda use: bool(use.origins.unknown) and any(map(use.origins.is_unknown, use.arrays)),
    "another name holds it": lambda use: _named_twice(use),
}  # fmt: skip


def _made_by(use: Use, how: str) -> bool:
    """Whether a use of that kind made x."""
    own = use.origins.of(use.arguments["x"])
    return own is not None and own[1] == how


def _reaches(view: NumPyArray | None, source: NumPyArray) -> bool:
    """Whether a NumPy array is another one, or holds it as its base (`_buffer` has an owner between)."""
    if view is None:
        return False
    return view is source or view.base is source or getattr(view.base, "owner", None) is source


def _references(source: Any) -> int:
    return getrefcount(source)


_OF_ARGUMENT = _references(object())  # the reference count of an argument that nobody else holds


def _counts(arrays: Sequence[Any]) -> list[int]:
    return [getrefcount(each) for each in arrays]


_OF_NOBODY = _counts([object()])[0]  # the same for what a list holds

_VIEWS = frozenset("slice element reshape transpose real flip iteration diagonal broadcast_to broadcast_arrays".split())


def _aliases(use: Use) -> frozenset[str]:
    """By which uses another array, which may be read, shows the memory of x, which some variable holds.

    Only then it matters whether a library makes a view or a copy. Of x[1:] += 1 no variable holds the view, and Python
    writes it back into x.
    """
    x = use.arguments["x"]
    if not use.held:
        return frozenset()
    sharers = [each for each in use.origins.sharers(x) if each is not use.value("value")]
    holders = [count - _OF_NOBODY for count in _counts(sharers)]
    others = [each for each, count in zip(sharers, holders) if may_be_read(each, use.frame, count)]
    own = use.origins.of(x)
    if own is not None:
        _, made_by, source = own
        if source is None:  # it is its own source, under another name; writing into it changes it under both
            return frozenset([made_by] if use.event != "__setitem__" and _named_twice(use) else [])
        if made_by == "positive" and source() is not None:
            return frozenset([made_by])
        if made_by == "asarray of NumPy's" and _held_outside(use, sharers, source()):
            return frozenset([made_by])
        if made_by in _VIEWS:
            return frozenset([made_by] if others else [])
    origins = map(use.origins.of, others)
    return frozenset(each[1] for each in origins if each is not None)


def _held_outside(use: Use, sharers: Sequence[NDArray], source: Any) -> bool:
    """Whether more than our own arrays over its memory hold a NumPy array, and may read it."""
    if source is None:
        return False
    x = use.arguments["x"]
    inside = int(_reaches(x._memory.root, source)) + sum(_reaches(each._view, source) for each in (x, *sharers))
    holders = getrefcount(source) - inside - _OF_ARGUMENT
    return may_be_read(source, use.frame, holders)


def _named_twice(use: Use) -> bool:
    """Whether another variable or a container holds x too, and may be read."""
    return use.held > 1 and may_be_read(use.arguments["x"], use.frame, use.held, written=True)


# -- values: looked at on request only -------------------------------------------------------------------


def _values(name: str, test: Callable[[Any], Any]) -> Callable[[Use], bool]:
    def holds(use: Use) -> bool:
        value = use.value(name)
        if is_array(value):
            return bool(np.any(test(value._numpy())))
        return isinstance(value, bool | int | float) and bool(test(np.asarray(value)))

    return holds


def _wild(values: Any) -> Any:
    return ~np.isfinite(values) if values.dtype.kind == "f" else np.False_


def _index_past_end(use: Use) -> bool:
    x, key = use.arguments["x"], use.arguments["key"]
    return any(_is_indices(part) and _exceeds(part, n) for part, n in _by_axis(x, key))


def _exceeds(indices: NDArray, extent: int) -> bool:
    values = indices._numpy()
    return bool(np.any((values < -extent) | (values >= extent)))


def _take_past_end(use: Use) -> bool:
    x, indices, axis = (use.value(name) for name in ("x", "indices", "axis"))
    if not (is_array(x) and is_array(indices)):
        return False
    return _exceeds(indices, x.shape[axis if isinstance(axis, int) else 0])


def _repeated(use: Use) -> bool:
    key = use.arguments["key"]
    return _is_indices(key) and len(np.unique(key._numpy())) < prod(key.shape)


def _out_of_range(use: Use) -> bool:
    x, dtype = use.value("x"), use.value("dtype")
    if not (is_array(x) and isinstance(dtype, DType) and dtype.kind in ("int", "uint")):
        return False
    limits, values = np.iinfo(dtype.dtype), x._numpy()
    return bool(np.any((values < limits.min) | (values > limits.max)))


def _singular(use: Use) -> bool:
    x = use.value("x" if "x" in use.arguments else "x1")
    return is_array(x) and 0 not in x.shape and bool(np.any(np.linalg.matrix_rank(x._numpy()) < x.shape[-1]))


def _indefinite(use: Use) -> bool:
    x = use.value("x")
    return is_array(x) and 0 not in x.shape and bool(np.any(np.linalg.eigvalsh(x._numpy()) <= 0))


def _subnormal(use: Use) -> bool:
    return any(
        a._dtype.name in ("float32", "float64")
        and bool(np.any((a._numpy() != 0) & (np.abs(a._numpy()) < np.finfo(a._dtype.dtype).smallest_normal)))
        for a in use.arrays
    )


def _shift_too_wide(use: Use) -> bool:
    x = use.arguments["x"]
    return _values("other", lambda counts: counts >= x._dtype.bits)(use)


VALUES: dict[str, Callable[[Use], bool]] = {
    "a divisor is 0": _values("other", lambda values: values == 0),
    "an exponent is negative": _values("other", lambda values: values < 0),
    "a value is NaN": lambda use: any(a._dtype.kind == "float" and np.isnan(a._numpy()).any() for a in use.arrays),
    "a value is not finite": _values("x", _wild),
    "a value is out of range": _out_of_range,
    "an index is past the end": _index_past_end,
    "an index to take is past the end": _take_past_end,
    "an index occurs twice": _repeated,
    "singular": _singular,
    "indefinite": _indefinite,
    "a value is subnormal": _subnormal,
    "a count is too wide": _shift_too_wide,
    "on request": lambda use: True,  # for what is more often right than wrong
    "terms beyond the precision": lambda use: _too_large_sum(use),
}  # fmt: skip


def _too_large_sum(use: Use) -> bool:
    x = use.value("x")
    if not is_array(x) or x._dtype.name != "float32":
        return False
    values = np.abs(x._numpy())
    return bool(values.size and np.max(values) > 2.0**24 * max(float(np.min(values)), 1e-30))


class Condition(NamedTuple):
    """A condition of a rule, ready to ask.

    Attributes
    ----------
    holds
        Whether it holds for a use.
    steady
        Whether the answer follows from types, dtypes, ranks and keywords.
    data
        Whether it looks at values.
    """

    holds: Callable[[Use], bool]
    steady: bool
    data: bool = False


def parse(text: str) -> Condition:
    """A condition from its words.

    Raises
    ------
    ValueError
        There is no such test or relation.
    """
    if text.startswith("not "):
        asked = parse(text.removeprefix("not "))
        return asked._replace(holds=lambda use: not asked.holds(use))
    if text in RELATIONS:
        return Condition(RELATIONS[text], steady=True)
    if text in FLEETING:
        return Condition(FLEETING[text], steady=False)
    if text in VALUES:
        return Condition(VALUES[text], steady=False, data=True)
    if text.startswith("made by "):
        how = text.removeprefix("made by ")
        return Condition(lambda use: _made_by(use, how), steady=False)
    if text.startswith("aliased by "):
        how = text.removeprefix("aliased by ")
        if how == "any view":
            return Condition(lambda use: bool(use.aliases & _VIEWS), steady=False)
        return Condition(lambda use: how in use.aliases, steady=False)
    subject, _, words = text.partition(": ")
    wanted = not words.startswith("not ")
    test = TESTS.get(words.removeprefix("not "))
    if test is None:
        raise ValueError(f"condition {text!r} has no test {words!r}; there are {', '.join(TESTS)}")
    # An empty array may follow a full one at the same place.
    return Condition(lambda use: any(test(each) for each in use.subject(subject)) is wanted, steady=words != "empty")
