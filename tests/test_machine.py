"""Random programs in three worlds at once: deferred, eager, and plain NumPy; nobody can tell them apart.

Looking settles, so a check after each step would hide what goes wrong later: values are compared at random moments, of
some variables, and of all of them at the end.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from layouts import basic_keys
from oracles import identical

import candela_xp as xp
from candela_xp import _expr, _pool, _public, _walk, settings

VARIABLES = 10
"""So many variables at most: the oldest are deleted."""
SHAPES = [(), (1,), (7,), (24,), (4, 6), (6, 4), (3, 1), (2, 3, 4), (0, 3)]
DTYPES = ["bool", "int16", "int64", "float32", "float64", "complex128"]

# Only what has one result whatever the stride: no transcendental function, no product of complex numbers, no maximum of
# zeros of both signs.
UNARY = {
    "bool": ["logical_not"],
    "int": ["negative", "abs", "bitwise_invert", "square", "positive"],
    "float": ["negative", "abs", "square", "sqrt", "floor", "positive"],
    "complex": ["negative", "conj", "positive"],
}
BINARY = {
    "bool": ["logical_and", "logical_or", "logical_xor"],
    "int": ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_xor", "bitwise_and"],
    "float": ["add", "subtract", "multiply", "divide", "copysign"],
    "complex": ["add", "subtract"],
}
COMPARISONS = ["equal", "not_equal", "less", "greater_equal"]
IN_PLACE = {
    "bool": [operator.iand, operator.ior, operator.ixor],
    "int": [operator.iadd, operator.isub, operator.imul, operator.ixor],
    "float": [operator.iadd, operator.isub, operator.imul, operator.itruediv],
    "complex": [operator.iadd, operator.isub],
}
SCALARS: dict[str, Any] = {"bool": True, "int": 3, "float": 1.5, "complex": 2 - 1j}
CASTS = {
    "bool": DTYPES,
    "int16": ["bool", "int16", "int64", "float32", "float64", "complex128"],
    "int64": ["bool", "int16", "int64", "float64"],
    "float32": ["bool", "float32", "float64", "complex128"],
    "float64": ["bool", "float32", "float64", "complex128"],
    "complex128": ["complex128"],
}


class Worlds(NamedTuple):
    """One variable, or one array outside, in the three worlds."""

    lazy: Any
    eager: Any
    plain: np.ndarray


def kind_of(plain: np.ndarray) -> str:
    return {"b": "bool", "i": "int", "f": "float", "c": "complex"}[plain.dtype.kind]


def numbered(shape: tuple[int, ...], dtype: str, start: int) -> np.ndarray:
    count = (np.arange(start, start + int(np.prod(shape))) * 7) % 23 - 11
    return (count % 2 if dtype == "bool" else count).astype(dtype).reshape(shape)


def fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether one shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


class Programs(RuleBasedStateMachine):
    """The steps that a program may take."""

    def __init__(self) -> None:
        super().__init__()
        self.variables: list[Worlds] = []
        self.outside: list[Worlds] = []
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(_walk, "ALONE", 0)  # any work is worth a second thread
        self.patch.setattr(_expr, "SMALL_SOURCE", 0)  # small memory is read late as well
        self.patch.setattr(_public, "SAFE_BYTES", 0)  # small arrays are written in place as large ones
        allocate = _pool.allocate

        def poisoned(nbytes: int) -> Any:
            root, recycled = allocate(nbytes)
            root[...] = 0x55
            return root, recycled

        self.patch.setattr(_pool, "allocate", poisoned)
        self.lazily = {"defer_min_bytes": 0, "block_elements": 8, "threads": 2}

    def teardown(self) -> None:
        try:
            for variable in [*self.variables, *self.outside]:
                self.compare(variable)
        finally:
            self.patch.undo()

    # -- helpers

    def run(self, call: Callable[..., Any], arguments: list[Worlds], plain: Callable[..., Any] | None = None) -> Worlds:
        """The results of a call in the three worlds."""
        with np.errstate(all="ignore"):
            with settings(**self.lazily):
                lazy = call(*[x.lazy for x in arguments])
            with settings(defer_min_bytes=2**60, threads=1):
                eager = call(*[x.eager for x in arguments])
            return Worlds(lazy, eager, (plain or call)(*[x.plain for x in arguments]))

    def keep(self, made: Worlds) -> None:
        plain = np.asarray(made.plain)
        assert made.lazy.shape == made.eager.shape == plain.shape
        assert made.lazy.dtype == made.eager.dtype == plain.dtype
        self.variables.append(made._replace(plain=plain))
        del self.variables[:-VARIABLES]

    def variable(self, data: st.DataObject, wanted: Callable[[np.ndarray], bool] = lambda plain: True) -> Worlds | None:
        """One of the variables whose value in plain NumPy is as wanted."""
        places = [place for place, x in enumerate(self.variables) if wanted(x.plain)]
        return self.variables[data.draw(st.sampled_from(places))] if places else None

    def partner(self, data: st.DataObject, x: Worlds, *, within: bool = False) -> Worlds | None:
        """A variable of the same dtype that broadcasts with another one, or to it."""
        shape = x.plain.shape

        def wanted(plain: np.ndarray) -> bool:
            if plain.dtype != x.plain.dtype:
                return False
            return fits(plain.shape, shape) or (not within and fits(shape, plain.shape))

        return self.variable(data, wanted)

    def compare(self, x: Worlds) -> None:
        """All bits of all worlds; what is compared are copies, so nothing is handed out."""
        plain = x.plain
        lazy, eager = x.lazy, x.eager
        if isinstance(lazy, xp.NDArray):
            with settings(**self.lazily):
                lazy = np.asarray(copy.copy(lazy))
            eager = np.asarray(copy.copy(eager))
        assert identical(eager, plain), f"eager {eager!r} for {plain!r}"
        assert identical(lazy, plain), f"deferred {lazy!r} for {plain!r}"

    # -- making

    @initialize(longest=st.sampled_from([2, 5, 32]), sources=st.sampled_from([1, 3, 8]), data=st.data())
    def begin(self, longest: int, sources: int, data: st.DataObject) -> None:
        self.patch.setattr(_expr, "MAX_NODES", longest)
        self.patch.setattr(_expr, "MAX_SOURCES", sources)
        self.create((4, 6), "float64", 0, "C")
        self.create((4, 6), "float64", 5, "F")

    @rule(
        shape=st.sampled_from(SHAPES),
        dtype=st.sampled_from(DTYPES),
        start=st.integers(0, 9),
        order=st.sampled_from("CF"),
    )
    def create(self, shape: tuple[int, ...], dtype: str, start: int, order: str) -> None:
        values = numbered(shape, dtype, start)
        axes = tuple(range(len(shape)))[::-1]

        def ours() -> Any:
            if order == "C":
                return xp.asarray(values, copy=True)
            return xp.permute_dims(xp.asarray(values.transpose(axes), copy=True), axes)

        self.keep(Worlds(ours(), ours(), np.array(values, order=order)))

    @rule(
        shape=st.sampled_from(SHAPES), dtype=st.sampled_from(DTYPES), by=st.sampled_from([xp.asarray, xp.from_dlpack])
    )
    def take_over(self, shape: tuple[int, ...], dtype: str, by: Callable[..., Any]) -> None:
        sources = Worlds(*[numbered(shape, dtype, 3) for _ in range(3)])
        self.outside.append(sources)
        self.keep(self.run(by, [sources], lambda plain: plain[...]))

    @rule(data=st.data(), by=st.sampled_from([np.asarray, np.from_dlpack]))
    def hand_out(self, data: st.DataObject, by: Callable[..., Any]) -> None:
        x = self.variable(data, lambda plain: plain.flags.writeable)
        if x is not None:
            made = self.run(by, [x], lambda plain: plain[...])
            assert made.lazy.flags.writeable == made.eager.flags.writeable
            if made.lazy.flags.writeable:
                self.outside.append(made)
                del self.outside[:-6]

    @precondition(lambda self: self.outside)
    @rule(data=st.data(), value=st.integers(0, 5))
    def someone_outside_writes(self, data: st.DataObject, value: int) -> None:
        target = self.outside[data.draw(st.integers(0, len(self.outside) - 1))]
        key = (*data.draw(basic_keys(target.plain.shape)),)
        key = key if any(part is ... for part in key) else (*key, ...)
        for view in target:
            view[key] = value

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if len(self.variables) > 2:
            del self.variables[data.draw(st.integers(0, len(self.variables) - 1))]

    @rule(data=st.data())
    def name_again(self, data: st.DataObject) -> None:
        self.keep(self.variables[data.draw(st.integers(0, len(self.variables) - 1))])

    # -- views

    @rule(data=st.data())
    def index(self, data: st.DataObject) -> None:
        x = self.variable(data, lambda plain: plain.ndim > 0)
        if x is not None:
            key = data.draw(basic_keys(x.plain.shape))
            key = key if any(part is ... for part in key) else (*key, ...)  # NumPy gives a 0-d view, too
            if x.plain[key].ndim <= 3:
                self.keep(self.run(operator.itemgetter(key), [x]))

    @rule(data=st.data())
    def permute(self, data: st.DataObject) -> None:
        x = self.variable(data)
        axes = tuple(data.draw(st.permutations(range(x.plain.ndim))))
        self.keep(self.run(lambda a: xp.permute_dims(a, axes), [x], lambda a: a.transpose(axes)))

    @rule(data=st.data())
    def flip(self, data: st.DataObject) -> None:
        # np.flip of a 0-d array is a scalar, and no view
        self.keep(self.run(xp.flip, [self.variable(data)], lambda a: a[(*[slice(None, None, -1)] * a.ndim, ...)]))

    @rule(data=st.data(), extent=st.integers(0, 3))
    def broadcast(self, data: st.DataObject, extent: int) -> None:
        x = self.variable(data, lambda plain: plain.ndim < 3)
        if x is not None:
            shape = (extent, *x.plain.shape)
            self.keep(self.run(lambda a: xp.broadcast_to(a, shape), [x], lambda a: np.broadcast_to(a, shape)))

    @rule(data=st.data(), divisor=st.integers(1, 6))
    def split(self, data: st.DataObject, divisor: int) -> None:
        # One axis into two is a view over any stride; whether other reshapes are depends on how results are laid out.
        x = self.variable(data, lambda plain: plain.ndim == 1 and plain.size > 0 and plain.size % divisor == 0)
        if x is not None:
            shape = (divisor, x.plain.size // divisor)
            self.keep(self.run(lambda a: xp.reshape(a, shape, copy=False), [x], lambda a: a.reshape(shape)))

    @rule(data=st.data())
    def flatten(self, data: st.DataObject) -> None:
        x = self.variable(data)
        self.keep(self.run(lambda a: xp.reshape(a, (-1,), copy=True), [x], lambda a: a.flatten()))

    @rule(data=st.data(), part=st.sampled_from(["real", "imag"]))
    def component(self, data: st.DataObject, part: str) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind == "c")
        if x is not None:
            self.keep(self.run(getattr(xp, part), [x], operator.attrgetter(part)))

    # -- elementwise

    @rule(data=st.data())
    def one_operand(self, data: st.DataObject) -> None:
        x = self.variable(data)
        name = data.draw(st.sampled_from(UNARY[kind_of(x.plain)]))
        self.keep(self.run(getattr(xp, name), [x], getattr(np, name)))

    @rule(data=st.data())
    def two_operands(self, data: st.DataObject) -> None:
        x = self.variable(data)
        y = self.partner(data, x)
        if y is not None:
            name = data.draw(st.sampled_from(BINARY[kind_of(x.plain)]))
            self.keep(self.run(getattr(xp, name), [x, y], getattr(np, name)))

    @rule(data=st.data(), left=st.booleans())
    def scalar_operand(self, data: st.DataObject, left: bool) -> None:
        x = self.variable(data)
        scalar = SCALARS[kind_of(x.plain)]
        operation = (
            operator.xor if kind_of(x.plain) == "bool" else data.draw(st.sampled_from([operator.add, operator.sub]))
        )
        self.keep(self.run((lambda a: operation(scalar, a)) if left else (lambda a: operation(a, scalar)), [x]))

    @rule(data=st.data())
    def chain(self, data: st.DataObject) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind == "f")
        y = None if x is None else self.partner(data, x)
        if x is not None and y is not None:
            self.keep(self.run(lambda a, b: (a - b) * 2.0 + (a - b) * b - 1.0, [x, y]))

    @rule(data=st.data(), name=st.sampled_from(COMPARISONS))
    def compared(self, data: st.DataObject, name: str) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind in "if")
        y = None if x is None else self.partner(data, x)
        if x is not None and y is not None:
            self.keep(self.run(getattr(xp, name), [x, y], getattr(np, name)))

    @rule(data=st.data())
    def cast(self, data: st.DataObject) -> None:
        x = self.variable(data)
        name = data.draw(st.sampled_from(CASTS[x.plain.dtype.name]))
        self.keep(self.run(lambda a: xp.astype(a, getattr(xp, name)), [x], lambda a: a.astype(name)))

    @rule(data=st.data(), scalar=st.booleans())
    def where(self, data: st.DataObject, scalar: bool) -> None:
        mask = self.variable(data, lambda plain: plain.dtype == np.bool_)
        x = None if mask is None else self.variable(data, lambda plain: fits(plain.shape, mask.plain.shape))
        y = None if x is None else self.partner(data, x)
        if mask is None or x is None or y is None or not fits(y.plain.shape, mask.plain.shape):
            return
        if scalar:
            other = SCALARS[kind_of(x.plain)]
            self.keep(self.run(lambda m, a: xp.where(m, a, other), [mask, x], lambda m, a: np.where(m, a, other)))
        else:
            self.keep(self.run(xp.where, [mask, x, y], np.where))

    @rule(data=st.data(), least=st.integers(1, 3), greatest=st.integers(4, 9))
    def clip(self, data: st.DataObject, least: int, greatest: int) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind in "if")
        if x is not None:
            self.keep(self.run(lambda a: xp.clip(a, least, greatest), [x], lambda a: np.clip(a, least, greatest)))

    # -- writing

    @rule(data=st.data(), scalar=st.booleans())
    def assign(self, data: st.DataObject, scalar: bool) -> None:
        x = self.variable(data, lambda plain: plain.flags.writeable)
        if x is None:
            return
        key = data.draw(basic_keys(x.plain.shape))
        key = key if any(part is ... for part in key) else (*key, ...)
        shape = x.plain[key].shape
        value: Worlds | None = Worlds(*[SCALARS[kind_of(x.plain)]] * 3)
        if not scalar:
            value = self.variable(data, lambda plain: plain.dtype == x.plain.dtype and fits(plain.shape, shape))
        if value is not None:
            self.run(lambda a, b: operator.setitem(a, key, b), [x, value])

    @rule(data=st.data())
    def assign_where(self, data: st.DataObject) -> None:
        x = self.variable(data, lambda plain: plain.flags.writeable and plain.dtype.kind in "if")
        if x is not None:
            scalar = SCALARS[kind_of(x.plain)]
            self.run(lambda a: operator.setitem(a, a > 1, scalar), [x])

    @rule(data=st.data(), scalar=st.booleans())
    def in_place(self, data: st.DataObject, scalar: bool) -> None:
        x = self.variable(data, lambda plain: plain.flags.writeable)
        if x is None:
            return
        operation = data.draw(st.sampled_from(IN_PLACE[kind_of(x.plain)]))
        value = Worlds(*[SCALARS[kind_of(x.plain)]] * 3) if scalar else self.partner(data, x, within=True)
        if value is not None:
            done = self.run(operation, [x, value])
            assert all(after is before for after, before in zip(done, x))

    @rule(data=st.data())
    def in_place_by_a_chain(self, data: st.DataObject) -> None:
        x = self.variable(data, lambda plain: plain.flags.writeable and plain.dtype.kind == "f")
        y = None if x is None else self.partner(data, x, within=True)
        if x is not None and y is not None:
            self.run(lambda a, b: operator.isub(a, (b + 1.0) * b), [x, y])

    # -- looking

    @rule(
        data=st.data(),
        name=st.sampled_from(["sum", "min", "max", "count_nonzero", "any", "all"]),
        keepdims=st.booleans(),
    )
    def reduce(self, data: st.DataObject, name: str, keepdims: bool) -> None:
        kinds = {"sum": "i", "min": "i", "max": "i"}.get(name, "bifc")
        x = self.variable(data, lambda plain: plain.dtype.kind in kinds and plain.size > 0)
        if x is not None:
            axis = data.draw(st.sampled_from([None, *range(x.plain.ndim), tuple(range(x.plain.ndim))]))
            axis = None if axis == () else axis  # over no axes, NumPy counts over all
            ours, theirs = getattr(xp, name), getattr(np, name)
            self.keep(
                self.run(
                    lambda a: ours(a, axis=axis, keepdims=keepdims),
                    [x],
                    lambda a: np.asarray(theirs(a, axis=axis, keepdims=keepdims)),
                )
            )

    @rule(data=st.data(), name=st.sampled_from(["argmax", "argmin"]))
    def place(self, data: st.DataObject, name: str) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind == "i" and plain.size > 0)
        if x is not None:
            axis = data.draw(st.sampled_from([None, *range(x.plain.ndim)]))
            self.keep(
                self.run(lambda a: getattr(xp, name)(a, axis=axis), [x], lambda a: getattr(np, name)(a, axis=axis))
            )

    @rule(data=st.data(), name=st.sampled_from(["sum", "mean", "var"]), temporary=st.booleans())
    def average(self, data: st.DataObject, name: str, temporary: bool) -> None:
        x = self.variable(data, lambda plain: plain.dtype.kind == "f" and plain.size > 0)
        if x is None or not (np.abs(x.plain) < 1e3).all():
            return
        axis = data.draw(st.sampled_from([None, *range(x.plain.ndim)]))
        ours, theirs = getattr(xp, name), getattr(np, name)
        if temporary:
            made = self.run(lambda a: ours(a * 2.0, axis=axis), [x], lambda a: theirs(a * 2.0, axis=axis))
        else:
            made = self.run(lambda a: ours(a, axis=axis), [x], lambda a: theirs(a, axis=axis))
        bound = 1e-3 if x.plain.dtype == np.float32 else 1e-9
        for got in (made.lazy, made.eager):
            np.testing.assert_allclose(
                np.asarray(got), made.plain, rtol=bound, atol=bound * 2e3 ** (1 + (name == "var"))
            )

    @rule(data=st.data())
    def force(self, data: st.DataObject) -> None:
        self.run(xp.materialize, [self.variable(data)], lambda a: a)

    @rule(data=st.data())
    def explain(self, data: st.DataObject) -> None:
        x = self.variable(data)
        before = x.lazy._node
        with settings(**self.lazily):
            xp.explain(x.lazy)
        assert x.lazy._node is before

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        self.compare(self.variable(data))


TestPrograms = Programs.TestCase
# Shrinking a program takes minutes: add Phase.shrink here to see the shortest one that fails.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
TestPrograms.settings = hypothesis_settings(max_examples=150, stateful_step_count=40, phases=PHASES)
