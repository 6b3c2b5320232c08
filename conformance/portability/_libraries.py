"""The libraries that are measured: how each is imported, makes an array, and gives its values back."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """A column of the measurements.

    Attributes
    ----------
    distribution
        What is installed, whose version counts.
    namespace
        The module that stands for ``xp``.
    array
        Makes an array from the namespace, values and the name of a dtype.
    values
        The array as NumPy's.
    environment
        Variables of the process that measures.
    traced
        Whether the use runs under ``jax.jit``.
    """

    distribution: str
    namespace: str
    array: Callable[[Any, Any, str], Any]
    values: Callable[[Any], Any] = np.asarray
    environment: tuple[tuple[str, str], ...] = ()
    traced: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether all that is needed can be imported."""
        needed = {self.distribution.partition("[")[0], self.namespace.partition(".")[0]}
        return all(find_spec(name.replace("-", "_")) is not None for name in needed)


def _plain(xp: Any, values: Any, dtype: str) -> Any:
    return xp.asarray(values, dtype=getattr(xp, dtype))


def _numpy(values: Any, dtype: str) -> Any:
    return np.asarray(values, dtype=dtype)


def _chunked(xp: Any, values: Any, dtype: str) -> Any:
    array = _numpy(values, dtype)
    return import_module("dask.array").from_array(array, chunks=2 if array.ndim else ())


def _whole(xp: Any, values: Any, dtype: str) -> Any:
    return import_module("dask.array").from_array(_numpy(values, dtype))


_X64 = (("JAX_ENABLE_X64", "1"), ("JAX_PLATFORMS", "cpu"))
_X32 = (("JAX_ENABLE_X64", "0"), ("JAX_PLATFORMS", "cpu"))

OWN = Library("candela_xp", "candela_xp", _plain)

LIBRARIES = {
    "numpy": Library("numpy", "array_api_compat.numpy", _plain),
    "array_api_strict": Library("array_api_strict", "array_api_strict", _plain),
    "torch": Library("torch", "array_api_compat.torch", _plain),
    "dask": Library("dask", "array_api_compat.dask.array", _whole),
    "dask_chunked": Library("dask", "array_api_compat.dask.array", _chunked),
    "jax": Library("jax", "jax.numpy", _plain, environment=_X64),
    "jax_x32": Library("jax", "jax.numpy", _plain, environment=_X32),
    "jax_jit": Library("jax", "jax.numpy", _plain, environment=_X64, traced=True),
    "sparse": Library(
        "sparse",
        "sparse",
        lambda xp, values, dtype: xp.COO.from_numpy(_numpy(values, dtype)),
        values=lambda array: array.todense() if hasattr(array, "todense") else np.asarray(array),
    ),
    "ndonnx": Library(
        "ndonnx",
        "ndonnx",
        lambda xp, values, dtype: xp.asarray(_numpy(values, dtype)),
        values=lambda array: array.unwrap_numpy() if hasattr(array, "unwrap_numpy") else np.asarray(array),
    ),
    "cubed": Library(
        "cubed",
        "cubed",
        lambda xp, values, dtype: xp.asarray(_numpy(values, dtype)),
        values=lambda array: array.compute() if hasattr(array, "compute") else np.asarray(array),
    ),
}
