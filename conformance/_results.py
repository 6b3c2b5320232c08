"""What runs of a suite found, as plain data: read from the plugin's lines, merged over seeds, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_SEVERITY = {"passed": 0, "skipped": 1, "failed": 2}
_SCHEMA = 1


@dataclass(frozen=True)
class Outcome:
    """How one test ended: verdict "passed", "skipped" or "failed", a reason in one line, the traceback as detail."""

    id: str
    verdict: str
    reason: str = ""
    detail: str = ""


@dataclass
class Run:
    """Everything the plugin has written of one pytest process so far."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    total: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    status: int | None = None

    def feed(self, text: str) -> None:
        """Take in one line of the plugin."""
        event: dict[str, Any] = json.loads(text)
        match event["event"]:
            case "environment":
                self.versions = event["versions"]
            case "total":
                self.total = event["total"]
            case "end":
                self.status = event["status"]
            case "test":
                add(self.outcomes, Outcome(event["id"], event["verdict"], event["reason"], event["detail"]))

    @property
    def failed(self) -> int:
        """How many tests have failed."""
        return sum(outcome.verdict == "failed" for outcome in self.outcomes.values())


@dataclass(frozen=True)
class Row:
    """One revision in one mode, over all seeds: the number of tests passed, the others by name."""

    revision: str
    mode: str
    suite_commit: str
    spec_commit: str
    module: str
    seeds: tuple[int, ...]
    max_examples: int
    deadline: bool
    variables: tuple[str, ...]
    versions: dict[str, str]
    passed: int
    skipped: tuple[Outcome, ...]
    failed: tuple[Outcome, ...]


def add(outcomes: dict[str, Outcome], outcome: Outcome) -> None:
    """Take an outcome in; of two for one test the worse stays."""
    known = outcomes.get(outcome.id)
    if known is None or _SEVERITY[outcome.verdict] > _SEVERITY[known.verdict]:
        outcomes[outcome.id] = outcome


def merge(runs: Iterable[Run]) -> dict[str, tuple[Outcome, ...]]:
    """Outcomes of runs of the same thing with several seeds, by verdict: failed once is failed."""
    worst: dict[str, Outcome] = {}
    for run in runs:
        for outcome in run.outcomes.values():
            add(worst, outcome)
    ordered = sorted(worst.values(), key=lambda outcome: outcome.id)
    return {verdict: tuple(outcome for outcome in ordered if outcome.verdict == verdict) for verdict in _SEVERITY}


def breakdown(run: Run) -> str | None:
    """Why a run can't be trusted to have tried every test, None if it can.

    pytest ends with 0 when all passed and 1 when tests failed; every other status means that it stopped on the way.
    """
    if run.status is None:
        return "pytest ended without saying so"
    if run.status not in (0, 1):
        return f"pytest ended with status {run.status}"
    if run.total is None:
        return "pytest collected nothing"
    if len(run.outcomes) < run.total:
        return f"only {len(run.outcomes)} of {run.total} tests have an outcome"
    return None


def combine(old: Sequence[Row], new: Sequence[Row], commits: Mapping[str, str]) -> list[Row]:
    """New rows in the place of old ones; old rows of other versions or of another suite are dropped.

    A page that mixed versions would say nothing about any of them.

    Parameters
    ----------
    old, new
        Rows of an earlier report and of the runs just made.
    commits
        The suite's commit in force for each revision.
    """
    fresh = {(row.revision, row.mode) for row in new}
    versions = [row.versions for row in new]
    kept = [
        row
        for row in old
        if (row.revision, row.mode) not in fresh
        and row.versions in versions
        and commits.get(row.revision) == row.suite_commit
    ]
    return sorted([*kept, *new], key=lambda row: (row.revision, row.mode))


def to_json(rows: Sequence[Row]) -> str:
    """Rows as JSON text, without tracebacks: those name the paths of one machine."""
    stored = [asdict(row) for row in rows]
    for outcome in (outcome for row in stored for verdict in ("skipped", "failed") for outcome in row[verdict]):
        del outcome["detail"]
    document = {"schema": _SCHEMA, "rows": stored}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> list[Row]:
    """Rows back from JSON text.

    Raises
    ------
    ValueError
        The text isn't one that ``to_json`` of this version wrote.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise ValueError("conformance.json: not written by this version of conformance; delete it and run again")
    return [_row(stored) for stored in document["rows"]]


def _row(stored: dict[str, Any]) -> Row:
    for name in ("skipped", "failed"):
        stored[name] = tuple(Outcome(**outcome) for outcome in stored[name])
    for name in ("seeds", "variables"):
        stored[name] = tuple(stored[name])
    return Row(**stored)
