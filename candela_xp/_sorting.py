"""Sorting functions (array API 2025.12, "Sorting Functions").

NaN comes last in ascending order, so first in descending order; -0 and +0 are equal and keep their order.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from candela_xp import _dtypes, _index, _modes, _public, _walk
from candela_xp._array import NDArray, checked_array
from candela_xp._revisions import public

NumPyArray = np.ndarray[Any, Any]


def ordered(function: str, x: Any) -> NDArray:
    """An array whose elements have an order: real, in default mode also bool.

    Raises
    ------
    TypeError
        It is no NDArray, or complex.
    """
    array = checked_array(function, "x", x)
    if array._dtype.kind == "complex":
        raise TypeError(f"{function}: complex numbers have no order; use real, imag or abs first")
    if array._dtype.kind == "bool":
        _modes.allow("booleans in numeric functions", f"{function}: not defined for bool arrays")
    return array


def comparable(x: NDArray) -> NumPyArray:
    """The NumPy view in a dtype that NumPy orders; widening narrow numbers keeps their order."""
    return _dtypes.cast(x._numpy(), x._dtype.wide)


def _arguments(function: str, x: Any, axis: Any) -> tuple[NDArray, int]:
    array = ordered(function, x)
    if array.ndim == 0:
        raise ValueError(f"{function}: a 0-d array has no axis to sort along; use reshape(x, (1,))")
    return array, _index.normalise_axis(function, axis, array.ndim)


def _mixes_zeros(view: NumPyArray) -> bool:
    """Whether there are zeros of both signs: the only equal values that can be told apart.

    So everything else is sorted by NumPy's quickest kernel, stable or not: 5 ms instead of 80 for 10^6 float64.
    With both zeros that kernel is out of the question: it sorts by minima and maxima, in which a -0 can get lost.
    """
    if view.dtype.kind != "f" or view.all():
        return False
    signs = np.signbit(view[view == 0])
    return bool(signs.any() and not signs.all())


def _sorted(view: NumPyArray, axis: int, descending: bool) -> NumPyArray:
    # Sorting the reversed axis and reversing the result keeps equal elements in their order, and needs no
    # negation, which the least integer and the unsigned ones don't survive.
    flipped = np.flip(view, axis) if descending else view
    result = np.sort(flipped, axis=axis, kind="stable" if _mixes_zeros(flipped) else None)
    return np.flip(result, axis) if descending else result


def _places(view: NumPyArray, axis: int, descending: bool, stable: bool) -> NumPyArray:
    kind: Literal["stable"] | None = "stable" if stable else None
    if not descending:
        return np.argsort(view, axis=axis, kind=kind)
    result = np.flip(np.argsort(np.flip(view, axis), axis=axis, kind=kind), axis)
    places: NumPyArray = np.subtract(view.shape[axis] - 1, result, out=...)
    return places


@public()
def sort(x: NDArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> NDArray:
    """Sort along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of real dtype with at least one axis (default mode: also bool).
    axis : int
        Axis to sort along; negative ones count from the end.
    descending : bool
        Greatest first; NaN counts as greatest.
    stable : bool
        Equal elements keep their order (-0 and +0 are equal). Without it the sort may be faster.

    Returns
    -------
    NDArray
        A new array of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or complex.
    ValueError
        ``x`` is 0-d.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``sort``; in the standard since 2021.12.
    """
    array, place = _arguments("sort", x, axis)
    found = _public.large(array) if _public.is_large(array) and array._dtype.kernels != "narrow" else None
    if found is not None:
        target = _walk.allocated(array.shape, _walk.preferred_order(array.shape, (found.layout,)), found.dtype)
        _walk.lines(found, place, partial(_sorted, axis=-1, descending=descending), target, keeps_axis=True)
        return NDArray(target.view(), array._dtype, array._device)
    result = _sorted(comparable(array), place, descending)
    return NDArray(result.astype(array._dtype.dtype, copy=False), array._dtype, array._device)


@public()
def argsort(x: NDArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> NDArray:
    """Indices that sort along an axis.

    Parameters
    ----------
    x : NDArray
        Operand of real dtype with at least one axis (default mode: also bool).
    axis : int
        Axis to sort along; negative ones count from the end.
    descending : bool
        Greatest first; NaN counts as greatest.
    stable : bool
        Equal elements keep their order (-0 and +0 are equal), also descending.

    Returns
    -------
    NDArray
        Indices along the axis, of the shape of ``x`` and the default index dtype.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or complex.
    ValueError
        ``x`` is 0-d.
    IndexError
        The axis is out of range.

    Notes
    -----
    Source: array API 2025.12, ``argsort``; in the standard since 2021.12.
    """
    array, place = _arguments("argsort", x, axis)
    dtype = _dtypes.DEFAULT_INDEX
    found = _public.large(array) if _public.is_large(array) and array._dtype.kernels != "narrow" else None
    if found is not None:
        target = _walk.allocated(array.shape, _walk.preferred_order(array.shape, (found.layout,)), dtype.dtype)
        function = partial(_places, axis=-1, descending=descending, stable=stable)
        _walk.lines(found, place, function, target, keeps_axis=True)
        return NDArray(target.view(), dtype, array._device)
    result = _places(comparable(array), place, descending, stable)
    return NDArray(result.astype(dtype.dtype, copy=False), dtype, array._device)
