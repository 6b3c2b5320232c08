"""sqrt and sign over finite components."""

from __future__ import annotations

import numpy as np

from ._real_parts import larger_and_smaller, square_root
from ._types import Components, Real


def sqrt(x: Real, y: Real) -> Components:
    """The root in the right half plane; the sign of y picks the side of the cut."""
    real, imag = square_root(x, np.abs(y))
    # A zero has no left side: sqrt(-0 + 0j) is +0 + 0j, which both parts of square_root already are.
    return real, np.copysign(imag, y)


def sign(x: Real, y: Real) -> Components:
    """z/|z| scaled by the larger component first, so that |z| can neither overflow nor underflow."""
    size, _ = larger_and_smaller(np.abs(x), np.abs(y))
    scale = np.maximum(size, np.finfo(size.dtype).smallest_subnormal)
    real, imag = x / scale, y / scale
    length = np.sqrt(real * real + imag * imag)
    zeros = np.flatnonzero(size == 0.0)
    length[zeros] = 1.0
    real /= length
    imag /= length
    real[zeros] = 0.0
    imag[zeros] = 0.0
    return real, imag
