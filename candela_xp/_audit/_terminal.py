"""The report as text: a table of all findings, worst first, then each rule with its places."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from candela_xp._audit._findings import Finding, Harm, Rule
from candela_xp._audit._report import HARM_NAMES, Report, alike, counted, hits
from candela_xp._audit._sources import visible
from candela_xp._commands._draw import Style

_LABEL = 14  # "measured on", indented, and a space
_FILE_WIDTH = 100  # for a file, which has no width of its own

SUMMARY_ROWS = 40

_HEAD = ("harm", "hits", "rule", "place", "backends")


def text(report: Report) -> str:
    """The report for a file: no colours, 100 columns."""
    return "\n".join(lines(report, Style(width=_FILE_WIDTH))) + "\n"


def lines(report: Report, style: Style) -> list[str]:
    """The whole report, no line wider than the style says."""
    return [*_overview(report, report.loud, style), *_details(report, style)]


def summary(report: Report, style: Style) -> list[str]:
    """What stands beside reports in files: the worst findings, and how many there are."""
    return _overview(report, report.loud[:SUMMARY_ROWS], style)


def _overview(report: Report, findings: Sequence[Finding], style: Style) -> list[str]:
    """The table of findings, the comments that silence nothing, and the number of findings."""
    found = []
    if findings:
        found += [*_table(report, findings, style), ""]
    left = len(report.loud) - len(findings)
    if left:
        found[-1:] = [f"... and {counted(left, 'more finding')}", ""]
    for note in report.notes:
        place = f"{report.place(note.file, note.line)}: " if note.file else ""
        found += _wrapped(f"note: {place}{note.text}", style)
    return [*found, *_wrapped(f"audit: {report.summary()}", style), *_counts(report, style)]


def _counts(report: Report, style: Style) -> list[str]:
    """How many findings each backend has."""
    found = []
    for name in report.names:
        number = sum(name in each.rule.outcomes for each in report.loud)
        if number:
            found.append(f"{name} {number}")
    return _wrapped("  " + ", ".join(found), style, indent="  ") if found else []


def _table(report: Report, findings: Sequence[Finding], style: Style) -> list[str]:
    """One row a finding; the backends, then the place, go to a line of their own where the terminal is narrow."""
    rows = [
        (
            str(each.rule.harm),
            str(each.hits),
            each.rule.id,
            report.place(each.file, each.line),
            " ".join(report.backends(each.rule)),
        )
        for each in findings
    ]
    widths = [max(columns(row[place]) for row in (_HEAD, *rows)) for place in range(len(_HEAD))]
    inline = len(_HEAD)
    while inline > 3 and sum(widths[:inline]) + 2 * (inline - 1) > style.width:
        inline -= 1
    found = []
    for number, row in enumerate((_HEAD, *rows)):
        cells = [_cell(cell, widths[place], place == 1) for place, cell in enumerate(row[:inline])]
        line = "  ".join(cells).rstrip()
        line = style.bold(line) if number == 0 else _harmful(line, rows[number - 1][0], style)
        found += [line] if inline == len(_HEAD) or columns(line) <= style.width else _wrapped(line, style)
        for cell in row[inline:]:
            found += _wrapped(f"    {cell}", style, indent="    ") if cell else []
    return found


def _cell(cell: str, width: int, right: bool) -> str:
    space = " " * (width - columns(cell))
    return space + cell if right else cell + space


def _harmful(line: str, harm: str, style: Style) -> str:
    """The row with its harm in red where nobody would notice it."""
    return style.verdict(harm, False) + line[len(harm) :] if harm.startswith("silent") else line


def _details(report: Report, style: Style) -> Iterator[str]:
    for rule, findings in report.by_rule():
        yield ""
        yield from _rule(report, rule, findings, style)
    if report.silenced:
        yield ""
        yield style.bold("silenced")
        for each in report.silenced:
            place = report.place(each.file, each.line)
            yield from _wrapped(f"  {place}  {each.rule.id}: {each.silenced}", style, indent="    ")


def _rule(report: Report, rule: Rule, findings: Sequence[Finding], style: Style) -> Iterator[str]:
    number = f"{counted(len(findings), 'place')}, {counted(hits(findings), 'hit')}"
    yield from map(style.bold, _wrapped(f"{rule.id}: {visible(rule.call)}", style))
    yield from _field("harm", f"{_harm(rule.harm)}; {number}", style)
    yield from _field("standard", rule.standard, style)
    yield from _field("expected", rule.reference, style)
    for effect, details in report.outcomes(rule).items():
        for place, (names, detail) in enumerate(alike(details)):
            yield from _field(effect if place == 0 else "", f"{names}: {detail}", style)
    yield from _field("certainty", rule.certainty, style)
    yield from _field("instead", rule.advice, style)
    yield from _field("measured on", ", ".join(f"{name} {each}" for name, each in report.versions(rule).items()), style)
    for each in findings:
        yield from _wrapped(
            f"  {report.place(each.file, each.line)}  {counted(each.hits, 'hit')}", style, indent="    "
        )
        line = report.line(each)
        if line is not None:
            yield from _wrapped(f"      {line}", style, indent="      ")
        yield from _wrapped(f"    seen: {visible(each.operation)}", style, indent="      ")


def _harm(harm: Harm) -> str:
    return HARM_NAMES[harm]


def _field(label: str, value: str, style: Style) -> list[str]:
    """A labelled value, wrapped under itself."""
    if not value:
        return []
    return _wrapped(f"  {label.ljust(_LABEL - 2)}{visible(value)}", style, indent=" " * _LABEL)


# -- widths ----------------------------------------------------------------------------------------


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def _wrapped(text: str, style: Style, indent: str = "  ") -> list[str]:
    """The text as lines that fit, broken at spaces where there are any."""
    text = style.plain(text) if style.unicode else style.plain(text).encode("ascii", "backslashreplace").decode()
    if columns(text) <= style.width:
        return [text]
    if text.isascii():
        broken = textwrap.wrap(
            text, style.width, subsequent_indent=indent, drop_whitespace=True, replace_whitespace=False
        )
        return broken or [text]
    return list(_broken(text, style.width, indent))


def _broken(text: str, width: int, indent: str) -> Iterator[str]:
    """As textwrap does, for characters that aren't all one column wide."""
    line = text[: len(text) - len(text.lstrip())]
    start = line
    for word in text.split():
        if line.strip() and columns(line) + 1 + columns(word) > width:
            yield line.rstrip()
            line = start = indent
        line += word if line == start else " " + word
        while columns(line) > width:
            cut = len(line)
            while columns(line[:cut]) > width:
                cut -= 1
            yield line[:cut]
            line = indent + line[cut:]
    yield line
