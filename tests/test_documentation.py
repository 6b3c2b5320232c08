"""Documentation: examples run, commands are those of CI, links lead somewhere, tables are those of the code."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import FunctionType

import pytest
from numpydoc.validate import validate
from processes import in_process

import candela_xp as xp
from candela_xp import _settings
from docs import tables

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCS = ROOT / "docs"
UNBUILT = {"_build", "changes"}
SITE = [path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in UNBUILT]
PAGES = [README, ROOT / "CHANGELOG.md", *SITE]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMMAND = re.compile(r"^<!-- command: (\w+) -->\n```sh\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def read(path):
    return path.read_text(encoding="utf-8")


def named(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.relative_to(ROOT).as_posix())


# -- examples ----------------------------------------------------------------------------------------


def failures(text, name):
    """What doctest says of the examples in a text; empty if all is well."""
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report = io.StringIO()
    doctest.DocTestRunner().run(example, out=report.write)
    return report.getvalue()


def modules():
    """Every module of the package, by its name inside the package."""
    files = [path.relative_to(ROOT / "candela_xp").with_suffix("") for path in (ROOT / "candela_xp").rglob("*.py")]
    names = [".".join(path.parts).removesuffix("__init__").removesuffix(".") for path in files]
    return sorted(name for name in names if name)


def documented():
    """Every docstring of the package, by where it was found; those that decorators composed among them."""
    found = {}
    # The command line needs the demonstration's packages and has none.
    library = [f"candela_xp.{name}" for name in modules() if name.partition(".")[0] not in ("__main__", "_commands")]
    for name in ["candela_xp", *library]:
        module = importlib.import_module(name)
        owners = [(name, module)]
        for key, value in vars(module).items():
            if not isinstance(value, type | FunctionType) or not value.__module__.startswith("candela_xp"):
                continue
            owners.append((f"{name}.{key}", value))
            if inspect.isclass(value):
                owners += [(f"{name}.{key}.{attribute}", member) for attribute, member in vars(value).items()]
        for place, owner in owners:
            text = getattr(owner, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                found.setdefault(inspect.cleandoc(text), place)
    return {place: text for text, place in found.items()}


DOCUMENTED = documented()


def needed(path):
    """What the examples of a page import beyond the library, and NumPy: its line ``<!-- needs: ... -->``."""
    return re.findall(r"[\w.]+", "".join(re.findall(r"^<!-- needs: (.*) -->$", read(path), re.MULTILINE)))


@named([path for path in PAGES if ">>>" in read(path)])
def test_examples_in_pages_give_what_they_show(path):
    if not needed(path):
        # A fence ends an example as an empty line would.
        assert failures(read(path).replace("```", ""), path.name) == ""
        return
    if absent := [name for name in needed(path) if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(absent)} not installed: the extra 'demo' brings them")
    # A process of its own, since the examples set variables that a package reads when it is first imported.
    code = f"from test_documentation import *; print(failures(read(Path({str(path)!r})).replace('```', ''), 'page'))"
    done = in_process(f"import sys; sys.path[:0] = [{str(ROOT / 'tests')!r}]; {code}")
    assert done.stdout.strip() == "", done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def test_the_readme_has_an_example():
    assert read(README).count(">>>") >= 5


@pytest.mark.parametrize("place", DOCUMENTED)
def test_examples_in_docstrings_give_what_they_show(place):
    assert failures(DOCUMENTED[place], place) == ""


def test_docstrings_with_examples_are_found():
    assert any("settings" in place for place in DOCUMENTED)


def test_a_wrong_example_is_noticed():
    assert "Expected" in failures(">>> 1 + 1\n3\n", "wrong")


# -- commands ----------------------------------------------------------------------------------------


def commands():
    return dict(COMMAND.findall(read(README)))


def test_the_readme_sets_up_with_two_commands_of_one_line():
    assert list(commands()) == ["demo", "tests"]
    assert all("\n" not in line for line in commands().values())


def test_the_commands_can_follow_each_other():
    homes = {re.match(r"python3 -m venv (\S+) && ", line)[1] for line in commands().values()}
    assert len(homes) == 2
    for line in commands().values():
        assert {word.split("/")[0] for word in shlex.split(line) if word.startswith(".venv")} <= homes


def test_the_commands_name_extras_that_exist():
    extras = set(PROJECT["project"]["optional-dependencies"])
    wanted = {extra for line in commands().values() for extra in re.findall(r"\.\[(\w+)\]", line)}
    assert wanted == {"demo", "test"}
    assert wanted <= extras


@pytest.mark.skipif(shutil.which("bash") is None, reason="the checks of CI are a bash script")
@pytest.mark.parametrize("name", ["demo", "tests"])
def test_ci_takes_its_command_from_the_readme(name):
    script = read(ROOT / ".ci" / "run")
    function = re.search(r"^command_of\(\) \{\n.*?^\}\n", script, re.MULTILINE | re.DOTALL)[0]
    done = subprocess.run(
        ["bash", "-c", f"{function}\ncommand_of {name}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip("\n") == commands()[name]


def test_ci_runs_the_readmes_tests_where_the_readme_installs_them():
    script = read(ROOT / ".ci" / "run")
    home = re.match(r"python3 -m venv (\S+) && ", commands()["tests"])[1]
    assert f"\nvenv={home}\n" in script
    assert '\nstage tests bash -c "$tests"\n' in script


def test_the_extras_that_ci_installs_bring_every_tool_that_it_calls():
    script = read(ROOT / ".ci" / "run")
    tools = set(re.findall(r'\$venv/bin/"? ?([\w-]+)', script)) - {"python", "pip"}
    packages = {"lint-imports": "import-linter", "sphinx-build": "sphinx"}
    extras = PROJECT["project"]["optional-dependencies"]
    brought = {re.match(r"[\w-]+", line)[0] for name in ("test", "docs") for line in extras[name]}
    assert tools >= {"ruff", "mypy", "lint-imports", "sphinx-build"}
    assert {packages.get(tool, tool) for tool in tools} <= brought
    assert "install --quiet '.[docs,demo]'" in script


# -- links -------------------------------------------------------------------------------------------


def links(path):
    text = re.sub(r"^```.*?^```$", "", read(path), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(path):
    """The anchors of a page's headings, formed as GitHub and MyST form them."""
    headings = re.findall(r"^#+ (.*)$", read(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@named(PAGES)
def test_links_inside_the_project_lead_somewhere(path):
    for link in links(path):
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{path.name}: {link} is not there"
        assert not anchor or anchor in anchors(file), f"{path.name}: {link} has no such heading"


def entries(path):
    """The pages that the tables of contents of a page name, and what it includes."""
    tables_of_contents = re.findall(r"^```\{toctree\}\n(?::.*\n)*\n((?:.+\n)*)```$", read(path), re.MULTILINE)
    patterns = [f"{entry}.md" for block in tables_of_contents for entry in block.splitlines()]
    included = re.findall(r"^```\{include\} (\S+)$", read(path), re.MULTILINE)
    return [found.resolve() for pattern in patterns for found in path.parent.glob(pattern)] + [
        (path.parent / name).resolve() for name in included
    ]


def test_every_page_is_in_a_table_of_contents():
    index = DOCS / "index.md"
    reached, ahead = set(), [index]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += entries(page)
    assert set(PAGES) - reached == {README}  # the way to the index


# -- what follows from the code ----------------------------------------------------------------------


@named(SITE)
def test_tables_in_pages_are_those_of_the_code(path):
    assert read(path) == tables.renewed(read(path)), "run python -m docs.tables"


def test_every_table_has_a_page():
    found = [name for path in PAGES for _, name, _ in tables.BLOCK.findall(read(path))]
    assert sorted(found) == sorted(tables.TABLES)


def test_the_page_on_modes_names_every_setting_with_its_default():
    page = read(ROOT / "docs" / "modes.md")
    for name, default in _settings.Settings._field_defaults.items():
        shown = "" if name in ("threads", "pool_bytes") else f" `{default}` |"  # those two depend on the machine
        assert f"| `{name}` | `CANDELA_XP_{name.upper()}` |{shown}" in page


def test_the_floors_of_the_architecture_are_those_of_the_package():
    page = read(ROOT / "docs" / "architecture.md")
    section = page.partition("\n## The floors\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")][2:]
    told = [name for cell in rows for name in re.findall(r"`([\w.]+)`", cell)]
    here = modules()
    assert len(set(told)) == len(told)
    assert set(told) <= set(here)
    assert {name for name in here if "." not in name} <= set(told)


def public():
    for module in (xp, xp.linalg, xp.fft):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)) or inspect.isclass(getattr(module, name)):
                yield f"{module.__name__}.{name}"


# See pyproject.toml on these; PR01 only for classes, which are made by functions and document their attributes.
UNASKED = {"ES01", "EX01", "SA01", "SS02", "SS05"}


@pytest.mark.parametrize("name", list(public()))
def test_public_docstrings_are_complete(name):
    is_class = inspect.isclass(getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]))
    unasked = UNASKED | ({"PR01"} if is_class else set())
    with contextlib.redirect_stderr(io.StringIO()):
        found = validate(name)["errors"]
    assert [error for error in found if error[0] not in unasked] == []


# -- changes -----------------------------------------------------------------------------------------


def fragments():
    return sorted(path for path in (ROOT / "docs" / "changes").iterdir() if not path.name.startswith("."))


@named(fragments())
def test_a_change_is_one_sentence_of_a_kind_that_exists(path):
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    assert re.fullmatch(rf"\+[a-z0-9-]+\.({'|'.join(sorted(kinds))})\.md", path.name)
    text = read(path)
    assert text.endswith(".\n")
    assert text.count("\n") == 1


def test_the_changelog_has_a_place_for_the_next_release():
    assert PROJECT["tool"]["towncrier"]["start_string"] in read(ROOT / "CHANGELOG.md")
