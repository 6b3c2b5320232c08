"""From cases to rows: make the operands, see that all libraries agree, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks._cases import Case, Data, Row, size_name
from benchmarks._libraries import Library, as_numpy
from benchmarks._measure import side_by_side
from benchmarks._progress import Progress

# Of the largest value; integers are exact. Float32 sums over many rows drift: NumPy's by 2e-4 at 10⁷ elements.
TOLERANCE = {
    "bfloat16": 6e-2, "float16": 4e-3, "float32": 1e-3, "float64": 1e-9, "complex64": 1e-3, "complex128": 1e-9,
}  # fmt: skip


class DisagreementError(Exception):
    """A library computes something else than NumPy."""


class Effort(NamedTuple):
    """How thoroughly: turns of each library, seconds of a turn, seconds of all turns of a row."""

    rounds: int
    seconds: float
    budget: float


class Operands:
    """Each library's copies of the operands, kept until others are asked for: gigabytes at 10⁷ elements."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._libraries = libraries
        self._key: tuple[Data, int, str] | None = None
        self._found: dict[str, tuple[Any, ...]] = {}

    def of(self, data: Data, size: int, dtype: str) -> dict[str, tuple[Any, ...]]:
        """The same values for every library, the same in every run."""
        if self._key != (data, size, dtype):
            self._found = {}
            values = data(np.random.default_rng(0), size, dtype)
            self._found = {each.name: tuple(map(each.take, values)) for each in self._libraries}
            self._key = (data, size, dtype)
        return self._found


def calls_of(
    case: Case, size: int, dtype: str, libraries: Sequence[Library], operands: Operands
) -> dict[str, Callable[[], Any]]:
    """A call for every library that has the case."""
    arrays = operands.of(case.data, size, dtype)
    made = {each.name: each.call(case, arrays[each.name]) for each in libraries}
    return {name: call for name, call in made.items() if call is not None}


def check(case: Case, dtype: str, size: int, calls: dict[str, Callable[[], Any]]) -> None:
    """Run every call once.

    Raises
    ------
    DisagreementError
        A result is not NumPy's, within the tolerance, or a call raises.
    """
    expected = np.asarray(calls["numpy"]())
    bound = TOLERANCE.get(dtype, 0) * case.tolerance * max(1e-300, float(np.max(np.abs(expected))))
    # NumPy is not called again: a case that works in place must have run as often for all.
    for name, call in [(name, call) for name, call in calls.items() if name != "numpy"]:
        where = f"{case.name}, {dtype}, {size_name(size)} elements: {name}"
        try:
            found = as_numpy(call())
        except Exception as error:
            raise DisagreementError(f"{where} raises {type(error).__name__}: {error}") from error
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            raise DisagreementError(
                f"{where} gives {found.dtype} of shape {found.shape}, NumPy {expected.dtype} of shape {expected.shape}"
            )
        wide = np.float32 if expected.dtype.itemsize < 4 else np.result_type(expected, np.float32)
        off = float(np.max(np.abs(found.astype(wide) - expected.astype(wide))))
        if not off <= bound:
            raise DisagreementError(f"{where} is off by {off:.3g}, more than {bound:.3g}")


def measure(
    title: str, cases: Sequence[Case], libraries: Sequence[Library], sizes: Sequence[int], effort: Effort
) -> list[Row]:
    """Rows of all cases at all their dtypes and sizes, in the order of the cases."""
    kinds = list(dict.fromkeys(case.data for case in cases))
    # Neighbours share operands.
    plan = sorted(
        (size, dtype, kinds.index(case.data), place)
        for place, case in enumerate(cases)
        for dtype in case.dtypes
        for size in case.sizes or sizes
    )
    operands, progress = Operands(libraries), Progress(title, len(plan))
    found = {}
    for size, dtype, _, place in plan:
        case = cases[place]
        progress.step(f"{case.name}, {dtype}, {size_name(size)}")
        calls = calls_of(case, size, dtype, libraries, operands)
        check(case, dtype, size, calls)
        timings = side_by_side(calls, **effort._asdict())
        # float64 before float32, as the case has it
        found[place, case.dtypes.index(dtype), size] = Row(case.name, timings, dtype, size, case.groups)
    progress.end()
    return [found[key] for key in sorted(found)]
