"""Elementwise functions and their operators: values, dtypes, layouts, broadcasting, scalars, refusals."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import cast, lay_out
from oracles import (
    ALL_DTYPES,
    BOOL,
    COMPLEX,
    FLOAT,
    INF,
    INTEGER,
    NAN,
    NARROW,
    NARROW_INTEGER,
    REAL,
    REAL_FLOAT,
    STANDARD,
    arranged,
    close,
    examples,
    identical,
    kind,
    limits,
    ours,
    plain,
    special,
    tame,
    twin,
    widened,
)  # fmt: skip

import candela_xp as xp
from candela_xp import settings as candela_settings

KINDS = {
    "any": ALL_DTYPES,
    "boolean": BOOL,
    "integer": [*INTEGER, *NARROW_INTEGER],
    "integer or boolean": [*BOOL, *INTEGER, *NARROW_INTEGER],
    "numeric": [name for name in ALL_DTYPES if name != "bool"],
    "real": [*REAL, *NARROW, *NARROW_INTEGER],
    "floating-point": [*FLOAT, *NARROW, "complex32"],
    "real floating-point": [*REAL_FLOAT, *NARROW],
    "complex": [*COMPLEX, "complex32"],
}


class Row(NamedTuple):
    """What the standard says of a function: operands, dtypes, dtype of the result; NumPy's name; tolerance."""

    operands: int
    kinds: str
    result: str
    ufunc: Callable[..., Any]
    ulps: float = 0


# The last column is the freedom of the last bits that NumPy's kernels take with the stride.
FUNCTIONS = {
    "abs": Row(1, "numeric", "real", np.abs, 1),
    "acos": Row(1, "floating-point", "same", np.arccos, 4),
    "acosh": Row(1, "floating-point", "same", np.arccosh, 4),
    "add": Row(2, "numeric", "same", np.add),
    "asin": Row(1, "floating-point", "same", np.arcsin, 4),
    "asinh": Row(1, "floating-point", "same", np.arcsinh, 4),
    "atan": Row(1, "floating-point", "same", np.arctan, 4),
    "atan2": Row(2, "real floating-point", "same", np.arctan2, 4),
    "atanh": Row(1, "floating-point", "same", np.arctanh, 4),
    "bitwise_and": Row(2, "integer or boolean", "same", np.bitwise_and),
    "bitwise_invert": Row(1, "integer or boolean", "same", np.bitwise_invert),
    "bitwise_left_shift": Row(2, "integer", "same", np.left_shift),
    "bitwise_or": Row(2, "integer or boolean", "same", np.bitwise_or),
    "bitwise_right_shift": Row(2, "integer", "same", np.right_shift),
    "bitwise_xor": Row(2, "integer or boolean", "same", np.bitwise_xor),
    "ceil": Row(1, "real", "same", np.ceil),
    "conj": Row(1, "numeric", "same", np.conj),
    "copysign": Row(2, "real floating-point", "same", np.copysign),
    "cos": Row(1, "floating-point", "same", np.cos, 4),
    "cosh": Row(1, "floating-point", "same", np.cosh, 4),
    "divide": Row(2, "floating-point", "same", np.divide, 2),
    "equal": Row(2, "any", "bool", np.equal),
    "exp": Row(1, "floating-point", "same", np.exp, 4),
    "expm1": Row(1, "floating-point", "same", np.expm1, 8),
    "floor": Row(1, "real", "same", np.floor),
    "floor_divide": Row(2, "real", "same", np.floor_divide),
    "greater": Row(2, "real", "bool", np.greater),
    "greater_equal": Row(2, "real", "bool", np.greater_equal),
    "hypot": Row(2, "real floating-point", "same", np.hypot, 2),
    "isfinite": Row(1, "numeric", "bool", np.isfinite),
    "isinf": Row(1, "numeric", "bool", np.isinf),
    "isnan": Row(1, "numeric", "bool", np.isnan),
    "less": Row(2, "real", "bool", np.less),
    "less_equal": Row(2, "real", "bool", np.less_equal),
    "log": Row(1, "floating-point", "same", np.log, 4),
    "log10": Row(1, "floating-point", "same", np.log10, 4),
    "log1p": Row(1, "floating-point", "same", np.log1p, 8),
    "log2": Row(1, "floating-point", "same", np.log2, 4),
    "logaddexp": Row(2, "real floating-point", "same", np.logaddexp, 4),
    "logical_and": Row(2, "boolean", "bool", np.logical_and),
    "logical_not": Row(1, "boolean", "bool", np.logical_not),
    "logical_or": Row(2, "boolean", "bool", np.logical_or),
    "logical_xor": Row(2, "boolean", "bool", np.logical_xor),
    "maximum": Row(2, "real", "same", np.maximum),
    "minimum": Row(2, "real", "same", np.minimum),
    "multiply": Row(2, "numeric", "same", np.multiply, 1),
    "negative": Row(1, "numeric", "same", np.negative),
    "nextafter": Row(2, "real floating-point", "same", np.nextafter),
    "not_equal": Row(2, "any", "bool", np.not_equal),
    "positive": Row(1, "numeric", "same", np.positive),
    "pow": Row(2, "numeric", "same", np.power, 4),
    "reciprocal": Row(1, "floating-point", "same", np.reciprocal, 2),
    "remainder": Row(2, "real", "same", np.remainder),
    "round": Row(1, "numeric", "same", np.rint),
    "sign": Row(1, "numeric", "same", np.sign, 2),
    "signbit": Row(1, "real floating-point", "bool", np.signbit),
    "sin": Row(1, "floating-point", "same", np.sin, 4),
    "sinh": Row(1, "floating-point", "same", np.sinh, 4),
    "sqrt": Row(1, "floating-point", "same", np.sqrt, 2),
    "square": Row(1, "numeric", "same", np.square, 1),
    "subtract": Row(2, "numeric", "same", np.subtract),
    "tan": Row(1, "floating-point", "same", np.tan, 4),
    "tanh": Row(1, "floating-point", "same", np.tanh, 4),
    "trunc": Row(1, "real", "same", np.trunc),
}
OTHERS = {"clip", "imag", "real"}
UNARY = {name: row for name, row in FUNCTIONS.items() if row.operands == 1}
BINARY = {name: row for name, row in FUNCTIONS.items() if row.operands == 2}


def cases(rows: dict[str, Row]) -> Any:
    return pytest.mark.parametrize(
        ("name", "dtype"), [(name, dtype) for name, row in rows.items() for dtype in KINDS[row.kinds]]
    )


# -- oracles -----------------------------------------------------------------------------------------


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """A Python integer modulo the range of a dtype."""
    known = limits(dtype.name)
    return (value - known.min) % (known.max - known.min + 1) + known.min


INTEGERS: dict[str, Callable[..., Any]] = {
    "abs": abs, "add": operator.add, "bitwise_and": operator.and_, "bitwise_invert": operator.invert,
    "bitwise_left_shift": lambda a, b: a << min(b, 64), "bitwise_or": operator.or_,
    "bitwise_right_shift": lambda a, b: a >> min(b, 64), "bitwise_xor": operator.xor, "ceil": int, "conj": int,
    "equal": operator.eq, "floor": int, "floor_divide": operator.floordiv, "greater": operator.gt,
    "greater_equal": operator.ge, "isfinite": lambda a: True, "isinf": lambda a: False, "isnan": lambda a: False,
    "less": operator.lt, "less_equal": operator.le, "maximum": max, "minimum": min, "multiply": operator.mul,
    "negative": operator.neg, "not_equal": operator.ne, "positive": int, "pow": operator.pow,
    "remainder": operator.mod, "round": int, "sign": lambda a: (a > 0) - (a < 0), "square": lambda a: a * a,
    "subtract": operator.sub, "trunc": int,
}  # fmt: skip


def floor_quotient(a: float, b: float) -> float:
    """The standard's special cases of floor_divide, and the exact floor of the exact quotient."""
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return NAN
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return sign * INF
    if math.isinf(b) or a == 0:
        return sign * 0.0
    return float(math.floor(Fraction(a) / Fraction(b)))


def oracle(name: str, *operands: np.ndarray) -> np.ndarray:
    """What the function gives for operands of one dtype: exact for integers, NumPy's otherwise where that is right."""
    row, dtype = FUNCTIONS[name], operands[0].dtype
    with np.errstate(all="ignore"):
        together = np.broadcast_arrays(*operands)
        if kind(dtype.name) in ("int", "uint"):
            result_dtype = np.dtype(bool) if row.result == "bool" else dtype
            values = [
                INTEGERS[name](*[int(value) for value in element]) for element in zip(*[a.ravel() for a in together])
            ]
            if result_dtype != np.dtype(bool):
                values = [wrapped(value, result_dtype) for value in values]
            between = widened(together[0]).dtype if result_dtype == dtype else result_dtype
            return np.array(values, between).astype(result_dtype).reshape(together[0].shape)
        if dtype.name == "complex32":
            wide = oracle(name, *[widened(a) for a in operands])
            return wide if row.result == "bool" else cast(wide, np.float16 if row.result == "real" else dtype)
        if dtype.kind not in "bc" and dtype not in (np.float32, np.float64) and name not in ("nextafter", "signbit"):
            wide = oracle(name, *[a.astype(np.float32) for a in operands])
            return wide if row.result == "bool" else cast(wide, dtype)
        if name == "floor_divide":
            values = [floor_quotient(float(a), float(b)) for a, b in zip(*[a.ravel() for a in together])]
            return np.array(values, np.float64).astype(dtype).reshape(together[0].shape)
        if name == "log1p" and dtype.kind == "c":
            # NumPy's is off by hundreds of eps near 0.
            values = [complex(mpmath.log1p(mpmath.mpc(complex(a)))) for a in together[0].ravel()]
            return np.array(values).astype(dtype).reshape(together[0].shape)
        # Dense copies: NumPy's power takes a wrong shortcut where the exponent has stride 0.
        result = np.asarray(row.ufunc(*[np.array(a, order="C") for a in together]))
        if name == "nextafter":
            # From one zero to the other the text gives the other; NumPy's float16 kernel stays.
            result = np.where(together[0] == together[1], together[1], result)
        return result


def undefined(name: str, *operands: np.ndarray) -> np.ndarray:
    """Where the standard gives no value: integer division by zero, negative shifts and exponents of integers."""
    second = widened(np.broadcast_arrays(*operands)[-1])
    if second.dtype.kind not in "iu":
        return np.zeros(second.shape, bool)
    if name in ("floor_divide", "remainder"):
        return second == 0
    if name in ("bitwise_left_shift", "bitwise_right_shift", "pow"):
        return second < 0
    return np.zeros(second.shape, bool)


def expected_dtype(name: str, dtype: str) -> Any:
    result = FUNCTIONS[name].result
    if result == "bool":
        return xp.bool
    if result == "real" and kind(dtype) == "complex":
        return {"complex32": xp.float16, "complex64": xp.float32, "complex128": xp.float64}[dtype]
    return getattr(xp, dtype)


def agrees(name: str, got: xp.NDArray, want: np.ndarray) -> bool:
    ulps = FUNCTIONS[name].ulps
    if want.dtype.name.startswith("complex") and ulps:
        ulps = 64
    return close(plain(got), want, ulps) if ulps else identical(plain(got), want)


# -- which there are -----------------------------------------------------------------------------------


def test_the_table_of_this_file_holds_every_elementwise_function() -> None:
    from candela_xp import _elementwise

    public = {
        name for name in xp.__all__ if getattr(getattr(xp, name), "__wrapped__", None) and name in vars(_elementwise)
    }
    assert public == set(FUNCTIONS)
    assert set(vars(_elementwise)) >= OTHERS


# -- values and layouts ----------------------------------------------------------------------------------


@cases(UNARY)
def test_a_function_of_one_array_is_right_in_every_layout(name: str, dtype: str) -> None:
    function = getattr(xp, name)
    values = special(dtype).reshape(3, 4)
    want = oracle(name, values)
    with np.errstate(all="ignore"):
        for arrangement, view in arranged(values):
            got = function(ours(view))
            assert got.dtype is expected_dtype(name, dtype)
            assert agrees(name, got, want), arrangement
            assert identical(view, values), f"{arrangement}: the operand has changed"


@cases(UNARY)
def test_a_function_of_one_array_takes_broadcast_empty_and_0d_arrays(name: str, dtype: str) -> None:
    function = getattr(xp, name)
    with np.errstate(all="ignore"):
        for layout, view in examples(dtype):
            got = function(ours(view))
            assert agrees(name, got, oracle(name, view)), layout


def pairs(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """A column and a row of values: all pairs, without those for which the standard has no value."""
    first, second = widened(special(dtype)), widened(special(dtype))
    if name in ("bitwise_left_shift", "bitwise_right_shift"):
        second = np.array([0, 1, 2, 3, 7, 8, 15, 31, 32, 63, 64, 70], second.dtype)
        second = second % 8 if dtype in NARROW_INTEGER else second
    elif name == "pow" and kind(dtype) in ("int", "uint"):
        second = np.array([0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 2, 1], second.dtype)
        second = second % 8 if dtype in NARROW_INTEGER else second
    elif name in ("floor_divide", "remainder") and kind(dtype) in ("int", "uint"):
        second = np.where(second == 0, 7, second).astype(second.dtype)
        # The one quotient outside the dtype: min // -1.
        second = np.where(second == -1, 3, second).astype(second.dtype) if kind(dtype) == "int" else second
    elif name == "divide" and kind(dtype) == "complex":
        second = second + second.dtype.type(0.5 + 0.25j)
    elif name == "pow" and kind(dtype) == "complex":
        first, second = first + first.dtype.type(1.5 + 0.5j), second / second.dtype.type(2)
    first, second = cast(first, twin(dtype)), cast(second, twin(dtype))
    return first.reshape(12, 1), second.reshape(1, 12)


@cases(BINARY)
def test_a_function_of_two_arrays_is_right_for_all_pairs_of_values(name: str, dtype: str) -> None:
    column, row = pairs(name, dtype)
    assert not undefined(name, column, row).any()
    with np.errstate(all="ignore"):
        got = getattr(xp, name)(ours(column), ours(row))
        want = oracle(name, column, row)
    assert got.dtype is expected_dtype(name, dtype)
    assert agrees(name, got, want)


@cases(BINARY)
def test_a_function_of_two_arrays_is_right_in_every_pair_of_layouts(name: str, dtype: str) -> None:
    function = getattr(xp, name)
    first, second = (np.broadcast_to(a, (12, 12))[:6, 4:12].copy() for a in pairs(name, dtype))
    want = oracle(name, first, second)
    with np.errstate(all="ignore"):
        for place, view in arranged(first):
            for other_place, other in [*arranged(second)][:: 1 if dtype in ("int32", "float64") else 3]:
                assert agrees(name, function(ours(view), ours(other)), want), (place, other_place)


@cases(BINARY)
def test_an_operand_with_stride_0_gives_what_its_dense_copy_gives(name: str, dtype: str) -> None:
    function = getattr(xp, name)
    column, row = pairs(name, dtype)
    with np.errstate(all="ignore"):
        for number in range(12):
            stretched = xp.broadcast_to(ours(row[0, number : number + 1]), (12, 1))
            want = oracle(name, column, np.repeat(row[:, number : number + 1], 12, axis=0))
            assert agrees(name, function(ours(column), stretched), want)


@cases(BINARY)
def test_a_python_scalar_on_either_side_acts_as_a_0d_array_of_the_dtype(name: str, dtype: str) -> None:
    function = getattr(xp, name)
    column, row = pairs(name, dtype)
    values = {"bool": [True, False], "int": [0, 1, 5, -3, 100], "uint": [0, 1, 5, 100]}.get(kind(dtype), [0.5, -2, 2.0])
    if kind(dtype) == "complex":
        values = [0.5, 2, 1.5 - 0.5j]
    if dtype in NARROW_INTEGER:
        values = [value for value in values if limits(dtype).min <= value <= limits(dtype).max]
    with np.errstate(all="ignore"):
        for value in values:
            scalar = cast(value, twin(dtype))
            if not undefined(name, column, scalar).any():
                got = function(ours(column), value)
                assert got.dtype is expected_dtype(name, dtype)
                assert agrees(name, got, oracle(name, column, scalar))
            if not undefined(name, scalar, row).any():
                assert agrees(name, function(value, ours(row)), oracle(name, scalar, row))


@pytest.mark.parametrize("name", BINARY)
def test_shapes_broadcast_and_others_are_refused_with_the_name_of_the_function(name: str) -> None:
    dtype = KINDS[BINARY[name].kinds][-1 if BINARY[name].kinds in ("boolean", "integer") else 0]
    function = getattr(xp, name)
    ones = xp.ones((2, 1, 3), dtype=getattr(xp, dtype))
    assert function(ones, xp.ones((4, 1), dtype=ones.dtype)).shape == (2, 4, 3)
    assert function(ones, xp.ones((), dtype=ones.dtype)).shape == (2, 1, 3)
    assert function(xp.ones((0, 1), dtype=ones.dtype), ones).shape == (2, 0, 3)
    with pytest.raises(ValueError, match=rf"^{name}: .*\(2, 1, 3\).*\(2, 2\)"):
        function(ones, xp.ones((2, 2), dtype=ones.dtype))


@given(
    st.sampled_from(["add", "subtract", "multiply", "divide", "maximum", "less", "equal", "hypot"]),
    st.lists(st.floats(width=64), min_size=1, max_size=20),
    st.lists(st.floats(width=64), min_size=1, max_size=20),
    st.sampled_from(["float64", "float32"]),
)
def test_random_floats_agree_with_numpy(name: str, first: list[float], second: list[float], dtype: str) -> None:
    with np.errstate(all="ignore"):
        a, b = np.array(first).astype(dtype)[:, None], np.array(second).astype(dtype)[::-1]
        assert agrees(name, getattr(xp, name)(ours(a), ours(b)), oracle(name, a, b))


@given(
    st.sampled_from(sorted(INTEGERS)), st.sampled_from(INTEGER), st.lists(st.integers(), min_size=2, max_size=2),
)  # fmt: skip
def test_random_integers_agree_with_python(name: str, dtype: str, numbers: list[int]) -> None:
    first, second = (np.array([wrapped(number, np.dtype(dtype))], dtype) for number in numbers)
    operands = (first,) if FUNCTIONS[name].operands == 1 else (first, second)
    if name == "pow" and len(operands) == 2:
        operands = (first, (second % 40).astype(dtype))
    if FUNCTIONS[name].operands == 2 and undefined(name, *operands).any():
        return
    if name == "floor_divide" and int(second[0]) == -1:
        return  # min // -1 does not fit
    got = getattr(xp, name)(*map(ours, operands))
    assert identical(plain(got), oracle(name, *operands))


# -- special values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOAT)
def test_complex_and_real_kernels_agree_on_the_real_axis(dtype: str) -> None:
    values = np.array([0.25, 0.5, 0.75], dtype)
    for name, row in UNARY.items():
        if row.kinds == "floating-point":
            wide = oracle(name, values.real.astype(np.float64))
            if np.isfinite(wide).all():
                got = plain(getattr(xp, name)(ours(values)))
                assert np.allclose(got.real, wide, rtol=1e-5 if dtype in ("float32", "complex64") else 1e-13), name


@pytest.mark.parametrize(
    ("name", "function"),
    [(n, getattr(cmath, p)) for n, p in (("exp", "exp"), ("log", "log"), ("sqrt", "sqrt"), ("sin", "sin"),
     ("cos", "cos"), ("tan", "tan"), ("asin", "asin"), ("acos", "acos"), ("atan", "atan"), ("sinh", "sinh"),
     ("cosh", "cosh"), ("tanh", "tanh"), ("asinh", "asinh"), ("acosh", "acosh"), ("atanh", "atanh"))],
)  # fmt: skip
def test_complex_functions_agree_with_python_off_the_branch_cuts(name: str, function: Callable[..., Any]) -> None:
    grid = [complex(a, b) for a in (-2.5, -0.5, 0.5, 3.0) for b in (-1.5, -0.25, 0.25, 2.0)]
    got = plain(getattr(xp, name)(xp.asarray(grid)))
    want = np.array([function(value) for value in grid])
    assert np.all(np.abs(got - want) <= 64 * np.finfo(float).eps * np.abs(want))


@pytest.mark.parametrize("dtype", REAL_FLOAT)
@pytest.mark.parametrize("layout", ["scalar", "stretched", "dense"])
def test_pow_of_minus_infinity_to_one_half_is_plus_infinity_whatever_the_shape_of_the_exponent(
    dtype: str, layout: str
) -> None:
    x = xp.asarray([-INF, -0.0, 4.0], dtype=getattr(xp, dtype))
    half: Any = 0.5
    if layout != "scalar":
        half = xp.asarray([0.5], dtype=x.dtype) if layout == "stretched" else xp.full(3, 0.5, dtype=x.dtype)
    assert identical(plain(xp.pow(x, half)), np.array([INF, 0.0, 2.0], dtype))


def test_an_integer_to_a_negative_power_is_an_error_that_names_the_function() -> None:
    for exponent in (-1, xp.asarray([1, -2])):
        with pytest.raises(ValueError, match=r"^pow: "):
            xp.pow(xp.asarray([2, 3]), exponent)


def test_a_complex_number_with_a_nan_component_equals_nothing() -> None:
    x = xp.asarray([complex(NAN, 1), complex(1, NAN), 1 + 1j])
    assert plain(x == x).tolist() == [False, False, True]
    assert plain(x != x).tolist() == [True, True, False]


def test_sign_of_a_complex_zero_is_plus_zero_and_of_a_nan_component_nan() -> None:
    got = plain(xp.sign(xp.asarray([complex(-0.0, -0.0), complex(NAN, 1), 3 + 4j])))
    assert identical(got[:1], np.array([0j]))
    assert np.isnan(got[1].real)
    assert np.isnan(got[1].imag)
    assert got[2] == 0.6 + 0.8j


# -- comparison across dtypes and ranges --------------------------------------------------------------------


COMPARISONS = {
    name: INTEGERS[name] for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_of_int64_with_uint64_is_exact(name: str) -> None:
    signed = [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1]
    unsigned = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    got = plain(
        getattr(xp, name)(xp.reshape(xp.asarray(signed, dtype=xp.int64), (6, 1)), xp.asarray(unsigned, dtype=xp.uint64))
    )
    assert got.tolist() == [[COMPARISONS[name](a, b) for b in unsigned] for a in signed]


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", INTEGER)
def test_comparison_with_a_python_integer_outside_the_dtype_has_the_mathematical_answer(name: str, dtype: str) -> None:
    values = special(dtype)
    function = getattr(xp, name)
    for number in (-(2**70), -(2**63) - 1, -129, 256, 2**64, 2**70):
        assert plain(function(ours(values), number)).tolist() == [COMPARISONS[name](int(v), number) for v in values], (
            number
        )
        assert plain(function(number, ours(values))).tolist() == [COMPARISONS[name](number, int(v)) for v in values]


@pytest.mark.parametrize("dtype", INTEGER)
@pytest.mark.parametrize("name", ["add", "multiply", "bitwise_and", "maximum", "floor_divide"])
def test_arithmetic_with_a_python_integer_outside_the_dtype_is_an_overflow_error(name: str, dtype: str) -> None:
    number = int(np.iinfo(dtype).max) + 1
    for error in (OverflowError, ValueError):
        with pytest.raises(error, match=rf"^{name}: {number} does not fit {dtype}"):
            getattr(xp, name)(xp.ones(2, dtype=getattr(xp, dtype)), number)


# -- promotion -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", STANDARD)
@pytest.mark.parametrize("second", STANDARD)
def test_arrays_of_two_dtypes_combine_as_numpy_says_and_promotable_ones_also_in_strict_mode(
    first: str, second: str
) -> None:
    a, b = ours(tame(first)), ours(tame(second))
    common = np.result_type(np.dtype(first), np.dtype(second))
    want = (tame(first).astype(common) + tame(second).astype(common)).astype(common)
    assert identical(plain(xp.add(a, b)), want)
    if first == "bool" and second == "bool":
        return  # NumPy's and our default mode's answer, not the standard's
    with candela_settings(strict=True):
        promotable = xp.can_cast(getattr(xp, first), xp.result_type(a.dtype, a.dtype)) and _in_standard(first, second)
        if promotable:
            assert identical(plain(xp.add(a, b)), want)
        else:
            with pytest.raises(TypeError, match=rf"^add: .*{first}|{second}"):
                xp.add(a, b)


def _in_standard(first: str, second: str) -> bool:
    """Whether the standard's promotion tables have the pair."""
    kinds = {kind(first), kind(second)}
    if kinds <= {"float", "complex"} or len(kinds) == 1:
        return True
    return kinds == {"int", "uint"} and "uint64" not in (first, second)


DEFAULT_FLOAT_FUNCTIONS = [name for name, row in FUNCTIONS.items() if "floating" in row.kinds]


@pytest.mark.parametrize("dtype", [*BOOL, *INTEGER, *NARROW_INTEGER])
@pytest.mark.parametrize("name", DEFAULT_FLOAT_FUNCTIONS)
def test_integers_in_floating_point_functions_are_computed_in_float64(name: str, dtype: str) -> None:
    values = tame(dtype)
    operands = (values,) * FUNCTIONS[name].operands
    with np.errstate(all="ignore"):
        got = getattr(xp, name)(*map(ours, operands))
        want = oracle(name, *[operand.astype(np.float64) for operand in operands])
    assert got.dtype is (xp.bool if FUNCTIONS[name].result == "bool" else xp.float64)
    assert agrees(name, got, want)


@pytest.mark.parametrize("dtype", [name for name in ALL_DTYPES if name != "bool"])
@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.kinds == "boolean"])
def test_numbers_in_logical_functions_count_as_true_where_they_are_not_0(name: str, dtype: str) -> None:
    values = special(dtype)
    truth = widened(values) != 0
    operands = (values, values[::-1])[: FUNCTIONS[name].operands]
    truths = (truth, truth[::-1])[: FUNCTIONS[name].operands]
    got = getattr(xp, name)(*map(ours, operands))
    assert identical(plain(got), FUNCTIONS[name].ufunc(*truths))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
def test_booleans_in_these_numeric_functions_stay_booleans(name: str) -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert identical(plain(getattr(xp, name)(ours(a), ours(b))), FUNCTIONS[name].ufunc(a, b))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal"])
def test_booleans_compare_with_false_below_true(name: str) -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert identical(plain(getattr(xp, name)(ours(a), ours(b))), FUNCTIONS[name].ufunc(a, b))


_NUMERIC_OF_INT = [
    name
    for name, row in FUNCTIONS.items()
    if row.kinds in ("numeric", "real", "integer")
    and name not in ("add", "multiply", "maximum", "minimum", "subtract", "negative")
    and not name.startswith(("less", "greater", "is"))
]


@pytest.mark.parametrize("name", _NUMERIC_OF_INT)
def test_booleans_in_the_other_numeric_functions_are_computed_in_int64(name: str) -> None:
    values = np.array([True, True, True]) if FUNCTIONS[name].operands == 2 else np.array([True, False, True])
    operands = (values,) * FUNCTIONS[name].operands
    got = getattr(xp, name)(*map(ours, operands))
    assert identical(plain(got), oracle(name, *[operand.astype(np.int64) for operand in operands]))


@pytest.mark.parametrize(("name", "other"), [("subtract", "logical_xor"), ("negative", "logical_not")])
def test_the_difference_of_booleans_is_refused_and_the_way_out_named(name: str, other: str) -> None:
    x = xp.asarray([True, False])
    with pytest.raises(TypeError, match=rf"^{name}: .*{other}"):
        getattr(xp, name)(*(x,) * FUNCTIONS[name].operands)


SCALARS = {"bool": True, "int": 2, "float": 0.5, "complex": 0.5j}


@pytest.mark.parametrize("dtype", STANDARD)
@pytest.mark.parametrize("scalar", SCALARS)
def test_a_scalar_of_another_kind_gives_numpys_dtype_and_in_strict_mode_only_where_the_standard_says(
    dtype: str, scalar: str
) -> None:
    x, value = ours(tame(dtype)), SCALARS[scalar]
    level = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
    got = xp.multiply(x, value)
    if scalar == "complex" and dtype == "float32":
        want = xp.complex64
    elif level[scalar] <= level[kind(dtype)]:
        want = x.dtype
    else:
        want = {"int": xp.int64, "float": xp.float64, "complex": xp.complex128}[scalar]
    assert got.dtype is want
    assert np.array_equal(plain(got), tame(dtype) * value)
    promised = (scalar == "bool") == (dtype == "bool") and (
        level[scalar] <= level[kind(dtype)] or (scalar, kind(dtype)) == ("complex", "float")
    )
    with candela_settings(strict=True):
        if promised and dtype != "bool":
            assert xp.multiply(x, value).dtype is want
        else:
            with pytest.raises(TypeError, match=r"^multiply: "):
                xp.multiply(x, value)


def test_the_narrow_floats_mix_with_wider_ones_and_float16_with_bfloat16_gives_float32() -> None:
    half, brain = xp.ones(2, dtype=xp.float16), xp.ones(2, dtype=xp.bfloat16)
    assert (half + brain).dtype is xp.float32
    assert (half + xp.ones(2, dtype=xp.float32)).dtype is xp.float32
    assert (brain + xp.ones(2, dtype=xp.complex128)).dtype is xp.complex128
    assert (brain + 1.5).dtype is xp.bfloat16
    with pytest.raises(TypeError, match=r"^add: float8_e5m2 and float8_e4m3fn have no common dtype"):
        xp.add(xp.ones(2, dtype=xp.float8_e5m2), xp.ones(2, dtype=xp.float8_e4m3fn))
    numbers = xp.ones(2, dtype=xp.int32)
    assert (brain + numbers).dtype is xp.bfloat16
    with candela_settings(strict=True), pytest.raises(TypeError, match=r"^add: .*bfloat16"):
        xp.add(brain, numbers)


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_the_dtypes_that_make_no_sense_and_says_its_name(name: str) -> None:
    row = FUNCTIONS[name]
    senseless = {
        "integer": KINDS["floating-point"], "integer or boolean": KINDS["floating-point"], "real": KINDS["complex"],
        "real floating-point": KINDS["complex"],
    }.get(row.kinds, [])  # fmt: skip
    for dtype in senseless:
        x = xp.ones(2, dtype=getattr(xp, dtype))
        with pytest.raises(TypeError, match=rf"^{name}: not defined for {dtype} arrays"):
            getattr(xp, name)(*(x,) * row.operands)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strict_mode_takes_exactly_the_dtypes_of_the_standard(name: str, dtype: str) -> None:
    row = FUNCTIONS[name]
    x = ours(tame(dtype))
    with candela_settings(strict=True), np.errstate(all="ignore"):
        if dtype in KINDS[row.kinds]:
            divides = name in ("floor_divide", "remainder") and kind(dtype) in ("int", "uint")
            other = ours(cast(np.ones(12, np.int8), twin(dtype))) if divides else x
            assert getattr(xp, name)(*(x, other)[: row.operands]).shape == (12,)
        else:
            with pytest.raises(TypeError, match=rf"^{name}: not defined for {dtype} arrays"):
                getattr(xp, name)(*(x,) * row.operands)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *OTHERS}))
@pytest.mark.parametrize("wrong", [None, "text", [1.0], np.ones(2), np.float32(1), object()])
def test_what_is_no_array_is_refused_with_the_way_out(name: str, wrong: Any) -> None:
    if FUNCTIONS.get(name, Row(1, "", "", print)).operands == 1:
        with pytest.raises(TypeError, match=rf"^{name}: x is a .*not an NDArray; use candela_xp.asarray"):
            getattr(xp, name)(wrong)
    elif not isinstance(wrong, np.generic):
        x = xp.ones(2, dtype=getattr(xp, KINDS[BINARY[name].kinds][0]))
        for operands in ((x, wrong), (wrong, x)):
            with pytest.raises(TypeError, match=rf"^{name}: x[12] is a .*use candela_xp.asarray"):
                getattr(xp, name)(*operands)


def test_results_are_on_the_device_of_the_operands_and_two_devices_are_refused() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        for name, row in BINARY.items():
            dtype = getattr(xp, KINDS[row.kinds][0])
            with pytest.raises(ValueError, match=rf"^{name}: one array is on cpu, the other on simulated:1"):
                getattr(xp, name)(xp.ones(2, dtype=dtype), xp.ones(2, dtype=dtype, device=there))
            assert getattr(xp, name)(xp.ones(2, dtype=dtype, device=there), True).device is there
        for name, row in UNARY.items():
            x = xp.ones(2, dtype=getattr(xp, KINDS[row.kinds][0]), device=there)
            with np.errstate(all="ignore"):
                assert getattr(xp, name)(x).device is there
        x = xp.ones(2, device=there)
        results = [xp.real(x), xp.imag(xp.ones(2, dtype=xp.complex64, device=there)), xp.clip(x, 0, x), xp.clip(x), -x]
        assert {result.device for result in results} == {there}
        with pytest.raises(ValueError, match=r"^clip: one array is on simulated:1, the other on cpu"):
            xp.clip(x, xp.zeros(2))


# -- operators -----------------------------------------------------------------------------------------------------

OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


@pytest.mark.parametrize("symbol", OPERATORS)
def test_an_operator_is_its_function_for_arrays_and_for_scalars_on_either_side(symbol: str) -> None:
    name, act = OPERATORS[symbol], getattr(operator, symbol)
    dtype = "float64" if name == "divide" else "int32"
    a, b = np.array([5, 7, 2], dtype), np.array([1, 2, 3], dtype)
    assert identical(plain(act(ours(a), ours(b))), oracle(name, a, b))
    assert identical(plain(act(ours(a), 2)), oracle(name, a, np.asarray(2, dtype)))
    assert identical(plain(act(2, ours(b))), oracle(name, np.asarray(2, dtype), b))


@pytest.mark.parametrize("symbol", [name for name in OPERATORS if name not in ("lt", "le", "gt", "ge", "eq", "ne")])
def test_an_operator_in_place_writes_the_memory_it_has(symbol: str) -> None:
    name, act = OPERATORS[symbol], getattr(operator, "i" + symbol.rstrip("_"))
    dtype = "float64" if name == "divide" else "int32"
    for place, view in arranged(np.array([[5, 7, 2], [8, 9, 4]], dtype)):
        want = oracle(name, np.array(view), np.array([1, 2, 3], dtype))
        x = before = ours(view)
        x = act(x, ours(np.array([1, 2, 3], dtype)))
        assert x is before
        assert identical(view, want), place


@pytest.mark.parametrize(("symbol", "name"), [("neg", "negative"), ("pos", "positive"), ("abs", "abs")])
def test_an_operator_of_one_array_is_its_function(symbol: str, name: str) -> None:
    values = np.array([1.5, -2.0, -0.0])
    assert identical(plain(getattr(operator, symbol)(ours(values))), oracle(name, values))
    assert identical(plain(~ours(np.array([1, -2]))), np.array([-2, 1]))


# -- real and imag --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", COMPLEX)
def test_real_and_imag_are_views_that_write_through_in_every_layout(dtype: str) -> None:
    values = special(dtype).reshape(3, 4)
    for place, view in arranged(values):
        for name in ("real", "imag"):
            x = ours(view)
            part = getattr(xp, name)(x)
            assert part.dtype is (xp.float32 if dtype == "complex64" else xp.float64)
            assert identical(plain(part), getattr(view, name)), place
            part[1, 2] = 9
            assert getattr(view, name)[1, 2] == 9
    for place, view in examples(dtype):
        for name in ("real", "imag"):
            assert identical(plain(getattr(xp, name)(ours(view))), np.asarray(getattr(view, name))), place


@pytest.mark.parametrize("dtype", KINDS["real"])
def test_real_of_a_real_array_is_the_array_and_imag_is_refused(dtype: str) -> None:
    x = ours(tame(dtype))
    assert xp.real(x) is x
    with pytest.raises(TypeError, match=rf"^imag: not defined for {dtype}"):
        xp.imag(x)


# -- clip --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*BOOL, *KINDS["real"]])
@pytest.mark.parametrize("form", ["none", "min", "max", "both", "scalars", "column and row"])
def test_clip_agrees_with_comparisons_in_every_form_and_layout(dtype: str, form: str) -> None:
    values = special(dtype).reshape(3, 4)
    low, high = tame(dtype)[1], tame(dtype)[3]
    bounds: dict[str, tuple[Any, Any]] = {
        "none": (None, None),
        "min": (np.asarray(low), None),
        "max": (None, np.asarray(high)),
        "both": (np.full((3, 4), low), np.full((4,), high)),
        "scalars": (low.item() if dtype == "bool" else int(low), high.item() if dtype == "bool" else int(high)),
        "column and row": (np.full((2, 3, 1), low), np.full((1, 4), high)),
    }
    lower, upper = bounds[form]
    wide = widened(values)
    want = wide if form != "column and row" else np.broadcast_to(wide, (2, 3, 4))
    with np.errstate(all="ignore"):
        if lower is not None:
            want = np.where(np.isnan(want), want, np.where(want < want.dtype.type(low), want.dtype.type(low), want))
        if upper is not None:
            want = np.where(np.isnan(want), want, np.where(want > want.dtype.type(high), want.dtype.type(high), want))
        want = want.astype(values.dtype)
        for place, view in arranged(values):
            given = [ours(b) if isinstance(b, np.ndarray) else b for b in (lower, upper)]
            got = xp.clip(ours(view), *given)
            assert identical(plain(got), want), place
            assert not np.may_share_memory(plain(got), view)
            assert identical(plain(xp.clip(ours(view), min=given[0], max=given[1])), want)


@pytest.mark.parametrize("dtype", REAL_FLOAT)
def test_clip_gives_nan_where_any_of_the_three_is_nan(dtype: str) -> None:
    own = getattr(xp, dtype)
    x = xp.asarray([1.0, NAN, 3.0], dtype=own)
    bound = xp.asarray([NAN, 0.0, 2.0], dtype=own)
    assert np.isnan(plain(xp.clip(x, bound))).tolist() == [True, True, False]
    assert np.isnan(plain(xp.clip(x, None, bound))).tolist() == [True, True, False]
    assert np.isnan(plain(xp.clip(x, 0, bound))).tolist() == [True, True, False]
    assert np.isnan(plain(xp.clip(x, NAN, NAN))).all()


def test_clip_gives_max_where_the_bounds_cross() -> None:
    assert plain(xp.clip(xp.asarray([0, 5, 9]), 7, 3)).tolist() == [3, 3, 3]


def test_clip_takes_bounds_of_a_wider_dtype_without_wrapping() -> None:
    x = xp.asarray([-100, 0, 100], dtype=xp.int8)
    for bound in (xp.asarray(1000), xp.asarray(2**63, dtype=xp.uint64)):
        assert plain(xp.clip(x, None, bound)).tolist() == [-100, 0, 100]
        assert plain(xp.clip(x, bound)).tolist() == [127, 127, 127]
    assert plain(xp.clip(x, xp.asarray(-1000))).tolist() == [-100, 0, 100]
    assert plain(xp.clip(xp.asarray([1, 200], dtype=xp.uint8), xp.asarray(-5))).tolist() == [1, 200]
    big = xp.asarray(1e300)
    assert plain(xp.clip(xp.ones(2, dtype=xp.float32), None, big)).tolist() == [1, 1]
    assert xp.clip(xp.ones(2, dtype=xp.float32), xp.asarray(3), None).dtype is xp.float32
    assert plain(xp.clip(x, xp.asarray(True), None)).tolist() == [1, 1, 100]


def test_clip_refuses_bounds_of_a_higher_kind_and_of_other_types() -> None:
    x = xp.asarray([1, 2])
    for bound, what in ((0.5, r"min=0\.5"), (xp.asarray(0.5), "min is float64, x is int64"), ("a", "min is a str")):
        with pytest.raises(TypeError, match=rf"^clip: {what}"):
            xp.clip(x, bound)
    with pytest.raises(TypeError, match=r"^clip: max is a list"):
        xp.clip(x, None, [3])
    with pytest.raises(TypeError, match=r"^clip: not defined for complex128"):
        xp.clip(xp.asarray([1j]), 0, 1)
    with pytest.raises(ValueError, match=r"^clip: .*\(2,\).*\(3,\)"):
        xp.clip(x, xp.asarray([1, 2, 3]))
    with pytest.raises(OverflowError, match=r"^clip: 300 does not fit int8"):
        xp.clip(xp.asarray([1], dtype=xp.int8), 0, 300)
    assert plain(xp.clip(x, np.int64(2))).tolist() == [2, 2]


# -- extensions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_are_computed_in_float32_and_rounded_once(dtype: str) -> None:
    values = np.array([0.5, 0.75, 1.5, 2.0, 1.25]).astype(twin(dtype))
    for name in ("exp", "log", "sin", "sqrt"):
        want = FUNCTIONS[name].ufunc(values.astype(np.float32)).astype(values.dtype)
        assert close(plain(getattr(xp, name)(ours(values))), want, 1)


def test_float8_e8m0fnu_is_a_scale_without_zero_and_sign() -> None:
    x = xp.asarray([1.0, 2.0, 0.25], dtype=xp.float8_e8m0fnu)
    assert [float(value) for value in x] == [1.0, 2.0, 0.25]
    assert plain(xp.astype(x * x, xp.float32)).tolist() == [1.0, 4.0, 0.0625]
    assert plain(xp.astype(x, xp.bool)).tolist() == [True, True, True]


def test_a_numpy_scalar_acts_as_the_python_scalar_of_its_kind() -> None:
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    assert (x + np.float64(0.5)).dtype is xp.float32
    assert plain(xp.add(np.int8(3), x)).tolist() == [4.0, 5.0]
    assert plain(xp.multiply(xp.asarray([1, 2], dtype=xp.int8), np.int64(3))).tolist() == [3, 6]
    assert (xp.ones(1, dtype=xp.bfloat16) + np.asarray(2.0, ml_dtypes.bfloat16)[()]).dtype is xp.bfloat16


def test_two_scalars_give_a_0d_array() -> None:
    got = xp.add(1, 2.5)
    assert (got.shape, got.dtype, float(got)) == ((), xp.float64, 3.5)
    assert xp.maximum(2, 3).dtype is xp.int64


def test_results_are_new_arrays_whatever_the_layout() -> None:
    for _, view in arranged(np.array([[1.0, 2.0], [3.0, 4.0]])):
        x = ours(view)
        for name in ("positive", "conj", "round", "floor", "abs"):
            assert not np.may_share_memory(plain(getattr(xp, name)(x)), view), name
    whole = lay_out(np.array([[1, 2], [3, 4]]), "fortran")
    for name in ("positive", "conj", "round", "floor", "ceil", "trunc"):
        assert not np.may_share_memory(plain(getattr(xp, name)(ours(whole))), whole), name
