"""Reports of an audit: every format shows every finding, and nothing that a program's source holds takes them over."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from audit_standin import BACKENDS, RULES, VERSIONS
from hypothesis import given
from hypothesis import strategies as st

from candela_xp._audit import _html, _json, _sarif, _sources, _terminal
from candela_xp._audit._findings import HARMS, Audit, Finding
from candela_xp._audit._report import EFFECTS, HARM_NAMES, Report, alike, failing
from candela_xp._commands._draw import Style

HOSTILE = "<script>alert(1)</script><img src=http://x.example/ onerror='x'>\x1b[31m\x07\u202e\"&"


def audit_of(*findings, backends=BACKENDS):
    return Audit(backends, VERSIONS, list(findings))


def report_of(*findings, root=Path("/nowhere"), backends=BACKENDS):
    return Report.of(audit_of(*findings, backends=backends), set(RULES), root)


@pytest.fixture
def source(tmp_path):
    """Writes a source file and makes findings in it."""

    def write(text, *findings, name="code.py"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return report_of(*(Finding(RULES[rule], str(path), line, 1, "op") for rule, line in findings), root=tmp_path)

    return write


@pytest.fixture
def everything(source):
    """A report with findings of all harms, one of them silenced, and a note."""
    return source(
        "y += 1\nx[0] = 9\nlen(x)  # portability: ok len the rows are few\nzeros(3)\nlen(x)  # portability: ok len\n",
        *(("setitem-int", 2), ("iadd-alias", 1), ("len", 3), ("default-float", 4), ("len", 5), ("newer-name", 4)),
    )


# -- sources ---------------------------------------------------------------------------------------


def test_a_finding_gets_its_source_line(source):
    report = source("import x\n\n\ty += 1\r\nz\n", ("iadd-alias", 3))
    assert report.line(report.loud[0]) == "y += 1"


@pytest.mark.parametrize("reason", ["x is ours", "- x is ours", ": x is ours", "(x is ours)"])
def test_a_comment_with_a_reason_silences_its_rule_on_its_line(source, reason):
    report = source(f"y += 1  # portability: ok iadd-alias {reason}\n", ("iadd-alias", 1), ("len", 1))
    assert [each.rule.id for each in report.loud] == ["len"]
    assert [each.silenced for each in report.silenced] == ["x is ours"]
    assert report.notes == ()


def test_a_comment_silences_several_rules(source):
    report = source("f()  # noqa # portability: ok iadd-alias, len both copied  # x\n", ("iadd-alias", 1), ("len", 1))
    assert [each.silenced for each in report.silenced] == ["both copied"] * 2


def test_a_comment_silences_no_other_line(source):
    report = source("a  # portability: ok len few\nb\n", ("len", 2))
    assert len(report.loud) == 1


@pytest.mark.parametrize("rest", ["", " ", ":", "  # noqa"])
def test_a_comment_without_a_reason_silences_nothing_and_is_reported(source, rest):
    report = source(f"a  # portability: ok len{rest}\n", ("len", 1))
    assert len(report.loud) == 1
    assert [(note.line, "no reason" in note.text) for note in report.notes] == [(1, True)]


def test_a_comment_without_a_rule_is_reported(source):
    report = source("a  # portability: ok\n", ("len", 1))
    assert len(report.loud) == 1
    assert ["names no rule" in note.text for note in report.notes] == [True]


def test_an_unknown_rule_in_a_comment_is_reported_with_the_known(source):
    report = source("a  # portability: ok iadd-allias why not\n", ("iadd-alias", 1))
    assert len(report.loud) == 1
    first, last = report.notes
    assert first.text == "no rule is called iadd-allias; close to it: iadd-alias"
    assert last.text == "known rules: default-float, iadd-alias, len, newer-name, setitem-int"


def test_a_string_that_looks_like_a_comment_silences_nothing(source):
    report = source('"""\n# portability: ok len why\n"""; f("# portability: ok len why")\n', ("len", 2), ("len", 3))
    assert (len(report.loud), report.notes) == (2, ())


def test_other_comments_on_portability_are_left_alone(source):
    report = source("a  # portability: see the guide\nb  # portability: okay\n", ("len", 1), ("len", 2))
    assert (len(report.loud), report.notes) == (2, ())


def test_comments_count_up_to_where_a_file_is_no_longer_python(source):
    report = source("a  # portability: ok len why\n(((\n", ("len", 1))
    assert len(report.silenced) == 1


@pytest.mark.parametrize(
    "content",
    [
        "y = 'é'\n".encode("latin-1"),
        "# coding: latin-1\ny = 'é'\n".encode("latin-1"),
        b"# coding: no-such-thing\ny\n",
        b"\xff\xfe\x00\n\x00\ny",
        b"",
    ],
)
def test_sources_in_any_encoding_are_read(source, content):
    report = source(content, ("len", 1), ("len", 2))
    for write in (_terminal.text, _json.text, _sarif.text, _html.text):
        assert "len" in write(report)


def test_a_declared_encoding_is_obeyed(source):
    report = source("# coding: latin-1\ny = 'é'\n".encode("latin-1"), ("len", 2))
    assert report.line(report.loud[0]) == "y = 'é'"


@pytest.mark.parametrize("file", ["/no/such/file.py", "<stdin>", "/", "a\0b", "/x\udcff.py", "", "zip.zip/mod.py"])
@pytest.mark.parametrize("line", [1, 0, 10**9])
def test_a_finding_without_a_source_stands_without_its_line(file, line):
    report = report_of(Finding(RULES["len"], file, line, 3, "op"))
    assert report.line(report.loud[0]) is None
    for write in (_terminal.text, _json.text, _sarif.text, _html.text):
        write(report).encode("utf-8")
    assert json.loads(_json.text(report))["findings"][0]["source"] is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    report = report_of(Finding(RULES["len"], str(tmp_path / "pipe.py"), 1, 1, "op"))
    assert report.lines == {}


def test_a_line_made_by_a_program_is_cut(source):
    report = source("x = '" + "a" * 10**6 + "'\n", ("len", 1))
    assert len(report.line(report.loud[0])) == _sources.SHOWN_CHARACTERS


@given(st.text())
def test_what_is_shown_holds_nothing_that_a_terminal_obeys(text):
    shown = _sources.visible(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


# -- what reports share ----------------------------------------------------------------------------


def test_findings_come_worst_first(everything):
    harms = [HARMS.index(each.rule.harm) for each in everything.loud]
    assert harms == sorted(harms)
    assert everything.summary() == "5 findings in 1 file, 1 silenced"


def test_outcomes_are_those_of_the_backends_asked_about():
    report = report_of(Finding(RULES["iadd-alias"], "a", 1, 1, "op"), backends=("dask", "torch"))
    assert report.outcomes(RULES["iadd-alias"]) == {"differs": {"dask": "x is [1, 2]"}}
    assert report.versions(RULES["iadd-alias"]) == {"dask": "2026.8.0"}
    for write in (_terminal.text, _json.text, _sarif.text, _html.text):
        assert "jax 0.10" not in write(report)
        assert "jax, dask" not in write(report)
    assert list(json.loads(_json.text(report))["rules"]["iadd-alias"]["outcomes"]) == ["dask"]


def test_backends_with_one_outcome_are_told_together():
    assert alike({"jax": "1", "torch": "2", "jax_jit": "1"}) == [("jax, jax_jit", "1"), ("torch", "2")]
    assert "jax, dask: x is [1, 2]" in _terminal.text(report_of(Finding(RULES["iadd-alias"], "a", 1, 1, "op")))


def test_failing_is_what_refuses_or_differs_and_is_not_silenced():
    findings = [Finding(RULES[rule], "a", 1, 1, "op") for rule in ("iadd-alias", "len")]
    silenced = Finding(RULES["iadd-alias"], "a", 2, 1, "op", silenced="because")
    assert failing(audit_of(*findings, silenced), ["dask"]) == [findings[0]]
    assert failing(audit_of(*findings), ["torch"]) == []
    assert failing(audit_of(silenced), ["jax", "dask"]) == []


def test_an_audit_survives_the_way_to_another_process():
    audit = audit_of(*(Finding(rule, f"/x/{HOSTILE}\udcff", 3, 2, HOSTILE) for rule in RULES.values()))
    assert _json.dumped(audit).isascii()
    assert _json.loaded(_json.dumped(audit)) == audit


def test_merging_adds_the_hits_of_a_rule_on_a_line():
    def part(hits):
        return audit_of(*(Finding(RULES["len"], "a", line, hits, f"from {hits}") for line in (1, 2)))

    merged = _json.merged([part(1), part(10), audit_of(Finding(RULES["iadd-alias"], "a", 1, 100, ""))])
    found = [(each.rule.id, each.line, each.hits, each.operation) for each in merged.findings]
    assert found == [("len", 1, 11, "from 1"), ("len", 2, 11, "from 1"), ("iadd-alias", 1, 100, "")]


SHOWN_EVERYWHERE = [
    "iadd-alias",
    "y += 1",
    "left open: whether x changes",
    "x is [1, 2]",
    "TypeError: JAX arrays are immutable",
    "3, computed again",
    "float32",
    "aliasing possible",
    "seen in arguments",
    "depends on values",
    "fails where value has more axes",
    "0.10.2",
    "the rows are few",
    "gives no reason",
]


@pytest.mark.parametrize("write", [_terminal.text, _json.text, _sarif.text, _html.text])
def test_every_format_says_everything(everything, write):
    # A text is wrapped: compared without spaces.
    written = "".join(write(everything).split())
    assert [each for each in SHOWN_EVERYWHERE if each.replace(" ", "") not in written] == []


@pytest.mark.parametrize("write", [_terminal.text, _json.text, _sarif.text, _html.text])
def test_every_format_stands_an_audit_that_found_nothing(write):
    assert write(report_of())


# -- terminal --------------------------------------------------------------------------------------


def width(line):
    return _terminal.columns(re.sub(r"\x1b\[[0-9;]*m", "", line))


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize(
    "name", ["code.py", "a long name with spaces " * 6 + ".py", "界" * 60 + ".py", "x" * 200 + ".py"]
)
def test_no_line_is_wider_than_the_terminal(source, columns, colour, name):
    report = source("界" * 100 + "\ny += 1  # portability: ok nothing\n", ("iadd-alias", 1), ("len", 2), name=name)
    lines = _terminal.lines(report, Style(columns, colour))
    assert [line for line in lines if width(line) > columns] == []


def test_the_table_is_sorted_by_harm(everything):
    head, *rows = _terminal.lines(everything, Style(120))[:6]
    assert head.split() == ["harm", "hits", "rule", "place", "backends"]
    assert [row[: len("silent value")].strip() for row in rows] == [
        "silent value",
        "silent dtype",
        "refused",
        "refused",
        "recomputed",
    ]
    assert rows[0].split() == ["silent", "value", "1", "iadd-alias", "code.py:1", "jax", "dask"]


def test_a_narrow_table_loses_nothing(everything):
    assert _terminal.lines(everything, Style(40))[:6] == [
        "harm          hits  rule",
        "    place",
        "    backends",
        "silent value     1  iadd-alias",
        "    code.py:1",
        "    jax dask",
    ]


def test_a_summary_shows_the_worst_and_says_how_many_are_left(tmp_path):
    findings = [Finding(RULES["len"], str(tmp_path / "a.py"), line, 1, "op") for line in range(1, 101)]
    report = report_of(*findings, Finding(RULES["iadd-alias"], str(tmp_path / "b.py"), 1, 1, "op"), root=tmp_path)
    lines = _terminal.summary(report, Style(100))
    assert lines[1].startswith("silent value")
    assert lines[_terminal.SUMMARY_ROWS + 1] == f"... and {101 - _terminal.SUMMARY_ROWS} more findings"
    assert sum("a.py" in line for line in _terminal.lines(report, Style(100))) == 200


def test_colours_only_where_the_style_has_them(everything):
    assert "\x1b" not in "".join(_terminal.lines(everything, Style(80)))
    assert "\x1b[31msilent value\x1b[0m" in "".join(_terminal.lines(everything, Style(80, colour=True)))


def test_a_terminal_without_unicode_gets_ascii(source):
    report = source("é = '界'\n", ("len", 1))
    assert "\n".join(_terminal.lines(report, Style(80, unicode=False))).isascii()


def test_escapes_in_sources_do_not_reach_the_terminal(source):
    report = source(f"x = '{HOSTILE}'\n", ("len", 1))
    hostile = Report(
        Audit(BACKENDS, VERSIONS, [Finding(RULES["len"], f"/{HOSTILE}", 1, 1, HOSTILE)]), Path("/"), report.lines, ()
    )
    for each in (report, hostile):
        assert re.search(r"[^\n -~…≠]", _terminal.text(each)) is None


# -- JSON ------------------------------------------------------------------------------------------


def test_json_names_places_below_the_root(everything):
    content = json.loads(_json.text(everything))
    assert content["format"] == _json.FORMAT
    assert {each["file"] for each in content["findings"]} == {"code.py"}
    assert content["root"] == str(everything.root)
    assert [each["rule"] for each in content["findings"]] == [
        "iadd-alias",
        "default-float",
        "setitem-int",
        "newer-name",
        "len",
        "len",
    ]
    assert set(content["rules"]) == set(RULES)
    assert content["rules"]["setitem-int"]["outcomes"]["jax"]["effect"] == "refuses"
    assert content["findings"][-1]["silenced"] == "the rows are few"
    assert content["findings"][0]["source"] == "y += 1"
    assert [(each["file"], each["line"]) for each in content["notes"]] == [("code.py", 5)]


# -- SARIF -----------------------------------------------------------------------------------------


def test_sarif_has_what_its_schema_requires(everything):
    log = json.loads(_sarif.text(everything))
    assert set(log) >= {"version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(RULES)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert {"text", "markdown"} <= set(rule["help"])
    for result in run["results"]:
        assert result["message"]["text"]
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["occurrenceCount"] >= 1
        for location in result["locations"]:
            assert location["physicalLocation"]["region"]["startLine"] >= 1
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert notification["message"]["text"]


def test_sarif_levels_follow_harm(everything):
    levels = {each["ruleId"]: each["level"] for each in json.loads(_sarif.text(everything))["runs"][0]["results"]}
    assert levels == {
        "iadd-alias": "error",
        "default-float": "error",
        "setitem-int": "warning",
        "newer-name": "warning",
        "len": "note",
    }


def test_sarif_keeps_silenced_findings_as_suppressed(everything):
    results = json.loads(_sarif.text(everything))["runs"][0]["results"]
    suppressed = [each["suppressions"] for each in results if "suppressions" in each]
    assert suppressed == [[{"kind": "inSource", "justification": "the rows are few"}]]


def test_sarif_messages_have_no_placeholders():
    report = report_of(Finding(RULES["len"], "a", 1, 1, "f({0}, {})"))
    (result,) = json.loads(_sarif.text(report))["runs"][0]["results"]
    assert "f({{0}}, {{}})" in result["message"]["text"]
    assert result["properties"]["operation"] == "f({0}, {})"


@pytest.mark.parametrize("name", ["a b#c%?.py", "é.py", "ü/../x.py"])
def test_sarif_places_are_uris_relative_to_the_root(tmp_path, name):
    report = report_of(Finding(RULES["len"], str(tmp_path / name), 7, 1, "op"), root=tmp_path)
    run = json.loads(_sarif.text(report))["runs"][0]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
    assert unquote_to_bytes(uri) == name.encode()
    root = run["originalUriBaseIds"][place["artifactLocation"]["uriBaseId"]]["uri"]
    assert root.startswith("file:///")
    assert root.endswith("/")


def test_sarif_places_outside_the_root_are_absolute(tmp_path):
    report = report_of(Finding(RULES["len"], str(tmp_path / "a.py"), 0, 1, "op"))
    place = json.loads(_sarif.text(report))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": (tmp_path / "a.py").as_uri()}}


# -- HTML ------------------------------------------------------------------------------------------

VOID = {"meta", "br", "img", "link", "input", "hr"}
ALLOWED = set(
    "html head meta title style body header h1 h2 h3 p nav ul li a main section details summary article dl dt dd pre "
    "code span strong div br footer".split()
)


class Page(HTMLParser):
    """What a page holds: elements, their attributes, text; notes elements that are closed in the wrong order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open, self.wrong = [], [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words.append(data)

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


def test_the_page_is_well_formed_and_asks_nobody_for_anything(everything):
    page = Page(_html.text(everything))
    assert page.wrong == []
    assert set(page.tags) <= ALLOWED
    assert not {"src", "srcset", "onclick", "onerror", "style"} & {key for _, key, _ in page.attributes}
    assert all(link.startswith(("#", "audit-rules.html#")) for link in page.values("href"))
    assert "url(" not in _html.text(everything)
    assert any("default-src 'none'" in value for value in page.values("content"))


def test_links_in_the_page_lead_somewhere(everything):
    page = Page(_html.text(everything))
    targets = page.values("id")
    assert len(set(targets)) == len(targets)
    links = [link[1:] for link in page.values("href") if link.startswith("#")]
    assert set(links) <= set(targets)
    assert {f"rule-{each.rule.id}" for each in everything.loud} <= set(links)
    assert "audit-rules.html#iadd-alias" in page.values("href")


def test_the_page_goes_by_backend_by_rule_and_by_file(everything):
    words = " ".join(Page(_html.text(everything)).words)
    for title in (
        "By backend",
        "By rule",
        "By file",
        "Silenced",
        "Notes",
        "jax 0.10.2: 2 findings",
        "revision 2022.12: 1 finding",
        "code.py: 5 findings",
    ):
        assert title in words


@pytest.mark.parametrize("place", ["source", "file", "operation", "reason", "rule", "root"])
def test_nothing_in_the_page_comes_alive(source, place, tmp_path):
    rule = RULES["len"]
    comment = f"# portability: ok len {HOSTILE}" if place == "reason" else ""
    text = f"x = '{HOSTILE if place == 'source' else ''}'  {comment}\n# portability: ok {HOSTILE}\n"
    report = source(text, ("len", 1))
    (found,) = report.audit.findings
    found.operation = HOSTILE if place == "operation" else "op"
    found.file = f"/tmp/{HOSTILE}" if place == "file" else found.file
    root = Path(f"/{HOSTILE}") if place == "root" else report.root
    if place == "rule":
        found.rule = type(rule)(
            *("a b",) + (HOSTILE,) * 2, rule.harm, rule.certainty, HOSTILE, HOSTILE, rule.outcomes, HOSTILE
        )
    text = _html.text(Report(report.audit, root, report.lines, report.notes))
    page = Page(text)
    assert page.wrong == []
    assert set(page.tags) <= ALLOWED
    assert not {"src", "onerror"} & {key for _, key, _ in page.attributes}
    assert re.search(r"[^\n -~…≠✕↻·]", text) is None
    if place != "root":
        assert any("alert(1)" in word for word in page.words)


def test_every_harm_and_effect_has_a_name_and_a_form():
    assert set(HARM_NAMES) == set(HARMS) == set(_html._HARM_CLASSES) == set(_sarif._LEVELS)
    assert set(EFFECTS) == set(_html._MARKS)


def test_a_page_of_many_findings_stays_a_page(tmp_path):
    findings = [
        Finding(RULES["len"], str(tmp_path / f"{file}.py"), line, 1, "op")
        for file in range(50)
        for line in range(1, 41)
    ]
    assert _html.text(report_of(*findings, root=tmp_path)).count("<pre>") == 0
    assert len(_html.text(report_of(*findings, root=tmp_path))) < 5_000_000
