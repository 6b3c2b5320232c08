"""Weights in safetensors files: arrays over the mapped file, in every dtype of a byte or more that the format has.

The safetensors library writes such files (``safetensors.numpy.save_file``). Without torch it reads them into copies,
and no 8-bit floats; `load_file` needs neither of the two and reads nothing but the header.
"""

from __future__ import annotations

import json
import mmap
import os
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from candela_xp import NDArray, asarray
from candela_xp._dtypes import DTYPES, DType

# The format's name of each dtype (safetensors 0.8, enum Dtype). Its F4 and F6 are packed, several elements in a byte.
_NAMES: Final = {
    name: DTYPES[dtype]
    for name, dtype in {
        "BOOL": "bool",
        **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
        **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
        **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
        "BF16": "bfloat16",
        "C64": "complex64",
        "F8_E4M3": "float8_e4m3fn",
        "F8_E4M3FNUZ": "float8_e4m3fnuz",
        "F8_E5M2": "float8_e5m2",
        "F8_E5M2FNUZ": "float8_e5m2fnuz",
        "F8_E8M0": "float8_e8m0fnu",
    }.items()
}
_LENGTH_BYTES: Final = 8
_MAX_HEADER_BYTES: Final = 100_000_000  # what the library reads
_MAX_NDIM: Final = 64


class _Tensor(NamedTuple):
    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int  # bytes, from the end of the header
    end: int


def load_file(filename: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The tensors of a safetensors file, as read-only arrays over the mapped file.

    Parameters
    ----------
    filename : str or os.PathLike
        The file.

    Returns
    -------
    dict[str, NDArray]
        The arrays by name, in the order of the header. Only the header has been read; the rest is read from the disk
        where and when elements are used. The file stays mapped as long as one of the arrays is there.

    Raises
    ------
    ValueError
        The file contradicts the format: its header is no JSON object or longer than the file, or a tensor has an
        unknown or packed dtype, a name that occurs twice, a size other than that of its shape, or bytes that overlap
        those of another, leave a hole or leave the file. The tensor is named.
    OSError
        The file cannot be opened.

    Notes
    -----
    To write into an array, copy it: ``asarray(x, copy=True)``. Changing or shortening a file while it is mapped changes
    the arrays, or ends the process.

    Source: the section "Format" in the documentation of safetensors.
    """
    with open(filename, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        start = _LENGTH_BYTES + length
        if start > size or length > _MAX_HEADER_BYTES:
            raise _refusal(
                filename, f"the header has {length} bytes, the file {size}; the limit is {_MAX_HEADER_BYTES}"
            )
        tensors = _tensors(filename, file.read(length))
        _check_places(filename, tensors, size - start)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return {
        one.name: asarray(
            np.frombuffer(mapped, one.dtype.dtype, prod(one.shape), start + one.begin).reshape(one.shape), copy=False
        )
        for one in tensors
    }


def _refusal(filename: str | os.PathLike[str], problem: str) -> ValueError:
    return ValueError(f"load_file: {os.fspath(filename)} is no safetensors file: {problem}")


def _tensors(filename: str | os.PathLike[str], header: bytes) -> list[_Tensor]:
    """What the header says, each tensor for itself."""

    repeated: list[str] = []

    def noting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in found if names.count(name) > 1)
        return found

    try:
        entries = json.loads(header.decode(), object_pairs_hook=noting)
    except (ValueError, RecursionError) as error:
        raise _refusal(filename, f"the header is no JSON: {error}") from None
    if repeated:
        raise _refusal(filename, f"{', '.join(map(repr, repeated))} occurs twice")
    if not isinstance(entries, dict):
        raise _refusal(filename, "the header is no JSON object")
    metadata = entries.pop("__metadata__", {})
    if not (isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())):
        raise _refusal(filename, "__metadata__ holds something other than strings")
    return [_tensor(filename, name, entry) for name, entry in entries.items()]


def _tensor(filename: str | os.PathLike[str], name: str, entry: Any) -> _Tensor:
    if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        raise _refusal(filename, f"tensor {name!r} lacks a dtype, a shape or data_offsets")
    dtype = _NAMES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise _refusal(filename, f"tensor {name!r} has dtype {entry['dtype']!r}; known are {', '.join(_NAMES)}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(one) is not int or one < 0 for one in numbers):
            raise _refusal(filename, f"tensor {name!r} has shape {shape}, data_offsets {offsets}: not lists of sizes")
    if len(offsets) != 2:
        raise _refusal(filename, f"tensor {name!r} has data_offsets {offsets}, not a begin and an end")
    begin, end = offsets
    nbytes = prod(shape) * dtype.itemsize
    if end - begin != nbytes:
        raise _refusal(filename, f"tensor {name!r} has {nbytes} bytes by dtype and shape, {end - begin} by offsets")
    # NumPy counts the bytes without the extents that are 0.
    if len(shape) > _MAX_NDIM or prod(filter(None, shape)) * dtype.itemsize >= 2**63:
        raise _refusal(filename, f"tensor {name!r} has shape {shape}, which no array can have")
    return _Tensor(name, dtype, tuple(shape), begin, end)


def _check_places(filename: str | os.PathLike[str], tensors: list[_Tensor], size: int) -> None:
    """Refuse tensors that don't fill the ``size`` bytes after the header one behind the other."""
    expected = 0
    for one in sorted(tensors, key=lambda one: (one.begin, one.end)):
        if one.begin != expected:
            what = "overlaps another tensor" if one.begin < expected else f"leaves a hole from byte {expected} on"
            raise _refusal(filename, f"tensor {one.name!r}, bytes {one.begin} to {one.end}, {what}")
        if one.end > size:
            raise _refusal(filename, f"tensor {one.name!r}, bytes {one.begin} to {one.end}, ends after byte {size}")
        expected = one.end
    if expected != size:
        raise _refusal(filename, f"its last {size - expected} bytes belong to no tensor")
