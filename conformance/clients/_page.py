"""Results of the clients as a part of the page: pure functions from rows to markdown, and one that writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from .._report import insert, plain
from ._causes import UNEXPLAINED, Cause, alike, groups
from ._clients import CLIENTS, NAMED
from ._rows import Row, combine, from_json, to_json

BEGIN = "<!-- clients:begin -->"
END = "<!-- clients:end -->"
_NEW_PAGE = f"# Conformance\n\n{BEGIN}\n{END}\n"
_PEERS = {"array_api_strict": "array-api-strict", "numpy": "NumPy"}


def write(directory: Path, rows: Sequence[Row], causes: Sequence[Cause]) -> list[Path]:
    """Write the clients' part of ``conformance.md``, and ``clients.json``; rows already there that still hold are kept.

    Raises
    ------
    ValueError
        A file there can't be continued: the page has half a pair of markers, or the JSON isn't ours.
    """
    page_path, data_path = directory / "conformance.md", directory / "clients.json"
    old = from_json(data_path.read_text(encoding="utf-8")) if data_path.exists() else []
    all_rows = combine(old, rows, {client.name: client.version for client in CLIENTS})
    page = page_path.read_text(encoding="utf-8") if page_path.exists() else _NEW_PAGE
    page = insert(page, section(all_rows, causes), BEGIN, END)  # before anything is written: it may refuse
    directory.mkdir(parents=True, exist_ok=True)
    page_path.write_text(page, encoding="utf-8")
    data_path.write_text(to_json(all_rows), encoding="utf-8")
    return [page_path, data_path]


def section(rows: Sequence[Row], causes: Sequence[Cause]) -> str:
    """The generated part of the page."""
    return "\n\n".join([_HEAD, _table(rows), *_environment(rows), *_failures(rows, causes)])


_HEAD = """## Clients

Libraries that take arrays of any namespace: their own tests, with candela_xp as the namespace. What is changed of the \
tests is changed at run time. Tests without a foreign namespace are left out; no other is skipped or excused by us. \
Modes: *unknown*, the client has never heard of candela_xp; *like-strict*, it skips and branches as it does for \
array-api-strict, whose name it knows. A client that asks for no name has one mode. Cells are passed / failed / skipped.

Written by `python -m conformance clients`, which overwrites changes made by hand."""


def _table(rows: Sequence[Row]) -> str:
    lines = [["Client", "Version", "Mode", "candela_xp", *_PEERS.values()], ["---"] * 3 + ["---:"] * (1 + len(_PEERS))]
    for client in _unique(row.client for row in rows):
        own = [row for row in rows if row.client == client]
        peers = {row.backend: _counts(row) for row in own if row.mode == NAMED}
        modes = [(row.mode, _counts(row)) for row in own if row.mode != NAMED] or [("", "")]
        for number, (mode, counts) in enumerate(modes):
            # the peers go by their own names: one result, whatever the mode
            cells = [peers.get(backend, "") if number == 0 else "" for backend in _PEERS]
            lines.append([client, own[0].version, mode, counts, *cells])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _counts(row: Row) -> str:
    return f"{row.passed} / {len(row.failed)} / {row.skipped}"


def _environment(rows: Sequence[Row]) -> list[str]:
    names = ("Python", "system", "numpy", "ml_dtypes", "candela_xp")
    texts = _unique(
        ", ".join(f"{name} {row.versions[name]}" for name in names if name in row.versions)
        for row in rows
        if row.mode != NAMED
    )
    return [f"Versions: {text}" for text in texts if text]


def _failures(rows: Sequence[Row], causes: Sequence[Cause]) -> list[str]:
    parts = []
    for client in _unique(row.client for row in rows if row.mode != NAMED and row.failed):
        counts: dict[Cause, dict[str, int]] = {}
        lines: list[str] = []
        for row in (row for row in rows if row.client == client and row.mode != NAMED):
            for group in groups(causes, client, row.mode, row.failed):
                if group.cause is not None:
                    counts.setdefault(group.cause, {})[row.mode] = len(group.outcomes)
                    continue
                lines += [
                    f"- {count} {row.mode}: {UNEXPLAINED}: {plain(first.reason)} (first: `{first.id}`)"
                    for first, count in alike(group.outcomes)
                ]
        explained = [
            f"- {', '.join(f'{count} {mode}' for mode, count in found.items())}: {plain(cause.why)} (`{cause.where}`)"
            for cause, found in counts.items()
        ]
        parts.append(f"### What fails in {client}, and why\n\n" + "\n".join([*explained, *lines]))
    return parts


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
