"""What the runs of the clients found, as plain data, and as JSON beside the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .._results import Outcome
from ._clients import BACKENDS, MODES, NAMED

_SCHEMA = 1
_MODE_ORDER = (*MODES, NAMED)


@dataclass(frozen=True)
class Row:
    """A client's tests with one backend in one mode: counts, and the failures by name."""

    client: str
    version: str
    backend: str
    mode: str
    versions: dict[str, str]
    passed: int
    skipped: int
    failed: tuple[Outcome, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What a later run of the same replaces."""
        return self.client, self.backend, self.mode


def combine(old: Iterable[Row], new: Sequence[Row], pinned: Mapping[str, str]) -> list[Row]:
    """New rows in the place of old ones; old rows of other versions of a client are dropped.

    Parameters
    ----------
    old, new
        Rows of an earlier report and of the runs just made.
    pinned
        The version in force for each client, in the order of the report.
    """
    fresh = {row.key for row in new}
    kept = [row for row in old if row.key not in fresh and pinned.get(row.client) == row.version]
    names = [*pinned]
    return sorted(
        [*kept, *new],
        key=lambda row: (names.index(row.client), BACKENDS.index(row.backend), _MODE_ORDER.index(row.mode)),
    )


# A directory of installed packages, wherever it lies
_INSTALLED = re.compile(r"(?:/[^/\s'\"]+)+/site-packages/")


def to_json(rows: Sequence[Row]) -> str:
    """Rows as JSON text, without what only one machine has: tracebacks, and the place of installed packages."""
    stored = [asdict(row) for row in rows]
    for row in stored:
        row["failed"] = [
            {"id": outcome["id"], "reason": _INSTALLED.sub("", outcome["reason"])} for outcome in row["failed"]
        ]
    return json.dumps({"schema": _SCHEMA, "rows": stored}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> list[Row]:
    """Rows back from JSON text.

    Raises
    ------
    ValueError
        The text isn't one that ``to_json`` of this version wrote.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise ValueError("clients.json: not written by this version of conformance; delete it and run again")
    return [_row(stored) for stored in document["rows"]]


def _row(stored: dict[str, Any]) -> Row:
    failed = tuple(Outcome(outcome["id"], "failed", outcome["reason"]) for outcome in stored.pop("failed"))
    return Row(**stored, failed=failed)
