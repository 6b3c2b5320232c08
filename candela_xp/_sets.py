"""Set functions (array API 2025.12, "Set Functions").

Values come out ascending. Equality decides: -0 and +0 are one value, every NaN is a value of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from candela_xp import _dtypes, _modes, _public
from candela_xp._array import NDArray, checked_array
from candela_xp._errors import ScalarOverflowError
from candela_xp._revisions import public
from candela_xp._searching import chosen_operands
from candela_xp._sorting import comparable

NumPyArray = np.ndarray[Any, Any]


class UniqueAllResult(NamedTuple):
    """Result of `unique_all`."""

    values: NDArray
    indices: NDArray
    inverse_indices: NDArray
    counts: NDArray


class UniqueCountsResult(NamedTuple):
    """Result of `unique_counts`."""

    values: NDArray
    counts: NDArray


class UniqueInverseResult(NamedTuple):
    """Result of `unique_inverse`."""

    values: NDArray
    inverse_indices: NDArray


class _Groups(NamedTuple):
    """The flattened elements in stable ascending order, and where each group of equal ones begins there."""

    order: NumPyArray
    starts: NumPyArray
    flat: NumPyArray


def _grouped(function: str, x: Any) -> tuple[NDArray, _Groups]:
    array = checked_array(function, "x", x)
    _modes.require("data_dependent_shapes", f"{function}: the shape of the result follows from values")
    keys = comparable(array).reshape(-1)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.ones(keys.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return array, _Groups(order, np.flatnonzero(begins), array._numpy().reshape(-1))


def _indexed(view: NumPyArray, x: NDArray) -> NDArray:
    dtype = _dtypes.DEFAULT_INDEX
    return NDArray(view.astype(dtype.dtype, copy=False), dtype, x._device)


def _values(x: NDArray, groups: _Groups) -> NDArray:
    return NDArray(groups.flat[groups.order[groups.starts]], x._dtype, x._device)


def _counts(x: NDArray, groups: _Groups) -> NDArray:
    return _indexed(np.diff(groups.starts, append=groups.order.size), x)


def _inverse(x: NDArray, groups: _Groups) -> NDArray:
    sizes = np.diff(groups.starts, append=groups.order.size)
    inverse = np.empty(groups.order.size, np.int64)
    inverse[groups.order] = np.repeat(np.arange(groups.starts.size), sizes)
    return _indexed(inverse.reshape(x.shape), x)


@public()
def unique_all(x: NDArray, /) -> UniqueAllResult:
    """Unique values, where each first occurs, which value each element has, and how often each occurs.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype and shape.

    Returns
    -------
    UniqueAllResult
        ``values`` (ascending, one axis), ``indices`` of first occurrences in the flattened array,
        ``inverse_indices`` of the shape of ``x``, ``counts``; indices in the default index dtype.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``unique_all``; in the standard since 2021.12.
    """
    array, groups = _grouped("unique_all", x)
    # A stable order puts the first occurrence first in its group.
    first = _indexed(groups.order[groups.starts], array)
    return UniqueAllResult(_values(array, groups), first, _inverse(array, groups), _counts(array, groups))


@public()
def unique_counts(x: NDArray, /) -> UniqueCountsResult:
    """Unique values and how often each occurs.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype and shape.

    Returns
    -------
    UniqueCountsResult
        ``values`` (ascending, one axis) and ``counts`` in the default index dtype.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``unique_counts``; in the standard since 2021.12.
    """
    array, groups = _grouped("unique_counts", x)
    return UniqueCountsResult(_values(array, groups), _counts(array, groups))


@public()
def unique_inverse(x: NDArray, /) -> UniqueInverseResult:
    """Unique values and which of them each element has.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype and shape.

    Returns
    -------
    UniqueInverseResult
        ``values`` (ascending, one axis) and ``inverse_indices`` of the shape of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``unique_inverse``; in the standard since 2021.12.
    """
    array, groups = _grouped("unique_inverse", x)
    return UniqueInverseResult(_values(array, groups), _inverse(array, groups))


@public()
def unique_values(x: NDArray, /) -> NDArray:
    """Unique values, ascending.

    Parameters
    ----------
    x : NDArray
        Operand of any dtype and shape.

    Returns
    -------
    NDArray
        The values along one axis.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``unique_values``; in the standard since 2021.12.
    """
    array = checked_array("unique_values", "x", x)
    _modes.require("data_dependent_shapes", "unique_values: the shape of the result follows from values")
    # No stable order is needed for values alone: equal elements differ at most in the sign of a zero.
    ordered = np.sort(comparable(array), axis=None)
    begins = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return NDArray(_dtypes.cast(ordered[begins], array._dtype.dtype), array._dtype, array._device)


@public(since="2025.12")
def isin(x1: NDArray | int, x2: NDArray | int, /, *, invert: bool = False) -> NDArray:
    """Whether each element of ``x1`` occurs in ``x2``.

    Parameters
    ----------
    x1, x2 : NDArray or Python scalar
        Operands of any shape; at least one is an array.
    invert : bool
        Ask for those that don't occur.

    Returns
    -------
    NDArray
        Booleans of the shape of ``x1``. Equality decides: NaN occurs nowhere.

    Raises
    ------
    TypeError
        An operand is of another type, or the dtypes don't go together.
    ValueError
        The arrays are on different devices.

    Notes
    -----
    Integers are compared exactly, also uint64 with int64.

    Source: array API 2025.12, ``isin``; in the standard since 2025.12.
    """
    arrays = [x for x in (x1, x2) if isinstance(x, NDArray)]
    if not arrays:
        raise _public.reject_unknown("isin", x1, x2)
    device = _public.common_device("isin", arrays)
    try:
        found = _found(arrays[0], x1, x2)
    except ScalarOverflowError:
        # A Python integer that the dtype of the array cannot hold equals none of its elements.
        shape = x1.shape if isinstance(x1, NDArray) else ()
        found = np.zeros(shape, np.bool_)
    return _public.wrapped(np.logical_not(found) if invert else found, _dtypes.bool_, device)


def _found(first: NDArray, x1: Any, x2: Any) -> NumPyArray:
    """Membership, in a dtype that holds the values of both operands as far as they can be equal."""
    if isinstance(x1, NDArray) and isinstance(x2, NDArray) and {x1._dtype.kind, x2._dtype.kind} == {"int", "uint"}:
        a, b = x1._numpy(), x2._numpy()
        if _dtypes.promote("isin", x1._dtype, x2._dtype).kind == "float":
            # uint64 with a signed dtype: a negative number equals no unsigned one, the others fit uint64.
            if x1._dtype.kind == "int":
                return np.isin(a.astype(np.uint64), b) & (a >= 0)
            return np.isin(a, b[b >= 0].astype(np.uint64))
    *operands, dtype = chosen_operands("isin", first, x1, x2)
    a, b = [_dtypes.cast(x._numpy() if isinstance(x, NDArray) else np.asarray(x), dtype.wide) for x in operands]
    return np.isin(a, b)
