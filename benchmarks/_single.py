"""One operation, where there is nothing to fuse: memory and threads decide, and the overhead of a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._cases import FLOATS, Case, vectors


def _own(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Vectors that a case may write to: no other case asks for them."""
    return vectors(random, size, dtype)


def _add_in_place(xp: Any, a: Any, b: Any, c: Any) -> Any:
    a += b
    return a


CASES = (
    Case("a + b", lambda xp, a, b, c: a + b, vectors, "a + b", groups=("add",)),
    Case("a * b", lambda xp, a, b, c: a * b, vectors, "a * b"),
    Case("exp(a)", lambda xp, a, b, c: xp.exp(a), vectors, "exp(a)", groups=("exp",)),
    Case("a < b", lambda xp, a, b, c: a < b, vectors, "a < b"),
    Case("where(a < 0.5, b, c)", lambda xp, a, b, c: xp.where(a < 0.5, b, c), vectors, "where(a < 0.5, b, c)"),
    Case("astype float32", lambda xp, a, b, c: xp.astype(a, xp.float32), vectors, dtypes=FLOATS[:1]),
    # JAX's arrays can't be written to.
    Case("a += b", _add_in_place, _own, without=("jax",)),
)
