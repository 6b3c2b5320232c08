"""Whose code a frame runs: the user's, this library's, or that of a helper that stands between the two."""

from __future__ import annotations

import contextlib
import functools
import os
from dis import opname
from enum import Enum, auto
from pathlib import Path
from types import CodeType, FrameType

import numpy as np


class Owner(Enum):
    """Who wrote the code of a frame."""

    USER = auto()
    LIBRARY = auto()  # this library: what it does inside is its own affair
    HELPER = auto()  # array-api-compat and array-api-extra, vendored copies too: they choose by backend
    PASSED = auto()  # what only hands a call on: contextlib, functools, NumPy


_LIBRARY = str(Path(__file__).resolve().parent.parent) + os.sep
_PASSED = (contextlib.__file__, functools.__file__, str(Path(np.__file__).parent))
_HELPERS = {"array_api_compat", "array_api_extra"}

# By the identity of the code object (its hash goes over its bytecode each time). The code is kept, so that no other one
# gets its identity.
owners: dict[int, Owner] = {}
_kept: list[CodeType] = []


def owner(code: CodeType) -> Owner:
    """Who wrote a code object, by the file it comes from."""
    found = owners.get(id(code))
    if found is None:
        found = owners[id(code)] = _of_file(code.co_filename)
        _kept.append(code)
    return found


def _of_file(name: str) -> Owner:
    path = Path(name)
    if name.startswith(_LIBRARY):
        return Owner.LIBRARY
    if _HELPERS.intersection(path.parts[:-1]) or path.stem in _HELPERS:
        return Owner.HELPER
    return Owner.PASSED if name.startswith(_PASSED) else Owner.USER


def users(frame: FrameType | None) -> tuple[FrameType, bool, str] | None:
    """The frame of the user's code below one that called the library; None where the library called itself.

    Parameters
    ----------
    frame
        The frame that called.

    Returns
    -------
    tuple of FrameType, bool, str, or None
        The frame, whether a helper stands between, and the file of the NumPy function that does, if any.
    """
    helped, through_numpy = False, ""
    while frame is not None:
        match owner(frame.f_code):
            case Owner.USER:
                return frame, helped, through_numpy
            case Owner.LIBRARY:
                return None
            case Owner.HELPER:
                helped = True
            case Owner.PASSED:
                if frame.f_code.co_filename.startswith(_PASSED[2]):
                    through_numpy = through_numpy or frame.f_code.co_filename
        frame = frame.f_back
    return None


_JAX = {"jax", "jax_x32", "jax_jit"}
_DASK = {"dask", "dask_chunked"}
_LAZY = {*_JAX, *_DASK, "ndonnx", "ndonnx_lazy", "cubed"}
_ASKS = {
    "is_lazy_array": _LAZY, "capabilities": _LAZY, "is_jax_array": _JAX, "is_jax_namespace": _JAX, "is_jax": _JAX,
    "is_dask_array": _DASK, "is_dask_namespace": _DASK, "is_dask": _DASK,
}  # fmt: skip


def told_apart(code: CodeType) -> frozenset[str]:
    """The backends that a function tells apart itself, by the names it uses: what it does suits them."""
    return frozenset[str]().union(*(_ASKS.get(name, ()) for name in code.co_names))


def calls(frame: FrameType) -> bool:
    """Whether the instruction under way is a call: ``hasattr(x, "name")`` is one, ``x.name`` is not."""
    name = opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith("CALL") or name == "PRECALL"


class Guards:
    """Which code asks for which attribute: what it does once it knows that there is one, suits every backend."""

    def __init__(self) -> None:
        self._asked: set[tuple[int, str]] = set()

    def asked(self, frame: FrameType, name: str) -> bool:
        """Whether code asks whether there is such an attribute, now or before (``hasattr``, ``getattr``)."""
        owner(frame.f_code)  # which keeps the code, and so its identity
        if calls(frame):
            self._asked.add((id(frame.f_code), name))
            return True
        return (id(frame.f_code), name) in self._asked
