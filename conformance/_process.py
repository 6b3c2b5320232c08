"""A pytest process followed while it runs, by the lines that the plugin ``_outcomes`` writes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from ._results import Outcome, Run, breakdown

RUN_ITSELF = "(the run itself)"
_TAIL_CHARACTERS = 6000


def follow(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    at: Path,
    outcomes: Path,
    log: Path,
    show: Callable[[Run], None],
    seconds: float | None = None,
    poll: float = 0.2,
) -> tuple[Run, str | None]:
    """Run pytest and take in what it writes.

    Parameters
    ----------
    command, variables
        What to run, and the environment of the process.
    at
        The directory to run in.
    outcomes
        The file that the plugin writes; the variables must name it too.
    log
        Where pytest's own output goes.
    show
        Called with the state after every line.
    seconds
        After this time the process is ended, None for never.
    poll
        Seconds between two looks at what it wrote.

    Returns
    -------
    The outcomes, and why they can't be trusted to be whole (None if they can). In that case the run itself is among
    them, as a failure with the end of pytest's output.
    """
    run = Run()
    late = False
    outcomes.touch()
    with log.open("wb") as output, outcomes.open(encoding="utf-8") as lines:
        process = subprocess.Popen(command, cwd=at, env=dict(variables), stdout=output, stderr=subprocess.STDOUT)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            for text in _tail(lines, process, poll):
                if text:
                    run.feed(text)
                    show(run)
                if deadline is not None and time.monotonic() > deadline:
                    late = True
                    break
        finally:  # also when interrupted: never leave a suite running that nobody reads
            process.kill()
            process.wait()
    trouble = f"ended after {seconds:.0f} s, the time it is given" if late else breakdown(run)
    if trouble is not None:
        tail = log.read_text(encoding="utf-8", errors="replace")[-_TAIL_CHARACTERS:]
        run.outcomes[RUN_ITSELF] = Outcome(RUN_ITSELF, "failed", trouble, tail)
    return run, trouble


def _tail(lines: TextIO, process: subprocess.Popen[bytes], poll: float) -> Iterable[str]:
    """Whole lines of a file as the process writes them, until it has ended; nothing ("") now and then between."""
    pending = ""
    while True:
        ended = process.poll() is not None  # asked before reading: what was written by then is read below
        while text := lines.readline():
            pending += text
            if pending.endswith("\n"):
                yield pending
                pending = ""
        if ended:
            return
        yield ""
        time.sleep(poll)
