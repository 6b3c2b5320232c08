"""Searching functions: first of ties, NaN, exact comparison of integers, every layout and axis."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    FLOAT,
    INF,
    INTEGER,
    NAN,
    NARROW,
    REAL,
    REAL_FLOAT,
    STANDARD,
    WITH_NAN,
    arranged,
    examples,
    identical,
    ours,
    plain,
    special,
    tame,
    twin,
)  # fmt: skip

import candela_xp as xp
from candela_xp import settings as candela_settings

ORDERED = ["bool", *REAL, *NARROW]


def widened(view: np.ndarray) -> np.ndarray:
    if view.dtype.name == "complex32":
        return view.astype(np.complex64)
    # By size: NumPy calls float8_e5m2 a float ('f'), the others void ('V').
    return view.astype(np.float32) if view.dtype.kind in "fV" and view.itemsize < 4 else view


# -- argmax, argmin ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ORDERED)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_extreme_wins_in_every_layout_along_every_axis(name: str, dtype: str) -> None:
    ties = np.concatenate([tame(dtype), special(dtype)]).reshape(2, 3, 4)
    for layout, view in [*arranged(ties), *examples(dtype)]:
        x = ours(view)
        for axis in (None, *range(-view.ndim, view.ndim)):
            extent = view.size if axis is None else view.shape[axis]
            if extent == 0:
                with pytest.raises(ValueError, match=rf"^{name}: no elements to choose from"):
                    getattr(xp, name)(x, axis=axis)
                continue
            for keepdims in (False, True):
                got = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
                want = getattr(np, name)(widened(view), axis=axis, keepdims=keepdims)
                assert identical(plain(got), np.asarray(want, np.int64)), layout


def test_nan_is_the_extreme_and_the_first_one_wins() -> None:
    for dtype in (*REAL_FLOAT, *WITH_NAN):
        x = xp.asarray([1.0, NAN, 3.0, NAN, -1.0], dtype=getattr(xp, dtype))
        assert int(xp.argmax(x)) == int(xp.argmin(x)) == 1


# -- nonzero, count_nonzero, where ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_nonzero_lists_the_places_in_row_major_order_of_every_layout(dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        if view.ndim == 0:
            with pytest.raises(ValueError, match=r"^nonzero: a 0-d array"):
                xp.nonzero(ours(view))
            continue
        got = xp.nonzero(ours(view))
        assert type(got) is tuple
        want = (widened(view) != 0).nonzero()
        assert [identical(plain(a), b) for a, b in zip(got, want)] == [True] * view.ndim, layout


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_count_nonzero_counts_over_axes_tuples_of_them_and_none(dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        axes: list[Any] = [
            None,
            (),
            *range(-view.ndim, view.ndim),
            tuple(range(view.ndim)),
            tuple(range(-view.ndim, 0)),
        ]
        for axis in axes:
            for keepdims in (False, True):
                got = xp.count_nonzero(ours(view), axis=axis, keepdims=keepdims)
                want = np.sum(widened(view) != 0, axis=axis, keepdims=keepdims, dtype=np.int64)
                assert identical(plain(got), np.asarray(want)), (layout, axis)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_where_chooses_in_every_layout_and_broadcasts_all_three(dtype: str) -> None:
    first, second = special(dtype).reshape(3, 4), special(dtype)[::-1].reshape(3, 4)
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    for layout, view in arranged(first):
        for _, condition in arranged(mask):
            got = xp.where(ours(condition), ours(view), ours(second))
            assert identical(plain(got), np.where(mask, first, second)), layout
    column, row = mask[:, :1], first[:1]
    got = xp.where(ours(column), ours(row), ours(second[1, 2, ...]))
    assert identical(plain(got), np.where(column, row, second[1, 2, ...]))
    scalar = True if dtype == "bool" else 1
    assert identical(plain(xp.where(ours(mask), ours(first), scalar)), np.where(mask, first, first.dtype.type(scalar)))
    assert identical(plain(xp.where(ours(mask), scalar, ours(first))), np.where(mask, first.dtype.type(scalar), first))


@pytest.mark.parametrize("first", STANDARD)
@pytest.mark.parametrize("second", STANDARD)
def test_where_promotes_its_two_values(first: str, second: str) -> None:
    mask = np.arange(12) % 2 == 0
    got = xp.where(ours(mask), ours(tame(first)), ours(tame(second)))
    assert identical(plain(got), np.where(mask, tame(first), tame(second)))


def test_where_takes_scalars_and_numbers_as_conditions_in_default_mode() -> None:
    mask = xp.asarray([True, False])
    assert identical(plain(xp.where(mask, 1, 2.5)), np.array([1.0, 2.5]))
    assert identical(plain(xp.where(mask, True, False)), np.array([True, False]))
    assert identical(plain(xp.where(mask, np.int8(1), 1j)), np.array([1, 1j]))
    for dtype in (*INTEGER, *FLOAT, *NARROW):
        numbers = special(dtype)
        got = xp.where(ours(numbers), xp.ones(12, dtype=xp.int8), xp.zeros(12, dtype=xp.int8))
        assert plain(got).tolist() == (widened(numbers) != 0).astype(int).tolist()
    with pytest.raises(ValueError, match=r"^where: shapes .*\(2,\).*\(3,\)"):
        xp.where(mask, xp.ones(3), 0.0)
    with pytest.raises(OverflowError, match=r"^where: 300 does not fit int8"):
        xp.where(mask, xp.ones(2, dtype=xp.int8), 300)
    for wrong in ("a", None, [1], np.ones(2)):
        with pytest.raises(TypeError, match=r"^where: "):
            xp.where(mask, xp.ones(2), wrong)
        with pytest.raises(TypeError, match=r"^where: condition is a"):
            xp.where(wrong, xp.ones(2), xp.ones(2))


# -- searchsorted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ORDERED)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_bisection_in_every_layout(side: str, dtype: str) -> None:
    values = np.sort(widened(special(dtype))).astype(twin(dtype))
    wanted = special(dtype).reshape(3, 4)
    want = np.searchsorted(widened(values), widened(wanted), side)
    for layout, view in arranged(values):
        for other_layout, other in arranged(wanted):
            got = xp.searchsorted(ours(view), ours(other), side=side)
            assert identical(plain(got), want), (layout, other_layout)
    order = np.arange(12)[::-1].copy()
    got = xp.searchsorted(ours(values[::-1].copy()), ours(wanted), side=side, sorter=ours(order))
    assert identical(plain(got), want)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 2**64 - 1)), st.sampled_from(["left", "right"]),
)  # fmt: skip
def test_searchsorted_of_int64_and_uint64_is_exact(signed: list[int], unsigned: list[int], side: str) -> None:
    signed, unsigned = sorted([*signed, -1, 2**53 + 1, 2**63 - 1]), sorted([*unsigned, 0, 2**53, 2**63, 2**64 - 1])
    bisect = bisect_left if side == "left" else bisect_right
    a, b = xp.asarray(signed), xp.asarray(unsigned, dtype=xp.uint64)
    assert plain(xp.searchsorted(a, b, side=side)).tolist() == [bisect(signed, value) for value in unsigned]
    assert plain(xp.searchsorted(b, a, side=side)).tolist() == [bisect(unsigned, value) for value in signed]
    order = np.arange(len(signed))[::-1]
    got = xp.searchsorted(xp.flip(a), b, side=side, sorter=ours(order))
    assert plain(got).tolist() == [bisect(signed, value) for value in unsigned]


@pytest.mark.parametrize("dtype", INTEGER)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_a_python_number_inside_and_outside_the_dtype(dtype: str, side: str) -> None:
    values = sorted(int(value) for value in special(dtype))
    bisect = bisect_left if side == "left" else bisect_right
    x = xp.asarray(values, dtype=getattr(xp, dtype))
    for number in (-(2**70), -1, 0, 5, 127, 128, 2**63, 2**64, 10**400, 1.5, -0.5, INF):
        if isinstance(number, float) and dtype in ("int64", "uint64"):
            continue  # a float that no integer array compares with exactly
        got = xp.searchsorted(x, number, side=side)
        assert (got.shape, got.dtype, int(got)) == ((), xp.int64, bisect(values, number)), number


def test_searchsorted_puts_nan_last() -> None:
    x = xp.asarray([1.0, 2.0, NAN])
    assert int(xp.searchsorted(x, NAN)) == 2
    assert int(xp.searchsorted(x, NAN, side="right")) == 3
    assert int(xp.searchsorted(x, xp.asarray(INF))) == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.searchsorted(xp.ones((2, 2)), x), ValueError, "searchsorted: x1 has 2 axes"),
        (lambda x: xp.searchsorted(x, x, side="middle"), ValueError, "searchsorted: side must be one of 'left'"),
        (lambda x: xp.searchsorted(x, "a"), TypeError, "searchsorted: x2 is a builtins.str, not an NDArray"),
        (lambda x: xp.searchsorted(x, np.ones(1)), TypeError, "searchsorted: x2 is a numpy.ndarray, not an NDArray"),
        (lambda x: xp.searchsorted(x, 1j), TypeError, "searchsorted: x2 must be an array or a real number"),
        (lambda x: xp.searchsorted(x, xp.asarray([1j])), TypeError, "searchsorted: complex numbers have no order"),
        (lambda x: xp.searchsorted(1.0, x), TypeError, "searchsorted: x is a builtins.float"),
        (lambda x: xp.searchsorted(x, x, sorter=xp.asarray([0])), ValueError, r"searchsorted: sorter has shape \(1,\)"),
        (lambda x: xp.searchsorted(x, x, sorter=xp.asarray([0, 3])), IndexError, "searchsorted: sorter must hold 0..1"),
        (lambda x: xp.searchsorted(x, x, sorter=xp.asarray([0, -1])), IndexError, "searchsorted: sorter must hold"),
        (lambda x: xp.searchsorted(x, x, sorter=xp.asarray([0.0, 1.0])), TypeError, "searchsorted: not defined for"),
        (lambda x: xp.searchsorted(x, x, sorter=[0, 1]), TypeError, "searchsorted: sorter is a builtins.list"),
        (lambda x: xp.argmax(x, axis=1), IndexError, "argmax: axis 1"),
        (lambda x: xp.argmax(x, axis=(0,)), TypeError, "argmax: axis must be an integer"),
        (lambda x: xp.argmin(x, axis=0.5), TypeError, "argmin: axis must be an integer"),
        (lambda x: xp.count_nonzero(x, axis=1), IndexError, "count_nonzero: axis 1"),
        (lambda x: xp.count_nonzero(xp.ones((2, 2)), axis=(0, -2)), ValueError, "count_nonzero: axis .* twice"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}"):
        call(xp.ones(2))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_have_no_order(name: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: complex numbers have no order"):
        getattr(xp, name)(xp.ones(2, dtype=getattr(xp, dtype)))


def test_results_are_on_the_device_of_the_input_and_devices_do_not_mix() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x, here = xp.ones(3, device=there), xp.ones(3)
        results = [xp.argmax(x), xp.argmin(x), xp.count_nonzero(x), *xp.nonzero(x), xp.where(x > 0, x, 0.0),
                   xp.where(x > 0, 1, 2), xp.searchsorted(x, x), xp.searchsorted(x, 1.0)]  # fmt: skip
        assert {result.device for result in results} == {there}
        for call in (
            lambda: xp.where(x > 0, here, x), lambda: xp.where(here > 0, x, x), lambda: xp.searchsorted(x, here),
            lambda: xp.searchsorted(x, x, sorter=xp.asarray([0, 1, 2])),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=r"use to_device on one of them"):
                call()


@pytest.mark.parametrize("block", [1, 7, 64, 10**5])
@pytest.mark.parametrize("shape", [(1000,), (30, 40), (40, 1), (1, 40), (7, 8, 9)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_an_extreme_of_what_waits_is_the_first(name: str, shape: tuple[int, ...], block: int) -> None:
    random = np.random.default_rng(0)
    whole = random.integers(0, 50, shape).astype(np.float64)
    holes = np.where(random.random(shape) < 0.02, np.nan, whole)
    for values in (whole, holes, np.asfortranarray(holes)):
        x = xp.permute_dims(xp.asarray(values.T, copy=True), tuple(range(len(shape)))[::-1])
        if values.flags.c_contiguous:
            x = xp.asarray(values, copy=True)
        for axis in (None, *range(len(shape))):
            for keepdims in (False, True):
                with xp.settings(defer_min_bytes=0, block_elements=block):
                    got = getattr(xp, name)(x * 1.0, axis=axis, keepdims=keepdims)
                want = np.asarray(getattr(np, name)(values, axis=axis, keepdims=keepdims))
                assert np.array_equal(np.asarray(got), want)
                assert got.shape == want.shape
