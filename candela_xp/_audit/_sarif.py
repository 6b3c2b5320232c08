"""The report as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from candela_xp._audit._findings import Certainty, Finding, Harm, Rule
from candela_xp._audit._report import EFFECTS, HARM_NAMES, Report, alike
from candela_xp._audit._sources import Note, visible

_LEVELS: Final[Mapping[Harm, str]] = {
    "silent value": "error",
    "silent dtype": "error",
    "error or value": "warning",
    "refused": "warning",
    "recomputed": "note",
}

# What code hosts sort by.
_PRECISIONS: Final[Mapping[Certainty, str]] = {
    "seen in arguments": "high",
    "depends on values": "medium",
    "aliasing possible": "medium",
}

_ROOT = "%SRCROOT%"  # the name that code hosts and viewers know


def text(report: Report) -> str:
    """The report as SARIF; described in docs/audit-reports.md."""
    findings = report.loud + report.silenced
    rules = {each.rule.id: each.rule for each in findings}
    numbers = {name: number for number, name in enumerate(sorted(rules))}
    run = {
        "tool": {
            "driver": {
                "name": "candela_xp audit",
                "rules": [_rule(report, rules[name]) for name in numbers],
            }
        },
        "originalUriBaseIds": {_ROOT: {"uri": _uri(str(report.root)) + "/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,  # of the audit; how the script ended is its own status
                "toolExecutionNotifications": [_notification(report, each) for each in report.notes],
            }
        ],
        "results": [_result(report, each, numbers[each.rule.id]) for each in findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(report: Report, rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.call},
        "fullDescription": {"text": f"{rule.call}: {HARM_NAMES[rule.harm]}. The standard: {rule.standard}."},
        "help": {"text": "\n".join(_help(report, rule)), "markdown": "\n\n".join(_help(report, rule))},
        "defaultConfiguration": {"level": _LEVELS[rule.harm]},
        "properties": {
            "tags": ["portability", rule.group],
            "precision": _PRECISIONS[rule.certainty],
            "problem.severity": _LEVELS[rule.harm].replace("note", "recommendation"),
        },
    }


def _help(report: Report, rule: Rule) -> list[str]:
    found = [f"The standard: {rule.standard}.", f"Expected: {rule.reference}"]
    for effect, details in report.outcomes(rule).items():
        found += [f"{names} {EFFECTS[effect]}: {detail}" for names, detail in alike(details)]
    measured = ", ".join(f"{name} {each}" for name, each in report.versions(rule).items())
    return [*found, f"Instead: {rule.advice}", f"Certainty: {rule.certainty}. Measured on {measured or 'no version'}."]


def _result(report: Report, finding: Finding, number: int) -> dict[str, Any]:
    rule = finding.rule
    effects = [f"{', '.join(details)} {EFFECTS[effect]}" for effect, details in report.outcomes(rule).items()]
    message = f"{rule.call}: {'; '.join(effects)}. Seen: {visible(finding.operation)}. Instead: {rule.advice}"
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "ruleIndex": number,
        "level": _LEVELS[rule.harm],
        "message": _message(message),
        "locations": [_location(report, finding.file, finding.line)],
        "occurrenceCount": max(finding.hits, 1),
        "properties": {
            "hits": finding.hits,
            "operation": visible(finding.operation),
            "harm": rule.harm,
            "certainty": rule.certainty,
        },
    }
    if finding.silenced is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.silenced}]
    return result


def _message(text: str) -> dict[str, str]:
    """A message; braces would be placeholders (SARIF 2.1.0, 3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _location(report: Report, file: str, line: int) -> dict[str, Any]:
    relative = report.relative(file)
    artifact = {"uri": _uri(relative), "uriBaseId": _ROOT} if relative is not None else {"uri": _uri(file)}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if line > 0:
        shown = report.lines.get((file, line))
        snippet = {} if shown is None else {"snippet": {"text": shown}}
        physical["region"] = {"startLine": line, **snippet}
    return {"physicalLocation": physical}


def _notification(report: Report, note: Note) -> dict[str, Any]:
    found: dict[str, Any] = {"level": "warning", "message": _message(note.text)}
    if note.file:
        found["locations"] = [_location(report, note.file, note.line)]
    return found


def _uri(path: str) -> str:
    """A path as a URI: bytes that no encoding explains are escaped as they are."""
    if Path(path).is_absolute():
        # as_uri would refuse names that aren't UTF-8; on Windows it knows about drives
        return Path(path).as_uri() if os.name == "nt" else "file://" + quote(os.fsencode(path))
    # A colon in the first part would read as a scheme.
    return quote(path.encode("utf-8", "surrogateescape"))
