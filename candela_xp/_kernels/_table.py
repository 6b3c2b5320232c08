"""Which NumPy ufunc is the kernel of which function, for which kinds, where NumPy is right as it is."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ._types import Array, Kernel, Out


def clip(x: Array, lower: Array | None, upper: Array | None, /, out: Out = None) -> Array:
    """x between the bounds; None leaves a side open; a NaN anywhere gives NaN."""
    result: Array
    if upper is None:
        result = np.positive(x, out=out) if lower is None else np.maximum(x, lower, out=out)
    elif lower is None:
        result = np.minimum(x, upper, out=out)
    else:
        # The stub of clip does not know ``out=...``; the ufunc behind it does.
        result = np.clip(x, lower, upper, out=out)  # type: ignore[arg-type]  # the stubs want no ...
    return result


def where(condition: Array, x1: Array, x2: Array, /, out: Out = None) -> Array:
    """x1 where the condition holds, else x2.

    numpy.where has no ``out``. Its result is copied: 37 µs for 2^15 float64 and half the conditions true, where copying
    one operand and then the other under a mask takes 115, since every branch is a guess.
    """
    chosen = np.where(condition, x1, x2)
    if not isinstance(out, np.ndarray):
        return np.asarray(chosen)
    out[...] = chosen
    return out


_COMPARISONS: dict[str, Kernel] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
_TESTS: dict[str, Kernel] = {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan}
_LOGIC: dict[str, Kernel] = {
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
_BITS: dict[str, Kernel] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_invert": np.invert,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
_SHIFTS: dict[str, Kernel] = {"bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift}
_ARITHMETIC: dict[str, Kernel] = {
    "abs": np.absolute,
    "add": np.add,
    "conj": np.conjugate,
    "multiply": np.multiply,
    "negative": np.negative,
    "positive": np.positive,
    "pow": np.power,
    "sign": np.sign,
    "square": np.square,
    "subtract": np.subtract,
}
_ORDERED: dict[str, Kernel] = {
    "clip": clip,
    "floor_divide": np.floor_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "remainder": np.remainder,
}
# rint of an integer is a float in NumPy; rounding an integer is leaving it alone.
_WHOLE: dict[str, Kernel] = {"ceil": np.positive, "floor": np.positive, "round": np.positive, "trunc": np.positive}
_ROUNDING: dict[str, Kernel] = {"ceil": np.ceil, "floor": np.floor, "round": np.rint, "trunc": np.trunc}
_TRANSCENDENTAL: dict[str, Kernel] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "divide": np.divide,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
_REAL_ONLY: dict[str, Kernel] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "nextafter": np.nextafter,
    "signbit": np.signbit,
}
# numpy.bool has no subtract, negative, positive, sign, square: their loops are missing or of another dtype.
_BOOL_ARITHMETIC: dict[str, Kernel] = {
    "abs": np.absolute,
    "add": np.add,
    "clip": clip,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
}

DIFFERENT_BACKWARDS = frozenset(
    "acos acosh asin asinh atan atan2 atanh cosh exp expm1 log log10 log1p log2 pow sinh tan".split()
)
"""Functions of real floats whose last bit may depend on the walk: along a negative stride NumPy leaves its SIMD kernel
for the C library's (and takes 6 ns for 1 ns). Positive strides, offsets, lengths and alignment make no difference.
Measured on NumPy 2.4.6 with AVX-512; complex kernels copy their operands and never depend on it."""

PREDICATES = frozenset([*_COMPARISONS, *_TESTS, *_LOGIC, "signbit"])
"""Functions whose result is bool whatever the operands are."""

_NUMERIC: dict[str, Kernel] = {**_COMPARISONS, **_TESTS, **_LOGIC, **_ARITHMETIC}
_INTEGER: dict[str, Kernel] = {**_NUMERIC, **_BITS, **_SHIFTS, **_ORDERED, **_WHOLE}

UFUNCS: MappingProxyType[str, dict[str, Kernel]] = MappingProxyType(
    {
        "bool": {**_COMPARISONS, **_TESTS, **_LOGIC, **_BITS, **_BOOL_ARITHMETIC},
        "int": _INTEGER,
        "uint": _INTEGER,
        "float": {**_NUMERIC, **_ORDERED, **_ROUNDING, **_TRANSCENDENTAL, **_REAL_ONLY},
        "complex": {**_NUMERIC, **_TRANSCENDENTAL, "round": np.rint},
    }
)
"""NumPy's kernel by kind and array-API name."""
