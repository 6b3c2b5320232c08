"""Kernels over memory in blocks, on several threads, against NumPy over the whole of it."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, View, lay_out, numbers, views
from oracles import ALL_DTYPES, twin

from candela_xp import _walk, _workers, settings
from candela_xp._buffer import Buffer
from candela_xp._traversal import plan
from candela_xp._walk import Instruction, Operand, Program, allocated, assign, copy_into, lines, packed, rows

ADD, MULTIPLY = np.add, np.multiply


@pytest.fixture(params=[1, 2, 3, 4])
def threads(request, monkeypatch):
    """Any work is worth so many threads."""
    monkeypatch.setattr(_walk, "ALONE", 0)
    with settings(threads=request.param, block_elements=8):
        yield request.param


def of_view(drawn: View) -> Operand:
    """A view that Hypothesis found, as an operand over its base."""
    return Operand(Buffer(drawn.base), drawn.layout, drawn.base.dtype)


def result_like(shape, order, dtype):
    """Memory for a result, full of something that no test computes."""
    made = allocated(shape, order, np.dtype(dtype))
    made.buffer.root[...] = 0x55
    return made


MUCH = 2**50
"""Work that any number of threads is worth."""


def ran(walk, operands, program, consume=None):
    _walk.run(walk, operands, program, work=MUCH, consume=consume)


def computed(walk_over, program, budget, destination=0):
    walk = plan(walk_over[0].layout.shape, tuple(x.layout for x in walk_over), budget, destination=destination)
    ran(walk, walk_over, program)
    return walk


# -- run -------------------------------------------------------------------------------------------------


@given(views(), st.sampled_from([1, 3, 8, 100]), st.integers(1, 4), st.randoms())
def test_a_chain_over_any_layout_gives_what_numpy_gives(drawn, budget, workers, random):
    shape = drawn.view.shape
    order = random.sample(range(len(shape)), len(shape))
    target = result_like(shape, order, np.int64)
    program = Program(
        (Instruction(ADD, (1, 2), 3), Instruction(MULTIPLY, (3, 1), 0)), (np.asarray(7),), (np.dtype(np.int64),)
    )
    with settings(threads=workers), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_walk, "ALONE", 0)
        computed((target, of_view(drawn)), program, budget)
    assert np.array_equal(target.view(), (drawn.view + 7) * drawn.view)


@pytest.mark.parametrize("first", ARRANGEMENTS)
@pytest.mark.parametrize("second", ARRANGEMENTS)
def test_two_operands_in_two_arrangements_are_read_beside_each_other(first, second, threads):
    values = numbers((5, 6, 7))
    a, b = lay_out(values, first), lay_out(values[::-1], second)
    target = result_like(a.shape, (1, 0, 2), np.float64)
    computed((target, Operand.of(a), Operand.of(b)), Program((Instruction(np.subtract, (1, 2), 0),)), 20)
    assert np.array_equal(target.view(), a - b)


def test_several_results_are_written_and_one_that_is_written_may_be_read_again(threads):
    values = numbers((9, 11))
    one, two = result_like((9, 11), (0, 1), np.float64), result_like((9, 11), (0, 1), np.float64)
    program = Program((Instruction(ADD, (2, 2), 0), Instruction(MULTIPLY, (0, 2), 1)))
    computed((one, two, Operand.of(values)), program, 13)
    assert np.array_equal(one.view(), values + values)
    assert np.array_equal(two.view(), (values + values) * values)


def test_a_turned_operand_is_read_through_a_copy_in_its_own_order(threads):
    values = numbers((40, 50))
    turned = Operand.of(np.asfortranarray(values))
    target = result_like((40, 50), (0, 1), np.float64)
    seen = []

    def kernel(x, out):
        seen.append(abs(x.strides[0]) < abs(x.strides[1]))  # nearest along axis 0, as the operand is
        np.negative(x, out=out)

    walk = computed((target, turned), Program((Instruction(kernel, (1,), 0),)), 64)
    assert walk.turned == (False, True)
    assert all(seen)
    assert np.array_equal(target.view(), -values)


def test_a_turned_operand_that_nobody_reads_is_handed_to_the_consumer_in_the_same_way():
    values = np.asfortranarray(numbers((10, 12)))
    operand = Operand.of(values)
    walk = plan((10, 12), (Operand.of(numbers((10, 12))).layout, operand.layout), 16)
    found = np.zeros((10, 12))

    def consume(place, slots):
        corner = [p * n for p, n in zip(place, walk.block)]
        part = slots[1]
        found[tuple(slice(c, c + n) for c, n in zip(corner, part.shape))] = part

    ran(walk, (Operand.of(numbers((10, 12))), operand), Program(()), consume)
    assert np.array_equal(found, values)


def test_a_consumer_sees_every_place_once(threads):
    walk = plan((17, 5), (Operand.of(numbers((17, 10))[:, ::2]).layout,), 4)
    seen = []
    ran(walk, (Operand.of(numbers((17, 10))[:, ::2]),), Program(()), lambda place, slots: seen.append(place))
    assert sorted(seen) == list(itertools.product(*map(range, walk.grid)))


def test_nothing_runs_over_an_array_without_elements():
    empty = Operand.of(np.empty((3, 0)))
    computed((empty, empty), Program((Instruction(lambda x, out: pytest.fail("called"), (1,), 0),)), 8)


def test_a_little_work_is_done_by_the_caller_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(_workers, "run", lambda task, threads: asked.append(threads) or task())
    with settings(threads=4):
        copy_into(result_like((100,), (0,), np.float64), Operand.of(numbers((100,))))
    assert asked == [1]


@pytest.mark.parametrize("failing", [0, 3, 40])
def test_an_exception_in_a_kernel_comes_out_once_and_nothing_hangs(failing, threads):
    calls = itertools.count()

    class Failure(Exception):
        pass

    def kernel(x, out):
        if next(calls) == failing:
            raise Failure(threading.current_thread().name)
        np.copyto(out, x)

    values = numbers((300,))
    target = result_like((300,), (0,), np.float64)
    with pytest.raises(Failure):
        computed((target, Operand.of(values)), Program((Instruction(kernel, (1,), 0),)), 4)
    copy_into(target, Operand.of(values))  # and the workers are there for the next
    assert np.array_equal(target.view(), values)


def test_when_all_workers_fail_one_of_the_exceptions_comes_out(threads):
    def kernel(x, out):
        raise ZeroDivisionError

    target = result_like((300,), (0,), np.float64)
    with pytest.raises(ZeroDivisionError):
        computed((target, Operand.of(numbers((300,)))), Program((Instruction(kernel, (1,), 0),)), 4)


# -- copies ----------------------------------------------------------------------------------------------


@given(views(), st.integers(1, 4), st.integers(1, 20), st.randoms())
def test_a_packed_copy_has_the_values_in_any_order_of_axes(drawn, workers, block, random):
    shape = drawn.view.shape
    order = tuple(random.sample(range(len(shape)), len(shape)))
    with settings(threads=workers, block_elements=block), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_walk, "ALONE", 0)
        row_major, ordered = packed(of_view(drawn)), packed(of_view(drawn), order, np.dtype(np.float32))
    assert row_major.layout.is_contiguous
    assert np.array_equal(row_major.view(), drawn.view)
    assert ordered.view().transpose(order).flags.c_contiguous
    assert np.array_equal(ordered.view(), drawn.view.astype(np.float32))


@pytest.mark.parametrize("name", [*ALL_DTYPES, "float8_e8m0fnu"])
def test_copies_keep_every_dtype(name):
    values = np.asfortranarray(np.full((3, 5), 2 if name != "bool" else 1).astype(twin(name)))
    with settings(block_elements=4):
        assert packed(Operand.of(values)).view().tobytes() == values.tobytes()


@pytest.mark.parametrize("source", ARRANGEMENTS)
@pytest.mark.parametrize("target", ARRANGEMENTS)
def test_a_copy_goes_from_any_arrangement_to_any_and_touches_nothing_else(source, target, threads):
    values = lay_out(numbers((7, 9)), source)
    into = lay_out(np.zeros((7, 9)), target)
    owner = into if into.base is None else into.base
    before = owner.copy()
    copy_into(Operand.of(into), Operand.of(values))
    assert np.array_equal(into, values)
    into[...] = 0
    assert np.array_equal(owner, before)


def test_a_copy_converts_as_astype_does():
    values = np.array([[1.5, -2.5, 300.0], [0.0, 4.0, 5.0]])
    target = result_like((2, 3), (1, 0), np.int16)
    copy_into(target, Operand.of(values))
    assert np.array_equal(target.view(), values.astype(np.int16))


def test_assign_converts_into_its_output_and_returns_it():
    out = np.empty(2, np.int8)
    assert assign(np.array([1.9, -1.9]), out) is out
    assert out.tolist() == [1, -1]


# -- lines and rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_are_taken_along_any_axis_of_any_arrangement(arrangement, axis, threads, monkeypatch):
    monkeypatch.setattr(_walk, "LINES", 20)
    values = lay_out((numbers((4, 5, 6)) * 7) % 31, arrangement)
    kept = result_like(values.shape, (2, 0, 1), np.float64)
    lines(Operand.of(values), axis, lambda x: np.sort(x, axis=-1), kept, keeps_axis=True)
    assert np.array_equal(kept.view(), np.sort(values, axis=axis))
    shape = np.delete(values.shape, axis)
    reduced = result_like(tuple(map(int, shape)), (1, 0), np.int64)
    lines(Operand.of(values), axis, lambda x: x.argmax(-1), reduced, keeps_axis=False)
    assert np.array_equal(reduced.view(), values.argmax(axis))


def test_lines_that_the_function_changes_are_copies():
    values = numbers((4, 5))
    target = result_like((4, 5), (0, 1), np.float64)

    def changing(x):
        x += 1
        return x

    lines(Operand.of(values), 0, changing, target, keeps_axis=True)
    assert np.array_equal(values, numbers((4, 5)))
    assert np.array_equal(target.view(), values + 1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_there_are_no_lines_of_nothing(shape):
    target = result_like(shape, (0, 1), np.float64)
    lines(Operand.of(np.empty(shape)), 0, lambda x: x, target, keeps_axis=True)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_bring_the_axis_first_whole_and_every_piece_once(arrangement, axis, threads):
    values = lay_out(numbers((30, 20, 25)), arrangement)
    shape = list(values.shape)
    shape[axis] += 1
    target = result_like(tuple(shape), (0, 1, 2), np.float64)

    def function(x, out):
        assert len(x) == values.shape[axis]
        assert len(out) == shape[axis]
        out[0] = 0
        np.cumsum(x, axis=0, out=out[1:])

    rows(Operand.of(values), axis, function, target)
    want = np.concatenate([np.zeros_like(np.take(values, [0], axis)), np.cumsum(values, axis)], axis)
    assert np.array_equal(target.view(), want)


# -- flat ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, 4099])
def test_a_flat_kernel_gets_every_element_once_and_constants_whole(size, threads):
    a, out = np.arange(size, dtype=float), np.full(size, np.nan)
    pieces = []

    def kernel(x, y, out):
        pieces.append(x.size)
        np.add(x, y, out=out)

    _walk.run_whole(kernel, [a, np.asarray(0.5)], out, work=MUCH)
    assert np.array_equal(out, a + 0.5)
    assert sum(pieces) == size


def test_a_failing_flat_kernel_fails_once(threads):
    def kernel(x, out):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _walk.run_whole(kernel, [np.zeros(1000)], np.zeros(1000), work=MUCH)


# -- memory ----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), max_size=4), st.randoms())
def test_new_memory_is_dense_in_the_order_that_was_asked_for(shape, random):
    order = tuple(random.sample(range(len(shape)), len(shape)))
    made = allocated(tuple(shape), order, np.dtype(np.int16))
    assert made.layout.shape == tuple(shape)
    assert made.view().transpose(order).flags.c_contiguous
    assert made.buffer.nbytes == 2 * made.layout.len
    assert not made.buffer.exported
