"""Norms of vectors and matrices.

Sums over nothing are 0 and so are suprema of nothing; the minimum over nothing is infinity, which is also what the
formulas of the other negative orders give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from sys import getrefcount
from typing import Any, Literal

import numpy as np

from candela_xp import _reduce
from candela_xp._array import NDArray, as_python_scalar, checked_array
from candela_xp._dtypes import FROM_NUMPY
from candela_xp._public import checked_axes, elements, is_held, is_large
from candela_xp._revisions import public
from candela_xp.linalg._core import Array, core, core_dtype, finished, in_pieces, parse, result_dtype, working


def _sum(a: Array) -> Array:
    return _reduce.add(a, (a.ndim - 1,), a.dtype, keepdims=True)


def _binary_scale(a: Array) -> Array:
    """The power of two below each number, 1 for 0, infinity and NaN: dividing by it is exact."""
    _, exponent = np.frexp(a)
    return np.ldexp(np.ones_like(a), np.where(np.isfinite(a) & (a > 0), exponent - 1, 0))


def _power_norm(a: Array, order: float) -> Array:
    """``sum(a**order)**(1/order)`` along the last axis of non-negative numbers, kept at length 1.

    The powers are taken of ``a`` over its largest element (for negative orders its smallest), so that they neither
    overflow nor vanish all at once.
    """
    if a.shape[-1] == 0:
        return np.full((*a.shape[:-1], 1), 0 if order > 0 else np.inf, a.dtype)
    # A 0 has the infinite reciprocal that the definition asks for, and elements far from the scale may underflow.
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scale = _binary_scale(a.max(axis=-1, keepdims=True) if order > 0 else a.min(axis=-1, keepdims=True))
        total = _sum(np.power(a / scale, a.dtype.type(order)))
        root = np.power(total, a.dtype.type(1 / order))
    return np.asarray(root * scale)


def _euclidean(a: Array) -> Array:
    """The root of the sum of squares along the last axis of non-negative numbers, kept at length 1."""
    if a.dtype == np.float32:
        # The square of a float32 number is a float64 number exactly, and its sums don't drift.
        return np.sqrt(_sum(np.square(a, dtype=np.float64))).astype(np.float32)
    if a.shape[-1] == 0:
        return np.zeros((*a.shape[:-1], 1), a.dtype)
    largest = a.max(axis=-1, keepdims=True)
    # Outside, squares of the largest elements overflow, or lose bits among the subnormal numbers.
    unsafe = (largest > 1e140) | (largest < 1e-140)
    if unsafe.any():
        scale = np.where(unsafe, _binary_scale(largest), 1)
        with np.errstate(under="ignore"):
            return np.asarray(np.sqrt(_sum(np.square(a / scale))) * scale)
    return np.asarray(np.sqrt(_sum(np.square(a))))


def _norm(a: Array, order: float) -> Array:
    """The norm of any order along the last axis of non-negative numbers, kept at length 1."""
    if order == 2:
        return _euclidean(a)
    if order == 1:
        return _sum(a)
    if order == 0:
        return np.asarray(np.count_nonzero(a, axis=-1, keepdims=True)).astype(a.dtype)
    if order == math.inf:
        return np.asarray(a.max(axis=-1, keepdims=True, initial=0))
    if order == -math.inf:
        return np.asarray(a.min(axis=-1, keepdims=True, initial=np.inf))
    return _power_norm(a, order)


def _checked_order(function: str, order: Any, way_out: str) -> float:
    """The order of a norm as a float.

    Raises
    ------
    ValueError
        It is no real number.
    """
    if isinstance(order, np.generic):
        order = as_python_scalar(function, order)
    if isinstance(order, bool) or not isinstance(order, int | float) or order != order:
        raise ValueError(f"{function}: ord must be {way_out}, got {order!r}")
    try:
        return float(order)
    except OverflowError:
        return math.inf if order > 0 else -math.inf


@public(namespace="linalg")
def vector_norm(
    x: NDArray,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> NDArray:
    """Norm of vectors along axes.

    Parameters
    ----------
    x : NDArray
        Operand of floating-point dtype.
    axis : int or tuple of int, optional
        The axes whose elements make a vector; negative ones count from the end. None: all; (): each element is one.
    keepdims : bool, optional
        Whether these axes stay, with length 1. Default: False.
    ord : int or float, optional
        Order p of ``sum(abs(x)**p)**(1/p)``, any real number: infinity takes the largest absolute value, -infinity
        the smallest, 0 counts the elements that aren't 0. Default: 2.

    Returns
    -------
    NDArray
        Norms, of the real dtype of the precision of ``x``. Without elements 0, for a negative order infinity.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype), or ``axis`` is no integer or tuple of them.
    IndexError
        An axis is out of range.
    ValueError
        An axis is named twice, or ``ord`` is no real number.

    Notes
    -----
    Squares and powers that would overflow or vanish are taken of scaled elements: the norm of (3e200, 4e200) is 5e200.

    Source: array API 2025.12, ``vector_norm``; in the standard since 2021.12, complex since 2022.12.
    """
    return _vector_norm(x, axis, keepdims, ord)


def _vector_norm(x: Any, axis: Any, keepdims: bool, ord: Any) -> NDArray:
    array = checked_array("vector_norm", "x", x)
    common = core_dtype("vector_norm", "floating-point", [array._dtype])
    order = _checked_order("vector_norm", ord, "a real number")
    axes = checked_axes("vector_norm", axis, array.ndim)
    compute = FROM_NUMPY[common.wide]
    found = None
    if is_large(array) and order in (0, 1, 2, math.inf, -math.inf):
        found = elements(array, axes, compute.dtype)
    if found is not None:
        held = is_held(getrefcount(x))
        norms = _norm_by_blocks(found, axes, order, keepdims=bool(keepdims), held=held)
        if norms is not None:
            return finished(norms, result_dtype(common, "real"), array._device)
    view = working(array, compute)
    if order == 2 and len(axes) == view.ndim and view.flags.c_contiguous and view.size:
        whole = _root_of_squares(view.reshape(-1))
        if whole is not None:
            return finished(whole.reshape([1] * (view.ndim * keepdims)), result_dtype(common, "real"), array._device)
    others = [a for a in range(view.ndim) if a not in axes]
    kept = [view.shape[a] for a in others]
    moved = view.transpose(*others, *axes)
    # Absolute values in an array of their own, the vectors one run of memory each: sums go pairwise along it.
    flat = np.empty(moved.shape, view.real.dtype)
    np.abs(moved, out=flat)
    value = _norm(flat.reshape(*kept, math.prod([view.shape[a] for a in axes])), order)
    shape = [1 if a in axes else n for a, n in enumerate(view.shape)] if keepdims else kept
    return finished(value.reshape(shape), result_dtype(common, "real"), array._device)


def _norm_by_blocks(x: Any, axes: tuple[int, ...], order: float, *, keepdims: bool, held: bool) -> Array | None:
    """The norm over axes of an expression or memory; None where squares would overflow or vanish."""
    dtype = x.dtype
    real = np.empty(0, dtype).real.dtype
    if order != 2:
        reductions = {
            0: _reduce.counting(),
            1: _reduce.adding(real),
            math.inf: _reduce.by_ufunc(np.maximum, real),
            -math.inf: _reduce.by_ufunc(np.minimum, real),
        }
        norms = _reduce.blocked(x, axes, reductions[order].of(np.abs), keepdims=keepdims, held=held)
        return norms.astype(real, copy=False)
    wide = np.dtype(np.float64)
    total = _reduce.adding(wide)

    def block(values: Array, over: tuple[int, ...]) -> tuple[Any, ...]:
        if values.ndim == 1 and over:
            return (_squares(values),)
        return total.block(np.square(np.abs(values) if dtype.kind == "c" else values, dtype=wide), over)

    def finish(parts: list[Array], counts: Array) -> Array:
        squares = total.finish(parts, counts)
        if real == wide and not _is_safe(squares):
            raise _Unsafe
        return np.asarray(np.sqrt(squares).astype(real))

    try:
        with np.errstate(over="ignore", under="ignore"):
            reduction = _reduce.Reduction(block, (wide,), finish)
            return _reduce.blocked(x, axes, reduction, keepdims=keepdims, held=held)
    except _Unsafe:
        return None


class _Unsafe(Exception):
    """Squares overflow, or vanish among the subnormal numbers."""


_PIECE = 1024


def _squares(values: Array) -> Any:
    """The sum of squares of the magnitudes along one axis, in float64.

    float32 is multiplied and added in pieces of its own dtype, so short that no more than two bits are lost, where
    squares are far from the ends of its range; else as float64, in which its squares are exact. (10^6 elements: 0.1
    ms, and 0.33 as float64.)
    """
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    if values.real.dtype == np.float64:
        return sum([np.dot(part, part) for part in parts])
    return sum([_single_squares(part) for part in parts])


def _single_squares(part: Array) -> Any:
    pieces = part.size // _PIECE
    rows = part[: pieces * _PIECE].reshape(pieces, _PIECE)
    if part.dtype == np.float32 and pieces > 1:
        sums = np.vecdot(rows, rows)
        if sums.min() > 1e-25 and sums.max() < 1e25:
            rest = part[pieces * _PIECE :].astype(np.float64)
            return sums.sum(dtype=np.float64) + np.dot(rest, rest)
    # OpenBLAS wakes its threads for dot products from 10^4 elements on: these are shorter.
    wide = [part[start : start + 2**13].astype(np.float64) for start in range(0, part.size, 2**13)]
    return sum([np.dot(piece, piece) for piece in wide])


def _is_safe(squares: Array) -> bool:
    """Whether sums of squares are what they should be: what vanishes among the squares beside so much is nothing."""
    return not np.any((squares > 1e280) | (squares < 1e-280))


def _root_of_squares(values: Array) -> Array | None:
    """The norm of a dense vector, or None where squares overflow or vanish; 3 to 5 times as quick as scaling first."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.asarray(_squares(values))
    real = values.real.dtype
    if real == np.float64 and not _is_safe(squares):
        return None
    return np.asarray(np.sqrt(squares).astype(real))


# -- matrices ----------------------------------------------------------------------------------------


def _frobenius(x: Array) -> Array:
    return _euclidean(np.abs(x).reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]))[..., 0]


def _column_sums(x: Array) -> Array:
    return _reduce.add(np.abs(x), (x.ndim - 2,), x.real.dtype, keepdims=False)


def _row_sums(x: Array) -> Array:
    return _reduce.add(np.abs(x), (x.ndim - 1,), x.real.dtype, keepdims=False)


_svdvals = in_pieces(lambda x: np.linalg.svd(x, compute_uv=False), parse("(m,n)->(k)"), weight=32)


def _singular_values(x: Array, at_infinity: float) -> Array:
    """Singular values, descending; of a matrix with infinities what the caller says, of one with NaN all NaN."""
    finite = np.asarray(np.isfinite(x).all(axis=(-2, -1), keepdims=True))
    # LAPACK must not see the others: its iteration may not end.
    sound: Array = x if finite.all() else np.where(finite, x, 0)
    values: Array = _svdvals(sound)
    if sound is x:
        return values
    finite = finite[..., 0, 0]
    values[~finite] = at_infinity
    values[np.isnan(x).any(axis=(-2, -1))] = np.nan
    return values


def _largest(a: Array) -> Array:
    return np.asarray(a.max(axis=-1, initial=0))


def _smallest(a: Array) -> Array:
    return np.asarray(a.min(axis=-1, initial=np.inf))


_MATRIX_NORMS: dict[Any, Callable[[Array], Array]] = {
    "fro": _frobenius,
    "nuc": lambda x: _sum(_singular_values(x, math.inf))[..., 0],
    1: lambda x: _largest(_column_sums(x)),
    -1: lambda x: _smallest(_column_sums(x)),
    2: lambda x: _largest(_singular_values(x, math.inf)),
    -2: lambda x: _smallest(_singular_values(x, math.nan)),
    math.inf: lambda x: _largest(_row_sums(x)),
    -math.inf: lambda x: _smallest(_row_sums(x)),
}


@public(namespace="linalg")
@core("(m,n)->()", returns="real")
def matrix_norm(
    x: Array,
    /,
    *,
    keepdims: bool = False,
    ord: int | float | Literal["fro", "nuc"] | None = "fro",
) -> Array:
    """Norm of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.
    keepdims : bool, optional
        Whether the last two axes stay, with length 1. Default: False.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf, None}, optional
        ``"fro"`` or None: root of the sum of squares; ``"nuc"``: sum of the singular values; 2 and -2: largest and
        smallest singular value; 1 and -1: largest and smallest sum of absolute values of a column; infinity and
        -infinity: of a row. Default: ``"fro"``.

    Returns
    -------
    NDArray
        Norms, of the real dtype of the precision of ``x``. Without elements sums and maxima are 0; a minimum over no
        columns, rows or singular values is infinity.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        Fewer than two axes, another order, or (a `numpy.linalg.LinAlgError`) the iteration did not converge.

    Notes
    -----
    The standard's prose exchanges the orders 2 and infinity; its table is what holds here. A matrix with NaN has the
    norm NaN, one with infinities the norm infinity (but its smallest singular value is NaN).

    Source: array API 2025.12, ``matrix_norm``; in the standard since 2021.12, complex since 2022.12.
    """
    order: Any = "fro" if ord is None else ord
    if not isinstance(order, str):
        order = _checked_order("matrix_norm", order, "'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    norm = _MATRIX_NORMS.get(order)
    if norm is None:
        raise ValueError(f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}")
    value = np.asarray(norm(x))
    return value[..., np.newaxis, np.newaxis] if keepdims else value


__all__ = ["matrix_norm", "vector_norm"]
