"""Exchange names inside code that is already loaded: constants of functions, imports, values of parametrize marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

Names = Mapping[str, str]


def renamed(value: Any, names: Names, *, imports: bool = False) -> Any:
    """A value with names exchanged, itself where there is nothing to exchange.

    Parameters
    ----------
    value
        A string, or a tuple, list, set or code object that holds some, at any depth. Anything else stays.
    names
        Whole strings and what takes their place.
    imports
        Also in the names that code imports or looks up.
    """
    if isinstance(value, str):
        return names.get(value, value)
    if not mentions(value, names, imports=imports):
        return value
    if isinstance(value, CodeType):
        constants = tuple(renamed(constant, names, imports=imports) for constant in value.co_consts)
        looked_up = tuple(names.get(name, name) for name in value.co_names) if imports else value.co_names
        return value.replace(co_consts=constants, co_names=looked_up)
    return type(value)(renamed(part, names, imports=imports) for part in value)


def mentions(value: Any, names: Collection[str], *, imports: bool = False) -> bool:
    """Whether one of the names is in a value, see ``renamed``."""
    if isinstance(value, str):
        return value in names
    if isinstance(value, CodeType):
        parts = [*value.co_consts, *(value.co_names if imports else ())]
        return any(mentions(part, names, imports=imports) for part in parts)
    # exactly these types: a named tuple can't be made of its parts
    if type(value) in (tuple, list, set, frozenset):
        return any(mentions(part, names, imports=imports) for part in value)
    return False


def code_of(function: Any) -> CodeType | None:
    """The code of a function, or of the function that its decorators wrap; None for other callables."""
    inner = innermost(function)
    return inner.__code__ if isinstance(inner, FunctionType) else None


def innermost(function: Any) -> Any:
    """What the decorators of a function wrap."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def function(target: Any, names: Names, *, imports: bool = False) -> bool:
    """Exchange names in a function where it stands, so that whoever has imported it sees it. Whether there were any."""
    inner = innermost(target)
    if not isinstance(inner, FunctionType) or not mentions(inner.__code__, names, imports=imports):
        return False
    inner.__code__ = renamed(inner.__code__, names, imports=imports)
    return True


def module(target: ModuleType, names: Names, *, leave: Collection[str] = ()) -> None:
    """Exchange names in the functions that a module defines."""
    for name, value in list(vars(target).items()):
        if name not in leave and getattr(value, "__module__", None) == target.__name__:
            function(value, names)


def parameters(metafunc: pytest.Metafunc, names: Names) -> None:
    """Exchange names in the values of a test's parametrize marks."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if len(mark.args) > 1 and mentions(mark.args[1], names):
            # marks are frozen, and shared by the tests of a class: in place is what is meant
            object.__setattr__(mark, "args", (mark.args[0], renamed(mark.args[1], names), *mark.args[2:]))
