"""The official array API suite, run for each revision and mode."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO

from ._cache import Checkout, UnavailableError, require
from ._plan import ROOT, Options, Task, command, environment, plan
from ._process import follow
from ._progress import Progress
from ._results import Outcome, Row, Run, merge

# What the suite imports (its requirements.txt); its conftest refuses to load without pytest-json-report.
NEEDED = ("pytest", "hypothesis", "ndindex", "pytest-json-report")
_POLL_SECONDS = 0.2


def run(options: Options, cache: Path, base: Mapping[str, str], stream: TextIO) -> list[Row]:
    """Run every task of a command.

    Parameters
    ----------
    options
        What to run.
    cache
        The directory of the checkouts.
    base
        The variables of this process.
    stream
        Where progress and failures are shown.

    Raises
    ------
    UnavailableError
        A checkout or a package is missing; nothing has run then.
    """
    check_packages(NEEDED if options.processes is None else (*NEEDED, "pytest-xdist"))
    tasks = plan(options)
    checkouts = {task.revision.name: require(cache, task.revision.pin.commit) for task in tasks}
    progress = Progress(stream)
    return [_row(task, options, checkouts[task.revision.name], base, progress) for task in tasks]


def check_packages(needed: Sequence[str], version_of: Callable[[str], str] = version) -> None:
    """Look for packages.

    Raises
    ------
    UnavailableError
        One isn't installed.
    """
    absent = []
    for package in needed:
        try:
            version_of(package)
        except PackageNotFoundError:
            absent.append(package)
    if absent:
        names = " ".join(absent)
        raise UnavailableError(f"suite: not installed: {names}; run\n    {sys.executable} -m pip install {names}")


def is_installed(path: Sequence[str]) -> bool:
    """Whether candela_xp can be found on a path other than through the checkout that this file belongs to."""
    elsewhere = [entry for entry in path if Path(entry or ".").resolve() != ROOT]
    return PathFinder.find_spec("candela_xp", elsewhere) is not None


def describe(outcomes: Iterable[Outcome], *, verbose: bool) -> list[str]:
    """Failures as lines for a terminal, with their tracebacks if wanted."""
    lines = []
    for outcome in outcomes:
        if outcome.verdict == "failed":
            lines.append(f"  FAILED {outcome.id}: {outcome.reason}")
            lines += [f"    {line}" for line in outcome.detail.splitlines()] if verbose else []
    return lines


def _row(task: Task, options: Options, checkout: Checkout, base: Mapping[str, str], progress: Progress) -> Row:
    runs = [_run(task, options, seed, checkout, base, progress) for seed in options.seeds]
    merged = merge(runs)
    return Row(
        revision=task.revision.name,
        mode=task.mode,
        suite_commit=checkout.commit,
        spec_commit=checkout.spec_commit,
        module=task.module,
        seeds=options.seeds,
        max_examples=options.max_examples,
        deadline=options.deadline,
        variables=tuple(f"{name}={value}" for name, value in task.variables),
        versions=runs[-1].versions,
        passed=len(merged["passed"]),
        skipped=merged["skipped"],
        failed=merged["failed"],
    )


def _run(
    task: Task, options: Options, seed: int, checkout: Checkout, base: Mapping[str, str], progress: Progress
) -> Run:
    label = f"{task.label}, seed {seed}"
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="candela-xp-conformance-") as name:
        scratch = Path(name)
        written = scratch / "outcomes.jsonl"
        result, trouble = follow(
            command(options, seed),
            environment(task, base, outcomes=written, storage=scratch / "hypothesis", installed=is_installed(sys.path)),
            at=checkout.path,
            outcomes=written,
            log=scratch / "pytest.log",
            show=lambda state: progress.update(label, len(state.outcomes), state.total, state.failed),
            poll=_POLL_SECONDS,
        )
    outcomes = result.outcomes.values()
    skipped = sum(outcome.verdict == "skipped" for outcome in outcomes)
    counts = f"{len(outcomes) - skipped - result.failed} passed, {result.failed} failed, {skipped} skipped"
    # A run that broke off explains itself only in pytest's own output.
    shown = describe(outcomes, verbose=options.verbose or trouble is not None)
    progress.finish("\n".join([f"{label}: {counts} in {time.monotonic() - started:.0f} s", *shown]))
    return result
