"""Which namespace the tests are to use, and what every plugin does with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest

STRICT = "array_api_strict"
NAME = os.environ.get("CANDELA_XP_CLIENTS_BACKEND", "candela_xp")
# The client knows the others by name.
FOREIGN = NAME not in (STRICT, "numpy")
LIKE_STRICT = FOREIGN and os.environ.get("CANDELA_XP_CLIENTS_LIKE_STRICT") == "1"


def namespace() -> ModuleType:
    """The module under test."""
    return import_module(NAME)


def keep(config: pytest.Config, items: list[pytest.Item], wanted: Callable[[pytest.Item], bool]) -> None:
    """Deselect the tests that say nothing about the namespace."""
    chosen = [wanted(item) for item in items]
    config.hook.pytest_deselected(items=[item for item, yes in zip(items, chosen) if not yes])
    items[:] = [item for item, yes in zip(items, chosen) if yes]


def stand_in() -> None:
    """Let ``import array_api_strict`` give the namespace under test.

    For clients whose tests import it as their example of a namespace of which they know nothing.
    """
    if NAME == STRICT:
        return
    module = namespace()
    sys.modules[STRICT] = module
    internal = ModuleType(f"{STRICT}._array_object")
    vars(internal)["Array"] = type(module.asarray(0))
    sys.modules[internal.__name__] = internal
