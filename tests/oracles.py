"""What the tests of public functions share: values of every dtype, arrays of ours in every layout, comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from layouts import ALL_LAYOUTS, ARRANGEMENTS, cast, example, lay_out

import candela_xp as xp

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGER = SIGNED + UNSIGNED
REAL_FLOAT = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = INTEGER + REAL_FLOAT
FLOAT = REAL_FLOAT + COMPLEX
STANDARD = BOOL + INTEGER + FLOAT
# float8_e8m0fnu has neither zero nor sign: it stores scales, and takes part in no arithmetic test.
NARROW = [
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip
WITH_NAN = [name for name in NARROW if name[:6] not in ("float6", "float4")]
# int2 and uint2 have too few numbers for most tests: those that are about numbers take these.
NARROW_INTEGER = ["int4", "uint4"]
ALL_DTYPES = [*STANDARD, *NARROW, *NARROW_INTEGER, "complex32"]

INF, NAN = float("inf"), float("nan")


def twin(name: str) -> np.dtype[Any]:
    """The NumPy dtype of that name."""
    return np.dtype(name if hasattr(np, name) or name == "bool" else getattr(ml_dtypes, name))


def kind(name: str) -> str:
    """bool, int, uint, float or complex."""
    if name != "float16" and not hasattr(np, name):  # of ml_dtypes
        return next(known for known in ("float", "complex", "uint", "int") if known in name)
    return {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}[np.dtype(name).kind]


def special(name: str) -> np.ndarray:
    """A dozen values of a dtype: its extremes, zeros of both signs, NaN and infinities, and some in between."""
    dtype = twin(name)
    if kind(name) == "bool":
        return np.array([True, False, True, True, False, False, True, False, False, True, True, False])
    if kind(name) in ("int", "uint"):
        known = limits(name)
        if name in NARROW_INTEGER:
            return np.array([0, 1, 2, 3, known.max, known.max - 1, known.min, 7, 3, 5, 0, 4]).astype(dtype)
        low = known.min if known.min == 0 else -known.max
        return np.array([0, 1, 2, 3, known.max, known.max - 1, known.min, 7, 100, 5, low, 64], dtype)
    if kind(name) == "float":
        # Powers of two and halves are exact in every dtype, 1e9 is infinite or NaN in the narrowest.
        with np.errstate(all="ignore"):
            return np.array([0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, NAN, INF, -INF, 1e9, 0.125]).astype(dtype)
    return cast(
        [0j, 1, 1j, -1 + 2j, 0.5 - 0.25j, -3 - 4j, 2.5, -2j, 7 + 0.125j, -0.75 + 0.5j, 1 - 1j, 0.001 + 0.002j], dtype
    )


def limits(name: str) -> Any:
    """numpy.iinfo, or that of ml_dtypes."""
    return (ml_dtypes.iinfo if name in NARROW_INTEGER else np.iinfo)(twin(name))


def tame(name: str) -> np.ndarray:
    """A dozen values that no sum, product or power of a few takes out of the dtype."""
    values = np.array([0, 1, 2, 3, 1, 2, 0, 3, 2, 1, 3, 1])
    return cast(values, twin(name)) if kind(name) != "bool" else values % 2 == 1


def ours(view: np.ndarray) -> xp.NDArray:
    """An array of ours over the memory of a NumPy one, so in the same layout."""
    array = xp.asarray(view)
    assert array.shape == view.shape
    return array


def arranged(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The values (shape kept) in every arrangement."""
    for name in ARRANGEMENTS:
        yield name, lay_out(values, name)


def examples(dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    """Small arrays in all layouts, also broadcast, 0-d, empty and read-only ones."""
    for name in ALL_LAYOUTS:
        yield name, example(name, twin(dtype))


def plain(x: xp.NDArray) -> np.ndarray:
    """The values of an array of ours as a NumPy array; float64 and complex128 hold all of them but the integers."""
    assert type(x) is xp.NDArray
    view = np.asarray(x)
    assert view.dtype == x.dtype.dtype
    assert view.shape == x.shape
    return view


def widened(values: np.ndarray) -> np.ndarray:
    """Values in a dtype in which NumPy computes: float32, int8 and complex64 for the narrow ones."""
    name = values.dtype.name
    if name != "float16" and hasattr(np, name):
        return values
    return values.astype({"float": np.float32, "complex": np.complex64}.get(kind(name), np.int8))


def identical(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal in shape, dtype and every element, where -0 is not 0 and any NaN is any other."""
    assert got.dtype == want.dtype, f"{got.dtype} for {want.dtype}"
    assert got.shape == want.shape, f"{got.shape} for {want.shape}"
    got, want = widened(got), widened(want)
    if got.dtype.kind == "c":
        return identical(got.real, want.real) and identical(got.imag, want.imag)
    if got.dtype.kind in "biu":
        return bool(np.array_equal(got, want))
    both_nan = np.isnan(got) & np.isnan(want)
    return bool(np.all(both_nan | ((got == want) & (np.signbit(got) == np.signbit(want)))))


def close(got: np.ndarray, want: np.ndarray, ulps: float) -> bool:
    """Identical, or within so many units in the last place of the larger component."""
    assert got.dtype == want.dtype, f"{got.dtype} for {want.dtype}"
    assert got.shape == want.shape, f"{got.shape} for {want.shape}"
    if identical(got, want):
        return True
    if got.dtype.kind in "biu" or got.dtype.name in NARROW_INTEGER:
        return False
    if got.dtype.name == "complex32":
        eps, got, want = float(np.finfo(np.float16).eps), got.astype(np.complex64), want.astype(np.complex64)
    else:
        eps = float(np.finfo(got.dtype).eps) if got.dtype.kind in "fc" else float(ml_dtypes.finfo(got.dtype).eps)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    g, w = got.astype(wide), want.astype(wide)
    finite = np.isfinite(w)
    if not np.array_equal(finite, np.isfinite(g)) or not np.array_equal(g[~finite], w[~finite], equal_nan=True):
        return False
    return bool(np.all(np.abs(g[finite] - w[finite]) <= ulps * eps * np.abs(w[finite])))
