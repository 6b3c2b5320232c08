"""From what libraries answer to the outcomes that the audit goes by: each held against the reference."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import candela_xp
from conformance.portability._cases import Case, read
from conformance.portability._libraries import LIBRARIES
from conformance.portability._measure import Answer, answers

FILE = Path(candela_xp.__file__).parent / "_audit" / "outcomes.json"
_DTYPE = re.compile(r"\b(?:u?int\d+|float\d+|complex\d+)\b")


def reference(own: Answer, numpy: Answer | None) -> Answer:
    """What the others are held against: the answer of this library, where it refuses that of NumPy."""
    return numpy if own.raised and numpy is not None and not numpy.raised else own


def outcome(expected: Answer, got: Answer, *, dtype: bool = True) -> tuple[str, str] | None:
    """What a library does otherwise: effect and detail; None if it does the same.

    Parameters
    ----------
    expected, got
        The reference and the library's answer.
    dtype
        Whether dtypes are compared.
    """
    if got.raised:
        return None if expected.raised else ("refuses", got.text.removeprefix("raises "))
    if expected.raised or _comparable(expected.text, dtype) != _comparable(got.text, dtype):
        return "differs", got.text
    return ("recomputes", "computes what it is made of, and again at the next use") if got.computations else None


def _comparable(text: str, dtype: bool) -> str:
    return text if dtype else _DTYPE.sub("", text)


def measured_anew(
    before: Mapping[str, Any], libraries: Iterable[str], say: Callable[[str], None] = print
) -> dict[str, Any]:
    """The outcomes of libraries measured again; the others keep what they had.

    Raises
    ------
    RuntimeError
        A library could not be measured.
    """
    cases, own = read(), answers("candela_xp")
    numpy = answers("numpy") if LIBRARIES["numpy"].is_installed else {}
    versions: dict[str, str] = dict(before["versions"])
    rows: dict[str, dict[str, Any]] = {}
    for case in cases:
        kept = before["rows"].get(case, {"outcomes": {}})["outcomes"]
        rows[case] = {"reference": reference(own[case], numpy.get(case)).text, "outcomes": dict(kept)}
    for name in libraries:
        say(f"measuring {name}")
        versions[name] = version(LIBRARIES[name].distribution)
        found = numpy if name == "numpy" else answers(name)
        for case, row in rows.items():
            expected = reference(own[case], numpy.get(case))
            new = outcome(expected, found[case], dtype=_dtype_counts(name, cases[case]))
            row["outcomes"].pop(name, None)
            if new is not None:
                row["outcomes"][name] = list(new)
    for row in rows.values():
        row["outcomes"] = {name: row["outcomes"][name] for name in versions if name in row["outcomes"]}
    return {"versions": versions, "rows": rows}


def _dtype_counts(library: str, case: Case) -> bool:
    """JAX without 64-bit numbers answers everything in 32 bits: that counts where the rule is about dtypes."""
    return case.dtype or library != "jax_x32"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is otherwise than before, a line each."""
    lines = []
    for name, version_now in after["versions"].items():
        if before["versions"].get(name) != version_now:
            lines.append(f"{name}: version {before['versions'].get(name)}, now {version_now}")
    for case, row in after["rows"].items():
        old = before["rows"].get(case, {"outcomes": {}})["outcomes"]
        for name in after["versions"]:
            was, now = old.get(name, ["the same"])[0], row["outcomes"].get(name, ["the same"])[0]
            if was != now:
                lines.append(f"{case}: {name} was {was}, now {now} ({row['outcomes'].get(name, ['', ''])[1]})")
    return lines


def load() -> dict[str, Any]:
    """The outcomes as they are."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def save(outcomes: Mapping[str, Any]) -> None:
    """Write the outcomes."""
    FILE.write_text(json.dumps(outcomes, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
