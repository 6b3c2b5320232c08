"""Products of matrices and vectors, and the views and sums that go with matrices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from candela_xp import _dtypes, _matmul, _modes, _reduce
from candela_xp._array import NDArray, checked_array
from candela_xp._dtypes import DType
from candela_xp._expr import Chain, Node
from candela_xp._index import normalise_axes
from candela_xp._kernels import converted, lookup
from candela_xp._layout import broadcast_shapes
from candela_xp._public import checked_integer, common_device, fill_in_place, named_dtype, undecided
from candela_xp._revisions import add, public
from candela_xp._statistical import accumulated
from candela_xp._walk import Operand
from candela_xp.linalg._core import (
    Array,
    checked_matrices,
    core,
    core_dtype,
    core_shapes,
    finished,
    in_pieces,
    parse,
    working,
)
from candela_xp.linalg._solvers import inverse

Axes = int | tuple[Sequence[int], Sequence[int]]


def _conjugated(x: NDArray) -> tuple[Node, Operand] | None:
    """The expression of an array that waits to be the conjugate of memory, and that memory."""
    node = x._node
    if node is None or node.name != "conj":
        return None
    operands = node.operands
    return (node, operands[0]) if len(operands) == 1 and type(operands[0]) is Operand else None


_MATMUL = "(m?,k),(k,n?)->(m?,n?)"


def _of_conjugates(x1: NDArray, x2: NDArray) -> NDArray | None:
    """The product of complex arrays, of which one waits to be a conjugate, without computing that; None if it isn't so.

    ``conj(a) @ b`` is ``conj(a @ conj(b))``, which takes less time where fewer elements are conjugated: complex128
    1000×1000 times a vector 0.15 of it.
    """
    if x1._dtype.kind != "complex":
        return None
    found = [_conjugated(x) for x in (x1, x2)]
    shapes = [x.shape for x in (x1, x2)]
    if found == [None, None] or 0 in (len(shapes[0]), len(shapes[1])):
        return None
    first, second = core_shapes("matmul", ("x1", "x2"), parse(_MATMUL), shapes)
    stack = broadcast_shapes((first, second)) or ()
    size = prod(stack) * prod(shapes[0][len(first) : -1]) * prod(shapes[1][len(second) + 1 :])
    others = size + sum([prod(shape) for shape, own in zip(shapes, found) if own is None])
    if others >= sum([prod(shape) for shape, own in zip(shapes, found) if own is not None]):
        return None
    with ExitStack() as reading:
        views = []
        for x, own in zip((x1, x2), found):
            if own is None:
                views.append(np.conjugate(x._numpy()))
                continue
            node, operand = own
            # From here on nobody writes the memory; if somebody did before, the conjugate was computed before.
            reading.enter_context(Chain(operand, keep_root=False))
            if node.value is not None:
                return None
            views.append(operand.view())
        value = _matmul.product(*views)
    np.subtract(0, value.imag, out=value.imag)  # 0 stays 0, as in a product of conjugates
    return finished(value, x1._dtype, x1._device)


@public()
@core(_MATMUL, kinds="numeric", widen=False, waiting=_of_conjugates)
def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product; the operator ``@``.

    Parameters
    ----------
    x1 : NDArray
        Matrix or stack of matrices, shape (..., M, K), or a vector, shape (K,). Numeric dtype.
    x2 : NDArray
        Matrix or stack of matrices, shape (..., K, N), or a vector, shape (K,). Numeric dtype.

    Returns
    -------
    NDArray
        Products, shape (..., M, N): the stacks broadcast, and the axis that a vector lacks is missing here too.
        Of the dtype in which the operands combine; integers wrap in it, complex numbers are not conjugated.

    Raises
    ------
    TypeError
        An operand is no NDArray, or the dtypes don't combine.
    ValueError
        An operand is 0-d, the contracted axes have different lengths, the stacks don't broadcast, or the operands
        are on different devices.

    Notes
    -----
    Narrow floats and complex32 are multiplied and summed in float32 and complex64 and rounded once. `explain` of both
    operands shows the way that is taken.

    Source: array API 2025.12, ``matmul``; in the standard since 2021.12.
    """
    return _matmul.product(x1, x2)


@public()
def matrix_transpose(x: NDArray, /) -> NDArray:
    """Swap the rows and columns of each matrix in a stack, as a view.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of any dtype.

    Returns
    -------
    NDArray
        A view of shape (..., N, M) over the same memory.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.
    ValueError
        ``x`` has fewer than two axes.

    Notes
    -----
    Source: array API 2025.12, ``matrix_transpose``; in the standard since 2021.12.
    """
    array = checked_matrices("matrix_transpose", x)
    layout = array.layout.matrix_transpose()
    return array._with(layout)


def _contracted(axes: Any, ndim1: int, ndim2: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of each operand that tensordot contracts, paired."""
    if not isinstance(axes, tuple | list):
        count = checked_integer("tensordot", "axes", axes)
        if not 0 <= count <= min(ndim1, ndim2):
            raise ValueError(
                f"tensordot: axes={count} of operands with {ndim1} and {ndim2} axes; use 0..{min(ndim1, ndim2)}"
            )
        return tuple(range(ndim1 - count, ndim1)), tuple(range(count))
    if isinstance(axes, list):
        _modes.allow("lists as shapes and axes", "tensordot: axes is a list")
    if len(axes) != 2:
        raise ValueError(f"tensordot: axes must be an integer or two sequences, got {len(axes)} parts: {axes!r}")
    pair = []
    for part, ndim in zip(axes, (ndim1, ndim2)):
        if not isinstance(part, Sequence) or isinstance(part, str):
            checked_integer("tensordot", "axes", part)
            _modes.allow("lists as shapes and axes", f"tensordot: axes holds {part!r} in the place of a sequence")
            part = (part,)
        pair.append(normalise_axes("tensordot", tuple(part), ndim))
    first, second = pair
    if len(first) != len(second):
        raise ValueError(f"tensordot: axes names {len(first)} axes of x1 and {len(second)} of x2; they go in pairs")
    return first, second


@public()
def tensordot(x1: NDArray, x2: NDArray, /, *, axes: Axes = 2) -> NDArray:
    """Contract two arrays over pairs of axes.

    Parameters
    ----------
    x1, x2 : NDArray
        Operands of numeric dtype.
    axes : int or tuple of two sequences of int, optional
        How many of the last axes of x1 to contract with as many first axes of x2, in order; or the axes of x1 and
        the axes of x2, paired by position, negative ones counting from the end. Default: 2.

    Returns
    -------
    NDArray
        The other axes of x1, then the other axes of x2. Of the dtype in which the operands combine; complex numbers
        are not conjugated.

    Raises
    ------
    TypeError
        An operand is no NDArray, the dtypes don't combine, or ``axes`` holds something else than integers.
    IndexError
        An axis is out of range.
    ValueError
        Paired axes have different lengths (length 1 is not stretched), an axis is named twice, the two sequences
        have different lengths, or the operands are on different devices.

    Notes
    -----
    Source: array API 2025.12, ``tensordot``; in the standard since 2021.12.
    """
    arrays = [checked_array("tensordot", "x1", x1), checked_array("tensordot", "x2", x2)]
    device = common_device("tensordot", arrays)
    common = core_dtype("tensordot", "numeric", [x._dtype for x in arrays])
    a, b = (working(x, common) for x in arrays)
    first, second = _contracted(axes, a.ndim, b.ndim)
    for i, j in zip(first, second):
        if a.shape[i] != b.shape[j]:
            raise ValueError(
                f"tensordot: x1 has shape {a.shape}, x2 {b.shape}: axis {i} of x1 ({a.shape[i]}) must equal "
                f"axis {j} of x2 ({b.shape[j]})"
            )
    kept1 = [axis for axis in range(a.ndim) if axis not in first]
    kept2 = [axis for axis in range(b.ndim) if axis not in second]
    shape1, shape2 = [a.shape[axis] for axis in kept1], [b.shape[axis] for axis in kept2]
    terms = int(np.prod([a.shape[axis] for axis in first], dtype=object))
    rows, columns = int(np.prod(shape1, dtype=object)), int(np.prod(shape2, dtype=object))
    left = _matmul.matrix(a.transpose(*kept1, *first), len(kept1), (rows, terms))
    right = _matmul.matrix(b.transpose(*second, *kept2), len(second), (terms, columns))
    return finished(_matmul.product(left, right).reshape(shape1 + shape2), common, device)


@public()
@core("(n),(n)->()", kinds="numeric", widen=False, along_axis=True)
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Dot products of vectors along an axis, x1 conjugated.

    Parameters
    ----------
    x1, x2 : NDArray
        Vectors along one axis, of numeric dtype; the other axes broadcast.
    axis : int, optional
        The axis of the vectors in both operands, counted from the end. Default: -1.

    Returns
    -------
    NDArray
        ``sum(conj(x1) * x2)`` along the axis, which is gone; the others are those to which the operands broadcast.
        Of the dtype in which the operands combine; integers wrap in it.

    Raises
    ------
    TypeError
        An operand is no NDArray, or the dtypes don't combine; in strict mode also an axis counted from the front.
    IndexError
        An operand has no such axis.
    ValueError
        The vectors have different lengths (length 1 is not stretched), the other axes don't broadcast, or the
        operands are on different devices.

    Notes
    -----
    Default mode also takes an axis counted from the front of the broadcast shape, as the standard did before 2023.12.

    Source: array API 2025.12, ``vecdot``; in the standard since 2021.12.
    """
    return _matmul.inner(x1, x2)


for _function in (matmul, matrix_transpose, tensordot, vecdot):
    add(_function.__name__, _function, namespace="linalg")


@public(namespace="linalg")
@core("(m),(n)->(m,n)", kinds="numeric", widen=False)
def outer(x1: Array, x2: Array, /) -> Array:
    """Outer product of two vectors.

    Parameters
    ----------
    x1 : NDArray
        Vector, shape (N,), of numeric dtype.
    x2 : NDArray
        Vector, shape (M,), of numeric dtype.

    Returns
    -------
    NDArray
        ``x1[i] * x2[j]``, shape (N, M), of the dtype in which the operands combine; nothing is conjugated.

    Raises
    ------
    TypeError
        An operand is no NDArray, or the dtypes don't combine.
    ValueError
        An operand isn't one-dimensional, or the operands are on different devices.

    Notes
    -----
    Source: array API 2025.12, ``outer``; in the standard since 2021.12.
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if x.ndim != 1:
            raise ValueError(f"outer: {name} has shape {x.shape}: one axis is needed; use tensordot(x1, x2, axes=0)")
    return _matmul.outer(x1, x2)


@public(namespace="linalg")
@core("(3),(3)->(3)", kinds="numeric", booleans=False, along_axis=True)
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors with three components.

    Parameters
    ----------
    x1, x2 : NDArray
        Vectors of length 3 along one axis, of numeric dtype; the other axes broadcast.
    axis : int, optional
        The axis of the vectors in both operands, counted from the end. Default: -1.

    Returns
    -------
    NDArray
        Cross products along the same axis, of the shape to which the operands broadcast and the dtype in which they
        combine; nothing is conjugated, unsigned integers wrap.

    Raises
    ------
    TypeError
        An operand is no NDArray, or the dtypes don't combine; in strict mode also an axis counted from the front.
    IndexError
        An operand has no such axis.
    ValueError
        The axis has another length than 3 in an operand, the other axes don't broadcast, or the operands are on
        different devices.

    Notes
    -----
    Default mode also takes an axis counted from the front of the broadcast shape, as the standard did before 2023.12.

    Source: array API 2025.12, ``cross``; in the standard since 2021.12 (stretching of the other axes since 2022.12).
    """
    kernels = _dtypes.FROM_NUMPY[x1.dtype].kernels
    multiply, subtract = lookup("multiply", kernels), lookup("subtract", kernels)
    result = np.empty(np.broadcast_shapes(x1.shape, x2.shape), x1.dtype)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        plus = multiply(x1[..., j], x2[..., k], out=...)
        minus = multiply(x1[..., k], x2[..., j], out=...)
        result[..., i] = subtract(plus, minus, out=...)
    return result


@public(namespace="linalg")
def diagonal(x: NDArray, /, *, offset: int = 0) -> NDArray:
    """Diagonals of each matrix in a stack, as a view.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of any dtype.
    offset : int, optional
        How many columns to the right of the main diagonal; negative: to its left. Outside the matrix the diagonal
        is empty. Default: 0.

    Returns
    -------
    NDArray
        A view over the same memory, in which element ``[..., i]`` is ``x[..., i, i + offset]`` (for a negative
        offset ``x[..., i - offset, i]``).

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``offset`` no integer.
    ValueError
        ``x`` has fewer than two axes.

    Notes
    -----
    Source: array API 2025.12, ``diagonal``; in the standard since 2021.12.
    """
    array = checked_matrices("diagonal", x)
    layout = array.layout.diagonal(checked_integer("diagonal", "offset", offset))
    return array._with(layout)


def _traced(x: Any, offset: int, dtype: Any, *, widen_floats: bool = False) -> NDArray:
    array = checked_matrices("trace", x)
    own = array._dtype
    if own.kind == "bool":
        _modes.allow("reductions of other kinds", "trace: not defined for bool arrays")
    target = named_dtype("trace", dtype)
    if target is None:
        target = accumulated(own)
        if widen_floats and target.kind in ("float", "complex"):
            target = _dtypes.DEFAULT_FLOAT if target.kind == "float" else _dtypes.DEFAULT_COMPLEX
    elif own.kind == "complex" and target.kind != "complex":
        raise TypeError(f"trace: complex values have no {target} form; use real or imag first")
    layout = array.layout.diagonal(checked_integer("trace", "offset", offset))
    view = array._with(layout)._numpy()
    if own is not target:
        view = converted(view, target.dtype)
    compute = target.wide
    if compute != target.dtype:
        view = converted(view, compute)
    return finished(_reduce.add(view, (view.ndim - 1,), compute, keepdims=False), target, array._device)


@public(name="trace", namespace="linalg", until="2023.12")
def _trace_of_widened_floats(x: NDArray, /, *, offset: int = 0, dtype: DType | None = None) -> NDArray:
    """Sum along a diagonal of each matrix in a stack; floats widen to the default size.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of numeric dtype.
    offset : int, optional
        Which diagonal, as in `diagonal`. Default: 0.
    dtype : DType, optional
        Dtype in which to sum. None: the default dtype of the operand's kind (uint64 for unsigned integers).

    Returns
    -------
    NDArray
        Sums, shape (...); 0 where the diagonal is empty.

    Raises
    ------
    TypeError
        As the present `trace`.
    ValueError
        As the present `trace`.

    Notes
    -----
    Source: array API 2022.12, ``trace``; the standard's rule until 2023.12.
    """
    return _traced(x, offset, dtype, widen_floats=True)


@public(namespace="linalg")
def trace(x: NDArray, /, *, offset: int = 0, dtype: DType | None = None) -> NDArray:
    """Sum along a diagonal of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of numeric dtype (default mode: also bool, counted).
    offset : int, optional
        Which diagonal, as in `diagonal`. Default: 0.
    dtype : DType, optional
        Dtype to which the elements are cast before they are summed. None: the operand's, but signed integers are
        summed in int64 and unsigned ones in uint64.

    Returns
    -------
    NDArray
        Sums, shape (...); 0 where the diagonal is empty.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind, ``offset`` is no integer, ``dtype`` is no dtype, or it is real and
        ``x`` complex.
    ValueError
        ``x`` has fewer than two axes.

    Notes
    -----
    float16, bfloat16 and the 8-bit floats are summed in float32 and rounded once.

    Source: array API 2025.12, ``trace``; in the standard since 2021.12 (``dtype`` since 2022.12; before 2023.12
    floats widened to the default size).
    """
    return _traced(x, offset, dtype)


_inverse = in_pieces(inverse, parse("(n,n)->(n,n)"), weight=10)


@public(namespace="linalg")
@core("(n,n)->(n,n)")
def matrix_power(x: Array, n: int, /) -> Array:
    """Integer power of each square matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.
    n : int
        Exponent. 0 gives identity matrices; a negative one powers of the inverse.

    Returns
    -------
    NDArray
        Powers, of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, of another kind (in default mode integers are computed in the default floating-point
        dtype), or ``n`` is no integer.
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) ``n`` is negative and one of them is singular.

    Notes
    -----
    Source: array API 2025.12, ``matrix_power``; in the standard since 2021.12.
    """
    try:
        exponent = as_index(n)
    except TypeError:
        raise TypeError(f"matrix_power: n must be an integer, got {n!r}") from None
    if exponent == 0:
        identity = np.empty(x.shape, x.dtype)
        identity[...] = np.eye(x.shape[-1], dtype=x.dtype)
        return identity
    square: Array = _inverse(x) if exponent < 0 else x
    exponent = abs(exponent)
    power: Array | None = None
    while exponent:
        if exponent & 1:
            power = square.copy() if power is None else _matmul.product(power, square)
        exponent >>= 1
        if exponent:
            square = _matmul.product(square, square)
    assert power is not None, "some bit of a positive exponent is set"
    return power


# -- the operator ------------------------------------------------------------------------------------


def _matmul_operator(self: NDArray, other: Any, /) -> Any:
    """The matrix product with an array on the right."""
    return matmul(self, other) if isinstance(other, NDArray) else undecided("matmul", self, other)


def _matmul_reflected(self: NDArray, other: Any, /) -> Any:
    """The matrix product with an array on the left."""
    return matmul(other, self) if isinstance(other, NDArray) else undecided("matmul", other, self)


def _matmul_in_place(self: NDArray, other: Any, /) -> Any:
    """The matrix product written back; shape and dtype must stay, and are checked before anything is written."""
    if not isinstance(other, NDArray):
        return undecided("matmul", self, other)
    result = matmul(self, other)
    fill_in_place("matmul", self, result._dtype, [result.shape])
    self._check_writable("matmul", self.layout)
    self._numpy()[...] = result._numpy()
    return self


for _name, _method in (
    ("__matmul__", _matmul_operator),
    ("__rmatmul__", _matmul_reflected),
    ("__imatmul__", _matmul_in_place),
):
    _method.__name__ = _name
    _method.__qualname__ = f"NDArray.{_name}"
    _method.__module__ = "candela_xp"
    setattr(NDArray, _name, _method)

__all__ = [
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    "outer",
    "cross",
    "diagonal",
    "trace",
    "matrix_power",
]
