"""Data types: one row each, and the tables by which they combine.

A `DType` is compared by identity, hashable, pickles to itself and equals its NumPy twin. The thirteen dtypes
of the standard come first; the narrow ones (float16 and those of ml_dtypes) are extensions: attributes of
the namespace that the standard's inspection does not list.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from candela_xp import _kernels, _modes

# kind -> the names by which isdtype and dtypes(kind=...) ask for it
KIND_NAMES: Final = {
    "bool": ("bool",),
    "int": ("signed integer", "integral", "numeric"),
    "uint": ("unsigned integer", "integral", "numeric"),
    "float": ("real floating", "numeric"),
    "complex": ("complex floating", "numeric"),
}
KIND_QUERIES: Final = tuple(sorted({name for names in KIND_NAMES.values() for name in names}))


DTYPES: Final[dict[str, DType]] = {}
FROM_NUMPY: Final[dict[np.dtype[Any], DType]] = {}


class DType:
    """A data type of array elements.

    Attributes
    ----------
    name : str
        The name under which the namespace holds it.
    kind : str
        ``bool``, ``int``, ``uint``, ``float`` or ``complex``.
    bits : int
        Bits of one element's value.
    itemsize : int
        Bytes that one element takes in memory.
    dtype : numpy.dtype
        The NumPy twin; ``numpy.dtype(d)`` gives it too.
    extension : bool
        True for the dtypes beyond the standard.
    kernels : str
        Which kernels compute it: its kind, or ``narrow``, ``narrowint``, ``narrowcomplex``.
    wide : numpy.dtype
        In which it is computed: its twin, but float32, int8 or complex64 for the narrow ones.
    number : int
        Place among all dtypes: tables of kernels are lists (a dict would hash, 60 ns a look-up).
    """

    __module__ = "candela_xp"  # where pickle finds the names
    __slots__ = ("__weakref__", "bits", "dtype", "extension", "itemsize", "kernels", "kind", "name", "number", "wide")

    def __init__(self, name: str, kind: str, bits: int, twin: Any, *, extension: bool, kernels: str) -> None:
        self.number: Final = len(DTYPES)
        self.name: Final = name
        self.kind: Final = kind
        self.bits: Final = bits
        self.dtype: Final[np.dtype[Any]] = np.dtype(twin)
        self.itemsize: Final[int] = self.dtype.itemsize
        self.extension: Final = extension
        self.kernels: Final = kernels
        self.wide: Final[np.dtype[Any]] = _kernels.wide(self.dtype)

    def __repr__(self) -> str:
        """The qualified name."""
        return f"candela_xp.{self.name}"

    def __str__(self) -> str:
        """The name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        """Identity, or the NumPy twin."""
        return self is other or (isinstance(other, np.dtype) and self.dtype == other)

    def __hash__(self) -> int:
        """The hash of the NumPy twin, since the two are equal."""
        return hash(self.dtype)

    def __reduce__(self) -> str:
        """Pickle by name, so that identity survives."""
        return self.name


def _row(name: str, kind: str, bits: int, twin: Any = None, *, kernels: str | None = None) -> DType:
    extension = kernels is not None
    made = DType(name, kind, bits, twin or name, extension=extension, kernels=kernels or kind)
    DTYPES[name] = FROM_NUMPY[made.dtype] = made
    return made


bool_ = _row("bool", "bool", 8)
int8 = _row("int8", "int", 8)
int16 = _row("int16", "int", 16)
int32 = _row("int32", "int", 32)
int64 = _row("int64", "int", 64)
uint8 = _row("uint8", "uint", 8)
uint16 = _row("uint16", "uint", 16)
uint32 = _row("uint32", "uint", 32)
uint64 = _row("uint64", "uint", 64)
float32 = _row("float32", "float", 32)
float64 = _row("float64", "float", 64)
complex64 = _row("complex64", "complex", 64)
complex128 = _row("complex128", "complex", 128)
STANDARD: Final = tuple(DTYPES.values())

float16 = _row("float16", "float", 16, kernels="narrow")
bfloat16 = _row("bfloat16", "float", 16, ml_dtypes.bfloat16, kernels="narrow")
complex32 = _row("complex32", "complex", 32, ml_dtypes.complex32, kernels="narrowcomplex")
for _name, _bits in {
    "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e4m3b11fnuz": 8, "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8,
    "float8_e4m3": 8, "float8_e3m4": 8, "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4,
}.items():  # fmt: skip
    _row(_name, "float", _bits, getattr(ml_dtypes, _name), kernels="narrow")
for _bits in (2, 4):
    _row(f"int{_bits}", "int", _bits, getattr(ml_dtypes, f"int{_bits}"), kernels="narrowint")
    _row(f"uint{_bits}", "uint", _bits, getattr(ml_dtypes, f"uint{_bits}"), kernels="narrowint")
EXTENSIONS: Final = tuple(d for d in DTYPES.values() if d.extension)

DEFAULT_FLOAT: Final = float64
DEFAULT_COMPLEX: Final = complex128
DEFAULT_INT: Final = int64
DEFAULT_INDEX: Final = int64

REAL_OF: Final = {complex32: float16, complex64: float32, complex128: float64}
COMPLEX_OF: Final = {real: number for number, real in REAL_OF.items()} | {number: number for number in REAL_OF}

_SCALAR_TYPES: Final = {bool: bool_, int: int64, float: float64, complex: complex128}
_NUMPY_SCALARS: Final = {d.dtype.type: d for d in DTYPES.values()}


def named(function: str, dtype: Any) -> DType:
    """The dtype that a ``dtype=`` argument names.

    Raises
    ------
    TypeError
        It is no dtype; strings are none. NumPy's dtypes and scalar types are taken in default mode.
    """
    if isinstance(dtype, DType):
        return dtype
    found = None
    if isinstance(dtype, np.dtype):
        found = FROM_NUMPY.get(dtype)
    elif isinstance(dtype, type):
        found = _NUMPY_SCALARS.get(dtype) or _SCALAR_TYPES.get(dtype)
    if found is None:
        raise TypeError(f"{function}: {dtype!r} is no dtype of candela_xp; use one such as candela_xp.float64")
    _modes.allow("numpy dtypes", f"{function}: dtype is {dtype!r}, not candela_xp.{found.name}")
    return found


# -- promotion -----------------------------------------------------------------------------------


def _promote_standard(a: DType, b: DType) -> DType | None:
    """The standard's promotion tables; None where they have no entry."""
    if a is b:
        return a
    floating = ("float", "complex")
    if a.bits < 8 or b.bits < 8:
        return None
    if a.kind in floating and b.kind in floating:
        return _promote_floating(a, b)
    if a.kind == b.kind and a.kind in ("int", "uint"):
        return a if a.bits > b.bits else b
    if {a.kind, b.kind} == {"int", "uint"}:
        signed, unsigned = (a, b) if a.kind == "int" else (b, a)
        bits = max(signed.bits, 2 * unsigned.bits)
        return DTYPES.get(f"int{bits}")
    return None


def _promote_floating(a: DType, b: DType) -> DType | None:
    """The wider component, complex where either is; float16 and bfloat16 meet in float32, 8 bits mix with nothing."""
    x, y = REAL_OF.get(a, a), REAL_OF.get(b, b)
    if 8 in (x.bits, y.bits):
        return None
    if x.bits == y.bits:
        real = x if x is y else float32
    else:
        real = x if x.bits > y.bits else y
    return real if a.kind == b.kind == "float" else COMPLEX_OF[real]


def _promote_practical(a: DType, b: DType) -> DType | None:
    """NumPy's table for pairs across kinds; JAX's and torch's where a dtype is an extension.

    float16, bfloat16 and complex32 keep their dtype with integers and booleans; the smaller ones mix with nothing.
    """
    if a.extension or b.extension:
        narrow, other = (a, b) if a.extension else (b, a)
        return narrow if narrow.bits >= 16 and other.kind in ("bool", "int", "uint") and not other.extension else None
    return FROM_NUMPY.get(np.result_type(a.dtype, b.dtype))


PROMOTION: Final[dict[tuple[DType, DType], DType]] = {}
PRACTICAL: Final[dict[tuple[DType, DType], DType]] = {}
for _a in DTYPES.values():
    for _b in DTYPES.values():
        _found = _promote_standard(_a, _b)
        if _found is not None:
            PROMOTION[_a, _b] = _found
            continue
        _found = _promote_practical(_a, _b)
        if _found is not None:
            PRACTICAL[_a, _b] = _found


def promote(function: str, a: DType, b: DType) -> DType:
    """The dtype in which arrays of two dtypes combine.

    Raises
    ------
    TypeError
        The pair has no common dtype (in strict mode: none in the standard's tables).
    """
    if a is b:
        return a
    found = PROMOTION.get((a, b))
    if found is None:
        found = PRACTICAL.get((a, b))
        if found is None:
            raise TypeError(f"{function}: {a} and {b} have no common dtype; use astype on one of them")
        _modes.allow("mixed kinds", f"{function}: cannot mix {a} and {b} arrays")
    return found


def scalar_dtype(function: str, dtype: DType, value: bool | int | float | complex) -> DType:
    """The dtype in which an array of ``dtype`` combines with a Python scalar.

    The standard: a scalar takes the array's dtype, where its kind is not above the array's; a complex
    scalar makes a real floating-point array complex of the same precision.

    Raises
    ------
    TypeError
        The kinds don't mix (in strict mode: the standard doesn't say how).
    """
    kind = dtype.kind
    if isinstance(value, bool):
        if kind == "bool":
            return dtype
        _modes.allow("scalar of another kind", f"{function}: cannot mix {_article(dtype)} array with {value}")
        return dtype
    if isinstance(value, int):
        if kind != "bool":
            return dtype
        _modes.allow("scalar of another kind", f"{function}: cannot mix a bool array with the Python int {value}")
        return DEFAULT_INT
    if isinstance(value, float):
        if kind in ("float", "complex"):
            return dtype
        _modes.allow(
            "float scalar with integers",
            f"{function}: cannot mix {_article(dtype)} array with the Python float {value!r}",
        )
        return DEFAULT_FLOAT
    if kind == "complex":
        return dtype
    if dtype in COMPLEX_OF:
        return COMPLEX_OF[dtype]
    if dtype is bfloat16:  # no complex dtype has components like it, and complex64 holds its values
        return complex64
    if dtype.kernels == "narrow":
        raise TypeError(f"{function}: cannot mix {_article(dtype)} array with a complex scalar; use astype first")
    message = f"{function}: cannot mix {_article(dtype)} array with the Python complex {value!r}"
    _modes.allow("float scalar with integers", message)
    return DEFAULT_COMPLEX


def _article(dtype: DType) -> str:
    return f"an {dtype}" if dtype.name.startswith("int") else f"a {dtype}"


def can_cast(source: DType, target: DType) -> bool:
    """Whether promotion leads from ``source`` to ``target``."""
    return PROMOTION.get((source, target)) is target


def same_kind(source: DType, target: DType) -> bool:
    """Whether values may be assigned across: to a higher kind, or within a kind also to fewer bits."""
    if source is target or can_cast(source, target):
        return True
    level = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
    if source.kind == "bool" or target.kind == "bool":
        return source.kind == "bool"
    return level[source.kind] <= level[target.kind]


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest number of an integer dtype."""
    known = (ml_dtypes.iinfo if dtype.extension else np.iinfo)(dtype.dtype)
    return int(known.min), int(known.max)


# NumPy's numbers for dtypes: below this are those of the standard, 23 is float16, from 256 on come ml_dtypes'.
_NUMBERS = 17


def cast(values: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """NumPy values in another dtype; themselves where it is their own."""
    own = values.dtype
    if own is target:
        return values
    if own.num < _NUMBERS and target.num < _NUMBERS:
        return values.astype(target, copy=False)
    return values if own == target else _kernels.converted(values, target)


def converted(values: np.ndarray[Any, Any], target: DType) -> np.ndarray[Any, Any]:
    """A dense row-major copy of NumPy values in another dtype."""
    if values.dtype.num < _NUMBERS and target.dtype.num < _NUMBERS:
        return values.astype(target.dtype, order="C", copy=True)
    made = np.empty(values.shape, target.dtype)
    _kernels.convert(values, made)
    return made


def is_kind(dtype: DType, kind: str) -> bool:
    """Whether ``dtype`` belongs to one of the standard's kinds of dtypes."""
    return kind in KIND_NAMES[dtype.kind]
