"""marray: its tests import array_api_strict as one of the namespaces to put masks on."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import Any

import pytest

from . import _backend

if _backend.FOREIGN:
    _backend.stand_in()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what runs with the backend; in like-strict mode its skips for array_api_strict apply."""
    namespace = _backend.namespace()

    def wanted(item: pytest.Item) -> bool:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        return given.get("xp", namespace) is namespace

    _backend.keep(config, items, wanted)
    for item in items:
        _fix_seed(getattr(item, "function", None))
    if _backend.LIKE_STRICT and items:
        tests: Any = items[0].module  # type: ignore[attr-defined]
        pass_backend = tests.pass_backend

        def pass_strict(*, pass_xp: str, **options: Any) -> None:
            pass_backend(pass_xp=_backend.NAME if pass_xp == "strict" else pass_xp, **options)

        tests.pass_backend = pass_strict


def _fix_seed(function: Any) -> None:
    """Its tests draw another seed each time (``seed=None``): two runs are to fail alike."""
    seed = zlib.crc32(getattr(function, "__name__", "").encode())
    if (getattr(function, "__kwdefaults__", None) or {}).get("seed", seed) is None:
        function.__kwdefaults__["seed"] = seed
    elif getattr(function, "__defaults__", None) == (None,):
        function.__defaults__ = (seed,)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report what was raised: a decorator of the tests turns it into an AssertionError that holds a seed."""
    cause = call.excinfo and call.excinfo.value.__cause__
    if cause is not None:
        call.excinfo = pytest.ExceptionInfo.from_exception(cause)
    return (yield)
