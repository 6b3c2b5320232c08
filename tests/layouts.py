"""Arrays and layouts in every arrangement, for all tests: makers of NumPy arrays, strategies, two ways to enumerate.

What there is to take:

- ``lay_out(values, name)`` for ``name`` in ``ARRANGEMENTS``: the same values, arranged otherwise in memory;
- ``example(name, dtype)`` for ``name`` in ``ALL_LAYOUTS``: a small array, also broadcast, 0-d and empty ones;
- ``shapes()``, ``layouts()``, ``views()``, ``basic_keys(shape)``: Hypothesis strategies;
- ``positions(layout)``, ``walked(layout)``: the buffer positions of all elements, by index and by `adj_stride`;
- ``layout_of(view, base)``, ``numpy_view(layout, base)``: from one world to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from candela_xp._layout import Layout

# -- NumPy arrays in many layouts ------------------------------------------------------------------


def _contiguous(values: np.ndarray) -> np.ndarray:
    return np.array(values, order="C")


def _fortran(values: np.ndarray) -> np.ndarray:
    return np.array(values, order="F")


def _rotated(values: np.ndarray) -> np.ndarray:
    """The last axis outermost in memory, the others in order: neither row-major nor column-major from 3 axes on."""
    if values.ndim < 2:
        return _contiguous(values)
    return np.moveaxis(np.array(np.moveaxis(values, -1, 0), order="C"), 0, -1)


def _frame(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Room for a view, filled with something that no test takes for the values."""
    filler = 1 if values.dtype == np.bool_ else 0x55
    return np.full(math.prod(shape) * values.itemsize, filler, np.uint8).view(values.dtype).reshape(shape)


def _stepped(values: np.ndarray) -> np.ndarray:
    view = _frame(values, tuple(2 * n for n in values.shape))[(slice(None, None, 2),) * values.ndim + (...,)]
    view[...] = values
    return view


def _reversed(values: np.ndarray) -> np.ndarray:
    backwards = (slice(None, None, -1),) * values.ndim + (...,)  # the Ellipsis keeps a 0-d array an array
    return np.array(values[backwards], order="C")[backwards]


def _inner_reversed(values: np.ndarray) -> np.ndarray:
    return np.array(values[..., ::-1], order="C")[..., ::-1] if values.ndim else _contiguous(values)


def _offset(values: np.ndarray) -> np.ndarray:
    """A box inside a larger array: an offset, and a gap at the end of every row."""
    view = _frame(values, tuple(n + 3 for n in values.shape) or (3,))
    view = view[tuple(slice(1, 1 + n) for n in values.shape)] if values.ndim else view[1:2].reshape(())
    view[...] = values
    return view


ARRANGEMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": _contiguous,
    "fortran": _fortran,
    "rotated": _rotated,
    "stepped": _stepped,
    "reversed": _reversed,
    "inner reversed": _inner_reversed,
    "offset": _offset,
}


def lay_out(values: Any, arrangement: str) -> np.ndarray:
    """A writable NumPy array of these values, in memory of its own, in one of ``ARRANGEMENTS``."""
    values = np.asarray(values)
    view = ARRANGEMENTS[arrangement](values)
    assert isinstance(view, np.ndarray)
    assert view.shape == values.shape
    assert view.dtype == values.dtype
    return view


def cast(values: Any, dtype: Any) -> np.ndarray:
    """Values in another dtype; from and to complex32 by way of complex64, since ml_dtypes refuses some ways."""
    values, dtype = np.asarray(values), np.dtype(dtype)
    if "complex32" in (values.dtype.name, dtype.name):
        values = values.astype(np.complex64)
    if dtype.name[:6] in ("float6", "float4") and values.dtype.kind == "f":
        # They have no NaN, and ml_dtypes makes -0 or 0 of it by the sign, which depends on the machine.
        values = np.where(np.isnan(values), np.nan, values).astype(values.dtype)
    return values.astype(dtype)


def numbers(shape: tuple[int, ...], dtype: Any = "float64") -> np.ndarray:
    """1, 2, 3, … in a shape; as booleans, alternating; below 128 elements small enough for every dtype of 8 bits."""
    count = np.arange(1, 1 + math.prod(shape))
    dtype = np.dtype(dtype)
    return cast(count % 2 if dtype == np.bool_ else count, dtype).reshape(shape)


def _broadcast_rows(dtype: Any) -> np.ndarray:
    return np.broadcast_to(numbers((4,), dtype), (3, 4))


def _broadcast_columns(dtype: Any) -> np.ndarray:
    return np.broadcast_to(numbers((3, 1), dtype), (3, 4))


def _windows(dtype: Any) -> np.ndarray:
    # Not sliding_window_view: it goes through the array interface, where NumPy cannot name float8_e5m2 ('<f1').
    owner = numbers((6,), dtype)
    view = np.ndarray((3, 4), owner.dtype, owner, 0, (owner.itemsize, owner.itemsize))
    view.flags.writeable = False
    return view


def _read_only(dtype: Any) -> np.ndarray:
    view = numbers((3, 4), dtype)
    view.flags.writeable = False
    return view


# name -> maker of a small array of a dtype
EXAMPLES: dict[str, Callable[[Any], np.ndarray]] = {
    **{name: lambda dtype, name=name: lay_out(numbers((3, 4), dtype), name) for name in ARRANGEMENTS},
    "three axes": lambda dtype: numbers((2, 3, 4), dtype),
    "three axes, permuted": lambda dtype: lay_out(numbers((2, 4, 3), dtype), "rotated").transpose(0, 2, 1),
    "transposed": lambda dtype: numbers((4, 3), dtype).T,
    "broadcast rows": _broadcast_rows,
    "broadcast columns": _broadcast_columns,
    "windows": _windows,
    "read-only": _read_only,
    "length 1": lambda dtype: numbers((1, 4, 1), dtype)[:, ::2],
    "one axis": lambda dtype: numbers((5,), dtype),
    "one axis, reversed": lambda dtype: numbers((5,), dtype)[::-1],
    "zero-d": lambda dtype: numbers((), dtype),
    "zero-d, inside": lambda dtype: numbers((3, 4), dtype)[1, 2, ...],
    "empty": lambda dtype: numbers((0,), dtype),
    "empty rows": lambda dtype: numbers((3, 0), dtype),
    "empty, stepped": lambda dtype: numbers((3, 4, 5), dtype)[::-1, 4:, ::2],
}
ALL_LAYOUTS: list[str] = list(EXAMPLES)


def example(name: str, dtype: Any = "float64") -> np.ndarray:
    """A small NumPy array in one of ``ALL_LAYOUTS``."""
    return EXAMPLES[name](dtype)


# -- layouts and their elements --------------------------------------------------------------------


def positions(layout: Layout) -> list[int]:
    """The buffer position of every element in row-major order of the indices, each computed from its index."""
    return [layout.element_offset(index) for index in product(*map(range, layout.shape))]


def walked(layout: Layout) -> list[int]:
    """The same positions by Candela's walk: one addition a step, of the `adj_stride` of the axis that steps."""
    if layout.len == 0:
        return []
    adj_stride = layout.adj_stride
    counter = [0] * layout.ndim
    position = layout.offset
    found = [position]
    while True:
        axis = layout.ndim - 1
        while axis >= 0 and counter[axis] == layout.shape[axis] - 1:
            counter[axis] = 0
            axis -= 1
        if axis < 0:
            return found
        counter[axis] += 1
        position += adj_stride[axis]
        found.append(position)


def layout_of(view: np.ndarray, base: np.ndarray) -> Layout:
    """The layout of a NumPy view over a base: strides and offset in elements, from NumPy's own fields."""
    distance = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return Layout(view.shape, tuple(s // view.itemsize for s in view.strides), distance // view.itemsize)


def numpy_view(layout: Layout, base: np.ndarray) -> np.ndarray:
    """The NumPy view that a layout describes over a contiguous base; NumPy refuses it out of bounds."""
    step = base.itemsize
    return np.ndarray(layout.shape, base.dtype, base, layout.offset * step, [s * step for s in layout.stride])


# -- one view operation, twice ---------------------------------------------------------------------


class Step(NamedTuple):
    """A view operation on a layout and the same one on a NumPy array."""

    text: str
    on_layout: Callable[[Layout], Layout]
    on_numpy: Callable[[np.ndarray], np.ndarray]


def slice_step(axis: int, key: slice, extent: int) -> Step:
    """A slice of one axis."""
    taken = range(extent)[key]
    return Step(
        f"[{key}] on axis {axis}",
        lambda layout: layout.slice(axis, taken.start, taken.step, len(taken)),
        lambda view: view[(slice(None),) * axis + (key,)],
    )


def select_step(axis: int, number: int) -> Step:
    """An integer on one axis; NumPy is kept from making a scalar of it."""
    return Step(
        f"[{number}] on axis {axis}",
        lambda layout: layout.select(axis, number),
        lambda view: view[(slice(None),) * axis + (number, ...)],
    )


def permute_step(axes: tuple[int, ...]) -> Step:
    """An order of the axes."""
    return Step(f"permute{axes}", lambda layout: layout.permute(axes), lambda view: view.transpose(axes))


def flip_step(axes: tuple[int, ...]) -> Step:
    """Some axes backwards."""
    return Step(f"flip{axes}", lambda layout: layout.flip(axes), lambda view: np.flip(view, axes))


def expand_step(axis: int) -> Step:
    """A new axis of length 1."""
    return Step(f"expand {axis}", lambda layout: layout.expand((axis,)), lambda view: np.expand_dims(view, axis))


def broadcast_step(shape: tuple[int, ...]) -> Step:
    """Stretched to a shape."""
    return Step(
        f"broadcast{shape}", lambda layout: layout.broadcast_to(shape), lambda view: np.broadcast_to(view, shape)
    )


def transpose_step() -> Step:
    """All axes reversed."""
    return Step("transpose", Layout.transpose, lambda view: view.T)


def diagonal_step(offset: int) -> Step:
    """Diagonals of the last two axes."""
    return Step(
        f"diagonal({offset})",
        lambda layout: layout.diagonal(offset),
        lambda view: np.diagonal(view, offset, -2, -1),
    )


def windows_step(axis: int, size: int, step: int) -> Step:
    """Windows along an axis."""
    return Step(
        f"windows({axis}, {size}, {step})",
        lambda layout: layout.windows(axis, size, step),
        lambda view: np.lib.stride_tricks.sliding_window_view(view, size, axis)[
            (slice(None),) * axis + (slice(None, None, step),)
        ],
    )


def steps_from(shape: tuple[int, ...], *, ndim_max: int = 3) -> Iterator[Step]:
    """Every view operation that a small range allows on a shape: all slices and integers, orders, flips, stretches."""
    ndim = len(shape)
    for axis, extent in enumerate(shape):
        for number in range(extent):
            yield select_step(axis, number)
        for start, stop, step in product(range(extent), range(extent + 1), (1, 2, 3)):
            yield slice_step(axis, slice(start, stop, step), extent)
        for step in (-1, -2):
            yield slice_step(axis, slice(None, None, step), extent)
    for axes in permutations(range(ndim)):
        yield permute_step(axes)
    for count in range(1, ndim + 1):
        for axes in combinations(range(ndim), count):
            yield flip_step(axes)
    if ndim < ndim_max:
        for axis in range(ndim + 1):
            yield expand_step(axis)
        yield broadcast_step((2, *shape))
    for wanted in product(*[(n,) if n != 1 else (0, 1, 3) for n in shape]):
        yield broadcast_step(wanted)
    yield transpose_step()
    if ndim >= 2:
        for offset in range(-shape[-2] - 1, shape[-1] + 2):
            yield diagonal_step(offset)
    if ndim < ndim_max:
        for axis, extent in enumerate(shape):
            for size, step in product(range(1, extent + 1), (1, 2)):
                yield windows_step(axis, size, step)


# -- strategies --------------------------------------------------------------------------------------


def shapes(*, ndim_max: int = 4, extent_max: int = 4, extent_min: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes, the empty one included."""
    return st.lists(st.integers(extent_min, extent_max), max_size=ndim_max).map(tuple)


def layouts(*, ndim_max: int = 4, extent_max: int = 4, stride_max: int = 12) -> st.SearchStrategy[Layout]:
    """Layouts of any strides at all, also such as no view operation makes; the offset keeps them at 0 or above."""

    def built(axes: list[tuple[int, int]], room: int) -> Layout:
        shape, stride = tuple(n for n, _ in axes), tuple(s for _, s in axes)
        low = sum((n - 1) * s for n, s in axes if n and s < 0)
        return Layout(shape, stride, room - low)

    axis = st.tuples(st.integers(0, extent_max), st.integers(-stride_max, stride_max))
    return st.builds(built, st.lists(axis, max_size=ndim_max), st.integers(0, 5))


def _step_strategy(shape: tuple[int, ...], ndim_max: int) -> st.SearchStrategy[Step]:
    ndim = len(shape)
    options: list[st.SearchStrategy[Step]] = [st.just(transpose_step())]
    if ndim:
        axis = st.integers(0, ndim - 1)
        options += [
            st.permutations(range(ndim)).map(lambda axes: permute_step(tuple(axes))),
            axis.flatmap(lambda a: st.slices(shape[a]).map(lambda key: slice_step(a, key, shape[a]))),
            st.sets(axis).map(lambda axes: flip_step(tuple(axes))),
            st.tuples(*[st.just(n) if n != 1 else st.integers(0, 3) for n in shape]).map(broadcast_step),
        ]
        if any(shape):
            filled = st.sampled_from([a for a in range(ndim) if shape[a]])
            options.append(filled.flatmap(lambda a: st.integers(0, shape[a] - 1).map(lambda i: select_step(a, i))))
            if ndim < ndim_max:
                options.append(
                    filled.flatmap(
                        lambda a: st.builds(windows_step, st.just(a), st.integers(1, shape[a]), st.integers(1, 3))
                    )
                )
    if ndim >= 2:
        options.append(st.integers(-shape[-2] - 1, shape[-1] + 1).map(diagonal_step))
    if ndim < ndim_max:
        options.append(st.integers(0, ndim).map(expand_step))
        options.append(st.integers(0, 3).map(lambda n: broadcast_step((n, *shape))))
    return st.one_of(options)


class View(NamedTuple):
    """A layout reached by view operations, the NumPy view reached by the same ones, and their base (0, 1, 2, …)."""

    layout: Layout
    view: np.ndarray
    base: np.ndarray
    steps: tuple[str, ...]


@st.composite
def views(draw: st.DrawFn, *, ndim_max: int = 5, extent_max: int = 4, steps_max: int = 6) -> View:
    """A random sequence of view operations, on a layout and on a NumPy array alike."""
    shape = draw(shapes(ndim_max=min(4, ndim_max), extent_max=extent_max))
    layout = Layout.contiguous(shape)
    base = np.arange(layout.len)
    view = base.reshape(shape)
    texts = [str(shape)]
    for _ in range(draw(st.integers(0, steps_max))):
        step = draw(_step_strategy(layout.shape, ndim_max))
        layout, view = step.on_layout(layout), step.on_numpy(view)
        texts.append(step.text)
    return View(layout, view, base, tuple(texts))


@st.composite
def basic_keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key of integers, slices, None and at most one Ellipsis that fits a shape."""
    named = draw(st.integers(0, len(shape)))
    ellipsis_at = draw(st.none() | st.integers(0, named))
    skipped = len(shape) - named
    key: list[Any] = []
    for place in range(named):
        if place == ellipsis_at:
            key.append(...)
        axis = place + (skipped if ellipsis_at is not None and place >= ellipsis_at else 0)
        extent = shape[axis]
        part = st.slices(extent)
        key.append(draw(part | st.integers(-extent, extent - 1) if extent else part))
    if ellipsis_at == named:
        key.append(...)
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return tuple(key)
