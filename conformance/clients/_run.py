"""The clients' tests, run one job after the other."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from .._process import RUN_ITSELF, follow
from .._progress import Progress
from .._results import Outcome
from ._causes import Cause, alike, groups
from ._environments import Environment, Runner, checked, environment, install_command, require, wheel_command
from ._plan import Job, command, variables
from ._rows import Row


def run(
    jobs: Sequence[Job],
    causes: Sequence[Cause],
    cache: Path,
    base: Mapping[str, str],
    stream: TextIO,
    *,
    processes: str | None = None,
    keep: bool = False,
) -> list[Row]:
    """Run jobs.

    Parameters
    ----------
    jobs
        What to run.
    causes
        The explanations known; failures without one are shown at once.
    cache
        The directory that holds the environments.
    base
        The variables of this process.
    stream
        Where progress and failures are shown.
    processes
        Of pytest-xdist, for every client.
    keep
        Leave the directories of the runs (pytest's output, the outcomes) and say where they are.

    Raises
    ------
    UnavailableError
        A client or candela_xp can't be installed; then none of the jobs has run.
    """
    runner, progress = checked(base), Progress(stream)
    environments = _prepare(jobs, cache, runner, progress)
    roots = {name: made.tests_root(runner) for name, made in environments.items()}
    rows = []
    for job in jobs:
        scratch = Path(tempfile.mkdtemp(prefix=f"candela-xp-{job.client.name}-"))
        try:
            python, root = environments[job.client.name].python, roots[job.client.name]
            rows.append(_row(job, causes, python, root, scratch, base, progress, processes))
        finally:
            if keep:
                progress.finish(f"{job.label}: kept in {scratch}")
            else:
                shutil.rmtree(scratch, ignore_errors=True)
    return rows


def describe(job: Job, causes: Sequence[Cause], failed: Sequence[Outcome]) -> list[str]:
    """Failures as lines for a terminal: a line a cause, or a line an error where there is none."""
    lines = []
    for group in groups(causes, job.client.name, job.mode, failed):
        if group.cause is not None:
            lines.append(f"  {len(group.outcomes)}× {group.cause.why} ({group.cause.where})")
        else:
            lines += [f"  FAILED {count}×, first {first.id}: {first.reason}" for first, count in alike(group.outcomes)]
    return lines


def with_end(outcome: Outcome) -> Outcome:
    """An outcome whose reason has the last line of the error too: some messages begin with what is always the same."""
    lines = outcome.detail.strip().splitlines()
    end = lines[-1].removeprefix("E ").strip() if lines else ""
    return outcome if end in outcome.reason else replace(outcome, reason=f"{outcome.reason} … {end}")


def _prepare(jobs: Sequence[Job], cache: Path, runner: Runner, progress: Progress) -> dict[str, Environment]:
    """Environments for all clients, each with the candela_xp of the checkout as it is now."""
    environments: dict[str, Environment] = {}
    for client in dict.fromkeys(job.client.name for job in jobs):
        row = next(job.client for job in jobs if job.client.name == client)
        if not environment(cache, row).complete:
            progress.finish(f"{client}: installing {row.version} and what it needs")
        environments[client] = require(cache, row, runner)
    with tempfile.TemporaryDirectory(prefix="candela-xp-wheel-") as name:
        # Built once: all clients meet the same state of the checkout, however long they take.
        for number, made in enumerate(environments.values()):
            if number == 0:
                runner(wheel_command(made, Path(name)), "build candela_xp")
            (wheel,) = Path(name).glob("*.whl")
            runner(install_command(made, wheel), "install candela_xp")
    return environments


def _row(
    job: Job,
    causes: Sequence[Cause],
    python: Path,
    root: Path,
    scratch: Path,
    base: Mapping[str, str],
    progress: Progress,
    processes: str | None,
) -> Row:
    started = time.monotonic()
    written, log = scratch / "outcomes.jsonl", scratch / "pytest.log"
    (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result, trouble = follow(
        command(job, python, root, scratch, processes),
        variables(job, base, outcomes=written, storage=scratch / "hypothesis"),
        at=scratch,
        outcomes=written,
        log=log,
        show=lambda state: progress.update(job.label, len(state.outcomes), state.total, state.failed),
        seconds=60 * job.client.minutes,
    )
    ordered = sorted(result.outcomes.values(), key=lambda outcome: outcome.id)
    failed = tuple(with_end(outcome) for outcome in ordered if outcome.verdict == "failed")
    skipped = sum(outcome.verdict == "skipped" for outcome in ordered)
    passed = len(ordered) - len(failed) - skipped
    text = (
        f"{job.label}: {passed} passed, {len(failed)} failed, {skipped} skipped in {time.monotonic() - started:.0f} s"
    )
    # Failures of the peers are theirs: only counted, unless the run itself broke.
    shown = describe(job, causes, failed) if job.backend == "candela_xp" else []
    if trouble is not None:
        shown += [f"    {line}" for line in result.outcomes[RUN_ITSELF].detail.splitlines()]
    progress.finish("\n".join([text, *shown]))
    client = job.client
    return Row(client.name, client.version, job.backend, job.mode, result.versions, passed, skipped, failed)
