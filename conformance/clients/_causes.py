"""Why a client's test fails that no change of ours can or should make pass: ``causes.toml``, matched to outcomes.

A row of the file::

    [[cause]]
    client = "scipy"
    modes = ["unknown"]                # left out: any
    tests = ["*/test_x.py::test_y*"]   # "*" stands for any text, nothing else is special
    errors = ["*no attribute*"]        # left out: any; matched to the error in one line
    where = "scipy/_lib/_array_api.py:176"
    why = "The test asks for the name."

It explains failures of candela_xp alone. The first row that matches a failure is its cause.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .._results import Outcome
from ._clients import CLIENTS, MODES, UNKNOWN

CAUSES = Path(__file__).with_name("causes.toml")
UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True)
class Cause:
    """One explanation: which failures it covers, the line of the client that decides, and what that line does."""

    client: str
    tests: tuple[str, ...]
    where: str
    why: str
    errors: tuple[str, ...] = ("*",)
    modes: tuple[str, ...] = MODES

    def explains(self, client: str, mode: str, outcome: Outcome) -> bool:
        """Whether this is the cause of a failure."""
        return (
            self.client == client
            and mode in self.modes
            and any(matches(pattern, outcome.id) for pattern in self.tests)
            and any(matches(pattern, outcome.reason) for pattern in self.errors)
        )


@dataclass(frozen=True)
class Group:
    """Failures with one cause, None where there is no explanation."""

    cause: Cause | None
    outcomes: tuple[Outcome, ...]


def matches(pattern: str, text: str) -> bool:
    """Whether a text has the form of a pattern, in which ``*`` stands for any text.

    Names of tests are full of brackets, which shell patterns would take for sets of characters.
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def read(text: str) -> list[Cause]:
    """The causes of a TOML document.

    Raises
    ------
    ValueError
        A row lacks something, or has something that no row has.
    """
    known = {field.name for field in fields(Cause)}
    needed = {"client", "tests", "where", "why"}
    causes = []
    for number, row in enumerate(tomllib.loads(text).get("cause", []), 1):
        if wrong := sorted((needed - set(row)) | (set(row) - known)):
            raise ValueError(f"causes.toml: cause {number} ({row.get('client')}): missing or unknown: {wrong}")
        if unknown := sorted(set(row.get("modes", MODES)) - set(MODES)):
            raise ValueError(f"causes.toml: cause {number} ({row['client']}): no mode {unknown}; there are {MODES}")
        causes.append(_cause(row))
    return causes


def groups(causes: Sequence[Cause], client: str, mode: str, failures: Iterable[Outcome]) -> list[Group]:
    """Failures by their causes, in the order of the causes; those without explanation come last."""
    found: dict[Cause | None, list[Outcome]] = {cause: [] for cause in [*causes, None]}
    for outcome in failures:
        found[next((cause for cause in causes if cause.explains(client, mode, outcome)), None)].append(outcome)
    return [Group(cause, tuple(outcomes)) for cause, outcomes in found.items() if outcomes]


def unexplained(causes: Sequence[Cause], client: str, mode: str, failures: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """The failures without explanation."""
    found = groups(causes, client, mode, failures)
    return next((group.outcomes for group in found if group.cause is None), ())


def idle(causes: Sequence[Cause], results: Mapping[tuple[str, str], Sequence[Outcome]]) -> list[Cause]:
    """Causes that explain nothing any more.

    Parameters
    ----------
    causes
        All of them; those that hold for a client or mode that hasn't run are left out.
    results
        The failures by client and mode.
    """
    by_name = {client.name for client in CLIENTS if client.by_name}  # the others have one mode
    explained = {
        group.cause for (client, mode), failures in results.items() for group in groups(causes, client, mode, failures)
    }
    return [
        cause
        for cause in causes
        if cause not in explained
        and all((cause.client, mode) in results for mode in cause.modes if mode == UNKNOWN or cause.client in by_name)
    ]


def alike(failures: Iterable[Outcome]) -> list[tuple[Outcome, int]]:
    """The first of all failures with the same error, and how many they are."""
    found: dict[str, list[Outcome]] = {}
    for outcome in failures:
        found.setdefault(outcome.reason, []).append(outcome)
    return [(outcomes[0], len(outcomes)) for outcomes in found.values()]


def _cause(row: dict[str, Any]) -> Cause:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Cause(**values)
