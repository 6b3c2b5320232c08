"""Sphinx extension: what in the pages follows from the package.

A page of the reference has the line ``<!-- chapter: MODULE -->``; in its place come a table of the chapter's functions
and each of them, from its docstring. Under a function stands what NumPy does differently, from
`numpy_differences.toml`, whose examples the tests run. ``<!-- differences -->`` is the place of all of these in one
list, ``<!-- fragments -->`` of the changes that no release has yet. A line with a ``*`` in a table of contents stands
for the pages that match it; Sphinx's own patterns warn where there are none.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import candela_xp
from candela_xp import _revisions

HERE = Path(__file__).resolve().parent
DIFFERENCES = HERE / "numpy_differences.toml"
CHANGES = HERE / "changes"
EVERYWHERE = "*"
PLACE = re.compile(r"^<!-- (chapter: (?P<chapter>[\w.]+)|(?P<list>differences|fragments)) -->$", re.MULTILINE)


TOCTREE = re.compile(r"^```\{toctree\}\n(?P<options>(?::.*\n)*)\n(?P<entries>(?:.+\n)*)```$", re.MULTILINE)


class Difference(NamedTuple):
    """Something that NumPy does otherwise: in which functions, a sentence, an example for doctest."""

    functions: tuple[str, ...]
    text: str
    example: str = ""


@cache
def differences() -> tuple[Difference, ...]:
    """All rows of the table, in its order."""
    rows = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))["difference"]
    return tuple(Difference(tuple(row["of"]), row["text"].strip(), row.get("example", "").strip()) for row in rows)


def differences_of(name: str) -> list[Difference]:
    """Those of one function, by its name under ``candela_xp.``."""
    return [row for row in differences() if name in row.functions]


# -- chapters ----------------------------------------------------------------------------------------


@cache
def chapters() -> dict[str, tuple[str, ...]]:
    """The public functions by the module that defines them, such as ``_sorting``; in the order of ``__all__``.

    A function that is in two namespaces is in the chapter of its module once, under its name in the main one.
    """
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for namespace in (candela_xp, candela_xp.linalg, candela_xp.fft):
        homes = _homes(namespace)
        prefix = namespace.__name__.removeprefix("candela_xp").removeprefix(".")
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if inspect.isfunction(value) and id(value) not in seen:
                seen.add(id(value))
                found.setdefault(homes.get(name, prefix), []).append(f"{prefix}.{name}" if prefix else name)
    return {home: tuple(names) for home, names in found.items()}


def _homes(namespace: ModuleType) -> dict[str, str]:
    """From which module of the package a namespace imports each of its names."""
    tree = ast.parse(inspect.getsource(namespace))
    return {
        alias.asname or alias.name: (node.module or "").removeprefix("candela_xp.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def function(name: str) -> Any:
    """The function of a name such as ``linalg.inv``."""
    value: Any = candela_xp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def since(name: str) -> str:
    """The revision from which the standard has a function, as its docstring says; empty where it says none."""
    text = " ".join((inspect.getdoc(function(name)) or "").split())
    found = re.search(r"in the standard since (\d{4}\.\d\d)", text)
    return found[1] if found else ""


def earlier(name: str) -> list[_revisions.Member]:
    """Behaviours of a function that a later revision replaced."""
    namespace, _, short = name.rpartition(".")
    return [m for m in _revisions.MEMBERS if (m.namespace, m.name) == (namespace, short) and m.until is not None]


def summary(name: str) -> str:
    """The first sentence of a docstring."""
    return (inspect.getdoc(function(name)) or "").partition("\n")[0]


# -- pages -------------------------------------------------------------------------------------------


def chapter(home: str) -> str:
    """A chapter of the reference in MyST: a table, then every function."""
    names = chapters()[home]
    rows = [
        f"| {{py:obj}}`{name} <candela_xp.{name}>` | {_cell(summary(name))} | {since(name) or 'not in the standard'} "
        f"| {'yes' if differences_of(name) else ''} |"
        for name in names
    ]
    table = ["| Function | | Since | NumPy differs |", "| --- | --- | --- | --- |", *rows]
    each = [f"```{{eval-rst}}\n.. autofunction:: candela_xp.{name}\n```\n" for name in names]
    return "\n".join([*table, "", *each])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def difference_list() -> str:
    """Every difference: those that hold everywhere, then by the pages of the reference."""
    parts = []
    for title, names in [("Everywhere", {EVERYWHERE}), *_titles()]:
        rows = [_difference(row) for row in differences() if row.functions[0] in names]
        if rows:
            parts += [f"## {title}\n", *rows]
    return "\n".join(parts)


def _titles() -> list[tuple[str, set[str]]]:
    """The title of each page of the reference that has functions, and their names; in the order of the contents."""
    contents = TOCTREE.search((HERE / "reference" / "index.md").read_text(encoding="utf-8"))
    found = []
    for entry in contents["entries"].split() if contents else ():
        page = (HERE / "reference" / f"{entry}.md").read_text(encoding="utf-8")
        homes = [place["chapter"] for place in PLACE.finditer(page) if place["chapter"]]
        names = {name for home in homes for name in chapters()[home]}
        found.append((page.partition("\n")[0].removeprefix("# "), names))
    return found


def _difference(row: Difference) -> str:
    title = "" if row.functions == (EVERYWHERE,) else ", ".join(_reference(name) for name in row.functions) + "\n: "
    text = row.text.replace("\n", "\n  ") if title else row.text
    return f"{title}{text}\n\n```python\n{row.example}\n```\n"


def _reference(name: str) -> str:
    return f"{{py:obj}}`{name} <candela_xp.{name}>`"


def fragments() -> str:
    """The changes that no release has yet, by kind."""
    kinds = ("added", "changed", "removed", "fixed", "faster")
    parts = []
    for kind in kinds:
        found = [path.read_text(encoding="utf-8").strip() for path in sorted(CHANGES.glob(f"*.{kind}.md"))]
        if found:
            parts.append(f"### {kind.capitalize()}\n\n" + "\n".join(f"- {text}" for text in found) + "\n")
    return "\n".join(parts) or "Nothing.\n"


def filled(page: str) -> str:
    """A page with what follows from the package in its places."""

    def text(found: re.Match[str]) -> str:
        if found["chapter"]:
            return chapter(found["chapter"])
        return difference_list() if found["list"] == "differences" else fragments()

    return TOCTREE.sub(_contents, PLACE.sub(text, page))


def _contents(found: re.Match[str]) -> str:
    """A table of contents with the pages that its patterns match; nothing where there are none."""
    entries: list[str] = []
    for entry in found["entries"].splitlines():
        entries += sorted(path.stem for path in HERE.glob(f"{entry}.md")) if "*" in entry else [entry]
    return f"```{{toctree}}\n{found['options']}\n" + "\n".join(entries) + "\n```" if entries else ""


# -- Sphinx ------------------------------------------------------------------------------------------


def _on_read(app: Any, name: str, content: list[str]) -> None:
    content[0] = filled(content[0])


def _on_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Add to a function's docstring what it did in earlier revisions and what NumPy does differently."""
    name = name.removeprefix("candela_xp.")
    if not inspect.isfunction(value):
        return
    for member in earlier(name):
        first = (inspect.getdoc(member.value) or "").partition("\n")[0]
        lines += ["", f"Before revision {member.until}: {first}"]
    found = differences_of(name)
    if found:
        lines += ["", ".. rubric:: What NumPy does differently", ""]
        for row in found:
            lines += [*_rst(row.text), ""]
            if row.example:
                lines += [".. code-block:: pycon", "", *(f"   {line}" for line in row.example.splitlines()), ""]


def _rst(text: str) -> Iterable[str]:
    return re.sub(r"`([^`]+)`", r"``\1``", text).splitlines()


def _on_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Classes that nobody calls have no signature; short names of types stand as such."""
    if what == "class" and name.rpartition(".")[2] in ("NDArray", "DType", "Device"):
        return "", None
    return _short(signature), _short(returned)


def _short(words: str | None) -> str | None:
    return words and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", words)


def setup(app: Any) -> dict[str, Any]:
    """Connect with Sphinx."""
    app.connect("source-read", _on_read)
    app.connect("autodoc-process-docstring", _on_docstring, priority=600)  # after napoleon
    app.connect("autodoc-process-signature", _on_signature)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
