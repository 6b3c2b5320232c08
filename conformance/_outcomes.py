"""A pytest plugin that writes outcomes as JSON lines, while the tests run.

It is loaded inside the process that runs a foreign suite (``-p _outcomes``, this directory on PYTHONPATH), so it
imports nothing of the project. Only the process that sees every report writes: under pytest-xdist, the controller.

| event | fields |
|---|---|
| environment | versions |
| total | total: tests collected |
| test | id, verdict ("passed", "skipped", "failed"), reason, detail |
| end | status: pytest's exit status |

A test may have several lines (a failing teardown follows a passed call); the reader lets the worst count.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO

import pytest

PATH_VARIABLE = "CANDELA_XP_CONFORMANCE_OUTCOMES"
MODULE_VARIABLE = "ARRAY_API_TESTS_MODULE"
_DETAIL_LIMIT = 6000
_PACKAGES = ("numpy", "ml_dtypes", "hypothesis", "pytest")


def pytest_configure(config: pytest.Config) -> None:
    """Start writing, unless this is a worker or nobody asked."""
    path = os.environ.get(PATH_VARIABLE)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(path), "candela_xp_outcomes")


def decide(report: Any) -> tuple[str, str, str] | None:
    """Verdict, reason and detail of a report, None where it decides nothing.

    Parameters
    ----------
    report
        A pytest ``TestReport`` or ``CollectReport``.

    Returns
    -------
    A passed set-up or teardown decides nothing, nor does a collector that found its tests. xfail counts as a skip (it
    can only come from the suite: our own list is empty), an unexpected pass as a pass.
    """
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        detail = report.longreprtext
        lines = (crash.message if crash is not None else detail).strip().splitlines()
        return "failed", lines[0] if crash is not None and lines else (lines or ["failed"])[-1], detail[-_DETAIL_LIMIT:]
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return "skipped", f"xfail: {report.wasxfail}", ""
        longrepr = report.longrepr
        reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        return "skipped", reason.removeprefix("Skipped: "), ""
    return ("passed", "", "") if getattr(report, "when", None) == "call" else None


def versions(module_name: str) -> dict[str, str]:
    """Versions of everything that may change a result."""
    # The kernel's version is left out: it changes no result, and a report would look new with every update.
    system = " ".join([platform.system(), *filter(None, platform.libc_ver())])
    found = {"Python": platform.python_version(), "system": f"{system} {platform.machine()}"}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    root = module_name.partition(".")[0]
    try:
        found[root] = str(getattr(import_module(root), "__version__", "unknown"))
    except Exception as error:  # the suite will fail on the same import, and say so at length
        found[root] = f"not importable ({type(error).__name__})"
    return found


class _Writer:
    def __init__(self, path: str) -> None:
        self._stream: TextIO = open(path, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the session
        self._write("environment", versions=versions(os.environ.get(MODULE_VARIABLE, "")))

    def _write(self, event: str, **fields: object) -> None:
        self._stream.write(json.dumps({"event": event, **fields}) + "\n")
        self._stream.flush()

    def _report(self, report: Any) -> None:
        decision = decide(report)
        if decision is not None:
            verdict, reason, detail = decision
            self._write("test", id=report.nodeid, verdict=verdict, reason=reason, detail=detail)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._report(report)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # under xdist the controller has none
            self._write("total", total=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        self._write("total", total=len(ids))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._report(report)

    def pytest_internalerror(self, excrepr: object) -> None:
        print(excrepr, file=sys.stderr)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._write("end", status=int(exitstatus))

    def pytest_unconfigure(self) -> None:
        self._stream.close()
