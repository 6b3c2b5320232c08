"""The conformance harness: pins, fetching, planning, reading outcomes, the report. No network, no real suite."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance import _cache, _outcomes, _pins, _plan, _progress, _report, _results, _suite
from conformance.__main__ import main, options_of, parser
from conformance._results import Outcome, Row, Run

HERE = Path(_plan.__file__).parent
COMMITS = {revision.name: revision.pin.commit for revision in _pins.REVISIONS}
VERSIONS = {"Python": "3.11.7", "numpy": "2.4.6", "candela_xp": "0.1.0"}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="fetching is done by git")


def row(revision="2025.12", mode="default", **changes):
    made = Row(
        revision=revision,
        mode=mode,
        suite_commit=COMMITS.get(revision, ""),
        spec_commit="b" * 40,
        module="candela_xp",
        seeds=(0, 1),
        max_examples=100,
        deadline=True,
        variables=(),
        versions=VERSIONS,
        passed=3,
        skipped=(Outcome("array_api_tests/test_a.py::test_remainder[__mod__(x1, x2)]", "skipped", "flaky"),),
        failed=(),
    )
    return replace(made, **changes)


# What we hold ourselves to


@pytest.mark.parametrize("name", ["skips.txt", "xfails.txt"])
def test_no_test_of_the_suite_is_skipped_or_excused_by_us(name):
    assert (HERE / name).read_bytes() == b""


def test_each_revision_has_its_suite_and_its_module():
    table = {revision.name: (revision.pin.commit, revision.module) for revision in _pins.REVISIONS}
    old, new = "41379d15d26d67a1e66c840e775d41a8a7fb1516", "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
    assert table == {
        "2021.12": (old, "candela_xp.v2021_12"),
        "2022.12": (old, "candela_xp.v2022_12"),
        "2023.12": (new, "candela_xp.v2023_12"),
        "2024.12": (new, "candela_xp.v2024_12"),
        "2025.12": (new, "candela_xp"),
    }
    assert {pin.commit for pin in _pins.PINS} == {old, new}
    assert _pins.OLD.tag == "2026.02.26"


# The cache


def git(repository, *arguments):
    identity = {f"GIT_{role}_{part}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=repository, env=environment, capture_output=True, check=True)
    return done.stdout.decode().strip()


def commit(repository, files, submodule=None):
    """Commit files to a repository, made if need be; with the submodule's commit recorded as a gitlink."""
    if not repository.exists():
        repository.mkdir()
        git(repository, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
        git(repository, "add", name)
    if submodule is not None:
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{submodule},array-api")
    git(repository, "commit", "--quiet", "--message", "more")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def sources(tmp_path):
    """A specification and a suite of two commits, both no longer what a branch points to."""
    spec, suite = tmp_path / "spec", tmp_path / "suite"
    recorded = commit(spec, {"src/array_api_stubs/_2025_12/__init__.py": "# recorded\n"})
    commit(spec, {"src/array_api_stubs/_2025_12/__init__.py": "# later\n"})
    old = commit(suite, {"conftest.py": "# old\n"}, submodule=recorded)
    git(suite, "tag", "1999.12")
    new = commit(suite, {"conftest.py": "# new\n", "array_api_tests/test_a.py": ""}, submodule=recorded)
    commit(suite, {"conftest.py": "# newer than our pins\n"})
    pins = (_pins.Pin(old, tag="1999.12"), _pins.Pin(new))
    return SimpleNamespace(spec=spec, suite=suite, recorded=recorded, pins=pins)


def fetch(root, sources, **changes):
    arguments = {"suite_source": str(sources.suite), "spec_source": str(sources.spec), "pins": sources.pins} | changes
    return _cache.fetch(root, **arguments)


def tree(path):
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*")) if path.exists() else []


@needs_git
def test_fetch_fills_in_the_recorded_specification(tmp_path, sources):
    root = tmp_path / "cache" / "candela-xp"
    checkouts = fetch(root, sources)
    assert [checkout.commit for checkout in checkouts] == [pin.commit for pin in sources.pins]
    assert [checkout.spec_commit for checkout in checkouts] == [sources.recorded] * 2
    assert [(checkout.path / "conftest.py").read_text() for checkout in checkouts] == ["# old\n", "# new\n"]
    for checkout in checkouts:
        stubs = checkout.path / "array-api" / "src" / "array_api_stubs" / "_2025_12" / "__init__.py"
        assert stubs.read_text() == "# recorded\n"
        assert checkout == _cache.require(root, checkout.commit)
    assert sorted(path.name for path in root.iterdir()) == sorted(f"suite-{pin.commit}" for pin in sources.pins)


@needs_git
@pytest.mark.parametrize("kind", ["bare", "git directory", "url"])
def test_fetch_takes_every_kind_of_source(tmp_path, sources, kind):
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(sources.suite), str(bare))
    source = {"bare": str(bare), "git directory": str(sources.suite / ".git"), "url": bare.as_uri()}[kind]
    commits = [checkout.commit for checkout in fetch(tmp_path / "cache", sources, suite_source=source)]
    assert commits == [pin.commit for pin in sources.pins]


@needs_git
def test_fetch_reaches_commits_that_a_server_does_not_hand_out_by_hash(tmp_path, sources, monkeypatch):
    # Version 0 of git's protocol gives only what a branch or tag points to: one pin has a tag, one is an ancestor.
    for name, value in {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    commits = [checkout.commit for checkout in fetch(tmp_path / "cache", sources)]
    assert commits == [pin.commit for pin in sources.pins]


@needs_git
def test_a_second_fetch_leaves_the_cache_alone_and_needs_no_source(tmp_path, sources):
    root = tmp_path / "cache"
    first = fetch(root, sources)
    (first[0].path / "kept").touch()
    assert fetch(root, sources, suite_source="/nowhere", spec_source="/nowhere") == first
    assert (first[0].path / "kept").exists()


@needs_git
def test_fetch_replaces_a_checkout_that_was_never_completed(tmp_path, sources):
    root = tmp_path / "cache"
    half = _cache.checkout_path(root, sources.pins[0].commit)
    half.mkdir(parents=True)
    (half / "conftest.py").write_text("# half\n")
    assert _cache.find(root, sources.pins[0].commit) is None
    assert (fetch(root, sources)[0].path / "conftest.py").read_text() == "# old\n"


@pytest.mark.parametrize("marker", [None, "half a {", "[]", '{"commit": "another"}'])
def test_a_checkout_without_its_marker_is_not_complete(tmp_path, marker):
    path = _cache.checkout_path(tmp_path, "c")
    path.mkdir()
    if marker is not None:
        (path / "candela_xp_checkout.json").write_text(marker)
    with pytest.raises(_cache.UnavailableError, match="missing or incomplete"):
        _cache.require(tmp_path, "c")


@needs_git
def test_a_failed_fetch_leaves_nothing(tmp_path, sources, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setattr(_cache._Store, "export", lambda self, commit, to: (to.mkdir(), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        fetch(root, sources)
    assert tree(root) == []


@needs_git
def test_fetch_says_which_source_it_cannot_read(tmp_path, sources):
    root = tmp_path / "cache"
    with pytest.raises(_cache.UnavailableError, match=r"cannot read the suite from .*nowhere[\s\S]*--suite-source"):
        fetch(root, sources, suite_source=str(tmp_path / "nowhere"))
    with pytest.raises(_cache.UnavailableError, match=r"cannot read the specification[\s\S]*--spec-source"):
        fetch(root, sources, spec_source=str(tmp_path / "nowhere"))
    assert tree(root) == []


@needs_git
def test_fetch_says_which_commit_a_source_lacks(tmp_path, sources):
    other = tmp_path / "other"
    commit(other, {"file": ""})
    with pytest.raises(_cache.UnavailableError, match=f"has no commit {sources.recorded} of the specification"):
        fetch(tmp_path / "cache", sources, spec_source=str(other))
    assert tree(tmp_path / "cache") == []


@needs_git
def test_a_tag_that_was_moved_does_not_replace_the_pinned_commit(tmp_path, sources):
    moved = _pins.Pin("f" * 40, tag="1999.12")
    with pytest.raises(_cache.UnavailableError, match=f"has no commit {'f' * 40} of the suite"):
        fetch(tmp_path / "cache", sources, pins=(moved,))


@needs_git
def test_a_suite_without_submodule_is_refused(tmp_path, sources):
    plain = commit(tmp_path / "plain", {"conftest.py": ""})
    with pytest.raises(_cache.UnavailableError, match="records no submodule 'array-api'"):
        fetch(tmp_path / "cache", sources, suite_source=str(tmp_path / "plain"), pins=(_pins.Pin(plain),))


def test_fetch_without_git_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(_cache.UnavailableError, match="git isn't installed"):
        _cache.fetch(tmp_path / "cache", _pins.PINS, suite_source=str(tmp_path), spec_source=str(tmp_path))


def test_the_cache_follows_xdg_where_it_is_absolute(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _cache.cache_root({"XDG_CACHE_HOME": "/somewhere"}) == Path("/somewhere/candela-xp")
    assert _cache.cache_root({"XDG_CACHE_HOME": "here"}) == tmp_path / ".cache" / "candela-xp"
    assert _cache.cache_root({}) == tmp_path / ".cache" / "candela-xp"


# The command line


@needs_git
def test_the_fetch_command_prints_what_it_has(tmp_path, sources, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("conformance.__main__.PINS", sources.pins)
    assert main(["fetch", "--suite-source", str(sources.suite), "--spec-source", str(sources.spec)]) == 0
    assert capsys.readouterr().out.count(f"specification {sources.recorded}") == 2


@needs_git
def test_the_fetch_command_ends_with_2_without_a_source(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = str(tmp_path / "missing")
    assert main(["fetch", "--suite-source", missing, "--spec-source", missing]) == 2
    assert "--suite-source" in capsys.readouterr().err


def test_the_suite_command_ends_with_2_without_a_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_suite, "NEEDED", ())
    assert main(["suite", "--report-dir", str(tmp_path / "docs")]) == 2
    assert "\n    python -m conformance fetch\n" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["clients", "nobody"],
        ["suite", "--revision", "2020.12"],
        ["suite", "--mode", "lax"],
        ["suite", "--max-examples", "0"],
        ["suite", "--seeds", "0"],
        ["suite", "--seeds", "2", "--seed", "1"],
        ["suite", "--seed"],
        ["suite", "--env", "NAME"],
        ["suite", "--env", "=value"],
        ["fetch", "--suite-source"],
    ],
)
def test_wrong_arguments_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def options(*arguments):
    return options_of(parser().parse_args(["suite", *arguments]))


def test_arguments_become_plain_data():
    assert options() == _plan.Options()
    assert options("--seeds", "3").seeds == (0, 1, 2)
    assert options("--seed", "7", "5", "7").seeds == (7, 5)
    assert options("--mode", "both").modes == ("default", "strict")
    assert [revision.name for revision in options("--revision", "2022.12").revisions] == ["2022.12"]
    assert options("--env", "A=1=2", "--env", "B=").variables == (("A", "1=2"), ("B", ""))
    assert not options("--disable-deadline").deadline


def test_only_all_tests_of_candela_xp_are_reported():
    assert options("--revision", "2021.12", "--seeds", "2").reportable
    assert not options("--module", "numpy").reportable
    assert not options("-k", "sum").reportable


def test_missing_packages_are_named_with_the_way_to_get_them():
    def version_of(package):
        if package == "ndindex":
            raise _suite.PackageNotFoundError(package)
        return "1"

    with pytest.raises(_suite.UnavailableError, match=r"not installed: ndindex; run\n    .* -m pip install ndindex$"):
        _suite.check_packages(("pytest", "ndindex"), version_of)


# The plan


def test_tasks_run_revision_by_revision_in_each_mode():
    tasks = _plan.plan(options("--mode", "both"))
    assert [task.label for task in tasks[:3]] == ["2021.12 default", "2021.12 strict", "2022.12 default"]
    assert len(tasks) == 10
    assert tasks[-1].module == "candela_xp"


def test_the_revision_is_filled_into_module_and_variables():
    (task,) = _plan.plan(options("--revision", "2023.12", "--module", "other{revision}", "--env", "V={revision}"))
    assert task.module == "other2023.12"
    assert task.variables == (("V", "2023.12"),)


def test_the_command_gives_the_suite_our_empty_lists():
    command = _plan.command(options("--max-examples", "7"), seed=3)
    assert command[0] == sys.executable
    assert {f"--skips-file={HERE / 'skips.txt'}", f"--xfails-file={HERE / 'xfails.txt'}"} < set(command)
    assert {"--max-examples=7", "--hypothesis-seed=3", "--continue-on-collection-errors"} < set(command)
    assert not {"-n", "--disable-deadline", "-k"} & set(command)
    more = _plan.command(options("-n", "4", "--disable-deadline", "-k", "sum"), seed=0)
    assert more[more.index("-n") + 1] == "4"
    assert more[more.index("-k") + 1] == "sum"
    assert "--disable-deadline" in more
    assert more[-1] == "array_api_tests"


def environment(task, base, installed=True):
    return _plan.environment(task, base, outcomes=Path("/o"), storage=Path("/s"), installed=installed)


def test_the_environment_says_what_is_tested_and_nothing_of_the_users():
    default, strict = _plan.plan(options("--revision", "2021.12", "--mode", "both", "--env", "CANDELA_XP_X=5"))
    hidden = {"PYTEST_ADDOPTS": "-x", "ARRAY_API_TESTS_SKIP_DTYPES": "int8", "CANDELA_XP_DEFER_MIN_BYTES": "0"}
    base = {"HOME": "/h", "CANDELA_XP_STRICT": "1", **hidden}
    variables = environment(default, base)
    assert variables["HOME"] == "/h"
    assert not set(hidden) & set(variables)
    assert variables["ARRAY_API_TESTS_MODULE"] == "candela_xp.v2021_12"
    assert variables["ARRAY_API_TESTS_VERSION"] == "2021.12"
    assert variables["CANDELA_XP_STRICT"] == "0"
    assert variables["CANDELA_XP_X"] == "5"
    assert environment(strict, base)["CANDELA_XP_STRICT"] == "1"


def test_the_checkout_is_on_the_path_only_where_candela_xp_is_not_installed(tmp_path):
    (task,) = _plan.plan(options("--revision", "2025.12"))
    assert environment(task, {})["PYTHONPATH"] == str(HERE)
    assert environment(task, {"PYTHONPATH": "/p"}, installed=False)["PYTHONPATH"] == os.pathsep.join(
        [str(HERE), str(HERE.parent), "/p"]
    )
    assert not _suite.is_installed([str(HERE.parent), str(tmp_path)])
    (tmp_path / "candela_xp").mkdir()
    (tmp_path / "candela_xp" / "__init__.py").touch()
    assert _suite.is_installed([str(HERE.parent), str(tmp_path)])


# The plugin and what it writes


def report(**fields):
    basis = {"failed": False, "skipped": False, "when": "call", "longrepr": None, "longreprtext": ""}
    return SimpleNamespace(**basis | fields)


def test_the_plugin_decides_by_the_phase_that_tells():
    assert _outcomes.decide(report()) == ("passed", "", "")
    assert _outcomes.decide(report(when="setup")) is None
    assert _outcomes.decide(report(when="teardown")) is None
    skipped = report(skipped=True, when="setup", longrepr=("file.py", 3, "Skipped: flaky"))
    assert _outcomes.decide(skipped) == ("skipped", "flaky", "")
    assert _outcomes.decide(report(skipped=True, wasxfail="known")) == ("skipped", "xfail: known", "")
    crash = SimpleNamespace(reprcrash=SimpleNamespace(message="AssertionError: no\nmore"))
    failed = report(failed=True, longrepr=crash, longreprtext="traceback")
    assert _outcomes.decide(failed) == ("failed", "AssertionError: no", "traceback")
    collection = report(failed=True, when=None, longreprtext="a.py:1: in <module>\nImportError: x")
    assert _outcomes.decide(collection)[1] == "ImportError: x"


def feed(*events):
    run = Run()
    for event in events:
        run.feed(json.dumps(event))
    return run


def verdict(name, kind, reason=""):
    return {"event": "test", "id": name, "verdict": kind, "reason": reason, "detail": ""}


def test_of_two_outcomes_of_a_test_the_worse_counts():
    run = feed(verdict("a", "passed"), verdict("a", "failed", "teardown"), verdict("a", "passed"))
    assert run.failed == 1
    merged = _results.merge([feed(verdict("a", "passed"), verdict("b", "skipped")), feed(verdict("b", "failed"))])
    assert {kind: [outcome.id for outcome in outcomes] for kind, outcomes in merged.items()} == {
        "passed": ["a"],
        "skipped": [],
        "failed": ["b"],
    }


@pytest.mark.parametrize(
    ("events", "trouble"),
    [
        ([{"event": "total", "total": 1}, verdict("a", "passed"), {"event": "end", "status": 0}], None),
        ([{"event": "total", "total": 1}, verdict("a", "failed"), {"event": "end", "status": 1}], None),
        ([{"event": "total", "total": 1}, verdict("a", "passed")], "without saying so"),
        ([{"event": "end", "status": 4}], "status 4"),
        ([{"event": "end", "status": 0}], "collected nothing"),
        ([{"event": "total", "total": 2}, verdict("a", "passed"), {"event": "end", "status": 0}], "only 1 of 2"),
    ],
)
def test_a_run_that_broke_off_is_noticed(events, trouble):
    found = _results.breakdown(feed(*events))
    assert found is None if trouble is None else trouble in found


FAKE_CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--skips-file")
    parser.addoption("--xfails-file")
    parser.addoption("--max-examples", type=int)
"""
FAKE_TESTS = """
import os
import pytest

def test_passes():
    assert os.environ["ARRAY_API_TESTS_MODULE"] == "json"

@pytest.mark.skip(reason="flaky")
def test_skips():
    pass

@pytest.mark.skipif(os.environ["CANDELA_XP_STRICT"] == "0", reason="only strict fails")
def test_fails():
    raise ValueError("on purpose")
"""


@pytest.fixture
def fake_suite(tmp_path, monkeypatch):
    """A complete checkout of a suite of three tests, in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_suite, "NEEDED", ("pytest", "hypothesis"))
    monkeypatch.setattr(_suite, "_POLL_SECONDS", 0.02)
    root = _cache.cache_root(os.environ)
    checkout = _cache.checkout_path(root, _pins.NEW.commit)
    (checkout / "array_api_tests").mkdir(parents=True)
    (checkout / "conftest.py").write_text(FAKE_CONFTEST)
    (checkout / "pytest.ini").write_text("[pytest]\n")
    (checkout / "array_api_tests" / "test_a.py").write_text(FAKE_TESTS)
    (checkout / "candela_xp_checkout.json").write_text(json.dumps({"commit": _pins.NEW.commit, "spec_commit": "5"}))
    return checkout


def test_a_run_reads_outcomes_writes_a_report_and_leaves_the_checkout_clean(fake_suite, tmp_path, monkeypatch, capsys):
    before = tree(fake_suite)
    monkeypatch.setattr("conformance.__main__.REVISIONS", (replace(_pins.REVISIONS[-1], module="json"),))
    docs = tmp_path / "docs"
    assert main(["suite", "--mode", "both", "--seed", "4", "--report-dir", str(docs)]) == 1
    output, errors = capsys.readouterr()
    assert "2025.12 default, seed 4: 1 passed, 0 failed, 2 skipped" in errors
    assert "2025.12 strict, seed 4: 1 passed, 1 failed, 1 skipped" in errors
    assert "FAILED array_api_tests/test_a.py::test_fails: ValueError: on purpose" in errors
    assert output == f"wrote {docs / 'conformance.md'}\nwrote {docs / 'conformance.json'}\n"
    text = (docs / "conformance.json").read_text()
    default, strict = _results.from_json(text)
    assert (default.passed, len(default.skipped), len(default.failed), default.seeds) == (1, 2, 0, (4,))
    assert (strict.passed, len(strict.skipped), len(strict.failed), strict.mode) == (1, 1, 1, "strict")
    assert strict.versions["pytest"] == pytest.__version__
    assert str(tmp_path) not in text  # a path of this machine means nothing to a reader
    assert tree(fake_suite) == before


def test_a_suite_that_cannot_start_is_a_failure_with_its_own_words(fake_suite, capsys):
    (fake_suite / "conftest.py").write_text("raise ImportError('no such module')\n")
    assert main(["suite", "--revision", "2025.12", "--module", "json"]) == 1
    shown = capsys.readouterr().err
    assert "FAILED (the run itself): pytest ended without saying so" in shown
    assert "no such module" in shown


@pytest.mark.parametrize("arguments", [["--no-report"], ["--module", "other"], ["-k", "sum"]])
def test_nothing_is_written_of_a_run_that_is_not_ours_or_not_whole(tmp_path, monkeypatch, arguments):
    monkeypatch.setattr("conformance.__main__.run", lambda *given: [row(failed=(Outcome("t", "failed"),))])
    assert main(["suite", "--report-dir", str(tmp_path / "docs"), *arguments]) == 1
    assert not (tmp_path / "docs").exists()


# The report


def test_rows_survive_json_except_for_tracebacks():
    rows = [row(failed=(Outcome("t", "failed", "no", "traceback of /home/me"),), variables=("A=1",))]
    text = _results.to_json(rows)
    assert "/home/me" not in text
    assert _results.from_json(text) == [replace(rows[0], failed=(Outcome("t", "failed", "no"),))]


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema": 0, "rows": []}', "not json"])
def test_json_of_others_is_refused(text):
    with pytest.raises(ValueError):
        _results.from_json(text)


def test_new_rows_replace_old_ones_and_drop_those_of_other_versions():
    old = [row("2021.12"), row("2022.12", versions={"numpy": "1"}), row("2025.12", passed=1)]
    old += [row("2023.12", suite_commit="c" * 40), row("2020.12", suite_commit="c" * 40)]
    combined = _results.combine(old, [row("2025.12", passed=9), row("2023.12", "strict")], COMMITS)
    assert [(each.revision, each.mode, each.passed) for each in combined] == [
        ("2021.12", "default", 3),
        ("2023.12", "strict", 3),
        ("2025.12", "default", 9),
    ]


def test_the_section_has_counts_versions_skips_and_failures():
    failure = Outcome("array_api_tests/test_a.py::test_b", "failed", "AssertionError: out[0] < *1*")
    rows = [row(), row(mode="strict", failed=(failure,), variables=("A=1",), deadline=False)]
    text = _report.section(rows)
    assert "6 passed, 1 failed, 2 skipped by the suite itself" in text
    assert "| 2025.12 | default | 3 | 0 | 1 | `candela_xp` |" in text
    assert "| 2025.12 | strict | 3 | 1 | 1 | `candela_xp` |" in text
    assert "| 0, 1 | 100, no deadline | `A=1` |" in text
    assert text.count("Versions: Python 3.11.7, numpy 2.4.6, candela_xp 0.1.0") == 1
    assert "## Failed: 2025.12, strict mode\n\n- `test_a.py::test_b`: AssertionError: out\\[0\\] \\< \\*1\\*" in text
    assert "### 2025.12: 1 skipped\n\n- flaky (1): `test_a.py::test_remainder[__mod__(x1, x2)]`" in text


def test_modes_that_skip_differently_are_listed_apart():
    other = (Outcome("t", "skipped", "only in strict"),)
    text = _report.section([row(), row(mode="strict", skipped=other)])
    assert "### 2025.12, default mode: 1 skipped" in text
    assert "### 2025.12, strict mode: 1 skipped" in text


def test_a_section_without_failures_or_skips_names_none():
    text = _report.section([row(skipped=())])
    assert "Failed:" not in text
    assert "## Skipped" not in text


def test_other_text_of_the_page_survives():
    page = f"# Title\n\nbefore\n\n{_report.BEGIN}\nold\n{_report.END}\n\nafter\n"
    changed = _report.insert(page, "new\n")
    assert changed == f"# Title\n\nbefore\n\n{_report.BEGIN}\nnew\n{_report.END}\n\nafter\n"
    assert _report.insert(changed, "new") == changed
    assert _report.insert("# Title\n", "new") == f"# Title\n\n{_report.BEGIN}\nnew\n{_report.END}\n"


@pytest.mark.parametrize(
    "page",
    [
        _report.BEGIN,
        _report.END,
        _report.END + _report.BEGIN,
        _report.BEGIN + _report.BEGIN + _report.END,
        _report.BEGIN + _report.END + _report.END,
    ],
)
def test_a_page_with_broken_markers_is_left_alone(tmp_path, page):
    (tmp_path / "conformance.md").write_text(page)
    with pytest.raises(ValueError, match="once each"):
        _report.write(tmp_path, [row()])
    assert (tmp_path / "conformance.md").read_text() == page
    assert not (tmp_path / "conformance.json").exists()


def test_writing_twice_gives_the_same_page(tmp_path):
    page, data = _report.write(tmp_path / "docs", [row("2021.12"), row()])
    first = page.read_text(), data.read_text()
    _report.write(tmp_path / "docs", [row()])
    assert (page.read_text(), data.read_text()) == first


def test_names_with_backticks_stay_code():
    text = _report.section([row(skipped=(Outcome("array_api_tests/a::b[`c`]", "skipped", "why"),))])
    assert "`` a::b[`c`] ``" in text


# Progress


class Terminal(StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_one_line_that_changes():
    stream = Terminal()
    progress = _progress.Progress(stream)
    progress.update("x", 1, None, 0)
    progress.update("x", 2, 3, 1)
    progress.finish("x: done")
    assert stream.getvalue().count("\n") == 1
    assert "\rx: 1/? tests, 0 failed" in stream.getvalue()
    assert stream.getvalue().endswith("\rx: done\n")


def test_other_streams_get_a_line_now_and_then():
    stream, seconds = StringIO(), iter([0, 1, 20, 20, 21, 50])
    progress = _progress.Progress(stream, clock=lambda: next(seconds), period=15)
    for done in range(1, 4):
        progress.update("x", done, 9, 0)
    progress.finish("x: done")
    assert stream.getvalue() == "x: 2/9 tests, 0 failed\nx: done\n"


# -- what other libraries do ---------------------------------------------------------------------------------


def test_a_library_that_cannot_be_measured_is_refused_with_those_that_can(capsys):
    assert main(["portability", "tensorflow"]) == 2
    assert capsys.readouterr().err.startswith("portability: tensorflow isn't one of numpy, array_api_strict, torch, ")
