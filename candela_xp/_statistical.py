"""Statistical functions (array API 2025.12, "Statistical Functions")."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from candela_xp import _dtypes, _index, _modes, _public, _reduce
from candela_xp._array import NDArray, as_python_scalar, checked_array
from candela_xp._dtypes import DType
from candela_xp._public import checked_axes, elements, is_held, is_large, named_dtype
from candela_xp._revisions import public

Axis = int | tuple[int, ...] | None


def accumulated(dtype: DType) -> DType:
    """The dtype in which a sum or product of ``dtype`` comes out: small integers widen to the default size."""
    if dtype.kind in ("int", "bool"):
        return _dtypes.DEFAULT_INT
    return _dtypes.uint64 if dtype.kind == "uint" else dtype


def _operand(function: str, x: Any, kinds: str) -> NDArray:
    """An array to reduce; other kinds are taken in default mode, as far as the function makes sense for them."""
    array = checked_array(function, "x", x)
    kind = array._dtype.kind
    if kind in _public.KINDS[kinds]:
        return array
    if kind == "complex" and kinds == "real":
        raise TypeError(f"{function}: complex numbers have no order; use real, imag or abs first")
    _modes.allow("reductions of other kinds", f"{function}: not defined for {array._dtype} arrays")
    return array


def _computed(x: NDArray, dtype: DType) -> tuple[Any, np.dtype[Any]]:
    """The NumPy view to reduce and the dtype to reduce in; narrow dtypes accumulate in float32 or int64."""
    return _dtypes.cast(x._numpy(), x._dtype.wide), _compute_dtype(dtype)


def _compute_dtype(dtype: DType) -> np.dtype[Any]:
    return _dtypes.DEFAULT_INT.dtype if dtype.kernels == "narrowint" else dtype.wide


def _finished(result: Any, dtype: DType, x: NDArray) -> NDArray:
    return NDArray(_dtypes.cast(np.asarray(result), dtype.dtype), dtype, x._device)


def _checked_cast(function: str, x: NDArray, dtype: Any) -> DType | None:
    target = named_dtype(function, dtype)
    if target is not None and x._dtype.kind == "complex" and target.kind != "complex":
        raise TypeError(f"{function}: complex values have no {target} form; use real or imag first")
    return target


def _summed(function: str, x: Any, axis: Axis, dtype: Any, keepdims: bool, *, widen_floats: bool = False) -> NDArray:
    array = _operand(function, x, "numeric")
    target = _checked_cast(function, array, dtype)
    if target is None:
        target = accumulated(array._dtype)
        if widen_floats and target.kind in ("float", "complex"):
            target = _dtypes.DEFAULT_FLOAT if target.kind == "float" else _dtypes.DEFAULT_COMPLEX
    axes = checked_axes(function, axis, array.ndim)
    compute = _compute_dtype(target)
    # Integers widen while they are added up: converting them first would only take time.
    whole = target.kind in ("int", "uint") and array._dtype.kind != "float"
    found = elements(array, axes, None if whole else compute) if is_large(array) else None
    if found is not None:
        held = is_held(getrefcount(x))
        reduction = _reduce.adding(compute) if function == "sum" else _reduce.by_ufunc(np.multiply, compute)
        result = _reduce.blocked(found, axes, reduction, keepdims=bool(keepdims), held=held)
        return _finished(result, target, array)
    view, compute = _computed(array, target)
    reducer = _reduce.add if function == "sum" else _reduce.multiply
    return _finished(reducer(view, axes, compute, keepdims=bool(keepdims)), target, array)


@public()
def sum(x: NDArray, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> NDArray:
    """Sum of the elements over axes.

    Parameters
    ----------
    x : NDArray
        Operand of numeric dtype (default mode: also bool, counted).
    axis : int or tuple of int, optional
        Axes to sum over; negative ones count from the end. None: all.
    dtype : DType, optional
        Dtype of the sum, to which the elements are cast first. None: the dtype of ``x``, integers widened to
        int64 or uint64.
    keepdims : bool
        Keep the summed axes with length 1.

    Returns
    -------
    NDArray
        The sums; 0 over no elements.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or of a kind that has no sum.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Floating-point sums are pairwise along every axis of every layout: the rounding error grows with the
    logarithm of the count. Narrow floats accumulate in float32.

    Source: array API 2025.12, ``sum``; in the standard since 2021.12.
    """
    return _summed("sum", x, axis, dtype, keepdims)


@public(name="sum", until="2023.12")
def _sum_widening(x: NDArray, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> NDArray:
    """Sum of the elements over axes; floating-point elements are summed in the default dtype of their kind.

    As `candela_xp.sum`, but float32 gives float64 and complex64 gives complex128.

    Notes
    -----
    Source: array API 2022.12, ``sum``; 2023.12 keeps the dtype.
    """
    return _summed("sum", x, axis, dtype, keepdims, widen_floats=True)


@public()
def prod(x: NDArray, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> NDArray:
    """Product of the elements over axes.

    Parameters
    ----------
    x : NDArray
        Operand of numeric dtype (default mode: also bool).
    axis : int or tuple of int, optional
        Axes to multiply over; negative ones count from the end. None: all.
    dtype : DType, optional
        Dtype of the product, to which the elements are cast first. None: the dtype of ``x``, integers widened
        to int64 or uint64.
    keepdims : bool
        Keep the multiplied axes with length 1.

    Returns
    -------
    NDArray
        The products; 1 over no elements.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or of a kind that has no product.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``prod``; in the standard since 2021.12.
    """
    return _summed("prod", x, axis, dtype, keepdims)


@public(name="prod", until="2023.12")
def _prod_widening(x: NDArray, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> NDArray:
    """Product of the elements over axes; floating-point elements multiply in the default dtype of their kind.

    As `candela_xp.prod`, but float32 gives float64 and complex64 gives complex128.

    Notes
    -----
    Source: array API 2022.12, ``prod``; 2023.12 keeps the dtype.
    """
    return _summed("prod", x, axis, dtype, keepdims, widen_floats=True)


def _mean_dtype(function: str, x: NDArray) -> DType:
    """The floating-point dtype of an average."""
    return x._dtype if x._dtype.kind in ("float", "complex") else _dtypes.DEFAULT_FLOAT


@public()
def mean(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False, dtype: DType | None = None) -> NDArray:
    """Arithmetic mean of the elements over axes.

    Parameters
    ----------
    x : NDArray
        Operand of floating-point dtype (default mode: also integers and bool, in float64).
    axis : int or tuple of int, optional
        Axes to average over; negative ones count from the end. None: all.
    keepdims : bool
        Keep the averaged axes with length 1.
    dtype : DType, optional
        Dtype to compute and return (default mode only; not in the standard).

    Returns
    -------
    NDArray
        The means, in the dtype of ``x``; NaN over no elements. A NaN in one component of a complex number
        leaves the other component alone.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or of a kind that has no mean.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``mean``; in the standard since 2021.12.
    """
    return _averaged(x, axis, keepdims, dtype)


def _averaged(x: Any, axis: Axis, keepdims: bool, dtype: Any) -> NDArray:
    array = _operand("mean", x, "floating-point")
    target = _mean_dtype("mean", array)
    if dtype is not None:
        _modes.allow("dtype of a mean", f"mean: dtype={dtype} is not in the standard")
        target = _checked_cast("mean", array, dtype) or target
        if target.kind not in ("float", "complex"):
            raise TypeError(f"mean: dtype={target} is no floating-point dtype")
    axes = checked_axes("mean", axis, array.ndim)
    compute = _compute_dtype(target)
    found = elements(array, axes, compute) if is_large(array) else None
    if found is not None:
        held = is_held(getrefcount(x))
        reduction = _reduce.averaging(compute, _reduce.count(array.shape, axes))
        return _finished(_reduce.blocked(found, axes, reduction, keepdims=bool(keepdims), held=held), target, array)
    view, compute = _computed(array, target)
    return _finished(_reduce.mean(view, axes, compute, keepdims=bool(keepdims)), target, array)


def _spread(function: str, x: Any, axis: Axis, correction: float, keepdims: bool) -> tuple[Any, DType, NDArray]:
    array = _operand(function, x, "real floating-point")
    if isinstance(correction, np.generic):
        correction = as_python_scalar(function, correction)  # type: ignore[assignment]  # checked next
    if isinstance(correction, bool) or not isinstance(correction, int | float):
        raise TypeError(f"{function}: correction must be an int or a float, got {correction!r}")
    source = _mean_dtype(function, array)
    axes = checked_axes(function, axis, array.ndim)
    compute = _compute_dtype(source)
    found = elements(array, axes, compute) if is_large(array) else None
    if found is not None:
        held = is_held(getrefcount(x))
        reduction = _reduce.spreading(compute, _reduce.count(array.shape, axes) - correction)
        variance = _reduce.blocked(found, axes, reduction, keepdims=bool(keepdims), held=held)
    else:
        view, compute = _computed(array, source)
        variance = _reduce.var(view, axes, compute, correction, keepdims=bool(keepdims))
    return variance, _dtypes.REAL_OF.get(source, source), array


@public()
def var(x: NDArray, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """Variance of the elements over axes.

    Parameters
    ----------
    x : NDArray
        Operand of real floating-point dtype (default mode: also integers and bool in float64, and complex,
        whose variance is real).
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    correction : int or float
        Taken off the count in the divisor: 0 for a population, 1 for a sample (Bessel).
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        The variances in the dtype of ``x``; NaN where count minus correction is not positive.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind, or ``correction`` is no number.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Two passes, so data far from 0 doesn't cancel.

    Source: array API 2025.12, ``var``; in the standard since 2021.12.
    """
    variance, dtype, array = _spread("var", x, axis, correction, keepdims)
    return _finished(variance, dtype, array)


@public()
def std(x: NDArray, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """Standard deviation of the elements over axes: the square root of `var`.

    Parameters
    ----------
    x : NDArray
        Operand of real floating-point dtype (default mode: also integers and bool in float64, and complex).
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    correction : int or float
        Taken off the count in the divisor: 0 for a population, 1 for a sample (Bessel).
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        The deviations in the dtype of ``x``; NaN where count minus correction is not positive.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind, or ``correction`` is no number.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``std``; in the standard since 2021.12.
    """
    variance, dtype, array = _spread("std", x, axis, correction, keepdims)
    return _finished(np.sqrt(variance, out=variance), dtype, array)


def _extreme(function: str, kernel: np.ufunc, x: Any, axis: Axis, keepdims: bool) -> NDArray:
    array = _operand(function, x, "real")
    axes = checked_axes(function, axis, array.ndim)
    if any(array.shape[a] == 0 for a in axes):
        raise ValueError(f"{function}: no elements along axes {axes} of shape {array.shape}")
    compute = _compute_dtype(array._dtype)
    found = elements(array, axes, compute) if is_large(array) else None
    if found is not None:
        held = is_held(getrefcount(x))
        reduction = _reduce.by_ufunc(kernel, compute)
        result = _reduce.blocked(found, axes, reduction, keepdims=bool(keepdims), held=held)
        return _finished(result, array._dtype, array)
    view, _ = _computed(array, array._dtype)
    return _finished(kernel.reduce(view, axis=axes, keepdims=bool(keepdims)), array._dtype, array)


@public()
def max(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """Greatest element over axes; NaN if there is one.

    Parameters
    ----------
    x : NDArray
        Operand of real dtype (default mode: also bool).
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        The maxima, in the dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or complex.
    ValueError
        There are no elements to choose from, or an axis is named twice.
    IndexError
        An axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``max``; in the standard since 2021.12.
    """
    return _extreme("max", np.maximum, x, axis, keepdims)


@public()
def min(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """Least element over axes; NaN if there is one.

    Parameters
    ----------
    x : NDArray
        Operand of real dtype (default mode: also bool).
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        The minima, in the dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or complex.
    ValueError
        There are no elements to choose from, or an axis is named twice.
    IndexError
        An axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``min``; in the standard since 2021.12.
    """
    return _extreme("min", np.minimum, x, axis, keepdims)


def _scanned(function: str, kernel: np.ufunc, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> NDArray:
    array = _operand(function, x, "numeric")
    target = _checked_cast(function, array, dtype) or accumulated(array._dtype)
    if axis is None:
        if array.ndim == 0:
            raise ValueError(f"{function}: a 0-d array has no axis to run along; use reshape(x, (1,))")
        if array.ndim > 1:
            raise ValueError(f"{function}: x has {array.ndim} axes; name one with axis=")
        axis = 0
    place = _index.normalise_axis(function, axis, array.ndim)
    compute = _compute_dtype(target)
    found = _public.large(array) if is_large(array) and not array._dtype.extension else None
    if found is not None and _reduce.is_far(found, place):
        scanned = _reduce.scan_far(kernel, found, place, compute, include_initial=bool(include_initial))
        return _finished(scanned.view(), target, array)
    view, compute = _computed(array, target)
    result = _reduce.scan(kernel, view, place, compute, include_initial=bool(include_initial))
    return _finished(result, target, array)


@public(since="2023.12")
def cumulative_sum(
    x: NDArray, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> NDArray:
    """Running sums along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of numeric dtype with at least one axis (default mode: also bool).
    axis : int, optional
        Axis to run along; negative ones count from the end. May be left out where ``x`` has one axis.
    dtype : DType, optional
        Dtype of the sums, to which the elements are cast first. None: the dtype of ``x``, integers widened to
        int64 or uint64.
    include_initial : bool
        Begin with 0, so that the axis is one longer.

    Returns
    -------
    NDArray
        The running sums.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or of a kind that has no sum.
    ValueError
        ``x`` has several axes and none is named, or ``x`` is 0-d.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``cumulative_sum``; in the standard since 2023.12.
    """
    return _scanned("cumulative_sum", np.add, x, axis, dtype, include_initial)


@public(since="2024.12")
def cumulative_prod(
    x: NDArray, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> NDArray:
    """Running products along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of numeric dtype with at least one axis (default mode: also bool).
    axis : int, optional
        Axis to run along; negative ones count from the end. May be left out where ``x`` has one axis.
    dtype : DType, optional
        Dtype of the products, to which the elements are cast first. None: the dtype of ``x``, integers
        widened to int64 or uint64.
    include_initial : bool
        Begin with 1, so that the axis is one longer.

    Returns
    -------
    NDArray
        The running products.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or of a kind that has no product.
    ValueError
        ``x`` has several axes and none is named, or ``x`` is 0-d.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``cumulative_prod``; in the standard since 2024.12.
    """
    return _scanned("cumulative_prod", np.multiply, x, axis, dtype, include_initial)
