"""Buffers: `adopt` takes any NumPy array's memory without a copy, `Buffer.view` gives the same array back."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from layouts import ALL_LAYOUTS, ARRANGEMENTS, example, lay_out, layouts, numbers, positions, views

from candela_xp._buffer import Buffer, adopt
from candela_xp._dtypes import DTYPES
from candela_xp._layout import Layout

ALL_DTYPES = list(DTYPES.values())


def round_trip(array):
    """The array that buffer and layout of an array give back, with the two."""
    buffer, layout = adopt(array)
    return buffer.view(layout, array.dtype), buffer, layout


def same_bits(first, second):
    """Whether two arrays agree in dtype, shape and every bit (so that NaN equals itself)."""
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def address(array):
    return array.__array_interface__["data"][0]


# -- the round trip ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_every_layout_of_every_dtype_comes_back_over_the_same_memory(name, dtype):
    array = example(name, dtype.dtype)
    view, buffer, layout = round_trip(array)
    assert same_bits(view, array)
    assert layout.fits(buffer.nbytes // dtype.itemsize)
    assert buffer.writable == array.flags.writeable
    assert view.flags.writeable == array.flags.writeable
    if array.size:
        assert address(view) == address(array)
        long_axes = [axis for axis, extent in enumerate(array.shape) if extent > 1]
        assert [view.strides[axis] for axis in long_axes] == [array.strides[axis] for axis in long_axes]


@pytest.mark.parametrize("name", [name for name in ALL_LAYOUTS if example(name).flags.writeable and example(name).size])
def test_writes_go_both_ways(name):
    array = example(name)
    view, _, _ = round_trip(array)
    view[...] = 7.0
    assert (array == 7.0).all()
    array[...] = 8.0
    assert (view == 8.0).all()


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_the_buffer_spans_the_elements_and_nothing_else(name):
    array = example(name)
    buffer, layout = adopt(array)
    bounds = layout.bounds()
    if bounds is None:
        assert buffer.nbytes == 0
    else:
        assert bounds == (0, buffer.nbytes // array.itemsize - 1)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize(
    "shape", [(), (1,), (0,), (3,), (1, 4), (4, 1), (2, 3), (3, 0), (2, 3, 4), (1, 1, 1), (2, 1, 3)]
)
def test_every_arrangement_of_every_shape_comes_back(arrangement, shape):
    array = lay_out(numbers(shape), arrangement)
    view, _, _ = round_trip(array)
    assert same_bits(view, array)


@given(views())
def test_any_numpy_view_comes_back(case):
    view, buffer, layout = round_trip(case.view)
    assert view.tolist() == case.view.tolist()
    assert layout.shape == case.layout.shape
    assert [p - layout.offset for p in positions(layout)] == [p - case.layout.offset for p in positions(case.layout)]
    assert not case.view.size or np.shares_memory(view, case.view)
    assert layout.fits(buffer.nbytes // 8)


def test_unaligned_memory_comes_back():
    array = np.frombuffer(bytearray(range(33)), np.uint8)[1:].view(np.float64)
    assert not array.flags.aligned
    for unaligned in (array, array[::-2]):
        view, _, _ = round_trip(unaligned)
        assert same_bits(view, unaligned)
        assert address(view) == address(unaligned)


def test_a_stride_of_an_axis_of_length_one_says_nothing():
    # as_strided leaves 3 bytes there, no multiple of 8, and it addresses nothing.
    array = np.lib.stride_tricks.as_strided(np.arange(10.0), (1, 4), (3, 16))
    assert not array.flags.c_contiguous
    view, _, _ = round_trip(array)
    assert same_bits(view, array)


# -- what no layout in elements expresses ----------------------------------------------------------------


def test_a_field_whose_stride_is_no_multiple_of_its_itemsize_has_no_layout():
    records = np.zeros(4, [("flag", "i1"), ("value", "f8")])
    assert records["value"].strides == (9,)
    assert adopt(records["value"]) is None
    assert adopt(records["value"][::-1]) is None
    assert adopt(np.zeros((2, 3), records.dtype)["value"]) is None


def test_a_field_whose_stride_is_a_multiple_has_one():
    records = np.zeros(4, [("first", "f8"), ("second", "f8")])
    records["second"] = [1, 2, 3, 4]
    view, _, layout = round_trip(records["second"])
    assert layout.stride == (2,)
    assert view.tolist() == [1, 2, 3, 4]
    view[...] = 9
    assert records["second"].tolist() == [9] * 4
    assert records["first"].tolist() == [0] * 4


def test_a_single_record_has_one_also_where_the_stride_is_odd():
    records = np.zeros(1, [("flag", "i1"), ("value", "f8")])
    view, _, _ = round_trip(records["value"])
    view[...] = 3
    assert records["value"].tolist() == [3]


# -- memory: kept alive, shared, bounded -----------------------------------------------------------------


class Owner(np.ndarray):
    """An array that can be watched: plain ndarrays take weak references too, this one is surely the owner."""


@pytest.mark.parametrize("cut", [(slice(None),), (slice(None, None, -2),), (slice(2, 5),), (3, ...)], ids=str)
def test_a_view_keeps_the_memory_alive_and_lets_it_go_afterwards(cut):
    owner = np.arange(12.0).reshape(6, 2).view(Owner)
    watched = weakref.ref(owner)
    array = owner[cut]
    expected = array.tolist()
    buffer, layout = adopt(array)
    del owner, array
    gc.collect()
    view = buffer.view(layout, np.dtype("float64"))
    assert watched() is not None
    del buffer
    gc.collect()
    assert view.tolist() == expected
    assert watched() is not None
    del view
    gc.collect()
    assert watched() is None


def test_memory_of_a_foreign_owner_stays_until_the_last_view_goes():
    memory = bytearray(np.arange(6.0).tobytes())
    buffer, layout = adopt(np.frombuffer(memory).reshape(2, 3).T)
    with pytest.raises(BufferError):
        memory.extend(b"\0")
    view = buffer.view(layout, np.dtype("float64"))
    del buffer
    with pytest.raises(BufferError):
        memory.extend(b"\0")
    assert view.tolist() == [[0, 3], [1, 4], [2, 5]]
    del view
    gc.collect()
    memory.extend(b"\0")


@pytest.mark.parametrize(
    "layout",
    [
        Layout((7,), (1,)),
        Layout((6,), (1,), 1),
        Layout((6,), (1,), -1),
        Layout((6,), (-1,), 4),
        Layout((2, 3), (4, 1)),
        Layout((2, 3), (-3, 1)),
        Layout((), (), 6),
        Layout((1,), (1,), -1),
    ],
    ids=str,
)
def test_a_view_out_of_bounds_is_refused(layout):
    buffer, _ = adopt(np.arange(6.0))
    assert not layout.fits(6)
    with pytest.raises((ValueError, TypeError)):
        buffer.view(layout, np.dtype("float64"))


@given(layouts(ndim_max=3, extent_max=3, stride_max=5))
def test_a_view_is_given_exactly_where_the_layout_fits(layout):
    buffer, _ = adopt(np.arange(12))
    try:
        view = buffer.view(layout, np.dtype("int64"))
    except (ValueError, TypeError):
        assert not layout.fits(12)
    else:
        assert layout.fits(12)
        assert view.reshape(-1).tolist() == positions(layout)


def test_a_view_may_have_another_dtype_over_the_same_bytes():
    buffer, layout = adopt(np.array([1 + 2j, 3 + 4j]))
    parts = [buffer.view(layout.component(index, 2), np.dtype("float64")).tolist() for index in (0, 1)]
    assert parts == [[1, 3], [2, 4]]


def test_read_only_memory_stays_read_only_however_it_is_laid_out():
    array = np.arange(12.0).reshape(3, 4)
    array.flags.writeable = False
    for arranged in (array, array.T, array[::-1], array[1:, 1:]):
        view, buffer, _ = round_trip(arranged)
        assert not buffer.writable
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0


def test_a_buffer_is_not_exported_unless_said():
    array = np.arange(3)
    assert not Buffer(array).exported
    assert Buffer(array, exported=True).exported
    assert not adopt(array)[0].exported
    assert Buffer(array).nbytes == 24
