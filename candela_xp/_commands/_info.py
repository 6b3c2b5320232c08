"""Versions, BLAS, threads, dtypes, devices, revisions and settings, as data and as a table."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import candela_xp as xp
from candela_xp import _dtypes, _revisions, _settings
from candela_xp._commands._draw import Style, table

UNKNOWN = "unknown"

# OpenBLAS as NumPy's wheels rename it, and as systems ship it; 64 marks 64-bit integers
_SPELLINGS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""), ("", "_64"))


def facts() -> dict[str, Any]:
    """What is installed and in force, as plain data."""
    blas = _blas()
    return {
        "versions": {
            "candela_xp": xp.__version__,
            "numpy": np.__version__,
            "ml_dtypes": _version("ml_dtypes"),
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "platform": platform.platform(),
        },
        "blas": {name: blas[name] for name in ("library", "version", "kernel")},
        "threads": {"cpus": usable_cpus(), "blas": blas["threads"]},
        "dtypes": {
            "standard": [dtype.name for dtype in _dtypes.STANDARD],
            "extension": [dtype.name for dtype in _dtypes.EXTENSIONS],
        },
        "devices": [str(device) for device in xp.__array_namespace_info__().devices()],
        "revisions": list(_revisions.REVISIONS),
        "settings": _settings.current()._asdict(),
    }


def lines(found: dict[str, Any], style: Style) -> list[str]:
    """The facts as a table, one group under the other."""
    result: list[str] = []
    for group, content in found.items():
        result.append(style.bold(group))
        pairs = content.items() if isinstance(content, dict) else [("", content)]
        # The values' column starts at 18: what is left of the terminal is theirs.
        rows = [
            (name if place == 0 else "", part)
            for name, value in pairs
            for place, part in enumerate(_wrapped(value, style.width - 18))
        ]
        result += table([(name.ljust(14), part) for name, part in rows])
    return result


def _wrapped(value: Any, width: int) -> list[str]:
    """A value as text; a list as several lines where it is long."""
    if not isinstance(value, list):
        return [str(value)]
    parts = [""]
    for item in map(str, value):
        joined = f"{parts[-1]}, {item}" if parts[-1] else item
        if len(joined) < width or not parts[-1]:
            parts[-1] = joined
        else:
            parts[-1] += ","
            parts.append(item)
    return parts


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a tree that was never installed
        return UNKNOWN


def _blas() -> dict[str, Any]:
    """NumPy's BLAS: the library it was built with, and what the loaded library says of itself."""
    built: dict[str, Any] = np.show_config(mode="dicts") or {}  # type: ignore[assignment]  # a dict, in this mode
    blas = built.get("Build Dependencies", {}).get("blas", {})
    found = {"library": blas.get("name", UNKNOWN), "version": blas.get("version", UNKNOWN)}
    kernel, threads = UNKNOWN, None
    for library in _libraries():
        name = _symbol(library, "openblas_get_corename")
        if name is not None:
            name.restype = ctypes.c_char_p
            kernel = (name() or UNKNOWN.encode()).decode(errors="replace")
            count = _symbol(library, "openblas_get_num_threads")
            threads = int(count()) if count is not None else None
            break
    return {**found, "kernel": kernel, "threads": threads if threads is not None else UNKNOWN}


def _libraries() -> Iterator[ctypes.CDLL]:
    """Loaded libraries that may hold NumPy's BLAS.

    First its extension modules, whose dependencies are searched with them (except on Windows), then the libraries
    that the wheel bundles.
    """
    paths: list[Path] = []
    for name in ("numpy._core._multiarray_umath", "numpy.linalg._umath_linalg"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            paths.append(Path(file))
    home = Path(np.__file__).parent
    for folder in (home.parent / "numpy.libs", home / ".libs", home / ".dylibs"):
        paths += sorted(folder.glob("*openblas*"))
    for path in paths:
        try:
            yield ctypes.CDLL(str(path))
        except OSError:  # not a library, or one for another machine
            continue


def _symbol(library: ctypes.CDLL, name: str) -> Any:
    """A function of OpenBLAS under any of its spellings, or None."""
    for before, after in _SPELLINGS:
        found = getattr(library, f"{before}{name}{after}", None)
        if found is not None:
            return found
    return None
