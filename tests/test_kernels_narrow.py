"""Kernels of float16, ml_dtypes' floats and ml_dtypes' integers."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import Array, identical
from layouts import cast

from candela_xp._kernels import lookup

NARROW = [
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip
EACH = pytest.mark.parametrize("name", NARROW)
INTEGERS = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}


def dtype_of(name: str) -> np.dtype[np.generic]:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def every_value(name: str) -> Array:
    """All values of the dtype, each once, as the dtype."""
    dtype = dtype_of(name)
    bits = {"float6": 6, "float4": 4}.get(name[:6], 8 * dtype.itemsize)
    return np.arange(2**bits, dtype=f"uint{8 * dtype.itemsize}").view(dtype)


def wide(x: Array) -> Array:
    """The values in float64; signalling NaNs among the bit patterns say so when they are cast."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


@EACH
@pytest.mark.parametrize("function", ["exp", "sin", "sqrt", "log", "tanh", "reciprocal", "square", "floor", "round"])
def test_functions_of_one_value_round_the_float32_result_once(function: str, name: str) -> None:
    x = every_value(name)
    with np.errstate(all="ignore"):
        got = lookup(function, "narrow")(x, out=...)
        want = cast(lookup(function, "float")(x.astype(np.float32)), x.dtype)
    assert got.dtype == x.dtype
    if name != "float16":
        assert identical(wide(got), wide(want)).all()
        return
    # NumPy's float16 kernels may be SIMD ones of their own: an ulp.
    finite = np.isfinite(want)
    apart = np.abs(got[finite].view(np.int16).astype(int) - want[finite].view(np.int16))
    assert apart.max() <= 1
    assert identical(got[~finite], want[~finite]).all()


def nearest(exact: Fraction, values: Array) -> float:
    """The value nearest to `exact`; of two equally near, the one whose bits are even."""
    finite = [(abs(Fraction(float(v)) - exact), int(v.view(f"uint{8 * v.itemsize}")) & 1, float(v)) for v in values]
    return min(finite)[2]


@pytest.mark.parametrize("name", [n for n in NARROW if n not in ("float16", "bfloat16")])
@pytest.mark.parametrize("function", ["add", "multiply", "divide"])
def test_arithmetic_rounds_correctly(function: str, name: str) -> None:
    """Oracle: Fraction and the list of all values."""
    x = every_value(name)
    finite = x[np.isfinite(wide(x))]
    largest = Fraction(float(wide(finite).max()))
    rng = np.random.default_rng(1)
    a, b = rng.choice(finite, 150), rng.choice(finite[wide(finite) != 0.0], 150)
    got = lookup(function, "narrow")(a, b, out=...)
    operation = {"add": Fraction.__add__, "multiply": Fraction.__mul__, "divide": Fraction.__truediv__}[function]
    for p, q, r in zip(wide(a).tolist(), wide(b).tolist(), wide(got).tolist()):
        exact = operation(Fraction(p), Fraction(q))
        if abs(exact) <= largest:
            assert r == nearest(exact, finite), (p, q, r)


@EACH
def test_a_narrow_sum_does_not_depend_on_layout_or_length(name: str) -> None:
    x = np.resize(every_value(name), 40_000)
    y = np.roll(x, 11)
    add = lookup("add", "narrow")
    with np.errstate(all="ignore"):
        want = wide(add(x, y, out=...))
        assert identical(wide(add(x[::-1], y[::-1], out=...)), want[::-1]).all()
        assert identical(wide(add(x[::2], y[::2], out=...)), want[::2]).all()
        assert identical(wide(add(x[:7], y[:7], out=...)), want[:7]).all()
        assert identical(wide(add(x.reshape(200, 200).T, y.reshape(200, 200).T)), want.reshape(200, 200).T).all()
        assert identical(wide(add(x, y[3], out=...)), wide(add(x, np.full_like(x, y[3]), out=...))).all()
        into = x.copy()
        assert add(into, y, out=into) is into
        assert identical(wide(into), want).all()
    zero = add(x[5].reshape(()), y[5].reshape(()), out=...)
    assert isinstance(zero, np.ndarray)
    assert zero.shape == ()
    assert add(x[:0], y[:0], out=...).shape == (0,)


@EACH
@pytest.mark.parametrize("function", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_are_those_of_the_values(function: str, name: str) -> None:
    x = np.resize(every_value(name), 3000)
    y = np.roll(x, 5)
    y[::3] = x[::3]
    got = lookup(function, "narrow")(x, y, out=...)
    assert got.dtype == np.bool_
    assert (got == getattr(np, function)(wide(x), wide(y))).all()


@EACH
def test_signs_magnitudes_and_tests_are_those_of_the_dtype_itself(name: str) -> None:
    x = every_value(name)
    number = ~np.isnan(wide(x))
    with np.errstate(invalid="ignore"):
        assert (wide(lookup("abs", "narrow")(x)) == np.abs(wide(x)))[number].all()
        assert (wide(lookup("negative", "narrow")(x)) == -wide(x))[number].all()
        one = np.array(1.0, x.dtype)
        signed = wide(lookup("copysign", "narrow")(one, x, out=...))
        assert (np.abs(signed) == 1.0).all()
        assert (np.signbit(signed) == np.signbit(wide(x)))[number].all()
        for function in ("isnan", "isinf", "isfinite"):
            assert (lookup(function, "narrow")(x) == getattr(np, function)(wide(x))).all()
    assert (lookup("signbit", "narrow")(x) == np.signbit(wide(x)))[number].all()


@EACH
def test_nextafter_moves_to_the_neighbouring_value(name: str) -> None:
    x = every_value(name)
    values = np.unique(wide(x)[np.isfinite(wide(x))])
    neighbours = values.astype(x.dtype)
    nextafter = lookup("nextafter", "narrow")
    up = nextafter(neighbours[:-1], np.full_like(neighbours[1:], neighbours[-1]), out=...)
    down = nextafter(neighbours[1:], np.full_like(neighbours[1:], neighbours[0]), out=...)
    assert (wide(up) == values[1:]).all()
    assert (wide(down) == values[:-1]).all()
    zeros = np.array([-0.0, 0.0], x.dtype)
    assert identical(wide(nextafter(zeros, zeros[::-1], out=...)), wide(zeros[::-1])).all()
    if np.isnan(wide(x)).any():
        nan = np.array([math.nan], x.dtype)
        assert np.isnan(wide(nextafter(nan, neighbours[:1], out=...))).all()
        assert np.isnan(wide(nextafter(neighbours[:1], nan, out=...))).all()


def test_corrections_reach_the_narrow_floats() -> None:
    for name in ("float16", "bfloat16"):
        inf = np.array([math.inf, -math.inf, 1.0], name if name == "float16" else ml_dtypes.bfloat16)
        two, half = np.full_like(inf, 2.0), np.array(0.5, inf.dtype)
        assert wide(lookup("floor_divide", "narrow")(inf, two)).tolist() == [math.inf, -math.inf, 0.0]
        assert wide(lookup("pow", "narrow")(inf, half)).tolist() == [math.inf, math.inf, 1.0]


def test_an_exponent_only_dtype_has_no_sign_and_no_zero() -> None:
    x = every_value("float8_e8m0fnu")[:-1]
    assert x.dtype == ml_dtypes.float8_e8m0fnu
    assert not lookup("signbit", "narrow")(x).any()
    assert (wide(lookup("multiply", "narrow")(x[100:140], np.full(40, 2.0, x.dtype))) == 2 * wide(x[100:140])).all()
    assert np.isnan(wide(lookup("negative", "narrow")(x))).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_narrow_integers_wrap_as_two_s_complement(name: str) -> None:
    low, high = INTEGERS[name]
    count = high - low + 1
    dtype = dtype_of(name)
    values = [(a, b) for a in range(low, high + 1) for b in range(low, high + 1)]
    x, y = (np.array(column, np.int8).astype(dtype) for column in zip(*values))

    def wrapped(value: int) -> int:
        return (value - low) % count + low

    operations = {
        "add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__, "bitwise_xor": int.__xor__,
        "bitwise_and": int.__and__, "maximum": max, "minimum": min,
    }  # fmt: skip
    for function, operation in operations.items():
        got = lookup(function, "narrowint")(x, y, out=...)
        assert got.dtype == dtype
        assert got.astype(int).tolist() == [wrapped(operation(a, b)) for a, b in values], function
    for function, unary in {
        "negative": int.__neg__,
        "abs": abs,
        "bitwise_invert": int.__invert__,
        "round": int,
    }.items():
        assert lookup(function, "narrowint")(x).astype(int).tolist() == [wrapped(unary(a)) for a, _ in values], function
    assert lookup("less", "narrowint")(x, y).tolist() == [a < b for a, b in values]
    counts = np.array([b % 4 for _, b in values], np.int8).astype(dtype)
    if high >= 3:
        left = lookup("bitwise_left_shift", "narrowint")(x, counts)
        assert left.astype(int).tolist() == [wrapped(a << (b % 4)) for a, b in values]
    clipped = lookup("clip", "narrowint")(x, None, y, out=...)
    assert clipped.astype(int).tolist() == [min(a, b) for a, b in values]
