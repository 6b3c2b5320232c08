"""Stacks of matrices: decompositions, inverses and systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._cases import FLOATS, Case, Data, Function

# Matrices of a stack, rows of each: the elements are the size of the row in the table.
STACKS = ((2000, 16), (64, 200))
GROUP = ("stack",)


def _stack(rows: int) -> Data:
    """Positive definite matrices of so many rows, as many as the size allows, and as many columns for each."""

    def data(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
        shape = (max(1, size // rows**2), rows, rows)
        values = random.standard_normal(shape)
        positive = values @ values.mT / rows + np.eye(rows)
        return positive.astype(dtype, copy=False), random.standard_normal(shape).astype(dtype, copy=False)

    return data


_STACKS = {rows: _stack(rows) for _, rows in STACKS}


def _cases() -> Iterator[Case]:
    def case(name: str, function: Function, group: tuple[str, ...] = GROUP) -> Iterator[Case]:
        for count, rows in STACKS:
            yield Case(
                f"{name}, {count} of {rows}×{rows}",
                function,
                _STACKS[rows],
                dtypes=FLOATS[:1],
                sizes=(count * rows**2,),
                groups=group,
            )

    yield from case("solve", lambda xp, a, b: xp.linalg.solve(a, b))
    yield from case("inv", lambda xp, a, b: xp.linalg.inv(a))
    yield from case("cholesky", lambda xp, a, b: xp.linalg.cholesky(a))
    # Eigenvalues and singular values of several: the vectors of two libraries differ in sign.
    yield from case("eigh", lambda xp, a, b: xp.linalg.eigh(a)[0])
    yield from case("svd", lambda xp, a, b: xp.linalg.svd(a)[1])
    yield from case("qr", lambda xp, a, b: xp.linalg.qr(a)[1], ())
    yield from case("det", lambda xp, a, b: xp.linalg.det(a), ())
    yield from case("pinv", lambda xp, a, b: xp.linalg.pinv(a), ())


CASES = tuple(_cases())
