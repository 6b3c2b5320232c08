"""Measure candela_xp beside NumPy, numexpr, torch and JAX; print tables, write them and pictures into docs/.

All tables take about 12 minutes on 2 cores; --quick a minute, for a look: it writes nothing unless --output says where.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import candela_xp
from benchmarks import (
    _calls,
    _chains,
    _decompositions,
    _machine,
    _narrow,
    _orders,
    _products,
    _programs,
    _reductions,
    _report,
    _run,
    _single,
)
from benchmarks._cases import Case
from benchmarks._libraries import NAMES, installed
from benchmarks._write import TITLES, Table, libraries_of, page

DOCS = Path(__file__).resolve().parent.parent / "docs"
CASES: dict[str, tuple[Case, ...]] = {
    "chains": _chains.CASES,
    "reductions": _reductions.CASES,
    "single": _single.CASES,
    "orders": _orders.MIXED,
    "far": _orders.FAR,
    "products": _products.CASES,
    "decompositions": _decompositions.CASES,
    "narrow": _narrow.CASES,
    "programs": _programs.CASES,
}
SIZES, QUICK_SIZES = "1e3,1e4,1e5,1e6,1e7", "1e4,1e6"
# A case with sizes of its own takes none above these when a quick look is wanted.
QUICK_LARGEST = {"programs": 2000, "products": 300**2, "decompositions": 20 * 16**2, "orders": 512**2, "far": 512**2}
PEERS = tuple(dict.fromkeys([*NAMES, *_calls.PEERS]))


class Wanted(NamedTuple):
    """What the command line asks for."""

    only: str
    quick: bool
    rounds: int
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def effort(self, seconds: float, budget: float) -> _run.Effort:
        """So much for a row, or a fraction where it is to be quick."""
        return (
            _run.Effort(self.rounds, seconds / 3, budget / 6)
            if self.quick
            else _run.Effort(self.rounds, seconds, budget)
        )

    def cases(self, table: str) -> list[Case]:
        """The cases of a table, no larger than is quick where it is to be quick."""
        limit = QUICK_LARGEST.get(table, 0) if self.quick else sys.maxsize
        return [
            replace(case, sizes=tuple(dict.fromkeys(min(size, limit) for size in case.sizes)))
            for case in CASES[table]
            if self.only in case.name
        ]


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(float(each)) for each in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    names = text.split(",")
    if unknown := set(names) - set(PEERS):
        raise argparse.ArgumentTypeError(
            f"no library is called {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}"
        )
    return tuple(name for name in PEERS if name in ("numpy", *names))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # Python 3.11 compares an empty list with the choices as well
    known = ", ".join(TITLES)
    parser.add_argument("tables", nargs="*", choices=[[], *TITLES], metavar="TABLE", help=f"of {known} (default: all)")
    parser.add_argument("--rounds", type=int, help="turns of each library, at most (default 15; 3 when quick)")
    parser.add_argument(
        "--sizes", type=_sizes, help=f"elements, for cases without sizes of their own (default {SIZES})"
    )
    parser.add_argument("--only", default="", help="cases whose name contains this; writes nothing without --output")
    parser.add_argument("--quick", action="store_true", help=f"few rounds, sizes {QUICK_SIZES}, nothing above 512×512")
    parser.add_argument("--libraries", type=_names, default=PEERS, help="NumPy and these (default: all installed)")
    parser.add_argument("--no-report", action="store_true", help="print only")
    parser.add_argument("--output", type=Path, help="folder of the report (default docs)")
    return parser


def _about(versions: Mapping[str, str]) -> str:
    known = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {known}."


def _table(name: str, wanted: Wanted) -> Table:
    if name == "small":
        peers = _calls.namespaces(tuple(each for each in _calls.PEERS if each in wanted.names))
        calls = [call for call in _calls.small(peers) if wanted.only in call.name]
        about = _about({each: getattr(module, "__version__", "?") for each, module in peers.items()})
        return Table(_calls.measure(name, calls, 10, wanted.effort(0.004, 1)), about)
    if name == "large":
        calls = [call for call in _calls.large() if wanted.only in call.name]
        about = _about({"numpy": np.__version__, "candela_xp": candela_xp.__version__})
        return Table(_calls.measure(name, calls, 10**6, wanted.effort(0.02, 1)), about)
    libraries = list(installed(wanted.names))
    rows = _run.measure(name, wanted.cases(name), libraries, wanted.sizes, wanted.effort(0.005, 2))
    present = libraries_of(rows)
    return Table(rows, _about({each.name: each.version for each in libraries if each.name in present}))


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    # scikit-learn's dispatch asks for it, and JAX imports scipy.
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    chosen = _parser().parse_args(arguments)
    wanted = Wanted(
        chosen.only,
        chosen.quick,
        chosen.rounds or (3 if chosen.quick else 15),
        chosen.sizes or _sizes(QUICK_SIZES if chosen.quick else SIZES),
        chosen.libraries,
    )
    with np.errstate(all="ignore"):
        found = {name: (_machine.noted(), _table(name, wanted)) for name in chosen.tables or TITLES}
    measured = {name: table._replace(about=table.about + load) for name, (load, table) in found.items() if table.rows}
    print(page(measured, {}))
    partial = chosen.only or chosen.quick
    if not chosen.no_report and (chosen.output or not partial):
        _report.write(chosen.output or DOCS, measured)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
