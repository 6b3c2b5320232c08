"""The rules: rows of the files in ``rules/`` (what to watch for, what to write) with their measured outcomes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from candela_xp._audit._conditions import Condition, parse
from candela_xp._audit._findings import Harm, Outcome, Rule

DEFAULT_BACKENDS: Final = ("torch", "jax", "jax_jit", "dask")
"""What is asked about if nothing is said.

Left out: what refuses the undefined on purpose (array_api_strict) or answers as the code was written for (numpy); JAX
without 64-bit numbers (jax_x32), where nearly every line that makes an array is a finding; and rarer libraries.
"""

# What is no finding where array-api-compat, array-api-extra or the code itself choose what suits a backend.
HELPED: Final = {"mutation", "aliasing", "unknown shapes", "indexing", "conversion", "interoperation", "beyond"}


class Row(NamedTuple):
    """A rule and what it watches for."""

    rule: Rule
    on: tuple[str, ...]
    conditions: tuple[Condition, ...]


class Measured(NamedTuple):
    """What the backends do: versions by backend, and by rule the reference and the outcomes that are otherwise."""

    versions: dict[str, str]
    rows: dict[str, dict[str, Any]]


@cache
def measured() -> Measured:
    """The outcomes, as measured (``python -m conformance portability`` measures them again)."""
    found = json.loads(files(__package__).joinpath("outcomes.json").read_text(encoding="utf-8"))
    return Measured(found["versions"], found["rows"])


@cache
def words() -> dict[str, dict[str, Any]]:
    """The rows as written, by id, with the name of their file as ``group``."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(files(__package__).joinpath("rules").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            group = file.name.removesuffix(".toml").replace("_", " ")
            rows = tomllib.loads(file.read_text(encoding="utf-8"))
            found |= {name: {"group": group, **row} for name, row in rows.items()}
    return found


def known(backends: Sequence[str] | None) -> tuple[str, ...]:
    """The backends that are asked about.

    Raises
    ------
    ValueError
        A name isn't known; those that are follow.
    """
    chosen = DEFAULT_BACKENDS if backends is None else tuple(backends)
    versions = measured().versions
    for name in chosen:
        if name not in versions:
            raise ValueError(f"audit: backend {name!r} is unknown; there are {', '.join(versions)}")
    return tuple(dict.fromkeys(chosen))


def select(backends: Sequence[str], *, data: bool) -> list[Row]:
    """The rules by which one of these backends does otherwise, with the outcomes of these alone.

    Parameters
    ----------
    backends
        Known names.
    data
        Whether to take those that look at values too.
    """
    found = []
    for name, row in words().items():
        outcomes = measured().rows.get(name, {"reference": "", "outcomes": {}})
        mine = {each: Outcome(*outcomes["outcomes"][each]) for each in backends if each in outcomes["outcomes"]}
        conditions = tuple(map(parse, row.get("when", [])))
        looks = any(condition.data for condition in conditions)
        if not mine or (looks and not data):
            continue
        reference = outcomes["reference"]
        rule = Rule(
            id=name,
            group=row["group"],
            call=row["call"],
            harm=harm(reference, mine),
            certainty=row.get("certainty", "depends on values" if looks else "seen in arguments"),
            standard=row["standard"],
            reference=reference,
            outcomes=mine,
            advice=row["advice"],
            data=looks,
        )
        found.append(Row(rule, tuple(row["on"]), conditions))
    return found


def newer(since: str) -> Rule:
    """The rule about names that a revision hasn't got yet."""
    return Rule(
        id="newer-name",
        group="revisions",
        call=f"a function that came after {since}",
        harm="refused",
        certainty="seen in arguments",
        standard=f"not in revision {since}",
        reference="present in the newest revision",
        outcomes={f"revision {since}": Outcome("refuses", "AttributeError, or the parameter is missing")},
        advice="array_api_extra has some of them; or ask hasattr(xp, name) and write the older way too",
    )


_DTYPE = re.compile(r"\b(?:bool|u?int\d+|float\d+|complex\d+)\b")


def harm(reference: str, outcomes: Mapping[str, Outcome]) -> Harm:
    """The worst that the outcomes mean, held against the reference."""
    details = [outcome.detail for outcome in outcomes.values() if outcome.effect == "differs"]
    if details and reference.startswith("raises"):
        return "error or value"
    if any(_DTYPE.sub("", detail) != _DTYPE.sub("", reference) for detail in details):
        return "silent value"
    if details:
        return "silent dtype"
    refuses = any(outcome.effect == "refuses" for outcome in outcomes.values())
    return "refused" if refuses else "recomputed"
