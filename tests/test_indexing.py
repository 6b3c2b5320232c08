"""Selecting and assigning, against NumPy: the same values and the same writes, or the same exception and no write."""

from __future__ import annotations

import enum
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, ARRANGEMENTS, cast, example, lay_out, numbers

import candela_xp as xp
from candela_xp._dtypes import DTYPES
from candela_xp._errors import DeviceError

ALL_DTYPES = list(DTYPES.values())
INTEGERS = [d for d in ALL_DTYPES if d.kind in ("int", "uint")]
WHOLE_BYTES = [d for d in INTEGERS if d.bits >= 8]  # NumPy takes these as indices


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def memory(array: np.ndarray) -> bytes:
    """Every byte of the memory under an array, also between its elements."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner.tobytes()


# -- keys of every sort ------------------------------------------------------------------------------


class Key(NamedTuple):
    """A key for NumPy, and the same key with our arrays in it."""

    theirs: Any
    ours: Any


def _index_array(draw: st.DrawFn, common: tuple[int, ...], extent: int) -> np.ndarray:
    """Integers, nearly always inside the axis, of a shape that nearly always broadcasts with the others."""
    dropped = draw(st.integers(0, len(common)))
    shape = tuple(1 if draw(st.booleans()) else n for n in common[dropped:])
    dtype = draw(st.sampled_from(WHOLE_BYTES)).dtype
    low = 0 if dtype.kind == "u" else -extent
    high = extent - 1 if draw(st.integers(0, 9)) else extent
    values = st.integers(low, high) if low <= high else st.just(0)
    count = math.prod(shape)
    return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype).reshape(shape)


def _mask(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    if shape and not draw(st.integers(0, 9)):
        shape = (shape[0] + 1, *shape[1:])
    count = math.prod(shape)
    return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_).reshape(shape)


def _kept(parts: list[Any]) -> tuple[Any, ...]:
    """The key with an Ellipsis, without which NumPy treats a single element as a scalar."""
    return tuple(parts) if any(part is ... for part in parts) else (*parts, ...)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...], *, advanced: bool = True) -> Key:
    """Keys of integers, slices, None, Ellipsis, integer arrays (also 0-d) and masks of any rank, mixed."""
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    theirs: list[Any] = []
    ours: list[Any] = []
    axis = 0
    ellipsis_at = draw(st.none() | st.integers(0, len(shape)))
    kinds = ["integer", "slice", "stop"] + ["array", "array", "zero-d", "mask"] * advanced
    while axis < len(shape):
        if len(theirs) == ellipsis_at:
            skipped = draw(st.integers(0, len(shape) - axis))
            axis += skipped
            theirs.append(...)
            ours.append(...)
            if axis == len(shape):
                break
        kind = draw(st.sampled_from(kinds))
        extent = shape[axis]
        if kind == "stop":
            break
        if kind == "integer":
            part = draw(st.integers(-extent, extent - 1)) if extent else 0
            axis += 1
        elif kind == "slice":
            part = draw(st.slices(extent))
            axis += 1
        elif kind == "array":
            part = _index_array(draw, common, extent)
            axis += 1
        elif kind == "zero-d":
            part = _index_array(draw, (), extent)
            axis += 1
        else:
            rank = draw(st.integers(0, len(shape) - axis))
            part = _mask(draw, shape[axis : axis + rank])
            axis += rank
        theirs.append(part)
        if isinstance(part, np.ndarray):
            form = draw(st.sampled_from(["ours", "ours", "ours", "numpy", "list", "strided"]))
            if form == "ours" or part.ndim == 0:
                part = xp.asarray(part)
            elif form == "strided":
                part = xp.asarray(lay_out(part, "stepped"))
            elif form == "list":
                part = part.tolist()
                theirs[-1] = part  # an empty list has no dtype, and no shape beyond its brackets
        ours.append(part)
    for _ in range(draw(st.integers(0, 1))):
        place = draw(st.integers(0, len(theirs)))
        theirs.insert(place, None)
        ours.insert(place, None)
    if len(theirs) == 1 and draw(st.booleans()):
        return Key(_kept(theirs), ours[0])
    return Key(_kept(theirs), tuple(ours))


@st.composite
def arrays(draw: st.DrawFn, *, ndim_max: int = 3, dtypes: Any = ALL_DTYPES) -> np.ndarray:
    """A writable NumPy array of a random shape, dtype and layout, in memory of its own."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=ndim_max)))
    dtype = draw(st.sampled_from(dtypes))
    return lay_out(numbers(shape, dtype.dtype), draw(st.sampled_from(list(ARRANGEMENTS))))


def outcome(call: Any) -> Any:
    """What a call returns, or the type of what it raises."""
    try:
        return call()
    except (IndexError, ValueError) as error:
        return IndexError if isinstance(error, IndexError) else ValueError


@settings(max_examples=700, deadline=None)
@given(arrays(), st.data())
def test_selecting_by_any_key_gives_what_numpy_gives(array, data):
    key = data.draw(keys(array.shape))
    expected = outcome(lambda: np.asarray(array[key.theirs]))
    found = outcome(lambda: xp.asarray(array)[key.ours])
    if isinstance(expected, type):
        assert found is expected
    else:
        assert isinstance(found, xp.NDArray)
        assert same_bits(found._numpy(), expected)
        assert found.shape == found.layout.shape == expected.shape


def assigned(array: np.ndarray, key: Any, value: np.ndarray) -> None:
    """The meaning of an assignment, element by element: NumPy tells which ones a key selects, the rest is counting."""
    places = np.asarray(np.arange(array.size).reshape(array.shape)[key])
    while value.ndim > places.ndim and value.shape[0] == 1:
        value = value[0]
    filling = np.broadcast_to(value, places.shape)
    flat = array.reshape(-1)
    assert np.shares_memory(flat, array) or not array.size
    for place, one in zip(places.reshape(-1).tolist(), filling.reshape(-1)):
        flat[place] = one


@settings(max_examples=700, deadline=None)
@given(arrays(), st.data())
def test_assigning_by_any_key_writes_what_numpy_writes(array, data):
    key = data.draw(keys(array.shape))
    selection = outcome(lambda: np.asarray(array[key.theirs]).shape)
    shape = selection if isinstance(selection, tuple) else ()
    dropped = data.draw(st.integers(0, len(shape)))
    shape = tuple(1 if data.draw(st.booleans()) else n for n in shape[dropped:])
    if data.draw(st.integers(0, 9)) == 0 and isinstance(selection, tuple):  # one fault at a time
        shape = (*shape, 2)
    if data.draw(st.integers(0, 9)) == 0:
        shape = (1,) * (array.ndim + 1 - len(shape)) + shape
    value = (numbers(shape, "int64") % 2 == 0 if array.dtype == np.bool_ else numbers(shape, "int64") + 100).astype(
        array.dtype
    )
    twin = np.array(array, order="C")
    expected = outcome(lambda: assigned(twin, key.theirs, value))
    if data.draw(st.booleans()):
        value = lay_out(value, data.draw(st.sampled_from(list(ARRANGEMENTS))))
    around = memory(array)
    found = outcome(lambda: xp.asarray(array).__setitem__(key.ours, xp.asarray(value)))
    assert found is expected
    assert same_bits(np.array(array), twin)
    if expected is not None or same_bits(lay_out(numbers(array.shape, array.dtype), "contiguous"), twin):
        assert memory(array) == around, "a failed or empty assignment wrote something"


@settings(max_examples=150, deadline=None)
@given(arrays(), st.data())
def test_assigning_a_scalar_by_any_key_writes_it_to_every_selected_element(array, data):
    key = data.draw(keys(array.shape))
    number = data.draw(st.sampled_from([True, False] if array.dtype == np.bool_ else [0, 1]))
    twin = np.array(array, order="C")
    expected = outcome(lambda: assigned(twin, key.theirs, np.asarray(number, array.dtype)))
    assert outcome(lambda: xp.asarray(array).__setitem__(key.ours, number)) is expected
    assert same_bits(np.array(array), twin)


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_index_arrays_and_masks_select_from_every_layout_of_every_dtype(name):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        mask = numbers(array.shape, "bool")
        assert same_bits(x[xp.asarray(mask)]._numpy(), array[mask])
        assert same_bits(x[xp.asarray(False)]._numpy(), array[np.asarray(False)])
        if array.size and array.ndim:
            index = np.array([0, -1, 0])
            assert same_bits(x[xp.asarray(index)]._numpy(), array[index])
            assert same_bits(x[None, index, ...]._numpy(), array[None, index, ...])
            assert same_bits(x[..., None, index]._numpy(), array[..., None, index])


# -- the standard's own sentences --------------------------------------------------------------------


def test_a_zero_dimensional_integer_array_is_the_integer():
    array = np.arange(12).reshape(3, 4)
    x = xp.asarray(array)
    for dtype in INTEGERS:
        if dtype is xp.int2:
            continue  # its greatest number is 1
        i, j = xp.asarray(1, dtype=dtype), xp.asarray(2, dtype=dtype)
        assert x[i, j].shape == ()
        assert int(x[i, j]) == 6
        assert x[i, ...]._numpy().tolist() == [4, 5, 6, 7]
        assert x[i, ...]._memory is x._memory
        assert x[xp.asarray([0, 2]), j]._numpy().tolist() == [2, 10]
        assert x[i, xp.asarray([[0], [3]])]._numpy().tolist() == [[4], [7]]
        assert x[i:, j:]._numpy().tolist() == [[6, 7], [10, 11]]


def test_index_arrays_broadcast_against_each_other():
    x = xp.reshape(xp.arange(12), (3, 4))
    rows, columns = xp.asarray([[0], [2]]), xp.asarray([1, 3])
    assert x[rows, columns]._numpy().tolist() == [[1, 3], [9, 11]]
    with pytest.raises(IndexError):
        x[xp.asarray([0, 1]), xp.asarray([0, 1, 2])]


@pytest.mark.parametrize(
    ("shape", "mask", "result"),
    [
        ((3,), (0,), (0,)),
        ((3, 4), (0,), (0, 4)),
        ((3, 4), (3, 0), (0,)),
        ((3, 4), (0, 4), (0,)),
        ((0, 4), (0,), (0, 4)),
        ((3, 4), (), (0, 3, 4)),
        ((), (), (0,)),
    ],
)
def test_a_mask_may_have_length_0_where_the_array_has_not(shape, mask, result):
    x = xp.zeros(shape)
    assert x[xp.zeros(mask, dtype=xp.bool)].shape == result
    x[xp.zeros(mask, dtype=xp.bool)] = 1.0
    assert not xp.any(x)


@pytest.mark.parametrize("value", [True, False])
def test_a_zero_dimensional_mask_adds_an_axis_of_length_1_or_0(value):
    array = np.arange(6.0).reshape(2, 3)
    x = xp.asarray(array)
    for mask in (xp.asarray(value), value, np.bool_(value), np.asarray(value)):
        assert x[mask].shape == (int(value), 2, 3)
        assert x[mask]._numpy().tolist() == [array.tolist()] * value
    x[xp.asarray(value)] = 9.0
    assert bool(xp.all(x == 9.0)) is value


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((3,), 3),
        ((3,), -4),
        ((3,), 2**70),
        ((3,), -(2**70)),
        ((3, 4), (0, 4)),
        ((3, 4), (slice(None), -5)),
        ((3, 4), (..., 4)),
        ((3, 4), (0, 0, 0)),
        ((3, 4), (slice(None),) * 3),
        ((3,), (..., ...)),
        ((), 0),
        ((), slice(None)),
        ((0,), 0),
        ((3,), xp.asarray(3)),
        ((3,), xp.asarray([0, 3])),
        ((3,), xp.asarray([-4])),
        ((3, 4), (xp.asarray([0]), xp.asarray([4]))),
        ((3,), xp.ones((2,), dtype=xp.bool)),
        ((3,), xp.ones((3, 1), dtype=xp.bool)),
        ((3, 4), xp.ones((4, 3), dtype=xp.bool)),
        ((), xp.asarray([0])),
        ((3,), xp.asarray([2**64 - 1], dtype=xp.uint64)),
        ((3,), xp.asarray([2**63], dtype=xp.uint64)),
        ((3,), xp.asarray(2**64 - 1, dtype=xp.uint64)),
        ((3,), np.array([2**64 - 1], np.uint64)),
        ((3,), [2**64 - 1]),
        ((3,), [2**70]),
        ((3, 4), (slice(None), xp.asarray([[2**64 - 3]], dtype=xp.uint64))),
        ((3,), xp.asarray([0.0])),
        ((3,), xp.asarray([0j])),
        ((3,), [0.0]),
        ((3,), [[0], [0, 1]]),
        ((3,), np.array(["0"])),
        ((3,), np.array([0], dtype="m8[s]")),
    ],
    ids=repr,
)
def test_an_index_out_of_range_or_of_another_dtype_is_an_index_error_and_writes_nothing(shape, key):
    x = xp.asarray(numbers(shape))
    before = x._numpy().copy()
    with pytest.raises(IndexError, match="ind"):
        x[key]
    with pytest.raises(IndexError, match="ind"):
        x[key] = 0.0
    assert same_bits(x._numpy(), before)


@pytest.mark.parametrize("key", ["a", 1.0, 1j, ((0, 1),), {1}, {}, b"a", int, range(2), object()])
def test_a_key_of_another_type_is_a_type_error_that_says_what_a_key_is(key):
    x = xp.zeros((3, 3))
    with pytest.raises(TypeError, match=r"index: a \w+ is no index; use integers, slices, None, ... or arrays"):
        x[key]
    with pytest.raises(TypeError, match=r"index: a \w+ is no index"):
        x[key] = 1.0
    assert not xp.any(x)


def test_slices_take_no_floats_and_no_step_of_0():
    x = xp.zeros(3)
    for key in (slice(0.0, 1), slice(None, None, 1.0), slice("a", None), (slice(0.5), None)):
        with pytest.raises(TypeError):
            x[key]
    for key in (slice(None, None, 0), (slice(None, None, 0), None)):
        with pytest.raises(ValueError, match="zero"):
            x[key]


def test_bounds_of_slices_may_be_anything_that_python_lists_take():
    listed = list(range(5))
    x = xp.asarray(listed)
    bounds = [None, -(2**70), -6, -5, -1, 0, 2, 5, 9, 2**70]
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, -1, -2, 2**70, -(2**70)):
                expected = listed[start:stop:step]
                assert x[start:stop:step]._numpy().tolist() == expected
                assert x[start:stop:step, None]._numpy().tolist() == [[n] for n in expected]
                x[start:stop:step] = x[start:stop:step]
    assert x._numpy().tolist() == listed


class Place(enum.IntEnum):
    """Something with `__index__` that is no plain int."""

    SECOND = 1


class ZeroD:
    """A 0-d integer of another library: it has a shape and an index."""

    shape = ()

    def __index__(self) -> int:
        return 1


class Several:
    """An array of another library: its index fails, or worse, works for one element."""

    shape = (1,)

    def __index__(self) -> int:
        return 0


def test_whatever_has_an_index_is_the_integer_and_gives_a_view():
    x = xp.reshape(xp.arange(6.0), (3, 2))
    for key in (Place.SECOND, np.int64(1), np.uint8(1), np.array(1), np.longlong(1), ZeroD(), xp.asarray(1), -2):
        for found in (x[key], x[key, :], x[..., key, :], x[:, 0][key]):
            assert found._memory is x._memory
        assert x[key]._numpy().tolist() == [2, 3]
        x[key] = x[key] * 1
    with pytest.raises(TypeError, match="a Several is no index"):
        x[Several()]


def test_lists_are_index_arrays_and_numpy_arrays_too():
    array = np.arange(12).reshape(3, 4)
    x = xp.asarray(array)
    for key in ([0, 2], [], [[]], [True, False, True], [[0, 1], [1, 2]], ([0, 1], [1, 2]), (slice(None), [0, 3])):
        assert same_bits(x[key]._numpy(), array[key])
    for key in (np.array([0, 2], ">i4"), np.array([0, 2], np.uint64), array > 5, (array[0] > 1)[:3]):
        assert same_bits(x[key]._numpy(), array[key])


# -- what is assigned --------------------------------------------------------------------------------

LEVEL = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}


def promotes(value: xp.DType, target: xp.DType) -> bool:
    """The rule of 2025.12: the promotion of the two is the array's own dtype. From NumPy's table within kinds."""
    if value is target:
        return True
    if value.extension or target.extension:
        wide = not target.extension and target.kind in ("float", "complex")
        if value is xp.complex32:
            return wide and target.kind == "complex"
        return value.name in ("float16", "bfloat16") and (wide or (value, target) == (xp.float16, xp.complex32))
    same_family = LEVEL[value.kind] == LEVEL[target.kind] or {value.kind, target.kind} == {"float", "complex"}
    return same_family and np.promote_types(value.dtype, target.dtype) == target.dtype


KEYS = (slice(None), xp.asarray([2, 1, 0]), xp.asarray([True] * 3))


def loses_its_imaginary_part(value: xp.DType, target: xp.DType) -> bool:
    return value.kind == "complex" and target.kind not in ("complex", "bool")


@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
def test_an_array_value_is_converted_to_the_dtype_of_the_array_or_refused(target):
    for source in ALL_DTYPES:
        zero = 0.5 if source is xp.float8_e8m0fnu else 0  # that one has no 0
        value = xp.asarray(cast([2.5, zero, 1], source.dtype))
        exact = cast(value._numpy(), source.wide)
        fits = not loses_its_imaginary_part(source, target)
        converted = cast(exact, target.dtype) if fits else exact
        for key in KEYS:
            x = xp.asarray(cast([1, 1, 0], target.dtype))
            before = x._numpy().copy()
            if not fits:
                said = rf"setitem: {source} values don't promote to {target}; use real\(\) or abs\(\) of the value"
                for strict in (False, True):
                    with xp.settings(strict=strict), pytest.raises(TypeError, match=said):
                        x[...] = value
                with pytest.raises(TypeError, match=said):
                    x[key] = value
                assert same_bits(x._numpy(), before)
                continue
            x[key] = value
            assert x.dtype is target
            expected = before.copy()
            expected[key if isinstance(key, slice) else key._numpy()] = converted
            assert same_bits(x._numpy(), expected)
            x = xp.asarray(before.copy())
            with xp.settings(strict=True):
                if promotes(source, target):
                    x[...] = value
                    assert same_bits(x._numpy(), converted)
                else:
                    with pytest.raises(TypeError, match=r"setitem: .* values don't promote to .*; use astype on the v"):
                        x[...] = value
                    assert same_bits(x._numpy(), before)


@pytest.mark.parametrize("target", [*INTEGERS, xp.bool], ids=str)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_floats_in_any_layout_go_towards_zero_or_are_true_where_not_zero(name, target):
    values = numbers((3, 4)) / 4 - (0 if target.kind == "uint" else 1.5)
    assert (values != np.trunc(values)).any()
    for source in ("float16", "float32", "float64"):
        exact = values.astype(source)
        for key in (..., (slice(None, None, -1), [0, 2, 1, 3]), np.ones((3, 4), np.bool)):
            value = exact.reshape(-1) if isinstance(key, np.ndarray) else exact
            array = lay_out(numbers((3, 4), target.dtype), name)
            twin = np.array(array)
            twin[key] = value
            xp.asarray(array)[key] = xp.asarray(lay_out(value, name))
            assert same_bits(np.array(array), twin)
            xp.asarray(array)[key] = xp.asarray(np.float16(0.75))  # broadcasts
            assert np.array(array).tolist() == [[target.kind == "bool"] * 4] * 3


@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
def test_a_scalar_value_is_converted_or_refused_by_its_kind(target):
    scalars = {
        0: [True, np.True_],
        1: [1, 0, np.int8(1), np.uint64(1), Place.SECOND],
        2: [1.75, 0.0, np.float16(1.75), np.float32(1.75), np.float64(1.75)],
    }
    scalars[3] = [1j, np.complex64(1j), np.complex128(1j)]
    if target.kind in ("int", "float") and target is not xp.float8_e8m0fnu:  # it has no sign
        scalars[2] += [-1.75, np.float32(-1.75)]
    arrays = {level: [np.array(v) for v in values if isinstance(v, np.generic)] for level, values in scalars.items()}
    for level, values in scalars.items():
        for value in [*values, *arrays[level]]:
            x = xp.asarray(np.array([0, 0]).astype(target.dtype))
            before = x._numpy().copy()
            if level < 3 or target.kind in ("bool", "complex"):
                x[0] = value
                plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
                expected = np.array([plain, 0]).astype(target.dtype)
                assert same_bits(x._numpy(), expected)
            else:
                with pytest.raises(TypeError, match=rf"setitem: .* doesn't promote to {target}; use .real or abs\(\)"):
                    x[0] = value
                assert same_bits(x._numpy(), before)
            x[...] = xp.asarray(before.copy())
            python = isinstance(value, bool | int | float | complex)  # np.float64 and np.complex128 are
            with xp.settings(strict=True):
                if python and level > 0 and LEVEL[target.kind] >= max(level, 1):
                    x[0] = value
                    assert same_bits(x._numpy(), expected)
                elif target.kind == "bool" and value is True:
                    x[0] = value
                else:
                    with pytest.raises(TypeError, match=r"setitem: .*; use "):
                        x[0] = value
                    assert same_bits(x._numpy(), before)


def test_strict_mode_names_the_way_out_for_a_scalar_of_a_higher_kind():
    with xp.settings(strict=True):
        for x, value in ((xp.asarray([1]), 1.5), (xp.asarray([True]), 0), (xp.asarray([True]), 1j)):
            with pytest.raises(TypeError, match=r"setitem: .* doesn't promote to .*; use .*; int\(\) or bool\(\) of a"):
                x[0] = value
        for value in (np.array(1.0), np.array(1), np.array(1j)):
            x = xp.asarray([1.0])
            with pytest.raises(TypeError, match=r"setitem: array\(.*\) is a NumPy array; use .item\(\) of the scalar"):
                x[0] = value


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30, -1e30, 2.0**64], ids=str)
def test_a_float_beyond_the_integers_is_what_astype_makes_of_it_or_stops_before_anything_is_written(target, value):
    x = xp.ones(3, dtype=target)
    for same in (value, np.float64(value), np.array(value), xp.asarray(value)):
        for key in (1, slice(None), xp.asarray([0, 2])):
            with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
                x[key] = same
            assert x._numpy().tolist() == [1, 1, 1]
    with np.errstate(invalid="ignore"):
        x[1] = value
        assert int(x[1]) == int(xp.astype(xp.asarray(value), target))
    assert x._numpy()[[0, 2]].tolist() == [1, 1]


def test_every_number_but_zero_is_true_also_such_as_no_dtype_holds():
    for value in (10**400, -(10**400), math.nan, math.inf, -0.5, 5e-324, 0.5j, complex(0, math.nan)):
        x = xp.asarray([False, False])
        x[0] = value
        assert x._numpy().tolist() == [True, False]
    for value in (0, 0.0, -0.0, 0j, -0j, np.array(0.0), np.array(-0j)):
        x = xp.asarray([True, True])
        x[0] = value
        assert x._numpy().tolist() == [False, True]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(d, v) for d in INTEGERS for v in (2**d.bits, -(2**d.bits), 2**70)] + [(xp.uint8, -1), (xp.float64, 10**400)],
    ids=str,
)
def test_an_integer_that_does_not_fit_is_refused(dtype, value):
    x = xp.ones(3, dtype=dtype)
    for error in (OverflowError, ValueError):
        with pytest.raises(error, match=f"setitem: .* does not fit {dtype}"):
            x[1:] = value
        for number in (np.int64, np.uint64):  # a NumPy scalar, alone or as an array, is the Python int
            limits = np.iinfo(number)
            if limits.min <= value <= limits.max:
                for same in (number(value), np.array(value, number)):
                    with pytest.raises(error, match=f"setitem: .* does not fit {dtype}"):
                        x[1:] = same
    assert x._numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d.kind in ("float", "complex") and d.bits > 8], ids=str)
def test_large_python_integers_become_floats(dtype):
    x = xp.zeros(1, dtype=dtype)
    big = 2**15 if dtype in (xp.float16, xp.complex32) else 2**100
    x[0] = big
    assert complex(x[0]) == big
    assert complex((x * 0 + big)[0]) == big


@pytest.mark.parametrize(
    "value",
    [
        [1.0],
        (1.0,),
        np.ones(3),
        np.ones((1, 1)),
        np.array("1"),
        np.array(1.0, dtype=object),
        np.array(None),
        np.array(np.datetime64(1, "s")),
        np.array(np.timedelta64(1, "s")),
        np.array((1.0, 2), dtype="f8,i4"),
        np.ma.array(1.0),
        np.ma.array(1.0, mask=True),
        "1",
        None,
        b"1",
        np.str_("1"),
        np.datetime64(1, "s"),
        np.timedelta64(1, "s"),
    ],
)
def test_a_value_of_another_type_is_a_type_error(value):
    x = xp.zeros(3)
    for key in (slice(None), xp.asarray([0, 1, 2]), 0):
        with pytest.raises(TypeError, match="setitem: "):
            x[key] = value
    assert not xp.any(x)
    with pytest.raises(TypeError, match=r"setitem: ndarray is no NDArray; use candela_xp.asarray\(value\)"):
        x[0] = np.ones(1)


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (slice(None), (4,)),
        (slice(None), (2,)),
        (slice(0, 0), (2,)),
        (0, (3,)),
        (0, (1, 2)),
        ((slice(None), None), (3, 2)),
        (xp.asarray([0, 1]), (3,)),
        (xp.asarray([[0, 1]]), (2, 1)),
        (xp.asarray([True, False, True]), (3,)),
        (xp.asarray([False] * 3), (2,)),
        (..., (0,)),
    ],
    ids=repr,
)
def test_a_value_that_does_not_broadcast_to_the_selection_is_refused_before_anything_is_written(key, shape):
    x = xp.asarray([1, 2, 3])
    with pytest.raises(ValueError, match=r"shape|assign"):
        x[key] = xp.zeros(shape, dtype=xp.int64)
    assert x._numpy().tolist() == [1, 2, 3]


def test_a_value_may_have_leading_axes_of_length_1_also_where_a_mask_selects():
    # NumPy takes them for every other key, and is a TypeError here.
    mask = xp.asarray([[True, False], [True, True]])
    for key, count in ((mask, 3), (mask[0, :], 2), ((mask, ...), 3), ((slice(None), 0), 2), (xp.asarray([0]), 2)):
        for shape in ((1, 1, 1), (1, 1, count)):
            x = xp.zeros((2, 2))
            x[key] = xp.ones(shape)
            y = xp.zeros((2, 2))
            y[key] = 1.0
            assert same_bits(x._numpy(), y._numpy())
        for shape in ((2, 1, count), (1, count + 1), (count, 2)):
            x = xp.zeros((2, 2))
            with pytest.raises(ValueError, match="shape"):
                x[key] = xp.ones(shape)
            assert not xp.any(x)


def test_read_only_memory_refuses_every_assignment():
    for arrangement in ("contiguous", "stepped", "reversed"):
        array = lay_out(numbers((3, 4)), arrangement)
        array.flags.writeable = False
        x = xp.asarray(array)
        for key in (0, slice(None), ..., (0, 0), xp.asarray([0]), xp.asarray(True), xp.ones((3, 4), dtype=xp.bool)):
            with pytest.raises(ValueError, match=r"setitem: .*read-only; use asarray\(x, copy=True\)"):
                x[key] = 0.0
        assert array.tolist() == numbers((3, 4)).tolist()


@pytest.mark.parametrize(
    "key", [..., (slice(None), 0), xp.asarray([0, 1]), xp.asarray(True), xp.ones((2, 3), dtype=xp.bool)]
)
def test_an_assignment_through_indices_that_share_elements_is_refused(key):
    base = xp.asarray([1, 2, 3])
    x = xp.broadcast_to(base, (2, 3))
    with pytest.raises(ValueError, match=r"setitem: several indices share an element .* asarray\(x, copy=True\)"):
        x[key] = 0
    assert base._numpy().tolist() == [1, 2, 3]


# -- assignment over itself: read before written -----------------------------------------------------


@st.composite
def twice(draw: st.DrawFn) -> tuple[np.ndarray, xp.NDArray, np.ndarray, xp.NDArray]:
    """Two views of one memory, as NumPy arrays and as arrays of ours, made separately or one from the other."""
    size = draw(st.integers(1, 8))
    values = draw(st.lists(st.integers(-size, size - 1), min_size=size, max_size=size))
    base = np.array(values)
    first, second = draw(st.slices(size)), draw(st.slices(size))
    if draw(st.booleans()):
        x = xp.asarray(base)
        return base[first], x[first], base[second], x[second]
    return base[first], xp.asarray(base[first]), base[second], xp.asarray(base[second])


@settings(max_examples=200, deadline=None)
@given(twice(), st.data())
def test_a_value_that_overlaps_the_target_is_read_before_it_is_written(case, data):
    array, x, value, ours = case
    assume(value.size)
    if value.size != array.size:
        value, ours = value[:1], ours[:1]
    expected = array.copy()
    expected[...] = value.copy()
    key = data.draw(st.sampled_from(["basic", "gather", "mask"]))
    if key == "basic":
        x[...] = ours
    elif key == "gather":
        x[xp.arange(array.size)] = ours
    else:
        x[xp.ones(array.shape, dtype=xp.bool)] = ours
    assert array.tolist() == expected.tolist()


@settings(max_examples=200, deadline=None)
@given(twice(), st.integers(-3, 3))
def test_an_index_array_in_the_memory_of_the_target_is_read_before_the_target_is_written(case, number):
    array, x, index, ours = case
    expected = array.copy()
    outside = index.size and not (-array.size <= index.min() and index.max() < array.size)
    before = array.tolist()
    if outside:
        with pytest.raises(IndexError):
            x[ours] = number
        assert array.tolist() == before
        return
    expected[index.copy()] = number
    x[ours] = number
    assert array.tolist() == expected.tolist()


@settings(max_examples=200, deadline=None)
@given(twice())
def test_value_and_index_array_may_both_lie_in_the_memory_of_the_target(case):
    array, x, index, ours = case
    assume(not index.size or (-array.size <= index.min() and index.max() < array.size))
    assume(np.unique(index % (array.size or 1)).size == index.size)  # which of two writes wins is nobody's promise
    expected = array.copy()
    expected[index.copy()] = index[::-1].copy()
    x[ours] = ours[::-1]
    assert array.tolist() == expected.tolist()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_a_mask_may_be_the_target_itself(values, number, separate):
    array = np.array(values)
    x = xp.asarray(array)
    mask = xp.asarray(array[::-1]) if separate else x[::-1]
    expected = array.copy()
    expected[array[::-1].copy()] = number
    x[mask] = number
    assert array.tolist() == expected.tolist()
    expected[expected.copy()] = expected.copy()[: int(expected.sum())]
    count = int(xp.count_nonzero(x))
    x[x] = x[:count]
    assert array.tolist() == expected.tolist()


def test_real_and_imaginary_parts_are_told_apart_and_overlaps_across_dtypes_are_seen():
    array = np.array([1 + 2j, 3 + 4j, 5 + 6j])
    z = xp.asarray(array)
    xp.real(z)[...] = xp.imag(z)
    assert array.tolist() == [2 + 2j, 4 + 4j, 6 + 6j]
    array[...] = [1 + 2j, 3 + 4j, 5 + 6j]
    z[...] = xp.imag(z)[::-1]  # float64 into complex128: cast, then written
    assert array.tolist() == [6, 4, 2]
    array[...] = [1 + 2j, 3 + 4j, 5 + 6j]
    parts = xp.asarray(array.view(np.float64))
    parts[1:] = parts[:-1]
    assert array.view(np.float64).tolist() == [1, 1, 2, 3, 4, 5]


def test_two_axes_that_trade_places_in_one_assignment():
    array = np.arange(9.0).reshape(3, 3)
    x = xp.asarray(array)
    x[...] = x.T
    assert array.tolist() == np.arange(9.0).reshape(3, 3).T.tolist()
    y = xp.asarray(array)
    y[::-1] = xp.asarray(array)
    assert array.tolist() == np.arange(9.0).reshape(3, 3).T[::-1].tolist()


# -- strict mode: what the standard doesn't promise --------------------------------------------------


STRICT_REFUSALS = [
    (0, "fewer"),
    (slice(None), "fewer"),
    ((), "fewer"),
    ((None, 0), "fewer"),
    ([0, 1], "list"),
    (np.array([0, 1]), "list"),
    (np.array(0), "0-d"),
    ((np.int64(0), 0), "0-d"),
    ((slice(None), xp.asarray([0, 1])), "mixture"),
    ((xp.asarray([0, 1]), ...), "mixture"),
    (xp.asarray([0, 1]), "mixture"),
    ((xp.asarray([True, False]), 0), "mixture"),
    ((None, xp.asarray([True, False])), "mixture"),
    (True, "mixture"),
]


@pytest.mark.parametrize("key", [key for key, _ in STRICT_REFUSALS], ids=repr)
def test_strict_mode_refuses_the_keys_that_the_standard_leaves_open_and_default_mode_takes_them(key):
    array = np.arange(4.0).reshape(2, 2)
    x = xp.asarray(array)
    theirs = tuple(p._numpy() if isinstance(p, xp.NDArray) else p for p in (key if isinstance(key, tuple) else (key,)))
    assert same_bits(x[key]._numpy(), np.asarray(array[theirs]))
    with xp.settings(strict=True):
        with pytest.raises(TypeError, match=r"index: .*; use "):
            x[key]
        with pytest.raises(TypeError, match=r"index: .*; use "):
            x[key] = 0.0
    assert array.tolist() == [[0, 1], [2, 3]]


def test_strict_mode_takes_the_keys_of_the_standard():
    array = np.arange(4.0).reshape(2, 2)
    x = xp.asarray(array)
    with xp.settings(strict=True):
        for key in (
            (0, 1),
            (0, ...),
            ...,
            (slice(None), 0),
            (None, 0, slice(None)),
            (xp.asarray([0, 1]), xp.asarray([1, 0])),
            (xp.asarray([[0], [1]]), 1),
            (xp.asarray(1), 0),
            (xp.asarray(1), xp.asarray([0, 1])),
            xp.asarray([[True, False], [False, True]]),
            xp.asarray([True, False]),
            xp.asarray(True),
        ):
            theirs = tuple(
                p._numpy() if isinstance(p, xp.NDArray) else p for p in (key if isinstance(key, tuple) else (key,))
            )
            assert same_bits(x[key]._numpy(), np.asarray(array[theirs]))
            x[key] = x[key]
        assert xp.asarray(3.0)[()].shape == xp.asarray(3.0)[...].shape == ()
        assert int(xp.arange(3)[1]) == 1
        assert xp.arange(3)[1:].shape == (2,)
    assert array.tolist() == [[0, 1], [2, 3]]


# -- devices -----------------------------------------------------------------------------------------


def test_keys_and_values_of_another_device_are_refused_and_both_are_named():
    with xp.settings(simulated_devices=3):
        first, second = xp.__array_namespace_info__().devices()[1:]
        x = xp.zeros((2, 2), device=first)
        for key in (xp.asarray(0, device=second), xp.asarray([0, 1], device=second), xp.ones((2, 2), dtype=xp.bool)):
            with pytest.raises(DeviceError, match=r"index: .*simulated:1.* other on (simulated:2|cpu).*to_device"):
                x[key]
            with pytest.raises(DeviceError, match=r"index: .*simulated:1"):
                x[key] = 1.0
        with pytest.raises(DeviceError, match=r"setitem: .*simulated:1.*simulated:2"):
            x[...] = xp.ones((2, 2), device=second)
        assert not xp.any(x)
        x[xp.asarray([0], device=first)] = xp.ones(2, device=first)
        assert x[0].device is first
        assert x[xp.asarray([0], device=first)].device is first
        assert x._numpy().tolist() == [[1, 1], [0, 0]]


def test_results_of_indexing_keep_dtype_and_device():
    with xp.settings(simulated_devices=2):
        device = xp.__array_namespace_info__().devices()[1]
        for dtype in ALL_DTYPES:
            x = xp.asarray(numbers((2, 3), dtype.dtype), device=device)
            keys_ = (
                0,
                ...,
                None,
                (0, 0),
                xp.asarray([0], device=device),
                xp.ones((2, 3), dtype=xp.bool, device=device),
            )
            for key in keys_:
                assert x[key].device is device
                assert x[key].dtype is dtype
