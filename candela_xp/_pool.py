"""Memory for large arrays, kept when an array is gone and given to the next one of about its size.

Fresh memory costs more than most computations that fill it, since the system clears every page when it is first
touched: adding two arrays of 40 MB took 1.5 ms into memory in use and 3.6 ms into fresh. To take 8 MB from the pool
and to return them took 2.4 µs, with 50 other free blocks 6 µs, with 256 18 µs (NumPy 2.4, CPython 3.11, 2 cores).

Memory returns when nobody can see it any more. `allocate` makes an array whose base is a `Block`; NumPy's views,
memoryviews and DLPack capsules of whatever is made of that array keep the block, and the block's end is the return.

Nothing here is locked. A block can end at any moment, in any thread, and also, by a garbage collection, in the middle
of these very functions; so each step is one operation of a dict, and every look is at a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from candela_xp import _settings

# Below this the C library recycles by itself, and quicker than Python can.
LEAST_POOLED_BYTES: Final = 2**16
# How many free blocks are kept, since each return looks at all of them.
MOST_BLOCKS: Final = 256
_ALIGNMENT: Final = 64  # bytes: a line of the cache, and the widest vector
_PAGE: Final = 4096  # bytes: sizes are whole pages, so that nearly equal arrays share


class Memory(NamedTuple):
    """A piece of memory: the array that owns it, the address of its first aligned byte, bytes from there."""

    owner: np.ndarray[Any, Any]
    address: int
    nbytes: int


_numbers = count()  # of free and of live blocks; a later one is greater
_free: dict[int, Memory] = {}  # by number, that is, in the order of return
_live: dict[int, int] = {}  # bytes by number


class Block:
    """The base of an array over pooled memory; when it ends, the memory goes back.

    No NumPy array, since NumPy would look through it: the base of a view is the first array that owns its memory or
    whose base is no array.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_number", "memory")

    def __init__(self, memory: Memory, nbytes: int) -> None:
        self.memory = memory
        self._number = next(_numbers)
        self.__array_interface__ = {
            "data": (memory.address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }
        _live[self._number] = memory.nbytes

    # The default argument: the last blocks may end when the names of the module are None.
    def __del__(self, at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
        if not at_exit():
            _live.pop(self._number, None)
            _keep(self.memory)


def allocate(nbytes: int) -> tuple[np.ndarray[Any, Any], bool]:
    """Memory for an array, with any content.

    Returns
    -------
    A writable uint8 array of ``nbytes`` elements, aligned to 64 bytes if it has at least `LEAST_POOLED_BYTES`; and
    whether its memory was in use before, so that its pages needn't be fetched.

    Raises
    ------
    MemoryError
        There is not so much, even without the free blocks.
    """
    if nbytes < LEAST_POOLED_BYTES:
        return np.empty(nbytes, np.uint8), False
    recycled = _take(nbytes)
    memory = recycled or _fresh(nbytes)
    return np.asarray(Block(memory, nbytes)), recycled is not None


def trim(limit_bytes: int) -> None:
    """Give the free blocks back to the system, those returned longest ago first, until ``limit_bytes`` are left."""
    free = _free.copy()
    total = sum([memory.nbytes for memory in free.values()])
    blocks = len(free)
    for number, memory in free.items():
        if total <= limit_bytes and blocks <= MOST_BLOCKS:
            break
        _free.pop(number, None)  # None: another thread was quicker
        total -= memory.nbytes
        blocks -= 1


def memory() -> dict[str, int]:
    """What the pool holds: bytes and number of the free blocks, bytes of those in use, the bound of the free bytes."""
    free = _free.copy()
    return {
        "pooled_bytes": sum([memory.nbytes for memory in free.values()]),
        "pooled_blocks": len(free),
        "in_use_bytes": sum(_live.copy().values()),
        "limit_bytes": _settings.current().pool_bytes,
    }


def _take(nbytes: int) -> Memory | None:
    """A free block of at least ``nbytes`` and at most a quarter more, if there is one."""
    most = nbytes + nbytes // 4
    while True:
        # The smallest; among equals the last one returned, which may still be in the cache.
        best = min(
            [(memory.nbytes, -number) for number, memory in _free.copy().items() if nbytes <= memory.nbytes <= most],
            default=None,
        )
        if best is None:
            return None
        memory = _free.pop(-best[1], None)
        if memory is not None:  # None: another thread was quicker
            return memory


def _fresh(nbytes: int) -> Memory:
    """Memory from the system, by way of NumPy, which asks for huge pages."""
    size = -(-nbytes // _PAGE) * _PAGE
    try:
        owner = np.empty(size + _ALIGNMENT, np.uint8)
    except MemoryError:
        trim(0)
        try:
            owner = np.empty(size + _ALIGNMENT, np.uint8)
        except MemoryError:
            raise MemoryError(f"there is no memory for an array of {nbytes} bytes") from None
    address = owner.__array_interface__["data"][0]
    return Memory(owner, address + -address % _ALIGNMENT, size)


def _keep(memory: Memory) -> None:
    """Put memory among the free blocks, as far as the settings allow."""
    limit_bytes = _settings.current().pool_bytes
    if memory.nbytes <= limit_bytes:  # a larger one would only drive out all the others
        _free[next(_numbers)] = memory
        trim(limit_bytes)


_settings.on_change.append(lambda now: trim(now.pool_bytes))
