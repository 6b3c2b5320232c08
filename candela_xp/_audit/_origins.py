"""Where arrays came from, remembered weakly: which use made them, and with whom they share memory."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from candela_xp._array import NDArray

_MANY = 4096  # entries kept before those of dead arrays are dropped


class Origin(NamedTuple):
    """How an array came about."""

    array: ref[NDArray]
    made_by: str
    source: ref[Any] | None  # what it was made from, where that matters


class Origins:
    """The arrays that some use made, by identity, and the views over each buffer."""

    def __init__(self) -> None:
        self._made: dict[int, Origin] = {}
        self._shown: dict[int, tuple[ref[Any], list[ref[NDArray]]]] = {}
        self.unknown: set[int] = set()  # identities of the arrays whose shape follows from values
        self._room = _MANY

    def add(self, result: Any, made_by: str, source: Any) -> None:
        """Remember a result, and that it shows the memory of its source if it does."""
        if type(result) is not NDArray:
            return
        if type(source) is NDArray:
            buffer = result._buffer
            if buffer is not None and buffer is source._buffer:
                self._share(buffer, result, source)
        # What isn't an array of ours may not be weakly referable.
        weak = ref(source) if isinstance(source, NDArray | np.ndarray) and source is not result else None
        self._made[id(result)] = Origin(ref(result), made_by, weak)
        if made_by == "mask":
            self.unknown.add(id(result))
        if len(self._made) > self._room:
            self._drop_dead()

    def _share(self, buffer: Any, *arrays: NDArray) -> None:
        group = self._shown.get(id(buffer))
        if group is None or group[0]() is not buffer:
            group = self._shown[id(buffer)] = (ref(buffer), [])
        members = group[1]
        if len(members) > 16:
            members[:] = [each for each in members if each() is not None]
        known = {id(each()) for each in members}
        members.extend(ref(array) for array in arrays if id(array) not in known)

    def _drop_dead(self) -> None:
        self._made = {key: each for key, each in self._made.items() if each.array() is not None}
        self._shown = {key: each for key, each in self._shown.items() if each[0]() is not None}
        self.unknown.intersection_update(self._made)
        self._room = max(_MANY, 2 * len(self._made))

    def of(self, array: Any) -> Origin | None:
        """How an array came about, if that was seen."""
        found = self._made.get(id(array))
        return found if found is not None and found.array() is array else None

    def is_unknown(self, array: Any) -> bool:
        """Whether the shape of an array followed from values."""
        found = self.of(array) if id(array) in self.unknown else None
        return found is not None and found.made_by == "mask"

    def sharers(self, array: NDArray) -> list[NDArray]:
        """The other living arrays that show some of the memory that an array shows."""
        buffer = array._buffer
        group = None if buffer is None else self._shown.get(id(buffer))
        if group is None or group[0]() is not buffer:
            return []
        others = [each for weak in group[1] if (each := weak()) is not None and each is not array]
        return [each for each in others if overlap(each, array)]


def overlap(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays may show the same memory, by their bounds; what is pending shares none."""
    if a._node is not None or b._node is not None or a.size == 0 or b.size == 0:
        return False
    return bool(np.may_share_memory(a._numpy(), b._numpy()))
