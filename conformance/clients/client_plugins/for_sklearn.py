"""scikit-learn: the generators of namespaces for its tests yield the backend alone, mixed with NumPy where it mixes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from . import _backend, _retarget

_NAMES = {_backend.STRICT: _backend.NAME} if _backend.FOREIGN else {}
_utilities: Any = import_module("sklearn.utils._array_api")
_testing: Any = import_module("sklearn.utils._testing")


def _namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
    yield _backend.NAME


def _combinations(include_numpy_namespaces: bool = True) -> Iterator[tuple[str, None, str]]:
    for dtype in ("float64", "float32"):
        yield _backend.NAME, None, dtype


def _mixed() -> Iterator[tuple[Any, Any, str]]:
    ours, numpy = _utilities.NamespaceAndDevice(_backend.NAME, None), _utilities.NamespaceAndDevice("numpy", None)
    yield ours, numpy, f"{_backend.NAME} to numpy"
    yield numpy, ours, f"numpy to {_backend.NAME}"


def _replace_generators() -> None:
    """Before any test module is imported, since they import these by name."""
    _utilities.yield_namespaces = _namespaces
    _utilities.yield_namespace_device_dtype_combinations = _combinations
    _utilities.yield_mixed_namespace_input_permutations = _mixed


def _replace_example() -> None:
    """Where tests take array_api_strict as the example of a third party, they get the backend."""
    for_tests: Callable[..., Any] = _testing._array_api_for_tests
    import_or_skip: Callable[..., Any] = pytest.importorskip

    @functools.wraps(for_tests)
    def backend_for_tests(array_namespace: str, device_name: Any = None, dtype_name: Any = None) -> Any:
        if array_namespace == _backend.STRICT:  # its names of devices are its own
            return for_tests(_backend.NAME, None, dtype_name)
        return for_tests(array_namespace, device_name, dtype_name)

    def import_backend_or_skip(modname: str, *arguments: Any, **options: Any) -> Any:
        return import_or_skip(_NAMES.get(modname, modname), *arguments, **options)

    _testing._array_api_for_tests = backend_for_tests
    pytest.importorskip = import_backend_or_skip


if _backend.FOREIGN:
    _replace_generators()
    _replace_example()
    # not sooner: it imports the above by name
    _checks: Any = import_module("sklearn.utils.estimator_checks")
    _retarget.function(_checks._yield_array_api_checks, _NAMES)

if _backend.LIKE_STRICT:
    # the conversions to NumPy ask for array_api_strict's own devices
    _retarget.module(_utilities, _NAMES, leave=("_convert_to_numpy", "_move_to", "move_to"))
    _retarget.module(_checks, _NAMES)
    _retarget.module(import_module("sklearn.metrics._classification"), _NAMES)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parameters written out in the tests."""
    _retarget.parameters(metafunc, _NAMES)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what runs with the backend, by its parameters or in its body."""

    def wanted(item: pytest.Item) -> bool:
        body = _retarget.code_of(getattr(item, "function", None))
        return _backend.NAME in item.name or (_backend.NAME != "numpy" and _retarget.mentions(body, {_backend.STRICT}))

    _backend.keep(config, items, wanted)
    if _backend.LIKE_STRICT:
        for item in items:
            _retarget.function(getattr(item, "function", None), _NAMES)
