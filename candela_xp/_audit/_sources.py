"""The user's source: the line of a finding, and the comments that silence one."""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from candela_xp._audit._findings import Audit

SHOWN_CHARACTERS = 200
"""Where a source line is cut: one longer than that was made by a program."""

_COMMENT = re.compile(r"#\s*portability:\s*ok\b(?P<rest>.*)")
_RULES = re.compile(r"\s*(?P<rules>[\w-]+(?:\s*,\s*[\w-]+)*)(?P<reason>.*)")


@dataclass(frozen=True)
class Note:
    """What to say about a comment that was meant to silence.

    Attributes
    ----------
    file
        As in `Finding`; empty if it's about no single place.
    line
        Line number from 1, or 0.
    text
        What is wrong, and the way out.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Silence:
    """A comment ``# portability: ok RULE reason``; several rules are separated by commas."""

    line: int
    rules: tuple[str, ...]
    reason: str


@dataclass
class Sources:
    """Source lines by file and line, for the findings of an audit."""

    lines: dict[tuple[str, int], str]
    notes: list[Note]


def visible(text: str) -> str:
    """The text with everything that a terminal or a page would obey instead of showing (ESC, direction marks) spelt."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def read(audit: Audit, known: Collection[str]) -> tuple[Audit, Sources]:
    """Find the source lines of all findings, and silence those whose line says so.

    Parameters
    ----------
    audit
        What was found; not changed.
    known
        Names of all rules.

    Returns
    -------
    tuple
        The audit with `silenced` filled in, and the lines with notes about comments that silence nothing.
    """
    sources = Sources({}, [])
    silences: dict[str, dict[int, Silence]] = {}
    unknown = False
    wanted: dict[str, set[int]] = {}
    for finding in audit.findings:
        wanted.setdefault(finding.file, set()).add(finding.line)
    for file in sorted(wanted):
        text = _lines(file)
        for line in wanted[file]:
            if 0 < line <= len(text):
                sources.lines[file, line] = shown(text[line - 1])
        silences[file] = {}
        for silence in _silences(text):
            problems = list(_problems(silence, known))
            unknown = unknown or any(rule not in known for rule in silence.rules)
            sources.notes += [Note(file, silence.line, problem) for problem in problems]
            if silence.reason:
                silences[file][silence.line] = silence
    if unknown:
        sources.notes.append(Note("", 0, "known rules: " + ", ".join(sorted(known))))
    findings = []
    for finding in audit.findings:
        found = silences[finding.file].get(finding.line)
        silent = found is not None and finding.rule.id in found.rules
        findings.append(replace(finding, silenced=found.reason) if silent and found else finding)
    return replace(audit, findings=findings), sources


def shown(line: str) -> str:
    """A source line as reports show it: on one line, without what a terminal would obey, cut if very long."""
    line = line.strip()
    cut = line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 2] + " …"
    return visible(cut.replace("\t", " "))


def _lines(file: str) -> list[str]:
    """The lines of a source file as Python counts them; none if it can't be read."""
    try:
        if not Path(file).is_file():  # a name such as <stdin>, or a pipe, which would be waited for
            return []
        content = Path(file).read_bytes()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return []
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:  # an encoding that doesn't exist, or bytes that aren't UTF-8
        encoding = "utf-8"
    # newline=None: Python ends a line at \n, \r and \r\n only; str.splitlines knows more.
    return io.StringIO(content.decode(encoding, "replace"), newline=None).read().split("\n")


def _silences(lines: list[str]) -> Iterator[Silence]:
    """The comments that mean to silence; not strings that look alike."""
    if not any("portability:" in line for line in lines):
        return
    tokens = tokenize.generate_tokens(iter([line + "\n" for line in lines]).__next__)
    try:
        for token in tokens:
            if token.type == tokenize.COMMENT and (comment := _COMMENT.search(token.string)):
                yield _silence(token.start[0], comment["rest"])
    except (tokenize.TokenError, SyntaxError):  # no longer the file that ran: what stands above still counts
        return


def _silence(line: int, rest: str) -> Silence:
    named = _RULES.fullmatch(re.split(r"\s#\s|$", rest, maxsplit=1)[0])
    if named is None:
        return Silence(line, (), "")
    rules = tuple(part.strip() for part in named["rules"].split(","))
    return Silence(line, rules, shown(named["reason"].strip(" \t:;,.-–—()")))


def _problems(silence: Silence, known: Collection[str]) -> Iterator[str]:
    if not silence.rules:
        yield "the comment silences nothing: it names no rule; write `# portability: ok RULE reason`"
        return
    if not silence.reason:
        rules = ", ".join(silence.rules)
        yield f"the comment silences nothing: it gives no reason; write `# portability: ok {rules} reason`"
    for rule in silence.rules:
        if rule not in known:
            close = difflib.get_close_matches(rule, known, n=3)
            yield f"no rule is called {shown(rule)}" + (f"; close to it: {', '.join(close)}" if close else "")
