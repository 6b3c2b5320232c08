"""Fourier transforms (array API 2025.12, extension ``fft``). NumPy's pocketfft computes, in the precision of the input.

Transforms between complex numbers and transforms that give real ones take complex input; in default mode real input
counts as complex of the same precision, integers as the default floating-point dtype, and ``norm=None`` as
``"backward"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from candela_xp import _device, _dtypes, _modes
from candela_xp._array import NDArray, as_python_scalar, checked_array
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._index import normalise_axes, normalise_axis
from candela_xp._public import checked_choice, checked_integer, checked_shape, named_dtype
from candela_xp._revisions import public

NumPyArray = np.ndarray[Any, Any]
Norm = Literal["backward", "ortho", "forward"]
SINCE = "2022.12"

# -- arguments -----------------------------------------------------------------------------------------


def _operand(function: str, x: Any, kind: str) -> tuple[NumPyArray, NDArray]:
    """The NumPy view of an operand as ``complex`` or ``float`` numbers, and the operand.

    Raises
    ------
    TypeError
        It is no NDArray, or complex where real numbers are due; in strict mode any other kind too.
    """
    array = checked_array(function, "x", x)
    dtype = array._dtype
    if dtype.kind in ("bool", "int", "uint"):
        _modes.allow("integers in floating-point functions", f"{function}: not defined for {dtype} arrays")
        dtype = _dtypes.DEFAULT_FLOAT
    if dtype.extension:
        dtype = _dtypes.FROM_NUMPY[dtype.wide]
    if kind == "float":
        if dtype.kind == "complex":
            raise TypeError(f"{function}: the input must be real, this one is {dtype}; use fft or real()")
    elif dtype.kind == "float":
        _modes.allow("real input to complex transforms", f"{function}: the input is {array._dtype}, not complex")
        dtype = _dtypes.COMPLEX_OF[dtype]
    view = array._numpy()
    return _dtypes.cast(view, dtype.dtype), array


def _finished(value: Any, x: NDArray, view: NumPyArray) -> NDArray:
    """The result on the operand's device, of real or complex dtype as NumPy computed it; never the operand itself."""
    result = np.asarray(value)
    dtype = _dtypes.FROM_NUMPY[result.dtype]
    # A transform over no axes is the identity, and NumPy hands back what it got.
    return NDArray(result.copy() if result is view else result, dtype, x._device)


def _checked_norm(function: str, norm: Any) -> Any:
    if norm is None:
        _modes.allow("norm of None", f"{function}: norm is None")
        return "backward"
    return checked_choice(function, "norm", norm, ("backward", "ortho", "forward"))


def _length(function: str, name: str, value: Any, way_out: str) -> int:
    """A transform length.

    Raises
    ------
    TypeError
        It is no integer.
    ValueError
        It is below 1, or above what memory can hold.
    """
    length = checked_integer(function, name, value)
    if length < 1:
        raise ValueError(f"{function}: the transform needs at least 1 element, {name} is {length}; {way_out}")
    return checked_shape(function, (length,))[0]


def _one_axis(
    kernel: Callable[..., Any],
    x: Any,
    n: Any,
    axis: Any,
    norm: Any,
    *,
    takes: str = "complex",
    gives_real: bool = False,
) -> NDArray:
    """A transform along one axis.

    Parameters
    ----------
    kernel
        NumPy's function; it has the name of ours.
    x, n, axis, norm
        The function's arguments.
    takes
        Kind of the numbers that go in: ``complex`` or ``float``.
    gives_real
        Whether real numbers come out, 2 (M - 1) of them by default.
    """
    function = kernel.__name__
    view, array = _operand(function, x, takes)
    place = normalise_axis(function, axis, view.ndim)
    extent = view.shape[place]
    if n is None:
        length = 2 * (extent - 1) if gives_real else extent
        _length(function, "n", length, f"axis {place} has length {extent}, pass n")
    else:
        length = _length(function, "n", n, "pass 1 or more")
    return _finished(kernel(view, n=length, axis=place, norm=_checked_norm(function, norm)), array, view)


def _sequence(function: str, name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"{function}: {name} must be a tuple or list of integers, got {value!r}")
    return tuple(value)


def _several_axes(
    kernel: Callable[..., Any],
    x: Any,
    s: Any,
    axes: Any,
    norm: Any,
    *,
    takes: str = "complex",
    gives_real: bool = False,
) -> NDArray:
    """A transform along several axes; parameters as `_one_axis`."""
    function = kernel.__name__
    view, array = _operand(function, x, takes)
    if axes is None:
        if s is not None:
            raise ValueError(f"{function}: s={s!r} without axes; name the axes that have these lengths")
        places: tuple[int, ...] = tuple(range(view.ndim))
    else:
        places = tuple([normalise_axis(function, axis, view.ndim) for axis in _sequence(function, "axes", axes)])
    halves = gives_real or takes == "float"
    if halves and not places:
        raise ValueError(
            f"{function}: there is no axis to transform; the operand has shape {view.shape}, axes is {axes}"
        )
    lengths = [view.shape[place] for place in places]
    if gives_real:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if s is not None:
        given = _sequence(function, "s", s)
        if len(given) != len(places):
            raise ValueError(f"{function}: s has {len(given)} lengths for {len(places)} axes")
        numbers = [checked_integer(function, "s", length) for length in given]
        lengths = [own if number == -1 else number for own, number in zip(lengths, numbers)]
    for place, length in zip(places, lengths):
        _length(function, "s", length, f"axis {place} has length {view.shape[place]}, pass a length of 1 or more")
    return _finished(kernel(view, s=lengths, axes=places, norm=_checked_norm(function, norm)), array, view)


# -- transforms along one axis -----------------------------------------------------------------------------


@public(namespace="fft", since=SINCE)
def fft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Discrete Fourier transform along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    n : int, optional
        Length of the transform; the axis is cut or padded with zeros to it. None: its own length.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: the inverse, both (by the root of n), or this one.

    Returns
    -------
    NDArray
        Transform, of the shape of ``x`` with length n on the axis, complex of its precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``n`` or ``axis`` no integer; in strict mode also an operand that isn't complex.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1, or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.fft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.fft, x, n, axis, norm)


@public(namespace="fft", since=SINCE)
def ifft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Inverse discrete Fourier transform along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    n : int, optional
        Length of the transform; the axis is cut or padded with zeros to it. None: its own length.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: this one, both (by the root of n), or the forward one.

    Returns
    -------
    NDArray
        Transform, of the shape of ``x`` with length n on the axis, complex of its precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``n`` or ``axis`` no integer; in strict mode also an operand that isn't complex.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1, or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.ifft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.ifft, x, n, axis, norm)


@public(namespace="fft", since=SINCE)
def fftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> NDArray:
    """Discrete Fourier transform along several axes.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    s : sequence of int, optional
        Length of the transform on each of ``axes``, which must be given too; an axis is cut or padded with zeros
        to it, -1 keeps its length. None: their own lengths.
    axes : sequence of int, optional
        Axes to transform, one after the other from the last named to the first; negative ones count from the end.
        None: all.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by the product of the lengths: the inverse, both (by its root), or this
        one.

    Returns
    -------
    NDArray
        Transform, of the shape of ``x`` with the lengths s on the axes, complex of its precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``s`` or ``axes`` no sequence of integers; in strict mode also an operand that isn't
        complex.
    IndexError
        An axis is out of range.
    ValueError
        ``s`` without ``axes`` or of another length, a length below 1, or another norm.

    Notes
    -----
    An axis named twice is transformed twice.

    Source: array API 2025.12, ``fft.fftn``; in the standard since 2022.12.
    """
    return _several_axes(np.fft.fftn, x, s, axes, norm)


@public(namespace="fft", since=SINCE)
def ifftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> NDArray:
    """Inverse discrete Fourier transform along several axes.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    s : sequence of int, optional
        Length of the transform on each of ``axes``, which must be given too; an axis is cut or padded with zeros
        to it, -1 keeps its length. None: their own lengths.
    axes : sequence of int, optional
        Axes to transform, one after the other from the last named to the first; negative ones count from the end.
        None: all.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by the product of the lengths: this one, both (by its root), or the
        forward one.

    Returns
    -------
    NDArray
        Transform, of the shape of ``x`` with the lengths s on the axes, complex of its precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``s`` or ``axes`` no sequence of integers; in strict mode also an operand that isn't
        complex.
    IndexError
        An axis is out of range.
    ValueError
        ``s`` without ``axes`` or of another length, a length below 1, or another norm.

    Notes
    -----
    An axis named twice is transformed twice.

    Source: array API 2025.12, ``fft.ifftn``; in the standard since 2022.12.
    """
    return _several_axes(np.fft.ifftn, x, s, axes, norm)


# -- real numbers ------------------------------------------------------------------------------------------


@public(namespace="fft", since=SINCE)
def rfft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Discrete Fourier transform of real numbers along an axis: the half that isn't redundant.

    Parameters
    ----------
    x : NDArray
        Operand of real floating-point dtype.
    n : int, optional
        Length of the transform; the axis is cut or padded with zeros to it. None: its own length.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: the inverse, both (by the root of n), or this one.

    Returns
    -------
    NDArray
        The first ``n // 2 + 1`` values of the transform, complex of the precision of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or complex, or ``n`` or ``axis`` is no integer.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1, or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.rfft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.rfft, x, n, axis, norm, takes="float")


@public(namespace="fft", since=SINCE)
def irfft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Inverse of `rfft`.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    n : int, optional
        Length of the result on the axis, of which the operand is cut or padded to ``n // 2 + 1`` elements. None:
        2 (M - 1) for M elements; an odd length must be said.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: this one, both (by the root of n), or the forward one.

    Returns
    -------
    NDArray
        Real numbers of the precision of ``x``, n of them on the axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``n`` or ``axis`` no integer; in strict mode also an operand that isn't complex.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1 (as it is by default for a single element), or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.irfft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.irfft, x, n, axis, norm, gives_real=True)


@public(namespace="fft", since=SINCE)
def rfftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> NDArray:
    """Discrete Fourier transform of real numbers along several axes: the half that isn't redundant.

    Parameters
    ----------
    x : NDArray
        Operand of real floating-point dtype.
    s : sequence of int, optional
        Length of the transform on each of ``axes``, which must be given too; an axis is cut or padded with zeros
        to it, -1 keeps its length. None: their own lengths.
    axes : sequence of int, optional
        Axes to transform; the last named is the one that is halved. Negative ones count from the end. None: all.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by the product of the lengths: the inverse, both (by its root), or this
        one.

    Returns
    -------
    NDArray
        Transform, complex of the precision of ``x``, with ``s[-1] // 2 + 1`` values on the last of the axes.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or complex, or ``s`` or ``axes`` is no sequence of integers.
    IndexError
        An axis is out of range.
    ValueError
        ``s`` without ``axes`` or of another length, a length below 1, no axis at all, or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.rfftn``; in the standard since 2022.12.
    """
    return _several_axes(np.fft.rfftn, x, s, axes, norm, takes="float")


@public(namespace="fft", since=SINCE)
def irfftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> NDArray:
    """Inverse of `rfftn`.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    s : sequence of int, optional
        Length of the result on each of ``axes``, which must be given too; -1 stands for the default. None: the
        operand's lengths, on the last of the axes 2 (M - 1) for M elements.
    axes : sequence of int, optional
        Axes to transform; the last named is the one that `rfftn` halved. Negative ones count from the end. None: all.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by the product of the lengths: this one, both (by its root), or the
        forward one.

    Returns
    -------
    NDArray
        Real numbers of the precision of ``x``, of the lengths s on the axes.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``s`` or ``axes`` no sequence of integers; in strict mode also an operand that isn't
        complex.
    IndexError
        An axis is out of range.
    ValueError
        ``s`` without ``axes`` or of another length, a length below 1, no axis at all, or another norm.

    Notes
    -----
    The standard doesn't say what -1 means on the last of the axes. Here every element is used, as on the others:
    the length is 2 (M - 1). NumPy takes M and drops elements.

    Source: array API 2025.12, ``fft.irfftn``; in the standard since 2022.12.
    """
    return _several_axes(np.fft.irfftn, x, s, axes, norm, gives_real=True)


@public(namespace="fft", since=SINCE)
def hfft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Discrete Fourier transform of a signal with Hermitian symmetry, of which half is given.

    Parameters
    ----------
    x : NDArray
        Operand of complex dtype (default mode: any).
    n : int, optional
        Length of the result on the axis, of which the operand is cut or padded to ``n // 2 + 1`` elements. None:
        2 (M - 1) for M elements.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: the inverse, both (by the root of n), or this one.

    Returns
    -------
    NDArray
        Real numbers of the precision of ``x``, n of them on the axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``n`` or ``axis`` no integer; in strict mode also an operand that isn't complex.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1 (as it is by default for a single element), or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.hfft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.hfft, x, n, axis, norm, gives_real=True)


@public(namespace="fft", since=SINCE)
def ihfft(x: NDArray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> NDArray:
    """Inverse of `hfft`.

    Parameters
    ----------
    x : NDArray
        Operand of real floating-point dtype.
    n : int, optional
        Length of the transform; the axis is cut or padded with zeros to it. None: its own length.
    axis : int, optional
        Axis to transform; a negative one counts from the end. Default: -1.
    norm : {"backward", "ortho", "forward"}, optional
        Which of the two directions divides by n: this one, both (by the root of n), or the forward one.

    Returns
    -------
    NDArray
        The first ``n // 2 + 1`` values of the transform, complex of the precision of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or complex, or ``n`` or ``axis`` is no integer.
    IndexError
        The axis is out of range.
    ValueError
        ``n`` is below 1, or another norm.

    Notes
    -----
    Source: array API 2025.12, ``fft.ihfft``; in the standard since 2022.12.
    """
    return _one_axis(np.fft.ihfft, x, n, axis, norm, takes="float")


# -- frequencies and shifts ----------------------------------------------------------------------------------


def _frequencies(
    function: str, n: Any, d: Any, dtype: Any, device: Any, numerators: Callable[[int], NumPyArray]
) -> NDArray:
    length = _length(function, "n", n, "pass 1 or more")
    if isinstance(d, np.generic):
        d = as_python_scalar(function, d)
    if isinstance(d, bool) or not isinstance(d, int | float):
        raise TypeError(f"{function}: d must be a Python float, got {d!r}")
    target = named_dtype(function, dtype) or _dtypes.DEFAULT_FLOAT
    if target.kind != "float":
        raise TypeError(f"{function}: dtype must be real floating-point, got {target}")
    total = length * float(d)
    if total == 0:
        raise ValueError(f"{function}: n * d is 0 (n={length}, d={d!r}); the sample spacing must not be 0")
    place = _device.chosen(function, device)
    # One division each, as the standard's formula has it; a product with the reciprocal would round twice.
    return NDArray((numerators(length) / total).astype(target.dtype, copy=False), target, place)


@public(namespace="fft", since=SINCE)
def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> NDArray:
    """Sample frequencies of a transform by `fft`.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float, optional
        Distance between samples; frequencies are cycles in its unit. Default: 1.0.
    dtype : DType, optional
        Real floating-point dtype of the result. None: the default one.
    device : Device, optional
        Where the result goes. None: the CPU.

    Returns
    -------
    NDArray
        0, 1, …, then the negative frequencies up to -1, each over ``n * d``; shape (n,).

    Raises
    ------
    TypeError
        ``n`` is no integer, ``d`` no real number, or ``dtype`` no real floating-point dtype.
    ValueError
        ``n`` is below 1, ``n * d`` is 0, or the device is unknown.

    Notes
    -----
    Source: array API 2025.12, ``fft.fftfreq``; in the standard since 2022.12 (``dtype`` since 2024.12, accepted in
    all).
    """
    return _frequencies("fftfreq", n, d, dtype, device, _symmetric)


def _symmetric(n: int) -> NumPyArray:
    """0, 1, …, then from ``-(n // 2)`` up to -1."""
    numbers = np.arange(n, dtype=np.float64)
    numbers[(n + 1) // 2 :] -= n
    return numbers


@public(namespace="fft", since=SINCE)
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> NDArray:
    """Sample frequencies of a transform by `rfft`.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float, optional
        Distance between samples; frequencies are cycles in its unit. Default: 1.0.
    dtype : DType, optional
        Real floating-point dtype of the result. None: the default one.
    device : Device, optional
        Where the result goes. None: the CPU.

    Returns
    -------
    NDArray
        0, 1, …, ``n // 2``, each over ``n * d``; shape (n // 2 + 1,).

    Raises
    ------
    TypeError
        ``n`` is no integer, ``d`` no real number, or ``dtype`` no real floating-point dtype.
    ValueError
        ``n`` is below 1, ``n * d`` is 0, or the device is unknown.

    Notes
    -----
    Source: array API 2025.12, ``fft.rfftfreq``; in the standard since 2022.12 (``dtype`` since 2024.12, accepted in
    all).
    """
    return _frequencies("rfftfreq", n, d, dtype, device, lambda length: np.arange(length // 2 + 1, dtype=np.float64))


def _shifted(function: str, x: Any, axes: Any, direction: int) -> NDArray:
    array = checked_array(function, "x", x)
    if axes is None:
        places: tuple[int, ...] = tuple(range(array.ndim))
    elif isinstance(axes, Sequence) and not isinstance(axes, str):
        places = tuple([normalise_axis(function, axis, array.ndim) for axis in axes])
    else:
        places = normalise_axes(function, axes, array.ndim)
    view = array._numpy()
    shifts = [direction * (view.shape[place] // 2) for place in places]
    moved = np.roll(view, shifts, places) if places else view.copy()
    return NDArray(moved, array._dtype, array._device)


@public(namespace="fft", since=SINCE)
def fftshift(x: NDArray, /, *, axes: int | Sequence[int] | None = None) -> NDArray:
    """Shift the frequency 0 to the middle of the spectrum.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype.
    axes : int or sequence of int, optional
        Axes to shift; negative ones count from the end. None: all.

    Returns
    -------
    NDArray
        A copy, shifted by half its length along each axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axes`` no integer or sequence of them.
    IndexError
        An axis is out of range.

    Notes
    -----
    An axis named twice is shifted twice.

    Source: array API 2025.12, ``fft.fftshift``; in the standard since 2022.12.
    """
    return _shifted("fftshift", x, axes, 1)


@public(namespace="fft", since=SINCE)
def ifftshift(x: NDArray, /, *, axes: int | Sequence[int] | None = None) -> NDArray:
    """Undo `fftshift`; for odd lengths it shifts by one element less.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype.
    axes : int or sequence of int, optional
        Axes to shift; negative ones count from the end. None: all.

    Returns
    -------
    NDArray
        A copy, shifted back by half its length along each axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or ``axes`` no integer or sequence of them.
    IndexError
        An axis is out of range.

    Notes
    -----
    An axis named twice is shifted twice.

    Source: array API 2025.12, ``fft.ifftshift``; in the standard since 2022.12.
    """
    return _shifted("ifftshift", x, axes, -1)


__all__ = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
]
