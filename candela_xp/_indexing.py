"""Indexing functions (array API 2025.12, "Indexing Functions")."""

from __future__ import annotations

from typing import Any

import numpy as np

from candela_xp import _dtypes, _index, _modes, _public
from candela_xp._array import NDArray, checked_array
from candela_xp._revisions import public

NumPyArray = np.ndarray[Any, Any]


def _checked_indices(function: str, x: NDArray, indices: Any) -> NDArray:
    """An integer array on the device of ``x``; NumPy integers and lists of them are taken in default mode."""
    if not isinstance(indices, NDArray):
        made = np.asarray(indices)
        if made.dtype.kind not in "iu" and made.size:
            checked_array(function, "indices", indices)
        _modes.allow("advanced keys", f"{function}: indices is a {type(indices).__name__}, not an NDArray")
        return _public.wrapped(made.astype(np.int64), _public.scalar_default(0), x._device)
    _public.common_device(function, (x, indices))
    if indices._dtype.kind not in ("int", "uint"):
        raise TypeError(f"{function}: indices must have an integer dtype, got {indices._dtype}")
    return indices


@public(since="2022.12")
def take(x: NDArray, indices: NDArray, /, *, axis: int | None = None) -> NDArray:
    """Gather elements along an axis.

    Parameters
    ----------
    x : NDArray
        Array of any dtype with at least one axis.
    indices : NDArray
        Integers with one axis; negative ones count from the end (default mode: any number of axes, which
        replace ``axis``).
    axis : int, optional
        Axis to gather along; negative ones count from the end. May be left out where ``x`` has one axis.

    Returns
    -------
    NDArray
        A new array, of the shape of ``x`` but for the axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``indices`` no integers.
    ValueError
        ``x`` has several axes and none is named.
    IndexError
        An index or the axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``take``; in the standard since 2022.12.
    """
    array = checked_array("take", "x", x)
    places = _checked_indices("take", array, indices)
    if places.ndim != 1:
        _modes.allow("advanced keys", f"take: indices has {places.ndim} axes, not 1")
    if axis is None:
        if array.ndim != 1:
            raise ValueError(f"take: x has {array.ndim} axes; name one with axis=")
        axis = 0
    along = _index.normalise_axis("take", axis, array.ndim)
    view = _signed("take", places, array.shape[along])
    try:
        taken = np.take(array._numpy(), view, axis=along)
    except IndexError:
        raise _out_of_range("take", view, array.shape[along]) from None
    return _public.wrapped(taken, array._dtype, array._device)


def _out_of_range(function: str, indices: NumPyArray, extent: int) -> IndexError:
    """The error for indices outside an axis; NumPy's own names neither function nor value."""
    low, high = int(indices.min()), int(indices.max())
    bad = high if high >= extent else low
    return IndexError(f"{function}: index {bad} is out of range for an axis of length {extent}")


def _signed(function: str, indices: NDArray, extent: int) -> NumPyArray:
    """The indices in a dtype that NumPy gathers by; uint64 beyond the signed range must not wrap into range."""
    view: NumPyArray = _dtypes.cast(indices._numpy(), indices._dtype.wide)
    if view.dtype.kind != "u":
        return view
    if view.size and int(view.max()) >= extent:
        raise _out_of_range(function, view, extent)
    return view.astype(np.int64)


@public(since="2024.12")
def take_along_axis(x: NDArray, indices: NDArray, /, *, axis: int = -1) -> NDArray:
    """Gather along an axis with an index for each line of the array.

    Parameters
    ----------
    x : NDArray
        Array of any dtype with at least one axis.
    indices : NDArray
        Integers with as many axes as ``x``; the shapes broadcast but for ``axis``. Negative indices count
        from the end.
    axis : int
        Axis to gather along; negative ones count from the end.

    Returns
    -------
    NDArray
        A new array of the broadcast shape, with the extent of ``indices`` along ``axis``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``indices`` no integers.
    ValueError
        The numbers of axes differ, or the shapes don't broadcast.
    IndexError
        An index or the axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``take_along_axis``; in the standard since 2024.12.
    """
    array = checked_array("take_along_axis", "x", x)
    places = _checked_indices("take_along_axis", array, indices)
    along = _index.normalise_axis("take_along_axis", axis, array.ndim)
    if places.ndim != array.ndim:
        raise ValueError(f"take_along_axis: x has {array.ndim} axes, indices {places.ndim}")
    for number, (a, b) in enumerate(zip(array.shape, places.shape)):
        if number != along and a != b and 1 not in (a, b):
            raise ValueError(
                f"take_along_axis: shapes {array.shape} and {places.shape} could not be broadcast on axis {number}"
            )
    view = _signed("take_along_axis", places, array.shape[along])
    try:
        taken = np.take_along_axis(array._numpy(), view, along)
    except IndexError:
        raise _out_of_range("take_along_axis", view, array.shape[along]) from None
    return NDArray(taken, array._dtype, array._device)
