"""What an audit finds: rules that were met, where in the user's code, how often, with an example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Effect = Literal["refuses", "differs", "recomputes"]
"""What a backend does: raises an exception; answers another value or dtype; answers the same after computing again."""

Harm = Literal["silent value", "silent dtype", "error or value", "refused", "recomputed"]
"""The worst that a rule may mean, by what backends disagree on."""

HARMS: Final[tuple[Harm, ...]] = ("silent value", "silent dtype", "error or value", "refused", "recomputed")
"""Worst first: what nobody notices stands before what raises."""

Certainty = Literal["seen in arguments", "depends on values", "aliasing possible"]
"""How sure the audit can be from what it saw."""


@dataclass(frozen=True)
class Outcome:
    """What a backend does with a call.

    Attributes
    ----------
    effect
        See `Effect`.
    detail
        The exception or the value, as measured.
    """

    effect: Effect
    detail: str


@dataclass(frozen=True)
class Rule:
    """A use that not all backends answer alike: one row of the data.

    Attributes
    ----------
    id
        Name, by which a comment in the source silences it.
    group
        Chapter: mutation, indexing, promotion and so on.
    call
        The use, as one would write it.
    harm
        See `Harm`.
    certainty
        See `Certainty`.
    standard
        What the standard says about it.
    reference
        What the outcomes are measured against: the value or the exception.
    outcomes
        Backends that do otherwise, by name.
    advice
        The portable way to write it, and where that fails.
    data
        Whether it takes a look at values, which computes what is pending: only on request.
    """

    id: str
    group: str
    call: str
    harm: Harm
    certainty: Certainty
    standard: str
    reference: str
    outcomes: Mapping[str, Outcome]
    advice: str
    data: bool = False


@dataclass
class Finding:
    """A rule that a line of the user's code meets.

    Attributes
    ----------
    rule
        The rule.
    file
        Absolute path of the source, or a name such as ``<stdin>``.
    line
        Line number from 1.
    hits
        How often.
    operation
        One example: function, dtypes and shapes as seen.
    silenced
        The reason that a comment on the line gives, else None.
    """

    rule: Rule
    file: str
    line: int
    hits: int
    operation: str
    silenced: str | None = None


@dataclass
class Audit:
    """All that was found.

    Attributes
    ----------
    backends
        Names of the backends that were asked about.
    versions
        Versions on which the rules were measured, by backend.
    findings
        One a rule and line.
    """

    backends: tuple[str, ...]
    versions: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def sorted(self) -> list[Finding]:
        """The findings that aren't silenced, the most harmful and the most frequent first."""
        loud: Iterable[Finding] = (each for each in self.findings if each.silenced is None)
        return sorted(loud, key=lambda each: (HARMS.index(each.rule.harm), -each.hits, each.file, each.line))
