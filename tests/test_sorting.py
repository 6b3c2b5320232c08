"""sort and argsort: stable both ways, NaN last (descending: first), no order lost to negation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    INF,
    INTEGER,
    NAN,
    NARROW,
    REAL,
    arranged,
    examples,
    identical,
    ours,
    plain,
    special,
    tame,
    twin,
)

import candela_xp as xp
from candela_xp import settings as candela_settings

ORDERED = ["bool", *REAL, *NARROW]


def order_of(values: list[float], descending: bool) -> list[int]:
    """Stable order by Python's sort: NaN greatest, -0 equal to 0."""

    def rank(place: int) -> tuple[int, float]:
        value = values[place]
        return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)

    return sorted(range(len(values)), key=rank, reverse=False) if not descending else _descending(values, rank)


def _descending(values: list[float], rank: object) -> list[int]:
    # reverse=True keeps equal elements in their order.
    return sorted(range(len(values)), key=rank, reverse=True)  # type: ignore[call-overload]


def numbers(view: np.ndarray) -> list[float]:
    if view.dtype.kind in "iub":
        return [int(value) for value in view]
    return [float(value) for value in view]


@pytest.mark.parametrize("dtype", ORDERED)
@pytest.mark.parametrize("descending", [False, True])
def test_argsort_is_stable_and_sort_follows_it_in_every_layout_along_every_axis(dtype: str, descending: bool) -> None:
    values = np.concatenate([special(dtype), tame(dtype)]).reshape(2, 3, 4)
    for axis in (-3, 0, 1, 2, -1):
        want = np.apply_along_axis(lambda line: np.array(order_of(numbers(line), descending)), axis, values)
        ordered = np.take_along_axis(values, want, axis)
        for layout, view in arranged(values):
            for stable in (True, False):
                got = xp.argsort(ours(view), axis=axis, descending=descending, stable=stable)
                by_index = xp.take_along_axis(ours(view), got, axis=axis)
                result = xp.sort(ours(view), axis=axis, descending=descending, stable=stable)
                assert got.dtype is xp.int64
                if stable:
                    assert identical(plain(got), want), layout
                    assert identical(plain(result), ordered), layout
                assert np.array_equal(_plain_floats(by_index), _plain_floats(result), equal_nan=True)
                assert np.array_equal(_plain_floats(result), _plain_floats(ours(ordered)), equal_nan=True)
            assert identical(np.array(view), values), "the operand has changed"


def _plain_floats(x: xp.NDArray) -> np.ndarray:
    view = plain(x)
    return view if view.dtype.kind in "iubf" and view.dtype.itemsize > 2 else view.astype(np.float64)


@pytest.mark.parametrize("dtype", ORDERED)
def test_every_layout_is_sorted_also_empty_and_broadcast_ones(dtype: str) -> None:
    for layout, view in examples(dtype):
        for name in ("sort", "argsort"):
            if view.ndim == 0:
                with pytest.raises(ValueError, match=rf"^{name}: a 0-d array has no axis"):
                    getattr(xp, name)(ours(view))
                continue
            wide = view.astype(np.float64)
            got = getattr(xp, name)(ours(view))
            want = getattr(np, name)(wide, axis=-1, kind="stable")
            assert np.array_equal(plain(got).astype(np.float64), want), layout
            assert not np.may_share_memory(plain(got), view)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=80), st.booleans())
def test_integers_sort_exactly_at_the_ends_of_the_range(values: list[int], descending: bool) -> None:
    values = [*values, -(2**63), 2**63 - 1, 0, -(2**63)]
    for dtype, shift in ((xp.int64, 0), (xp.uint64, 2**63)):
        moved = [value + shift for value in values]
        x = xp.asarray(moved, dtype=dtype)
        assert [int(v) for v in plain(xp.sort(x, descending=descending))] == sorted(moved, reverse=descending)
        assert plain(xp.argsort(x, descending=descending)).tolist() == order_of(moved, descending)  # type: ignore[arg-type]


@given(st.lists(st.floats(width=32), max_size=80), st.booleans(), st.sampled_from(["float32", "float64"]))
def test_floats_sort_with_nan_as_greatest_and_equal_zeros_in_their_order(
    values: list[float], descending: bool, dtype: str
) -> None:
    values = [*values, NAN, 0.0, -0.0, INF, -INF, 0.0, NAN]
    view = np.array(values, dtype)
    want = order_of(values, descending)
    assert plain(xp.argsort(ours(view), descending=descending)).tolist() == want
    assert identical(plain(xp.sort(ours(view), descending=descending)), view[want])


@pytest.mark.parametrize("dtype", ["int8", "float32", "uint64", "bool"])
def test_long_arrays_with_many_ties_stay_stable(dtype: str) -> None:
    # More than 16 elements and more than a radix or a run: short sorts are insertion sorts, stable by themselves.
    view = (np.arange(5000) * 7919 % 13).astype(twin(dtype))
    for descending in (False, True):
        want = order_of(numbers(view), descending)
        assert plain(xp.argsort(ours(view), descending=descending)).tolist() == want
        assert identical(plain(xp.sort(ours(view), descending=descending)), view[want])


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_what_has_no_order_or_axis_is_refused(name: str) -> None:
    function = getattr(xp, name)
    for dtype in COMPLEX:
        with pytest.raises(TypeError, match=rf"^{name}: complex numbers have no order; use real, imag or abs"):
            function(xp.ones(2, dtype=getattr(xp, dtype)))
    with pytest.raises(IndexError, match=rf"^{name}: axis 1 is out of range"):
        function(xp.ones(2), axis=1)
    for wrong in (None, (0,), 0.5):
        with pytest.raises(TypeError, match=rf"^{name}: axis must be an integer"):
            function(xp.ones(2), axis=wrong)
    with pytest.raises(TypeError, match=rf"^{name}: x is a builtins.list"):
        function([2, 1])
    with candela_settings(strict=True):
        for dtype in ALL_DTYPES:
            if dtype in REAL or dtype in NARROW or dtype in INTEGER:
                assert function(xp.ones(2, dtype=getattr(xp, dtype))).shape == (2,)
        with pytest.raises(TypeError, match=rf"^{name}: not defined for bool arrays; use astype"):
            function(xp.asarray([True]))


def test_results_are_on_the_device_of_the_input() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x = xp.ones(3, device=there)
        assert xp.sort(x).device is xp.argsort(x, descending=True).device is there


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_no_zero_loses_its_sign_and_both_keep_their_order(dtype: str, descending: bool, stable: bool) -> None:
    random = np.random.default_rng(3)
    for length in (2, 12, 64, 300, 5000):
        values = random.choice([0.0, -0.0, 1.0, -1.0], length)
        result = np.asarray(
            xp.sort(xp.asarray(values.tolist(), dtype=getattr(xp, dtype)), descending=descending, stable=stable)
        )
        zeros = result.astype(np.float64)[result == 0]
        assert np.array_equal(np.signbit(zeros), np.signbit(values[values == 0]))
