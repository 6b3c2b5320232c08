"""The design's table "What is a view", operation by operation, for every dtype and many layouts, against NumPy's views.

A view is the same buffer under another layout: same buffer object, addresses and strides as NumPy's view has,
and a write on either side seen on the other.
"""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, basic_keys, example, lay_out, numbers, views

import candela_xp as xp
from candela_xp._dtypes import DTYPES

ALL_DTYPES = list(DTYPES.values())
COMPLEX = [xp.complex64, xp.complex128]


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def element_addresses(array: np.ndarray) -> np.ndarray:
    """The address of every element, from NumPy's strides alone."""
    places = np.full(array.shape, address(array))
    for axis, step in enumerate(array.strides):
        places += (np.arange(array.shape[axis]) * step).reshape((-1,) + (1,) * (array.ndim - 1 - axis))
    return places


def shares_an_element(array: np.ndarray) -> bool:
    return np.unique(element_addresses(array)).size < array.size


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def assert_same_place(result: xp.NDArray, expected: np.ndarray, what: str) -> None:
    """Shape, dtype, the address of every element, and the layout that NumPy's view has."""
    layout = result.layout
    assert result.dtype == expected.dtype, what
    assert result.shape == layout.shape == expected.shape, what
    assert layout.fits(result._memory.nbytes // result.itemsize), what
    if expected.size:
        first = address(result._memory.root) + layout.offset * result.itemsize
        assert first == address(expected) == address(result._numpy()), what
        for axis, extent in enumerate(expected.shape):
            if extent > 1:
                assert layout.stride[axis] * result.itemsize == expected.strides[axis], (what, axis)
    assert same_bits(result._numpy(), expected), what


class Operation(NamedTuple):
    """A view operation, its twin in NumPy, and the arrays on which both are defined."""

    name: str
    ours: Callable[[xp.NDArray], xp.NDArray]
    theirs: Callable[[np.ndarray], np.ndarray]
    defined: Callable[[np.ndarray], bool] = lambda array: True


def _ndim(least: int, most: int = 9) -> Callable[[np.ndarray], bool]:
    return lambda array: least <= array.ndim <= most


def _nonempty(least: int) -> Callable[[np.ndarray], bool]:
    return lambda array: array.ndim >= least and array.size > 0


def _kept(key: Any) -> Any:
    """The key with an Ellipsis, which keeps NumPy from making a scalar of a single element."""
    parts = key if isinstance(key, tuple) else (key,)
    return key if any(part is ... for part in parts) else (*parts, ...)


def _basic(key: Any, defined: Callable[[np.ndarray], bool]) -> Operation:
    return Operation(f"x[{key}]", lambda x: x[key], lambda array: array[_kept(key)], defined)


def _mesh(array: np.ndarray, place: int, indexing: str) -> np.ndarray:
    return np.meshgrid(array, np.zeros(2), indexing=indexing, copy=False, sparse=False)[place]


def _real(array: np.ndarray) -> np.ndarray:
    if array.dtype.name != "complex32":
        return array.real
    # NumPy knows ml_dtypes' complex numbers as no complex ones.
    return np.lib.stride_tricks.as_strided(array[..., None].view(np.float16), array.shape, array.strides)


OPERATIONS = [
    _basic((), _ndim(0)),
    _basic(..., _ndim(0)),
    _basic(None, _ndim(0)),
    _basic((None, ..., None), _ndim(0)),
    _basic(0, _nonempty(1)),
    _basic(-1, _nonempty(1)),
    _basic((0, -1), _nonempty(2)),
    _basic((0, 0, 0), _nonempty(3)),
    _basic((..., 0), _nonempty(1)),
    _basic((slice(None), 0), _nonempty(2)),
    _basic((0, None, slice(None, None, -1)), _nonempty(2)),
    _basic(slice(None), _ndim(1)),
    _basic(slice(1, None), _ndim(1)),
    _basic(slice(None, -1), _ndim(1)),
    _basic(slice(None, None, 2), _ndim(1)),
    _basic(slice(None, None, -1), _ndim(1)),
    _basic(slice(-1, None, -2), _ndim(1)),
    _basic(slice(2, 2), _ndim(1)),
    _basic(slice(1, 100, 2**70), _ndim(1)),
    _basic((slice(None, None, -1), slice(None, None, 3)), _ndim(2)),
    _basic((slice(1, 3), None, ..., slice(None, None, -2)), _ndim(2)),
    Operation("x[np.int64(0)]", lambda x: x[np.int64(0)], lambda array: array[0, ...], _nonempty(1)),
    Operation("x[0-d array]", lambda x: x[xp.asarray(0)], lambda array: array[0, ...], _nonempty(1)),
    Operation("x[0-d ndarray, :]", lambda x: x[np.array(-1), :], lambda array: array[-1, ...], _nonempty(2)),
    Operation(
        "x[..., 0-d uint8 array]",
        lambda x: x[..., xp.asarray(0, dtype=xp.uint8)],
        lambda array: array[..., 0, ...] if array.ndim == 0 else array[(slice(None),) * (array.ndim - 1) + (0, ...)],
        _nonempty(1),
    ),
    Operation("permute_dims", lambda x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]), np.transpose),
    Operation(
        "permute_dims (2, 0, 1)", lambda x: xp.permute_dims(x, (2, 0, 1)), lambda a: a.transpose(2, 0, 1), _ndim(3)
    ),
    Operation("matrix_transpose", xp.matrix_transpose, np.matrix_transpose, _ndim(2)),
    Operation("linalg.matrix_transpose", xp.linalg.matrix_transpose, np.matrix_transpose, _ndim(2)),
    Operation(".T", lambda x: x.T, lambda array: array.T, _ndim(2, 2)),
    Operation(".mT", lambda x: x.mT, lambda array: array.mT, _ndim(2)),
    Operation("moveaxis", lambda x: xp.moveaxis(x, 0, -1), lambda array: np.moveaxis(array, 0, -1), _ndim(1)),
    Operation(
        "moveaxis of two", lambda x: xp.moveaxis(x, (0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0)), _ndim(3)
    ),
    Operation("expand_dims 0", lambda x: xp.expand_dims(x, axis=0), lambda array: np.expand_dims(array, 0)),
    Operation("expand_dims -1", lambda x: xp.expand_dims(x, axis=-1), lambda array: np.expand_dims(array, -1)),
    Operation(
        "expand_dims (0, 2)", lambda x: xp.expand_dims(x, axis=(0, 2)), lambda a: np.expand_dims(a, (0, 2)), _ndim(1)
    ),
    Operation("squeeze ()", lambda x: xp.squeeze(x, axis=()), lambda array: np.squeeze(array, ())),
    Operation(
        "squeeze",
        lambda x: xp.squeeze(x, axis=tuple(k for k, n in enumerate(x.shape) if n == 1)),
        lambda array: np.squeeze(array),
    ),
    Operation("squeeze of expand_dims", lambda x: xp.squeeze(x[None], axis=0), lambda array: array.view()),
    Operation("flip", lambda x: xp.flip(x), lambda a: a[(slice(None, None, -1),) * a.ndim + (...,)]),
    Operation("flip 0", lambda x: xp.flip(x, axis=0), lambda array: np.flip(array, 0), _ndim(1)),
    Operation("flip (0, -1)", lambda x: xp.flip(x, axis=(0, -1)), lambda array: np.flip(array, (0, -1)), _ndim(2)),
    Operation("broadcast_to", lambda x: xp.broadcast_to(x, (2, *x.shape)), lambda a: np.broadcast_to(a, (2, *a.shape))),
    Operation(
        "broadcast_to (inner)",
        lambda x: xp.broadcast_to(x[..., None], (*x.shape, 3)),
        lambda array: np.broadcast_to(array[..., None], (*array.shape, 3)),
    ),
    Operation("broadcast_to (own shape)", lambda x: xp.broadcast_to(x, x.shape), lambda a: np.broadcast_to(a, a.shape)),
    Operation(
        "broadcast_arrays",
        lambda x: xp.broadcast_arrays(x, xp.zeros((2, 1)[: x.ndim and 1] + (1,) * x.ndim))[0],
        lambda array: np.broadcast_to(
            array, np.broadcast_shapes(array.shape, (2, 1)[: array.ndim and 1] + (1,) * array.ndim)
        ),
    ),
    Operation(
        "meshgrid xy", lambda x: xp.meshgrid(x, xp.zeros(2))[0], lambda array: _mesh(array, 0, "xy"), _ndim(1, 1)
    ),
    Operation(
        "meshgrid ij",
        lambda x: xp.meshgrid(xp.zeros(2), x, indexing="ij")[1],
        lambda array: np.meshgrid(np.zeros(2), array, indexing="ij", copy=False)[1],
        _ndim(1, 1),
    ),
    Operation("unstack", lambda x: xp.unstack(x)[-1], lambda array: array[-1, ...], _nonempty(1)),
    Operation(
        "unstack -1",
        lambda x: xp.unstack(x, axis=-1)[0],
        lambda array: array[(slice(None),) * (array.ndim - 1) + (0, ...)],
        _nonempty(1),
    ),
    Operation("iteration", lambda x: next(iter(x)), lambda array: array[0, ...], _nonempty(1)),
    Operation("real", xp.real, _real, lambda array: array.dtype != np.bool_),
    Operation("imag", xp.imag, lambda array: array.imag, lambda array: array.dtype.kind == "c"),
    Operation(
        "imag of a transpose",
        lambda x: xp.imag(x.mT),
        lambda a: a.mT.imag,
        lambda a: a.dtype.kind == "c" and a.ndim > 1,
    ),
    Operation("linalg.diagonal", xp.linalg.diagonal, lambda array: np.diagonal(array, 0, -2, -1), _ndim(2)),
    Operation(
        "linalg.diagonal 1", lambda x: xp.linalg.diagonal(x, offset=1), lambda a: np.diagonal(a, 1, -2, -1), _ndim(2)
    ),
    Operation(
        "linalg.diagonal -2", lambda x: xp.linalg.diagonal(x, offset=-2), lambda a: np.diagonal(a, -2, -2, -1), _ndim(2)
    ),
    Operation("asarray", xp.asarray, lambda array: array.view()),
    Operation("asarray(copy=False)", lambda x: xp.asarray(x, copy=False), lambda array: array.view()),
    Operation("asarray(dtype=own)", lambda x: xp.asarray(x, dtype=x.dtype, device=x.device), lambda a: a.view()),
    Operation("astype(copy=False)", lambda x: xp.astype(x, x.dtype, copy=False), lambda array: array.view()),
    Operation("from_dlpack", xp.from_dlpack, lambda array: array.view()),
    Operation("from_dlpack(copy=False)", lambda x: xp.from_dlpack(x, copy=False), lambda array: array.view()),
    Operation("to_device", lambda x: x.to_device(x.device), lambda array: array.view()),
    Operation("reshape (own shape)", lambda x: xp.reshape(x, x.shape, copy=False), lambda array: array.view()),
    Operation(
        "reshape (one more axis)",
        lambda x: xp.reshape(x, (1, *x.shape), copy=False),
        lambda array: np.reshape(array, (1, *array.shape), copy=False),
    ),
]
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def cases(operation: Operation, name: str, dtypes: Any = ALL_DTYPES) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays in one layout on which an operation is defined, with what an error calls them."""
    for dtype in dtypes:
        array = example(name, dtype.dtype)
        if operation.defined(array):
            yield f"{operation.name} of {dtype}, {name}", array


@pytest.mark.parametrize("name", ALL_LAYOUTS)
@pytest.mark.parametrize("operation", BY_NAME)
def test_the_operation_gives_the_same_buffer_and_the_layout_of_numpys_view(operation, name):
    operation = BY_NAME[operation]
    for what, array in cases(operation, name):
        x = xp.asarray(array)
        result = operation.ours(x)
        assert result._memory is x._memory, what
        assert result.device is x.device, what
        assert_same_place(result, operation.theirs(array), what)


def _values(dtype: xp.DType) -> tuple[Any, Any]:
    """Two values that no test array holds everywhere."""
    return (False, True) if dtype is xp.bool else (2, 4)


@pytest.mark.parametrize("name", ALL_LAYOUTS)
@pytest.mark.parametrize("operation", BY_NAME)
def test_a_write_through_the_view_writes_the_base_and_a_write_to_the_base_shows_in_the_view(operation, name):
    operation = BY_NAME[operation]
    for what, array in cases(operation, name, [xp.bool, xp.int8, xp.bfloat16, xp.float64, *COMPLEX]):
        x = xp.asarray(array)
        result = operation.ours(x)
        first, second = _values(result.dtype)
        twin = example(name, array.dtype)
        sharing = shares_an_element(operation.theirs(array))
        if (result._memory.writable and sharing) or not array.flags.writeable:
            before = array.tobytes()
            reason = "read-only.*copy=True" if not result._memory.writable else "several indices share.*copy=True"
            with pytest.raises(ValueError, match=reason):
                result[...] = first
            with pytest.raises(ValueError, match=reason):
                operator.iand(result, True) if result.dtype is xp.bool else operator.iadd(result, result)
            assert array.tobytes() == before, what
            continue
        expected = operation.theirs(twin)
        expected.flags.writeable = True  # NumPy locks diagonals and broadcasts, also where nothing is shared
        result[...] = first
        expected[...] = first
        assert same_bits(array, twin), what
        assert same_bits(x._numpy(), twin), what
        x[...] = second
        twin[...] = second
        assert same_bits(result._numpy(), expected), what
        assert same_bits(array, twin), what


def test_the_refusal_names_the_function_the_layout_and_the_way_out():
    x = xp.broadcast_to(xp.asarray([1, 2, 3]), (2, 3))
    for function, write in (("setitem", lambda: x.__setitem__(..., 0)), ("add", lambda: x.__iadd__(1))):
        with pytest.raises(ValueError, match=rf"{function}: .*\(2, 3\).*\(0, 1\).*asarray\(x, copy=True\)"):
            write()
    locked = np.arange(3)
    locked.flags.writeable = False
    y = xp.asarray(locked)
    for function, write in (("setitem", lambda: y.__setitem__(0, 0)), ("multiply", lambda: y.__imul__(2))):
        with pytest.raises(ValueError, match=rf"{function}: .*read-only.*asarray\(x, copy=True\)"):
            write()
    assert locked.tolist() == [0, 1, 2]


def test_a_part_of_a_broadcast_array_that_shares_nothing_takes_writes():
    # x[0] is an array of its own right: no two of its indices share an element.
    base = xp.asarray([1, 2, 3])
    x = xp.broadcast_to(base, (2, 3))
    x[0] = 7
    assert base._numpy().tolist() == [7, 7, 7]
    x[1, 1:] += xp.asarray([1, 2])
    assert base._numpy().tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match="copy=True"):
        x[:, 0] = 1


def test_overlapping_windows_refuse_writes_and_disjoint_parts_of_them_take_them():
    x = xp.asarray(example("windows"))  # read-only memory
    owner = np.arange(6.0)
    x = xp.asarray(np.ndarray((3, 4), owner.dtype, owner, 0, (8, 8)))
    with pytest.raises(ValueError, match="copy=True"):
        x[...] = 0
    x[1:, -1] = -1
    assert owner.tolist() == [0, 1, 2, 3, -1, -1]


# -- kernels' results are arrays like others ---------------------------------------------------------


@pytest.mark.parametrize("operation", BY_NAME)
def test_a_view_of_a_result_that_has_no_layout_yet_is_a_view(operation):
    operation = BY_NAME[operation]
    for shape, dtype in itertools.product([(), (5,), (3, 4), (2, 3, 4), (2, 0)], [xp.int16, xp.complex64]):
        x = xp.asarray(numbers(shape, dtype.dtype)) + xp.asarray(numbers(shape, dtype.dtype))
        if operation.defined(x._numpy()):
            result = operation.ours(x)
            assert result._memory is x._memory
            assert_same_place(result, operation.theirs(x._numpy()), f"{operation.name} of {shape}")


@given(views(), st.data())
def test_any_key_on_any_layout_gives_the_place_that_numpy_gives(case, data):
    key = data.draw(basic_keys(case.view.shape))
    x = xp.asarray(case.view)
    assert_same_place(x[key], case.view[_kept(key)], f"{case.steps} {key}")


# -- reshape: a view exactly where a layout expresses it ---------------------------------------------


def shapes_of_size(size: int, ndim_max: int = 4) -> Iterator[tuple[int, ...]]:
    """Every shape of up to four axes with that many elements; of none, a few."""
    if size == 0:
        yield from [(0,), (3, 0), (0, 2), (1, 0, 4)]
        return
    divisors = [n for n in range(1, size + 1) if size % n == 0]
    for ndim in range(0 if size == 1 else 1, ndim_max + 1):
        for shape in itertools.product(divisors, repeat=ndim):
            if np.prod(shape, dtype=int) == size:
                yield shape


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_reshape_is_a_view_exactly_where_a_layout_expresses_it(name):
    for dtype in (xp.uint8, xp.float64):
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        for shape in shapes_of_size(array.size):
            try:
                expected = np.reshape(array, shape, copy=False)
            except ValueError:
                with pytest.raises(ValueError, match=r"reshape: cannot view .* copy=False; pass copy=None"):
                    xp.reshape(x, shape, copy=False)
                result = xp.reshape(x, shape)
                assert not np.shares_memory(result._numpy(), array)
                assert result.layout.is_contiguous
                assert result._memory.writable
                assert same_bits(result._numpy(), array.reshape(shape))
                continue
            for flag in (None, False):
                result = xp.reshape(x, shape, copy=flag)
                assert result._memory is x._memory
                assert_same_place(result, expected, f"{name} as {shape}")


@given(views(ndim_max=4), st.data())
def test_reshape_of_any_layout_agrees_with_numpy_about_copies(case, data):
    shape = data.draw(st.sampled_from(list(shapes_of_size(case.view.size))[:400]))
    x = xp.asarray(case.view)
    result = xp.reshape(x, shape)
    assert result._numpy().tolist() == case.view.reshape(shape).tolist()
    try:
        expected = np.reshape(case.view, shape, copy=False)
    except ValueError:
        assert not np.shares_memory(result._numpy(), case.view)
        with pytest.raises(ValueError, match="copy=None"):
            xp.reshape(x, shape, copy=False)
    else:
        assert_same_place(result, expected, f"{case.steps} as {shape}")


# -- copies are copies -------------------------------------------------------------------------------

COPIES: dict[str, Callable[[xp.NDArray], xp.NDArray]] = {
    "asarray": lambda x: xp.asarray(x, copy=True),
    "asarray(dtype=own)": lambda x: xp.asarray(x, dtype=x.dtype, copy=True),
    "astype": lambda x: xp.astype(x, x.dtype),
    "astype(copy=True)": lambda x: xp.astype(x, x.dtype, copy=True),
    "reshape": lambda x: xp.reshape(x, x.shape, copy=True),
    "reshape (flat)": lambda x: xp.reshape(x, (-1,), copy=True),
    "from_dlpack": lambda x: xp.from_dlpack(x, copy=True),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", ALL_LAYOUTS)
@pytest.mark.parametrize("function", COPIES)
def test_a_copy_is_dense_writable_and_shares_nothing(function, name):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        result = COPIES[function](x)
        assert result.dtype is dtype
        assert result.layout.is_contiguous
        assert result._memory.writable
        assert not result._memory.exported
        assert result._memory is not x._memory
        assert result._memory.nbytes == array.size * array.itemsize
        assert not np.shares_memory(result._numpy(), array)
        assert same_bits(result._numpy().reshape(array.shape), array)


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_a_numpy_array_is_shared_unless_a_copy_is_asked_for(name):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        for flag in (None, False):
            x = xp.asarray(array, copy=flag)
            assert_same_place(x, array, f"{name} {dtype}")
            assert x._memory.exported
            assert not array.size or x._memory.writable == array.flags.writeable
        x = xp.asarray(array, copy=True)
        assert x.layout.is_contiguous
        assert x._memory.writable
        assert not np.shares_memory(x._numpy(), array)
        assert same_bits(x._numpy(), array)


def test_what_cannot_be_shared_is_refused_with_copy_false():
    x = xp.asarray([1, 2, 3])
    odd = np.zeros(4, [("flag", "i1"), ("value", "f8")])["value"]  # 9 bytes from element to element
    with xp.settings(simulated_devices=2):
        other = xp.__array_namespace_info__().devices()[1]
        for call in (
            lambda: xp.asarray(x, dtype=xp.int32, copy=False),
            lambda: xp.asarray(x, device=other, copy=False),
            lambda: xp.asarray([1, 2], copy=False),
            lambda: xp.asarray(1, copy=False),
            lambda: xp.asarray(odd, copy=False),
            lambda: xp.asarray(np.arange(3, dtype=">i8"), copy=False),
            lambda: xp.from_dlpack(x, device=other, copy=False),
            lambda: xp.from_dlpack(np.arange(3), device=other, copy=False),
        ):
            with pytest.raises(ValueError, match="copy=None"):
                call()
    assert xp.asarray(odd)._numpy().tolist() == [0, 0, 0, 0]


def test_repeat_tile_and_roll_copy():
    x = xp.asarray([1, 2, 3])
    for result in (
        xp.repeat(x, 1),
        xp.tile(x, (1,)),
        xp.roll(x, 0),
        xp.take(x, xp.asarray([0, 1, 2])),
        x[xp.asarray([0])],
    ):
        assert not np.shares_memory(result._numpy(), x._numpy())
        assert result._memory.writable


def test_index_arrays_and_masks_copy():
    array = lay_out(numbers((3, 4)), "stepped")
    x = xp.asarray(array)
    for key in (xp.asarray([0, 1, 2]), xp.ones((3, 4), dtype=xp.bool), xp.asarray(True), [0, 1], np.array([True] * 3)):
        assert not np.shares_memory(x[key]._numpy(), array)
        assert x[key].layout.is_contiguous


# -- chains ------------------------------------------------------------------------------------------


def test_views_of_views_stay_over_one_buffer_however_long_the_chain():
    array = np.arange(2 * 3 * 4 * 5, dtype=np.complex64).reshape(2, 3, 4, 5)
    x = xp.asarray(array)
    result = xp.imag(xp.flip(xp.moveaxis(x[:, None, ::-1, 1:, ::2], 0, -1), axis=(1, 2)))[0, 1:].mT
    expected = np.flip(np.moveaxis(array[:, None, ::-1, 1:, ::2], 0, -1), (1, 2)).imag[0, 1:].mT
    assert result._memory is x._memory
    assert_same_place(result, expected, "chain")
    result[...] = 5
    assert (expected == 5).all()
    assert (array.imag == 5).sum() == expected.size


def test_the_buffer_lives_as_long_as_a_view_of_it():
    def view() -> xp.NDArray:
        return (xp.asarray(np.arange(1000.0)) * 2)[500:503]

    assert view()._numpy().tolist() == [1000, 1002, 1004]
