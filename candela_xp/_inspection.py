"""Inspection functions (array API 2025.12, "Inspection")."""

from __future__ import annotations

from typing import Any

from candela_xp import _device, _dtypes, _settings
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._revisions import LATEST, module_name, public


class Info:
    """What the namespace offers; made by ``__array_namespace_info__()``."""

    __module__ = "candela_xp"
    __slots__ = ("_revision",)

    def __init__(self, revision: str) -> None:
        self._revision = revision

    def capabilities(self) -> dict[str, Any]:
        """Whether masks and data-dependent shapes work, and how many axes an array can have.

        Returns
        -------
        dict
            ``boolean indexing``, ``data-dependent shapes`` and ``max dimensions``.

        Notes
        -----
        Source: array API 2025.12, ``capabilities``; in the standard since 2023.12.
        """
        now = _settings.current()
        return {
            "boolean indexing": now.boolean_indexing,
            "data-dependent shapes": now.data_dependent_shapes,
            "max dimensions": 64,
        }

    def default_device(self) -> Device:
        """The device on which arrays are made.

        Returns
        -------
        Device
            The CPU.

        Notes
        -----
        Source: array API 2025.12, ``default_device``; in the standard since 2023.12.
        """
        return _device.CPU

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The dtypes of new arrays.

        Parameters
        ----------
        device : Device, optional
            Every device has the same.

        Returns
        -------
        dict
            Dtypes for ``real floating``, ``complex floating``, ``integral`` and ``indexing``.

        Raises
        ------
        ValueError
            The device is unknown.

        Notes
        -----
        Source: array API 2025.12, ``default_dtypes``; in the standard since 2023.12.
        """
        _device.chosen("default_dtypes", device)
        return {
            "real floating": _dtypes.DEFAULT_FLOAT,
            "complex floating": _dtypes.DEFAULT_COMPLEX,
            "integral": _dtypes.DEFAULT_INT,
            "indexing": _dtypes.DEFAULT_INDEX,
        }

    def dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The dtypes, by name: those of the standard, and narrow ones if asked for.

        Parameters
        ----------
        device : Device, optional
            Every device has the same.
        kind : str or tuple of str, optional
            Only those of a kind, as for `isdtype`; of a tuple those of any member. ``extension`` stands for the
            narrow dtypes, which aren't in the standard, and not among the others unless
            ``settings(extension_dtypes=...)`` names them.

        Returns
        -------
        dict
            Dtypes by name.

        Raises
        ------
        ValueError
            The device or a kind is unknown.

        Notes
        -----
        Source: array API 2025.12, ``dtypes``; in the standard since 2023.12.
        """
        _device.chosen("dtypes", device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        for one in kinds:
            if one not in (*_dtypes.KIND_QUERIES, "extension"):
                known = ", ".join([*_dtypes.KIND_QUERIES, "extension"])
                raise ValueError(f"dtypes: kind {one!r} is unknown; there are {known}")
        listed = _settings.current().extension_dtypes
        found = {
            d.name: d for d in _dtypes.DTYPES.values() if (not d.extension or d.name in listed) and _is_of(d, kinds)
        }
        if "extension" in kinds:
            found.update({d.name: d for d in _dtypes.EXTENSIONS})
        if self._revision == "2021.12":  # complex numbers came with 2022.12
            found = {name: dtype for name, dtype in found.items() if dtype.kind != "complex"}
        return found

    def devices(self) -> tuple[Device, ...]:
        """The devices that the settings provide, the default one first.

        Returns
        -------
        tuple of Device
            Devices.

        Notes
        -----
        Source: array API 2025.12, ``devices``; in the standard since 2023.12 (a list before 2025.12).
        """
        return _device.devices()


def _is_of(dtype: DType, kinds: tuple[str, ...]) -> bool:
    """Whether a dtype is of one of the standard's kinds."""
    return any(_dtypes.is_kind(dtype, one) for one in kinds if one != "extension")


class _OlderInfo(Info):
    """The same, with the list of devices that revisions before 2025.12 have."""

    __slots__ = ()

    def devices(self) -> list[Device]:  # type: ignore[override]  # the standard changed the type
        """The devices that the settings provide, the default one first, as a list."""
        return list(_device.devices())


@public()
def __array_namespace_info__() -> Info:
    """An object that tells what the namespace offers.

    Returns
    -------
    Info
        Has `capabilities`, `default_device`, `default_dtypes`, `devices` and `dtypes`.

    Notes
    -----
    Source: array API 2025.12, ``__array_namespace_info__``; in the standard since 2023.12, here in every revision.
    """
    return Info(LATEST)


def older_info(revision: str) -> Any:
    """The ``__array_namespace_info__`` of a revision before 2025.12."""

    def __array_namespace_info__() -> Info:
        return _OlderInfo(revision)

    __array_namespace_info__.__doc__ = globals()["__array_namespace_info__"].__doc__
    __array_namespace_info__.__module__ = module_name(revision)
    __array_namespace_info__.__qualname__ = "__array_namespace_info__"
    return __array_namespace_info__
