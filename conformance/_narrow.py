"""The official suite pointed at narrow dtypes: candela_xp with one of them under the name of float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import _report
from ._pins import REVISIONS, SUITE_URL
from ._plan import Options
from ._results import Row

BEGIN, END = "<!-- narrow:begin -->", "<!-- narrow:end -->"
TESTS = "array_api_tests"
VARIABLE = "CANDELA_XP_CONFORMANCE_NARROW"  # as _once and _draws read it, in the process of the suite

_TRANSFORMS = "transforms of float16 give complex64 and float32, where the suite expects complex32 and float16"
_NO_COMPLEX = "wants a complex dtype whose components are bfloat16, and there is none: the result is complex64"


@dataclass(frozen=True)
class Narrow:
    """A dtype, the standard's dtypes that it leaves without a partner, and the tests left out, each with its reason."""

    name: str
    skipped_dtypes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


DTYPES = (
    # The suite takes the components of complex64 for what is called float32.
    Narrow(
        "bfloat16",
        skipped_dtypes=("complex64",),
        left_out=tuple(
            (f"{file}::{test}", _NO_COMPLEX)
            for file, tests in (("test_fft.py", ("rfft", "rfftn", "ihfft")), ("test_linalg.py", ("eig", "eigvals")))
            for test in [f"test_{name}" for name in tests]
        ),
    ),
    Narrow("float16", left_out=(("test_fft.py", _TRANSFORMS),)),
)

# What no test of the suite looks at, and where it is tested instead
ELSEWHERE = (
    ("subnormal numbers, which the suite never draws", "`tests/test_narrow.py`"),
    ("chains that wait, and their results bit for bit", "`tests/test_narrow.py`"),
    ("conversions near ties, from float64 and from integers of 64 bits", "`tests/test_narrow_conversions.py`"),
    ("sums of so many elements that the dtype itself could not count them", "`tests/test_narrow_reductions.py`"),
    ("the dtypes of 8 bits and fewer: few numbers of the suite are among theirs", "the same three, over all values"),
)


def named(name: str) -> Narrow:
    """The dtype of that name.

    Raises
    ------
    ValueError
        The suite isn't run over it.
    """
    for narrow in DTYPES:
        if narrow.name == name:
            return narrow
    raise ValueError(f"must be one of {', '.join(narrow.name for narrow in DTYPES)}, got {name!r}")


def options_for(narrow: Narrow, options: Options) -> Options:
    """Options of a run over the latest revision with the dtype standing in for float32.

    Parameters
    ----------
    narrow
        The dtype.
    options
        What the user asked for: modes, seeds, examples, processes, selection.
    """
    variables = [
        (VARIABLE, narrow.name),
        ("ARRAY_API_TESTS_SKIP_DTYPES", ",".join(narrow.skipped_dtypes)),
        # The plugin must be there before the suite is imported, which its conftest does.
        ("PYTEST_PLUGINS", "_draws"),
        ("PYTEST_ADDOPTS", " ".join(f"--deselect={TESTS}/{test}" for test, _ in narrow.left_out)),
    ]
    return Options(
        revisions=REVISIONS[-1:],
        modes=options.modes,
        seeds=options.seeds,
        max_examples=options.max_examples,
        processes=options.processes,
        deadline=False,
        module="_stand_in",
        variables=tuple(variables),
        select=options.select,
        verbose=options.verbose,
    )


def write(directory: Path, rows: Sequence[tuple[Narrow, Row]]) -> Path:
    """Write the section of ``conformance.md``.

    Parameters
    ----------
    directory
        Where the page is.
    rows
        A row for each dtype and mode.

    Raises
    ------
    ValueError
        The page has half a pair of markers.
    """
    path = directory / "conformance.md"
    page = path.read_text(encoding="utf-8") if path.exists() else "# Conformance\n"
    page = _report.insert(page, section(rows), BEGIN, END)
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def section(rows: Sequence[tuple[Narrow, Row]]) -> str:
    """The text between the markers."""
    lines = [
        "## Narrow dtypes",
        "",
        "The same suite, revision 2025.12, where `float32` is bfloat16 or float16 (and `complex64` then complex32). It",
        "draws numbers that the dtype has. Elementwise functions, reductions and scans check themselves on the way:",
        "each result is that of float32, rounded once, to the last bit. Written by `python -m conformance narrow`.",
        "",
        "| float32 is | Mode | Passed | Failed | Skipped by the suite | Left out | Suite | Seeds | Examples |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- | --- |",
    ]
    for narrow, row in rows:
        suite = f"[`{row.suite_commit[:10]}`]({SUITE_URL}/tree/{row.suite_commit})"
        counts = f"{row.passed} | {len(row.failed)} | {len(row.skipped)} | {len(narrow.left_out)}"
        seeds = ", ".join(map(str, row.seeds))
        lines.append(f"| {narrow.name} | {row.mode} | {counts} | {suite} | {seeds} | {row.max_examples} |")
    for narrow, row in rows:
        if row.failed:
            lines += ["", f"### Failed: {narrow.name}, {row.mode} mode", ""]
            lines += [f"- `{outcome.id}`: {_report.plain(outcome.reason)}" for outcome in row.failed]
    lines += ["", "What the suite cannot cover:", "", "| What | Why, or where it is tested |", "| --- | --- |"]
    for narrow in dict.fromkeys(narrow for narrow, _ in rows):
        lines += [f"| {narrow.name}: no {name} | its components are float32 |" for name in narrow.skipped_dtypes]
        lines += [f"| {narrow.name}: `{test}` | {reason} |" for test, reason in narrow.left_out]
    lines += [f"| {what} | {where} |" for what, where in ELSEWHERE]
    return "\n".join(lines)
