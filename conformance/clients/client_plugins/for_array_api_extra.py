"""array-api-extra: one more backend beside its enumeration, which can't be extended."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from . import _backend

_conftest: Any = import_module("array_api_extra.tests.main.conftest")
_enumeration: Any = import_module("array_api_extra._lib._backends").Backend
_testing: Any = import_module("array_api_extra.testing")


class _Foreign:
    """A member that Backend doesn't have; equal to ARRAY_API_STRICT where it is to be treated as that."""

    name, value, modname = _backend.NAME.upper(), _backend.NAME, _backend.NAME

    def like(self, *others: object) -> bool:
        return any(self == other for other in others)

    def __eq__(self, other: object) -> bool:
        return self is other or (_backend.LIKE_STRICT and other is _enumeration.ARRAY_API_STRICT)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return f"Backend.{self.name}"


@pytest.fixture
def xp(library: object, request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """Replaces the suite's, which sets flags that only array_api_strict has."""
    namespace = _backend.namespace()
    with _testing.patch_lazy_xp_functions(request, xp=namespace):
        yield namespace


@pytest.fixture
def device(xp: ModuleType) -> Any:
    """Replaces the suite's, which knows some namespaces' devices by name: another device than the default."""
    information = xp.__array_namespace_info__()
    others = [device for device in information.devices() if device != information.default_device()]
    return others[0] if others else information.default_device()


_library: Any = _Foreign() if _backend.FOREIGN else _enumeration(_backend.NAME)
_conftest.library = pytest.fixture(params=[pytest.param(_library, id=_backend.NAME)])(_conftest.library.__wrapped__)
if _backend.FOREIGN:
    _conftest.xp, _conftest.device = xp, device


def pytest_configure(config: pytest.Config) -> None:
    """Declare the suite's marks, which its own settings would."""
    for mark in ("skip_xp_backend(library, reason=None)", "xfail_xp_backend(library, reason=None, strict=None)"):
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that run with every library."""
    _backend.keep(config, items, lambda item: "library" in getattr(item, "fixturenames", ()))
