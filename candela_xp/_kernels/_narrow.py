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


# NumPy's own float16 kernels also go through float32, or through SIMD kernels as accurate (exhaustively compared: the
# same 0 to 8 of 65,536 values are one ulp off). These are no faster than the blocks here (maximum 14.6 against 7.7 ns).
SLOW_IN_HALF = frozenset(
    [
        "atan2",
        "ceil",
        "clip",
        "floor",
        "floor_divide",
        "logaddexp",
        "maximum",
        "minimum",
        "pow",
        "remainder",
        "round",
        "trunc",
    ]
)


def widened(kernel: Kernel, wide: type[np.generic], *, predicate: bool, half: Kernel | None = None) -> Kernel:
    """Make a kernel for narrow dtypes from one for `wide`.

    Parameters
    ----------
    kernel
        The kernel of the wide dtype.
    wide
        ``numpy.float32``, or ``numpy.int8`` for the integers below a byte.
    predicate
        Whether the kernel's result is bool rather than of the operands' dtype.
    half
        The kernel for float16, where that is not the widened one.
    """

    def narrow_kernel(*operands: Array | None, out: Out = None) -> Array:
        arrays = tuple(operand for operand in operands if operand is not None)
        dtype = arrays[0].dtype
        if half is not None and dtype == np.float16:
            return half(*operands, out=out)
        result = destination(arrays, out, np.dtype(np.bool_) if predicate else dtype)
        for *pieces, target in blocks(arrays, result, BLOCK):
            given = iter(pieces)
            target[...] = kernel(*(None if each is None else next(given).astype(wide) for each in operands), out=...)
        return deliver(result, out)

    return narrow_kernel


def nextafter(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """The neighbouring value of the dtype itself; x2 where the two are equal: zeros of the other sign (NumPy: x1)."""
    result: Array = np.nextafter(x1, x2, out=...)
    equal = np.equal(x1, x2)
    if equal.any():
        result[equal] = np.broadcast_to(x2, result.shape)[equal]
    return deliver(result, out)
