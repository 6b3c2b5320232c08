"""The demo: scikit-learn and SciPy on candela_xp arrays, each step checked against the same step on NumPy arrays.

A step passes where its results, and what the estimators learned, are NDArrays, lie within the tolerance of
NumPy's, have their shapes and dtypes, and where no array was handed to NumPy on the way. Hand-overs are
counted, not guessed: for the candela_xp run the export protocols of NDArray are replaced by ones that count.

The steps themselves are in `_demo_steps`, which is imported when the demo runs: SciPy reads SCIPY_ARRAY_API once,
when it is imported.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple, TextIO

import numpy as np

import candela_xp as xp
from candela_xp._array import NDArray
from candela_xp._commands._draw import Style, table

REPEAT = 5
_NEEDED = {"sklearn": "scikit-learn", "scipy": "SciPy", "array_api_compat": "array-api-compat"}
_EXPORTS = ("__array__", "__buffer__", "__dlpack__")


class CannotRunError(RuntimeError):
    """The demo cannot run here; the message tells what would help."""


class Step(NamedTuple):
    """One step: what runs on the arrays, how close it must come to NumPy, and what is known about it.

    ``run`` takes the arrays by name and returns results by name: arrays, Python numbers, or estimators, whose
    fitted attributes count as results. ``hands_over`` says why others hand arrays to NumPy in this step, if they do.
    """

    name: str
    library: str
    run: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    tolerance: float = 1e-12
    hands_over: str = ""


class Comparison(NamedTuple):
    """What the check of one step found: the largest difference, and everything that is wrong."""

    difference: float
    problems: tuple[str, ...]


# -- comparison, on plain data -----------------------------------------------------------------------


def flatten(results: Mapping[str, Any]) -> dict[str, Any]:
    """Results by name, estimators taken apart into their fitted attributes and tuples into their parts."""
    flat: dict[str, Any] = {}
    for name, value in results.items():
        if isinstance(value, tuple | list):
            flat |= flatten({f"{name}[{place}]": part for place, part in enumerate(value)})
        elif hasattr(value, "get_params"):
            flat |= {f"{name}.{key}": part for key, part in vars(value).items() if _is_fitted(key, part)}
        else:
            flat[name] = value
    return flat


def _is_fitted(name: str, value: Any) -> bool:
    """Whether an attribute of an estimator is an array that it learned."""
    return name.endswith("_") and not name.startswith("_") and hasattr(value, "shape") and hasattr(value, "dtype")


def difference(expected: Any, found: Any) -> float:
    """Largest absolute difference, as a part of the largest magnitude where that is above 1.

    Infinite where shapes differ, or one is NaN or infinite and the other something else.
    """
    a, b = np.asarray(expected), np.asarray(found)
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":  # as Python's integers: exact, and nothing overflows
        return float(max([abs(int(x) - int(y)) for x, y in zip(a.flat, b.flat)]))
    same = (a == b) | ((a != a) & (b != b))
    if not np.isfinite(a[~same]).all() or not np.isfinite(b[~same]).all():
        return float("inf")
    finite = np.abs(a[np.isfinite(a)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    return float(np.abs(a[~same] - b[~same]).max() / scale) if not same.all() else 0.0


def compare(expected: Mapping[str, Any], found: Mapping[str, Any], tolerance: float) -> Comparison:
    """Check the results of candela_xp against those of NumPy."""
    wanted, have = flatten(expected), flatten(found)
    problems = [f"{name} is missing" for name in wanted if name not in have]
    problems += [f"{name} is there, but not with NumPy" for name in have if name not in wanted]
    largest = 0.0
    for name in wanted:
        if name not in have:
            continue
        result, reference = have[name], wanted[name]
        if isinstance(result, NDArray):
            values: Any = result._numpy()
            if values.dtype != np.asarray(reference).dtype:
                problems.append(f"{name} is {values.dtype}, with NumPy {np.asarray(reference).dtype}")
        elif type(result) in (bool, int, float, complex):
            values = result
            if isinstance(reference, np.ndarray):
                problems.append(f"{name} is a Python number, with NumPy an array")
        else:
            problems.append(f"{name} is {type(result).__module__}.{type(result).__name__}, not an NDArray")
            values = result
        gap = difference(reference, values)
        largest = max(largest, gap)
        if gap > tolerance:
            problems.append(f"{name} differs by {gap:.1e}, tolerance {tolerance:.0e}")
    return Comparison(largest, tuple(problems))


# -- runs --------------------------------------------------------------------------------------------


class HandOvers:
    """How often arrays were handed to NumPy or to anyone else."""

    def __init__(self) -> None:
        self.count = 0
        self.inside = False  # one export may use another: that is one hand-over


@contextmanager
def counting() -> Iterator[HandOvers]:
    """Count every call of an export protocol of NDArray while the block runs."""
    tally = HandOvers()
    originals = {name: getattr(NDArray, name) for name in _EXPORTS if hasattr(NDArray, name)}

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def export(self: NDArray, /, *arguments: Any, **keywords: Any) -> Any:
            if tally.inside:
                return original(self, *arguments, **keywords)
            tally.count += 1
            tally.inside = True
            try:
                return original(self, *arguments, **keywords)
            finally:
                tally.inside = False

        return export

    for name, original in originals.items():
        setattr(NDArray, name, counted(original))
    try:
        yield tally
    finally:
        for name, original in originals.items():
            setattr(NDArray, name, original)


class Timing(NamedTuple):
    """Medians of alternated runs (seconds)."""

    candela_xp: float
    numpy: float


def _time(step: Step, arrays: Mapping[str, Any], references: Mapping[str, Any], repeat: int) -> Timing:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(repeat):
        for data, seconds in ((references, theirs), (arrays, ours)):
            start = time.perf_counter()
            step.run(data)
            seconds.append(time.perf_counter() - start)
    return Timing(median(ours), median(theirs))


def run_step(step: Step, arrays: Mapping[str, Any], references: Mapping[str, Any], repeat: int) -> dict[str, Any]:
    """Run a step on both kinds of arrays, check it, time it; the outcome as plain data."""
    outcome: dict[str, Any] = {
        "step": step.name,
        "library": step.library,
        "tolerance": step.tolerance,
        "difference": None,
        "hand_overs": None,
        "hands_over_because": step.hands_over,
        "seconds": {"candela_xp": None, "numpy": None},
        "ratio": None,
        "problems": [],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the libraries about the data, the same on both sides
        expected = step.run(references)
        try:
            with counting() as tally:
                found = step.run(arrays)
        except Exception as error:  # whatever a library raises on our arrays is this step's outcome
            outcome["problems"].append(f"{type(error).__name__}: {error} ({_place(error)})")
            return outcome
        checked = compare(expected, found, step.tolerance)
        timing = _time(step, arrays, references, repeat)
    outcome["hand_overs"] = tally.count
    # JSON has no infinity; that the difference is infinite is among the problems
    outcome["difference"] = checked.difference if math.isfinite(checked.difference) else None
    outcome["problems"] += checked.problems
    if tally.count and not step.hands_over:
        outcome["problems"].append(f"arrays were handed to NumPy {tally.count} times")
    outcome["seconds"] = timing._asdict()
    outcome["ratio"] = timing.candela_xp / timing.numpy if timing.numpy else None
    return outcome


def _place(error: BaseException) -> str:
    """Where an exception came from: file and line of its last frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


class Progress:
    """Tells which step runs: on one line of a terminal, else a line for each step."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.terminal = stream.isatty()

    def show(self, number: int, total: int, name: str) -> None:
        """Say that a step begins."""
        text = f"[{number}/{total}] {name}"
        self.stream.write(f"\r\x1b[K{text}" if self.terminal else f"{text}\n")
        self.stream.flush()

    def done(self) -> None:
        """Clear the line."""
        if self.terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def load_steps() -> Any:
    """The module of the steps, SciPy's array API support switched on before SciPy is imported.

    Raises
    ------
    CannotRunError
        A package is missing, or SciPy was imported before without that support.
    """
    if "scipy" in sys.modules and not os.environ.get("SCIPY_ARRAY_API"):
        raise CannotRunError(
            "SciPy was imported before SCIPY_ARRAY_API=1 was set; run python -m candela_xp demo in a process of its own"
        )
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        for name in _NEEDED:
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise CannotRunError(f"{_NEEDED.get(missing, missing)} is missing; pip install 'candela_xp[demo]'") from error
    return importlib.import_module("candela_xp._commands._demo_steps")


def run(repeat: int, progress: Progress) -> dict[str, Any]:
    """Run all steps.

    Parameters
    ----------
    repeat
        Timed runs of each step and kind of array, after the one that is checked.
    progress
        Is told of each step.

    Returns
    -------
    dict
        ``versions``, ``steps`` (one outcome each), ``passed``.

    Raises
    ------
    CannotRunError
        A package is missing.
    """
    steps = load_steps()
    references = steps.data()
    arrays = {name: xp.asarray(values, copy=True) for name, values in references.items()}
    outcomes = []
    # Default mode, whatever the environment says: these libraries rely on more than the standard promises.
    with steps.dispatching(), xp.settings(strict=False):
        for number, step in enumerate(steps.STEPS, 1):
            progress.show(number, len(steps.STEPS), step.name)
            outcomes.append(run_step(step, arrays, references, repeat))
    progress.done()
    return {
        "versions": {"candela_xp": xp.__version__, "numpy": np.__version__, **steps.versions()},
        "repeat": repeat,
        "steps": outcomes,
        "passed": not any(outcome["problems"] for outcome in outcomes),
    }


# -- lines -------------------------------------------------------------------------------------------


def lines(found: Mapping[str, Any], style: Style) -> list[str]:
    """The outcomes as a table, what is wrong under it, and the verdict."""
    outcomes: Sequence[Mapping[str, Any]] = found["steps"]
    rows = [("", "step", "difference", "tolerance", "ms", "NumPy ms", "ratio", "exports")]
    section = None
    for outcome in outcomes:
        if outcome["library"] != section:
            section = outcome["library"]
            rows.append(("", section, *[""] * 6))
        seconds = outcome["seconds"]
        rows.append(
            (
                "FAIL" if outcome["problems"] else "ok",
                f"  {outcome['step']}",
                _number(outcome["difference"], ".1e"),
                _number(outcome["tolerance"], ".0e"),
                _milliseconds(seconds["candela_xp"]),
                _milliseconds(seconds["numpy"]),
                _number(outcome["ratio"], ".2f"),
                _number(outcome["hand_overs"], "d") + ("*" if outcome["hands_over_because"] else " "),
            )
        )
    head, *body = table(rows, right=(2, 3, 4, 5, 6, 7), indent="")
    result = [
        ", ".join(f"{name} {version}" for name, version in found["versions"].items()),
        "",
        style.bold(head),
        *[style.verdict(line, False) if line.startswith("FAIL") else line for line in body],
        "",
        "difference  largest absolute difference from the NumPy run, of any result or fitted attribute,",
        "            relative to the largest magnitude where that is above 1",
        f"ms          median of {found['repeat']} runs after a warm-up, alternating with NumPy",
        "exports     calls of __array__, __buffer__ or __dlpack__ of candela_xp arrays",
        "",
    ]
    result += [f"* {o['step']}: {o['hands_over_because']}" for o in outcomes if o["hands_over_because"]]
    for outcome in outcomes:
        result += [style.verdict(f"FAIL {outcome['step']}: {problem}", False) for problem in outcome["problems"]]
    failed = sum(1 for outcome in outcomes if outcome["problems"])
    verdict = f"{failed} of {len(outcomes)} steps failed" if failed else f"all {len(outcomes)} steps agree with NumPy"
    return [*result, style.verdict(verdict, not failed)]


def _number(value: float | None, spec: str) -> str:
    return "-" if value is None else format(value, spec)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"
