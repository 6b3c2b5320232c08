"""Layouts and values which the tests of the kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LAYOUTS = ("contiguous", "stepped", "reversed", "transposed", "offset")


def laid_out(values: Array, layout: str) -> Array:
    """An array equal to the one-dimensional `values`, with the strides that the name says."""
    if layout == "stepped":
        return np.repeat(values, 2)[::2]
    if layout == "reversed":
        return values[::-1].copy()[::-1]
    if layout == "transposed":
        wide = np.empty((3, values.size), values.dtype)
        wide[1] = values
        return np.asfortranarray(wide)[1]
    if layout == "offset":
        return np.concatenate([values[:1], values])[1:]
    return values.copy()


def lanes(values: Array) -> Iterator[Array]:
    """The values in every lane of short vectors, in one long one, and past two blocks of any kernel."""
    for length in (1, 2, 3, 5, 8, 17):
        for start in range(0, values.size, length):
            yield np.resize(np.roll(values, -start), length)
    yield values
    yield np.resize(values, 140_000)


def identical(got: Array, want: Array) -> Array:
    """Equality by element which tells -0 from +0 and takes any NaN for any other, component by component."""
    if got.dtype.kind == "c":
        return identical(got.real, want.real) & identical(got.imag, want.imag)
    if got.dtype.kind in "biu":
        return np.asarray(got == want)
    both_nan = np.isnan(got) & np.isnan(want)
    return np.asarray(both_nan | ((got == want) & (np.signbit(got) == np.signbit(want))))
