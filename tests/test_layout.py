"""Layouts: the examples of the Candela seed (000…), the views of the Strata seed (003…), and NumPy as the oracle.

The small range: every view operation, and every second one after it, from every shape of up to 3 axes with extents
0 to 3. Each layout is compared with the NumPy view that the same operations give.
"""

from __future__ import annotations

import copy
import pickle
import time
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from layouts import (
    ALL_LAYOUTS,
    broadcast_step,
    diagonal_step,
    example,
    expand_step,
    flip_step,
    layout_of,
    layouts,
    numpy_view,
    permute_step,
    positions,
    select_step,
    shapes,
    slice_step,
    steps_from,
    transpose_step,
    views,
    walked,
    windows_step,
)

from candela_xp._layout import Layout, broadcast_shapes, row_major_stride
from candela_xp._order import walk_order

SMALL_SHAPES = [shape for ndim in range(4) for shape in product(range(4), repeat=ndim)]


@cache
def small_range():
    """All (layout, NumPy view, size of the base) that at most two view operations reach, each layout once."""
    found, front = {}, []
    for shape in SMALL_SHAPES:
        layout = Layout.contiguous(shape)
        view = np.arange(layout.len).reshape(shape)
        found[layout, layout.len] = view
        front.append((layout, view, layout.len))
    for _ in range(2):
        reached = []
        for layout, view, size in front:
            for step in steps_from(layout.shape):
                key = step.on_layout(layout), size
                if key not in found:
                    found[key] = step.on_numpy(view)
                    reached.append((key[0], found[key], size))
        front = reached
    return [(layout, view, size) for (layout, size), view in found.items()]


@cache
def small_layouts():
    """The layouts of the small range without the repetitions that differ in the offset only."""
    return list({(layout.shape, layout.stride): layout for layout, _, _ in small_range()}.values())


def values(view):
    """The elements of a NumPy view over 0, 1, 2, …: they are buffer positions."""
    return view.reshape(-1).tolist()


# -- the worked examples of Candela (seed 000…, "Memory Layout") ---------------------------------------


def test_the_fields_of_a_contiguous_matrix():
    # Seed 000, "Example: contiguous [3, 4], stride [4, 1]"
    layout = Layout.contiguous((3, 4))
    assert layout.shape == (3, 4)
    assert layout.stride == (4, 1)
    assert layout.adj_stride == (1, 1)
    assert layout.offset == 0
    assert layout.len == 12
    assert layout.ndim == 2


def test_element_i_j_sits_at_offset_plus_i_and_j_times_their_strides():
    # Seed 000: buffer[offset + i * stride[0] + j * stride[1]]
    layout = Layout((3, 4), (7, -2), 20)
    for i, j in product(range(3), range(4)):
        assert layout.element_offset((i, j)) == 20 + i * 7 + j * -2


def test_the_adj_stride_of_a_transposed_matrix_jumps_back_to_the_top_of_the_next_column():
    # Seed 000, "Example: transposed [4, 3] (from [3, 4], stride [1, 4])"
    layout = Layout.contiguous((3, 4)).transpose()
    assert layout.shape == (4, 3)
    assert layout.stride == (1, 4)
    assert layout.adj_stride == (-7, 4)


def test_freshly_allocated_layouts_have_adj_stride_one_on_every_axis():
    # Seed 000: "why adj_stride = [1, ..., 1] is hardcoded for freshly allocated tensors"
    for shape in SMALL_SHAPES:
        if 0 not in shape:
            assert Layout.contiguous(shape).adj_stride == (1,) * len(shape)


def test_a_vector_broadcast_to_a_matrix_gains_a_leading_axis_of_stride_zero():
    # Seed 000, "Broadcasting": [4] -> [3, 4], "three rows over the same four values"
    source = Layout.contiguous((4,))
    assert (source.shape, source.stride, source.len) == ((4,), (1,), 4)
    result = source.broadcast_to((3, 4))
    assert (result.shape, result.stride, result.len) == ((3, 4), (0, 1), 12)
    assert positions(result) == [0, 1, 2, 3] * 3
    # "it subtracts the inner walk from zero, leaving a negative delta that resets the position"
    assert result.adj_stride == (-3, 1)
    assert walked(result) == positions(result)


def test_broadcasting_is_right_aligned_and_rejects_other_mismatches():
    # Seed 000: "a source dimension of size 1 expands with stride = 0, and any other mismatch is rejected"
    assert Layout.contiguous((3, 1)).broadcast_to((2, 3, 5)) == Layout((2, 3, 5), (0, 1, 0))
    assert Layout.contiguous((3,)).broadcast_to((3, 2)) is None
    assert Layout.contiguous((2, 3)).broadcast_to((3,)) is None


def test_a_slice_moves_the_offset_and_keeps_the_strides():
    # Seed 000, "Slice. Adjusts offset to the start of the subregion and updates shape, keeping the original strides."
    assert Layout.contiguous((3, 4)).block((1, 2), (2, 2)) == Layout((2, 2), (4, 1), 6)


def test_a_view_of_a_contiguous_layout_keeps_the_offset():
    # Seed 000, "View (reshape). New shape and stride, same offset, shared buffer."
    assert Layout.contiguous((3, 4), 5).reshape((2, 6)) == Layout((2, 6), (6, 1), 5)


def test_permuting_axes_is_the_same_shuffle_of_shape_and_stride():
    # Seed 000, "Permuting axes."
    layout = Layout((2, 3, 4), (12, 4, 1), 7)
    assert layout.permute((2, 0, 1)) == Layout((4, 2, 3), (1, 12, 4), 7)
    assert layout.permute((2, 1, 0)) == layout.transpose()


def test_the_structural_flags_tell_a_broadcast_from_a_transpose():
    # Seed 000, "Structural flags"
    contiguous = Layout.contiguous((3, 4))
    transposed = contiguous.transpose()
    broadcast = Layout.contiguous((4,)).broadcast_to((3, 4))
    assert (contiguous.is_contiguous, contiguous.is_transposed, contiguous.is_broadcast) == (True, False, False)
    assert (transposed.is_contiguous, transposed.is_transposed, transposed.is_broadcast) == (False, True, False)
    assert (broadcast.is_contiguous, broadcast.is_transposed, broadcast.is_broadcast) == (False, False, True)


# -- what the seeds get wrong (DESIGN.md) --------------------------------------------------------------


def test_adj_stride_one_on_the_outer_axis_does_not_mean_contiguous():
    # np.empty((2, 5))[:, ::2]: stride (5, 2), adj_stride (1, 2)
    stepped = Layout.contiguous((2, 5)).slice(1, 0, 2, 3)
    assert (stepped.stride, stepped.adj_stride) == ((5, 2), (1, 2))
    assert not stepped.is_contiguous
    permuted = Layout.contiguous((2, 3, 4)).permute((0, 2, 1))
    assert (permuted.stride, permuted.adj_stride) == ((12, 1, 4), (1, -7, 4))
    assert not permuted.is_contiguous


def test_is_transposed_is_also_true_for_reversed_axes_and_overlapping_windows_and_packs_follow_the_core_strides():
    reversed_rows = Layout.contiguous((3, 4)).flip((0,))
    assert reversed_rows.is_transposed
    assert not reversed_rows.core_is_packed()
    windows = Layout.contiguous((6,)).windows(0, 4)
    assert windows.is_transposed
    assert not windows.core_is_packed()
    # A transposed matrix and a stepped batch of matrices need no pack; a matrix with stepped columns does.
    assert Layout.contiguous((3, 4)).transpose().core_is_packed()
    assert Layout.contiguous((6, 3, 4)).slice(0, 0, 2, 3).core_is_packed()
    assert not Layout.contiguous((3, 8)).slice(1, 0, 2, 4).core_is_packed()


def test_dense_layouts_may_run_backwards_and_empty_ones_are_dense():
    assert Layout.contiguous((3, 4)).flip((0, 1)).dim_order == (0, 1)
    assert Layout.contiguous((3, 4)).transpose().flip((0,)).dim_order == (1, 0)
    assert Layout((3, 0), (5, 9)).is_dense
    assert Layout((3, 0), (5, 9)).is_contiguous
    assert not Layout.contiguous((4,)).broadcast_to((3, 4)).is_dense


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        # Splits and merges on strided layouts, which Candela's "requires a contiguous input" refuses.
        (Layout((6, 4), (8, 1)), (2, 3, 4), Layout((2, 3, 4), (24, 8, 1))),
        (Layout((6, 4), (8, 2)), (24,), Layout((24,), (2,))),
        (Layout((4, 6), (1, 4)), (4, 3, 2), Layout((4, 3, 2), (1, 8, 4))),
        (Layout((2, 3, 4), (-12, -4, -1), 23), (6, 4), Layout((6, 4), (-4, -1), 23)),
        (Layout((3, 4), (0, 0), 5), (2, 6), Layout((2, 6), (0, 0), 5)),
        (Layout((3, 1, 4), (4, 99, 1)), (12,), Layout((12,), (1,))),
        # No stride expresses these.
        (Layout((4, 3), (1, 4)), (12,), None),
        (Layout((6, 3), (-1, 6), 5), (18,), None),
        (Layout((3, 4), (0, 1)), (12,), None),
        (Layout((6, 4), (8, 1)), (4, 6), None),
        (Layout((2, 3), (3, -1), 2), (6,), None),
    ],
)
def test_reshape_is_a_view_whenever_a_stride_can_express_it(layout, shape, expected):
    assert layout.reshape(shape) == expected
    if expected is not None:
        assert positions(expected) == positions(layout)


# -- views and traversal of Strata (seed 003…) ---------------------------------------------------------


def test_block_is_the_operand_cut_to_a_corner_and_a_size_on_each_axis():
    # Seed 003: "Block: E cut to a box: a corner and a size on each axis."
    base = np.arange(60).reshape(3, 4, 5)
    layout = Layout.contiguous((3, 4, 5))
    for corner in product(range(4), range(5), range(6)):
        for size in product(*[range(n + 1 - c) for n, c in zip(base.shape, corner)]):
            box = tuple(slice(c, c + s) for c, s in zip(corner, size))
            block = layout.block(corner, size)
            assert block.shape == size
            assert positions(block) == values(base[box])
            assert block.fits(60)


def test_slice_fixes_an_index_along_axes_and_drops_them():
    # Seed 003: "Slice: E at fixed indices along Axes, an axis less for each"
    base = np.arange(60).reshape(3, 4, 5)
    layout = Layout.contiguous((3, 4, 5))
    for i, k in product(range(3), range(5)):
        fixed = layout.select(2, k).select(0, i)
        assert fixed.shape == (4,)
        assert positions(fixed) == values(base[i, :, k])


def test_permute_puts_operand_axis_permutation_k_at_new_axis_k():
    # Seed 003: "Permute: new axis k is axis Permutation[k] of the operand, so permuted[i, j] is operand[j, i]"
    layout = Layout.contiguous((3, 4))
    permuted = layout.permute((1, 0))
    for i, j in product(range(4), range(3)):
        assert permuted.element_offset((i, j)) == layout.element_offset((j, i))
    layout = Layout.contiguous((2, 3, 4))
    for axes in permutations(range(3)):
        permuted = layout.permute(axes)
        for index in product(*map(range, layout.shape)):
            assert permuted.element_offset([index[axis] for axis in axes]) == layout.element_offset(index)


def test_diagonal_merges_axes_into_one_at_the_place_of_the_first():
    # Seed 003: "Diagonal: the axes Axes become one, at the place of the first, and element i of it is the operand's
    # at i on each of them"
    layout = Layout.contiguous((3, 2, 3))
    diagonal = layout.merge_diagonal((0, 2))
    assert diagonal.shape == (3, 2)
    for i, j in product(range(3), range(2)):
        assert diagonal.element_offset((i, j)) == layout.element_offset((i, j, i))
    # At the place of the axis named first, also where another lies before it.
    assert Layout.contiguous((3, 2, 3)).merge_diagonal((2, 0)).shape == (2, 3)
    assert Layout.contiguous((3, 3, 3)).merge_diagonal((0, 1, 2)) == Layout((3,), (13,))
    assert Layout.contiguous((3, 4)).merge_diagonal((0, 1)) is None


def test_merged_diagonals_are_numpys_einsum_with_a_repeated_subscript():
    for layout, view, _ in small_range():
        if layout.ndim < 2 or layout.len == 0:
            continue
        for axes in permutations(range(layout.ndim), 2):
            merged = layout.merge_diagonal(axes)
            if layout.shape[axes[0]] != layout.shape[axes[1]]:
                assert merged is None
                continue
            letters = ["a", "b", "c"][: layout.ndim]
            letters[axes[1]] = letters[axes[0]]
            kept = [letter for axis, letter in enumerate(letters) if axis != axes[1]]
            expected = np.einsum(f"{''.join(letters)}->{''.join(kept)}", view)
            assert merged.shape == expected.shape
            assert positions(merged) == values(expected)


def test_expanded_reads_the_operand_at_the_named_axes_of_the_space():
    # Seed 003: "Expanded: E read as a tensor of the space Space: element s... is operand[s[Axes[a]]...]"
    for shape in product(range(1, 4), repeat=2):
        operand = Layout((shape[0], shape[1]), (7, -2), 5)
        for space in product(range(4), repeat=3):
            for axes in product(range(3), repeat=2):
                expanded = operand.expanded(space, axes)
                if any(extent < space[axis] for extent, axis in zip(shape, axes)):
                    assert expanded is None
                    continue
                assert expanded.shape == space
                for index in product(*map(range, space)):
                    assert expanded.element_offset(index) == operand.element_offset([index[axis] for axis in axes])


def test_two_operands_dense_in_the_same_order_are_walked_by_one_flat_index():
    # Seed 003: "dense_in: whether element k of E, counting its indices in order O, is at offset k of every leaf"
    for shape in [(2, 3, 4), (3, 1, 2), (4, 4)]:
        for order in permutations(range(len(shape))):
            first = Layout.in_order(shape, order)
            second = Layout.contiguous(tuple(shape[axis] for axis in order)).permute(
                sorted(range(len(order)), key=order.__getitem__)
            )
            assert first.dim_order is not None
            assert [a for a in first.dim_order if shape[a] > 1] == [a for a in second.dim_order if shape[a] > 1]
            for operand in (first, second):
                assert positions(operand.permute(order)) == list(range(operand.len))
    # Dense, but in another order: the flat index does not fit both.
    first, second = Layout.contiguous((2, 3)), Layout.in_order((2, 3), (1, 0))
    assert first.dim_order != second.dim_order
    assert positions(first) != positions(second)


def test_the_preferred_order_of_a_view_walks_its_memory_as_it_is_laid_out():
    # Seed 003: "preferred_order<TensorView>: A view is walked as its memory is laid out."
    for layout in small_layouts():
        walk = layout.permute(walk_order(layout.shape, layout.stride))
        forwards = positions(walk.flip([axis for axis, step in enumerate(walk.stride) if step < 0]))
        if layout.nested_dim_order is not None:
            assert forwards == sorted(forwards), layout


# -- the small range, exhaustively ---------------------------------------------------------------------


def test_every_view_has_numpys_shape_strides_and_elements():
    for layout, view, _ in small_range():
        assert layout.shape == view.shape
        assert positions(layout) == values(view), layout
        if layout.len:
            base = view if view.base is None else view.base
            while base.base is not None:
                base = base.base
            told = layout_of(view, base)
            assert layout.offset == told.offset, layout
            long_axes = [axis for axis, extent in enumerate(layout.shape) if extent > 1]
            assert [layout.stride[a] for a in long_axes] == [told.stride[a] for a in long_axes], layout


def test_numpy_finds_every_view_inside_its_buffer_also_where_the_buffer_is_empty():
    bases = {size: np.arange(size) for size in range(64)}
    for layout, view, size in small_range():
        assert numpy_view(layout, bases[size]).tolist() == view.tolist(), layout
        assert layout.fits(size), layout


def test_the_walk_by_adj_stride_reaches_the_same_elements_with_one_addition_a_step():
    for layout in small_layouts():
        assert walked(layout) == positions(layout), layout


def test_the_last_adj_stride_is_the_last_stride_and_the_others_follow_the_formula():
    # Seed 000: adj_stride[d] = stride[d] − sum(stride[k] * (shape[k]−1) for k = d+1..last)
    for layout in small_layouts():
        for d in range(layout.ndim):
            walk = sum(layout.stride[k] * (layout.shape[k] - 1) for k in range(d + 1, layout.ndim))
            assert layout.adj_stride[d] == layout.stride[d] - walk


def test_bounds_are_the_lowest_and_the_highest_position():
    for layout, _, size in small_range():
        cells = positions(layout)
        assert layout.bounds() == ((min(cells), max(cells)) if cells else None), layout
        assert not cells or layout.fits(max(cells) + 1)
        assert not cells or not layout.fits(max(cells))
        assert layout.fits(size)


def test_a_layout_from_outside_fits_only_if_it_is_well_formed_and_every_element_is_inside():
    assert Layout((2, 3), (3, 1)).fits(6)
    assert not Layout((2, 3), (3, 1)).fits(5)
    assert not Layout((2, 3), (3, -1), 1).fits(6)
    assert not Layout((2, 3), (3,)).fits(6)
    assert not Layout((-1, 3), (3, 1)).fits(6)
    assert not Layout((), (), 6).fits(6)
    assert Layout((), (), 5).fits(6)
    assert Layout((0, 3), (100, 100), 6).fits(6)
    assert not Layout((0, 3), (1, 1), 7).fits(6)
    assert not Layout((0, 3), (1, 1), -1).fits(6)


def test_contiguity_is_numpys():
    for layout, view, _ in small_range():
        assert layout.is_contiguous == view.flags.c_contiguous, layout
        assert layout.transpose().is_contiguous == view.flags.f_contiguous, layout


def test_broadcast_means_that_some_longer_axis_stands_still():
    for layout in small_layouts():
        expected = any(n > 1 and s == 0 for n, s in zip(layout.shape, layout.stride))
        assert layout.is_broadcast == expected
        assert not (layout.is_broadcast and layout.len and not layout.overlaps_itself), layout


def test_is_transposed_has_candelas_meaning():
    for layout in small_layouts():
        expected = any(a < 0 and s != 0 for a, s in zip(layout.adj_stride, layout.stride))
        assert layout.is_transposed == expected


def test_a_layout_overlaps_itself_exactly_where_two_indices_share_an_element():
    for layout in small_layouts():
        cells = positions(layout)
        assert layout.overlaps_itself == (len(set(cells)) < len(cells)), layout
    # Strides that no view operation makes: up to three axes, all residues against each other.
    for shape in product((1, 2, 3, 4), repeat=3):
        for stride in combinations_with_replacement((0, 1, 2, 3, 5, 6, -4), 3):
            layout = Layout(shape, stride)
            cells = positions(layout)
            assert layout.overlaps_itself == (len(set(cells)) < len(cells)), layout


def test_overlap_is_decided_quickly_where_more_indices_than_cells_meet():
    # 4.8e8 indices, strides of one magnitude: the search for a pair would visit millions of branches.
    crowded = Layout((50, 50, 10, 10, 2, 50, 50, 50), (66767, 63711, 85037, 77631, 25841, 92643, 36531, 11111))
    start = time.perf_counter()
    assert crowded.overlaps_itself
    assert time.perf_counter() - start < 0.5


def test_layouts_that_share_an_element_are_never_told_apart():
    rng = np.random.default_rng(20251201)
    told_apart = 0
    pool = small_layouts()
    for _ in range(20_000):
        first, second = (pool[k] for k in rng.integers(len(pool), size=2))
        second = second._replace(offset=second.offset + int(rng.integers(0, 6)))
        share = bool(set(positions(first)) & set(positions(second)))
        answer = first.may_overlap(second)
        assert answer == second.may_overlap(first)
        assert answer or not share, (first, second)
        told_apart += not answer
    assert told_apart > 1000


def test_interleaved_views_are_told_apart_by_the_divisor_of_their_strides():
    layout = Layout.contiguous((3, 4))
    real, imag = layout.component(0, 2), layout.component(1, 2)
    assert not real.may_overlap(imag)
    assert real.may_overlap(real)
    even, odd = Layout((5,), (2,)), Layout((5,), (2,), 1)
    assert not even.may_overlap(odd)
    assert even.may_overlap(Layout((5,), (3,), 1))
    # An axis of length 1 has no say: its stride addresses nothing.
    assert not Layout((5, 1), (2, 1)).may_overlap(Layout((5,), (2,), 1))
    # Single elements: all strides are out of play.
    assert Layout((1, 1), (7, 7), 3).may_overlap(Layout((), (), 3))
    assert not Layout((2,), (0,), 3).may_overlap(Layout((), (), 4))
    assert not Layout((0,), (1,)).may_overlap(layout)


def is_blas_matrix(layout):
    """The definition: one core stride is 1, the other at least the length of that axis; length 1 puts no condition."""
    (m, n), (row, column) = layout.shape[-2:], layout.stride[-2:]
    if m == 0 or n == 0:
        return True
    for (length, unit), (others, leading) in (((n, column), (m, row)), ((m, row), (n, column))):
        if (length == 1 or unit == 1) and (others == 1 or leading >= length):
            return True
    return False


def test_a_core_is_packed_exactly_where_blas_can_read_it():
    for layout in small_layouts():
        if layout.ndim >= 2:
            assert layout.core_is_packed() == is_blas_matrix(layout), layout
            assert layout.core_is_packed(-1, -2) == layout.core_is_packed(), layout
    for shape in product(range(5), repeat=2):
        for stride in product(range(-5, 6), repeat=2):
            assert Layout(shape, stride).core_is_packed() == is_blas_matrix(Layout(shape, stride))


def test_a_packed_core_never_overlaps():
    for shape in product(range(5), repeat=2):
        for stride in product(range(-5, 6), repeat=2):
            layout = Layout(shape, stride)
            assert not (layout.core_is_packed() and layout.overlaps_itself), layout


def test_the_core_axes_may_be_any_two():
    layout = Layout((4, 9, 3), (3, 100, 1))
    assert layout.core_is_packed(0, 2)
    assert not layout.core_is_packed(1, 0)


# -- single operations against NumPy -------------------------------------------------------------------


def factorisations(size, ndim_max=4):
    """All shapes of ``size`` elements with up to ``ndim_max`` axes, lengths of 1 included."""
    if size == 0:
        return [(0,), (2, 0), (0, 3), (1, 0, 2)]
    found = [()] if size == 1 else []
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    for ndim in range(1, ndim_max + 1):
        for head in product(divisors, repeat=ndim - 1):
            rest, left = divmod(size, int(np.prod(head, dtype=int)))
            if not left:
                found.append((*head, rest))
    return found


def numpy_reshape(view, shape):
    """NumPy's view under another shape, or None where NumPy needs a copy."""
    try:
        return np.reshape(view, shape, copy=False)
    except ValueError:
        return None


def test_reshape_is_a_view_exactly_where_numpy_needs_no_copy():
    none, some = 0, 0
    targets = {size: factorisations(size, 3) for size in range(82)}
    for layout, view, size in small_range():
        if view.size > 18 or layout.ndim < 1:
            continue
        for shape in targets[view.size]:
            result, expected = layout.reshape(shape), numpy_reshape(view, shape)
            assert (result is None) == (expected is None), (layout, shape)
            if result is None:
                none += 1
                continue
            some += 1
            assert result.shape == shape
            assert positions(result) == values(expected), (layout, shape)
            assert result.fits(size)
    assert none > 1000
    assert some > 1000


def test_where_reshape_is_none_no_stride_at_all_gives_the_elements():
    # The oracle needs no NumPy: the positions at the unit indices fix every stride, so one try decides.
    for layout in small_layouts()[::3]:
        cells = positions(layout)
        for shape in factorisations(layout.len, 3):
            if layout.len == 0 or layout.len > 24:
                continue
            contiguous = row_major_stride(shape)
            only = tuple(cells[step] - cells[0] if n > 1 else 0 for n, step in zip(shape, contiguous))
            exists = positions(Layout(shape, only, cells[0])) == cells
            assert (layout.reshape(shape) is not None) == exists, (layout, shape)


def test_flattened_is_the_reshape_to_one_axis():
    for layout in small_layouts():
        flat = layout.flattened()
        assert flat == layout.reshape((layout.len,))
        if flat is not None:
            assert positions(flat) == positions(layout)
        else:
            assert not layout.is_contiguous


def test_a_reshaped_contiguous_layout_is_contiguous():
    for shape in SMALL_SHAPES:
        for target in factorisations(Layout.contiguous(shape).len, 3):
            assert Layout.contiguous(shape).reshape(target).is_contiguous


def test_broadcasting_gives_a_view_exactly_where_numpy_does():
    for have, want in product(SMALL_SHAPES, repeat=2):
        base = np.arange(Layout.contiguous(have).len).reshape(have)
        try:
            expected = np.broadcast_to(base, want)
        except ValueError:
            expected = None
        result = Layout.contiguous(have).broadcast_to(want)
        assert (result is None) == (expected is None), (have, want)
        if result is not None:
            assert result.shape == want
            assert positions(result) == values(expected)


def test_shapes_broadcast_together_exactly_where_numpys_do():
    for pair in product(SMALL_SHAPES, repeat=2):
        try:
            expected = np.broadcast_shapes(*pair)
        except ValueError:
            expected = None
        assert broadcast_shapes(pair) == expected, pair
    assert broadcast_shapes([]) == np.broadcast_shapes()
    assert broadcast_shapes([(5, 1)]) == (5, 1)


@given(st.lists(shapes(ndim_max=4, extent_max=3), max_size=5))
def test_any_number_of_shapes_broadcasts_as_numpys(many):
    try:
        expected = np.broadcast_shapes(*many)
    except ValueError:
        expected = None
    assert broadcast_shapes(many) == expected


def test_windows_are_numpys_sliding_window_view():
    for shape in SMALL_SHAPES:
        base = np.arange(Layout.contiguous(shape).len).reshape(shape)
        for axis, extent in enumerate(shape):
            for size, step in product(range(1, 5), range(1, 4)):
                result = Layout.contiguous(shape).windows(axis, size, step)
                if size > extent:
                    assert result is None
                    continue
                expected = np.lib.stride_tricks.sliding_window_view(base, size, axis)
                expected = expected[(slice(None),) * axis + (slice(None, None, step),)]
                assert result.shape == expected.shape
                assert positions(result) == values(expected)


def test_diagonals_are_numpys_for_every_offset():
    for layout, view, size in small_range()[::5]:
        if layout.ndim < 2:
            continue
        for offset in range(-4, 5):
            diagonal = layout.diagonal(offset)
            expected = np.diagonal(view, offset, -2, -1)
            assert diagonal.shape == expected.shape, (layout, offset)
            assert positions(diagonal) == values(expected), (layout, offset)
            assert diagonal.fits(size)
        assert layout.diagonal() == layout.diagonal(0)


def test_axes_move_as_numpys_moveaxis_moves_them():
    layout, base = Layout.contiguous((1, 2, 3, 4)), np.arange(24).reshape(1, 2, 3, 4)
    for count in range(5):
        for source, destination in product(permutations(range(4), count), repeat=2):
            moved, expected = layout.move(source, destination), np.moveaxis(base, source, destination)
            assert moved.shape == expected.shape
            assert positions(moved) == values(expected)


def test_axes_are_inserted_at_places_of_the_result_and_squeezed_away_again():
    for shape in SMALL_SHAPES:
        layout, base = Layout.contiguous(shape), np.empty(shape)
        for count in range(3):
            for axes in permutations(range(len(shape) + count), count):
                expanded = layout.expand(axes)
                assert expanded.shape == np.expand_dims(base, axes).shape
                assert expanded.is_contiguous
                assert positions(expanded) == positions(layout)
                assert expanded.squeeze(axes) == layout


def test_an_inserted_axis_of_a_dense_layout_still_has_adj_stride_one():
    for shape in SMALL_SHAPES:
        if 0 not in shape:
            for axis in range(len(shape) + 1):
                expanded = Layout.contiguous(shape).expand((axis,))
                assert expanded == Layout.contiguous(expanded.shape)


def test_squeeze_drops_axes_of_length_one_only():
    layout = Layout((1, 3, 1), (9, 2, 5), 4)
    assert layout.squeeze((0, 2)) == Layout((3,), (2,), 4)
    assert layout.squeeze((2,)) == Layout((1, 3), (9, 2), 4)
    assert layout.squeeze(()) == layout
    assert layout.squeeze((0, 1)) is None
    assert Layout((0,), (1,)).squeeze((0,)) is None


def test_matrix_transpose_swaps_the_last_two_axes():
    for layout, view, _ in small_range()[::3]:
        if layout.ndim >= 2:
            swapped, expected = layout.matrix_transpose(), np.matrix_transpose(view)
            assert swapped.shape == expected.shape
            assert positions(swapped) == values(expected)


def test_components_are_the_real_and_the_imaginary_parts():
    for name in ALL_LAYOUTS:
        view = example(name, np.complex128)
        owner = view
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        layout = layout_of(view, owner)
        if 0 in view.shape:
            # Nothing to point at, so both components stay where the buffer is.
            assert layout.component(1, 2).offset == layout.offset * 2
            continue
        for index, part in enumerate((view.real, view.imag)):
            component = layout.component(index, 2)
            assert component == layout_of(part, owner.real)


def test_a_dense_layout_in_an_order_is_numpys_array_in_that_order():
    for shape in SMALL_SHAPES:
        for order in permutations(range(len(shape))):
            expected = np.empty([shape[axis] for axis in order], np.int8)
            expected = expected.transpose(sorted(range(len(order)), key=order.__getitem__))
            layout = Layout.in_order(shape, order, 3)
            assert layout.shape == expected.shape
            assert layout.offset == 3
            if 0 not in shape:
                assert layout.stride == expected.strides


def test_a_slice_of_at_most_one_element_takes_no_stride_from_its_step():
    # NumPy's strides are 64-bit numbers; Python's slices take a step of any size.
    for step in (2**62, -(2**62), 10**30, -(10**30)):
        for shape in [(0,), (1,), (5,)]:
            start = slice(None, None, step).indices(shape[0])[0]
            cut = Layout.contiguous(shape).slice(0, start, step, min(shape[0], 1))
            assert numpy_view(cut, np.arange(shape[0])).tolist() == np.arange(shape[0])[::step].tolist()


def test_a_view_without_elements_keeps_the_offset_so_that_it_stays_in_an_empty_buffer():
    empty = Layout.contiguous((3, 0, 3))
    assert empty.select(0, 2).offset == 0
    assert empty.slice(0, 1, 1, 2).offset == 0
    assert empty.slice(1, 0, -1, 0).offset == 0
    assert empty.flip((0, 1, 2)).offset == 0
    assert empty.block((2, 0, 2), (1, 0, 1)).offset == 0
    assert empty.component(1, 2).offset == 0
    assert Layout.contiguous((0, 3, 3)).diagonal(1).offset == 0
    assert Layout.contiguous((3, 3)).diagonal(3) == Layout((0,), (4,))
    # With elements on the other axes, a cut to none keeps the offset too.
    assert Layout.contiguous((3, 4), 7).slice(1, 4, 1, 0).offset == 7


# -- values of a layout --------------------------------------------------------------------------------


def test_layouts_are_values_equal_hashable_immutable_copied_and_pickled():
    layout = Layout((3, 4), (4, 1), 2)
    assert layout == Layout((3, 4), (4, 1), 2)
    assert layout != Layout((3, 4), (4, 1), 0)
    assert hash(layout) == hash(Layout((3, 4), (4, 1), 2))
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.deepcopy(layout) == layout
    with pytest.raises(AttributeError):
        layout.offset = 0
    with pytest.raises(AttributeError):
        layout.adj_stride = (1, 1)


def test_no_operation_changes_the_layout_it_is_asked_of():
    for layout in small_layouts()[::50]:
        before = (layout.shape, layout.stride, layout.offset)
        for step in steps_from(layout.shape):
            result = step.on_layout(layout)
            assert isinstance(result.shape, tuple)
            assert isinstance(result.stride, tuple)
            assert len(result.shape) == len(result.stride)
            assert min(result.shape, default=0) >= 0
        assert (layout.shape, layout.stride, layout.offset) == before


def test_row_major_strides_are_numpys():
    for shape in SMALL_SHAPES:
        if 0 not in shape:
            assert row_major_stride(shape) == np.empty(shape, np.int8).strides
    assert row_major_stride((3, 0, 4)) == (4, 4, 1)


# -- larger ranges and random sequences ----------------------------------------------------------------


@given(views())
def test_any_sequence_of_view_operations_gives_numpys_elements(case):
    assert case.layout.shape == case.view.shape
    assert positions(case.layout) == values(case.view)
    assert walked(case.layout) == positions(case.layout)
    assert case.layout.fits(case.base.size)
    assert numpy_view(case.layout, case.base).tolist() == case.view.tolist()
    assert case.layout.is_contiguous == case.view.flags.c_contiguous


@given(views(), st.data())
def test_any_view_reshapes_exactly_where_numpys_does(case, data):
    if case.layout.len > 500:
        return
    shape = data.draw(st.sampled_from(factorisations(case.layout.len, 3)))
    if not case.layout.len and 0 not in shape:
        return
    result, expected = case.layout.reshape(shape), numpy_reshape(case.view, shape)
    assert (result is None) == (expected is None)
    if result is not None:
        assert result.shape == shape
        assert positions(result) == values(expected)


@given(layouts())
def test_any_strides_overlap_exactly_where_two_indices_share_an_element(layout):
    cells = positions(layout)
    assert layout.overlaps_itself == (len(set(cells)) < len(cells))
    assert walked(layout) == cells
    assert layout.bounds() == ((min(cells), max(cells)) if cells else None)


@given(layouts(ndim_max=3), layouts(ndim_max=3))
def test_any_two_layouts_that_share_an_element_may_overlap(first, second):
    if set(positions(first)) & set(positions(second)):
        assert first.may_overlap(second)
        assert second.may_overlap(first)


class ViewsOfOneBuffer(RuleBasedStateMachine):
    """A layout and a NumPy view go through the same operations and always address the same elements."""

    @initialize(shape=shapes(ndim_max=4, extent_max=4))
    def allocate(self, shape):
        self.layout = Layout.contiguous(shape)
        self.base = np.arange(self.layout.len)
        self.view = self.base.reshape(shape)

    def apply(self, step):
        self.layout, self.view = step.on_layout(self.layout), step.on_numpy(self.view)

    @rule(data=st.data())
    def permute(self, data):
        self.apply(permute_step(tuple(data.draw(st.permutations(range(self.layout.ndim))))))

    @rule()
    def transpose(self):
        self.apply(transpose_step())

    @precondition(lambda self: self.layout.ndim > 0)
    @rule(data=st.data())
    def cut(self, data):
        axis = data.draw(st.integers(0, self.layout.ndim - 1))
        extent = self.layout.shape[axis]
        self.apply(slice_step(axis, data.draw(st.slices(extent)), extent))

    @precondition(lambda self: any(self.layout.shape))
    @rule(data=st.data())
    def select(self, data):
        axis = data.draw(st.sampled_from([a for a, n in enumerate(self.layout.shape) if n]))
        self.apply(select_step(axis, data.draw(st.integers(0, self.layout.shape[axis] - 1))))

    @precondition(lambda self: self.layout.ndim > 0)
    @rule(data=st.data())
    def flip(self, data):
        self.apply(flip_step(tuple(data.draw(st.sets(st.integers(0, self.layout.ndim - 1))))))

    @precondition(lambda self: self.layout.ndim < 6)
    @rule(data=st.data())
    def expand(self, data):
        self.apply(expand_step(data.draw(st.integers(0, self.layout.ndim))))

    @precondition(lambda self: self.layout.ndim < 6 and self.layout.len < 500)
    @rule(data=st.data())
    def broadcast(self, data):
        stretched = tuple(data.draw(st.integers(0, 3)) if n == 1 else n for n in self.layout.shape)
        self.apply(broadcast_step((*data.draw(shapes(ndim_max=1, extent_max=3)), *stretched)))

    @precondition(lambda self: self.layout.ndim >= 2)
    @rule(offset=st.integers(-4, 4))
    def diagonal(self, offset):
        self.apply(diagonal_step(offset))

    @precondition(lambda self: any(self.layout.shape) and self.layout.ndim < 6 and self.layout.len < 500)
    @rule(data=st.data())
    def windows(self, data):
        axis = data.draw(st.sampled_from([a for a, n in enumerate(self.layout.shape) if n]))
        size = data.draw(st.integers(1, self.layout.shape[axis]))
        self.apply(windows_step(axis, size, data.draw(st.integers(1, 3))))

    @precondition(lambda self: 0 < self.layout.len < 500)
    @rule(data=st.data())
    def reshape(self, data):
        shape = data.draw(st.sampled_from(factorisations(self.layout.len, 3)))
        result, expected = self.layout.reshape(shape), numpy_reshape(self.view, shape)
        assert (result is None) == (expected is None)
        if result is not None:
            self.layout, self.view = result, expected

    @invariant()
    def same_elements(self):
        if hasattr(self, "layout"):
            assert self.layout.shape == self.view.shape
            assert walked(self.layout) == values(self.view)
            assert self.layout.fits(self.base.size)
            assert numpy_view(self.layout, self.base).shape == self.view.shape
            assert self.layout.is_contiguous == self.view.flags.c_contiguous


TestViewsOfOneBuffer = ViewsOfOneBuffer.TestCase
