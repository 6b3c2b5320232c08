"""The order in which a layout's axes occupy memory (source: Burn's tensor layout notes).

Two questions: `dim_order` asks for the order of a layout that fills its memory without gaps, which is what
a kernel needs before it may treat the memory as one flat run; `nested_dim_order` asks only that the axes
nest, gaps allowed, which is enough to choose the order of a walk.

Strides here are signed. The magnitude decides: an axis walked backwards occupies the same cells as the
axis walked forwards. A layout without elements is dense in any order; it answers the identity.
"""

from __future__ import annotations

from collections.abc import Sequence

DimOrder = tuple[int, ...]


def _ordered(shape: Sequence[int], stride: Sequence[int], *, gaps: bool) -> DimOrder | None:
    if len(shape) != len(stride):
        return None
    if 0 in shape:
        return tuple(range(len(shape)))
    # Outermost first; the axis number breaks ties, so that equal strides (which only axes of length 1 have
    # in a layout that nests) give one answer instead of whatever the sort did.
    order = sorted(range(len(shape)), key=lambda axis: (-abs(stride[axis]), axis))
    expected = 1
    for axis in reversed(order):
        if shape[axis] == 1:
            continue
        step = abs(stride[axis])
        if step < expected or (step != expected and not gaps):
            return None
        expected = step * shape[axis]
    return tuple(order)


def dim_order(shape: Sequence[int], stride: Sequence[int]) -> DimOrder | None:
    """Axes from outermost to innermost in memory, or None where the layout has gaps, overlap or broadcast axes.

    Axes of length 1 do not decide, but keep a place in the result, so that it is a permutation of ``0..ndim-1``.
    """
    return _ordered(shape, stride, gaps=False)


def nested_dim_order(shape: Sequence[int], stride: Sequence[int]) -> DimOrder | None:
    """Axes from outermost to innermost in memory, gaps allowed, or None where axes overlap or are broadcast."""
    return _ordered(shape, stride, gaps=True)


def is_contiguous_order(order: Sequence[int]) -> bool:
    """Whether a dimension order is the row-major one, ``0, 1, …, ndim-1``."""
    return all(place == axis for place, axis in enumerate(order))


def walk_order(shape: Sequence[int], stride: Sequence[int]) -> DimOrder:
    """The order to walk any layout in, outermost first: by decreasing stride, axes of stride 0 outermost.

    Unlike the two questions above this always has an answer; a broadcast axis re-reads the same cells, so it
    goes outside, where the re-reading finds them in cache at the coarsest grain.
    """
    return tuple(sorted(range(len(shape)), key=lambda a: (stride[a] != 0, -abs(stride[a]), a)))
