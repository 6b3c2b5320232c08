"""Looking at what waits to be computed, and at memory: `explain`, `materialize`, `memory`."""

from __future__ import annotations

from typing import Any

import numpy as np

from candela_xp import _matmul, _pool
from candela_xp._array import NDArray, checked_array
from candela_xp._expr import Chain, Node
from candela_xp._kernels import converted
from candela_xp._public import common_device
from candela_xp._walk import Operand, threads_for
from candela_xp.linalg._core import core_dtype, core_shapes, parse


def materialize(x: NDArray, /) -> NDArray:
    """Compute an array now, if it is pending.

    Parameters
    ----------
    x : NDArray
        Any array.

    Returns
    -------
    NDArray
        The array itself, whose elements are in memory.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Nothing but the time changes: whoever reads an array materializes it. Not in the standard; the
    name is Candela's.
    """
    array = checked_array("materialize", "x", x)
    if array._node is not None:
        array._settle()
    return array


def memory() -> dict[str, int]:
    """How much memory of large arrays is in use, and how much is kept for the next ones.

    Returns
    -------
    dict
        ``in_use_bytes`` of large arrays; ``pooled_bytes`` and ``pooled_blocks`` that are free and kept;
        ``limit_bytes``, the bound for those, see `settings`.

    Notes
    -----
    Of the whole process, in bytes; not in the standard.
    """
    return _pool.memory()


def explain(x: NDArray, x2: NDArray | None = None, /) -> str:
    """How an array is computed, or the matrix product of two, as a tree.

    Parameters
    ----------
    x : NDArray
        Any array; a pending one stays pending.
    x2 : NDArray, optional
        A second array, to be told about ``x @ x2``. Default: None.

    Returns
    -------
    str
        A line for each operation and each operand, the result first: function, dtype, shape, and whether the value is
        stored. Then how memory is walked, in what blocks and by how many threads, and about how many bytes are moved
        between memory and cache; for comparison, how many it would be operation by operation.

        Of a product: the result, each operand with what is done with it, and how the product is computed.

    Raises
    ------
    TypeError
        ``x`` or ``x2`` is no NDArray, or the two don't combine.
    ValueError
        ``x @ x2`` is not possible for the shapes or devices.

    Notes
    -----
    The way of a product of integers depends on their values, so those are computed first. Not in the standard.

    Examples
    --------
    >>> import candela_xp as xp
    >>> with xp.settings(defer_min_bytes=0, threads=1):
    ...     x = xp.ones((2, 3))
    ...     print(xp.explain(xp.exp(x) + 1.0))
    add float64 (2, 3), stored
    ├─ exp float64 (2, 3)
    │  └─ memory float64 (2, 3), stride (3, 1)
    └─ constant 1.0
    walk: flat, 6 elements in 1 block of 6, 1 thread
    moves: 96 bytes (one by one: 192 bytes)

    >>> a = xp.ones((200, 400))
    >>> print(xp.explain(a[:, ::2], a))
    matmul float64 (200, 400)
    ├─ memory float64 (200, 200), stride (400, 2): packed
    └─ memory float64 (200, 400), stride (400, 1): as it is
    product: one product
    """
    if x2 is not None:
        return _product(checked_array("explain", "x", x), checked_array("explain", "x2", x2))
    array = checked_array("explain", "x", x)
    node = array._node
    if node is None:
        return _line(Operand(array._memory, array.layout, array._dtype.dtype), {})
    with Chain(node, keep_root=True) as chain:
        pass  # it is looked at, not run
    stored = {id(each.node): "" for each in chain.stored}
    lines = [_line(node, stored)]
    _branch(node, "", stored, lines, {id(node): 1})
    walk = chain.walk
    threads = min(threads_for(chain.work), max(walk.blocks, 1))
    blocks = "block" if walk.blocks == 1 else "blocks"
    shape = "×".join(map(str, walk.block)) or "1"
    lines.append(
        f"walk: {walk.kind}, {node_size(node)} elements in {walk.blocks} {blocks} of {shape}, "
        f"{threads} thread{'s' if threads > 1 else ''}"
    )
    moved = sum([_touched(operand) for operand in chain.operands])
    alone = 0
    for step in _nodes(node):
        alone += node_size(step) * step.dtype.itemsize
        for below in step.operands:
            if isinstance(below, Operand):
                alone += _touched(below)
            elif isinstance(below, Node):
                alone += node_size(below) * below.dtype.itemsize
    lines.append(f"moves: {moved} bytes (one by one: {alone} bytes)")
    return "\n".join(lines)


_MATMUL = parse("(m?,k),(k,n?)->(m?,n?)")


def _memory_of(x: NDArray) -> Operand:
    """The memory of an array, or, of a pending one, the memory that it would get."""
    node = x._node
    if node is None:
        return Operand(x._memory, x.layout, x._dtype.dtype)
    with Chain(node, keep_root=True) as chain:
        found = [each.out for each in chain.stored if each.node is node]
    return found[0] if found else _memory_of(x)


def _product(x1: NDArray, x2: NDArray) -> str:
    """The lines of a matrix product."""
    common = core_dtype("matmul", "numeric", [x1._dtype, x2._dtype])
    common_device("matmul", [x1, x2])
    core_shapes("matmul", ("x1", "x2"), _MATMUL, (x1.shape, x2.shape))
    if common.kind in ("int", "uint"):
        materialize(x1), materialize(x2)
    operands, views = [], []
    for x in (x1, x2):
        operand = _memory_of(x)
        operands.append(operand)
        view = operand.view()
        if operand.dtype != common.dtype:  # what isn't computed yet is no number to convert
            view = np.empty_like(view, common.dtype) if x._node else converted(view, common.dtype)
        views.append(view)
    first, second, how = _matmul.explained(*views)
    stack = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    shape = stack + x1.shape[-2:-1] + (x2.shape[-1:] if x2.ndim > 1 else ())
    return "\n".join(
        [
            f"matmul {common} {shape}",
            f"├─ {_line(x1._node or operands[0], {})}: {first}",
            f"└─ {_line(x2._node or operands[1], {})}: {second}",
            f"product: {how}",
        ]
    )


def node_size(node: Node) -> int:
    """Number of elements of a pending array."""
    size = 1
    for extent in node.shape:
        size *= extent
    return size


def _nodes(root: Node) -> list[Node]:
    found: dict[int, Node] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack += [below for below in node.operands if isinstance(below, Node)]
    return list(found.values())


def _touched(operand: Operand) -> int:
    """Bytes of the elements that a layout reaches, broadcast axes counted once."""
    size = operand.dtype.itemsize
    for extent, step in zip(operand.layout.shape, operand.layout.stride):
        size *= extent if step else min(extent, 1)
    return size


def _line(what: Any, stored: dict[int, str]) -> str:
    if isinstance(what, Node):
        if what.value is not None:
            return _line(what.value, stored)
        return f"{what.name} {what.dtype} {what.shape}" + (", stored" if id(what) in stored else "")
    if isinstance(what, Operand):
        return f"memory {what.dtype} {what.layout.shape}, stride {what.layout.stride}"
    return f"constant {what}"


def _branch(node: Node, indent: str, stored: dict[int, str], lines: list[str], seen: dict[int, int]) -> None:
    """Add the lines of a node's operands. No deeper than a chain is long, so recursion has an end."""
    if node.value is not None:
        return
    for place, below in enumerate(node.operands):
        last = place == len(node.operands) - 1
        text = _line(below, stored)
        again = isinstance(below, Node) and id(below) in seen
        lines.append(f"{indent}{'└─' if last else '├─'} {text}{' (as above)' if again else ''}")
        if isinstance(below, Node) and not again:
            seen[id(below)] = 1
            _branch(below, indent + ("   " if last else "│  "), stored, lines, seen)
