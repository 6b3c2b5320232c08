"""Operands that lie in memory in different orders, and walks over the axis that lies far apart."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

import numpy as np

from benchmarks._cases import FLOATS, Case, Function, squares

SMALL, LARGE = 512**2, 4096**2
DOUBLE = FLOATS[:1]


def _images(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Four square images with channels last, and four with channels first."""
    count, channels = 4, 64 if size >= SMALL else 4
    side = max(1, isqrt(size // (count * channels)))
    shapes = ((count, side, side, channels), (count, channels, side, side))
    return tuple(random.uniform(0.1, 1, shape).astype(dtype, copy=False) for shape in shapes)


def _lines(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """A square matrix, a row and a column."""
    side = isqrt(size)
    shapes = ((side, side), (1, side), (side, 1))
    return tuple(random.uniform(0.1, 1, shape).astype(dtype, copy=False) for shape in shapes)


def _near_one(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """A square matrix whose products of 4096 factors are ordinary numbers."""
    side = isqrt(size)
    return (random.uniform(0.9, 1.1, (side, side)).astype(dtype, copy=False),)


def _mixed() -> Iterator[Case]:
    def case(name: str, function: Function, **more: Any) -> Case:
        settings = {"data": squares, "sizes": (SMALL, LARGE), "dtypes": DOUBLE, "groups": ("mixed order",), **more}
        return Case(name, function, **settings)

    yield case("a + b.T", lambda xp, a, b: a + b.T)
    yield case("a.T * b + a", lambda xp, a, b: a.T * b + a)
    yield case(
        "copy of a.T in rows",
        lambda xp, a, b: xp.asarray(a.T, copy=True),
        # The copies of these two keep the order of the axes in memory.
        instead={"numpy": lambda xp, a, b: xp.ascontiguousarray(a.T), "torch": lambda xp, a, b: a.T.contiguous()},
    )
    yield case("reshape(a.T, (-1,))", lambda xp, a, b: xp.reshape(a.T, (-1,)))
    yield case("NHWC + NCHW", lambda xp, x, y: x + xp.permute_dims(y, (0, 2, 3, 1)), data=_images)
    yield case("NCHW * NHWC", lambda xp, x, y: y * xp.permute_dims(x, (0, 3, 1, 2)), data=_images)
    yield case("a[:, ::2] + b[:, 1::2]", lambda xp, a, b: a[:, ::2] + b[:, 1::2])
    yield case("a[::2, :] + b.T[::2, :]", lambda xp, a, b: a[::2, :] + b.T[::2, :])
    yield case("a + flip(b)", lambda xp, a, b: a + xp.flip(b))
    yield case("a + flip(b, axis=1)", lambda xp, a, b: a + xp.flip(b, axis=1))
    # Broadcasting is no mixed order: NumPy walks it well, and memory sets the limit.
    yield case("a + row", lambda xp, a, row, column: a + row, data=_lines, groups=())
    yield case("a * column", lambda xp, a, row, column: a * column, data=_lines, groups=())
    yield case("row * column", lambda xp, a, row, column: row * column, data=_lines, groups=())


def _far() -> Iterator[Case]:
    groups = {
        "argmax": ("far scan",),
        "argmin": ("far scan",),
        "cumulative_sum": ("far scan",),
        "cumulative_prod": ("far scan",),
        "sort": ("far sort",),
    }

    def function(name: str, axis: int) -> Function:
        return lambda xp, a: getattr(xp, name)(a, axis=axis)

    for name in (*groups, "max", "sum", "mean", "var"):
        for axis in (0, 1):
            yield Case(
                f"{name}, axis {axis}",
                function(name, axis),
                _near_one,
                dtypes=DOUBLE,
                sizes=(LARGE,),
                groups=groups.get(name, ()) if axis == 0 else (),
            )


MIXED = tuple(_mixed())
FAR = tuple(_far())
