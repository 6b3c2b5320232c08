"""Names for the arrays and callables which the kernels hand to each other."""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A NumPy array of any dtype and layout."""

Real: TypeAlias = NDArray[np.float64]
"""A one-dimensional, contiguous float64 array: one component of one block."""

Lanes: TypeAlias = NDArray[np.intp]
"""Positions inside a block, for the elements which need another formula."""

Out: TypeAlias = Array | EllipsisType | None
"""NumPy's ``out=``: None or ``...`` for a new array (an array also where it is 0-d), or the destination."""

Kernel: TypeAlias = Callable[..., Array]
"""``kernel(*operands, out=...)``: arrays of one common dtype in, an array of the broadcast shape out."""

Components: TypeAlias = tuple[Real, Real]
"""Real and imaginary part of one block."""

Core: TypeAlias = Callable[..., Components]
"""``core(real, imag, ...)``: a formula in real arithmetic over the components of one block."""
