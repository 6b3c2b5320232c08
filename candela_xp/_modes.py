"""The two modes: one row for every case that the standard leaves open and that default mode answers.

In default mode the answer is practical (NumPy's, where that is sane); in strict mode the same call is a
TypeError that names the values and the call that fixes it. Code asks `allow(row, message)` at the place
where the case arises. The documentation prints this table.
"""

from __future__ import annotations

from typing import NamedTuple

from candela_xp import _settings


class Case(NamedTuple):
    """A case that the standard leaves open: what default mode does, what strict mode says."""

    name: str
    default: str
    strict: str


_ROWS = (
    Case("mixed kinds", "arrays of different kinds promote by NumPy's table (int32 + float32 is float64); floats of 16 bits keep their dtype with integers", "use astype on one of the arrays"),
    Case("float scalar with integers", "an integer or boolean array with a Python float or complex gives the default floating-point dtype", "use astype on the array first"),
    Case("scalar of another kind", "a Python bool with a numeric array acts as 0 or 1; a Python int with a boolean array gives the default integer", "use astype on the array first"),
    Case("numpy scalar", "a NumPy scalar acts as the Python scalar of its kind; in x[key] = value a NumPy array without axes does too", "use .item() of the scalar"),
    Case("integers in floating-point functions", "integer and boolean input is computed in the default floating-point dtype", "use astype to a floating-point dtype"),
    Case("booleans in numeric functions", "boolean input to a numeric function acts as NumPy's", "use astype to an integer dtype"),
    Case("other kinds in boolean functions", "numeric input to a logical function counts as True where it is not 0", "use astype to bool, or compare with 0"),
    Case("casting assignment", "values are cast to the array's dtype within the kind (float64 into float32) or to a higher kind", "use astype on the value"),
    Case("assignment to a lower kind", "x[key] = value converts as astype: floats for an integer array lose their fraction, numbers for a boolean one are True where they are not 0", "use astype on the value; int() or bool() of a scalar"),
    Case("casting creation", "asarray with dtype= casts as NumPy does, also where values are lost (1.5 as an integer)", "use asarray without dtype, then astype"),
    Case("numpy dtypes", "NumPy dtypes and scalar types name their twins in dtype=", "use the dtype of the namespace"),
    Case("lists as shapes and axes", "a list stands for the tuple", "use a tuple"),
    Case("array as fill value", "a 0-d array is a fill value", "use float(), int() or bool() of it"),
    Case("advanced keys", "index keys mix integer arrays and masks with slices, None and each other as NumPy's do; lists and NumPy arrays are index arrays", "use take, take_along_axis or a single mask"),
    Case("fewer indices than axes", "x[i] of an N-d array selects along the first axis", "use x[i, ...]"),
    Case("iteration", "iterating an N-d array gives its (N-1)-d views; len() is the first extent", "use unstack, or shape[0]"),
    Case("reductions of other kinds", "sum, prod, mean, var, std and cumulative functions take booleans and integers as NumPy does", "use astype on the array first"),
    Case("dtype of a mean", "mean(dtype=) computes and returns in that dtype", "use astype on the array first"),
    Case("strings as devices", "a device's name stands for the device", "use the device object, see __array_namespace_info__().devices()"),
    Case("arrays in sequences", "asarray takes sequences that hold arrays", "use stack"),
    Case("foreign operands", "asarray takes objects with __array__ or __array_interface__", "use from_dlpack or the buffer protocol"),
    Case("scalar operands only", "functions of two operands take two Python scalars and give a 0-d array", "pass an array for one of them"),
    Case("truth of one element", "bool() of an array with axes is the truth of its one element", "use x[0], or reshape(x, ())"),
    Case("axis from the front", "vecdot and cross take an axis that counts from the front of the broadcast shape", "use a negative axis"),
    Case("real input to complex transforms", "the Fourier transforms of complex input take real arrays, which promote", "use astype to a complex dtype"),
    Case("norm of None", "norm=None stands for 'backward', as NumPy has it", "use norm='backward'"),
    Case("squeeze without axis", "squeeze(x) drops every axis of length 1", "name the axes"),
)  # fmt: skip

CASES: dict[str, Case] = {case.name: case for case in _ROWS}


def require(setting: str, message: str) -> None:
    """Pass unless a setting of that name is off.

    Raises
    ------
    RuntimeError
        It is off.
    """
    if not getattr(_settings.current(), setting):
        raise RuntimeError(f"{message}, which settings({setting}=False) refuses")


def is_strict() -> bool:
    """Whether strict mode is in force."""
    return _settings.current().strict


def allow(case: str, message: str) -> None:
    """Pass in default mode; in strict mode refuse with ``message`` and the row's way out.

    Raises
    ------
    TypeError
        Strict mode is in force.
    """
    row = CASES[case]
    if is_strict():
        raise TypeError(f"{message}; {row.strict}")
