"""Basic indices against NumPy: every key of a small range, then random ones; same elements or the same exception."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import basic_keys, positions, shapes, views

from candela_xp import _index
from candela_xp._layout import Layout


class Seven:
    """An integer by Python's protocol, and nothing else."""

    def __index__(self):
        return 7


def both(shape, key):
    """What a key gives on a layout and on a NumPy array: (shape, elements), or the type of the exception."""
    layout = Layout.contiguous(shape)
    base = np.arange(layout.len).reshape(shape)
    try:
        selected = _index.view(layout, key)
        ours = (selected.shape, positions(selected))
        assert selected.fits(layout.len)
    except (IndexError, TypeError, ValueError) as error:
        ours = type(error)
    try:
        # An Ellipsis keeps NumPy from making a scalar of a full set of integers.
        taken = base[key if any(item is Ellipsis for item in key) else (*key, ...)]
        theirs = (taken.shape, taken.reshape(-1).tolist())
    except (IndexError, TypeError, ValueError) as error:
        theirs = type(error)
    return ours, theirs


def parts(extent):
    """All integers and slices with bounds and steps in None, -n-1..n+1."""
    numbers = range(-extent - 1, extent + 2)
    bounds = [None, *numbers]
    return [*numbers, *(slice(*bounds_and_step) for bounds_and_step in product(bounds, bounds, bounds))]


def few_parts(extent):
    """Integers inside and outside, and slices of every character."""
    slices = [slice(None), slice(None, None, -1), slice(1, None, 2), slice(-1, 0, -2), slice(2, 1), slice(-9, 9)]
    return [-extent - 1, -1, 0, extent - 1, extent, *slices]


# -- the small range, exhaustively ---------------------------------------------------------------------


@pytest.mark.parametrize("extent", range(5))
def test_every_key_of_one_part_is_numpys(extent):
    for part in parts(extent):
        ours, theirs = both((extent,), (part,))
        assert ours == theirs, (extent, part)


def keys_of(shape):
    """Every mixture of few parts, with an Ellipsis and a None in every place or nowhere."""
    for named in range(len(shape) + 2):
        for at in [None, *range(named + 1)]:
            skipped = max(len(shape) - named, 0) if at is not None else 0
            extents = [
                shape[min(place + (skipped if at is not None and place >= at else 0), len(shape) - 1)] if shape else 0
                for place in range(named)
            ]
            for key in product(*map(few_parts, extents)):
                yield key if at is None else (*key[:at], ..., *key[at:])


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (3, 0), (0, 2)])
def test_every_mixture_of_parts_and_an_ellipsis_is_numpys(shape):
    for key in keys_of(shape):
        ours, theirs = both(shape, key)
        assert ours == theirs, (shape, key)


def test_mixtures_on_three_axes_are_numpys():
    rng = np.random.default_rng(20251202)
    for shape in [(2, 3, 4), (3, 1, 2), (2, 0, 3)]:
        keys = [key for key in keys_of(shape) if len(key) <= 4]
        for k in rng.integers(len(keys), size=4000):
            ours, theirs = both(shape, keys[k])
            assert ours == theirs, (shape, keys[k])


def test_none_inserts_an_axis_in_every_place():
    for shape in [(), (3,), (2, 3), (2, 3, 4)]:
        for named in range(len(shape) + 1):
            for parts_of_key in product([0, slice(None, None, -1)], repeat=named):
                for at in [None, *range(named + 1)]:
                    key = parts_of_key if at is None else (*parts_of_key[:at], ..., *parts_of_key[at:])
                    for first in range(len(key) + 1):
                        for second in range(first, len(key) + 1):
                            with_none = (*key[:first], None, *key[first:second], None, *key[second:])
                            ours, theirs = both(shape, with_none)
                            assert ours == theirs, (shape, with_none)


def test_integers_by_protocol_count_as_integers_and_bounds():
    ours, theirs = both((9,), (Seven(),))
    assert ours == theirs == ((), [7])
    ours, theirs = both((9,), (slice(Seven(), None),))
    assert ours == theirs == ((2,), [7, 8])


def test_integers_and_steps_of_any_size_are_numpys():
    for part in (10**30, -(10**30), slice(10**30), slice(None, None, 10**30), slice(-(10**30), None, -(10**30))):
        ours, theirs = both((3,), (part,))
        assert ours == theirs, part


# -- keys that are refused -----------------------------------------------------------------------------


def test_what_is_no_basic_index_is_left_to_the_array():
    layout = Layout.contiguous((3, 4))
    # int: the class has the attribute __index__ too, and is no integer.
    for part in (True, False, np.True_, 1.5, "a", [0, 1], (0, 1), np.arange(2), np.int64(1), int, Seven, object()):
        assert not _index.is_basic(part), part
        assert _index.view(layout, (part,)) is None
        assert _index.view(layout, (slice(None), part)) is None
    for part in (0, -1, Seven(), None, ..., slice(None)):
        assert _index.is_basic(part), part


def test_an_integer_outside_its_axis_names_itself_the_axis_of_the_array_and_its_length():
    layout = Layout.contiguous((3, 4, 5))
    # The axis is counted in the array that the key is for, as NumPy counts it, not in what is left by then.
    for key, said in [
        ((3,), "index 3 is out of range for axis 0 of length 3"),
        ((0, 4), "index 4 is out of range for axis 1 of length 4"),
        ((0, None, -5), "index -5 is out of range for axis 1 of length 4"),
        ((..., 5), "index 5 is out of range for axis 2 of length 5"),
        ((1, ..., -6), "index -6 is out of range for axis 2 of length 5"),
        ((slice(1), 1, 9), "index 9 is out of range for axis 2 of length 5"),
    ]:
        with pytest.raises(IndexError) as caught:
            _index.view(layout, key)
        assert str(caught.value) == said
        with pytest.raises(IndexError, match=f"axis {said.split('axis ')[1][0]} "):
            np.empty((3, 4, 5))[key]


def test_too_many_indices_say_how_many_there_are():
    with pytest.raises(IndexError, match="the array has 1 axes, the index names 2"):
        _index.view(Layout.contiguous((3,)), (0, None, slice(None)))


def test_a_second_ellipsis_is_refused():
    with pytest.raises(IndexError, match="only one Ellipsis"):
        _index.view(Layout.contiguous((3, 3)), (..., 0, ...))


def test_a_slice_step_of_zero_is_a_value_error_and_a_float_bound_a_type_error():
    with pytest.raises(ValueError, match="zero"):
        _index.cut(Layout.contiguous((3,)), 0, slice(None, None, 0))
    with pytest.raises(TypeError):
        _index.cut(Layout.contiguous((3,)), 0, slice(1.0, None))


def test_select_counts_negative_numbers_from_the_end():
    layout = Layout((3, 4), (4, 1), 2)
    assert _index.select(layout, 1, -1) == Layout((3,), (4,), 5)
    assert _index.select(layout, 0, 1) == Layout((4,), (1,), 6)
    with pytest.raises(IndexError, match="index 4 is out of range for axis 1 of length 4"):
        _index.select(layout, 1, 4)
    with pytest.raises(IndexError, match="axis 0 of length 0"):
        _index.select(Layout.contiguous((0,)), 0, 0)


# -- axes ----------------------------------------------------------------------------------------------


def test_axes_in_range_are_normalised_and_others_are_index_errors():
    for ndim in range(4):
        for axis in range(-5, 6):
            if -ndim <= axis < ndim:
                assert _index.normalise_axis("f", axis, ndim) == range(ndim)[axis]
                assert _index.normalise_axes("f", axis, ndim) == (range(ndim)[axis],)
            else:
                with pytest.raises(IndexError, match=f"f: axis {axis} is out of range"):
                    _index.normalise_axis("f", axis, ndim)


def test_an_axis_out_of_range_names_the_way_out():
    with pytest.raises(IndexError, match=r"^flip: axis 3 is out of range for 2 axes; use -2\.\.1$"):
        _index.normalise_axis("flip", 3, 2)
    with pytest.raises(IndexError, match=r"^flip: axis 0 is out of range: a 0-d array has no axes$"):
        _index.normalise_axis("flip", 0, 0)


@pytest.mark.parametrize("axis", [1.0, "0", None, (0,), slice(1)])
def test_an_axis_that_is_no_integer_is_a_type_error_that_names_it(axis):
    with pytest.raises(TypeError, match="flip: axis must be an integer, got ") as caught:
        _index.normalise_axis("flip", axis, 2)
    assert repr(axis) in str(caught.value)


def test_integers_by_protocol_are_axes():
    assert _index.normalise_axis("f", np.int64(-1), 3) == 2
    assert _index.normalise_axis("f", Seven(), 8) == 7


def test_several_axes_keep_their_order_and_must_be_distinct():
    assert _index.normalise_axes("f", (2, 0), 3) == (2, 0)
    assert _index.normalise_axes("f", [-1, 0], 3) == (2, 0)
    assert _index.normalise_axes("f", (), 3) == ()
    for repeated in [(0, 0), (1, -2), [2, 0, -1]]:
        with pytest.raises(ValueError, match="names an axis of 3 twice"):
            _index.normalise_axes("f", repeated, 3)
    with pytest.raises(IndexError):
        _index.normalise_axes("f", (0, 3), 3)
    with pytest.raises(TypeError):
        _index.normalise_axes("f", (0, "1"), 3)


# -- larger ranges -------------------------------------------------------------------------------------


@given(shapes(ndim_max=5, extent_max=5).flatmap(lambda shape: st.tuples(st.just(shape), basic_keys(shape))))
def test_any_key_that_fits_is_numpys(case):
    shape, key = case
    if prod(shape) > 2000:
        return
    ours, theirs = both(shape, key)
    assert isinstance(theirs, tuple)
    assert ours == theirs


@given(views(ndim_max=4), st.data())
def test_keys_compose_on_views_as_numpys_do(case, data):
    key = data.draw(basic_keys(case.layout.shape))
    expected = case.view[(*key, ...) if ... not in key else key]
    selected = _index.view(case.layout, key)
    assert selected.shape == expected.shape
    assert positions(selected) == expected.reshape(-1).tolist()
