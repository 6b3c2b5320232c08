"""Statistical functions: accuracy along every axis of every layout, dtypes, axes, empties, NaN."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out
from oracles import (
    ALL_DTYPES,
    BOOL,
    COMPLEX,
    FLOAT,
    INF,
    NAN,
    NARROW,
    NARROW_INTEGER,
    REAL,
    REAL_FLOAT,
    SIGNED,
    STANDARD,
    UNSIGNED,
    WITH_NAN,
    arranged,
    close,
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

REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min"]
SCANS = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}


def axes_of(ndim: int) -> Iterator[Any]:
    """None, every axis, every tuple of axes, the empty one too."""
    yield None
    yield from range(-ndim, ndim)
    for count in range(ndim + 1):
        yield from itertools.combinations(range(ndim), count)
    if ndim > 1:
        yield (-1, 0)


def accumulator(dtype: str) -> str:
    """The dtype of a sum of small numbers."""
    if dtype in (*BOOL, *SIGNED, "int4"):
        return "int64"
    return "uint64" if dtype in (*UNSIGNED, "uint4") else dtype


def wide_dtype(dtype: str) -> Any:
    return np.float64 if kind(dtype) == "float" else np.complex128 if kind(dtype) == "complex" else accumulator(dtype)


# -- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_agrees_with_numpy_over_all_axes_of_all_layouts(name: str, dtype: str) -> None:
    if name in ("max", "min") and kind(dtype) == "complex":
        return
    values = np.concatenate([tame(dtype), tame(dtype)[::-1]]).reshape(2, 3, 4)
    ulps = 4 if kind(dtype) in ("float", "complex") or name in ("mean", "var", "std") else 0
    for layout, view in [*arranged(values), *examples(dtype)]:
        x = ours(view)
        wide = view.astype(wide_dtype(dtype))
        for axis in axes_of(view.ndim):
            count = math.prod(view.shape[a] for a in _axes(axis, view.ndim))
            if name == "prod" and not _fits(wide, axis, dtype):
                continue
            for keepdims in (False, True):
                if name in ("max", "min") and count == 0:
                    with pytest.raises(ValueError, match=rf"^{name}: no elements along axes"):
                        getattr(xp, name)(x, axis=axis, keepdims=keepdims)
                    continue
                with np.errstate(all="ignore"):  # 24 is infinite in the narrowest dtypes
                    got = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
                    want = _numpy(name, wide, axis, keepdims, count)
                result = _result_dtype(name, dtype)
                assert got.dtype is getattr(xp, result), layout
                with np.errstate(all="ignore"):
                    want = np.asarray(want).astype(twin(result))
                assert close(plain(got), want, ulps), (layout, axis)
                assert not np.may_share_memory(plain(got), view), (layout, axis)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def _fits(wide: np.ndarray, axis: Any, dtype: str) -> bool:
    """Products of 1, 2, 3, … leave the narrow dtypes and int64 soon."""
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(np.prod(wide.astype(np.complex128), axis=axis)), initial=0)
    return bool(largest < (15 if dtype in NARROW else 2**50))


def _numpy(name: str, wide: np.ndarray, axis: Any, keepdims: bool, count: int) -> Any:
    if name in ("mean", "var", "std"):
        if count == 0:
            shape = np.sum(wide, axis=axis, keepdims=keepdims).shape
            return np.full(shape, NAN if name != "mean" or wide.dtype.kind != "c" else complex(NAN, NAN))
        return getattr(np, name)(
            wide.astype(np.float64) if wide.dtype.kind in "biu" else wide, axis=axis, keepdims=keepdims
        )
    return getattr(np, name)(wide, axis=axis, keepdims=keepdims)


def _result_dtype(name: str, dtype: str) -> str:
    if name in ("max", "min"):
        return dtype
    if name in ("sum", "prod"):
        return accumulator(dtype)
    if kind(dtype) in ("bool", "int", "uint"):
        return "float64"
    if name != "mean" and kind(dtype) == "complex":
        return {"complex32": "float16", "complex64": "float32", "complex128": "float64"}[dtype]
    return dtype


@pytest.mark.parametrize("dtype", REAL)
def test_integer_sums_and_extremes_are_exact_at_the_ends_of_the_range(dtype: str) -> None:
    values = special(dtype)
    if kind(dtype) == "float":
        values = values[np.isfinite(values)]
    numbers = [value.item() for value in values]
    for _, view in arranged(values):
        assert plain(xp.max(ours(view))).item() == max(numbers)
        assert plain(xp.min(ours(view))).item() == min(numbers)
        if kind(dtype) != "float":
            known = np.iinfo(accumulator(dtype))
            size = known.max - known.min + 1
            for name, total in (("sum", sum(numbers)), ("prod", math.prod(numbers))):
                assert int(getattr(xp, name)(ours(view))) == (total - known.min) % size + known.min, "wraps as C does"


@pytest.mark.parametrize("dtype", [*REAL_FLOAT, *WITH_NAN])
@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "prod", "var", "std"])
def test_a_nan_anywhere_is_a_nan_in_the_result(name: str, dtype: str) -> None:
    values = np.ones((3, 5))
    values[1, 2] = NAN
    for layout, view in arranged(values.astype(twin(dtype))):
        got = plain(getattr(xp, name)(ours(view), axis=1)).astype(np.float64)
        assert np.isnan(got).tolist() == [False, True, False], layout
        assert math.isnan(float(getattr(xp, name)(ours(view)))), layout


def test_a_nan_in_one_component_leaves_the_mean_of_the_other_alone() -> None:
    got = plain(xp.mean(xp.asarray([complex(NAN, 1), complex(1, 3)])))
    assert math.isnan(got.real)
    assert got.imag == 2.0


# -- accuracy ---------------------------------------------------------------------------------------------------


def _long(rows: int, columns: int, dtype: str) -> np.ndarray:
    # Positive numbers around 1 whose float32 sums, added one by one, drift upwards.
    numbers = (np.arange(rows * columns) * 0.6180339887498949) % 1 + 0.1
    return numbers.astype(dtype).reshape(rows, columns)


@pytest.mark.parametrize("layout", [*ARRANGEMENTS, "transposed", "broadcast", "three axes"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_float32_sums_and_means_are_accurate_along_every_axis_of_every_layout(layout: str, dtype: str) -> None:
    if layout == "transposed":
        view = _long(3, 40_000, dtype).T
    elif layout == "broadcast":
        view = np.broadcast_to(np.array([0.1, 0.3, 0.7], dtype), (40_000, 3))
    elif layout == "three axes":
        view = np.ascontiguousarray(_long(200 * 200, 3, dtype).reshape(200, 200, 3).transpose(0, 2, 1)).transpose(
            0, 2, 1
        )
    else:
        view = lay_out(_long(40_000, 3, dtype), layout)
    x = ours(view)
    last = view.ndim - 1
    for axis in (None, *range(view.ndim), tuple(range(last)), (last, 0)):
        axes = _axes(axis, view.ndim)
        count = math.prod(view.shape[a] for a in axes)
        exact = np.sum(view.astype(np.longdouble if dtype == "float32" else np.clongdouble), axis=axis)
        for name, want in (("sum", exact), ("mean", exact / count)):
            error = np.abs(plain(getattr(xp, name)(x, axis=axis)).astype(want.dtype) - want) / np.abs(want)
            # Pairwise over blocks of 128: a few roundings in practice. 128 equal terms all round the same way, so
            # those of a broadcast axis come to some dozens; one by one 40,000 rows come to thousands.
            assert np.max(error) < (64 if layout == "broadcast" else 12) * 2.0**-24, (name, axis)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=300), st.integers(1, 5))
def test_random_float32_sums_agree_with_fsum(values: list[float], columns: int) -> None:
    view = np.repeat(np.array(values, np.float32)[:, None], columns, axis=1)
    want = math.fsum(values)
    allowed = 16 * 2.0**-24 * math.fsum(map(abs, values)) + 1e-44
    for place, one in arranged(view):
        assert np.all(np.abs(plain(xp.sum(ours(one), axis=0)).astype(np.float64) - want) <= allowed), place


@pytest.mark.parametrize("dtype", REAL_FLOAT)
def test_variance_far_from_zero_does_not_cancel(dtype: str) -> None:
    offset = 1e4 if dtype == "float32" else 1e9
    values = np.array([offset + number for number in (1, 2, 3, 4)] * 50, dtype).reshape(100, 2)
    mean = [Fraction(float(v)) for v in values.ravel()]
    centre = sum(mean) / len(mean)
    exact = float(sum((v - centre) ** 2 for v in mean) / len(mean))
    for layout, view in arranged(values):
        assert float(xp.var(ours(view))) == pytest.approx(exact, rel=1e-3 if dtype == "float32" else 1e-9), layout
        assert float(xp.std(ours(view))) == pytest.approx(math.sqrt(exact), rel=1e-3 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_correction_is_taken_off_the_count_and_a_divisor_not_above_0_gives_nan(name: str, dtype: str) -> None:
    values = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 6.0]])
    x = xp.asarray(values.astype(twin(dtype)))
    for correction in (0, 1, 0.5, -1, np.float64(1), np.int64(1)):
        divisor = 3 - float(correction)
        want = np.var(values, axis=1) * 3 / divisor
        want = np.sqrt(want) if name == "std" else want
        got = plain(getattr(xp, name)(x, axis=1, correction=correction))
        assert close(got, want.astype(got.dtype), 4)
    for correction in (3, 3.5, 10):
        assert np.isnan(plain(getattr(xp, name)(x, axis=1, correction=correction)).astype(float)).all()
        assert math.isnan(float(getattr(xp, name)(xp.ones((), dtype=x.dtype), correction=correction)))
    assert float(getattr(xp, name)(xp.ones((), dtype=x.dtype))) == 0.0
    for wrong in ("1", None, True, 1j, [1]):
        with pytest.raises(TypeError, match=rf"^{name}: correction must be an int or a float"):
            getattr(xp, name)(x, correction=wrong)


def test_the_variance_of_complex_numbers_is_that_of_their_distance_from_the_mean() -> None:
    values = np.array([1 + 1j, 2 - 3j, 0.5j, 4])
    got = xp.var(ours(values))
    assert got.dtype is xp.float64
    assert float(got) == pytest.approx(np.var(values), rel=1e-14)


# -- dtypes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", STANDARD)
@pytest.mark.parametrize("target", STANDARD)
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_dtype_casts_the_elements_first(name: str, source: str, target: str) -> None:
    values = tame(source)[1:5]
    own = getattr(xp, target)
    if kind(source) == "complex" and kind(target) != "complex":
        with pytest.raises(TypeError, match=rf"^{name}: complex values have no {target} form"):
            getattr(xp, name)(ours(values), dtype=own)
        return
    function: Callable[..., Any] = SCANS.get(name) or getattr(np, name)
    want = np.asarray(function(values.astype(target), dtype=target))
    assert identical(plain(getattr(xp, name)(ours(values), dtype=own)), want)


def test_small_integers_wrap_in_the_dtype_that_is_asked_for() -> None:
    x = xp.asarray([100, 100, 100], dtype=xp.int8)
    assert int(xp.sum(x)) == 300
    assert int(xp.sum(x, dtype=xp.int8)) == 44
    assert int(xp.sum(x, dtype=xp.uint8)) == 44
    assert plain(xp.cumulative_sum(x, dtype=xp.int8)).tolist() == [100, -56, 44]


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_accumulate_in_float32(dtype: str) -> None:
    # One by one in the dtype itself, 1 + 1 + … stays at the first integer that has no successor.
    count = 512
    x = xp.ones(count, dtype=getattr(xp, dtype))
    assert float(xp.mean(x)) == 1.0
    assert float(xp.var(x)) == 0.0
    assert float(xp.sum(x, dtype=xp.float32)) == count
    if dtype in ("float16", "bfloat16"):
        assert float(xp.sum(x)) == count
        assert float(xp.cumulative_sum(x)[-1]) == count


def test_mean_takes_a_dtype_in_default_mode() -> None:
    x = xp.asarray([1, 2], dtype=xp.int32)
    assert xp.mean(x).dtype is xp.float64
    assert xp.mean(x, dtype=xp.float32).dtype is xp.float32
    assert xp.mean(xp.asarray([1.0, 2.0]), dtype=xp.complex64).dtype is xp.complex64
    with pytest.raises(TypeError, match=r"^mean: dtype=int32 is no floating-point dtype"):
        xp.mean(x, dtype=xp.int32)
    with pytest.raises(TypeError, match=r"^mean: complex values have no float64 form"):
        xp.mean(xp.asarray([1j]), dtype=xp.float64)


# -- scans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*STANDARD, "float16", "bfloat16", "int4", "uint4", "complex32"])
@pytest.mark.parametrize("name", SCANS)
def test_scans_run_along_every_axis_of_every_layout(name: str, dtype: str) -> None:
    result = accumulator(dtype)
    wide = {"complex32": np.complex64}.get(dtype, np.float32 if dtype in NARROW else result)
    for layout, view in [*arranged(tame(dtype).reshape(3, 4)), *examples(dtype)]:
        x = ours(view)
        if view.ndim == 0:
            with pytest.raises(ValueError, match=rf"^{name}: a 0-d array has no axis"):
                getattr(xp, name)(x)
            continue
        for axis in range(-view.ndim, view.ndim):
            with np.errstate(over="ignore"):
                want = SCANS[name](view.astype(wide), axis=axis, dtype=wide)
                got = getattr(xp, name)(x, axis=axis)
                longer = getattr(xp, name)(x, axis=axis, include_initial=True)
            first = np.full_like(np.take(want, [0], axis) if want.shape[axis] else np.sum(want, axis, keepdims=True),
                                 0 if name == "cumulative_sum" else 1)  # fmt: skip
            with np.errstate(over="ignore"):
                assert close(plain(got), want.astype(twin(result)), 2), layout
                assert close(plain(longer), np.concatenate([first, want], axis).astype(twin(result)), 2), layout
        if view.ndim == 1:
            assert identical(plain(getattr(xp, name)(x)), plain(getattr(xp, name)(x, axis=0)))
        else:
            with pytest.raises(ValueError, match=rf"^{name}: x has {view.ndim} axes; name one"):
                getattr(xp, name)(x)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_running_integer_sums_wrap_as_c_does(values: list[int]) -> None:
    got = plain(xp.cumulative_sum(xp.asarray(values, dtype=xp.int64))).tolist()
    want = [(sum(values[: n + 1]) + 2**63) % 2**64 - 2**63 for n in range(len(values))]
    assert got == want


# -- axes and refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_are_checked_and_named(name: str) -> None:
    function, x = getattr(xp, name), xp.ones((2, 3))
    with pytest.raises(IndexError, match=rf"^{name}: axis 2 is out of range for 2 axes; use -2..1"):
        function(x, axis=2)
    with pytest.raises(IndexError, match=rf"^{name}: axis 0 is out of range: a 0-d array"):
        function(xp.asarray(1.0), axis=0)
    with pytest.raises(ValueError, match=rf"^{name}: axis .* twice"):
        function(x, axis=(0, -2))
    for wrong in (0.5, "0", (0.5,)):
        with pytest.raises(TypeError, match=rf"^{name}: axis must be an integer"):
            function(x, axis=wrong)
    assert function(x, axis=[0, 1]).shape == ()
    assert function(x, axis=np.int64(0)).shape == (3,)
    with pytest.raises(TypeError, match=rf"^{name}: x is a builtins.list"):
        function([1.0])


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_have_no_extremes(name: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: complex numbers have no order"):
        getattr(xp, name)(xp.ones(2, dtype=getattr(xp, dtype)))


PROMISED = {
    **dict.fromkeys(("sum", "prod", "cumulative_sum", "cumulative_prod"), ALL_DTYPES[1:]),
    **{name: [*REAL, *NARROW, *NARROW_INTEGER] for name in ("max", "min")},
    **{name: [*REAL_FLOAT, *NARROW] for name in ("var", "std")},
    "mean": [*FLOAT, *NARROW, "complex32"],
}


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("name", PROMISED)
def test_strict_mode_takes_exactly_the_dtypes_of_the_standard(name: str, dtype: str) -> None:
    x = ours(tame(dtype)[1:3])
    with candela_settings(strict=True):
        if dtype in PROMISED[name]:
            assert getattr(xp, name)(x).size
        else:
            with pytest.raises(TypeError, match=rf"^{name}: "):
                getattr(xp, name)(x)


def test_nothing_sums_to_zero_and_multiplies_to_one() -> None:
    for dtype in ALL_DTYPES:
        x = xp.zeros((0, 2), dtype=getattr(xp, dtype))
        assert plain(xp.sum(x, axis=0)).astype(complex).tolist() == [0, 0]
        assert plain(xp.prod(x, axis=0)).astype(complex).tolist() == [1, 1]
        assert xp.sum(x, axis=1).shape == (0,)
    for name in ("mean", "var", "std"):
        assert math.isnan(float(getattr(xp, name)(xp.zeros(0))))


def test_long_sums_in_another_dtype_are_cast_before_they_are_added() -> None:
    x = xp.full((1000, 3), 0.1, dtype=xp.float32)
    want = np.full(3, np.float32(0.1), np.float64) * 1000
    assert np.allclose(plain(xp.sum(x, axis=0, dtype=xp.float64)), want, rtol=1e-14)
    assert float(xp.sum(xp.arange(100_000, dtype=xp.int32), dtype=xp.float64)) == 4999950000.0


def test_infinities_add_up_to_infinity_or_nan() -> None:
    with np.errstate(invalid="ignore"):
        assert float(xp.sum(xp.asarray([INF, 1.0]))) == INF
        assert math.isnan(float(xp.sum(xp.asarray([INF, -INF]))))


def test_results_are_on_the_device_of_the_input() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x = xp.ones(3, device=there)
        assert {getattr(xp, name)(x).device for name in (*REDUCTIONS, *SCANS)} == {there}
