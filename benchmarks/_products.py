"""Products of matrices: operands in every layout, integers, half precision, stacks."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

import numpy as np

from benchmarks._cases import Case, Data

TINY, MIDDLE, LARGE = 100, 80**2, 1000**2
WIDE = ("float64", "float32", "complex64", "complex128")


def _numbers(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    found = random.uniform(0.1, 1, shape)
    if dtype.startswith("complex"):
        return (found + 1j * random.uniform(0.1, 1, shape)).astype(dtype)
    return found.astype(dtype, copy=False)


def _squares(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Two square matrices, one with four times the elements, and a vector."""
    side = isqrt(size)
    return tuple(
        _numbers(random, shape, dtype) for shape in ((side, side), (side, side), (2 * side, 2 * side), (side,))
    )


def _small_integers(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Two square matrices of integers from 0 to 99."""
    side = isqrt(size)
    return tuple(random.integers(0, 100, (side, side)).astype(dtype) for _ in range(2))


def _all_integers(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Two square matrices of all the integers of a dtype."""
    side, info = isqrt(size), np.iinfo(dtype)
    return tuple(random.integers(info.min, info.max, (side, side), dtype=dtype, endpoint=True) for _ in range(2))


def _stacks(left: tuple[int, ...], right: tuple[int, ...]) -> Data:
    """Two stacks of matrices; the number of matrices is cut to the size asked for."""

    def data(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
        count = max(1, min(left[0], size // (left[1] * left[2])))
        shapes = ((count, *left[1:]), (count, *right[1:]) if len(right) == 3 else right)
        return tuple(_numbers(random, shape, dtype) for shape in shapes)

    return data


def _layouts() -> Iterator[Case]:
    def case(name: str, function: Any, **more: Any) -> Case:
        return Case(
            name, function, **{"data": _squares, "dtypes": WIDE, "sizes": (LARGE,), "groups": ("layout",), **more}
        )

    yield case("a @ b", lambda xp, a, b, c, v: a @ b)
    yield case("a @ b, small", lambda xp, a, b, c, v: a @ b, sizes=(TINY, MIDDLE), groups=())
    yield case("a.T @ b", lambda xp, a, b, c, v: a.T @ b)
    yield case("a @ b.T", lambda xp, a, b, c, v: a @ b.T)
    yield case("a.T @ b.T", lambda xp, a, b, c, v: a.T @ b.T)
    yield case("a @ c[:n, :n]", lambda xp, a, b, c, v: a @ c[: a.shape[0], : a.shape[0]])
    yield case("a @ c[:, ::2][:n, :]", lambda xp, a, b, c, v: a @ c[: a.shape[0], ::2])
    yield case("c[::2, ::2] @ b", lambda xp, a, b, c, v: c[::2, ::2] @ b)
    yield case("c[::2, ::2].T @ c[1::2, 1::2]", lambda xp, a, b, c, v: c[::2, ::2].T @ c[1::2, 1::2])
    yield case("flip(a) @ b", lambda xp, a, b, c, v: xp.flip(a) @ b)
    yield case("flip(a, axis=1) @ flip(b, axis=0)", lambda xp, a, b, c, v: xp.flip(a, axis=1) @ xp.flip(b, axis=0))
    yield case("equal rows @ b", lambda xp, a, b, c, v: xp.broadcast_to(a[:1, :], a.shape) @ b)
    yield case("equal columns @ b", lambda xp, a, b, c, v: xp.broadcast_to(a[:, :1], a.shape) @ b)
    yield case("a @ v", lambda xp, a, b, c, v: a @ v)
    yield case("flip(a) @ v", lambda xp, a, b, c, v: xp.flip(a) @ v)
    yield case("c[::2, ::2] @ v", lambda xp, a, b, c, v: c[::2, ::2] @ v)
    yield case("v @ c[::2, ::2]", lambda xp, a, b, c, v: v @ c[::2, ::2], groups=())
    yield case("conj(a) @ v", lambda xp, a, b, c, v: xp.conj(a) @ v, dtypes=WIDE[2:], groups=())
    yield case("vecdot(a, b)", lambda xp, a, b, c, v: xp.vecdot(a, b), groups=())
    yield case(
        "vecdot(a, b, axis=-2)",
        lambda xp, a, b, c, v: xp.vecdot(a, b, axis=-2),
        groups=(),
    )


def _numbers_of_other_kinds() -> Iterator[Case]:
    integers = ("int64", "int32", "int16", "int8", "uint8")

    def case(name: str, data: Data, **more: Any) -> Case:
        return Case(name, lambda xp, a, b, *_: a @ b, data, **more)

    small, both = ("small integers",), (TINY, LARGE)
    yield case("integers to 99", _small_integers, dtypes=integers, sizes=both, groups=small)
    yield case("all integers", _all_integers, dtypes=("int64",), sizes=(LARGE,), groups=("all integers",))
    yield case("all integers of 32 bits", _all_integers, dtypes=("int32",), sizes=(LARGE,))
    yield case("half precision", _squares, dtypes=("float16",), sizes=both, groups=("half",))


def _stacked() -> Iterator[Case]:
    for left, right in (
        ((1000, 8, 64), (64, 64)),
        ((64, 64, 64), (64, 64, 64)),
        ((10000, 4, 4), (10000, 4, 4)),
    ):
        name = f"{left} @ {right}"
        size = left[0] * left[1] * left[2]
        groups = ("shared right",) if len(right) == 2 else ("stacked",)
        yield Case(name, lambda xp, a, b: a @ b, _stacks(left, right), sizes=(size,), groups=groups)
    yield Case(
        "flip((10000, 4, 4), axis=2) @ (10000, 4, 4)",
        lambda xp, a, b: xp.flip(a, axis=2) @ b,
        _stacks((10000, 4, 4), (10000, 4, 4)),
        sizes=(160000,),
    )


CASES = (*_layouts(), *_numbers_of_other_kinds(), *_stacked())
