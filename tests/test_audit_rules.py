"""Every rule of the audit: a use that meets it, one that just doesn't, and what the libraries installed here do."""

from __future__ import annotations

import contextlib
import linecache
import warnings
from importlib.metadata import version

import pytest

import candela_xp as xp
from candela_xp._audit import _conditions, _events
from candela_xp._audit._rules import measured, words
from candela_xp.audit import Finding
from conformance.portability import _cases, _outcomes
from conformance.portability._libraries import LIBRARIES
from conformance.portability._measure import Answer, answers

CASES = _cases.read()
ALL = tuple(measured().versions)


def found_in(code: str, **options: object) -> list[Finding]:
    """What the audit finds in code, for all backends."""
    file = "<case>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    space = {"xp": xp, "A": lambda values, dtype="float64": xp.asarray(values, dtype=getattr(xp, dtype))}
    with xp.audit(ALL, **options) as audit, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):  # what other libraries allow may be refused here
            exec(compile(code, file, "exec"), space)
    return [each for each in audit.result.findings if each.file == file]


def test_every_rule_has_a_case_and_every_case_a_rule():
    assert set(CASES) == set(words()) == set(measured().rows)


def test_every_rule_watches_something_that_exists():
    functions = _events.functions()
    for name, row in words().items():
        for event in _events.expand(row["on"]):
            known = event in functions or event in vars(xp.NDArray) or event.startswith((".", "dtype.", "__"))
            assert known or event in _events.NAMES or name in ("name-median", "linalg-fft-exist", "linalg-norm"), name
        for condition in row.get("when", []):
            _conditions.parse(condition)


def test_a_condition_without_a_test_names_those_that_there_are():
    with pytest.raises(ValueError, match=r"no test 'blue'; there are array, "):
        _conditions.parse("x: blue")


@pytest.mark.parametrize("name", CASES)
def test_a_use_meets_its_rule(name):
    found = [each for each in found_in(CASES[name].use, data=True) if each.rule.id == name]
    assert found
    assert all(each.hits >= 1 and each.operation for each in found)


@pytest.mark.parametrize("name", CASES)
def test_a_near_miss_does_not_meet_the_rule(name):
    assert name not in {each.rule.id for each in found_in(CASES[name].near, data=True)}


# Of every chapter one or two, the most harmful first; `python -m conformance portability --check` asks about all.
SAMPLE = (
    "iadd-alias", "alias-slice", "alias-scalar-index", "setitem-int", "oob-int", "oob-take", "f32-plus-f64-0d",
    "uint8-plus-256", "int-array-uint8", "float64-request", "negative-step", "bool-get-1d", "masked-shape-int",
    "int-floordiv-zero", "nan-to-int", "inv-singular", "eq-none", "positional-axis",
)  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_does_what_was_measured(name):
    library = LIBRARIES[name]
    if not (library.is_installed and LIBRARIES["numpy"].is_installed):
        pytest.skip(f"{library.distribution}, or array_api_compat, is not installed")
    if version(library.distribution) != measured().versions[name]:
        pytest.skip(f"{name} was measured in version {measured().versions[name]}: python -m conformance portability")
    own, numpy, found = (answers(each, SAMPLE) for each in ("candela_xp", "numpy", name))
    for case in SAMPLE:
        expected = _outcomes.reference(own[case], numpy[case])
        seen = _outcomes.outcome(expected, found[case], dtype=CASES[case].dtype or name != "jax_x32")
        assert measured().rows[case]["outcomes"].get(name) == (None if seen is None else list(seen)), case
        assert measured().rows[case]["reference"] == expected.text


@pytest.mark.parametrize(
    ("expected", "got", "dtype", "found"),
    [
        (Answer("float64 [1]", False), Answer("float64 [1]", False), True, None),
        (Answer("float64 [1]", False), Answer("float32 [1]", False), False, None),
        (Answer("float64 [1]", False), Answer("float32 [1]", False), True, "differs"),
        (Answer("float64 [1]", False), Answer("float64 [1]", False, 1), True, "recomputes"),
        (Answer("float64 [1]", False), Answer("raises TypeError: no", True), True, "refuses"),
        (Answer("raises IndexError: 3", True), Answer("raises TypeError: no", True), True, None),
        (Answer("raises IndexError: 3", True), Answer("float64 [1]", False), True, "differs"),
    ],
)
def test_an_outcome_is_what_differs_from_the_reference(expected, got, dtype, found):
    seen = _outcomes.outcome(expected, got, dtype=dtype)
    assert (seen and seen[0]) == found


def test_changes_name_rule_library_and_both_effects():
    before = {"versions": {"torch": "1"}, "rows": {"a": {"reference": "", "outcomes": {"torch": ["differs", "2"]}}}}
    after = {"versions": {"torch": "2"}, "rows": {"a": {"reference": "", "outcomes": {}}}}
    assert _outcomes.changes(before, after) == [
        "torch: version 1, now 2",
        "a: torch was differs, now the same ()",
    ]
    assert _outcomes.changes(after, after) == []
