"""Creation functions: what asarray takes and refuses, exact ranges, whose memory it is."""

from __future__ import annotations

import array as python_array
import math
import pickle
from collections import UserList, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    FLOAT,
    INF,
    INTEGER,
    NAN,
    NARROW,
    REAL_FLOAT,
    STANDARD,
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

# -- asarray: numbers and sequences --------------------


@pytest.mark.parametrize(
    ("value", "dtype"), [(True, "bool"), (7, "int64"), (-1.5, "float64"), (2 - 1j, "complex128"), (2**63 - 1, "int64")]
)
def test_a_python_scalar_becomes_a_0d_array_of_the_default_dtype_of_its_kind(value: Any, dtype: str) -> None:
    got = xp.asarray(value)
    assert got.dtype is getattr(xp, dtype)
    assert got.shape == ()
    assert plain(got).item() == value


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], "bool"), ([1, True], "int64"), ([1, 2.5, True], "float64"), ([1, 2j, 0.5], "complex128"),
        ([], "float64"), ([[], []], "float64"), ([[1, 2], [3, 4.0]], "float64"), (((1,), (2,)), "int64"),
        ([2**64, 1.0], "float64"), ([[True], [2]], "int64"), ([-(2**63), 2**63 - 1], "int64"),
    ],
)  # fmt: skip
def test_a_sequence_becomes_an_array_of_the_highest_kind_in_it(values: Any, dtype: str) -> None:
    assert identical(plain(xp.asarray(values)), np.array(values, dtype))


@given(st.recursive(st.integers(-5, 5), lambda inner: st.lists(inner, min_size=2, max_size=2), max_leaves=16))
def test_nesting_is_depth_or_ragged(values: Any) -> None:
    try:
        want = np.array(values, np.int64)
    except ValueError:
        with pytest.raises(ValueError, match=r"^asarray: "):
            xp.asarray(values)
        return
    assert identical(plain(xp.asarray(values)), want)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_sequence_with_dtype_is_cast_like_numpys_numbers(dtype: str) -> None:
    values = [0, 1, 2, 3]
    got = xp.asarray(values, dtype=getattr(xp, dtype))
    assert identical(plain(got), np.array(values).astype(twin(dtype)))
    if kind(dtype) != "complex":
        assert identical(plain(xp.asarray([0.5, 1.5], dtype=got.dtype)), np.array([0.5, 1.5]).astype(twin(dtype)))
    assert identical(plain(xp.asarray(1, dtype=got.dtype)), np.asarray(1).astype(twin(dtype)))


@pytest.mark.parametrize("dtype", INTEGER)
def test_integers_are_exact_over_the_whole_range_and_outside_it_an_overflow_error(dtype: str) -> None:
    known, own = np.iinfo(dtype), getattr(xp, dtype)
    low, high = int(known.min), int(known.max)
    mixed = [0, high, low, 1, high - 1]
    for strict in (False, True):
        with candela_settings(strict=strict):
            assert [int(v) for v in xp.asarray(mixed, dtype=own)] == mixed
            assert int(xp.asarray(high, dtype=own)) == high
            for number in (low - 1, high + 1, 2**70, -(2**70)):
                for given_value in (number, [0, number], [[1], [number]]):
                    for error in (OverflowError, ValueError):
                        with pytest.raises(error, match=rf"^asarray: .* does not fit {dtype}"):
                            xp.asarray(given_value, dtype=own)


@pytest.mark.parametrize("values", [2**63, [2**63], [0, 2**63], [-1, 2**64 - 1], [2**100], [-(2**63) - 1, True]])
def test_python_integers_without_dtype_are_int64_or_an_error_never_floats_or_objects(values: Any) -> None:
    with pytest.raises(OverflowError, match=r"^asarray: .* does not fit int64"):
        xp.asarray(values)


@pytest.mark.parametrize("dtype", [*REAL_FLOAT, *COMPLEX, "bfloat16"])
def test_integers_that_only_a_float_can_hold_become_floats_and_too_large_ones_an_error(dtype: str) -> None:
    own = getattr(xp, dtype)
    for value in (2**70, [2**70, 1]):
        assert complex(xp.reshape(xp.asarray(value, dtype=own), (-1,))[0]) == 2.0**70
    with pytest.raises(OverflowError, match=rf"^asarray: .* does not fit {dtype}"):
        xp.asarray([10**400], dtype=own)
    with pytest.raises(OverflowError, match=r"^asarray: .*does not fit"):
        xp.asarray(10**400, dtype=own)


@pytest.mark.parametrize("wrong", [NAN, INF, -INF])
def test_floats_that_are_no_number_have_no_integer_form(wrong: float) -> None:
    for value in (wrong, [wrong]):
        with pytest.raises(ValueError, match=r"^asarray: "):
            xp.asarray(value, dtype=xp.int64)


def test_complex_values_are_not_cut_to_their_real_part() -> None:
    one = xp.asarray(1j)
    for value in (1j, [1j], [[1j]], [1, 1j], [one], one, np.array(1j), [np.complex64(1j)], [np.array([1j])]):
        for dtype in (xp.float64, xp.int8, xp.bfloat16):
            with pytest.raises(TypeError, match=rf"^asarray: complex values have no {dtype} form"):
                xp.asarray(value, dtype=dtype)
    assert bool(xp.asarray(1j, dtype=xp.bool))


@pytest.mark.parametrize(
    "wrong",
    [
        None, "text", object(), {}, {1: 2}, {1}, Fraction(1, 2), Decimal(1), np.array(["a"]), np.array([1], object),
        np.datetime64(1, "s"), np.str_("a"), np.array([(1, 2)], "i4,i4"), int, (value for value in (1, 2)),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_alone_and_in_a_sequence(wrong: Any) -> None:
    for value in (wrong, [wrong], [[1.5], [wrong]]):
        for dtype in (None, xp.float64, xp.int64, xp.bool):
            with pytest.raises((TypeError, ValueError), match=r"^asarray: "):
                xp.asarray(value, dtype=dtype)


def test_floats_as_integers_are_cut_off_and_refused_outside_the_dtype() -> None:
    for value, want in ((1.5, 1), (-1.5, -1), (127.9, 127)):
        assert int(xp.asarray(value, dtype=xp.int8)) == int(xp.asarray([value], dtype=xp.int8)[0]) == want
    for given_value in (300.7, [300.7]):
        with pytest.raises(OverflowError, match=r"^asarray: .* does not fit int8"):
            xp.asarray(given_value, dtype=xp.int8)


def test_a_sequence_that_holds_itself_is_refused() -> None:
    values: list[Any] = []
    values.append(values)
    with pytest.raises(ValueError, match=r"^asarray: .*nested"):
        xp.asarray(values)


def test_other_sequences_are_taken_as_lists() -> None:
    for sequence in (range(4), deque([0, 1, 2, 3]), UserList([0, 1, 2, 3])):
        assert plain(xp.asarray(sequence)).tolist() == [0, 1, 2, 3]
    assert plain(xp.asarray([range(2), (2, 3)])).tolist() == [[0, 1], [2, 3]]
    assert plain(xp.asarray(range(3), dtype=xp.int8)).dtype == np.int8


def test_sequences_of_arrays_are_stacked_in_their_common_dtype() -> None:
    a, b = xp.asarray([1, 2], dtype=xp.int8), xp.asarray([3, 4], dtype=xp.uint8)
    assert identical(plain(xp.asarray([a, b])), np.array([[1, 2], [3, 4]], np.int16))
    assert xp.asarray([xp.ones((), dtype=xp.float16), xp.ones((), dtype=xp.bfloat16)]).dtype is xp.float32
    assert identical(plain(xp.asarray([a[0], b[1]], dtype=xp.float32)), np.array([1, 4], np.float32))
    assert identical(plain(xp.asarray([np.float64(1.5), 2])), np.array([1.5, 2.0]))
    assert identical(plain(xp.asarray([np.array([1, 2]), [3, 4]])), np.array([[1, 2], [3, 4]]))
    with candela_settings(strict=True):
        assert plain(xp.asarray([[a[0], a[1]]], dtype=xp.int8)).tolist() == [[1, 2]]
        with pytest.raises(TypeError, match=r"^asarray: the sequence holds an array of shape \(2,\); use stack"):
            xp.asarray([a, a])


# -- asarray: memory of others --------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_numpy_array_is_shared_in_every_layout_and_copied_where_asked(dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        shared = xp.asarray(view)
        assert identical(plain(shared), view), layout
        if view.size:
            assert np.may_share_memory(plain(shared), view), layout
            assert np.may_share_memory(plain(xp.asarray(view, copy=False)), view), layout
        copied = xp.asarray(view, copy=True)
        assert identical(plain(copied), view), layout
        assert not np.may_share_memory(plain(copied), view)
        assert copied.layout.is_contiguous
        copied[...] = copied  # writable, also where the original is read-only


@pytest.mark.parametrize("dtype", STANDARD)
def test_one_of_our_arrays_comes_back_as_it_is_or_as_a_copy(dtype: str) -> None:
    for layout, view in examples(dtype):
        x = ours(view)
        assert xp.asarray(x) is x
        assert xp.asarray(x, dtype=x.dtype, copy=False) is x
        copied = xp.asarray(x, copy=True)
        assert identical(plain(copied), view), layout
        assert not np.may_share_memory(plain(copied), view)


@pytest.mark.parametrize("source", STANDARD)
@pytest.mark.parametrize("target", STANDARD)
def test_a_cast_needs_a_copy_and_in_strict_mode_promotion(source: str, target: str) -> None:
    if kind(source) == "complex" and kind(target) not in ("complex", "bool"):
        return
    values, own = tame(source), getattr(xp, target)
    for given_values in (values, ours(values)):
        assert identical(plain(xp.asarray(given_values, dtype=own)), values.astype(target))
        if source != target:
            with pytest.raises(ValueError, match=rf"^asarray: {source} to {target} needs a copy; pass copy=None"):
                xp.asarray(given_values, dtype=own, copy=False)
        with candela_settings(strict=True):
            if xp.can_cast(getattr(xp, source), own):
                assert xp.asarray(given_values, dtype=own).dtype is own
            else:
                with pytest.raises(TypeError, match=rf"^asarray: {source} values with dtype={target}; use"):
                    xp.asarray(given_values, dtype=own)


def test_foreign_byte_order_is_brought_home_by_a_copy() -> None:
    for code in ("i2", "i4", "i8", "u2", "f4", "f8", "c8", "c16"):
        foreign = np.array([1, 2, 3]).astype(">" + code if np.little_endian else "<" + code)
        got = xp.asarray(foreign)
        assert identical(plain(got), foreign.astype(foreign.dtype.newbyteorder("=")))
        with pytest.raises(ValueError, match=r"^asarray: .* needs a copy"):
            xp.asarray(foreign, copy=False)


def test_a_field_of_a_structured_array_is_copied_because_no_stride_in_elements_expresses_it() -> None:
    records = np.zeros(4, dtype=[("a", "i1"), ("b", "f8")])
    records["b"] = [1, 2, 3, 4]
    assert plain(xp.asarray(records["b"])).tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"^asarray: strides .* pass copy=None"):
        xp.asarray(records["b"], copy=False)


def test_buffers_are_shared_and_bytes_stay_read_only() -> None:
    numbers = python_array.array("d", [1.0, 2.0, 3.0])
    x = xp.asarray(numbers)
    numbers[1] = 9.0
    assert plain(x).tolist() == [1.0, 9.0, 3.0]
    x[0] = 5
    assert numbers[0] == 5.0
    raw = bytearray(b"\x01\x02")
    xp.asarray(raw, copy=False)[0] = 7
    assert raw == b"\x07\x02"
    fixed = xp.asarray(b"\x01\x02")
    assert identical(plain(fixed), np.array([1, 2], np.uint8))
    with pytest.raises(ValueError, match=r"read-only"):
        fixed[0] = 3
    grid = memoryview(np.arange(12).reshape(3, 4))[::2]
    assert plain(xp.asarray(grid)).tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert plain(xp.asarray(numbers, dtype=xp.float32)).tolist() == [5.0, 9.0, 3.0]
    assert xp.asarray(numbers, copy=True).layout.is_contiguous


class _WithArray:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


class _WithDLPack:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_objects_with_array_or_dlpack_are_taken() -> None:
    values = np.arange(6.0).reshape(2, 3)
    for wrapper in (_WithArray, _WithDLPack):
        got = xp.asarray(wrapper(values))
        assert identical(plain(got), values)
        got[0, 0] = 42
        assert values[0, 0] == 42
        assert not np.may_share_memory(plain(xp.asarray(wrapper(values), copy=True)), values)
        assert xp.asarray(wrapper(values), dtype=xp.float32).dtype is xp.float32
    with candela_settings(strict=True):
        assert xp.asarray(_WithDLPack(values)).shape == (2, 3)
        with pytest.raises(TypeError, match=r"^asarray: obj is a _WithArray; use from_dlpack"):
            xp.asarray(_WithArray(values))


@pytest.mark.parametrize("value", [1, [1, 2], (1.0,), np.float64(1), range(3)])
def test_what_has_no_memory_to_share_needs_a_copy(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^asarray: .*no memory to share; pass copy=None"):
        xp.asarray(value, copy=False)


def test_numpy_dtypes_and_scalar_types_name_their_twins_and_strings_are_no_dtypes() -> None:
    for dtype in (np.dtype("float32"), np.float32):
        assert xp.asarray([1], dtype=dtype).dtype is xp.float32
    assert xp.zeros(2, dtype=float).dtype is xp.float64
    for wrong in ("float32", "f4", 4, np.dtype("M8[s]"), object()):
        for make in (
            lambda d: xp.asarray([1], dtype=d),
            lambda d: xp.zeros(2, dtype=d),
            lambda d: xp.arange(2, dtype=d),
        ):
            with pytest.raises(TypeError, match=r"is no dtype of candela_xp"):
                make(wrong)


# -- from_dlpack --------------------


@pytest.mark.parametrize("dtype", [*STANDARD, "float16"])
def test_from_dlpack_shares_or_copies_in_every_layout(dtype: str) -> None:
    for layout, view in examples(dtype):
        for source in (view, ours(view)):
            got = xp.from_dlpack(source)
            assert identical(plain(got), view), layout
            copied = xp.from_dlpack(source, copy=True)
            assert identical(plain(copied), view), layout
            if view.size:
                assert np.may_share_memory(plain(got), view), layout
                assert not np.may_share_memory(plain(copied), view), layout
            copied[...] = copied


def test_from_dlpack_of_other_objects_is_the_attribute_error_that_the_standard_asks_for() -> None:
    for wrong in (1, [1.0], _WithArray(np.ones(2)), None):
        with pytest.raises(AttributeError, match=r"^from_dlpack: .*use asarray"):
            xp.from_dlpack(wrong)


def test_from_dlpack_lets_the_producers_error_through() -> None:
    class Refusing:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise BufferError("not today")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    with pytest.raises(BufferError, match=r"not today"):
        xp.from_dlpack(Refusing())


# -- of a shape --------------------


@pytest.mark.parametrize("dtype", [None, *ALL_DTYPES])
@pytest.mark.parametrize("shape", [(), 0, 3, (2, 3), (0, 2), (2, 0, 3), (1, 1, 1)])
def test_zeros_ones_full_and_empty_have_shape_dtype_and_value(dtype: str | None, shape: Any) -> None:
    own = getattr(xp, dtype) if dtype else None
    extents = shape if isinstance(shape, tuple) else (shape,)
    for name, value in (("zeros", 0), ("ones", 1), ("empty", None), ("full", 1)):
        got = xp.full(shape, float(value), dtype=own) if name == "full" and own is None else None
        if got is None:
            filling = (True if dtype == "bool" else 1,) if name == "full" else ()
            got = getattr(xp, name)(shape, *filling, dtype=own)
        assert (got.shape, got.dtype) == (extents, own or xp.float64)
        assert got.layout.is_contiguous
        if value is not None:
            assert (plain(got) == value).all()
        got[...] = got


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_the_like_functions_take_shape_dtype_and_device_of_any_layout(dtype: str) -> None:
    for layout, view in examples(dtype):
        x = ours(view)
        for name, value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", None), ("full_like", 1)):
            filling = (True if dtype == "bool" else 1,) if name == "full_like" else ()
            got = getattr(xp, name)(x, *filling)
            assert (got.shape, got.dtype, got.device) == (x.shape, x.dtype, x.device), layout
            assert got.layout.is_contiguous
            if value is not None:
                assert (plain(got) == value).all()
            other = getattr(xp, name)(x, *filling, dtype=xp.float32)
            assert other.dtype is xp.float32


@pytest.mark.parametrize(
    ("value", "dtype"), [(True, "bool"), (3, "int64"), (1.5, "float64"), (1j, "complex128"), (np.float32(2), "float64")]
)
def test_full_without_dtype_takes_the_default_of_the_values_kind(value: Any, dtype: str) -> None:
    assert identical(plain(xp.full((2,), value)), np.full(2, value, dtype))


def test_full_refuses_values_of_a_higher_kind_and_outside_the_dtype() -> None:
    for value, dtype in ((1.5, xp.int8), (1j, xp.float32), (NAN, xp.int64)):
        for make in (lambda v, d: xp.full(2, v, dtype=d), lambda v, d: xp.full_like(xp.ones(2), v, dtype=d)):
            with pytest.raises(TypeError, match=r"^full(_like)?: fill_value .* has no .* form"):
                make(value, dtype)
    for value, dtype in ((300, xp.int8), (-1, xp.uint64), (2**64, xp.uint64)):
        with pytest.raises(OverflowError, match=rf"^full: {value} does not fit {dtype}"):
            xp.full(2, value, dtype=dtype)
    for wrong in ("a", None, [1], np.ones(1)):
        with pytest.raises(TypeError, match=r"^full: fill_value must be a Python scalar"):
            xp.full(2, wrong)
    with pytest.raises(ValueError, match=r"^full: fill_value has shape \(1,\)"):
        xp.full(2, xp.ones(1))
    with pytest.raises(TypeError, match=r"^full: fill_value is float64, dtype int8"):
        xp.full(2, xp.asarray(1.5), dtype=xp.int8)
    assert identical(plain(xp.full(2, xp.asarray(3, dtype=xp.int8))), np.array([3, 3], np.int8))


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full"])
def test_shapes_are_checked_before_memory_is_asked_for(name: str) -> None:
    filling = (1,) if name == "full" else ()
    for wrong in (1.0, "3", (2, 1.5), None, (None,), xp.ones(2)):
        with pytest.raises(TypeError, match=rf"^{name}: shape must be an integer or a tuple"):
            getattr(xp, name)(wrong, *filling)
    for wrong in (-1, (2, -3), (1,) * 65, 2**62, (2**40, 2**40)):
        with pytest.raises(ValueError, match=rf"^{name}: shape"):
            getattr(xp, name)(wrong, *filling)
    assert getattr(xp, name)(np.int64(2), *filling).shape == (2,)
    assert getattr(xp, name)((xp.asarray(2), 3), *filling).shape == (2, 3)
    assert getattr(xp, name)([2, 3], *filling).shape == (2, 3)


# -- arange --------------------

WHOLE = st.integers(-(2**63), 2**64)
STEPS = st.integers(-(2**62), 2**62).filter(bool)


@given(WHOLE, st.integers(0, 30), STEPS, st.sampled_from(INTEGER))
@example(2**63 - 3, 3, 1, "int64")
@example(-(2**63), 5, 2**62, "int64")
@example(2**64 - 1, 3, -(2**62), "uint64")
@example(2**63 + 1, 2, 2**61, "uint64")
def test_integer_ranges_are_exact_over_the_whole_dtype_or_refused(
    start: int, count: int, step: int, dtype: str
) -> None:
    stop = start + count * step - (1 if step > 0 else -1) * (abs(step) // 2 if count else 0)
    want = list(range(start, stop, step))
    known = np.iinfo(dtype)
    if any(not known.min <= value <= known.max for value in want):
        with pytest.raises(OverflowError, match=rf"^arange: .* does not fit {dtype}"):
            xp.arange(start, stop, step, dtype=getattr(xp, dtype))
        return
    got = xp.arange(start, stop, step, dtype=getattr(xp, dtype))
    assert [int(value) for value in plain(got)] == want


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool), st.sampled_from(INTEGER))
def test_small_integer_ranges_are_pythons(start: int, stop: int, step: int, dtype: str) -> None:
    want = list(range(start, stop, step))
    if kind(dtype) == "uint" and any(value < 0 for value in want):
        return
    assert plain(xp.arange(start, stop, step, dtype=getattr(xp, dtype))).tolist() == want
    assert plain(xp.arange(start, stop, step=step)).tolist() == want
    if stop >= 0:
        assert plain(xp.arange(stop, dtype=getattr(xp, dtype))).tolist() == list(range(stop))


@given(
    st.integers(-(2**63), 2**63 - 200), st.integers(0, 20), st.sampled_from([1, 2, 3, 7]), st.sampled_from(REAL_FLOAT),
)  # fmt: skip
@example(2**53 + 1, 5, 1, "float64")
@example(2**60 + 65, 20, 7, "float64")
@example(2**54 + 2**30 + 1, 3, 1, "float32")
def test_integers_as_a_float_dtype_are_each_rounded_once(start: int, count: int, step: int, dtype: str) -> None:
    got = plain(xp.arange(start, start + count * step, step, dtype=getattr(xp, dtype)))
    want = range(start, start + count * step, step)
    assert got.shape == (count,)
    for value, exact in zip(got, want):
        neighbours = [np.nextafter(value, -INF), np.nextafter(value, INF)]
        error = abs(Fraction(float(value)) - exact)
        assert all(error <= abs(Fraction(float(other)) - exact) for other in neighbours)


@given(
    st.floats(-1e6, 1e6), st.floats(0.001, 1000), st.integers(0, 200), st.booleans(), st.sampled_from(REAL_FLOAT),
)  # fmt: skip
def test_float_ranges_have_the_right_count_and_no_error_that_adds_up(
    start: float, step: float, count: int, down: bool, dtype: str
) -> None:
    step = -step if down else step
    stop = start + count * step
    got = plain(xp.arange(start, stop, step, dtype=getattr(xp, dtype)))
    assert abs(got.size - max(0, math.ceil((Fraction(stop) - Fraction(start)) / Fraction(step)))) <= 1
    eps = float(np.finfo(dtype).eps)
    for number, value in enumerate(got):
        exact = Fraction(start) + number * Fraction(step)
        scale = abs(start) + abs(number * step) + 1e-30
        assert abs(Fraction(float(value)) - exact) <= Fraction(2 * eps * scale)


@pytest.mark.parametrize(
    ("arguments", "dtype"), [((3,), "int64"), ((3.0,), "float64"), ((0, 3.5), "float64"), ((0, 3, 0.5), "float64")]
)
def test_arange_without_dtype_is_the_default_of_its_arguments_kind(arguments: Any, dtype: str) -> None:
    assert identical(plain(xp.arange(*arguments)), np.arange(*arguments).astype(dtype))


def test_arange_refuses_no_step_no_number_and_no_end() -> None:
    with pytest.raises(ValueError, match=r"^arange: step must not be 0"):
        xp.arange(0, 5, 0)
    for wrong in (NAN, INF, -INF):
        with pytest.raises(ValueError, match=r"^arange: .*no finite number"):
            xp.arange(0.0, wrong, 1.0 if wrong != -INF else -1.0)
    for wrong in ("3", None, 1j, [3], xp.ones(1)):
        with pytest.raises(TypeError, match=r"^arange: st"):
            xp.arange(wrong)
    with pytest.raises(TypeError, match=r"^arange: dtype must be .* got bool"):
        xp.arange(3, dtype=xp.bool)
    with pytest.raises(ValueError, match=r"^arange: .*memory"):
        xp.arange(2**62)
    with pytest.raises(OverflowError, match=r"^arange: "):
        xp.arange(10**400, 1.5)
    assert plain(xp.arange(xp.asarray(3), np.int8(5))).tolist() == [3, 4]
    assert plain(xp.arange(0.0, 3.5, dtype=xp.int8)).tolist() == [0, 1, 2, 3]
    assert plain(xp.arange(2**200, 2**200 + 2, dtype=xp.float64)).tolist() == [2.0**200] * 2


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_ranges_are_rounded_from_float64(dtype: str) -> None:
    assert identical(plain(xp.arange(8, dtype=getattr(xp, dtype))), np.arange(8.0).astype(twin(dtype)))


# -- linspace --------------------


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 40),
)  # fmt: skip
@example(-1.7e308, 1.7e308, 5)
@example(5e-324, 1e-323, 3)
def test_linspace_begins_and_ends_exactly_and_is_even_in_between(start: float, stop: float, num: int) -> None:
    got = plain(xp.linspace(start, stop, num))
    assert got.shape == (num,)
    if num:
        assert got[0] == start
    if num > 1:
        assert got[-1] == stop
        step = (Fraction(stop) - Fraction(start)) / (num - 1)
        allowed = Fraction(8 * 2.0**-53) * max(abs(Fraction(start)), abs(Fraction(stop))) + Fraction(num * 5e-324)
        for number, value in enumerate(got):
            assert abs(Fraction(float(value)) - (Fraction(start) + number * step)) <= allowed
    assert identical(
        plain(xp.linspace(start, stop, num, endpoint=False)), plain(xp.linspace(start, stop, num + 1))[:-1]
    )


@pytest.mark.parametrize("dtype", [*FLOAT, *NARROW])
def test_linspace_of_every_floating_dtype_is_the_wide_one_rounded(dtype: str) -> None:
    got = plain(xp.linspace(0, 2, 9, dtype=getattr(xp, dtype)))
    assert identical(got, np.linspace(0, 2, 9).astype(twin(dtype)))
    assert xp.linspace(0, 1, 0, dtype=getattr(xp, dtype)).shape == (0,)


def test_linspace_of_complex_ends_moves_both_components() -> None:
    got = plain(xp.linspace(1 + 1j, 3 - 1j, 3))
    assert identical(got, np.array([1 + 1j, 2 + 0j, 3 - 1j]))
    assert xp.linspace(0, 1j, 2, dtype=xp.complex64).dtype is xp.complex64
    with pytest.raises(TypeError, match=r"^linspace: complex ends have no float64 form"):
        xp.linspace(0, 1j, 2, dtype=xp.float64)


def test_linspace_between_infinite_ends_keeps_them_without_a_warning() -> None:
    got = plain(xp.linspace(0.0, INF, 4))
    assert got[0] == 0
    assert got[-1] == INF
    assert plain(xp.linspace(-INF, 1.0, 3))[0] == -INF


def test_linspace_refuses_what_is_no_number_or_count() -> None:
    for wrong in (2.0, "2", None):
        with pytest.raises(TypeError, match=r"^linspace: num must be an integer"):
            xp.linspace(0, 1, wrong)
    with pytest.raises(ValueError, match=r"^linspace: num must not be negative, got -1"):
        xp.linspace(0, 1, -1)
    for wrong in ("0", None, [0]):
        with pytest.raises(TypeError, match=r"^linspace: start must be"):
            xp.linspace(wrong, 1, 3)
        with pytest.raises(TypeError, match=r"^linspace: stop must be"):
            xp.linspace(0, wrong, 3)
    with pytest.raises(OverflowError, match=r"^linspace: "):
        xp.linspace(0, 10**400, 3)
    assert plain(xp.linspace(0, -5, 3, dtype=xp.int64)).tolist() == [0, -3, -5]
    assert plain(xp.linspace(-(2**1023), 2**1023, 3)).tolist() == [-(2.0**1023), 0.0, 2.0**1023]


# -- eye, tril, triu, meshgrid --------------------


@pytest.mark.parametrize("dtype", [None, *STANDARD, *NARROW])
def test_eye_has_ones_on_any_diagonal_however_far(dtype: str | None) -> None:
    own = getattr(xp, dtype) if dtype else None
    for rows in range(4):
        for columns in (None, 0, 1, 3):
            for k in (-(2**70), -3, -1, 0, 1, 2, 2**63, 2**70):
                got = xp.eye(rows, columns, k=k, dtype=own)
                width = rows if columns is None else columns
                want = [[int(j - i == k) for j in range(width)] for i in range(rows)]
                assert got.dtype is (own or xp.float64)
                assert plain(got).real.astype(float).tolist() == want
    with pytest.raises(TypeError, match=r"^eye: k must be an integer"):
        xp.eye(3, k=0.5)
    with pytest.raises(ValueError, match=r"^eye: "):
        xp.eye(-1)


@pytest.mark.parametrize("dtype", [*STANDARD, "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_of_stacks_in_every_layout_and_any_k(name: str, dtype: str) -> None:
    values = special(dtype).reshape(1, 3, 4).repeat(2, axis=0)
    row, column = np.arange(3)[:, None], np.arange(4)
    for k in (-(2**70), -4, -1, 0, 2, 4, 2**70):
        keep = column - row <= k if name == "tril" else column - row >= k
        want = np.where(keep, values, np.zeros((), values.dtype))
        for layout, view in arranged(values):
            got = getattr(xp, name)(ours(view), k=k)
            assert identical(plain(got), want), layout
            assert not np.may_share_memory(plain(got), view)
    for layout, view in examples(dtype):
        if view.ndim < 2:
            with pytest.raises(ValueError, match=rf"^{name}: x has {view.ndim} axes"):
                getattr(xp, name)(ours(view))
        else:
            assert identical(plain(getattr(xp, name)(ours(view))), getattr(np, name)(view)), layout


@given(st.lists(st.integers(0, 4), max_size=4), st.sampled_from(["xy", "ij"]))
def test_meshgrid_agrees_with_numpy_and_never_copies(extents: list[int], indexing: str) -> None:
    arrays = [np.arange(n) for n in extents]
    got = xp.meshgrid(*map(ours, arrays), indexing=indexing)
    assert type(got) is tuple
    want = np.meshgrid(*arrays, indexing=indexing)
    assert len(got) == len(want)
    for one, other, source in zip(got, want, arrays):
        assert identical(plain(one), other)
        assert other.size == 0 or np.may_share_memory(plain(one), source)


def test_meshgrid_refuses_matrices_other_devices_and_other_orders() -> None:
    with pytest.raises(ValueError, match=r"^meshgrid: array 1 has shape \(2, 2\)"):
        xp.meshgrid(xp.ones(2), xp.ones((2, 2)))
    with pytest.raises(ValueError, match=r"^meshgrid: indexing must be one of 'xy', 'ij', got 'ab'"):
        xp.meshgrid(xp.ones(2), indexing="ab")
    with pytest.raises(TypeError, match=r"^meshgrid: arrays\[1\] is a builtins.int"):
        xp.meshgrid(xp.ones(2), 3)
    assert [m.shape for m in xp.meshgrid(xp.asarray(1), xp.ones(3))] == [(3, 1), (3, 1)]


# -- devices --------------------


def test_every_creation_function_puts_its_array_on_the_device_it_is_told() -> None:
    with candela_settings(simulated_devices=3):
        cpu, first, second = xp.__array_namespace_info__().devices()
        like = xp.ones((2, 2), device=first)
        makers: list[Any] = [
            lambda **k: xp.asarray([1, 2], **k), lambda **k: xp.asarray(1, **k),
            lambda **k: xp.asarray(np.ones(2), **k),
            lambda **k: xp.asarray(like, **k), lambda **k: xp.arange(3, **k), lambda **k: xp.linspace(0, 1, 3, **k),
            lambda **k: xp.zeros(2, **k), lambda **k: xp.ones(2, **k), lambda **k: xp.empty(2, **k),
            lambda **k: xp.full(2, 1.0, **k), lambda **k: xp.eye(2, **k), lambda **k: xp.zeros_like(like, **k),
            lambda **k: xp.ones_like(like, **k), lambda **k: xp.empty_like(like, **k),
            lambda **k: xp.full_like(like, 1, **k), lambda **k: xp.from_dlpack(np.ones(2), **k),
            lambda **k: xp.from_dlpack(like, **k), lambda **k: xp.astype(like, xp.int8, **k),
            lambda **k: xp.fft.fftfreq(4, **k), lambda **k: xp.fft.rfftfreq(4, **k),
        ]  # fmt: skip
        for make in makers:
            for device in (cpu, first, second, "simulated:2", "cpu"):
                got = make(device=device)
                assert str(got.device) == str(device)
            with pytest.raises(TypeError, match=r"is no device"):
                make(device=1)
            with pytest.raises(ValueError, match=r"no device is called 'gpu'"):
                make(device="gpu")
        for make in (xp.zeros_like, xp.ones_like, xp.empty_like, xp.asarray, xp.from_dlpack, xp.tril, xp.triu):
            assert make(like).device is first
        assert xp.asarray([xp.asarray(1, device=first), xp.asarray(2, device=first)]).device is first
        with pytest.raises(ValueError, match=r"^asarray: the sequence holds arrays on cpu and simulated:1"):
            xp.asarray([xp.asarray(1), xp.asarray(2, device=first)])
        for call in (xp.asarray, xp.from_dlpack):
            with pytest.raises(ValueError, match=r"simulated:1 to simulated:2 needs a copy"):
                call(like, device=second, copy=False)
            with pytest.raises(ValueError, match=r"cpu to simulated:2 needs a copy"):
                call(np.ones(2), device=second, copy=False)
            assert call(like, device=second, copy=True).device is second
        assert pickle.loads(pickle.dumps(like)).device is first
    with pytest.raises(ValueError, match=r"device simulated:1 is not among cpu"):
        xp.zeros(2, device=first)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("values", [[0, 1, 2, -3], [0.0, -0.0, 0.5, math.nan], [0j, 1j, 1 + 0j, -0j]])
def test_python_numbers_are_booleans_by_whether_they_are_zero(values: list[complex], strict: bool) -> None:
    with xp.settings(strict=strict):
        made = xp.asarray(values, dtype=xp.bool)
        singles = [xp.asarray(value, dtype=xp.bool) for value in values]
        filled = [xp.full(2, value, dtype=xp.bool)[1] for value in values]
    assert made.dtype is xp.bool
    assert [bool(one) for one in made] == [bool(value) for value in values] == [bool(one) for one in singles]
    assert [bool(one) for one in filled] == [bool(value) for value in values]


def test_a_masked_array_is_refused_and_its_parts_are_taken() -> None:
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(TypeError, match="would lose its mask"):
        xp.asarray(masked)
    assert [int(one) for one in xp.asarray(masked.filled(5))] == [1, 5]


@pytest.mark.parametrize("source", ["float8_e5m2", "float8_e4m3fn", "float32", "bfloat16"])
def test_every_narrow_float_becomes_a_float8_e8m0fnu_by_every_way_of_creation(source: str) -> None:
    x = xp.ones(2, dtype=getattr(xp, source))
    target = xp.float8_e8m0fnu
    made = (xp.asarray(x, dtype=target), xp.asarray(np.asarray(x), dtype=target), xp.astype(x, target))
    for one in (*made, xp.full(2, x[0], dtype=target), xp.full_like(x, x[0], dtype=target)):
        assert one.dtype is target
        assert [float(e) for e in one] == [1.0, 1.0]
