"""Set functions: NaN is a value of its own each time, zeros are one, integers stay exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import cast
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    INF,
    INTEGER,
    NAN,
    STANDARD,
    WITH_NAN,
    arranged,
    examples,
    identical,
    kind,
    ours,
    plain,
    special,
    tame,
    twin,
)  # fmt: skip

import candela_xp as xp
from candela_xp import settings as candela_settings


def wide(view: np.ndarray) -> list[Any]:
    """The flattened elements as Python numbers."""
    if view.dtype.name == "complex32":
        view = view.astype(np.complex64)
    if view.dtype.kind in "bc":
        return view.ravel().tolist()
    if view.dtype.kind in "iu":
        return [int(value) for value in view.ravel()]
    return [float(value) for value in view.ravel()]


def check(view: np.ndarray) -> None:
    """All four functions against each other and against the definition."""
    flat = wide(view)
    values, indices, inverse, counts = xp.unique_all(ours(view))
    found = wide(plain(values))
    assert values.dtype is ours(view).dtype
    assert indices.dtype is inverse.dtype is counts.dtype is xp.int64
    assert values.shape == indices.shape == counts.shape == (len(found),)
    assert inverse.shape == view.shape
    # Every element is its value; a NaN is the very occurrence that its value stands for.
    for place, number in enumerate(plain(inverse).ravel()):
        assert flat[place] == found[number] or (flat[place] != flat[place] and int(plain(indices)[number]) == place)
    for number, (value, first, count) in enumerate(zip(found, plain(indices), plain(counts))):
        same = [place for place, element in enumerate(flat) if element == value]
        if value != value:
            assert count == 1
            assert flat[first] != flat[first]
        else:
            assert (first, count) == (same[0], len(same))
        assert number == 0 or value != found[number - 1]
    assert sum(plain(counts)) == len(flat)
    if not view.dtype.name.startswith("complex"):
        real = [value for value in found if value == value]
        assert real == sorted(real)
        assert all(value != value for value in found[len(real) :]), "NaN comes last"
    assert identical(plain(xp.unique_counts(ours(view)).counts), plain(counts))
    assert identical(plain(xp.unique_inverse(ours(view)).inverse_indices), plain(inverse))
    for other in (
        xp.unique_values(ours(view)),
        xp.unique_counts(ours(view)).values,
        xp.unique_inverse(ours(view)).values,
    ):
        assert other.dtype is values.dtype
        got = wide(plain(other))
        assert len(got) == len(found)
        assert all(a == b or (a != a and b != b) for a, b in zip(got, found))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_unique_functions_agree_with_the_definition_in_every_layout(dtype: str) -> None:
    both = np.concatenate([special(dtype), tame(dtype), special(dtype)]).reshape(6, 6)
    for _, view in [*arranged(both), *examples(dtype)]:
        check(view)


@given(st.lists(st.floats(width=16) | st.sampled_from([NAN, 0.0, -0.0, INF]), max_size=60))
def test_random_floats_with_many_ties_and_nans(values: list[float]) -> None:
    check(np.array(values))
    check(np.array(values, np.float32))


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([2**53, 2**53 + 1, 2**64 - 1]), max_size=60))
def test_random_uint64_are_told_apart_beyond_float64(values: list[int]) -> None:
    check(np.array(values, np.uint64))


@given(st.lists(st.builds(complex, *[st.sampled_from([0.0, -0.0, 1.0, -1.0, NAN])] * 2), max_size=30))
def test_random_complex_numbers_with_nan_in_a_component(values: list[complex]) -> None:
    check(np.array(values, np.complex128))


def test_results_are_named_tuples() -> None:
    x = xp.asarray([3, 1, 3])
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert plain(xp.unique_all(x).indices).tolist() == [1, 0]


# -- isin -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_isin_is_equality_with_any_element_in_every_layout(dtype: str) -> None:
    values, wanted = special(dtype).reshape(3, 4), special(dtype)[:7:2]
    want = np.array([[any(a == b for b in wide(wanted)) for a in wide(row)] for row in values])
    for layout, view in arranged(values):
        for _, other in arranged(wanted):
            got = xp.isin(ours(view), ours(other))
            assert identical(plain(got), want), layout
            assert identical(plain(xp.isin(ours(view), ours(other), invert=True)), ~want)
    assert not plain(xp.isin(ours(values), ours(wanted[:0]))).any()
    assert xp.isin(ours(values[:0]), ours(wanted)).shape == (0, 4)
    assert xp.isin(ours(values[1, 2, ...]), ours(values)).shape == ()


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 2**64 - 1)))
def test_isin_of_int64_and_uint64_is_exact(signed: list[int], unsigned: list[int]) -> None:
    signed, unsigned = [*signed, *unsigned[:3], -1, 2**53 + 1], [*unsigned, 2**53, 2**64 - 1]
    signed = [value for value in signed if value < 2**63]
    a, b = xp.asarray(signed), xp.asarray(unsigned, dtype=xp.uint64)
    assert plain(xp.isin(a, b)).tolist() == [value in unsigned for value in signed]
    assert plain(xp.isin(b, a)).tolist() == [value in signed for value in unsigned]
    assert plain(xp.isin(b, a, invert=True)).tolist() == [value not in signed for value in unsigned]


@pytest.mark.parametrize("first", INTEGER)
@pytest.mark.parametrize("second", INTEGER)
def test_isin_of_all_pairs_of_integer_dtypes_is_exact(first: str, second: str) -> None:
    a, b = special(first), special(second)
    assert plain(xp.isin(ours(a), ours(b))).tolist() == [value in wide(b) for value in wide(a)]


@pytest.mark.parametrize("dtype", STANDARD)
def test_isin_takes_a_scalar_on_either_side(dtype: str) -> None:
    values = tame(dtype)
    scalar = {"bool": True, "complex": 1 + 0j, "float": 1.0}.get(kind(dtype), 1)
    assert identical(plain(xp.isin(ours(values), scalar)), values == values.dtype.type(scalar))
    assert bool(xp.isin(scalar, ours(values)))
    assert xp.isin(scalar, ours(values)).shape == ()
    assert not bool(xp.isin(scalar, ours(values), invert=True))


def test_isin_of_an_integer_outside_the_dtype_is_false_everywhere() -> None:
    x = xp.asarray([1, 2], dtype=xp.int8)
    for number in (300, -129, 2**70):
        assert plain(xp.isin(x, number)).tolist() == [False, False]
        assert plain(xp.isin(x, number, invert=True)).tolist() == [True, True]
        assert not bool(xp.isin(number, x))
    assert plain(xp.isin(xp.asarray([2.0**70, 1.0]), 2**70)).tolist() == [True, False]


def test_nan_is_in_nothing() -> None:
    for dtype in ("float32", "float64", *WITH_NAN, *COMPLEX, "complex32"):
        x = xp.asarray(cast([NAN, 1.0], twin(dtype)))
        assert plain(xp.isin(x, x)).tolist() == [False, True]
        assert plain(xp.isin(x, x, invert=True)).tolist() == [True, False]


def test_what_does_not_fit_is_refused() -> None:
    x = xp.ones(2)
    for wrong in ("a", None, [1.0], np.ones(2)):
        for operands in ((x, wrong), (wrong, x)):
            with pytest.raises(TypeError, match=r"^isin: "):
                xp.isin(*operands)
    with pytest.raises(TypeError, match=r"^isin: "):
        xp.isin(1, 2)
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        with pytest.raises(TypeError, match=rf"^{name}: x is a builtins.list"):
            getattr(xp, name)([1, 2])
    with candela_settings(strict=True), pytest.raises(TypeError, match=r"^isin: cannot mix"):
        xp.isin(xp.asarray([1]), xp.asarray([1.0]))


def test_results_are_on_the_device_of_the_input_and_devices_do_not_mix() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x = xp.ones(3, device=there)
        results = [*xp.unique_all(x), *xp.unique_counts(x), *xp.unique_inverse(x), xp.unique_values(x)]
        results += [xp.isin(x, x), xp.isin(x, 1.0), xp.isin(1.0, x)]
        assert {result.device for result in results} == {there}
        with pytest.raises(ValueError, match=r"^isin: one array is on simulated:1, the other on cpu"):
            xp.isin(x, xp.ones(2))
