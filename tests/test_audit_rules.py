"""Every rule of the audit: a use that meets it, one that just doesn't, and what the libraries installed here do."""

from __future__ import annotations

import linecache
import warnings

import pytest

import candela_xp as xp
from candela_xp._audit import _conditions, _events
from candela_xp._audit._rules import measured, words
from candela_xp.audit import Finding
from conformance.portability import _cases

CASES = _cases.read()
ALL = tuple(measured().versions)


def found_in(code: str, **options: object) -> list[Finding]:
    """What the audit finds in code, for all backends."""
    file = "<case>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    space = {"xp": xp, "A": lambda values, dtype="float64": xp.asarray(values, dtype=getattr(xp, dtype))}
    with xp.audit(ALL, **options) as audit, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, file, "exec"), space)
        except Exception:  # what other libraries allow may be refused here
            pass
    return [each for each in audit.result.findings if each.file == file]


def test_every_rule_has_a_case_and_every_case_a_rule():
    assert list(CASES) and set(CASES) == set(words()) == set(measured().rows)


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
