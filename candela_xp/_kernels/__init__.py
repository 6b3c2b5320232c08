"""NumPy's kernels and the corrections to them, by function name and kind of dtype.

A kernel takes arrays of one common dtype and any layout, and NumPy's ``out=``. Where NumPy's ufunc gives what array API
2025.12 says, the kernel *is* that ufunc; where it does not, see ``_real``, ``_complex`` and ``_narrow``.
"""

from __future__ import annotations

import functools

import numpy as np

from . import _complex, _real
from ._narrow import SLOW_IN_HALF, nextafter, widened
from ._table import DIFFERENT_BACKWARDS, PREDICATES, UFUNCS, where
from ._types import Kernel

__all__ = ["DIFFERENT_BACKWARDS", "Kernel", "lookup", "weight", "where"]

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


_HEAVY = frozenset(
    "acos acosh asin asinh atan atan2 atanh cos cosh exp expm1 floor_divide hypot log log10 log1p log2 logaddexp "
    "remainder sin sinh sqrt tan tanh where".split()
)


def weight(name: str) -> int:
    """About how many times as long a function takes as an addition of operands in the cache."""
    return 2 if name in _HEAVY else 1


@functools.cache
def lookup(name: str, kind: str) -> Kernel:
    """The kernel of an elementwise function for a kind of dtype.

    Parameters
    ----------
    name
        The array-API name, e.g. ``"bitwise_left_shift"``.
    kind
        ``"bool"``, ``"int"``, ``"uint"``, ``"float"`` (float32, float64), ``"complex"``, ``"narrow"`` (float16 and
        ml_dtypes' floats) or ``"narrowint"`` (ml_dtypes' integers).

    Returns
    -------
    ``kernel(*operands, out=...)``.

    Raises
    ------
    LookupError
        The function has no kernel for that kind.
    """
    if kind == "narrow" and name not in _NATIVE:
        half = None if name in SLOW_IN_HALF else UFUNCS["float"].get(name)
        return widened(lookup(name, "float"), np.float32, predicate=name in PREDICATES, half=half)
    if kind == "narrowint":
        return widened(lookup(name, "int"), np.int8, predicate=name in PREDICATES)
    base = "float" if kind == "narrow" else kind
    kernel = _CORRECTED.get(kind, {}).get(name) or UFUNCS.get(base, {}).get(name)
    if kernel is None:
        raise LookupError(f"no kernel of {name!r} for dtypes of kind {kind!r}")
    return kernel
