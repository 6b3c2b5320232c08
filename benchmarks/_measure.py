"""Timing of several callables side by side.

The machine may be shared, so a lone time says nothing: the callables take turns within each round, and what is
reported is the median over rounds of each and of the ratio to the first within the round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from random import Random
from statistics import median
from typing import NamedTuple

FEWEST_ROUNDS = 3
# Threads of OpenMP spin for some milliseconds when their work is done, on the core that the next library needs.
PAUSE = 0.005  # seconds before each turn


class Timing(NamedTuple):
    """Medians over the rounds: seconds a call, and the ratio to the reference's call in the same round."""

    seconds: float
    ratio: float


def _calls_for(function: Callable[[], object], seconds: float) -> tuple[int, float]:
    """How many calls take about so long, and how long they take."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        spent = max(time.perf_counter() - start, 1e-9)
        if spent >= seconds / 4 or calls >= 1_000_000:
            turn = max(1, int(calls * seconds / spent))
            return turn, turn * spent / calls
        calls *= 4


def side_by_side(
    functions: Mapping[str, Callable[[], object]], *, rounds: int = 15, seconds: float = 0.01, budget: float = 1e9
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
    budget
        Seconds for all rounds: there are fewer where they would take longer, but three at least.
    """
    names = list(functions)
    paces = {name: _calls_for(functions[name], seconds) for name in names}
    rounds = max(FEWEST_ROUNDS, min(rounds, int(budget / sum(turn for _, turn in paces.values()))))
    spent: dict[str, list[float]] = {name: [] for name in names}
    random = Random(0)
    for _ in range(rounds):
        # In another order each round, so that nobody always follows the same neighbour, whose threads may still spin.
        for name in random.sample(names, len(names)):
            function, (count, _) = functions[name], paces[name]
            time.sleep(PAUSE)
            function()  # into the cache again
            start = time.perf_counter()
            for _ in range(count):
                function()
            spent[name].append((time.perf_counter() - start) / count)
    reference = spent[names[0]]
    return {
        name: Timing(median(times), median(mine / theirs for mine, theirs in zip(times, reference)))
        for name, times in spent.items()
    }
