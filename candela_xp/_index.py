"""Basic indices: integers, slices, None and Ellipsis, as views of a layout.

`view` returns the layout that a key selects, or None where the key holds something else (an array, a list):
those are gathers, which no layout can express, and belong to the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from types import EllipsisType
from typing import Any

from candela_xp._layout import Layout, new_layout


def normalise_axis(function: str, axis: Any, ndim: int) -> int:
    """``axis`` as a number in ``0..ndim-1``; a negative one counts from the end.

    Raises
    ------
    TypeError
        ``axis`` is not an integer.
    IndexError
        ``axis`` is outside ``[-ndim, ndim)``.
    """
    try:
        number = as_index(axis)
    except TypeError:
        raise TypeError(f"{function}: axis must be an integer, got {axis!r}") from None
    if not -ndim <= number < ndim:
        if ndim == 0:
            raise IndexError(f"{function}: axis {number} is out of range: a 0-d array has no axes")
        raise IndexError(f"{function}: axis {number} is out of range for {ndim} axes; use {-ndim}..{ndim - 1}")
    return number % ndim


def normalise_axes(function: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """An integer or a sequence of integers as distinct axes in ``0..ndim-1``, in the order given.

    Raises
    ------
    TypeError, IndexError
        As `normalise_axis`.
    ValueError
        An axis is repeated.
    """
    if isinstance(axes, tuple | list):
        result = tuple([normalise_axis(function, axis, ndim) for axis in axes])
        if len(set(result)) != len(result):
            raise ValueError(f"{function}: axis {tuple(axes)} names an axis of {ndim} twice")
        return result
    return (normalise_axis(function, axes, ndim),)


def select(layout: Layout, axis: int, number: int, named: int | None = None) -> Layout:
    """Fix an axis at an integer that may be negative; ``named`` is what an error calls the axis, if not ``axis``.

    Raises
    ------
    IndexError
        The integer is outside the axis.
    """
    extent = layout.shape[axis]
    if not -extent <= number < extent:
        name = axis if named is None else named
        raise IndexError(f"index {number} is out of range for axis {name} of length {extent}")
    return layout.select(axis, number % extent)


def cut(layout: Layout, axis: int, key: slice) -> Layout:
    """Cut an axis by a slice, with the bounds rules of Python's lists.

    Raises
    ------
    ValueError
        The step is 0.
    TypeError
        A bound is not an integer.
    """
    start, stop, step = key.indices(layout.shape[axis])
    return layout.slice(axis, start, step, len(range(start, stop, step)))


def is_basic(item: object) -> bool:
    """Whether one part of a key is an integer, a slice, None or Ellipsis."""
    if item is None or isinstance(item, slice | EllipsisType) or type(item) is int:
        return True
    # The type is asked: a class such as int has the attribute __index__ too, and is no integer.
    return not isinstance(item, bool) and hasattr(type(item), "__index__") and not hasattr(item, "shape")


def element(layout: Layout, key: Any) -> Layout | None:
    """The layout of one element, if the key is an integer in range for each axis; else None.

    The commonest key in loops, spelled out: a fifth of the time of `view`.
    """
    shape = layout.shape
    if type(key) is int:
        if len(shape) != 1:
            return None
        extent = shape[0]
        if not -extent <= key < extent:
            return None
        return new_layout(((), (), layout.offset + (key if key >= 0 else key + extent) * layout.stride[0]))
    if type(key) is not tuple or len(key) != len(shape):
        return None
    offset = layout.offset
    for number, extent, step in zip(key, shape, layout.stride):
        if type(number) is not int or not -extent <= number < extent:
            return None
        offset += (number if number >= 0 else number + extent) * step
    return new_layout(((), (), offset))


def view(layout: Layout, key: Sequence[Any]) -> Layout | None:
    """The layout that a basic key selects, or None where a part of the key is no integer, slice, None or Ellipsis.

    Raises
    ------
    IndexError
        Too many indices, more than one Ellipsis, or an integer outside its axis.
    """
    used = 0
    ellipses = 0
    for item in key:
        if item is Ellipsis:
            ellipses += 1
        elif item is not None:
            if not is_basic(item):
                return None
            used += 1
    if ellipses > 1:
        raise IndexError("an index can hold only one Ellipsis (...)")
    if used > layout.ndim:
        raise IndexError(f"too many indices: the array has {layout.ndim} axes, the index names {used}")
    axis = 0  # of the layout as it is by then
    named = 0  # of the array that the key is for, which is what the reader of an error counts
    skipped = layout.ndim - used
    for item in key:
        if item is None:
            layout = layout.expand((axis,))
            axis += 1
        elif item is Ellipsis:
            axis += skipped
            named += skipped
        elif isinstance(item, slice):
            layout = cut(layout, axis, item)
            axis += 1
            named += 1
        else:
            layout = select(layout, axis, as_index(item), named)
            named += 1
    return layout
