"""The site: its reference has every function, what it says of NumPy holds, its pictures are those of the library."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from processes import in_process
from test_documentation import DOCS, PROJECT, ROOT, failures, read

import candela_xp as xp
from candela_xp import _revisions
from docs import reference_pages
from docs.reference_pages import EVERYWHERE, chapters, differences, filled, function, since

UNTYPED = {("asarray", "obj"), ("from_dlpack", "x")}  # anything that has the protocol
REFERENCE = sorted((DOCS / "reference").glob("*.md"))


def chapters_of(page):
    return [found["chapter"] for found in reference_pages.PLACE.finditer(read(page)) if found["chapter"]]


# -- reference ---------------------------------------------------------------------------------------


def test_every_chapter_has_its_page_and_no_other_has_one():
    placed = [chapter for page in REFERENCE for chapter in chapters_of(page)]
    assert sorted(placed) == sorted(chapters())


def test_every_public_function_is_in_one_chapter():
    told = [function(name) for names in chapters().values() for name in names]
    public = {
        id(value): value
        for namespace in (xp, xp.linalg, xp.fft)
        for name in namespace.__all__
        if inspect.isfunction(value := getattr(namespace, name))
    }
    assert len({id(value) for value in told}) == len(told)
    assert {id(value) for value in told} == set(public)


def test_every_public_class_constant_and_dtype_is_on_a_page():
    text = "\n".join(read(page) for page in [*REFERENCE, DOCS / "dtypes.md"])
    rest = [name for name in xp.__all__ if not inspect.isfunction(getattr(xp, name)) and name not in ("linalg", "fft")]
    told = [name for name in rest if re.search(rf"(autoclass:: |xp\.|`){name}\b", text)]
    assert set(rest) - set(told) == {"__version__"}


@pytest.mark.parametrize("name", [name for names in chapters().values() for name in names])
def test_a_docstring_says_since_when_as_the_registry_does(name):
    namespace, _, short = name.rpartition(".")
    declared = [member.since for member in _revisions.MEMBERS if (member.namespace, member.name) == (namespace, short)]
    if "here in every revision" in inspect.getdoc(function(name)):
        assert (since(name), min(declared)) == ("2023.12", "2021.12")
    else:
        assert since(name) == min(declared, default="")


@pytest.mark.parametrize("name", [name for names in chapters().values() for name in names])
def test_a_signature_has_the_names_and_types_of_the_definition(name):
    # Many functions are made by decorators, whose own signatures are (x, /) or (*operands, **options).
    signature = inspect.signature(function(name))
    assert signature.return_annotation is not signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation not in (parameter.empty, "Any") or (name, parameter.name) in UNTYPED
        assert parameter.kind is not parameter.VAR_KEYWORD


def test_a_page_of_the_reference_gets_its_functions():
    page = filled("# Sorting\n\n<!-- chapter: _sorting -->\n")
    assert page.startswith("# Sorting\n\n| Function |")
    assert "\n| {py:obj}`sort <candela_xp.sort>` | Sort along an axis. | 2021.12 | yes |\n" in page
    assert page.count(".. autofunction:: candela_xp.") == 2


def test_a_table_of_contents_has_the_pages_that_are_there():
    page = "```{toctree}\n:hidden:\n\narchitecture\nbench*\nabsent*\n```\n\n```{toctree}\n\nabsent*\n```\n"
    assert filled(page) == "```{toctree}\n:hidden:\n\narchitecture\nbenchmarks\n```\n\n\n"


# -- what NumPy does differently ---------------------------------------------------------------------


def test_differences_name_public_functions():
    known = {name for names in chapters().values() for name in names} | {EVERYWHERE}
    assert {name for row in differences() for name in row.functions} <= known


@pytest.mark.parametrize("row", differences(), ids=lambda row: ",".join(row.functions))
def test_what_numpy_does_differently_it_does(row):
    assert "np." in row.example
    assert "xp." in row.example
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert failures(f">>> import numpy as np\n>>> import candela_xp as xp\n{row.example}\n", "example") == ""


# -- pictures ----------------------------------------------------------------------------------------


def test_pictures_are_those_of_the_library():
    done = in_process("from docs.pictures import main; raise SystemExit(main(['--check']))")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0), "run python -m docs.pictures"


def test_every_picture_is_shown_with_words_for_those_who_do_not_see_it():
    pages = [path for path in DOCS.rglob("*.md") if "_build" not in path.parts]
    shown = {
        (page.parent / link).resolve(): words
        for page in pages
        for words, link in re.findall(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)", read(page))
    }
    assert set(shown) == {*DOCS.glob("*.svg"), *DOCS.glob("pictures/*.svg")}
    assert all(len(words) > 10 for words in shown.values())


# -- the guide to testing ----------------------------------------------------------------------------


def test_the_files_of_the_guide_to_testing_run_as_they_stand(tmp_path):
    page = read(DOCS / "guide" / "testing.md")
    files = dict(re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert set(files) == {"mylibrary.py", "conftest.py", "test_mylibrary.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CANDELA_XP_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "."],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(Path(xp.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "6 passed" in done.stdout, done.stdout + done.stderr


# -- building ----------------------------------------------------------------------------------------


def test_ci_builds_the_site_with_warnings_as_errors():
    script = read(ROOT / ".ci" / "run")
    assert re.search(r'sphinx-build" -W --keep-going .*-b html docs ', script)
    assert {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["optional-dependencies"]["docs"]} >= {
        "sphinx",
        "myst-parser",
        "furo",
    }
