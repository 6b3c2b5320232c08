"""Elementwise functions and the operators that go with them.

A function is its signature and its docstring: `elementwise` says for which kinds of dtypes the standard
defines it, what dtype comes out, since which revision, and which operators it serves; the body comes from
`_public.Operation`. Reference of all but the last group: array API 2025.12, "Element-wise Functions".
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

import numpy as np

from candela_xp import _device, _dtypes, _modes, _public
from candela_xp._array import SCALARS, NDArray, Scalar, as_python_scalar, checked_array, scalar_array
from candela_xp._dtypes import DType
from candela_xp._public import Operation, reject_unknown
from candela_xp._revisions import public

Function = TypeVar("Function", bound=Callable[..., Any])


def elementwise(
    kinds: str, *, result: str = "same", since: str = "2021.12", operator: str | None = None
) -> Callable[[Function], Function]:
    """Make an elementwise function of a signature.

    Parameters
    ----------
    kinds
        For which dtypes the standard defines it: a key of `_public.KINDS`.
    result
        Dtype of the result: ``same``, ``bool``, or ``real`` (the component dtype of a complex one).
    since
        First revision that has the function.
    operator
        The operator it serves, ``add`` for ``__add__``, ``__radd__`` and ``__iadd__``.
    """

    def make(declared: Function) -> Function:
        name = declared.__name__
        operation = Operation(name, kinds, result)
        count = declared.__code__.co_argcount
        made = _one_operand(operation, operator) if count == 1 else _two_operands(operation, operator)
        update_wrapper(made, declared)
        made.__doc__ = _documented(declared, kinds, result, since, count)
        return public(since=since)(cast(Function, made))

    return make


_RESULTS = {
    "same": "of the dtype in which the operands combine",
    "bool": "of dtype bool",
    "real": "of the operand's dtype, for a complex one of its component dtype",
}


def _documented(declared: Callable[..., Any], kinds: str, result: str, since: str, count: int) -> str:
    """The docstring: the declared summary and notes, and the sections that follow from the declaration."""
    summary, _, notes = (declared.__doc__ or "").strip().partition("\n")
    notes = "\n".join(line.removeprefix("    ") for line in notes.strip().splitlines())
    if count == 1:
        parameters = f"x : NDArray\n    Operand of any shape, of {kinds} dtype."
        shape = "the operand's shape"
        errors = "TypeError\n    ``x`` is no NDArray, or of a dtype that the function isn't defined for."
    else:
        parameters = (
            f"x1, x2 : NDArray or Python scalar\n    Operands of {kinds} dtype whose shapes broadcast; "
            "at least one is an array."
        )
        shape = "the shape to which the operands broadcast"
        errors = (
            "TypeError\n    An operand is no array or Python scalar, or the dtypes don't go together.\n"
            "ValueError\n    The shapes don't broadcast, or the operands are on different devices."
        )
    return (
        f"{summary}\n\nParameters\n----------\n{parameters}\n\n"
        f"Returns\n-------\nNDArray\n    An array of {shape}, {_RESULTS[result]}.\n\n"
        f"Raises\n------\n{errors}\n\nNotes\n-----\n"
        + (f"{notes}\n\n" if notes else "")
        + f"Source: array API 2025.12, ``{declared.__name__}``; in the standard since {since}.\n"
    )


def _one_operand(operation: Operation, operator: str | None) -> Callable[[Any], NDArray]:
    function = _public.unary(operation)
    if operator is not None:
        method = _public.unary(operation)
        _attach(f"__{operator}__", method)
    return function


def _two_operands(operation: Operation, operator: str | None) -> Callable[[Any, Any], NDArray]:
    compute = _public.binary(operation)
    name = operation.name

    def function(x1: Any, x2: Any, /) -> NDArray:
        result = compute(x1, x2)
        if result is NotImplemented:
            raise reject_unknown(name, x1, x2)
        return result  # type: ignore[no-any-return]  # NotImplemented is gone

    if operator is not None:
        _attach(f"__{operator}__", _public.binary(operation))
        if operation.result != "bool":

            def reflected(self: NDArray, other: Any, /) -> Any:
                return compute(other, self)

            _attach(f"__r{operator}__", reflected)
            _attach(f"__i{operator}__", _public.in_place(operation))
    return function


def _attach(name: str, method: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__module__ = "candela_xp"
    setattr(NDArray, name, method)


@elementwise("numeric", result="real", operator="abs")
def abs(x: NDArray, /) -> NDArray:
    """Absolute value; of a complex number its magnitude, without undue overflow or underflow."""


@elementwise("floating-point")
def acos(x: NDArray, /) -> NDArray:
    """Inverse cosine, in radians, in [0, π].

    Branch cuts: the real axis beyond -1 and 1. ``acos(conj(x))`` equals ``conj(acos(x))`` bit for bit.
    """


@elementwise("floating-point")
def acosh(x: NDArray, /) -> NDArray:
    """Inverse hyperbolic cosine.

    Branch cut: the real axis below 1.
    """


@elementwise("numeric", operator="add")
def add(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Sum of two operands."""


@elementwise("floating-point")
def asin(x: NDArray, /) -> NDArray:
    """Inverse sine, in radians, in [-π/2, π/2].

    Branch cuts: the real axis beyond -1 and 1.
    """


@elementwise("floating-point")
def asinh(x: NDArray, /) -> NDArray:
    """Inverse hyperbolic sine.

    Branch cuts: the imaginary axis beyond -1j and 1j.
    """


@elementwise("floating-point")
def atan(x: NDArray, /) -> NDArray:
    """Inverse tangent, in radians, in [-π/2, π/2].

    Branch cuts: the imaginary axis beyond -1j and 1j.
    """


@elementwise("real floating-point")
def atan2(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Angle of the point (x2, x1), in radians, in [-π, π]."""


@elementwise("floating-point")
def atanh(x: NDArray, /) -> NDArray:
    """Inverse hyperbolic tangent.

    Branch cuts: the real axis beyond -1 and 1.
    """


@elementwise("integer or boolean", operator="and")
def bitwise_and(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Bitwise AND of two operands."""


@elementwise("integer", operator="lshift")
def bitwise_left_shift(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Shift of the bits of x1 to the left by x2 places, zeros coming in.

    A shift by the number of bits or more gives 0. A negative count is undefined.
    """


@elementwise("integer or boolean", operator="invert")
def bitwise_invert(x: NDArray, /) -> NDArray:
    """Bitwise NOT."""


@elementwise("integer or boolean", operator="or")
def bitwise_or(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Bitwise OR of two operands."""


@elementwise("integer", operator="rshift")
def bitwise_right_shift(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Shift of the bits of x1 to the right by x2 places, the sign coming in.

    Floor division by a power of two, also for counts of the number of bits and more.
    """


@elementwise("integer or boolean", operator="xor")
def bitwise_xor(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Bitwise XOR of two operands."""


@elementwise("real")
def ceil(x: NDArray, /) -> NDArray:
    """Smallest integer not below x, in the dtype of x."""


@elementwise("numeric", since="2022.12")
def conj(x: NDArray, /) -> NDArray:
    """Complex conjugate; real operands come back as they are, copied."""


@elementwise("real floating-point", since="2023.12")
def copysign(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Magnitude of x1 with the sign of x2."""


@elementwise("floating-point")
def cos(x: NDArray, /) -> NDArray:
    """Cosine of an angle in radians."""


@elementwise("floating-point")
def cosh(x: NDArray, /) -> NDArray:
    """Hyperbolic cosine."""


@elementwise("floating-point", operator="truediv")
def divide(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Quotient of two operands.

    Integers divide in the default floating-point dtype (default mode).
    """


@elementwise("any", result="bool", operator="eq")
def equal(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 equals x2.

    A complex number with a NaN component equals nothing.
    """


@elementwise("floating-point")
def exp(x: NDArray, /) -> NDArray:
    """Natural exponential."""


@elementwise("floating-point")
def expm1(x: NDArray, /) -> NDArray:
    """``exp(x) - 1``, accurate near 0."""


@elementwise("real")
def floor(x: NDArray, /) -> NDArray:
    """Greatest integer not above x, in the dtype of x."""


@elementwise("real", operator="floordiv")
def floor_divide(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Greatest integer not above the quotient of two operands.

    An infinite dividend gives an infinity, an infinite divisor 0 or -0 (for finite dividends), as the standard's
    special cases say; NumPy gives NaN and -1. Finite operands agree with Python's ``//``.
    """


@elementwise("real", result="bool", operator="gt")
def greater(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 is greater than x2."""


@elementwise("real", result="bool", operator="ge")
def greater_equal(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 is greater than x2 or equal."""


@elementwise("real floating-point", since="2023.12")
def hypot(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Square root of the sum of squares, without undue overflow or underflow."""


@elementwise("numeric", result="bool")
def isfinite(x: NDArray, /) -> NDArray:
    """Whether x is neither infinite nor NaN."""


@elementwise("numeric", result="bool")
def isinf(x: NDArray, /) -> NDArray:
    """Whether x (or one of its components) is infinite."""


@elementwise("numeric", result="bool")
def isnan(x: NDArray, /) -> NDArray:
    """Whether x (or one of its components) is NaN."""


@elementwise("real", result="bool", operator="lt")
def less(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 is less than x2."""


@elementwise("real", result="bool", operator="le")
def less_equal(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 is less than x2 or equal."""


@elementwise("floating-point")
def log(x: NDArray, /) -> NDArray:
    """Natural logarithm.

    Branch cut: the negative real axis.
    """


@elementwise("floating-point")
def log1p(x: NDArray, /) -> NDArray:
    """``log(1 + x)``, accurate near 0."""


@elementwise("floating-point")
def log2(x: NDArray, /) -> NDArray:
    """Logarithm to base 2."""


@elementwise("floating-point")
def log10(x: NDArray, /) -> NDArray:
    """Logarithm to base 10."""


@elementwise("real floating-point")
def logaddexp(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """``log(exp(x1) + exp(x2))`` without overflow."""


@elementwise("boolean", result="bool")
def logical_and(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether both operands are True."""


@elementwise("boolean", result="bool")
def logical_not(x: NDArray, /) -> NDArray:
    """Whether x is False."""


@elementwise("boolean", result="bool")
def logical_or(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether at least one operand is True."""


@elementwise("boolean", result="bool")
def logical_xor(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether exactly one operand is True."""


@elementwise("real", since="2023.12")
def maximum(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Greater of two operands; NaN if either is NaN."""


@elementwise("real", since="2023.12")
def minimum(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Lesser of two operands; NaN if either is NaN."""


@elementwise("numeric", operator="mul")
def multiply(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Product of two operands."""


@elementwise("numeric", operator="neg")
def negative(x: NDArray, /) -> NDArray:
    """Numerical negative; unsigned integers wrap."""


@elementwise("real floating-point", since="2024.12")
def nextafter(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """The next value of the dtype after x1 in the direction of x2."""


@elementwise("any", result="bool", operator="ne")
def not_equal(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Whether x1 differs from x2."""


@elementwise("numeric", operator="pos")
def positive(x: NDArray, /) -> NDArray:
    """A copy of x."""


@elementwise("numeric", operator="pow")
def pow(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """x1 raised to the power x2.

    An exponent of 0.5 is no square root: ``pow(-inf, 0.5)`` is inf and ``pow(-0.0, 0.5)`` is 0, whatever the shape
    of the exponent. Complex powers follow ``exp(x2 * log(x1))``. An integer to a negative power raises ValueError.
    """


@elementwise("floating-point", since="2024.12")
def reciprocal(x: NDArray, /) -> NDArray:
    """``1 / x``."""


@elementwise("real", operator="mod")
def remainder(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Remainder of floor division; it has the sign of the divisor, as Python's ``%``."""


@elementwise("numeric")
def round(x: NDArray, /) -> NDArray:
    """Nearest integer, halves to even, in the dtype of x; of a complex number each component."""


@elementwise("numeric")
def sign(x: NDArray, /) -> NDArray:
    """-1, 0 or 1 by the sign of x; of a complex number ``x / abs(x)``.

    A complex zero of any signs gives 0, NaN in a component gives NaN in both.
    """


@elementwise("real floating-point", result="bool", since="2023.12")
def signbit(x: NDArray, /) -> NDArray:
    """Whether the sign bit is set: also for -0 and for a NaN that has it."""


@elementwise("floating-point")
def sin(x: NDArray, /) -> NDArray:
    """Sine of an angle in radians."""


@elementwise("floating-point")
def sinh(x: NDArray, /) -> NDArray:
    """Hyperbolic sine."""


@elementwise("numeric")
def square(x: NDArray, /) -> NDArray:
    """``x * x``."""


@elementwise("floating-point")
def sqrt(x: NDArray, /) -> NDArray:
    """Principal square root.

    Branch cut: the negative real axis. ``sqrt(NaN + inf j)`` is ``inf + inf j``.
    """


@elementwise("numeric", operator="sub")
def subtract(x1: NDArray | Scalar, x2: NDArray | Scalar, /) -> NDArray:
    """Difference of two operands; unsigned integers wrap."""


@elementwise("floating-point")
def tan(x: NDArray, /) -> NDArray:
    """Tangent of an angle in radians."""


@elementwise("floating-point")
def tanh(x: NDArray, /) -> NDArray:
    """Hyperbolic tangent."""


@elementwise("real")
def trunc(x: NDArray, /) -> NDArray:
    """Integer nearest to x in the direction of 0, in the dtype of x."""


# -- functions with a shape of their own -------------------------------------------------------------


@public(since="2022.12")
def real(x: NDArray, /) -> NDArray:
    """Real component, as a view of the same memory.

    Parameters
    ----------
    x : NDArray
        Operand of any shape, of numeric dtype.

    Returns
    -------
    NDArray
        A view of the operand's shape and component dtype; a real operand itself.

    Raises
    ------
    TypeError
        ``x`` is no NDArray.

    Notes
    -----
    Source: array API 2025.12, ``real``; in the standard since 2022.12.
    """
    return _component("real", x, 0)


@public(since="2022.12")
def imag(x: NDArray, /) -> NDArray:
    """Imaginary component, as a view of the same memory.

    Parameters
    ----------
    x : NDArray
        Operand of any shape, of complex dtype.

    Returns
    -------
    NDArray
        A view of the operand's shape and component dtype.

    Raises
    ------
    TypeError
        ``x`` is no NDArray, or not complex.

    Notes
    -----
    Source: array API 2025.12, ``imag``; in the standard since 2022.12.
    """
    return _component("imag", x, 1)


def _component(function: str, x: Any, index: int) -> NDArray:
    array = checked_array(function, "x", x)
    part = _dtypes.REAL_OF.get(array._dtype)
    if part is not None:
        layout = array.layout.component(index, 2)
        return NDArray(None, part, array._device, layout, array._memory)
    _public.checked_kind(function, array, "complex" if index else "numeric")
    return array


@public(since="2023.12")
def clip(
    x: NDArray,
    /,
    min: NDArray | Scalar | None = None,
    max: NDArray | Scalar | None = None,
) -> NDArray:
    """Clamp each element to a range; NaN in any of the three gives NaN.

    Parameters
    ----------
    x : NDArray
        Operand of real dtype.
    min, max : NDArray or Python scalar, optional
        Bounds, broadcasting with ``x`` (and ``x`` with them); None is no bound. Where ``min > max`` the
        result is ``max``.

    Returns
    -------
    NDArray
        An array of the shape to which the three broadcast and the dtype of ``x``, always a new one.

    Raises
    ------
    TypeError
        ``x`` is not real, or a bound doesn't promote to its dtype.
    ValueError
        The shapes don't broadcast, or the arrays are on different devices.

    Notes
    -----
    Source: array API 2025.12, ``clip``; in the standard since 2023.12.
    """
    array = checked_array("clip", "x", x)
    kernel, compute, _ = _CLIP.entry(array._dtype)
    if min is None and max is None:
        return array._copied()
    bounds: list[Any] = []
    for name, bound in (("min", min), ("max", max)):
        if bound is None:
            bounds.append(None)
        elif isinstance(bound, NDArray):
            _device.shared("clip", array._device, bound._device)
            bounds.append(_bound(name, array, bound, compute))
        else:
            value = as_python_scalar("clip", bound) if isinstance(bound, np.generic) else bound
            if not isinstance(value, SCALARS):
                raise TypeError(f"clip: {name} is a {type(value).__name__}, not an array or a Python scalar")
            if _dtypes.scalar_dtype("clip", compute, value) is not compute:
                raise TypeError(f"clip: {name}={value!r} doesn't promote to {compute}; use astype on x")
            bounds.append(scalar_array("clip", value, compute))
    return _public.computed("clip", kernel, (array, *bounds), compute, compute, array._device)


def _bound(name: str, x: NDArray, bound: NDArray, compute: DType) -> NDArray:
    """A bound in the dtype of ``x``; one that an integer dtype cannot hold becomes the dtype's own limit."""
    if bound._dtype is compute or _dtypes.can_cast(bound._dtype, compute):
        return _public.converted(bound, compute)
    message = f"clip: {name} is {bound._dtype}, x is {x._dtype}"
    if not _dtypes.same_kind(bound._dtype, compute):
        raise TypeError(f"{message}; use astype on one of them")
    _modes.allow("casting assignment", message)
    view = bound._numpy()
    if compute.kind in ("int", "uint") and bound._dtype.kind != "bool":
        limits, own = _dtypes.limits(compute), _dtypes.limits(bound._dtype)
        view = np.clip(view, builtins.max(limits[0], own[0]), builtins.min(limits[1], own[1]))
    with np.errstate(over="ignore"):  # a bound beyond all numbers of the dtype becomes infinite
        return NDArray(_dtypes.converted(view, compute), compute, bound._device)


_CLIP = Operation("clip", "real", "same")
