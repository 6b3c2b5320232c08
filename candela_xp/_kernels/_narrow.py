"""Kernels of the dtypes narrower than the arithmetic of the machine: float16 and ml_dtypes' floats and integers.

Floats are computed in float32 and rounded once. For + - * / and sqrt that is correct rounding: 24 bits are at least
twice the 11 of float16 and two more (Figueroa 1995).
"""

from __future__ import annotations

import numpy as np

from ._blocks import blocks, deliver, destination
from ._types import Array, Kernel, Out

# 16 Ki elements: the float32 copies of one block stay in L2.
BLOCK = 16384


def widened(kernel: Kernel, wide: type[np.generic], predicate: bool) -> Kernel:
    """Make a kernel for narrow dtypes from one for `wide`.

    Parameters
    ----------
    kernel
        The kernel of the wide dtype.
    wide
        ``numpy.float32``, or ``numpy.int8`` for the integers below a byte.
    predicate
        Whether the kernel's result is bool rather than of the operands' dtype.
    """

    def narrow_kernel(*operands: Array | None, out: Out = None) -> Array:
        arrays = tuple(operand for operand in operands if operand is not None)
        result = destination(arrays, out, np.dtype(np.bool_) if predicate else arrays[0].dtype)
        for *pieces, target in blocks(arrays, result, BLOCK):
            given = iter(pieces)
            values = kernel(*(None if each is None else next(given).astype(wide) for each in operands), out=...)
            target[...] = values
        return deliver(result, out)

    return narrow_kernel
