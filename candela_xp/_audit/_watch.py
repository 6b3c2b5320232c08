"""Watching: while an audit is on, public functions and the operators of arrays are replaced by ones that record."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from importlib import import_module
from sys import getrefcount
from types import ModuleType
from typing import Any

import numpy as np

from candela_xp._array import NDArray
from candela_xp._audit import _events
from candela_xp._audit._findings import Audit
from candela_xp._audit._origins import Origins
from candela_xp._audit._recorder import Event, Recorder
from candela_xp._audit._sites import Owner, calls, owner, owners, users
from candela_xp._dtypes import DType
from candela_xp._revisions import REVISIONS

_getframe = sys._getframe
_ABSENT = object()

# Which use made an array, where rules want to know. Of a key it depends on the parts.
_MAKES = {
    "reshape": "reshape", "squeeze": "reshape", "expand_dims": "reshape",
    ".T": "transpose", ".mT": "transpose", "permute_dims": "transpose", "matrix_transpose": "transpose",
    "moveaxis": "transpose", "flip": "flip", "real": "real", "imag": "real", "positive": "positive",
    "__pos__": "positive", "unstack": "slice", "broadcast_to": "broadcast_to", "broadcast_arrays": "broadcast_arrays",
    "meshgrid": "broadcast_arrays", "linalg.diagonal": "diagonal",
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "std", "var", "all", "any"), "reduction"),
}  # fmt: skip
_ELEMENT = {int, type(Ellipsis)}
_PROPERTIES = ("shape", "size", "T", "mT")
_DTYPES = ("__eq__", "__hash__", "__str__", "kind")


def _key_makes(key: Any) -> str | None:
    """Which kind of view a key makes; ``mask`` for what follows from values, None for other copies."""
    if type(key) is slice:
        return "slice"
    kinds = {type(part) for part in key} if type(key) is tuple else {type(key)}
    if NDArray in kinds:
        parts = key if type(key) is tuple else (key,)
        return "mask" if any(type(part) is NDArray and part._dtype.kind == "bool" for part in parts) else None
    return "element" if kinds <= _ELEMENT else "slice"


def _remember(origins: Origins, event: str, args: tuple[Any, ...], result: Any) -> None:
    """Remember how a result came about, if a rule may ask."""
    if not args:
        return
    source = args[0]
    if event == "__getitem__":
        made_by = _key_makes(args[1])
        # x[i] of a matrix is a row, as a slice is; only what has no axes is an element
        if made_by == "element" and type(result) is NDArray and result.shape:
            made_by = "slice"
        if made_by is not None:
            origins.add(result, made_by, source)
    elif event == "asarray":
        if result is source:
            origins.add(result, "asarray", source)
        elif isinstance(source, np.ndarray) and np.may_share_memory(result._numpy(), source):
            origins.add(result, "asarray of NumPy's", source)
    elif event in _MAKES:
        for each in result if isinstance(result, tuple | list) else (result,):
            origins.add(each, _MAKES[event], source)
    # Reductions that keep an axis give it the extent 1.
    if origins.unknown and type(result) is NDArray and result.shape and _MAKES.get(event) != "reduction":
        shaping = args[1:] if event == "searchsorted" else args
        arrays = [each for each in shaping if type(each) is NDArray]
        if any(origins.is_unknown(each) and len(each.shape) == len(result.shape) for each in arrays):
            origins.add(result, "mask", source)


def _references_of_none() -> int:
    """The reference count that a hook sees of an operand that no variable holds."""

    class Probe:
        def __iadd__(*args: Any) -> Any:
            return getrefcount(args[0])

    class Holder:
        probe: Any = None

    local: Any = Probe()
    local += 1
    Holder.probe = Probe()
    Holder.probe += 1
    return int(max(local, Holder.probe)) - 1  # Python 3.14 counts local variables otherwise than attributes


class Watch:
    """The hooks of one audit."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._guards = recorder.origins.guards
        self._on = True
        self._undo: list[Callable[[], None]] = []
        self._swapped: dict[int, tuple[Any, Any]] = {}

    @property
    def result(self) -> Audit:
        """What was found so far."""
        return self._recorder.result

    # -- putting hooks in place ---------------------------------------------------------------------

    def start(self) -> None:
        """Put the hooks in place."""
        self._operators()
        self._dtypes()
        self._functions()

    def stop(self) -> Audit:
        """Put everything back.

        Returns
        -------
        Audit
            All that was found; the same again if called again.
        """
        global _running
        self._on = False
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        _swap({id(new): old for old, new in self._swapped.values()})
        self._swapped.clear()
        if _running is self:
            _running = None
        return self.result

    def _set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute, to be put back at the end."""
        before = vars(owner).get(name, _ABSENT)
        if before is _ABSENT:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def _functions(self) -> None:
        for module in _namespaces():
            prefix = module.__name__.rpartition(".")[2] + "." if module.__name__.endswith(("linalg", "fft")) else ""
            names = {name: value for name, value in vars(module).items() if callable(value)}
            for name, value in names.items():
                event = self._recorder.events.get(prefix + name)
                makes = prefix + name in _MAKES or prefix + name == "asarray"
                if isinstance(value, type) or not (event or makes) or getattr(value, "__name__", "") != name:
                    continue
                if id(value) not in self._swapped:
                    self._swapped[id(value)] = (value, update_wrapper(self._hook(prefix + name, value), value))
            missing = {
                name.removeprefix(prefix): event
                for name, event in self._recorder.events.items()
                if name.startswith(prefix) and name.count(".") == prefix.count(".") and name[0] != "_"
            }
            self._set(module, "__getattr__", self._missing(module, vars(module).get("__getattr__"), missing))
        _swap({key: new for key, (_, new) in self._swapped.items()})

    def _operators(self) -> None:
        events = self._recorder.events
        for name in [*vars(NDArray)]:
            original = vars(NDArray)[name]
            if name in _PROPERTIES:
                if f".{name}" in events or f".{name}" in _MAKES:
                    self._set(NDArray, name, self._property(name, original))
            elif name in ("to_device", "__array_namespace__"):
                if f".{name}" in events:
                    self._set(NDArray, name, update_wrapper(self._hook(f".{name}", original), original))
            elif callable(original) and (name in events or name in ("__getitem__", "__pos__", "__iter__")):
                self._set(NDArray, name, update_wrapper(self._hook(name, original), original))
        self._set(NDArray, "__getattr__", self._attribute())
        if "__hash__" in events:
            self._set(NDArray, "__hash__", self._hook("__hash__", _unhashable))
        if "__array_ufunc__" in events:
            self._set(NDArray, "__array_ufunc__", _UfuncLookup(self, events["__array_ufunc__"]))

    def _dtypes(self) -> None:
        for name in _DTYPES:
            event = self._recorder.events.get(f"dtype.{name}")
            if event is None:
                continue
            original = vars(DType)[name]
            event.parameters = ("x", "other")
            if callable(original):
                self._set(DType, name, update_wrapper(self._hook(f"dtype.{name}", original), original))
            else:
                self._set(DType, name, self._dtype_attribute(name, event, original))

    # -- the hooks themselves --------------------------------------------------------------------------

    def _hook(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """A function that records a use, then does what the original does."""
        recorder, origins = self._recorder, self._recorder.origins
        event = recorder.events.get(name) or Event(name, (), recorder)
        if not event.parameters:
            event.parameters = (
                _PARAMETERS.get(name, ("x", "other")) if name.startswith(("__", ".")) else _names(original)
            )
        remembers = name in _MAKES or name in ("__getitem__", "asarray")
        spreads = name[:1] != "." and name[:5] != "dtype" and name not in ("__iter__", "__bool__", "__setitem__")
        iterates, writes, rows = name == "__iter__", name in _WRITES, bool(event.rows)

        def watched(*args: Any, **kwargs: Any) -> Any:
            frame = _getframe(1)
            whose = owners.get(id(frame.f_code)) or owner(frame.f_code)
            if whose is Owner.LIBRARY or not self._on:
                return original(*args, **kwargs)
            if whose is Owner.USER:
                if rows:
                    event.seen(frame, args, kwargs, getrefcount(args[0]) - _NOBODY if writes else 0)
            else:
                place = users(frame)
                if place is None:
                    return original(*args, **kwargs)
                if rows:
                    event.seen(place[0], args, kwargs, 0, *place[1:])
            result = original(*args, **kwargs)
            if remembers or (spreads and origins.unknown):
                _remember(origins, name, args, result)
            elif iterates:
                return _each(origins, args[0], result)
            return result

        return watched

    def _property(self, name: str, original: property) -> property:
        read = original.fget
        assert read is not None
        if name == "shape":  # read everywhere: only arrays of unknown shape are of interest
            return property(self._of_unknown(read), doc=original.__doc__)
        return property(self._hook(f".{name}", read), doc=original.__doc__)

    def _of_unknown(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        unknown, event = self._recorder.origins.unknown, self._recorder.events[".shape"]
        event.parameters = ("x",)

        def shape(x: Any) -> Any:
            if unknown and id(x) in unknown:
                place = users(_getframe(1))
                if place is not None:
                    event.seen(place[0], (x,), {}, 0, *place[1:])
            return read(x)

        return shape

    def _dtype_attribute(self, name: str, event: Event, original: Any) -> property:
        read = original.__get__

        def watched(dtype: DType) -> Any:
            frame = _getframe(1)
            if owner(frame.f_code) is not Owner.LIBRARY and not self._guards.asked(frame, name):
                place = users(frame)
                if place is not None:
                    event.seen(place[0], (dtype,), {}, 0, *place[1:])
            return read(dtype)

        return property(watched)

    def _attribute(self) -> Callable[[Any, str], Any]:
        """Called for attributes that arrays haven't got."""
        events = {name: self._recorder.events.get(f".{name}") for name in _events.METHODS}
        for event in events.values():
            if event is not None:
                event.parameters = ("x",)

        def missing(x: Any, name: str) -> Any:
            event = events.get(name)
            if event is not None:
                frame = _getframe(1)
                place = users(frame)
                if place is not None and (place[2] or not self._guards.asked(frame, name)):
                    event.seen(place[0], (x,), {}, 0, *place[1:])
            raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")

        return missing

    def _missing(
        self, module: ModuleType, original: Callable[[str], Any] | None, events: dict[str, Event]
    ) -> Callable[[str], Any]:
        """Called for names that a namespace hasn't got."""

        def missing(name: str) -> Any:
            frame, event = _getframe(1), events.get(name)
            place = None if event is None or self._guards.asked(frame, name) else users(frame)
            if event is not None and place is not None:
                event.seen(place[0], (), {}, 0, *place[1:])
            if original is not None:
                return original(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        return missing


class _UfuncLookup:
    """Stands for ``__array_ufunc__ = None``; NumPy asks the class for it, in ufuncs and in operators."""

    def __init__(self, watch: Watch, event: Event) -> None:
        self._watch = watch
        self._event = event

    def __get__(self, instance: Any, kind: type) -> None:
        frame = _getframe(1)
        if instance is None and calls(frame):
            place = users(frame)
            if place is not None:
                self._event.seen(place[0], (), {}, 0, *place[1:])


def _each(origins: Origins, source: NDArray, rows: Iterator[NDArray]) -> Iterator[NDArray]:
    for row in rows:
        origins.add(row, "iteration", source)
        yield row


def _unhashable(x: Any) -> int:
    raise TypeError(f"unhashable type: {type(x).__name__!r}")


def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


_PARAMETERS = {
    "__getitem__": ("x", "key"),
    "__setitem__": ("x", "key", "value"),
    "__format__": ("x", "spec"),
}
_WRITES = _events.IN_PLACE | {"__setitem__"}
_NOBODY = _references_of_none()


def _namespaces() -> list[ModuleType]:
    """The modules that hold public functions."""
    names = ["candela_xp", *(f"candela_xp.v{revision.replace('.', '_')}" for revision in REVISIONS)]
    modules = [import_module(name) for name in names]
    # Not by their attributes, which settings may have taken away.
    inner = [sys.modules.get(f"{module.__name__}.{name}") for module in modules for name in ("linalg", "fft")]
    return modules + [module for module in inner if module is not None]


def _swap(by_identity: dict[int, Any]) -> None:
    """Replace functions by others in all modules: also where a name was imported from here before."""
    for module in list(sys.modules.values()):
        inside = getattr(module, "__dict__", None)
        name = getattr(module, "__name__", "")
        if not isinstance(inside, dict) or (isinstance(name, str) and name.startswith("candela_xp._")):
            continue
        for key, value in list(inside.items()):
            other = by_identity.get(id(value))
            if other is not None:
                inside[key] = other


_running: Watch | None = None


def start(backends: Sequence[str] | None = None, *, since: str | None = None, data: bool = False) -> Watch:
    """Begin an audit.

    Parameters
    ----------
    backends
        Which backends to ask about, by name; None for `DEFAULT_BACKENDS`.
    since
        A revision of the standard: functions that came later are found too.
    data
        Whether to take rules that look at values, which computes what is pending.

    Returns
    -------
    Watch
        Has `stop()`, which ends the audit, and `result`.

    Raises
    ------
    ValueError
        A backend or the revision is unknown; those that are known follow.
    RuntimeError
        An audit is on already.
    """
    global _running
    if _running is not None:
        raise RuntimeError("audit: one is on already; leave it first")
    watch = Watch(Recorder(backends, since=since, data=data))
    _running = watch
    try:
        watch.start()
    except BaseException:
        watch.stop()
        raise
    return watch
