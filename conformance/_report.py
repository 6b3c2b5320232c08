"""Results as a page for readers: pure functions from rows to markdown, and one that writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ._pins import REVISIONS, SUITE_URL
from ._results import Outcome, Row, combine, from_json, to_json

BEGIN = "<!-- suite:begin -->"
END = "<!-- suite:end -->"
_NEW_PAGE = f"# Conformance\n\n{BEGIN}\n{END}\n"
_PREFIX = "array_api_tests/"


def write(directory: Path, rows: Sequence[Row]) -> list[Path]:
    """Write ``conformance.md`` and ``conformance.json``; rows already there that still hold are kept.

    Raises
    ------
    ValueError
        A file there can't be continued: the page has half a pair of markers, or the JSON isn't ours.
    """
    page_path, data_path = directory / "conformance.md", directory / "conformance.json"
    old = from_json(data_path.read_text(encoding="utf-8")) if data_path.exists() else []
    all_rows = combine(old, rows, {revision.name: revision.pin.commit for revision in REVISIONS})
    page = page_path.read_text(encoding="utf-8") if page_path.exists() else _NEW_PAGE
    page = insert(page, section(all_rows))  # before anything is written: it may refuse
    directory.mkdir(parents=True, exist_ok=True)
    page_path.write_text(page, encoding="utf-8")
    data_path.write_text(to_json(all_rows), encoding="utf-8")
    return [page_path, data_path]


def insert(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """Put text between two markers of a page, at its end if it has none.

    Raises
    ------
    ValueError
        The page doesn't have each marker once, begin before end.
    """
    if begin not in page and end not in page:
        page = f"{page.rstrip()}\n\n{begin}\n{end}\n"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end) or begin in rest or end in after:
        raise ValueError(
            f"conformance.md: must have {begin} and {end} once each, in this order; repair the page by hand"
        )
    return f"{before}{begin}\n{text.strip()}\n{end}{after}"


def section(rows: Sequence[Row]) -> str:
    """The generated part of the page."""
    return "\n\n".join([_head(rows), _table(rows), _environment(rows), *_failures(rows), *_skips(rows)])


def _head(rows: Sequence[Row]) -> str:
    passed = sum(row.passed for row in rows)
    skipped = sum(len(row.skipped) for row in rows)
    failed = sum(len(row.failed) for row in rows)
    return (
        f"The official [array-api-tests]({SUITE_URL}), no test skipped or expected to fail by us: "
        f"{passed} passed, {failed} failed, {skipped} skipped by the suite itself.\n\n"
        "Written by `python -m conformance suite`, which overwrites changes made by hand."
    )


def _table(rows: Sequence[Row]) -> str:
    header = ["Revision", "Mode", "Passed", "Failed", "Skipped", "Module", "Suite", "Seeds", "Examples", "Variables"]
    lines = [header, ["---"] * 2 + ["---:"] * 3 + ["---"] * 5]
    for row in rows:
        counts = [str(row.passed), str(len(row.failed)), str(len(row.skipped))]
        suite = f"[`{row.suite_commit[:10]}`]({SUITE_URL}/tree/{row.suite_commit})"
        examples = f"{row.max_examples}{'' if row.deadline else ', no deadline'}"
        variables = ", ".join(f"`{variable}`" for variable in row.variables) or "none"
        seeds = ", ".join(map(str, row.seeds))
        lines.append([row.revision, row.mode, *counts, f"`{row.module}`", suite, seeds, examples, variables])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _environment(rows: Sequence[Row]) -> str:
    specs = sorted({row.spec_commit for row in rows})
    texts = _unique(", ".join(f"{name} {version}" for name, version in row.versions.items()) for row in rows)
    return "\n".join(
        [
            "Modes: *default* is what a user gets, *strict* is `CANDELA_XP_STRICT=1`. "
            "A test that fails with one seed counts as failed.",
            "",
            *(f"- Versions: {text}" for text in texts),
            f"- Specification: {', '.join(f'`{spec}`' for spec in specs)}",
        ]
    )


def _failures(rows: Sequence[Row]) -> list[str]:
    parts = []
    for row in rows:
        if row.failed:
            lines = [f"- {_code(outcome.id)}: {plain(outcome.reason)}" for outcome in row.failed]
            parts.append(f"## Failed: {row.revision}, {row.mode} mode\n\n" + "\n".join(lines))
    return parts


def _skips(rows: Sequence[Row]) -> list[str]:
    """One heading a revision, modes together where they skip the same."""
    parts = ["## Skipped by the suite itself"] if any(row.skipped for row in rows) else []
    for revision in _unique(row.revision for row in rows):
        modes = [row for row in rows if row.revision == revision and row.skipped]
        same = len({_identity(row.skipped) for row in modes}) == 1
        for row in modes[:1] if same else modes:
            title = revision if same else f"{revision}, {row.mode} mode"
            parts.append(f"### {title}: {len(row.skipped)} skipped\n\n" + "\n".join(_by_reason(row.skipped)))
    return parts


def _by_reason(outcomes: Sequence[Outcome]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.reason, []).append(outcome.id)
    return [
        f"- {plain(reason)} ({len(ids)}): {', '.join(_code(test) for test in ids)}"
        for reason, ids in sorted(groups.items())
    ]


def _identity(outcomes: Sequence[Outcome]) -> tuple[tuple[str, str], ...]:
    return tuple((outcome.id, outcome.reason) for outcome in outcomes)


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _code(test: str) -> str:
    """A test's name as code; names hold `|`, `*` and sometimes backticks, code spans take all but the last."""
    text = test.removeprefix(_PREFIX)
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def plain(text: str) -> str:
    """A message of others as text: what markdown or HTML would read as markup is escaped."""
    line = " ".join(text.split())
    line = line if len(line) <= 400 else f"{line[:400]}…"
    return "".join(f"\\{character}" if character in "\\`*_<>[]|" else character for character in line)
