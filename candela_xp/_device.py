"""Devices: the CPU, and simulated ones for testing code that handles several.

A simulated device is ordinary memory that does not mix: operands must share a device, and data moves only
through `to_device`, `asarray(device=)`, `astype(device=)` or `from_dlpack(device=)`.
"""

from __future__ import annotations

from typing import Any, Final

from candela_xp import _modes, _settings
from candela_xp._errors import DeviceError

# DLPack's codes for kinds of devices: CPU, and the one set aside for extensions
DL_CPU: Final = 1
DL_EXTENSION: Final = 12


class Device:
    """A place where arrays live; compared by identity, hashable, pickles to itself."""

    __slots__ = ("__weakref__", "index", "name")

    def __init__(self, name: str, index: int) -> None:
        self.name: Final = name
        self.index: Final = index

    def __repr__(self) -> str:
        """The name, as it would be looked up."""
        return f"Device({self.name!r})"

    def __str__(self) -> str:
        """The name."""
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, so that identity survives."""
        return by_name, (self.name,)

    @property
    def dlpack(self) -> tuple[int, int]:
        """The device as DLPack names it: (kind, number)."""
        return (DL_CPU, 0) if self.index == 0 else (DL_EXTENSION, self.index)


CPU: Final = Device("cpu", 0)
_ALL: Final = (CPU, *(Device(f"simulated:{index}", index) for index in range(1, 16)))


def devices() -> tuple[Device, ...]:
    """The devices that the settings provide, the default one first."""
    return _ALL[: _settings.current().simulated_devices]


def by_name(name: str) -> Device:
    """The device of that name, in force or not.

    Raises
    ------
    DeviceError
        There is none.
    """
    for device in _ALL:
        if device.name == name:
            return device
    raise DeviceError(f"no device is called {name!r}; there are {', '.join(d.name for d in devices())}")


def chosen(function: str, device: Any, default: Device = CPU) -> Device:
    """The device that a ``device=`` argument names; None means ``default``.

    Raises
    ------
    TypeError
        It is no device; names are taken in default mode.
    DeviceError
        It is not among the devices that the settings provide.
    """
    if device is None:
        return default
    if isinstance(device, str):
        _modes.allow("strings as devices", f"{function}: device is the string {device!r}")
        device = by_name(device)
    elif not isinstance(device, Device):
        raise TypeError(f"{function}: {device!r} is no device; see candela_xp.__array_namespace_info__().devices()")
    if device is not CPU and device not in devices():
        raise DeviceError(
            f"{function}: device {device} is not among {', '.join(d.name for d in devices())}; "
            f"use candela_xp.settings(simulated_devices={device.index + 1})"
        )
    return device  # type: ignore[no-any-return]  # narrowed from Any above


def shared(function: str, a: Device, b: Device) -> Device:
    """The device that two operands share.

    Raises
    ------
    DeviceError
        They are on different devices; both are named.
    """
    if a is not b:
        raise DeviceError(f"{function}: one array is on {a}, the other on {b}; use to_device on one of them")
    return a
