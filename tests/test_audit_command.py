"""``python -m candela_xp audit``: a program runs as Python runs it, keeps its status, and the report is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from audit_standin import BACKENDS, USUAL, modules

from candela_xp.__main__ import main
from candela_xp._audit import _request
from candela_xp._audit._request import FAILED, Request, RequestError

TESTS = Path(__file__).resolve().parent
AUDITED = (
    "import sys, audit_standin; sys.modules.update(audit_standin.modules()); "
    "from candela_xp.__main__ import main; raise SystemExit(main())"
)


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder of the test's, which has the files given by name."""

    def start(*arguments, files=None, options=(), audited=True, **environment):
        for name, text in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
        command = ["-c", AUDITED, "audit"] if audited else []
        return subprocess.run(
            [sys.executable, *options, *command, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent))), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return start


def both(run, *arguments, files):
    """What a program does under the audit, and what under Python alone."""
    return run("--report", "r.json", *arguments, files=files), run(*arguments, files=files, audited=False)


def found(tmp_path, name="r.json"):
    return [
        (each["rule"], each["file"], each["line"]) for each in json.loads((tmp_path / name).read_text())["findings"]
    ]


MEETS = """\
from audit_standin import meet

meet("iadd-alias")
for _ in range(3):
    meet("len")
"""


# -- what a program sees ---------------------------------------------------------------------------

FACTS = """\
import os, sys, json, __main__
print(json.dumps([
    os.path.basename(sys.argv[0]), sys.argv[1:], sys.path[0], __name__, __file__, __package__,
    __spec__ and __spec__.name, type(__loader__).__name__, __main__.__dict__ is globals(), "annotations" in dir(),
]))
"""
LATE = "def f(x: no_such_name = 1) -> None: ...\n"


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["s.py"], {"s.py": FACTS}),
        (["sub/s.py", "-m", "--report", "x", "--", "-h"], {"sub/s.py": FACTS}),
        (["./sub/../s.py", "a b", ""], {"s.py": FACTS}),
        (
            ["-m", "pkg.mod", "--backends", "-x"],
            {"pkg/__init__.py": "", "pkg/mod.py": FACTS},
        ),
        (["-m", "pkg"], {"pkg/__init__.py": "", "pkg/__main__.py": FACTS}),
        (["folder", "x"], {"folder/__main__.py": FACTS}),
        (["s.py"], {"s.py": FACTS + LATE}),  # raises NameError: the program isn't under somebody else's __future__
    ],
    ids=["script", "arguments that look like options", "path", "module", "package", "folder", "annotations"],
)
def test_a_program_sees_what_python_shows_it(run, arguments, files):
    audited, alone = both(run, *arguments, files=files)
    assert audited.stdout == alone.stdout
    assert audited.returncode == alone.returncode


def test_a_script_behind_a_link_finds_its_neighbours(run, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.py").symlink_to(tmp_path / "real" / "s.py")
    files = {"real/s.py": "import neighbour\n", "real/neighbour.py": "print('here')\n"}
    audited, alone = both(run, "link.py", files=files)
    assert audited.stdout == alone.stdout == "here\n"


def test_safe_path_is_kept(run):
    files = {"s.py": "import sys\nprint(sys.path)\n"}
    audited = run("s.py", files=files, options=["-P"])
    alone = run("s.py", files=files, options=["-P"], audited=False)
    assert audited.stdout == alone.stdout


# -- how a program ends ----------------------------------------------------------------------------

ENDINGS = {
    "well": "",
    "raises": "def f():\n    1 / 0\nf()",
    "raises from": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
    "raises a group": "raise ExceptionGroup('x', [ValueError(1), TypeError(2)])",
    "is not Python": "x = = 1",
    "is not UTF-8": "",
    "exits": "raise SystemExit",
    "exits with 0": "import sys; sys.exit(0)",
    "exits with 5": "import sys; sys.exit(5)",
    "exits with -1": "import sys; sys.exit(-1)",
    "exits with True": "import sys; sys.exit(True)",
    "exits with words": "import sys; sys.exit('no: bad')",
    "exits with a list": "import sys; sys.exit([1, 2])",
    "its own hook": "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\n1 / 0",
    "at exit": "import atexit\natexit.register(lambda: print('last', __name__))",
    "closed output": "import sys; sys.stdout.close()",
    "closed errors": "import sys; sys.stderr.close()",
    "closed errors and words": "import sys; sys.stderr.close(); sys.exit('no')",
    "other errors": "import io, sys; sys.stderr = io.StringIO(); 1 / 0",
    "a thread": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(.2), print('late', __name__))).start()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_under_python_and_the_report_is_written(run, tmp_path, ending):
    program = MEETS + "\n" + ENDINGS[ending] + "\n"
    audited, alone = both(run, "s.py", files={"s.py": program})
    assert audited.returncode == alone.returncode
    assert audited.stdout == alone.stdout
    assert audited.stderr.startswith(alone.stderr.rstrip())
    expected = [] if ending == "is not Python" else [("iadd-alias", "s.py", 3), ("len", "s.py", 5)]
    assert found(tmp_path) == expected


@pytest.mark.skipif(os.name == "nt", reason="a process can't send itself an interrupt there")
def test_an_interrupted_program_is_reported_and_stays_interrupted(run, tmp_path):
    program = MEETS + "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    audited, alone = both(run, "s.py", files={"s.py": program})
    assert audited.returncode == alone.returncode == -signal.SIGINT
    assert audited.stderr.startswith(alone.stderr.rstrip())
    assert audited.stderr.count("Traceback") == 1
    assert len(found(tmp_path)) == 2


def test_a_module_that_is_missing_is_no_success(run, tmp_path):
    audited = run("--report", "r.json", "-m", "no_such_module")
    assert audited.returncode == 1
    assert "no_such_module" in audited.stderr
    assert "candela_xp" not in audited.stderr
    assert found(tmp_path) == []


def test_a_program_that_changes_its_folder_gets_its_reports_where_they_were_asked_for(run, tmp_path):
    program = MEETS + "import os\nos.mkdir('elsewhere')\nos.chdir('elsewhere')\n"
    assert run("--report", "r.json", "s.py", files={"s.py": program}).returncode == 0
    assert found(tmp_path) == [("iadd-alias", "s.py", 3), ("len", "s.py", 5)]


# -- statuses and reports --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--fail-on", "jax"], FAILED),
        (["--fail-on", "torch,dask"], FAILED),
        (["--fail-on", "torch"], 0),
        (["--fail-on", "numpy"], 0),
        (["--backends", "torch,jax", "--fail-on", "jax"], FAILED),
        (["--backends", "torch"], 0),
    ],
)
def test_failing_is_a_status_of_its_own(run, options, status):
    assert run(*options, "s.py", files={"s.py": MEETS}).returncode == status


@pytest.mark.parametrize(
    ("backends", "fail_on", "asked"),
    [
        (None, None, USUAL),
        (None, "numpy,jax", (*USUAL, "numpy")),
        ("torch, numpy", "numpy", ("torch", "numpy")),
    ],
)
def test_what_may_fail_is_asked_about(tmp_path, monkeypatch, backends, fail_on, asked):
    for name, standin in modules().items():
        monkeypatch.setitem(sys.modules, name, standin)
    recorder = Request.of(backends, None, False, fail_on, [], tmp_path).start()
    assert recorder.stop().backends == asked


def test_what_only_computes_again_is_no_failure(run):
    program = "from audit_standin import meet\nmeet('len')\n"
    assert run("--fail-on", "dask", "s.py", files={"s.py": program}).returncode == 0


def test_a_program_that_fails_keeps_its_status_when_the_audit_fails_too(run):
    assert run("--fail-on", "jax", "s.py", files={"s.py": MEETS + "raise SystemExit(4)\n"}).returncode == 4


def test_a_silenced_finding_is_no_failure(run):
    program = "from audit_standin import meet\nmeet('iadd-alias')  # portability: ok iadd-alias x is ours\n"
    done = run("--fail-on", "jax", "s.py", files={"s.py": program})
    assert done.returncode == 0
    assert "no findings, 1 silenced" in done.stderr


def test_all_reports_are_written(run, tmp_path):
    reports = [each for suffix in _request.FORMATS for each in ("--report", "r" + suffix)]
    done = run(*reports, "s.py", files={"s.py": MEETS})
    assert (done.returncode, done.stdout) == (0, "")
    for suffix in _request.FORMATS:
        assert "iadd-alias" in (tmp_path / f"r{suffix}").read_text(encoding="utf-8")
        assert f"report in {tmp_path / f'r{suffix}'}" in done.stderr


def test_without_a_report_all_is_shown_on_standard_error(run):
    done = run("s.py", files={"s.py": MEETS + "print('mine')\n"}, COLUMNS="60")
    assert done.stdout == "mine\n"
    assert "y = x + 1; with y = x first" in done.stderr
    assert "\x1b" not in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 60


# -- bad input -------------------------------------------------------------------------------------

BAD = {
    "unknown backend": (["--backends", "torch,numpi"], ["numpi", *BACKENDS]),
    "unknown backend to fail on": (["--fail-on", "numpi"], ["numpi", *BACKENDS]),
    "backend to fail on that is not asked about": (["--backends", "torch", "--fail-on", "jax"], ["jax", "torch"]),
    "empty list": (["--backends", ","], ["names no backend"]),
    "unknown revision": (["--since", "2020.12"], ["2020.12", "2021.12", "2025.12"]),
    "unknown format": (["--report", "r.pdf"], ["r.pdf", ".json", ".sarif", ".html", ".txt"]),
    "no format": (["--report", "r"], [".json"]),
    "no such folder": (["--report", "no/such/r.json"], ["r.json", "No such file"]),
    "a folder": (["--report", "folder.json"], ["folder.json"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_before_the_program_runs(tmp_path, monkeypatch, capsys, case):
    for name, standin in modules().items():
        monkeypatch.setitem(sys.modules, name, standin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "s.py").write_text("raise SystemExit('it ran')\n")
    options, words = BAD[case]
    assert main(["audit", "--report", "first.json", *options, "s.py"]) == 2
    said = capsys.readouterr().err
    assert [word for word in words if word not in said] == []
    assert "it ran" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "s.py"]


@pytest.mark.parametrize("program", [[], ["no-such.py"], ["-m"]])
def test_no_program_is_no_success(tmp_path, monkeypatch, capsys, program):
    for name, standin in modules().items():
        monkeypatch.setitem(sys.modules, name, standin)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *program]) == 2
    assert capsys.readouterr().err.startswith("audit: ")


def test_a_report_that_exists_is_left_alone_until_there_is_another(tmp_path):
    (tmp_path / "r.json").write_text("old")
    Request.of(None, None, False, None, ["r.json"], tmp_path)
    assert (tmp_path / "r.json").read_text() == "old"


def test_a_name_that_no_system_takes_is_refused_in_words(tmp_path):
    with pytest.raises(RequestError, match="cannot write the report"):
        Request.of(None, None, False, None, ["a\0.json"], tmp_path)


def test_a_report_that_became_unwritable_is_said_and_the_others_are_written(run, tmp_path):
    program = MEETS + "import os\nos.rename('sub', 'gone')\n"
    done = run("--report", "sub/r.json", "--report", "r.json", "s.py", files={"s.py": program, "sub/x": ""})
    assert done.returncode == 2
    assert "cannot write the report" in done.stderr
    assert len(found(tmp_path)) == 2
