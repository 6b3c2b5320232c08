"""How values are printed: fractions with as few digits as tell a number from its neighbours in its own dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from candela_xp import _dtypes
from candela_xp._dtypes import DType, cast

NumPyArray = np.ndarray[Any, Any]


def text(view: NumPyArray, dtype: DType, prefix: str) -> str:
    """The values as NumPy's print options want them.

    Parameters
    ----------
    view
        The values.
    dtype
        Their dtype.
    prefix
        What stands before them on the first line.
    """
    if not dtype.extension:
        return np.array2string(view, separator=", ", prefix=prefix)
    # float64 prints the shortest digits; what it is given are the shortest of the narrow dtype.
    options = np.get_printoptions()
    summarised = view.size > options["threshold"]
    if summarised:
        edge = options["edgeitems"]
        for axis, extent in enumerate(view.shape):
            if extent > 2 * edge:
                # One more than the edges: what is left out is seen to be left out.
                view = np.take(view, [*range(edge + 1), *range(extent - edge, extent)], axis=axis)
    values = cast(view, dtype.wide)
    if values.dtype.kind == "f":
        values = _shortest(values, dtype)
    elif values.dtype.kind == "c":
        real = _dtypes.REAL_OF[dtype]
        values = _shortest(values.real, real) + 1j * _shortest(values.imag, real)
    return np.array2string(values, separator=", ", prefix=prefix, threshold=0 if summarised else view.size)


def _shortest(values: NumPyArray, dtype: DType) -> NumPyArray:
    """For each value of a narrow dtype the float64 of fewest decimal digits that the dtype rounds to it."""
    found = values.astype(np.float64)
    if dtype.name == "float8_e8m0fnu":  # powers of 2, which one digit tells apart, but doesn't show
        return found
    # Whole numbers in full: a sum of 4096 ones is 4096, though 4100 would tell it from other bfloat16 numbers.
    left = np.isfinite(found) & ((found != np.rint(found)) | (np.abs(found) >= 1e6))
    for digits in range(17):
        if not left.any():
            break
        candidates = np.array([float(f"{value:.{digits}e}") for value in found[left].tolist()])
        with np.errstate(over="ignore"):
            same = cast(cast(candidates, dtype.dtype), np.dtype(np.float32)) == values[left]
        places = np.flatnonzero(left)[same]
        found.flat[places] = candidates[same]
        left.flat[places] = False
    return found
