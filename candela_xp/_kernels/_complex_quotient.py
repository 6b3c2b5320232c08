"""divide and reciprocal over complex operands.

NumPy divides by Smith's method (1962), which overflows for operands within a factor of two of the largest number
((1+1j) max / (1+1j) max is 0) and loses everything among the subnormals. The processor notes any such step in its
flags, which NumPy reads after every loop anyway: asking for them to be raised detects what needs care at no cost.
"""

from __future__ import annotations

import numpy as np

from ._blocks import blocks, deliver, destination
from ._types import Array, Kernel, Out

# 64 Ki elements: setting the error state costs 0.7 us a block, 0.01 ns an element; one trouble repeats one block.
BLOCK = 65536


def _carefully(kernel: Kernel, operands: tuple[Array, ...]) -> Array:
    """The kernel of operands scaled to moduli about 1 by powers of two, scaled back: the same bits, in range.

    The caller's error state holds, so that what NumPy then warns of (a zero divisor, a result out of range) is true.
    """
    scaled, exponents = [], []
    for operand in operands:
        size = np.maximum(np.abs(operand.real), np.abs(operand.imag))
        # 0, inf and NaN have exponent 0 and stay what they are.
        exponent = np.where(np.isfinite(size), np.frexp(size)[1], 0)
        moved = np.empty(operand.shape, operand.dtype)
        moved.real = np.ldexp(operand.real, -exponent)
        moved.imag = np.ldexp(operand.imag, -exponent)
        scaled.append(moved)
        exponents.append(exponent)
    result: Array = kernel(*scaled, out=...)
    shift = exponents[0] - exponents[1] if len(exponents) == 2 else -exponents[0]
    result.real = np.ldexp(result.real, shift)
    result.imag = np.ldexp(result.imag, shift)
    return result


def _reciprocal_or_quotient(x: Array, /, out: Out = None) -> Array:
    """NumPy's reciprocal; at zero, where that is NaN + NaN j, NumPy's 1/x, which the text asks for."""
    zero = x == 0.0
    result: Array = np.reciprocal(np.where(zero, 1.0, x).astype(x.dtype, copy=False), out=out)
    if zero.any():
        result[zero] = np.divide(x.dtype.type(1.0), x[zero])
    return result


def _guarded(kernel: Kernel, careful_kernel: Kernel) -> Kernel:
    """Make a quotient kernel that repeats a block carefully where its first attempt left the range."""

    def quotient(*operands: Array, out: Out = None) -> Array:
        result = destination(operands, out, operands[0].dtype)
        # Written in place, the first attempt would eat the operands of the second.
        aside = any(np.may_share_memory(result, operand) for operand in operands)
        for *pieces, target in blocks(operands, result, BLOCK):
            try:
                with np.errstate(all="raise"):
                    if aside:
                        target[...] = kernel(*pieces, out=...)
                    else:
                        kernel(*pieces, out=target)
            except FloatingPointError:
                target[...] = _carefully(careful_kernel, tuple(pieces))
        return deliver(result, out)

    return quotient


divide = _guarded(np.divide, np.divide)
reciprocal = _guarded(np.reciprocal, _reciprocal_or_quotient)
