"""An audit as JSON: the report for programs, and the form in which processes hand findings to each other."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from candela_xp._audit._findings import Audit, Finding, Outcome, Rule
from candela_xp._audit._report import Report
from candela_xp._audit._sources import visible

FORMAT = 1
"""Changes when a program that reads the report would have to."""


def text(report: Report) -> str:
    """The report as JSON; described in docs/audit-reports.md."""
    plain = _plain(report.audit)
    for row in plain["rules"].values():
        row["outcomes"] = {name: row["outcomes"][name] for name in report.names if name in row["outcomes"]}
    findings = []
    for finding in report.loud + report.silenced:
        found = _plain_finding(finding)
        found["file"] = report.file(finding.file)
        findings.append({**found, "source": report.line(finding)})
    content = {
        "format": FORMAT,
        "root": visible(str(report.root)),
        "summary": report.summary(),
        "backends": plain["backends"],
        "versions": plain["versions"],
        "rules": plain["rules"],
        "findings": findings,
        "notes": [
            {"file": report.file(each.file) if each.file else None, "line": each.line or None, "text": each.text}
            for each in report.notes
        ],
    }
    return json.dumps(content, indent=2) + "\n"


def dumped(audit: Audit) -> str:
    """An audit as one line of ASCII for another process."""
    return json.dumps(_plain(audit))


def loaded(line: str) -> Audit:
    """The audit that `dumped` was given."""
    plain = json.loads(line)
    rules = {
        name: Rule(id=name, **{**row, "outcomes": {key: Outcome(**each) for key, each in row["outcomes"].items()}})
        for name, row in plain["rules"].items()
    }
    findings = [Finding(**{**row, "rule": rules[row["rule"]]}) for row in plain["findings"]]
    return Audit(tuple(plain["backends"]), plain["versions"], findings)


def merged(audits: Iterable[Audit]) -> Audit:
    """One audit from those of several processes: hits of a rule and line are added."""
    first, *others = audits
    found: dict[tuple[str, str, int], Finding] = {}
    for audit in (first, *others):
        for each in audit.findings:
            key = (each.rule.id, each.file, each.line)
            earlier = found.get(key)
            found[key] = dataclasses.replace(earlier or each, hits=each.hits + (earlier.hits if earlier else 0))
    return dataclasses.replace(first, findings=list(found.values()))


def _plain(audit: Audit) -> dict[str, Any]:
    rules = {each.rule.id: each.rule for each in audit.findings}
    return {
        "backends": list(audit.backends),
        "versions": dict(audit.versions),
        "rules": {name: _plain_rule(rules[name]) for name in sorted(rules)},
        "findings": [_plain_finding(each) for each in audit.findings],
    }


def _plain_rule(rule: Rule) -> dict[str, Any]:
    row: dict[str, Any] = {each.name: getattr(rule, each.name) for each in dataclasses.fields(rule)}
    del row["id"]
    row["outcomes"] = {name: dataclasses.asdict(each) for name, each in rule.outcomes.items()}
    return row


def _plain_finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule.id,
        "file": finding.file,
        "line": finding.line,
        "hits": finding.hits,
        "operation": finding.operation,
        "silenced": finding.silenced,
    }
