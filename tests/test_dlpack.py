"""DLPack in and out: what capsules say and hold, who frees what and when, and capsules that lie."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import random
import sys
import threading
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capsules import (
    CPU,
    IS_COPIED,
    IS_PADDED,
    NAMES,
    READ_ONLY,
    Made,
    Plain,
    Producer,
    Versioned,
    address,
    code_of,
    opened,
    pointer_of,
)
from hypothesis import given
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, example, numbers
from processes import in_process

import candela_xp as xp
from candela_xp import _creation, _interop
from candela_xp._dtypes import DTYPES
from candela_xp._errors import ExportError
from candela_xp._layout import Layout

ALL_DTYPES = list(DTYPES.values())
BELOW_A_BYTE = [dtype for dtype in ALL_DTYPES if dtype.bits < 8]
NEWEST = (1, 1)


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def gone(watched: weakref.ref) -> bool:
    """Whether what is watched has ended: at once, by counting references."""
    return watched() is None


# -- DLPack out --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_LAYOUTS)
@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_says_what_the_array_is(name, versioned):
    for dtype in ALL_DTYPES:
        array = example(name, dtype.dtype)
        x = xp.asarray(array)
        shared = x._memory.writable and not x.layout.overlaps_itself
        if dtype.bits < 8 and not versioned:
            continue  # test_elements_below_8_bits_need_a_version_that_says_padded
        capsule = x.__dlpack__(max_version=NEWEST if versioned else None)
        tensor, head = opened(capsule)
        assert (head is not None) is versioned
        assert (tensor.device_type, tensor.device_id) == CPU
        assert (tensor.code, tensor.bits, tensor.lanes) == (code_of(dtype), dtype.bits, 1)
        shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        assert shape == array.shape
        if versioned:
            assert head.major == 1
            assert bool(head.flags & READ_ONLY) is not shared
            assert not head.flags & IS_COPIED
            assert bool(head.flags & IS_PADDED) is (dtype.bits < 8)
        elif not shared:
            # A capsule without version cannot say read-only, and the consumer would write: it holds a copy.
            assert tensor.data is None or not array.size or tensor.data + tensor.byte_offset != address(array)
            array = array.copy()
        if not array.size:
            assert tensor.data is None  # dlpack.h: NULL "if the tensor is of size zero"
        else:
            if versioned or shared:
                assert tensor.data + tensor.byte_offset == address(array)
            for axis, extent in enumerate(array.shape):
                if extent > 1 and tensor.strides:  # none, as NumPy 2.3 says it, are the row-major ones
                    assert tensor.strides[axis] * array.itemsize == array.strides[axis]
            assert tensor.strides or array.flags.c_contiguous
        assert x._memory.exported
        assert same_bits(xp.from_dlpack(Producer(capsule))._numpy(), array)


@pytest.mark.parametrize(
    ("max_version", "versioned"),
    [(None, False), ((0, 0), False), ((0, 8), False), ((1, 0), True), ((1, 5), True), ((2, 0), True)],
)
def test_the_version_asked_for_decides_the_sort_of_capsule(max_version, versioned):
    tensor, head = opened(xp.ones(3).__dlpack__(max_version=max_version))
    assert (head is not None) is versioned
    assert tensor.ndim == 1


def test_a_stream_is_refused_and_so_is_a_device_that_we_cannot_serve():
    x = xp.ones(3)
    for stream in (0, 1, 2, -1):
        with pytest.raises(BufferError, match=r"__dlpack__: cpu has no streams, got stream=.*; pass None"):
            x.__dlpack__(stream=stream)
        with pytest.raises(ValueError, match="to_device: cpu has no streams"):
            x.to_device(x.device, stream=stream)
    for device in ((2, 0), (10, 0), (1, 1), (12, 1)):
        with pytest.raises(BufferError, match=r"__dlpack__: cannot export from cpu to DLPack device"):
            x.__dlpack__(dl_device=device)
    assert opened(x.__dlpack__(dl_device=CPU))[0].device_type == 1
    assert x.__dlpack_device__() == CPU
    assert not xp.ones(3)._memory.exported


@pytest.mark.parametrize("name", ["contiguous", "fortran", "reversed", "broadcast rows", "read-only", "zero-d"])
def test_copy_true_copies_and_says_so_and_copy_false_never_copies(name):
    array = example(name)
    x = xp.asarray(array)
    own = x._memory.exported = False
    tensor, head = opened(x.__dlpack__(max_version=(1, 0), copy=True))
    assert head.flags == IS_COPIED
    assert tensor.data + tensor.byte_offset != address(array)
    assert x._memory.exported is own
    opened(x.__dlpack__(copy=True))
    assert x._memory.exported is own
    tensor, head = opened(x.__dlpack__(max_version=(1, 0), copy=False))
    assert tensor.data + tensor.byte_offset == address(array)
    assert x._memory.exported
    if name in ("broadcast rows", "read-only"):
        with pytest.raises(BufferError, match=r"__dlpack__: .*readonly"):
            x.__dlpack__(copy=False)


def test_a_capsule_of_a_simulated_device_carries_the_device():
    with xp.settings(simulated_devices=3):
        device = xp.__array_namespace_info__().devices()[2]
        x = xp.asarray([1.0, 2.0, 3.0], device=device)
        place = address(x._numpy())
        assert x.__dlpack_device__() == (12, 2)
        for keywords in ({}, {"dl_device": (12, 2)}, {"copy": False}):
            tensor, head = opened(x.__dlpack__(max_version=(1, 0), **keywords))
            assert (tensor.device_type, tensor.device_id) == (12, 2)
            assert tensor.data + tensor.byte_offset == place
            assert head.flags == 0
        tensor, head = opened(x.__dlpack__(max_version=(1, 0), dl_device=CPU))
        assert (tensor.device_type, tensor.device_id) == CPU
        assert tensor.data + tensor.byte_offset != place
        assert head.flags == IS_COPIED
        tensor, head = opened(x.__dlpack__(max_version=(1, 0), copy=True))
        assert (tensor.device_type, tensor.device_id, head.flags) == (12, 2, IS_COPIED)
        with pytest.raises(BufferError, match="export from simulated:2 to the CPU needs a copy; pass copy=None"):
            x.__dlpack__(dl_device=CPU, copy=False)
        with pytest.raises(BufferError, match="cannot export from simulated:2"):
            x.__dlpack__(dl_device=(12, 1))
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(x)
        assert np.from_dlpack(x, device="cpu").tolist() == [1, 2, 3]


def test_a_capsule_keeps_the_memory_alive_and_lets_it_go_when_nobody_takes_it():
    for dtype, keywords in itertools.product(("float64", "bfloat16"), ({}, {"max_version": NEWEST})):
        owner = np.array(numbers((4,), DTYPES[dtype].dtype))
        watched = weakref.ref(owner)
        capsule = xp.asarray(owner)[1:].__dlpack__(**keywords)
        del owner
        assert not gone(watched)
        tensor = opened(capsule)[0]
        value = np.frombuffer(ctypes.string_at(tensor.data + tensor.byte_offset, tensor.bits // 8), DTYPES[dtype].dtype)
        assert float(value[0]) == 2
        del tensor, capsule
        assert gone(watched)


def test_numpy_takes_our_arrays_through_dlpack_and_sees_our_memory():
    for name in ALL_LAYOUTS:
        array = example(name)
        x = xp.asarray(array)
        found = np.from_dlpack(x)
        assert same_bits(found, array)
        assert not array.size or address(found) == address(array)
        assert found.flags.writeable is (x._memory.writable and not x.layout.overlaps_itself)
        assert not np.shares_memory(np.from_dlpack(x, copy=True), array)


def test_exports_see_later_writes_and_write_themselves():
    x = xp.asarray([1.0, 2.0, 3.0]) * 1.0
    for export in (np.asarray, np.from_dlpack, lambda x: x.__array__(), xp.from_dlpack):
        seen = export(x)
        x[0] = 9.0
        assert seen[0] == 9
        seen[1] = 8.0
        assert float(x[1]) == 8
        x[:2] = 0.0


# -- DLPack in ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_the_memory_of_a_producer_is_taken_over_and_given_back_once(versioned):
    dtypes = [dtype for dtype in ALL_DTYPES if versioned or dtype.bits >= 8]
    for dtype, name in itertools.product(dtypes, ("contiguous", "rotated", "reversed", "stepped", "zero-d")):
        array = example(name, dtype.dtype)
        made = Made(array, versioned=versioned)
        producer = Producer(made.capsule)
        made.capsule = None
        x = xp.from_dlpack(producer)
        assert x.dtype is dtype
        assert x._memory.exported
        assert x._memory.writable is versioned  # NumPy locks what came without version: nobody said it may be written
        assert address(x._numpy()) == address(array)
        assert same_bits(x._numpy(), array)
        assert producer.asked == [{"max_version": NEWEST}]
        view = x[..., None]
        del x, producer
        assert made.deleted == 0
        assert same_bits(view._numpy()[..., 0], array)
        del view
        assert made.deleted == 1
        assert (made.head.tensor.code, made.head.tensor.bits) == (code_of(dtype), dtype.bits)


def test_a_write_into_imported_memory_reaches_the_producer():
    for dtype in (xp.float32, xp.bfloat16, xp.float8_e5m2):
        array = np.ones(4, dtype.dtype)
        x = xp.from_dlpack(Producer(Made(array).capsule))
        x[1:3] = 2
        assert array.astype(np.float32).tolist() == [1, 2, 2, 1]
        array[0] = 4
        assert float(x[0]) == 4


def test_read_only_producers_give_read_only_arrays():
    for dtype in (xp.float32, xp.bfloat16):
        x = xp.from_dlpack(Producer(Made(np.ones(4, dtype.dtype), flags=READ_ONLY).capsule))
        with pytest.raises(ValueError, match=r"read-only; use asarray\(x, copy=True\)"):
            x[0] = 1
        y = xp.from_dlpack(Producer(Made(np.ones(4, dtype.dtype), flags=READ_ONLY).capsule), copy=True)
        y[0] = 2


def test_copy_true_copies_gives_the_capsule_back_and_owes_nothing():
    for versioned in (True, False):
        array = np.arange(6.0).reshape(2, 3).T
        made = Made(array, versioned=versioned)
        producer = Producer(made.capsule)
        made.capsule = None
        x = xp.from_dlpack(producer, copy=True)
        assert x.layout.is_contiguous
        assert x._memory.writable
        assert not x._memory.exported
        assert same_bits(x._numpy(), array)
        assert made.deleted == 1


def test_copy_false_is_passed_on_and_a_producer_that_copies_all_the_same_is_refused():
    made = Made(None, flags=IS_COPIED)
    producer = Producer(made.capsule)
    made.capsule = None
    with pytest.raises(BufferError, match="made a copy in spite of copy=False"):
        xp.from_dlpack(producer, copy=False)
    assert producer.asked == [{"max_version": NEWEST, "copy": False}]
    assert made.deleted == 1
    assert xp.from_dlpack(Producer(Made(None, flags=IS_COPIED).capsule)).shape == (2, 3)


@pytest.mark.parametrize("device", [(2, 0), (12, 1), (8, 0)])
def test_data_elsewhere_is_asked_for_on_the_cpu_unless_a_copy_is_forbidden(device):
    producer = Producer(Made(None).capsule, device)
    assert xp.from_dlpack(producer)._numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert producer.asked == [{"max_version": NEWEST, "dl_device": CPU}]
    with pytest.raises(ExportError, match=r"from_dlpack: the data is on DLPack device .*; pass copy=None"):
        xp.from_dlpack(Producer(Made(None).capsule, device), copy=False)


class Old:
    """A producer from before the keywords; ``style`` says from how long before."""

    def __init__(self, array: Any, device: tuple[int, int] = CPU) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Oldest(Old):
    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize("style", [Old, Oldest])
def test_producers_from_before_the_keywords_are_understood(style):
    array = np.arange(6.0).reshape(2, 3)
    for flag in (None, False):
        x = xp.from_dlpack(style(array), copy=flag)
        assert address(x._numpy()) == address(array)
        assert same_bits(x._numpy(), array)
    x = xp.from_dlpack(style(array), copy=True)
    assert not np.shares_memory(x._numpy(), array)
    x[0, 0] = 7.0
    assert array[0, 0] == 0
    x = xp.from_dlpack(style(xp.broadcast_to(xp.asarray([1.0, 2.0]), (2, 2))))
    assert x._numpy().tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ExportError, match="not on the CPU"):
        made = Made(None, versioned=False, device_type=2)
        xp.from_dlpack(style(Producer(made.capsule), (2, 0)))


@pytest.mark.parametrize("error", [RuntimeError, BufferError, ValueError, MemoryError, KeyError, TypeError])
def test_what_a_producer_raises_comes_through(error):
    class Failing(Producer):
        def __dlpack__(self, **keywords: Any) -> Any:
            raise error("of the producer")

    class Lost(Producer):
        def __dlpack_device__(self) -> Any:
            raise error("of the producer")

    for kind in (Failing, Lost):
        with pytest.raises(error, match="of the producer"):
            xp.from_dlpack(kind(None))


@pytest.mark.parametrize("x", [object(), 1, [1], None, "a", Layout((1,), (1,))], ids=type)
def test_an_object_without_dlpack_is_an_attribute_error_as_the_standard_says(x):
    with pytest.raises(AttributeError, match=r"from_dlpack: .* has no __dlpack__ and __dlpack_device__; use asarray"):
        xp.from_dlpack(x)


BIG = 2**62
HOSTILE: dict[str, dict[str, Any]] = {
    "other device": {"device_type": 2},
    "our simulated device": {"device_type": 12, "device_id": 1},
    "no device": {"device_type": 0},
    "negative device": {"device_type": -1},
    "no data": {"data": 0},
    "no data, byte offset": {"data": 0, "byte_offset": 64},
    "no lanes": {"lanes": 0},
    "four lanes": {"lanes": 4},
    "unknown code": {"code": 99},
    "opaque handles": {"code": 3, "bits": 64},
    "bits of no dtype": {"bits": 24},
    "no bits": {"bits": 0},
    "one bit": {"bits": 1},
    "longdouble": {"bits": 128},
    "packed float4": {"code": 17, "bits": 4},
    "two packed float4 (torch's float4_e2m1fn_x2)": {"code": 17, "bits": 4, "lanes": 2},
    "bfloat of 8 bits": {"code": 4, "bits": 8},
    "float8 of 16 bits": {"code": 10, "bits": 16},
    "complex of 16 bits": {"code": 5, "bits": 16},
    "packed int4": {"code": 0, "bits": 4},
    "packed uint2": {"code": 1, "bits": 2},
    "packed float6": {"code": 15, "bits": 6},
    "float6 of 8 bits": {"code": 15, "bits": 8},
    "bool of 32 bits": {"code": 6, "bits": 32},
    "65 axes": {"ndim": 65, "shape": (1,) * 65, "strides": (1,) * 65},
    "huge ndim": {"ndim": 2**31 - 1},
    "negative ndim": {"ndim": -1},
    "most negative ndim": {"ndim": -(2**31)},
    "no shape": {"shape": None},
    "negative extent": {"shape": (2, -3)},
    "negative extent beside 0": {"shape": (0, -3)},
    "huge extent": {"shape": (2**63 - 1, 1)},
    "product beyond the address space": {"shape": (2**32, 2**32)},
    "product that wraps to a few": {"shape": (2**33, 2**31), "strides": (0, 0)},
    "row-major beyond the address space": {"shape": (2**60 - 1, 1), "strides": None},
    "huge stride": {"strides": (BIG, 1)},
    "most negative stride": {"strides": (-(2**63), 1)},
    "strides that end below 0": {"strides": (3, -(2**50))},
    "strides that wrap": {"strides": (2**61, 2**61)},
    "byte offset beyond the address space": {"byte_offset": 2**63},
    "byte offset that wraps": {"byte_offset": 2**64 - 8},
    "data at the end of memory": {"data": 2**64 - 16},
    "broadcast to more than memory": {"shape": (2**60, 2**3), "strides": (0, 0)},
    "nothing, of more than memory": {"shape": (0, 2**62, 2**62), "ndim": 3, "strides": None},
}


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_capsule_that_contradicts_itself_is_refused_and_given_back_once(case, versioned):
    made = Made(None, versioned=versioned, **HOSTILE[case])
    producer = Producer(made.capsule)
    made.capsule = None
    with pytest.raises(BufferError, match=r"from_dlpack: the producer's capsule is unusable: .") as caught:
        xp.from_dlpack(producer)
    assert isinstance(caught.value, ValueError)
    del caught
    assert made.deleted == 1


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_a_capsule_of_another_major_version_is_refused_before_it_is_read(major):
    made = Made(None, major=major, ndim=-1)
    producer = Producer(made.capsule)
    made.capsule = None
    with pytest.raises(BufferError, match=rf"DLPack version {major}\.1 is unknown"):
        xp.from_dlpack(producer)
    assert made.deleted == 1


class PyCapsule:
    """Not a capsule, in spite of its name."""


@pytest.mark.parametrize("capsule", [None, 1, object(), PyCapsule(), b"dltensor", np.zeros(3), [Made]], ids=type)
def test_what_is_no_capsule_is_refused(capsule):
    with pytest.raises(BufferError, match=rf"__dlpack__ returned {type(capsule).__name__}, not a capsule"):
        xp.from_dlpack(Producer(capsule))


@pytest.mark.parametrize("name", [b"used_dltensor", b"used_dltensor_versioned", b"tensor", b"DLTENSOR", b"dltensor "])
def test_a_used_capsule_and_one_of_another_name_are_refused(name):
    with pytest.raises(BufferError, match="it is no DLPack tensor, or was used before"):
        xp.from_dlpack(Producer(Made(None, name=name).capsule))


@pytest.mark.parametrize("error", [BufferError, RuntimeError, ValueError])
def test_what_numpy_refuses_is_refused_and_given_back_as_it_was(error, monkeypatch):
    def refuse(producer: Any) -> Any:
        raise error("not today")

    monkeypatch.setattr(np, "from_dlpack", refuse)
    made = Made(np.ones(3, xp.bfloat16.dtype))
    producer = Producer(made.capsule)
    made.capsule = None
    with pytest.raises(ExportError, match="from_dlpack: not today"):
        xp.from_dlpack(producer)
    assert made.deleted == 1
    assert made.head.tensor.code == 4


def test_a_capsule_is_used_once():
    made = Made(None)
    x = xp.from_dlpack(Producer(made.capsule))
    with pytest.raises(BufferError, match="was used before"):
        xp.from_dlpack(Producer(made.capsule))
    assert x._numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    del x
    made.capsule = None
    assert made.deleted == 1


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({"strides": None}, (2, 3)),
        ({"shape": (2, 0), "data": 0}, (2, 0)),
        ({"shape": (2, 0), "data": 0, "strides": None}, (2, 0)),
        ({"shape": (0, 3), "strides": (BIG, BIG)}, (0, 3)),
        ({"shape": (1, 3), "strides": (BIG, 1)}, (1, 3)),
        ({"shape": (1, 1), "strides": (-BIG, -BIG)}, (1, 1)),
        ({"ndim": 0, "shape": None, "strides": None}, ()),
        ({"shape": (2, 2), "byte_offset": 8}, (2, 2)),
        ({"ndim": 64, "shape": (1,) * 64, "strides": (0,) * 64}, (1,) * 64),
    ],
    ids=str,
)
def test_odd_capsules_that_contradict_nothing_are_taken(changes, shape):
    made = Made(None, **changes)
    producer = Producer(made.capsule)
    made.capsule = None
    x = xp.from_dlpack(producer)
    assert x.shape == shape
    offset = changes.get("byte_offset", 0) // 8
    expected = np.arange(6.0)[offset:]
    if x.size and x.size < 6:
        assert x._numpy().reshape(-1)[0] == expected[0]
    assert (x + 1).shape == shape
    del x, producer
    assert made.deleted == 1


def test_broadcast_and_overlapping_capsules_are_taken_and_refuse_writes():
    for strides in ((0, 1), (1, 1), (0, 0)):
        x = xp.from_dlpack(Producer(Made(None, strides=strides).capsule))
        assert x._numpy().tolist() == [[0, strides[1], 2 * strides[1]], [strides[0] + k * strides[1] for k in range(3)]]
        with pytest.raises(ValueError, match=r"share an element.*copy=True"):
            x[...] = 0.0


def test_asarray_shares_the_memory_of_a_producer_too():
    made = Made(None)
    x = xp.asarray(Producer(made.capsule))
    assert x._memory.exported
    made.capsule = None
    del x
    assert made.deleted == 1
    with pytest.raises(ValueError, match="copy=None"):
        xp.asarray(Producer(Made(None).capsule), dtype=xp.float32, copy=False)


# -- elements below 8 bits ---------------------------------------------------------------------------


def test_elements_below_8_bits_need_a_version_that_says_padded():
    # dlpack.h 1.1 brought DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED; before, such elements are packed.
    for dtype in BELOW_A_BYTE:
        x = xp.asarray(numbers((2, 3), dtype.dtype))
        for keywords in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0)}, {"copy": True}):
            with pytest.raises(BufferError, match=rf"{dtype} takes a byte an element.*max_version=\(1, 1\)"):
                x.__dlpack__(**keywords)
        for copies in (None, True, False):
            tensor, head = opened(x.__dlpack__(max_version=NEWEST, copy=copies))
            assert (head.major, head.minor) == NEWEST
            assert head.flags == IS_PADDED | (IS_COPIED if copies else 0)
            assert tensor.bits == dtype.bits


def test_packed_elements_are_refused_and_padded_ones_taken():
    for dtype in BELOW_A_BYTE:
        array = numbers((2, 3), dtype.dtype)
        for case in ({"flags": 0}, {"flags": READ_ONLY}, {"versioned": False}):
            made = Made(array, **case)
            producer = Producer(made.capsule)
            made.capsule = None
            with pytest.raises(BufferError, match=rf"elements of {dtype.bits} bits are packed; {dtype} takes"):
                xp.from_dlpack(producer)
            assert made.deleted == 1
        x = xp.from_dlpack(Producer(Made(array, flags=IS_PADDED).capsule))
        assert x.dtype is dtype
        assert address(x._numpy()) == address(array)
        assert same_bits(x._numpy(), array)


def test_a_dtype_without_a_code_is_refused(monkeypatch):
    monkeypatch.delitem(_interop._ELEMENTS, xp.bfloat16.dtype)
    x = xp.ones(3, dtype=xp.bfloat16)
    with pytest.raises(BufferError, match=r"__dlpack__: DLPack has no code for bfloat16; use astype"):
        x.__dlpack__(max_version=NEWEST)
    assert not x._memory.exported


# -- who frees what, and when ------------------------------------------------------------------------


def exported(dtype: xp.DType, *, versioned: bool) -> tuple[weakref.ref, Any]:
    """A capsule over memory that nothing else holds, and who tells whether it is still there."""
    owner = np.array(numbers((2, 3), dtype.dtype))
    return weakref.ref(owner), xp.asarray(owner).__dlpack__(max_version=NEWEST if versioned else None)


def taken(capsule: Any) -> tuple[int, Any]:
    """What a consumer does: rename the capsule, keep the structure and its deleter."""
    name = b"dltensor" if opened(capsule)[1] is None else b"dltensor_versioned"
    place = pointer_of(capsule, name)
    used = USED[name]
    assert _set_name(capsule, used) == 0
    head = (Versioned if name.endswith(b"versioned") else Plain).from_address(place)
    return place, DELETER(head.deleter)


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}  # kept: names are not copied
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

SORTS = [(dtype, versioned) for dtype in ALL_DTYPES for versioned in (True, False) if versioned or dtype.bits >= 8]


def test_memory_goes_when_the_consumer_calls_the_deleter_from_whatever_thread():
    for dtype, versioned in SORTS:
        for threaded in (False, True):
            watched, capsule = exported(dtype, versioned=versioned)
            place, delete = taken(capsule)
            del capsule  # used: its end frees nothing
            assert not gone(watched)
            if threaded:
                thread = threading.Thread(target=delete, args=(place,))
                thread.start()
                thread.join()
            else:
                delete(place)
            assert gone(watched)


def test_memory_goes_when_the_consumer_fails_before_it_takes_the_capsule():
    for dtype, versioned in SORTS:
        watched, capsule = exported(dtype, versioned=versioned)
        with pytest.raises(ZeroDivisionError):
            opened(capsule)[0].ndim // 0
        del capsule
        assert gone(watched)
    owner = np.array(numbers((3,), xp.bfloat16.dtype))
    watched = weakref.ref(owner)
    x = xp.asarray(owner)
    del owner
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(x)  # NumPy has no bfloat16
    del x
    assert gone(watched)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_memory_is_given_back_when_something_fails_after_it_was_taken(error, monkeypatch):
    def fail(*arguments: Any) -> Any:
        raise error("half-way")

    for dtype, (module, name) in itertools.product(
        (np.dtype("float32"), xp.bfloat16.dtype), ((_creation, "adopt"), (_creation, "_found_dtype"))
    ):
        made = Made(np.ones(3, dtype))
        producer = Producer(made.capsule)
        made.capsule = None
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(error, match="half-way"):
                xp.from_dlpack(producer)
        assert made.deleted == 1


def test_a_deleter_may_be_missing():
    # dlpack.h: "It can be NULL if there is no way for the caller to provide a reasonable destructor."
    made = Made(None)
    made.head.deleter = None
    x = xp.from_dlpack(Producer(made.capsule))
    assert x._numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    del x


AFTER_THE_END = """
import ctypes, weakref
import candela_xp as xp

get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
at_exit = ctypes.CDLL(None)["__cxa_atexit"]
at_exit.argtypes = [ctypes.c_void_p] * 3
used = b"used_dltensor_versioned"

for dtype in (xp.float32, xp.bfloat16):
    capsule = xp.ones(3, dtype=dtype).__dlpack__(max_version=(1, 1))
    place = get(capsule, b"dltensor_versioned")
    rename(capsule, used)
    assert at_exit(ctypes.c_void_p.from_address(place + 16), place, None) == 0
left = xp.ones(3, dtype=xp.bfloat16).__dlpack__(max_version=(1, 1))  # nobody takes it before the end
print("taken")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="__cxa_atexit belongs to the C++ ABI of Itanium (section 3.3.6)")
def test_a_consumer_may_call_the_deleter_after_the_interpreter_has_ended():
    found = in_process(AFTER_THE_END)
    assert (found.returncode, found.stdout, found.stderr) == (0, "taken\n", "")


# -- leaks -------------------------------------------------------------------------------------------


def test_many_exchanges_leave_nothing_behind():
    def rounds(count: int) -> int:
        """The bytes that are there after so many rounds."""
        for _ in range(count):
            for dtype, maximum in itertools.product((xp.float64, xp.bfloat16), (None, NEWEST)):
                x = xp.ones((2, 3), dtype=dtype)
                producer = Producer(x.__dlpack__(max_version=maximum))
                y = xp.from_dlpack(producer)
                del producer, y
                x.__dlpack__(max_version=maximum)  # nobody takes it
                x.__dlpack__(max_version=maximum, copy=True)
                used = x.__dlpack__(max_version=maximum)
                xp.from_dlpack(Producer(used), copy=True)
                with contextlib.suppress(BufferError):
                    xp.from_dlpack(Producer(used))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        rounds(10)
        before = rounds(10)
        after = rounds(100)
    finally:
        tracemalloc.stop()
    assert after - before < 100 * 4 * 8  # not even a pointer for each exchange


# -- capsules that lie, at random --------------------------------------------------------------------

ROOM = 48  # bytes of the memory that capsules are drawn over
_odd = st.sampled_from([0, 1, 2, 3, 4, 7, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1])
_signed = st.builds(lambda value, sign: sign * value, _odd, st.sampled_from([1, 1, -1])) | st.integers(-4, 8)
_changes = st.fixed_dictionaries(
    {},
    optional={
        "device_type": st.sampled_from([1, 1, 1, 0, 2, 12, -1]),
        "lanes": st.sampled_from([1, 1, 1, 0, 2, 4, 65535]),
        "code": st.integers(0, 20) | st.integers(0, 255),
        "bits": st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64, 128, 0, 255]),
        "ndim": st.integers(0, 3) | st.sampled_from([-1, 64, 65, 2**31 - 1, -(2**31)]),
        "data": st.just(0),
        "byte_offset": st.integers(0, 48) | st.sampled_from([2**62, 2**63, 2**64 - 8]),
        "major": st.sampled_from([1, 1, 1, 0, 2, 2**32 - 1]),
        "flags": st.integers(0, 15) | st.just(2**64 - 1),
        "strides": st.none() | st.lists(_signed, min_size=65, max_size=65),
        "shape": st.none() | st.lists(_signed | st.integers(0, 3), min_size=65, max_size=65),
        "name": st.sampled_from([b"dltensor", b"dltensor_versioned", b"used_dltensor", b"tensor"]),
    },
)


@given(_changes, st.booleans())
def test_whatever_a_capsule_says_it_is_refused_or_taken_and_given_back_once(changes, versioned):
    changes = dict(changes)
    kind = NAMES[Versioned if versioned else Plain]
    if changes.get("name") in NAMES.values():
        del changes["name"]  # a structure under the other's name is no longer about what is in it
    array = np.arange(ROOM // 8, dtype=np.int64).reshape(2, 3)
    made = Made(array, versioned=versioned, **changes)
    producer = Producer(made.capsule)
    made.capsule = None
    tensor = made.head.tensor
    x = None
    with contextlib.suppress(BufferError):
        x = xp.from_dlpack(producer)
    if x is None:
        del producer
        assert made.deleted == (1 if made.name == kind else 0)
        return
    assert x.shape == tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    assert code_of(x.dtype) == tensor.code
    assert x.dtype.bits == tensor.bits
    assert x._memory.writable is (versioned and not made.head.flags & READ_ONLY)
    bounds = Layout(x.shape, tuple(tensor.strides[k] for k in range(x.ndim))).bounds() if tensor.strides else None
    bounds = bounds or (0, x.size - 1)
    if tensor.byte_offset + bounds[0] * x.itemsize >= 0 and tensor.byte_offset + (bounds[1] + 1) * x.itemsize <= ROOM:
        repr(x)  # it lies in the memory, so it can be read
        assert not x.size or address(x._numpy()) == tensor.data + tensor.byte_offset
    assert made.deleted == 0
    del x
    assert made.deleted == 1


MANY = """
import random, sys
import candela_xp as xp
from capsules import Made, Producer

chosen = random.Random({seed})
odd = [0, 1, 2, 3, 4, 8, 64, 65, 2**31 - 1, 2**32, 2**61, 2**62, 2**63 - 1, -1, -2, -(2**31), -(2**62), -(2**63)]
counts = {{"taken": 0, "refused": 0}}
for _ in range(4000):
    changes = {{}}
    for name, bits in (
        ("device_type", 0), ("device_id", 31), ("lanes", 0), ("code", 5), ("bits", 0), ("ndim", 2), ("data", 0),
        ("byte_offset", 0), ("major", 1), ("minor", 32), ("flags", 0), ("shape", 0), ("strides", 0),
    ):
        if chosen.random() < 0.15:
            if name in ("shape", "strides"):
                changes[name] = chosen.choice([None, [chosen.choice(odd) for _ in range(65)], [1] * 65, [0] * 65])
            elif name == "data":
                changes[name] = chosen.choice([0, 8, 2**64 - 8])
            elif name == "bits":
                changes[name] = chosen.choice([0, 1, 2, 4, 6, 8, 16, 32, 64, 128])
            elif name in ("ndim", "device_type", "device_id"):
                changes[name] = chosen.choice([0, 1, 2, 3, 64, 65, -1, 2**31 - 1, -(2**31)])
            else:
                changes[name] = chosen.randrange(2 ** max(bits, 3))
    versioned = chosen.random() < 0.7
    if not versioned:
        for name in ("major", "minor", "flags"):
            changes.pop(name, None)
    made = Made(None, versioned=versioned, **changes)
    producer = Producer(made.capsule)
    made.capsule = None
    try:
        x = xp.from_dlpack(producer)
    except BufferError:
        counts["refused"] += 1
    else:
        x.layout, x[..., None], x.ndim
        assert made.deleted == 0
        counts["taken"] += 1
        del x
    assert made.deleted == 1, changes
print(min(counts.values()) > 200)
"""


def test_thousands_of_random_capsules_end_no_process():
    seed = random.randrange(2**32)
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n" + MANY.format(seed=seed)
    found = in_process(code)
    assert (found.returncode, found.stdout) == (0, "True\n"), (seed, found.stderr[-2000:])


# -- torch and JAX -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")  # torch 2.13 about its complex32
def test_torch_and_we_share_memory_both_ways_in_every_dtype_that_both_have():
    torch = pytest.importorskip("torch", reason="torch is not part of the test extra")
    shared = [d for d in ALL_DTYPES if hasattr(torch, d.name) and d.bits >= 8]
    assert len(shared) >= 14
    for dtype, versioned in itertools.product(shared, (True, False)):
        there = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(getattr(torch, dtype.name)).T
        x = xp.from_dlpack(there)
        assert x.dtype is dtype
        assert x.shape == (3, 2)
        assert x._memory.writable
        assert address(x._numpy()) == there.data_ptr()
        x[0, 1] = True
        assert there[0, 1].to(torch.complex64) == 1
        back = torch.from_dlpack(x) if versioned else torch.utils.dlpack.from_dlpack(x.__dlpack__())
        assert back.dtype == there.dtype
        assert back.data_ptr() == there.data_ptr()
        assert back.stride() == there.stride()
        back[2, 0] = 0
        back[2, 1] = 0
        assert not x._numpy()[2].astype(np.complex64).any() or dtype is xp.float8_e8m0fnu  # it has no 0


def test_torch_keeps_our_memory_and_we_keep_torchs():
    torch = pytest.importorskip("torch", reason="torch is not part of the test extra")
    for dtype in (xp.float32, xp.bfloat16, xp.float8_e4m3fn):
        owner = np.array(numbers((2, 3), dtype.dtype))
        watched = weakref.ref(owner)
        there = torch.from_dlpack(xp.asarray(owner))
        rows = there[1:]
        del owner, there
        assert not gone(watched)
        assert rows.to(torch.float32).tolist() == [[4, 5, 6]]
        del rows
        assert gone(watched)
        tensor = torch.ones(5).to(getattr(torch, dtype.name))
        storage = weakref.ref(tensor.untyped_storage())
        x = xp.from_dlpack(tensor)[1:]
        place = tensor.data_ptr()
        del tensor
        gc.collect()
        assert address(x._numpy()) == place + dtype.itemsize
        assert float(xp.sum(xp.astype(x, xp.float32))) == 4
        del x, storage


def test_what_we_cannot_take_from_torch_is_a_buffer_error():
    torch = pytest.importorskip("torch", reason="torch is not part of the test extra")
    with pytest.raises(BufferError, match="2 lanes"):
        xp.from_dlpack(torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))
    for tensor in (torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64).conj()):
        with pytest.raises(BufferError):
            xp.from_dlpack(tensor)


@pytest.fixture
def jax() -> Any:
    """JAX with its 64-bit dtypes, which it has on demand only."""
    found = pytest.importorskip("jax", reason="jax is not part of the test extra")
    with found.enable_x64(True):
        yield found


def jax_dtypes(jax: Any) -> list[xp.DType]:
    """Those of 8 bits and more that JAX has."""
    return [d for d in ALL_DTYPES if d.bits >= 8 and hasattr(jax.numpy, d.name)]


def test_jax_arrays_come_in_read_only_over_the_same_memory(jax):
    shared = jax_dtypes(jax)
    assert len(shared) >= 22
    for dtype in shared:
        there = jax.numpy.asarray(numbers((2, 3), dtype.dtype))
        x = xp.from_dlpack(there)
        assert x.dtype is dtype
        assert address(x._numpy()) == there.unsafe_buffer_pointer()
        assert same_bits(x._numpy(), numbers((2, 3), dtype.dtype))
        with pytest.raises(ValueError, match="read-only"):
            x[0, 0] = 1
        del there
        gc.collect()
        assert same_bits(x._numpy(), numbers((2, 3), dtype.dtype))


def test_jax_looks_at_our_memory_in_every_dtype_that_it_has(jax):
    for dtype in jax_dtypes(jax):
        owner = np.empty(256, np.uint8)
        watched = weakref.ref(owner)
        room = owner[-address(owner) % 64 :][: 6 * dtype.itemsize]  # JAX shares what begins at a multiple of 64 bytes
        room.view(dtype.dtype)[...] = numbers((6,), dtype.dtype)
        x = xp.asarray(room.view(dtype.dtype).reshape(2, 3))
        there = jax.numpy.from_dlpack(x, copy=False)
        assert there.dtype == dtype.dtype
        assert there.unsafe_buffer_pointer() == address(room)
        assert same_bits(np.asarray(there), numbers((2, 3), dtype.dtype))
        del x, room, owner
        assert not gone(watched)
        del there
        assert gone(watched)


def test_what_jax_packs_is_refused(jax):
    packed = jax.numpy.asarray(np.arange(4), dtype=jax.numpy.float4_e2m1fn)
    with pytest.raises(BufferError, match=r"elements of 4 bits are packed|no dtype has DLPack code 17 with 4 bits"):
        xp.from_dlpack(packed)
