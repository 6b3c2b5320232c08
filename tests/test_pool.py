"""The pool: memory comes back when the last view is gone and not before, within its bound, from any thread."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref

import numpy as np
import pytest
from processes import in_process

import candela_xp
from candela_xp import _pool, settings
from candela_xp._pool import LEAST_POOLED_BYTES, MOST_BLOCKS, allocate, memory, trim

PAGE = 4096
MIB = 2**20


@pytest.fixture(autouse=True)
def _empty_pool():
    """A pool without free blocks that may keep 64 MiB."""
    gc.collect()
    with settings(pool_bytes=64 * MIB):
        trim(0)
        yield
        trim(0)


def address(array):
    return array.__array_interface__["data"][0]


# -- what is allocated -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [0, 1, 100, LEAST_POOLED_BYTES - 1])
def test_small_arrays_have_nothing_to_do_with_the_pool(nbytes):
    before = memory()
    root, recycled = allocate(nbytes)
    assert (root.nbytes, root.dtype, root.flags.owndata, recycled) == (nbytes, np.uint8, True, False)
    assert memory() == before
    del root
    assert memory() == before


@pytest.mark.parametrize("nbytes", [LEAST_POOLED_BYTES, LEAST_POOLED_BYTES + 1, 8 * MIB - 1, 8 * MIB])
def test_large_arrays_are_exact_in_size_aligned_writable_and_their_own(nbytes):
    for _ in range(2):  # fresh, recycled
        root, _ = allocate(nbytes)
        other, _ = allocate(nbytes)
        assert (root.shape, root.dtype, root.flags.c_contiguous) == ((nbytes,), np.uint8, True)
        assert root.flags.writeable
        assert address(root) % 64 == 0
        assert not np.shares_memory(root, other)
        root[:] = 7
        other[:] = 8
        assert root[0] == root[-1] == 7
        del root, other


def test_the_last_byte_lies_in_the_memory_that_numpy_gave():
    root, _ = allocate(MIB + 1)
    owner = root.base.memory.owner
    assert address(owner) <= address(root)
    assert address(root) + root.nbytes <= address(owner) + owner.nbytes


# -- return ----------------------------------------------------------------------------------------------


def test_memory_is_used_again_once_the_array_is_gone():
    root, recycled = allocate(MIB)
    assert not recycled
    where = address(root)
    del root
    assert (memory()["pooled_bytes"], memory()["pooled_blocks"]) == (MIB, 1)
    root, recycled = allocate(MIB)
    assert recycled
    assert address(root) == where
    assert memory()["pooled_blocks"] == 0


def test_memory_in_use_is_told():
    before = memory()["in_use_bytes"]
    roots = [allocate(MIB)[0], allocate(MIB - 1)[0]]
    assert memory()["in_use_bytes"] == before + 2 * MIB  # whole pages
    del roots
    assert memory()["in_use_bytes"] == before


def torch_tensor(root):
    torch = pytest.importorskip("torch")
    return torch.from_dlpack(root)


@pytest.mark.parametrize(
    "look",
    [
        lambda root: root.view(),
        lambda root: root[5:6],
        lambda root: root[::-2].reshape(2, -1)[1],
        lambda root: root.view(np.float64).reshape(-1, 8).T,
        lambda root: np.asarray(root)[3:],
        lambda root: np.ndarray((4,), np.float32, root, 64),
        lambda root: np.lib.stride_tricks.as_strided(root, (2, 2), (1, 1)),
        lambda root: root.view(np.recarray),
        lambda root: memoryview(root),
        lambda root: memoryview(root)[10:20],
        lambda root: np.frombuffer(root, np.uint16),
        lambda root: root.flat,
        lambda root: root.__dlpack__(),
        lambda root: np.from_dlpack(root),
        lambda root: np.from_dlpack(root).view(np.int64)[4:],
        torch_tensor,
        lambda root: torch_tensor(root)[7:],
        lambda root: torch_tensor(root)[7:].numpy(),
        lambda root: root.base,
        lambda root: root.ctypes,
        lambda root: candela_xp.asarray(root)[4:8],
    ],
)
def test_memory_is_not_used_again_while_anyone_can_see_it_and_is_right_after(look):
    root, _ = allocate(MIB)
    where, block = address(root), weakref.ref(root.base)
    view = look(root)
    del root
    assert block() is not None
    other, recycled = allocate(MIB)
    assert not recycled
    assert address(other) != where
    del view
    assert block() is None
    again, recycled = allocate(MIB)
    assert recycled
    assert address(again) == where


def test_views_of_views_reach_the_block_whichever_of_them_is_left():
    root, _ = allocate(MIB)
    block = weakref.ref(root.base)
    views = [root]
    for _ in range(5):
        views.append(views[-1].view(np.uint32 if len(views) % 2 else np.uint8)[4:])
    del root
    while len(views) > 1:
        del views[0]
        assert block() is not None
    views.clear()
    assert block() is None
    assert memory()["pooled_blocks"] == 1


def test_blocks_in_garbage_return_with_the_collection():
    root, _ = allocate(MIB)
    circle = [root]
    circle.append(circle)
    del root, circle
    gc.collect()
    assert memory()["pooled_blocks"] == 1


# -- which block -----------------------------------------------------------------------------------------


def test_the_smallest_block_that_fits_is_taken_and_none_that_is_over_a_quarter_larger():
    roots = {pages: allocate(pages * PAGE)[0] for pages in (130, 100, 126, 125, 110)}
    where = {pages: address(root) for pages, root in roots.items()}
    del roots
    taken = []
    for _ in range(4):
        root, recycled = allocate(100 * PAGE)
        taken.append((root, recycled))
    assert [address(root) for root, recycled in taken if recycled] == [where[100], where[110], where[125]]
    assert [recycled for _, recycled in taken] == [True, True, True, False]


def test_nearly_equal_sizes_share_a_block():
    root, _ = allocate(100 * PAGE - 17)
    where = address(root)
    del root
    root, recycled = allocate(100 * PAGE)
    assert recycled
    assert (address(root), root.nbytes) == (where, 100 * PAGE)


def test_a_block_that_is_too_small_is_left_alone():
    root, _ = allocate(100 * PAGE)
    del root
    assert not allocate(100 * PAGE + 1)[1]


def test_of_equal_blocks_the_last_one_returned_is_taken():
    first, second, third = (allocate(MIB)[0] for _ in range(3))
    where = address(third)
    del second, third, first  # the last to return is `first`
    root, _ = allocate(MIB)
    del root
    again, _ = allocate(MIB)
    other, _ = allocate(MIB)
    assert address(other) == where
    assert address(again) != where


# -- the bound -------------------------------------------------------------------------------------------


def test_free_blocks_stay_within_the_bound_and_the_oldest_go_first():
    with settings(pool_bytes=3 * MIB):
        roots = [allocate(MIB)[0] for _ in range(5)]
        where = [address(root) for root in roots]
        while roots:
            del roots[0]
            assert memory()["pooled_bytes"] <= 3 * MIB == memory()["limit_bytes"]
        assert memory()["pooled_blocks"] == 3
        assert {entry.address for entry in _pool._free.values()} == set(where[2:])


def test_a_block_larger_than_the_bound_is_dropped_and_drives_out_no_other():
    with settings(pool_bytes=3 * MIB):
        small, large = allocate(MIB)[0], allocate(4 * MIB)[0]
        del small, large
        assert (memory()["pooled_bytes"], memory()["pooled_blocks"]) == (MIB, 1)


def test_a_block_of_settings_with_a_smaller_bound_trims_the_pool_when_it_is_entered():
    roots = [allocate(MIB)[0] for _ in range(4)]
    del roots
    assert memory()["pooled_blocks"] == 4
    with settings(pool_bytes=2 * MIB):
        assert memory()["pooled_blocks"] == 2
        with settings(strict=True):
            assert memory()["pooled_blocks"] == 2
    assert memory()["pooled_blocks"] == 2


def test_a_bound_of_nothing_empties_the_pool_and_keeps_it_empty():
    root, _ = allocate(MIB)
    del root
    with settings(pool_bytes=0):
        assert memory()["pooled_blocks"] == 0
        root, recycled = allocate(MIB)
        assert not recycled
        del root
        assert memory()["pooled_blocks"] == 0
        assert memory()["limit_bytes"] == 0


def test_the_number_of_free_blocks_is_bounded_too():
    roots = [allocate(LEAST_POOLED_BYTES)[0] for _ in range(MOST_BLOCKS + 5)]
    del roots
    assert memory()["pooled_blocks"] == MOST_BLOCKS


def test_trim_drops_what_was_returned_longest_ago():
    roots = [allocate(MIB)[0] for _ in range(3)]
    last = address(roots[2])
    while roots:
        del roots[0]
    trim(2 * MIB - 1)
    assert [entry.address for entry in _pool._free.values()] == [last]
    trim(0)
    assert memory()["pooled_bytes"] == 0


# -- too little memory -----------------------------------------------------------------------------------


def failing_empty(monkeypatch, failures):
    """Make `np.empty` fail the first few times; the list it returns grows with the free blocks at each call."""
    genuine, seen = np.empty, []

    def empty(*args):
        seen.append(memory()["pooled_blocks"])
        if len(seen) <= failures:
            raise MemoryError
        return genuine(*args)

    monkeypatch.setattr(_pool.np, "empty", empty)
    return seen


def test_where_memory_is_short_the_pool_is_emptied_and_asked_again(monkeypatch):
    root, _ = allocate(MIB)
    del root
    seen = failing_empty(monkeypatch, 1)
    root, recycled = allocate(8 * MIB)
    assert (root.nbytes, recycled, seen) == (8 * MIB, False, [1, 0])


def test_where_it_stays_short_the_bytes_are_named(monkeypatch):
    seen = failing_empty(monkeypatch, 2)
    with pytest.raises(MemoryError, match=r"^there is no memory for an array of 8388608 bytes$"):
        allocate(8 * MIB)
    assert seen == [0, 0]
    monkeypatch.undo()
    with pytest.raises(MemoryError, match=str(2**60)):
        allocate(2**60)


# -- threads, collections, processes ---------------------------------------------------------------------


def test_threads_that_take_and_return_at_once_never_share_memory():
    failures = []
    sizes = [LEAST_POOLED_BYTES, LEAST_POOLED_BYTES + 5 * PAGE, 20 * PAGE]
    before = memory()["in_use_bytes"]

    def work(mark):
        try:
            with settings(pool_bytes=MIB // 2):
                held = []
                for turn in range(400):
                    root, _ = allocate(sizes[turn % 3])
                    root[::PAGE] = mark
                    held.append(root)
                    if turn % 5 == 0:  # now and then in garbage
                        circle = [held.pop()]
                        circle.append(circle)
                    if len(held) > 3:
                        old = held.pop(0)
                        assert (old[::PAGE] == mark).all()
                        del old
        except BaseException as error:
            failures.append(error)

    threshold = gc.get_threshold()
    interval = sys.getswitchinterval()
    gc.set_threshold(5)
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    gc.collect()
    assert not failures
    assert memory()["in_use_bytes"] == before
    assert memory()["pooled_bytes"] == sum(entry.nbytes for entry in _pool._free.values()) <= 64 * MIB
    assert len({entry.address for entry in _pool._free.values()}) == memory()["pooled_blocks"]


@pytest.mark.parametrize("step", range(4))
def test_a_block_that_ends_in_the_middle_of_allocate_does_no_harm(monkeypatch, step):
    # Whatever the pool's dict is asked for, at that moment other blocks return, or are taken by somebody else.
    class Interrupted(dict):
        steps = 0

        def copy(self):
            self.happen()
            return dict(self)

        def pop(self, *args):
            self.happen()
            return super().pop(*args)

        def happen(self):
            Interrupted.steps += 1
            if Interrupted.steps == step + 1:
                ending.clear()
                taken.append(allocate(MIB)[0])
                taken.append(allocate(MIB)[0])

    ending, taken = [allocate(MIB)[0] for _ in range(3)], []
    free = Interrupted()
    monkeypatch.setattr(_pool, "_free", free)
    first, second = allocate(MIB)[0], allocate(MIB)[0]
    del first
    Interrupted.steps = 0
    third = allocate(MIB)[0]
    everything = [second, third, *ending, *taken]
    assert len({address(root) for root in everything}) == len(everything)
    assert not {entry.address for entry in free.values()} & {address(root) for root in everything}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_the_child_of_a_fork_has_a_pool_of_its_own():
    code = """
import os
from candela_xp import _pool
kept, gone = _pool.allocate(2**20)[0], _pool.allocate(2**20)[0]
kept[:] = 1
del gone
if child := os.fork():
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert kept[0] == 1 and _pool.memory()["pooled_blocks"] == 1
    print(status)
else:
    root, recycled = _pool.allocate(2**20)
    assert recycled and kept[-1] == 1
    kept[:] = 2
    del root, kept
    assert _pool.memory()["pooled_blocks"] == 2
"""
    done = in_process(code, "-W", "ignore::DeprecationWarning")  # a fork beside the threads of BLAS
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_blocks_that_live_to_the_end_are_no_trouble_at_exit():
    code = """
import sys
from candela_xp import _pool
root, view = _pool.allocate(2**20)[0], _pool.allocate(2**21)[0][5:]
circle = [root]
circle.append(circle)
sys.kept = _pool.allocate(2**20)[0]
_pool.kept = _pool.allocate(2**20)[0]
"""
    done = in_process(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
