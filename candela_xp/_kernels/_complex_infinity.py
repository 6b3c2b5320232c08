"""What the complex functions give where a component is infinite or NaN.

Source: the special cases of array API 2025.12, closed under the symmetries it demands; where its list is silent,
C99 Annex G. Every function sees only such elements.
"""

from __future__ import annotations

import math

import numpy as np

from ._real_parts import cosine_and_sine, sign_of
from ._types import Components, Core, Real

INF = math.inf
NAN = math.nan


def _where(*choices: tuple[np.ndarray, Real | float], otherwise: Real | float) -> Real:
    """The value beside the first condition that holds."""
    conditions, values = zip(*choices, strict=True)
    return np.select(list(conditions), list(values), otherwise)


def _angle(x: Real, y: Real) -> Real:
    """arg(x + yj) with infinities counted as equally far away: multiples of pi/4; NaN with a NaN on either side."""
    return np.arctan2(y, x)


def exp(x: Real, y: Real) -> Components:
    """inf cis(y), 0 cis(y), NaN; infinities and NaN of y at a zero or infinite modulus leave a sign open: +."""
    b = np.abs(y)
    cosine, sine = cosine_and_sine(b)
    real_axis, turning = b == 0.0, np.isfinite(b)
    grows, shrinks = x == INF, x == -INF
    real = _where(
        (grows & real_axis, INF),
        (grows & turning, INF * cosine),
        (grows, INF),
        (shrinks & turning, 0.0 * cosine),
        (shrinks, 0.0),
        otherwise=NAN,
    )
    imag = _where(
        (real_axis, 0.0),
        (grows & turning, INF * sine),
        (shrinks & turning, 0.0 * sine),
        (shrinks, 0.0),
        otherwise=NAN,
    )
    return real, imag * sign_of(y)


def expm1(x: Real, y: Real) -> Components:
    """exp, with -1 for its zeros."""
    real, imag = exp(x, y)
    return np.where(x == -INF, -1.0, real), imag


def cosh(x: Real, y: Real) -> Components:
    """Even; conjugate."""
    a, b = np.abs(x), np.abs(y)
    cosine, sine = cosine_and_sine(b)
    grows, turning = a == INF, np.isfinite(b)
    real = _where((grows & (b == 0.0), INF), (grows & turning, INF * cosine), (grows, INF), otherwise=NAN)
    imag = _where(((a == 0.0) | (b == 0.0), 0.0), (grows & turning, INF * sine), otherwise=NAN)
    return real, imag * (sign_of(x) * sign_of(y))


def sinh(x: Real, y: Real) -> Components:
    """Odd; conjugate."""
    a, b = np.abs(x), np.abs(y)
    cosine, sine = cosine_and_sine(b)
    grows, turning = a == INF, np.isfinite(b)
    real = _where(
        (a == 0.0, 0.0), (grows & (b == 0.0), INF), (grows & turning, INF * cosine), (grows, INF), otherwise=NAN
    )
    imag = _where((b == 0.0, 0.0), (grows & turning, INF * sine), otherwise=NAN)
    return real * sign_of(x), imag * sign_of(y)


def tanh(x: Real, y: Real) -> Components:
    """Odd; conjugate. 0 + NaN j at (0, inf) and (0, NaN), which the text prefers to C99's NaN + NaN j."""
    a, b = np.abs(x), np.abs(y)
    real = _where((a == INF, 1.0), (a == 0.0, 0.0), otherwise=NAN)
    imag = _where(((a == INF) | (b == 0.0), 0.0), otherwise=NAN)
    return real * sign_of(x), imag * sign_of(y)


def logarithm(scale: float) -> Core:
    """inf with the angle of the infinity, in units of the base."""

    def at_infinity(x: Real, y: Real) -> Components:
        return np.where(np.isinf(x) | np.isinf(y), INF, NAN), np.copysign(_angle(x, np.abs(y)), y) * scale

    return at_infinity


def sqrt(x: Real, y: Real) -> Components:
    """inf + inf j beside an infinite imaginary part, NaN or not (the text's first line, and C99; see NOTES 1)."""
    upright = np.isinf(y)
    known = ~np.isnan(y)
    real = _where((upright, INF), (x == INF, INF), ((x == -INF) & known, 0.0), otherwise=NAN)
    imag = _where((upright, INF), (x == -INF, INF), ((x == INF) & known, 0.0), otherwise=NAN)
    return real, np.copysign(imag, y)


def sign(x: Real, y: Real) -> Components:
    """The limit direction of one infinite component; NaN + NaN j for two, and for a NaN anywhere."""
    x_infinite, y_infinite = np.isinf(x), np.isinf(y)
    lost = np.isnan(x) | np.isnan(y) | (x_infinite & y_infinite)
    real = np.where(lost, NAN, np.copysign(np.where(x_infinite, 1.0, 0.0), x))
    imag = np.where(lost, NAN, np.copysign(np.where(y_infinite, 1.0, 0.0), y))
    return real, imag


def acos(x: Real, y: Real) -> Components:
    """The angle of the infinity; pi/2 + NaN j where only the imaginary part is unknown, on the imaginary axis."""
    real = np.where((x == 0.0) & np.isnan(y), math.pi / 2, _angle(x, np.abs(y)))
    return real, np.copysign(np.where(np.isinf(x) | np.isinf(y), INF, NAN), -y)


def acosh(x: Real, y: Real) -> Components:
    """acos turned by a quarter."""
    imag, real = acos(x, y)
    return np.abs(real), np.copysign(imag, y)


def asinh(x: Real, y: Real) -> Components:
    """Odd; conjugate."""
    a, b = np.abs(x), np.abs(y)
    real = np.where((a == INF) | (b == INF), INF, NAN)
    imag = np.where(b == 0.0, 0.0, _angle(a, b))
    return np.copysign(real, x), np.copysign(imag, y)


def atanh(x: Real, y: Real) -> Components:
    """Odd; conjugate. pi/2 beside every infinity except the real one beside NaN."""
    a, b = np.abs(x), np.abs(y)
    real = np.where((a == INF) | (b == INF) | (a == 0.0), 0.0, NAN)
    imag = np.where((b == INF) | ((a == INF) & ~np.isnan(b)), math.pi / 2, NAN)
    return np.copysign(real, x), np.copysign(imag, y)


def exchanged(hyperbolic: Core) -> Core:
    """The circular twin of an odd function: components exchanged on both sides."""

    def at_infinity(x: Real, y: Real) -> Components:
        imag, real = hyperbolic(y, x)
        return real, imag

    return at_infinity


def cos(x: Real, y: Real) -> Components:
    """cosh of the components exchanged, conjugated."""
    real, imag = cosh(y, x)
    return real, -imag
