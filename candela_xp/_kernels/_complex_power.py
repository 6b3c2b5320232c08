"""pow over complex operands.

NumPy multiplies out integer exponents below 100, exactly where the product is exact ((1+2j)**2 is -3+4j); those and
every zero, infinity and NaN are NumPy's own. For the rest NumPy takes exp(w log z) with a rounded logarithm, whose
error exp multiplies by |w log z|: 700 eps for large results. Here the modulus comes from the real power, which is
accurate to an ulp, of a modulus whose own rounding error is put back.
"""

from __future__ import annotations

import numpy as np

from ._real_parts import (
    SMALLEST,
    cosine_and_sine,
    larger_and_smaller,
    product,
    sign_of,
    sum_of_squares_plus,
    times_exp,
)
from ._types import Components, Real

# NumPy's loop multiplies out the integers of magnitude below this.
MULTIPLIED_OUT = 100.0


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
    length = np.sqrt(1.0 + ratio * ratio)
    modulus = m * length
    # The exponents of m and n are taken off exactly, so that the squares stay in range.
    _, exponent = np.frexp(scale)
    a, b, h = np.ldexp(m, -exponent), np.ldexp(n, -exponent), np.ldexp(modulus, -exponent)
    square, square_error = product(h, h)
    missing = sum_of_squares_plus(-square, a, b) - square_error
    return modulus, missing / (2.0 * square)


def power(x: Real, y: Real, u: Real, v: Real) -> Components:
    """z^w = |z|^u e^(-v arg z) cis(v log|z| + u arg z)."""
    modulus, error = _modulus(x, y)
    logarithm = np.log(modulus)
    angle = np.arctan2(y, x)
    size = np.power(modulus, u) * np.exp(u * error - v * angle)
    turn = v * (logarithm + error) + u * angle
    cosine, sine = cosine_and_sine(np.abs(turn))
    sine *= sign_of(turn)
    real, imag = size * cosine, size * sine
    # One of the two factors of the size has left the range; their product may not have.
    lanes = np.flatnonzero(~((size > 1e-290) & (size < 1e290)))
    if lanes.size:
        exponent = u[lanes] * (logarithm[lanes] + error[lanes]) - v[lanes] * angle[lanes]
        real[lanes] = times_exp(cosine[lanes], exponent)
        imag[lanes] = times_exp(sine[lanes], exponent)
    integer = (v == 0.0) & (np.abs(u) < MULTIPLIED_OUT) & (u == np.rint(u))
    plain = np.flatnonzero(integer | ((x == 0.0) & (y == 0.0)))
    if plain.size:
        real[plain], imag[plain] = _multiplied_out(x[plain], y[plain], u[plain], v[plain])
    return real, imag


def at_infinity(x: Real, y: Real, u: Real, v: Real) -> Components:
    """NumPy's answers: the text only says what they should be as if by exp(w log z)."""
    return _multiplied_out(x, y, u, v)
