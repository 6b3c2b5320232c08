"""Narrow dtypes: every operation equals the one in the wide dtype, rounded once, eager and deferred, bit for bit.

The oracle of a step is the function on float32, int8 or complex64 copies, whose result ml_dtypes or NumPy rounds to the
narrow dtype. Exact functions have NumPy's own as oracle, for all pairs of values where a dtype has 8 bits or fewer.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, ARRANGEMENTS, cast, example, lay_out
from oracles import identical, kind, ours, plain, twin, widened

import candela_xp as xp
from candela_xp import _elementwise
from candela_xp import settings as candela_settings
from candela_xp._dtypes import EXTENSIONS, DType

FLOATS = [d.name for d in EXTENSIONS if d.kind == "float"]
INTEGERS = [d.name for d in EXTENSIONS if d.kind in ("int", "uint")]
EVERY = [d.name for d in EXTENSIONS]
BYTES = [d.name for d in EXTENSIONS if d.bits <= 8]
SINGLE = [name for name in FLOATS if name in BYTES]
# No zero and no sign: chains of arithmetic leave it at once.
CALCULATING = [name for name in EVERY if name != "float8_e8m0fnu"]

EAGER, DEFERRED = 2**62, 0


def dtype_of(name: str) -> DType:
    found = getattr(xp, name)
    assert isinstance(found, DType)
    return found


def operands_of(name: str) -> int:
    return len(inspect.signature(getattr(xp, name)).parameters)


ELEMENTWISE = {
    name: operands_of(name)
    for name in xp.__all__
    if name in vars(_elementwise)
    and hasattr(getattr(xp, name), "__wrapped__")
    and not name.startswith("logical")  # of booleans; numbers are told from 0 first
}


@functools.cache
def functions(name: str) -> list[str]:
    """The elementwise functions that the standard defines for the kind of a dtype."""
    found = []
    for function, count in ELEMENTWISE.items():
        with candela_settings(strict=True), np.errstate(all="ignore"):
            try:
                getattr(xp, function)(*[xp.ones(1, dtype=dtype_of(name))] * count)
            except TypeError:
                continue
        found.append(function)
    return found


def every_value(name: str) -> np.ndarray:
    """All values of a dtype of at most 16 bits, each once, NaNs of all bit patterns too."""
    dtype, bits = twin(name), dtype_of(name).bits
    patterns = np.arange(2**bits, dtype=f"uint{8 * dtype.itemsize}")
    if name in ("int2", "int4"):
        patterns = ((patterns ^ 2 ** (bits - 1)) - 2 ** (bits - 1)).astype(np.uint8)  # as ml_dtypes extends the sign
    return patterns.view(dtype)


# -- oracle --------------------------------------------------------------------------------------------------


def neighbour(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """nextafter by the list of all values."""
    name = x1.dtype.name
    wide1, wide2 = np.broadcast_arrays(widened(x1), widened(x2))
    values = np.unique(widened(every_value(name)))
    values = values[~np.isnan(values)]
    place = np.searchsorted(values, wide1)
    step = np.where(wide2 > wide1, 1, -1)
    found = values[np.clip(place + step, 0, len(values) - 1)]
    found = np.where(found == 0, np.copysign(found, wide1), found)
    found = np.where(wide1 == wide2, wide2, found)
    return cast(np.where(np.isnan(wide1) | np.isnan(wide2), np.float32(np.nan), found), x1.dtype)


def rounded(function: str, *operands: np.ndarray) -> np.ndarray:
    """One operation in the wide dtype, rounded."""
    dtype = operands[0].dtype
    if function == "nextafter":
        return neighbour(*operands)
    with np.errstate(all="ignore"), candela_settings(defer_min_bytes=EAGER):
        together = [np.array(a, order="C") for a in np.broadcast_arrays(*map(widened, operands))]
        wide = plain(getattr(xp, function)(*map(xp.asarray, together)))
        if wide.dtype == np.bool_:
            return wide
        return cast(wide, np.float16 if (function, dtype.name) == ("abs", "complex32") else dtype)


def computed(function: str, *operands: np.ndarray, defer: int) -> np.ndarray:
    with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
        return plain(getattr(xp, function)(*map(ours, operands)))


def undefined(function: str, second: np.ndarray) -> np.ndarray:
    """Where integer functions have no value."""
    if function in ("floor_divide", "remainder"):
        return second.astype(np.int8) == 0
    if function in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
        return second.astype(np.int8) < 0
    return np.zeros(second.shape, np.bool_)


# -- all values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in EVERY if name != "complex32"])
def test_functions_of_one_value_are_the_wide_ones_rounded_for_every_value(name: str) -> None:
    x = every_value(name)
    for function in functions(name):
        if ELEMENTWISE[function] == 1:
            want = rounded(function, x)
            for defer in (EAGER, DEFERRED):
                assert identical(computed(function, x, defer=defer), want), (function, defer)
            few = np.concatenate([computed(function, part, defer=EAGER) for part in np.array_split(x, 4)])
            assert identical(few, want), f"{function} of few"


EXACT: dict[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "maximum": np.maximum, "minimum": np.minimum, "copysign": np.copysign,
    "nextafter": neighbour,
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("function", EXACT)
def test_exact_functions_of_all_pairs_are_numpys_in_float32_rounded(function: str, name: str) -> None:
    x = every_value(name)
    first, second = (np.array(a, order="C") for a in np.broadcast_arrays(x[:, None], x[None, :]))
    with np.errstate(all="ignore"):
        if function == "nextafter":
            want = neighbour(first, second)
        else:
            want = EXACT[function](widened(first), widened(second))
            want = want if want.dtype == np.bool_ else cast(want, x.dtype)
    for defer in (EAGER, DEFERRED):
        assert identical(computed(function, first, second, defer=defer), want), defer
        assert identical(computed(function, x[:, None], x[None, :], defer=defer), want), f"broadcast, {defer}"
    # Few elements may take another kernel.
    few = np.stack([computed(function, row, x, defer=EAGER) for row in first])
    assert identical(few, want), "row by row"


WRAPPING: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift, "maximum": max, "minimum": min,
    "pow": operator.pow, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_functions_of_all_pairs_are_pythons_modulo_the_range(name: str) -> None:
    x = every_value(name)
    first, second = (np.array(a, order="C").ravel() for a in np.broadcast_arrays(x[:, None], x[None, :]))
    limits = xp.iinfo(dtype_of(name))
    assert {function for function in functions(name) if ELEMENTWISE[function] == 2} == set(WRAPPING)
    for function, python in WRAPPING.items():
        defined = ~undefined(function, second)
        a, b = first[defined], second[defined]
        exact = [python(int(p), int(q)) for p, q in zip(a.astype(int), b.astype(int))]
        for defer in (EAGER, DEFERRED):
            got = computed(function, a, b, defer=defer)
            if got.dtype == np.bool_:
                assert got.tolist() == exact, function
            else:
                assert got.dtype == x.dtype
                size = 2 ** dtype_of(name).bits
                wrapped = [(value - limits.min) % size + limits.min for value in exact]
                assert got.astype(int).tolist() == wrapped, function


# -- random values of the wider ones -----------------------------------------------------------------------------


def values(name: str, count: int) -> st.SearchStrategy[np.ndarray]:
    """Bit patterns: zeros, subnormals, extremes, infinities and NaN are drawn as often as ordinary numbers."""
    bits = dtype_of(name).bits
    if name == "complex32":
        return values("float16", 2 * count).map(lambda parts: parts.view(twin("complex32")))
    table = every_value(name)
    if bits < 16:
        return st.lists(st.integers(0, len(table) - 1), min_size=count, max_size=count).map(lambda at: table[at])
    wide = table.astype(np.float32)
    special = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, np.nan, np.inf, -np.inf, float(np.nanmax(wide[np.isfinite(wide)]))]
    some = [int(cast(value, table.dtype).view(np.uint16)) for value in special] + [1, 0x8001, 0x7F, 0x3FF]
    drawn = st.sampled_from(some) | st.integers(0, 2**16 - 1)
    return st.lists(drawn, min_size=count, max_size=count).map(lambda at: np.array(at, np.uint16).view(table.dtype))


@st.composite
def operand_lists(draw: st.DrawFn, names: list[str], count: int = 2) -> list[np.ndarray]:
    """Operands of one dtype in layouts of their own, which broadcast together."""
    name = draw(st.sampled_from(names))
    found = []
    for _ in range(count):
        view = lay_out(draw(values(name, 12)).reshape(3, 4), draw(st.sampled_from(list(ARRANGEMENTS))))
        found.append(draw(st.sampled_from([view, view[1:2], view[:, 2:3]])))
    return found


@given(operand_lists(["float16", "bfloat16", "complex32"]), st.data())
def test_functions_of_random_values_in_random_layouts_are_the_wide_ones_rounded(
    operands: list[np.ndarray], data: st.DataObject
) -> None:
    name = operands[0].dtype.name
    for function in data.draw(st.lists(st.sampled_from(functions(name)), min_size=1, max_size=6, unique=True)):
        given_ = operands[: ELEMENTWISE[function]]
        want = rounded(function, *given_)
        for defer in (EAGER, DEFERRED):
            assert identical(computed(function, *given_, defer=defer), want), (function, defer)


@pytest.mark.parametrize("name", EVERY)
def test_every_function_is_right_in_every_layout(name: str) -> None:
    for layout in ALL_LAYOUTS:
        view = example(layout, twin(name))
        for function in functions(name):
            if kind(name) in ("int", "uint") and undefined(function, view).any():
                continue
            given_ = [view] * ELEMENTWISE[function]
            want = rounded(function, *given_)
            for defer in (EAGER, DEFERRED):
                assert identical(computed(function, *given_, defer=defer), want), (function, layout, defer)


@given(operand_lists([name for name in CALCULATING if name != "complex32"], 3), st.booleans())
def test_clip_and_where_choose_as_the_wide_ones_do(operands: list[np.ndarray], stretched: bool) -> None:
    x, low, high = operands
    wide = [widened(a) for a in operands]
    condition = np.array([True, False, True, False]) if stretched else wide[0] > wide[1]
    if not stretched:
        condition = np.broadcast_to(condition, np.broadcast_shapes(condition.shape, x.shape))
    for defer in (EAGER, DEFERRED):
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            got = plain(xp.clip(ours(np.broadcast_to(x, (3, 4))), ours(low), ours(high)))
            want = np.clip(np.broadcast_to(wide[0], (3, 4)), wide[1], wide[2])
            # Between 0 and -0 NumPy's clip chooses by the layout.
            assert np.array_equal(widened(got), widened(cast(want, x.dtype)), equal_nan=kind(x.dtype.name) == "float")
            got = plain(xp.where(ours(np.array(condition)), ours(low), ours(high)))
            assert identical(got, cast(np.where(condition, wide[1], wide[2]), x.dtype))


# -- chains --------------------------------------------------------------------------------------------------------


# Integer functions that are defined for all values
_TOTAL = ["abs", "add", "bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor", "maximum", "minimum",
          "multiply", "negative", "positive", "sign", "square", "subtract"]  # fmt: skip


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[np.ndarray], list[tuple[str, tuple[int, ...], bool]]]:
    """Operands, and steps: function, numbers of earlier values, and whether a variable holds the result."""
    operands = draw(operand_lists(CALCULATING))
    name = operands[0].dtype.name
    if kind(name) in ("int", "uint"):
        usable = _TOTAL
    else:
        usable = [f for f in functions(name) if rounded(f, *[operands[0][:1]] * ELEMENTWISE[f]).dtype == twin(name)]
    steps = []
    for place in range(draw(st.integers(2, 6))):
        function = draw(st.sampled_from(usable))
        reads = tuple(draw(st.integers(0, 1 + place)) for _ in range(ELEMENTWISE[function]))
        steps.append((function, reads, draw(st.booleans())))
    return operands, steps


@given(chains(), st.sampled_from([None, 5]))
def test_a_chain_is_each_operation_rounded_whether_it_waits_or_not(chain: Any, block: int | None) -> None:
    operands, steps = chain
    want = [np.asarray(a) for a in operands]
    for function, reads, _ in steps:
        want.append(rounded(function, *[want[place] for place in reads]))
    for defer in (EAGER, DEFERRED):
        options = {} if block is None else {"block_elements": block}
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer, **options):
            found: list[Any] = [ours(a) for a in operands]
            held = []
            for place, (function, reads, keep) in enumerate(steps):
                found.append(getattr(xp, function)(*[found[number] for number in reads]))
                later = {number for _, reads, _ in steps[place + 1 :] for number in reads}
                if keep:
                    held.append(place + 2)
                for number in range(len(found) - 1):
                    if number not in later and number not in held:
                        found[number] = None  # nothing holds it but what waits
            assert identical(plain(found[-1]), want[-1]), defer
            for number in held:
                assert identical(plain(found[number]), want[number]), (number, defer)


@given(operand_lists(CALCULATING), st.sampled_from([0.1, 3, -2, 1.0009765625 + 2**-30, 70000.5, 1e-9]))
def test_a_python_scalar_is_rounded_once_to_the_dtype_before_it_acts(operands: list[np.ndarray], number: float) -> None:
    x = operands[0]
    name = x.dtype.name
    if kind(name) in ("int", "uint"):
        number = 1
    with np.errstate(all="ignore"):
        if dtype_of(name).kernels == "narrow":
            scalar = plain(xp.astype(xp.asarray(number, dtype=xp.float64), dtype_of(name)))
        else:
            scalar = cast(number, x.dtype)
    want = rounded("multiply", x, scalar), rounded("subtract", scalar, x)
    for defer in (EAGER, DEFERRED):
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            assert identical(plain(ours(x) * number), want[0])
            assert identical(plain(number - ours(x)), want[1])


# -- warnings ------------------------------------------------------------------------------------------------------


def kinds_of_warnings(action: Callable[[], Any]) -> set[str]:
    """Which of NumPy's floating-point errors an action warns of: divide, overflow, underflow, invalid."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        action()
    assert {one.category for one in caught} <= {RuntimeWarning}, [str(one.message) for one in caught]
    return {str(one.message).split()[0] for one in caught}


def single_values(name: str) -> Iterator[np.ndarray]:
    for value in (0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e9, -1e9):
        with np.errstate(all="ignore"):
            yield cast([value], twin(name))


@pytest.mark.parametrize("name", [name for name in FLOATS if name in CALCULATING])
def test_a_function_warns_of_what_float32_warns_of_and_of_overflow_in_rounding_at_most(name: str) -> None:
    for function in functions(name):
        for x in single_values(name):
            for y in single_values(name) if ELEMENTWISE[function] == 2 else [x]:
                given_ = (x, y)[: ELEMENTWISE[function]]
                if function == "nextafter":
                    want = set()
                else:
                    wide = [widened(a) for a in given_]
                    want = kinds_of_warnings(lambda: getattr(xp, function)(*map(ours, wide)))  # noqa: B023
                for defer in (EAGER, DEFERRED):
                    with candela_settings(defer_min_bytes=defer):
                        got = kinds_of_warnings(lambda: plain(getattr(xp, function)(*map(ours, given_))))  # noqa: B023
                    assert got - want <= {"overflow"}, (function, given_, got, want)
                    assert want <= got, (function, given_, got, want)
