"""How far a run has come: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Shows the state of the run at hand.

    Parameters
    ----------
    stream
        Where to write.
    clock
        Seconds that only grow.
    period
        Seconds between lines where the stream is no terminal.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic, period: float = 15.0) -> None:
        self._stream = stream
        self._clock = clock
        self._period = period
        self._terminal = stream.isatty()
        self._last = clock()
        self._width = 0

    def update(self, label: str, done: int, total: int | None, failed: int) -> None:
        """Show the counts, if it is time to."""
        if self._terminal:
            self._rewrite(line(label, done, total, failed))
        elif self._clock() - self._last >= self._period:
            self._last = self._clock()
            print(line(label, done, total, failed), file=self._stream, flush=True)

    def finish(self, text: str) -> None:
        """End the run's line with a text that stays."""
        if self._terminal:
            self._rewrite("")
        self._last = self._clock()
        print(text, file=self._stream, flush=True)

    def _rewrite(self, text: str) -> None:
        print(f"\r{text.ljust(self._width)}", end="" if text else "\r", file=self._stream, flush=True)
        self._width = len(text)


def line(label: str, done: int, total: int | None, failed: int) -> str:
    """The counts as a line of text."""
    return f"{label}: {done}/{'?' if total is None else total} tests, {failed} failed"
