"""What a case is, and the row of a table that measuring it gives; the data that cases share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from math import isqrt
from typing import Any

import numpy as np

from benchmarks._measure import Timing

# An expression in the words of the standard, given a namespace and that library's arrays.
Function = Callable[..., Any]
# Operands for so many elements of a dtype.
Data = Callable[[np.random.Generator, int, str], tuple[Any, ...]]

FLOATS = ("float64", "float32")


@dataclass(frozen=True)
class Case:
    """One expression, told once for all libraries.

    Attributes
    ----------
    function
        ``f(xp, *arrays)``.
    numexpr
        The same for numexpr, the operands called a, b, c in their order; empty where it can't say it.
    sizes
        Elements; empty means those of the command line.
    groups
        Which targets count it (``_targets``).
    without
        Libraries that can't.
    instead
        Libraries that say it in another way.
    tolerance
        Times the usual one, where NumPy's own float32 result is off by more.
    """

    name: str
    function: Function
    data: Data
    numexpr: str = ""
    dtypes: tuple[str, ...] = FLOATS
    sizes: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    instead: Mapping[str, Function] = field(default_factory=dict)
    tolerance: float = 1.0


@dataclass(frozen=True)
class Row:
    """What was measured of a case at a dtype and a size (elements); timings by library, NumPy's first."""

    case: str
    timings: dict[str, Timing]
    dtype: str = ""
    size: int = 0
    groups: tuple[str, ...] = ()
    target: str = ""

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Row:
        """The row that ``to_json`` wrote."""
        timings = {name: Timing(**timing) for name, timing in found["timings"].items()}
        return cls(**{**found, "timings": timings, "groups": tuple(found["groups"])})

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values."""
        return {**asdict(self), "timings": {name: timing._asdict() for name, timing in self.timings.items()}}

    def speed(self, library: str, than: str = "numpy") -> float | None:
        """How many times faster one library is than the other; None where one of them has no time."""
        if library not in self.timings or than not in self.timings:
            return None
        return self.timings[than].ratio / self.timings[library].ratio


def size_name(size: int) -> str:
    """10⁶ for a power of ten, 4096×4096 for another square."""
    power = len(str(size)) - 1
    if size == 10**power:
        return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))
    side = isqrt(size)
    return f"{side}×{side}" if side * side == size else str(size)


def _uniform(random: np.random.Generator, shape: int | tuple[int, ...], dtype: str) -> Any:
    return random.uniform(0.1, 1, shape).astype(dtype, copy=False)


def vectors(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Three vectors of values from 0.1 to 1."""
    return tuple(_uniform(random, size, dtype) for _ in range(3))


def vector(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """One vector of values from 0.1 to 1."""
    return (_uniform(random, size, dtype),)


def matrix(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """One matrix, as near to a square as the size allows."""
    rows = isqrt(size)
    return (_uniform(random, (rows, size // rows), dtype),)


def columns(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """One matrix of 100 columns."""
    return (_uniform(random, (max(1, size // 100), 100), dtype),)


def squares(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Two square matrices."""
    side = isqrt(size)
    return tuple(_uniform(random, (side, side), dtype) for _ in range(2))
