"""The namespace modules of the revisions, filled from the registry."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

from candela_xp import _dtypes, _inspection, _revisions, _settings
from candela_xp._revisions import LATEST

# newaxis came with 2022.12; the conformance suite asks for it in every revision
CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
EXTENSIONS = {"linalg": "2021.12", "fft": "2022.12"}

# The namespaces, whose extensions the settings may take away.
_namespaces: list[str] = []


def limit(module: str) -> None:
    """Have the extensions of a namespace come and go with the settings; its ``__getattr__`` must ask `reach`."""
    _namespaces.append(module)
    _hide(_settings.current())


def _hide(now: _settings.Settings) -> None:
    """Take the extensions out of the namespaces, once settings have fewer: from then on each access asks.

    Until then they are plain attributes, which Python reads ten times as fast.
    """
    if now.extensions != _settings.ALL_EXTENSIONS:
        for module in _namespaces:
            for name in EXTENSIONS:
                vars(sys.modules[module]).pop(name, None)


_settings.on_change.append(_hide)


def reach(module: str, name: str) -> ModuleType:
    """An extension of a namespace, if the settings have it.

    Raises
    ------
    AttributeError
        They don't, or there is no such attribute.
    """
    found = sys.modules.get(f"{module}.{name}") if name in EXTENSIONS else None
    if found is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    chosen = _settings.current().extensions
    if name not in chosen:
        raise AttributeError(f"module {module!r} has no {name!r} under settings(extensions={chosen!r})")
    return found


def contents(revision: str) -> dict[str, Any]:
    """Everything that the main namespace of a revision holds, its extensions apart."""
    found: dict[str, Any] = dict(CONSTANTS)
    for dtype in _dtypes.STANDARD:
        if dtype.kind != "complex" or revision >= "2022.12":
            found[dtype.name] = dtype
    found.update(_revisions.members(revision))
    if revision != LATEST:
        found["__array_namespace_info__"] = _inspection.older_info(revision)
    return found


def build(module: str, revision: str) -> None:
    """Fill a module with a revision's namespace and make its extensions modules too."""
    home = sys.modules[module]
    found = contents(revision)
    for extension, since in EXTENSIONS.items():
        if revision >= since:
            name = f"{module}.{extension}"
            made = ModuleType(name, f"The {extension} extension of revision {revision} of the array API standard.")
            inside = _revisions.members(revision, extension)
            made.__dict__.update(inside, __all__=sorted(inside))
            found[extension] = sys.modules[name] = made
    home.__dict__["__getattr__"] = lambda name: reach(module, name)
    package = sys.modules["candela_xp"]
    home.__dict__.update(found, __all__=sorted(found), __array_api_version__=revision, __version__=package.__version__)
    limit(module)
