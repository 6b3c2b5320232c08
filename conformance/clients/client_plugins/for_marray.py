"""marray: its tests import array_api_strict as one of the namespaces to put masks on."""

from __future__ import annotations

from typing import Any

import pytest

from . import _backend

_backend.stand_in()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what runs with the backend; in like-strict mode its skips for array_api_strict apply."""
    namespace = _backend.namespace()

    def wanted(item: pytest.Item) -> bool:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        return given.get("xp", namespace) is namespace

    _backend.keep(config, items, wanted)
    if _backend.LIKE_STRICT and items:
        tests: Any = items[0].module  # type: ignore[attr-defined]
        pass_backend = tests.pass_backend

        def pass_strict(*, pass_xp: str, **options: Any) -> None:
            pass_backend(pass_xp=_backend.NAME if pass_xp == "strict" else pass_xp, **options)

        tests.pass_backend = pass_strict
