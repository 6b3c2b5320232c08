"""Complex kernels: special values, symmetries, accuracy, layouts."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import LAYOUTS, Array, identical, laid_out, lanes

from candela_xp._kernels import lookup

INF, NAN, PI = math.inf, math.nan, math.pi

COMPLEX = pytest.mark.parametrize("dtype", ["complex64", "complex128"])

# The special cases of array API 2025.12, one row each: real, imaginary -> real, imaginary. "fin" is any finite number,
# "pos" a positive one, "nz" a nonzero one, "0" +0, "~" before a result says that its sign is unspecified,
# "cis" that the signs are those of cis(b).
SPECIAL = {
    "acos": """
        +-0 0 -> pi/2 -0;  +-0 nan -> pi/2 nan;  fin inf -> pi/2 -inf;  nz nan -> nan nan;  -inf pos -> pi -inf
        inf pos -> 0 -inf;  -inf inf -> 3pi/4 -inf;  inf inf -> pi/4 -inf;  +-inf nan -> nan ~inf;  nan fin -> nan nan
        nan inf -> nan -inf;  nan nan -> nan nan""",
    "acosh": """
        +-0 0 -> 0 pi/2;  fin inf -> inf pi/2;  nz nan -> nan nan;  0 nan -> nan ~pi/2;  -inf pos -> inf pi
        inf pos -> inf 0;  -inf inf -> inf 3pi/4;  inf inf -> inf pi/4;  +-inf nan -> inf nan;  nan fin -> nan nan
        nan inf -> inf nan;  nan nan -> nan nan""",
    "asinh": """
        0 0 -> 0 0;  pos inf -> inf pi/2;  fin nan -> nan nan;  inf pos -> inf 0;  inf inf -> inf pi/4
        inf nan -> inf nan;  nan 0 -> nan 0;  nan nz -> nan nan;  nan inf -> ~inf nan;  nan nan -> nan nan""",
    "atanh": """
        0 0 -> 0 0;  0 nan -> 0 nan;  1 0 -> inf 0;  pos inf -> 0 pi/2;  nz nan -> nan nan;  inf pos -> 0 pi/2
        inf inf -> 0 pi/2;  inf nan -> 0 nan;  nan fin -> nan nan;  nan inf -> ~0 pi/2;  nan nan -> nan nan""",
    "cosh": """
        0 0 -> 1 0;  0 inf -> nan ~0;  0 nan -> nan ~0;  nz inf -> nan nan;  nz nan -> nan nan;  inf 0 -> inf 0
        inf nz -> cis inf;  inf inf -> ~inf nan;  inf nan -> inf nan;  nan +-0 -> nan ~0;  nan nz -> nan nan
        nan nan -> nan nan""",
    "sinh": """
        0 0 -> 0 0;  0 inf -> ~0 nan;  0 nan -> ~0 nan;  pos inf -> nan nan;  pos nan -> nan nan;  inf 0 -> inf 0
        inf pos -> cis inf;  inf inf -> ~inf nan;  inf nan -> ~inf nan;  nan 0 -> nan 0;  nan nz -> nan nan
        nan nan -> nan nan""",
    "tanh": """
        0 0 -> 0 0;  nz inf -> nan nan;  0 inf -> 0 nan;  nz nan -> nan nan;  0 nan -> 0 nan;  inf pos -> 1 0
        inf inf -> 1 ~0;  inf nan -> 1 ~0;  nan 0 -> nan 0;  nan nz -> nan nan;  nan nan -> nan nan""",
    "exp": """
        +-0 0 -> 1 0;  fin inf -> nan nan;  fin nan -> nan nan;  inf 0 -> inf 0;  -inf fin -> cis 0;  inf nz -> cis inf
        -inf inf -> ~0 ~0;  inf inf -> ~inf nan;  -inf nan -> ~0 ~0;  inf nan -> ~inf nan;  nan 0 -> nan 0
        nan nz -> nan nan;  nan inf -> nan nan;  nan nan -> nan nan""",
    "expm1": """
        +-0 0 -> 0 0;  fin inf -> nan nan;  fin nan -> nan nan;  inf 0 -> inf 0;  inf nz -> cis inf
        -inf pos -> -1 cis;  -inf inf -> -1 ~0;  inf inf -> ~inf nan;  -inf nan -> -1 ~0;  inf nan -> ~inf nan
        nan 0 -> nan 0;  nan nz -> nan nan;  nan inf -> nan nan;  nan nan -> nan nan""",
    "log": """
        -0 0 -> -inf pi;  0 0 -> -inf 0;  fin inf -> inf pi/2;  fin nan -> nan nan;  -inf pos -> inf pi
        inf pos -> inf 0;  -inf inf -> inf 3pi/4;  inf inf -> inf pi/4;  +-inf nan -> inf nan;  nan fin -> nan nan
        nan inf -> inf nan;  nan nan -> nan nan""",
    "log1p": """
        -1 0 -> -inf 0;  fin inf -> inf pi/2;  fin nan -> nan nan;  -inf pos -> inf pi;  inf pos -> inf 0
        -inf inf -> inf 3pi/4;  inf inf -> inf pi/4;  +-inf nan -> inf nan;  nan fin -> nan nan;  nan inf -> inf nan
        nan nan -> nan nan;  0 0 -> 0 0;  -0 0 -> -0 0""",
    "sqrt": """
        +-0 0 -> 0 0;  fin inf -> inf inf;  +-inf inf -> inf inf;  nan inf -> inf inf;  fin nan -> nan nan
        -inf pos -> 0 inf;  inf pos -> inf 0;  -inf nan -> nan ~inf;  inf nan -> inf nan;  nan fin -> nan nan
        nan nan -> nan nan""",
    "sign": """
        +-0 0 -> 0 0;  +-0 -0 -> 0 0;  nan fin -> nan nan;  fin nan -> nan nan;  nan inf -> nan nan;  inf nan -> nan nan
        nan nan -> nan nan;  inf pos -> 1 0;  -inf pos -> -1 0;  pos inf -> 0 1;  pos -inf -> 0 -1""",
}
OPERANDS = {
    "fin": (-2.5, -0.0, 0.0, 1.5), "pos": (0.5, 2.0), "nz": (-2.5, 1.5), "+-0": (0.0, -0.0), "+-inf": (INF, -INF),
}  # fmt: skip
VALUES = {"pi": PI, "pi/2": PI / 2, "pi/4": PI / 4, "3pi/4": 3 * PI / 4}

EVEN = {"cosh"}
ODD = {"asinh", "atanh", "sinh", "tanh", "sign"}
# f(x + yj) is g(y + xj) with the components exchanged: -1j g(1j z) under g's symmetries.
EXCHANGED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh"}

UNARY = [*SPECIAL, *EXCHANGED, "cos", "log2", "log10"]


def number(text: str) -> float:
    return VALUES[text] if text in VALUES else float(text)


def special_cases(name: str) -> list[tuple[complex, complex, bool, bool]]:
    """(operand, result, sign of the real part free, of the imaginary part free), without the symmetries."""
    cases = []
    for row in SPECIAL[name].replace("\n", ";").split(";"):
        if not row.strip():
            continue
        left, right = row.split("->")
        a, b = left.split()
        re, im = right.split()
        for x in OPERANDS.get(a) or (number(a),):
            for y in OPERANDS.get(b) or (number(b),):
                if re == "cis":
                    size = float(im)
                    want = complex(math.copysign(size, math.cos(y)), math.copysign(size, math.sin(y)))
                elif im == "cis":
                    want = complex(float(re), math.copysign(0.0, math.sin(y)))
                else:
                    want = complex(number(re.strip("~")), number(im.strip("~")))
                cases.append((complex(x, y), want, re.startswith("~"), im.startswith("~")))
    return cases


def closed_cases(name: str) -> list[tuple[complex, complex, bool, bool]]:
    """The cases of any function, closed under conjugation and, for odd and even functions, negation."""
    if name in EXCHANGED:
        return [
            (complex(z.imag, z.real), complex(w.imag, w.real), j, i) for z, w, i, j in closed_cases(EXCHANGED[name])
        ]
    if name == "cos":
        return [(complex(-z.imag, z.real), w, i, j) for z, w, i, j in closed_cases("cosh")]
    if name in ("log2", "log10"):
        base = math.log(float(name[3:]))
        return [(z, complex(w.real, w.imag / base), i, j) for z, w, i, j in closed_cases("log")]
    cases = special_cases(name)
    if name == "sign":
        # Every zero has +0 + 0j as its sign, whatever the symmetry would say.
        return cases
    if name in ODD:
        cases += [(-z, -w, i, j) for z, w, i, j in cases]
    if name in EVEN:
        cases += [(-z, w, i, j) for z, w, i, j in cases]
    return cases + [(z.conjugate(), w.conjugate(), i, j) for z, w, i, j in cases]


def fits(got: float, want: float, any_sign: bool, eps: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    if any_sign:
        got, want = abs(got), abs(want)
    if math.isinf(want) or want == 0.0:
        return got == want and math.copysign(1.0, got) == math.copysign(1.0, want)
    return abs(got - want) <= 2 * eps * abs(want)


@COMPLEX
@pytest.mark.parametrize("name", UNARY)
def test_special_values_hold_with_every_symmetry_in_every_lane(name: str, dtype: str) -> None:
    cases = closed_cases(name)
    eps = float(np.finfo(dtype).eps)
    operands = np.array([case[0] for case in cases], dtype)
    verdicts = {complex(z).__repr__(): case for z, case in zip(operands, cases)}
    for row in lanes(operands):
        result = lookup(name, "complex")(row, out=...)
        assert result.dtype == row.dtype
        for z, got in list(zip(row.tolist(), result.tolist()))[:1000]:
            _, want, free_real, free_imag = verdicts[repr(z)]
            assert fits(got.real, want.real, free_real, eps), (name, z, got, want)
            assert fits(got.imag, want.imag, free_imag, eps), (name, z, got, want)


def scattered(dtype: str, seed: int = 0, count: int = 40) -> Array:
    """Points of every region that is hard for some function."""
    rng = np.random.default_rng(seed)
    limits = np.finfo(dtype)
    largest, smallest = math.log(float(limits.max)), math.log(float(limits.smallest_subnormal))
    digits = limits.nmant

    def sign() -> Array:
        return rng.choice([-1.0, 1.0], count)

    def scaled(low: float, high: float) -> Array:
        return sign() * np.exp(rng.uniform(low, high, count))

    def close() -> Array:
        return sign() * 2.0 ** -rng.uniform(0, digits + 2, count)

    turn = rng.uniform(-PI, PI, count)
    circle = (1.0 + close()) * np.exp(1j * turn)
    regions = [
        rng.uniform(-3, 3, count) + 1j * rng.uniform(-3, 3, count),
        rng.uniform(-30, 30, count) + 1j * rng.uniform(-30, 30, count),
        scaled(smallest, -3.0) + 1j * scaled(smallest, -3.0),
        scaled(3.0, largest) + 1j * scaled(3.0, largest),
        scaled(smallest, largest) + 1j * scaled(smallest, largest),
        circle,
        circle - 1.0,
        1.0 + close() + 1j * close(),
        -1.0 + close() + 1j * close(),
        close() + 1j * (1.0 + close()),
        sign() + 1j * scaled(smallest, 0.0),
        sign() * (largest + rng.uniform(-2, 2, count)) + 1j * rng.uniform(-3, 3, count),
        rng.uniform(-3, 3, count) + 1j * sign() * (largest + rng.uniform(-2, 2, count)),
        # Beyond the overflow of exp, where a tiny other factor brings the product back.
        sign() * rng.uniform(largest, 1.7 * largest, count) + 1j * scaled(smallest, 0.0),
        close() + 1j * rng.integers(-20, 20, count) * (PI / 2),
        sign() * rng.uniform(15, 50, count) + 1j * rng.uniform(-9, 9, count),
    ]
    points = np.concatenate(regions).astype(dtype)
    return points[np.isfinite(points) & (points.real != 0.0) & (points.imag != 0.0)]


ORACLES = {
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "log1p": lambda z: mpmath.log(1 + z),
    "expm1": lambda z: mpmath.exp(z) - 1,
    "sign": lambda z: z / abs(z),
}
GROWING_ALONG = dict.fromkeys(("exp", "expm1", "sinh", "cosh", "tanh"), "real")
GROWING_ALONG |= dict.fromkeys(("sin", "cos", "tan"), "imag")


def exact(name: str, z: complex) -> mpmath.mpc | None:
    """The function to far more digits than the operand's spread of exponents can cancel."""
    spread = sum(abs(math.log2(abs(part))) for part in (z.real, z.imag))
    reach = abs(getattr(z, GROWING_ALONG[name])) if name in GROWING_ALONG else 0.0
    if reach > 3000.0:
        return None
    oracle = ORACLES.get(name) or getattr(mpmath, name)
    with mpmath.workprec(200 + int(2.2 * spread + 3 * reach)):
        return oracle(mpmath.mpc(z))


@COMPLEX
@pytest.mark.parametrize("name", UNARY)
def test_values_are_accurate_over_the_whole_plane(name: str, dtype: str) -> None:
    """The project promises 64 eps; these hold 4, also next to branch points and the limits of the dtype."""
    limits = np.finfo(dtype)
    eps, largest, smallest = (float(v) for v in (limits.eps, limits.max, limits.smallest_normal))
    points = scattered(dtype, count=20)
    for z, got in zip(points.tolist(), lookup(name, "complex")(points, out=...).tolist()):
        want = exact(name, z)
        if want is None:
            continue
        if max(abs(want.real), abs(want.imag)) > largest:
            assert cmath.isinf(got), (name, z, got)
            continue
        assert cmath.isfinite(got), (name, z, got, want)
        error = abs(mpmath.mpc(got) - want) / max(abs(want), smallest)
        assert error <= 4 * eps, f"{name}({z}) is {float(error / eps):.3g} eps off: {got}"


@COMPLEX
@pytest.mark.parametrize("name", [f for f in UNARY if f != "expm1"])
def test_each_component_is_accurate_by_itself(name: str, dtype: str) -> None:
    """More than the standard asks; expm1's real part alone cancels on the curve where it is zero."""
    limits = np.finfo(dtype)
    eps, largest, smallest = (float(v) for v in (limits.eps, limits.max, limits.smallest_normal))
    points = scattered(dtype, seed=1, count=8)
    for z, got in zip(points.tolist(), lookup(name, "complex")(points, out=...).tolist()):
        want = exact(name, z)
        if want is None or max(abs(want.real), abs(want.imag)) > largest:
            continue
        for g, w in ((got.real, want.real), (got.imag, want.imag)):
            assert abs(g - w) <= 5 * eps * max(abs(w), smallest), (name, z, got, want)


def with_specials(dtype: str) -> Array:
    """Scattered points, and every pair of zeros, infinities, NaN and ones."""
    grid = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, 1e30, -1e-30])
    corners = np.empty((grid.size, grid.size), dtype)
    corners.real, corners.imag = grid[:, None], grid[None, :]
    return np.concatenate([scattered(dtype), corners.reshape(-1)])


@COMPLEX
@pytest.mark.parametrize("name", UNARY)
def test_conjugating_before_or_after_gives_the_same_bits(name: str, dtype: str) -> None:
    kernel = lookup(name, "complex")
    z = with_specials(dtype)
    if name == "sign":
        z = z[z != 0.0]
    assert identical(kernel(z.conj(), out=...), kernel(z, out=...).conj()).all()


@COMPLEX
@pytest.mark.parametrize("name", [f for f in UNARY if f in ODD or f in EVEN or f in EXCHANGED or f == "cos"])
def test_odd_and_even_functions_are_so_to_the_bit(name: str, dtype: str) -> None:
    kernel = lookup(name, "complex")
    z = with_specials(dtype)
    if name == "sign":
        z = z[z != 0.0]
    flipped = kernel(z, out=...)
    if name not in EVEN and name != "cos":
        flipped = -flipped
    assert identical(kernel(-z, out=...), flipped).all()


@pytest.mark.parametrize("name", [*UNARY, "divide", "pow", "reciprocal"])
def test_results_depend_neither_on_layout_nor_on_length_nor_on_neighbours(name: str) -> None:
    kernel = lookup(name, "complex")
    binary = name in ("divide", "pow")
    with np.errstate(all="ignore"):
        for dtype in ("complex64", "complex128"):
            z = np.resize(with_specials(dtype), 20_011)
            operands = (z, np.roll(z, 7)) if binary else (z,)
            want = kernel(*operands, out=...)
            for layout in LAYOUTS:
                placed = [laid_out(each, layout) for each in operands]
                assert identical(kernel(*placed, out=...), want).all(), layout
                short = [each[:37] for each in placed]
                assert identical(kernel(*short, out=...), want[:37]).all(), layout
                out = laid_out(np.empty_like(z), layout)
                assert kernel(*placed, out=out) is out
                assert identical(out, want).all(), layout
            for i in range(0, z.size, 997):
                alone = kernel(*(each[i : i + 1].reshape(()) for each in operands), out=...)
                assert isinstance(alone, np.ndarray)
                assert alone.shape == ()
                assert identical(alone, want[i]).all()
            matrix = [each[:20_000].reshape(100, 200) for each in operands]
            got = kernel(*(each.T for each in matrix), out=...)
            assert identical(got.T.reshape(-1), want[:20_000]).all()


@pytest.mark.parametrize("name", [*UNARY, "divide", "pow", "reciprocal"])
def test_output_may_overlap_the_operands_in_any_way(name: str) -> None:
    kernel = lookup(name, "complex")
    binary = name in ("divide", "pow")
    rng = np.random.default_rng(3)
    z = rng.uniform(-2, 2, 150_000) + 1j * rng.uniform(-2, 2, 150_000)
    z[::1000] = 0.0
    w = rng.uniform(-2, 2, 150_000) + 1j * rng.uniform(-2, 2, 150_000)
    with np.errstate(all="ignore"):
        for size in (100, 150_000):
            want = kernel(*((z[:size], w[:size]) if binary else (z[:size],)), out=...)
            same = z[:size].copy()
            kernel(*((same, w[:size]) if binary else (same,)), out=same)
            assert identical(same, want).all()
            buffer = np.concatenate([z[:size], [0.0]])
            kernel(*((buffer[:-1], w[:size]) if binary else (buffer[:-1],)), out=buffer[1:])
            assert identical(buffer[1:], want).all()
            buffer = z[:size].copy()
            kernel(*((buffer, w[:size]) if binary else (buffer,)), out=buffer[::-1])
            assert identical(buffer[::-1], want).all()


@pytest.mark.parametrize("name", UNARY)
def test_empty_and_broadcast_operands_keep_their_shape(name: str) -> None:
    kernel = lookup(name, "complex")
    assert kernel(np.zeros((2, 0), "complex64"), out=...).shape == (2, 0)
    repeated = np.broadcast_to(np.array(0.25 + 0.5j), (3, 70, 100))
    got = kernel(repeated, out=...)
    assert got.shape == (3, 70, 100)
    assert (got == kernel(np.array([0.25 + 0.5j]))[0]).all()


@pytest.mark.parametrize("name", [f for f in UNARY if f not in ("expm1", "log1p", "sign")])
def test_single_precision_is_double_precision_rounded_once(name: str) -> None:
    z = with_specials("complex64")
    kernel = lookup(name, "complex")
    with np.errstate(over="ignore"):
        want = kernel(z.astype("complex128")).astype("complex64")
    assert identical(kernel(z), want).all()


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "sqrt"])
def test_signed_zeros_pick_the_side_of_every_cut(name: str) -> None:
    """Oracle: cmath, whose cuts are C99's."""
    sizes = (0.25, 0.5, 1.5, 2.0, 40.0)
    points = [complex(s * r, z) for s in (1, -1) for r in sizes for z in (0.0, -0.0)]
    points += [complex(z, s * r) for s in (1, -1) for r in sizes for z in (0.0, -0.0)]
    for z, got in zip(points, lookup(name, "complex")(np.array(points)).tolist()):
        want = getattr(cmath, name)(z)
        for g, w in ((got.real, want.real), (got.imag, want.imag)):
            assert abs(g - w) <= 1e-15 * abs(want), (name, z, got, want)
            assert w == 0.0 or math.copysign(1, g) == math.copysign(1, w), (name, z, got, want)


@pytest.mark.parametrize("name", UNARY)
def test_corrections_leave_the_callers_error_state_alone(name: str) -> None:
    z = with_specials("complex128")
    with np.errstate(all="raise"):
        lookup(name, "complex")(z)
        assert np.geterr()["over"] == "raise"


MANTISSAS = st.floats(0.5, 2.0).flatmap(lambda m: st.sampled_from([m, -m]))


@COMPLEX
def test_powers_are_accurate_and_follow_the_cut_of_the_logarithm(dtype: str) -> None:
    limits = np.finfo(dtype)
    rng = np.random.default_rng(11)
    count = 120
    base = rng.uniform(-3, 3, count) + 1j * rng.uniform(-3, 3, count)
    pairs = [
        (base, rng.uniform(-3, 3, count) + 1j * rng.uniform(-3, 3, count)),
        (base, rng.uniform(-20, 20, count) + 1j * rng.uniform(-20, 20, count)),
        (base, rng.uniform(-60, 60, count) + 0j),
        (base, rng.integers(-99, 99, count) + 0j),
        (1.0 + base * 1e-6, base * 1e5),
        (base * 10.0 ** rng.uniform(-30, 30, count), rng.uniform(-1, 1, count) + 1j * rng.uniform(-1, 1, count)),
        (np.full(count, -4.0 + 0j), rng.uniform(-2, 2, count) + 0j),
        (np.full(count, complex(-4.0, -0.0)), rng.uniform(-2, 2, count) + 0j),
    ]
    for z, w in pairs:
        z, w = z.astype(dtype), w.astype(dtype)
        for a, b, got in zip(z.tolist(), w.tolist(), lookup("pow", "complex")(z, w, out=...).tolist()):
            with mpmath.workprec(300):
                side = mpmath.log(mpmath.mpc(a))
                if a.imag == 0.0 and math.copysign(1.0, a.imag) < 0.0:
                    side = mpmath.conj(side)
                want = mpmath.exp(mpmath.mpc(b) * side)
            if not float(limits.smallest_normal) < abs(want) < float(limits.max):
                continue
            assert abs(mpmath.mpc(got) - want) <= 64 * float(limits.eps) * abs(want), (a, b, got)


@COMPLEX
def test_whole_powers_of_whole_numbers_are_exact(dtype: str) -> None:
    z = np.array([complex(a, b) for a in range(-3, 4) for b in range(-3, 4)], dtype)
    for n in range(8):
        want = np.array([complex(v) ** n for v in z.tolist()], dtype)
        for exponent in (np.array(n, dtype), np.full(z.size, n, dtype), np.resize(np.array([n, 0.5], dtype), z.size)):
            got = lookup("pow", "complex")(z, exponent, out=...)
            whole = np.broadcast_to(exponent, z.shape) == n
            assert (got[whole] == want[whole]).all()


def test_a_negative_power_does_not_overflow_on_the_way() -> None:
    z = np.array([3e159 + 4e159j, 1e-160 + 1e-160j])
    got = lookup("pow", "complex")(z, np.array(-2 + 0j), out=...)
    want = complex(mpmath.mpc(z[0]) ** -2)
    assert abs(got[0] - want) <= 1e-14 * abs(want) + 5e-324
    assert lookup("pow", "complex")(np.array(1e200 + 0j), np.array(-1 + 0j), out=...) == 1e-200


@pytest.mark.parametrize("exponents", [(0, 0), (1020, 1020), (-1060, -1060), (1020, 0), (-1060, -900), (1000, -20)])
def test_quotients_are_accurate_up_to_the_ends_of_the_range(exponents: tuple[int, int]) -> None:
    """Oracle: Fraction. Smith's method, and so NumPy, gives 0, inf or NaN at both ends."""

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(st.tuples(MANTISSAS, MANTISSAS, MANTISSAS, MANTISSAS))
    def check(parts: tuple[float, float, float, float]) -> None:
        scales = (exponents[0], exponents[0], exponents[1], exponents[1])
        a, b, c, d = (math.ldexp(part, scale) for part, scale in zip(parts, scales))
        got = lookup("divide", "complex")(np.array([complex(a, b)]), np.array([complex(c, d)])).tolist()[0]
        square = Fraction(c) ** 2 + Fraction(d) ** 2
        real = (Fraction(a) * Fraction(c) + Fraction(b) * Fraction(d)) / square
        imag = (Fraction(b) * Fraction(c) - Fraction(a) * Fraction(d)) / square
        if max(abs(real), abs(imag)) > Fraction(1.7e308):
            return
        size = max(abs(real), abs(imag))
        assert abs(Fraction(got.real) - real) <= Fraction(1e-15) * size + Fraction(5e-324)
        assert abs(Fraction(got.imag) - imag) <= Fraction(1e-15) * size + Fraction(5e-324)

    check()


@COMPLEX
def test_careful_quotients_have_the_bits_of_the_plain_ones(dtype: str) -> None:
    rng = np.random.default_rng(4)
    x, y = ((rng.normal(size=500) + 1j * rng.normal(size=500)).astype(dtype) for _ in range(2))
    want = np.divide(x, y)
    limits = np.finfo(dtype)
    trouble = np.array([complex(limits.smallest_subnormal, 0.0)], dtype)
    got = lookup("divide", "complex")(np.concatenate([x, trouble]), np.concatenate([y, trouble]))
    assert identical(got[:-1], want).all()
    assert got[-1] == 1.0


def test_a_zero_divisor_still_warns_and_reciprocal_is_one_over_x() -> None:
    zero = np.zeros(1, complex)
    with pytest.warns(RuntimeWarning):
        got = lookup("reciprocal", "complex")(zero)
    with pytest.warns(RuntimeWarning):
        want = lookup("divide", "complex")(np.ones(1, complex), zero)
    assert identical(got, want).all()


@COMPLEX
def test_sign_has_length_one_for_any_modulus(dtype: str) -> None:
    limits = np.finfo(dtype)
    for size in (limits.max, limits.smallest_subnormal, limits.smallest_normal, 1.0):
        z = np.array([complex(size, size), complex(-size, size)], dtype)
        got = lookup("sign", "complex")(z, out=...)
        assert np.allclose(got, [(1 + 1j) / math.sqrt(2), (-1 + 1j) / math.sqrt(2)], rtol=4 * float(limits.eps))
