"""The audit under pytest: one recorder a process, one report in the process that was started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from candela_xp._audit import _json, _terminal
from candela_xp._audit._findings import Audit
from candela_xp._audit._report import Report, counted
from candela_xp._audit._request import Request, RequestError, known_rules
from candela_xp._commands._draw import Style

_OUTPUT = "candela_xp_audit"


class Plugin:
    """Records while tests run, and reports at the end.

    Under pytest-xdist each worker hands its findings to the controller as it ends, and the controller reports.

    Parameters
    ----------
    config
        The configuration with the options of `candela_xp_pytest`.

    Raises
    ------
    pytest.UsageError
        A backend is unknown, a report can't be written, and so on.
    """

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self._is_worker = hasattr(config, "workerinput")
        self._root = Path(config.invocation_params.dir)
        # A worker is started somewhere below, and writes no report.
        reports = [] if self._is_worker else option.audit_report
        try:
            self._request = Request.of(
                option.audit_backends,
                option.audit_since,
                option.audit_data,
                option.audit_fail_on,
                reports,
                self._root,
            )
            self._recorder: Any = self._request.start()
        except RequestError as error:
            raise pytest.UsageError(f"--audit: {error}") from error
        self._audits: list[Audit] = []
        self._workers = 0
        self._report: Report | None = None
        self._problems: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self) -> None:
        """Count the workers that are started."""
        self._workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the findings of a worker that ends; one that died has none."""
        found = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if found is not None:
            self._audits.append(_json.loaded(found))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stop, and hand over or report."""
        own = self._stop()
        if own is None:
            return
        if self._is_worker:
            # One string, since only plain types cross, and names that aren't UTF-8 don't.
            session.config.workeroutput[_OUTPUT] = _json.dumped(own)  # type: ignore[attr-defined]  # by pytest-xdist
            return
        audit = _json.merged([own, *self._audits])
        died = self._workers - len(self._audits)
        notes = [f"the findings of {counted(died, 'worker')} that died are missing"] if died else []
        self._report = Report.of(audit, known_rules(), self._root, notes)
        self._problems = self._request.write(self._report)
        if session.exitstatus == pytest.ExitCode.OK:
            # Reports that were asked for and don't exist are no success.
            status = pytest.ExitCode.USAGE_ERROR if self._problems else self._request.status(self._report.audit)
            session.exitstatus = status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Say what was found: all of it, or the table if there are reports to read."""
        if self._report is None:
            return
        writer = config.get_terminal_writer()
        style = Style(max(40, writer.fullwidth), writer.hasmarkup)
        lines = _terminal.summary if self._request.reports else _terminal.lines
        terminalreporter.section("portability audit")
        for line in lines(self._report, style):
            terminalreporter.write_line(line)
        for problem in self._problems:
            terminalreporter.write_line(f"audit: {problem}", red=True)
        if not self._problems:
            for path in self._request.reports:
                terminalreporter.write_line(f"audit: report in {path}")

    def pytest_unconfigure(self) -> None:
        """Leave nothing on where a session never came to its end."""
        self._stop()

    def _stop(self) -> Audit | None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return None
        audit: Audit = recorder.stop()
        return audit
