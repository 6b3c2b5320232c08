"""Where arrays came from, remembered weakly: which use made them, and with whom they share memory."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from candela_xp._array import NDArray
from candela_xp._audit._sites import Guards

_MANY = 4096  # entries kept before those of dead arrays are dropped
_GROUP = 64  # the same for the arrays over one buffer

_WORK = 10_000  # candidates of NumPy's solver

# An array, the use that made it, and what from: None where that doesn't matter, or where it is the array itself.
Origin = tuple[ref[NDArray], str, "ref[Any] | None"]


class Origins:
    """The arrays that some use made, and the arrays over each buffer; all by identity.

    Attributes
    ----------
    unknown
        Identities of the arrays whose shape follows from values.
    guards
        Which code asked for which attribute.
    """

    def __init__(self) -> None:
        self.unknown: set[int] = set()
        self.guards = Guards()
        self._made: dict[int, Origin] = {}
        self._over: dict[int, dict[int, ref[NDArray]]] = {}
        self._room = _MANY

    def add(self, result: Any, made_by: str, source: Any) -> None:
        """Remember a result, and that it shows the memory of its source if it does."""
        if type(result) is not NDArray:
            return
        weak = ref(result)
        of: ref[Any] | None = None
        if source is not result and isinstance(source, NDArray | np.ndarray):
            of = ref(source)
            buffer = result._buffer
            if buffer is not None and type(source) is NDArray and buffer is source._buffer:
                over = self._over.get(id(buffer))
                if over is None:
                    over = self._over[id(buffer)] = {}
                over[id(source)] = of
                over[id(result)] = weak
                if len(over) > _GROUP:
                    self._over[id(buffer)] = {key: each for key, each in over.copy().items() if each() is not None}
        self._made[id(result)] = weak, made_by, of
        if made_by == "mask":
            self.unknown.add(id(result))
        if len(self._made) > self._room:
            self._drop_dead()

    def _drop_dead(self) -> None:
        # Copies, since other threads may add.
        self._made = {key: each for key, each in self._made.copy().items() if each[0]() is not None}
        self._over = {
            key: over
            for key, over in self._over.copy().items()
            if any(each() is not None for each in over.copy().values())
        }
        self.unknown.intersection_update(self._made)
        self._room = max(_MANY, 2 * len(self._made))

    def of(self, array: Any) -> Origin | None:
        """How an array came about, if that was seen."""
        found = self._made.get(id(array))
        return found if found is not None and found[0]() is array else None

    def is_unknown(self, array: Any) -> bool:
        """Whether the shape of an array followed from values."""
        found = self.of(array) if id(array) in self.unknown else None
        return found is not None and found[1] == "mask"

    def sharers(self, array: NDArray) -> list[NDArray]:
        """The other living arrays that show some of the memory that an array shows."""
        buffer = array._buffer
        over = None if buffer is None else self._over.get(id(buffer))
        if over is None:
            return []
        alive = [each for weak in over.copy().values() if (each := weak()) is not None and each is not array]
        return [each for each in alive if each._buffer is buffer and overlap(each, array)]


def overlap(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays show some of the same elements; of what is pending or hard to tell, no."""
    if a._node is not None or b._node is not None or a.size == 0 or b.size == 0:
        return False
    try:
        # The stubs know two special values only.
        return bool(np.shares_memory(a._numpy(), b._numpy(), max_work=_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False
