"""Deferral: large elementwise results wait until somebody looks, and nobody can tell but by the clock.

Each rule of the design has its tests here. Everything defers, in tiny blocks and over two threads, whatever its size;
`EAGER` is the same library without deferral, the oracle of values and of errors.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import operator
import os
import pickle
import sys
import threading
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out, numbers
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    INTEGER,
    NARROW,
    REAL_FLOAT,
    STANDARD,
    close,
    identical,
    kind,
    special,
    tame,
    twin,
)
from processes import in_process

import candela_xp as xp
from candela_xp import _expr, _pool, _reduce, _revisions, _walk, settings
from candela_xp._expr import MAX_NODES, MAX_SOURCES, SMALL_SOURCE, Node
from candela_xp._walk import Operand

LAZY = {"defer_min_bytes": 0, "block_elements": 16, "threads": 2}
EAGER = {"defer_min_bytes": 2**60, "threads": 1}
# Operands of at most SMALL_SOURCE bytes are copied: tests of what is read late need larger ones.
LARGE = (30, 40)
assert np.empty(LARGE).nbytes > SMALL_SOURCE


@pytest.fixture(autouse=True)
def _deferred(monkeypatch):
    """Everything defers, any work is worth two threads, and new memory holds what no test expects."""
    allocate = _pool.allocate

    def poisoned(nbytes):
        root, recycled = allocate(nbytes)
        root[...] = 0x55
        return root, recycled

    monkeypatch.setattr(_pool, "allocate", poisoned)
    monkeypatch.setattr(_walk, "ALONE", 0)
    with settings(**LAZY):
        yield


def own(values, dtype=None):
    """A row-major array over memory that nobody else sees."""
    return xp.asarray(np.asarray(values, dtype), copy=True)


def laid(values, arrangement):
    """An array in one of `ARRANGEMENTS`, over memory that nobody else will write."""
    made = xp.asarray(lay_out(values, arrangement))
    made._memory.exported = False  # so it may be read late
    return made


def large(dtype="float64"):
    return own(numbers(LARGE, dtype))


def moderate():
    """Numbers from 0.25 to 1.25, whose products stay finite."""
    return numbers(LARGE) / 1200 + 0.25


def waits(x):
    """Whether an array is pending."""
    return x._node is not None


def values(x):
    """A copy of what an array holds, as NumPy; looking at it exports nothing."""
    return np.array(np.asarray(copy.copy(x)))


def chain(x):
    """The pending nodes that lead to an array."""
    found, stack = {}, [x._node] if waits(x) else []
    while stack:
        node = stack.pop()
        if node.value is None and id(node) not in found:
            found[id(node)] = node
            stack += [below for below in node.operands if isinstance(below, Node)]
    return list(found.values())


def sources(x):
    """How many buffers an array waits for."""
    return len({id(below.buffer) for node in chain(x) for below in node.operands if isinstance(below, Operand)})


class Counted:
    """Counts the elements that the kernel of a pending array computes."""

    def __init__(self, pending):
        self.kernel = pending._node.kernel
        self.lock = threading.Lock()
        self.elements = 0
        pending._node.kernel = self

    def __call__(self, *operands, out):
        with self.lock:
            self.elements += out.size
        return self.kernel(*operands, out=out)


@pytest.fixture
def stored(monkeypatch):
    """The shapes of all memory that chains allocate."""
    shapes, allocated = [], _expr.allocated
    monkeypatch.setattr(_expr, "allocated", lambda shape, *rest: shapes.append(shape) or allocated(shape, *rest))
    return shapes


# -- pending until somebody looks ------------------------------------------------------------------------

LOOKS = {
    "numpy.asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "__array__ with a dtype": lambda x: x.__array__(np.float32),
    "numpy.from_dlpack": np.from_dlpack,
    "__dlpack__ with a copy": lambda x: x.__dlpack__(copy=True),
    "an element": lambda x: x[0, 0],
    "a slice": lambda x: x[1:],
    "an Ellipsis": lambda x: x[...],
    "a mask": lambda x: x[own(np.ones(LARGE, bool))],
    "an index array": lambda x: x[own(np.array([0, 2]))],
    "setitem": lambda x: x.__setitem__((0, 0), 5.0),
    "iteration": lambda x: next(iter(x)),
    "repr": repr,
    "str": str,
    "format": "{}".format,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "materialize": xp.materialize,
    "layout": lambda x: x.layout,
    ".T": lambda x: x.T,
    ".mT": lambda x: x.mT,
    "matmul": lambda x: x @ x.T,
    "sum": xp.sum,
    "argmax": xp.argmax,
    "sort": xp.sort,
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=0),
    "nonzero": xp.nonzero,
    "reshape": lambda x: xp.reshape(x, (-1,)),
    "asarray with a copy": lambda x: xp.asarray(x, copy=True),
    "an operand of another shape": lambda x: xp.broadcast_to(x, (2, *LARGE)),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_large_result_waits_until_somebody_looks(look):
    x = large()
    y = x * 2.0 + 1.0
    assert waits(y)
    LOOKS[look](y)
    assert not waits(y)
    want = numbers(LARGE) * 2 + 1
    if look == "setitem":
        want[0, 0] = 5
    assert identical(values(y), want)


@pytest.mark.parametrize(
    "convert", [bool, float, int, complex, operator.index, "{:5}".format], ids=lambda convert: convert.__name__
)
def test_a_python_scalar_is_a_look(convert):
    x = own(np.asarray(3))
    y = x + 4
    assert waits(y)
    assert convert(y) == convert(7)
    assert not waits(y)


GLANCES = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "len": len,
    "dtype": lambda x: x.dtype,
    "device": lambda x: x.device,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "namespace": lambda x: x.__array_namespace__(),
    "dlpack device": lambda x: x.__dlpack_device__(),
    "to_device": lambda x: x.to_device(x.device),
    "asarray": lambda x: xp.asarray(x),
    "result_type": lambda x: xp.result_type(x, 1.0),
    "can_cast": lambda x: xp.can_cast(x, xp.float64),
    "explain": xp.explain,
    "an operation": lambda x: -x,
    "comparison": lambda x: x == 1.0,
    "where": lambda x: xp.where(x > 1.0, x, 0.0),
    "clip": lambda x: xp.clip(x, 0.0, 1.0),
    "astype": lambda x: xp.astype(x, xp.float32),
    "ones_like": xp.ones_like,
}


@pytest.mark.parametrize("glance", GLANCES)
def test_what_needs_no_element_is_no_look(glance):
    y = large() + 1.0
    GLANCES[glance](y)
    assert waits(y)


def test_a_pending_array_tells_shape_dtype_and_sizes_as_it_will_when_settled():
    y = own(numbers((3, 1), "int16")) + own(numbers((1, 4), "int32"))
    assert waits(y)
    before = (y.shape, y.ndim, y.size, y.dtype, y.device, y.itemsize, y.nbytes, len(y))
    xp.materialize(y)
    assert before == (y.shape, y.ndim, y.size, y.dtype, y.device, y.itemsize, y.nbytes, len(y))
    assert before[:4] == ((3, 4), 2, 12, xp.int32)


def test_a_pending_array_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(large() + 1.0)


def test_comparisons_of_pending_arrays_wait_and_give_booleans():
    x = large()
    less = x + 1.0 < x * 2.0
    assert waits(less)
    assert less.dtype == xp.bool
    assert identical(values(less), numbers(LARGE) + 1 < numbers(LARGE) * 2)


def test_copies_of_a_pending_array_are_arrays_of_their_own():
    y = large() + 1.0
    for twin_of_it in (copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y)), xp.asarray(y, copy=True)):
        twin_of_it[0, 0] = -1.0
        assert float(y[0, 0]) == 2.0


def test_without_a_reason_nothing_waits():
    with settings(**EAGER):
        assert not waits(large() + 1.0)


def test_the_size_of_the_result_decides_broadcasting_included():
    column, row = own(numbers((100, 1))), own(numbers((1, 100)))
    with settings(defer_min_bytes=100 * 100 * 8):
        assert not waits(column + column)
        assert waits(column + row)
    with settings(defer_min_bytes=100 * 100 * 8 + 1):
        assert not waits(column + row)


# -- a write settles what reads the memory -----------------------------------------------------------------


def _masked(x):
    x[x > 3.0] = -9.0


def _iadd(x):
    x += 100.0


def _through_a_view(x):
    x[3:, ::2][...] = -9.0


def _through_a_transpose(x):
    x.T[...] = -9.0


def _iadd_through_a_view(x):
    view = xp.flip(x, axis=0)
    view *= 3.0


def _through_another_array(x):
    xp.from_dlpack(x, copy=False)[1:] = -9.0


def _through_numpy(x):
    np.asarray(x)[...] = -9.0


def _through_a_view_of_numpy(x):
    np.from_dlpack(x[2:])[...] = -9.0


def _set_from_a_pending_one(x):
    x[...] = x * 5.0


def _isub_a_pending_one(x):
    x -= x * 5.0


WRITES = [
    lambda x: x.__setitem__(..., -9.0),
    lambda x: x.__setitem__((0, 0), -9.0),
    lambda x: x.__setitem__(slice(None, None, -2), -9.0),
    lambda x: x.__setitem__(own(np.array([1, 3])), -9.0),
    _masked,
    _iadd,
    _through_a_view,
    _through_a_transpose,
    _iadd_through_a_view,
    _through_another_array,
    _through_numpy,
    _through_a_view_of_numpy,
    _set_from_a_pending_one,
    _isub_a_pending_one,
]
READS = {
    "one operation": lambda x: x + 1,
    "a chain": lambda x: -((x + 1) * 2),
    "a view": lambda x: x[1:] * 2,
    "a transposed view": lambda x: x.T + 1,
    "two ways": lambda x: (x + 1) * (x - 1),
    "broadcast": lambda x: x[0] + xp.zeros((7, 1)),
    "astype": lambda x: xp.astype(x, xp.float32),
    "where": lambda x: xp.where(x > 2, x, -x),
    "clip": lambda x: xp.clip(x, 2, 500),
    "in place on a pending one": lambda x: operator.iadd(x * 2, x),
}


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("read", READS)
def test_a_write_comes_after_everything_that_was_to_be_read(read, write):
    with settings(**EAGER):
        eager = large()
        want = values(READS[read](eager))
        write(eager)
    x = large()
    y = READS[read](x)
    write(x)
    assert identical(values(y), want)
    assert identical(values(x), values(eager))


def test_a_write_settles_only_the_ends_of_the_chains_and_what_a_variable_holds(stored):
    x = large()
    held = x + 1.0
    end = (held * 2.0) - 3.0
    x[...] = 0.0
    assert not waits(end)
    assert not waits(held)
    assert stored == [LARGE, LARGE]


def test_a_write_to_other_memory_settles_nothing():
    x, other = large(), large()
    y = x + 1.0
    other[...] = 0.0
    other += 1.0
    assert waits(y)


def test_a_refused_write_changes_nothing():
    x = large()
    y = x + 1.0
    with pytest.raises(IndexError):
        x[99, 0] = 0.0
    with pytest.raises(ValueError):
        x[...] = own(numbers((7,)))
    with pytest.raises(ValueError):
        x += own(numbers((2, *LARGE)))
    assert identical(values(y), numbers(LARGE) + 1)
    assert identical(values(x), numbers(LARGE))


def test_what_was_read_before_an_in_place_operator_on_a_pending_array_stays():
    x = large() * 1.0
    before = x + 0.0
    x += 5.0
    after = x + 0.0
    x *= 2.0
    assert waits(x)
    assert identical(values(before), numbers(LARGE))
    assert identical(values(after), numbers(LARGE) + 5)
    assert identical(values(x), (numbers(LARGE) + 5) * 2)


def test_another_name_of_a_pending_array_sees_what_is_done_to_it_in_place():
    x = large() * 1.0
    same = x
    x += 5.0
    assert same is x
    assert identical(values(same), numbers(LARGE) + 5)


def test_a_view_of_an_array_that_was_pending_sees_later_writes():
    x = large() * 1.0
    view = x[:, ::-1]
    x += 5.0
    assert identical(values(view), numbers(LARGE)[:, ::-1] + 5)


# -- memory that others may write is never read late --------------------------------------------------------


IMPORTS = {
    "asarray": xp.asarray,
    "from_dlpack": xp.from_dlpack,
    "a view": lambda a: xp.asarray(a)[::-1],
    "a memoryview": lambda a: xp.asarray(memoryview(a)),
}


@pytest.mark.parametrize("take", IMPORTS)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("shape", [LARGE, (3, 5)])
def test_memory_taken_over_is_read_at_the_call(take, read, shape):
    source = numbers(shape)
    with settings(**EAGER):
        want = values(READS[read](IMPORTS[take](source.copy())))
    x = IMPORTS[take](source)
    y = READS[read](x)
    source[...] = -99
    assert identical(values(y), want)


def test_a_chain_that_meets_such_memory_is_read_at_the_call():
    source = numbers(LARGE)
    ours = large()
    mixed = (ours + 1.0) * xp.asarray(source)
    chosen = xp.where(ours > 5.0, ours * 2.0, xp.asarray(source))
    target = ours * 1.0
    target += xp.asarray(source)
    widened = ours + xp.asarray(source.astype(np.float32), copy=False)
    source[...] = -99
    assert identical(values(mixed), (numbers(LARGE) + 1) * numbers(LARGE))
    assert identical(values(chosen), np.where(numbers(LARGE) > 5, numbers(LARGE) * 2, numbers(LARGE)))
    assert identical(values(target), numbers(LARGE) * 2)
    assert identical(values(widened), numbers(LARGE) * 2)


EXPORTS = {
    "numpy.asarray": np.asarray,
    "numpy.from_dlpack": np.from_dlpack,
    "a view": lambda x: np.asarray(x[:, 3:]),
    "a transpose": lambda x: np.asarray(x.T),
    "memoryview": memoryview,
}


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("early", [True, False], ids=["exported before", "exported after"])
def test_memory_handed_out_is_read_at_the_call(export, early):
    if export == "memoryview" and sys.version_info < (3, 12):
        pytest.skip("classes have __buffer__ from Python 3.12 on (PEP 688)")
    x = large()
    outside = EXPORTS[export](x) if early else None
    y = (x + 1.0) * 2.0
    outside = EXPORTS[export](x) if outside is None else outside
    np.asarray(outside)[...] = -99
    assert identical(values(y), (numbers(LARGE) + 1) * 2)
    assert identical(values(x + 0.0), values(x))


def test_a_pending_array_that_is_handed_out_is_not_read_late_either():
    x = large() + 1.0
    outside = np.asarray(x)
    y = x * 2.0
    outside[...] = -99
    assert identical(values(y), (numbers(LARGE) + 1) * 2)


def test_a_pickle_out_of_band_may_be_written_by_its_owner():
    buffers = []
    data = pickle.dumps(large(), protocol=5, buffer_callback=buffers.append)
    frame = bytearray(buffers[0].raw()) if buffers else None
    x = pickle.loads(data, buffers=[frame] if buffers else None)
    y = x + 1.0
    if frame is not None:
        frame[:] = bytes(len(frame))
    assert identical(values(y), numbers(LARGE) + 1)


@pytest.mark.parametrize("name", sorted(_revisions.members(_revisions.LATEST)))
def test_a_result_that_shares_memory_with_its_argument_shares_the_buffer_too(name):
    """Otherwise a write to the one would not settle what reads the other."""
    function = getattr(xp, name, None)
    if not callable(function):
        return
    for dtype in ("float64", "complex128", "int64", "bool"):
        for shape in (LARGE, (40, 40)):
            with settings(**EAGER):
                x = own(numbers(shape, dtype))
                try:
                    with warnings.catch_warnings(), np.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        made = function(x)
                except Exception:  # the function wants more than an array, or another one
                    continue
            results = made if isinstance(made, tuple | list) else [made]
            for result in results:
                if isinstance(result, xp.NDArray) and np.may_share_memory(x._numpy(), result._numpy()):
                    assert result._memory is x._memory


# -- what is stored, and that nothing is computed twice -----------------------------------------------------


def test_an_intermediate_that_a_variable_holds_is_stored_on_the_way():
    held = large() + 1.0
    count = Counted(held)
    y = held * 2.0
    xp.materialize(y)
    assert not waits(held)
    assert identical(values(held), numbers(LARGE) + 1)
    assert identical(values(held * 3.0), (numbers(LARGE) + 1) * 3)
    assert count.elements == held.size


def test_an_intermediate_that_nobody_holds_is_never_stored(stored):
    x = large()
    y = xp.sqrt((x + 1.0) * 2.0 - 3.0)
    xp.materialize(y)
    assert stored == [LARGE]


def test_an_intermediate_whose_variable_is_gone_when_it_is_computed_is_not_stored(stored):
    held = large() + 1.0
    y = held * 2.0
    del held
    xp.materialize(y)
    assert stored == [LARGE]


def test_what_two_readers_share_is_computed_once():
    shared = large() + 1.0
    count = Counted(shared)
    a, b = shared * 2.0, shared - 1.0
    del shared
    xp.materialize(a)
    assert waits(b)
    assert identical(values(a), (numbers(LARGE) + 1) * 2)
    assert identical(values(b), numbers(LARGE))
    assert count.elements == a.size


def test_an_operand_that_is_used_twice_in_one_expression_is_computed_once(stored):
    x = large()
    inner = x + 1.0
    count = Counted(inner)
    y = inner * inner - inner
    del inner
    assert identical(values(y), (numbers(LARGE) + 1) ** 2 - (numbers(LARGE) + 1))
    assert count.elements == x.size
    assert stored == [LARGE]


def test_forcing_twice_computes_once():
    y = large() + 1.0
    count = Counted(y)
    for _ in range(3):
        xp.materialize(y)
        np.asarray(y)
    assert count.elements == y.size


REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "min": np.min, "max": np.max,
    "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero, "argmax": np.argmax, "argmin": np.argmin,
}  # fmt: skip
CONSUMING = [name for name in REDUCTIONS if not name.startswith("arg")]


@pytest.mark.parametrize("name", CONSUMING)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_reduction_of_a_temporary_never_stores_it(name, axis, stored):
    x = own(moderate())
    getattr(xp, name)(x * 2.0, axis=axis)
    assert LARGE not in stored


@pytest.mark.parametrize("name", CONSUMING)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_reduction_of_what_a_variable_holds_stores_it_and_it_is_not_computed_again(name, axis, stored):
    held = own(moderate()) * 2.0
    count = Counted(held)
    getattr(xp, name)(held, axis=axis)
    assert not waits(held)
    getattr(xp, name)(held, axis=axis)
    assert identical(values(held), moderate() * 2)
    assert count.elements == held.size
    assert stored.count(LARGE) == 1


@pytest.mark.parametrize("counts", [True, False], ids=["too high", "too low"])
@pytest.mark.parametrize("name", CONSUMING)
def test_a_wrong_reference_count_costs_work_and_no_value(name, counts, monkeypatch):
    for module in [module for key, module in sys.modules.items() if key.startswith("candela_xp")]:
        if hasattr(module, "is_held"):
            monkeypatch.setattr(module, "is_held", lambda references: counts)
    held = own(moderate()) * 2.0 - 0.5
    for axis in (None, 0, 1):
        for reduced in (getattr(xp, name)(held, axis=axis), getattr(xp, name)(own(moderate()) * 2.0 - 0.5, axis=axis)):
            want = REDUCTIONS[name](moderate() * 2 - 0.5, axis=axis)
            np.testing.assert_allclose(values(reduced), want, rtol=1e-13)
    other = held + 1.0
    assert identical(values(other), moderate() * 2 - 0.5 + 1)
    assert identical(values(held), moderate() * 2 - 0.5)


def test_the_memory_of_a_chain_is_that_of_its_result():
    n = 2**16
    x = own(np.ones(n))
    before = xp.memory()["in_use_bytes"]
    y = xp.sqrt((x + 1.0) * 2.0 - 3.0)
    assert xp.memory()["in_use_bytes"] == before
    xp.materialize(y)
    assert xp.memory()["in_use_bytes"] == before + 8 * n
    del y
    assert xp.memory()["in_use_bytes"] == before


def test_a_chain_needs_a_few_blocks_beside_its_result():
    n = 200_000
    x = own(np.ones(n))
    with settings(block_elements=1024, pool_bytes=0):
        xp.materialize(x * 2.0 - 1.0)  # the workers are there
        y = xp.exp((x + 1.0) * 2.0 - 3.0) * x
        tracemalloc.start()
        xp.materialize(y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * n + 2**18


# -- chains have an end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("in_place", [True, False])
def test_ten_thousand_updates_need_neither_recursion_nor_memory(in_place):
    x = own(np.zeros(600))
    y = x + 0.0
    tracemalloc.start()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        with settings(block_elements=1024):
            for _ in range(10_000):
                if in_place:
                    y += 1.0
                else:
                    y = y + 1.0
        peak = tracemalloc.get_traced_memory()[1]
        assert float(y[3]) == 10_000.0
    finally:
        sys.setrecursionlimit(limit)
        tracemalloc.stop()
    assert peak < 2**20


def test_an_endless_sum_with_the_operands_of_before_stays_short():
    a, b = own(np.zeros(700)), own(np.ones(700))
    for _ in range(300):
        a, b = b, (a + b) % 1009.0
        assert len(chain(b)) <= MAX_NODES
    x, y = 0, 1
    for _ in range(300):
        x, y = y, (x + y) % 1009
    assert float(b[0]) == y


def test_no_chain_is_longer_than_its_bound():
    x = large()
    nodes = [x + 1.0]
    for step in range(5 * MAX_NODES):
        nodes.append(nodes[-1] * nodes[max(0, step - 2)] % 7.0)
        assert len(chain(nodes[-1])) <= MAX_NODES
    want = [numbers(LARGE) + 1]
    for step in range(5 * MAX_NODES):
        want.append(want[-1] * want[max(0, step - 2)] % 7)
    assert identical(values(nodes[-1]), want[-1])


def test_a_chain_keeps_few_sources_alive():
    alive = []
    total = own(np.zeros(1000)) + 0.0
    for number in range(60):
        term = own(np.full(1000, float(number)))
        alive.append(weakref.ref(term._memory))
        total = total + term
        del term
        assert sum(ref() is not None for ref in alive) <= MAX_SOURCES + 1
    assert float(total[0]) == sum(range(60))


def test_a_balanced_sum_keeps_few_sources_alive():
    terms = [own(np.full(1000, float(number))) + 0.0 for number in range(32)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2])]
        for term in terms:
            assert sources(term) <= MAX_SOURCES + 1
    assert float(terms[0][0]) == sum(range(32))


# -- errors at the call, in the same words -----------------------------------------------------------------


def on_another_device(x):
    return x.to_device(xp.__array_namespace_info__().devices()[1])


BAD_CALLS = {
    "shapes": lambda x: x + own(numbers((7,))),
    "shapes of where": lambda x: xp.where(x > 1.0, x, own(numbers((7,)))),
    "shapes of clip": lambda x: xp.clip(x, own(numbers((7,)))),
    "shapes of three": lambda x: xp.where(own(np.ones((3, 1), bool)), x, x),
    "in place, broadcast": lambda x: operator.iadd(x[0], x),
    "in place, shapes": lambda x: operator.iadd(x, own(numbers((7,)))),
    "in place, dtype": lambda x: operator.itruediv(own(numbers(LARGE, "int64")), 2),
    "in place, read-only": lambda x: operator.iadd(xp.broadcast_to(x, (2, *LARGE)), 1.0),
    "dtype": lambda x: xp.bitwise_and(x, x),
    "dtype of order": lambda x: x + 1j < x,
    "dtype of negative bool": lambda x: -(x > 1.0),
    "dtype of subtract bool": lambda x: (x > 1.0) - (x > 2.0),
    "astype of complex": lambda x: xp.astype(x + 1j, xp.float64),
    "a bound of another kind": lambda x: xp.clip(own(numbers(LARGE, "int64")), x),
    "a scalar that doesn't fit": lambda x: own(numbers(LARGE, "int8")) + 1000,
    "a scalar of another kind": lambda x: xp.clip(own(numbers(LARGE, "int64")), 1.5),
    "no array": lambda x: x + "text",
    "an array of NumPy's": lambda x: x + numbers(LARGE),
    "device": lambda x: x + on_another_device(x),
    "device of where": lambda x: xp.where(x > 1.0, x, on_another_device(x)),
    "device of clip": lambda x: xp.clip(x, on_another_device(x)),
    "in place, device": lambda x: operator.iadd(x, on_another_device(x)),
    "negative power": lambda x: own(numbers(LARGE, "int64")) ** own(-numbers(LARGE, "int64")),
    "negative power, scalar": lambda x: own(numbers(LARGE, "int64")) ** -1,
    "negative power, in place": lambda x: operator.ipow(own(numbers(LARGE, "int64")), -1),
    "bool of many": bool,
    "float of many": float,
    "axis": lambda x: xp.sum(x * 2.0, axis=2),
    "axis twice": lambda x: xp.sum(x * 2.0, axis=(0, 0)),
    "empty maximum": lambda x: xp.max(x[:0] * 2.0),
    "index": lambda x: (x * 2.0)[99],
    "too many indices": lambda x: (x * 2.0)[0, 0, 0],
    "hash": lambda x: hash(x * 2.0),
}


@pytest.mark.parametrize("name", BAD_CALLS)
@pytest.mark.parametrize("pending", [True, False], ids=["of a pending array", "of memory"])
def test_errors_come_at_the_call_in_the_words_of_eager_calls(name, pending):
    said = []
    for chosen in (EAGER, LAZY):
        with settings(simulated_devices=2, **chosen):
            x = large() * 1.0
            if not pending:
                xp.materialize(x)
            with pytest.raises(Exception) as caught:
                BAD_CALLS[name](x)
            said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


def test_a_refused_call_leaves_pending_operands_pending_and_right():
    y = large() + 1.0
    for bad in ("shapes", "dtype", "in place, shapes", "an array of NumPy's", "a scalar of another kind"):
        with pytest.raises((TypeError, ValueError)):
            BAD_CALLS[bad](y)
    assert identical(values(y), numbers(LARGE) + 1)


# -- NumPy's error state -----------------------------------------------------------------------------------


def zeros():
    return own(np.zeros(LARGE))


def test_the_error_state_of_the_call_holds_where_it_is_read():
    with np.errstate(divide="ignore"):
        y = 1.0 / zeros()
        z = y + 1.0
    with np.errstate(divide="raise"):
        assert values(z)[0, 0] == np.inf
    assert values(y)[0, 0] == np.inf


def test_a_warning_comes_though_the_reader_would_ignore_it():
    y = 1.0 / zeros()
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="divide by zero"):
        np.asarray(y)


def test_each_operation_of_a_chain_has_its_own_error_state():
    with np.errstate(divide="ignore"):
        inner = 1.0 / zeros()
    y = inner - inner  # invalid, and that is not ignored
    del inner
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.asarray(y)


@pytest.mark.parametrize("pending", [True, False])
def test_raise_raises_at_the_call(pending):
    x = zeros() * 1.0
    if not pending:
        xp.materialize(x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        1.0 / x
    target = own(np.ones(LARGE)) * 1.0
    if not pending:
        xp.materialize(target)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        target /= x
    assert identical(values(target), np.ones(LARGE))


def test_a_handler_is_called_at_the_call():
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
        1.0 / zeros()
    assert seen


def test_an_in_place_operator_carries_the_error_state_of_its_call():
    with np.errstate(divide="ignore", invalid="ignore"):
        x = zeros() * 1.0
        x /= 0.0 * x
        settled = zeros()
        settled /= settled * 0.0
    assert np.isnan(values(x)).all()
    assert np.isnan(values(settled)).all()


# -- exceptions at the read ----------------------------------------------------------------------------------


class Failing:
    """A kernel that fails so many times."""

    def __init__(self, pending, times):
        self.kernel, self.left = pending._node.kernel, times
        pending._node.kernel = self

    def __call__(self, *operands, out):
        if self.left > 0:
            self.left -= 1
            raise ZeroDivisionError("the kernel")
        return self.kernel(*operands, out=out)


@pytest.mark.parametrize("look", ["numpy.asarray", "repr", "an element", "sum", "pickle", "matmul", "materialize"])
def test_after_an_exception_at_the_read_the_array_is_pending_and_can_be_read_again(look):
    inner = large() + 1.0
    y = inner * 2.0
    # From Python 3.12 on NumPy asks for __buffer__, and when that raises for __array__.
    kernel = Failing(inner, 2 if look == "numpy.asarray" and hasattr(xp.NDArray, "__buffer__") else 1)
    kernel_calls = kernel.left
    with pytest.raises(ZeroDivisionError, match="the kernel"):
        LOOKS[look](y)
    assert kernel.left < kernel_calls
    assert waits(y)
    assert waits(inner)
    assert identical(values(y), (numbers(LARGE) + 1) * 2)
    assert identical(values(inner), numbers(LARGE) + 1)


def test_a_warning_that_is_an_error_is_such_an_exception():
    y = 1.0 / zeros()
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                np.asarray(y)
        assert waits(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert values(y)[0, 0] == np.inf


def test_without_memory_the_array_stays_pending(monkeypatch):
    y = large() + 1.0
    with monkeypatch.context() as patch:
        patch.setattr(_pool, "allocate", lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            np.asarray(y)
    assert waits(y)
    assert identical(values(y), numbers(LARGE) + 1)


def test_a_write_whose_readers_cannot_be_computed_does_not_happen():
    x = large()
    y = x + 1.0
    Failing(y, 1)
    with pytest.raises(ZeroDivisionError):
        x[...] = 0.0
    assert identical(values(x), numbers(LARGE))
    assert identical(values(y), numbers(LARGE) + 1)


# -- the same bits as eager ------------------------------------------------------------------------------


FUNCTIONS = {
    name: function
    for name, function in ((name, getattr(xp, name)) for name in _revisions.members(_revisions.LATEST))
    if callable(function) and getattr(getattr(function, "__wrapped__", None), "__code__", None) is not None
    and function.__wrapped__.__code__.co_filename.endswith("_elementwise.py")
}  # fmt: skip
# NumPy's loops of these take other instructions for strided memory than for dense, with other last bits; where a
# deferred operand is copied it becomes dense. So many units in the last place, for all arrangements with gaps.
FREEDOM = {
    "acos": 4, "acosh": 4, "asin": 4, "asinh": 4, "atan": 4, "atan2": 4, "atanh": 4, "cos": 4, "cosh": 4, "exp": 4,
    "expm1": 8, "log": 4, "log10": 4, "log1p": 8, "log2": 4, "logaddexp": 4, "pow": 4, "sin": 4, "sinh": 4, "tan": 4,
    "tanh": 4, "abs": 1, "multiply": 1, "square": 1, "divide": 2, "reciprocal": 2, "sqrt": 2, "hypot": 2, "sign": 2,
}  # fmt: skip


def operands(dtype, function):
    """All pairs of special values, as a matrix."""
    found = special(dtype)
    if function in ("bitwise_left_shift", "bitwise_right_shift"):
        return np.repeat(found, 12).reshape(12, 12), np.tile(tame(dtype), 12).reshape(12, 12)
    if function == "pow" and kind(dtype) in ("int", "uint"):
        return np.repeat(found, 12).reshape(12, 12), np.tile(tame(dtype), 12).reshape(12, 12)
    return np.repeat(found, 12).reshape(12, 12), np.tile(found, 12).reshape(12, 12)


def outcome(call):
    """The values that a call gives, or its refusal."""
    try:
        with np.errstate(all="ignore"):
            made = call()
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return values(made)  # NumPy's default state, and warnings are errors: the call's has to hold


def compare(call, ulps=0):
    """Deferred and eager alike, to the last bit or to so many units of it."""
    with settings(**EAGER):
        want = outcome(call)
    got = outcome(call)
    if isinstance(want, tuple) or isinstance(got, tuple):
        assert got == want
    else:
        assert close(got, want, ulps)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("arrangement", ["contiguous", "fortran", "stepped", "reversed"])
def test_every_elementwise_function_gives_the_bits_that_it_gives_at_once(name, arrangement):
    function = FUNCTIONS[name]
    ulps = FREEDOM.get(name, 0) if arrangement in ("stepped", "reversed") else 0
    for dtype in ALL_DTYPES:
        arrays = [laid(x, arrangement) for x in operands(dtype, name)][: function.__wrapped__.__code__.co_argcount]
        compare(lambda arrays=arrays: function(*arrays), ulps)


@pytest.mark.parametrize("name", ["add", "exp", "divide", "less", "sqrt", "abs", "pow", "atan2", "floor_divide"])
def test_functions_in_the_middle_of_a_chain_give_the_same_bits(name):
    function = FUNCTIONS[name]
    count = function.__wrapped__.__code__.co_argcount
    for dtype in ["float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int32"]:
        x, y = map(own, operands(dtype, name))
        compare(lambda x=x, y=y: xp.logical_not(function(*(+x, +y)[:count]) != function(*(+x, +y)[:count])))
        compare(lambda x=x, y=y: function(*(xp.abs(x), +y)[:count]) * 1)


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda operation: operation.__name__)
def test_operators_with_arrays_and_with_scalars_on_either_side_give_the_same_bits(operation):
    for dtype in STANDARD:
        a, b = map(own, operands(dtype, "pow" if "shift" in operation.__name__ else operation.__name__))
        for scalar in (True, 2, 0, 1.5, 1j):
            compare(lambda a=a, scalar=scalar: operation(a, scalar))
            compare(lambda a=a, scalar=scalar: operation(scalar, a))
        compare(lambda a=a, b=b: operation(a, b))


@pytest.mark.parametrize("operation", [operator.neg, operator.pos, operator.invert, abs], ids=lambda o: o.__name__)
def test_operators_of_one_operand_give_the_same_bits(operation):
    for dtype in ALL_DTYPES:
        x = own(operands(dtype, "")[0])
        compare(lambda x=x: operation(x))


@pytest.mark.parametrize("first", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("second", ["bool", "int16", "uint64", "bfloat16", "float64", "complex128"])
def test_operands_of_two_dtypes_give_the_same_bits(first, second):
    a, b = own(operands(first, "")[0]), own(operands(second, "")[1])
    for operation in (operator.add, operator.mul, operator.lt, operator.eq, xp.maximum):
        compare(lambda operation=operation: operation(a, b))
        compare(lambda operation=operation: operation(b, a))
        compare(lambda operation=operation: operation(a[:1], b[:, 1:2]))
    compare(lambda: xp.where(a == a, a, b))


@pytest.mark.parametrize("source", [*ALL_DTYPES, "float8_e8m0fnu"])
def test_astype_gives_the_same_bits(source):
    x = own(np.tile(tame(source) if source != "float8_e8m0fnu" else np.ones(12).astype(twin(source)), 12))
    for target in [*ALL_DTYPES, "float8_e8m0fnu"]:
        dtype = getattr(xp, target, None) or xp.asarray(np.empty(0, twin(target))).dtype
        compare(lambda dtype=dtype: xp.astype(x, dtype))
        compare(lambda dtype=dtype: xp.astype(+x if source != "bool" else ~x, dtype))


def test_where_and_clip_give_the_same_bits_with_arrays_scalars_and_broadcasting():
    for dtype in STANDARD:
        a, b = map(own, operands(dtype, ""))
        mask = own(np.arange(144).reshape(12, 12) % 3 == 0)
        compare(lambda a=a, b=b, mask=mask: xp.where(mask, a, b))
        compare(lambda a=a, b=b, mask=mask: xp.where(mask[0], a[:, :1], b))
        compare(lambda a=a, b=b, mask=mask: xp.where(a == b, a, 1))
        compare(lambda a=a, b=b, mask=mask: xp.where(mask, True, a))
        if dtype in COMPLEX or dtype == "bool":
            continue
        compare(lambda a=a, b=b: xp.clip(a, b, a))
        compare(lambda a=a, b=b: xp.clip(a, 1, 3))
        compare(lambda a=a, b=b: xp.clip(a, max=b[0]))
        compare(lambda a=a, b=b: xp.clip(a[0], b[:, :1], None))
    compare(lambda: xp.clip(own(numbers((12, 12), "int8")), own(numbers((12, 12), "int64") * 100), 50))


@pytest.mark.parametrize("first", ARRANGEMENTS)
@pytest.mark.parametrize("second", ARRANGEMENTS)
def test_mixed_arrangements_in_a_chain_give_the_same_values(first, second):
    x, y = numbers((30, 20, 3)), numbers((30, 20, 3))[::-1]
    a, b = laid(x, first), xp.permute_dims(laid(y.transpose(2, 0, 1), second), (1, 2, 0))
    held = a * 2.0
    assert identical(values((held - b) * a), (x * 2 - y) * x)
    assert identical(values(held), x * 2)


@given(st.data())
def test_any_broadcast_operands_give_what_numpy_gives(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=4)))
    terms, arrays = [], []
    for _ in range(3):
        own_shape = tuple(data.draw(st.sampled_from([n, 1])) for n in shape)[data.draw(st.integers(0, len(shape))) :]
        order = tuple(data.draw(st.permutations(range(len(own_shape)))))
        dense = np.array(numbers(tuple(own_shape[a] for a in order)))
        inverse = tuple(np.argsort(order).tolist())
        terms.append(dense.transpose(inverse))
        arrays.append(xp.permute_dims(xp.asarray(dense, copy=True), inverse))
    held = arrays[0] * 2.0 - arrays[1]
    result = xp.where(held > 3.0, held, arrays[2]) + 1.0
    want = terms[0] * 2 - terms[1]
    assert identical(values(result), np.where(want > 3, want, terms[2]) + 1)
    assert identical(values(held), want)


# -- in place --------------------------------------------------------------------------------------------

IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
]  # fmt: skip
# Beyond `SAFE_BYTES` for one byte an element: arrays of that size are written through the walk
ROWS = 2800


@pytest.mark.parametrize("operation", IN_PLACE, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("state", ["pending", "settled", "view"])
def test_in_place_operators_give_the_bits_that_they_give_at_once(operation, state):
    with settings(block_elements=4096):
        for dtype in ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64", "bfloat16"]:
            a, b = operands(dtype, "pow" if "shift" in operation.__name__ else operation.__name__[1:])
            if operation is operator.ipow and kind(dtype) in ("int", "uint"):
                a, b = operands(dtype, "pow")
            repeats = 4 if state == "pending" else ROWS // 12
            a, b = np.tile(a, (repeats, 2)), np.tile(b, (repeats, 2))

            def call(a=a, b=b):
                x = own(a)
                target = xp.where(own(np.ones(a.shape, bool)), x, x) if state == "pending" else x
                target = target[:, ::2] if state == "view" else target
                other = own(b)[:, ::2] if state == "view" else own(b)
                operation(target, other)
                return target

            compare(call)


@pytest.mark.parametrize("shift", [1, -1, 3])
@pytest.mark.parametrize("operation", [operator.iadd, operator.isub, operator.imul], ids=lambda o: o.__name__)
def test_overlapping_views_are_read_before_they_are_written(operation, shift):
    want = np.arange(1.0, 9001.0)
    x = own(want)
    target, other = (
        (slice(shift, None), slice(None, -shift)) if shift > 0 else (slice(None, shift), slice(-shift, None))
    )
    view = x[target]
    operation(view, x[other])
    want[target] = getattr(operator, operation.__name__)(want[target].copy(), want[other].copy())
    assert identical(values(x), want)


@pytest.mark.parametrize("other", ["itself", "transposed", "reversed", "a chain", "a reversed chain", "a row"])
def test_an_array_may_be_changed_by_views_of_itself(other):
    want = numbers((80, 80))
    x = own(want)
    terms = {
        "itself": lambda x, flip: x,
        "transposed": lambda x, flip: x.T,
        "reversed": lambda x, flip: flip(x),
        "a chain": lambda x, flip: (x + 1.0) * x,
        "a reversed chain": lambda x, flip: (flip(x) + 1.0) * x.T,
        "a row": lambda x, flip: x[3],
    }
    x += terms[other](x, xp.flip)
    want = want + terms[other](want, np.flip)
    assert identical(values(x), want)


def test_a_held_operand_in_another_order_than_the_array_that_is_changed_is_stored_rightly():
    """What is written must never be read through a staged copy: the kernel would write the copy."""
    x = xp.permute_dims(own(np.ones((80, 90))), (1, 0))
    held = own(numbers((90, 80))) + 1.0
    x += held
    assert identical(values(held), numbers((90, 80)) + 1)
    assert identical(values(x), numbers((90, 80)) + 2)


@pytest.mark.parametrize("first", ARRANGEMENTS)
@pytest.mark.parametrize("second", ARRANGEMENTS)
def test_large_arrays_of_any_arrangement_are_changed_by_chains_of_any_other(first, second):
    base = numbers((60, 30, 5))
    target, other = laid(base, first), laid(base[::-1], second)
    held = other * 2.0
    target -= held * held
    assert identical(values(held), base[::-1] * 2)
    assert identical(values(target), base - (base[::-1] * 2) ** 2)


def test_in_place_with_a_wider_operand_casts_as_it_does_at_once():
    for dtype, other in (("float32", "float64"), ("int8", "int64"), ("int16", "bool")):
        for rows in (3, ROWS):

            def call(dtype=dtype, other=other, rows=rows):
                x = own(np.tile(tame(dtype), (rows, 1)))
                x += own(np.tile(tame(other), (rows, 1)))
                y = +own(np.tile(tame(dtype), (rows, 1)))
                y += own(np.tile(tame(other), (rows, 1)))
                return xp.where(x == y, x, y * 0 - 1)

            compare(call)


# -- reductions ------------------------------------------------------------------------------------------

AXES = [None, 0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2), ()]


def reduced(name, x, axis, keepdims):
    return getattr(xp, name)(x, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("arrangement", ["contiguous", "fortran", "rotated", "stepped", "reversed"])
def test_reductions_of_chains_and_of_memory_give_what_numpy_gives(name, arrangement):
    base = (numbers((5, 6, 7)) * 37 % 101 - 50) / 50  # all different; sums far from 0 and from overflow
    x = laid(base, arrangement)
    axes = [axis for axis in AXES if not isinstance(axis, tuple)] if name.startswith("arg") else AXES
    for axis, keepdims in itertools.product(axes, [False, True]):
        want = np.asarray(REDUCTIONS[name](base * 2, axis=axis, keepdims=keepdims))
        for got in (reduced(name, x * 2.0, axis, keepdims), reduced(name, x + x, axis, keepdims)):
            assert got.shape == want.shape
            np.testing.assert_allclose(values(got), want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(1, 30, 40), (30, 1, 40), (1200, 1), (1, 1200), (1, 1), (1,), ()])
def test_reductions_over_axes_of_length_one_take_nothing_together(name, shape):
    base = numbers(shape) / 1200 + 0.25
    axes = [axis for axis in [*range(len(shape)), (0, 1), ()] if axis != (0, 1) or len(shape) > 1]
    for axis in [axis for axis in axes if not (name.startswith("arg") and isinstance(axis, tuple))]:
        for x in (own(base), own(base / 2) * 2.0):
            want = np.asarray(REDUCTIONS[name](base, axis=axis))
            if axis == () and name == "count_nonzero":  # NumPy counts over all
                want = np.asarray(base != 0).astype(np.int64)
            np.testing.assert_allclose(values(getattr(xp, name)(x, axis=axis)), want, rtol=1e-12)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [*INTEGER, "bool", "float32", "float16", "bfloat16", "complex128"])
def test_reductions_of_every_dtype_agree_with_eager_ones(name, dtype):
    base = own(np.tile(tame(dtype), (12, 2))[:, :23])
    held = base & base if dtype == "bool" else base * 1

    for axis in (None, 0, 1):
        got = []
        for chosen in (EAGER, LAZY):
            with settings(**chosen):
                try:
                    with np.errstate(all="ignore"):
                        got.append(values(reduced(name, held, axis, False)))
                except TypeError as error:
                    got.append(str(error))
        if isinstance(got[0], str) or isinstance(got[1], str):
            assert got[0] == got[1]
        else:
            assert close(got[1], got[0], 8)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_number_of_threads_changes_no_bit_of_a_reduction(name):
    generator = np.random.default_rng(1)
    for dtype in REAL_FLOAT:
        x = own((generator.standard_normal((23, 37, 5)) + 0.9).astype(dtype))
        for axis in [None, 0, 1, 2]:
            found = []
            for threads in (1, 2, 3):
                with settings(threads=threads, block_elements=64):
                    found.append(values(reduced(name, xp.exp(x) * 0.4, axis, False)).tobytes())
            assert len(set(found)) == 1


def test_special_values_go_through_reductions_in_blocks():
    x = np.ones((50, 40))
    x[3, 4], x[30, 20], x[7] = np.nan, np.inf, -0.0
    for name in ("sum", "prod", "max", "min", "mean", "any", "all", "count_nonzero", "argmax", "argmin"):
        for axis in (None, 0, 1):
            with np.errstate(all="ignore"):
                got, want = reduced(name, own(x) * 1.0, axis, False), np.asarray(REDUCTIONS[name](x, axis=axis))
            np.testing.assert_allclose(values(got), want, rtol=1e-13)


def test_the_variance_of_data_far_from_zero_does_not_cancel():
    base = np.random.default_rng(2).standard_normal((400, 30)) + 1e6
    for axis in (None, 0, 1):
        for correction in (0, 1):
            got = xp.var(own(base) * 1.0, axis=axis, correction=correction)
            np.testing.assert_allclose(values(got), np.var(base, axis=axis, ddof=correction), rtol=1e-9)


@pytest.mark.parametrize("axis", [None, 0])
def test_float32_sums_are_as_near_to_the_exact_sum_as_numpys(axis):
    base = np.random.default_rng(3).random(300_000).astype(np.float32)
    base = base if axis is None else base[:, None]
    with settings(block_elements=2**12):
        got = float(xp.sum(own(base) * 1.0, axis=axis)) if axis is None else float(xp.sum(own(base) * 1.0, axis=0)[0])
    exact = math.fsum(base.ravel().tolist())
    assert abs(got - exact) <= max(abs(float(np.sum(base.ravel())) - exact), 2 * float(np.spacing(np.float32(exact))))


def test_a_reduction_reads_through_a_write_that_follows():
    x = large()
    y = x * 2.0
    total = xp.sum(y, axis=0)
    x[...] = 0.0
    assert identical(values(total), np.sum(numbers(LARGE) * 2, axis=0))
    assert identical(values(y), numbers(LARGE) * 2)


def test_vector_norms_of_chains_agree_with_numpy():
    x = numbers(LARGE) - 300
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        for axis in (None, 0, 1):
            got = xp.linalg.vector_norm(own(x) * 0.5, ord=order, axis=axis)
            want = np.linalg.norm((x * 0.5).ravel() if axis is None else x * 0.5, ord=order, axis=axis)
            np.testing.assert_allclose(values(got), want, rtol=1e-12)


# -- nothing is kept alive -----------------------------------------------------------------------------------


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def memory_of(x):
    return weakref.ref(x._memory)


def test_memory_goes_with_the_last_array_that_is_computed_from_it(no_collector):
    x = large()
    source = memory_of(x)
    y = x + 1.0
    del x
    assert source() is not None
    xp.materialize(y)
    assert source() is None
    result = memory_of(y)
    del y
    assert result() is None


def test_a_chain_that_nobody_computes_goes_with_its_variable(no_collector):
    x = large()
    source, node = memory_of(x), None
    y = xp.where(x > 1.0, xp.sqrt(x) * 2.0, x) + x
    node = weakref.ref(y._node)
    del x
    del y
    assert source() is None
    assert node() is None


def test_readers_do_not_keep_what_they_read_nor_the_other_way_round(no_collector):
    x = large()
    source = memory_of(x)
    held, y = x + 1.0, None
    y = held * 2.0
    inner = weakref.ref(held)
    del held
    assert inner() is None
    xp.materialize(y)
    y += 1.0
    xp.sum(y * y)
    z = -y
    del x
    assert source() is None
    reading = weakref.ref(z._node)
    del z
    assert reading() is None


def test_an_in_place_operator_on_a_pending_array_keeps_no_former_state(no_collector):
    y = large() + 1.0
    for _ in range(3):
        y += 1.0
    array, node = weakref.ref(y), weakref.ref(y._node)
    del y
    assert array() is None
    assert node() is None


def test_an_exception_at_the_read_keeps_nothing_alive(no_collector):
    x = large()
    source = memory_of(x)
    y = x + 1.0
    kernel = Failing(y, 10**9)
    with pytest.raises(ZeroDivisionError):
        np.asarray(y)
    del x, y, kernel
    assert source() is None


@pytest.mark.parametrize("name", CONSUMING)
def test_reductions_keep_nothing_alive(name, no_collector):
    x = own(moderate())
    source = memory_of(x)
    getattr(xp, name)(x * 2.0, axis=0)
    held = x * 2.0
    total = getattr(xp, name)(held)
    result = memory_of(held)
    del x
    assert source() is None
    del held
    assert result() is None
    del total


def test_a_thousand_large_arrays_one_after_another_need_the_memory_of_few(no_collector):
    with settings(pool_bytes=2**24, block_elements=2**15):
        x = own(np.ones(2**15))
        start = xp.memory()["in_use_bytes"]
        for _ in range(1000):
            y = x * 2.0 + 1.0
            xp.materialize(y)
            assert xp.memory()["in_use_bytes"] <= start + 2 * y.nbytes + 2**13


def test_lists_of_readers_stay_short():
    x = large()
    for _ in range(1000):
        xp.materialize(x + 1.0)
        x + 2.0
    assert len(x._memory.readers) <= 32


# -- threads ---------------------------------------------------------------------------------------------


def together(*tasks, timeout=60):
    """Run tasks in threads that start at once; an exception of any comes out, and one that hangs is a failure."""
    barrier, failures = threading.Barrier(len(tasks)), []

    def work(task):
        try:
            with settings(**LAZY):
                barrier.wait(timeout)
                task()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


def test_several_threads_may_force_one_array_at_once():
    for _ in range(20):
        held = large() + 1.0
        y = held * 2.0
        found = []
        together(*[lambda y=y, found=found: found.append(values(y))] * 4)
        assert len(found) == 4
        assert all(identical(x, (numbers(LARGE) + 1) * 2) for x in found)
        assert identical(values(held), numbers(LARGE) + 1)


def test_threads_that_force_overlapping_graphs_while_another_writes_see_what_was_before_the_write():
    for _ in range(15):
        x = large()
        shared = x + 1.0
        a, b = shared * 2.0, (shared - 1.0) * shared
        ends = [a - b, b - a, a, b]
        del shared, a, b
        tasks = [lambda end=end: np.asarray(end) for end in ends]
        together(*tasks, lambda x=x: x.__setitem__(..., -99.0), lambda x=x: np.asarray(x).fill(-99))
        n = numbers(LARGE)
        a, b = (n + 1) * 2, n * (n + 1)
        for got, want in zip(ends, (a - b, b - a, a, b)):
            assert identical(values(got), want)


def test_threads_that_build_on_one_pending_array_while_it_is_computed_agree():
    for _ in range(10):
        y = large() + 1.0
        results = []

        def build(y=y, results=results):
            for step in range(20):
                results.append((step, y * float(step)))
                y + 1.0

        together(build, build, lambda y=y: np.asarray(y))
        for step, x in results:
            assert identical(values(x), (numbers(LARGE) + 1) * step)


class Meeting:
    """A kernel that waits, in the calling thread of a name, for an event before it reads its operands."""

    def __init__(self, pending, begun, goes_on):
        self.kernel, self.reader = pending._node.kernel, threading.current_thread()
        self.begun, self.goes_on = begun, goes_on
        pending._node.kernel = self

    def __call__(self, *operands, out):
        if threading.current_thread() is self.reader and not self.begun.is_set():
            self.begun.set()
            # Not for ever: a library in which the writer waits for those who read never gives the sign.
            self.goes_on.wait(0.5)
        return self.kernel(*operands, out=out)


def raced(read, write):
    """What this thread reads of `x + 1` while another thread writes `x`, once the reading has begun."""
    begun, written = threading.Event(), threading.Event()
    x = large()
    y = x + 1.0
    Meeting(y, begun, written)

    def writer():
        assert begun.wait(20)
        write(x)
        written.set()

    thread = threading.Thread(target=writer, daemon=True)
    with settings(threads=1):
        thread.start()
        result = read(y)
        result = values(result)
    thread.join(20)
    assert not thread.is_alive()
    return result, values(y)


RACES = {
    "forced": lambda y: xp.materialize(y),
    "read by a chain": lambda y: xp.materialize(y * 2.0),
    "reduced": lambda y: xp.sum(y, axis=0),
    "written into another": lambda y: operator.iadd(own(np.zeros((200, 40)))[: LARGE[0]], y),
}


@pytest.mark.parametrize("write", [_iadd, _through_numpy], ids=["in place", "through NumPy"])
@pytest.mark.parametrize("read", RACES)
def test_a_write_in_another_thread_waits_for_or_spares_a_reading_that_has_begun(read, write):
    got, y = raced(RACES[read], write)
    want = numbers(LARGE) + 1
    wanted = {"forced": want, "read by a chain": want * 2, "reduced": want.sum(axis=0), "written into another": want}
    assert identical(y, want)
    assert identical(got, wanted[read])


def test_an_expression_made_while_a_write_settles_its_operand_is_read_before_the_write():
    """The writer has already listed who waits for the memory when `z` is made of `y`, which still waits."""
    x = large()
    y = x + 1.0
    kernel = y._node.kernel
    settling, made, written = threading.Event(), threading.Event(), threading.Event()
    here = threading.current_thread()
    met = []

    def meeting(*operands, out):
        if threading.current_thread() is here:
            if not met:
                met.append(here)
                written.wait(0.5)
        else:
            settling.set()
            made.wait(0.5)
        return kernel(*operands, out=out)

    y._node.kernel = meeting

    def writer():
        with settings(threads=1):
            x[...] = -99.0
        written.set()

    thread = threading.Thread(target=writer, daemon=True)
    with settings(threads=1):
        thread.start()
        assert settling.wait(20)
        z = y * 2.0
        timer = threading.Timer(0.1, made.set)  # z is being read by then
        timer.start()
        got = values(z)
    thread.join(20)
    timer.join(20)
    assert identical(got, (numbers(LARGE) + 1) * 2)


# -- fork ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_the_child_of_a_fork_can_force_what_the_parent_left_pending():
    done = in_process(
        "import os, sys, threading, warnings\n"
        "warnings.simplefilter('ignore')\n"  # Python 3.12 warns of forks in a process with threads
        "import numpy as np, candela_xp as xp\n"
        "from candela_xp import _expr, _walk\n"
        "_walk.ALONE = 0\n"
        "with xp.settings(defer_min_bytes=0, threads=3, block_elements=100):\n"
        "    xp.materialize(xp.ones(5000) + 1.0)\n"  # the workers are there
        "    x = xp.ones(5000)\n"
        "    y = x * 2.0 + 1.0\n"
        "    locked, go = threading.Event(), threading.Event()\n"
        "    def hold():\n"
        "        with _expr._publishing:\n"
        "            locked.set(); go.wait(20)\n"
        "    thread = threading.Thread(target=hold); thread.start(); locked.wait(20)\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        x[...] = 7.0\n"
        "        os._exit(0 if float(xp.sum(y)) == 15000.0 and float(x[0]) == 7.0 else 3)\n"
        "    go.set(); thread.join()\n"
        "    _, status = os.waitpid(child, 0)\n"
        "    print(os.waitstatus_to_exitcode(status), float(xp.sum(y)), float(x[0]))\n"
    )
    assert done.stdout == "0 15000.0 1.0\n", done.stderr


def test_pending_arrays_are_no_trouble_at_exit():
    done = in_process(
        "import candela_xp as xp\n"
        "xp.settings(defer_min_bytes=0).__enter__()\n"
        "x = xp.ones(5000)\n"
        "y = x + 1.0\n"
        "z = y * 2.0\n"
        "circle = [y]; circle.append(circle)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# -- looking at what waits -----------------------------------------------------------------------------------


def test_explain_draws_the_expression_and_leaves_it_pending():
    x = own(np.ones((4, 6)))
    with settings(threads=1):
        held = x * 2.0
        y = xp.where(held > 1.0, held, 0.0)
        text = xp.explain(y)
    assert text.splitlines() == [
        "where float64 (4, 6), stored",
        "├─ greater bool (4, 6)",
        "│  ├─ multiply float64 (4, 6), stored",
        "│  │  ├─ memory float64 (4, 6), stride (6, 1)",
        "│  │  └─ constant 2.0",
        "│  └─ constant 1.0",
        "├─ multiply float64 (4, 6), stored (as above)",
        "└─ constant 0.0",
        "walk: flat, 24 elements in 2 blocks of 16, 1 thread",
        "moves: 576 bytes (one by one: 1008 bytes)",
    ]
    assert waits(y)
    assert waits(held)


def test_explain_tells_of_other_orders_that_the_walk_is_tiled():
    turned = xp.permute_dims(own(np.ones((8, 6))), (1, 0))
    with settings(threads=1):
        text = xp.explain(own(np.ones((6, 8))) + turned)
    *tree, walk, moves = text.splitlines()
    assert tree == [
        "add float64 (6, 8), stored",
        "├─ memory float64 (6, 8), stride (8, 1)",
        "└─ memory float64 (6, 8), stride (1, 6)",
    ]
    assert walk.startswith("walk: tiles, 48 elements in ")
    assert moves == "moves: 1152 bytes (one by one: 1152 bytes)"


def test_explain_of_memory_is_one_line():
    assert xp.explain(own(np.ones((4, 6)))) == "memory float64 (4, 6), stride (6, 1)"
    assert xp.explain(own(np.ones((4, 6), np.int8)).T) == "memory int8 (6, 4), stride (1, 6)"


def test_explain_reads_none_of_the_memory_and_changes_no_value():
    y = large() + 1.0
    count = Counted(y)
    assert xp.explain(y) == xp.explain(y)
    assert count.elements == 0
    assert identical(values(y), numbers(LARGE) + 1)


@pytest.mark.parametrize("function", [xp.explain, xp.materialize])
def test_only_arrays_can_be_explained_and_materialized(function):
    with pytest.raises(TypeError, match=f"{function.__name__}: x is a numpy.ndarray, not an NDArray"):
        function(np.ones(3))


def test_materialize_gives_back_the_array_itself_in_memory():
    y = large() + 1.0
    assert xp.materialize(y) is y
    assert not waits(y)
    assert xp.materialize(y) is y
    assert identical(values(y), numbers(LARGE) + 1)


def test_memory_counts_arrays_in_use_and_what_is_kept():
    with settings(pool_bytes=2**25):
        before = xp.memory()
        assert set(before) == {"in_use_bytes", "pooled_bytes", "pooled_blocks", "limit_bytes"}
        assert before["limit_bytes"] == 2**25
        y = xp.materialize(own(np.ones(2**17)) + 1.0)
        during = xp.memory()
        assert during["in_use_bytes"] >= before["in_use_bytes"] + y.nbytes
        del y
        after = xp.memory()
        assert after["in_use_bytes"] == before["in_use_bytes"]
        assert after["pooled_bytes"] >= 2**20
    with settings(pool_bytes=0):
        assert xp.memory()["pooled_bytes"] == 0


# -- the compiler of chains ------------------------------------------------------------------------------


GRAPH_STEPS = [
    (operator.add, np.add),
    (operator.sub, np.subtract),
    (xp.minimum, np.minimum),
    (lambda x, y: xp.where(x < y, x, 2.0), lambda x, y: np.where(x < y, x, 2)),
    (lambda x, y: xp.astype(xp.astype(x % 97.0, xp.int16), xp.float64), lambda x, y: np.trunc(x % 97)),
    (lambda x, y: xp.clip(x, 3.0, y), lambda x, y: np.minimum(np.maximum(x, 3), y)),
]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5), st.booleans()), max_size=20))
def test_any_graph_is_compiled_into_what_its_operations_say(steps):
    """Values of a block share memory: none is overwritten while it is needed."""
    sources = [np.arange(600.0), np.arange(600.0)[::-1].copy()]
    arrays, want = [own(x) for x in sources], list(sources)
    held = []
    for first, second, operation, keep in steps:
        a, b = first % len(arrays), second % len(arrays)
        ours, theirs = GRAPH_STEPS[operation]
        arrays.append(ours(arrays[a], arrays[b]))
        want.append(theirs(want[a], want[b]))
        if keep:
            held.append((arrays[-1], want[-1]))
    last, wanted = arrays[-1], want[-1]
    arrays.clear()
    assert identical(values(last), wanted)
    for x, y in held:
        assert identical(values(x), y)


def test_narrow_floats_are_deferred_as_all_others():
    for dtype in NARROW:
        y = own(np.tile(tame(dtype), 12)) + own(np.tile(tame(dtype), 12))
        assert waits(y)


def test_after_a_computation_without_memory_another_thread_may_write(monkeypatch):
    x = large()
    y = x + 1.0
    with monkeypatch.context() as patch:
        patch.setattr(_pool, "allocate", lambda *_: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            np.asarray(y)
    del y
    thread = threading.Thread(target=operator.setitem, args=(x, ..., 0.0), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_the_child_of_a_fork_does_not_wait_for_the_threads_of_its_parent():
    done = in_process(
        "import os, threading, warnings\n"
        "warnings.simplefilter('ignore')\n"  # Python 3.12 warns of forks in a process with threads
        "import candela_xp as xp\n"
        "with xp.settings(defer_min_bytes=0):\n"
        "    x = xp.ones(5000)\n"
        "    y = x + 1.0\n"
        "kernel, begun, go = y._node.kernel, threading.Event(), threading.Event()\n"
        "def slow(*operands, out):\n"
        "    begun.set(); go.wait(20)\n"
        "    return kernel(*operands, out=out)\n"
        "y._node.kernel = slow\n"
        "thread = threading.Thread(target=xp.materialize, args=(y,)); thread.start(); begun.wait(20)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    go.set()\n"
        "    x[...] = 3.0\n"
        "    os._exit(int(float(x[0]) != 3.0))\n"
        "status = os.waitpid(child, 0)[1]\n"
        "go.set(); thread.join()\n"
        "raise SystemExit(status)\n"
    )
    assert done.returncode == 0, done.stderr


def test_after_a_reduction_that_fails_another_thread_may_write(monkeypatch):
    x = large()
    y = x + 1.0
    with monkeypatch.context() as patch:
        patch.setattr(_reduce, "_reduced", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            xp.sum(y)
    del y
    thread = threading.Thread(target=operator.setitem, args=(x, ..., 0.0), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
