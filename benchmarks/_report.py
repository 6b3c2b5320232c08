"""The files of a report: ``benchmarks.json`` is the record, the page and the pictures follow from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from benchmarks._cases import Row
from benchmarks._write import BY_TIME, TITLES, Table, page


def read(folder: Path) -> dict[str, Table]:
    """What earlier runs recorded there."""
    try:
        found = json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))["tables"]
    except (FileNotFoundError, KeyError):  # none yet, or a record from before it had versions
        return {}
    return {name: Table([Row.from_json(row) for row in each["rows"]], each["about"]) for name, each in found.items()}


def write(folder: Path, measured: Mapping[str, Table]) -> None:
    """Replace the tables that were measured, keep the others, and write page and pictures of all anew."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {**read(folder), **measured}
    record = {name: {"about": about, "rows": [row.to_json() for row in rows]} for name, (rows, about) in tables.items()}
    (folder / "benchmarks.json").write_text(json.dumps({"tables": record}, indent=1) + "\n", encoding="utf-8")
    pictures = {name: f"benchmarks_{name}.svg" for name in tables if name not in BY_TIME}
    if find_spec("matplotlib") is None:
        print("no pictures: matplotlib is not installed", file=sys.stderr)
        pictures = {}
    for name, file in pictures.items():
        from benchmarks._picture import draw

        draw(TITLES[name], tables[name].rows, folder / file)
    (folder / "benchmarks.md").write_text(page(tables, pictures), encoding="utf-8")
