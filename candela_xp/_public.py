"""What every public function does with its arguments: check, unwrap, promote, compute, wrap. Once.

`Operation` holds what an elementwise function is (kinds it is defined for, kernels, dtype of the result) and
builds the function for one or two operands. The commonest call (arrays of one dtype on one device) is a table
look-up and the kernel; everything else goes through `prepare`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from operator import index as as_index
from sys import getrefcount
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from candela_xp import _device, _dtypes, _index, _modes, _settings
from candela_xp._array import SCALARS, NDArray, Scalar, as_python_scalar, checked_array, scalar_array
from candela_xp._device import Device
from candela_xp._dtypes import DTYPES, DType, promote
from candela_xp._errors import ScalarOverflowError
from candela_xp._expr import Node, error_state
from candela_xp._kernels import Kernel, lookup, weight
from candela_xp._layout import broadcast_shapes
from candela_xp._walk import Operand, assign

NumPyArray = np.ndarray[Any, Any]

# The standard's names for what a function is defined on, as kinds of dtypes
KINDS: dict[str, frozenset[str]] = {
    "any": frozenset({"bool", "int", "uint", "float", "complex"}),
    "boolean": frozenset({"bool"}),
    "integer": frozenset({"int", "uint"}),
    "integer or boolean": frozenset({"bool", "int", "uint"}),
    "numeric": frozenset({"int", "uint", "float", "complex"}),
    "real": frozenset({"int", "uint", "float"}),
    "floating-point": frozenset({"float", "complex"}),
    "real floating-point": frozenset({"float"}),
    "complex": frozenset({"complex"}),
}

# Functions whose NumPy kernel for booleans is the sane answer in default mode; the others compute in the
# default integer, and a difference of booleans is refused as NumPy refuses it.
_KEEP_BOOLEAN = frozenset(
    {"add", "multiply", "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "clip"}
)
_REFUSE_BOOLEAN = {"subtract": "logical_xor", "negative": "logical_not"}


class Entry(NamedTuple):
    """How an operation treats operands of one dtype."""

    kernel: Kernel
    compute: DType
    result: DType


class Prepared(NamedTuple):
    """A kernel with its operands: what is left is the call.

    Operands are arrays, constants, or None (a bound of clip that isn't there). ``compute`` is the dtype to which the
    arrays are converted first; None leaves them as they are.
    """

    kernel: Kernel
    operands: tuple[Any, ...]
    compute: DType | None
    result: DType
    device: Device

    def views(self) -> list[Any]:
        """The operands as NumPy arrays in the dtype of the kernel."""
        compute = self.compute
        return [
            x if type(x) is not NDArray else x._numpy() if compute is None or x._dtype is compute else cast(x, compute)
            for x in self.operands
        ]


class Operation:
    """An elementwise function: its name, the kinds it is defined for, its kernels, the dtype of its result."""

    __slots__ = ("kinds", "name", "quick", "result", "table")

    def __init__(self, name: str, kinds: str, result: str) -> None:
        self.name = name
        self.kinds = KINDS[kinds]
        self.result = result
        self.table: list[Entry | None] = [
            self._entry(dtype, dtype) if dtype.kind in self.kinds else None for dtype in DTYPES.values()
        ]
        # Kernel and dtype of the result as plain tuples, which Python unpacks in a third of the time.
        # Not for narrow dtypes: their kernels take so long that far fewer elements are worth to be deferred.
        self.quick = [
            None if entry is None or entry.compute.extension else (entry.kernel, entry.result) for entry in self.table
        ]

    def _entry(self, dtype: DType, compute: DType) -> Entry:
        result = compute
        if self.result == "bool":
            result = _dtypes.bool_
        elif self.result == "real":
            result = _dtypes.REAL_OF.get(compute, compute)
        return Entry(lookup(self.name, compute.kernels), compute, result)

    def entry(self, dtype: DType) -> Entry:
        """How operands of this dtype are treated.

        Raises
        ------
        TypeError
            The function isn't defined for the dtype (in strict mode: by the standard).
        """
        found = self.table[dtype.number]
        if found is not None:
            return found
        name, kind = self.name, dtype.kind
        if kind in ("bool", "int", "uint") and "float" in self.kinds and "int" not in self.kinds:
            _modes.allow("integers in floating-point functions", f"{name}: not defined for {dtype} arrays")
            return self._entry(dtype, _dtypes.DEFAULT_FLOAT)
        if kind == "bool" and "int" in self.kinds:
            if name in _REFUSE_BOOLEAN:
                raise TypeError(f"{name}: not defined for bool arrays; use {_REFUSE_BOOLEAN[name]}")
            _modes.allow("booleans in numeric functions", f"{name}: not defined for bool arrays")
            return self._entry(dtype, dtype if name in _KEEP_BOOLEAN else _dtypes.DEFAULT_INT)
        if self.kinds == KINDS["boolean"]:
            _modes.allow("other kinds in boolean functions", f"{name}: not defined for {dtype} arrays")
            return self._entry(dtype, _dtypes.bool_)
        raise TypeError(f"{name}: not defined for {dtype} arrays; use astype")

    def prepare_one(self, x: Any) -> Prepared:
        """Check one operand and bring it to the dtype of the kernel."""
        array = checked_array(self.name, "x", x)
        kernel, compute, result = self.entry(array._dtype)
        return Prepared(kernel, (array,), compute, result, array._device)

    def prepare_two(self, x1: Any, x2: Any) -> Prepared | None:
        """Check two operands and bring them to the dtype of the kernel; None if one is of a type we don't know.

        Raises
        ------
        TypeError, DeviceError, ScalarOverflowError
            The dtypes, devices or values don't go together.
        """
        name = self.name
        if isinstance(x1, np.generic):
            x1 = as_python_scalar(name, x1)
        if isinstance(x2, np.generic):
            x2 = as_python_scalar(name, x2)
        if isinstance(x1, NDArray):
            if isinstance(x2, NDArray):
                return self._two_arrays(x1, x2)
            if not isinstance(x2, SCALARS):
                return None
            kernel, compute, result, other = self._with_scalar(x1._dtype, x2)
            return Prepared(kernel, (x1, other), compute, result, x1._device)
        if isinstance(x2, NDArray):
            if not isinstance(x1, SCALARS):
                return None
            kernel, compute, result, other = self._with_scalar(x2._dtype, x1)
            return Prepared(kernel, (other, x2), compute, result, x2._device)
        if isinstance(x1, SCALARS) and isinstance(x2, SCALARS):
            _modes.allow("scalar operands only", f"{name}: no operand is an array")
            kernel, compute, result, other = self._with_scalar(scalar_default(x1), x2)
            return Prepared(kernel, (scalar_array(name, x1, compute), other), compute, result, _device.CPU)
        return None

    def _two_arrays(self, x1: NDArray, x2: NDArray) -> Prepared:
        name = self.name
        device = _device.shared(name, x1._device, x2._device)
        common = promote(name, x1._dtype, x2._dtype)
        kernel, compute, result = self.entry(common)
        if self.result == "bool" and {x1._dtype.kind, x2._dtype.kind} == {"int", "uint"} and common.kind == "float":
            # uint64 with int64 has no common integer, but NumPy compares the two exactly, float64 would not.
            return Prepared(lookup(name, "int"), (x1, x2), None, result, device)
        return Prepared(kernel, (x1, x2), compute, result, device)

    def _with_scalar(self, dtype: DType, value: Scalar) -> tuple[Kernel, DType, DType, Any]:
        """The entry for an array of ``dtype`` with a scalar, and the scalar as an operand."""
        kernel, compute, result = self.entry(_dtypes.scalar_dtype(self.name, dtype, value))
        try:
            return kernel, compute, result, scalar_array(self.name, value, compute)
        except ScalarOverflowError:
            if self.result != "bool" or compute.kind not in ("int", "uint"):
                raise
            # Comparison with an integer outside the dtype has an answer; NumPy gives it for the Python int.
            return kernel, compute, result, value


def cast(array: NDArray, dtype: DType) -> NumPyArray:
    """The NumPy view of an array, converted to ``dtype`` if it is of another one."""
    return _dtypes.cast(array._numpy(), dtype.dtype)


def computed(
    name: str, kernel: Kernel, operands: Sequence[Any], compute: DType | None, result: DType, device: Device
) -> NDArray:
    """The result of a kernel: pending where it is large, else computed at once; the fields are those of `Prepared`.

    Raises
    ------
    ValueError
        The shapes don't broadcast, or the kernel refuses the values.
    """
    # Broadcasting can make much of little, but no more than the product of the sizes.
    most: float = weight(name, kernel)
    views: list[Any] = []
    for x in operands:
        view = x
        if type(x) is NDArray:
            view = x._view
            if view is None:
                if x._node is not None:
                    most = inf
                    break
                view = x._numpy()
            most *= view.nbytes
            if compute is not None and x._dtype is not compute and most < _settings.defer_floor:
                view = _dtypes.cast(view, compute.dtype)
        views.append(view)
    if most >= _settings.defer_floor:
        prepared = Prepared(kernel, tuple(operands), compute, result, device)
        made = deferred(name, prepared)
        if made is not None:
            return made
        views = prepared.views()
    try:
        return NDArray(kernel(*views, out=...), result, device)
    except ValueError as error:
        raise unusable(name, error, *views) from None


# Kernels that refuse values, which has to be at the call: integers to negative powers.
_REFUSING = frozenset([lookup("pow", "int"), lookup("pow", "uint")])


def deferred(name: str, prepared: Prepared, *, row_major: bool = False) -> NDArray | None:
    """A pending array for what the kernel computes, or None where that is better computed at once.

    Row-major if asked for, else of the order that the operands have in common. What reads memory that someone outside
    can write is computed before this returns.

    Raises
    ------
    ValueError
        The shapes don't broadcast.
    """
    node, at_once = expression(name, prepared)
    if node is None:
        return None
    node.row_major = row_major
    made = NDArray._pending(node, prepared.result, prepared.device)
    if at_once:
        made._settle()
    return made


def expression(name: str, prepared: Prepared) -> tuple[Node | None, bool]:
    """The pending expression of what the kernel computes, and whether it must be computed at once.

    None where the result and the operands are small, or the kernel may refuse the values.
    """
    kernel, operands, compute, result, _ = prepared
    arrays = [x for x in operands if isinstance(x, NDArray)]
    if not arrays:
        return None, False
    shape = arrays[0].shape
    if any(x.shape != shape for x in arrays[1:]):
        common = broadcast_shapes([x.shape for x in arrays])
        if common is None:
            raise unusable(name, ValueError(), *operands)
        shape = common
    if kernel in _REFUSING:
        return None, False
    # What is pending goes on waiting, whatever comes out.
    waits = any([x._node is not None and x.shape == shape for x in arrays])  # noqa: C419  # a list is quicker
    if not waits and prod(shape) * result.itemsize * weight(name, kernel) < _settings.current().defer_min_bytes:
        return None, False
    errors = error_state()
    at_once = not WAITING.issuperset(errors) or any(x._node is None and x._memory.exported for x in arrays)
    terms = [term(x, compute, shape) if isinstance(x, NDArray) else x for x in operands]
    return Node(name, kernel, terms, shape, result.dtype, errors), at_once


def converted(x: NDArray, dtype: DType) -> NDArray:
    """The array in another dtype; pending where it is large. Not for bool, see `candela_xp.astype`."""
    if x._dtype is dtype:
        return x
    made = None
    if is_large(x):
        made = deferred("astype", Prepared(assign, (x,), None, dtype, x._device))
    return NDArray(cast(x, dtype), dtype, x._device) if made is None else made


def term(x: NDArray, compute: DType | None, shape: tuple[int, ...]) -> Any:
    """An array as an operand of a pending expression, converted to another dtype where that is wanted."""
    if compute is None or x._dtype is compute:
        return x._operand()
    if x.shape != shape:  # a conversion of its own, so that it isn't made once an index
        return Operand.of(cast(x, compute))
    return Node("astype", assign, (x._operand(),), shape, compute.dtype)


# Reductions of arrays that are there already pay by blocks from so many times the bytes on from which others are
# deferred: NumPy needs no help below (mean of 10^6 float64 down the columns: 0.1 ms, and 0.15 by blocks).
WHOLE = 2


def elements(x: NDArray, axes: Sequence[int], dtype: np.dtype[Any] | None = None) -> Node | Operand | None:
    """What a reduction over axes takes block by block, or None where it is small and better taken whole.

    Parameters
    ----------
    x
        The array.
    axes
        The axes to reduce.
    dtype
        To which the elements are converted first.
    """
    node = x._node
    if node is None and x.nbytes < _settings.defer_floor * WHOLE:
        return None
    if not axes or x.size == 0 or (node is None and x.nbytes < _settings.current().defer_min_bytes * WHOLE):
        return None
    found: Node | Operand = node or Operand(x._memory, x.layout, x._dtype.dtype)
    if dtype is not None and dtype != x._dtype.dtype:
        return Node("astype", assign, (found,), x.shape, dtype)
    return found


def large(x: NDArray) -> Operand | None:
    """The memory of an array that is large enough for the walk to matter, else None."""
    if x._node is None and x.nbytes < _settings.defer_floor:
        return None
    if x.nbytes < _settings.current().defer_min_bytes or x.size == 0:
        return None
    return Operand(x._memory, x.layout, x._dtype.dtype)


def is_large(x: NDArray) -> bool:
    """Whether `elements` and `large` are worth asking: most arrays are small, and this is quick."""
    view = x._view
    return view is None or view.nbytes >= _settings.defer_floor


def _references(x: Any) -> int:
    array = x
    return getrefcount(array)


def _through_a_helper(x: Any) -> int:
    return _references(x)


# The reference count of a temporary argument as a helper of the called function finds it that has another name for it.
# One more, and a variable holds it. Where Python counts fewer references than there are, a held array passes for a
# temporary one: what is pending is then computed once more when it is wanted.
_OF_A_TEMPORARY = _through_a_helper(object())


def is_held(references: int) -> bool:
    """Whether more than the call holds an array.

    By the reference count that a helper of the called function finds that has two names for it.
    """
    return references > _OF_A_TEMPORARY


# What NumPy's error state may say where a computation waits: exceptions and calls have to come from the function.
WAITING = frozenset({"ignore", "warn"})


def unary(operation: Operation) -> Callable[[Any], NDArray]:
    """The function of one array that an operation is."""
    quick = operation.quick
    heavy = weight(operation.name)
    ndarray, asarray, new = np.ndarray, np.asarray, object.__new__

    def function(x: Any, /) -> NDArray:
        if type(x) is NDArray:
            found = quick[x._dtype.number]
            if found is not None:
                view: Any = x._view
                if view is None:
                    view = x._peek()
                if view.nbytes * heavy < _settings.defer_floor:
                    kernel, result = found
                    made = kernel(view)
                    array = new(NDArray)  # 30 ns less than calling the class
                    array._view = made if type(made) is ndarray else asarray(made)
                    array._dtype = result
                    array._device = x._device
                    array._layout = array._buffer = array._node = None
                    return array
                waiting = alike(operation, x)
                if waiting is not None:
                    return waiting
        return computed(operation.name, *operation.prepare_one(x))

    return function


# The Python scalars that leave an array's dtype as it is, by the kind of the dtype
_KEEPING: dict[str, frozenset[type]] = {
    "bool": frozenset({bool}),
    "int": frozenset({int}),
    "uint": frozenset({int}),
    "float": frozenset({int, float}),
    "complex": frozenset({int, float, complex}),
}


def binary(operation: Operation) -> Callable[[Any, Any], Any]:
    """The function of two operands that an operation is; NotImplemented where one is of a type we don't know."""
    quick = operation.quick
    ndarray, asarray, new = np.ndarray, np.asarray, object.__new__

    def function(x1: Any, x2: Any, /) -> Any:
        # The commonest calls, spelled out: two arrays of one dtype and device, or an array and a scalar that
        # takes its dtype. Whatever else it is, or refuses, goes the long way. `made if type(made) is ndarray`
        # is 25 ns less than out=... for every array, and 80 ns more for those of no axes.
        if type(x1) is NDArray:
            dtype = x1._dtype
            found = quick[dtype.number]
            if found is not None:
                kernel, result = found
                if type(x2) is NDArray:
                    device = x1._device
                    if dtype is x2._dtype and device is x2._device:
                        a: Any = x1._view
                        if a is None:
                            a = x1._peek()
                        b: Any = x2._view
                        if b is None:
                            b = x2._peek()
                        # Broadcasting can make much of little: of (n, 1) and (1, m) the product of their sizes. One
                        # product finds most calls small, those of few elements with those of few.
                        if a.nbytes * b.nbytes < _settings.defer_floor or is_small(a, b):
                            try:
                                made = kernel(a, b)
                            except ValueError as error:
                                raise unusable(operation.name, error, a, b) from None
                            array = new(NDArray)  # 30 ns less than calling the class
                            array._view = made if type(made) is ndarray else asarray(made)
                            array._dtype = result
                            array._device = device
                            array._layout = array._buffer = array._node = None
                            return array
                        waiting = alike(operation, x1, x2)
                        if waiting is not None:
                            return waiting
                elif type(x2) in _KEEPING[dtype.kind]:
                    a = x1._view
                    if a is None:
                        a = x1._peek()
                    if a.nbytes < _settings.defer_floor:
                        try:
                            scalar = asarray(x2, dtype.dtype)
                        except (OverflowError, TypeError):  # TypeError: ml_dtypes, of integers beyond int64
                            pass
                        else:
                            try:
                                made = kernel(a, scalar)
                                return NDArray(made if type(made) is ndarray else asarray(made), result, x1._device)
                            except ValueError as error:
                                raise unusable(operation.name, error, scalar) from None
                    else:
                        waiting = alike(operation, x1, x2)
                        if waiting is not None:
                            return waiting
        prepared = operation.prepare_two(x1, x2)
        if prepared is None:
            return undecided(operation.name, x1, x2)
        return computed(operation.name, *prepared)

    return function


def alike(operation: Operation, x1: NDArray, *others: Any) -> NDArray | None:
    """What `computed` gives for the commonest of large operands, in half the time; None for all others.

    That is a large array, alone, with another of its shape, dtype and device, or with a scalar that takes its dtype.
    """
    name, dtype = operation.name, x1._dtype
    kernel, compute, result = operation.entry(dtype)
    if compute is not dtype or kernel in _REFUSING:
        return None
    shape = x1.shape
    waits = x1._node is not None
    operands: list[Any] = [x1]
    for x in others:
        if type(x) is NDArray:
            if x._dtype is not dtype or x._device is not x1._device or x.shape != shape:
                return None
            waits = waits or x._node is not None
            operands.append(x)
        elif type(x) in _KEEPING[dtype.kind] and not dtype.extension:
            try:
                operands.append(np.asarray(x, dtype.dtype))
            except OverflowError:
                return None
        else:
            return None
    if not waits and prod(shape) * result.itemsize * weight(name) < _settings.current().defer_min_bytes:
        # Rejected: computing into recycled memory. From 1 to 6 MB the C library's is as good; it cost 4 µs a call.
        return None
    terms = [x._node or _private(x) if type(x) is NDArray else x for x in operands]
    errors = error_state()
    if None in terms or not WAITING.issuperset(errors):
        return None
    return NDArray._pending(Node(name, kernel, terms, shape, result.dtype, errors), result, x1._device)


def _private(x: NDArray) -> Operand | None:
    """The memory of an array, or None where someone outside can write it."""
    layout = x._layout or x._settle()
    buffer = x._buffer
    return None if buffer is None or buffer.exported else Operand(buffer, layout, x._dtype.dtype)


def is_small(a: Any, b: Any) -> bool:
    """Whether two operands (NumPy arrays or pending expressions) and what comes of them are below the size to defer."""
    floor = _settings.defer_floor
    if a.nbytes >= floor or b.nbytes >= floor:
        return False
    if a.shape == b.shape:
        return True
    shape = broadcast_shapes((a.shape, b.shape))
    return shape is None or prod(shape) * max(a.itemsize, b.itemsize) < floor


# In place, arrays of up to so many bytes are written only when nothing can stop the operation any more.
SAFE_BYTES = 2**15


def in_place(operation: Operation) -> Callable[[Any, Any], Any]:
    """The in-place operator of an operation: same dtype, same shape, everything checked before it writes."""
    name, table = operation.name, operation.table

    def function(x1: NDArray, x2: Any, /) -> Any:
        prepared: Prepared | None
        found = table[x1._dtype.number]
        if found is not None:
            if _written_over(name, found, x1, x2):
                return x1
            if type(x2) is NDArray and x1._dtype is x2._dtype and x1._device is x2._device:
                kernel, compute, result = found
                prepared = Prepared(kernel, (x1, x2), compute, result, x1._device)
            else:
                prepared = operation.prepare_two(x1, x2)
        else:
            prepared = operation.prepare_two(x1, x2)
        if prepared is None:
            return undecided(operation.name, x1, x2)
        if x1._node is None:
            x1._check_writable(name)
        fill_in_place(name, x1, prepared.result, [np.shape(x) for x in prepared.operands])
        if not _filled_large(name, x1, prepared):
            _filled(name, x1, prepared)
        return x1

    return function


def _written_over(name: str, entry: Entry, x1: NDArray, x2: Any) -> bool:
    """Let a ufunc write over its first operand, if nothing speaks against it; False if something may.

    The second is an array of the same shape, dtype and device, or a scalar that takes the dtype. For all but the
    largest arrays: planning takes longer than the cache saves.
    """
    kernel, _, result = entry
    dtype = x1._dtype
    if x1._node is not None or result is not dtype or type(kernel) is not np.ufunc or kernel is np.power:
        return False
    target = x1._numpy()
    nbytes = target.nbytes
    if nbytes >= _settings.defer_floor * WHOLE:  # never where that is 0
        return False
    operand: Any
    if type(x2) is NDArray:
        if dtype is not x2._dtype or x1._device is not x2._device or x2._node is not None:
            return False
        operand = x2._numpy()
        if target.shape != operand.shape:
            return False
    elif type(x2) in _KEEPING[dtype.kind] and not dtype.extension:
        try:
            operand = np.asarray(x2, dtype.dtype)
        except OverflowError:
            return False
    else:
        return False
    x1._check_writable(name)
    if nbytes <= SAFE_BYTES:
        target[...] = kernel(target, operand)
    elif "raise" in np.geterr().values():
        return False
    else:
        kernel(target, operand, out=target)
    return True


def _filled(name: str, x1: NDArray, prepared: Prepared) -> None:
    """Compute at once and write into the array."""
    kernel = prepared.kernel
    operands = prepared.views()
    target = x1._numpy()
    x1._check_writable(name)
    try:
        written = None
        direct = isinstance(kernel, np.ufunc) and kernel is not np.power
        if direct and operands[0] is target and prepared.result is x1._dtype and _may_write(target):
            kernel(*operands, out=target)
        else:
            # A corrected kernel reads its operands again after it wrote, and power can stop half-way
            # (a negative integer exponent): both need their own output.
            written = kernel(*operands, out=...)
    except ValueError as error:
        raise unusable(name, error, *operands) from None
    if written is not None:
        target[...] = written


def _filled_large(name: str, x1: NDArray, prepared: Prepared) -> bool:
    """Write through the walk, if the array is large; a pending one goes on waiting, with one operation more."""
    waits = x1._node is not None
    large = x1.nbytes >= _settings.defer_floor and x1.nbytes > SAFE_BYTES
    if not (waits or large) or not WAITING.issuperset(error_state()):
        return False
    node, at_once = expression(name, prepared)
    if node is None:
        return False
    dtype = x1._dtype
    if prepared.result is not dtype:
        node = Node("astype", assign, (node,), node.shape, dtype.dtype)
    if not waits:
        node.settle_into(Operand(x1._memory, x1.layout, dtype.dtype))
        return True
    # Nobody has seen the memory of the array yet, for there is none: it shows another expression from now on.
    if x1._node is not None:
        x1._node.owner = None
    node.owner = ref(x1)
    x1._view = x1._layout = x1._buffer = None
    x1._node = node
    if at_once:
        x1._settle()
    return True


def _may_write(target: NumPyArray) -> bool:
    """Whether a kernel may write into the array that it reads.

    Not where NumPy's error state makes an exception of what it finds: that comes after the writing. Small arrays
    never do (a warning can be an exception too), since a temporary of 32 KiB costs them nothing.
    """
    return target.nbytes > SAFE_BYTES and "raise" not in np.geterr().values()


def fill_in_place(name: str, x1: NDArray, result: DType, shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuse an in-place operation whose result has another shape or dtype than the array it writes.

    Raises
    ------
    ValueError, TypeError
        Shape or dtype; both are named.
    """
    own = x1.shape
    if shapes[0] != own or shapes[-1] not in (own, ()):
        shape = broadcast_shapes(shapes)
        if shape is None:
            raise ValueError(f"{name}: shapes {' and '.join(map(str, shapes))} could not be broadcast together")
        if shape != own:
            raise ValueError(f"{name}: in place, the result has shape {shape}, the array {own}; drop the '='")
    if result is not x1._dtype:
        message = f"{name}: in place, the result has dtype {result}, the array {x1._dtype}"
        if not _dtypes.same_kind(result, x1._dtype):
            raise TypeError(f"{message}; drop the '='")
        _modes.allow("casting assignment", message)


def unusable(name: str, error: ValueError, *operands: Any) -> ValueError:
    """A kernel's ValueError in our words: NumPy's names neither function nor way out."""
    shapes = [np.shape(operand) for operand in operands]
    if broadcast_shapes(shapes) is None:
        return ValueError(f"{name}: shapes {' and '.join(map(str, shapes))} could not be broadcast together")
    if name == "pow":
        return ValueError("pow: an integer to a negative power is no integer; use astype to a floating-point dtype")
    return ValueError(f"{name}: {error}")


def undecided(name: str, x1: Any, x2: Any) -> Any:
    """What an operator answers to an operand of a type we don't know: NotImplemented, so that the type has its turn.

    Raises
    ------
    TypeError
        It is a NumPy array. That has no turn to take (`NDArray.__array_ufunc__` is None), Python's own message
        would not say what to do, and ``==`` would be False without one. Or it is bytes, to which Python 3.12 and
        later would append the array's memory, as they do with every buffer.
    """
    if isinstance(x1, np.dtype) or isinstance(x2, np.dtype):
        # NumPy's dtypes would take the array for its dtype (`NDArray.__numpy_dtype__`) and compare with that.
        if name in ("equal", "not_equal"):
            return name == "not_equal"
        if name in ("less", "less_equal", "greater", "greater_equal"):
            raise reject_unknown(name, x1, x2)
    numpys = isinstance(x1, np.ndarray) or isinstance(x2, np.ndarray)
    if numpys or (name == "add" and isinstance(x1, bytes | bytearray)):
        raise reject_unknown(name, x1, x2)
    return NotImplemented


def reject_unknown(name: str, x1: Any, x2: Any) -> TypeError:
    """The error for operands of which one is of a type we don't know."""
    for place, value in (("x1", x1), ("x2", x2)):
        if not isinstance(value, NDArray | bool | int | float | complex):
            try:
                checked_array(name, place, value)
            except TypeError as error:
                return error
    return TypeError(f"{name}: one operand must be an array; use candela_xp.asarray(...)")


# -- arguments of other functions ------------------------------------------------------------------


def scalar_default(value: Scalar) -> DType:
    """The default dtype of a Python scalar's kind."""
    if isinstance(value, bool):
        return _dtypes.bool_
    if isinstance(value, int):
        return _dtypes.DEFAULT_INT
    return _dtypes.DEFAULT_FLOAT if isinstance(value, float) else _dtypes.DEFAULT_COMPLEX


def checked_kind(function: str, array: NDArray, kinds: str) -> DType:
    """The array's dtype, if it is of one of the kinds.

    Raises
    ------
    TypeError
        It is not.
    """
    if array._dtype.kind not in KINDS[kinds]:
        raise TypeError(f"{function}: not defined for {array._dtype} arrays, only for {kinds} dtypes; use astype")
    return array._dtype


def common_device(function: str, arrays: Sequence[NDArray]) -> Device:
    """The device that all the arrays share (at least one array)."""
    device = arrays[0]._device
    for array in arrays[1:]:
        _device.shared(function, device, array._device)
    return device


def common_dtype(function: str, dtypes: Sequence[DType]) -> DType:
    """The dtype in which all combine (at least one dtype)."""
    # Floats first: int16 with uint16 is int32, and that with float32 float64; one by one they leave it float32.
    if len(dtypes) > 2:
        dtypes = sorted(dtypes, key=lambda dtype: dtype.kind in ("int", "uint", "bool"))
    common = dtypes[0]
    for dtype in dtypes[1:]:
        common = promote(function, common, dtype)
    return common


def checked_arrays(function: str, arrays: Any) -> list[NDArray]:
    """A sequence of arrays, each checked.

    Raises
    ------
    TypeError
        It is no sequence, or one of its elements is no NDArray.
    """
    if not isinstance(arrays, tuple | list):
        raise TypeError(f"{function}: arrays must be a tuple or list of arrays, got {type(arrays).__name__}")
    return [checked_array(function, f"arrays[{place}]", array) for place, array in enumerate(arrays)]


def checked_shape(function: str, shape: Any) -> tuple[int, ...]:
    """A shape argument as a tuple of non-negative integers.

    Raises
    ------
    TypeError
        It is no integer and no tuple of integers (lists are taken in default mode).
    ValueError
        An extent is negative, there are too many axes, or the elements are more than memory can hold.
    """
    if isinstance(shape, list):
        _modes.allow("lists as shapes and axes", f"{function}: shape is a list")
    if not isinstance(shape, tuple | list):
        shape = (shape,)
    try:
        extents = tuple([as_index(extent) for extent in shape])
    except TypeError:
        raise TypeError(f"{function}: shape must be an integer or a tuple of integers, got {shape!r}") from None
    if any(extent < 0 for extent in extents):
        raise ValueError(f"{function}: shape {extents} has a negative extent")
    if len(extents) > 64:
        raise ValueError(f"{function}: shape has {len(extents)} axes; 64 are possible")
    size = 1
    for extent in extents:
        size *= extent or 1
    if size >= 2**59:
        raise ValueError(f"{function}: shape {extents} has {size} elements, more than memory can address")
    return extents


def checked_integer(function: str, name: str, value: Any) -> int:
    """An integer argument.

    Raises
    ------
    TypeError
        It is no integer.
    """
    try:
        return as_index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be an integer, got {value!r}") from None


def checked_axes(function: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """An ``axis`` argument (None: all; an integer; a tuple) as distinct axes in ``0..ndim-1``."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, list):
        _modes.allow("lists as shapes and axes", f"{function}: axis is a list")
    return _index.normalise_axes(function, axis, ndim)


def checked_choice(function: str, name: str, value: Any, choices: Sequence[str]) -> str:
    """A keyword that takes one of a few strings.

    Raises
    ------
    ValueError
        It is none of them; they are listed.
    """
    if value not in choices:
        raise ValueError(f"{function}: {name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def wrapped(view: Any, dtype: DType, device: Device) -> NDArray:
    """A kernel's result as an array (a NumPy scalar becomes 0-d)."""
    return NDArray(np.asarray(view), dtype, device)


def named_dtype(function: str, dtype: Any) -> DType | None:
    """A ``dtype=`` argument, None where it is not given."""
    return None if dtype is None else _dtypes.named(function, dtype)
