"""take and take_along_axis: gathering by integers of every dtype, in every layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import shapes
from oracles import ALL_DTYPES, INTEGER, arranged, examples, identical, ours, plain, special

import candela_xp as xp
from candela_xp import settings as candela_settings


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_take_gathers_along_every_axis_of_every_layout(dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        x = ours(view)
        for axis in range(-view.ndim, view.ndim):
            extent = view.shape[axis]
            for indices in ([], [0], [0, 0, extent - 1], [-1, -extent, 0]):
                if extent or not indices:
                    places = np.array(indices, np.int64)
                    got = xp.take(x, ours(places), axis=axis)
                    assert identical(plain(got), np.take(view, places, axis)), layout
                    assert not np.may_share_memory(plain(got), view)


@pytest.mark.parametrize("dtype", INTEGER)
def test_indices_of_every_integer_dtype_and_layout_are_taken(dtype: str) -> None:
    values = np.arange(24.0).reshape(4, 6)
    for layout, places in arranged(np.array([3, 0, 1, 1], dtype)):
        assert identical(plain(xp.take(ours(values), ours(places), axis=1)), values[:, places]), layout
        grid = np.broadcast_to(places[:, None], (4, 2))
        got = xp.take_along_axis(ours(values), ours(grid), axis=1)
        assert identical(plain(got), np.take_along_axis(values, grid.astype(np.int64), 1)), layout


@given(shapes(ndim_max=3, extent_max=4), st.data())
def test_random_takes_agree_with_numpy_or_are_index_errors(shape: tuple[int, ...], data: st.DataObject) -> None:
    if not shape:
        return
    values = np.arange(np.prod(shape)).reshape(shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    places = np.array(data.draw(st.lists(st.integers(-5, 5), max_size=5)), np.int64)
    try:
        want = np.take(values, places, axis)
    except IndexError:
        with pytest.raises(IndexError, match=r"^take: index .* is out of range for an axis of length"):
            xp.take(ours(values), ours(places), axis=axis)
    else:
        assert identical(plain(xp.take(ours(values), ours(places), axis=axis)), want)


@given(shapes(ndim_max=3, extent_min=1, extent_max=4), st.data())
def test_random_takes_along_an_axis_agree_with_numpy_also_where_the_shapes_broadcast(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    if not shape:
        return
    values = np.arange(np.prod(shape)).reshape(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    index_shape = list(shape)
    index_shape[axis] = data.draw(st.integers(0, 4))
    for other in range(len(shape)):
        if other != axis and data.draw(st.booleans()):
            index_shape[other] = 1
    extent = shape[axis]
    count = int(np.prod(index_shape))
    places = np.array(data.draw(st.lists(st.integers(-extent, extent - 1), min_size=count, max_size=count)), np.int64)
    places = places.reshape(index_shape)
    got = xp.take_along_axis(ours(values), ours(places), axis=axis - len(shape))
    assert identical(plain(got), np.take_along_axis(values, places, axis))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_take_along_axis_puts_an_argsort_into_order(dtype: str) -> None:
    values = special(dtype).reshape(3, 4)
    places = np.array([[2, 0, 1, 3], [3, 2, 1, 0], [0, 0, 1, 1]])
    for layout, view in arranged(values):
        for axis, index in ((1, places), (0, places % 3), (-1, places[:, :1])):
            got = xp.take_along_axis(ours(view), ours(index), axis=axis)
            assert identical(plain(got), np.take_along_axis(values, index, axis)), layout


@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_an_index_outside_the_axis_names_itself_and_the_length(index: int) -> None:
    with pytest.raises(IndexError, match=rf"^take: index {index} is out of range for an axis of length 3"):
        xp.take(xp.ones((2, 3)), xp.asarray([0, index]), axis=1)
    with pytest.raises(IndexError, match=rf"^take_along_axis: index {index} is out of range for an axis of length 3"):
        xp.take_along_axis(xp.ones((2, 3)), xp.asarray([[0, index]] * 2), axis=1)


def test_unsigned_indices_beyond_int64_do_not_wrap_into_range() -> None:
    big = xp.asarray([2**64 - 1], dtype=xp.uint64)
    with pytest.raises(IndexError, match=rf"^take: index {2**64 - 1}"):
        xp.take(xp.ones(3), big)
    with pytest.raises(IndexError, match=rf"^take_along_axis: index {2**64 - 1}"):
        xp.take_along_axis(xp.ones(3), big)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.take(x, xp.asarray([0])), ValueError, "take: x has 2 axes; name one"),
        (lambda x: xp.take(xp.asarray(1), xp.asarray([0])), ValueError, "take: x has 0 axes"),
        (lambda x: xp.take(x, xp.asarray([0]), axis=2), IndexError, "take: axis 2"),
        (lambda x: xp.take(x, xp.asarray([0.0]), axis=0), TypeError, "take: indices must have an integer dtype"),
        (lambda x: xp.take(x, xp.asarray([True]), axis=0), TypeError, "take: indices must have an integer dtype"),
        (lambda x: xp.take(x, [0.5], axis=0), TypeError, "take: indices is a builtins.list"),
        (lambda x: xp.take(x, "0", axis=0), TypeError, "take: indices is a builtins.str"),
        (lambda x: xp.take_along_axis(x, xp.asarray([0])), ValueError, "take_along_axis: x has 2 axes, indices 1"),
        (lambda x: xp.take_along_axis(x, xp.asarray([[0]] * 3)), ValueError, "take_along_axis: shapes .* axis 0"),
        (lambda x: xp.take_along_axis(x, xp.asarray([[0.0]])), TypeError, "take_along_axis: indices must have"),
        (lambda x: xp.take_along_axis(x, xp.asarray([[0]]), axis=2), IndexError, "take_along_axis: axis 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}"):
        call(xp.ones((2, 3)))


def test_default_mode_takes_lists_numpy_integers_and_indices_of_any_number_of_axes() -> None:
    values = np.arange(6).reshape(2, 3)
    x = ours(values)
    calls = [
        (lambda: xp.take(x, [0, 2], axis=1), values[:, [0, 2]]), (lambda: xp.take(x, [], axis=1), values[:, :0]),
        (lambda: xp.take(x, np.array([1]), axis=0), values[[1]]), (lambda: xp.take(x, 1, axis=0), values[1]),
        (lambda: xp.take(x, xp.asarray(1), axis=0), values[1]),
        (lambda: xp.take(x, xp.asarray([[0, 1], [2, 0]]), axis=1), values[:, [[0, 1], [2, 0]]]),
        (lambda: xp.take_along_axis(x, np.array([[1], [2]])), np.array([[1], [5]])),
    ]  # fmt: skip
    for call, want in calls:
        assert identical(plain(call()), want)
        with candela_settings(strict=True), pytest.raises(TypeError, match=r"^take.*indices .*use take"):
            call()


def test_results_are_on_the_device_of_the_input_and_devices_do_not_mix() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x, places = xp.ones((2, 2), device=there), xp.zeros((2, 2), dtype=xp.int64, device=there)
        assert xp.take(x, places[0, :], axis=0).device is there
        assert xp.take(x, [0], axis=0).device is there
        assert xp.take_along_axis(x, places).device is there
        for function, indices in (
            (xp.take, xp.zeros(1, dtype=xp.int64)),
            (xp.take_along_axis, xp.zeros((2, 2), dtype=xp.int64)),
        ):
            with pytest.raises(ValueError, match=rf"^{function.__name__}: one array is on simulated:1"):
                function(x, indices, axis=0)
