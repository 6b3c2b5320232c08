"""Manipulation functions (array API 2025.12, "Manipulation Functions").

Whatever a layout can express is a view of the same buffer; concat, stack, repeat, roll and tile copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from candela_xp import _dtypes, _index, _layout, _modes, _public
from candela_xp._array import NDArray, checked_array
from candela_xp._public import checked_arrays, checked_integer, checked_shape
from candela_xp._revisions import public


def _stretched(function: str, x: NDArray, shape: tuple[int, ...]) -> NDArray:
    layout = x.layout.broadcast_to(shape)
    if layout is None:
        raise ValueError(f"{function}: shape {x.shape} could not be broadcast to {shape}")
    return x._with(layout)


def _common_shape(function: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    shape = _layout.broadcast_shapes(shapes)
    if shape is None:
        raise ValueError(f"{function}: shapes {', '.join(map(str, shapes))} could not be broadcast together")
    return shape


@public()
def broadcast_arrays(*arrays: NDArray) -> tuple[NDArray, ...]:
    """Stretch arrays to their common shape, as views.

    Parameters
    ----------
    *arrays : NDArray
        Arrays whose shapes broadcast.

    Returns
    -------
    tuple of NDArray
        Views of the common shape; stretched axes have stride 0, so writing into them is refused.

    Raises
    ------
    TypeError
        One is no NDArray.
    ValueError
        The shapes don't broadcast, or the arrays are on different devices.

    Notes
    -----
    Source: array API 2025.12, ``broadcast_arrays``; in the standard since 2021.12 (a list before 2025.12).
    """
    checked = checked_arrays("broadcast_arrays", arrays)
    if not checked:
        return ()
    _public.common_device("broadcast_arrays", checked)
    shape = _common_shape("broadcast_arrays", [array.shape for array in checked])
    return tuple([_stretched("broadcast_arrays", array, shape) for array in checked])


@public(name="broadcast_arrays", until="2025.12")
def _broadcast_arrays_list(*arrays: NDArray) -> list[NDArray]:
    """Stretch arrays to their common shape, as a list of views; otherwise `candela_xp.broadcast_arrays`.

    Notes
    -----
    Source: array API 2024.12, ``broadcast_arrays``.
    """
    return list(broadcast_arrays(*arrays))


@public(since="2025.12")
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which all of the given shapes broadcast.

    Parameters
    ----------
    *shapes : tuple of int
        Shapes.

    Returns
    -------
    tuple of int
        The common shape; ``()`` of no shapes.

    Raises
    ------
    TypeError
        One is no tuple of integers.
    ValueError
        They don't broadcast, or an extent is negative.

    Notes
    -----
    Source: array API 2025.12, ``broadcast_shapes``; in the standard since 2025.12.
    """
    return _common_shape("broadcast_shapes", [checked_shape("broadcast_shapes", shape) for shape in shapes])


@public()
def broadcast_to(x: NDArray, /, shape: tuple[int, ...]) -> NDArray:
    """Stretch an array to a shape, as a view.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    shape : tuple of int
        Shape to which that of ``x`` broadcasts.

    Returns
    -------
    NDArray
        A view; stretched axes have stride 0, so writing into them is refused.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``shape`` no tuple of integers.
    ValueError
        The shape of ``x`` doesn't stretch to ``shape``.

    Notes
    -----
    Source: array API 2025.12, ``broadcast_to``; in the standard since 2021.12.
    """
    return _stretched("broadcast_to", checked_array("broadcast_to", "x", x), checked_shape("broadcast_to", shape))


def _named_axes(function: str, name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes that have to be named: None doesn't stand for all of them."""
    if axes is None:
        raise TypeError(f"{function}: {name} must be an integer or a tuple of integers, got None")
    return _public.checked_axes(function, axes, ndim)


def _sequence(function: str, name: str, value: Any) -> tuple[Any, ...]:
    """An argument that is one integer or a tuple of them, as a tuple (a list stands for the tuple in default mode)."""
    if isinstance(value, list):
        _modes.allow("lists as shapes and axes", f"{function}: {name} is a list")
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _joined(function: str, arrays: Sequence[NDArray]) -> tuple[list[Any], Any, Any]:
    """NumPy views of arrays in their common dtype, the dtype, the device."""
    if not arrays:
        raise ValueError(f"{function}: at least one array is needed")
    device = _public.common_device(function, arrays)
    dtype = _public.common_dtype(function, [array._dtype for array in arrays])
    return [_public.cast(array, dtype) for array in arrays], dtype, device


@public()
def concat(arrays: tuple[NDArray, ...] | list[NDArray], /, *, axis: int | None = 0) -> NDArray:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : tuple or list of NDArray
        At least one array; shapes agree but for ``axis``.
    axis : int, optional
        Axis to join along; negative ones count from the end. None: flatten each in row-major order first.

    Returns
    -------
    NDArray
        A new array of the dtype in which all combine.

    Raises
    ------
    TypeError
        One is no NDArray, or the dtypes have no common one.
    ValueError
        There are none, shapes disagree, or the arrays are on different devices.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``concat``; in the standard since 2021.12.
    """
    return concatenated("concat", checked_arrays("concat", arrays), axis)


def concatenated(function: str, checked: Sequence[NDArray], axis: int | None) -> NDArray:
    """What `concat` gives, for the function that asks for it."""
    views, dtype, device = _joined(function, checked)
    if axis is None:
        views, place = [view.reshape(-1) for view in views], 0
    else:
        place = _index.normalise_axis(function, axis, checked[0].ndim)
        first = checked[0].shape
        for number, array in enumerate(checked):
            shape = array.shape
            if len(shape) != len(first) or any(a != b for k, (a, b) in enumerate(zip(shape, first)) if k != place):
                raise ValueError(
                    f"{function}: arrays[{number}] has shape {shape}, arrays[0] {first}; only axis {place} may differ"
                )
    return NDArray(np.concatenate(views, axis=place), dtype, device)


@public()
def expand_dims(x: NDArray, /, axis: int | tuple[int, ...]) -> NDArray:
    """Insert axes of length 1, as a view.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    axis : int or tuple of int
        Places of the new axes in the result; negative ones count from its end.

    Returns
    -------
    NDArray
        A view with the axes inserted.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axis`` no integers.
    IndexError
        A place is out of range.
    ValueError
        A place is named twice.

    Notes
    -----
    Source: array API 2025.12, ``expand_dims``; in the standard since 2021.12.
    """
    array = checked_array("expand_dims", "x", x)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    return array._with(array.layout.expand(_named_axes("expand_dims", "axis", axis, array.ndim + count)))


@public()
def flip(x: NDArray, /, *, axis: int | tuple[int, ...] | None = None) -> NDArray:
    """Reverse axes, as a view.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    axis : int or tuple of int, optional
        Axes to reverse; negative ones count from the end. None: all.

    Returns
    -------
    NDArray
        A view with negative strides.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axis`` no integers.
    IndexError, ValueError
        An axis is out of range, or named twice.

    Notes
    -----
    Source: array API 2025.12, ``flip``; in the standard since 2021.12.
    """
    array = checked_array("flip", "x", x)
    return array._with(array.layout.flip(_public.checked_axes("flip", axis, array.ndim)))


@public(since="2023.12")
def moveaxis(x: NDArray, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> NDArray:
    """Move axes to other places, as a view; the others keep their order.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    source, destination : int or tuple of int
        Axes to move and where each goes; negative ones count from the end.

    Returns
    -------
    NDArray
        A view with the axes moved.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or the axes are no integers.
    IndexError
        An axis is out of range.
    ValueError
        An axis is named twice, or source and destination differ in number.

    Notes
    -----
    Source: array API 2025.12, ``moveaxis``; in the standard since 2023.12.
    """
    array = checked_array("moveaxis", "x", x)
    origin = _named_axes("moveaxis", "source", source, array.ndim)
    target = _named_axes("moveaxis", "destination", destination, array.ndim)
    if len(origin) != len(target):
        raise ValueError(f"moveaxis: {len(origin)} axes cannot go to {len(target)} places")
    return array._with(array.layout.move(origin, target))


@public()
def permute_dims(x: NDArray, /, axes: tuple[int, ...]) -> NDArray:
    """Reorder the axes, as a view.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    axes : tuple of int
        A permutation of the axes; negative ones count from the end. Axis k of the result is ``axes[k]`` of ``x``.

    Returns
    -------
    NDArray
        A view of shape ``[x.shape[a] for a in axes]``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axes`` no integers.
    IndexError
        An axis is out of range.
    ValueError
        An axis is missing or named twice.

    Notes
    -----
    Source: array API 2025.12, ``permute_dims``; in the standard since 2021.12. Candela: ``transpose_axes``.
    """
    array = checked_array("permute_dims", "x", x)
    if not isinstance(axes, tuple | list):
        raise TypeError(f"permute_dims: axes must be a tuple of integers, got {axes!r}")
    order = _public.checked_axes("permute_dims", axes, array.ndim)
    if len(order) != array.ndim:
        raise ValueError(f"permute_dims: axes {tuple(axes)} name {len(order)} of {array.ndim} axes; name each once")
    return array._with(array.layout.permute(order))


@public(since="2023.12")
def repeat(x: NDArray, repeats: int | NDArray, /, *, axis: int | None = None) -> NDArray:
    """Repeat each element.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    repeats : int or NDArray
        How often: once for all, or an integer array of one axis with a count for each element of the axis
        (or one count).
    axis : int, optional
        Axis to repeat along; negative ones count from the end. None: flatten in row-major order first.

    Returns
    -------
    NDArray
        A new array, of the shape of ``x`` but for the axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``repeats`` no integers.
    ValueError
        A count is negative, or there are neither one nor as many counts as elements.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``repeat``; in the standard since 2023.12.
    """
    array = checked_array("repeat", "x", x)
    counts: Any
    if isinstance(repeats, NDArray):
        _modes.require("data_dependent_shapes", "repeat: the shape of the result follows from the values of repeats")
        _public.common_device("repeat", (array, repeats))
        _public.checked_kind("repeat", repeats, "integer")
        if repeats.ndim > 1:
            raise ValueError(f"repeat: repeats has shape {repeats.shape}; it must have one axis")
        counts = _dtypes.cast(repeats._numpy(), repeats._dtype.wide)
    else:
        counts = np.asarray(checked_integer("repeat", "repeats", repeats))
    if counts.size and counts.min() < 0:
        raise ValueError(f"repeat: repeats must not be negative, got {int(counts.min())}")
    view = array._numpy()
    if axis is None:
        view, place = view.reshape(-1), 0
    else:
        place = _index.normalise_axis("repeat", axis, array.ndim)
    if counts.size != 1 and counts.size != view.shape[place]:
        raise ValueError(f"repeat: {counts.size} counts for {view.shape[place]} elements along the axis")
    # Summed in float64, where no sum wraps; Python integers beyond 64 bits are objects to NumPy, and go along.
    total = int(counts.astype(np.float64).sum()) * (view.shape[place] if counts.size == 1 else 1)
    checked_shape("repeat", (*view.shape[:place], total, *view.shape[place + 1 :]))
    return NDArray(np.repeat(view, counts.astype(np.intp), axis=place), array._dtype, array._device)


@public()
def reshape(x: NDArray, /, shape: tuple[int, ...], *, copy: bool | None = None) -> NDArray:
    """The same elements in the same row-major order under another shape.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    shape : tuple of int
        New shape with as many elements; one extent may be -1 and is then worked out.
    copy : bool, optional
        True: always a new array. False: never. None: only where no layout expresses the result.

    Returns
    -------
    NDArray
        A view, wherever any strides can express it (also of transposed, stepped and broadcast arrays), else a
        dense copy.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``shape`` no tuple of integers.
    ValueError
        The number of elements differs, or ``copy=False`` and a copy is needed.

    Notes
    -----
    Source: array API 2025.12, ``reshape``; in the standard since 2021.12.
    """
    array = checked_array("reshape", "x", x)
    layout = array.layout
    target = _completed(shape, layout)
    view = layout.reshape(target)
    if copy:
        dense = array._copied()
        return dense._with(_layout.Layout.contiguous(target, dense.layout.offset))
    if view is not None:
        return array._with(view)
    if copy is not None:
        raise ValueError(
            f"reshape: cannot view shape {layout.shape}, stride {layout.stride} as {target} with copy=False; "
            "pass copy=None"
        )
    dense = array._copied()
    return dense._with(_layout.Layout.contiguous(target, dense.layout.offset))


def _completed(shape: Any, layout: _layout.Layout) -> tuple[int, ...]:
    """A shape argument of reshape with its -1 worked out."""
    if type(shape) is tuple and len(shape) <= 64:
        # The commonest argument needs no more: non-negative integers with the right product.
        for extent in shape:
            if type(extent) is not int or extent < 0:
                break
        else:
            if prod(shape) == layout.len:
                return shape
    extents = list(_sequence("reshape", "shape", shape))
    try:
        extents = [as_index(extent) for extent in extents]
    except TypeError:
        raise TypeError(f"reshape: shape must be an integer or a tuple of integers, got {shape!r}") from None
    unknown = [place for place, extent in enumerate(extents) if extent == -1]
    if len(unknown) > 1:
        raise ValueError(f"reshape: shape {tuple(extents)} holds more than one -1")
    for place in unknown:
        extents[place] = 1
    known = checked_shape("reshape", tuple(extents))
    size, have = 1, layout.len
    for extent in known:
        size *= extent
    if unknown:
        if not size or have % size:
            raise ValueError(f"reshape: {have} elements of shape {layout.shape} do not fill shape {shape}")
        extents[unknown[0]] = have // size
        return checked_shape("reshape", tuple(extents))
    if size != have:
        raise ValueError(f"reshape: shape {layout.shape} has {have} elements, {known} has {size}")
    return known


@public()
def roll(x: NDArray, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> NDArray:
    """Shift elements along axes; those that leave at one end come in at the other.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    shift : int or tuple of int
        Places to shift, towards larger indices if positive; one for all axes, or one each.
    axis : int or tuple of int, optional
        Axes to shift along; negative ones count from the end. None: the flattened array, then its shape again.

    Returns
    -------
    NDArray
        A new array of the shape of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``shift`` or ``axis`` are no integers.
    ValueError
        There are neither one shift nor as many as axes.
    IndexError
        An axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``roll``; in the standard since 2021.12.
    """
    array = checked_array("roll", "x", x)
    shifts = tuple([checked_integer("roll", "shift", places) for places in _sequence("roll", "shift", shift)])
    view = array._numpy()
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(f"roll: {len(shifts)} shifts for the flattened array; give one, or name the axes")
        rolled = np.roll(view.reshape(-1), shifts[0] % (view.size or 1)).reshape(view.shape)
        return NDArray(rolled, array._dtype, array._device)
    # An axis may be named twice: its shifts add up.
    places = [_index.normalise_axis("roll", a, array.ndim) for a in _sequence("roll", "axis", axis)]
    if len(shifts) not in (1, len(places)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(places)} axes")
    by_axis = dict.fromkeys(places, 0)
    for place, step in zip(places, shifts * len(places) if len(shifts) == 1 else shifts):
        by_axis[place] += step
    # Python's integers are unbounded, NumPy's shift is not.
    amounts = tuple([step % (array.shape[place] or 1) for place, step in by_axis.items()])
    return NDArray(np.roll(view, amounts, axis=tuple(by_axis)), array._dtype, array._device)


@public()
def squeeze(x: NDArray, /, axis: int | tuple[int, ...] | None = None) -> NDArray:
    """Drop axes of length 1, as a view.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    axis : int or tuple of int
        Axes to drop; negative ones count from the end. Without it (default mode only): every axis of length 1.

    Returns
    -------
    NDArray
        A view without those axes.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axis`` no integers.
    ValueError
        An axis is longer than 1, or named twice.
    IndexError
        An axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``squeeze``; in the standard since 2021.12.
    """
    array = checked_array("squeeze", "x", x)
    layout = array.layout
    if axis is None:
        _modes.allow("squeeze without axis", "squeeze: no axis is named")
        axes = tuple([place for place, extent in enumerate(layout.shape) if extent == 1])
    else:
        axes = _public.checked_axes("squeeze", axis, layout.ndim)
    squeezed = layout.squeeze(axes)
    if squeezed is None:
        raise ValueError(f"squeeze: axes {axes} of shape {layout.shape} are not all of length 1")
    return array._with(squeezed)


@public()
def stack(arrays: tuple[NDArray, ...] | list[NDArray], /, *, axis: int = 0) -> NDArray:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : tuple or list of NDArray
        At least one array; all have the same shape.
    axis : int
        Place of the new axis in the result; negative ones count from its end.

    Returns
    -------
    NDArray
        A new array of the dtype in which all combine.

    Raises
    ------
    TypeError
        One is no NDArray, or the dtypes have no common one.
    ValueError
        There are none, shapes differ, or the arrays are on different devices.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``stack``; in the standard since 2021.12.
    """
    checked = checked_arrays("stack", arrays)
    views, dtype, device = _joined("stack", checked)
    for number, array in enumerate(checked):
        if array.shape != checked[0].shape:
            raise ValueError(f"stack: arrays[{number}] has shape {array.shape}, arrays[0] {checked[0].shape}")
    place = _index.normalise_axis("stack", axis, checked[0].ndim + 1)
    return NDArray(np.stack(views, axis=place), dtype, device)


@public(since="2023.12")
def tile(x: NDArray, repetitions: tuple[int, ...], /) -> NDArray:
    """Repeat the whole array along its axes.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    repetitions : tuple of int
        How often along each axis; the shorter of it and the shape is filled with ones at the front.

    Returns
    -------
    NDArray
        A new array.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``repetitions`` no integers.
    ValueError
        A number of repetitions is negative.

    Notes
    -----
    Source: array API 2025.12, ``tile``; in the standard since 2023.12.
    """
    array = checked_array("tile", "x", x)
    times = _sequence("tile", "repetitions", repetitions)
    counts = tuple([checked_integer("tile", "repetitions", count) for count in times])
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: repetitions must not be negative, got {counts}")
    length = max(len(counts), array.ndim)
    extents, factors = (1,) * (length - array.ndim) + array.shape, (1,) * (length - len(counts)) + counts
    checked_shape("tile", tuple([extent * factor for extent, factor in zip(extents, factors)]))
    return NDArray(np.tile(array._numpy(), counts), array._dtype, array._device)


@public(since="2023.12")
def unstack(x: NDArray, /, *, axis: int = 0) -> tuple[NDArray, ...]:
    """Split an array into the slices along an axis, as views without it.

    Parameters
    ----------
    x : NDArray
        Array of any dtype with at least one axis.
    axis : int
        Axis to split along; negative ones count from the end.

    Returns
    -------
    tuple of NDArray
        As many views as the axis is long.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axis`` no integer.
    IndexError
        The axis is out of range; a 0-d array has none.

    Notes
    -----
    Source: array API 2025.12, ``unstack``; in the standard since 2023.12.
    """
    array = checked_array("unstack", "x", x)
    layout = array.layout
    place = _index.normalise_axis("unstack", axis, layout.ndim)
    return tuple([array._with(layout.select(place, number)) for number in range(layout.shape[place])])
