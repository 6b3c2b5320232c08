"""Functions that check themselves: of a narrow dtype they give what they give in the wide one, rounded once."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import candela_xp

VARIABLE = "CANDELA_XP_CONFORMANCE_NARROW"
NARROW = getattr(candela_xp, os.environ[VARIABLE])
WIDE = {NARROW: candela_xp.float32}
if NARROW is candela_xp.float16:
    WIDE[candela_xp.complex32] = candela_xp.complex64

# All elementwise functions but nextafter, which goes by the numbers of the dtype itself, and the reductions and scans.
CHECKED = (
    "abs acos acosh add asin asinh atan atan2 atanh ceil conj copysign cos cosh cumulative_prod cumulative_sum "
    "divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log "
    "log10 log1p log2 logaddexp max maximum mean min minimum multiply negative not_equal positive pow prod "
    "reciprocal remainder round sign signbit sin sinh sqrt square std subtract sum tan tanh trunc var"
).split()


def checked(name: str) -> Callable[..., Any]:
    """A function of candela_xp that fails where its result isn't that of the wide dtype, rounded once."""
    function = getattr(candela_xp, name)

    @functools.wraps(function)
    def check(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        arrays = [x for x in args if isinstance(x, candela_xp.NDArray)]
        if all(x.dtype in WIDE for x in arrays) and arrays and kwargs.get("dtype") is None:
            with np.errstate(all="ignore"):
                want = function(*map(_widened, args), **kwargs)
                _compare(name, result, candela_xp.astype(want, result.dtype))
        return result

    return check


def _widened(x: Any) -> Any:
    if isinstance(x, candela_xp.NDArray):
        return candela_xp.astype(x, WIDE[x.dtype])
    # A scalar takes the dtype of the array, so it is rounded too.
    return float(candela_xp.asarray(x, dtype=NARROW)) if isinstance(x, float) else x


def _compare(name: str, got: Any, want: Any) -> None:
    a, b = (np.asarray(candela_xp.astype(x, WIDE.get(x.dtype, x.dtype))) for x in (got, want))
    same = (a == b) | ((a != a) & (b != b))
    if a.dtype.kind == "f":
        same &= (np.signbit(a) == np.signbit(b)) | (a != a)
    if not same.all():
        raise AssertionError(f"{name}: {a[~same][:3]}, and in the wide dtype rounded once {b[~same][:3]}")
