"""Settings: what a user may choose, as a context manager and as environment variables.

| setting | variable | default | meaning |
|---|---|---|---|
| strict | CANDELA_XP_STRICT | False | what the standard doesn't promise is a TypeError |
| simulated_devices | CANDELA_XP_SIMULATED_DEVICES | 1 | devices in all; those beyond the first are simulated |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import NamedTuple

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


class Settings(NamedTuple):
    """The settings in force."""

    strict: bool = False
    simulated_devices: int = 1

    def checked(self) -> Settings:
        """Self, if every value is one that the setting can take.

        Raises
        ------
        TypeError, ValueError
            The setting, its value and what it takes are named.
        """
        if not isinstance(self.strict, bool):
            raise TypeError(f"settings: strict must be True or False, got {self.strict!r}")
        count = self.simulated_devices
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"settings: simulated_devices must be an integer, got {count!r}")
        if not 1 <= count <= 16:
            raise ValueError(f"settings: simulated_devices must be in 1..16, got {count}")
        return self


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Settings of the ``CANDELA_XP_…`` variables.

    Raises
    ------
    ValueError
        A variable holds something that its setting cannot take.
    """
    strict = environment.get("CANDELA_XP_STRICT", "").strip().lower()
    if strict not in _TRUE | _FALSE:
        raise ValueError(f"CANDELA_XP_STRICT must be 1 or 0, got {strict!r}")
    devices = environment.get("CANDELA_XP_SIMULATED_DEVICES", "").strip() or "1"
    if not devices.isdecimal():
        raise ValueError(f"CANDELA_XP_SIMULATED_DEVICES must be an integer in 1..16, got {devices!r}")
    return Settings(strict in _TRUE, int(devices)).checked()


_initial = from_environment(os.environ)
# The settings of the open blocks, outermost first. Kept in the context, not on the block's object, which two
# threads or tasks may enter at once.
_blocks: ContextVar[tuple[Settings, ...]] = ContextVar("candela_xp_settings", default=(_initial,))


def current() -> Settings:
    """The settings of the calling context."""
    return _blocks.get()[-1]


class settings:
    """Choose settings for a ``with`` block.

    Parameters
    ----------
    strict : bool, optional
        Refuse what the array API standard doesn't promise, with a TypeError that names the way out.
    simulated_devices : int, optional
        How many devices there are in all (1 to 16). Those beyond the first are simulated: ordinary memory,
        but arrays on different devices don't mix.

    Raises
    ------
    TypeError, ValueError
        A value that the setting cannot take.

    Notes
    -----
    Blocks nest; each thread and each asynchronous task has its own. Outside any block the environment
    variables CANDELA_XP_STRICT and CANDELA_XP_SIMULATED_DEVICES, read at import, decide.

    Examples
    --------
    >>> import candela_xp as xp
    >>> with xp.settings(strict=True):
    ...     xp.asarray([1, 2]) + 0.5
    Traceback (most recent call last):
        ...
    TypeError: add: cannot mix an int64 array with the Python float 0.5; use astype on the array first
    """

    __slots__ = ("_changes",)

    def __init__(self, *, strict: bool | None = None, simulated_devices: int | None = None) -> None:
        given = {"strict": strict, "simulated_devices": simulated_devices}
        self._changes = {name: value for name, value in given.items() if value is not None}
        current()._replace(**self._changes).checked()  # type: ignore[arg-type]  # checked() is what types them

    def __enter__(self) -> Settings:
        """Put the settings in force and return all of them."""
        chosen = current()._replace(**self._changes)  # type: ignore[arg-type]  # checked above
        _blocks.set((*_blocks.get(), chosen))
        return chosen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore what was in force before."""
        _blocks.set(_blocks.get()[:-1])
