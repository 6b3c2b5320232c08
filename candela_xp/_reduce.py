"""Reductions and scans over NumPy arrays: which order to add in, what comes out of nothing.

NumPy adds pairwise only along the axis of its innermost loop; along the others it adds row after row, and a
float32 sum of 200,000 rows drifts by 0.2 %. `add` cuts those axes into blocks, so that no running sum has
more than `RUN` terms, whatever the layout. Cost on one core, 1000×1000, axis 0, against np.add.reduce with
blocks of 128: float32 0.66 (blocks stay in cache), float64 1.05-1.1; blocks of 32 cost 1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from candela_xp._expr import Chain, Node
from candela_xp._layout import Shape
from candela_xp._walk import Operand, allocated, lines, preferred_order, rows

NumPyArray = np.ndarray[Any, Any]
Axes = tuple[int, ...]

BLOCK = 128
# Shorter sums aren't worth the cutting: at 569 rows of 30 it doubled the time, at 1000 of 1000 it costs an eighth, and
# 1024 roundings of float32 lose some five of its 24 bits on average data, as NumPy's own do.
RUN = 1024
# Down columns of a few elements a row, reduceat adds each column pairwise: 0.01-0.7 of np.add.reduce's time for
# rows of 2 to 16 float64; from 30 on it loses.
SHORT_ROW = 16
_WHOLE = np.zeros(1, np.intp)


def _running_axes(x: NumPyArray, axes: Axes) -> Axes:
    """The reduced axes along which NumPy would add row after row: those outside its innermost loop."""
    order = sorted((a for a in range(x.ndim) if x.shape[a] > 1), key=lambda a: abs(x.strides[a]))
    if order and x.strides[order[0]] == 0:
        # Where broadcast axes end up in NumPy's order of loops depends on the others: none is taken for the innermost.
        return tuple([axis for axis in axes if x.shape[axis] > 1])
    reach = None
    inner = set()
    for axis in order:
        # The innermost loop is one axis, or several that chain into one.
        if axis not in axes or (reach is not None and abs(x.strides[axis]) != reach):
            break
        inner.add(axis)
        reach = abs(x.strides[axis]) * x.shape[axis]
    return tuple([axis for axis in axes if axis not in inner and x.shape[axis] > 1])


def _add_rows(x: NumPyArray, axis: int) -> NumPyArray:
    """Sum along one axis that NumPy would run over row after row, in blocks; the axis stays with length 1."""
    blocks, rest = divmod(x.shape[axis], BLOCK)
    if blocks * BLOCK <= RUN:
        return np.add.reduce(x, axis=axis, keepdims=True)
    before: tuple[Any, ...] = (slice(None),) * axis
    # Splitting an axis is always a view.
    split = x[(*before, slice(0, blocks * BLOCK))].reshape((*x.shape[:axis], blocks, BLOCK, *x.shape[axis + 1 :]))
    partial: NumPyArray = split.sum(axis=axis + 1)
    total = _add_rows(partial, axis)
    if rest:
        total += np.add.reduce(x[(*before, slice(blocks * BLOCK, None))], axis=axis, keepdims=True)
    return total


def _add(x: NumPyArray, axes: Axes) -> NumPyArray:
    """Sum with the reduced axes kept at length 1."""
    running = _running_axes(x, axes)
    terms = prod([x.shape[axis] for axis in running])
    if terms <= RUN:
        return np.add.reduce(x, axis=axes, keepdims=True)
    if len(axes) == 1:
        return _add_rows(x, axes[0])
    longest = max(running, key=lambda axis: x.shape[axis])
    extent = x.shape[longest]
    if extent <= BLOCK:
        # Several short axes whose product is long: one at a time.
        return _add(_add(x, (longest,)), tuple([axis for axis in axes if axis != longest]))
    blocks, rest = divmod(extent, BLOCK)
    before = (slice(None),) * longest
    head = x[(*before, slice(0, blocks * BLOCK))]
    # Splitting an axis is always a view.
    split = head.reshape((*x.shape[:longest], blocks, BLOCK, *x.shape[longest + 1 :]))
    shifted = tuple([axis + 1 if axis >= longest else axis for axis in axes])
    partial = _add(split, shifted)
    shape = tuple([1 if axis in axes and axis != longest else n for axis, n in enumerate(x.shape)])
    partial = partial.reshape((*shape[:longest], blocks, *shape[longest + 1 :]))
    total = _add(partial, (longest,))
    return total + _add(x[(*before, slice(blocks * BLOCK, None))], axes) if rest else total


def _has_short_rows(x: NumPyArray, axis: int) -> bool:
    """Whether the rows that NumPy would add one to another are so short that the loop is all overhead."""
    step = abs(x.strides[axis])
    row: int = prod([n for n, s in zip(x.shape, x.strides) if abs(s) < step])
    return x.shape[axis] >= 64 and 1 < row <= SHORT_ROW


def add(x: NumPyArray, axes: Axes, dtype: np.dtype[Any], *, keepdims: bool) -> NumPyArray:
    """Sum over axes in ``dtype``; pairwise for floating-point numbers."""
    # NumPy's stubs have no overload for a keepdims that isn't a literal; here and in multiply.
    if dtype.kind not in "fc" or x.size <= BLOCK or not axes or (x.ndim == 1 and x.dtype == dtype):
        return np.asarray(np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims))  # type: ignore[call-overload]
    if x.dtype != dtype:
        x = x.astype(dtype)
    total: NumPyArray
    if len(axes) == 1 and _has_short_rows(x, axes[0]):
        total = np.add.reduceat(x, _WHOLE, axis=axes[0])
    else:
        total = _add(x, axes)
    return total if keepdims else total.reshape([n for axis, n in enumerate(x.shape) if axis not in axes])


def multiply(x: NumPyArray, axes: Axes, dtype: np.dtype[Any], *, keepdims: bool) -> NumPyArray:
    """Product over axes in ``dtype``."""
    return np.asarray(np.multiply.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims))  # type: ignore[call-overload]


def count(shape: Shape, axes: Axes) -> int:
    """How many elements are reduced together."""
    return prod([shape[axis] for axis in axes])


def _over(total: NumPyArray, divisor: float) -> NumPyArray:
    """``total / divisor`` in place, NaN where the divisor is not positive; components of complex apart."""
    for part in (total.real, total.imag) if total.dtype.kind == "c" else (total,):
        if divisor > 0:
            np.divide(part, divisor, out=part)
        else:
            part[...] = np.nan
    return total


def mean(x: NumPyArray, axes: Axes, dtype: np.dtype[Any], *, keepdims: bool) -> NumPyArray:
    """Arithmetic mean over axes, computed in ``dtype`` (floating-point); NaN for no elements."""
    return _over(add(x, axes, dtype, keepdims=keepdims), count(x.shape, axes))


def var(x: NumPyArray, axes: Axes, dtype: np.dtype[Any], correction: float, *, keepdims: bool) -> NumPyArray:
    """Variance over axes in two passes; NaN where the count minus the correction is not positive."""
    x = x if x.dtype == dtype else x.astype(dtype)
    deviation = np.subtract(x, mean(x, axes, dtype, keepdims=True), out=...)
    if dtype.kind == "c":
        deviation = np.add(deviation.real**2, deviation.imag**2, out=...)
    else:
        np.multiply(deviation, deviation, out=deviation)
    return _over(add(deviation, axes, deviation.dtype, keepdims=keepdims), count(x.shape, axes) - correction)


class Reduction(NamedTuple):
    """A reduction in pieces.

    Attributes
    ----------
    block
        Reduces the values of a block over axes, to one or more partial results.
    dtypes
        Of the partial results.
    finish
        Takes the partial results, one after another along axis 0, and how many elements are in each.
    """

    block: Callable[[NumPyArray, Axes], tuple[NumPyArray, ...]]
    dtypes: tuple[np.dtype[Any], ...]
    finish: Callable[[list[NumPyArray], NumPyArray], NumPyArray]

    def of(self, function: Callable[[NumPyArray], NumPyArray]) -> Reduction:
        """The reduction of what a function makes of the values."""
        return self._replace(block=lambda values, axes: self.block(function(values), axes))


def blocked(x: Node | Operand, axes: Axes, reduction: Reduction, *, keepdims: bool, held: bool = True) -> NumPyArray:
    """Reduce an expression or memory over axes, block by block, see `_blocked`."""
    result = _blocked(x, axes, reduction, keepdims=keepdims, held=held)
    assert result is not None, "only ordered reductions may have to be done otherwise"
    return result


def _blocked(
    x: Node | Operand, axes: Axes, reduction: Reduction, *, keepdims: bool, held: bool, ordered: bool = False
) -> NumPyArray | None:
    """Reduce an expression or memory over axes, block by block; a pending array need not exist for that.

    Which elements are reduced together follows from shape and layout alone: the result doesn't depend on the number of
    threads.

    Parameters
    ----------
    x
        What is reduced; it has elements.
    axes
        Axes to reduce (at least one).
    reduction
        What to do with the blocks.
    keepdims
        Keep the axes with length 1.
    held
        Whether a variable may still want the array that is reduced; then a pending one is stored on the way.
    ordered
        Whether blocks have to follow each other as the elements do, and lie along the reduced axes; None where they
        don't.
    """
    with Chain(x, keep_root=False, reduced=axes, held=held) as chain:
        return _reduced(chain, x.shape, axes, reduction, keepdims=keepdims, ordered=ordered)


def _reduced(
    chain: Chain, shape: Shape, axes: Axes, reduction: Reduction, *, keepdims: bool, ordered: bool
) -> NumPyArray | None:
    walk = chain.walk
    grid = walk.grid
    far = tuple([place for place, group in enumerate(walk.axes) if group[0] in axes])
    if ordered and (far != (len(grid) - 1,) or list(walk.axes[-1]) != sorted(walk.axes[-1])):
        return None
    near = [place for place in range(len(grid)) if place not in far]
    cells = prod([grid[place] for place in far])
    partials = [np.empty((cells, *[walk.shape[place] for place in near]), dtype) for dtype in reduction.dtypes]
    counts = np.empty(cells, np.int64)

    slot = chain.slot

    def consume_all(place: Shape, slots: list[Any]) -> None:
        values = slots[slot]
        cell = 0
        for number, extent in zip(place, grid):
            cell = cell * extent + number
        for partial_result, part in zip(partials, reduction.block(values, far)):
            partial_result[cell] = part
        counts[cell] = values.size

    def consume(place: Shape, slots: list[Any]) -> None:
        values = slots[slot]
        cell = 0
        for axis in far:
            cell = cell * grid[axis] + place[axis]
        corner = [place[axis] * walk.block[axis] for axis in near]
        target: Any = (cell, *[slice(start, start + values.shape[axis]) for start, axis in zip(corner, near)])
        for partial_result, part in zip(partials, reduction.block(values, far)):
            partial_result[target] = part
        counts[cell] = prod([values.shape[axis] for axis in far])

    chain.run(consume if near else consume_all)
    result = reduction.finish(partials, counts)
    order = [axis for place in near for axis in walk.axes[place]]
    result = result.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
    return result.reshape([1 if axis in axes else n for axis, n in enumerate(shape) if keepdims or axis not in axes])


def adding(dtype: np.dtype[Any]) -> Reduction:
    """Sums in a dtype."""

    def total(values: NumPyArray, axes: Axes) -> tuple[NumPyArray, ...]:
        if values.ndim == 1 and axes:
            return (np.add.reduce(values, dtype=dtype),)
        return (add(values, axes, dtype, keepdims=False),)

    return Reduction(total, (dtype,), lambda parts, counts: total(parts[0], (0,))[0])


def by_ufunc(kernel: np.ufunc, dtype: np.dtype[Any]) -> Reduction:
    """What a ufunc reduces to."""

    def reduced(values: NumPyArray, axes: Axes) -> tuple[NumPyArray, ...]:
        return (kernel.reduce(values, axis=axes, dtype=dtype),)

    return Reduction(reduced, (dtype,), lambda parts, counts: kernel.reduce(parts[0], axis=0, dtype=dtype))


def counting() -> Reduction:
    """How many elements aren't 0."""
    dtype = np.dtype(np.int64)

    def counted(values: NumPyArray, axes: Axes) -> tuple[Any, ...]:
        if len(axes) == values.ndim:  # an eighth of the time that NumPy takes over named axes
            return (np.count_nonzero(values),)
        return (np.count_nonzero(values, axis=axes),)

    return Reduction(counted, (dtype,), lambda parts, counts: np.add.reduce(parts[0], axis=0))


def averaging(dtype: np.dtype[Any], count: int) -> Reduction:
    """Means of ``count`` elements in a floating-point dtype."""
    totals = adding(dtype)
    return totals._replace(finish=lambda parts, counts: _over(np.asarray(totals.finish(parts, counts)), count))


def spreading(dtype: np.dtype[Any], divisor: float) -> Reduction:
    """Variances: the squared deviations over a divisor.

    Each block has two passes, in cache, over its own mean; the deviations of the blocks' means come on top (Chan, Golub
    and LeVeque 1983).
    """
    real = np.empty(0, dtype).real.dtype

    def squares(deviation: NumPyArray) -> NumPyArray:
        if dtype.kind == "c":
            deviation = np.add(deviation.real**2, deviation.imag**2, out=...)
        else:
            np.multiply(deviation, deviation, out=deviation)
        return deviation

    def block(values: NumPyArray, axes: Axes) -> tuple[NumPyArray, ...]:
        values = values if values.dtype == dtype else values.astype(dtype)
        middle = mean(values, axes, dtype, keepdims=True)
        spread = add(squares(np.subtract(values, middle, out=...)), axes, real, keepdims=False)
        return middle.reshape(spread.shape), spread

    def finish(parts: list[NumPyArray], counts: NumPyArray) -> NumPyArray:
        middles, spreads = parts
        weights = counts.reshape(-1, *[1] * (middles.ndim - 1)).astype(real)
        total = add(spreads, (0,), real, keepdims=False)
        if len(counts) > 1:
            middle = _over(add(middles * weights, (0,), dtype, keepdims=False), int(counts.sum()))
            between = squares(np.subtract(middles, middle, out=...)) * weights
            total = total + add(between, (0,), real, keepdims=False)
        return _over(np.asarray(total), divisor)

    return Reduction(block, (dtype, real), finish)


def extreme_of(
    kernel: Callable[..., NumPyArray], x: Node, axes: Axes, *, keepdims: bool, held: bool
) -> NumPyArray | None:
    """Index of the first greatest or least element of an expression over one axis, or all.

    ``kernel`` is argmax or argmin. None where its blocks don't follow each other as the elements do.
    """

    def block(values: NumPyArray, over: Axes) -> tuple[NumPyArray, ...]:
        places = np.expand_dims(kernel(values, axis=-1), -1)
        return np.take_along_axis(values, places, -1)[..., 0], places[..., 0]

    def finish(parts: list[NumPyArray], counts: NumPyArray) -> NumPyArray:
        values, places = parts
        places += (np.cumsum(counts) - counts).reshape(-1, *[1] * (places.ndim - 1))
        first: NumPyArray = np.take_along_axis(places, np.expand_dims(kernel(values, axis=0), 0), 0)[0]
        return first

    reduction = Reduction(block, (x.dtype, np.dtype(np.intp)), finish)
    return _blocked(x, axes, reduction, keepdims=keepdims, held=held, ordered=True)


def extreme_places(kernel: Callable[..., NumPyArray], x: Operand, axis: int) -> NumPyArray:
    """Index of the greatest or least element of each line along an axis (``kernel``: argmax or argmin)."""
    shape = x.layout.shape[:axis] + x.layout.shape[axis + 1 :]
    target = allocated(shape, tuple(range(len(shape))), np.dtype(np.intp))
    lines(x, axis, partial(kernel, axis=-1), target, keeps_axis=False)
    return target.view()


def scan(kernel: np.ufunc, x: NumPyArray, axis: int, dtype: np.dtype[Any], *, include_initial: bool) -> NumPyArray:
    """Running sums or products along an axis, behind the identity if asked for."""
    if not include_initial:
        return kernel.accumulate(x, axis=axis, dtype=dtype)
    shape = (*x.shape[:axis], x.shape[axis] + 1, *x.shape[axis + 1 :])
    out = np.empty(shape, dtype)
    before: tuple[Any, ...] = (slice(None),) * axis
    out[(*before, 0)] = kernel.identity
    kernel.accumulate(x, axis=axis, dtype=dtype, out=out[(*before, slice(1, None))])
    return out


# Narrower rows aren't worth a call a step: cumulative_sum over axis 0 of 10^6 float64 took 0.9 of NumPy's time at 512
# elements a row, 0.4 at 4096, 1.6 at 128. They are packed instead.
ROW = 512


def is_far(x: Operand, axis: int) -> bool:
    """Whether another axis is nearer in memory, so that a kernel along this one would jump from line to line."""
    shape, stride, _ = x.layout
    own = abs(stride[axis])
    return shape[axis] > 1 and any(0 < abs(step) < own for n, step in zip(shape, stride) if n > 1)


def scan_far(kernel: np.ufunc, x: Operand, axis: int, dtype: np.dtype[Any], *, include_initial: bool) -> Operand:
    """Running sums or products along an axis that isn't the nearest, as `scan` gives them, bit for bit."""
    shape = list(x.layout.shape)
    shape[axis] += include_initial
    target = allocated(tuple(shape), preferred_order(x.layout.shape, (x.layout,)), dtype)
    near = x.layout.len // max(x.layout.shape[axis], 1)

    def by_rows(values: NumPyArray, out: NumPyArray) -> None:
        if include_initial:
            out[0] = kernel.identity
            out = out[1:]
        out[:1] = values[:1]
        before = out[:1]
        for number in range(1, len(values)):
            after = out[number : number + 1]
            kernel(before, values[number : number + 1], out=after, dtype=dtype)
            before = after

    if near >= ROW:
        rows(x, axis, by_rows, target)
    else:
        lines(
            x,
            axis,
            lambda values: scan(kernel, values, values.ndim - 1, dtype, include_initial=include_initial),
            target,
            keeps_axis=True,
        )
    return target
