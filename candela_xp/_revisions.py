"""The revisions of the standard and what belongs to each: a registry filled where the functions are defined.

Membership is declared beside each function (``since=``, and ``until=`` for a behaviour that a later revision
replaced); a namespace module of a revision is a filter over this list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

REVISIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
LATEST = REVISIONS[-1]

Function = TypeVar("Function", bound=Callable[..., Any])


class Member(NamedTuple):
    """One public name: in which namespace ('' is the main one), from which revision, before which other."""

    name: str
    value: Any
    namespace: str
    since: str
    until: str | None


MEMBERS: list[Member] = []


def module_name(revision: str, namespace: str = "") -> str:
    """The dotted name of the module of a revision, or of its extension ``namespace``."""
    base = "candela_xp" if revision == LATEST else "candela_xp.v" + revision.replace(".", "_")
    return f"{base}.{namespace}" if namespace else base


def add(name: str, value: Any, *, namespace: str = "", since: str = "2021.12", until: str | None = None) -> None:
    """Declare a public name."""
    MEMBERS.append(Member(name, value, namespace, since, until))


def public(
    *, name: str | None = None, namespace: str = "", since: str = "2021.12", until: str | None = None
) -> Callable[[Function], Function]:
    """Declare a function public, under its own name or another (a behaviour that ended needs its own def).

    The function says that it lives in the module where users find it, so that it pickles by that name.
    """

    def declare(function: Function) -> Function:
        home = LATEST if until is None else REVISIONS[REVISIONS.index(until) - 1]
        function.__module__ = module_name(home, namespace)
        function.__name__ = function.__qualname__ = name or function.__name__
        add(function.__name__, function, namespace=namespace, since=since, until=until)
        return function

    return declare


def members(revision: str, namespace: str = "") -> dict[str, Any]:
    """The public names of a revision's namespace; a behaviour that ended later stands in for the present one."""
    mine = [m for m in MEMBERS if m.namespace == namespace and m.since <= revision]
    present = {m.name: m.value for m in mine if m.until is None}
    return present | {m.name: m.value for m in mine if m.until is not None and revision < m.until}
