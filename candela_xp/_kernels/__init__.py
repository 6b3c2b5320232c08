"""NumPy's kernels and the corrections to them, by function name and kind of dtype.

A kernel takes arrays of one common dtype and any layout, and NumPy's ``out=``. Where NumPy's ufunc gives what array API
2025.12 says, the kernel *is* that ufunc; where it does not, see ``_real``, ``_complex`` and ``_narrow``.
"""

from __future__ import annotations

import functools

import numpy as np

from . import _complex, _real
from ._convert import convert, converted, odd, rounding, wide
from ._narrow import NARROW, nextafter, widened
from ._table import DIFFERENT_BACKWARDS, PREDICATES, UFUNCS, where
from ._types import Kernel

__all__ = [
    "DIFFERENT_BACKWARDS",
    "Kernel",
    "convert",
    "converted",
    "lookup",
    "odd",
    "rounding",
    "weight",
    "where",
    "wide",
    "wide_kernel",
]

_CORRECTED: dict[str, dict[str, Kernel]] = {
    "float": {"floor_divide": _real.floor_divide, "logaddexp": _real.logaddexp, "pow": _real.power},
    "int": {"pow": _real.integer_power},
    "uint": {"pow": _real.integer_power},
    "complex": dict(_complex.KERNELS),
    "narrow": {"nextafter": nextafter},
}

# These move, set or read bits of the narrow dtype itself, and are native in NumPy (float16) and ml_dtypes. copysign is
# not among them: for the dtypes without -0 (fnuz) ml_dtypes sets the bit all the same, and 0 becomes NaN.
_NATIVE = frozenset(["abs", "isfinite", "isinf", "isnan", "negative", "nextafter", "positive", "signbit"])


_WIDE_KINDS = {"narrow": "float", "narrowint": "int", "narrowcomplex": "complex"}

_HEAVY = frozenset(
    "acos acosh asin asinh atan atan2 atanh cos cosh exp expm1 floor_divide hypot log log10 log1p log2 logaddexp "
    "remainder sin sinh sqrt tan tanh where".split()
)


# bfloat16 2**15: 20 µs an addition, where float32 takes 1.5 and twice the bytes.
_CONVERTING = 16


# They give the same of the wide values, or what is rounded to the same.
_EITHER = frozenset([np.absolute, np.isfinite, np.isinf, np.isnan, np.negative, np.positive, np.signbit, where])


def wide_kernel(kernel: Kernel) -> Kernel | None:
    """What computes with wide values what a kernel computes with narrow ones, but for the rounding; None if nothing."""
    return kernel if kernel in _EITHER else NARROW.get(kernel)


def weight(name: str, kernel: Kernel | None = None) -> int:
    """About how many times as long a function takes, a byte, as an addition of operands in the cache."""
    factor = _CONVERTING if kernel in NARROW else 1
    return 2 * factor if name in _HEAVY else factor


@functools.cache
def lookup(name: str, kind: str) -> Kernel:
    """The kernel of an elementwise function for a kind of dtype.

    Parameters
    ----------
    name
        The array-API name, e.g. ``"bitwise_left_shift"``.
    kind
        ``"bool"``, ``"int"``, ``"uint"``, ``"float"`` (float32, float64), ``"complex"``, ``"narrow"`` (float16 and
        ml_dtypes' floats), ``"narrowint"`` (ml_dtypes' integers) or ``"narrowcomplex"`` (complex32).

    Returns
    -------
    ``kernel(*operands, out=...)``.

    Raises
    ------
    LookupError
        The function has no kernel for that kind.
    """
    if kind in _WIDE_KINDS and not (kind == "narrow" and name in _NATIVE):
        base = _WIDE_KINDS[kind]
        native = UFUNCS[base].get(name) if kind == "narrow" else None
        result = np.bool_ if name in PREDICATES else np.float16 if base == "complex" and name == "abs" else None
        return widened(name, lookup(name, base), native, result=None if result is None else np.dtype(result))
    base = "float" if kind == "narrow" else kind
    kernel = _CORRECTED.get(kind, {}).get(name) or UFUNCS.get(base, {}).get(name)
    if kernel is None:
        raise LookupError(f"no kernel of {name!r} for dtypes of kind {kind!r}")
    return kernel
