"""The audit under pytest: it does nothing unless asked, reports once, and takes the findings of all workers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from audit_standin import BACKENDS

import candela_xp_pytest
from candela_xp._audit._command import add_arguments
from candela_xp._audit._request import FAILED, FORMATS

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

MEETS = """\
from audit_standin import meet

def test_first():
    meet("iadd-alias")

def test_second():
    meet("len")
"""

SHARED = """\
import pytest
from library import use

@pytest.mark.parametrize("number", range(8))
def test_it(number):
    use()
"""

LIBRARY = """\
from audit_standin import meet

def use():
    meet("iadd-alias")
"""


@pytest.fixture
def start(tmp_path):
    """Runs pytest in a folder of the test's, with the entry point of an installed package."""
    name = PROJECT["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "site" / "candela_xp-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: candela_xp\nVersion: 0\n")
    points = "".join(f"{key} = {value}\n" for key, value in name.items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{points}")
    work = tmp_path / "work"
    work.mkdir()
    (work / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(*options, standin=True, **files):
        for name, text in files.items():
            (work / f"{name}.py").write_text(text)
        plugins = ["-p", "audit_standin"] if standin else []
        paths = (str(TESTS), str(ROOT), str(installed.parent))
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, *options],
            cwd=work,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    run.work = work
    return run


def found(start, name="r.json"):
    content = json.loads((start.work / name).read_text())["findings"]
    return [(each["rule"], each["file"], each["line"], each["hits"]) for each in content]


# -- unless asked ----------------------------------------------------------------------------------


def test_an_installed_package_offers_the_options_and_imports_nothing(start):
    code = (
        "import sys\ndef test_it():\n    assert [m for m in sys.modules if 'candela' in m] == ['candela_xp_pytest']\n"
    )
    done = start(standin=False, test_a=code)
    assert done.returncode == 0, done.stdout
    assert "audit" not in done.stdout
    assert "--audit-report=FILE" in start("--help", standin=False).stdout


def test_the_module_of_the_entry_point_imports_nothing():
    source = Path(candela_xp_pytest.__file__).read_text(encoding="utf-8")
    imports = re.findall(r"^(?:from|import) (\S+)", source, re.MULTILINE)
    assert imports == ["__future__"]
    assert PROJECT["project"]["entry-points"]["pytest11"] == {candela_xp_pytest.PLUGIN: "candela_xp_pytest"}
    assert "candela_xp_pytest.py" in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert "candela_xp_pytest.py" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_the_command_and_the_plugin_have_the_same_options():
    class Parser:
        def __init__(self):
            self.options = set()

        def getgroup(self, *_):
            return self

        def addoption(self, name, **_):
            self.options.add(name.replace("--audit-", "--"))

        def add_argument(self, name, **_):
            self.options.add(name)

    command, plugin = Parser(), Parser()
    add_arguments(command)
    candela_xp_pytest.pytest_addoption(plugin)
    assert command.options - {"-m", "script"} == plugin.options


# -- asked -----------------------------------------------------------------------------------------


def test_a_report_is_written_and_said(start):
    done = start("--audit-report=r.json", test_a=MEETS)
    assert done.returncode == 0, done.stdout
    assert found(start) == [("iadd-alias", "test_a.py", 4, 1), ("len", "test_a.py", 7, 1)]
    assert "portability audit" in done.stdout
    assert "audit: 2 findings in 1 file" in done.stdout
    assert f"audit: report in {start.work / 'r.json'}" in done.stdout
    assert "2 passed" in done.stdout


def test_reports_come_in_all_formats(start):
    start(*(f"--audit-report=r{suffix}" for suffix in FORMATS), test_a=MEETS)
    for suffix in FORMATS:
        assert "iadd-alias" in (start.work / f"r{suffix}").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["-p", "candela_xp.audit"], ["--audit-backends=jax,dask"], ["--audit-data"]])
def test_without_a_report_all_is_shown(start, options):
    done = start(*options, test_a=MEETS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "y = x + 1; with y = x first" in done.stdout


def test_import_of_a_test_file_is_audited(start):
    start("--audit-report=r.json", test_a="from audit_standin import meet\nmeet('len')\ndef test_it(): pass\n")
    assert found(start) == [("len", "test_a.py", 2, 1)]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--audit-fail-on=jax"], FAILED),
        (["--audit-fail-on=torch"], 0),
        (["--audit-fail-on=jax", "--exitfirst"], FAILED),
    ],
)
def test_failing_is_a_status_of_its_own(start, options, status):
    assert start(*options, test_a=MEETS).returncode == status


def test_tests_that_fail_keep_their_status_and_the_report_is_written(start):
    done = start("--audit-fail-on=jax", "--audit-report=r.json", test_a=MEETS + "\n    assert False\n")
    assert done.returncode == 1
    assert len(found(start)) == 2


def test_an_interrupted_session_is_reported(start):
    code = MEETS + "\ndef test_third():\n    raise KeyboardInterrupt\n"
    assert start("--audit-fail-on=jax", "--audit-report=r.json", test_a=code).returncode == 2
    assert len(found(start)) == 2


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--audit-backends=numpi", ["numpi", *BACKENDS]),
        ("--audit-fail-on=numpi", ["numpi", *BACKENDS]),
        ("--audit-since=2020.12", ["2020.12", "2021.12"]),
        ("--audit-report=r.pdf", ["r.pdf", ".sarif"]),
        ("--audit-report=no/such/r.json", ["r.json"]),
    ],
)
def test_bad_options_are_refused_before_a_test_runs(start, option, words):
    done = start(option, test_a="raise SystemExit('it ran')\n")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert [word for word in words if word not in done.stderr] == []
    assert "Traceback" not in done.stderr
    assert "it ran" not in done.stdout + done.stderr


def test_a_report_that_became_unwritable_is_no_success(start):
    (start.work / "sub").mkdir()
    code = "import os\ndef test_it():\n    os.rename('sub', 'gone')\n"
    done = start("--audit-report=sub/r.json", "--audit-report=r.json", test_a=code)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "cannot write the report" in done.stdout
    assert found(start) == []


# -- workers ---------------------------------------------------------------------------------------

needs_workers = pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="about pytest-xdist")


@needs_workers
@pytest.mark.parametrize("options", [["-n2"], ["-n2", "-p", "candela_xp.audit"], ["-n2", "--dist=loadfile"], ["-n0"]])
def test_the_findings_of_all_workers_are_added(start, options):
    done = start(*options, "--audit-report=r.json", "--audit-fail-on=jax", library=LIBRARY, test_a=SHARED)
    assert done.returncode == FAILED, done.stdout + done.stderr
    assert found(start) == [("iadd-alias", "library.py", 4, 8)]
    assert done.stdout.count("audit: 1 finding in 1 file") == 1


@needs_workers
def test_a_worker_that_died_is_told(start):
    code = "import os\ndef test_dies():\n    os._exit(1)\n"
    done = start("-n1", "--audit-report=r.json", library=LIBRARY, test_a=code, test_b=SHARED)
    assert done.returncode == 1
    assert found(start) == [("iadd-alias", "library.py", 4, 8)]
    assert "note: the findings of 1 worker that died are missing" in done.stdout
