"""Exchange of memory with others: DLPack capsules, and the bytes that a pickle holds.

NumPy makes the capsules and takes them over, so that what frees the memory is C code, which may be called from any
thread and after the interpreter's end (a deleter in Python ends the process there). What NumPy doesn't do is done here
on the C structures: a capsule that comes in is checked before NumPy believes it, one of a simulated device carries
that device, and the dtypes of ml_dtypes, for which DLPack has codes and NumPy none, pass NumPy as unsigned integers
of their width.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, Final

import numpy as np

from candela_xp import _dtypes
from candela_xp._buffer import Buffer
from candela_xp._dtypes import DType
from candela_xp._errors import ExportError
from candela_xp._layout import Layout

NumPyArray = np.ndarray[Any, Any]
Element = tuple[int, int]  # DLPack's code and bits of one element


# -- what dlpack.h 1.1 says ------------------------------------------------------------------------


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


_VERSION: Final = (1, 1)
_CPU: Final = (1, 0)
_COPIED_FLAG: Final = 2
_PADDED_FLAG: Final = 4  # elements below 8 bits take a byte each; without it they are packed
_MAX_NDIM: Final = 64
_UNSIGNED: Final = 1
_KIND_CODES: Final = {"int": 0, "uint": _UNSIGNED, "float": 2, "complex": 5, "bool": 6}
_CODES: Final = {"bfloat16": 4, "complex32": 5} | {
    name: code
    for code, name in enumerate(
        "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn".split(),
        7,
    )
}


def _element(dtype: DType) -> Element | None:
    """DLPack's code and bits of a dtype, or None where it has no code."""
    code = _CODES.get(dtype.name)
    if code is None and (_is_numpys(dtype.dtype) or dtype.kind in ("int", "uint")):
        code = _KIND_CODES[dtype.kind]
    return None if code is None else (code, dtype.bits)


def _is_numpys(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy itself brings the dtype, and so knows its DLPack code."""
    return dtype.isbuiltin == 1


_ELEMENTS: Final = {dtype.dtype: element for dtype in _dtypes.DTYPES.values() if (element := _element(dtype))}
_FROM_ELEMENT: Final = {element: dtype for dtype, element in _ELEMENTS.items()}

_CAPSULE: Final = type(np.empty(0).__dlpack__())

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _opened(capsule: Any) -> tuple[_DLTensor, _Versioned | None]:
    """The C structures inside a capsule; they live as long as the capsule, or who took it over, does."""
    if type(capsule) is not _CAPSULE:
        raise ExportError(f"from_dlpack: __dlpack__ returned {type(capsule).__name__}, not a capsule")
    name = _get_name(capsule)
    if name == b"dltensor_versioned":
        head = _Versioned.from_address(_get_pointer(capsule, name))
        return head.tensor, head
    if name == b"dltensor":
        return _DLTensor.from_address(_get_pointer(capsule, name)), None
    raise ExportError(f"from_dlpack: the capsule is called {name!r}; it is no DLPack tensor, or was used before")


# -- out -------------------------------------------------------------------------------------------


def to_capsule(view: NumPyArray, device: tuple[int, int], version: tuple[int, int], *, copy: bool) -> Any:
    """A DLPack capsule over a NumPy view (or over a copy of it), saying that it lives on ``device``.

    Parameters
    ----------
    view
        The elements.
    device
        DLPack's kind and number of the device.
    version
        The newest DLPack version that the consumer reads; from (1, 0) on the capsule is versioned.
    copy
        Whether the capsule holds a copy.

    Raises
    ------
    BufferError
        DLPack has no code for the dtype, or the version cannot say that memory is read-only, or that elements below 8
        bits take a byte each.
    """
    dtype = view.dtype
    element = None
    if not _is_numpys(dtype):
        element = _ELEMENTS.get(dtype)
        if element is None:
            raise ExportError(f"__dlpack__: DLPack has no code for {dtype}; use astype, or numpy.asarray(x).view")
        if element[1] < 8 and version < (1, 1):
            raise ExportError(
                f"__dlpack__: {dtype} takes a byte an element, which DLPack says from version 1.1 on; the consumer "
                "would take the elements for packed: pass max_version=(1, 1), or use astype"
            )
    if copy:
        view = np.array(view, order="C", copy=True)
    try:
        known = view if element is None else view.view(f"u{view.itemsize}")
        capsule = known.__dlpack__(max_version=(1, 0) if version >= (1, 0) else None)
    except BufferError as error:
        raise ExportError(f"__dlpack__: {error}") from None
    if element is None and not copy and device == _CPU and view.size:
        return capsule  # NumPy has said it all
    tensor, head = _opened(capsule)
    if not view.size:
        tensor.data = None
    tensor.device_type, tensor.device_id = device
    if element is not None:
        tensor.code, tensor.bits = element
    if head is not None:
        head.major, head.minor = _VERSION
        if copy:
            head.flags |= _COPIED_FLAG
        if tensor.bits < 8:
            head.flags |= _PADDED_FLAG
    return capsule


# -- in --------------------------------------------------------------------------------------------


class _Handover:
    """A checked capsule, in the shape that NumPy asks for."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU


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
    keywords: dict[str, Any] = {"max_version": _VERSION}
    if copy is False:  # for True the copy is made here: the producer's might be read-only, or not dense
        keywords["copy"] = False
    if not on_cpu:
        keywords["dl_device"] = _CPU
    try:
        capsule = producer.__dlpack__(**keywords)
    except TypeError as error:
        # A producer older than the keywords, if that is what it says; else the exception is about the data.
        if "argument" not in str(error):
            raise
        capsule = producer.__dlpack__()
    tensor, head = _opened(capsule)
    problem = _problem(tensor, head)
    if problem is not None:
        # Nobody has taken the capsule: whoever ends it calls the deleter.
        raise ExportError(f"from_dlpack: the producer's capsule is unusable: {problem}")
    if copy is False and head is not None and head.flags & _COPIED_FLAG:
        raise ExportError("from_dlpack: the producer made a copy in spite of copy=False; pass copy=None")
    array = _taken(capsule, tensor)
    return np.array(array, order="C", copy=True) if copy else array


def _taken(capsule: Any, tensor: _DLTensor) -> NumPyArray:
    """The NumPy array that owns what a checked capsule held."""
    element = (tensor.code, tensor.bits)
    dtype = _FROM_ELEMENT[element]
    try:
        if _is_numpys(dtype):
            return np.from_dlpack(_Handover(capsule))
        try:
            tensor.code, tensor.bits = _UNSIGNED, 8 * dtype.itemsize
            return np.from_dlpack(_Handover(capsule)).view(dtype)
        finally:
            # Its memory is there in any case: an array owns it, or still the capsule.
            tensor.code, tensor.bits = element
    except (BufferError, RuntimeError, ValueError) as error:
        raise ExportError(f"from_dlpack: {error}") from None


def _problem(tensor: _DLTensor, head: _Versioned | None) -> str | None:
    """What is contradictory or unknown about a capsule; found before anything reads through its pointers."""
    if head is not None and head.major != _VERSION[0]:
        return f"DLPack version {head.major}.{head.minor} is unknown"
    if tensor.device_type != _CPU[0]:
        return f"the data is on DLPack device ({tensor.device_type}, {tensor.device_id}), not on the CPU"
    lanes, code, bits = tensor.lanes, tensor.code, tensor.bits
    if lanes != 1:
        return f"elements of {lanes} lanes"
    dtype = _FROM_ELEMENT.get((code, bits))
    if dtype is None:
        return f"no dtype has DLPack code {code} with {bits} bits"
    if bits < 8 and (head is None or not head.flags & _PADDED_FLAG):
        return f"elements of {bits} bits are packed; {dtype} takes those of a byte each"
    ndim = tensor.ndim
    if not 0 <= ndim <= _MAX_NDIM:
        return f"{ndim} axes; 0 to {_MAX_NDIM} are possible"
    if ndim and not tensor.shape:
        return f"{ndim} axes without a shape"
    return _geometry_problem(tensor, dtype.itemsize)


def _geometry_problem(tensor: _DLTensor, itemsize: int) -> str | None:
    ndim = tensor.ndim
    shape = tensor.shape[:ndim] if ndim else []
    stride = tensor.strides[:ndim] if ndim and tensor.strides else None
    low = high = 0
    size = 1
    for extent in shape:
        if extent < 0:
            return f"shape {tuple(shape)}"
        size *= extent
    # NumPy counts the bytes without the extents that are 0.
    if (size or prod(filter(None, shape))) * itemsize >= 2**63:
        return f"shape {tuple(shape)} has more bytes than memory"
    if not size:
        return None
    if not tensor.data:
        return f"no data for {size} elements"
    if stride is None:
        high = size - 1
    else:
        for extent, step in zip(shape, stride):
            if step < 0:
                low += (extent - 1) * step
            else:
                high += (extent - 1) * step
    start = tensor.data + tensor.byte_offset
    if start + low * itemsize <= 0 or start + (high + 1) * itemsize >= 2**63:
        return f"stride {'of row-major order' if stride is None else tuple(stride)} leaves the address space"
    return None


# -- pickles ---------------------------------------------------------------------------------------


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
