"""einops: the tests of its array API module import NumPy as the namespace."""

from __future__ import annotations

import pytest

from . import _backend, _retarget

# "import numpy as xp" in a test becomes an import of the backend, and any version of that is new enough
_NAMES = {"numpy": _backend.NAME} | ({"2.0.0": ""} if _backend.NAME != "numpy" else {})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep and retarget the tests of the array API module."""
    _backend.keep(config, items, lambda item: "array_api" in item.name)
    for item in items:
        _retarget.function(getattr(item, "function", None), _NAMES, imports=True)
