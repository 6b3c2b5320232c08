"""What a user asks of an audit, from the command line or from pytest: checked before anything runs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from candela_xp import _revisions
from candela_xp._audit import _html, _json, _sarif, _terminal
from candela_xp._audit._findings import Audit
from candela_xp._audit._report import Report, failing

FAILED: Final = 10
"""Exit status where ``--fail-on`` finds something; above those of pytest, which end at 6."""

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    ".json": _json.text,
    ".sarif": _sarif.text,
    ".html": _html.text,
    ".txt": _terminal.text,
}


class RequestError(ValueError):
    """What was asked for can't be done; the message says why and what can."""


@dataclass(frozen=True)
class Request:
    """What an audit is to look for and where its reports go.

    Attributes
    ----------
    backends
        Names of the backends to ask about; None for the usual ones.
    since
        The oldest revision of the standard that is to be served, or None.
    data
        Whether to look at values.
    fail_on
        Backends on which a finding is a failure.
    reports
        Absolute paths of the files to write.
    """

    backends: tuple[str, ...] | None
    since: str | None
    data: bool
    fail_on: tuple[str, ...]
    reports: tuple[Path, ...]

    @classmethod
    def of(
        cls,
        backends: str | None,
        since: str | None,
        data: bool,
        fail_on: str | None,
        reports: Sequence[str],
        root: Path,
    ) -> Request:
        """The request that options spell, checked as far as it can be without the rules.

        Raises
        ------
        RequestError
            A list is empty, a revision or a suffix is unknown, a report can't be written.
        """
        if since is not None and since not in _revisions.REVISIONS:
            raise RequestError(f"unknown revision {since!r}; known: {', '.join(_revisions.REVISIONS)}")
        asked = None if backends is None else _names(backends)
        failing_on = () if fail_on is None else _names(fail_on)
        outside = [] if asked is None else [name for name in failing_on if name not in asked]
        if outside:
            raise RequestError(f"cannot fail on {', '.join(outside)}: the backends asked about are {backends}")
        paths = tuple(root / path for path in reports)
        for path in paths:
            _format(path)
            _check_writable(path)
        return cls(asked, since, data, failing_on, paths)

    def start(self) -> Any:
        """Begin to record.

        Raises
        ------
        RequestError
            A backend is unknown.
        """
        try:
            return _core("_watch").start(self._targets(), since=self.since, data=self.data)
        except ValueError as error:
            raise RequestError(str(error).removeprefix("audit: ")) from error

    def _targets(self) -> tuple[str, ...]:
        """The backends asked about; what may fail is among them."""
        known = _core("_rules").known
        return tuple(dict.fromkeys((*known(self.backends), *known(self.fail_on))))

    def write(self, report: Report) -> list[str]:
        """Write all reports; what can't be written is said, and the others still are.

        Returns
        -------
        list of str
            A message for each file that couldn't be written.
        """
        problems = []
        for path in self.reports:
            try:
                path.write_text(_format(path)(report), encoding="utf-8", errors="backslashreplace", newline="\n")
            except OSError as error:
                problems.append(f"cannot write the report {path}: {error.strerror or error}")
        return problems

    def status(self, audit: Audit) -> int:
        """`FAILED` if a finding is a failure, else 0."""
        return FAILED if failing(audit, self.fail_on) else 0


def known_rules() -> Collection[str]:
    """Names of all rules."""
    rules = _core("_rules")
    return {*rules.words(), rules.newer(_revisions.LATEST).id}


def _core(name: str) -> Any:
    # When asked for only: the options are there for everyone who has candela_xp and pytest.
    return importlib.import_module(f"candela_xp._audit.{name}")


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise RequestError(f"{text!r} names no backend; write names separated by commas, such as torch,jax")
    return names


def _format(path: Path) -> Callable[[Report], str]:
    """What writes a report, by the suffix of its file."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise RequestError(f"cannot write the report {path}: its name must end in {', '.join(FORMATS)}") from None


def _check_writable(path: Path) -> None:
    """Refuse now what would fail when all is done; leave no trace."""
    existed = os.path.lexists(path)
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot write the report {path}: {reason}") from error
