"""How products are computed: NumPy arrays of one dtype in, one out. The single place where a product is a kernel call.

What to do is chosen in `_contraction`; here it is done. Floats and complex numbers go to BLAS. Narrow floats are
multiplied and summed in float32 and rounded once. Integers are exact modulo 2 to their bits: they too are multiplied
as floats, whole where every sum of products is small enough for that, else in digits. Integers below a byte go by int8.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from candela_xp import _contraction, _reduce, _settings, _walk, _workers
from candela_xp._contraction import Parts
from candela_xp._dtypes import FROM_NUMPY
from candela_xp._kernels import converted, lookup, weight, wide
from candela_xp._layout import Layout, Shape, broadcast_shapes

NumPyArray = np.ndarray[Any, Any]

# Up to so many elements of each operand NumPy's own product is taken without a look at layouts, which takes 6 µs. As
# long takes float64 50×50.
_SMALL = {
    "bool": 2**63,
    "int": 2**10,
    "uint": 2**10,
    "float": 2**12,
    "complex": 2**12,
    "narrow": 2**12,
    "narrowint": 2**10,
    "narrowcomplex": 2**12,
}
# Elements of narrow operands that their own casts convert sooner than `converted`.
_CASTS = 2**11
# The same for dot products: 2**14 float64 take 3 µs.
_FEW = 2**14
# The dtypes of BLAS by their letters: 0.1 µs less than to look a dtype up, which hashes it.
_OF_BLAS = {"f": "float", "d": "float", "F": "complex", "D": "complex"}
_FEW_OF_BLAS = _SMALL["float"]
_PLAIN = frozenset(["bool", "int", "uint", "float", "complex"])
# Integers are worth a conversion to float from so many multiplications for each element that is converted, and so many
# elements more for the calls. int64 40×40: 27 µs either way; 64×64: 110 in NumPy's loop, 33 as floats.
_WORTH = 8
_CALLS = 2**12
# Elements from which a copy goes through the walk, that is, on several threads.
_WALKED = 2**15
# Bytes of a result from which its memory is recycled: smaller blocks come back from the C library, 8 µs sooner.
_POOLED_BYTES = 2**22
# Bytes of float copies of the left operand and of the product that exist at once.
_PANEL_BYTES = 2**26
_FEWEST_ROWS = 256


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
    kernels = _OF_BLAS.get(a.dtype.char)
    if kernels is None:
        kernels = FROM_NUMPY[a.dtype].kernels
    elif a.size <= _FEW_OF_BLAS and b.size <= _FEW_OF_BLAS:
        found = np.matmul(a, b)
        return found if type(found) is np.ndarray else np.asarray(found)
    limit = _SMALL[kernels]
    if a.size <= limit and b.size <= limit:
        return np.asarray(np.matmul(a, b)) if kernels in _PLAIN else _at_once(np.matmul, a, b, kernels)
    return _large(a, b, kernels)


def _widened(x: NumPyArray) -> NumPyArray:
    """The values in the dtype in which they are computed."""
    return converted(x, wide(x.dtype))


def inner(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """The sums of ``conj(a) * b`` along the last axis, for two arrays of one dtype that broadcast."""
    if max(a.size, b.size) <= _FEW:
        return _at_once(np.vecdot, a, b, FROM_NUMPY[a.dtype].kernels)
    return _many_inner(a, b)


def _at_once(kernel: np.ufunc, a: NumPyArray, b: NumPyArray, kernels: str) -> NumPyArray:
    if kernels in _PLAIN:
        return np.asarray(kernel(a, b))
    if kernels == "narrowcomplex" or a.itemsize == 1 or a.size + b.size > _CASTS:
        return converted(np.asarray(kernel(_widened(a), _widened(b))), a.dtype)
    # From float32 the casts of the 16-bit floats round once too, and few elements take them a tenth of the time.
    dtype = wide(a.dtype)
    return np.asarray(kernel(a.astype(dtype), b.astype(dtype))).astype(a.dtype)


def outer(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """The products of each element of one vector with each of another, for two of one dtype."""
    multiply = lookup("multiply", FROM_NUMPY[a.dtype].kernels)
    column = a[:, np.newaxis]
    work = a.size * b.nbytes * weight("multiply", multiply)
    if work < _walk.ALONE_WHOLE:
        return multiply(column, b, out=...)
    out = _empty((a.size, b.size), a.dtype)

    def kernel(column: NumPyArray, *, out: NumPyArray) -> NumPyArray:
        return multiply(column, b, out=out)

    _walk.run_whole(kernel, [column], out, work)
    return out


def matrix(view: NumPyArray, rows: int, shape: tuple[int, int]) -> NumPyArray:
    """An array as a matrix whose rows go over the first axes, so many, and its columns over the others.

    A view where strides express it, else a copy in which the group of axes stays inside that is near in memory.
    """
    try:
        return np.reshape(view, shape, copy=False)
    except ValueError:
        pass
    steps = [(abs(step), axis) for axis, (extent, step) in enumerate(zip(view.shape, view.strides)) if extent > 1]
    if min(steps)[1] < rows:
        axes = (*range(rows, view.ndim), *range(rows))
        return _walk.dense_copy(view.transpose(axes)).reshape(shape[::-1]).T
    return _walk.dense_copy(view).reshape(shape)


# -- what is common to all kinds -----------------------------------------------------------------------


def _layout(view: NumPyArray) -> Layout:
    itemsize = view.itemsize
    return Layout(view.shape, tuple([step // itemsize for step in view.strides]))


def _large(a: NumPyArray, b: NumPyArray, kernels: str) -> NumPyArray:
    way = _WAYS.get(kernels)
    if way is _blas and a.ndim <= 2 and b.ndim <= 2 and a.flags.forc and b.flags.forc:
        # The commonest, and nothing to choose: 4 µs less, of the 20 that float32 1000×1000 takes with a vector.
        if a.ndim == b.ndim == 2 and len(a) * b.shape[1] * a.itemsize >= _POOLED_BYTES:
            return _kernel(a, b)
        return np.asarray(np.matmul(a, b))
    if way is None or a.size == 0 or b.size == 0 or (a.ndim == b.ndim == 1 and way is not _narrow):
        return np.asarray(np.matmul(a, b))
    left, right, whole = _matrices(a, b)
    *stack, rows, columns = whole
    found = way(left, right)
    if found.shape != whole:
        found = _walk.dense_copy(np.broadcast_to(found, whole))
    if a.ndim == 1 or b.ndim == 1:
        whole = (*stack, *([rows] if a.ndim > 1 else []), *([columns] if b.ndim > 1 else []))
        found = found.reshape(whole)
    return found


def _matrices(a: NumPyArray, b: NumPyArray) -> tuple[NumPyArray, NumPyArray, Shape]:
    """The operands as stacks of matrices without what is repeated, and the shape of their product with it."""
    left = a if a.ndim > 1 else a[np.newaxis]
    right = b if b.ndim > 1 else b[:, np.newaxis]
    whole = (*_stack(left, right), left.shape[-2], right.shape[-1])
    left, right = _distinct(left), _distinct(right)
    # Equal rows have equal products, and so have equal columns.
    if left.strides[-2] == 0:
        left = left[..., :1, :]
    if right.strides[-1] == 0:
        right = right[..., :1]
    return left, right, whole


def _stack(left: NumPyArray, right: NumPyArray) -> Shape:
    """The shape to which two stacks of matrices broadcast."""
    if left.ndim == right.ndim == 2:
        return ()
    found = broadcast_shapes((left.shape[:-2], right.shape[:-2]))
    assert found is not None, "shapes are checked before"
    return found


def _distinct(x: NumPyArray) -> NumPyArray:
    """A stack of matrices without the repetitions that broadcast axes before the core make."""
    if x.ndim == 2 or 0 not in x.strides[:-2]:
        return x
    return x[tuple([slice(0, 1) if step == 0 else slice(None) for step in x.strides[:-2]])]


def _empty(shape: Shape, dtype: np.dtype[Any]) -> NumPyArray:
    """Memory for a result, recycled where it is large."""
    if prod(shape) * dtype.itemsize < _POOLED_BYTES:
        return np.empty(shape, dtype)
    return _walk.allocated(shape, tuple(range(len(shape))), dtype).view()


def _packed(x: NumPyArray, dtype: np.dtype[Any]) -> NumPyArray:
    """A stack of matrices in dense memory, rows or columns inside, in a dtype."""
    if x.size <= _WALKED:
        return np.ascontiguousarray(converted(x, dtype))
    order = _contraction.packed(_layout(x)).dim_order
    return _walk.packed(_walk.Operand.of(x), order, dtype).view()


def _pieces(ndim: int, axis: int, start: int, stop: int, operand: NumPyArray) -> NumPyArray:
    """A part of an operand along an axis of the result's stack; of one that is stretched there, all."""
    place = axis - (ndim - operand.ndim)
    if place < 0 or operand.shape[place] == 1:
        return operand
    return operand[(slice(None),) * place + (slice(start, stop),)]


# -- dot products --------------------------------------------------------------------------------------


def _many_inner(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    dtype = a.dtype
    if wide(dtype) != dtype:
        return converted(_many_inner(_widened(a), _widened(b)), dtype)
    shape = (*(broadcast_shapes((a.shape[:-1], b.shape[:-1])) or ()), a.shape[-1])
    if not shape[:-1] or prod(shape) == 0:
        return np.asarray(np.vecdot(a, b))
    across = [not x.flags.c_contiguous and _contraction.lies_across(_layout(x)) for x in (a, b)]
    if dtype.kind == "f" and (a.ndim == 1 or b.ndim == 1) and any(across):
        return product(a, b) if b.ndim == 1 else product(b, a)
    a, b = (x if x.shape == shape else np.broadcast_to(x, shape) for x in (a, b))
    if all(across) and dtype.kind != "c":
        return _across(a, b)
    out = _empty(shape[:-1], dtype)
    # An addition of so many bytes takes four times as long.
    _walk.run_whole(np.vecdot, [a, b], out, prod(shape) * dtype.itemsize // 4)
    return out


def _across(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """Dot products of real vectors of one shape that lie across memory: the near axes go first.

    Blocks of terms each, or single precision would drift. 1000 vectors of 1000, NumPy's time over this one's: float64
    4, float32 6, one thread.
    """
    terms = a.shape[-1]
    blocks, rest = divmod(terms, _reduce.BLOCK)
    partial = _empty((blocks + (rest > 0), *a.shape[:-1]), a.dtype)

    def sums(l: NumPyArray, r: NumPyArray, out: NumPyArray) -> NumPyArray:
        return np.einsum("...k,...k->...", l, r, out=out)

    def cut(x: NumPyArray) -> NumPyArray:
        return np.moveaxis(x[..., : terms - rest].reshape(*x.shape[:-1], blocks, _reduce.BLOCK), -2, 0)

    if blocks:
        _walk.run_whole(sums, [cut(a), cut(b)], partial[:blocks], a.size * a.itemsize)
    if rest:
        sums(a[..., terms - rest :], b[..., terms - rest :], partial[blocks])
    return _reduce.add(partial, (0,), a.dtype, keepdims=False)


# -- floats --------------------------------------------------------------------------------------------


def _threads() -> int:
    """How many threads this computation may use."""
    return 1 if _workers.is_busy() else _settings.current().threads


def _blas(left: NumPyArray, right: NumPyArray) -> NumPyArray:
    """The product of two stacks of matrices of a dtype that BLAS knows, without elements of stride 0 in the stacks."""
    threads = _threads()
    choice = _contraction.choose(_layout(left), _layout(right), threads)
    if choice == _contraction.AS_THEY_ARE:
        return _kernel(left, right)
    if choice.dots:
        return _kernel(left, right, np.matmul if left.dtype.char == "D" else _dots)
    if choice.turn_terms:
        left, right = left[..., ::-1], right[..., ::-1, :]
    if choice.turn_rows:
        left = left[..., ::-1, :]
    if choice.turn_columns:
        right = right[..., ::-1]
    if choice.pack_left:
        left = _packed(left, left.dtype)
    if choice.pack_right:
        right = _packed(right, right.dtype)
    if choice.batches == "folded":
        stack = left.shape[:-1]
        matrix = np.reshape(left, (prod(stack), left.shape[-1]), copy=False)
        found = _kernel(matrix, right.reshape(right.shape[-2:])).reshape(*stack, right.shape[-1])
    elif choice.batches == "threads":
        found = _shared_out(left, right, threads)
    else:
        found = _kernel(left, right)
    if choice.turn_rows or choice.turn_columns:
        backwards = slice(None, None, -1)
        rows, columns = (backwards if turn else slice(None) for turn in (choice.turn_rows, choice.turn_columns))
        found = _walk.dense_copy(found[..., rows, columns])
    return found


def _kernel(left: NumPyArray, right: NumPyArray, kernel: Callable[..., object] = np.matmul) -> NumPyArray:
    shape = (*_stack(left, right), left.shape[-2], right.shape[-1])
    out = _empty(shape, left.dtype)
    kernel(left, right, out=out)
    return out


def _dots(left: NumPyArray, right: NumPyArray, out: NumPyArray) -> None:
    """Products with vectors as a dot product for each element: BLAS takes those of stepped operands.

    NumPy's own loop waits for each addition. c[::2, ::2] @ v, 1000×1000, time over NumPy's, one thread: float64 0.72,
    float32 0.61, complex64 0.40, but complex128 1.2; through packed rows, 64 at a time, 0.77, 0.65, 0.40 and 0.85.
    With c[::2, ::2].T 0.75, 0.92, 0.37.
    """
    if right.shape[-1] == 1:
        matrix, vector, out = left, right[..., 0], out[..., 0]
    else:
        matrix, vector, out = right.mT, left[..., 0, :], out[..., 0, :]
    if matrix.strides[-1] < 0:  # BLAS goes forwards only
        matrix, vector = matrix[..., ::-1], vector[..., ::-1]
    vector = np.array(vector, order="C", copy=True)
    np.conjugate(vector, out=vector)  # vecdot does it again
    np.vecdot(vector[..., np.newaxis, :], matrix, out=out)


def _shared_out(left: NumPyArray, right: NumPyArray, threads: int) -> NumPyArray:
    """The products on several threads, split along the longest axis of the stack, or of the result if there is none."""
    stack = _stack(left, right)
    out = _empty((*stack, left.shape[-2], right.shape[-1]), left.dtype)
    split = stack if prod(stack) > 1 else out.shape
    axis = split.index(max(split))
    length = -(-split[axis] // (threads * 4))
    if axis >= out.ndim - 2:
        # A lone row goes another way in NumPy, and the last bits must not depend on the number of threads.
        length = max(length, 2)
        while split[axis] % length == 1 < split[axis]:
            length += 1
    turns = itertools.count()

    def task() -> None:
        while (start := next(turns) * length) < split[axis]:
            stop = start + length
            l = left if axis == out.ndim - 1 else _pieces(out.ndim, axis, start, stop, left)
            r = right if axis == out.ndim - 2 else _pieces(out.ndim, axis, start, stop, right)
            np.matmul(l, r, out=_pieces(out.ndim, axis, start, stop, out))

    _workers.run(task, threads)
    return out


# -- other numbers, as floats ----------------------------------------------------------------------------

Converted = Sequence[NumPyArray]


def _panels(
    left: NumPyArray,
    right: NumPyArray,
    out: NumPyArray,
    itemsize: int,
    convert: tuple[Callable[[NumPyArray], Converted], Callable[[NumPyArray], Converted]],
) -> Iterator[tuple[Converted, Converted, NumPyArray]]:
    """Converted operands and the place of their product, so many rows or matrices at a time that memory is bounded."""
    axis = max(range(out.ndim - 2), key=lambda place: out.shape[place], default=0)
    if out.ndim == 2 or out.shape[axis] == 1:
        axis = out.ndim - 2
    extent = out.shape[axis]
    each = itemsize * (left.size + out.size) // extent
    length = max(1 if axis < out.ndim - 2 else _FEWEST_ROWS, _PANEL_BYTES // max(each, 1))
    to_left, to_right = convert
    shared = None
    if axis == out.ndim - 2 or _pieces(out.ndim, axis, 0, 1, right) is right:
        shared = to_right(right)
    for start in range(0, extent, length):
        l, o = (_pieces(out.ndim, axis, start, start + length, x) for x in (left, out))
        r = shared if shared is not None else to_right(_pieces(out.ndim, axis, start, start + length, right))
        yield to_left(l), r, o


def _narrow(left: NumPyArray, right: NumPyArray) -> NumPyArray:
    """Products of narrow dtypes: floats and complex numbers in single precision, rounded once, integers in int8."""
    out = _empty((*_stack(left, right), left.shape[-2], right.shape[-1]), left.dtype)
    dtype = wide(left.dtype)
    way = _integers if dtype.kind == "i" else _blas

    def widened(x: NumPyArray) -> Converted:
        return (_packed(x, dtype),)

    for (l,), (r,), o in _panels(left, right, out, dtype.itemsize, (widened, widened)):
        _walk.copy_into(_walk.Operand.of(o), _walk.Operand.of(way(l, r)))
    return out


def _integers(left: NumPyArray, right: NumPyArray) -> NumPyArray:
    """Products of integers, exact modulo 2 to their bits."""
    shape = (*_stack(left, right), left.shape[-2], right.shape[-1])
    dtype = left.dtype
    # The same numbers modulo 2 to the bits, and never greater ones.
    signed = np.dtype(f"int{8 * dtype.itemsize}")
    left, right = left.view(signed), right.view(signed)
    cut = _digits(left, right, prod(shape))
    if cut is None:
        # NumPy's own loop.
        return np.asarray(np.matmul(left, right)).view(dtype)
    out = _empty(shape, signed)
    floats = np.dtype(cut.dtype)
    convert = (lambda x: _cut(x, *cut.left, floats)), (lambda x: _cut(x, *cut.right, floats))
    for l, r, o in _panels(left, right, out, floats.itemsize * (1 + len(cut.products) // 2), convert):
        _sum(l, r, o, cut)
    return out.view(dtype)


def _digits(left: NumPyArray, right: NumPyArray, size: int) -> Parts | None:
    """How to cut two stacks of signed integers whose product has so many elements; None if it isn't worth it."""
    terms = left.shape[-1]
    work, moved = size * terms, left.size + right.size + size
    if work < _WORTH * (moved + _CALLS):
        return None
    cut = _contraction.parts(8 * left.itemsize, terms, _magnitude(left), _magnitude(right))
    return None if work < _WORTH * (moved + _CALLS) * len(cut.products) else cut


def _magnitude(x: NumPyArray) -> int:
    return max(-int(x.min()), int(x.max()))


def _cut(x: NumPyArray, width: int, count: int, floats: np.dtype[Any]) -> Converted:
    """The digits of signed integers, lowest first, as floats in dense memory."""
    if count == 1:
        return (_packed(x, floats),)
    if 0 < abs(x.strides[-2]) < abs(x.strides[-1]):
        return [digit.mT for digit in _cut(x.mT, width, count, floats)]
    digits = [_empty(x.shape, floats) for _ in range(count)]
    half = 2 ** (width - 1)

    def kernel(numbers: NumPyArray, *lower: NumPyArray, out: NumPyArray) -> NumPyArray:
        # Where the subtraction wraps, the next digit is wrong by a multiple of 2**(64 - width): nothing, modulo 2**64.
        rest = numbers.astype(np.int64)
        for digit in lower:
            low = ((rest + half) & (2 * half - 1)) - half
            digit[...] = low
            rest -= low
            rest >>= width
        out[...] = rest
        return out

    _walk.run_whole(kernel, [x, *digits[:-1]], digits[-1], x.size * 8 * 4)
    return digits


def _sum(left: Converted, right: Converted, out: NumPyArray, cut: Parts) -> None:
    """Multiply digits and write the sum of the shifted products, modulo 2 to the bits."""
    total = out if len(cut.products) == 1 else _empty(out.shape, np.dtype(np.uint64))
    exact = np.dtype(np.int32 if cut.dtype == "float32" else np.int64)
    for place, (i, j, shift) in enumerate(cut.products):
        found = _blas(left[i], right[j])

        def kernel(values: NumPyArray, *, out: NumPyArray, shift: int = shift, first: bool = place == 0) -> NumPyArray:
            # Through a wider integer: a float beyond the range of the narrow one is converted to anything.
            whole = values.astype(exact)
            if total.dtype != np.uint64:
                out[...] = whole
                return out
            wrapped = whole.astype(np.int64, copy=False).view(np.uint64) << np.uint64(shift)
            if first:
                out[...] = wrapped
            else:
                out += wrapped
            return out

        _walk.run_whole(kernel, [found], total, out.size * 8 * 4)
    if total is not out:
        out[...] = total.view(np.int64)


_WAYS: dict[str, Callable[[NumPyArray, NumPyArray], NumPyArray]] = {
    "float": _blas,
    "complex": _blas,
    "int": _integers,
    "uint": _integers,
    "narrow": _narrow,
    "narrowint": _narrow,
    "narrowcomplex": _narrow,
}


# -- in words ------------------------------------------------------------------------------------------


def explained(a: NumPyArray, b: NumPyArray) -> tuple[str, str, str]:
    """What `product` does with the left operand, with the right one, and with both."""
    kernels = FROM_NUMPY[a.dtype].kernels
    way, limit = _WAYS.get(kernels), _SMALL[kernels]
    narrow = way is _narrow
    converted_to = f"as {wide(a.dtype)}" if narrow else "as it is"
    rounded = ", rounded once" if narrow and kernels != "narrowint" else ""
    sizes = a.size, b.size
    if way is None or max(sizes) <= limit or min(sizes) == 0 or (a.ndim == b.ndim == 1 and not narrow):
        return converted_to, converted_to, "numpy.matmul" + rounded
    left, right, (*_, rows, columns) = _matrices(a, b)
    if narrow:
        if kernels == "narrowint":
            return converted_to, converted_to, "exact, as int8"
        one, other = (_contraction.packed(_layout(x)) for x in (left, right))
        return converted_to, converted_to, _how(one, other, _threads()) + rounded
    if way is _integers:
        signed = np.dtype(f"int{8 * a.itemsize}")
        size = prod(_stack(left, right)) * left.shape[-2] * right.shape[-1]
        cut = _digits(left.view(signed), right.view(signed), size)
        if cut is None:
            return "as it is", "as it is", "numpy.matmul"
        first, second = [
            f"as {cut.dtype}" + (f", {count} digits of {width} bits" if count > 1 else "")
            for width, count in (cut.left, cut.right)
        ]
        calls = len(cut.products)
        return first, second, f"exact, {calls} {cut.dtype} product{'s' if calls > 1 else ''}"
    one, other, threads = _layout(left), _layout(right), _threads()
    choice = _contraction.choose(one, other, threads)
    return (
        _treatment(choice.pack_left, choice.turn_rows or choice.turn_terms, rows > left.shape[-2]),
        _treatment(choice.pack_right, choice.turn_terms or choice.turn_columns, columns > right.shape[-1]),
        _how(one, other, threads),
    )


def _treatment(pack: bool, turn: bool, repeated: bool) -> str:
    words = ["one of its equal rows or columns"] * repeated + ["walked backwards"] * turn + ["packed"] * pack
    return ", ".join(words) or "as it is"


def _how(left: Layout, right: Layout, threads: int) -> str:
    choice = _contraction.choose(left, right, threads)
    shared = f", {threads} threads" if choice.batches == "threads" else ""
    if choice.dots:
        return "a dot product for each element" + shared
    if choice.batches == "folded":
        return "one product for the whole stack"
    batches = prod(broadcast_shapes((left.shape[:-2], right.shape[:-2])) or ())
    return (f"{batches} products" if batches > 1 else "one product") + shared
