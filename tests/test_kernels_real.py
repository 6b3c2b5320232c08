"""Kernels of real floats, integers and bool."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import LAYOUTS, Array, identical, laid_out, lanes

from candela_xp._kernels import DIFFERENT_BACKWARDS, lookup

INF, NAN = math.inf, math.nan

REAL = pytest.mark.parametrize("dtype", ["float32", "float64"])
INTEGER = pytest.mark.parametrize("dtype", [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)])


def kind_of(dtype: str) -> str:
    return {"b": "bool", "i": "int", "u": "uint", "f": "float"}[np.dtype(dtype).kind]


def pairs(rows: list[tuple[float, float, float]], dtype: str) -> tuple[Array, Array, Array]:
    x1, x2, want = (np.array(column, dtype) for column in zip(*rows))
    return x1, x2, want


@pytest.mark.parametrize(
    ("name", "kind", "ufunc"),
    [
        ("add", "float", np.add), ("multiply", "complex", np.multiply), ("exp", "float", np.exp),
        ("bitwise_invert", "bool", np.invert), ("floor_divide", "int", np.floor_divide),
        ("remainder", "uint", np.remainder),
        ("round", "float", np.rint), ("round", "int", np.positive), ("remainder", "float", np.remainder),
        ("bitwise_left_shift", "uint", np.left_shift), ("abs", "narrow", np.absolute),
    ],
)  # fmt: skip
def test_where_numpy_is_right_the_kernel_is_its_ufunc(name: str, kind: str, ufunc: np.ufunc) -> None:
    assert lookup(name, kind) is ufunc


@pytest.mark.parametrize(
    ("name", "kind"), [("sin", "int"), ("bitwise_and", "float"), ("floor", "complex"), ("nope", "int")]
)
def test_a_function_without_a_kernel_for_a_kind_is_a_lookup_error(name: str, kind: str) -> None:
    with pytest.raises(LookupError, match=f"'{name}'.*'{kind}'"):
        lookup(name, kind)


# -- floor_divide -----------------------------------------------------------------------------------


FLOOR_DIVIDE = [
    (NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, INF, NAN), (INF, -INF, NAN), (-INF, INF, NAN), (-INF, -INF, NAN),
    (0.0, 0.0, NAN), (0.0, -0.0, NAN), (-0.0, 0.0, NAN), (-0.0, -0.0, NAN),
    (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0),
    (2.0, 0.0, INF), (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (-2.0, -0.0, INF),
    (INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF), (INF, 0.0, INF), (INF, -0.0, -INF),
    (2.0, INF, 0.0), (2.0, -INF, -0.0), (-2.0, INF, -0.0), (-2.0, -INF, 0.0), (0.0, INF, 0.0), (-0.0, INF, -0.0),
    (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (6.0, -3.0, -2.0), (1e-20, -1e20, -1.0), (-1e-20, 1e20, -1.0), (1.0, 4.0, 0.0),
]  # fmt: skip


@REAL
def test_floor_divide_has_the_special_cases_of_the_text_in_every_lane(dtype: str) -> None:
    x1, x2, want = pairs(FLOOR_DIVIDE, dtype)
    positions = np.arange(want.size)
    with np.errstate(all="ignore"):
        for order in lanes(positions):
            got = lookup("floor_divide", "float")(x1[order], x2[order], out=...)
            assert identical(got, want[order]).all()


FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(10**6), 10**6).map(float)
DECIMALS = st.tuples(st.integers(-9999, 9999), st.integers(0, 4)).map(lambda pair: pair[0] / 10 ** pair[1])
NUMBERS = st.one_of(FINITE, WHOLE, DECIMALS)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(st.tuples(NUMBERS, NUMBERS.filter(bool)), min_size=1, max_size=20))
def test_floor_divide_of_finite_float64_is_the_operator_of_python(operands: list[tuple[float, float]]) -> None:
    x1, x2 = (np.array(column) for column in zip(*operands))
    want = np.array([a // b for a, b in operands])
    with np.errstate(all="ignore"):
        assert identical(lookup("floor_divide", "float")(x1, x2), want).all()


def test_floor_divide_is_right_where_the_quotient_rounds_up_to_an_integer() -> None:
    """Multiples of decimal fractions, and quotients an ulp or two around integers of every size."""
    rng = np.random.default_rng(1)
    divisor = np.concatenate(
        [rng.integers(1, 99, 20_000) / 10.0 ** rng.integers(1, 5, 20_000), rng.uniform(0.1, 9, 20_000)]
    )
    integer = np.floor(2.0 ** rng.uniform(0, 58, divisor.size))
    x1 = divisor * integer
    x1 += np.spacing(x1) * rng.integers(-2, 3, x1.size)
    x1 *= rng.choice([-1.0, 1.0], x1.size)
    divisor *= rng.choice([-1.0, 1.0], x1.size)
    want = np.array([a // b for a, b in zip(x1.tolist(), divisor.tolist())])
    assert identical(lookup("floor_divide", "float")(x1, divisor), want).all()
    assert lookup("floor_divide", "float")(np.array(1.0), np.array(0.1), out=...) == 9.0


def test_floor_divide_of_float32_is_the_exact_floor() -> None:
    """Oracle: Fraction, rounded once; beyond 2^50 Python's operator of the same numbers."""
    rng = np.random.default_rng(2)
    x2 = (rng.integers(1, 999, 4000) / 10.0 ** rng.integers(0, 4, 4000)).astype("float32")
    x1 = (x2 * np.floor(2.0 ** rng.uniform(0, 30, 4000))).astype("float32") * rng.choice([-1, 1], 4000).astype(
        "float32"
    )
    want = np.array([np.float32(math.floor(Fraction(a) / Fraction(b))) for a, b in zip(x1.tolist(), x2.tolist())])
    assert identical(lookup("floor_divide", "float")(x1, x2), want).all()


@REAL
@pytest.mark.parametrize("name", ["floor_divide", "logaddexp", "pow"])
def test_corrected_kernels_give_the_same_in_every_layout_length_and_destination(name: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    kernel = lookup(name, "float")
    special = np.array([0.0, -0.0, INF, -INF, NAN, 0.5, 1.0, -1.0, 7.0, 0.1], dtype)
    x1 = np.resize(np.concatenate([np.repeat(special, special.size), rng.uniform(-9, 9, 903)]), 40_001).astype(dtype)
    x2 = np.resize(np.concatenate([np.tile(special, special.size), rng.uniform(-9, 9, 901)]), 40_001).astype(dtype)
    with np.errstate(all="ignore"):
        want = kernel(x1, x2, out=...)
        for layout in LAYOUTS:
            a, b = laid_out(x1, layout), laid_out(x2, layout)
            assert same_values(kernel(a, b, out=...), want, name), layout
            out = laid_out(np.empty_like(x1), layout)
            assert kernel(a, b, out=out) is out
            assert same_values(out, want, name), layout
        into_first, into_second = x1.copy(), x2.copy()
        assert identical(kernel(into_first, x2, out=into_first), want).all()
        assert identical(kernel(x1, into_second, out=into_second), want).all()
        shifted = np.concatenate([x1, x1[:1]])
        kernel(shifted[:-1], x2, out=shifted[1:])
        assert identical(shifted[1:], want).all()
        for i in range(0, 1000, 37):
            alone = kernel(x1[i : i + 1].reshape(()), x2[i : i + 1].reshape(()), out=...)
            assert isinstance(alone, np.ndarray)
            assert alone.shape == ()
            assert same_values(alone, want[i], name), (x1[i], x2[i])
        table = kernel(x1[:200, None], x2[None, :150], out=...)
        for j in range(150):
            assert same_values(table[:, j], kernel(x1[:200], np.repeat(x2[j : j + 1], 200)), name)
    assert kernel(x1[:0], x2[:0], out=...).shape == (0,)


def same_values(got: Array, want: Array, name: str) -> bool:
    """Bit for bit; NumPy's own pow depends on its stride by an ulp."""
    if name == "pow":
        exact = identical(got, want) | (np.isfinite(want) & (want != 0.0))
        finite = np.isfinite(want)
        return bool(
            exact.all() and np.allclose(got[finite], want[finite], rtol=4 * float(np.finfo(want.dtype).eps), atol=0)
        )
    return bool(identical(got, want).all())


def test_floor_divide_warns_where_numpy_does_and_nowhere_else() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        lookup("floor_divide", "float")(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    lookup("floor_divide", "float")(np.array([1.0, INF, 5e-324, 1e308]), np.array([INF, 1.0, -1.7e308, 1e300]))


# -- pow --------------------------------------------------------------------------------------------


POW = [
    *((v, NAN, NAN) for v in (2.0, 0.0, -1.0, NAN)), *((NAN, v, NAN) for v in (1.0, -2.5, 0.5, INF)), (1.0, NAN, 1.0),
    *((v, z, 1.0) for v in (NAN, 2.5, 0.0, -0.0, INF, -INF) for z in (0.0, -0.0)),
    *((v, INF, INF) for v in (2.5, -2.5, INF, -INF)), *((v, -INF, 0.0) for v in (2.5, -2.5, INF, -INF)),
    *((v, i, 1.0) for v in (1.0, -1.0) for i in (INF, -INF)), (1.0, -1e4, 1.0),
    *((v, INF, 0.0) for v in (0.5, -0.5, 0.0, -0.0)), *((v, -INF, INF) for v in (0.5, -0.5, 0.0, -0.0)),
    (INF, 0.5, INF), (INF, -0.5, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 0.5, INF), (-INF, 2.5, INF),
    (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -0.5, 0.0),
    (0.0, 3.0, 0.0), (0.0, 0.5, 0.0), (0.0, -3.0, INF), (0.0, -0.5, INF),
    (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF),
    (-2.5, 0.5, NAN), (-2.5, -1.25, NAN), (-1.0, 0.5, NAN), (4.0, 0.5, 2.0), (-0.0, 1.0, -0.0), (-INF, -1.0, -0.0),
]  # fmt: skip


@REAL
def test_pow_has_the_special_cases_of_the_text_however_the_exponent_is_laid_out(dtype: str) -> None:
    x1, x2, want = pairs(POW, dtype)
    kernel = lookup("pow", "float")
    with np.errstate(all="ignore"):
        for order in lanes(np.arange(want.size)):
            assert identical(kernel(x1[order], x2[order], out=...), want[order]).all()
        for exponent in np.unique(x2):
            rows = np.flatnonzero(identical(x2, np.asarray(exponent)))
            for base in (x1[rows], np.resize(x1[rows], 50_000)):
                wanted = np.resize(want[rows], base.size)
                spread = np.broadcast_to(exponent, base.shape)
                for shape in (exponent.reshape(()), exponent.reshape(1), spread, spread.copy()):
                    assert identical(kernel(base, shape, out=...), wanted).all(), (exponent, shape.strides)
                two = kernel(np.stack([base, base]), np.array([[exponent], [1.0]], dtype), out=...)
                assert identical(two, np.stack([wanted, base])).all()
                inplace = base.copy()
                kernel(inplace, exponent.reshape(()), out=inplace)
                assert identical(inplace, wanted).all()


def test_pow_of_a_half_warns_for_negative_numbers_only() -> None:
    half = np.array(0.5)
    for base in ([-INF, -0.0, 0.0, 2.0, INF], [NAN, -INF, 1.0], [4.0]):
        lookup("pow", "float")(np.array(base), half)
        lookup("pow", "float")(np.array([base, base]), np.array([[0.5], [2.0]]))
    with pytest.warns(RuntimeWarning, match="invalid"):
        lookup("pow", "float")(np.array([-1.0, -INF]), half)


# -- logaddexp --------------------------------------------------------------------------------------


@REAL
def test_logaddexp_has_its_special_cases_in_every_lane(dtype: str) -> None:
    rows = [
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (INF, NAN, NAN), (NAN, -INF, NAN), (INF, 1.0, INF),
        (1.0, INF, INF), (INF, -INF, INF), (-INF, INF, INF), (INF, INF, INF), (-INF, -INF, -INF), (-INF, 2.5, 2.5),
        (2.5, -INF, 2.5), (1e4, -1e4, 1e4), (0.0, 0.0, math.log(2.0)),
    ]  # fmt: skip
    x1, x2, want = pairs(rows, dtype)
    for order in lanes(np.arange(want.size)):
        assert identical(lookup("logaddexp", "float")(x1[order], x2[order], out=...), want[order]).all()


@REAL
def test_logaddexp_keeps_its_digits_where_the_terms_cancel(dtype: str) -> None:
    rng = np.random.default_rng(8)
    x1 = np.concatenate([rng.uniform(-4, 4, 200), rng.uniform(-0.7, 0, 200), rng.uniform(-900, 900, 50)])
    with np.errstate(invalid="ignore"):
        near_zero = np.log1p(-np.exp(x1[200:400])) * (1 + rng.choice([-1, 1], 200) * 10.0 ** rng.uniform(-3, -1, 200))
    x2 = np.concatenate([rng.uniform(-4, 4, 200), near_zero, x1[400:] + rng.uniform(-3, 3, 50)])
    x1, x2 = x1.astype(dtype), x2.astype(dtype)
    eps = float(np.finfo(dtype).eps)
    got = lookup("logaddexp", "float")(x1, x2, out=...)
    with mpmath.workprec(3000):
        for a, b, g in zip(x1.tolist(), x2.tolist(), got.tolist()):
            want = mpmath.log(mpmath.exp(a) + mpmath.exp(b))
            # A long double of 53 bits leaves the rounding of the terms.
            spare = 0.0 if np.finfo(np.longdouble).nmant > 60 else eps * max(abs(a), abs(b))
            assert abs(g - want) <= 6 * eps * abs(want) + spare, (a, b, g, want)


# -- NumPy's kernels as they are ----------------------------------------------------------------------


ACCURACY = {
    "acos": (-1.0, 1.0), "acosh": (1.0, 1e30), "asin": (-1.0, 1.0), "asinh": (-1e30, 1e30), "atan": (-1e30, 1e30),
    "atanh": (-1.0, 1.0), "cos": (-1e30, 1e30), "cosh": (-88.0, 88.0), "exp": (-87.0, 88.0), "expm1": (-87.0, 88.0),
    "log": (0.0, 1e30), "log10": (0.0, 1e30), "log1p": (-1.0, 1e30), "log2": (0.0, 1e30), "sin": (-1e30, 1e30),
    "sinh": (-88.0, 88.0), "sqrt": (0.0, 1e30), "tan": (-1e30, 1e30), "tanh": (-1e30, 1e30),
}  # fmt: skip
ORACLES = {"log2": lambda v: mpmath.log(v) / mpmath.log(2), "log10": lambda v: mpmath.log(v) / mpmath.log(10)}


@REAL
@pytest.mark.parametrize("name", ACCURACY)
def test_real_functions_are_accurate_on_every_layout(name: str, dtype: str) -> None:
    low, high = ACCURACY[name]
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.uniform(-3, 3, 60), rng.choice([-1, 1], 80) * np.exp(rng.uniform(-70, 70, 80))])
    values = np.concatenate([values, np.arange(1, 30) * math.pi / 2, 1.0 + 2.0 ** -rng.uniform(2, 22, 30)]).astype(
        dtype
    )
    values = values[(values > low) & (values < high)]
    limits = np.finfo(dtype)
    results = [lookup(name, "float")(laid_out(values, layout), out=...) for layout in LAYOUTS]
    with mpmath.workprec(400):
        for x, *got in zip(values.tolist(), *(each.tolist() for each in results)):
            want = (ORACLES.get(name) or getattr(mpmath, name))(mpmath.mpf(x))
            ulp = max(abs(want), float(limits.smallest_normal)) * float(limits.eps)
            assert all(abs(g - want) <= 8 * ulp for g in got), (name, x, got, want)


@REAL
@pytest.mark.parametrize(("name", "sign"), [("cosh", 1), ("sinh", -1), ("tanh", -1)])
def test_hyperbolic_functions_are_even_or_odd_to_the_bit(name: str, sign: int, dtype: str) -> None:
    rng = np.random.default_rng(7)
    x = (rng.uniform(-1, 1, 100_000) * 2.0 ** rng.uniform(-30, 6.4, 100_000)).astype(dtype)
    kernel = lookup(name, "float")
    # Layout by layout: at negative strides NumPy's kernels are other ones, an ulp apart.
    for layout in LAYOUTS:
        for values in (x, x[:5]):
            assert identical(kernel(laid_out(-values, layout)), sign * kernel(laid_out(values, layout))).all(), layout


@REAL
@pytest.mark.parametrize("name", [*ACCURACY, "atan2", "hypot", "pow"])
def test_only_negative_strides_may_change_the_last_bit(name: str, dtype: str) -> None:
    """What the engine may rely on when it cuts arrays into blocks: ``DIFFERENT_BACKWARDS`` is the whole list."""
    rng = np.random.default_rng(9)
    x = np.abs(rng.uniform(0.01, 0.99, 5000)).astype(dtype) + (name == "acosh")
    operands = (x, np.roll(x, 9)) if name in ("atan2", "hypot", "pow") else (x,)
    kernel = lookup(name, "float")
    want = kernel(*operands, out=...)
    for layout in LAYOUTS:
        if layout == "reversed" and name in DIFFERENT_BACKWARDS:
            continue
        assert identical(kernel(*(laid_out(each, layout) for each in operands), out=...), want).all(), layout
    pieces = [kernel(*(each[i : i + 7] for each in operands), out=...) for i in range(0, 700, 7)]
    assert identical(np.concatenate(pieces), want[:700]).all()


@REAL
def test_remainder_matches_python_and_its_infinities(dtype: str) -> None:
    rows = [
        (5.5, 2.0, 1.5), (-5.5, 2.0, 0.5), (5.5, -2.0, -0.5), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0),
        (-0.0, -2.0, -0.0), (2.5, INF, 2.5), (2.5, -INF, -INF), (-2.5, INF, INF), (-2.5, -INF, -2.5), (INF, 2.0, NAN),
        (2.0, 0.0, NAN), (INF, INF, NAN), (NAN, 1.0, NAN),
    ]  # fmt: skip
    x1, x2, want = pairs(rows, dtype)
    with np.errstate(all="ignore"):
        for order in lanes(np.arange(want.size)):
            assert identical(lookup("remainder", "float")(x1[order], x2[order], out=...), want[order]).all()


@REAL
def test_clip_takes_open_sides_and_spreads_nan(dtype: str) -> None:
    clip = lookup("clip", "float")
    x = np.array([NAN, -5.0, 0.0, 5.0] * 5, dtype)
    low, high = np.array(-1.0, dtype), np.array(1.0, dtype)
    nan = np.array(NAN, dtype)
    assert identical(clip(x, low, high, out=...), np.array([NAN, -1.0, 0.0, 1.0] * 5, dtype)).all()
    assert identical(clip(x, low, None, out=...), np.array([NAN, -1.0, 0.0, 5.0] * 5, dtype)).all()
    assert identical(clip(x, None, high, out=...), np.array([NAN, -5.0, 0.0, 1.0] * 5, dtype)).all()
    assert identical(clip(x, None, None, out=...), x).all()
    assert np.isnan(clip(x, nan, high)).all()
    assert np.isnan(clip(x, low, nan)).all()
    assert isinstance(clip(x[1:2].reshape(()), low, high, out=...), np.ndarray)


@REAL
def test_round_goes_to_the_even_neighbour_and_keeps_signs_of_zero(dtype: str) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -0.0, 0.0, INF, -INF, NAN, 4194305.0], dtype)
    want = np.array([0.0, 2.0, 2.0, -0.0, -2.0, -0.0, 0.0, INF, -INF, NAN, 4194305.0], dtype)
    for order in lanes(np.arange(x.size)):
        assert identical(lookup("round", "float")(x[order], out=...), want[order]).all()


@INTEGER
def test_shifts_past_the_width_append_zeros_or_floor_the_quotient(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 0, 1, 3, limits.max // 3], dtype)
    for count in (0, 1, limits.bits - 1, limits.bits, limits.bits + 1, 100):
        for length in (values.size, 40):
            x = np.resize(values, length)
            by = np.full(length, count, dtype)
            left = lookup("bitwise_left_shift", kind_of(dtype))(x, by, out=...)
            right = lookup("bitwise_right_shift", kind_of(dtype))(x, by, out=...)
            mask = 2**limits.bits - 1
            assert [int(v) & mask for v in left] == [(int(v) << count) & mask for v in x]
            assert [int(v) for v in right] == [int(v) >> count for v in x]


@INTEGER
def test_rounding_an_integer_leaves_it_alone(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, limits.max - 1, 0, 1], dtype)
    for name in ("ceil", "floor", "round", "trunc", "positive"):
        got = lookup(name, kind_of(dtype))(x, out=...)
        assert got.dtype == x.dtype
        assert (got == x).all()


@INTEGER
def test_integer_arithmetic_matches_python(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [v for v in (limits.min, -7, -3, -1, 0, 1, 2, 7, limits.max) if limits.min <= v <= limits.max]
    cases = [(a, b) for a in values for b in values if b != 0 and limits.min <= a // b <= limits.max]
    x1, x2 = (np.array(column, dtype) for column in zip(*cases))
    kind = kind_of(dtype)
    assert lookup("floor_divide", kind)(x1, x2).tolist() == [a // b for a, b in cases]
    assert lookup("remainder", kind)(x1, x2).tolist() == [a % b for a, b in cases]
    assert lookup("sign", kind)(x1).tolist() == [(a > 0) - (a < 0) for a, _ in cases]


def test_bool_kernels_are_logic() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert lookup("bitwise_invert", "bool")(x).tolist() == [False, False, True, True]
    assert lookup("bitwise_xor", "bool")(x, y).tolist() == [False, True, True, False]
    assert lookup("logical_and", "bool")(x, y).tolist() == [True, False, False, False]
    assert lookup("not_equal", "bool")(x, y).tolist() == [False, True, True, False]


@pytest.mark.parametrize("name", ["int8", "int64", "uint8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5)])
def test_the_square_by_a_scalar_exponent_is_the_power_of_two(name: str, shape: tuple[int, ...]) -> None:
    kernel = lookup("pow", {"i": "int", "u": "uint", "f": "float"}[np.dtype(name).kind])
    base = (np.arange(math.prod(shape), dtype=np.int64) * 37 % 101 - 50).reshape(shape).astype(name)
    for out in (None, ..., np.empty(shape, name)):
        result = kernel(base, np.array(2, dtype=name), out=out)
        assert np.array_equal(result, base * base)
        assert result.dtype == name
    with pytest.raises(ValueError, match="negative integer powers") if name[0] == "i" else contextlib.nullcontext():
        kernel(base, np.full(shape, -1).astype(name))
