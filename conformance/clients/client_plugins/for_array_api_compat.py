"""array-api-compat: the backend alone in the lists from which its tests take their parameters."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from . import _backend, _retarget

_NAMES = {_backend.STRICT: _backend.NAME} if _backend.FOREIGN else {}
_COMMON = "array_api_compat.tests.test_common"
_helpers: Any = import_module("array_api_compat.tests._helpers")
_helpers.all_libraries[:] = [_backend.NAME]  # in place: test modules import the list

if _backend.LIKE_STRICT:
    _retarget.function(
        import_module("array_api_compat.common._helpers").is_array_api_strict_namespace,
        _NAMES,
    )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parameters and names in the tests themselves: there array_api_strict is the example of a third party."""
    if _backend.FOREIGN and metafunc.module.__name__ == _COMMON:
        _add_functions(metafunc.module)
    _retarget.parameters(metafunc, _NAMES)
    _retarget.function(metafunc.function, _NAMES)


def _add_functions(tests: Any) -> None:
    """Which of the package's ``is_..._array`` and ``is_..._namespace`` say yes to the backend: none, or strict's.

    The tests go through these dictionaries; the one for arrays needs an entry that is true for arrays of the backend.
    """
    namespace = _backend.namespace()
    array_type = type(namespace.asarray(0))
    tests.is_array_functions.setdefault(_backend.NAME, "is_foreign_array")
    tests.is_foreign_array = lambda x: isinstance(x, array_type)
    strict = tests.is_namespace_functions.get(_backend.STRICT)
    if _backend.LIKE_STRICT:
        tests.is_namespace_functions.setdefault(_backend.NAME, strict)
        tests.is_namespace_functions.pop(_backend.STRICT, None)
    else:
        tests.is_namespace_functions.setdefault(_backend.NAME, "is_foreign_namespace")
        tests.is_foreign_namespace = lambda xp: xp is namespace


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what runs with the backend, by its parameters or in its body."""

    def wanted(item: pytest.Item) -> bool:
        if item.path.name in ("test_no_dependencies.py", "test_dask.py"):  # other things than the backend
            return False
        if _backend.FOREIGN and item.name == f"test_xp_is_array_generics[{_backend.NAME}]":
            return False  # whether the package's list of is_..._array is complete
        body = _retarget.code_of(getattr(item, "function", None))
        return _backend.NAME in item.name or _retarget.mentions(body, {_backend.NAME})

    _backend.keep(config, items, wanted)
