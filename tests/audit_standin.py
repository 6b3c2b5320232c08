"""A stand-in for what records: rules made by hand, and findings where a program calls `meet`.

The reports, the command and the plugin are tested with it, so that their tests know which findings there are. As a
plugin of pytest (``-p audit_standin``) it serves processes of their own.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from candela_xp._audit._findings import Audit, Finding, Outcome, Rule

BACKENDS = ("numpy", "torch", "jax", "dask")
USUAL = ("torch", "jax", "dask")
VERSIONS = {"numpy": "2.4.6", "torch": "2.13.0", "jax": "0.10.2", "dask": "2026.8.0"}

RULES = {
    rule.id: rule
    for rule in (
        Rule(
            "iadd-alias",
            "mutation",
            "y = x; y += 1",
            "silent value",
            "aliasing possible",
            "left open: whether x changes",
            "x is [2, 3]",
            {"jax": Outcome("differs", "x is [1, 2]"), "dask": Outcome("differs", "x is [1, 2]")},
            "y = x + 1; with y = x first, copy where both are needed",
        ),
        Rule(
            "setitem-int",
            "mutation",
            "x[i] = value",
            "refused",
            "seen in arguments",
            "required value",
            "[9, 2, 3]",
            {"jax": Outcome("refuses", "TypeError: JAX arrays are immutable")},
            "where(mask, value, x); fails where value has more axes",
        ),
        Rule(
            "len",
            "protocol",
            "len(x)",
            "recomputed",
            "seen in arguments",
            "not in the standard",
            "3",
            {"dask": Outcome("recomputes", "3, computed again")},
            "x.shape[0]",
        ),
        Rule(
            "default-float",
            "creation",
            "zeros(3)",
            "silent dtype",
            "depends on values",
            "the default floating-point dtype",
            "float64",
            {"torch": Outcome("differs", "float32")},
            "zeros(3, dtype=float64)",
        ),
        Rule(
            "newer-name",
            "revisions",
            "a function that came after 2022.12",
            "refused",
            "seen in arguments",
            "not in revision 2022.12",
            "present",
            {"revision 2022.12": Outcome("refuses", "AttributeError")},
            "ask hasattr(xp, name)",
        ),
    )
}

_met: list[Finding] = []


class Recorder:
    def __init__(self, backends):
        self.backends = backends

    def stop(self):
        found = {}
        for each in _met:
            if any(name in each.rule.outcomes for name in self.backends):
                earlier = found.setdefault((each.rule.id, each.file, each.line), each)
                if earlier is not each:
                    earlier.hits += each.hits
        _met.clear()
        return Audit(self.backends, VERSIONS, list(found.values()))


def start(backends, *, since, data):
    return Recorder(tuple(backends))


def known(backends):
    for name in backends or ():
        if name not in BACKENDS:
            raise ValueError(f"unknown backend {name!r}; known: {', '.join(BACKENDS)}")
    return USUAL if backends is None else tuple(backends)


def newer(since):
    return RULES["newer-name"]


def meet(rule, operation="add(float64 (3,), int)"):
    """What a use of an array would do: a finding at the caller's line."""
    frame = sys._getframe(1)
    _met.append(Finding(RULES[rule], frame.f_code.co_filename, frame.f_lineno, 1, operation))


def modules():
    """Modules that stand in for those that record, by name."""
    watch, rules = ModuleType("candela_xp._audit._watch"), ModuleType("candela_xp._audit._rules")
    watch.start = start
    rules.known, rules.newer, rules.words = known, newer, lambda: RULES
    return {each.__name__: each for each in (watch, rules)}


@pytest.hookimpl(tryfirst=True)
def pytest_configure():
    sys.modules.update(modules())
