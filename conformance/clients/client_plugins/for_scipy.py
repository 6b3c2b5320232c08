"""SciPy: the fixture ``xp`` gives the backend alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from . import _backend, _retarget

_conftest: Any = import_module("scipy.conftest")  # pytest will find this same module
_namespace = _backend.namespace()

# a name that its skips for everything but NumPy apply to
_conftest.xp_known_backends.add(_backend.NAME)
_parameter = pytest.param(_namespace, id=_backend.NAME, marks=pytest.mark.array_api_backends)
_conftest.xp = pytest.fixture(params=[_parameter])(_conftest.xp.__wrapped__)


@pytest.fixture
def devices(xp: ModuleType) -> list[Any]:
    """Replaces SciPy's: it adds a list to what the namespace gives, which is a tuple since revision 2025.12."""
    return [*xp.__array_namespace_info__().devices(), None]


_conftest.devices = devices


def _treat_as_strict() -> None:
    names = {_backend.STRICT: _backend.NAME}
    helpers = import_module("scipy._lib.array_api_compat.common._helpers")
    _retarget.function(helpers.is_array_api_strict_namespace, names)

    # These two would ask for array_api_strict's own class of devices, having learnt which namespace it is.
    def copy_to_numpy(x: Any) -> Any:
        return np.asarray(x, copy=True)  # type: ignore[name-defined] # noqa: F821 - runs among SciPy's globals

    def as_numpy_array(array: Any, *, xp: Any) -> Any:
        return np.asarray(array)  # type: ignore[name-defined] # noqa: F821 - as above

    import_module("scipy._lib._array_api")._xp_copy_to_numpy.__code__ = copy_to_numpy.__code__
    import_module("scipy._lib.array_api_extra._lib._testing").as_numpy_array.__code__ = as_numpy_array.__code__

    reasons: Callable[..., dict[str, str]] = _conftest._backends_kwargs_from_request

    def reasons_of_strict(request: Any, skip_or_xfail: str) -> dict[str, str]:
        found = reasons(request, skip_or_xfail)
        return ({_backend.NAME: found[_backend.STRICT]} if _backend.STRICT in found else {}) | found

    _conftest._backends_kwargs_from_request = reasons_of_strict


if _backend.LIKE_STRICT:
    _treat_as_strict()
