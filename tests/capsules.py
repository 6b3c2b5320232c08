"""DLPack capsules made and opened by ctypes, independently of the package: structures, makers, producers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import candela_xp as xp
from candela_xp._dtypes import DTYPES

CPU = (1, 0)

# DLPack's code of each dtype (dlpack.h 1.1, DLDataTypeCode)
CODES = {"bool": 6, "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10}
CODES |= {"float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14}
CODES |= {"float6_e2m3fn": 15, "float6_e3m2fn": 16, "float4_e2m1fn": 17}
KINDS = {"int": 0, "uint": 1, "float": 2, "complex": 5}
READ_ONLY, IS_COPIED, IS_PADDED = 1, 2, 4


def code_of(dtype: xp.DType) -> int:
    return CODES.get(dtype.name, KINDS.get(dtype.kind))


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Plain(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


NAMES = {Plain: b"dltensor", Versioned: b"dltensor_versioned"}

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
# The destructor gets the capsule at the end of its life: as an address, since a reference would revive it.
_dying_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

deleted: list[int] = []  # addresses of the structures whose deleter was called
_alive: dict[int, Any] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _deleter(place: int) -> None:
    deleted.append(place)
    _alive.pop(place, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destructor(capsule: int) -> None:
    name = _dying_name(capsule)
    if name in NAMES.values():  # nobody took it over
        _deleter(_dying_pointer(capsule, name))


_deleter_place = ctypes.cast(_deleter, ctypes.c_void_p).value
_destructor_place = ctypes.cast(_destructor, ctypes.c_void_p).value


class Made:
    """A capsule made here, and the structure in it."""

    def __init__(
        self, array: np.ndarray | None, *, versioned: bool = True, name: bytes | None = None, **changes: Any
    ) -> None:
        array = np.arange(6.0).reshape(2, 3) if array is None else array
        kind = Versioned if versioned else Plain
        self.head = kind()
        head_changes = {key: changes.pop(key) for key in ("major", "minor", "flags") if key in changes}
        if versioned:
            self.head.major, self.head.minor = 1, 1
            self.head.flags = IS_PADDED if DTYPES[array.dtype.name].bits < 8 else 0
        for key, value in head_changes.items():
            setattr(self.head, key, value)
        self.head.deleter = _deleter_place
        tensor = self.head.tensor
        dtype = DTYPES[array.dtype.name]
        fields = {
            "data": address(array),
            "device_type": 1,
            "device_id": 0,
            "ndim": array.ndim,
            "code": code_of(dtype),
            "bits": dtype.bits,
            "lanes": 1,
            "shape": array.shape,
            "strides": tuple(step // array.itemsize for step in array.strides),
            "byte_offset": 0,
        } | changes
        kept = [array, self.head]
        for key, value in fields.items():
            if key in ("shape", "strides") and value is not None:
                value = (ctypes.c_int64 * max(1, len(value)))(*value)
                kept.append(value)
                value = ctypes.cast(value, ctypes.POINTER(ctypes.c_int64))
            if value is not None:
                setattr(tensor, key, value)
        self.place = ctypes.addressof(self.head)
        deleted[:] = [place for place in deleted if place != self.place]  # of a structure that was there before
        self.name = name or NAMES[kind]
        _alive[self.place] = (kept, self.name)
        self.capsule: Any = _new(self.place, self.name, _destructor_place)

    @property
    def deleted(self) -> int:
        """How often the deleter was called; by counting references, so at once."""
        return deleted.count(self.place)


class Producer:
    """An object that hands out one capsule, whatever it is asked for, and remembers what that was."""

    def __init__(self, capsule: Any, device: tuple[int, int] = CPU) -> None:
        self.capsule = capsule
        self.device = device
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        capsule, self.capsule = self.capsule, None
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def opened(capsule: Any) -> tuple[Tensor, Versioned | None]:
    """The structures in a capsule; both keep it alive."""
    name = _name(capsule)
    pointer = pointer_of(capsule, name)
    if name == b"dltensor_versioned":
        head = Versioned.from_address(pointer)
        tensor = head.tensor
        head.capsule = tensor.capsule = capsule
        return tensor, head
    assert name == b"dltensor"
    tensor = Tensor.from_address(pointer)
    tensor.capsule = capsule
    return tensor, None
