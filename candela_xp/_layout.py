"""How an array addresses its elements: shape, stride, offset over one buffer (source: Candela, Memory Layout).

A `Layout` is plain data. Element ``[i, j, …]`` sits at buffer position ``offset + i*stride[0] + j*stride[1] + …``;
strides and offset count *elements* and may be negative or 0. Every operation that only changes how elements
are addressed is a method that returns a new layout, or None where no layout can express it; only public
functions turn None into an error or a copy. Invariants:

1. ``len(shape) == len(stride)``, every extent is at least 0.
2. A layout is immutable and hashable; equal fields mean equal layouts.
3. No method looks at memory; none needs to know the buffer.
4. A view without elements keeps the offset: there is no first element to point at, and the buffer may hold none.

The views of Strata are here too: Block (`block`), Slice (`select`), Permute (`permute`), Diagonal
(`merge_diagonal`), Expanded (`expanded`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import gcd, prod
from typing import NamedTuple

from candela_xp._order import dim_order, nested_dim_order

Shape = tuple[int, ...]


def row_major_stride(shape: Sequence[int]) -> Shape:
    """Strides (elements) of a dense row-major array; an extent of 0 counts as 1."""
    stride = []
    step = 1
    for extent in reversed(shape):
        stride.append(step)
        step *= extent or 1
    return tuple(reversed(stride))


class Layout(NamedTuple):
    """Shape, stride (elements) and offset (elements) of a view of a buffer.

    `adj_stride` and `len` follow from these three, so they are computed, not stored.

    Attributes
    ----------
    shape : tuple of int
        Extent of each axis.
    stride : tuple of int
        How many elements of the buffer lie between neighbours along each axis; may be negative or 0.
    offset : int
        Position of the first element in the buffer, in elements.
    """

    shape: Shape
    stride: Shape
    offset: int = 0

    @classmethod
    def contiguous(cls, shape: Shape, offset: int = 0) -> Layout:
        """The dense row-major layout of ``shape``."""
        return cls(shape, row_major_stride(shape), offset)

    @classmethod
    def in_order(cls, shape: Shape, order: Sequence[int], offset: int = 0) -> Layout:
        """The dense layout of ``shape`` whose axes lie in memory in ``order``, outermost first."""
        inner = row_major_stride([shape[axis] for axis in order])
        stride = [0] * len(shape)
        for place, axis in enumerate(order):
            stride[axis] = inner[place]
        return cls(shape, tuple(stride), offset)

    # -- derived fields ------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def len(self) -> int:
        """Number of elements, the product of the shape."""
        return prod(self.shape)

    @property
    def adj_stride(self) -> Shape:
        """How far the position moves when axis d steps and every axis inside it wraps to 0 (elements).

        ``adj_stride[d] = stride[d] - sum(stride[k] * (shape[k] - 1) for k > d)``: a walk over all elements
        needs one addition a step instead of one multiplication an axis.
        """
        adjusted = []
        walked = 0
        for extent, step in zip(reversed(self.shape), reversed(self.stride)):
            adjusted.append(step - walked)
            walked += step * (extent - 1)
        return tuple(reversed(adjusted))

    @property
    def dim_order(self) -> tuple[int, ...] | None:
        """Axes from outermost to innermost if the layout is dense, else None."""
        return dim_order(self.shape, self.stride)

    @property
    def nested_dim_order(self) -> tuple[int, ...] | None:
        """Axes from outermost to innermost if they nest (gaps allowed), else None."""
        return nested_dim_order(self.shape, self.stride)

    def element_offset(self, index: Sequence[int]) -> int:
        """Buffer position (elements) of the element at ``index``, one integer in range for each axis."""
        return self.offset + sum(i * step for i, step in zip(index, self.stride))

    def bounds(self) -> tuple[int, int] | None:
        """Lowest and highest buffer position (elements, both inclusive), or None without elements."""
        low = high = self.offset
        for extent, step in zip(self.shape, self.stride):
            if extent == 0:
                return None
            reach = (extent - 1) * step
            if reach < 0:
                low += reach
            else:
                high += reach
        return low, high

    def fits(self, size: int) -> bool:
        """Whether every element lies in a buffer of ``size`` elements (for layouts from outside)."""
        if len(self.shape) != len(self.stride) or any(extent < 0 for extent in self.shape):
            return False
        bounds = self.bounds()
        return 0 <= self.offset <= size if bounds is None else bounds[0] >= 0 and bounds[1] < size

    # -- structural flags ----------------------------------------------------------------------

    @property
    def is_contiguous(self) -> bool:
        """Whether walking the indices in row-major order moves one element a step.

        Not Candela's ``adj_stride[0] == 1``: ``[2, 5][:, ::2]`` passes that test with stride (5, 2).
        """
        if len(self.shape) == 1:  # the commonest, and hot
            return self.stride[0] == 1 or self.shape[0] <= 1
        expected = 1
        for extent, step in zip(reversed(self.shape), reversed(self.stride)):
            if extent == 0:
                return True
            if extent != 1:
                if step != expected:
                    break
                expected *= extent
        else:
            return True
        return 0 in self.shape

    @property
    def is_dense(self) -> bool:
        """Whether the elements fill one run of memory, in whatever order of axes and direction."""
        return self.dim_order is not None

    @property
    def is_transposed(self) -> bool:
        """Whether some axis that is not broadcast steps backwards once the axes inside it have wrapped.

        Candela's meaning: also true for reversed axes and for overlapping windows. Never decide a BLAS pack
        from it; `core_is_packed` looks at the two strides that matter.
        """
        return any(adjusted < 0 and step != 0 for adjusted, step in zip(self.adj_stride, self.stride))

    @property
    def is_broadcast(self) -> bool:
        """Whether some axis longer than 1 has stride 0, so that several indices read one element."""
        return any(step == 0 and extent > 1 for extent, step in zip(self.shape, self.stride))

    @property
    def overlaps_itself(self) -> bool:
        """Whether two different indices address one element. Exact."""
        if 0 in self.shape or self.nested_dim_order is not None:
            return False
        axes = [(abs(step), extent - 1) for extent, step in zip(self.shape, self.stride) if extent > 1]
        axes.sort(reverse=True)
        if axes[-1][0] == 0:
            return True
        cells = sum(step * reach for step, reach in axes) // gcd(*[step for step, _ in axes]) + 1
        return self.len > cells or _has_nonzero_relation(axes)

    def may_overlap(self, other: Layout) -> bool:
        """Whether two layouts over one buffer can share an element: False is certain, True is not.

        Decided by the ranges of positions and by the common divisor of all strides, which tells apart
        interleaved views such as the real and the imaginary components.
        """
        mine, theirs = self.bounds(), other.bounds()
        if mine is None or theirs is None or mine[1] < theirs[0] or theirs[1] < mine[0]:
            return False
        steps = [s for n, s in zip(self.shape + other.shape, self.stride + other.stride) if n > 1]
        divisor = gcd(*steps)
        distance = self.offset - other.offset
        return distance % divisor == 0 if divisor else distance == 0

    def core_is_packed(self, rows: int = -2, columns: int = -1) -> bool:
        """Whether BLAS can read the matrix on these two axes in place, plain or transposed.

        One of the two strides must be 1 and the other at least the length of that axis; axes of length 1
        put no condition. Negative and zero strides need a pack.
        """
        (m, n), (row, column) = (self.shape[rows], self.shape[columns]), (self.stride[rows], self.stride[columns])
        plain = (n == 1 or column == 1) and (m == 1 or row >= max(n, 1))
        transposed = (m == 1 or row == 1) and (n == 1 or column >= max(m, 1))
        return m == 0 or n == 0 or plain or transposed

    # -- views ---------------------------------------------------------------------------------

    def permute(self, axes: Sequence[int]) -> Layout:
        """Reorder axes: new axis k is old axis ``axes[k]``; ``axes`` is a permutation of ``0..ndim-1``."""
        shape, stride = self.shape, self.stride
        return Layout(tuple([shape[a] for a in axes]), tuple([stride[a] for a in axes]), self.offset)

    def transpose(self) -> Layout:
        """Reverse the axes."""
        shape, stride, offset = self
        return new_layout((shape[::-1], stride[::-1], offset))

    def matrix_transpose(self) -> Layout:
        """Swap the last two axes (at least two are needed)."""
        shape, stride = self.shape, self.stride
        return Layout((*shape[:-2], shape[-1], shape[-2]), (*stride[:-2], stride[-1], stride[-2]), self.offset)

    def move(self, source: Sequence[int], destination: Sequence[int]) -> Layout:
        """Put the axes ``source`` at the places ``destination``; the others keep their order."""
        order = [axis for axis in range(self.ndim) if axis not in source]
        for place, axis in sorted(zip(destination, source)):
            order.insert(place, axis)
        return self.permute(order)

    def expand(self, axes: Iterable[int]) -> Layout:
        """Insert axes of length 1 at these places *of the result* (distinct, in range)."""
        shape, stride = list(self.shape), list(self.stride)
        for axis in sorted(axes):
            # The stride that a row-major axis would have here: it keeps a dense layout looking dense.
            step = shape[axis] * stride[axis] if axis < len(shape) else 1
            shape.insert(axis, 1)
            stride.insert(axis, step)
        return Layout(tuple(shape), tuple(stride), self.offset)

    def squeeze(self, axes: Iterable[int]) -> Layout | None:
        """Drop these axes, or None where one of them is not of length 1."""
        dropped = set(axes)
        if any(self.shape[axis] != 1 for axis in dropped):
            return None
        kept = [axis for axis in range(self.ndim) if axis not in dropped]
        return self.permute(kept)

    def flip(self, axes: Iterable[int]) -> Layout:
        """Reverse these axes (distinct)."""
        stride, offset = list(self.stride), self.offset
        for axis in axes:
            offset += (self.shape[axis] - 1) * stride[axis]
            stride[axis] = -stride[axis]
        return Layout(self.shape, tuple(stride), self.offset if 0 in self.shape else offset)

    def broadcast_to(self, shape: Shape) -> Layout | None:
        """Stretch axes of length 1 and prepend axes, all with stride 0, or None where shapes disagree."""
        added = len(shape) - self.ndim
        if added < 0:
            return None
        stride = [0] * added
        for have, want, step in zip(self.shape, shape[added:], self.stride):
            if have == want:
                stride.append(step)
            elif have == 1:
                stride.append(0)
            else:
                return None
        return Layout(shape, tuple(stride), self.offset)

    def select(self, axis: int, index: int) -> Layout:
        """Fix one axis at ``index`` (in range) and drop it."""
        shape, stride = self.shape[:axis] + self.shape[axis + 1 :], self.stride[:axis] + self.stride[axis + 1 :]
        return Layout(shape, stride, self.offset if 0 in shape else self.offset + index * self.stride[axis])

    def slice(self, axis: int, start: int, step: int, count: int) -> Layout:
        """Take ``count`` elements of one axis, ``start, start + step, …`` (all in range)."""
        shape, stride = list(self.shape), list(self.stride)
        shape[axis] = count
        offset = self.offset if 0 in shape else self.offset + start * stride[axis]
        # The step to a second element that isn't there may be any number, also one too large for NumPy.
        if count > 1:
            stride[axis] *= step
        return Layout(tuple(shape), tuple(stride), offset)

    def block(self, corner: Sequence[int], size: Shape) -> Layout:
        """Cut to a box: a corner and an extent on each axis (in range)."""
        offset = self.offset if 0 in size else self.element_offset(corner)
        return Layout(size, self.stride, offset)

    def diagonal(self, offset: int = 0) -> Layout:
        """The diagonals of the last two axes, as the last axis: element i is ``[…, i, i + offset]``."""
        (rows, columns), (row, column) = self.shape[-2:], self.stride[-2:]
        count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
        shape = (*self.shape[:-2], count)
        start = 0 if 0 in shape else max(offset, 0) * column - min(offset, 0) * row
        return Layout(shape, (*self.stride[:-2], row + column), self.offset + start)

    def merge_diagonal(self, axes: Sequence[int]) -> Layout | None:
        """Read several axes along their common diagonal: they become one, at the place of the first.

        None where their extents differ.
        """
        first, extent = axes[0], self.shape[axes[0]]
        if any(self.shape[axis] != extent for axis in axes):
            return None
        step = sum(self.stride[axis] for axis in axes)
        rest = [axis for axis in range(self.ndim) if axis not in axes[1:]]
        stride = tuple(step if axis == first else self.stride[axis] for axis in rest)
        return Layout(tuple(self.shape[axis] for axis in rest), stride, self.offset)

    def expanded(self, space: Shape, axes: Sequence[int]) -> Layout | None:
        """Read as an array of shape ``space``: element ``s`` is the operand's at ``[s[axes[0]], s[axes[1]], …]``.

        Axes of the space that no operand axis names are broadcast; one named twice reads a diagonal. None
        where an extent of the operand is smaller than the space's.
        """
        stride = [0] * len(space)
        for extent, step, axis in zip(self.shape, self.stride, axes):
            if extent < space[axis]:
                return None
            stride[axis] += step
        return Layout(space, tuple(stride), self.offset)

    def windows(self, axis: int, size: int, step: int = 1) -> Layout | None:
        """Windows of ``size`` along ``axis``, every ``step``; the place in the window becomes the last axis.

        The windows overlap where ``step < size``. None where the axis is shorter than a window.
        """
        extent, along = self.shape[axis], self.stride[axis]
        if size > extent:
            return None
        shape, stride = list(self.shape), list(self.stride)
        shape[axis], stride[axis] = (extent - size) // step + 1, along * step
        return Layout((*shape, size), (*stride, along), self.offset)

    def component(self, index: int, parts: int) -> Layout:
        """View one of ``parts`` equal parts of every element (real or imaginary), in units of the part."""
        stride = tuple([step * parts for step in self.stride])
        return Layout(self.shape, stride, self.offset * parts + (0 if 0 in self.shape else index))

    def reshape(self, shape: Shape) -> Layout | None:
        """The same elements in the same row-major order of indices under another shape, or None.

        A view exists exactly where every new axis splits one maximal run of old axes that chain
        (``stride[k] == shape[k+1] * stride[k+1]``). ``shape`` has the same number of elements.
        """
        if 0 in shape:
            return Layout.contiguous(shape, self.offset)
        runs: list[tuple[int, int]] = []
        for extent, step in zip(self.shape, self.stride):
            if extent == 1:
                continue
            if runs and runs[-1][1] == extent * step:
                runs[-1] = (runs[-1][0] * extent, step)
            else:
                runs.append((extent, step))
        stride = [1] * len(shape)
        left, step = 1, 1
        for axis in range(len(shape) - 1, -1, -1):
            extent = shape[axis]
            if extent != 1:
                if left == 1:
                    left, step = runs.pop()
                if left % extent:
                    return None
            stride[axis] = step
            step *= extent
            left //= extent
        return new_layout((shape, tuple(stride), self.offset))

    def flattened(self) -> Layout | None:
        """The elements in row-major order along one axis, or None where no stride expresses it."""
        return self.reshape((self.len,))


# A layout of its three fields, for hot paths: 74 ns instead of the class's own 154.
new_layout: Callable[[tuple[Shape, Shape, int]], Layout] = partial(tuple.__new__, Layout)


def _has_nonzero_relation(axes: Sequence[tuple[int, int]]) -> bool:
    """Whether ``sum(d[k] * step[k]) == 0`` for some d != 0 with ``|d[k]| <= reach[k]``.

    ``axes`` holds (step, reach) by decreasing step, steps positive. Depth-first, cut off where what is
    left of the axes cannot bring the sum back to 0, being too short or of a divisor that the sum lacks. Few axes
    and a nearly nested layout keep it short.
    """
    tail, divisor = [0] * (len(axes) + 1), [0] * (len(axes) + 1)
    for k in range(len(axes) - 1, -1, -1):
        tail[k] = tail[k + 1] + axes[k][0] * axes[k][1]
        divisor[k] = gcd(divisor[k + 1], axes[k][0])

    def search(k: int, total: int, nonzero: bool) -> bool:
        if k == len(axes):
            return nonzero
        if total % divisor[k]:
            return False
        step, reach = axes[k]
        # -total - tail <= d * step <= -total + tail, and by symmetry the first nonzero d may be taken positive
        low = max(-reach if nonzero else 0, -((total + tail[k + 1]) // step))
        high = min(reach, (tail[k + 1] - total) // step)
        return any(search(k + 1, total + d * step, nonzero or d != 0) for d in range(low, high + 1))

    return search(0, 0, False)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape | None:
    """The shape to which all of these stretch, or None."""
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for place, extent in enumerate(shape, ndim - len(shape)):
            if extent != 1:
                if result[place] == 1:
                    result[place] = extent
                elif result[place] != extent:
                    return None
    return tuple(result)
