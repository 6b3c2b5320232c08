"""How busy others keep the machine: on two cores a single other process spoils whatever waits for all its threads."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

STAT = Path("/proc/stat")
# From here on torch and numexpr, whose threads wait for each other, were measured several times too slow.
TOO_BUSY = 0.2


def _ticks() -> int:
    """Ticks that all CPUs spent on something: user, nice and system time."""
    return sum(int(field) for field in STAT.read_text().split("\n", 1)[0].split()[1:4])


def busy_cpus(seconds: float = 0.5) -> float | None:
    """How many CPUs others use, looked at for so long while this process sleeps; None where Linux doesn't say it."""
    if not STAT.exists():
        return None
    before, begin = _ticks(), time.perf_counter()
    time.sleep(seconds)
    return (_ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.perf_counter() - begin)


def noted() -> str:
    """A sentence for the report, with a warning on stderr where others are too busy."""
    busy = busy_cpus()
    if busy is None:
        return ""
    if busy > TOO_BUSY:
        print(f"others use {busy:.1f} of {os.cpu_count()} CPUs: what follows says little", file=sys.stderr, flush=True)
    return f" When it began, other processes used {busy:.1f} of {os.cpu_count()} CPUs."
