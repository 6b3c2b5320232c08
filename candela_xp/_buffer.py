"""A run of bytes, who owns it, and whether anyone outside can see it.

`root` is a C-contiguous NumPy array whose memory is the buffer; layouts address it in elements of the
array's dtype, from its first byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from candela_xp._layout import Layout


class Buffer:
    """Bytes, their owner, and what others may do with them.

    Attributes
    ----------
    root : numpy.ndarray
        C-contiguous array over all the bytes; it, or its base, owns them.
    exported : bool
        Someone outside can see, and so write, the bytes.
    readers : list
        Weak references to the pending expressions that read the bytes (`_expr` keeps it).
    active : list
        Processes and threads in which an expression is being computed that reads the bytes (`_expr` keeps it).
    """

    __slots__ = ("__weakref__", "active", "exported", "readers", "root")

    def __init__(self, root: np.ndarray[Any, Any], *, exported: bool = False) -> None:
        self.root = root
        self.exported = exported
        self.readers: list[Any] = []
        self.active: list[tuple[int, int]] = []

    @property
    def nbytes(self) -> int:
        """Size of the buffer (bytes)."""
        return self.root.nbytes

    @property
    def writable(self) -> bool:
        """Whether the bytes may be written."""
        return bool(self.root.flags.writeable)

    def view(self, layout: Layout, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """The NumPy view of a layout; NumPy checks it against the buffer's bounds."""
        itemsize = dtype.itemsize
        stride_bytes = tuple([step * itemsize for step in layout.stride])
        return np.ndarray(layout.shape, dtype, self.root, layout.offset * itemsize, stride_bytes)


class _Span:
    """The bytes that a NumPy array reaches, as NumPy's array interface tells of them."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray[Any, Any], address: int, nbytes: int) -> None:
        self.owner = owner  # keeps the memory alive: NumPy holds this object as the base
        self.__array_interface__ = {
            "data": (address, not owner.flags.writeable),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


def adopt(array: np.ndarray[Any, Any]) -> tuple[Buffer, Layout] | None:
    """Buffer and layout over the memory of a NumPy array, without a copy.

    None where a stride is no multiple of the itemsize (a field of a structured array), which no layout
    in elements expresses.
    """
    itemsize = array.dtype.itemsize
    if array.flags.c_contiguous:  # to NumPy, an array without elements always is
        return Buffer(array), Layout.contiguous(array.shape)
    stride = []
    for extent, step_bytes in zip(array.shape, array.strides):
        # The stride of an axis of length 1 addresses nothing; NumPy leaves any number there.
        step, rest = divmod(step_bytes, itemsize) if extent > 1 else (1, 0)
        if rest:
            return None
        stride.append(step)
    shape = array.shape
    low = sum((n - 1) * s for n, s in zip(shape, stride) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, stride) if s > 0)
    address = array.__array_interface__["data"][0] + low * itemsize
    root = np.asarray(_Span(array, address, (high - low + 1) * itemsize))
    return Buffer(root), Layout(shape, tuple(stride), -low)
