"""The clients' part of the conformance harness: plans, environments, retargeting, causes, the page. No network."""

import ast
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from conformance import _process, _results
from conformance.__main__ import main, parser
from conformance._cache import UnavailableError
from conformance._results import Outcome
from conformance.clients import _causes, _clients, _environments, _page, _plan, _rows, _run
from conformance.clients._causes import Cause
from conformance.clients._clients import CLIENTS, COMMON, LIKE_STRICT, NAMED, UNKNOWN, Client
from conformance.clients._environments import Environment
from conformance.clients._plan import Job
from conformance.clients._rows import Row
from conformance.clients.client_plugins import _retarget

FOLDER = Path(_clients.__file__).parent
SIMPLE = Client(name="simple", requirements=("simple-client==1.2",), tests=("simple/tests",), plugin="for_simple")
NAMES = {"array_api_strict": "candela_xp"}


def failure(test, reason="Error: no"):
    return Outcome(test, "failed", reason)


def row(client="scipy", backend="candela_xp", mode=UNKNOWN, **changes):
    (version,) = [known.version for known in CLIENTS if known.name == client] or ["1"]
    made = Row(client, version, backend, mode, {"Python": "3.11.7", "numpy": "2.4.6"}, passed=3, skipped=1, failed=())
    return replace(made, **changes)


def cause(**changes):
    made = {"client": "scipy", "tests": ("*::test_a*",), "where": "scipy/a.py:1", "why": "It asks for the name."}
    return Cause(**(made | changes))


# The clients


def test_every_requirement_is_pinned():
    for requirement in [*COMMON, *(each for client in CLIENTS for each in client.requirements)]:
        name, equals, version = requirement.partition("==")
        assert name, requirement
        assert equals, requirement
        assert version[0].isdigit(), requirement


def test_one_version_of_each_package_serves_all_clients():
    pins = {}
    for requirement in [*COMMON, *(each for client in CLIENTS for each in client.requirements)]:
        name, _, version = requirement.partition("==")
        assert pins.setdefault(name, version) == version


def test_names_are_unique_and_every_plugin_and_own_test_exists():
    assert len({client.name for client in CLIENTS}) == len(CLIENTS)
    used = {client.plugin for client in CLIENTS} - {None}
    assert {path.stem for path in (FOLDER / "client_plugins").glob("for_*.py")} == used
    own = {test for client in CLIENTS if client.place == "own" for test in client.tests}
    assert {path.name for path in (FOLDER / "own_tests").glob("test_*.py")} == own


def test_plugins_import_nothing_of_the_project():
    # They run in environments where only their own folder is on the path.
    for path in (FOLDER / "client_plugins").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, path
                assert node.level == 1 or node.module.partition(".")[0] not in ("conformance", "candela_xp"), path


def test_an_environment_is_another_one_for_other_versions_and_another_python(monkeypatch):
    first = SIMPLE.directory
    assert first.startswith("simple-")
    assert replace(SIMPLE, requirements=("simple-client==1.3",)).directory != first
    assert replace(SIMPLE, arguments=("-x",)).directory == first
    monkeypatch.setattr(sys, "version", "4.0")
    assert SIMPLE.directory != first


def test_the_version_is_the_clients_or_all_of_them_where_the_tests_are_ours():
    assert SIMPLE.version == "1.2"
    own = Client(name="own", requirements=("a==1", "b==2"), tests=("test_own.py",), place="own")
    assert own.version == "a 1, b 2"


# The plan


def test_a_client_runs_in_each_mode_only_if_it_asks_for_a_name():
    asks = replace(SIMPLE, name="asks", by_name=True)
    jobs = _plan.plan([SIMPLE, asks], ["candela_xp", "numpy"], [UNKNOWN, LIKE_STRICT])
    assert [(job.client.name, job.backend, job.mode) for job in jobs] == [
        ("simple", "candela_xp", UNKNOWN),
        ("simple", "numpy", NAMED),
        ("asks", "candela_xp", UNKNOWN),
        ("asks", "candela_xp", LIKE_STRICT),
        ("asks", "numpy", NAMED),
    ]
    assert jobs[0].label == "simple, candela_xp, unknown"
    assert jobs[1].label == "simple, numpy"


def test_a_backend_that_makes_no_sense_for_a_client_is_left_out():
    assert _plan.plan([replace(SIMPLE, backends=("candela_xp",))], ["numpy"], [UNKNOWN]) == []


def test_the_command_has_our_plugins_and_none_of_the_clients_settings(tmp_path):
    client = replace(SIMPLE, arguments=("-m", "arrays"))
    command = _plan.command(Job(client, "numpy", NAMED), Path("/e/python"), tmp_path, Path("/scratch"), "2")
    text = " ".join(command)
    assert text.startswith("/e/python -m pytest -p no:cacheprovider -p _outcomes -p client_plugins.for_simple ")
    assert f"-c {Path('/scratch/pytest.ini')} --rootdir={tmp_path} --confcutdir={tmp_path}" in text
    assert text.endswith(f"-n 2 -m arrays {tmp_path / 'simple/tests'}")


def test_a_client_without_plugin_and_processes_gets_neither(tmp_path):
    client = replace(SIMPLE, plugin=None)
    text = " ".join(_plan.command(Job(client, "numpy", NAMED), Path("p"), tmp_path, tmp_path))
    assert "client_plugins" not in text
    assert " -n " not in text


def test_only_files_that_hold_a_word_are_run(tmp_path):
    (tmp_path / "simple" / "tests").mkdir(parents=True)
    for name, text in {"test_a.py": "uses xp_of", "test_b.py": "", "a.py": "xp_of"}.items():
        (tmp_path / "simple" / "tests" / name).write_text(text)
    found = _plan.tests_of(replace(SIMPLE, tests=("simple",), containing=("xp_of", "other")), tmp_path)
    assert found == [tmp_path / "simple" / "tests" / "test_a.py"]


def test_the_variables_name_the_backend_and_lead_to_no_other_candela_xp(tmp_path):
    client = replace(SIMPLE, variables=(("SIMPLE_BACKEND", "{backend}"),))
    base = {"PATH": "/bin", "PYTHONPATH": "/checkout", "PYTEST_ADDOPTS": "-x", "CANDELA_XP_STRICT": "1"}
    found = _plan.variables(
        Job(client, "candela_xp", LIKE_STRICT), base, outcomes=tmp_path / "o", storage=tmp_path / "h"
    )
    assert found["SIMPLE_BACKEND"] == found["CANDELA_XP_CLIENTS_BACKEND"] == "candela_xp"
    assert found["CANDELA_XP_CLIENTS_LIKE_STRICT"] == "1"
    assert found["CANDELA_XP_STRICT"] == "0"
    assert found["PATH"] == "/bin"
    assert "PYTEST_ADDOPTS" not in found
    assert "/checkout" not in found["PYTHONPATH"]
    assert str(FOLDER.parent.parent) not in found["PYTHONPATH"].split(":")
    assert (FOLDER / "client_plugins").parent == FOLDER


def test_a_client_may_meet_candela_xp_by_another_of_its_modules(tmp_path):
    client = replace(SIMPLE, variables=(("SIMPLE_BACKEND", "{backend}"),), module="candela_xp.backends.simple")
    for backend, wanted in (("candela_xp", "candela_xp.backends.simple"), ("numpy", "numpy")):
        found = _plan.variables(Job(client, backend, UNKNOWN), {}, outcomes=tmp_path, storage=tmp_path)
        assert found["SIMPLE_BACKEND"] == wanted


@pytest.mark.parametrize("mode", [UNKNOWN, NAMED])
def test_only_like_strict_mode_asks_plugins_for_it(tmp_path, mode):
    found = _plan.variables(Job(SIMPLE, "candela_xp", mode), {}, outcomes=tmp_path, storage=tmp_path)
    assert found["CANDELA_XP_CLIENTS_LIKE_STRICT"] == "0"


# Environments


def test_an_environment_is_made_by_commands_in_order(tmp_path):
    made = Environment(tmp_path / "e", SIMPLE)
    venv, install = _environments.creation(made)
    assert venv == [sys.executable, "-m", "venv", str(tmp_path / "e" / "venv")]
    assert install[0] == str(made.python)
    assert install[-len(COMMON) - 1 :] == [*COMMON, "simple-client==1.2"]
    *_, download = _environments.creation(Environment(tmp_path / "e", replace(SIMPLE, place="sdist")))
    assert download[-1] == "simple-client==1.2"
    assert "--no-binary=:all:" in download


def test_candela_xp_is_built_and_installed_without_network(tmp_path):
    made = Environment(tmp_path / "e", SIMPLE)
    built = _environments.wheel_command(made, tmp_path)
    assert {"--no-deps", "--no-build-isolation"} <= set(built)
    installed = _environments.install_command(made, tmp_path / "candela_xp.whl")
    assert {"--no-deps", "--no-index", "--force-reinstall"} <= set(installed)


class Pretender:
    """A runner that does what pip and venv would leave behind, and notes what it was asked."""

    def __init__(self, fails=None):
        self.commands = []
        self.fails = fails

    def __call__(self, command, purpose):
        self.commands.append(list(command))
        if self.fails is not None and self.fails in command:
            raise UnavailableError("no network")
        if command[1:3] == ["-m", "venv"]:
            Path(command[3]).mkdir(parents=True)
        return ""


def test_an_environment_is_made_once(tmp_path):
    run = Pretender()
    made = _environments.require(tmp_path, SIMPLE, run)
    assert made.complete
    assert made.path == tmp_path / "clients" / SIMPLE.directory
    asked = len(run.commands)
    assert _environments.require(tmp_path, SIMPLE, run) == made
    assert len(run.commands) == asked
    assert [path.name for path in (tmp_path / "clients").iterdir()] == [SIMPLE.directory]


def test_an_environment_cut_short_leaves_nothing_and_one_that_is_incomplete_is_replaced(tmp_path):
    with pytest.raises(UnavailableError, match="no network"):
        _environments.require(tmp_path, SIMPLE, Pretender(fails="install"))
    assert list((tmp_path / "clients").iterdir()) == []
    (tmp_path / "clients" / SIMPLE.directory / "venv").mkdir(parents=True)
    assert _environments.require(tmp_path, SIMPLE, Pretender()).complete


def test_where_the_tests_are(tmp_path):
    made = Environment(tmp_path, SIMPLE)
    assert made.tests_root(lambda command, purpose: "/site-packages\n") == Path("/site-packages")
    assert Environment(tmp_path, replace(SIMPLE, place="sdist")).tests_root(Pretender()) == tmp_path / "source"
    assert Environment(tmp_path, replace(SIMPLE, place="own")).tests_root(Pretender()) == FOLDER / "own_tests"


def test_a_failed_installation_says_what_failed_and_that_it_needs_network():
    run = _environments.checked({"PYTHONPATH": "/elsewhere"})
    script = (
        "import os, sys; print(os.environ.get('PYTHONPATH')); print('ERROR: No matching distribution'); sys.exit(1)"
    )
    with pytest.raises(UnavailableError) as caught:
        run([sys.executable, "-c", script], "install simple")
    message = str(caught.value)
    assert "cannot install simple" in message
    assert "    None\n    ERROR: No matching distribution" in message
    assert "needs network; later ones don't" in message


def test_a_command_that_succeeds_gives_its_output():
    assert _environments.checked({})([sys.executable, "-c", "print(1)"], "count").strip() == "1"


# Retargeting, on made-up modules


def made_up(source, name="made_up"):
    module = ModuleType(name)
    exec(compile(source, name, "exec"), vars(module))
    return module


def test_constants_at_any_depth_are_exchanged():
    module = made_up(
        "def named(xp):\n"
        "    inner = lambda: xp in ('numpy', 'array_api_strict')\n"
        "    return inner() or xp in {'array_api_strict'}\n"
    )
    assert (module.named("array_api_strict"), module.named("candela_xp")) == (True, False)
    assert _retarget.function(module.named, NAMES)
    assert (module.named("array_api_strict"), module.named("candela_xp")) == (False, True)
    assert not _retarget.function(module.named, NAMES)


def test_a_part_of_a_string_is_left_alone():
    assert _retarget.renamed("array_api_strict is strict", NAMES) == "array_api_strict is strict"
    assert _retarget.renamed(["array_api_strict", ("x", "array_api_strict")], NAMES) == [
        "candela_xp",
        ("x", "candela_xp"),
    ]
    untouched = object()
    assert _retarget.renamed(untouched, NAMES) is untouched


def test_who_has_imported_a_function_sees_the_change_and_decorators_are_looked_through():
    module = made_up(
        "import functools\n"
        "def inner(xp): return xp == 'array_api_strict'\n"
        "@functools.wraps(inner)\n"
        "def outer(xp): return inner(xp)\n"
    )
    imported = module.inner
    assert _retarget.function(module.outer, NAMES)
    assert imported("candela_xp")
    assert _retarget.code_of(module.outer) is imported.__code__


def test_what_is_no_function_is_left_alone():
    assert not _retarget.function(len, NAMES)
    assert not _retarget.function(None, NAMES)
    assert _retarget.code_of(print) is None


def test_a_module_is_changed_where_it_defines_and_not_where_it_imports():
    other = made_up("def foreign(): return 'array_api_strict'\n", "other")
    module = made_up("def own(): return 'array_api_strict'\ndef left(): return 'array_api_strict'\n")
    module.foreign = other.foreign
    for function in (module.own, module.left):
        function.__module__ = "made_up"
    other.foreign.__module__ = "other"
    _retarget.module(module, NAMES, leave=("left",))
    assert (module.own(), module.left(), module.foreign()) == ("candela_xp", "array_api_strict", "array_api_strict")


def test_imports_are_exchanged_only_if_asked():
    module = made_up("def which():\n    import json as xp\n    return xp.__name__\n")
    assert not _retarget.function(module.which, {"json": "math"})
    assert _retarget.function(module.which, {"json": "math"}, imports=True)
    assert module.which() == "math"


def test_values_of_parametrize_marks_are_exchanged():
    marks = [
        pytest.mark.parametrize("xp", ["array_api_strict", "numpy"], ids=str).mark,
        pytest.mark.parametrize("n", [1]).mark,
    ]
    metafunc = SimpleNamespace(definition=SimpleNamespace(iter_markers=lambda name: marks))
    _retarget.parameters(metafunc, NAMES)
    assert [mark.args for mark in marks] == [("xp", ["candela_xp", "numpy"]), ("n", [1])]


# Causes


def test_a_pattern_has_no_other_special_characters_than_the_star():
    assert _causes.matches("a.py::test[candela_xp-*]", "a.py::test[candela_xp-1-[2]]")
    assert not _causes.matches("a.py::test[candela_xp-*]", "a.py::testc")
    assert _causes.matches("*", "two\nlines")
    assert not _causes.matches("a", "ab")


def test_a_cause_covers_its_client_modes_tests_and_errors():
    known = cause(modes=(UNKNOWN,), errors=("*no attribute*",))
    found = failure("t.py::test_a[1]", "AttributeError: no attribute view")
    assert known.explains("scipy", UNKNOWN, found)
    assert not known.explains("scipy", LIKE_STRICT, found)
    assert not known.explains("sklearn", UNKNOWN, found)
    assert not known.explains("scipy", UNKNOWN, failure("t.py::test_b", "AttributeError: no attribute view"))
    assert not known.explains("scipy", UNKNOWN, failure("t.py::test_a[1]", "AssertionError"))


def test_failures_are_grouped_and_the_first_cause_counts():
    first, second = cause(tests=("*::test_a[1]",)), cause()
    failures = [failure("t::test_a[1]"), failure("t::test_a[2]"), failure("t::test_c"), failure("t::test_a[3]")]
    found = _causes.groups([first, second], "scipy", UNKNOWN, failures)
    assert [(group.cause, [outcome.id for outcome in group.outcomes]) for group in found] == [
        (first, ["t::test_a[1]"]),
        (second, ["t::test_a[2]", "t::test_a[3]"]),
        (None, ["t::test_c"]),
    ]
    assert _causes.unexplained([first, second], "scipy", UNKNOWN, failures) == (failures[2],)


def test_causes_that_explain_nothing_are_found_where_all_their_modes_have_run():
    used, idle, unknown_only = cause(), cause(tests=("*::test_b",)), cause(tests=("*::test_c",), modes=(UNKNOWN,))
    causes = [used, idle, unknown_only, cause(client="xarray")]
    failures = [failure("t::test_a")]
    assert _causes.idle(causes, {("scipy", UNKNOWN): failures}) == [unknown_only]
    both = {("scipy", UNKNOWN): failures, ("scipy", LIKE_STRICT): []}
    assert _causes.idle(causes, both) == [idle, unknown_only]
    assert _causes.idle(causes, {("xarray", UNKNOWN): []}) == [causes[-1]]  # it has no other mode


def test_the_file_of_causes_can_be_read_and_names_clients_that_exist():
    causes = _causes.read(_causes.CAUSES.read_text(encoding="utf-8"))
    assert {known.client for known in causes} <= {client.name for client in CLIENTS}
    assert len(set(causes)) == len(causes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[cause]]\nclient = "a"\ntests = ["*"]\nwhere = "a:1"', "why"),
        ('[[cause]]\nclient = "a"\ntests = ["*"]\nwhere = "a:1"\nwhy = "b"\nwhen = "c"', "when"),
        ('[[cause]]\nclient = "a"\ntests = ["*"]\nwhere = "a:1"\nwhy = "b"\nmodes = ["strict"]', "no mode"),
    ],
)
def test_a_row_with_something_missing_or_unknown_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        _causes.read(text)


# The page


def test_the_section_has_a_row_a_mode_with_the_peers_beside_the_first():
    rows = [
        row(passed=9),
        row(mode=LIKE_STRICT, failed=(failure("t::test_a"),)),
        row(backend="array_api_strict", mode=NAMED, passed=5),
        row(backend="numpy", mode=NAMED, passed=7, skipped=0),
        row("sklearn", backend="numpy", mode=NAMED),
    ]
    text = _page.section(rows, [])
    version = row().version
    assert f"| scipy | {version} | unknown | 9 / 0 / 1 | 5 / 0 / 1 | 7 / 0 / 0 |" in text
    assert f"| scipy | {version} | like-strict | 3 / 1 / 1 |  |  |" in text
    assert f"| sklearn | {row('sklearn').version} |  |  |  | 3 / 0 / 1 |" in text
    assert "Versions: Python 3.11.7, numpy 2.4.6" in text


def test_failures_are_listed_by_cause_and_those_without_by_name():
    rows = [
        row(failed=(failure("t::test_a[1]"), failure("t::test_a[2]"), failure("t::test_b", "Error: *odd*"))),
        row(mode=LIKE_STRICT, failed=(failure("t::test_a[1]"),)),
        row(backend="numpy", mode=NAMED, failed=(failure("t::test_of_numpy"),)),
    ]
    text = _page.section(rows, [cause()])
    assert "### What fails in scipy, and why" in text
    assert "- 2 unknown, 1 like-strict: It asks for the name. (`scipy/a.py:1`)" in text
    assert "- 1 unknown: UNEXPLAINED: Error: \\*odd\\* (first: `t::test_b`)" in text
    assert "test_of_numpy" not in text


def test_other_text_of_the_page_survives_and_writing_twice_changes_nothing(tmp_path):
    page = tmp_path / "conformance.md"
    page.write_text("# Conformance\n\n<!-- suite:begin -->\nsuite\n<!-- suite:end -->\n\nafter\n")
    _page.write(tmp_path, [row()], [])
    text = page.read_text()
    assert "<!-- suite:begin -->\nsuite\n<!-- suite:end -->\n\nafter\n" in text
    assert text.count(_page.BEGIN) == text.count(_page.END) == 1
    _page.write(tmp_path, [row()], [])
    assert page.read_text() == text


def test_rows_survive_json_except_for_tracebacks():
    rows = [row(failed=(Outcome("t", "failed", "no", "traceback of /home/me"),))]
    text = _rows.to_json(rows)
    assert "/home/me" not in text
    assert _rows.from_json(text) == [row(failed=(failure("t", "no"),))]
    with pytest.raises(ValueError, match="delete it and run again"):
        _rows.from_json(json.dumps({"schema": 0}))


def test_new_rows_replace_old_ones_and_drop_those_of_other_versions():
    old = [row(), row("sklearn"), row("xarray", version="0.1"), row(client="gone", version="1")]
    pinned = {client.name: client.version for client in CLIENTS}
    combined = _rows.combine(old, [row(mode=LIKE_STRICT), row(passed=8)], pinned)
    assert [(*each.key, each.passed) for each in combined] == [
        ("scipy", "candela_xp", UNKNOWN, 8),
        ("scipy", "candela_xp", LIKE_STRICT, 3),
        ("sklearn", "candela_xp", UNKNOWN, 3),
    ]


# The run


def test_failures_are_shown_by_cause():
    lines = _run.describe(
        Job(replace(SIMPLE, name="scipy"), "candela_xp", UNKNOWN),
        [cause()],
        [failure("t::test_a"), failure("t::b"), failure("t::c", "Error: other"), failure("t::d")],
    )
    assert lines == [
        "  1× It asks for the name. (scipy/a.py:1)",
        "  FAILED 2×, first t::b: Error: no",
        "  FAILED 1×, first t::c: Error: other",
    ]


def test_a_reason_has_the_end_of_the_error_where_that_says_more():
    found = Outcome("t", "failed", "AssertionError: no match", "Traceback\nAssertionError: no match\n  Actual: 'x'\n")
    assert _run.with_end(found).reason == "AssertionError: no match … Actual: 'x'"
    same = Outcome("t", "failed", "Error: no", "Traceback\nError: no\n")
    assert _run.with_end(same) is same
    assert _run.with_end(failure("t")) == failure("t")


def test_a_run_that_hangs_is_ended_and_says_so(tmp_path):
    run, trouble = _process.follow(
        [sys.executable, "-c", "import time; print('waiting', flush=True); time.sleep(60)"],
        {},
        at=tmp_path,
        outcomes=tmp_path / "outcomes",
        log=tmp_path / "log",
        show=lambda state: None,
        seconds=0.5,
        poll=0.05,
    )
    assert "the time it is given" in trouble
    assert run.outcomes[_process.RUN_ITSELF].verdict == "failed"
    assert "waiting" in run.outcomes[_process.RUN_ITSELF].detail


@pytest.fixture
def client_of_two_tests(tmp_path, monkeypatch):
    """A client with tests of its own and this interpreter as its environment: nothing is installed."""
    tests = tmp_path / "site"
    (tests / "simple").mkdir(parents=True)
    (tests / "simple" / "test_simple.py").write_text(
        "import os\ndef test_a(): raise AttributeError(os.environ['CANDELA_XP_CLIENTS_BACKEND'])\ndef test_b(): pass\n"
    )
    client = Client(name="simple", requirements=("simple==1",), tests=("simple",))
    monkeypatch.setattr(Environment, "python", property(lambda self: Path(sys.executable)))
    monkeypatch.setattr(Environment, "tests_root", lambda self, run: tests)
    monkeypatch.setattr(_run, "_prepare", lambda jobs, *rest: {"simple": Environment(tmp_path, client)})
    monkeypatch.setattr(_clients, "CLIENTS", (client,))
    monkeypatch.setattr(_page, "CLIENTS", (client,))
    monkeypatch.setattr("conformance.__main__.CLIENTS", (client,))
    return client


def test_a_run_from_plan_to_page(tmp_path, client_of_two_tests, capsys):
    arguments = ["clients", "simple", "--mode", "unknown", "--keep", "--report-dir", str(tmp_path / "docs")]
    assert main(arguments) == 1
    shown = capsys.readouterr().err
    assert "simple, candela_xp, unknown: 1 passed, 1 failed, 0 skipped" in shown
    assert "FAILED 1×, first simple/test_simple.py::test_a: AttributeError: candela_xp" in shown
    text = (tmp_path / "docs" / "conformance.md").read_text()
    assert "- 1 unknown: UNEXPLAINED: AttributeError: candela\\_xp (first: `simple/test_simple.py::test_a`)" in text
    (line,) = [line for line in shown.splitlines() if "kept in" in line]
    kept = Path(line.partition("kept in ")[2])
    assert "test_a" in (kept / "pytest.log").read_text()
    shutil.rmtree(kept)


def test_a_run_in_which_every_failure_has_a_cause_is_a_success(tmp_path, monkeypatch):
    def found(jobs, *rest, **options):
        return [row(job.client.name, job.backend, job.mode, failed=(failure("t::test_a"),)) for job in jobs]

    monkeypatch.setattr("conformance.__main__.run_clients", found)
    arguments = ["clients", "scipy", "--report-dir", str(tmp_path / "docs")]
    assert main(arguments) == 1
    assert main([*arguments, "--backend", "numpy"]) == 0  # a failure of a peer is the peer's
    monkeypatch.setattr(_causes, "read", lambda text: [cause()])
    assert main(arguments) == 0
    shutil.rmtree(tmp_path / "docs")
    assert main([*arguments, "--no-report"]) == 0
    assert not (tmp_path / "docs").exists()


# The command line


def test_arguments():
    arguments = parser().parse_args(["clients", "scipy", "xarray", "--mode", "like-strict", "--backend", "numpy"])
    assert [client.name for client in arguments.clients] == ["scipy", "xarray"]
    assert (arguments.mode, arguments.backend) == ("like-strict", ["numpy"])
    defaults = parser().parse_args(["clients"])
    assert (defaults.clients, defaults.mode, defaults.backend) == ([], "both", ["candela_xp"])


def test_a_client_that_does_not_exist_is_named(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["clients", "scipy", "nobody"])
    assert caught.value.code == 2
    assert "no client nobody; there are scipy" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--mode", "strict"], ["--backend", "cupy"]])
def test_unknown_modes_and_backends_are_refused(arguments):
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["clients", *arguments])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "names"),
    [(["xarray", "scipy", "xarray"], ["xarray", "scipy"]), ([], [client.name for client in CLIENTS])],
)
def test_clients_run_once_and_in_the_order_given(arguments, names, monkeypatch):
    asked = []
    monkeypatch.setattr("conformance.__main__.run_clients", lambda jobs, *rest, **options: asked.extend(jobs) or [])
    assert main(["clients", *arguments, "--mode", "unknown", "--no-report"]) == 0
    assert [job.client.name for job in asked] == names


def test_what_cannot_be_installed_ends_the_command_with_2(monkeypatch, capsys):
    def unavailable(*arguments, **options):
        raise UnavailableError(_environments.complaint("install scipy", ["pip"], "no route to host"))

    monkeypatch.setattr("conformance.__main__.run_clients", unavailable)
    assert main(["clients", "scipy"]) == 2
    assert "no route to host" in capsys.readouterr().err


def test_a_run_without_outcomes_is_trouble():
    assert _results.breakdown(_results.Run()) == "pytest ended without saying so"


def test_what_is_stored_names_no_place_of_a_machine():
    reason = "assert <module 'a' from '/home/x/venv/lib/python3.11/site-packages/a/b.py'> == '/c'"
    made = row(failed=(Outcome("t.py::t", "failed", reason),))
    (back,) = _rows.from_json(_rows.to_json([made]))
    assert back.failed[0].reason == "assert <module 'a' from 'a/b.py'> == '/c'"
