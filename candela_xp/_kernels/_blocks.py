"""Walk large operands in blocks that stay in cache, whatever their layouts, and write into any destination."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ._types import Array, Out


def destination(operands: tuple[Array, ...], out: Out, dtype: np.dtype[np.generic]) -> Array:
    """Where the blocks go: `out`, unless writing it would change operands which later blocks still read."""
    if isinstance(out, np.ndarray) and not any(_tangled(out, operand) for operand in operands):
        return out
    first = operands[0]
    if all(operand.shape == first.shape for operand in operands):
        return np.empty_like(first, dtype, subok=False)
    return np.empty(np.broadcast_shapes(*(operand.shape for operand in operands)), dtype)


def deliver(result: Array, out: Out) -> Array:
    """Hand over what ``destination`` gave: in `out` where there is one."""
    if isinstance(out, np.ndarray) and result is not out:
        out[...] = result
        return out
    return result


def blocks(operands: tuple[Array, ...], result: Array, block: int) -> Iterator[tuple[Array, ...]]:
    """Pieces of the operands and, last, of the result that belong together, at most `block` elements each.

    One block is yielded as it is, in any number of dimensions and perhaps yet to be broadcast; of several, each is
    one-dimensional.
    """
    if result.size <= block:
        yield (*operands, result)
        return
    together = (*operands, result)
    if all(each.shape == result.shape for each in together):
        if all(each.flags.c_contiguous for each in together):
            yield from _cut([each.reshape(-1) for each in together], block)
            return
        if all(each.flags.f_contiguous for each in together):
            yield from _cut([each.T.reshape(-1) for each in together], block)
            return
    readonly: list[list[Literal["readonly", "writeonly"]]] = [["readonly"] for _ in operands]
    walk = np.nditer(
        together,
        flags=["external_loop", "buffered"],
        op_flags=[*readonly, ["writeonly"]],
        buffersize=block,
    )
    with walk:
        for pieces in walk:
            yield tuple(pieces)


def _cut(flat: list[Array], block: int) -> Iterator[tuple[Array, ...]]:
    for start in range(0, flat[-1].size, block):
        yield tuple(each[start : start + block] for each in flat)


def _tangled(out: Array, operand: Array) -> bool:
    """Whether the two share memory other than element for element."""
    if not np.may_share_memory(out, operand):
        return False
    same_place = out.__array_interface__["data"][0] == operand.__array_interface__["data"][0]
    return not (same_place and out.strides == operand.strides and out.shape == operand.shape)
