"""What a run of the suite will do, as plain data: tasks, the pytest command, its variables. Nothing runs here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import _outcomes
from ._pins import REVISIONS, Revision

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODES = ("default", "strict")
# The user's own values would change the run, or shorten it (ARRAY_API_TESTS_SKIP_DTYPES), unseen by the report.
_FOREIGN = ("PYTEST_", "ARRAY_API_TESTS_", "CANDELA_XP_", "HYPOTHESIS_")


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    ``module`` and the values of ``variables`` may hold ``{revision}``, which stands for the revision under test.
    """

    revisions: tuple[Revision, ...] = REVISIONS
    modes: tuple[str, ...] = ("default",)
    seeds: tuple[int, ...] = (0,)
    max_examples: int = 100
    processes: str | None = None
    deadline: bool = True
    module: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    select: str | None = None
    verbose: bool = False

    @property
    def reportable(self) -> bool:
        """Whether the results are candela_xp's, with every test."""
        return self.module is None and self.select is None


@dataclass(frozen=True)
class Task:
    """One row of the report to be: a revision in a mode, with all seeds."""

    revision: Revision
    mode: str
    module: str
    variables: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """The task's name for people."""
        return f"{self.revision.name} {self.mode}"


def plan(options: Options) -> list[Task]:
    """The tasks of a command, in the order in which they run."""
    return [
        Task(
            revision,
            mode,
            (options.module or revision.module).replace("{revision}", revision.name),
            tuple((name, value.replace("{revision}", revision.name)) for name, value in options.variables),
        )
        for revision in options.revisions
        for mode in options.modes
    ]


def command(options: Options, seed: int) -> list[str]:
    """The pytest command, to run in the checkout of the suite."""
    parts = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "_outcomes", "--quiet", "--tb=short"]
    # The suite reads lists of its own where none are given. Ours are empty: nothing is skipped, nothing excused.
    parts += [f"--skips-file={HERE / 'skips.txt'}", f"--xfails-file={HERE / 'xfails.txt'}"]
    # A file of tests that can't be imported is one failure; without this it would hide all the others.
    parts += ["--continue-on-collection-errors", f"--max-examples={options.max_examples}", f"--hypothesis-seed={seed}"]
    if options.processes is not None:
        parts += ["-n", options.processes]
    if not options.deadline:
        parts.append("--disable-deadline")
    if options.select is not None:
        parts += ["-k", options.select]
    return [*parts, "array_api_tests"]


def environment(
    task: Task, base: Mapping[str, str], *, outcomes: Path, storage: Path, installed: bool
) -> dict[str, str]:
    """The variables of the pytest process.

    Parameters
    ----------
    task
        What runs.
    base
        The variables of this process.
    outcomes
        The file that the plugin writes.
    storage
        A directory for what Hypothesis keeps, so that the cache stays as fetched.
    installed
        candela_xp is installed; if not, the checkout that this file belongs to is put on the path.
    """
    variables = {name: value for name, value in base.items() if not name.startswith(_FOREIGN)}
    # Absolute, since pytest runs in another directory.
    users = [os.path.abspath(path) for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
    variables["PYTHONPATH"] = os.pathsep.join([str(HERE), *([] if installed else [str(ROOT)]), *users])
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables["HYPOTHESIS_STORAGE_DIRECTORY"] = str(storage)
    variables[_outcomes.PATH_VARIABLE] = str(outcomes)
    variables[_outcomes.MODULE_VARIABLE] = task.module
    variables["ARRAY_API_TESTS_VERSION"] = task.revision.name
    variables["CANDELA_XP_STRICT"] = "1" if task.mode == "strict" else "0"
    return variables | dict(task.variables)
