"""A pytest plugin that has the suite draw values of a narrow dtype, and believe its range.

Hypothesis has floats of 16 bits, but those are float16: few of them are bfloat16. The suite knows ranges and sizes by
name. It must be loaded before the suite: the suite takes `hypothesis.strategies.floats` when it is imported.
"""

from __future__ import annotations

import math
import os
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st

VARIABLE = "CANDELA_XP_CONFORMANCE_NARROW"
_DTYPE = np.dtype(getattr(ml_dtypes, os.environ[VARIABLE], os.environ[VARIABLE]))
_LIMITS = ml_dtypes.finfo(_DTYPE)  # type: ignore[no-untyped-call]  # it has no annotations
_MAX, _LEAST = float(_LIMITS.max), float(_LIMITS.smallest_normal)
_WIDTH: Any = 16 if np.float16 == _DTYPE else 32  # of as many exponents
_floats = st.floats


def nearest(value: float, least: float, most: float) -> float:
    """The number of the dtype near a float: in range, and no subnormal, which the suite leaves aside."""
    if not math.isfinite(value):
        return value
    with np.errstate(over="ignore"):
        found = float(np.float32(value).astype(_DTYPE))
    if math.isinf(found):
        found = math.copysign(_MAX, value)
    if abs(found) < _LEAST:
        found = math.copysign(0.0, value)
    # Rounding may lead out of the bounds.
    return found if least <= found <= most else value


def floats(
    min_value: Any = None, max_value: Any = None, *, width: Any = 64, **options: Any
) -> st.SearchStrategy[float]:
    """`hypothesis.strategies.floats`, where 16 and 32 bits mean the narrow dtype."""
    if width == 64:
        return _floats(min_value, max_value, width=width, **options)
    least = -math.inf if min_value is None else float(min_value)
    most = math.inf if max_value is None else float(max_value)
    if min_value is None and max_value is None:
        drawn = _unbounded(**options)
    else:  # which need not be numbers of 16 bits
        drawn = _floats(min_value, max_value, **options)
    return drawn.map(lambda value: nearest(value, least, most)).filter(is_of_the_dtype)


def _unbounded(*, allow_nan: Any = None, allow_infinity: Any = None, **options: Any) -> st.SearchStrategy[float]:
    """Floats in the range of the dtype, many of them small: of all floats most are too great for float16."""
    special = [math.nan] * (allow_nan is not False) + [math.inf, -math.inf] * (allow_infinity is not False)
    numbers = _floats(-_MAX, _MAX, **options) | _floats(-8.0, 8.0, **options)
    return numbers | st.sampled_from(special) if special else numbers


def is_of_the_dtype(value: float) -> bool:
    """Whether the dtype has the number."""
    return math.isnan(value) or float(np.float32(value).astype(_DTYPE)) == value


st.floats = floats


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Tell the suite's tables the range and the bits of what is called float32 there."""
    dtype_helpers: Any = import_module("array_api_tests.dtype_helpers")
    ranges = {name: dtype_helpers.dtype_ranges[dtype] for name, dtype in dtype_helpers._name_to_dtype.items()
              if dtype in list(dtype_helpers.dtype_ranges)}  # fmt: skip
    ranges["float32"] = dtype_helpers.MinMax(-_MAX, _MAX)
    dtype_helpers.dtype_ranges = dtype_helpers._make_dtype_mapping_from_names(ranges)
    bits = dtype_helpers._dtype_nbits | {"float32": 16, "complex64": 32}
    dtype_helpers.dtype_nbits = dtype_helpers._make_dtype_mapping_from_names(bits)
