"""log, log2, log10 and log1p over finite components.

Next to the circle where the logarithm's real part vanishes, it is half the log1p of |z|^2 - 1, and that excess is
summed in double-double arithmetic (Hull, Fairgrieve and Tang 1994 put the same care into the exact excess).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ._real_parts import SMALLEST, larger_and_smaller, sum_of_squares_plus
from ._types import Components, Core, Real


def _log_of_modulus(m: Real, n: Real, log_of_real: Callable[[Real], Real], scale: float) -> Real:
    """log|m + nj| for m >= n >= 0: log m + log1p((n/m)^2)/2; no overflow or underflow on the way."""
    ratio = n / np.maximum(m, SMALLEST)
    result: Real = log_of_real(m) + (0.5 * scale) * np.log1p(ratio * ratio)
    return result


def _logarithm(log_of_real: Callable[[Real], Real], scale: float) -> Core:
    """The logarithm whose base has natural logarithm 1/scale; a real m goes through that base's own kernel."""

    def core(x: Real, y: Real) -> Components:
        m, n = larger_and_smaller(np.abs(x), np.abs(y))
        real = _log_of_modulus(m, n, log_of_real, scale)
        excess = (m - 1.0) * (m + 1.0) + n * n
        # Farther out the two logarithms cancel to a third at most. On the axes the real kernel is right at any
        # distance from 1 (log2 and log10 are exact at powers).
        lanes = np.flatnonzero((excess > -0.3) & (excess < 0.4) & (n > 0.0))
        if lanes.size:
            m, n = m[lanes], n[lanes]
            real[lanes] = (0.5 * scale) * np.log1p(sum_of_squares_plus(np.full_like(m, -1.0), m, n))
        return real, _angle(x, y) * scale

    return core


def _angle(x: Real, y: Real) -> Real:
    """arg(x + yj), odd in y bit for bit."""
    return np.copysign(np.arctan2(np.abs(y), x), y)


log = _logarithm(np.log, 1.0)
log2 = _logarithm(np.log2, 1.0 / math.log(2.0))
log10 = _logarithm(np.log10, 1.0 / math.log(10.0))


def log1p(x: Real, y: Real) -> Components:
    """log(1 + z) with |1 + z|^2 - 1 = x(2 + x) + y^2 wherever 1 + x would have lost x."""
    shifted = 1.0 + x
    angle = np.copysign(np.arctan2(np.abs(y), shifted), y)
    excess = x * (2.0 + x) + y * y
    real = 0.5 * np.log1p(excess)
    far = np.flatnonzero((excess <= -0.5) | (excess >= 1.0))
    if far.size:
        m, n = larger_and_smaller(np.abs(shifted[far]), np.abs(y[far]))
        real[far] = _log_of_modulus(m, n, np.log, 1.0)
    # Between 0 and -2 the two terms of the excess have different signs; here they leave less than half.
    near = np.flatnonzero((excess > -0.5) & (np.abs(excess) < -x))
    if near.size:
        a, b = x[near], y[near]
        real[near] = 0.5 * np.log1p(sum_of_squares_plus(a + a, a, b))
    # On the axis the real kernel is right as it is; it also keeps the sign of a zero.
    axis = np.flatnonzero((y == 0.0) & (x > -1.0))
    if axis.size:
        real[axis] = np.log1p(x[axis])
    return real, angle
