"""pow over complex operands.

NumPy multiplies out integer exponents below 100, exactly where the product is exact ((1+2j)**2 is -3+4j); those and
every zero, infinity and NaN are NumPy's own. For the rest NumPy takes exp(w log z) with a rounded logarithm, whose
error exp multiplies by |w log z|: 449 eps for large results. Here the modulus comes from the real power, which is
accurate to an ulp, of a modulus whose own rounding error is put back, and far from 1 from extended precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._blocks import blocks, deliver, destination
from ._components import BLOCK, elementwise
from ._real_parts import (
    SMALLEST,
    cosine_and_sine,
    larger_and_smaller,
    product,
    sign_of,
    sum_of_squares_plus,
    times_exp,
)
from ._types import Array, Components, Out, Real

# NumPy's loop multiplies out the integers of magnitude below this.
MULTIPLIED_OUT = 100.0

# Up to here the rounding of the angle and of the logarithm costs at most 64 eps (tests/test_kernels_complex.py);
# beyond it the lane is worth the 300 ns of long double.
LONG_EXPONENT = 32.0


def _multiplied_out(x: Real, y: Real, u: Real, v: Real) -> Components:
    """NumPy's power."""
    base, exponent = np.empty(x.shape, np.complex128), np.empty(x.shape, np.complex128)
    base.real, base.imag, exponent.real, exponent.imag = x, y, u, v
    result = np.power(base, exponent)
    return result.real, result.imag


def _modulus(x: Real, y: Real) -> tuple[Real, Real]:
    """|z| rounded, and the relative error of that rounding."""
    m, n = larger_and_smaller(np.abs(x), np.abs(y))
    scale = np.maximum(m, SMALLEST)
    ratio = n / scale
    modulus = m * np.sqrt(1.0 + ratio * ratio)
    # The exponent of m is taken off exactly, so that the squares stay in range.
    _, exponent = np.frexp(scale)
    a, b, h = np.ldexp(m, -exponent), np.ldexp(n, -exponent), np.ldexp(modulus, -exponent)
    square, square_error = product(h, h)
    missing = sum_of_squares_plus(-square, a, b) - square_error
    return modulus, missing / (2.0 * square)


def _power(x: Real, y: Real, u: Real, v: Real) -> Components:
    """z^w = |z|^u e^(-v arg z) cis(v log|z| + u arg z)."""
    integer = (v == 0.0) & (np.abs(u) < MULTIPLIED_OUT) & (u == np.rint(u))
    if integer.all():
        real, imag = _multiplied_out(x, y, u, v)
        if not _lost(real, imag, u).any():
            return real, imag
    modulus, error = _modulus(x, y)
    logarithm = np.log(modulus) + error
    angle = np.arctan2(y, x)
    size = np.power(modulus, u) * np.exp(u * error - v * angle)
    turn = v * logarithm + u * angle
    cosine, sine = cosine_and_sine(np.abs(turn))
    sine *= sign_of(turn)
    real, imag = size * cosine, size * sine
    reach = np.maximum(np.abs(u), np.abs(v)) * np.maximum(np.abs(logarithm), np.abs(angle))
    long = np.flatnonzero(reach > LONG_EXPONENT)
    if long.size:
        real[long], imag[long] = _extended(x[long], y[long], u[long], v[long])
    plain = np.flatnonzero(integer | ((x == 0.0) & (y == 0.0)))
    if plain.size:
        # A zero base stays NumPy's whatever comes out.
        plain_real, plain_imag = _multiplied_out(x[plain], y[plain], u[plain], v[plain])
        kept = ~_lost(plain_real, plain_imag, u[plain]) | (modulus[plain] == 0.0)
        plain = plain[kept]
        real[plain], imag[plain] = plain_real[kept], plain_imag[kept]
    return real, imag


def _lost(real: Real, imag: Real, u: Real) -> NDArray[np.bool_]:
    """Where 1/z^n came out as nothing or as NaN because z^n had left the range; the quotient may be in it."""
    lost: NDArray[np.bool_] = (u < 0.0) & ~(np.isfinite(real) & np.isfinite(imag) & ((real != 0.0) | (imag != 0.0)))
    return lost


def _extended(x: Real, y: Real, u: Real, v: Real) -> Components:
    """exp(w log z) in long double, where that has more than 53 bits (11 more on x86); elsewhere no worse than NumPy."""
    a, b = x.astype(np.longdouble), y.astype(np.longdouble)
    m, n = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
    ratio = n / m
    logarithm = np.log(m) + np.log1p(ratio * ratio) / 2
    near = (m - 1) * (m + 1) + n * n
    logarithm = np.where(np.abs(near) < 0.5, np.log1p(near) / 2, logarithm)
    angle = np.arctan2(b, a)
    growth, turn = u * logarithm - v * angle, v * logarithm + u * angle
    # exp takes the float64 nearest to the power; what that leaves out is the relative change of the result.
    power = growth.astype(np.float64)
    rest = 1.0 + (growth - power).astype(np.float64)
    cosine, sine = np.cos(turn).astype(np.float64), np.sin(turn).astype(np.float64)
    return times_exp(cosine * rest, power), times_exp(sine * rest, power)


def _at_infinity(x: Real, y: Real, u: Real, v: Real) -> Components:
    """NumPy's answers: the text only says what they should be as if by exp(w log z)."""
    return _multiplied_out(x, y, u, v)


_general = elementwise(_power, _at_infinity)


def power(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """The general formula, or NumPy's loop where one small natural number is the exponent of all."""
    exponent = complex(x2.item()) if x2.size == 1 else 0.5j
    if exponent.imag != 0.0 or not 0.0 <= exponent.real < MULTIPLIED_OUT or exponent.real % 1.0 != 0.0:
        return _general(x1, x2, out=out)
    result = destination((x1, x2), out, x1.dtype)
    if x1.shape != result.shape:
        x1 = np.broadcast_to(x1, result.shape)
    for base, target in blocks((x1,), result, BLOCK):
        # complex128 for both dtypes, as in the general formula: an element's power does not depend on its company.
        wide = base.astype(np.complex128, copy=False)
        if target.dtype == np.complex128:
            np.power(wide, exponent, out=target)
        else:
            target[...] = np.power(wide, exponent)
    return deliver(result, out)
