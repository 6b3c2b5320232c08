"""Conversions from and to the narrow dtypes: exact on the way up, rounded once on the way down.

ml_dtypes goes from float64 and from integers through float32, and so rounds twice: 1 + 2**-8 + 2**-40 as bfloat16 is 1
there, where 1.0078125 is nearer. Some pairs of its dtypes it doesn't convert at all. Here everything passes the dtype
in which the narrow one is computed, its *wide* dtype, which holds all its values; what is wider than that is first
rounded *to odd*: a lowest bit that is set remembers that something was cut off, so that the second rounding is the only
one (Boldo and Melquiond 2008).

Microseconds for 2**15 elements, here and by ml_dtypes' or NumPy's own casts: float16 to float32 10 and 39, back 33 and
48; 8-bit floats to float32 22 and 53, back 35 and 101. bfloat16's own are left alone: 2.4 and 12 against 4 and 14 with
integer operations on the bits.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from math import prod

import numpy as np

from ._blocks import blocks
from ._types import Array

BLOCK = 2**17
"""Elements converted at a time. Shorter blocks would stay in the second level of the cache, but calls of a few
microseconds each take longer in two threads than in one, since each ends in a wait for the interpreter's lock:
adding 10^7 bfloat16 in blocks of 2^14, 2^15 and 2^17 took 17, 12 and 9 ms in one thread, and 22 ms in two with 2^14."""

_HALF = np.dtype(np.float16)
_SINGLE = np.dtype(np.float32)
_DOUBLE = np.dtype(np.float64)
_WORD = np.dtype(np.uint32)
_BOOL = np.dtype(np.bool_)

Way = Callable[[Array, Array], None]


class _Scratch(threading.local):
    """Memory of a thread for the values of a block: fresh pages for them would take longer than what is computed."""

    def __init__(self) -> None:
        self.memory: dict[int | str, Array] = {}

    def get(self, place: int | str, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """Memory of one place, for as long as nobody else takes the place; of more than a block, new memory."""
        size = prod(shape)
        if size > BLOCK or size <= _FEW:
            return np.empty(shape, dtype)
        needed = size * dtype.itemsize
        found = self.memory.get(place)
        if found is None or found.nbytes < needed:
            found = self.memory[place] = np.empty(needed, np.uint8)
        return found[:needed].view(dtype).reshape(shape)


scratch = _Scratch().get
# Up to so many elements the C library has memory as quickly.
_FEW = 2**12


@functools.cache
def wide(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The dtype in which a dtype is computed: itself, but float32, int8 or complex64 for the narrow ones."""
    if dtype.num < 256 and dtype != _HALF:  # NumPy's own
        return dtype
    if dtype.name.startswith("complex"):
        return np.dtype(np.complex64)
    return np.dtype(np.int8) if "int" in dtype.name else _SINGLE


def converted(source: Array, dtype: np.dtype[np.generic]) -> Array:
    """A dense array of another dtype, in the order of the source's axes in memory."""
    out = np.empty_like(source, dtype, subok=False)
    convert(source, out)
    return out


def widen(source: Array, place: int) -> Array:
    """The values of a block in the wide dtype, in the scratch memory of a place."""
    out = scratch(place, source.shape, wide(source.dtype))
    convert(source, out)
    return out


@functools.cache
def has_nan(dtype: np.dtype[np.generic]) -> bool:
    """Whether a narrow float can say that it is no number: those of 6 and 4 bits have -0 for NaN."""
    return bool(np.isnan(np.array(np.nan, _SINGLE).astype(dtype).astype(_SINGLE)))


@functools.cache
def rounding(dtype: np.dtype[np.generic]) -> Callable[..., Array]:
    """A kernel that brings wide values to the nearest ones that a narrow dtype has; they stay in the wide dtype."""

    def rounded(values: Array, /, out: Array) -> Array:
        narrow = scratch("narrow", values.shape, dtype)
        convert(values, narrow)
        convert(narrow, out)
        return out

    return _half_rounded if dtype == _HALF else rounded


def convert(source: Array, out: Array) -> None:
    """Assign an array to one of the same shape and any dtype; a broadcast source may have another shape."""
    way = _way(source.dtype, out.dtype)
    if way is None:
        np.copyto(out, source, casting="unsafe")
        return
    if source.shape != out.shape:
        source = np.broadcast_to(source, out.shape)
    for piece, target in blocks((source,), out, BLOCK):
        way(piece, target)


@functools.cache
def _way(source: np.dtype[np.generic], out: np.dtype[np.generic]) -> Way | None:
    """How to convert a block, or None where NumPy's own cast is right and quickest."""
    if source == out or (wide(source) == source and wide(out) == out):
        return None
    if wide(source) != source:
        if out != wide(source):
            return _through(wide(source))
        if out.kind == "c":
            return _complex_up
        return _half_up if source == _HALF else _byte_up if _is_small_float(source) else None
    if wide(out).kind == "c":
        return _complex_down
    if wide(out) != out and source.kind == "f" and wide(out).kind == "i":
        return _through(wide(out))  # NumPy says where a float is no integer
    if source == wide(out):
        if out == _HALF:
            return _half_down
        return _byte_down if _is_small_float(out) else None
    if wide(out) == _SINGLE and out != _HALF and source.kind != "c":
        # What has no more than 24 bits float32 holds as it is.
        if source.kind == "b" or (source.kind in "iu" and source.itemsize < 4):
            return _through(_SINGLE)
        return _odd_double_down if source == _DOUBLE else _odd_integer_down
    return None


def _is_small_float(dtype: np.dtype[np.generic]) -> bool:
    return dtype.itemsize == 1 and wide(dtype) == _SINGLE


def _through(between: np.dtype[np.generic]) -> Way:
    def way(source: Array, out: Array) -> None:
        convert(converted(source, between), out)

    return way


# -- float16 --------------------------------------------------------------------------------------------

# Of fewer elements the calls take longer than NumPy's conversion.
_WORTH_UP, _WORTH_DOWN = 2**12, 2**14
_INFINITE = np.int16(0x7C00)
_SIGN_EXPONENT_FRACTION = np.int32(-0x70002000)  # 0x8FFFE000: the bits of a float16 at their places in a float32
_EXPONENT = np.uint32(0x7F800000)
_LEAST_EXPONENT = np.uint32(113 << 23)
_TO_ROUND = np.uint32((13 << 23) + (1 << 22))
_TOO_GREAT = np.uint32(142 << 23)  # from 2**15 on the result may be infinite


def _half_up(source: Array, out: Array) -> None:
    """float16 to float32: the bits at their places, and the exponent's bias by a multiplication."""
    if source.size < _WORTH_UP:
        np.copyto(out, source)
        return
    bits = source.view(np.int16)
    result = out if out.flags.c_contiguous else scratch("first", source.shape, _SINGLE)
    words = result.view(np.int32)
    np.copyto(words, bits)
    np.left_shift(words, 13, out=words)
    np.bitwise_and(words, _SIGN_EXPONENT_FRACTION, out=words)
    np.multiply(result, np.float32(2.0**112), out=result)
    exponent = np.bitwise_and(bits, _INFINITE, out=scratch("second", source.shape, bits.dtype))
    if exponent.size and exponent.max() == _INFINITE:
        words[exponent == _INFINITE] |= np.int32(0x7F800000)
    if result is not out:
        out[...] = result


def _half_down(source: Array, out: Array) -> None:
    """float32 to float16: adding and subtracting what has its last bit at the right place rounds by hardware."""
    source = _dense(source)
    rounded = None
    if source.size >= _WORTH_DOWN:
        rounded = _rounded_half(source, scratch("second", source.shape, _SINGLE))
    if rounded is None:
        np.copyto(out, source, casting="unsafe")  # which warns of overflow
        return
    np.multiply(rounded, np.float32(2.0**-112), out=rounded)
    words = rounded.view(_WORD)
    np.left_shift(words, 3, out=words)
    np.copysign(rounded, source, out=rounded)
    np.right_shift(words, 16, out=words)
    np.copyto(out.view(np.uint16), words, casting="unsafe")


def _rounded_half(source: Array, out: Array) -> Array | None:
    """The nearest numbers that float16 has, or None if some may be too great for it."""
    shift = np.bitwise_and(source.view(_WORD), _EXPONENT, out=scratch("first", source.shape, _WORD))
    if shift.max() >= _TOO_GREAT:
        return None
    # Below 2**-14 all values have the last bit of 2**-14.
    np.maximum(shift, _LEAST_EXPONENT, out=shift)
    np.add(shift, _TO_ROUND, out=shift)
    added = np.add(source, shift.view(_SINGLE), out=out)
    return np.subtract(added, shift.view(_SINGLE), out=added)


def _half_rounded(values: Array, /, out: Array) -> Array:
    """The numbers of float16 in float32; -0 too."""
    source = _dense(values)
    rounded = _rounded_half(source, scratch("second", source.shape, _SINGLE)) if source.size else None
    if rounded is None:
        halves = scratch("narrow", source.shape, _HALF)
        np.copyto(halves, source, casting="unsafe")
        convert(halves, out)
        return out
    return np.copysign(rounded, source, out=out)


def _dense(source: Array) -> Array:
    """A block in row-major memory, so that its bits can be taken for integers."""
    return source if source.flags.c_contiguous else np.array(source, order="C")


# -- floats of a byte -----------------------------------------------------------------------------------


@functools.cache
def _values(dtype: np.dtype[np.generic]) -> Array:
    """float32 by the bits of a byte."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(_SINGLE)


@functools.cache
def _rounded(dtype: np.dtype[np.generic]) -> Array:
    """Bytes by the upper half of a float32.

    That is 8 bits of precision. As the least of them says whether anything follows (rounding to odd), and the dtypes of
    a byte have at most 5, rounding these is rounding the float32.
    """
    upper = (np.arange(2**16, dtype=np.uint16).astype(np.uint32) << np.uint32(16)).view(_SINGLE)
    if not has_nan(dtype):
        # The sign of a NaN is the machine's affair. Without this 0/0 would be -0 or 0 according to it.
        upper[np.isnan(upper)] = np.nan
    with np.errstate(invalid="ignore"):  # signalling NaNs are among the bit patterns
        return upper.astype(dtype).view(np.uint8)


def _byte_up(source: Array, out: Array) -> None:
    """A float of 8, 6 or 4 bits to float32."""
    bits, values = source.view(np.uint8), _values(source.dtype)
    if out.flags.c_contiguous:
        np.take(values, bits, out=out, mode="clip")
    else:
        out[...] = values[bits]


def _byte_down(source: Array, out: Array) -> None:
    """float32 to a float of 8, 6 or 4 bits."""
    source = _dense(source)
    bits = source.view(_WORD)
    rest = np.bitwise_and(bits, 0xFFFF, out=scratch("first", source.shape, _WORD))
    follows = np.not_equal(rest, 0, out=scratch("second", source.shape, _BOOL))
    upper = np.right_shift(bits, 16, out=rest)
    np.bitwise_or(upper, follows, out=upper)
    out.view(np.uint8)[...] = np.take(_rounded(out.dtype), upper, mode="clip")


# -- what is wider than float32 -------------------------------------------------------------------------


def _odd_double_down(source: Array, out: Array) -> None:
    """float64 to a narrow float."""
    source = np.asarray(source)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = source.astype(_SINGLE, order="C")
        exact = nearest.astype(_DOUBLE)
        cut = np.not_equal(exact, source, out=...)
        if cut.any():
            words = nearest.view(np.uint32)
            cut &= np.equal(np.bitwise_and(words, 1), 0)
            # The neighbour on the other side of the value, whose last bit is set: magnitudes are ordered as integers.
            too_great = np.greater(np.abs(exact), np.abs(source))
            np.subtract(words, 1, out=words, where=np.logical_and(cut, too_great))
            np.add(words, 1, out=words, where=np.logical_and(cut, ~too_great))
    convert(nearest, out)


def _odd_integer_down(source: Array, out: Array) -> None:
    """An integer of 32 or 64 bits to a narrow float: its first 53 bits, the last of them odd if anything follows."""
    if source.itemsize == 8:
        low = np.bitwise_and(source, source.dtype.type(0x7FF), out=...)
        great = np.greater_equal(source, 2**53)
        if source.dtype.kind == "i":
            great |= np.less_equal(source, -(2**53))
        if great.any():
            upper = np.right_shift(source, 11, out=...)
            np.bitwise_or(upper, np.not_equal(low, 0), out=upper)
            source = np.where(great, np.left_shift(upper, 11), source)
    _odd_double_down(source.astype(_DOUBLE), out)


def odd(value: complex) -> complex:
    """A Python number with an integer of more than 53 bits made a float, rounded to odd.

    Raises
    ------
    OverflowError
        The integer is beyond float64.
    """
    cut = value.bit_length() - 53 if isinstance(value, int) else 0
    if cut <= 0:
        return value
    assert isinstance(value, int)
    size = abs(value)
    kept = (size >> cut | (size & ((1 << cut) - 1) != 0)) << cut
    return float(kept if value > 0 else -kept)


def _complex_down(source: Array, out: Array) -> None:
    """Numbers to complex32, component by component."""
    parts = np.empty((*out.shape, 2), _HALF)
    convert(source.real, parts[..., 0])
    convert(source.imag, parts[..., 1])
    out[...] = parts.view(out.dtype)[..., 0]


def _complex_up(source: Array, out: Array) -> None:
    """complex32 to complex64."""
    parts = np.ascontiguousarray(source).reshape((*source.shape, 1)).view(_HALF)
    convert(parts[..., 0], out.real)
    convert(parts[..., 1], out.imag)
