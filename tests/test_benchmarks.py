"""The benchmarks: every library computes the same, and a report is written. Nothing here depends on times."""

import itertools
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    _calls,
    _chains,
    _decompositions,
    _libraries,
    _machine,
    _narrow,
    _orders,
    _products,
    _programs,
    _reductions,
    _report,
    _run,
    _single,
    _targets,
)
from benchmarks._cases import Case, Row, size_name, vector
from benchmarks._measure import FEWEST_ROUNDS, Timing, side_by_side
from benchmarks._write import Table, page

ROOT = Path(__file__).resolve().parent.parent
TABLES = (
    _chains.CASES,
    _reductions.CASES,
    _single.CASES,
    _orders.MIXED,
    _orders.FAR,
    _products.CASES,
    _decompositions.CASES,
    _narrow.CASES,
)
CASES = [case for table in TABLES for case in table]
ELEMENTS = 400


@pytest.fixture(scope="module")
def libraries():
    """Those that are installed. JAX's 64-bit switch is global: it goes back to where it was."""
    was = find_spec("jax") and __import__("jax").config.jax_enable_x64
    yield list(_libraries.installed())
    if was is not None:
        __import__("jax").config.update("jax_enable_x64", was)


@pytest.fixture
def pair(libraries):
    return [library for library in libraries if library.name in ("numpy", "candela_xp")]


def row(case="x", size=10**6, groups=("chain",), dtype="float64", **ratios):
    """A row where NumPy needs a second and others so many times that."""
    timings = {"numpy": Timing(1.0, 1.0)} | {name: Timing(ratio, ratio) for name, ratio in ratios.items()}
    return Row(case, timings, dtype, size, groups)


def outcome(name, rows, table="chains"):
    (found,) = [each for each in _targets.outcomes({table: rows}) if each.target.name.startswith(name)]
    return found


# The cases


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_library_computes_what_numpy_does(case, libraries):
    for dtype in case.dtypes:
        calls = _run.calls_of(case, ELEMENTS, dtype, libraries, _run.Operands(libraries))
        assert {"numpy", "candela_xp"} <= set(calls)
        _run.check(case, dtype, ELEMENTS, calls)


def test_names_are_unique_in_a_table():
    for cases in (*TABLES, _programs.CASES):
        names = [case.name for case in cases]
        assert len(names) == len(set(names))


def test_every_group_of_a_case_has_a_target_and_the_other_way_round():
    groups = {group for case in CASES for group in case.groups}
    sizes = (10**6, 10**7, 4096**2)
    for group in groups:
        hits = [t for t in _targets.TARGETS for size in sizes if t.rows(row(size=size, groups=(group,)))]
        without = [t for t in _targets.TARGETS for size in sizes if t.rows(row(size=size, groups=()))]
        assert len(hits) > len(without), group
    for target in _targets.TARGETS:
        assert any(target.rows(row(size=size, groups=(group,))) for size, group in itertools.product(sizes, groups))


WRONG = {
    "is off by": lambda xp, a: a + 1e-3,
    "gives float64 of shape": lambda xp, a: a[1:],
    "gives bool": lambda xp, a: a > 0,
    "raises ZeroDivisionError": lambda xp, a: 1 // 0,
}


@pytest.mark.parametrize("how", WRONG)
def test_a_library_that_disagrees_is_named_with_the_case(how, pair):
    case = Case("some case", lambda xp, a: a + 0, vector, instead={"candela_xp": WRONG[how]})
    calls = _run.calls_of(case, 10, "float64", pair, _run.Operands(pair))
    with pytest.raises(_run.DisagreementError, match=rf"some case, float64, 10¹ elements: candela_xp {how}"):
        _run.check(case, "float64", 10, calls)


def test_a_case_in_place_starts_from_the_same_values_for_all(pair):
    (case,) = [case for case in _single.CASES if case.name == "a += b"]
    operands = _run.Operands(pair)
    before = {name: np.array(arrays[0]) for name, arrays in operands.of(case.data, 10, "float64").items()}
    _run.check(case, "float64", 10, _run.calls_of(case, 10, "float64", pair, operands))
    after = {name: np.array(arrays[0]) for name, arrays in operands.of(case.data, 10, "float64").items()}
    for name in ("numpy", "candela_xp"):
        assert (after[name] > before[name]).all()
        assert (after[name] == after["numpy"]).all()


def test_numexpr_computes_in_the_dtype_of_its_operands(libraries):
    numexpr = pytest.importorskip("numexpr", reason="numexpr is not part of the test extra")
    from benchmarks._numexpr import evaluation

    for dtype in ("float32", "float64"):
        a = np.asarray([1, 2], dtype)
        found = evaluation(numexpr, "0.5 * a + 0.25 * a - 10.5 + 0.5", (a,))()
        assert found.dtype == a.dtype
        assert found.tolist() == [-9.25, -8.5]


# Measuring


def test_the_first_is_the_reference_and_rounds_shrink_to_the_budget():
    counts = {"first": 0, "second": 0}

    def counting(name):
        def call():
            counts[name] += 1

        return call

    found = side_by_side({name: counting(name) for name in counts}, rounds=1000, seconds=1e-5, budget=0)
    assert found["first"].ratio == 1
    assert found["second"].ratio > 0
    assert all(counts[name] >= FEWEST_ROUNDS for name in counts)


def test_a_busy_machine_is_noted_and_warned_about(monkeypatch, capsys):
    monkeypatch.setattr(_machine, "busy_cpus", lambda: 0.04)
    assert "other processes used 0.0 of" in _machine.noted()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_machine, "busy_cpus", lambda: 1.2)
    assert "other processes used 1.2 of" in _machine.noted()
    assert "others use 1.2 of" in capsys.readouterr().err
    monkeypatch.setattr(_machine, "busy_cpus", lambda: None)
    assert _machine.noted() == ""


def test_how_busy_the_machine_is_follows_from_the_ticks(monkeypatch, tmp_path):
    monkeypatch.setattr(_machine, "STAT", tmp_path / "stat")
    assert _machine.busy_cpus(0) is None
    (tmp_path / "stat").write_text("cpu  100 20 3 4000 5 6 7 0 0 0\ncpu0 50 10 1 2000 5 6 7 0 0 0\n")
    assert _machine._ticks() == 123
    assert _machine.busy_cpus(0.001) == 0


def test_rows_come_in_the_order_of_the_cases_whatever_is_measured_first(pair, capsys):
    cases = [case for case in _single.CASES if case.name in ("a < b", "a += b")]
    rows = _run.measure("title", cases, pair, (20, 10), _run.Effort(1, 1e-5, 0))
    assert [(each.case, each.dtype, each.size) for each in rows] == [
        (name, dtype, size) for name in ("a < b", "a += b") for dtype in ("float64", "float32") for size in (10, 20)
    ]
    assert "title: 8 cases in" in capsys.readouterr().err


def test_calls_of_single_functions_make_rows(capsys):
    calls = list(_calls.large(500_000))
    picked = [call for call in calls if call.name in ("add", "nonzero")]
    rows = _calls.measure("large", picked, 500_000, _run.Effort(1, 1e-5, 0))
    assert [each.case for each in rows] == ["add", "nonzero"]


# Targets


def test_a_target_is_the_geometric_mean_of_its_group_and_sizes():
    rows = [row(candela_xp=1 / 2), row(candela_xp=1 / 8), row(size=1000, candela_xp=1), row(groups=(), candela_xp=1)]
    found = outcome("chains", rows)
    assert found.reached == pytest.approx(4)
    assert (found.verdict, found.over) == ("reached", "geometric mean of 2 rows")


def test_the_worst_row_is_named_and_small_arrays_do_not_count():
    found = outcome("the worst", [row("fast", candela_xp=0.5), row("slow", candela_xp=2), row(size=10, candela_xp=9)])
    assert found.reached == pytest.approx(0.5)
    assert found.verdict == "not reached"
    assert found.over.startswith("slow, float64, 10⁶")


def test_a_peer_is_compared_where_it_has_a_time():
    rows = [row(candela_xp=0.5, torch=1), row(candela_xp=0.01), row(candela_xp=1, numexpr=0.5)]
    assert outcome("against torch", rows).reached == pytest.approx(2)
    assert outcome("against numexpr", rows).reached == pytest.approx(0.5)


def test_what_was_not_measured_says_so():
    assert {each.verdict for each in _targets.outcomes({})} == {"not measured"}
    # scikit-learn's programs count for no target of the engine
    assert outcome("the worst", [row(candela_xp=9)], table="programs").verdict == "not measured"


def test_sizes_read_as_powers_of_ten_or_as_squares():
    assert [size_name(size) for size in (1000, 10**7, 512**2, 4096**2, 992)] == [
        *("10³", "10⁷", "512×512", "4096×4096", "992")
    ]


# The report


def test_a_report_keeps_the_tables_that_were_not_measured_again(tmp_path):
    _report.write(tmp_path, {"chains": Table([row("old", candela_xp=1)], "a"), "far": Table([row("kept")], "b")})
    _report.write(tmp_path, {"chains": Table([row("new", candela_xp=1)], "c")})
    found = _report.read(tmp_path)
    assert [(name, each.rows[0].case, each.about) for name, each in found.items()] == [
        ("chains", "new", "c"),
        ("far", "kept", "b"),
    ]
    assert found["chains"].rows[0] == row("new", candela_xp=1)


def test_a_record_of_the_former_form_is_written_over(tmp_path):
    (tmp_path / "benchmarks.json").write_text('{"small": []}')
    assert _report.read(tmp_path) == {}


def test_a_page_of_single_functions_promises_no_target():
    text = page({"small": Table([row(candela_xp=2)], "about")}, {})
    assert "1000.00 ms (1.00×) | 2000.00 ms (2.00×)" in text
    assert "to be reached" not in text


def test_the_same_rows_make_the_same_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not part of the test extra")
    from benchmarks._picture import draw

    rows = [row("a", candela_xp=0.3, torch=3), row("b", size=1000, dtype="float32", candela_xp=1.5, jax=0.02)]
    for name in "xy":
        draw("Title", rows, tmp_path / name)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
    assert ElementTree.parse(tmp_path / "x").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_command_writes_record_page_and_picture(tmp_path):
    """In a process of its own, since SCIPY_ARRAY_API must be set before scipy is imported."""
    command = "-m benchmarks chains programs --only kernel --sizes 1e3 --quick --libraries candela_xp --output".split()
    done = subprocess.run(
        [sys.executable, *command, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "chains: " in done.stderr
    record = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))["tables"]
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert list(record) == ["chains"] + ["programs"] * (find_spec("sklearn") is not None)
    for table, found in record.items():
        assert all(set(each["timings"]) >= {"numpy", "candela_xp"} for each in found["rows"])
        assert all(f"| `{each['case']}` |" in text for each in found["rows"])
        picture = tmp_path / f"benchmarks_{table}.svg"
        assert picture.exists() == (find_spec("matplotlib") is not None)
        assert (picture.name in text) == picture.exists()


@pytest.mark.parametrize("arguments", [["--no-report"], ["--only", "a < b"], ["--quick"]])
def test_a_partial_run_leaves_the_documentation_alone(arguments, monkeypatch, tmp_path, capsys):
    from benchmarks import __main__ as command

    monkeypatch.setenv("SCIPY_ARRAY_API", os.environ.get("SCIPY_ARRAY_API", "0"))
    monkeypatch.setattr(command, "DOCS", tmp_path)
    monkeypatch.setattr(command, "CASES", {"single": _single.CASES[3:4]})
    common = ["single", "--sizes", "10", "--rounds", "1", "--libraries", "candela_xp"]
    assert command.main([*common, *arguments]) == 0
    assert "`a < b`" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert command.main([*common, *arguments, "--output", str(tmp_path)]) == 0
    assert (tmp_path / "benchmarks.md").exists() == ("--no-report" not in arguments)
