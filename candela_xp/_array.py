"""NDArray: a buffer, a layout, a dtype and a device.

The NumPy view of an array is made when a kernel needs it, then kept. An array that a kernel produced keeps
that view and derives buffer and layout when somebody asks. So either of the two may be missing, never both:

1. ``_view`` is None, or a NumPy array of exactly this shape, dtype and memory;
2. ``_layout`` and ``_buffer`` are both None, or both there;
3. ``_node`` is None, or a pending expression of this shape and dtype;
4. one of 1 and 2 is there, or else 3, in which case the array is *pending*: whoever wants memory settles it.

The operators of elementwise functions are attached where those functions are defined.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from math import prod
from operator import attrgetter, is_not
from operator import index as as_index
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from candela_xp import _device, _dtypes, _index, _interop, _kernels, _modes, _settings
from candela_xp._buffer import Buffer, adopt
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._errors import DeviceError, ExportError, ScalarOverflowError
from candela_xp._expr import Node, settle_readers, source
from candela_xp._layout import Layout, new_layout
from candela_xp._revisions import REVISIONS, module_name
from candela_xp._text import text
from candela_xp._walk import Operand, dense_copy

NumPyArray = np.ndarray[Any, Any]
Scalar = bool | int | float | complex
SCALARS = (bool, int, float, complex)


class NDArray:
    """An N-dimensional array under the Python array API standard.

    Made by `asarray`, `zeros` and the other creation functions, not by calling the class.

    Attributes
    ----------
    dtype : DType
        Data type of the elements.
    device : Device
        Where the elements live.
    shape : tuple[int, ...]
        Extent of each axis.
    layout : Layout
        Shape, stride and offset (in elements) over the buffer.
    """

    __module__ = "candela_xp"
    __slots__ = ("__weakref__", "_buffer", "_device", "_dtype", "_layout", "_node", "_view")
    __array_ufunc__ = None  # ndarray <op> NDArray asks our reflected operator instead of taking us apart
    __hash__ = None  # type: ignore[assignment]  # == is elementwise

    def __init__(
        self,
        view: NumPyArray | None,
        dtype: DType,
        device: Device,
        layout: Layout | None = None,
        buffer: Buffer | None = None,
    ) -> None:
        self._view = view
        self._dtype = dtype
        self._device = device
        self._layout = layout
        self._buffer = buffer
        self._node: Node | None = None

    # -- state -----------------------------------------------------------------------------------

    # mypy takes a property that isn't a def for the value it holds; attrgetter reads a slot in half the time of a def.
    dtype: DType = property(attrgetter("_dtype"), doc="Data type of the elements.")  # type: ignore[assignment]
    device: Device = property(attrgetter("_device"), doc="Where the elements live.")  # type: ignore[assignment]

    @classmethod
    def _pending(cls, node: Node, dtype: DType, device: Device) -> NDArray:
        """The array that shows a pending expression."""
        made = cls(None, dtype, device)
        made._node = node
        node.owner = ref(made)
        return made

    def _settle(self) -> Layout:
        """Buffer and layout of an array that has none yet: that is pending, or that a kernel produced."""
        node = self._node
        if node is not None:
            node.settle()  # calls _settled
        if self._layout is None:
            adopted = adopt(self._view)  # type: ignore[arg-type]  # invariant 4
            assert adopted is not None, "kernels give strides in whole elements"
            self._buffer, self._layout = adopted
        return self._layout

    def _settled(self, value: Operand) -> None:
        """Take the value of the pending expression. Another thread may be reading: what it goes by comes last."""
        self._buffer = value.buffer
        self._layout = value.layout
        self._node = None

    def _numpy(self) -> NumPyArray:
        """The NumPy view; only for kernels inside the package, see `__array__`."""
        view = self._view
        if view is None:
            layout = self._layout or self._settle()
            view = self._view = self._buffer.view(layout, self._dtype.dtype)  # type: ignore[union-attr]  # settled
        return view

    def _peek(self) -> NumPyArray | Node:
        """The NumPy view, or the pending expression, whose `nbytes` are infinite."""
        return self._node or self._numpy()

    def _operand(self) -> Node | Operand:
        """What an expression reads: the pending one, or memory under a layout."""
        node = self._node
        if node is None:
            layout = self._layout or self._settle()
            return source(self._buffer, layout, self._dtype.dtype)  # type: ignore[arg-type]  # settled
        return node

    def _with(self, layout: Layout, dtype: DType | None = None) -> NDArray:
        """A view of the same buffer under another layout."""
        return NDArray(None, dtype or self._dtype, self._device, layout, self._buffer)

    @property
    def layout(self) -> Layout:
        """Shape, stride and offset (in elements) over the buffer."""
        return self._layout or self._settle()

    @property
    def _memory(self) -> Buffer:
        if self._buffer is None:
            self._settle()
        return self._buffer  # type: ignore[return-value]  # just settled

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis."""
        layout = self._layout
        if layout is not None:
            return layout.shape
        # The view goes first: it never goes away, whereas a pending expression may be settled by another thread.
        view: Any = self._view
        if view is not None:
            shape: tuple[int, ...] = view.shape
            return shape
        node = self._node
        return self._settle().shape if node is None else node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """What ``numpy.dtype(x)`` is, for libraries that ask an array so (JAX does, before it converts)."""
        return self._dtype.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, each index counted (a broadcast axis takes no memory and counts)."""
        return self.size * self._dtype.itemsize

    @property
    def T(self) -> NDArray:
        """The transpose of a matrix, as a view.

        Raises
        ------
        ValueError
            The array does not have two axes.
        """
        layout = self._layout or self._settle()
        if len(layout.shape) != 2:
            raise ValueError(f".T: the array has {len(layout.shape)} axes, not 2; use .mT or permute_dims")
        return NDArray(None, self._dtype, self._device, layout.transpose(), self._buffer)

    @property
    def mT(self) -> NDArray:
        """The transpose of each matrix in a stack (the last two axes), as a view.

        Raises
        ------
        ValueError
            The array has fewer than two axes.
        """
        layout = self._layout or self._settle()
        if len(layout.shape) < 2:
            raise ValueError(f".mT: the array has {len(layout.shape)} axes, at least 2 are needed")
        return self._with(layout.matrix_transpose())

    # -- namespace and protocols -------------------------------------------------------------------

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """The namespace module of a revision of the standard (that of the settings by default); changes no state.

        Raises
        ------
        ValueError
            An unknown revision; the known ones are listed.
        """
        if api_version is not None and api_version not in REVISIONS:
            raise ValueError(
                f"__array_namespace__: api_version {api_version!r} is unknown; there are {', '.join(REVISIONS)}"
            )
        return import_module(module_name(api_version or _settings.current().api_version))

    def to_device(self, device: Device | str, /, *, stream: None = None) -> NDArray:
        """The array on a device: itself if it is there already, else a copy.

        Raises
        ------
        ValueError
            The device is unknown, or a stream is given (no device here has streams).
        """
        if stream is not None:
            raise ValueError(f"to_device: {self._device} has no streams, got stream={stream!r}; pass None")
        chosen = _device.chosen("to_device", device, self._device)
        if chosen is self._device:
            return self
        return self._copied(chosen)

    def _shown(self) -> NumPyArray:
        """The view that an outsider gets: its own object, read-only where indices share elements."""
        view = self._numpy().view()
        if self.layout.overlaps_itself:
            view.flags.writeable = False
        return view

    def _export(self) -> None:
        """Someone outside may write the memory from now on: nothing reads it later."""
        memory = self._memory
        settle_readers(memory)
        memory.exported = True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumPyArray:
        """The NumPy array over the same memory, or a copy of it.

        Raises
        ------
        ValueError
            ``copy=False`` and another dtype, or the array is on a simulated device.
        """
        if self._device is not _device.CPU:
            raise ExportError(f"__array__: the array is on {self._device}; use to_device to bring it to the CPU")
        if dtype is not None and self._dtype.dtype != dtype:
            if copy is False:
                raise ValueError(f"__array__: {self._dtype} to {dtype} needs a copy; pass copy=None")
            own = _dtypes.FROM_NUMPY.get(np.dtype(dtype))
            return self._numpy().astype(dtype) if own is None else _dtypes.converted(self._numpy(), own)
        if copy:
            return self._numpy().copy()
        view = self._shown()
        self._export()
        return view

    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int, /) -> memoryview:
            """The memory under Python's buffer protocol; dtypes that the protocol has no code for are refused."""
            view = self.__array__()
            try:
                return memoryview(view)
            except ValueError:
                raise BufferError(
                    f"__buffer__: the buffer protocol has no code for {self._dtype}; "
                    f"its bits are memoryview(numpy.asarray(x).view('u{self.itemsize}'))"
                ) from None

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export as a DLPack capsule.

        Parameters
        ----------
        stream
            None: no device here has streams.
        max_version
            The newest DLPack version that the consumer reads; from (1, 0) on the capsule is versioned.
        dl_device
            Where the data must be: this array's own device or the CPU, as DLPack's (kind, number).
        copy
            True: always copy; False: never; None: only if needed.

        Raises
        ------
        BufferError
            The export can't be done (also a ValueError, so that either clause catches it).
        """
        if stream is not None:
            raise ExportError(f"__dlpack__: {self._device} has no streams, got stream={stream!r}; pass None")
        own = self._device.dlpack
        target = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target not in (own, _device.CPU.dlpack):
            raise ExportError(f"__dlpack__: cannot export from {self._device} to DLPack device {target}")
        moves = target != own
        if moves and copy is False:
            raise ExportError(f"__dlpack__: export from {self._device} to the CPU needs a copy; pass copy=None")
        view = self._shown()
        version = (0, 0) if max_version is None else (max_version[0], max_version[1])
        # A capsule without version cannot say that memory is read-only: what it then holds is a copy.
        copied = bool(copy) or moves or (copy is None and version < (1, 0) and not view.flags.writeable)
        capsule = _interop.to_capsule(view, target, version, copy=copied)
        if not copied:
            self._export()
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device as DLPack names it: (kind, number)."""
        return self._device.dlpack

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the reachable elements in their order in memory; a broadcast axis stays one element wide."""
        layout = self.layout
        kept = layout
        for axis, step in enumerate(layout.stride):
            if step == 0 and layout.shape[axis] > 1:
                kept = kept.slice(axis, 0, 1, 1)
        packed, stride, offset = _interop.reachable(self._memory, kept, self._dtype.dtype)
        stride = tuple(0 if before == 0 else after for before, after in zip(layout.stride, stride))
        return _rebuild, (self._dtype, self._device, layout.shape, stride, offset, packed)

    def __setstate__(self, state: Any) -> None:
        """Refuse: an array is rebuilt from checked parts, and has no other state.

        Raises
        ------
        ValueError
            Always; a pickle that comes here was not written by this class.
        """
        raise ValueError(f"unpickle: an NDArray takes no state, got a {type(state).__name__}")

    def __copy__(self) -> NDArray:
        """A dense, writable copy."""
        return self._copied()

    def __deepcopy__(self, memo: Any) -> NDArray:
        """A dense, writable copy."""
        return self._copied()

    def _copied(self, device: Device | None = None) -> NDArray:
        """A dense row-major copy, in memory of its own."""
        return NDArray(dense_copy(self._numpy()), self._dtype, device or self._device)

    # -- text --------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Values, dtype and, off the CPU, device."""
        body = text(self._numpy(), self._dtype, "NDArray(")
        shape = f", shape={self.shape}" if 0 in self.shape and self.ndim != 1 else ""
        device = "" if self._device is _device.CPU else f", device={self._device}"
        return f"NDArray({body}{shape}, dtype={self._dtype}{device})"

    def __format__(self, spec: str, /) -> str:
        """A 0-d array formats as its element; others take no format."""
        return format(self._item(), spec) if spec and self.ndim == 0 else format(repr(self), spec)

    # -- conversion to Python ------------------------------------------------------------------------

    def _item(self) -> Any:
        return self._numpy().item()

    def _scalar(self, function: str) -> Any:
        if self.shape != ():
            raise TypeError(f"{function}: only 0-d arrays convert to a Python scalar, this one has shape {self.shape}")
        return self._numpy().item()

    def __bool__(self) -> bool:
        """Truth of a 0-d array (default mode: of an array of one element): False for 0 only."""
        if self.shape != () and self.size == 1:
            _modes.allow("truth of one element", f"bool: the array has shape {self.shape}")
            return bool(self._item())
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        """Integer part of a real 0-d array."""
        value = self._scalar("int")
        if self._dtype.kind == "complex":
            raise TypeError("int: a complex array has no integer value; take real() first")
        return int(value)

    def __float__(self) -> float:
        """Value of a real 0-d array."""
        value = self._scalar("float")
        if self._dtype.kind == "complex":
            raise TypeError("float: a complex array has no real value; take real() first")
        return float(value)

    def __complex__(self) -> complex:
        """Value of a 0-d array."""
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        """Value of an integer 0-d array, exactly."""
        if self._dtype.kind not in ("int", "uint"):
            raise TypeError(f"index: only integer arrays can be an index, this one is {self._dtype}")
        return int(self._scalar("index"))

    # -- sequence --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Extent of the first axis.

        Raises
        ------
        TypeError
            A 0-d array; in strict mode any with more than one axis.
        """
        shape = self.shape
        if not shape:
            raise TypeError("len: a 0-d array has no length")
        if len(shape) > 1:
            _modes.allow("iteration", f"len: the array has {len(shape)} axes")
        return shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        """Views along the first axis.

        Raises
        ------
        TypeError
            A 0-d array; in strict mode any with more than one axis.
        """
        layout = self.layout
        if not layout.shape:
            raise TypeError("iter: a 0-d array cannot be iterated")
        if len(layout.shape) > 1:
            _modes.allow("iteration", f"iter: the array has {len(layout.shape)} axes")
        return (self._with(layout.select(0, i)) for i in range(layout.shape[0]))

    # -- indexing ----------------------------------------------------------------------------------------

    def __getitem__(self, key: Any, /) -> NDArray:
        """Select elements: a view for integers, slices, None and Ellipsis, a copy for index arrays and masks.

        Raises
        ------
        IndexError
            Too many indices, or one out of range.
        TypeError
            A key of another type; in strict mode what the standard doesn't promise.
        """
        layout = self._layout or self._settle()
        if type(key) is slice:
            shape = layout.shape
            if len(shape) == 1:
                # The commonest key: one axis, one slice, spelled out (0.4 µs less than through _index.view).
                start, stop, step = key.indices(shape[0])
                count = len(range(start, stop, step))
                stride = layout.stride[0]
                offset = layout.offset + start * stride if count else layout.offset
                if count > 1:  # else the step leads nowhere, and may be too large for NumPy
                    stride *= step
                taken = new_layout(((count,), (stride,), offset))
                return NDArray(None, self._dtype, self._device, taken, self._buffer)
        else:
            element = _index.element(layout, key)
            if element is not None:
                return NDArray(None, self._dtype, self._device, element, self._buffer)
        selected, parts = self._selection(key)
        if selected is not None:
            return self._with(selected)
        return NDArray(self._numpy()[self._gather_key(parts)], self._dtype, self._device)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Assign to the selected elements; ``value`` broadcasts to them and is converted to the array's dtype.

        Raises
        ------
        IndexError
            As for selecting.
        TypeError
            A complex value for a real array; in strict mode any whose dtype doesn't promote to the array's.
        ValueError
            The shapes disagree, the memory is read-only, or several indices share an element.

        Notes
        -----
        Everything is checked before anything is written. A value that shares memory with the array is read
        before it is written.
        """
        selected = _index.element(self._layout or self._settle(), key)
        if selected is None:
            selected, parts = self._selection(key)
        self._check_writable("setitem", selected)
        source = self._assignable("setitem", value)
        target = self._numpy()
        if selected is not None:
            target = self._memory.view(selected, self._dtype.dtype)
            _check_fills(source, target.shape)
            # Of one axis NumPy copies forwards or backwards, which isn't enough where the strides differ.
            if source.ndim == 1 and np.may_share_memory(source, target):
                source = source.copy()
            target[...] = source
            return
        gather = self._gather_key(parts)
        if source.ndim > 1:
            source = _for_mask(source, gather, target.ndim)
        if source.ndim and np.may_share_memory(source, target):
            source = source.copy()
        gather = tuple(
            [g.copy() if isinstance(g, np.ndarray) and np.may_share_memory(g, target) else g for g in gather]
        )
        target[gather] = source

    def _selection(self, key: Any) -> tuple[Layout | None, tuple[Any, ...]]:
        """The layout that a key selects, or None for a gather, and the parts of the key.

        A 0-d integer array, of ours or of others, counts as the integer and is replaced by it.
        """
        layout = self._layout or self._settle()
        parts = key if isinstance(key, tuple) else (key,)
        selected = _index.view(layout, parts)
        if selected is None:
            plain = [self._as_integer(part) for part in parts]
            if any(map(is_not, plain, parts)):
                parts = tuple(plain)
                selected = _index.view(layout, parts)
        if selected is not None and _modes.is_strict():
            used = sum(1 for p in parts if p is not None and p is not Ellipsis)
            if used < layout.ndim and not any(p is Ellipsis for p in parts):
                _modes.allow("fewer indices than axes", f"index: {used} indices for {layout.ndim} axes")
        return selected, parts

    def _as_integer(self, part: Any) -> Any:
        """A part of a key, or the integer that it is as a 0-d integer array."""
        if isinstance(part, NDArray):
            _device.shared("index", self._device, part._device)
            return part.__index__() if part.ndim == 0 and part._dtype.kind in ("int", "uint") else part
        if isinstance(part, np.ndarray | np.generic) and part.dtype.kind not in "iu":
            return part
        if getattr(part, "shape", None) == () and hasattr(type(part), "__index__"):
            _modes.allow("numpy scalar", f"index: {part!r} is a {type(part).__name__}")
            return as_index(part)
        return part

    def _gather_key(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """A key with arrays in it, as NumPy takes it; its 0-d integer arrays are integers by now.

        Raises
        ------
        TypeError
            A part is no index; in strict mode a mixture that the standard doesn't promise.
        IndexError
            An array of a dtype that is neither integer nor boolean.
        RuntimeError
            A mask, where the settings refuse them.
        """
        result: list[Any] = []
        masks = arrays = 0
        foreign = False
        for part in parts:
            if isinstance(part, NDArray):
                if part._dtype.kind not in ("int", "uint", "bool"):
                    raise IndexError(f"index: an array of {part._dtype} is no index; use integers or a boolean mask")
                masks += part._dtype.kind == "bool"
                arrays += part._dtype.kind != "bool"
                view = _dtypes.cast(part._numpy(), part._dtype.wide)
                result.append(_checked_indices(view) if part._dtype is _dtypes.uint64 else view)
            elif isinstance(part, np.ndarray | np.generic | list | bool):
                foreign = True
                result.append(_checked_indices(_index_array(part)))
            elif _index.is_basic(part):
                result.append(part)
            else:
                raise TypeError(
                    f"index: a {type(part).__name__} is no index; use integers, slices, None, ... or arrays of them"
                )
        if any([isinstance(part, np.ndarray) and part.dtype == np.bool_ for part in result]):  # noqa: C419  # quicker
            _modes.require("boolean_indexing", "index: the key holds a boolean mask")
        if _modes.is_strict():
            integers = sum(1 for p in parts if isinstance(p, int) and not isinstance(p, bool))
            pure = (masks == 1 and len(parts) == 1) or (masks == 0 and arrays + integers == len(parts) == self.ndim)
            if foreign or not pure:
                _modes.allow("advanced keys", "index: the key mixes arrays with other parts, or is no array of ours")
        return tuple(result)

    def _check_writable(self, function: str, selected: Layout | None = None) -> None:
        """Refuse to write into the array, or the selected part, where memory or layout forbid it.

        Raises
        ------
        ValueError
            The memory is read-only, or several indices share an element.
        """
        layout = selected or self._layout
        # An array that a kernel produced has memory of its own, an element for each index; invariant 4 again.
        writable = self._view.flags.writeable if self._buffer is None else self._buffer.writable  # type: ignore[union-attr]
        if not writable:
            raise ValueError(f"{function}: the array's memory is read-only; use asarray(x, copy=True)")
        if layout is not None and layout.overlaps_itself:
            raise ValueError(
                f"{function}: several indices share an element (shape {layout.shape}, stride {layout.stride}); "
                "use asarray(x, copy=True)"
            )
        if self._buffer is not None and (self._buffer.readers or self._buffer.active):
            settle_readers(self._buffer)

    def _assignable(self, function: str, value: Any) -> NumPyArray:
        """A value as a NumPy array of this dtype, converted as by astype.

        Raises
        ------
        TypeError
            It would lose its imaginary part, or is neither an NDArray nor a scalar; in strict mode also one of a dtype
            that doesn't promote to this one.
        ScalarOverflowError
            An integer that the dtype cannot hold (an OverflowError and a ValueError).
        """
        dtype = self._dtype
        if isinstance(value, NDArray):
            _device.shared(function, self._device, value._device)
            if value._dtype is dtype:
                return value._numpy()
            if not _dtypes.can_cast(value._dtype, dtype):
                message = f"{function}: {value._dtype} values don't promote to {dtype}"
                if _dtypes.same_kind(value._dtype, dtype):
                    _modes.allow("casting assignment", message)
                elif value._dtype.kind == "complex" and dtype.kind != "bool":
                    raise TypeError(f"{message}; use real() or abs() of the value")
                else:
                    _modes.allow("assignment to a lower kind", message)
            return _dtypes.converted(value._numpy(), dtype)
        # No subclass of numpy.ndarray: its elements may have a unit or a mask, which a number has not.
        if type(value) is np.ndarray and value.ndim == 0 and isinstance(value[()], np.generic):
            _modes.allow("numpy scalar", f"{function}: {value!r} is a NumPy array")
            value = value[()]
        if isinstance(value, np.generic):
            value = as_python_scalar(function, value)
        if isinstance(value, SCALARS):
            return self._from_scalar(function, value)
        raise TypeError(f"{function}: {type(value).__name__} is no NDArray; use candela_xp.asarray(value)")

    def _from_scalar(self, function: str, value: Scalar) -> NumPyArray:
        """A Python scalar as a 0-d NumPy array of this dtype; errors as those of `_assignable`."""
        dtype = self._dtype
        kind = dtype.kind
        if kind == "bool":
            lower = not isinstance(value, bool)
        elif kind in ("int", "uint"):
            lower = isinstance(value, float)
        else:
            lower = False
        if kind not in ("complex", "bool") and isinstance(value, complex):
            raise TypeError(f"{function}: {value!r} doesn't promote to {dtype}; use .real or abs() of the value")
        if lower:
            _modes.allow("assignment to a lower kind", f"{function}: {value!r} doesn't promote to {dtype}")
            return np.asarray(bool(value)) if kind == "bool" else _dtypes.converted(np.asarray(value), dtype)
        _dtypes.scalar_dtype(function, dtype, value)  # strict mode refuses a bool as a number
        return scalar_array(function, value, dtype)

    if TYPE_CHECKING:
        # Attached by the definitions of the elementwise functions and of matmul. == and != give arrays, as the
        # standard has it, where object has bool.
        def __abs__(self, /) -> NDArray: ...
        def __neg__(self, /) -> NDArray: ...
        def __pos__(self, /) -> NDArray: ...
        def __invert__(self, /) -> NDArray: ...
        def __add__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __radd__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __sub__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rsub__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __mul__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rmul__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __truediv__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rtruediv__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __floordiv__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rfloordiv__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __mod__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rmod__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __pow__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __rpow__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __and__(self, other: NDArray | int, /) -> NDArray: ...
        def __rand__(self, other: NDArray | int, /) -> NDArray: ...
        def __or__(self, other: NDArray | int, /) -> NDArray: ...
        def __ror__(self, other: NDArray | int, /) -> NDArray: ...
        def __xor__(self, other: NDArray | int, /) -> NDArray: ...
        def __rxor__(self, other: NDArray | int, /) -> NDArray: ...
        def __lshift__(self, other: NDArray | int, /) -> NDArray: ...
        def __rlshift__(self, other: NDArray | int, /) -> NDArray: ...
        def __rshift__(self, other: NDArray | int, /) -> NDArray: ...
        def __rrshift__(self, other: NDArray | int, /) -> NDArray: ...
        def __lt__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __le__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __gt__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __ge__(self, other: NDArray | Scalar, /) -> NDArray: ...
        def __eq__(self, other: NDArray | Scalar, /) -> NDArray: ...  # type: ignore[override]
        def __ne__(self, other: NDArray | Scalar, /) -> NDArray: ...  # type: ignore[override]
        def __matmul__(self, other: NDArray, /) -> NDArray: ...
        def __rmatmul__(self, other: NDArray, /) -> NDArray: ...


def _index_array(part: Any) -> NumPyArray:
    """A list, a Python bool or something of NumPy's as an index array.

    Raises
    ------
    IndexError
        It holds something that is neither integer nor bool, or is ragged.
    """
    try:
        made = np.asarray(part)
    except ValueError as error:
        raise IndexError(f"index: {error}") from None
    if isinstance(part, list) and made.size == 0:
        made = made.astype(np.intp)  # an empty list has no dtype; NumPy's default is float64
    if made.dtype.kind not in "iub":
        raise IndexError(f"index: {made.dtype} values are no index; use integers or a boolean mask")
    return made


def _checked_indices(indices: NumPyArray) -> NumPyArray:
    """The same indices, if none lies beyond int64, where NumPy would wrap it into range."""
    if indices.dtype == np.uint64 and indices.size and int(indices.max()) >= 2**63:
        raise IndexError(f"index {int(indices.max())} is out of range for every axis")
    return indices


def _check_fills(source: NumPyArray, shape: tuple[int, ...]) -> None:
    """Refuse a value that doesn't broadcast to the selection, before anything is written."""
    extra = source.ndim - len(shape)
    have = source.shape[extra:] if extra > 0 else source.shape
    wanted = shape[len(shape) - len(have) :]
    if all(n in (1, m) for n, m in zip(have, wanted)) and all(n == 1 for n in source.shape[: max(extra, 0)]):
        return
    raise ValueError(f"setitem: a value of shape {source.shape} could not be broadcast to the selection {shape}")


def _for_mask(source: NumPyArray, gather: tuple[Any, ...], ndim: int) -> NumPyArray:
    """A value without leading axes of length 1 where NumPy takes none: where one mask covers all axes."""
    arrays = [part for part in gather if part is not Ellipsis]
    if (
        len(arrays) == 1
        and isinstance(arrays[0], np.ndarray)
        and arrays[0].dtype == np.bool_
        and arrays[0].ndim == ndim
    ):
        _check_fills(source, (int(np.count_nonzero(arrays[0])),))
        return source.reshape(source.shape[-1:])
    return source


def as_python_scalar(function: str, value: Any) -> Scalar:
    """A NumPy scalar as the Python scalar of its kind (default mode; float64 and complex128 are Python's own).

    Raises
    ------
    TypeError
        It is of no numeric kind; in strict mode any that is no Python scalar.
    """
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return complex(value)
    item = value.item()
    # timedelta64 and datetime64 give integers, which have lost their unit
    if not isinstance(item, SCALARS) or isinstance(value, np.timedelta64 | np.datetime64):
        raise TypeError(f"{function}: {value!r} is no number")
    _modes.allow("numpy scalar", f"{function}: {value!r} is a NumPy scalar")
    return item


def scalar_array(function: str, value: Scalar, dtype: DType) -> NumPyArray:
    """A Python scalar as a 0-d NumPy array.

    Raises
    ------
    ScalarOverflowError
        An integer that the dtype cannot hold (an OverflowError and a ValueError).
    """
    try:
        if not dtype.extension:
            return np.asarray(value, dtype=dtype.dtype)
        # ml_dtypes takes no integers beyond int64, lets those that don't fit wrap, and rounds numbers twice.
        if dtype.kernels != "narrowint":
            number = np.asarray(_kernels.odd(value), complex if dtype.kind == "complex" else float)
            return _dtypes.cast(number, dtype.dtype)
        low, high = _dtypes.limits(dtype)
        if low <= value <= high:  # type: ignore[operator]  # complex values don't come with integer dtypes
            return np.asarray(value, np.int8).astype(dtype.dtype)
        raise OverflowError
    except OverflowError:
        raise ScalarOverflowError(f"{function}: {value} does not fit {dtype}; use astype on the array first") from None


def _rebuild(
    dtype: DType, device: Device, shape: tuple[int, ...], stride: tuple[int, ...], offset: int, data: NumPyArray
) -> NDArray:
    """An array from its pickled parts, checked: what comes from outside may be damaged.

    Raises
    ------
    ValueError
        The parts don't fit together.
    """
    refusal = ValueError(f"unpickle: shape {shape}, stride {stride}, offset {offset} don't fit the data")
    whole = isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim == 1 and data.flags.c_contiguous
    if not (whole and isinstance(dtype, DType) and isinstance(device, Device)):
        raise refusal
    if not data.flags.writeable:  # an out-of-band buffer may be read-only
        data = data.copy()
    # Memory that the array does not own may have come out of band, and then be somebody else's too.
    buffer = Buffer(data, exported=not data.flags.owndata)
    try:
        layout = Layout(tuple(map(as_index, shape)), tuple(map(as_index, stride)), as_index(offset))
        if not layout.fits(data.nbytes // dtype.itemsize) or prod(n or 1 for n in layout.shape) >= 2**59:
            raise refusal
        view = buffer.view(layout, dtype.dtype)  # so that NumPy refuses what it cannot hold
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    return NDArray(view, dtype, device, layout, buffer)


def checked_array(function: str, name: str, value: Any) -> NDArray:
    """``value`` itself, if it is an NDArray.

    Raises
    ------
    TypeError
        It is not; the way out is named.
    """
    if isinstance(value, NDArray):
        return value
    raise TypeError(
        f"{function}: {name} is a {type(value).__module__}.{type(value).__name__}, not an NDArray; "
        "use candela_xp.asarray(...)"
    )


__all__ = ["DeviceError", "NDArray", "Scalar", "as_python_scalar", "checked_array", "scalar_array"]
