"""Creation functions (array API 2025.12, "Creation Functions")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from candela_xp import _device, _dtypes, _interop, _kernels, _manipulation, _modes, _public
from candela_xp._array import SCALARS, NDArray, Scalar, as_python_scalar, checked_array, scalar_array
from candela_xp._buffer import adopt
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._errors import DeviceError, ExportError, ScalarOverflowError
from candela_xp._public import checked_choice, checked_integer, checked_shape, named_dtype
from candela_xp._revisions import public
from candela_xp._walk import dense_copy

NumPyArray = np.ndarray[Any, Any]
Shape = int | tuple[int, ...]


# -- from other objects ------------------------------------------------------------------------------


@public()
def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> NDArray:
    """Make an array of a number, a nested sequence, a buffer or another array.

    Parameters
    ----------
    obj : object
        An NDArray, a Python scalar, nested lists or tuples of scalars (or of 0-d arrays), an object with the
        buffer protocol or ``__dlpack__``; in default mode also one with ``__array__``.
    dtype : DType, optional
        Dtype of the result. None: that of ``obj``; of Python scalars the default dtype of the highest kind.
    device : Device, optional
        Device of the result; None is that of ``obj``, or the default one.
    copy : bool, optional
        True: always a new array. False: never. None: only where needed; otherwise the memory is shared.

    Returns
    -------
    NDArray
        ``obj`` itself, a view of its memory, or a new array.

    Raises
    ------
    TypeError
        ``obj`` holds something that is no number; in strict mode a cast that the standard doesn't promise.
    ValueError
        ``copy=False`` and a copy is needed, nesting is ragged, or a number doesn't fit the dtype.

    Notes
    -----
    Source: array API 2025.12, ``asarray``; in the standard since 2021.12.
    """
    target = named_dtype("asarray", dtype)
    if isinstance(obj, NDArray):
        return _from_own(obj, target, device, copy)
    if isinstance(obj, SCALARS) and not isinstance(obj, np.generic):
        place = _device.chosen("asarray", device)
        _needs_copy("asarray: a Python scalar has no memory to share", copy)
        kind = _public.scalar_default(obj)
        result = target or kind
        if target is not None:
            _check_cast(kind, target, scalar=True)
        return NDArray(_from_scalar("asarray", obj, result), result, place)
    if isinstance(obj, list | tuple):
        return _from_sequence(obj, target, device, copy)
    return _from_foreign(obj, target, device, copy)


def _needs_copy(reason: str, copy: bool | None) -> None:
    """Refuse where a copy is needed and ``copy=False``."""
    if copy is not None and not copy:
        raise ValueError(f"{reason}; pass copy=None")


def _check_cast(source: DType, target: DType, *, scalar: bool = False) -> None:
    """Refuse a cast at creation that loses the imaginary part; in strict mode also one that promotion doesn't allow."""
    if source.kind == "complex" and target.kind not in ("complex", "bool"):
        raise TypeError(f"asarray: complex values have no {target} form; use real or imag first")
    if scalar:
        # Python numbers as booleans are no loss that the text leaves open: 0 is False, all else True.
        promotes = target.kind == "bool" or _dtypes.same_kind(source, target)
    else:
        promotes = _dtypes.can_cast(source, target)
    if not promotes:
        what = f"a Python {source.kind}" if scalar else f"{source} values"
        _modes.allow("casting creation", f"asarray: {what} with dtype={target}")


def _from_scalar(function: str, value: Scalar, dtype: DType) -> NumPyArray:
    if dtype.kind == "bool":
        return np.asarray(bool(value))
    if dtype.kind in ("int", "uint") and isinstance(value, float):
        if not math.isfinite(value):
            raise ScalarOverflowError(f"{function}: {value} has no {dtype} form")
        value = int(value)
    return scalar_array(function, value, dtype)


def _from_own(x: NDArray, dtype: DType | None, device: Device | None, copy: bool | None) -> NDArray:
    place = _device.chosen("asarray", device, x._device)
    target = dtype or x._dtype
    if target is not x._dtype:
        _needs_copy(f"asarray: {x._dtype} to {target} needs a copy", copy)
        _check_cast(x._dtype, target)
        return NDArray(_dtypes.converted(x._numpy(), target), target, place)
    if place is not x._device:
        _needs_copy(f"asarray: {x._device} to {place} needs a copy", copy)
    elif not copy:
        return x
    return x._copied(place)


def _from_sequence(obj: Sequence[Any], dtype: DType | None, device: Device | None, copy: bool | None) -> NDArray:
    _needs_copy("asarray: a sequence has no memory to share", copy)
    leaves = _Leaves(set(), set(), set())
    plain = _unwrapped(obj, leaves, 1)
    if len(leaves.devices) > 1:
        names = " and ".join(sorted(one.name for one in leaves.devices))
        raise DeviceError(f"asarray: the sequence holds arrays on {names}; use to_device on them")
    place = _device.chosen("asarray", device, next(iter(leaves.devices), _device.CPU))
    scalars = [_scalar_dtype_of(kind) for kind in leaves.scalars]
    if dtype is not None:
        for source in scalars:
            _check_cast(source, dtype, scalar=True)
        for source in leaves.dtypes:
            _check_cast(source, dtype)
    target = dtype
    if target is None and not leaves.dtypes:
        # The standard's rule; NumPy's would make large Python integers uint64, float64 or objects.
        target = max(scalars, key=lambda one: _LEVEL[one.kind], default=_dtypes.DEFAULT_FLOAT)
    elif target is None and not scalars:
        target = _public.common_dtype("asarray", sorted(leaves.dtypes, key=lambda one: one.number))
    # ml_dtypes takes no Python integer beyond 64 bits, and rounds floats twice.
    narrow = target is not None and target.extension
    between = {"float": np.float64, "complex": np.complex128}.get(target.kind, np.int64) if target and narrow else None
    try:
        made = np.asarray(plain, dtype=between or (target and target.dtype))
        if between is np.float64 and int in leaves.scalars and (np.abs(made) >= 2**53).any():
            # Integers of more bits than float64 has would be rounded twice.
            made = np.frompyfunc(_kernels.odd, 1, 1)(np.asarray(plain, object)).astype(np.float64)
    except OverflowError:
        wanted = target or _dtypes.DEFAULT_INT
        raise ScalarOverflowError(
            f"asarray: a number of the sequence does not fit {wanted}; use another dtype"
        ) from None
    except (ValueError, TypeError) as error:
        # Ragged nesting, or NaN as an integer.
        raise ValueError(f"asarray: {error}") from None
    if narrow and target is not None:
        if target.kernels == "narrowint" and made.size:
            low, high = _dtypes.limits(target)
            if int(made.min()) < low or int(made.max()) > high:
                raise ScalarOverflowError(f"asarray: a number of the sequence does not fit {target}; use another dtype")
        made = _dtypes.cast(made, target.dtype)
    return NDArray(made, target or _found_dtype(made, obj), place)


_LEVEL = {"bool": 0, "int": 1, "float": 2, "complex": 3}


class _Leaves(NamedTuple):
    """What a nested sequence holds: types of Python scalars, dtypes and devices of everything else."""

    scalars: set[type]
    dtypes: set[DType]
    devices: set[Device]


_PLAIN = frozenset(SCALARS)
_DEFAULTS = {
    bool: _dtypes.bool_,
    int: _dtypes.DEFAULT_INT,
    float: _dtypes.DEFAULT_FLOAT,
    complex: _dtypes.DEFAULT_COMPLEX,
}


def _scalar_dtype_of(kind: type) -> DType:
    """The default dtype of a Python scalar of this type."""
    return _DEFAULTS.get(kind) or next(_DEFAULTS[one] for one in SCALARS if issubclass(kind, one))


def _unwrapped(obj: Sequence[Any], leaves: _Leaves, depth: int) -> Sequence[Any]:
    """A nested sequence with all that is no Python scalar replaced by NumPy's views; what it holds is noted.

    Raises
    ------
    TypeError
        An element is no number, or in strict mode no Python scalar.
    ValueError
        The nesting is deeper than an array can have axes.
    """
    if depth > 64:
        raise ValueError("asarray: the sequence is nested more than 64 deep")
    kinds = set(map(type, obj))
    if kinds <= _PLAIN:
        leaves.scalars.update(kinds)
        return obj
    return [_leaf(one, leaves, depth) for one in obj]


def _leaf(one: Any, leaves: _Leaves, depth: int) -> Any:
    if isinstance(one, list | tuple):
        return _unwrapped(one, leaves, depth + 1)
    if isinstance(one, SCALARS) and not isinstance(one, np.generic):
        leaves.scalars.add(type(one))
        return one
    if not isinstance(one, NDArray):
        one = (
            as_python_scalar("asarray", one)
            if isinstance(one, _PYTHON_NUMBERS)
            else _from_foreign(one, None, None, None)
        )
        if isinstance(one, SCALARS):
            leaves.scalars.add(type(one))
            return one
    if one.ndim:
        _modes.allow("arrays in sequences", f"asarray: the sequence holds an array of shape {one.shape}")
    leaves.dtypes.add(one._dtype)
    leaves.devices.add(one._device)
    return one._numpy()


# NumPy scalars that are Python scalars too
_PYTHON_NUMBERS = (np.float64, np.complex128)


def _found_dtype(made: NumPyArray, obj: Any) -> DType:
    found = _dtypes.FROM_NUMPY.get(made.dtype)
    if found is None:
        shown = repr(obj)
        shown = shown if len(shown) < 60 else shown[:57] + "..."
        raise TypeError(f"asarray: {shown} is {made.dtype} to NumPy, which is no dtype of candela_xp")
    return found


def _from_foreign(obj: Any, dtype: DType | None, device: Device | None, copy: bool | None) -> NDArray:
    """Objects of other libraries: their memory is shared unless a copy is asked for or needed."""
    place = _device.chosen("asarray", device)
    if isinstance(obj, np.ndarray | np.generic):
        if hasattr(obj, "filled"):
            raise TypeError("asarray: a masked array would lose its mask; use .filled() or .data of it")
        made = np.asarray(obj)
    elif hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        made = _interop.from_producer(obj, None)
    elif _has_buffer(obj):
        made = np.asarray(memoryview(obj))
    elif hasattr(obj, "__array__") or hasattr(obj, "__array_interface__"):
        _modes.allow("foreign operands", f"asarray: obj is a {type(obj).__name__}")
        made = np.asarray(obj)
    elif hasattr(obj, "__len__") and hasattr(obj, "__getitem__") and not isinstance(obj, str | bytes | dict):
        return _from_sequence(list(obj), dtype, device, copy)
    else:
        raise TypeError(f"asarray: Unsupported type {type(obj).__name__}: no number, sequence, buffer or array")
    native = made.dtype.newbyteorder("=")
    source = _found_dtype(made if native == made.dtype else np.empty(0, native), obj)
    target = dtype or source
    changes = target is not source or made.dtype != source.dtype
    if changes:
        _needs_copy(f"asarray: {made.dtype} to {target} needs a copy", copy)
        _check_cast(source, target)
    if place is not _device.CPU:
        _needs_copy(f"asarray: cpu to {place} needs a copy", copy)
    if isinstance(obj, np.generic):
        _needs_copy("asarray: a NumPy scalar has no memory to share", copy)
    if not changes and (copy or place is not _device.CPU):
        return NDArray(dense_copy(made), target, place)
    if changes:
        return NDArray(_dtypes.converted(made, target), target, place)
    return _shared(made, target, copy)


def _has_buffer(obj: Any) -> bool:
    if isinstance(obj, bytes | bytearray):
        return True
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _shared(made: NumPyArray, dtype: DType, copy: bool | None) -> NDArray:
    """An array over memory that someone else owns and sees."""
    adopted = adopt(made)
    if adopted is None:
        _needs_copy(f"asarray: strides {made.strides} (bytes) are no multiples of {made.itemsize}", copy)
        return NDArray(made.copy(), dtype, _device.CPU)
    buffer, layout = adopted
    buffer.exported = True
    return NDArray(None, dtype, _device.CPU, layout, buffer)


@public()
def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> NDArray:
    """Take over the memory of another library's array through DLPack.

    Parameters
    ----------
    x : object
        An object with ``__dlpack__`` and ``__dlpack_device__``.
    device : Device, optional
        Device of the result; None is that of ``x``.
    copy : bool, optional
        True: always a new array. False: never. None: only where needed.

    Returns
    -------
    NDArray
        An array over the same memory, or a copy.

    Raises
    ------
    AttributeError
        ``x`` has no DLPack methods.
    BufferError
        The data can't be taken over, or only by a copy and ``copy=False`` (also a ValueError).

    Notes
    -----
    What the producer raises comes through. A capsule that contradicts itself is refused before it is read.

    Source: array API 2025.12, ``from_dlpack``; in the standard since 2021.12.
    """
    if isinstance(x, NDArray):
        place = _device.chosen("from_dlpack", device, x._device)
        if place is not x._device and copy is False:
            raise ExportError(f"from_dlpack: {x._device} to {place} needs a copy; pass copy=None")
        if copy or place is not x._device:
            return x._copied(place)
        return x._with(x.layout)
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise AttributeError(f"from_dlpack: {type(x).__name__} has no __dlpack__ and __dlpack_device__; use asarray")
    place = _device.chosen("from_dlpack", device)
    if place is not _device.CPU and copy is False:
        raise ExportError(f"from_dlpack: cpu to {place} needs a copy; pass copy=None")
    made = _interop.from_producer(x, copy)
    dtype = _found_dtype(made, x)
    if place is not _device.CPU:
        return NDArray(np.array(made, order="C", copy=True), dtype, place)
    if copy:
        return NDArray(made, dtype, place)
    return _shared(made, dtype, copy)


# -- of a shape ----------------------------------------------------------------------------------------


def _float_or(function: str, dtype: Any) -> DType:
    return named_dtype(function, dtype) or _dtypes.DEFAULT_FLOAT


@public()
def empty(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array whose elements are whatever the memory held.

    Parameters
    ----------
    shape : int or tuple of int
        Extent of each axis.
    dtype : DType, optional
        Dtype; None is the default floating-point one.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError, ValueError
        The shape holds no integers, is negative, or is larger than memory.

    Notes
    -----
    Source: array API 2025.12, ``empty``; in the standard since 2021.12.
    """
    target = _float_or("empty", dtype)
    return NDArray(np.empty(checked_shape("empty", shape), target.dtype), target, _device.chosen("empty", device))


@public()
def zeros(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        Extent of each axis.
    dtype : DType, optional
        Dtype; None is the default floating-point one.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError, ValueError
        The shape holds no integers, is negative, or is larger than memory.

    Notes
    -----
    Source: array API 2025.12, ``zeros``; in the standard since 2021.12.
    """
    target = _float_or("zeros", dtype)
    return NDArray(np.zeros(checked_shape("zeros", shape), target.dtype), target, _device.chosen("zeros", device))


@public()
def ones(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array of ones.

    Parameters
    ----------
    shape : int or tuple of int
        Extent of each axis.
    dtype : DType, optional
        Dtype; None is the default floating-point one.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError, ValueError
        The shape holds no integers, is negative, or is larger than memory.

    Notes
    -----
    Source: array API 2025.12, ``ones``; in the standard since 2021.12.
    """
    target = _float_or("ones", dtype)
    return NDArray(np.ones(checked_shape("ones", shape), target.dtype), target, _device.chosen("ones", device))


def _fill_value(function: str, value: Any, dtype: DType | None) -> tuple[NumPyArray, DType]:
    """A fill value as a 0-d NumPy array, and its dtype."""
    if isinstance(value, NDArray):
        if value.ndim:
            raise ValueError(f"{function}: fill_value has shape {value.shape}; it must be a scalar or 0-d")
        _modes.allow("array as fill value", f"{function}: fill_value is an array")
        target = dtype or value._dtype
        if not _dtypes.same_kind(value._dtype, target):
            raise TypeError(f"{function}: fill_value is {value._dtype}, dtype {target}; use astype on fill_value")
        return _dtypes.converted(value._numpy(), target), target
    if isinstance(value, np.generic):
        value = as_python_scalar(function, value)
    if not isinstance(value, SCALARS):
        raise TypeError(f"{function}: fill_value must be a Python scalar, got {type(value).__name__}")
    target = dtype or _public.scalar_default(value)
    if target.kind == "bool":
        return np.asarray(bool(value)), target
    if not _dtypes.same_kind(_public.scalar_default(value), target):
        raise TypeError(f"{function}: fill_value {value!r} has no {target} form; use another dtype")
    return scalar_array(function, value, target), target


@public()
def full(
    shape: Shape,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> NDArray:
    """An array of one value.

    Parameters
    ----------
    shape : int or tuple of int
        Extent of each axis.
    fill_value : bool, int, float or complex
        The value (default mode: also a 0-d array).
    dtype : DType, optional
        Dtype; None is the default one of the value's kind.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError, ValueError
        The shape holds no integers, is negative, or is larger than memory; the value doesn't fit the dtype.

    Notes
    -----
    Source: array API 2025.12, ``full``; in the standard since 2021.12.
    """
    value, target = _fill_value("full", fill_value, named_dtype("full", dtype))
    place = fill_value._device if isinstance(fill_value, NDArray) else _device.CPU
    extents = checked_shape("full", shape)
    return NDArray(np.full(extents, value, target.dtype), target, _device.chosen("full", device, place))


def _like(function: str, x: Any, dtype: Any, device: Any) -> tuple[tuple[int, ...], DType, Device]:
    array = checked_array(function, "x", x)
    return array.shape, named_dtype(function, dtype) or array._dtype, _device.chosen(function, device, array._device)


@public()
def empty_like(x: NDArray, /, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array of the shape of another, whose elements are whatever the memory held.

    Parameters
    ----------
    x : NDArray
        Array that gives the shape.
    dtype : DType, optional
        Dtype; None is that of ``x``.
    device : Device, optional
        Device; None is that of ``x``.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``empty_like``; in the standard since 2021.12.
    """
    shape, target, place = _like("empty_like", x, dtype, device)
    return NDArray(np.empty(shape, target.dtype), target, place)


@public()
def zeros_like(x: NDArray, /, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array of zeros of the shape of another.

    Parameters
    ----------
    x : NDArray
        Array that gives the shape.
    dtype : DType, optional
        Dtype; None is that of ``x``.
    device : Device, optional
        Device; None is that of ``x``.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``zeros_like``; in the standard since 2021.12.
    """
    shape, target, place = _like("zeros_like", x, dtype, device)
    return NDArray(np.zeros(shape, target.dtype), target, place)


@public()
def ones_like(x: NDArray, /, *, dtype: DType | None = None, device: Device | None = None) -> NDArray:
    """An array of ones of the shape of another.

    Parameters
    ----------
    x : NDArray
        Array that gives the shape.
    dtype : DType, optional
        Dtype; None is that of ``x``.
    device : Device, optional
        Device; None is that of ``x``.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``ones_like``; in the standard since 2021.12.
    """
    shape, target, place = _like("ones_like", x, dtype, device)
    return NDArray(np.ones(shape, target.dtype), target, place)


@public()
def full_like(
    x: NDArray,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> NDArray:
    """An array of one value of the shape of another.

    Parameters
    ----------
    x : NDArray
        Array that gives the shape.
    fill_value : bool, int, float or complex
        The value (default mode: also a 0-d array).
    dtype : DType, optional
        Dtype; None is that of ``x``.
    device : Device, optional
        Device; None is that of ``x``.

    Returns
    -------
    NDArray
        A dense array.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or the value is of a higher kind than the dtype.
    ValueError
        The value doesn't fit the dtype.

    Notes
    -----
    Source: array API 2025.12, ``full_like``; in the standard since 2021.12.
    """
    shape, target, place = _like("full_like", x, dtype, device)
    value, _ = _fill_value("full_like", fill_value, target)
    return NDArray(np.full(shape, value, target.dtype), target, place)


# -- of a rule -----------------------------------------------------------------------------------------


def _real_number(function: str, name: str, value: Any) -> int | float:
    if isinstance(value, NDArray) and value.ndim == 0:
        _modes.allow("array as fill value", f"{function}: {name} is an array")
        value = value._item()
    if isinstance(value, np.generic):
        value = as_python_scalar(function, value)
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{function}: {name} must be an int or a float, got {value!r}")


@public()
def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> NDArray:
    """Evenly spaced numbers from ``start`` up to, but without, ``stop``.

    Parameters
    ----------
    start : int or float
        First number; the only argument is ``stop``, and then this is 0.
    stop : int or float, optional
        End, excluded.
    step : int or float
        Distance of neighbours, not 0.
    dtype : DType, optional
        Dtype; None is the default integer, or floating-point one if an argument is a float.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        ``ceil((stop - start) / step)`` numbers ``start + i * step``, none if that is negative.

    Raises
    ------
    TypeError
        An argument is no real number.
    ValueError
        ``step`` is 0, the range is infinite, or a number doesn't fit the dtype.

    Notes
    -----
    Integers are exact over the whole range of the dtype. Every element is rounded once from its own product,
    so no error of the step adds up.

    Source: array API 2025.12, ``arange``; in the standard since 2021.12.
    """
    first, last = (0, start) if stop is None else (start, stop)
    first, last = _real_number("arange", "start", first), _real_number("arange", "stop", last)
    distance = _real_number("arange", "step", step)
    if distance == 0:
        raise ValueError("arange: step must not be 0")
    place = _device.chosen("arange", device)
    whole = isinstance(first, int) and isinstance(last, int) and isinstance(distance, int)
    target = named_dtype("arange", dtype) or (_dtypes.DEFAULT_INT if whole else _dtypes.DEFAULT_FLOAT)
    if target.kind == "bool":
        raise TypeError(f"arange: dtype must be an integer or floating-point one, got {target}")
    if target.kind == "complex":
        _modes.allow("casting creation", f"arange: dtype={target} is no real dtype")
    if whole:
        count = max(0, -((first - last) // distance)) if distance > 0 else max(0, -((last - first) // -distance))
    else:
        try:
            quotient = (last - first) / distance
        except OverflowError:
            raise ScalarOverflowError("arange: an argument is an integer that no float can hold") from None
        if not math.isfinite(quotient):
            raise ValueError(f"arange: start={first}, stop={last}, step={distance} has no finite number of elements")
        count = max(0, math.ceil(quotient))
    (count,) = checked_shape("arange", int(count))
    return NDArray(_ranged(first, distance, count, target), target, place)


def _ranged(first: int | float, distance: int | float, count: int, dtype: DType) -> NumPyArray:
    """``first + i * distance`` for i in 0..count-1."""
    if dtype.kind in ("int", "uint"):
        ends = (int(first), int(first + distance * (count - 1))) if count else (0, 0)
        low, high = _dtypes.limits(dtype)
        if not (low <= min(ends) and max(ends) <= high):
            raise ScalarOverflowError(f"arange: {min(ends)}..{max(ends)} does not fit {dtype}")
        if isinstance(first, int) and isinstance(distance, int):
            # Modulo 2^64, so that the steps of uint64 beyond the signed range come out right too.
            steps = np.arange(count, dtype=np.uint64)
            if distance != 1:
                steps *= np.uint64(distance % 2**64)
            if first:
                steps += np.uint64(first % 2**64)
            return _dtypes.cast(steps.view(np.int64) if dtype.kind == "int" else steps, dtype.dtype)
    if isinstance(first, int) and isinstance(distance, int) and not dtype.extension and count:
        last = first + distance * (count - 1)
        low, high = min(first, last), max(first, last)
        if max(-low, high) > 2**53 and low >= -(2**63) and high < 2**63:
            # float64 would round the product and the sum; an integer is rounded once.
            return _ranged(first, distance, count, _dtypes.int64).astype(dtype.dtype)
    # NumPy's own arange rounds the step to what start + step leaves of it, and adds that up.
    points = np.empty(count, np.float64)
    numbers = np.arange(min(count, _BLOCK), dtype=np.float64)
    for begin in range(0, count, _BLOCK):
        block = points[begin : begin + _BLOCK]
        np.add(numbers[: block.size], float(begin), out=block)
        if distance != 1:
            block *= float(distance)
        if first:
            block += float(first)
    return _dtypes.cast(points, dtype.dtype)


# 16 Ki elements: a block stays in cache from its first step to its last (1.1 of NumPy's time at 10^6, whole 1.4).
_BLOCK = 16384


@public()
def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> NDArray:
    """A number of evenly spaced points of an interval.

    Parameters
    ----------
    start, stop : int, float or complex
        Ends of the interval.
    num : int
        Number of points, at least 0.
    dtype : DType, optional
        Floating-point dtype; None is the default one of the ends' kind.
    device : Device, optional
        Device; None is the default one.
    endpoint : bool
        Whether ``stop`` is the last point; otherwise the spacing is that of ``num + 1`` points.

    Returns
    -------
    NDArray
        The points; the first is ``start`` and the last, with ``endpoint``, ``stop`` exactly.

    Raises
    ------
    TypeError
        An end is no number, or ``num`` no integer.
    ValueError
        ``num`` is negative.

    Notes
    -----
    Source: array API 2025.12, ``linspace``; in the standard since 2021.12.
    """
    ends: list[Any] = []
    for name, value in (("start", start), ("stop", stop)):
        ends.append(value if isinstance(value, complex) else _real_number("linspace", name, value))
    count = checked_integer("linspace", "num", num)
    if count < 0:
        raise ValueError(f"linspace: num must not be negative, got {count}")
    checked_shape("linspace", count)
    is_complex = any(isinstance(end, complex) for end in ends)
    target = named_dtype("linspace", dtype) or (_dtypes.DEFAULT_COMPLEX if is_complex else _dtypes.DEFAULT_FLOAT)
    if is_complex and target.kind != "complex":
        raise TypeError(f"linspace: complex ends have no {target} form")
    place = _device.chosen("linspace", device)
    if target.kind not in ("float", "complex"):
        _modes.allow("casting creation", f"linspace: dtype={target} is no floating-point dtype")
    kind = complex if is_complex else float
    try:
        first, last = kind(ends[0]), kind(ends[1])
    except OverflowError:
        raise ScalarOverflowError("linspace: an end is an integer that no float can hold") from None
    return NDArray(_spaced(first, last, count, bool(endpoint), target), target, place)


def _spaced(first: Any, last: Any, count: int, endpoint: bool, dtype: DType) -> NumPyArray:
    """Points between two floats or complex numbers; the ends are exact, also where the length is infinite."""
    half = False
    if np.isfinite(first) and np.isfinite(last) and not np.isfinite(last - first):
        # The length of the interval overflows; half of each end doesn't reach that far.
        half, first, last = True, first / 2, last / 2
    # Between infinite ends the points are NaN or infinite; the last point may overflow before the end replaces it.
    with np.errstate(invalid="ignore", over="ignore"):
        points = np.linspace(first, last, count, endpoint=endpoint)
    if count:
        points[0] = first
    if half:
        points *= 2
    if dtype.kind in ("int", "uint"):
        np.floor(points, out=points)
    return _dtypes.cast(points, dtype.dtype)


@public()
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> NDArray:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns; None is ``n_rows``.
    k : int
        Which diagonal: 0 the main one, positive above, negative below.
    dtype : DType, optional
        Dtype; None is the default floating-point one.
    device : Device, optional
        Device; None is the default one.

    Returns
    -------
    NDArray
        A dense matrix.

    Raises
    ------
    TypeError, ValueError
        A number is no integer, negative, or larger than memory.

    Notes
    -----
    Source: array API 2025.12, ``eye``; in the standard since 2021.12.
    """
    rows, columns = checked_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    diagonal = _clamped("eye", k, rows, columns)
    target = _float_or("eye", dtype)
    return NDArray(np.eye(rows, columns, diagonal, target.dtype), target, _device.chosen("eye", device))


def _clamped(function: str, k: Any, rows: int, columns: int) -> int:
    """Any Python integer as the number of a diagonal, at most one beyond the matrix (NumPy takes 64 bits)."""
    return max(-rows, min(columns, checked_integer(function, "k", k)))


def _triangle(function: str, kernel: Any, x: Any, k: Any) -> NDArray:
    array = checked_array(function, "x", x)
    if array.ndim < 2:
        raise ValueError(f"{function}: x has {array.ndim} axes; at least 2 are needed")
    diagonal = _clamped(function, k, *array.shape[-2:])
    return NDArray(kernel(array._numpy(), diagonal), array._dtype, array._device)


@public()
def tril(x: NDArray, /, *, k: int = 0) -> NDArray:
    """The lower triangle of each matrix in a stack, zeros above.

    Parameters
    ----------
    x : NDArray
        Stack of matrices of any dtype, shape (..., M, N).
    k : int
        Diagonal up to which elements are kept: 0 the main one, positive above, negative below.

    Returns
    -------
    NDArray
        A new array of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``k`` no integer.
    ValueError
        ``x`` has fewer than two axes.

    Notes
    -----
    Source: array API 2025.12, ``tril``; in the standard since 2021.12.
    """
    return _triangle("tril", np.tril, x, k)


@public()
def triu(x: NDArray, /, *, k: int = 0) -> NDArray:
    """The upper triangle of each matrix in a stack, zeros below.

    Parameters
    ----------
    x : NDArray
        Stack of matrices of any dtype, shape (..., M, N).
    k : int
        Diagonal from which elements are kept: 0 the main one, positive above, negative below.

    Returns
    -------
    NDArray
        A new array of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``k`` no integer.
    ValueError
        ``x`` has fewer than two axes.

    Notes
    -----
    Source: array API 2025.12, ``triu``; in the standard since 2021.12.
    """
    return _triangle("triu", np.triu, x, k)


@public()
def meshgrid(*arrays: NDArray, indexing: str = "xy") -> tuple[NDArray, ...]:
    """Coordinate arrays of a grid, as views.

    Parameters
    ----------
    *arrays : NDArray
        Coordinates along each axis of the grid, each with one axis (or 0-d: one coordinate).
    indexing : {'xy', 'ij'}
        ``ij``: axis k of the grid is array k. ``xy``: the first two axes change places.

    Returns
    -------
    tuple of NDArray
        One view an array, of the shape of the grid; stretched axes have stride 0, so writing is refused.

    Raises
    ------
    TypeError
        One is no NDArray.
    ValueError
        One has several axes, devices differ, or ``indexing`` is neither.

    Notes
    -----
    Source: array API 2025.12, ``meshgrid``; in the standard since 2021.12 (a list before 2025.12).
    """
    checked = _public.checked_arrays("meshgrid", arrays)
    order = checked_choice("meshgrid", "indexing", indexing, ("xy", "ij"))
    if checked:
        _public.common_device("meshgrid", checked)
    for number, array in enumerate(checked):
        if array.ndim > 1:
            raise ValueError(f"meshgrid: array {number} has shape {array.shape}; each must have one axis")
    count = len(checked)
    grid = []
    for number, array in enumerate(checked):
        place = 1 - number if order == "xy" and count > 1 and number < 2 else number
        shape = tuple([array.size if axis == place else 1 for axis in range(count)])
        grid.append(_manipulation.reshape(array, shape, copy=None))
    return _manipulation.broadcast_arrays(*grid)


@public(name="meshgrid", until="2025.12")
def _meshgrid_list(*arrays: NDArray, indexing: str = "xy") -> list[NDArray]:
    """Coordinate arrays of a grid, as a list of views; otherwise `candela_xp.meshgrid`.

    Notes
    -----
    Source: array API 2024.12, ``meshgrid``.
    """
    return list(meshgrid(*arrays, indexing=indexing))
