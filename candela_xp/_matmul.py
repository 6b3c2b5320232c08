"""How products are computed: NumPy arrays of one dtype in, one out. The single place where a product is a kernel call.

Narrow floats are multiplied and summed in float32 and rounded once; small integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from candela_xp._dtypes import FROM_NUMPY

NumPyArray = np.ndarray[Any, Any]


def _computed(kernel: Callable[..., Any], a: NumPyArray, b: NumPyArray) -> NumPyArray:
    dtype = a.dtype
    if FROM_NUMPY[dtype].kernels == "narrow":
        return np.asarray(kernel(a.astype(np.float32), b.astype(np.float32))).astype(dtype)
    return np.asarray(kernel(a, b))


def product(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """The matrix product of two arrays of one dtype.

    Parameters
    ----------
    a
        Shape ``(k,)`` or ``(…, m, k)``, any layout.
    b
        Shape ``(k,)`` or ``(…, k, n)``, any layout; the stacks broadcast.

    Returns
    -------
    An array of its own memory, of shape ``(…, m, n)`` without the axes that a vector lacks. Nothing is conjugated.
    """
    return _computed(np.matmul, a, b)


def inner(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """The sums of ``conj(a) * b`` along the last axis, for two arrays of one dtype that broadcast."""
    return _computed(np.vecdot, a, b)
