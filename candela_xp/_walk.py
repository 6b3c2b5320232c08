"""Run kernels over memory in the order that `_traversal` plans: block after block, on several threads.

`Program` is a chain of kernel calls in terms of slots: the operands that are read, those that are written, constants,
and values that live for one block. `run` takes it over a walk; every thread has its own memory for the values of a
block.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from candela_xp import _pool, _settings, _workers
from candela_xp._buffer import Buffer, adopt
from candela_xp._kernels import Kernel, convert
from candela_xp._layout import Layout, Shape
from candela_xp._order import DimOrder
from candela_xp._traversal import Walk, plan, preferred_order

NumPyArray = np.ndarray[Any, Any]

# A staged block has a gap after each row: rows of a power of two in length would all fall on the same cache lines.
_GAP = 8
# With fewer bytes times weights of kernels than this, all is done in one piece and by one thread. Sums of squares of
# differences, two threads against one: 10^6 float32 1.3 times as long, 10^6 float64 0.75; exp of 10^6 float32 0.8.
ALONE = 11 * 2**20


class Operand(NamedTuple):
    """Memory under a layout: what a walk reads or writes."""

    buffer: Buffer
    layout: Layout
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, view: NumPyArray) -> Operand:
        """The memory of a NumPy array whose strides are whole elements."""
        adopted = adopt(view)
        assert adopted is not None, "kernels give strides in whole elements"
        return cls(*adopted, view.dtype)

    @property
    def shape(self) -> Shape:
        """Extent of each axis."""
        return self.layout.shape

    def view(self) -> NumPyArray:
        """All of it as a NumPy array."""
        return self.buffer.view(self.layout, self.dtype)


class Instruction(NamedTuple):
    """One kernel call: the slots that it reads, and the one that it writes."""

    kernel: Kernel
    reads: tuple[int, ...]
    write: int


class Program(NamedTuple):
    """Kernel calls for one block.

    Slots are numbered through: first the walk's operands, then the constants, then the values of the block.
    """

    instructions: tuple[Instruction, ...]
    constants: tuple[Any, ...] = ()
    values: tuple[np.dtype[Any], ...] = ()


# Takes a block's place in the grid and its slots
Consumer = Callable[[Shape, list[Any]], None]


class _Worker:
    """What one thread needs to run a program over blocks: views of the operands, memory for a block's values."""

    def __init__(self, walk: Walk, operands: Sequence[Operand], program: Program) -> None:
        self.operands = [
            (operand.buffer.root, operand.dtype, operand.dtype.itemsize, _in_bytes(layout, operand.dtype.itemsize))
            for operand, layout in zip(operands, walk.operands)
        ]
        self.walk = walk
        self.program = program
        size = prod(walk.block)
        self.values = [scratch((size,), dtype) for dtype in program.values]
        read = {slot for instruction in program.instructions for slot in instruction.reads}
        read -= {instruction.write for instruction in program.instructions}  # what is written is in the walk's order
        self.staged = [
            (slot, *_stage(walk, layout, operands[slot].dtype))
            for slot, (layout, turned) in enumerate(zip(walk.operands, walk.turned))
            if turned and (slot in read or not program.instructions)
        ]
        self.extents: Shape | None = None
        self.fitted: list[NumPyArray] = []
        self.stages: list[tuple[int, NumPyArray]] = []

    def _fit(self, extents: Shape) -> None:
        """Cut the memory for a block to its extents; most blocks have the same."""
        self.extents = extents
        size = prod(extents)
        self.fitted = [value[:size].reshape(extents) for value in self.values]
        corner = tuple([slice(0, extent) for extent in extents])
        self.stages = [(slot, memory.transpose(order)[corner]) for slot, memory, order in self.staged]

    def slots(self, extents: Shape, offsets: tuple[int, ...]) -> list[Any]:
        """The slots of a block, before any kernel call."""
        if extents != self.extents:
            self._fit(extents)
        ndarray = np.ndarray
        slots: list[Any] = [
            ndarray(extents, dtype, root, offset * itemsize, strides)
            for (root, dtype, itemsize, strides), offset in zip(self.operands, offsets)
        ]
        for slot, stage in self.stages:
            stage[...] = slots[slot]
            slots[slot] = stage
        slots += self.program.constants
        slots += self.fitted
        return slots

    def blocks(self, first: int, count: int, consume: Consumer | None) -> None:
        """Run the program over consecutive blocks."""
        for place, extents, offsets in self.walk.steps(first, count):
            slots = self.slots(extents, offsets)
            for kernel, reads, write in self.program.instructions:
                kernel(*[slots[read] for read in reads], out=slots[write])
            if consume is not None:
                consume(place, slots)


class _FlatWorker(_Worker):
    """The same where one index walks all operands: a block is a slice of each.

    Half of the time that Python takes for a block otherwise: 4 µs less for a chain of five operations.
    """

    def __init__(self, walk: Walk, operands: Sequence[Operand], program: Program) -> None:
        super().__init__(walk, operands, program)
        self.whole = [
            np.ndarray(walk.shape, dtype, root, layout.offset * itemsize, strides)
            for (root, dtype, itemsize, strides), layout in zip(self.operands, walk.operands)
        ]
        # Most kernels take one operand or two: so many that the call is spelled out.
        self.calls = [
            (kernel, reads[0], reads[1] if len(reads) == 2 else -1, write, reads if len(reads) > 2 else None)
            for kernel, reads, write in program.instructions
        ]

    def blocks(self, first: int, count: int, consume: Consumer | None) -> None:
        (size,), (length,) = self.walk.shape, self.walk.block
        constants, whole, calls = self.program.constants, self.whole, self.calls
        start = first * length
        for number in range(first, first + count):
            stop = min(start + length, size)
            if start >= stop:
                return
            extents = (stop - start,)
            if extents != self.extents:
                self._fit(extents)
            piece = slice(start, stop)
            slots: list[Any] = [*[x[piece] for x in whole], *constants, *self.fitted]
            for kernel, one, two, write, more in calls:
                if two >= 0:
                    kernel(slots[one], slots[two], out=slots[write])
                elif more is None:
                    kernel(slots[one], out=slots[write])
                else:
                    kernel(*[slots[read] for read in more], out=slots[write])
            if consume is not None:
                consume((number,), slots)
            start = stop


def scratch(shape: Shape, dtype: np.dtype[Any]) -> NumPyArray:
    """Memory for the values of a block. Recycled: fresh pages for two values of a block took as long as five adds."""
    root, _ = _pool.allocate(prod(shape) * dtype.itemsize)
    return root.view(dtype).reshape(shape)


def _in_bytes(layout: Layout, itemsize: int) -> Shape:
    return tuple([step * itemsize for step in layout.stride])


def _stage(walk: Walk, layout: Layout, dtype: np.dtype[Any]) -> tuple[NumPyArray, tuple[int, ...]]:
    """Memory for a block of an operand in the operand's own order, and the axes that bring it into the walk's."""
    order = sorted(range(len(walk.block)), key=lambda axis: (-abs(layout.stride[axis]), axis))
    shape = [walk.block[axis] for axis in order]
    memory = scratch((*shape[:-1], shape[-1] + _GAP), dtype)[..., : shape[-1]]
    return memory, tuple([order.index(axis) for axis in range(len(order))])


def threads_for(work: int) -> int:
    """How many threads so much work is worth (bytes of an operand times weights of the kernels, see `weight`)."""
    return 1 if work < ALONE else _settings.current().threads


def run(walk: Walk, operands: Sequence[Operand], program: Program, work: int, consume: Consumer | None = None) -> None:
    """Run a program over all blocks of a walk.

    Parameters
    ----------
    walk
        The walk over the operands.
    operands
        Memory of each, in the walk's order.
    program
        The kernel calls.
    work
        How much it is, see `threads_for`.
    consume
        Gets each block's place in the grid and its slots after the kernel calls. Blocks come in any order, from any
        thread, one at a time for each place.
    """
    count = walk.blocks
    if count == 0:
        return
    threads = min(threads_for(work), count)
    # A thread takes some neighbouring blocks at a time: few enough that the last ones end together.
    together = max(1, min(16, count // (threads * 8)))
    turns = itertools.count()
    make = _FlatWorker if len(walk.shape) == 1 and not any(walk.turned) else _Worker

    def task() -> None:
        worker = None
        while (first := next(turns) * together) < count:
            if worker is None:
                worker = make(walk, operands, program)
            worker.blocks(first, together, consume)

    _workers.run(task, threads)


# A lone kernel is cut into few pieces, so a second thread pays sooner: from an addition of 10^6 float64 on.
ALONE_WHOLE = 7 * 2**20


def run_whole(kernel: Kernel, operands: Sequence[Any], out: NumPyArray, work: int) -> None:
    """One kernel over arrays of one shape (and constants), in a few pieces where several threads are worth it."""
    threads = 1 if work < ALONE_WHOLE else _settings.current().threads
    size = len(out) if out.ndim else 1
    if threads == 1 or size < threads * 4:
        kernel(*operands, out=out)
        return
    # A few pieces for each thread: who is held up takes fewer. Whole cache lines, where there is one axis.
    unit = 64 if out.ndim == 1 else 1
    length = -(-size // (threads * 4 * unit)) * unit
    turns = itertools.count()

    def task() -> None:
        while (start := next(turns) * length) < size:
            piece = slice(start, start + length)
            kernel(*[x[piece] if isinstance(x, np.ndarray) and x.ndim else x for x in operands], out=out[piece])

    _workers.run(task, threads)


def allocated(shape: Shape, order: DimOrder, dtype: np.dtype[Any]) -> Operand:
    """New dense memory whose axes lie in an order, outermost first; large memory is recycled."""
    layout = Layout.in_order(shape, order)
    root, _ = _pool.allocate(layout.len * dtype.itemsize)
    return Operand(Buffer(root), layout, dtype)


def assign(source: Any, /, out: Any) -> Any:
    """Kernel that converts to the dtype of ``out``."""
    convert(source, out)
    return out


def copy_into(destination: Operand, source: Operand) -> None:
    """Copy element for element; the layouts have one shape and share no memory."""
    layouts = (destination.layout, source.layout)
    walk = plan(destination.layout.shape, layouts, _settings.current().block_elements, destination=0)
    work = destination.layout.len * max(destination.dtype.itemsize, source.dtype.itemsize)
    run(walk, (destination, source), Program((Instruction(assign, (1,), 0),)), work)


def packed(source: Operand, order: DimOrder | None = None, dtype: np.dtype[Any] | None = None) -> Operand:
    """A dense copy, row-major or with its axes in another order, perhaps in another dtype."""
    shape = source.layout.shape
    target = allocated(shape, order or tuple(range(len(shape))), dtype or source.dtype)
    copy_into(target, source)
    return target


def dense_copy(view: NumPyArray) -> NumPyArray:
    """A row-major copy of a NumPy array; where that is much to do, through the walk and into recycled memory."""
    # Tiles pay from 2^15 float64 on.
    size = view.nbytes if view.flags.c_contiguous else view.nbytes * 24
    if size >= _settings.defer_floor and size >= _settings.current().defer_min_bytes:
        adopted = adopt(view)
        if adopted is not None:  # else a field of a structured array
            return packed(Operand(*adopted, view.dtype)).view()
    return np.array(view, order="C", copy=True)


LINES = 2**17
"""Elements of the lines that are packed at a time, see `lines`."""


def lines(
    source: Operand,
    axis: int,
    function: Callable[[NumPyArray], NumPyArray],
    target: Operand,
    *,
    keeps_axis: bool,
) -> None:
    """Apply a function to all lines along an axis, some of them at a time, each dense in memory.

    Parameters
    ----------
    source
        What is read.
    axis
        The axis along which the lines lie.
    function
        Takes an array whose last axis holds the lines, which it may change, and returns what is assigned to the target.
    target
        Memory for the results: of the source's shape, or without the axis.
    keeps_axis
        Whether the target has the axis.
    """
    layout = source.layout
    extent, step = layout.shape[axis], layout.stride[axis]
    rest = _without(layout, axis)
    into = _without(target.layout, axis) if keeps_axis else target.layout
    budget = max(1, LINES // max(extent, 1))
    walk = plan(rest.shape, (rest, into), budget, flips=False)
    count = walk.blocks
    if count == 0:
        return
    read, write = _in_bytes(walk.operands[0], source.dtype.itemsize), _in_bytes(walk.operands[1], target.dtype.itemsize)
    read = (*read, step * source.dtype.itemsize)
    if keeps_axis:
        write = (*write, target.layout.stride[axis] * target.dtype.itemsize)
    threads = min(threads_for(layout.len * source.dtype.itemsize * 4), count)
    turns = itertools.count()

    def work() -> None:
        memory = scratch((*walk.block, extent + _GAP), source.dtype)[..., :extent]
        stage = scratch((prod(walk.block) * min(extent, _ROWS) + _ROWS * _GAP,), source.dtype)
        while (number := next(turns)) < count:
            ((_, extents, offsets),) = walk.steps(number, 1)
            place = offsets[0] * source.dtype.itemsize
            taken = np.ndarray((*extents, extent), source.dtype, source.buffer.root, place, read)
            packed = memory[tuple([slice(0, n) for n in extents])]
            _turn(packed, taken, stage)
            place = offsets[1] * target.dtype.itemsize
            shape = (*extents, target.layout.shape[axis]) if keeps_axis else extents
            np.ndarray(shape, target.dtype, target.buffer.root, place, write)[...] = function(packed)

    _workers.run(work, threads)


_ROWS = 256


def _turn(packed: NumPyArray, taken: NumPyArray, stage: NumPyArray) -> None:
    """Copy lines that lie across memory into dense ones, some rows at a time through a small copy.

    Read along the lines, each element would be on another cache line, and those of rows of a power of two in length
    would drive each other out of the cache: argmax over axis 0 of float64 4096×4096 took 1.9 times as long so.
    """
    if taken.ndim != 2 or abs(taken.strides[0]) > abs(taken.strides[1]):
        packed[...] = taken
        return
    lines, extent = taken.shape
    for start in range(0, extent, _ROWS):
        rows = taken[:, start : start + _ROWS].T
        few = stage[: rows.shape[0] * (lines + _GAP)].reshape(rows.shape[0], lines + _GAP)[:, :lines]
        few[...] = rows
        packed[:, start : start + _ROWS] = few.T


def _without(layout: Layout, axis: int) -> Layout:
    shape, stride, offset = layout
    return Layout(shape[:axis] + shape[axis + 1 :], stride[:axis] + stride[axis + 1 :], offset)


def rows(source: Operand, axis: int, function: Callable[[NumPyArray, NumPyArray], None], target: Operand) -> None:
    """Call a function on pieces of source and target that hold the whole axis, which comes first in them.

    For functions that go step by step along a far axis, each step on a near row. The target has the source's shape but
    for the extent of the axis.
    """
    rest, into = _without(source.layout, axis), _without(target.layout, axis)
    threads = threads_for(source.layout.len * source.dtype.itemsize)
    budget = min(max(rest.len // threads, 2048), 16384)
    walk = plan(rest.shape, (rest, into), budget, destination=1, flips=False)
    turns = itertools.count()
    pieces = [
        (x, _in_bytes(Layout((0,), (x.layout.stride[axis],)), x.dtype.itemsize) + _in_bytes(over, x.dtype.itemsize))
        for x, over in zip((source, target), walk.operands)
    ]

    def work() -> None:
        while (number := next(turns)) < walk.blocks:
            ((_, extents, offsets),) = walk.steps(number, 1)
            views = [
                np.ndarray((x.layout.shape[axis], *extents), x.dtype, x.buffer.root, offset * x.dtype.itemsize, stride)
                for (x, stride), offset in zip(pieces, offsets)
            ]
            function(*views)

    _workers.run(work, min(threads, max(walk.blocks, 1)))


__all__ = [
    "Instruction",
    "Operand",
    "Program",
    "allocated",
    "assign",
    "copy_into",
    "dense_copy",
    "lines",
    "packed",
    "plan",
    "preferred_order",
    "rows",
    "run",
    "run_whole",
    "threads_for",
]
