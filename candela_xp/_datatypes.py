"""Data type functions (array API 2025.12, "Data Type Functions")."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from candela_xp import _device, _dtypes, _modes, _public, _walk
from candela_xp._array import SCALARS, NDArray, Scalar, as_python_scalar, checked_array
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._revisions import public


class _Info:
    """Numbers that describe a dtype."""

    __slots__ = ("bits", "dtype", "max", "min")
    bits: int
    dtype: DType

    def __repr__(self) -> str:
        """All attributes."""
        names = sorted({name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())})
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class finfo_object(_Info):
    """Limits of a floating-point dtype, as Python numbers.

    Attributes
    ----------
    bits : int
        Bits of one (real) number.
    eps : float
        Distance from 1 to the next number.
    max, min : float
        Greatest and least finite number.
    smallest_normal : float
        Least positive number of full precision.
    dtype : DType
        The real dtype.
    """

    __slots__ = ("eps", "smallest_normal")
    max: float
    min: float

    def __init__(self, dtype: DType) -> None:
        known = (ml_dtypes.finfo if dtype.extension else np.finfo)(dtype.dtype)
        self.bits = int(known.bits)
        self.eps = float(known.eps)
        self.max = float(known.max)
        self.min = float(known.min)
        self.smallest_normal = float(known.smallest_normal)
        self.dtype = dtype


class iinfo_object(_Info):
    """Limits of an integer dtype, as Python integers.

    Attributes
    ----------
    bits : int
        Bits of one number.
    max, min : int
        Greatest and least number.
    dtype : DType
        The dtype.
    """

    __slots__ = ()
    max: int
    min: int

    def __init__(self, dtype: DType) -> None:
        self.bits = dtype.bits
        self.min, self.max = _dtypes.limits(dtype)
        self.dtype = dtype


def _dtype_of(function: str, thing: Any) -> DType:
    return thing._dtype if isinstance(thing, NDArray) else _dtypes.named(function, thing)


@public()
def astype(x: NDArray, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> NDArray:
    """Cast to a dtype, whatever the promotion rules say.

    Parameters
    ----------
    x : NDArray
        Array of any dtype.
    dtype : DType
        Dtype of the result.
    copy : bool
        True: always a new array. False: ``x`` itself where dtype and device are its own.
    device : Device, optional
        Device of the result; None is that of ``x``.

    Returns
    -------
    NDArray
        An array of the shape of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, ``dtype`` no dtype, or a complex array would lose its imaginary part.
    ValueError
        The device is unknown.

    Notes
    -----
    To bool, everything but 0 is True, also NaN. NaN and infinities as integers are undefined.

    Source: array API 2025.12, ``astype``; in the standard since 2021.12.
    """
    array = checked_array("astype", "x", x)
    target = _dtypes.named("astype", dtype)
    place = _device.chosen("astype", device, array._device)
    if array._dtype.kind == "complex" and target.kind not in ("complex", "bool"):
        raise TypeError(f"astype: {array._dtype} to {target} would drop the imaginary part; use real or imag first")
    if target is array._dtype and place is array._device and not copy:
        return array
    if place is array._device and _public.is_large(array):
        made = _public.deferred("astype", _conversion(array, target), row_major=True)
        if made is not None:
            return made
    return NDArray(_cast(array._numpy(), target), target, place)


def _conversion(array: NDArray, target: DType) -> _public.Prepared:
    """What `_cast` does, as a kernel of an expression."""
    kernel: Any = _walk.assign
    operands: tuple[Any, ...] = (array,)
    if target.kind == "bool" and array._dtype.kind not in ("bool", "int", "uint") and not array._dtype.extension:
        kernel, operands = np.not_equal, (array, np.zeros((), array._dtype.dtype))
    return _public.Prepared(kernel, operands, None, target, array._device)


def _cast(view: Any, target: DType) -> Any:
    """A dense copy in another dtype; to bool by comparison with 0, since NumPy's own cast warns of NaN."""
    if target.kind == "bool" and view.dtype.kind in "fc":
        return np.not_equal(view, view.dtype.type(0), order="C", out=...)
    return _dtypes.converted(view, target)


@public()
def can_cast(from_: DType | NDArray, to: DType, /) -> bool:
    """Whether the promotion rules lead from one dtype to another.

    Parameters
    ----------
    from_ : DType or NDArray
        Where from.
    to : DType
        Where to.

    Returns
    -------
    bool
        True where both combine to ``to`` (across kinds, in default mode only).

    Raises
    ------
    TypeError
        An argument is no dtype.

    Notes
    -----
    Source: array API 2025.12, ``can_cast``; in the standard since 2021.12.
    """
    source, target = _dtype_of("can_cast", from_), _dtypes.named("can_cast", to)
    if _dtypes.can_cast(source, target):
        return True
    return not _modes.is_strict() and _dtypes.PRACTICAL.get((source, target)) is target


@public()
def finfo(type: DType | NDArray, /) -> finfo_object:
    """Limits of a floating-point dtype.

    Parameters
    ----------
    type : DType or NDArray
        Floating-point dtype, or an array of one; of a complex one the component counts.

    Returns
    -------
    finfo_object
        ``bits, eps, max, min, smallest_normal, dtype`` as Python numbers.

    Raises
    ------
    TypeError
        The dtype is not floating-point.

    Notes
    -----
    Source: array API 2025.12, ``finfo``; in the standard since 2021.12.
    """
    dtype = _dtype_of("finfo", type)
    if dtype.kind not in ("float", "complex"):
        raise TypeError(f"finfo: {dtype} is not floating-point; use iinfo")
    return finfo_object(_dtypes.REAL_OF.get(dtype, dtype))


@public()
def iinfo(type: DType | NDArray, /) -> iinfo_object:
    """Limits of an integer dtype.

    Parameters
    ----------
    type : DType or NDArray
        Integer dtype, or an array of one.

    Returns
    -------
    iinfo_object
        ``bits, max, min, dtype`` as Python numbers.

    Raises
    ------
    TypeError
        The dtype is no integer one.

    Notes
    -----
    Source: array API 2025.12, ``iinfo``; in the standard since 2021.12.
    """
    dtype = _dtype_of("iinfo", type)
    if dtype.kind not in ("int", "uint"):
        raise TypeError(f"iinfo: {dtype} is no integer dtype; use finfo")
    return iinfo_object(dtype)


@public(since="2022.12")
def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : DType
        The dtype asked about.
    kind : DType, str, or tuple of them
        A dtype, or ``bool``, ``signed integer``, ``unsigned integer``, ``integral``, ``real floating``,
        ``complex floating`` or ``numeric``; of a tuple one must fit.

    Returns
    -------
    bool
        The answer.

    Raises
    ------
    TypeError
        An argument is no dtype or kind.
    ValueError
        The kind is unknown; the known ones are listed.

    Notes
    -----
    Source: array API 2025.12, ``isdtype``; in the standard since 2022.12.
    """
    asked = _dtypes.named("isdtype", dtype)
    if isinstance(kind, tuple):
        # Every member is checked, also behind one that fits.
        return any([isdtype(asked, one) for one in kind])  # noqa: C419  # see above
    if isinstance(kind, str):
        if kind not in _dtypes.KIND_QUERIES:
            raise ValueError(f"isdtype: kind {kind!r} is unknown; there are {', '.join(_dtypes.KIND_QUERIES)}")
        return _dtypes.is_kind(asked, kind)
    return asked is _dtypes.named("isdtype", kind)


@public()
def result_type(*arrays_and_dtypes: NDArray | Scalar | DType) -> DType:
    """The dtype in which arrays, dtypes and Python scalars combine.

    Parameters
    ----------
    *arrays_and_dtypes : NDArray, DType or Python scalar
        At least one; the order does not matter.

    Returns
    -------
    DType
        The common dtype; Python scalars take part by their kind.

    Raises
    ------
    ValueError
        Nothing is given.
    TypeError
        There is no common dtype; in strict mode also for scalars alone.

    Notes
    -----
    Source: array API 2025.12, ``result_type``; in the standard since 2021.12.
    """
    name = "result_type"
    if not arrays_and_dtypes:
        raise ValueError(f"{name}: at least one array or dtype is needed")
    given = [as_python_scalar(name, one) if isinstance(one, np.generic) else one for one in arrays_and_dtypes]
    scalars = [one for one in given if isinstance(one, SCALARS)]
    dtypes = [_dtype_of(name, one) for one in given if not isinstance(one, SCALARS)]
    # Lower kinds first, so that no order of the arguments makes a difference.
    scalars.sort(key=lambda one: [kind is type(one) for kind in SCALARS].index(True) if type(one) in SCALARS else 2)
    if not dtypes:
        _modes.allow("scalar operands only", f"{name}: neither arrays nor dtypes are given")
        dtypes = [_public.scalar_default(scalars[-1])]
    common = _public.common_dtype(name, dtypes)
    for scalar in scalars:
        common = _dtypes.scalar_dtype(name, common, scalar)
    return common
