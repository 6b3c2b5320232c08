"""Exchange with others: DLPack in and out, NumPy, the buffer protocol, pickles, copies, text, scalars, devices."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import itertools
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from layouts import ALL_LAYOUTS, example, lay_out, layouts, numbers, positions

import candela_xp as xp
from candela_xp import _array, _device
from candela_xp._buffer import Buffer
from candela_xp._dtypes import DTYPES, EXTENSIONS
from candela_xp._errors import DeviceError
from candela_xp._layout import Layout

ALL_DTYPES = list(DTYPES.values())
CPU = (1, 0)


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def collected(watched: weakref.ref) -> bool:
    gc.collect()
    return watched() is None


# -- NumPy and the buffer protocol -------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_numpys_asarray_shares_our_memory(name):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        for found in (np.asarray(x), np.asarray(x, copy=False), x.__array__(), np.asarray(x, dtype=dtype.dtype)):
            assert same_bits(found, array)
            assert not array.size or address(found) == address(array)
            assert found.flags.writeable is (x._memory.writable and not x.layout.overlaps_itself)
        for found in (np.array(x), x.__array__(copy=True), x.__array__(dtype.dtype, copy=True)):
            assert same_bits(found, array)
            assert not np.shares_memory(found, array)
            assert found.flags.writeable


def test_numpys_asarray_converts_where_it_may():
    x = xp.asarray([1.5, 2.5])
    assert np.asarray(x, dtype="f4").dtype == np.float32
    assert x.__array__(np.int64).tolist() == [1, 2]
    assert x.__array__(xp.float32).dtype == np.float32
    for call in (lambda: np.asarray(x, dtype="f4", copy=False), lambda: x.__array__(np.float32, copy=False)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match=r"__array__: float64 to .*float32.* needs a copy; pass copy=None"):
        x.__array__(np.float32, copy=False)


def test_an_export_is_remembered_and_a_copy_is_no_export():
    def exported(action: Callable[[xp.NDArray], Any]) -> bool:
        x = xp.asarray([1.0, 2.0]) + 1.0
        action(x)
        return x._memory.exported

    assert exported(np.asarray)
    assert exported(np.from_dlpack)
    assert exported(lambda x: x.__dlpack__(max_version=(1, 0)))
    assert exported(lambda x: np.asarray(x[1:]))
    # From Python 3.12 on NumPy asks for a buffer, and copies or converts afterwards.
    by_numpy = (np.array, lambda x: np.asarray(x, "f4")) if sys.version_info < (3, 12) else ()
    for action in (
        *by_numpy,
        repr,
        pickle.dumps,
        copy.copy,
        list,
        lambda x: float(x[0]),
        lambda x: x.__array__(np.float32),
        lambda x: x.__array__(copy=True),
        lambda x: x.__dlpack__(copy=True),
    ):
        assert not exported(action)


def test_an_array_on_a_simulated_device_does_not_turn_into_numpy_silently():
    with xp.settings(simulated_devices=2):
        x = xp.ones(3, device=xp.__array_namespace_info__().devices()[1])
        for call in (lambda: np.asarray(x), lambda: x.__array__(), lambda: np.array(x), lambda: x.__array__(copy=True)):
            with pytest.raises(ValueError, match="__array__: the array is on simulated:1; use to_device"):
                call()
        assert np.asarray(x.to_device(_device.CPU)).tolist() == [1, 1, 1]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought __buffer__ (PEP 688)")
@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_the_buffer_protocol_shows_the_memory(name):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        if dtype in EXTENSIONS and dtype is not xp.float16:
            with pytest.raises(
                BufferError, match=rf"__buffer__: the buffer protocol has no code for {dtype}; its bits"
            ):
                memoryview(x)
            assert memoryview(np.asarray(x).view(f"u{x.itemsize}")).tobytes() == array.tobytes()
            continue
        view = memoryview(x)
        assert view.shape == array.shape
        assert view.itemsize == array.itemsize
        assert view.readonly is not (x._memory.writable and not x.layout.overlaps_itself)
        assert view.tobytes() == array.tobytes()
        assert x._memory.exported
        assert not array.size or address(np.asarray(view)) == address(array)
        if not view.readonly and array.size:
            np.asarray(view)[...] = 0
            assert not array.any()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought __buffer__ (PEP 688)")
def test_the_buffer_protocol_refuses_to_write_what_must_not_be_written():
    x = xp.broadcast_to(xp.ones(3), (2, 3))
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_double * 6).from_buffer(x)
    (ctypes.c_double * 3).from_buffer(xp.ones(3))[0] = 5.0
    with xp.settings(simulated_devices=2), pytest.raises(BufferError, match="simulated:1"):
        memoryview(xp.ones(3, device=xp.__array_namespace_info__().devices()[1]))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there, arrays have the buffer protocol")
def test_before_python_3_12_there_is_no_buffer_protocol():
    assert not hasattr(xp.NDArray, "__buffer__")
    with pytest.raises(TypeError):
        memoryview(xp.ones(3))


def test_objects_with_a_buffer_are_taken_over():
    memory = bytearray(np.arange(4.0).tobytes())
    x = xp.asarray(memoryview(memory).cast("d"))
    x[0] = 7.0
    assert np.frombuffer(memory)[0] == 7
    assert xp.asarray(b"ab")._numpy().tolist() == [97, 98]
    with pytest.raises(ValueError, match="read-only"):
        xp.asarray(b"ab")[0] = 1


# -- pickles -----------------------------------------------------------------------------------------


def order_of(array: np.ndarray) -> list[int]:
    """The axes that are longer than 1 and step, by falling stride."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1 and array.strides[axis]]
    return sorted(axes, key=lambda axis: (-abs(array.strides[axis]), axis))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_a_pickle_gives_values_dtype_order_and_broadcast_axes_back(name, protocol):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        y = pickle.loads(pickle.dumps(x, protocol))
        assert type(y) is xp.NDArray
        assert y.dtype is dtype
        assert y.device is x.device
        assert same_bits(y._numpy(), array)
        assert not np.shares_memory(y._numpy(), array)
        assert y._memory.writable
        assert [s == 0 for s, n in zip(y.layout.stride, y.shape) if n > 1] == [
            s == 0 for s, n in zip(array.strides, array.shape) if n > 1
        ]
        assert order_of(y._numpy()) == order_of(array)
        assert y.layout.fits(y._memory.nbytes // dtype.itemsize)


def test_a_pickle_holds_the_reachable_elements_and_no_others():
    base = xp.zeros(10**6)
    small = len(pickle.dumps(xp.zeros(1000)))
    for x in (base[::1000], base[:1000], base[::-1000], xp.reshape(base, (1000, 1000))[:, 5]):
        assert abs(len(pickle.dumps(x)) - small) < 100
    x = xp.broadcast_to(base[:10], (10**6, 10))
    assert len(pickle.dumps(x)) < 1000
    assert pickle.loads(pickle.dumps(x)).layout.stride == (0, 1)
    assert len(pickle.dumps(xp.broadcast_to(xp.asarray(1.0), (2**20, 2**20)))) < 1000
    assert len(pickle.dumps(base[:0])) < 1000
    windows = xp.asarray(np.lib.stride_tricks.sliding_window_view(np.arange(1000.0), 500))
    assert len(pickle.dumps(windows)) < 10_000
    y = pickle.loads(pickle.dumps(windows))
    assert y.layout.stride == (1, 1)
    assert same_bits(y._numpy(), windows._numpy())


def test_large_arrays_travel_out_of_band():
    x = xp.reshape(xp.arange(10_000.0), (100, 100)).T
    buffers: list[pickle.PickleBuffer] = []
    blob = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(blob) < 1000
    assert [memoryview(one).nbytes for one in buffers] == [80_000]
    memory = bytearray(buffers[0])
    y = pickle.loads(blob, buffers=[memory])
    assert same_bits(y._numpy(), x._numpy())
    assert y._memory.exported  # the bytearray is ours too
    y[0, 0] = 5.0
    assert np.frombuffer(memory)[0] == 5
    z = pickle.loads(blob, buffers=[bytes(memory)])
    z[0, 1] = 7.0
    assert z._memory.writable
    assert np.frombuffer(memory)[100] == 100
    with pytest.raises((pickle.UnpicklingError, ValueError)):
        pickle.loads(blob)


def test_dtypes_devices_functions_and_settings_of_arrays_survive_pickling():
    with xp.settings(simulated_devices=2):
        device = xp.__array_namespace_info__().devices()[1]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            x = pickle.loads(pickle.dumps(xp.ones(3, device=device), protocol))
            assert x.device is device
            assert (x + xp.ones(3, device=device)).device is device
            for value in (*ALL_DTYPES, device, xp.NDArray):
                assert pickle.loads(pickle.dumps(value, protocol)) is value


def parts_of(x: xp.NDArray) -> list[Any]:
    return list(x.__reduce__()[1])


def test_parts_that_do_not_fit_together_are_refused():
    x = xp.reshape(xp.arange(12.0), (3, 4))
    good = parts_of(x)
    assert same_bits(_array._rebuild(*good)._numpy(), x._numpy())
    names = ["dtype", "device", "shape", "stride", "offset", "data"]
    bad: list[tuple[str, Any]] = [
        ("dtype", np.float64),
        ("dtype", np.dtype("f8")),
        ("dtype", None),
        ("dtype", xp.complex128),
        ("device", None),
        ("device", "cpu"),
        ("shape", (3, 5)),
        ("shape", (4, 4)),
        ("shape", (-3, -4)),
        ("shape", (3,)),
        ("shape", (3, 4, 1)),
        ("shape", 12),
        ("shape", "34"),
        ("shape", (3.0, 4.0)),
        ("shape", (2**70, 0)),
        ("shape", (2**62, 4)),
        ("shape", (None, 4)),
        ("stride", (5, 1)),
        ("stride", (4, 2)),
        ("stride", (-4, 1)),
        ("stride", (4, -1)),
        ("stride", (2**70, 1)),
        ("stride", (4,)),
        ("stride", ("4", "1")),
        ("offset", 1),
        ("offset", -1),
        ("offset", 2**70),
        ("offset", 0.0),
        ("offset", None),
        ("data", None),
        ("data", b"0" * 96),
        ("data", good[5][:95]),
        ("data", good[5][:0]),
        ("data", good[5].view(np.float64)),
        ("data", good[5].reshape(2, 48)),
        ("data", np.zeros(192, np.uint8)[::2]),
        ("data", good[5].astype(object)),
        ("data", [0] * 96),
    ]
    for name, value in bad:
        parts = good.copy()
        parts[names.index(name)] = value
        with pytest.raises(ValueError, match=r"unpickle: shape .*, stride .*, offset .* don't fit the data"):
            _array._rebuild(*parts)
    for shape, stride in (
        ((2**60,), (0,)),
        ((2**30, 2**30), (0, 0)),
        ((0, 2**60), (1, 1)),
        ((1, 3), (2**62, 1)),
        ((1,) * 65, (0,) * 65),
    ):
        with pytest.raises(ValueError, match="unpickle"):
            _array._rebuild(good[0], good[1], shape, stride, 0, good[5])
    assert _array._rebuild(good[0], good[1], (0, 4), (4, 1), 12, good[5]).shape == (0, 4)
    assert _array._rebuild(good[0], good[1], (2**58,), (0,), 11, good[5]).layout.is_broadcast


class Tampered:
    """Pickles as an array with a state on top."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __reduce__(self) -> Any:
        function, parts = xp.ones(3).__reduce__()
        return function, parts, self.state


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_cannot_set_the_state_of_an_array(protocol):
    for state in ({"_layout": Layout((10**6,), (1,))}, (None, {"_view": None, "_buffer": None}), 1, [None]):
        blob = pickle.dumps(Tampered(state), protocol)
        with pytest.raises(ValueError, match="unpickle: an NDArray takes no state"):
            pickle.loads(blob)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_truncated_pickle_raises(protocol):
    blob = pickle.dumps(xp.asarray([[1, 2], [3, 4]], dtype=xp.int16).T, protocol)
    for length in range(len(blob)):
        with pytest.raises(
            (
                pickle.UnpicklingError,
                EOFError,
                ValueError,
                TypeError,
                IndexError,
                KeyError,
                AttributeError,
                ImportError,
                UnicodeError,
                OverflowError,
            )
        ):
            pickle.loads(blob[:length])


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_whose_geometry_was_changed_raises_or_gives_an_array_inside_its_memory(protocol):
    x = xp.asarray([[1, 2, 3], [3, 4, 5]], dtype=xp.int16).T
    blob = pickle.dumps(x, protocol)
    # Only the small integers (opcode K) between the device's name and NumPy's part: a changed memo index or length
    # makes the pickle module itself ask for gigabytes, and NumPy's part is NumPy's to check.
    start, end = blob.rindex(b"cpu") + 3, blob.index(b"numpy", blob.rindex(b"cpu"))
    places = [place for place in range(start, end) if blob[place : place + 1] == b"K"]
    assert len(places) == 5
    outcomes = {"refused": 0, "sound": 0}
    for place, value in itertools.product(places, range(256)):
        damaged = bytearray(blob)
        damaged[place + 1] = value
        try:
            y = pickle.loads(bytes(damaged))
        except ValueError as error:
            assert "unpickle: shape" in str(error)  # noqa: PT017
            outcomes["refused"] += 1
            continue
        outcomes["sound"] += 1
        assert y.layout.fits(6)
        assert same_bits(y._numpy(), y._memory.view(y.layout, np.dtype("int16")))
    assert outcomes["refused"] > 1000
    assert outcomes["sound"] >= 5


@settings(deadline=None)
@given(layouts(ndim_max=4, extent_max=4, stride_max=12))
def test_parts_are_taken_exactly_where_the_layout_lies_in_the_data(layout):
    data = np.arange(12, dtype=np.int32).view(np.uint8)
    parts = (xp.int32, _device.CPU, layout.shape, layout.stride, layout.offset, data)
    if layout.fits(12):
        x = _array._rebuild(*parts)
        assert x._numpy().reshape(-1).tolist() == positions(layout)
    else:
        with pytest.raises(ValueError, match="unpickle"):
            _array._rebuild(*parts)


def test_a_layout_from_outside_is_checked_against_the_buffer():
    buffer = Buffer(np.arange(6.0))
    for layout in (
        Layout((7,), (1,)),
        Layout((2,), (6,)),
        Layout((2,), (-1,)),
        Layout((1,), (1,), 6),
        Layout((1,), (1,), -1),
    ):
        x = xp.NDArray(None, xp.float64, _device.CPU, layout, buffer)
        for use in (
            lambda x: x + 1,
            repr,
            np.asarray,
            lambda x: x.__dlpack__(),
            float,
            lambda x: x.__setitem__(..., 0.0),
            pickle.dumps,
            copy.copy,
        ):
            with pytest.raises((ValueError, TypeError)):
                use(x)
    assert buffer.root.tolist() == [0, 1, 2, 3, 4, 5]


# -- copies ------------------------------------------------------------------------------------------


def test_copies_keep_dtype_and_device_and_share_nothing():
    with xp.settings(simulated_devices=2):
        for device in xp.__array_namespace_info__().devices():
            for dtype in ALL_DTYPES:
                x = xp.asarray(numbers((2, 3), dtype.dtype), device=device).T
                for made in (
                    copy.copy(x),
                    copy.deepcopy(x),
                    copy.deepcopy([x])[0],
                    copy.deepcopy({"a": (x, x)})["a"][0],
                ):
                    assert made.dtype is dtype
                    assert made.device is device
                    assert same_bits(made._numpy(), x._numpy())
                    assert not np.shares_memory(made._numpy(), x._numpy())
                assert copy.copy(dtype) is copy.deepcopy(dtype) is dtype
                assert copy.deepcopy(device) is device


# -- text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (xp.asarray(1.5), "NDArray(1.5, dtype=float64)"),
        (xp.asarray([True, False]), "NDArray([ True, False], dtype=bool)"),
        (xp.asarray([[1, 2], [3, 4]], dtype=xp.int8), "NDArray([[1, 2],\n         [3, 4]], dtype=int8)"),
        (xp.asarray([1 + 2j]), "NDArray([1.+2.j], dtype=complex128)"),
        (xp.asarray([1.5, -2], dtype=xp.bfloat16), "NDArray([ 1.5, -2. ], dtype=bfloat16)"),
        (xp.asarray([1, 2], dtype=xp.float8_e4m3fn), "NDArray([1., 2.], dtype=float8_e4m3fn)"),
        (xp.zeros(0), "NDArray([], dtype=float64)"),
        (xp.zeros((2, 0)), "NDArray([], shape=(2, 0), dtype=float64)"),
        (xp.asarray([xp.nan, xp.inf]), "NDArray([nan, inf], dtype=float64)"),
        (xp.asarray([1.0, 2.0, 3.0])[::-2], "NDArray([3., 1.], dtype=float64)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_text_of_an_array_tells_values_and_dtype(x, text):
    assert repr(x) == str(x) == f"{x}" == text


def test_the_text_of_an_array_tells_its_device_and_shortens_large_ones():
    with xp.settings(simulated_devices=2):
        x = xp.ones(2, device=xp.__array_namespace_info__().devices()[1])
        assert repr(x) == "NDArray([1., 1.], dtype=float64, device=simulated:1)"
    assert len(repr(xp.zeros(10**6))) < 100
    assert "..." in repr(xp.zeros(10**6))
    for dtype in ALL_DTYPES:
        assert repr(xp.ones((2, 2), dtype=dtype)).endswith(f"dtype={dtype})")


def test_zero_dimensional_arrays_format_as_their_element():
    assert f"{xp.asarray(3.14159):.2f}" == "3.14"
    assert f"{xp.asarray(7):03d}" == "007"
    assert f"{xp.asarray(1.5, dtype=xp.bfloat16):.3f}" == "1.500"
    assert f"{xp.asarray(1 + 2j):.1f}" == "1.0+2.0j"
    with pytest.raises(ValueError, match="format"):
        f"{xp.ones(2):.2f}"
    with pytest.raises(ValueError, match="format"):
        f"{xp.asarray(1.5):d}"


# -- as a sequence and as a number -------------------------------------------------------------------


def test_iteration_gives_views_along_the_first_axis():
    array = np.arange(6.0).reshape(3, 2)
    x = xp.asarray(array)
    assert len(x) == 3
    rows = list(x)
    assert [row._numpy().tolist() for row in rows] == array.tolist()
    assert all(row._memory is x._memory for row in rows)
    rows[1][0] = 9.0
    assert array[1, 0] == 9
    assert [float(one) for one in xp.asarray([1.0, 2.0])] == [1, 2]
    assert list(xp.zeros((0, 3))) == []
    assert [row.shape for row in xp.zeros((2, 0))] == [(0,), (0,)]
    first, *others = xp.asarray([1, 2, 3])
    assert int(first) == 1
    assert [int(one) for one in reversed(others)] == [3, 2]
    assert 2 in xp.asarray([1, 2])
    assert 5 not in xp.asarray([1, 2])
    for call in (len, iter, list, tuple):
        with pytest.raises(TypeError, match="0-d array"):
            call(xp.asarray(1.0))


def test_strict_mode_iterates_along_one_axis_only():
    with xp.settings(strict=True):
        assert [int(one) for one in xp.asarray([1, 2])] == [1, 2]
        assert len(xp.asarray([1, 2])) == 2
        for call in (len, iter, list):
            with pytest.raises(TypeError, match=r"(len|iter): the array has 2 axes; use unstack, or shape"):
                call(xp.zeros((2, 2)))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_zero_dimensional_arrays_become_python_scalars(dtype):
    for number in (0, 1) if dtype in (xp.bool, xp.int2) else (0, 1, 2, 0.5):
        array = np.array(number).astype(dtype.dtype)
        x = xp.asarray(array)
        value = array.astype(np.complex128).item() if dtype.extension else array.item()
        plain = value.real if isinstance(value, complex) else value
        for y in (x, x[...], xp.asarray(np.array([array, array]))[1]):
            assert bool(y) is bool(array != 0 if plain == plain else True)
            if plain != plain:
                continue  # float8_e8m0fnu has no 0
            assert complex(y) == value
            assert type(complex(y)) is complex
            if dtype.kind == "complex":
                for call, way in ((int, "real"), (float, "real")):
                    with pytest.raises(
                        TypeError, match=f"{call.__name__}: a complex array has no .* value; take {way}"
                    ):
                        call(y)
            else:
                assert float(y) == plain
                assert type(float(y)) is float
                assert int(y) == int(plain)
                assert type(int(y)) is int
            if dtype.kind in ("int", "uint"):
                assert y.__index__() == plain
                assert [10, 11, 12][y] == 10 + plain
            else:
                with pytest.raises(TypeError, match=f"index: only integer arrays can be an index, this one is {dtype}"):
                    y.__index__()


def test_special_values_become_pythons_own():
    assert bool(xp.asarray(float("nan"))) is True
    assert bool(xp.asarray(-0.0)) is False
    assert bool(xp.asarray(complex(0, 1))) is True
    assert bool(xp.asarray(complex(0, float("nan")))) is True
    assert str(float(xp.asarray(-0.0))) == "-0.0"
    assert int(xp.asarray(2**63 - 1)) == 2**63 - 1
    assert xp.asarray(2**64 - 1, dtype=xp.uint64).__index__() == 2**64 - 1
    assert int(xp.asarray(-1.9)) == -1
    with pytest.raises(OverflowError):
        int(xp.asarray(float("inf")))
    with pytest.raises(ValueError, match="NaN"):
        int(xp.asarray(float("nan")))


@pytest.mark.parametrize("shape", [(1,), (0,), (2,), (1, 1)])
def test_only_zero_dimensional_arrays_become_scalars(shape):
    x = xp.zeros(shape, dtype=xp.int64)
    for call, name in (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (complex, "complex"),
        (lambda x: x.__index__(), "index"),
    ):
        if call is bool and x.size == 1:
            assert call(x) is False  # in default mode; see test_modes
            continue
        with pytest.raises(TypeError, match=rf"{name}: only 0-d arrays convert to a Python scalar, this one has shape"):
            call(x)
    with pytest.raises(TypeError, match="index: only integer arrays"):
        xp.zeros(shape).__index__()


def test_attributes_count():
    for name in ALL_LAYOUTS:
        for dtype in ALL_DTYPES:
            array = example(name, dtype.dtype)
            for x in (xp.asarray(array), xp.asarray(array.copy()) if dtype.extension else +xp.asarray(array)):
                assert x.shape == array.shape
                assert x.ndim == array.ndim
                assert x.size == array.size
                assert x.nbytes == x.size * x.itemsize
            assert xp.asarray(array).itemsize == array.itemsize
    x = xp.zeros((2, 3))
    for name in ("shape", "dtype", "device", "ndim", "size", "T", "mT", "layout", "anything"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_transposes_need_axes():
    for shape in ((), (3,), (2, 2, 2)):
        with pytest.raises(ValueError, match=rf"\.T: the array has {len(shape)} axes, not 2; use \.mT or permute_dims"):
            xp.zeros(shape).T  # noqa: B018
    for shape in ((), (3,)):
        with pytest.raises(ValueError, match=rf"\.mT: the array has {len(shape)} axes, at least 2 are needed"):
            xp.zeros(shape).mT  # noqa: B018


# -- the namespace -----------------------------------------------------------------------------------


def test_an_array_knows_the_namespace_of_every_revision_and_asking_changes_nothing():
    x = xp.ones(3)
    assert x.__array_namespace__() is x.__array_namespace__(api_version=None) is xp
    for revision in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        namespace = x.__array_namespace__(api_version=revision)
        assert namespace.__array_api_version__ == revision
        assert namespace is x.__array_namespace__(api_version=revision)
        assert namespace.asarray is xp.asarray
        assert x.__array_namespace__() is xp
        assert xp.__array_api_version__ == "2025.12"
    assert x.__array_namespace__(api_version="2025.12") is xp
    for version in ("2020.12", "2026.12", "", "latest", 2025, b"2025.12", ("2025.12",)):
        with pytest.raises(
            ValueError, match=r"__array_namespace__: api_version .* is unknown; there are 2021.12, .*2025.12"
        ):
            x.__array_namespace__(api_version=version)


# -- devices -----------------------------------------------------------------------------------------


@pytest.fixture
def devices():
    with xp.settings(simulated_devices=3):
        yield xp.__array_namespace_info__().devices()


def test_moving_between_devices_copies_and_staying_does_not(devices):
    for source, target in itertools.product(devices, devices):
        x = xp.asarray(lay_out(numbers((2, 3)), "rotated"), device=source)
        for move in (
            lambda x, d: x.to_device(d),
            lambda x, d: x.to_device(d.name),
            lambda x, d: xp.asarray(x, device=d),
            lambda x, d: xp.astype(x, x.dtype, device=d, copy=False),
            lambda x, d: xp.from_dlpack(x, device=d),
        ):
            y = move(x, target)
            assert y.device is target
            assert y.dtype is x.dtype
            assert same_bits(y._numpy(), x._numpy())
            if source is target:
                assert y._memory is x._memory
            else:
                assert not np.shares_memory(y._numpy(), x._numpy())
                assert y.layout.is_contiguous
                y[0, 0] = 99.0
                assert float(x[0, 0]) == 1


def test_an_unknown_device_is_refused(devices):
    x = xp.ones(3)
    with pytest.raises(ValueError, match="no device is called 'gpu'"):
        x.to_device("gpu")
    with pytest.raises(ValueError, match=r"to_device: device simulated:9 .*settings\(simulated_devices=10\)"):
        x.to_device("simulated:9")
    for device in (1, object(), ("cpu",)):
        with pytest.raises(TypeError, match=r"to_device: .* is no device"):
            x.to_device(device)
    with xp.settings(strict=True), pytest.raises(TypeError, match="string"):
        x.to_device("cpu")


def _numbers(dtype: Any, shape: tuple[int, ...] = (3, 3)) -> Callable[[Any], xp.NDArray]:
    return lambda device: xp.asarray(np.ones(shape) + (np.eye(3) if len(shape) == 2 else 0), dtype=dtype, device=device)


_FLOAT, _INT, _BOOL = _numbers(xp.float64), _numbers(xp.int64), _numbers(xp.bool)
_LINE, _COUNTS = _numbers(xp.float64, (3,)), _numbers(xp.int64, (3,))

# How to call each public function that takes several arrays: a maker for each array, and the call
SEVERAL: dict[str, tuple[list[Callable[[Any], xp.NDArray]], Callable[..., Any]]] = {
    **{
        name: ([maker, maker], getattr(xp, name))
        for maker, names in {
            _INT: "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift take_along_axis isin",
            _BOOL: "logical_and logical_or logical_xor",
            _LINE: "meshgrid searchsorted",
            _FLOAT: "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
            "logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract "
            "broadcast_arrays matmul tensordot vecdot",
        }.items()
        for name in names.split()
    },
    "take": ([_FLOAT, _COUNTS], lambda x, indices: xp.take(x, indices, axis=0)),
    "repeat": ([_LINE, _COUNTS], xp.repeat),
    "concat": ([_FLOAT, _FLOAT, _FLOAT], lambda *arrays: xp.concat(arrays)),
    "stack": ([_FLOAT, _FLOAT, _FLOAT], lambda *arrays: xp.stack(arrays)),
    "where": ([_BOOL, _FLOAT, _FLOAT], xp.where),
    "clip": ([_FLOAT, _FLOAT, _FLOAT], xp.clip),
    "diff": ([_FLOAT, _FLOAT, _FLOAT], lambda x, a, b: xp.diff(x, prepend=a, append=b)),
    "searchsorted (sorter)": (
        [_LINE, _LINE, lambda device: xp.arange(3, device=device)],
        lambda x1, x2, sorter: xp.searchsorted(x1, x2, sorter=sorter),
    ),
    "linalg.cross": ([_LINE, _LINE], xp.linalg.cross),
    "linalg.outer": ([_LINE, _LINE], xp.linalg.outer),
    "linalg.solve": ([_FLOAT, _FLOAT], xp.linalg.solve),
    "linalg.matmul": ([_FLOAT, _FLOAT], xp.linalg.matmul),
    "linalg.tensordot": ([_FLOAT, _FLOAT], xp.linalg.tensordot),
    "linalg.vecdot": ([_FLOAT, _FLOAT], xp.linalg.vecdot),
    "linalg.matrix_rank": (
        [_FLOAT, lambda d: xp.asarray(0.1, device=d)],
        lambda x, r: xp.linalg.matrix_rank(x, rtol=r),
    ),
    "linalg.pinv": ([_FLOAT, lambda d: xp.asarray(0.1, device=d)], lambda x, r: xp.linalg.pinv(x, rtol=r)),
}
# It computes with dtypes and looks at no element, so devices say nothing.
NO_ELEMENTS = {"explain", "result_type"}


def test_every_public_function_of_several_arrays_is_in_the_table():
    found = set()
    for prefix, space in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        for name in space.__all__:
            function = getattr(space, name)
            if not callable(function) or isinstance(function, type):
                continue
            parameters = inspect.signature(function).parameters.values()
            takes = [p for p in parameters if "NDArray" in str(p.annotation)]
            if len(takes) > 1 or any(p.kind is p.VAR_POSITIONAL or "[NDArray" in str(p.annotation) for p in takes):
                found.add(prefix + name)
    assert found - NO_ELEMENTS == {name for name in SEVERAL if " " not in name}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_function_of_several_arrays_refuses_to_mix_devices_and_stays_on_theirs(name, devices):
    makers, call = SEVERAL[name]
    for home in devices:
        results = call(*[make(home) for make in makers])
        for result in results if isinstance(results, tuple) else (results,):
            assert result.device is home
        for other in devices:
            if other is home:
                continue
            for stranger in range(len(makers)):
                arrays = [make(other if place == stranger else home) for place, make in enumerate(makers)]
                with pytest.raises(DeviceError, match=rf"^{name.split('.')[-1].split()[0]}: .*(on|and) ") as caught:
                    call(*arrays)
                assert home.name in str(caught.value)
                assert other.name in str(caught.value)


def test_a_sequence_with_arrays_on_two_devices_makes_no_array(devices):
    with pytest.raises(DeviceError, match="cpu and simulated:1"):
        xp.asarray([xp.asarray(1.0), xp.asarray(1.0, device=devices[1])])
    assert xp.asarray([xp.asarray(1.0, device=devices[1])] * 2).device is devices[1]


def test_a_producers_type_error_about_its_data_comes_through_and_is_not_asked_again():
    asked = []

    class Refuses:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            asked.append(keywords)
            raise TypeError("no arrays with nulls")

    with pytest.raises(TypeError, match="no arrays with nulls"):
        xp.from_dlpack(Refuses())
    assert len(asked) == 1


def test_numpy_dtype_of_an_array_is_the_twin_of_its_dtype():
    assert xp.ones(2, dtype=xp.int16).__numpy_dtype__ == np.dtype("int16")
