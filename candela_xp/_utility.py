"""Utility functions (array API 2025.12, "Utility Functions")."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from candela_xp import _dtypes, _elementwise, _index, _public, _reduce
from candela_xp._array import NDArray, checked_array
from candela_xp._manipulation import concatenated
from candela_xp._public import checked_axes
from candela_xp._revisions import public

Axis = int | tuple[int, ...] | None


def _truth(function: str, kernel: np.ufunc, x: Any, axis: Axis, keepdims: bool) -> NDArray:
    array = checked_array(function, "x", x)
    axes = checked_axes(function, axis, array.ndim)
    found = None
    if _public.is_large(array):
        found = _public.elements(array, axes, array._dtype.wide)
    if found is not None:
        held = _public.is_held(getrefcount(x))
        reduction = _reduce.by_ufunc(kernel, np.dtype(np.bool_))
        truth = _reduce.blocked(found, axes, reduction, keepdims=bool(keepdims), held=held)
        return _public.wrapped(truth, _dtypes.bool_, array._device)
    view = _dtypes.cast(array._numpy(), array._dtype.wide)
    result = kernel.reduce(view, axis=axes, keepdims=bool(keepdims), dtype=np.bool_)
    return _public.wrapped(result, _dtypes.bool_, array._device)


@public()
def all(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """Whether all elements over axes are True (not 0; NaN and infinities are True).

    Parameters
    ----------
    x : NDArray
        Operand of any dtype.
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        Booleans; True over no elements.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``all``; in the standard since 2021.12.
    """
    return _truth("all", np.logical_and, x, axis, keepdims)


@public()
def any(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """Whether any element over axes is True (not 0; NaN and infinities are True).

    Parameters
    ----------
    x : NDArray
        Operand of any dtype.
    axis : int or tuple of int, optional
        Axes to reduce; negative ones count from the end. None: all.
    keepdims : bool
        Keep the reduced axes with length 1.

    Returns
    -------
    NDArray
        Booleans; False over no elements.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``any``; in the standard since 2021.12.
    """
    return _truth("any", np.logical_or, x, axis, keepdims)


@public(since="2024.12")
def diff(
    x: NDArray,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: NDArray | None = None,
    append: NDArray | None = None,
) -> NDArray:
    """Differences of neighbours along an axis, taken ``n`` times.

    Parameters
    ----------
    x : NDArray
        Operand of numeric dtype with at least one axis (bool: whether neighbours differ).
    axis : int
        Axis along which to subtract; negative ones count from the end.
    n : int
        How often; 0 gives ``x`` itself, with what is prepended and appended.
    prepend, append : NDArray, optional
        Joined to ``x`` along ``axis`` first.

    Returns
    -------
    NDArray
        An array whose axis is ``n`` shorter than what was joined (never below 0).

    Raises
    ------
    TypeError
        An operand is no NDArray.
    ValueError
        ``n`` is negative, ``x`` is 0-d, or shapes disagree.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``diff``; in the standard since 2024.12.
    """
    array = checked_array("diff", "x", x)
    times = _public.checked_integer("diff", "n", n)
    if times < 0:
        raise ValueError(f"diff: n must be at least 0, got {times}")
    place = _index.normalise_axis("diff", axis, array.ndim)
    parts = [checked_array("diff", "prepend", prepend)] if prepend is not None else []
    parts.append(array)
    if append is not None:
        parts.append(checked_array("diff", "append", append))
    if len(parts) > 1:
        array = concatenated("diff", parts, place)
    # The difference of booleans is whether they differ; subtraction isn't defined for them.
    minus = _elementwise.not_equal if array._dtype.kind == "bool" else _elementwise.subtract
    for _ in range(times):
        layout, extent = array.layout, array.shape[place]
        count = extent - 1 if extent else 0
        later, earlier = layout.slice(place, extent - count, 1, count), layout.slice(place, 0, 1, count)
        array = minus(array._with(later), array._with(earlier))
    return array
