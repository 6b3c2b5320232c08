"""bfloat16 and float16: chains, reductions, conversions.

Constants are arrays too: NumPy takes a bfloat16 array times a Python number to float32.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from benchmarks._cases import Case, vectors

HALVES = ("bfloat16", "float16")
SIZES = (10**4, 10**6, 10**7)


def _halves(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    return tuple(x.astype(np.dtype(dtype)) for x in vectors(random, size, "float32"))


def _wide(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """float32, and the same in the narrow dtype."""
    found = vectors(random, size, "float32")[0]
    return found, found.astype(np.dtype(dtype))


def _case(name: str, function: Any, *groups: str, **more: Any) -> Case:
    return Case(name, function, **{"data": _halves, "dtypes": HALVES, "sizes": SIZES, "groups": groups, **more})


def _narrowed(xp: Any, wide: Any, narrow: Any) -> Any:
    return xp.astype(wide, narrow.dtype)


CHAIN = ("narrow chain",)
CASES = (
    _case("a + b", lambda xp, a, b, c: a + b),
    _case("(a-b)*(a-b)*c + sqrt(a)", lambda xp, a, b, c: (a - b) * (a - b) * c + xp.sqrt(a), *CHAIN),
    _case("a / (b + exp(-a))", lambda xp, a, b, c: a / (b + xp.exp(-a)), *CHAIN),
    _case("c*a*(b + tanh(a + c*a*a*a))", lambda xp, a, b, c: c * a * (b + xp.tanh(a + c * a * a * a)), *CHAIN),
    _case("exp(-c*a*a)*b", lambda xp, a, b, c: xp.exp(-c * a * a) * b, *CHAIN),
    # NumPy adds up bfloat16 in bfloat16, and stops at 256.
    _case(
        "max((a-b)*(a-b))",
        lambda xp, a, b, c: xp.max((a - b) * (a - b)),
    ),
    _case("float32 to it", _narrowed, "narrow conversion", data=_wide),
    _case(
        "it to float32",
        lambda xp, wide, narrow: xp.astype(narrow, wide.dtype),
        "narrow conversion",
        data=_wide,
    ),
)

# NumPy knows the names once ml_dtypes is there.
assert np.dtype("bfloat16") == ml_dtypes.bfloat16, "ml_dtypes names its dtypes to NumPy"
