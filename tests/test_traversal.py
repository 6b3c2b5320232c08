"""The order of a walk as plain data: every element once, operands beside each other, blocks within their budget."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations, product
from math import prod
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candela_xp._layout import Layout
from candela_xp._traversal import Walk, plan, preferred_order

# -- layouts of one shape --------------------------------------------------------------------------------


class Case(NamedTuple):
    """What `plan` is asked."""

    shape: tuple[int, ...]
    layouts: tuple[Layout, ...]
    budget: int
    keywords: dict[str, Any]

    def walk(self) -> Walk:
        return plan(self.shape, self.layouts, self.budget, **self.keywords)


def permuted(shape, order):
    """A dense layout whose axes lie in an order, outermost first."""
    return Layout.in_order(shape, tuple(order))


@st.composite
def laid(draw, shape):
    """A layout of a shape: dense in any order, a box of something larger, stepped, reversed, broadcast; or wild."""
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(shape))))
        room = tuple(n * draw(st.sampled_from([1, 1, 2])) + draw(st.sampled_from([0, 0, 3])) for n in shape)
        layout = permuted(room, order)
        for axis, extent in enumerate(shape):
            step = draw(st.sampled_from([1, 2])) if room[axis] >= 2 * extent else 1
            layout = layout.slice(axis, 0, step, extent)
    else:
        stride = tuple(draw(st.sampled_from([0, 1, 2, 3, 5, 8])) for _ in shape)
        layout = Layout(shape, stride, draw(st.integers(0, 4)))
    for axis in range(len(shape)):
        if draw(st.integers(0, 3)) == 0:
            layout = layout.flip((axis,))
    if draw(st.integers(0, 3)) == 0:
        stride = tuple(0 if draw(st.booleans()) else step for step in layout.stride)
        layout = layout._replace(stride=stride, offset=layout.offset + 40)
    return layout


@st.composite
def cases(draw, *, ndim_max=4, extent_max=5):
    """Anything that `plan` may be asked."""
    shape = tuple(draw(st.lists(st.sampled_from([1, *range(extent_max + 1)]), max_size=ndim_max)))
    layouts = tuple(draw(st.lists(laid(shape), min_size=1, max_size=4)))
    keywords = {"destination": draw(st.none() | st.integers(0, len(layouts) - 1)), "flips": draw(st.booleans())}
    if draw(st.booleans()):
        keywords["reduced"] = tuple(draw(st.sets(st.integers(0, len(shape) - 1)))) if shape else ()
    return Case(shape, layouts, draw(st.sampled_from([1, 2, 3, 7, 16, 64, 10_000])), keywords)


def enumerated(shape, layouts):
    """For each index, the element offset in every operand."""
    return [tuple(x.element_offset(index) for x in layouts) for index in product(*map(range, shape))]


def block_elements(walk, extents, offsets):
    """The same, for each index of one block."""
    found = []
    for index in product(*map(range, extents)):
        steps = [sum(i * s for i, s in zip(index, x.stride)) for x in walk.operands]
        found.append(tuple(offset + step for offset, step in zip(offsets, steps)))
    return found


def walked(walk, first=0, count=10**9):
    return [
        element
        for _, extents, offsets in walk.steps(first, count)
        for element in block_elements(walk, extents, offsets)
    ]


# -- every element once ----------------------------------------------------------------------------------


@given(cases())
def test_the_blocks_hold_every_index_once_with_the_offsets_of_all_operands_beside_each_other(case):
    assert Counter(walked(case.walk())) == Counter(enumerated(case.shape, case.layouts))


def test_every_order_of_two_dense_operands_is_walked_whole_within_any_budget():
    shape = (3, 1, 4, 2)
    orders = [permuted(shape, order) for order in permutations(range(4))]
    for a, b in product(orders, orders):
        want = Counter(enumerated(shape, (a, b)))
        for budget, destination in ((1, None), (5, 0), (9, 1), (100, 0)):
            assert Counter(walked(plan(shape, (a, b), budget, destination=destination))) == want


@given(cases(), st.data())
def test_any_cut_of_the_steps_gives_the_same_blocks_as_the_whole(case, data):
    walk = case.walk()
    whole = list(walk.steps(0, walk.blocks))
    cuts = sorted(data.draw(st.lists(st.integers(0, walk.blocks), max_size=5)))
    bounds = [0, *cuts, walk.blocks]
    parts = [list(walk.steps(first, last - first)) for first, last in pairwise(bounds)]
    assert [step for part in parts for step in part] == whole


@given(cases())
def test_the_steps_are_as_many_as_the_blocks_and_end_there(case):
    walk = case.walk()
    assert len(list(walk.steps(0, 10**9))) == walk.blocks == prod(walk.grid)
    assert list(walk.steps(walk.blocks, 5)) == []
    assert list(walk.steps(0, 0)) == []


@given(cases())
def test_places_count_through_the_grid_in_row_major_order(case):
    walk = case.walk()
    places = [place for place, _, _ in walk.steps(0, walk.blocks)]
    assert places == list(product(*map(range, walk.grid)))


@given(cases())
def test_each_place_has_the_offsets_and_extents_of_its_corner(case):
    walk = case.walk()
    for place, extents, offsets in walk.steps(0, walk.blocks):
        corner = [number * length for number, length in zip(place, walk.block)]
        assert offsets == tuple(x.element_offset(corner) for x in walk.operands)
        assert extents == tuple(min(length, n - c) for length, n, c in zip(walk.block, walk.shape, corner))


@given(cases())
def test_the_jumps_are_the_adj_stride_of_the_grid_of_blocks(case):
    walk = case.walk()
    for number, operand in enumerate(walk.operands):
        steps = tuple(s * n for s, n in zip(operand.stride, walk.block))
        assert tuple(jump[number] for jump in walk.jumps) == Layout(walk.grid, steps, 0).adj_stride


@given(cases())
def test_no_block_is_larger_than_the_budget_or_empty(case):
    walk = case.walk()
    assert 1 <= prod(walk.block) <= case.budget
    for _, extents, _ in walk.steps(0, walk.blocks):
        assert 1 <= prod(extents) <= case.budget


@given(cases())
def test_the_axes_of_the_walk_are_those_that_are_longer_than_one_or_empty(case):
    walk = case.walk()
    assert sorted(axis for group in walk.axes for axis in group) == [a for a, n in enumerate(case.shape) if n != 1]
    assert walk.shape == tuple(prod([case.shape[axis] for axis in group]) for group in walk.axes)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4, 2), (2, 0, 0)])
@pytest.mark.parametrize("reduced", [(), (0,)])
def test_nothing_is_walked_of_an_array_without_elements(shape, reduced):
    walk = plan(shape, (Layout.contiguous(shape), Layout.contiguous(shape)), 8, reduced=reduced)
    assert walk.blocks == 0
    assert list(walk.steps(0, 3)) == []


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_a_single_element_is_one_block(shape):
    walk = plan(shape, (Layout(shape, (7,) * len(shape), 5), Layout.contiguous(shape, 2)), 1)
    assert (walk.kind, walk.axes, walk.block) == ("flat", (), ())
    assert list(walk.steps(0, 10)) == [((), (), (5, 2))]


# -- flat, rows, tiles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("turned_round", [(), (0,), (1, 2), (0, 1, 2)])
def test_operands_dense_in_one_order_are_walked_by_one_flat_index(order, turned_round):
    shape = (3, 4, 5)
    layout = permuted(shape, order).flip(turned_round)
    walk = plan(shape, (layout, layout, layout), 7, destination=0)
    assert (walk.kind, walk.shape, walk.block, walk.axes) == ("flat", (60,), (7,), (order,))
    assert [x.stride for x in walk.operands] == [(1,)] * 3
    assert [offsets[0] for _, _, offsets in walk.steps(0, 9)] == list(range(0, 60, 7))
    assert not any(walk.turned)


def test_a_broadcast_scalar_goes_along_with_a_flat_walk():
    shape = (3, 4)
    walk = plan(shape, (permuted(shape, (1, 0)), Layout(shape, (0, 0), 3)), 5, destination=0)
    assert (walk.kind, walk.axes) == ("flat", ((1, 0),))
    assert walk.operands[1] == Layout((12,), (0,), 3)


def test_axes_chain_only_where_they_do_in_every_operand():
    shape = (2, 3, 4)
    whole, gap = Layout.contiguous(shape), Layout(shape, (15, 5, 1), 0)
    assert plan(shape, (whole, whole), 100).axes == ((0, 1, 2),)
    assert plan(shape, (whole, gap), 100).axes == ((0, 1), (2,))
    assert plan(shape, (whole, Layout(shape, (20, 4, 1), 0)), 100).axes == ((0,), (1, 2))
    assert plan(shape, (whole, Layout(shape, (0, 4, 1), 0)), 100).axes == ((0,), (1, 2))


def test_axes_of_length_one_neither_part_nor_join_others():
    shape = (2, 1, 3, 1)
    walk = plan(shape, (Layout(shape, (3, 999, 1, -7), 0), Layout(shape, (3, 0, 1, 50), 4)), 100)
    assert (walk.kind, walk.axes, walk.shape) == ("flat", ((0, 2),), (6,))


def test_gaps_between_rows_leave_rows_that_are_filled_from_the_innermost_outwards():
    shape = (6, 10)
    box = Layout(shape, (13, 1), 0)
    walk = plan(shape, (box, Layout.contiguous(shape)), 25, destination=0)
    assert (walk.kind, walk.block, walk.grid) == ("rows", (2, 10), (3, 1))
    assert plan(shape, (box, Layout.contiguous(shape)), 4, destination=0).block == (1, 4)


@given(cases())
def test_one_axis_is_flat_conflicting_orders_are_tiles_and_all_else_are_rows(case):
    walk = case.walk()
    if len(walk.shape) <= 1:
        assert walk.kind == "flat"
    else:
        assert walk.kind == ("tiles" if any(walk.turned) else "rows")


@given(st.integers(2, 300), st.integers(2, 300), st.integers(4, 5000))
def test_conflicting_orders_give_blocks_that_are_long_on_both_near_axes(rows, columns, budget):
    shape = (rows, columns)
    walk = plan(shape, (Layout.contiguous(shape), permuted(shape, (1, 0))), budget, destination=0)
    assert (walk.kind, walk.turned) == ("tiles", (False, True))
    assert min(walk.block) > 1
    assert prod(walk.block) <= budget


def test_three_operands_nearest_along_three_axes_have_blocks_long_on_all_of_them():
    shape = (50, 50, 50)
    layouts = tuple(permuted(shape, order) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)))
    walk = plan(shape, layouts, 1000, destination=0)
    assert walk.turned == (False, True, True)
    assert min(walk.block) > 5
    assert walk.kind == "tiles"


def test_tiles_are_as_long_as_memory_allows_and_an_operand_broadcast_along_the_innermost_axis_is_not_turned():
    shape = (4096, 4096)
    walk = plan(shape, (Layout.contiguous(shape), permuted(shape, (1, 0))), 2**15, destination=0)
    assert prod(walk.block) > 2**14
    column = Layout(shape, (1, 0), 0)
    assert plan(shape, (Layout.contiguous(shape), column), 2**15, destination=0).kind == "rows"


# -- the order -------------------------------------------------------------------------------------------


def written(walk, destination):
    """The offsets of the destination in the order in which blocks write them."""
    return [element[destination] for element in walked(walk)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("budget", [1, 6, 11, 60])
def test_a_dense_destination_is_written_front_to_back_whatever_the_signs(order, budget):
    shape = (3, 4, 5)
    target = permuted(shape, order)
    for axes in ((), (0,), (1, 2), (0, 1, 2)):
        turned = target.flip(axes)
        walk = plan(shape, (turned, turned), budget, destination=0)
        assert written(walk, 0) == list(range(60))


@given(cases())
def test_the_walk_follows_the_order_of_the_destination(case):
    walk = case._replace(keywords={**case.keywords, "destination": 0}).walk()
    steps = [abs(step) for step in walk.operands[0].stride if step]
    assert steps == sorted(steps, reverse=True)
    broadcast = [step == 0 for step in walk.operands[0].stride]
    assert broadcast == sorted(broadcast, reverse=True)


def test_within_a_row_of_a_block_the_destination_goes_forwards_also_where_operands_conflict():
    shape = (40, 30)
    target = permuted(shape, (1, 0))
    walk = plan(shape, (target, Layout.contiguous(shape)), 100, destination=0)
    assert walk.operands[0].stride[-1] == 1
    for _, extents, offsets in walk.steps(0, walk.blocks):
        row = [element[0] for element in block_elements(walk, extents, offsets)][: extents[-1]]
        assert row == list(range(offsets[0], offsets[0] + extents[-1]))


# -- signs -----------------------------------------------------------------------------------------------


@given(cases())
def test_an_axis_is_turned_round_only_where_no_operand_walks_it_forwards(case):
    walk = case.walk()
    for place, group in enumerate(walk.axes):
        axis = group[-1]
        before = [x.stride[axis] for x in case.layouts]
        after = [x.stride[place] for x in walk.operands]
        turns = case.keywords["flips"] and case.shape[axis] > 1 and max(before) <= 0
        assert after == [-step if turns else step for step in before]


def test_an_axis_that_one_operand_walks_forwards_stays():
    shape = (5,)
    forwards, backwards, broadcast = Layout(shape, (1,), 0), Layout(shape, (-1,), 4), Layout(shape, (0,), 2)
    assert [x.stride for x in plan(shape, (forwards, backwards), 9).operands] == [(1,), (-1,)]
    assert plan(shape, (backwards, broadcast), 9).operands == (forwards, broadcast)
    assert plan(shape, (backwards, broadcast), 9, flips=False).operands == (backwards, broadcast)


# -- reductions ------------------------------------------------------------------------------------------


@given(cases())
def test_reduced_axes_never_merge_with_kept_ones(case):
    reduced = set(case.keywords.get("reduced", ()))
    for group in case.walk().axes:
        assert len({axis in reduced for axis in group}) == 1


def test_reduced_axes_merge_among_themselves_and_so_do_the_others():
    shape = (2, 3, 4, 5)
    layout = Layout.contiguous(shape)
    assert plan(shape, (layout,), 1000, reduced=(2, 3)).axes == ((0, 1), (2, 3))
    assert plan(shape, (layout,), 1000, reduced=(0, 1, 2, 3)).axes == ((0, 1, 2, 3),)
    assert plan(shape, (layout,), 1000, reduced=(1,)).axes == ((0,), (1,), (2, 3))


def test_blocks_are_long_along_the_reduced_axis_and_keep_whole_near_rows():
    shape = (1000, 64)
    walk = plan(shape, (Layout.contiguous(shape),), 2**12, reduced=(0,))
    assert walk.block == (64, 64)
    far = plan((64, 1000), (Layout.contiguous((64, 1000)),), 2**12, reduced=(1,))
    assert far.block == (4, 1000)


# -- preferred_order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_operands_of_one_order_prefer_it(order):
    shape = (2, 3, 4)
    layout = permuted(shape, order)
    assert preferred_order(shape, (layout, layout)) == order
    assert preferred_order(shape, (layout, layout.flip((0, 2)))) == order


def test_operands_that_disagree_prefer_row_major_order():
    shape = (2, 3, 4)
    assert preferred_order(shape, (permuted(shape, (2, 1, 0)), Layout.contiguous(shape))) == (0, 1, 2)
    assert preferred_order(shape, (permuted(shape, (2, 1, 0)), permuted(shape, (1, 0, 2)))) == (0, 1, 2)


def test_broadcast_operands_have_no_say():
    shape = (2, 3)
    column = Layout(shape, (1, 0), 0)
    assert preferred_order(shape, (column, permuted(shape, (1, 0)))) == (1, 0)
    assert preferred_order(shape, (column,)) == (0, 1)
    assert preferred_order(shape, ()) == (0, 1)


def test_axes_of_length_one_keep_their_place_and_have_no_say():
    shape = (1, 2, 1, 3)
    assert preferred_order(shape, (Layout(shape, (99, 1, 0, 2), 0),)) == (0, 3, 2, 1)
    assert preferred_order((1, 1), (Layout((1, 1), (0, 5), 0),)) == (0, 1)


@given(cases())
def test_the_preferred_order_is_a_permutation_that_does_not_look_at_signs_or_offsets(case):
    order = preferred_order(case.shape, case.layouts)
    assert sorted(order) == list(range(len(case.shape)))
    turned = tuple(x.flip(tuple(range(len(case.shape)))) for x in case.layouts)
    assert preferred_order(case.shape, turned) == order
