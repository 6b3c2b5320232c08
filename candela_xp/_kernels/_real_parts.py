"""Formulas in real arithmetic which several complex functions share.

Everything here takes one-dimensional contiguous float64 arrays. Angles and moduli come in as absolute values: the
symmetries of the complex functions are put back afterwards as signs, so they hold bit for bit by construction.
"""

from __future__ import annotations

import numpy as np
from numpy.lib import introspect

from ._types import Components, Real

SMALLEST = 5e-324
"""The smallest positive float64: ``maximum(m, SMALLEST)`` makes 0/m zero and changes no other m."""

LN_2 = 0.6931471805599453

# Above 708 exp overflows, below -708 it loses bits to the subnormals, although the product may be normal.
EXP_LIMIT = 708.0


def sign_of(part: Real) -> Real:
    """+1.0 or -1.0 by the sign bit, zeros included."""
    return np.copysign(1.0, part)


def _tangent_is_simd() -> bool:
    """Whether this machine's NumPy runs tan of float64 on a SIMD kernel (x86 with AVX-512), not the C library's."""
    loops = introspect.opt_func_info(func_name="^tan$", signature="float64").get("tan", {})
    return any(not loop["current"].startswith("baseline") for loop in loops.values())


TANGENT_IS_SIMD = _tangent_is_simd()


def cosine_and_sine(angle: Real) -> Components:
    """cos and sin of angles >= 0, by two tangents where those are cheap: cos = 1/sqrt(1 + tan^2), sin = tan cos.

    NumPy's tangent of float64 can be a SIMD kernel (0.9 ns), its sine and cosine are not (10 ns each); tan of the half
    angle gives the sign of sin, tan of the angle that of cos/sin. Both components are accurate to 3 ulp, also next
    to their zeros and for huge angles (tests/test_kernels_complex.py). From the C library, two tangents take twice as
    long as sine and cosine (complex exp: 1.66 of NumPy's time).
    """
    if not TANGENT_IS_SIMD:
        return np.cos(angle), np.sin(angle)
    tangent = np.tan(angle)
    half = np.tan(angle * 0.5)
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = np.copysign(np.abs(tangent) * cosine, half)
    return np.copysign(cosine, tangent * half), sine


def versine(angle: Real) -> Real:
    """1 - cos(angle) without cancellation: 2 sin^2(angle/2)."""
    if not TANGENT_IS_SIMD:
        return 2.0 * np.square(np.sin(angle * 0.5))
    square = np.square(np.tan(angle * 0.5))
    return 2.0 * (square / (1.0 + square))


def times_exp(factor: Real, power: Real, scale: float = 1.0) -> Real:
    """``factor * exp(power) * scale`` which overflows or underflows only where the product does.

    A quarter of the power is exact and four equal factors go from 1e-300 beyond 1e308 monotonically, so only the last
    product rounds into the subnormals. Beyond the clip every product with a nonzero float64 is inf or 0.
    """
    quarter = np.exp(np.clip(power, -3000.0, 2836.0) * 0.25)
    return factor * quarter * (quarter * scale) * quarter * quarter


def larger_and_smaller(a: Real, b: Real) -> Components:
    """The two sorted lane by lane."""
    return np.maximum(a, b), np.minimum(a, b)


def square_root(a: Real, b: Real) -> Components:
    """Real and imaginary part of sqrt(a + bj) for b >= 0, both >= 0.

    With m the larger and n the smaller of abs(a) and b, r = n/m and q = sqrt(1 + r^2), the larger part of the root is
    sqrt(m) sqrt((q + 1)/2) where abs(a) is the larger, sqrt(m) sqrt((q + r)/2) where b is. Nothing overflows or
    underflows on the way and only positive terms are added (Kahan 1987 scales by powers of two to the same end).
    """
    size = np.abs(a)
    m, n = larger_and_smaller(size, b)
    ratio = n / np.maximum(m, SMALLEST)
    hypotenuse = np.sqrt(1.0 + ratio * ratio)
    hypotenuse += np.where(size >= b, 1.0, ratio)
    large = np.sqrt(m) * np.sqrt(hypotenuse * 0.5)
    small = b / np.maximum(large, SMALLEST) * 0.5
    left = np.signbit(a)
    return np.where(left, small, large), np.where(left, large, small)


def product(a: Real, b: Real) -> Components:
    """a*b as the sum of a rounded product and its error (Dekker 1971); no FMA in NumPy."""
    high = a * b
    a_scaled, b_scaled = a * 134217729.0, b * 134217729.0
    a_high = a_scaled - (a_scaled - a)
    b_high = b_scaled - (b_scaled - b)
    a_low, b_low = a - a_high, b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


def _sum(a: Real, b: Real) -> Components:
    """a+b as the sum of a rounded sum and its error (Knuth's two-sum)."""
    high = a + b
    back = high - a
    return high, (a - (high - back)) + (b - back)


def remainder_ofproduct(target: Real, a: Real, b: Real) -> Real:
    """target - a*b, exact in sign and to the last bit or so, where target is close to a*b."""
    high, low = product(a, b)
    return (target - high) - low


def sum_of_squares_plus(linear: Real, a: Real, b: Real) -> Real:
    """linear + a^2 + b^2 to almost twice the working precision before the last rounding.

    |z|^2 - 1 next to the unit circle cancels to 1e-16 and less; log|z| is half its log1p.
    """
    a_square, a_error = product(a, a)
    b_square, b_error = product(b, b)
    first, first_error = _sum(linear, a_square)
    second, second_error = _sum(first, b_square)
    return second + (second_error + (first_error + (a_error + b_error)))
