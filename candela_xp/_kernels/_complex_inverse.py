"""asin, acos, atan and their hyperbolic twins over finite components.

Kahan's formulas (1987) for the first quadrant, where every sum has terms of one sign: with p = sqrt(1 - z) and
q = sqrt(1 + z),

    asin z = atan(x / Re(pq)) + j asinh(Im(conj(p) q))
    acos z = 2 atan(Re p / Re q) - j asinh(Im(conj(p) q))

The signs of the components give the other quadrants and the side of each cut.
"""

from __future__ import annotations

import math

import numpy as np

from ._real_parts import LN_2, larger_and_smaller, sign_of, square_root
from ._types import Components, Real

HALF_PI = math.pi / 2

# Outside these moduli the next term of the series is below 1e-300, and squares would overflow or underflow.
HUGE = 1e150
TINY = 1e-150


def _arc_parts(x: Real, y: Real) -> tuple[Real, Real, Real, Real]:
    """For x, y >= 0: asin's real part, acos(z)'s and acos(-z)'s real part, and the magnitude of the imaginary part."""
    p_real, p_imag = square_root(1.0 - x, y)
    q_real, q_imag = square_root(1.0 + x, y)
    arcsine = np.arctan2(x, p_real * q_real + p_imag * q_imag)
    arccosine = 2.0 * np.arctan2(p_real, q_real)
    arccosine_of_negative = 2.0 * np.arctan2(q_real, p_real)
    height = np.arcsinh(p_real * q_imag + p_imag * q_real)
    m, n = larger_and_smaller(x, y)
    huge = np.flatnonzero(m > HUGE)
    if huge.size:
        a, b = x[huge], y[huge]
        ratio = n[huge] / m[huge]
        arcsine[huge] = np.arctan2(a, b)
        arccosine[huge] = np.arctan2(b, a)
        arccosine_of_negative[huge] = np.arctan2(b, -a)
        height[huge] = LN_2 + np.log(m[huge]) + 0.5 * np.log1p(ratio * ratio)
    tiny = np.flatnonzero(m < TINY)
    if tiny.size:
        arcsine[tiny], height[tiny] = x[tiny], y[tiny]
    return arcsine, arccosine, arccosine_of_negative, height


def asin(x: Real, y: Real) -> Components:
    """Odd in each component."""
    real, _, _, imag = _arc_parts(np.abs(x), np.abs(y))
    return np.copysign(real, x), np.copysign(imag, y)


def asinh(x: Real, y: Real) -> Components:
    """asin with the components exchanged on both sides."""
    imag, real = asin(y, x)
    return real, imag


def acos(x: Real, y: Real) -> Components:
    """The sign of x picks the half plane: acos(-z) = pi - acos(z), computed without that difference."""
    _, right, left, height = _arc_parts(np.abs(x), np.abs(y))
    return np.where(np.signbit(x), left, right), np.copysign(height, -y)


def acosh(x: Real, y: Real) -> Components:
    """acos turned by a quarter, into the right half plane."""
    imag, real = acos(x, y)
    return np.abs(real), np.copysign(imag, y)


def atanh(x: Real, y: Real) -> Components:
    """log1p(4x / ((1-x)^2 + y^2))/4 and atan2(2y, (1-x)(1+x) - y^2)/2 in the first quadrant (Kahan 1987)."""
    a, b = np.abs(x), np.abs(y)
    to_pole = 1.0 - a
    real = 0.25 * np.log1p(4.0 * a / (to_pole * to_pole + b * b))
    imag = 0.5 * np.arctan2(2.0 * b, to_pole * (1.0 + a) - b * b)
    m, n = larger_and_smaller(a, b)
    huge = np.flatnonzero(m > HUGE)
    if huge.size:
        # 1/z: its real part is x/|z|^2.
        size = m[huge]
        ratio = n[huge] / size
        real[huge] = a[huge] / size / (1.0 + ratio * ratio) / size
        imag[huge] = HALF_PI
    close = np.flatnonzero((to_pole == 0.0) & (b < TINY))
    if close.size:
        # Above the pole, where y^2 underflows: log(2/y)/2. At the pole itself log(0) makes it inf.
        real[close] = 0.5 * (LN_2 - np.log(b[close]))
    return real * sign_of(x), imag * sign_of(y)


def atan(x: Real, y: Real) -> Components:
    """atanh with the components exchanged on both sides."""
    imag, real = atanh(y, x)
    return real, imag
