"""The report as one HTML page that needs nothing else: no script, no request, readable on a phone and by keyboard."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Final
from zlib import crc32

from candela_xp._audit._findings import Effect, Finding, Harm, Rule
from candela_xp._audit._report import EFFECTS, HARM_NAMES, Report, alike, counted, hits
from candela_xp._audit._sources import visible

RULE_PAGES = "audit-rules.html"
"""Page of the documentation with a section for each rule."""

_HARM_CLASSES: Final[Mapping[Harm, str]] = {
    "silent value": "silent",
    "silent dtype": "silent",
    "error or value": "loud",
    "refused": "loud",
    "recomputed": "slow",
}

_CLASSES: Final = ("silent", "loud", "slow")

_MARKS: Final[Mapping[Effect, str]] = {"differs": "≠", "refuses": "✕", "recomputes": "↻"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --card: #f5f7f9;
  --line: #d5dae0; --link: #0a58ca; --silent: #b3261e; --loud: #8a5300; --slow: #3d5a80; --code: #eaeef2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #a3adb8; --paper: #14171b; --card: #1d2126;
  --line: #39414a; --link: #7db4ff; --silent: #ff8a80; --loud: #f0b75e; --slow: #9fc0e8; --code: #262c33; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 1rem; border-bottom: 2px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1.05rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
nav { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); z-index: 1; }
nav ul { max-width: 68rem; margin: 0 auto; padding: .25rem 1rem; list-style: none; display: flex; overflow-x: auto; }
nav a { display: block; padding: .5rem .75rem .5rem 0; white-space: nowrap; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
article, details { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem;
  margin: 0 0 1rem; }
article:target, span:target { box-shadow: 0 0 0 2px var(--link); border-radius: 5px; }
summary { cursor: pointer; padding: .25rem 0; }
summary h3 { display: inline; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
code { overflow-wrap: anywhere; }
pre { background: var(--code); border-radius: 5px; margin: .35rem 0; padding: .4rem .6rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: 12rem 1fr; gap: .35rem 1rem; margin: .75rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
ul.plain { list-style: none; margin: 0; padding: 0; }
ul.plain > li { border-top: 1px solid var(--line); padding: .5rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.badge { font-size: .8rem; font-weight: 600; border: 1px solid currentColor; border-radius: 99px;
  padding: .05rem .55rem; white-space: nowrap; }
.silent { color: var(--silent); } .loud { color: var(--loud); } .slow { color: var(--slow); }
.numbers { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
.numbers li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .4rem .8rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; }
  article, details { padding: .75rem; } }
@media print { nav { display: none; } }
"""


def text(report: Report) -> str:
    """The report as a page. Everything that comes from the user's code is escaped."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    # The policy allows the page nothing but its own style: no script could run even if one got in.
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Portability audit: {_shown(report.summary())}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    )
    yield '<a class="skip" href="#main">Skip to the findings</a>'
    yield f"<header>\n<h1>Portability audit</h1>\n<p>{_shown(report.summary())}.</p>"
    yield from _numbers(report)
    yield f'<p class="soft">Run in <code>{_shown(str(report.root))}</code></p>\n</header>'
    sections = {"backends": "By backend"}
    sections |= {"rules": "By rule", "files": "By file"} if report.loud else {}
    sections |= {"silenced": "Silenced"} if report.silenced else {}
    sections |= {"notes": "Notes"} if report.notes else {}
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in sections.items())
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main id="main" tabindex="-1">'
    bodies = {
        "backends": _backends(report),
        "rules": _rules(report),
        "files": _files(report),
        "silenced": _silenced(report),
        "notes": _notes(report),
    }
    for name, title in sections.items():
        yield f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>'
        yield from bodies[name]
        yield "</section>"
    yield '</main>\n<footer>\n<p class="soft">Measured on '
    versions = report.audit.versions
    yield ", ".join(_shown(f"{name} {versions[name]}") for name in report.audit.backends if name in versions)
    yield "</p>\n</footer>\n</body>\n</html>"


def _numbers(report: Report) -> Iterator[str]:
    """Findings by harm."""
    if not report.loud:
        return
    yield '<ul class="numbers">'
    for harm in HARM_NAMES:
        number = sum(each.rule.harm == harm for each in report.loud)
        if number:
            yield f"<li><strong>{number}</strong> {_badge(harm)}</li>"
    yield "</ul>"


def _backends(report: Report) -> Iterator[str]:
    """For each backend the rules that it breaks, with its outcome and the places."""
    if not report.loud:
        yield "<p>Nothing was found.</p>"
    for name in report.names:
        groups = [(rule, found) for rule, found in report.by_rule() if name in rule.outcomes]
        if not groups:
            continue
        number = sum(len(found) for _, found in groups)
        version = report.audit.versions.get(name, "")
        title = f"<h3>{_shown(f'{name} {version}'.strip())}: {counted(number, 'finding')}</h3>"
        yield f"<details open>\n<summary>{title}</summary>"
        yield '<ul class="plain">'
        # Worst first for this backend, which may refuse what others answer silently.
        for rule, found in sorted(groups, key=lambda each: _CLASSES.index(_effect_class(each[0], name))):
            outcome = rule.outcomes[name]
            effect = f"{_MARKS[outcome.effect]} {EFFECTS[outcome.effect]}"
            yield f'<li><span class="badge {_effect_class(rule, name)}">{effect}</span> {_rule_link(rule)}'
            yield f"<code>{_shown(rule.call)}</code><br><code>{_shown(outcome.detail)}</code><br>"
            yield f'<span class="soft">{", ".join(_place(report, each) for each in found)}</span></li>'
        yield "</ul>\n</details>"


def _rules(report: Report) -> Iterator[str]:
    """Each rule in full, with its places."""
    for rule, found in report.by_rule():
        yield f'<article id="rule-{_shown(rule.id)}">\n<h3><code>{_shown(rule.call)}</code></h3>'
        number = f"{counted(len(found), 'place')}, {counted(hits(found), 'hit')}"
        page = f'<a href="{RULE_PAGES}#{_shown(rule.id)}">documentation of {_shown(rule.id)}</a>'
        yield f"<p>{_badge(rule.harm)} {number} · {page}</p>\n<dl>"
        yield from _term("The standard", _shown(rule.standard))
        yield from _term("Expected", f"<code>{_shown(rule.reference)}</code>")
        for effect, details in report.outcomes(rule).items():
            each = (
                f"<strong>{_shown(names)}</strong> <code>{_shown(detail)}</code>" for names, detail in alike(details)
            )
            yield from _term(f"{_MARKS[effect]} {EFFECTS[effect]}", "<br>".join(each))
        yield from _term("Certainty", _shown(rule.certainty))
        yield from _term("Portable way", _shown(rule.advice))
        measured = ", ".join(f"{name} {version}" for name, version in report.versions(rule).items())
        yield from _term("Measured on", _shown(measured))
        yield '</dl>\n<ul class="plain">'
        yield from (_finding(report, each, _place(report, each)) for each in found)
        yield "</ul>\n</article>"


def _files(report: Report) -> Iterator[str]:
    """Each file with the lines on which something was found."""
    for file, found in report.by_file():
        title = f"<h3>{_shown(report.file(file))}: {counted(len(found), 'finding')}</h3>"
        yield f'<details open>\n<summary>{title}</summary>\n<ul class="plain">'
        for each in found:
            title = (
                f'<span id="{_anchor(each)}">line {each.line}</span> {_badge(each.rule.harm)} {_rule_link(each.rule)}'
            )
            outcomes = report.outcomes(each.rule).items()
            effects = "; ".join(f"{', '.join(details)} {EFFECTS[effect]}" for effect, details in outcomes)
            yield _finding(report, each, title, f"<div>{_shown(effects)}; instead: {_shown(each.rule.advice)}</div>")
        yield "</ul>\n</details>"


def _silenced(report: Report) -> Iterator[str]:
    yield '<ul class="plain">'
    for each in report.silenced:
        place = _shown(report.place(each.file, each.line))
        reason = _shown(each.silenced or "")
        yield _finding(report, each, f"{place} · {_shown(each.rule.id)} · {reason}")
    yield "</ul>"


def _notes(report: Report) -> Iterator[str]:
    yield '<ul class="plain">'
    for each in report.notes:
        place = f"{_shown(report.place(each.file, each.line))}: " if each.file else ""
        yield f"<li>{place}{_shown(each.text)}</li>"
    yield "</ul>"


def _finding(report: Report, finding: Finding, title: str, more: str = "") -> str:
    line = report.line(finding)
    source = f"<pre>{_shown(line)}</pre>" if line is not None else ""
    seen = f'<span class="soft">seen</span> <code>{_shown(finding.operation)}</code>'
    return f"<li>{title} · {counted(finding.hits, 'hit')}{source}<div>{seen}</div>{more}</li>"


def _term(term: str, description: str) -> Iterable[str]:
    return (f"<dt>{term}</dt>", f"<dd>{description}</dd>") if description else ()


def _badge(harm: Harm) -> str:
    return f'<span class="badge {_HARM_CLASSES[harm]}">{HARM_NAMES[harm]}</span>'


def _effect_class(rule: Rule, backend: str) -> str:
    """How bad a rule is on one backend: only a different answer can be silent."""
    effect = rule.outcomes[backend].effect
    if effect == "differs":
        return _HARM_CLASSES[rule.harm]
    return "slow" if effect == "recomputes" else "loud"


def _rule_link(rule: Rule) -> str:
    return f'<a href="#rule-{_shown(rule.id)}">{_shown(rule.id)}</a>'


def _place(report: Report, finding: Finding) -> str:
    return f'<a href="#{_anchor(finding)}">{_shown(report.place(finding.file, finding.line))}</a>'


def _anchor(finding: Finding) -> str:
    """The finding's place in the section on files; a number for the file, whose name may be anything."""
    return f"at-{crc32(os.fsencode(finding.file)):08x}-{finding.line}-{_shown(finding.rule.id)}"


def _shown(text: str) -> str:
    return escape(visible(text))
