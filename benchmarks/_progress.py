"""How far a run has come, on stderr."""

from __future__ import annotations

import sys
import time

WIDTH = 20
# A log is no terminal: a line of its own now and then.
LOG_EVERY_SECONDS = 15


class Progress:
    """One line that is written over on a terminal, a line every 15 s elsewhere, and a last one."""

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._begin = self._logged = time.perf_counter()

    def step(self, name: str) -> None:
        """The next one begins."""
        now = time.perf_counter()
        full = WIDTH * self._done // max(1, self._total)
        line = f"{self._title:<10} [{'#' * full}{'.' * (WIDTH - full)}] {self._done + 1}/{self._total} {name}"
        self._done += 1
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        elif now - self._logged >= LOG_EVERY_SECONDS:
            self._logged = now
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        """All are done."""
        start = "\r\033[K" if sys.stderr.isatty() else ""
        spent = time.perf_counter() - self._begin
        print(f"{start}{self._title}: {self._total} cases in {spent:.0f} s", file=sys.stderr, flush=True)
