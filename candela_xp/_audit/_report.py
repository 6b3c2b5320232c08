"""An audit as reports need it: with source lines, places relative to where it ran, outcomes grouped by effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from candela_xp._audit import _sources
from candela_xp._audit._findings import HARMS, Audit, Effect, Finding, Harm, Rule
from candela_xp._audit._sources import Note, visible

EFFECTS: Final[Mapping[Effect, str]] = {
    "refuses": "refuses",
    "differs": "answers differently",
    "recomputes": "recomputes",
}

HARM_NAMES: Final[Mapping[Harm, str]] = {
    "silent value": "other values, silently",
    "silent dtype": "another dtype, silently",
    "error or value": "an error or a value",
    "refused": "refused",
    "recomputed": "computed again",
}


@dataclass(frozen=True)
class Report:
    """What all formats of a report show.

    Attributes
    ----------
    audit
        What was found, silenced where comments say so.
    root
        Folder in which the audit ran; places below it are relative to it.
    lines
        Source lines by file and line; those that couldn't be read are missing.
    notes
        Comments that silence nothing, and what else the reader should know.
    """

    audit: Audit
    root: Path
    lines: Mapping[tuple[str, int], str]
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, audit: Audit, known: Collection[str], root: Path, notes: Collection[str] = ()) -> Report:
        """The report of an audit; reads the sources."""
        audit, sources = _sources.read(audit, known)
        return cls(audit, root, sources.lines, (*sources.notes, *(Note("", 0, each) for each in notes)))

    @property
    def loud(self) -> list[Finding]:
        """The findings that aren't silenced, worst first."""
        return self.audit.sorted()

    @property
    def silenced(self) -> list[Finding]:
        """The findings that a comment silences, by place."""
        found = (each for each in self.audit.findings if each.silenced is not None)
        return sorted(found, key=lambda each: (each.file, each.line, each.rule.id))

    def file(self, file: str) -> str:
        """A file as it is shown: relative to the root if it is below."""
        return visible(self.relative(file) or file)

    def relative(self, file: str) -> str | None:
        """The path below the root, with slashes; None outside of it and for names such as ``<stdin>``."""
        try:
            return Path(file).relative_to(self.root).as_posix()
        except ValueError:
            return None

    def place(self, file: str, line: int) -> str:
        """File and line as editors and terminals take them."""
        return f"{self.file(file)}:{line}" if line > 0 else self.file(file)

    def line(self, finding: Finding) -> str | None:
        """The source line of a finding, if it could be read."""
        return self.lines.get((finding.file, finding.line))

    def outcomes(self, rule: Rule) -> dict[Effect, dict[str, str]]:
        """What the backends asked about do otherwise: effect, backend, exception or value."""
        found: dict[Effect, dict[str, str]] = {}
        for effect in EFFECTS:
            asked = {name: rule.outcomes[name] for name in self.backends(rule)}
            details = {name: each.detail for name, each in asked.items() if each.effect == effect}
            if details:
                found[effect] = details
        return found

    def backends(self, rule: Rule) -> list[str]:
        """The backends asked about that do otherwise; a revision that hasn't got a name counts as one."""
        return [name for name in self.names if name in rule.outcomes]

    @property
    def names(self) -> list[str]:
        """The backends asked about, and what else has outcomes without being a backend."""
        others = {name for each in self.audit.findings for name in each.rule.outcomes}
        return [*self.audit.backends, *sorted(others - {*self.audit.backends, *self.audit.versions})]

    def versions(self, rule: Rule) -> dict[str, str]:
        """On which versions that was measured."""
        return {name: self.audit.versions[name] for name in self.backends(rule) if name in self.audit.versions}

    def by_rule(self) -> list[tuple[Rule, list[Finding]]]:
        """The loud findings of each rule, the worst rule first."""
        found: dict[str, list[Finding]] = {}
        for each in self.loud:
            found.setdefault(each.rule.id, []).append(each)
        groups = [(group[0].rule, group) for group in found.values()]
        return sorted(groups, key=lambda each: (HARMS.index(each[0].harm), -hits(each[1]), each[0].id))

    def by_file(self) -> Iterator[tuple[str, list[Finding]]]:
        """The loud findings of each file, by line."""
        ordered = sorted(self.loud, key=lambda each: (each.file, each.line, HARMS.index(each.rule.harm)))
        for file, group in groupby(ordered, key=lambda each: each.file):
            yield file, list(group)

    def summary(self) -> str:
        """One sentence: how many findings, where."""
        loud = self.loud
        files = len({each.file for each in loud})
        text = f"{counted(len(loud), 'finding')} in {counted(files, 'file')}" if loud else "no findings"
        silenced = len(self.silenced)
        return f"{text}, {silenced} silenced" if silenced else text


def failing(audit: Audit, backends: Collection[str]) -> list[Finding]:
    """The findings that aren't silenced and on which one of the backends refuses or answers differently."""
    return [
        each
        for each in audit.sorted()
        if any(name in each.rule.outcomes and each.rule.outcomes[name].effect != "recomputes" for name in backends)
    ]


def alike(details: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names of the backends that share an outcome, separated by commas, with the outcome."""
    found: dict[str, list[str]] = {}
    for name, detail in details.items():
        found.setdefault(detail, []).append(name)
    return [(", ".join(names), detail) for detail, names in found.items()]


def hits(findings: Collection[Finding]) -> int:
    """How often in all."""
    return sum(each.hits for each in findings)


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
