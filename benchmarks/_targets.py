"""What was to be reached, and what was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from benchmarks._cases import Row, size_name

Tables = Mapping[str, Sequence[Row]]
ENGINE = ("chains", "reductions", "single", "orders", "far", "decompositions", "narrow")
PRODUCTS = ("products",)
OURS = "candela_xp"


def geometric_mean(values: Iterable[float]) -> float:
    """The factor that has the same product."""
    found = [log(value) for value in values]
    return exp(fsum(found) / len(found))


@dataclass(frozen=True)
class Target:
    """At least how many times faster than a peer, over which rows; the worst of them or their geometric mean."""

    name: str
    least: float
    rows: Callable[[Row], bool]
    than: str = "numpy"
    worst: bool = False
    tables: tuple[str, ...] = ENGINE


@dataclass(frozen=True)
class Outcome:
    """A target, what was measured for it (None: nothing), and over what."""

    target: Target
    reached: float | None
    over: str

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.reached is None:
            return "not measured"
        return "reached" if self.reached >= self.target.least else "not reached"


def _in(group: str, *sizes: int) -> Callable[[Row], bool]:
    return lambda row: group in row.groups and (not sizes or row.size in sizes)


def _all(row: Row) -> bool:
    return True


BIG = (10**6, 10**7)
SQUARE = 4096**2
TARGETS = (
    Target("chains of 3 or more operations, 10⁶ and 10⁷", 2.5, _in("chain", *BIG)),
    Target("reductions, 10⁶ and 10⁷", 3, _in("reduction", *BIG)),
    Target("of these, those that compute on the way", 3, _in("fused", *BIG)),
    Target("mixed orders, 4096×4096", 2, _in("mixed order", SQUARE)),
    Target("argmax, argmin, cumulative_sum, cumulative_prod, far axis", 3, _in("far scan", SQUARE)),
    Target("sort, far axis", 1.5, _in("far sort", SQUARE)),
    Target("a single add, 10⁷", 1.3, _in("add", 10**7)),
    Target("a single exp, 10⁷", 1.6, _in("exp", 10**7)),
    Target("stacks of matrices", 1.5, _in("stack")),
    Target("half precision: chains of bfloat16 and float16, 10⁷", 3, _in("narrow chain", 10**7)),
    Target("half precision: from and to float32, 10⁷", 1, _in("narrow conversion", 10**7), worst=True),
    Target("a stack of matrices times one", 1.3, _in("shared right"), tables=PRODUCTS),
    Target("products of other stacks, the worst", 1, _in("stacked"), worst=True, tables=PRODUCTS),
    Target("products of floats in any layout, the worst", 0.95, _in("layout"), worst=True, tables=PRODUCTS),
    Target("products of integers to 99, the worst", 15, _in("small integers", 10**6), worst=True, tables=PRODUCTS),
    Target("products of all integers of int64", 4, _in("all integers"), tables=PRODUCTS),
    Target("products of float16", 50, _in("half", 10**6), tables=PRODUCTS),
    Target("the worst case of all from 10³ up", 0.9, lambda row: row.size >= 1000, worst=True),
    Target("against numexpr, where it can say it", 1, _all, than="numexpr"),
    Target("against torch (CPU)", 1, _all, than="torch"),
)


def _outcome(target: Target, rows: Sequence[Row]) -> Outcome:
    speeds = [(speed, row) for row in rows if target.rows(row) and (speed := row.speed(OURS, target.than)) is not None]
    if not speeds:
        return Outcome(target, None, "")
    if target.worst:
        speed, row = min(speeds, key=lambda each: each[0])
        return Outcome(target, speed, f"{row.case}, {row.dtype}, {size_name(row.size)}; {len(speeds)} rows")
    return Outcome(target, geometric_mean(speed for speed, _ in speeds), f"geometric mean of {len(speeds)} rows")


def outcomes(tables: Tables) -> list[Outcome]:
    """All targets, over the tables that were measured."""
    return [_outcome(target, [row for name in target.tables for row in tables.get(name, ())]) for target in TARGETS]
