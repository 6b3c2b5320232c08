"""Manipulation functions: the same elements in another arrangement; views where a layout can express it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, shapes, views
from oracles import ALL_DTYPES, BOOL, INTEGER, STANDARD, arranged, examples, identical, kind, ours, plain, special, tame

import candela_xp as xp
from candela_xp import settings as candela_settings

DTYPES = pytest.mark.parametrize("dtype", ALL_DTYPES)


def shares(x: xp.NDArray, view: np.ndarray) -> bool:
    return view.size == 0 or np.may_share_memory(plain(x), view)


def bases(dtype: str) -> list[tuple[str, np.ndarray]]:
    return [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]


# -- broadcasting --------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), max_size=4))
def test_shapes_broadcast_as_numpys(given_shapes: list[tuple[int, ...]]) -> None:
    arrays = [ours(np.arange(math.prod(shape)).reshape(shape)) for shape in given_shapes]
    try:
        want = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ValueError, match=r"^broadcast_shapes: shapes .* could not be broadcast"):
            xp.broadcast_shapes(*given_shapes)
        with pytest.raises(ValueError, match=r"^broadcast_arrays: shapes .* could not be broadcast"):
            xp.broadcast_arrays(*arrays)
        return
    assert xp.broadcast_shapes(*given_shapes) == want
    assert type(xp.broadcast_shapes(*given_shapes)) is tuple
    got = xp.broadcast_arrays(*arrays)
    assert type(got) is tuple
    for one, source in zip(got, arrays):
        assert identical(plain(one), np.broadcast_to(plain(source), want))
        assert identical(plain(xp.broadcast_to(source, want)), plain(one))


@DTYPES
def test_broadcast_to_stretches_every_layout_as_a_view_that_refuses_writes(dtype: str) -> None:
    for layout, view in bases(dtype):
        for shape in ((2, *view.shape), view.shape, (1, 1, *view.shape)):
            got = xp.broadcast_to(ours(view), shape)
            assert identical(plain(got), np.broadcast_to(view, shape)), layout
            assert shares(got, view)
    stretched = xp.broadcast_to(xp.ones((1, 2), dtype=getattr(xp, dtype)), (3, 2))
    with pytest.raises(ValueError, match=r"several indices share an element .* use asarray"):
        stretched[...] = stretched


def test_broadcasting_refuses_other_shapes_and_no_shapes() -> None:
    x = xp.ones((2, 3))
    for shape in ((3,), (2, 2), (3, 2), (), (0, 3)):
        with pytest.raises(ValueError, match=r"^broadcast_to: shape \(2, 3\) could not be broadcast"):
            xp.broadcast_to(x, shape)
    for wrong in ("a", (1.5,), None):
        with pytest.raises(TypeError, match=r"^broadcast_to: shape must be"):
            xp.broadcast_to(x, wrong)
        with pytest.raises(TypeError, match=r"^broadcast_shapes: shape must be"):
            xp.broadcast_shapes((1,), wrong)
    with pytest.raises(ValueError, match=r"^broadcast_shapes: .*negative"):
        xp.broadcast_shapes((-1,))
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_arrays() == ()
    with pytest.raises(TypeError, match=r"^broadcast_arrays: arrays\[1\]"):
        xp.broadcast_arrays(x, 1.0)


# -- views -------------------------------------------------------------------------------------------------


@DTYPES
def test_permute_flip_and_expand_are_views_of_every_layout(dtype: str) -> None:
    for layout, view in bases(dtype):
        x = ours(view)
        for axes in itertools.permutations(range(view.ndim)):
            got = xp.permute_dims(x, axes)
            assert identical(plain(got), view.transpose(axes)), layout
            assert shares(got, view)
            assert identical(plain(xp.permute_dims(x, tuple(a - view.ndim for a in axes))), view.transpose(axes))
        for count in range(view.ndim + 1):
            for axes in itertools.combinations(range(-view.ndim, 0), count):
                got = xp.flip(x, axis=axes)
                assert identical(plain(got), np.flip(view, axes)), layout
                assert shares(got, view)
        assert identical(plain(xp.flip(x)), np.flip(view))
        for axis in range(-view.ndim - 1, view.ndim + 1):
            got = xp.expand_dims(x, axis)
            assert identical(plain(got), np.expand_dims(view, axis)), layout
            assert shares(got, view)
            assert identical(plain(xp.squeeze(got, axis)), view)


@given(shapes(ndim_max=3), st.data())
def test_expand_and_squeeze_of_axis_tuples_undo_each_other(shape: tuple[int, ...], data: st.DataObject) -> None:
    values = np.arange(math.prod(shape)).reshape(shape)
    axes = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3, unique=True)))
    ndim = len(shape) + len(axes)
    if any(axis >= ndim for axis in axes):
        with pytest.raises(IndexError, match=r"^expand_dims: axis"):
            xp.expand_dims(ours(values), axes)
        return
    axes = tuple(axis - ndim if data.draw(st.booleans()) else axis for axis in axes)
    got = xp.expand_dims(ours(values), axes)
    assert identical(plain(got), np.expand_dims(values, axes))
    assert identical(plain(xp.squeeze(got, axes)), values)


@given(st.lists(st.sampled_from([0, 1, 1, 2]), max_size=4).map(tuple), st.data())
def test_squeeze_drops_axes_of_length_1_and_refuses_others(shape: tuple[int, ...], data: st.DataObject) -> None:
    values = np.arange(math.prod(shape)).reshape(shape)
    axes = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1)))) if shape else ()
    if any(shape[axis] != 1 for axis in axes):
        with pytest.raises(ValueError, match=r"^squeeze: axes .* are not all of length 1"):
            xp.squeeze(ours(values), axes)
    else:
        assert identical(plain(xp.squeeze(ours(values), axes)), np.squeeze(values, axes))
    assert identical(plain(xp.squeeze(ours(values))), np.squeeze(values))


@given(shapes(ndim_max=4, extent_max=3), st.data())
def test_moveaxis_agrees_with_numpy(shape: tuple[int, ...], data: st.DataObject) -> None:
    values = np.arange(math.prod(shape)).reshape(shape)
    ndim = len(shape)
    count = data.draw(st.integers(0, ndim))
    source = data.draw(st.permutations(range(ndim)))[:count]
    target = [axis - ndim for axis in data.draw(st.permutations(range(ndim)))[:count]]
    got = xp.moveaxis(ours(values), tuple(source), tuple(target))
    assert identical(plain(got), np.moveaxis(values, source, target))
    assert shares(got, values)
    if ndim:
        assert identical(plain(xp.moveaxis(ours(values), 0, -1)), np.moveaxis(values, 0, -1))


@DTYPES
def test_unstack_gives_views_along_any_axis(dtype: str) -> None:
    for layout, view in bases(dtype):
        for axis in range(-view.ndim, view.ndim):
            got = xp.unstack(ours(view), axis=axis)
            assert type(got) is tuple
            assert len(got) == view.shape[axis]
            for one, other in zip(got, np.moveaxis(view, axis, 0)):
                assert identical(plain(one), np.asarray(other)), layout
                assert shares(one, view)
    assert xp.unstack(xp.ones((0, 2))) == ()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.permute_dims(x, (0,)), ValueError, r"permute_dims: axes \(0,\) name 1 of 2 axes"),
        (lambda x: xp.permute_dims(x, (0, 0)), ValueError, "permute_dims: axis .* twice"),
        (lambda x: xp.permute_dims(x, (0, 2)), IndexError, "permute_dims: axis 2 is out of range"),
        (lambda x: xp.permute_dims(x, 1), TypeError, "permute_dims: axes must be a tuple"),
        (lambda x: xp.permute_dims(x, None), TypeError, "permute_dims: axes must be a tuple"),
        (lambda x: xp.flip(x, axis=2), IndexError, "flip: axis 2 is out of range for 2 axes"),
        (lambda x: xp.flip(x, axis=(0, -2)), ValueError, "flip: axis .* twice"),
        (lambda x: xp.flip(x, axis=0.5), TypeError, "flip: axis must be an integer"),
        (lambda x: xp.expand_dims(x, 3), IndexError, "expand_dims: axis 3"),
        (lambda x: xp.expand_dims(x, -4), IndexError, "expand_dims: axis -4"),
        (lambda x: xp.expand_dims(x, (0, -4)), ValueError, "expand_dims: axis .* twice"),
        (lambda x: xp.expand_dims(x, None), TypeError, "expand_dims: axis must be an integer or a tuple"),
        (lambda x: xp.expand_dims(x, "0"), TypeError, "expand_dims: axis must be an integer"),
        (lambda x: xp.squeeze(x, 2), IndexError, "squeeze: axis 2"),
        (lambda x: xp.squeeze(xp.ones((1, 1)), (0, 0)), ValueError, "squeeze: axis .* twice"),
        (lambda x: xp.moveaxis(x, 0, 2), IndexError, "moveaxis: axis 2"),
        (lambda x: xp.moveaxis(x, (0, 1), 0), ValueError, "moveaxis: 2 axes cannot go to 1 places"),
        (lambda x: xp.moveaxis(x, (0, 0), (0, 1)), ValueError, "moveaxis: axis .* twice"),
        (lambda x: xp.moveaxis(x, None, 0), TypeError, "moveaxis: source must be"),
        (lambda x: xp.moveaxis(x, 0, None), TypeError, "moveaxis: destination must be"),
        (lambda x: xp.unstack(x, axis=2), IndexError, "unstack: axis 2"),
        (lambda x: xp.unstack(xp.asarray(1)), IndexError, "unstack: axis 0 is out of range: a 0-d array"),
        (lambda x: xp.unstack(x, axis=None), TypeError, "unstack: axis must be an integer"),
        (lambda x: xp.concat([]), ValueError, "concat: at least one array"),
        (lambda x: xp.concat([x, xp.ones((2, 4))]), ValueError, r"concat: arrays\[1\] has shape \(2, 4\)"),
        (lambda x: xp.concat([x, xp.ones(3)]), ValueError, r"concat: arrays\[1\] has shape \(3,\)"),
        (lambda x: xp.concat([x], axis=2), IndexError, "concat: axis 2"),
        (lambda x: xp.concat([xp.asarray(1)]), IndexError, "concat: axis 0"),
        (lambda x: xp.concat(x), TypeError, "concat: arrays must be a tuple or list"),
        (lambda x: xp.concat([x, 1]), TypeError, r"concat: arrays\[1\] is a builtins.int"),
        (lambda x: xp.stack([]), ValueError, "stack: at least one array"),
        (lambda x: xp.stack([x, xp.ones((2, 4))]), ValueError, r"stack: arrays\[1\] has shape \(2, 4\)"),
        (lambda x: xp.stack([x], axis=3), IndexError, "stack: axis 3"),
        (lambda x: xp.stack(x), TypeError, "stack: arrays must be a tuple or list"),
        (lambda x: xp.repeat(x, -1), ValueError, "repeat: repeats must not be negative, got -1"),
        (lambda x: xp.repeat(x, 1.5), TypeError, "repeat: repeats must be an integer"),
        (lambda x: xp.repeat(x, xp.asarray([1.0])), TypeError, "repeat: not defined for float64"),
        (lambda x: xp.repeat(x, xp.asarray([[1]])), ValueError, r"repeat: repeats has shape \(1, 1\)"),
        (lambda x: xp.repeat(x, xp.asarray([1, 2]), axis=1), ValueError, "repeat: 2 counts for 3 elements"),
        (lambda x: xp.repeat(x, 2, axis=2), IndexError, "repeat: axis 2"),
        (lambda x: xp.repeat(x, 2**62), ValueError, "repeat: .*memory"),
        (lambda x: xp.repeat(x, 2**100), ValueError, "repeat: .*memory"),
        (lambda x: xp.repeat(x, xp.asarray([2**58] * 6)), ValueError, "repeat: .*memory"),
        (lambda x: xp.repeat(x, xp.asarray([2**64 - 1], dtype=xp.uint64)), ValueError, "repeat: .*memory"),
        (lambda x: xp.roll(x, 1.5), TypeError, "roll: shift must be an integer"),
        (lambda x: xp.roll(x, 1, axis=2), IndexError, "roll: axis 2"),
        (lambda x: xp.roll(x, (1, 2)), ValueError, "roll: 2 shifts for the flattened array"),
        (lambda x: xp.roll(x, (1, 2), axis=0), ValueError, "roll: 2 shifts for 1 axes"),
        (lambda x: xp.tile(x, (2, -1)), ValueError, "tile: repetitions must not be negative"),
        (lambda x: xp.tile(x, (2**40, 2**40)), ValueError, "tile: shape .*memory"),
        (lambda x: xp.tile(x, 1.5), TypeError, "tile: repetitions must be an integer"),
        (lambda x: xp.reshape(x, (4, 2)), ValueError, r"reshape: shape \(2, 3\) has 6 elements, \(4, 2\) has 8"),
        (lambda x: xp.reshape(x, (-1, -1)), ValueError, "reshape: shape .* more than one -1"),
        (lambda x: xp.reshape(x, (-1, 4)), ValueError, r"reshape: 6 elements of shape \(2, 3\) do not fill"),
        (lambda x: xp.reshape(x, (-2, 3)), ValueError, "reshape: shape .* negative"),
        (lambda x: xp.reshape(xp.ones((0, 3)), (-1, 0)), ValueError, "reshape: 0 elements"),
        (lambda x: xp.reshape(x, (2.0, 3)), TypeError, "reshape: shape must be an integer"),
        (lambda x: xp.reshape(x, (-1.0,)), TypeError, "reshape: shape must be an integer"),
        (lambda x: xp.reshape(x, xp.asarray([2, 3])), TypeError, "reshape: shape must be an integer"),
        (lambda x: xp.reshape(x, None), TypeError, "reshape: shape must be an integer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_name_and_values(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}"):
        call(xp.ones((2, 3)))


# -- reshape -----------------------------------------------------------------------------------------------------


@given(views(), st.data())
def test_reshape_is_a_view_exactly_where_numpy_finds_one_or_better(given_view: Any, data: st.DataObject) -> None:
    view = given_view.view
    size = view.size
    shape = data.draw(st.sampled_from(_factorings(size)))
    x = ours(view)
    got = xp.reshape(x, shape)
    assert identical(plain(got), view.reshape(shape))
    if size and np.may_share_memory(view.reshape(shape), view):
        assert shares(got, view)
    if shares(got, view):
        same = xp.reshape(x, shape, copy=False)
        assert identical(plain(same), view.reshape(shape))
        assert shares(same, view)
    else:
        with pytest.raises(ValueError, match=r"^reshape: cannot view shape .* with copy=False; pass copy=None"):
            xp.reshape(x, shape, copy=False)
    copied = xp.reshape(x, shape, copy=True)
    assert identical(plain(copied), view.reshape(shape))
    assert not np.may_share_memory(plain(copied), view)
    copied[...] = copied


def _factorings(size: int) -> list[tuple[int, ...]]:
    if size == 0:
        return [(0,), (2, 0), (0, 3, 1), (1, 0)]
    found: list[tuple[int, ...]] = [(size,), (-1,), (1, size, 1), (-1, 1)]
    for first in range(1, size + 1):
        if size % first == 0:
            found += [(first, size // first), (first, -1)]
            rest = size // first
            found += [(first, second, -1) for second in range(1, rest + 1) if rest % second == 0]
    return [*found, ()] if size == 1 else found


@DTYPES
def test_reshape_takes_minus_1_an_integer_and_empty_arrays(dtype: str) -> None:
    own = getattr(xp, dtype)
    x = xp.ones((2, 3), dtype=own)
    assert xp.reshape(x, 6).shape == xp.reshape(x, -1).shape == (6,)
    assert xp.reshape(x, (3, -1)).shape == (3, 2)
    assert xp.reshape(xp.ones((0, 3), dtype=own), (-1, 3)).shape == (0, 3)
    assert xp.reshape(xp.ones((0, 3), dtype=own), (5, 0)).shape == (5, 0)
    assert xp.reshape(x, (np.int64(6),)).shape == (6,)
    assert xp.reshape(xp.ones(1, dtype=own), ()).shape == ()
    assert xp.reshape(xp.ones((), dtype=own), (1, 1)).shape == (1, 1)
    assert xp.reshape(x, [6]).shape == (6,)


# -- copies --------------------------------------------------------------------------------------------------------


@DTYPES
def test_concat_and_stack_join_every_layout_along_every_axis(dtype: str) -> None:
    for layout, view in bases(dtype):
        x = ours(view)
        for axis in range(-view.ndim, view.ndim):
            got = xp.concat([x, xp.flip(x), x], axis=axis)
            assert identical(plain(got), np.concatenate([view, np.flip(view), view], axis)), layout
        assert identical(plain(xp.concat((x, x), axis=None)), np.concatenate([view, view], None)), layout
        for axis in range(-view.ndim - 1, view.ndim + 1):
            assert identical(plain(xp.stack((x, xp.flip(x)), axis=axis)), np.stack([view, np.flip(view)], axis)), layout
        assert not np.may_share_memory(plain(xp.stack([x])), view)
        if view.ndim:
            assert not np.may_share_memory(plain(xp.concat([x])), view)


@pytest.mark.parametrize("first", STANDARD)
@pytest.mark.parametrize("second", STANDARD)
def test_concat_and_stack_promote(first: str, second: str) -> None:
    a, b = tame(first), tame(second)
    assert identical(plain(xp.concat([ours(a), ours(b)])), np.concatenate([a, b]))
    assert identical(plain(xp.stack([ours(a), ours(b)])), np.stack([a, b]))
    mixed = {kind(first), kind(second)}
    promotable = len(mixed) == 1 or mixed <= {"float", "complex"}
    promotable |= mixed == {"int", "uint"} and "uint64" not in (first, second)
    with candela_settings(strict=True):
        if promotable:
            assert xp.concat([ours(a), ours(b)]).dtype is xp.result_type(ours(a).dtype, ours(b).dtype)
        else:
            with pytest.raises(TypeError, match=r"^concat: "):
                xp.concat([ours(a), ours(b)])


def test_the_common_dtype_of_many_does_not_depend_on_their_order() -> None:
    for names in (("int16", "uint16", "float32"), ("int8", "uint32", "uint64"), ("bool", "uint16", "float32", "int16")):
        found = {
            xp.concat([xp.ones(1, dtype=getattr(xp, name)) for name in order]).dtype
            for order in itertools.permutations(names)
        }
        assert found == {xp.result_type(*[getattr(xp, name) for name in names])}
        assert found == {getattr(xp, np.result_type(*map(np.dtype, names)).name)}


@DTYPES
def test_repeat_of_one_count_of_many_and_of_zero_in_every_layout(dtype: str) -> None:
    for layout, view in bases(dtype):
        x = ours(view)
        for axis in (None, *range(-view.ndim, view.ndim)):
            extent = view.size if axis is None else view.shape[axis]
            counts = np.arange(extent) % 3
            for repeats in (0, 1, 3, np.int8(2)):
                assert identical(plain(xp.repeat(x, repeats, axis=axis)), np.repeat(view, repeats, axis)), layout
            for count_dtype in ("int64", "int8", "uint8", "uint64"):
                got = xp.repeat(x, ours(counts.astype(count_dtype)), axis=axis)
                assert identical(plain(got), np.repeat(view, counts, axis)), layout
            assert identical(plain(xp.repeat(x, xp.asarray([2]), axis=axis)), np.repeat(view, 2, axis))
            assert identical(plain(xp.repeat(x, xp.asarray(2), axis=axis)), np.repeat(view, 2, axis))


@DTYPES
def test_tile_repeats_the_whole_with_fewer_and_more_axes(dtype: str) -> None:
    for layout, view in bases(dtype):
        for times in ((), (2,), (0,), (1, 3), (2, 1, 2), 2, (2, 0, 1, 2)):
            assert identical(plain(xp.tile(ours(view), times)), np.tile(view, times)), layout
        assert not np.may_share_memory(plain(xp.tile(ours(view), (1,))), view)


@DTYPES
def test_roll_by_any_integer_along_axes_or_flattened(dtype: str) -> None:
    for layout, view in bases(dtype):
        x = ours(view)
        for shift in (0, 1, -1, 5, -7, 2**70 + 1, -(2**70)):
            small = shift % view.size if view.size else 0
            assert identical(plain(xp.roll(x, shift)), np.roll(view, small)), layout
            for axis in range(-view.ndim, view.ndim):
                small = shift % view.shape[axis] if view.shape[axis] else 0
                assert identical(plain(xp.roll(x, shift, axis=axis)), np.roll(view, small, axis)), layout
        if view.ndim == 2:
            for shifts, axes in (((1, 2), (0, 1)), ((1, -1), (-1, 0)), (1, (0, 1)), ((1, 1), (0, 0)), (3, ())):
                assert identical(plain(xp.roll(x, shifts, axis=axes)), np.roll(view, shifts, axes)), layout
        assert not np.may_share_memory(plain(xp.roll(x, 0)), view)


# -- all of them ----------------------------------------------------------------------------------------------------


CALLS: dict[str, Any] = {
    "broadcast_arrays": lambda x: xp.broadcast_arrays(x, x), "broadcast_to": lambda x: xp.broadcast_to(x, (2, 2, 3)),
    "concat": lambda x: xp.concat([x, x]), "expand_dims": lambda x: xp.expand_dims(x, 0), "flip": xp.flip,
    "moveaxis": lambda x: xp.moveaxis(x, 0, 1), "permute_dims": lambda x: xp.permute_dims(x, (1, 0)),
    "repeat": lambda x: xp.repeat(x, 2), "reshape": lambda x: xp.reshape(x, (3, 2)), "roll": lambda x: xp.roll(x, 1),
    "squeeze": lambda x: xp.squeeze(x, ()), "stack": lambda x: xp.stack([x, x]), "tile": lambda x: xp.tile(x, (2,)),
    "unstack": xp.unstack,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_results_are_on_the_device_of_the_input_and_devices_do_not_mix(name: str) -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        got = CALLS[name](xp.ones((2, 3), device=there))
        for one in got if isinstance(got, tuple) else (got,):
            assert one.device is there
        if name in ("broadcast_arrays", "concat", "stack"):
            function = getattr(xp, name)
            pair = (xp.ones(2), xp.ones(2, device=there))
            with pytest.raises(ValueError, match=rf"^{name}: one array is on cpu, the other on simulated:1"):
                function(*pair) if name == "broadcast_arrays" else function(pair)


def test_lists_stand_for_tuples_in_default_mode_only() -> None:
    x = xp.ones((2, 3))
    calls = [
        lambda: xp.reshape(x, [3, 2]), lambda: xp.broadcast_to(x, [2, 2, 3]), lambda: xp.flip(x, axis=[0]),
        lambda: xp.permute_dims(x, [1, 0]), lambda: xp.roll(x, [1, 1], axis=(0, 1)), lambda: xp.roll(x, 1, axis=[0]),
        lambda: xp.tile(x, [2]), lambda: xp.expand_dims(x, [0]), lambda: xp.moveaxis(x, [0], (1,)),
        lambda: xp.squeeze(x, []),
    ]  # fmt: skip
    for call in calls:
        assert call().size >= 6
        with candela_settings(strict=True), pytest.raises(TypeError, match=r"is a list; use a tuple"):
            call()


def test_the_examples_hold_every_layout() -> None:
    assert {name for name, _ in examples("int8")} == set(ALL_LAYOUTS)
    assert {*BOOL, *INTEGER} <= set(ALL_DTYPES)
