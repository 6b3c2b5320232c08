"""``python -m benchmarks``: measure, print a table, write it into the documentation."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import candela_xp
from benchmarks import _cases
from benchmarks._measure import Timing, side_by_side

DOCS = Path(__file__).resolve().parent.parent / "docs"


def _measured(cases: list[_cases.Case], rounds: int, seconds: float, title: str) -> list[dict[str, Any]]:
    rows = []
    begin = time.perf_counter()
    for number, case in enumerate(cases, 1):
        found = side_by_side(case.functions, rounds=rounds, seconds=seconds)
        rows.append({"case": case.name, "target": case.target, "timings": found})
        if sys.stderr.isatty():
            print(f"\r{title}: {number}/{len(cases)} {case.name:<34}", end="", file=sys.stderr, flush=True)
    print(f"{title}: {len(cases)} cases in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return rows


def _cell(timing: Timing | None) -> str:
    if timing is None:
        return "–"
    amount, unit = (timing.seconds * 1e6, "µs") if timing.seconds < 1e-3 else (timing.seconds * 1e3, "ms")
    return f"{amount:.2f} {unit} ({timing.ratio:.2f}×)"


def _table(rows: list[dict[str, Any]], libraries: list[str]) -> str:
    lines = ["| case | " + " | ".join(libraries) + " | to reach |", "|---|" + "---|" * (len(libraries) + 1)]
    for row in rows:
        cells = [_cell(row["timings"].get(name)) for name in libraries]
        lines.append(f"| `{row['case']}` | " + " | ".join(cells) + f" | {row['target']} |")
    return "\n".join(lines)


def _versions(libraries: dict[str, Any]) -> str:
    known = ", ".join(f"{name} {getattr(module, '__version__', '?')}" for name, module in libraries.items())
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {known}."


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[[], "small", "large"], help="which tables (default: both)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each library (default 15)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--no-report", action="store_true", help="print only")
    chosen = parser.parse_args(arguments)
    tables = chosen.tables or ["small", "large"]
    libraries = _cases.namespaces()
    parts, record = [], {}
    with np.errstate(all="ignore"):
        for name, cases, seconds, columns in (
            ("small", _cases.small(libraries), 0.004, list(libraries)),
            ("large", _cases.large(), 0.02, ["numpy", "candela_xp"]),
        ):
            if name not in tables:
                continue
            picked = [case for case in cases if chosen.only in case.name]
            rows = _measured(picked, chosen.rounds, seconds, name)
            heading = "Ten elements: the cost of a call" if name == "small" else "A million elements, dense"
            parts.append(f"## {heading}\n\n{_table(rows, columns)}")
            record[name] = [{**row, "timings": {k: t._asdict() for k, t in row["timings"].items()}} for row in rows]
    text = (
        "# Benchmarks\n\nWritten by `python -m benchmarks`: medians of alternating turns in one process on a shared "
        "machine of 2 cores; in parentheses the median ratio to NumPy within a turn. Times depend on the machine, "
        f"ratios much less.\n\n{_versions(libraries)}\n\n" + "\n\n".join(parts) + "\n"
    )
    print(text)
    if not chosen.no_report and not chosen.only:
        DOCS.mkdir(exist_ok=True)
        (DOCS / "benchmarks.md").write_text(text, encoding="utf-8")
        (DOCS / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    assert candela_xp.__version__
    raise SystemExit(main())
