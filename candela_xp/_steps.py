"""One layout, element by element: what is said of it, the walk over it, the cells that the walk touches.

All drawings show these facts: those of the terminal, of notebooks, of the documentation. The walk is that of the
library: row-major order of indices, one addition of `adj_stride` a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from candela_xp._layout import Layout

FIELDS = ("shape", "stride", "adj_stride", "offset", "len")

FLAGS = {
    "contiguous": "row-major order moves one cell a step",
    "dense": "fills one run of memory, in some order of axes",
    "transposed": "Candela's: an axis steps back as inner axes wrap",
    "broadcast": "several indices read one cell, by stride 0",
    "overlaps itself": "two indices address one cell; no writing",
    "core for BLAS": "last two axes go in place, plain or transposed",
}


def fields(layout: Layout) -> dict[str, Any]:
    """The three fields of a layout and the two that follow from them, by name; in elements."""
    return {name: getattr(layout, name) for name in FIELDS}


def flags(layout: Layout) -> dict[str, bool | None]:
    """Whether each of ``FLAGS`` holds; None where it has no meaning."""
    return {
        "contiguous": layout.is_contiguous,
        "dense": layout.is_dense,
        "transposed": layout.is_transposed,
        "broadcast": layout.is_broadcast,
        "overlaps itself": layout.overlaps_itself,
        "core for BLAS": layout.core_is_packed() if layout.ndim >= 2 else None,
    }


class Step(NamedTuple):
    """One step of a walk: its number, the index on each axis, the cell, which axis stepped (None: the first one)."""

    number: int
    indices: tuple[int, ...]
    cell: int
    axis: int | None


def walk(layout: Layout) -> Iterator[Step]:
    """All elements in row-major order of indices; the cell moves by one addition a step."""
    index = [0] * layout.ndim
    for number, (axis, cell) in enumerate(_moves(layout)):
        if axis is not None:
            index[axis] += 1
            for inner in range(axis + 1, layout.ndim):
                index[inner] = 0
        yield Step(number, tuple(index), cell, axis)


def _moves(layout: Layout) -> Iterator[tuple[int | None, int]]:
    """The axis that steps and the cell, for each element."""
    shape, adjusted, cell = layout.shape, layout.adj_stride, layout.offset
    if 0 in shape:
        return
    # An axis of length 1 never steps: leaving it out keeps a step short, however many there are.
    moving = [axis for axis in range(layout.ndim - 1, -1, -1) if shape[axis] > 1]
    left = {axis: shape[axis] - 1 for axis in moving}
    yield None, cell
    for _ in range(layout.len - 1):
        for axis in moving:
            if left[axis]:
                left[axis] -= 1
                cell += adjusted[axis]
                yield axis, cell
                break
            left[axis] = shape[axis] - 1


class Touched(NamedTuple):
    """Which cells a walk touches: how many in all, and the step that first touches each of a range of cells."""

    total: int
    first: dict[int, int]


def touched(layout: Layout, low: int, high: int, limit: int | None = None) -> Touched:
    """The cells that a walk, or its first ``limit`` steps, touches; steps for those in ``low..high-1``."""
    first: dict[int, int] = {}
    for number, (_, cell) in enumerate(islice(_moves(layout), limit)):
        first.setdefault(cell, number)
    return Touched(len(first), {cell: number for cell, number in first.items() if low <= cell < high})


def window(layout: Layout, cells: int, limit: int, row: int) -> tuple[int, int]:
    """Which cells of a buffer to draw: all, or ``limit`` of them from the row of the lowest that is touched."""
    if cells <= limit:
        return 0, cells
    bounds = layout.bounds()
    lowest = 0 if bounds is None else bounds[0]
    start = lowest - lowest % row
    if lowest - start >= limit:  # one row is longer than the drawing
        start = lowest
    return start, min(cells, start + limit)
