"""The page of the documentation: what was reached, pictures, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks._cases import Row, size_name
from benchmarks._targets import geometric_mean, outcomes

TITLES = {
    "small": "Ten elements: the cost of a call",
    "large": "A million elements, dense: function by function",
    "chains": "Chains of operations",
    "reductions": "Reductions",
    "single": "Single operations",
    "orders": "Operands in different orders",
    "far": "Reductions, scans and sorting along each axis",
    "products": "Products of matrices",
    "decompositions": "Stacks of matrices",
    "narrow": "Half precision",
    "programs": "Programs: scikit-learn on rows of 20 features, through array API dispatch",
}
# Tables of single functions, told by time. The others compare libraries, told by speed.
BY_TIME = ("small", "large")
HOW = """\
Written by `python -m benchmarks`: medians of alternating turns in one process on a shared machine of 2 cores, ratios to
NumPy's turn in the same round. Times depend on the machine, ratios much less. Every library gets the same values in
memory of its own and runs the same expression in the words of the standard, JAX under `jit`; deferred results are
forced; results are dropped at the end of each call, as NumPy's are. Before a case is timed, all results are compared
with NumPy's."""


class Table(NamedTuple):
    """The rows of a table and what they were measured with."""

    rows: Sequence[Row]
    about: str


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def libraries_of(rows: Sequence[Row]) -> list[str]:
    """Whoever appears, in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row.timings))


def _by_time(rows: Sequence[Row]) -> str:
    names = libraries_of(rows)

    def cell(row: Row, name: str) -> str:
        found = row.timings.get(name)
        return "–" if found is None else f"{_time(found.seconds)} ({found.ratio:.2f}×)"

    body = ([f"`{row.case}`", *(cell(row, name) for name in names), row.target] for row in rows)
    return f"In parentheses: time in times of NumPy's.\n\n{table(['case', *names, 'to reach'], body)}"


def _speed(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _by_speed(rows: Sequence[Row]) -> str:
    peers = libraries_of(rows)[1:]

    def mean(size: int, name: str) -> float | None:
        found = [speed for row in rows if row.size == size and (speed := row.speed(name)) is not None]
        return geometric_mean(found) if found else None

    sizes = sorted({row.size for row in rows})
    means = ([size_name(size), *(_speed(mean(size, name)) for name in peers)] for size in sizes)
    body = (
        [
            f"`{row.case}`",
            row.dtype,
            size_name(row.size),
            _time(row.timings["numpy"].seconds),
            *(_speed(row.speed(name)) for name in peers),
        ]
        for row in rows
    )
    return (
        "Times faster than NumPy by size, geometric mean of what each library has:\n\n"
        f"{table(['size', *peers], means)}\n\nEach case, NumPy's time and times faster than it:\n\n"
        f"{table(['case', 'dtype', 'size', 'numpy', *peers], body)}"
    )


def targets(tables: Mapping[str, Table]) -> str:
    """The table of what was to be reached and what was."""
    body = (
        [
            outcome.target.name,
            f"{outcome.target.least:g}×",
            _speed(outcome.reached),
            outcome.verdict,
            outcome.over,
        ]
        for outcome in outcomes({name: found.rows for name, found in tables.items()})
    )
    return table(["times faster than NumPy (or who is named)", "to reach", "measured", "", "over"], body)


def page(tables: Mapping[str, Table], pictures: Mapping[str, str]) -> str:
    """The whole page; ``pictures`` are the files beside it, by table."""
    parts = ["# Benchmarks", HOW]
    if set(tables) - set(BY_TIME):
        parts += ["## What was to be reached, what was measured", targets(tables)]
    # What compares libraries first.
    order = sorted((name for name in TITLES if name in tables), key=lambda name: name in BY_TIME)
    for name in order:
        rows, about = tables[name]
        parts += [f"## {TITLES[name]}", about]
        if name in pictures:
            parts.append(f"![{TITLES[name]}: times faster than NumPy]({pictures[name]})")
        parts.append(_by_time(rows) if name in BY_TIME else _by_speed(rows))
    return "\n\n".join(parts) + "\n"
