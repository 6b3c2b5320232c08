"""Settings: what a user may choose, as a context manager and as environment variables.

| setting | variable | default | meaning |
|---|---|---|---|
| strict | CANDELA_XP_STRICT | False | what the standard doesn't promise is a TypeError |
| api_version | CANDELA_XP_API_VERSION | 2025.12 | the revision whose namespace arrays give |
| boolean_indexing | CANDELA_XP_BOOLEAN_INDEXING | True | x[mask] works |
| data_dependent_shapes | CANDELA_XP_DATA_DEPENDENT_SHAPES | True | functions whose shapes follow from values work |
| extensions | CANDELA_XP_EXTENSIONS | linalg,fft | the extensions that namespaces have |
| extension_dtypes | CANDELA_XP_EXTENSION_DTYPES | none | the narrow dtypes that namespaces list |
| simulated_devices | CANDELA_XP_SIMULATED_DEVICES | 1 | devices in all; those beyond the first are simulated |
| defer_min_bytes | CANDELA_XP_DEFER_MIN_BYTES | 6291456 | results of so many bytes wait (slow functions: a half) |
| threads | CANDELA_XP_THREADS | the usable CPUs | threads that one computation may use |
| block_elements | CANDELA_XP_BLOCK_ELEMENTS | 131072 | elements of one block of a walk |
| pool_bytes | CANDELA_XP_POOL_BYTES | 512 MiB or 1/8 of the memory | bytes of freed arrays kept for the next ones |
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from threading import RLock
from types import TracebackType
from typing import Any, NamedTuple

from candela_xp._revisions import LATEST, REVISIONS

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


class _Range(NamedTuple):
    """The integers that a setting takes."""

    least: int
    greatest: int | None = None  # None: there is no greatest

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.least <= value and (self.greatest is None or value <= self.greatest)

    def __str__(self) -> str:
        return f"at least {self.least}" if self.greatest is None else f"in {self.least}..{self.greatest}"


# Every setting that isn't named here or below is True or False.
_RANGES = {
    "simulated_devices": _Range(1, 16),
    "defer_min_bytes": _Range(0),
    "threads": _Range(1, 256),
    "block_elements": _Range(1, 2**24),
    "pool_bytes": _Range(0),
}

# What a setting that holds names can hold.
_NAMES = {
    "extensions": ("linalg", "fft"),
    "extension_dtypes": (
        "float16", "bfloat16", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
        "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
        "float4_e2m1fn", "int2", "uint2", "int4", "uint4",
    ),
}  # fmt: skip
ALL_EXTENSIONS = _NAMES["extensions"]


def _usable_cpus() -> int:
    """How many CPUs this process may use, as far as `threads` goes."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(found or 1, 256)


def _pool_share() -> int:
    """How many bytes the pool may keep: 512 MiB, or an eighth of the memory where that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf; others may not know the names
        memory = -1
    return min(2**29, memory // 8) if memory > 0 else 2**29


class Settings(NamedTuple):
    """The settings in force."""

    strict: bool = False
    simulated_devices: int = 1
    # Deferred against at once, NumPy's time over ours: chains of 10^6 float64 (8 MB) 2.3 and 0.6, of 10^6 float32 1.03
    # and 0.8, of 3 10^5 float64 (2.4 MB) 0.98 and 0.88; sums of squares 1.1 and 0.5, 0.7 and 0.9, 0.6 and 0.9.
    defer_min_bytes: int = 6 * 2**20
    threads: int = _usable_cpus()
    block_elements: int = 2**17
    pool_bytes: int = _pool_share()
    api_version: str = LATEST
    boolean_indexing: bool = True
    data_dependent_shapes: bool = True
    extensions: tuple[str, ...] = ALL_EXTENSIONS
    extension_dtypes: tuple[str, ...] = ()

    def checked(self) -> Settings:
        """Self, if every value is one that the setting can take.

        Raises
        ------
        TypeError, ValueError
            The setting, its value and what it takes are named.
        """
        for name, value in zip(self._fields, self):
            if name == "api_version":
                if value not in REVISIONS:
                    raise ValueError(f"settings: api_version must be one of {', '.join(REVISIONS)}, got {value!r}")
            elif name in _NAMES:
                if not isinstance(value, tuple):
                    raise TypeError(f"settings: {name} must be a tuple of names, got {value!r}")
                for each in value:
                    if each not in _NAMES[name]:
                        raise ValueError(f"settings: {name} must be of {', '.join(_NAMES[name])}, got {each!r}")
            elif name not in _RANGES:
                if not isinstance(value, bool):
                    raise TypeError(f"settings: {name} must be True or False, got {value!r}")
            elif isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"settings: {name} must be an integer, got {value!r}")
            elif value not in _RANGES[name]:
                raise ValueError(f"settings: {name} must be {_RANGES[name]}, got {value}")
        return self


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Settings of the ``CANDELA_XP_…`` variables; an empty one counts as absent.

    Raises
    ------
    ValueError
        A variable holds something that its setting cannot take.
    """
    found: dict[str, Any] = {}
    for name in Settings._fields:
        variable = f"CANDELA_XP_{name.upper()}"
        text = environment.get(variable, "").strip().lower()
        if not text:
            continue
        if name == "api_version":
            if text not in REVISIONS:
                raise ValueError(f"{variable} must be one of {', '.join(REVISIONS)}, got {text!r}")
            found[name] = text
        elif name in _NAMES:
            known = _NAMES[name]
            names = known if text == "all" else () if text == "none" else tuple(map(str.strip, text.split(",")))
            if not set(names) <= set(known):
                raise ValueError(f"{variable} must be of {','.join(known)}, or none, or all, got {text!r}")
            found[name] = names
        elif name not in _RANGES:
            if text not in _TRUE | _FALSE:
                raise ValueError(f"{variable} must be 1 or 0, got {text!r}")
            found[name] = text in _TRUE
        else:
            if not text.isdecimal() or int(text) not in _RANGES[name]:
                raise ValueError(f"{variable} must be an integer {_RANGES[name]}, got {text!r}")
            found[name] = int(text)
    return Settings()._replace(**found)


_initial = from_environment(os.environ)
# The settings of the open blocks, outermost first. Kept in the context, not on the block's object, which two
# threads or tasks may enter at once.
_blocks: ContextVar[tuple[Settings, ...]] = ContextVar("candela_xp_settings", default=(_initial,))

# Called with the settings now in force when a block that changes `pool_bytes` or `extensions` was entered or left: the
# memory and the namespaces lie on higher floors, which this one doesn't know.
on_change: list[Callable[[Settings], None]] = []

# The smallest `defer_min_bytes` that any context has in force. A hot path compares with it before it asks `current`.
defer_floor: int = _initial.defer_min_bytes


def current() -> Settings:
    """The settings of the calling context."""
    return _blocks.get()[-1]


# By id of the `_Floor`; 0 is no id and stands for the settings outside any block.
_floors = {0: _initial.defer_min_bytes}
_floor_lock = RLock()  # may be asked for again by the thread that has it: a garbage collection drops blocks anywhere


def _renew_floor() -> None:
    """Make `defer_floor` what `_floors` says."""
    global defer_floor
    with _floor_lock:
        # Once more if blocks were dropped while this looked: the one that dropped them has already been here.
        while defer_floor != (least := min(_floors.copy().values())):
            defer_floor = least


def _renew_lock() -> None:
    """In the child of a fork, where the thread that had the lock is gone."""
    global _floor_lock
    _floor_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class _Floor:
    """Keeps the `defer_min_bytes` of a block in `_floors` while any context has that block open.

    Bound to the life of this object and not to the end of the block: contexts are copied for tasks and for threads
    and may live longer, and a generator that was left open may be closed in another context.
    """

    __slots__ = ()

    def __init__(self, defer_min_bytes: int) -> None:
        _floors[id(self)] = defer_min_bytes
        _renew_floor()

    # The default argument: contexts are dropped at the very end, when the names of the module are None.
    def __del__(self, at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
        if not at_exit():
            _floors.pop(id(self), None)
            _renew_floor()


# Beside `_blocks`, which holds plain settings, since whoever holds settings doesn't keep a block open.
_open_floors: ContextVar[tuple[_Floor, ...]] = ContextVar("candela_xp_floors", default=())


class settings:
    """Choose settings for a ``with`` block.

    Parameters
    ----------
    strict : bool, optional
        Refuse what the array API standard doesn't promise, with a TypeError that names the way out.
    api_version : str, optional
        The revision of the standard whose namespace ``x.__array_namespace__()`` is, ``"2025.12"`` by default.
    boolean_indexing : bool, optional
        False: ``x[mask]`` is a RuntimeError, as with libraries that don't know shapes before values.
    data_dependent_shapes : bool, optional
        False: so are the other functions whose shapes follow from values: `nonzero`, `repeat` with an array of
        counts, `unique_all` and its kin.
    extensions : tuple of str, optional
        Which of ``linalg`` and ``fft`` the namespaces have; the others are an AttributeError.
    extension_dtypes : tuple of str, or True, optional
        Which narrow dtypes, such as ``bfloat16``, `__array_namespace_info__` lists among the others; True: all.
    simulated_devices : int, optional
        How many devices there are in all (1 to 16). Those beyond the first are simulated: ordinary memory,
        but arrays on different devices don't mix.
    defer_min_bytes : int, optional
        Elementwise results of at least so many bytes (slow functions: half of it) are deferred: computed when
        somebody looks, together with what they are made of. 6291456 by default; 0 defers all.
    threads : int, optional
        How many threads one computation may use (1 to 256); by default as many as there are usable CPUs.
    block_elements : int, optional
        How many elements are computed at a time (1 to 16777216), 131072 by default: what one block needs
        should fit into the cache of one core.
    pool_bytes : int, optional
        How many bytes of the memory of freed arrays are kept for the next ones, by default 512 MiB or an
        eighth of the machine's memory, whichever is less; 0 keeps none. The memory is the process's: a block
        that lowers the number gives memory back when it is entered.

    Raises
    ------
    TypeError, ValueError
        A value that the setting cannot take.

    Notes
    -----
    Blocks nest; each thread and each asynchronous task has its own. Outside any block the environment
    variables decide, read at import: CANDELA_XP_STRICT, CANDELA_XP_API_VERSION, CANDELA_XP_BOOLEAN_INDEXING,
    CANDELA_XP_DATA_DEPENDENT_SHAPES, CANDELA_XP_EXTENSIONS and CANDELA_XP_EXTENSION_DTYPES (names with commas
    between, ``none`` or ``all``), CANDELA_XP_SIMULATED_DEVICES, CANDELA_XP_DEFER_MIN_BYTES, CANDELA_XP_THREADS,
    CANDELA_XP_BLOCK_ELEMENTS, CANDELA_XP_POOL_BYTES.

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

    def __init__(
        self,
        *,
        strict: bool | None = None,
        api_version: str | None = None,
        boolean_indexing: bool | None = None,
        data_dependent_shapes: bool | None = None,
        extensions: Sequence[str] | None = None,
        extension_dtypes: Sequence[str] | bool | None = None,
        simulated_devices: int | None = None,
        defer_min_bytes: int | None = None,
        threads: int | None = None,
        block_elements: int | None = None,
        pool_bytes: int | None = None,
    ) -> None:
        if isinstance(extension_dtypes, bool):
            extension_dtypes = _NAMES["extension_dtypes"] if extension_dtypes else ()
        given: dict[str, Any] = {
            "strict": strict,
            "api_version": api_version,
            "boolean_indexing": boolean_indexing,
            "data_dependent_shapes": data_dependent_shapes,
            "extensions": tuple(extensions) if isinstance(extensions, list) else extensions,
            "extension_dtypes": tuple(extension_dtypes) if isinstance(extension_dtypes, list) else extension_dtypes,
            "simulated_devices": simulated_devices,
            "defer_min_bytes": defer_min_bytes,
            "threads": threads,
            "block_elements": block_elements,
            "pool_bytes": pool_bytes,
        }
        self._changes = {name: value for name, value in given.items() if value is not None}
        current()._replace(**self._changes).checked()

    def __enter__(self) -> Settings:
        """Put the settings in force and return all of them."""
        before = current()
        chosen = before._replace(**self._changes)
        _blocks.set((*_blocks.get(), chosen))
        _open_floors.set((*_open_floors.get(), _Floor(chosen.defer_min_bytes)))
        _tell(before, chosen)
        return chosen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore what was in force before."""
        blocks = _blocks.get()
        # A generator that was left open may be closed in a context that never entered its block.
        if len(blocks) > 1:
            _blocks.set(blocks[:-1])
            _open_floors.set(_open_floors.get()[:-1])
            _tell(blocks[-1], blocks[-2])


def _tell(before: Settings, now: Settings) -> None:
    """Call those who want to know, if it is something that others go by."""
    if before.pool_bytes != now.pool_bytes or before.extensions != now.extensions:
        for listener in on_change:
            listener(now)
