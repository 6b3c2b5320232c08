"""exp, expm1, sinh, cosh, tanh and their circular twins over finite components.

The hyperbolic functions are computed in the first quadrant; the signs of the components give the other three. The
circular ones are the same formulas with the components exchanged: sin(x + yj) = b + aj where a + bj = sinh(y + xj).
"""

from __future__ import annotations

import numpy as np

from ._real_parts import EXP_LIMIT, cosine_and_sine, sign_of, times_exp, versine
from ._types import Components, Lanes, Real

# From here on 1 + exp(-2x) is 1 to the last bit, and sinh^2 would in the end overflow.
TANH_IS_ONE = 22.0


def _far(power: Real) -> Lanes:
    """Lanes in which exp overflows, or loses bits to the subnormals."""
    return np.flatnonzero(np.abs(power) > EXP_LIMIT)


def exp(x: Real, y: Real) -> Components:
    """e^x (cos y + j sin y)."""
    cosine, sine = cosine_and_sine(np.abs(y))
    sine *= sign_of(y)
    size = np.exp(x)
    real, imag = size * cosine, size * sine
    lanes = _far(x)
    if lanes.size:
        real[lanes] = times_exp(cosine[lanes], x[lanes])
        imag[lanes] = times_exp(sine[lanes], x[lanes])
    return real, imag


def expm1(x: Real, y: Real) -> Components:
    """expm1(x) cos y - (1 - cos y) and e^x sin y: two small terms in place of the difference of two large ones."""
    angle = np.abs(y)
    cosine, sine = cosine_and_sine(angle)
    sine *= sign_of(y)
    real = np.expm1(x) * cosine - versine(angle)
    imag = np.exp(x) * sine
    lanes = _far(x)
    if lanes.size:
        # Left of -708 the real part is -1 to the last bit whichever way; right of it 1 is nothing.
        far = lanes[x[lanes] > 0.0]
        real[far] = times_exp(cosine[far], x[far])
        imag[lanes] = times_exp(sine[lanes], x[lanes])
    # expm1(0) is +0 + bj by the text; expm1(-0) cos(0) - 0 would be -0.
    return real + 0.0, imag


def _hyperbolic(x: Real, y: Real) -> tuple[Real, Real, Real, Real]:
    """cosh|x| cos y, sinh|x| sin|y|, sinh|x| cos y, cosh|x| sin|y|."""
    size = np.abs(x)
    cosine, sine = cosine_and_sine(np.abs(y))
    hyperbolic_cosine, hyperbolic_sine = np.cosh(size), np.sinh(size)
    products = (
        hyperbolic_cosine * cosine,
        hyperbolic_sine * sine,
        hyperbolic_sine * cosine,
        hyperbolic_cosine * sine,
    )
    lanes = _far(size)
    if lanes.size:
        # cosh and sinh are both e^|x|/2 there.
        along = times_exp(cosine[lanes], size[lanes], scale=0.5)
        across = times_exp(sine[lanes], size[lanes], scale=0.5)
        for product, value in zip(products, (along, across, along, across), strict=True):
            product[lanes] = value
    return products


def sinh(x: Real, y: Real) -> Components:
    """sinh x cos y + j cosh x sin y."""
    _, _, real, imag = _hyperbolic(x, y)
    return real * sign_of(x), imag * sign_of(y)


def cosh(x: Real, y: Real) -> Components:
    """cosh x cos y + j sinh x sin y."""
    real, imag, _, _ = _hyperbolic(x, y)
    return real, imag * (sign_of(x) * sign_of(y))


def tanh(x: Real, y: Real) -> Components:
    """Kahan's formula (1987): with t = tan y, s = sinh x, b = 1 + t^2: (b sqrt(1 + s^2) s + jt) / (1 + b s^2)."""
    size, angle = np.abs(x), np.abs(y)
    tangent = np.tan(angle)
    secant_square = 1.0 + tangent * tangent
    sine = np.sinh(np.minimum(size, TANH_IS_ONE))
    sine_square = sine * sine
    denominator = 1.0 + secant_square * sine_square
    real = secant_square * np.sqrt(1.0 + sine_square) * sine / denominator
    imag = tangent / denominator
    lanes = np.flatnonzero(size > TANH_IS_ONE)
    if lanes.size:
        real[lanes] = 1.0
        imag[lanes] = 4.0 * (tangent[lanes] / secant_square[lanes]) * np.exp(-2.0 * size[lanes])
    return real * sign_of(x), imag * sign_of(y)


def sin(x: Real, y: Real) -> Components:
    """sinh with the components exchanged on both sides."""
    imag, real = sinh(y, x)
    return real, imag


def cos(x: Real, y: Real) -> Components:
    """cosh of the components exchanged, conjugated."""
    real, imag = cosh(y, x)
    return real, -imag


def tan(x: Real, y: Real) -> Components:
    """tanh with the components exchanged on both sides."""
    imag, real = tanh(y, x)
    return real, imag
