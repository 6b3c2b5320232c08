"""Kernels of the dtypes narrower than the arithmetic of the machine: float16 and ml_dtypes' floats and integers.

Floats are computed in float32 and rounded once. For + - * / and sqrt that is correct rounding: 24 bits are at least
twice the 11 of float16 and two more (Figueroa 1995). NumPy's own float16 kernels of transcendental functions are left
aside, though some are quicker (exp 0.2 of the time, with AVX-512): they are an ulp off for up to 8 of 65,536 values,
and which ones depends on the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._blocks import blocks, deliver, destination
from ._convert import BLOCK, convert, converted, has_nan, scratch, wide, widen
from ._types import Array, Kernel, Out

NARROW: dict[Kernel, Kernel] = {}
"""For each kernel that converts what it reads and what it writes, the kernel of the wide dtype between."""

# Of so few elements NumPy's and ml_dtypes' own kernels are quicker where they round the float32 result once as well.
# float16 10^4: an addition in 33 µs, 40 through float32; 10^5: 380 and 200.
_FEW = 2**13
# So few are computed in one piece, without scratch memory and the search for blocks (4 µs).
_ONE_PIECE = 2**14
# < and its like are not among them: of bfloat16 ml_dtypes' warn that NaN is invalid.
_ROUNDED_ONCE = frozenset("add divide equal multiply not_equal subtract".split())


def widened(name: str, kernel: Kernel, native: Kernel | None, *, result: np.dtype[Any] | None) -> Kernel:
    """Make a kernel for narrow dtypes from the one for the dtype in which they are computed.

    Parameters
    ----------
    name
        The function.
    kernel
        The kernel of the wide dtype.
    native
        The narrow dtype's own.
    result
        Of which dtype the result is, if not of the operands'.
    """
    native = native if name in _ROUNDED_ONCE else None

    def narrow_kernel(*operands: Array | None, out: Out = None) -> Array:
        arrays = tuple([operand for operand in operands if operand is not None])
        dtype = arrays[0].dtype
        if (
            native is not None
            and all([x.size <= _FEW for x in arrays])  # noqa: C419  # a list is quicker
            and (name != "divide" or has_nan(dtype))
        ):
            return native(*arrays, out=... if out is None else out)
        if not isinstance(out, np.ndarray) and all([x.size <= _ONE_PIECE for x in arrays]):  # noqa: C419  # as above
            wides = [None if x is None else converted(x, wide(x.dtype)) for x in operands]
            found = kernel(*wides, out=...)
            if found.size <= _ONE_PIECE or found.dtype == np.bool_:
                return found if found.dtype == np.bool_ else converted(found, result or dtype)
        whole = destination(arrays, out, result or dtype)
        predicate, wide_result = whole.dtype == np.bool_, wide(whole.dtype)
        for *pieces, target in blocks(arrays, whole, BLOCK):
            given = enumerate(pieces)
            wides = [None if each is None else widen(*next(given)[::-1]) for each in operands]
            if predicate:
                kernel(*wides, out=target)
            else:
                found = scratch(len(wides), target.shape, wide_result)
                kernel(*wides, out=found)
                convert(found, target)
        return deliver(whole, out)

    NARROW[narrow_kernel] = kernel
    return narrow_kernel


def nextafter(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """The neighbouring value of the dtype itself; x2 where the two are equal: zeros of the other sign (NumPy: x1)."""
    result: Array = np.nextafter(x1, x2, out=...)
    equal = np.equal(x1, x2)
    if equal.any():
        result[equal] = np.broadcast_to(x2, result.shape)[equal]
    return deliver(result, out)
