"""Reductions and scans of narrow dtypes accumulate in float32 or wider, and round once.

Sums and products of the values drawn here are exact in float32, in any order: the result is known to the last bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, cast, lay_out
from oracles import identical, kind, ours, plain, twin, widened

import candela_xp as xp
from candela_xp import settings as candela_settings
from candela_xp._dtypes import EXTENSIONS

FLOATS = [d.name for d in EXTENSIONS if d.kind == "float" and d.name != "float8_e8m0fnu"]
INTEGERS = [d.name for d in EXTENSIONS if d.kind in ("int", "uint")]
MODES = [2**62, 0]


def axes_of(ndim: int) -> Iterator[Any]:
    yield None
    for count in range(ndim + 1):
        yield from itertools.combinations(range(ndim), count)


def rounded(wide: Any, name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return cast(np.asarray(wide), twin(name))


def small_numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Halves, and numbers up to 3: all in every float of 4 bits and more."""
    rng = np.random.default_rng(5)
    if kind(name) in ("int", "uint"):
        limits = xp.iinfo(getattr(xp, name))
        return cast(rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=np.int8), twin(name))
    return cast(rng.choice([0.0, 0.5, 1.0, -1.5, 2.0, -3.0], shape), twin(name))


@pytest.mark.parametrize("name", [*FLOATS, "complex32"])
def test_sums_and_means_are_the_float32_ones_rounded(name: str) -> None:
    values = small_numbers(name, (3, 4, 30))
    if name == "complex32":
        values = cast(widened(values) + 1j * widened(values[::-1]), twin(name))
    for arrangement, axes, defer in itertools.product(ARRANGEMENTS, axes_of(3), MODES):
        view = lay_out(values.reshape(12, 30), arrangement).reshape(3, 4, 30)
        wide = widened(values)
        count = math.prod(wide.shape[a] for a in (range(3) if axes is None else axes))
        total = np.sum(wide.astype(np.complex128 if name == "complex32" else np.float64), axis=axes)
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.sum(ours(view), axis=axes)), rounded(total, name)), (arrangement, axes)
            mean = rounded(total.astype(wide.dtype) / np.float32(count), name)
            assert identical(plain(xp.mean(ours(view), axis=axes)), mean), (arrangement, axes)


@pytest.mark.parametrize("name", FLOATS)
def test_products_are_exact_where_float32_is(name: str) -> None:
    values = rounded(np.random.default_rng(2).choice([1.0, 2.0, 0.5, -1.0, 1.5], (3, 4, 10)), name)
    for axes, defer in itertools.product(axes_of(3), MODES):
        want = np.prod(widened(values).astype(np.float64), axis=axes)
        if np.abs(np.log2(np.abs(want))).max() < 60 and axes is not None and len(axes) == 1:
            with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
                assert identical(plain(xp.prod(ours(values), axis=axes)), rounded(want, name)), axes


@pytest.mark.parametrize("name", FLOATS)
def test_variances_are_those_of_float64_to_an_ulp(name: str) -> None:
    values = small_numbers(name, (6, 50))
    for axis, correction, defer in itertools.product((None, 0, 1), (0, 1), MODES):
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            for function, numpys in ((xp.var, np.var), (xp.std, np.std)):
                got = widened(plain(function(ours(values), axis=axis, correction=correction)))
                exact = numpys(widened(values).astype(np.float64), axis=axis, ddof=correction)
                near = [widened(rounded(exact * (1 + k * 1e-6), name)) for k in (-1, 0, 1)]
                assert (np.minimum(*near[::2]) <= got).all(), function
                assert (np.maximum(*near[::2]) >= got).all(), function


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_extremes_are_values_of_the_array(name: str) -> None:
    values = small_numbers(name, (4, 15))
    for arrangement, axis, defer in itertools.product(ARRANGEMENTS, (None, 0, 1), MODES):
        x = ours(lay_out(values, arrangement))
        with candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.max(x, axis=axis)), rounded(np.max(widened(values), axis=axis), name))
            assert identical(plain(xp.min(x, axis=axis)), rounded(np.min(widened(values), axis=axis), name))


@pytest.mark.parametrize("name", [*FLOATS, "complex32"])
def test_scans_accumulate_wide_and_round_each_value(name: str) -> None:
    values = small_numbers(name, (4, 100))
    for axis, defer, arrangement in itertools.product((0, 1), MODES, ARRANGEMENTS):
        x, wide = ours(lay_out(values, arrangement)), widened(values)
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.cumulative_sum(x, axis=axis)), rounded(np.cumsum(wide, axis), name))
            longer = plain(xp.cumulative_sum(x, axis=axis, include_initial=True))
            first = np.zeros_like(np.take(wide, [0], axis))
            assert identical(longer, rounded(np.concatenate([first, np.cumsum(wide, axis)], axis), name))
            if axis == 0 and name != "complex32":
                assert identical(plain(xp.cumulative_prod(x, axis=0)), rounded(np.cumprod(wide, 0), name))


@pytest.mark.parametrize("name", INTEGERS)
def test_sums_and_scans_of_narrow_integers_are_of_the_default_size(name: str) -> None:
    values = small_numbers(name, (5, 40))
    result = np.dtype(np.uint64 if name.startswith("u") else np.int64)
    wide = widened(values).astype(result)
    for axis, defer in itertools.product((0, 1), MODES):
        x = ours(values)
        with candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.sum(x, axis=axis)), np.sum(wide, axis=axis))
            assert identical(plain(xp.prod(x, axis=axis)), np.prod(wide, axis=axis))
            assert identical(plain(xp.cumulative_sum(x, axis=axis)), np.cumsum(wide, axis=axis))
            assert identical(plain(xp.cumulative_prod(x, axis=axis)), np.cumprod(wide, axis=axis))
            assert identical(plain(xp.mean(x, axis=axis)), np.mean(wide, axis=axis, dtype=np.float64))
            # In the narrow dtype itself, where it is asked for, modulo its range
            wrapped = cast(np.sum(wide, axis=axis).astype(np.int8), twin(name))
            assert identical(plain(xp.sum(x, axis=axis, dtype=getattr(xp, name))), wrapped)


@pytest.mark.parametrize("name", FLOATS)
def test_a_million_ones_are_a_million_rounded(name: str) -> None:
    x = xp.ones(10**6, dtype=getattr(xp, name))
    with np.errstate(over="ignore"):
        want = rounded(np.float32(10**6), name)
        for defer in MODES:
            with candela_settings(defer_min_bytes=defer):
                assert identical(plain(xp.sum(x)), want)
                assert identical(plain(xp.sum(xp.reshape(x, (1000, 1000)), axis=0)), rounded(np.full(1000, 1e3), name))
                assert identical(plain(xp.cumulative_sum(x)[-1]), want)
                assert float(xp.mean(x)) == 1.0
                assert float(xp.sum(x, dtype=xp.float32)) == 10**6
    if name == "bfloat16":
        assert float(xp.sum(x)) == 999424.0


@given(st.sampled_from(["float16", "bfloat16"]), st.lists(st.integers(-2048, 2048), min_size=1, max_size=300))
def test_sums_of_random_whole_numbers_are_exact_before_they_are_rounded(name: str, numbers: list[int]) -> None:
    x = rounded(np.array(numbers, np.float32), name)
    want = rounded(np.float32(sum(widened(x).astype(int).tolist())), name)
    for defer in MODES:
        with np.errstate(over="ignore"), candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.sum(ours(x))), want)
            # a chain that ends in a reduction: each step is rounded
            squares = rounded(widened(x) * widened(x), name)
            total = math.fsum(widened(squares).astype(np.float64).tolist())
            if math.isfinite(total):
                got = plain(xp.sum(ours(x) * ours(x), dtype=xp.float32))
                assert abs(float(got) - total) <= 1e-5 * abs(total)
            else:
                assert not math.isfinite(float(xp.sum(ours(x) * ours(x))))


# -- order ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_sorting_and_searching_order_as_the_wide_dtype_does(name: str) -> None:
    rng = np.random.default_rng(3)
    bits = getattr(xp, name).bits
    if kind(name) == "float":
        patterns = rng.integers(0, 2**bits, 500, dtype=np.uint16 if bits == 16 else np.uint8)
        values = patterns.view(twin(name))
        values = np.where(np.isnan(widened(values)), cast(np.nan, values.dtype), values)  # quiet ones
    else:
        values = small_numbers(name, (500,))
    wide = widened(values)
    for defer in MODES:
        x = ours(values)
        with candela_settings(defer_min_bytes=defer):
            assert identical(plain(xp.sort(x)), cast(np.sort(wide, stable=True), twin(name)))
            assert identical(plain(xp.argsort(x)), np.argsort(wide, stable=True))
            backwards = plain(xp.sort(x, descending=True))
            assert np.array_equal(np.sort(widened(backwards)), np.sort(wide), equal_nan=kind(name) == "float")
            assert int(xp.argmax(x)) == int(np.argmax(wide))
            assert int(xp.argmin(x)) == int(np.argmin(wide))
            assert int(xp.count_nonzero(x)) == int(np.count_nonzero(wide))
            kept = wide[~np.isnan(wide)] if kind(name) == "float" else wide
            wanted = np.unique(kept)
            found = widened(plain(xp.unique_values(x)))
            assert np.array_equal(found[: len(wanted)], wanted)
            assert len(found) == len(wanted) + len(wide) - len(kept), "each NaN stands for itself"
            counts = plain(xp.unique_counts(x).counts)
            assert int(counts.sum()) == 500
            ordered = ours(cast(wanted, twin(name)))
            places = plain(xp.searchsorted(ordered, x, side="right"))
            assert identical(places, np.searchsorted(wanted, wide, side="right"))
            assert identical(plain(xp.isin(x, ordered)), ~np.isnan(wide) if kind(name) == "float" else wide == wide)
