"""The chunks of Cubed: candela_xp and the few things of NumPy that Cubed 0.27 asks of a backend.

``CUBED_BACKEND_ARRAY_API_MODULE=candela_xp.backends.cubed`` makes Cubed compute its chunks here. Unlike candela_xp
itself, this namespace

- takes the name of a dtype, or Zarr's of any byte order, for the dtype: Cubed hands on what its users write
  (``dtype="int64"``) and what stores say;
- takes NumPy arrays for operands: that is what ``vectorize=True`` cuts chunks into. Results are NDArrays;
- has `nansum`, which isn't in the standard, and ``full_like(..., shape=)``, with which Cubed pads chunks that overlap;
- fills booleans with 0 and 1 (``cubed.array_api.ones(dtype=bool)``).

In a process whose Cubed computes here, ``numpy.sum`` of a chunk is an NDArray too, and so are the other reductions of
`METHODS`: they are what users give to ``cubed.reduction``. Nothing else of NumPy's takes an NDArray.
"""

from __future__ import annotations

import builtins  # the names of the namespace hide bool, sum and others below
import os
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

import candela_xp as xp
from candela_xp import NDArray, _dtypes
from candela_xp._dtypes import DType

METHODS = ("all", "any", "max", "mean", "min", "prod", "sum")


def _named(dtype: Any) -> Any:
    """The dtype that a string or a dtype of NumPy's stands for; anything else as it is."""
    if isinstance(dtype, str) and dtype in _dtypes.DTYPES:
        return _dtypes.DTYPES[dtype]
    if not isinstance(dtype, str | np.dtype):
        return dtype
    twin = np.dtype(dtype)  # "f", "<f8"
    return _dtypes.FROM_NUMPY.get(twin.newbyteorder("="), twin)


def _adopted(value: Any) -> Any:
    """An NDArray over the memory of a NumPy array or scalar; anything else as it is."""
    return xp.asarray(value) if isinstance(value, np.ndarray | np.generic) else value


def _taking_numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, taking NumPy arrays for operands and the names of dtypes for dtypes."""

    @wraps(function)
    def taking(*arguments: Any, **keywords: Any) -> Any:
        if "dtype" in keywords:
            keywords["dtype"] = _named(keywords["dtype"])
        return function(*[_named(_adopted(argument)) for argument in arguments], **keywords)

    taking.__module__ = __name__  # where pickle finds it on a worker
    return taking


for _name in xp.__all__:
    _member = getattr(xp, _name)
    globals()[_name] = _taking_numpys(_member) if isinstance(_member, FunctionType) else _member


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype, or the one that a string names, is of a kind; ``kind`` may be a string in the standard."""
    return xp.isdtype(_named(dtype), kind)


def full(shape: Any, fill_value: Any, *, dtype: DType | str | None = None, device: Any = None) -> NDArray:
    """An array of one value; of booleans also by a number, as in NumPy."""
    wanted = _named(dtype)
    value = _adopted(fill_value)
    if wanted in (xp.bool, builtins.bool):
        value = builtins.bool(value)
    return xp.full(shape, value, dtype=wanted, device=device)


def full_like(
    x: Any, /, fill_value: Any, *, dtype: DType | str | None = None, device: Any = None, shape: Any = None
) -> NDArray:
    """An array of one value, of the dtype and device of another, and of its shape where none is given."""
    array: NDArray = _adopted(x)
    return full(
        array.shape if shape is None else shape, fill_value, dtype=dtype or array.dtype, device=device or array.device
    )


def nansum(x: Any, /, *, axis: Any = None, dtype: DType | str | None = None, keepdims: bool = False) -> NDArray:
    """Sum of the elements over axes, NaN counted as zero; of integers and booleans, their sum."""
    array: NDArray = _adopted(x)
    if array.dtype.kind in ("float", "complex"):
        array = xp.where(xp.isnan(array), xp.zeros((), dtype=array.dtype, device=array.device), array)
    return xp.sum(array, axis=axis, dtype=_named(dtype), keepdims=keepdims)


__all__ = [*xp.__all__, "nansum"]


def _method(function: Callable[..., NDArray]) -> Callable[..., NDArray]:
    """A reduction as the method that NumPy's function of that name calls where an array has it."""

    def method(self: NDArray, axis: Any = None, dtype: Any = None, out: None = None, **keywords: Any) -> NDArray:
        if out is not None:
            raise TypeError(f"{function.__name__}: out= is not supported; assign the result")
        if dtype is not None:
            keywords["dtype"] = dtype
        return function(self, axis=axis, **keywords)

    return method


def _give_methods(array: type) -> None:
    for name in METHODS:
        setattr(array, name, _method(globals()[name]))


if os.environ.get("CUBED_BACKEND_ARRAY_API_MODULE") == __name__:
    _give_methods(NDArray)
