"""Exchange of memory with others: DLPack capsules, and the bytes that a pickle holds.

NumPy makes and takes the capsules. What it doesn't do is done here on the C structures: a capsule that comes
in is checked before NumPy believes it, one of a simulated device carries that device, and the narrow floats, for
which DLPack has codes and NumPy none, pass as unsigned integers of their width.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import ml_dtypes
import numpy as np

from candela_xp._buffer import Buffer
from candela_xp._errors import ExportError
from candela_xp._layout import Layout

NumPyArray = np.ndarray[Any, Any]


class _DLTensor(ctypes.Structure):
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


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_COPIED_FLAG: Final = 2
_MAX_NDIM: Final = 64
_UNSIGNED: Final = 1
# DLPack's code and bits of the element types that NumPy takes
_ELEMENTS: Final = (
    {(6, 8)}
    | {(code, bits) for code in (0, _UNSIGNED) for bits in (8, 16, 32, 64)}
    | {(2, 16), (2, 32), (2, 64), (5, 64), (5, 128)}
)
# Code and bits of those that pass NumPy as unsigned integers (dlpack.h 1.1, DLDataTypeCode)
_NARROW: Final = {
    (code, np.dtype(narrow).itemsize * 8): np.dtype(narrow)
    for code, narrow in enumerate(
        (
            ml_dtypes.float8_e3m4,
            ml_dtypes.float8_e4m3,
            ml_dtypes.float8_e4m3b11fnuz,
            ml_dtypes.float8_e4m3fn,
            ml_dtypes.float8_e4m3fnuz,
            ml_dtypes.float8_e5m2,
            ml_dtypes.float8_e5m2fnuz,
            ml_dtypes.float8_e8m0fnu,
        ),
        7,
    )
} | {(4, 16): np.dtype(ml_dtypes.bfloat16)}
_NARROW_CODES: Final = {dtype: code for (code, _), dtype in _NARROW.items()}
_CAPSULE: Final = type(np.empty(0).__dlpack__())

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _opened(capsule: Any) -> tuple[_DLTensor, _Versioned | None]:
    """The C structures inside a capsule, alive as long as the capsule is."""
    if type(capsule) is not _CAPSULE:
        raise ExportError(f"from_dlpack: __dlpack__ returned {type(capsule).__name__}, not a capsule")
    name = _get_name(capsule)
    if name not in (b"dltensor", b"dltensor_versioned"):
        raise ExportError(f"from_dlpack: the capsule is called {name!r}; it is no DLPack tensor, or was used before")
    pointer = _get_pointer(capsule, name)
    if name == b"dltensor_versioned":
        versioned = ctypes.cast(pointer, ctypes.POINTER(_Versioned)).contents
        return versioned.tensor, versioned
    return ctypes.cast(pointer, ctypes.POINTER(_DLTensor)).contents, None


def to_capsule(view: NumPyArray, device: tuple[int, int], *, versioned: bool, copy: bool) -> Any:
    """A DLPack capsule over a NumPy view (or over a copy of it), saying that it lives on ``device``.

    Raises
    ------
    BufferError
        A capsule without version cannot say that memory is read-only.
    """
    if copy:
        view = np.array(view, order="C", copy=True)
    code = _NARROW_CODES.get(view.dtype)
    known = view if code is None else view.view(f"u{view.itemsize}")
    try:
        capsule = known.__dlpack__(max_version=(1, 0) if versioned else None)
    except BufferError as error:
        raise ExportError(f"__dlpack__: {error}") from None
    tensor, head = _opened(capsule)
    tensor.device_type, tensor.device_id = device
    if code is not None:
        tensor.code = code
    if copy and head is not None:
        head.flags |= _COPIED_FLAG
    return capsule


class _Handover:
    """A checked capsule, in the shape that NumPy asks for."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_producer(producer: Any, copy: bool | None) -> NumPyArray:
    """The NumPy array over the memory that a DLPack producer hands out.

    Raises
    ------
    BufferError
        The data isn't on the CPU, or the capsule contradicts itself (also a ValueError).
    """
    kind, number = producer.__dlpack_device__()
    on_cpu = int(kind) == 1
    if not on_cpu and copy is False:
        raise ExportError(f"from_dlpack: the data is on DLPack device ({int(kind)}, {number}); pass copy=None")
    keywords: dict[str, Any] = {"max_version": (1, 0)}
    if copy is False:  # for True the copy is made here: the producer's might be read-only, or not dense
        keywords["copy"] = False
    if not on_cpu:
        keywords["dl_device"] = (1, 0)
    try:
        capsule = producer.__dlpack__(**keywords)
    except TypeError as error:
        # A producer older than the keywords, if that is what it says; else the exception is about the data.
        if "argument" not in str(error):
            raise
        capsule = producer.__dlpack__()
    tensor, head = _checked(capsule)
    if copy is False and head is not None and head.flags & _COPIED_FLAG:
        raise ExportError("from_dlpack: the producer made a copy in spite of copy=False; pass copy=None")
    code = tensor.code
    narrow = _NARROW.get((code, tensor.bits))
    try:
        if narrow is not None:
            tensor.code = _UNSIGNED
        array = np.from_dlpack(_Handover(capsule))
    except (BufferError, RuntimeError) as error:
        raise ExportError(f"from_dlpack: {error}") from None
    finally:
        # Alive in any case: by the array that took it over, or else by the capsule.
        tensor.code = code
    if narrow is not None:
        array = array.view(narrow)
    return np.array(array, order="C", copy=True) if copy else array


def _checked(capsule: Any) -> tuple[_DLTensor, _Versioned | None]:
    """The C structures inside a capsule, if they don't contradict themselves: before anything reads through them.

    Raises
    ------
    BufferError
        It is no capsule, a used one, or a contradiction; it is named.
    """
    tensor, head = _opened(capsule)
    problem = None
    if head is not None and head.major != 1:
        problem = f"DLPack version {head.major}.{head.minor} is unknown"
    elif tensor.device_type != 1:
        problem = f"the data is on DLPack device ({tensor.device_type}, {tensor.device_id}), not on the CPU"
    elif tensor.lanes != 1:
        problem = f"elements of {tensor.lanes} lanes"
    elif (tensor.code, tensor.bits) not in _ELEMENTS and (tensor.code, tensor.bits) not in _NARROW:
        problem = f"no dtype has DLPack code {tensor.code} with {tensor.bits} bits"
    elif not 0 <= tensor.ndim <= _MAX_NDIM:
        problem = f"{tensor.ndim} axes; 0 to {_MAX_NDIM} are possible"
    elif tensor.ndim and not tensor.shape:
        problem = f"{tensor.ndim} axes without a shape"
    else:
        problem = _geometry_problem(tensor)
    if problem is not None:
        raise ExportError(f"from_dlpack: the producer's capsule is unusable: {problem}")
    return tensor, head


def _geometry_problem(tensor: _DLTensor) -> str | None:
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if any(extent < 0 for extent in shape):
        return f"shape {shape}"
    layout = Layout.contiguous(shape)
    if tensor.strides:
        layout = Layout(shape, tuple(tensor.strides[axis] for axis in range(tensor.ndim)))
    itemsize = tensor.bits // 8
    if layout.len * itemsize >= 2**63:
        return f"shape {shape} has more bytes than memory"
    bounds = layout.bounds()
    if bounds is None:
        return None
    if not tensor.data:
        return f"no data for {layout.len} elements"
    start = tensor.data + tensor.byte_offset
    if start + bounds[0] * itemsize <= 0 or start + (bounds[1] + 1) * itemsize >= 2**63:
        return f"stride {layout.stride} leaves the address space"
    return None


def reachable(buffer: Buffer, layout: Layout, dtype: np.dtype[Any]) -> tuple[NumPyArray, tuple[int, ...], int]:
    """The bytes of the elements that a layout reaches, and stride and offset (elements) over them.

    Axes keep their order in memory. Overlapping windows keep their span where that is shorter.
    """
    bounds = layout.bounds()
    if bounds is not None and layout.overlaps_itself and bounds[1] - bounds[0] < layout.len:
        span = Layout((bounds[1] - bounds[0] + 1,), (1,), bounds[0])
        return buffer.view(span, dtype).copy().view(np.uint8), layout.stride, layout.offset - bounds[0]
    order = sorted(range(layout.ndim), key=lambda axis: (-abs(layout.stride[axis]), axis))
    packed = np.array(buffer.view(layout.permute(order), dtype), order="C", copy=True)
    return packed.reshape(-1).view(np.uint8), Layout.in_order(layout.shape, order).stride, 0
