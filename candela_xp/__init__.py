"""candela_xp: an N-dimensional array under the Python array API standard.

``xp = candela_xp`` is the namespace of the newest revision; ``candela_xp.v2021_12`` … ``candela_xp.v2025_12``
are those of each. Every view is zero-copy: an array is a buffer and a layout, and a view another layout.
"""

from __future__ import annotations

from importlib import import_module
from math import e, inf, nan, pi
from typing import Any

from candela_xp import _faces, fft, linalg
from candela_xp._array import NDArray
from candela_xp._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from candela_xp._datatypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from candela_xp._device import Device
from candela_xp._display import Drawing, draw
from candela_xp._dtypes import DTYPES, DType
from candela_xp._elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from candela_xp._expressions import explain, materialize, memory
from candela_xp._indexing import take, take_along_axis
from candela_xp._inspection import __array_namespace_info__
from candela_xp._layout import Layout
from candela_xp._manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from candela_xp._revisions import LATEST as __array_api_version__
from candela_xp._revisions import REVISIONS
from candela_xp._searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from candela_xp._sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from candela_xp._settings import settings
from candela_xp._sorting import argsort, sort
from candela_xp._statistical import cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var
from candela_xp._utility import all, any, diff
from candela_xp.linalg._products import matmul, matrix_transpose, tensordot, vecdot

__version__ = "0.1.0"

newaxis = None

# Data types: those of the standard, then the narrow ones beyond it
bool: DType = DTYPES["bool"]
int8: DType = DTYPES["int8"]
int16: DType = DTYPES["int16"]
int32: DType = DTYPES["int32"]
int64: DType = DTYPES["int64"]
uint8: DType = DTYPES["uint8"]
uint16: DType = DTYPES["uint16"]
uint32: DType = DTYPES["uint32"]
uint64: DType = DTYPES["uint64"]
float32: DType = DTYPES["float32"]
float64: DType = DTYPES["float64"]
complex64: DType = DTYPES["complex64"]
complex128: DType = DTYPES["complex128"]
bfloat16: DType = DTYPES["bfloat16"]
float16: DType = DTYPES["float16"]
complex32: DType = DTYPES["complex32"]
float8_e3m4: DType = DTYPES["float8_e3m4"]
float8_e4m3: DType = DTYPES["float8_e4m3"]
float8_e4m3b11fnuz: DType = DTYPES["float8_e4m3b11fnuz"]
float8_e4m3fn: DType = DTYPES["float8_e4m3fn"]
float8_e4m3fnuz: DType = DTYPES["float8_e4m3fnuz"]
float8_e5m2: DType = DTYPES["float8_e5m2"]
float8_e5m2fnuz: DType = DTYPES["float8_e5m2fnuz"]
float8_e8m0fnu: DType = DTYPES["float8_e8m0fnu"]
float6_e2m3fn: DType = DTYPES["float6_e2m3fn"]
float6_e3m2fn: DType = DTYPES["float6_e3m2fn"]
float4_e2m1fn: DType = DTYPES["float4_e2m1fn"]
int2: DType = DTYPES["int2"]
int4: DType = DTYPES["int4"]
uint2: DType = DTYPES["uint2"]
uint4: DType = DTYPES["uint4"]

__all__ = [
    # the array and what belongs to it
    "DType", "Device", "Layout", "NDArray", "settings",
    # what waits, and memory
    "explain", "materialize", "memory",
    # pictures
    "Drawing", "draw",
    "__array_api_version__", "__version__",
    # constants
    "e", "inf", "nan", "newaxis", "pi",
    # data types
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128", "bfloat16", "float16", "complex32", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4",
    # creation
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
    # datatypes
    "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type",
    # elementwise
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
    # indexing
    "take", "take_along_axis",
    # inspection
    "__array_namespace_info__",
    # manipulation
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
    # searching
    "argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where",
    # sets
    "isin", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    # sorting
    "argsort", "sort",
    # statistical
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
    # utility
    "all", "any", "diff",
    # linalg._products
    "matmul", "matrix_transpose", "tensordot", "vecdot",
    # extensions
    "fft", "linalg",
]  # fmt: skip

_REVISION_MODULES = {"v" + revision.replace(".", "_") for revision in REVISIONS}


_faces.limit("candela_xp")


def __getattr__(name: str) -> Any:
    """Import the audit, or the module of a revision, when it is first asked for; extensions as the settings have it."""
    if name in _REVISION_MODULES or name == "audit":
        return import_module(f"candela_xp.{name}")
    return _faces.reach("candela_xp", name)


def __dir__() -> list[str]:
    """Public names only, the modules of the revisions and the audit among them."""
    return sorted({*__all__, *_REVISION_MODULES, "audit"})
