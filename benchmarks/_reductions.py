"""Reductions, most of an expression that nobody needs to store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks._cases import Case, Function, matrix, vector, vectors

# fused: something is computed on the way; reduction: every one
PLAIN, FUSED = ("reduction",), ("reduction", "fused")
AXES = ((None, "all"), (0, "axis 0"), (1, "axis 1"))


def _along(name: str, axis: int | None) -> Function:
    def function(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x, axis=axis)

    return function


def _cases() -> Iterator[Case]:
    def two(name: str, function: Function, text: str = "", tolerance: float = 1) -> Case:
        return Case(name, lambda xp, a, b, c: function(xp, a, b), vectors, text, groups=FUSED, tolerance=tolerance)

    # numexpr adds one float32 after the other, and is off by 1.5 % at 10⁷.
    yield two("sum((a-b)**2)", lambda xp, a, b: xp.sum((a - b) ** 2), "sum((a - b)**2)", tolerance=20)
    yield two("max(abs(a-b))", lambda xp, a, b: xp.max(xp.abs(a - b)), "max(abs(a - b))")
    # Neither answer is known before the last element.
    yield two("any(a > b + 1)", lambda xp, a, b: xp.any(a > b + 1.0))
    yield Case("all(a < 2)", lambda xp, a: xp.all(a < 2.0), vector, groups=FUSED)
    yield Case("count_nonzero(a > 0.5)", lambda xp, a: xp.count_nonzero(a > 0.5), vector, groups=FUSED)
    yield Case("vector_norm(a)", lambda xp, a: xp.linalg.vector_norm(a), vector, groups=FUSED)
    for axis, name in AXES:
        yield Case(f"mean, {name}", _along("mean", axis), matrix, groups=PLAIN)
    for axis, name in AXES:
        yield Case(f"var, {name}", _along("var", axis), matrix, groups=FUSED)
    yield Case("std, all", _along("std", None), matrix, groups=FUSED)


CASES = tuple(_cases())
