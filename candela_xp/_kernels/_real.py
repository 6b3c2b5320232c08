"""The kernels of real dtypes that replace NumPy's: floor_divide, logaddexp and pow."""

from __future__ import annotations

import numpy as np

from ._blocks import blocks, deliver, destination
from ._real_parts import product
from ._types import Array, Out

# 16 Ki elements: quotient, floor, mask and both operands of one block stay in L2.
BLOCK = 16384

# Python's // rounds its own quotient, and from about 2^52 on need not give the exact floor. From here on, and where
# the exact product would overflow or lose its low part to underflow, NumPy's kernel decides: it is Python's algorithm.
QUOTIENT_LIMIT = 2.0**50
LARGE, SMALL = 1e290, 1e-270


def floor_divide(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """floor(x1 / x2): for infinities as the text says, for finite operands as Python's ``//``.

    NumPy follows Python for infinities too (inf // 2 is NaN, 1 // -inf is -1), by fmod at 21 ns an element; the floor
    of the quotient takes 1 ns. It is right unless the quotient is an integer: that may have been rounded up to it
    (1.0 / 0.1 is 10.0, 1.0 // 0.1 is 9.0), which the sign of the exact x1 - q x2 tells.
    """
    if not isinstance(out, np.ndarray) and x1.size <= BLOCK and x2.size <= BLOCK:
        return _floor_of_quotient(x1, x2)
    result = destination((x1, x2), out, x1.dtype)
    for a, b, target in blocks((x1, x2), result, BLOCK):
        target[...] = _floor_of_quotient(a, b)
    return deliver(result, out)


def _floor_of_quotient(x1: Array, x2: Array) -> Array:
    quotient = np.divide(x1, x2, out=...)
    floor: Array = np.floor(quotient, out=...)
    doubtful = np.equal(quotient, floor, out=...)
    if floor.dtype == np.float64:
        # Up there Python's quotient can be one too low also where it is no integer.
        doubtful |= np.abs(floor) >= QUOTIENT_LIMIT
    if doubtful.any():
        _round_down(x1, x2, floor, doubtful)
    return floor


def _round_down(x1: Array, x2: Array, floor: Array, doubtful: Array) -> None:
    """Take one from `floor` where the quotient had been rounded up to an integer."""
    if x1.shape != floor.shape:
        x1 = np.broadcast_to(x1, floor.shape)
    if x2.shape != floor.shape:
        x2 = np.broadcast_to(x2, floor.shape)
    if floor.ndim == 0:
        # Arithmetic on 0-d arrays gives scalars; the views below write through to the 0-d floor.
        x1, x2, floor, doubtful = x1.reshape(1), x2.reshape(1), floor.reshape(1), doubtful.reshape(1)
    # Doubtful throughout is the common case of whole-numbered data, and needs no gathering.
    everywhere = bool(doubtful.all())
    a, b, q = (x1, x2, floor) if everywhere else (x1[doubtful], x2[doubtful], floor[doubtful])
    # NaN (an infinite operand or quotient) compares false on both sides and keeps the quotient: that is the text.
    with np.errstate(all="ignore"):
        fixed = _fixed_single(a, b, q) if floor.dtype == np.float32 else _fixed_double(a, b, q)
    if everywhere:
        floor[...] = fixed
    else:
        floor[doubtful] = fixed


def _fixed_single(a: Array, b: Array, q: Array) -> Array:
    """float32 in float64, where the product of two float32 is exact and in range."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    rest = a - b * q
    fixed = q - _opposite(rest, b)
    if (np.abs(q) >= 2.0**24).any():
        hard = (np.abs(q) >= 2.0**24) & np.isfinite(a) & (b != 0.0)
        fixed[hard] = np.floor_divide(a[hard], b[hard])
    return fixed


def _fixed_double(a: Array, b: Array, q: Array) -> Array:
    """float64 by Dekker's exact product, outside its range by NumPy's kernel."""
    high, low = product(b, q)
    fixed = q - _opposite((a - high) - low, b)
    size = np.abs(a)
    hard = (np.abs(q) >= QUOTIENT_LIMIT) | (size > LARGE) | (size < SMALL) | (np.abs(b) > LARGE)
    if hard.any():
        hard &= np.isfinite(a) & np.isfinite(b) & (a != 0.0) & (b != 0.0)
        fixed[hard] = np.floor_divide(a[hard], b[hard])
    return fixed


def _opposite(rest: Array, divisor: Array) -> Array:
    """True where rest/divisor is negative (that quotient itself might underflow), false beside a NaN."""
    return ((rest < 0.0) & (divisor > 0.0)) | ((rest > 0.0) & (divisor < 0.0))


# Where the sum is less than this share of its larger term, the rounding of that term shows: 4 eps and more.
CANCELLED = 0.25


def logaddexp(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """log(exp(x1) + exp(x2)) = m + log1p(exp(n - m)) for the larger m and the smaller n.

    NumPy's loop has the same formula element by element (16 ns, here 4), and loses the digits that cancel where the
    sum of the exponentials is close to 1 (937 eps off for a result of 0.0004). float32 is computed in float64; the rare
    lanes of float64 in long double, where that has more bits (11 more on x86), and elsewhere as NumPy does.
    """
    result = destination((x1, x2), out, x1.dtype)
    # Infinite operands pass through inf - inf on the way to an infinite result: no flag here is genuine.
    with np.errstate(all="ignore"):
        for a, b, target in blocks((x1, x2), result, BLOCK):
            m, n = (f(a, b, out=..., dtype=np.float64) for f in (np.maximum, np.minimum))
            value = m + np.log1p(np.exp(n - m, out=...), out=...)
            unequal = np.isfinite(value, out=...)
            if not unequal.all():
                # Of two equal infinities the difference is NaN; a NaN stays one.
                value = np.where(np.isinf(m), m, value)
            cancelled = np.abs(value) < np.abs(m) * CANCELLED
            if cancelled.any():
                value = np.asarray(value)
                value[cancelled] = _long_logaddexp(m[cancelled], n[cancelled])
            target[...] = value
    return deliver(result, out)


def _long_logaddexp(m: Array, n: Array) -> Array:
    long, short = m.astype(np.longdouble), n.astype(np.longdouble)
    result: Array = (long + np.log1p(np.exp(short - long))).astype(np.float64)
    return result


def power(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """NumPy's power, without its shortcut for exponents that are one and the same number along an inner loop.

    Where the exponent has stride 0 and is 0.5, NumPy takes the square root, which is NaN at -inf and -0 at -0 in place
    of +inf and +0 (numpy#21213, numpy#26055).
    """
    if x1.shape == x2.shape and x2.size > 1 and 0 not in x2.strides:
        result: Array = np.power(x1, x2, out=out)
        return result
    if x2.size == 1:
        exponent = x2.item()
        if exponent == 0.5:
            return _root(x1, x2, out)
        if exponent == 2.0 and not x2.ndim:
            squared: Array = np.square(x1, out=out)
            return squared
    if x2.size > 1 and bool(np.equal(x2, 0.5, out=...).any()):
        return _power_with_halves(x1, x2, out)
    plain: Array = np.power(x1, x2, out=out)
    return plain


def integer_power(x1: Array, x2: Array, /, out: Out = None) -> Array:
    """NumPy's power; a 0-d exponent of 2 is the square, as for NumPy's operator (0.4 of the time of its function)."""
    kernel = np.square if not x2.ndim and x2.item() == 2 else None
    result: Array = np.power(x1, x2, out=out) if kernel is None else kernel(x1, out=out)
    return result


def _root(x1: Array, half: Array, out: Out) -> Array:
    """x1 ** 0.5 by the square root: SIMD where NumPy's shortcut is not (0.9 against 1.8 ns)."""
    if not isinstance(out, np.ndarray) and x1.ndim >= half.ndim and x1.size:
        # The commonest operand whole: blocks cost 0.2 ns an element more than they save of the second reading.
        if x1.min() > 0.0:
            root: Array = np.sqrt(x1, out=...)
            return root
        if x1.size <= BLOCK:
            return _root_of_block(x1, ...)
    result = destination((x1, half), out, x1.dtype)
    if result.shape != x1.shape:
        x1 = np.broadcast_to(x1, result.shape)
    if x1.size:
        for a, target in blocks((x1,), result, BLOCK):
            _root_of_block(a, target)
    return deliver(result, out)


def _root_of_block(x: Array, out: Out) -> Array:
    """The root, +inf at -inf and +0 at -0; finding the rare block that needs care takes its minimum (0.1 ns)."""
    lowest = x.min()
    result: Array
    if lowest > 0.0:
        result = np.sqrt(x, out=out)
    elif np.isfinite(lowest):
        result = np.sqrt(x, out=out)
        result += 0.0
    else:
        # A NaN may hide a -inf from the minimum.
        result = np.sqrt(np.where(x == -np.inf, np.inf, x), out=out)
        result += 0.0
    return result


def _power_with_halves(x1: Array, x2: Array, out: Out) -> Array:
    """Exponents of which some are 0.5 and some repeat: put the two answers right afterwards."""
    half = np.equal(x2, 0.5)
    infinite, zero = half & (x1 == -np.inf), half & (x1 == 0.0)
    base = np.where(infinite, np.inf, x1) if infinite.any() else x1
    result: Array = np.power(base, x2, out=out if isinstance(out, np.ndarray) else ...)
    result[zero] = 0.0
    return result
