"""In which order to walk memory, as plain data.

Sources: Strata (traversal order), Burn (dimension order), Candela (adj_stride).

`plan` looks at the layouts of a destination and its operands and says: which axes are walked backwards, in which order,
which of them chain into one, and how large the blocks are that one kernel call takes. Nothing here touches memory, so
all of it is tested against the enumeration of the elements.

1. *Signs*: an axis that no operand walks forwards is turned round for all of them.
2. *Order*: the destination's, so that it is written front to back; without one, the order that all operands have in
   common, else row-major.
3. *Merging*: neighbouring axes that chain in every operand are one axis. Operands that are dense in one order leave a
   single axis: they are walked by one flat index.
4. *Blocks*: ``flat`` and ``rows`` fill them from the innermost axis outwards. Where some operand is nearest along
   another axis, the blocks are ``tiles`` that are long enough on both axes, so that each cache line is read once.

Block after block, the offset of an operand moves by the `adj_stride` of the grid of blocks: one addition a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

from candela_xp._layout import Layout, Shape
from candela_xp._order import DimOrder, walk_order

TILE = 64
"""Extent of a tile on the destination's nearest axis (elements). float64 4096×4096 transposed, blocks of 32 Ki: 32, 64,
128 and 256 took 1.25, 1, 1 and 1.3 times as long."""


class Walk(NamedTuple):
    """How to walk some operands of one shape together.

    Attributes
    ----------
    kind
        ``flat`` (one axis), ``rows`` or ``tiles``.
    axes
        For each axis of the walk, outermost first, the axes that it merges, outermost first.
    shape
        The extent of each axis of the walk; a walk without axes has one element.
    block
        The extent of a block on each axis; the last block of an axis may be shorter.
    operands
        Each operand over the axes of the walk.
    turned
        For each operand, whether it is nearest along another axis than the innermost, so that a kernel should read it
        through a small copy.
    grid
        Number of blocks along each axis.
    jumps
        For each axis, how far each operand's offset moves when the block steps along it and those inside wrap: the
        `adj_stride` of the grid.
    """

    kind: str
    axes: tuple[tuple[int, ...], ...]
    shape: Shape
    block: Shape
    operands: tuple[Layout, ...]
    turned: tuple[bool, ...]
    grid: Shape
    jumps: tuple[tuple[int, ...], ...]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return prod(self.grid)

    def steps(self, first: int, count: int) -> Iterator[tuple[Shape, Shape, tuple[int, ...]]]:
        """Consecutive blocks in row-major order of the grid, from number ``first`` on, ``count`` at most.

        Yields
        ------
        tuple
            Place in the grid, extents, and each operand's offset (elements).
        """
        grid, block, jumps = self.grid, self.block, self.jumps
        count = min(count, self.blocks - first)
        if count <= 0:
            return
        place = _unravelled(first, grid)
        corner = [number * length for number, length in zip(place, block)]
        offsets = tuple([layout.element_offset(corner) for layout in self.operands])
        innermost = len(grid) - 1
        while True:
            extents = tuple([min(length, n - p * length) for p, length, n in zip(place, block, self.shape)])
            yield tuple(place), extents, offsets
            count -= 1
            if count == 0:
                return
            axis = innermost
            while place[axis] == grid[axis] - 1:
                place[axis] = 0
                axis -= 1
            place[axis] += 1
            offsets = tuple([offset + jump for offset, jump in zip(offsets, jumps[axis])])


def _unravelled(number: int, grid: Shape) -> list[int]:
    place = []
    for extent in reversed(grid):
        number, rest = divmod(number, extent or 1)
        place.append(rest)
    return place[::-1]


@lru_cache(maxsize=256)
def preferred_order(shape: Shape, layouts: tuple[Layout, ...]) -> DimOrder:
    """The order of axes that operands have in common, outermost first; row-major where they disagree.

    Operands with broadcast axes have no say: they go along with any order.
    """
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    agreed: list[int] | None = None
    for layout in layouts:
        if any(layout.stride[axis] == 0 for axis in long):
            continue
        order = [axis for axis in walk_order(shape, layout.stride) if shape[axis] > 1]
        if agreed is None:
            agreed = order
        elif agreed != order:
            agreed = long
            break
    order = iter(agreed or long)  # type: ignore[assignment]  # the same axes, in turn
    # Axes of length 1 keep their place.
    return tuple([axis if extent <= 1 else next(order) for axis, extent in enumerate(shape)])  # type: ignore[call-overload]


@lru_cache(maxsize=256)  # loops walk the same layouts again and again, and planning takes longer than looking up
def plan(
    shape: Shape,
    layouts: tuple[Layout, ...],
    budget: int,
    *,
    destination: int | None = None,
    reduced: tuple[int, ...] = (),
    flips: bool = True,
) -> Walk:
    """Plan a walk over operands of one shape.

    Parameters
    ----------
    shape
        The common shape.
    layouts
        The operands' layouts, all of that shape (broadcast axes have stride 0).
    budget
        How many elements a block has at most (at least 1).
    destination
        Which operand is written; the walk follows its order.
    reduced
        Axes that a reduction takes together. They don't merge with the others, and blocks are long along them.
    flips
        Whether axes may be turned round.
    """
    if flips:
        layouts = _forwards(shape, layouts)
    if destination is None:
        order = preferred_order(shape, layouts)
    else:
        order = walk_order(shape, layouts[destination].stride)
    groups = _merged(shape, layouts, order, frozenset(reduced))
    extents = tuple([prod([shape[axis] for axis in group]) for group in groups])
    operands = tuple([Layout(extents, tuple([x.stride[group[-1]] for group in groups]), x.offset) for x in layouts])
    far = frozenset([place for place, group in enumerate(groups) if group[0] in reduced])
    nearest = [_nearest(layout) for layout in operands]
    innermost = len(groups) - 1
    conflicts = sorted({place for place in nearest if place is not None and place != innermost}, reverse=True)
    turned = tuple([place is not None and place != innermost for place in nearest])
    kind = "flat" if len(groups) <= 1 else "tiles" if conflicts else "rows"
    block = _block(extents, conflicts, far, max(budget, 1))
    grid = tuple([-(-extent // length) for extent, length in zip(extents, block)])
    coarse = [Layout(grid, tuple([s * n for s, n in zip(x.stride, block)]), x.offset) for x in operands]
    jumps = tuple(zip(*[layout.adj_stride for layout in coarse]))
    return Walk(kind, groups, extents, block, operands, turned, grid, jumps)


def _forwards(shape: Shape, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
    """The layouts with those axes turned round that no operand walks forwards."""
    for axis, extent in enumerate(shape):
        steps = [layout.stride[axis] for layout in layouts]
        if extent > 1 and min(steps, default=0) < 0 >= max(steps):
            layouts = tuple([layout.flip((axis,)) if step else layout for layout, step in zip(layouts, steps)])
    return layouts


def _merged(
    shape: Shape, layouts: tuple[Layout, ...], order: DimOrder, reduced: frozenset[int]
) -> tuple[tuple[int, ...], ...]:
    """The axes longer than 1 (or empty), in order, those in one group that chain in every operand."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        if shape[axis] == 1:
            continue
        if groups:
            outer = groups[-1][-1]
            chains = all(layout.stride[outer] == layout.stride[axis] * shape[axis] for layout in layouts)
            if chains and (outer in reduced) == (axis in reduced):
                groups[-1] = (*groups[-1], axis)
                continue
        groups.append((axis,))
    return tuple(groups)


def _nearest(layout: Layout) -> int | None:
    """The axis along which memory is nearest, or None where the innermost is as good as any.

    An operand that is broadcast along the innermost axis reads one element a row, whatever the order.
    """
    if not layout.stride or layout.stride[-1] == 0:
        return None
    steps = [(abs(step), -place) for place, (step, n) in enumerate(zip(layout.stride, layout.shape)) if step and n > 1]
    return -min(steps)[1] if steps else None


def _block(shape: Shape, conflicts: list[int], reduced: frozenset[int], budget: int) -> Shape:
    """Extents of a block of at most ``budget`` elements."""
    innermost = len(shape) - 1
    inwards = list(range(innermost, -1, -1))
    caps: dict[int, int] = {}
    first: list[int] = []
    if conflicts:
        # The innermost axis, then the axes along which others are nearest.
        caps[innermost] = min(TILE, _root(budget, len(conflicts) + 1))
        for place in conflicts[:-1]:
            caps[place] = _root(budget // caps[innermost], len(conflicts))
        first = [innermost, *conflicts]
    elif reduced and reduced != frozenset(inwards):
        if innermost not in reduced:
            # Whole near rows, so long that few partial results are left of a block, and not longer.
            caps[innermost] = max(_root(budget, 3) ** 2, 1)
            first = [innermost]
        first += [place for place in inwards if place in reduced]
    block = [1] * len(shape)
    left = budget
    for place in [*first, *[place for place in inwards if place not in first]]:
        block[place] = max(1, min(shape[place], left, caps.get(place, left)))
        left //= block[place]
    return tuple(block)


def _root(number: int, degree: int) -> int:
    """The greatest integer whose power of that degree is at most ``number`` (at least 1)."""
    root = max(1, int(number ** (1 / degree)))
    while (root + 1) ** degree <= number:
        root += 1
    while root > 1 and root**degree > number:
        root -= 1
    return root
