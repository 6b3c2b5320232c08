"""Expressions that wait to be computed (source: Strata, views and expressions).

A `Node` is one elementwise operation on operands of one shape. It is computed when somebody looks (`settle`): the
pending nodes that lead to it become one `Program`, which runs block by block, so that an intermediate value lives in
the cache and nowhere else. Three kinds of intermediates are stored all the same, so that nothing is computed twice: the
one asked for, those that a variable still holds, and those that some other pending node will read.

What always holds:

1. A node has a value, or operands from which it follows; never neither.
2. All pending operands of a node have its shape. Others are settled when the node is made.
3. A node is among the `readers` of every operand of its own kind and of every buffer that it reads. Who is about to
   write a buffer settles its readers first.
4. Two threads may compute a node at once. The first value published counts, the other is dropped.
5. Who computes counts as `active` on the buffers that it reads, from the moment on when it looked up which those are.
   Who is about to write waits for them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from candela_xp import _pool, _settings
from candela_xp._buffer import Buffer
from candela_xp._kernels import Kernel, converted, rounding, weight, wide, wide_kernel
from candela_xp._layout import Layout, Shape, row_major_stride
from candela_xp._order import walk_order
from candela_xp._traversal import Walk, plan, preferred_order
from candela_xp._walk import ALONE, Instruction, Operand, Program, allocated, assign, copy_into, run, run_whole
from candela_xp._workers import is_busy

MAX_NODES = 32
"""Longest chain that waits: a loop of updates is computed every so many steps."""
MAX_SOURCES = 8
"""Buffers that a chain reads at most: they stay alive until it is computed, also where no variable holds them."""
SMALL_SOURCE = 4096
"""Operands of at most so many bytes are copied when the node is made, which is quicker than keeping track of them."""

UNBROKEN = 2
"""How many times longer blocks are where no value is read again, so that nothing has to stay in the cache."""
WHOLE_FROM = 2**16
"""Small arrays are computed in one piece, values taking over each other's memory, unless blocks are asked to be shorter
than this: with 4 MB in the third level of the cache, planning and calls for blocks take longer than blocks save."""

_numbers = count()
# Held while values are published, and while it is looked up which memory a chain is to read.
_publishing = threading.Condition(threading.RLock())


def _new_lock() -> None:
    global _publishing
    _publishing = threading.Condition(threading.RLock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class Node:
    """An elementwise operation that waits.

    Attributes
    ----------
    name : str
        The function, as `candela_xp.explain` shows it.
    kernel
        Computes it: ``kernel(*operands, out=...)``.
    operands : tuple
        Nodes, memory under layouts of this shape, and constants. Empty once there is a value.
    shape, dtype
        Of the result.
    owner : weakref to an NDArray, or None
        The array that shows this node, while one does.
    readers : list of weakrefs to nodes
        Nodes that have this one as an operand.
    value : Operand or None
        The result, once there is one.
    number : int
        Later nodes have greater ones.
    weight : int
        How long it takes, see `_kernels.weight`.
    row_major : bool
        Whether the result is row-major whatever the operands are; else it has the order that they have in common.
    count, reads : int
        Upper bounds for the number of pending nodes that lead here, this one included, and of the buffers they read.
    """

    __slots__ = (
        "__weakref__",
        "count",
        "dtype",
        "errors",
        "kernel",
        "name",
        "number",
        "operands",
        "owner",
        "readers",
        "reads",
        "row_major",
        "shape",
        "value",
        "weight",
    )

    nbytes = inf  # in the place of a NumPy view it is always large

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        operands: Sequence[Any],
        shape: Shape,
        dtype: np.dtype[Any],
        errors: tuple[str, ...] | None = None,
        *,
        row_major: bool = False,
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.shape = shape
        self.dtype = dtype
        self.row_major = row_major
        self.weight = weight(name, kernel)
        self.owner: weakref.ref[Any] | None = None
        self.readers: list[weakref.ref[Node]] = []
        self.value: Operand | None = None
        self.errors = error_state() if errors is None else errors
        self.number = next(_numbers)
        own = weakref.ref(self)
        self.count, self.reads = 1, 0
        operands = self._enlisted(operands, own)
        if self.count > MAX_NODES or self.reads > MAX_SOURCES:
            _shorten([x for x in operands if type(x) is Node])
            self.count, self.reads = 1, 0
            operands = self._enlisted(operands, own)
        self.operands: tuple[Any, ...] = tuple(operands)

    def _enlisted(self, operands: Sequence[Any], own: weakref.ref[Node]) -> list[Any]:
        """The operands of this node under its shape, which is among their readers now; pending ones are counted."""
        shape = self.shape
        result = []
        for x in operands:
            if type(x) is Node:
                x = x.value or (x if x.shape == shape else x.settle())
            if type(x) is Operand:
                if x.layout.shape != shape:
                    layout = x.layout.broadcast_to(shape)
                    assert layout is not None, "the caller has checked the shapes"
                    x = x._replace(layout=layout)
                self.reads += 1
                _enlist(x.buffer.readers, own)
            elif type(x) is Node:
                self.count += x.count
                self.reads += x.reads
                _enlist(x.readers, own)
            result.append(x)
        return result

    def settle(self) -> Operand:
        """The result, computed now if it wasn't."""
        value = self.value
        if value is None:
            if not _settle_alone(self):
                with Chain(self, keep_root=True) as chain:
                    chain.run()
            value = self.value
            assert value is not None, "a chain publishes its root"
        return value

    def settle_into(self, destination: Operand) -> None:
        """Compute into memory that there is, of this shape and dtype, whose other readers are settled."""
        with Chain(self, keep_root=False, destination=destination) as chain:
            if not any(_tangled(destination, x) for x in chain.operands[1:]):
                chain.run()
                return
        copy_into(destination, self.settle())


def _tangled(destination: Operand, operand: Operand) -> bool:
    """Whether they may share memory other than element for element."""
    same = operand.buffer is destination.buffer and operand.dtype == destination.dtype
    if same and operand.layout == destination.layout:
        return False
    return np.may_share_memory(destination.view(), operand.view())


def error_state() -> tuple[str, ...]:
    """What NumPy does about a division by zero, an overflow, an underflow and an invalid operation."""
    return tuple(np.geterr().values())  # type: ignore[arg-type]  # NumPy's stubs say object


def _enlist(readers: list[weakref.ref[Node]], reader: weakref.ref[Node]) -> None:
    """Add a reader to a list; now and then those are dropped that wait no longer."""
    size = len(readers)
    if size >= 16 and size & (size - 1) == 0:  # at powers of two, or many readers would be looked at for each new one
        readers[:] = [ref for ref in readers if (node := ref()) is not None and node.value is None]
    if not readers or readers[-1] is not reader:
        readers.append(reader)


def _shorten(pending: list[Node]) -> None:
    """Settle pending operands, if the chain is as long as its bounds say: they count twice what is reached twice."""
    steps = _pending(pending)
    if len(steps) >= MAX_NODES or _reads(steps) > MAX_SOURCES:
        for node in pending:
            node.settle()
    else:
        for node in pending:
            below = _pending([node])
            node.count, node.reads = len(below), _reads(below)


def _reads(steps: list[tuple[Node, tuple[Any, ...]]]) -> int:
    """How many buffers these nodes read."""
    return len({id(x.buffer) for _, below in steps for x in below if isinstance(x, Operand)})


def _pending(roots: Sequence[Node]) -> list[tuple[Node, tuple[Any, ...]]]:
    """The pending nodes that lead to some nodes, operands before those that read them, with their operands.

    A snapshot: another thread may publish values meanwhile. Operands are read before the value, and written after it.
    """
    found: dict[Node, tuple[Any, ...]] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in found:
            continue
        operands = node.operands
        if node.value is not None:
            continue
        for x in operands:
            if type(x) is Node and x.value is not None:
                operands = tuple([x.value or x if type(x) is Node else x for x in operands])
                break
        found[node] = operands
        stack += [x for x in operands if type(x) is Node]
    # Whoever is read was made before.
    return sorted(found.items(), key=_in_time)


def _in_time(step: tuple[Node, Any]) -> int:
    return step[0].number


def _settle_alone(node: Node) -> bool:
    """Compute a node whose operands are row-major or broadcast memory, without a chain; False where that isn't so.

    A single operation on large arrays is what NumPy does best: planning costs more than it gives (float64 addition of
    10^6 elements on one thread: 0.32 ms through a chain, 0.23 so).
    """
    with _publishing:
        operands = node.operands
        if node.value is not None:
            return True
        if wide(node.dtype) != node.dtype:
            return False  # narrow kernels work in blocks at all events
        flat = True
        for x in operands:
            if type(x) is Node:
                return False
            if type(x) is Operand and not x.layout.is_contiguous:
                if not x.layout.is_broadcast:
                    return False
                flat = False
        buffers = _begun(operands)
    try:
        out = _computed_alone(node, operands, flat)
        publish([_Stored(node, out)])
    finally:
        _ended(buffers)
    return True


def _computed_alone(node: Node, operands: tuple[Any, ...], flat: bool) -> Operand:
    """The value of a node whose operands are memory; ``flat`` if all of it is row-major."""
    shape = node.shape
    size = prod(shape)
    layout = Layout(shape, row_major_stride(shape))
    root, _ = _pool.allocate(size * node.dtype.itemsize)
    out = Operand(Buffer(root), layout, node.dtype)
    if flat:
        target = root.view(node.dtype)
        views = [
            np.ndarray((size,), x.dtype, x.buffer.root, x.layout.offset * x.dtype.itemsize) if type(x) is Operand else x
            for x in operands
        ]
    else:
        target = out.view()
        views = [x.view() if type(x) is Operand else x for x in operands]
    kernel = node.kernel if node.errors == error_state() else partial(_under, node.errors, node.kernel)
    work = size * max([x.dtype.itemsize for x in operands if isinstance(x, Operand)]) * node.weight
    run_whole(kernel, views, target, work)
    return out


def _begun(operands: Iterable[Any]) -> list[Buffer]:
    """Count as active on the buffers of operands, which are returned; the caller holds the lock."""
    buffers = [x.buffer for x in operands if type(x) is Operand]
    for buffer in buffers:
        buffer.active.append(_here())
    return buffers


def _ended(buffers: list[Buffer]) -> None:
    with _publishing:
        for buffer in buffers:
            buffer.active.remove(_here())
        _publishing.notify_all()


def settle_readers(buffer: Buffer) -> None:
    """Settle what waits for a buffer that is about to be written, and wait for those that are reading it.

    The last nodes of the chains are computed, not the readers themselves: those are stored only where somebody needs
    them.
    """
    waiting = [node for ref in list(buffer.readers) if (node := ref()) is not None and node.value is None]
    seen: set[Node] = set()
    last: list[Node] = []
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        later = _waiting(node)
        waiting += later
        if not later or _held(node):
            last.append(node)
    for node in reversed(last):
        node.settle()
    if is_busy():
        return  # what a garbage collection runs in the middle of a computation can't wait for its end
    with _publishing:
        process, thread = _here()
        # Those of another process were at work when this one was forked off, and are none here.
        while any(reader[0] == process and reader[1] != thread for reader in buffer.active):
            _publishing.wait()


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def _waiting(node: Node) -> list[Node]:
    return [reader for ref in node.readers if (reader := ref()) is not None and reader.value is None]


def _held(node: Node) -> bool:
    return node.owner is not None and node.owner() is not None


class _Stored(NamedTuple):
    node: Node
    out: Operand


class Chain:
    """The pending nodes that lead to one, as a program; a context in which what it reads isn't written.

    Attributes
    ----------
    walk : Walk
        How the operands are walked; the first ones are written.
    operands : list of Operand
        Memory of the operands.
    program : Program
        The kernel calls.
    slot : int
        Where the result of a block is after the kernel calls.
    work : int
        How much it is, see `_walk.threads_for`.
    stored : list
        Nodes whose values are kept, and where.
    """

    def __init__(
        self,
        root: Node | Operand,
        *,
        keep_root: bool,
        destination: Operand | None = None,
        reduced: tuple[int, ...] = (),
        held: bool = True,
    ) -> None:
        """Compile a chain.

        Parameters
        ----------
        root
            What is wanted: a pending node, or memory that is there already.
        keep_root
            Whether the result is stored; else it is for a consumer of blocks.
        destination
            Memory of the shape and dtype of the result to write it to.
        reduced
            Axes that the consumer reduces.
        held
            False: the array that shows the root goes away after this, so that nothing is gained by keeping it.
        """
        with _publishing:
            steps = _pending([root]) if isinstance(root, Node) else []
            if isinstance(root, Node) and not steps:
                assert root.value is not None, "what isn't pending has a value"
                root = root.value
            self._buffers = _begun([x for _, below in steps for x in below])
            if isinstance(root, Operand):
                self._buffers += _begun([root])
        try:
            self._compile(root, steps, keep_root, destination, reduced, held)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Chain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others write what the chain reads."""
        buffers, self._buffers = self._buffers, []
        _ended(buffers)

    def _compile(
        self,
        root: Node | Operand,
        steps: list[tuple[Node, tuple[Any, ...]]],
        keep_root: bool,
        destination: Operand | None,
        reduced: tuple[int, ...],
        held: bool,
    ) -> None:
        shape = root.shape
        chosen = {node for node, _ in steps}
        kept = []
        sources: dict[Any, Operand] = {}
        for node, operands in steps:
            wanted = keep_root or (held and _held(node)) if node is root else _held(node)
            if wanted or any([reader not in chosen for reader in _waiting(node)]):  # noqa: C419  # a list is quicker
                kept.append(node)
            for x in operands:
                if type(x) is Operand:
                    sources[_key(x)] = x
        if isinstance(root, Operand):
            sources[_key(root)] = root
        inputs = list(sources.values())
        if destination is not None:
            order = walk_order(shape, destination.layout.stride)
        elif any(node.row_major for node in kept):
            order = tuple(range(len(shape)))
        else:
            order = preferred_order(shape, tuple([x.layout for x in inputs]))
        self.stored = [
            _Stored(node, allocated(shape, order, node.dtype))
            for node in kept
            if node is not root or destination is None
        ]
        # What is written comes first, all of it in one order of axes.
        self.operands = [*([destination] if destination else []), *[out for _, out in self.stored], *inputs]
        written = len(self.operands) - len(inputs)
        slots: dict[Any, int] = {key: written + place for place, key in enumerate(sources)}
        if isinstance(root, Operand):
            self.program, self.slot = Program(()), slots[_key(root)]
        else:
            places = {node: place + (destination is not None) for place, (node, _) in enumerate(self.stored)}
            if destination is not None:
                places[root] = 0
            self.program, self.slot = _compiled(steps, places, slots, len(self.operands), destination is not None)
        itemsize = max([x.dtype.itemsize for x in inputs], default=1)
        self.work = prod(shape) * itemsize * (sum([node.weight for node, _ in steps]) or 2)
        budget = _settings.current().block_elements
        if not self.program.values:
            budget *= UNBROKEN
        elif self.work < ALONE and budget >= WHOLE_FROM:
            budget = max(budget, prod(shape))
        self.walk: Walk = plan(
            shape,
            tuple([x.layout for x in self.operands]),
            budget,
            destination=0 if written else None,
            reduced=reduced,
            flips=not reduced,
        )

    def run(self, consume: Any = None) -> None:
        """Compute, and publish what was stored."""
        run(self.walk, self.operands, self.program, self.work, consume)
        publish(self.stored)


def publish(stored: Sequence[_Stored]) -> None:
    """Make values known: to the nodes, and to the arrays that show them."""
    with _publishing:
        for node, out in stored:
            if node.value is not None:
                continue
            out.buffer.readers = node.readers
            node.value = out
            node.operands = ()
            owner = node.owner() if node.owner is not None else None
            if owner is not None and owner._node is node:
                owner._settled(out)


def _compiled(
    steps: list[tuple[Node, tuple[Any, ...]]],
    places: dict[Node, int],
    sources: dict[Any, int],
    operands: int,
    shared: bool,
) -> tuple[Program, int]:
    """The program of a chain, and the slot of its last value.

    Values of a block take over the memory of those that are no longer needed. ``shared``: the destination may be one of
    the sources, so a kernel that reads again what it has written must not write there.

    Values of narrow dtypes live in the wide dtype, rounded after each step: most of the time of a kernel for narrow
    operands goes into conversions, of which only those from the first operands and to the results are left.
    """
    constants: list[Any] = []
    uses: dict[Any, int] = {}
    for number, (node, below) in enumerate(steps):
        computes = wide_kernel(node.kernel)
        for x in below:
            if type(x) is Node:
                uses[x] = number
            elif type(x) is Operand:
                uses[_key(x)] = number
            else:
                narrow = computes is not None and isinstance(x, np.ndarray)
                constants.append(converted(x, wide(x.dtype)) if narrow else x)
    base = operands + len(constants)
    values: list[np.dtype[Any]] = []
    free: list[int] = []
    slot_of: dict[Any, int] = dict(sources)
    # Of what is narrow: its values in the wide dtype
    wide_slot_of: dict[Any, int] = {}
    instructions: list[Instruction] = []
    now = error_state()
    constant = operands

    def value_slot(dtype: np.dtype[Any]) -> int:
        for slot in free:
            if values[slot - base] == dtype:
                free.remove(slot)
                return slot
        values.append(dtype)
        return base + len(values) - 1

    def emit(kernel: Kernel, reads: tuple[int, ...], write: int, errors: tuple[str, ...] = now) -> None:
        instructions.append(Instruction(kernel if errors == now else partial(_under, errors, kernel), reads, write))

    def slot_for(x: Node | Operand, *, in_wide: bool) -> int:
        key = x if isinstance(x, Node) else _key(x)
        slot, other = slot_of.get(key), wide_slot_of.get(key)
        if in_wide and wide(x.dtype) != x.dtype:
            if other is None:
                other = wide_slot_of[key] = value_slot(wide(x.dtype))
                emit(assign, (slot_of[key],), other)
            return other
        if slot is None:
            assert other is not None, "a value has one slot at least"
            slot = slot_of[key] = value_slot(x.dtype)
            emit(assign, (other,), slot)
        return slot

    for number, (node, below) in enumerate(steps):
        kernel = wide_kernel(node.kernel)
        in_wide = kernel is not None
        kernel = kernel or node.kernel
        narrow = in_wide and wide(node.dtype) != node.dtype
        reads = []
        dying = []
        for x in below:
            if type(x) is Node or type(x) is Operand:
                # A conversion finds the same in the wide dtype.
                wanted = in_wide or (kernel is assign and x in wide_slot_of)
                reads.append(slot_for(x, in_wide=wanted))
            else:
                reads.append(constant)
                constant += 1
        for x in below:
            key: Any = x if type(x) is Node else _key(x) if type(x) is Operand else None
            if uses.get(key) == number:
                for slot in (slot_of.get(key), wide_slot_of.get(key)):
                    if slot is not None and slot >= base and slot not in dying:
                        dying.append(slot)
        in_place = isinstance(kernel, np.ufunc) or kernel is assign
        if in_place:
            free += dying  # the result may take an operand's place
        place = places.get(node)
        if narrow:
            write = value_slot(wide(node.dtype))
        else:
            write = place if place is not None and (in_place or not shared) else value_slot(node.dtype)
        if not in_place:
            free += dying
        emit(kernel, tuple(reads), write, node.errors)
        if narrow:
            if node in uses or place is None:
                emit(rounding(node.dtype), (write,), write, node.errors)
                wide_slot_of[node] = write
            if place is not None:
                emit(assign, (write,), place, node.errors)
                slot_of[node] = place
            if node not in wide_slot_of:
                free.append(write)
            continue
        if place is not None and write != place:
            emit(assign, (write,), place)
            free.append(write)
            write = place
        slot_of[node] = write
    root = steps[-1][0]
    last = slot_of[root] if root in slot_of else wide_slot_of[root]
    return Program(tuple(instructions), tuple(constants), tuple(values)), last


def _key(x: Operand) -> Any:
    """What tells the memory that a chain reads from other memory."""
    return id(x.buffer), x.layout, x.dtype


def _under(errors: tuple[str, ...], kernel: Kernel, /, *operands: Any, out: Any) -> Any:
    """A kernel under the NumPy error state in which its function was called."""
    divide, over, under, invalid = errors
    with np.errstate(divide=divide, over=over, under=under, invalid=invalid):  # type: ignore[arg-type]  # geterr's
        return kernel(*operands, out=out)


def source(buffer: Buffer, layout: Any, dtype: np.dtype[Any]) -> Operand:
    """Memory as an operand of a node; a little of it is copied rather than kept track of."""
    operand = Operand(buffer, layout, dtype)
    if layout.len * dtype.itemsize <= SMALL_SOURCE:
        return Operand.of(np.array(operand.view(), order="K", copy=True))
    return operand
