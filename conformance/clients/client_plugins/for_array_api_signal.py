"""array-api-signal: its fixtures have a row (name, namespace, device) for NumPy; the backend takes its place."""

from __future__ import annotations

from typing import Any

import pytest

from . import _backend


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep and change the tests with such a row."""

    def wanted(item: pytest.Item) -> bool:
        given: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        for name in ("backend", "backend_data"):
            if name in given and given[name][0] == "numpy":
                if _backend.NAME != "numpy":
                    given[name] = (_backend.NAME, _backend.namespace(), "cpu")
                return True
        return False

    _backend.keep(config, items, wanted)
