"""What every linear-algebra function does with its arguments, from one line that says what its core is.

``@core("(m,n),(n,k)->(m,k)")`` above a def on NumPy arrays makes a function on NDArrays: operands are checked and
brought to one dtype, the extents of their core axes are compared, narrow floats are computed in float32 and rounded
once, the results get their dtype and device, and what LAPACK reports of a matrix says which one it was. With a
``weight``, large stacks are cut into pieces for several threads.

A letter is an extent: one that comes twice must agree. A number is the extent itself. A letter with ``?`` is an axis
that is missing when the operand is one-dimensional (a vector in the place of a matrix). Axes before the core are
the stack; the stacks of two operands broadcast.
"""

from __future__ import annotations

import ctypes
import inspect
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import update_wrapper
from math import prod
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from candela_xp import _dtypes, _modes, _pool, _settings, _workers
from candela_xp._array import NDArray, checked_array
from candela_xp._device import Device
from candela_xp._dtypes import DType
from candela_xp._kernels import converted
from candela_xp._layout import broadcast_shapes
from candela_xp._public import KINDS, checked_integer, common_device, common_dtype

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# -- the shape of the core ---------------------------------------------------------------------------


class Axis(NamedTuple):
    """One core axis of an operand: its letter (or number), and whether vectors lack it."""

    letter: str
    optional: bool


Core = tuple[Axis, ...]


def parse(signature: str) -> tuple[Core, ...]:
    """The core axes of each operand of a signature such as ``(m?,k),(k,n?)->(m?,n?)``."""
    operands = signature.partition("->")[0].strip("()").split("),(")
    return tuple(
        tuple(Axis(letter.rstrip("?"), letter.endswith("?")) for letter in operand.split(",") if letter)
        for operand in operands
    )


_PLACES = {1: "the last axis", 2: "the second last axis"}


def _place(position: int, count: int, axis: int | None) -> str:
    """A core axis in words; ``axis`` is the one that a keyword named."""
    return f"axis {axis}" if axis is not None else _PLACES[count - position]


def core_shapes(
    function: str, names: Sequence[str], cores: Sequence[Core], shapes: Sequence[Shape], axis: int | None = None
) -> tuple[Shape, ...]:
    """The stack shape of each operand, its core axes having been checked.

    Parameters
    ----------
    function, names
        What the message calls the function and its operands.
    cores
        The core axes of each operand.
    shapes
        The shape of each operand, core axes last.
    axis
        The axis (counted from the end) that a keyword named as the one core axis.

    Raises
    ------
    ValueError
        An operand has too few axes, core extents disagree, or the stacks don't broadcast.
    """
    seen: dict[str, tuple[int, str, int]] = {}
    stacks = []
    for which, (name, core, shape) in enumerate(zip(names, cores, shapes)):
        least = sum(1 for part in core if not part.optional)
        if len(shape) < least:
            some = "axis is" if least == 1 else "axes are"
            way_out = "; use expand_dims" if not shape or least == 2 else ""
            raise ValueError(f"{function}: {name} has shape {shape}: at least {least} {some} needed{way_out}")
        present = core if len(shape) >= len(core) else tuple([part for part in core if not part.optional])
        count = len(present)
        stacks.append(shape[: len(shape) - count])
        for position, (part, extent) in enumerate(zip(present, shape[len(shape) - count :])):
            letter = part.letter
            if letter.isdigit():
                if extent != int(letter):
                    where = _place(position, count, axis)
                    raise ValueError(
                        f"{function}: {name} has shape {_shape(shape, axis)}: {where} must have length {letter}"
                    )
            elif letter not in seen:
                seen[letter] = extent, _place(position, count, axis), which
            elif seen[letter][0] != extent:
                before, where, other = seen[letter]
                if other == which:
                    raise ValueError(
                        f"{function}: {name} has shape {shape}: the last two axes must be equal (square matrices)"
                    )
                theirs, here = names[other], _place(position, count, axis)
                raise ValueError(
                    f"{function}: {theirs} has shape {_shape(shapes[other], axis)}, {name} {_shape(shape, axis)}: "
                    f"{where} of {theirs} ({before}) must equal {here} of {name} ({extent})"
                )
    if len(stacks) == 2 and stacks[0] and stacks[1] and broadcast_shapes(stacks) is None:
        raise ValueError(
            f"{function}: {names[0]} has shape {_shape(shapes[0], axis)}, {names[1]} {_shape(shapes[1], axis)}: "
            f"the {'stacks' if axis is None else 'other axes'} {stacks[0]} and {stacks[1]} could not be broadcast"
        )
    return tuple(stacks)


def _shape(shape: Shape, axis: int | None) -> Shape:
    """A shape as the caller knows it: the last axis back at the place that ``axis`` names."""
    if axis is None:
        return shape
    place = len(shape) + axis
    return (*shape[:place], shape[-1], *shape[place:-1])


def contracted_axis(function: str, axis: Any, ndims: Sequence[int]) -> int:
    """An ``axis`` keyword that two operands share, as a negative number.

    Raises
    ------
    TypeError
        It is no integer; in strict mode also one that counts from the front.
    ValueError
        An operand has no axes.
    IndexError
        An operand has no such axis.

    Notes
    -----
    The standard wants it negative since 2023.12. Before, it could also count from the front of the broadcast shape;
    default mode takes that too.
    """
    number = checked_integer(function, "axis", axis)
    least, most = min(ndims), max(ndims)
    if least == 0:
        raise ValueError(f"{function}: both operands need at least 1 axis, one of them is 0-d; use expand_dims")
    if number >= 0:
        _modes.allow("axis from the front", f"{function}: axis {number} counts from the front")
        number -= most
    if not -least <= number < 0:
        raise IndexError(f"{function}: axis {axis} is out of range; operands of {ndims[0]} and {ndims[-1]} axes "
                         f"share the axes {-least}..-1")  # fmt: skip
    return number


# -- dtypes ------------------------------------------------------------------------------------------


def core_dtype(function: str, kinds: str, dtypes: Sequence[DType], *, booleans: bool = True) -> DType:
    """The dtype in which operands combine, made one that the function is defined for.

    Raises
    ------
    TypeError
        The dtypes don't combine, or the function isn't defined for them (in strict mode: by the standard).
    """
    common = dtypes[0] if len(dtypes) == 1 else common_dtype(function, dtypes)
    kind, defined = common.kind, KINDS[kinds]
    if kind in defined:
        return common
    if kind in ("bool", "int", "uint") and "int" not in defined and "float" in defined:
        _modes.allow("integers in floating-point functions", f"{function}: not defined for {common} arrays")
        return _dtypes.DEFAULT_FLOAT
    if kind == "bool" and booleans:
        _modes.allow("booleans in numeric functions", f"{function}: not defined for bool arrays")
        return common
    raise TypeError(f"{function}: not defined for {common} arrays, only for {kinds} dtypes; use astype")


def result_dtype(common: DType, which: str) -> DType:
    """The dtype of a result: ``same``, ``real`` (the components'), ``complex`` of that precision, or ``integer``."""
    if which == "same":
        return common
    if which == "real":
        return _dtypes.REAL_OF.get(common, common)
    if which == "complex":
        return _dtypes.COMPLEX_OF.get(common, _dtypes.complex64)
    return _dtypes.DEFAULT_INT


def working(x: NDArray, compute: DType) -> Array:
    """The NumPy view of an operand in the dtype of the computation."""
    return x._numpy() if x._dtype is compute else converted(x._numpy(), compute.dtype)


def finished(value: Any, dtype: DType, device: Device) -> NDArray:
    """A computed value as an array of its final dtype: here narrow floats are rounded, once."""
    view = np.asarray(value)
    if view.dtype is not dtype.dtype and view.dtype != dtype.dtype:
        view = converted(view, dtype.dtype)
    return NDArray(view, dtype, device)


def adjoint(a: Array) -> Array:
    """The conjugate transpose of each matrix; of real ones a view."""
    transposed = np.matrix_transpose(a)
    return np.conj(transposed) if a.dtype.kind == "c" else transposed


# -- what LAPACK reports -----------------------------------------------------------------------------

_Stack = Iterator[tuple[Shape, Sequence[Array], dict[str, Any]]]

# NumPy's words -> ours, with the way out
_REASONS = {
    "Singular matrix": "is singular; use pinv",
    "Matrix is not positive definite": "is not positive definite; eigvalsh shows its eigenvalues",
    "Eigenvalues did not converge": "has eigenvalues that did not converge",
    "SVD did not converge": "has singular values that did not converge",
    "Array must not contain infs or NaNs": "holds NaN or infinity; see isfinite",
}


def refuse_nonfinite(a: Array) -> None:
    """Keep NaN and infinity from LAPACK's iterations, which may never end on them (OpenBLAS, a 3×3 svd with one inf).

    Raises
    ------
    LinAlgError
        There is one; `core` finds out where.
    """
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("Array must not contain infs or NaNs")


def _located(
    function: str, name: str, shape: Shape, error: np.linalg.LinAlgError, retry: Callable[..., Any], stack: _Stack
) -> np.linalg.LinAlgError:
    """The error that names function, shape and, in a stack, the first matrix that fails on its own."""
    reason = _REASONS.get(str(error), f"fails in LAPACK ({error})")
    where = "the matrix"
    for index, operands, options in stack:
        try:
            retry(*operands, **options)
        except np.linalg.LinAlgError as found:
            reason = _REASONS.get(str(found), reason)
            where = f"the matrix at batch index {index}" if index else where
            break
    return np.linalg.LinAlgError(f"{function}: {name} has shape {shape}: {where} {reason}")


def _one_by_one(views: Sequence[Array], stacks: Sequence[Shape], options: dict[str, Any], first: int) -> _Stack:
    """Each index of a stack, from the ``first`` one on in order, with the operands and keywords there."""
    shape = broadcast_shapes(stacks) or ()
    for index in itertools.islice(np.ndindex(shape), first, None):
        yield index, [_at(view, own, index) for view, own in zip(views, stacks)], _options_at(options, index)


# -- stacks in pieces --------------------------------------------------------------------------------

Key = tuple[int | slice, ...]  # a place in a stack, or a box of places; the axes that it leaves out stay whole

# Work is counted in nanoseconds. Less than this goes to LAPACK in one piece, and a piece has at least so much. Speed of
# two threads over NumPy's one: inv of 16×16 doubles at 0.1 ms 0.93, 0.2 ms 1.3, 0.4 ms 1.5, 0.8 ms 1.6; qr 1.3 at
# 0.36 ms, 1.6 at 0.7 ms; svd 1.5 at 0.33 ms, 1.8 at 1.3 ms. A piece costs 20 to 30 µs of its own: 0.4 ms in 16 pieces
# 0.8 to 1.2.
LEAST_WORK, PIECE_WORK = 400_000, 150_000
# OpenBLAS takes a lock for each matrix, so two threads with tiny ones are no quicker than one: cholesky of 4000 8×8
# doubles (128 by weight, 200 ns) 0.95, det of 4000 4×4 (80) 0.9; inv of 4×4 (160) 1.15, cholesky of 16×16 (512) 1.4.
LEAST_MATRIX_WORK = 150
# Fewer matrices are left to BLAS's own threads, which share each of them, and the better the larger it is: there must
# be so many, and at least one for each 2^14 elements of one. Speed over BLAS's two threads: inv of 4 200×200 doubles
# 1.2, of 16 500×500 1.25, eigh 1.25.
LEAST_MATRICES, SHARED_ELEMENTS = 4, 2**14
# More pieces than threads: the last ones end together, also where a thread is held up.
PIECES_A_THREAD = 8


# Where BLAS can't be held to one thread, larger matrices go as they are: they have BLAS's own threads already.
UNHELD_ELEMENTS = 2**13


class _PieceError(np.linalg.LinAlgError):
    """A matrix fails while BLAS keeps to one thread; those before the flat index ``first`` don't."""

    def __init__(self, reason: str, first: int) -> None:
        super().__init__(reason)
        self.first = first


def _at(view: Array, own: Shape, key: Key, ndim: int | None = None) -> Array:
    """What an operand whose stack is ``own`` has at a place or box of the stack of ``ndim`` axes that it broadcasts to.

    Axes of length 1 are stretched, those before its own are not there.
    """
    missing = (len(key) if ndim is None else ndim) - len(own)
    return view[
        tuple([
            part if extent != 1 else 0 if isinstance(part, int) else slice(None)
            for part, extent in zip(key[missing:], own)
        ])
    ]  # fmt: skip


def _options_at(options: dict[str, Any], key: Key, ndim: int | None = None) -> dict[str, Any]:
    """The keywords at a place or box of the stack: arrays among them have one core axis."""
    return {
        name: _at(value, value.shape[:-1], key, ndim) if isinstance(value, np.ndarray) else value
        for name, value in options.items()
    }


def boxes(stack: Shape, pieces: int) -> list[tuple[slice, ...]]:
    """About so many boxes that fill a stack in row-major order, each a run of consecutive matrices.

    The first axes are cut at every index, the last of those named into ranges of equal length; at least ``pieces``
    boxes unless the stack has fewer matrices, and less than twice as many.
    """
    axis = next((axis for axis in range(len(stack)) if prod(stack[: axis + 1]) >= pieces), len(stack) - 1)
    outer, extent = prod(stack[:axis]), stack[axis]
    ranges = min(extent, -(-pieces // outer))
    edges = [extent * number // ranges for number in range(ranges + 1)]
    return [
        (*[slice(i, i + 1) for i in index], slice(start, stop))
        for index in np.ndindex(stack[:axis])
        for start, stop in itertools.pairwise(edges)
    ]


def in_pieces(body: Callable[..., Any], cores: Sequence[Core], weight: float) -> Callable[..., Any]:
    """A def on NumPy arrays, taking large stacks in pieces: in several threads, with BLAS in one thread each.

    Parameters
    ----------
    body
        Computes each matrix by itself; the first axes of its results are those of the stack.
    cores
        The core axes of its operands.
    weight
        About how many nanoseconds of one thread each element of the operands takes: from 8 to 100 rows LAPACK's time
        grows with the elements, more than with the multiplications.

    Notes
    -----
    Whether a stack is taken like this follows from shapes alone, and so do the bits of the results: OpenBLAS in two
    threads gives others than in one, from 100 rows on (inv, solve, eigh, svd; cholesky from 200).

    A piece that fails ends the taking of pieces. They are taken in order, so the first that fails is always found.
    """
    count, first, last = len(cores), len(cores[0]), len(cores[-1])

    def divided(*given: Any, **options: Any) -> Any:
        if given[0].ndim <= first and given[count - 1].ndim <= last:
            return body(*given, **options)
        operands, rest = given[:count], given[count:]
        # The commonest stacks, small and of one shape: 2 µs less than through what follows.
        alike = count == 1 or operands[0].shape[:-2] == operands[1].shape[:-2]
        if alike and sum([view.size for view in operands]) * weight < LEAST_WORK:
            return body(*given, **options)
        stacks = [view.shape[: max(0, view.ndim - len(core))] for view, core in zip(operands, cores)]
        stack = (stacks[0] if count == 1 else broadcast_shapes(stacks)) or ()
        matrices = prod(stack)
        elements = sum([prod(view.shape[len(own) :]) for view, own in zip(operands, stacks)])
        work = matrices * elements * weight
        if (
            work < LEAST_WORK
            or elements * weight < LEAST_MATRIX_WORK
            or matrices < max(LEAST_MATRICES, elements / SHARED_ELEMENTS)
            or (elements > UNHELD_ELEMENTS and not _blas.can_be_held)
        ):
            return body(*given, **options)
        threads = _settings.current().threads
        with _blas.alone():
            if threads == 1 or _workers.is_busy():
                try:
                    return body(*given, **options)
                except np.linalg.LinAlgError as error:
                    raise _PieceError(str(error), 0) from None
            places = boxes(stack, min(matrices, threads * PIECES_A_THREAD, int(work // PIECE_WORK)))
            return _computed(body, operands, stacks, stack, rest, options, places, threads)

    return divided


def _computed(
    body: Callable[..., Any],
    operands: Sequence[Array],
    stacks: Sequence[Shape],
    stack: Shape,
    rest: tuple[Any, ...],
    options: dict[str, Any],
    places: list[tuple[slice, ...]],
    threads: int,
) -> Any:
    """All pieces of a stack, put together.

    Raises
    ------
    _PieceError
        A matrix fails.
    """
    turns = itertools.count()
    making = threading.Lock()
    made: list[Array] = []
    single = True
    failures: dict[int, str] = {}  # not the errors: their tracebacks lead back here
    halted = False

    def keep(place: tuple[slice, ...], value: Any) -> None:
        nonlocal single
        parts = value if isinstance(value, tuple) else (value,)
        with making:
            if not made:
                single = not isinstance(value, tuple)
                made.extend([_allocated(stack + part.shape[len(stack) :], part.dtype) for part in parts])
        for whole, part in zip(made, parts):
            whole[place] = part

    def task() -> None:
        nonlocal halted
        while not failures and not halted and (turn := next(turns)) < len(places):
            place = places[turn]
            views = [_at(view, own, place, len(stack)) for view, own in zip(operands, stacks)]
            try:
                keep(place, body(*views, *rest, **_options_at(options, place, len(stack))))
            except np.linalg.LinAlgError as error:
                failures[turn] = str(error)
            except BaseException:
                halted = True
                raise

    _workers.run(task, min(threads, len(places)))
    if failures:
        turn = min(failures)
        corner = [part.start for part in places[turn]] + [0] * (len(stack) - len(places[turn]))
        raise _PieceError(failures[turn], int(np.ravel_multi_index(corner, stack)))
    return made[0] if single else tuple(made)


def _allocated(shape: Shape, dtype: np.dtype[Any]) -> Array:
    root, _ = _pool.allocate(prod(shape) * dtype.itemsize)
    return root.view(dtype).reshape(shape)


class _Blas:
    """The threads of the BLAS that NumPy brings: OpenBLAS in its wheels. Another one is left as it is.

    Two threads of ours that each call BLAS with two of its own are slower than NumPy. (64, 200, 200) doubles, held to
    one each, not held, NumPy: eigh 71, 209, 112 ms; svd 133, 313, 241; inv 21, 28, 29 (OpenBLAS 0.3.31, 2 cores).
    threadpoolctl would do the same, at 380 µs a block: it looks through all libraries of the process. This takes 2 µs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 1
        self._get: Callable[[], int] | None = None
        self._set: Callable[[int], Any] | None = None
        try:
            # Looks the names up in the libraries that this one needs, as the loader does for NumPy.
            library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
            self._get, self._set = (
                library.scipy_openblas_get_num_threads64_,
                library.scipy_openblas_set_num_threads64_,
            )
        except (AttributeError, OSError):
            pass

    @property
    def can_be_held(self) -> bool:
        """Whether it is known how."""
        return self._set is not None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold BLAS to the thread that calls it, in all threads of the process, until the last block has ended."""
        if self._get is None or self._set is None:
            yield
            return
        with self._lock:
            if self._users == 0:
                self._before = self._get()
                if self._before > 1:
                    self._set(1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0 and self._before > 1:
                    self._set(self._before)

    def start_anew(self) -> None:
        """In the child of a fork, where the threads that were at work are gone."""
        self._lock = threading.Lock()
        if self._users and self._set is not None:
            self._users = 0
            self._set(self._before)


_blas = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _blas.start_anew())


# -- the decorator -----------------------------------------------------------------------------------

Hook = Callable[[str, DType, Sequence[NDArray], Sequence[Shape], dict[str, Any]], None]
Returns = Literal["same", "real", "complex", "integer"]


class Plan(NamedTuple):
    """What follows from the operands' dtypes: their common dtype, that of the computation, those of the results."""

    common: DType
    compute: DType
    results: tuple[DType, ...]


class _ToArray(Protocol):
    """Turns a def on NumPy arrays into a function on NDArrays that returns one."""

    @overload
    def __call__(
        self, body: Callable[Concatenate[Array, Array, P], Any], /
    ) -> Callable[Concatenate[NDArray, NDArray, P], NDArray]: ...

    @overload
    def __call__(self, body: Callable[Concatenate[Array, P], Any], /) -> Callable[Concatenate[NDArray, P], NDArray]: ...


class _ToTuple(Protocol[R_co]):
    """Turns a def on NumPy arrays into a function on NDArrays that returns a named tuple of them."""

    def __call__(self, body: Callable[Concatenate[Array, P], Any], /) -> Callable[Concatenate[NDArray, P], R_co]: ...


@overload
def core(
    signature: str,
    *,
    kinds: str = ...,
    returns: Returns = ...,
    widen: bool = ...,
    booleans: bool = ...,
    along_axis: bool = ...,
    keywords: Hook | None = ...,
    weight: float | None = ...,
    waiting: Callable[[NDArray, NDArray], NDArray | None] | None = ...,
) -> _ToArray: ...


@overload
def core(
    signature: str,
    *,
    kinds: str = ...,
    returns: tuple[Returns, ...],
    result: Callable[..., R],
    weight: float | None = ...,
) -> _ToTuple[R]: ...


def core(
    signature: str,
    *,
    kinds: str = "floating-point",
    returns: Returns | tuple[Returns, ...] = "same",
    result: Callable[..., Any] | None = None,
    widen: bool = True,
    booleans: bool = True,
    along_axis: bool = False,
    keywords: Hook | None = None,
    weight: float | None = None,
    waiting: Callable[[NDArray, NDArray], NDArray | None] | None = None,
) -> Any:
    """Make a linear-algebra function of a def on NumPy arrays.

    Parameters
    ----------
    signature
        Core axes of the operands and results, see the module.
    kinds
        For which dtypes the standard defines it: a key of `_public.KINDS`.
    returns
        Dtype of each result, see `result_dtype`.
    result
        The named tuple that holds several results; None where there is one.
    widen
        Whether narrow floats reach the def as float32; False where its kernels take them.
    booleans
        Whether a numeric function makes sense for booleans in default mode.
    along_axis
        Whether a keyword ``axis`` names the core axis; the def finds it last, and it goes back there.
    keywords
        Called with function name, dtype, operands, stack shapes and keywords; may change the keywords.
    weight
        How much work a matrix is, if stacks may be cut into pieces: see `in_pieces`.
    waiting
        Asked first where an operand is pending, of two of one dtype and device; None where it has no better way.
    """
    cores = parse(signature)
    keeps_axis = not signature.endswith("()")
    returned = (returns,) if isinstance(returns, str) else returns
    plain = not along_axis and keywords is None and result is None

    def make(body: Callable[..., Any]) -> Callable[..., Any]:
        name = body.__name__
        names = body.__code__.co_varnames[: len(cores)]
        compute_all = body if weight is None else in_pieces(body, cores, weight)

        plans: list[Plan | None] = [None] * len(_dtypes.DTYPES)
        checked: dict[tuple[Any, ...], tuple[Shape, ...]] = {}

        def plan(dtypes: Sequence[DType]) -> Plan:
            common = core_dtype(name, kinds, dtypes, booleans=booleans)
            made = Plan(
                common,
                _dtypes.FROM_NUMPY[common.wide] if widen else common,
                tuple([result_dtype(common, which) for which in returned]),
            )
            if common.kind in KINDS[kinds]:
                plans[common.number] = made
            return made

        def run(operands: tuple[Any, ...], rest: tuple[Any, ...], options: dict[str, Any]) -> Any:
            arrays = [x if type(x) is NDArray else checked_array(name, place, x) for place, x in zip(names, operands)]
            x = arrays[-1]
            device, dtype = x._device, x._dtype
            if len(arrays) == 1 or (arrays[0]._device is device and arrays[0]._dtype is dtype):
                common, compute, results = plans[dtype.number] or plan([dtype])
            else:
                device = common_device(name, arrays)
                common, compute, results = plan([x._dtype for x in arrays])
            views = [working(x, compute) for x in arrays]
            axis = None
            if along_axis:
                axis = contracted_axis(name, options.pop("axis", -1), [view.ndim for view in views])
                if axis != -1:
                    views = [np.moveaxis(view, axis, -1) for view in views]
            shapes = tuple([view.shape for view in views])
            stacks = checked.get((axis, *shapes))
            if stacks is None:
                stacks = core_shapes(name, names, cores, shapes, axis)
                if len(checked) >= 256:
                    checked.clear()
                checked[axis, *shapes] = stacks
            if keywords is not None:
                keywords(name, common, arrays, stacks, options)
            try:
                value = compute_all(*views, *rest, **options)
            except np.linalg.LinAlgError as error:

                def retry(*alone: Array, **there: Any) -> Any:
                    return body(*alone, *rest, **there)

                first = error.first if isinstance(error, _PieceError) else None
                each = _one_by_one(views, stacks, options, first or 0)
                with nullcontext() if first is None else _blas.alone():  # what failed is to fail again
                    found = _located(name, names[0], shapes[0], error, retry, each)
                raise found from None
            if result is not None:
                return result(*[finished(v, d, device) for v, d in zip(value, results)])
            if axis is not None and axis != -1 and keeps_axis:
                value = np.moveaxis(value, -1, axis)
            return finished(value, results[0], device)

        if len(cores) == 1:

            def function(x: Any, /, *rest: Any, **options: Any) -> Any:
                if plain and type(x) is NDArray:
                    # The commonest call, nothing new in it: 1.5 µs less than through run.
                    known = plans[x._dtype.number]
                    if known is not None and known.compute is x._dtype:
                        a = x._numpy()
                        if (None, a.shape) in checked:
                            try:
                                return finished(compute_all(a, *rest, **options), known.results[0], x._device)
                            except np.linalg.LinAlgError:  # run says which matrix it was
                                return run((x,), rest, options)
                return run((x,), rest, options)
        else:

            def function(x1: Any, x2: Any, /, *rest: Any, **options: Any) -> Any:  # type: ignore[misc]  # by arity
                if plain and type(x1) is NDArray and type(x2) is NDArray:
                    # As above: 2 µs less.
                    dtype, device = x1._dtype, x1._device
                    known = plans[dtype.number]
                    if known is not None and known.compute is dtype is x2._dtype and x2._device is device:
                        if waiting is not None and (x1._node is not None or x2._node is not None):
                            value = waiting(x1, x2)
                            if value is not None:
                                return value
                        a, b = x1._numpy(), x2._numpy()
                        if (None, a.shape, b.shape) in checked:
                            try:
                                return finished(compute_all(a, b, *rest, **options), known.results[0], device)
                            except np.linalg.LinAlgError:  # run says which matrix it was
                                return run((x1, x2), rest, options)
                return run((x1, x2), rest, options)

        return _presented(function, body, "NDArray" if result is None else result.__name__)

    return make


def _presented(function: Callable[..., Any], body: Callable[..., Any], returned: str) -> Callable[..., Any]:
    """Give a function the name, documentation and signature of its def, with NDArray in the place of NumPy's array."""
    update_wrapper(function, body)
    del function.__wrapped__  # type: ignore[attr-defined]  # inspect would follow it to the def on NumPy arrays
    given = inspect.signature(body)
    parameters = [p.replace(annotation="NDArray") if p.annotation == "Array" else p for p in given.parameters.values()]
    function.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returned}
    function.__signature__ = given.replace(  # type: ignore[attr-defined]  # functions take attributes
        parameters=parameters, return_annotation=returned
    )
    return function


# -- views -------------------------------------------------------------------------------------------


def checked_matrices(function: str, x: Any) -> NDArray:
    """An array with at least two axes, of any dtype.

    Raises
    ------
    TypeError
        It is no NDArray.
    ValueError
        It has fewer axes.
    """
    array = checked_array(function, "x", x)
    if array.ndim < 2:
        raise ValueError(f"{function}: x has shape {array.shape}: at least 2 axes are needed; use expand_dims")
    return array
