"""The order of axes in memory. The first part is the test list of the Burn seed (002…), one for one."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import layouts, positions, shapes, views

from candela_xp._layout import Layout, row_major_stride
from candela_xp._order import dim_order, is_contiguous_order, nested_dim_order, walk_order

NCHW = (2, 48, 16, 16)
CONTIGUOUS = (48 * 16 * 16, 16 * 16, 16, 1)
NHWC = (16 * 16 * 48, 1, 16 * 48, 48)


# -- Burn's own tests (seed 002…, mod tests) ---------------------------------------------------------


def test_contiguous_is_the_identity_order():
    assert dim_order(NCHW, CONTIGUOUS) == (0, 1, 2, 3)


def test_nhwc_memory_gives_the_nhwc_order():
    # What a convolution hands its successor: shape is NCHW, memory is NHWC.
    assert dim_order(NCHW, NHWC) == (0, 2, 3, 1)


def test_broadcast_is_not_dense():
    assert dim_order(NCHW, (0, 1, 0, 0)) is None


def test_a_slice_is_not_dense():
    # A view into a wider array: the row stride overshoots the row.
    assert dim_order((4, 8), (16, 1)) is None


def test_size_one_dimensions_do_not_decide_density():
    # A per-channel parameter presented at full rank.
    assert dim_order((1, 48, 1, 1), (48, 1, 48, 48)) is not None


def test_the_order_ends_at_the_innermost_dimension():
    assert dim_order(NCHW, CONTIGUOUS)[-1] == 3
    assert dim_order(NCHW, NHWC)[-1] == 1


def test_order_is_a_permutation():
    assert is_contiguous_order((0, 1, 2, 3))
    assert not is_contiguous_order((0, 2, 3, 1))


@pytest.mark.parametrize("stride", [CONTIGUOUS, NHWC])
def test_a_dense_array_nests_in_the_order_it_is_dense_in(stride):
    dense = dim_order(NCHW, stride)
    assert dense is not None
    assert nested_dim_order(NCHW, stride) == dense


def test_padding_under_the_innermost_dimension_keeps_the_nhwc_order():
    stride = (16 * 16 * 64, 1, 16 * 64, 64)
    assert dim_order(NCHW, stride) is None
    assert nested_dim_order(NCHW, stride) == (0, 2, 3, 1)


def test_padding_above_the_innermost_dimension_is_nesting_too():
    assert dim_order((4, 8), (16, 1)) is None
    assert nested_dim_order((4, 8), (16, 1)) == (0, 1)


def test_overlapping_dimensions_are_not_an_order_under_either():
    assert dim_order((4, 8), (4, 1)) is None
    assert nested_dim_order((4, 8), (4, 1)) is None


def test_a_broadcast_dimension_still_cannot_vote():
    assert nested_dim_order(NCHW, (0, 1, 0, 0)) is None


def test_size_one_dimensions_neither_pad_nor_constrain_nesting():
    shape, stride = (1, 48, 1, 1), (48, 1, 48, 48)
    assert nested_dim_order(shape, stride) is not None
    assert nested_dim_order(shape, stride) == dim_order(shape, stride)


# -- what Burn's unsigned strides never see (DESIGN.md, "what the seeds get wrong") --------------------


def test_strides_of_another_rank_have_no_order():
    # Burn: `if rank != strides.len() { return None; }`
    assert dim_order((2, 3), (1,)) is None
    assert nested_dim_order((2, 3), (3, 1, 1)) is None


def test_an_axis_walked_backwards_occupies_the_same_cells():
    assert dim_order((3, 4), (-4, 1)) == (0, 1)
    assert dim_order((3, 4), (4, -1)) == (0, 1)
    assert dim_order((4, 3), (-1, -4)) == (1, 0)
    assert nested_dim_order((3, 4), (-8, 2)) == (0, 1)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 2)])
def test_an_empty_layout_is_dense_in_the_identity_order_whatever_its_strides(shape):
    for stride in product((-3, 0, 2), repeat=len(shape)):
        assert dim_order(shape, stride) == tuple(range(len(shape)))
        assert nested_dim_order(shape, stride) == tuple(range(len(shape)))


def test_no_axes_are_the_empty_order():
    assert dim_order((), ()) == nested_dim_order((), ()) == walk_order((), ()) == ()
    assert is_contiguous_order(())


@pytest.mark.parametrize("step", [-7, -1, 0, 1, 5, 100])
def test_size_one_axes_keep_a_place_but_no_say_whatever_their_stride(step):
    order = dim_order((4, 1, 3), (3, step, 1))
    assert sorted(order) == [0, 1, 2]
    assert [axis for axis in order if axis != 1] == [0, 2]


def test_a_broadcast_axis_is_walked_outermost_and_the_others_by_decreasing_stride():
    assert walk_order((5, 3, 4), (0, 1, 3)) == (0, 2, 1)
    assert walk_order((3, 5, 4), (-1, 0, 7)) == (1, 2, 0)
    # Equal strides: the axis number decides.
    assert walk_order((3, 3), (1, 1)) == (0, 1)


# -- small range, exhaustively, against brute force ----------------------------------------------------


def brute_force_nested_orders(shape, stride):
    """All orders in which each axis steps over everything that the axes inside it reach, axes of length 1 aside."""
    found = []
    long_axes = [axis for axis, extent in enumerate(shape) if extent != 1]
    for order in permutations(long_axes):
        reach = 1
        for axis in reversed(order):
            if abs(stride[axis]) < reach:
                break
            reach = abs(stride[axis]) * shape[axis]
        else:
            found.append(order)
    return found


def without(axes, shape):
    """An order without its axes of length 1."""
    return tuple(axis for axis in axes if shape[axis] != 1)


def every_small_layout():
    for ndim in range(4):
        for shape in product((1, 2, 3), repeat=ndim):
            yield from (Layout(shape, stride) for stride in product((-6, -2, -1, 0, 1, 2, 3, 4, 6), repeat=ndim))


def test_a_layout_nests_exactly_where_brute_force_finds_an_order():
    for layout in every_small_layout():
        orders = brute_force_nested_orders(layout.shape, layout.stride)
        answer = layout.nested_dim_order
        assert (answer is None) == (not orders), layout
        if answer is not None:
            assert sorted(answer) == list(range(layout.ndim)), layout
            assert without(answer, layout.shape) in orders, layout
            # Nesting means that no two elements coincide.
            assert len(set(positions(layout))) == layout.len, layout


def test_a_layout_is_dense_exactly_where_its_elements_fill_one_run_each_cell_once():
    for layout in every_small_layout():
        cells = positions(layout)
        fills = sorted(cells) == list(range(min(cells), min(cells) + len(cells)))
        assert (layout.dim_order is not None) == fills, layout
        assert layout.is_dense == fills, layout


def test_walking_a_dense_layout_in_its_order_goes_through_memory_from_end_to_end():
    for layout in every_small_layout():
        if layout.dim_order is not None:
            forwards = layout.flip([axis for axis, step in enumerate(layout.stride) if step < 0])
            cells = positions(forwards.permute(layout.dim_order))
            assert cells == list(range(cells[0], cells[0] + layout.len)), layout


def test_the_walk_order_is_the_nested_order_where_there_is_one():
    for layout in every_small_layout():
        if layout.nested_dim_order is not None:
            walk = walk_order(layout.shape, layout.stride)
            assert without(walk, layout.shape) == without(layout.nested_dim_order, layout.shape), layout


# -- larger ranges -------------------------------------------------------------------------------------


@st.composite
def shapes_and_orders(draw):
    shape = draw(shapes(ndim_max=6, extent_max=5, extent_min=1))
    return shape, tuple(draw(st.permutations(range(len(shape)))))


@given(shapes_and_orders())
def test_the_order_of_a_dense_layout_is_the_order_it_was_made_in(case):
    shape, order = case
    layout = Layout.in_order(shape, order)
    assert without(layout.dim_order, shape) == without(order, shape)
    assert layout.nested_dim_order == layout.dim_order
    # NumPy as the oracle: read in that order, the array is C-contiguous.
    strides = [step * 8 for step in layout.stride]
    view = np.ndarray(shape, np.int64, bytearray(8 * math.prod(shape)), 0, strides)
    assert view.transpose(order).flags.c_contiguous


@given(shapes_and_orders())
def test_the_order_of_a_permuted_contiguous_layout_is_the_inverse_permutation(case):
    shape, axes = case
    layout = Layout(shape, row_major_stride(shape)).permute(axes)
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    assert without(layout.dim_order, layout.shape) == without(inverse, layout.shape)
    if 1 not in shape:
        assert is_contiguous_order(layout.dim_order) == (axes == tuple(range(len(axes))))


@given(layouts(ndim_max=4, extent_max=4))
def test_nesting_agrees_with_brute_force_on_arbitrary_strides(layout):
    if 0 in layout.shape:
        assert layout.nested_dim_order == tuple(range(layout.ndim))
        return
    orders = brute_force_nested_orders(layout.shape, layout.stride)
    answer = layout.nested_dim_order
    assert (answer is None) == (not orders)
    assert answer is None or without(answer, layout.shape) in orders


@given(views())
def test_every_walk_order_is_a_permutation_with_decreasing_strides_after_the_broadcast_axes(case):
    layout = case.layout
    order = walk_order(layout.shape, layout.stride)
    assert sorted(order) == list(range(layout.ndim))
    steps = [abs(layout.stride[axis]) for axis in order]
    still = steps.count(0)
    assert steps[:still] == [0] * still
    assert steps[still:] == sorted(steps[still:], reverse=True)
