"""Timing of several callables side by side.

The machine may be shared, so a lone time says nothing: the callables take turns within each round, and what is
reported is the median over rounds of each and of the ratio to the first within the round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple


class Timing(NamedTuple):
    """Medians over the rounds: seconds a call, and the ratio to the reference's call in the same round."""

    seconds: float
    ratio: float


def _calls_for(function: Callable[[], object], seconds: float) -> int:
    """How many calls take about so long."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        spent = time.perf_counter() - start
        if spent >= seconds / 4 or calls >= 1_000_000:
            return max(1, int(calls * seconds / max(spent, 1e-9)))
        calls *= 4


def side_by_side(
    functions: Mapping[str, Callable[[], object]], *, rounds: int = 15, seconds: float = 0.01
) -> dict[str, Timing]:
    """Time each function; the first is the reference.

    Parameters
    ----------
    functions
        Callables without arguments, by name.
    rounds
        How often each takes its turn.
    seconds
        About how long one turn lasts.
    """
    names = list(functions)
    calls = {name: _calls_for(functions[name], seconds) for name in names}
    spent: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        # Begin with another one each round, so that nobody always follows the same neighbour.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            function, count = functions[name], calls[name]
            start = time.perf_counter()
            for _ in range(count):
                function()
            spent[name].append((time.perf_counter() - start) / count)
    reference = spent[names[0]]
    return {
        name: Timing(median(times), median(mine / theirs for mine, theirs in zip(times, reference)))
        for name, times in spent.items()
    }
