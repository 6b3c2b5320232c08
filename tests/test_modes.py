"""Every row of the table of modes, shown both ways: what default mode answers, and what strict mode says."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import candela_xp as xp
from candela_xp import _modes
from candela_xp import settings as candela_settings


class Shown(NamedTuple):
    """A call that a row is about, what default mode gives, and how strict mode's message begins."""

    call: Callable[[], Any]
    dtype: str
    values: Any
    message: str


class WithArray:
    """An object of another library, which only ``__array__`` opens."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([1.5])


def ints(*values: int) -> xp.NDArray:
    return xp.asarray(list(values))


def floats(*values: float) -> xp.NDArray:
    return xp.asarray(list(values), dtype=xp.float32)


def bools(*values: bool) -> xp.NDArray:
    return xp.asarray(list(values))


def grid() -> xp.NDArray:
    return xp.reshape(xp.arange(6), (2, 3))


def written(x: xp.NDArray, key: Any, value: Any) -> xp.NDArray:
    x[key] = value
    return x


def added_in_place(x: xp.NDArray, value: Any) -> xp.NDArray:
    x += value
    return x


SHOWN: dict[str, list[Shown]] = {
    "mixed kinds": [
        Shown(lambda: ints(1, 2) + floats(0.5, 1), "float64", [1.5, 3], "add: cannot mix int64 and float32 arrays"),
        Shown(lambda: ints(1) < xp.asarray([2**63], dtype=xp.uint64), "bool", [True], "less: cannot mix"),
        Shown(lambda: xp.concat([bools(True), ints(2)]), "int64", [1, 2], "concat: cannot mix bool and int64"),
        Shown(lambda: xp.where(bools(True), ints(1), floats(2)), "float64", [1], "where: cannot mix"),
        Shown(lambda: xp.linalg.matmul(grid(), xp.ones(3)), "float64", [3, 12], "matmul: cannot mix"),
    ],
    "float scalar with integers": [
        Shown(lambda: ints(1, 2) * 0.5, "float64", [0.5, 1], "multiply: cannot mix an int64 array with"),
        Shown(lambda: bools(True) + 1.5, "float64", [2.5], "add: cannot mix a bool array with the Python float"),
        Shown(lambda: ints(1) + 2j, "complex128", [1 + 2j], "add: cannot mix an int64 array with the Python complex"),
        Shown(lambda: xp.where(bools(True), ints(1), 0.5), "float64", [1.0], "where: cannot mix"),
    ],
    "scalar of another kind": [
        Shown(lambda: ints(1, 2) + True, "int64", [2, 3], "add: cannot mix an int64 array with True"),
        Shown(lambda: floats(1.5) * False, "float32", [0], "multiply: cannot mix a float32 array with False"),
        Shown(lambda: bools(True, False) * 3, "int64", [3, 0], "multiply: cannot mix a bool array with the Python int"),
    ],
    "numpy scalar": [
        Shown(lambda: floats(1) + np.float32(2), "float32", [3], r"add: np.float32\(2.0\) is a NumPy scalar"),
        Shown(lambda: xp.full(1, np.int8(3)), "int64", [3], r"full: np.int8\(3\) is a NumPy scalar"),
        Shown(lambda: written(ints(1, 2), 0, np.int16(7)), "int64", [7, 2], "setitem: "),
        Shown(lambda: written(floats(1, 2), 0, np.array(9.0)), "float32", [9, 2], r"setitem: array\(9.\) is a NumPy"),
        Shown(lambda: xp.clip(ints(1, 5), np.int8(2), None), "int64", [2, 5], "clip: "),
        Shown(lambda: xp.var(floats(1, 3), correction=np.int64(1)), "float32", 2, "var: "),
    ],
    "integers in floating-point functions": [
        Shown(lambda: xp.sqrt(ints(4, 9)), "float64", [2, 3], "sqrt: not defined for int64 arrays"),
        Shown(lambda: ints(1) / ints(2), "float64", [0.5], "divide: not defined for int64 arrays"),
        Shown(lambda: xp.exp(bools(False)), "float64", [1], "exp: not defined for bool arrays"),
        Shown(lambda: xp.hypot(ints(3), ints(4)), "float64", [5], "hypot: not defined for int64 arrays"),
        Shown(lambda: xp.linalg.det(xp.eye(2, dtype=xp.int32)), "float64", 1, "det: not defined for int32"),
        Shown(lambda: xp.fft.fft(ints(1)), "complex128", [1], "fft: not defined for int64"),
    ],
    "booleans in numeric functions": [
        Shown(lambda: bools(True) + bools(True), "bool", [True], "add: not defined for bool arrays"),
        Shown(lambda: xp.abs(bools(True)), "int64", [1], "abs: not defined for bool arrays"),
        Shown(lambda: xp.clip(bools(True), False, False), "bool", [False], "clip: not defined for bool arrays"),
        Shown(lambda: xp.sort(bools(True, False)), "bool", [False, True], "sort: not defined for bool arrays"),
        Shown(lambda: xp.argmax(bools(False, True)), "int64", 1, "argmax: not defined for bool arrays"),
    ],
    "other kinds in boolean functions": [
        Shown(lambda: xp.logical_and(ints(2, 0), ints(4, 1)), "bool", [True, False], "logical_and: not defined"),
        Shown(lambda: xp.logical_not(floats(0.5, 0)), "bool", [False, True], "logical_not: not defined for float32"),
        Shown(lambda: xp.where(ints(2, 0), ints(5, 6), ints(7, 8)), "int64", [5, 8], "where: condition is int64"),
    ],
    "casting assignment": [
        Shown(lambda: written(floats(1, 2), 0, xp.asarray(0.5)), "float32", [0.5, 2], "setitem: float64 values don't"),
        Shown(lambda: written(floats(1, 2), 0, ints(3)[0]), "float32", [3, 2], "setitem: int64 values don't promote"),
        Shown(lambda: added_in_place(floats(1), xp.asarray([2.0])), "float32", [3], "add: in place, the result"),
        Shown(lambda: xp.clip(floats(1, 9), None, xp.asarray(5.0)), "float32", [1, 5], "clip: max is float64, x is"),
    ],
    "assignment to a lower kind": [
        Shown(lambda: written(ints(1, 2), 0, -1.5), "int64", [-1, 2], "setitem: -1.5 doesn't promote to int64"),
        Shown(lambda: written(ints(1, 2), 0, floats(2.5)), "int64", [2, 2], "setitem: float32 values don't promote"),
        Shown(lambda: written(bools(True, True), 0, 0), "bool", [False, True], "setitem: 0 doesn't promote to bool"),
        Shown(lambda: written(bools(False), 0, ints(7)), "bool", [True], "setitem: int64 values don't promote to bool"),
    ],
    "casting creation": [
        Shown(lambda: xp.asarray([1.5], dtype=xp.int64), "int64", [1], "asarray: a Python float with dtype=int64"),
        Shown(lambda: xp.asarray(ints(2, 0), dtype=xp.bool), "bool", [True, False], "asarray: int64 values with"),
        Shown(lambda: xp.asarray(xp.asarray([1.5]), dtype=xp.int8), "int8", [1], "asarray: float64 values with"),
        Shown(lambda: xp.asarray(np.array([1.5]), dtype=xp.float32), "float32", [1.5], "asarray: float64 values with"),
        Shown(lambda: xp.linspace(0, 4, 3, dtype=xp.int64), "int64", [0, 2, 4], "linspace: dtype=int64 is no floating"),
        Shown(lambda: xp.arange(3, dtype=xp.complex64), "complex64", [0, 1, 2], "arange: dtype=complex64 is no real"),
    ],
    "numpy dtypes": [
        Shown(lambda: xp.zeros(1, dtype=np.float32), "float32", [0], "zeros: dtype is <class 'numpy.float32'>"),
        Shown(lambda: xp.astype(ints(1), np.dtype("int8")), "int8", [1], r"astype: dtype is dtype\('int8'\)"),
        Shown(lambda: xp.asarray([1], dtype=float), "float64", [1], "asarray: dtype is <class 'float'>"),
        Shown(lambda: xp.isdtype(np.int8, "integral"), "", True, "isdtype: dtype is"),
    ],
    "lists as shapes and axes": [
        Shown(lambda: xp.zeros([2]), "float64", [0, 0], "zeros: shape is a list"),
        Shown(lambda: xp.sum(grid(), axis=[0, 1]), "int64", 15, "sum: axis is a list"),
        Shown(lambda: xp.reshape(grid(), [6]), "int64", [0, 1, 2, 3, 4, 5], "reshape: shape is a list"),
        Shown(lambda: xp.tile(ints(1), [2]), "int64", [1, 1], "tile: repetitions is a list"),
        Shown(lambda: xp.roll(ints(1, 2), [1]), "int64", [2, 1], "roll: shift is a list"),
    ],
    "array as fill value": [
        Shown(lambda: xp.full(2, xp.asarray(3)), "int64", [3, 3], "full: fill_value is an array"),
        Shown(lambda: xp.full_like(floats(1), xp.asarray(3)), "float32", [3], "full_like: fill_value is an array"),
        Shown(lambda: xp.arange(xp.asarray(2)), "int64", [0, 1], "arange: stop is an array"),
    ],
    "advanced keys": [
        Shown(lambda: grid()[:, ints(0, 2)], "int64", [[0, 2], [3, 5]], "index: "),
        Shown(lambda: grid()[[1, 0]], "int64", [[3, 4, 5], [0, 1, 2]], "index: "),
        Shown(lambda: grid()[bools(True, False), 1], "int64", [1], "index: "),
        Shown(lambda: grid()[np.array([1])], "int64", [[3, 4, 5]], "index: "),
        Shown(lambda: xp.take(ints(5, 6), [1]), "int64", [6], "take: indices is a list"),
        Shown(lambda: xp.take(ints(5, 6), xp.asarray([[1]])), "int64", [[6]], "take: indices has 2 axes"),
    ],
    "fewer indices than axes": [
        Shown(lambda: grid()[1], "int64", [3, 4, 5], "index: 1 indices for 2 axes"),
        Shown(lambda: written(grid(), 0, 9), "int64", [[9, 9, 9], [3, 4, 5]], "index: 1 indices for 2 axes"),
    ],
    "iteration": [
        Shown(lambda: next(iter(grid())), "int64", [0, 1, 2], "iter: the array has 2 axes"),
        Shown(lambda: len(grid()), "", 2, "len: the array has 2 axes"),
    ],
    "reductions of other kinds": [
        Shown(lambda: xp.sum(bools(True, True)), "int64", 2, "sum: not defined for bool arrays"),
        Shown(lambda: xp.mean(ints(1, 2)), "float64", 1.5, "mean: not defined for int64 arrays"),
        Shown(lambda: xp.var(xp.asarray([1j, -1j])), "float64", 1, "var: not defined for complex128 arrays"),
        Shown(lambda: xp.cumulative_sum(bools(True, True)), "int64", [1, 2], "cumulative_sum: not defined for bool"),
        Shown(lambda: xp.max(bools(True, False)), "bool", True, "max: not defined for bool arrays"),
    ],
    "dtype of a mean": [
        Shown(lambda: xp.mean(floats(1, 2), dtype=xp.float64), "float64", 1.5, "mean: dtype=float64 is not"),
    ],
    "strings as devices": [
        Shown(lambda: xp.zeros(1, device="cpu"), "float64", [0], "zeros: device is the string 'cpu'"),
        Shown(lambda: ints(1).to_device("cpu"), "int64", [1], "to_device: device is the string 'cpu'"),
    ],
    "arrays in sequences": [
        Shown(lambda: xp.asarray([ints(1, 2), ints(3, 4)]), "int64", [[1, 2], [3, 4]], "asarray: the sequence holds"),
    ],
    "foreign operands": [
        Shown(lambda: xp.asarray(WithArray()), "float64", [1.5], "asarray: obj is a WithArray"),
    ],
    "scalar operands only": [
        Shown(lambda: xp.add(1, 2), "int64", 3, "add: no operand is an array"),
        Shown(lambda: xp.where(bools(True), 1, 2), "int64", [1], "where: neither x1 nor x2 is an array"),
        Shown(lambda: xp.result_type(1, 2.0), "", xp.float64, "result_type: neither arrays nor dtypes"),
    ],
    "truth of one element": [
        Shown(lambda: bool(xp.ones((1, 1))), "", True, r"bool: the array has shape \(1, 1\)"),
        Shown(lambda: bool(xp.zeros(1)), "", False, r"bool: the array has shape \(1,\)"),
    ],
    "axis from the front": [
        Shown(lambda: xp.vecdot(floats(1, 2), floats(3, 4), axis=0), "float32", 11, "vecdot: axis 0 counts from the"),
        Shown(lambda: xp.linalg.cross(ints(1, 0, 0), ints(0, 1, 0), axis=0), "int64", [0, 0, 1], "cross: axis 0"),
    ],
    "real input to complex transforms": [
        Shown(lambda: xp.fft.fft(floats(1, 1)), "complex64", [2, 0], "fft: the input is float32, not complex"),
        Shown(lambda: xp.fft.ifftn(floats(2, 2)), "complex64", [2, 0], "ifftn: the input is float32, not complex"),
    ],
    "norm of None": [
        Shown(lambda: xp.fft.rfft(floats(1, 1), norm=None), "complex64", [2, 0], "rfft: norm is None"),
    ],
    "squeeze without axis": [
        Shown(lambda: xp.squeeze(xp.ones((1, 2, 1))), "float64", [1, 1], "squeeze: no axis is named"),
    ],
}  # fmt: skip

EVERY = pytest.mark.parametrize(
    ("row", "shown"),
    [pytest.param(row, shown, id=f"{row}, {n}") for row, several in SHOWN.items() for n, shown in enumerate(several)],
)


def test_every_row_of_the_table_is_shown() -> None:
    assert set(SHOWN) == set(_modes.CASES)
    assert all(SHOWN.values())


@EVERY
def test_default_mode_gives_the_practical_answer(row: str, shown: Shown) -> None:
    got = shown.call()
    if not isinstance(got, xp.NDArray):
        assert got == shown.values
        return
    assert got.dtype is getattr(xp, shown.dtype)
    assert np.asarray(got).tolist() == shown.values


@EVERY
def test_strict_mode_is_a_type_error_with_the_rows_way_out(row: str, shown: Shown) -> None:
    # Operands are made inside: what strict mode refuses must be the call itself.
    with candela_settings(strict=True), pytest.raises(TypeError, match=rf"^{shown.message}") as caught:
        shown.call()
    assert str(caught.value).endswith("; " + _modes.CASES[row].strict)


def test_no_row_is_dead_and_no_reference_to_a_row_is_misspelt() -> None:
    used = set()
    for path in Path(_modes.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "allow":
                found = node.args[0]
                assert isinstance(found, ast.Constant), f"{path.name}:{node.lineno}: the row is no literal"
                used.add(found.value)
    assert used == set(_modes.CASES)


def test_rows_are_sentences_without_full_stops_and_ways_out_begin_with_a_verb() -> None:
    for name, case in _modes.CASES.items():
        assert case.name == name
        assert not case.default.endswith(".")
        assert re.match(r"(use|pass|name) ", case.strict)


def test_strict_mode_refuses_nothing_that_the_standard_promises() -> None:
    with candela_settings(strict=True):
        x = xp.reshape(xp.arange(6.0), (2, 3))
        small = xp.asarray([1, 2], dtype=xp.int8)
        assert (x * 2 + 1.5).dtype is xp.float64
        assert (small + xp.asarray([1, 2], dtype=xp.int16)).dtype is xp.int16
        assert (small + 1).dtype is xp.int8
        assert (x + xp.ones((2, 3), dtype=xp.complex64)).dtype is xp.complex128
        assert (xp.ones(2, dtype=xp.float32) + 1j).dtype is xp.complex64
        assert x[0, :].shape == (3,)
        assert x[..., 1].shape == (2,)
        assert x[None, ..., 0].shape == (1, 2)
        assert x[x > 2].shape == (3,)
        assert x[xp.asarray([0, 1]), xp.asarray([1, 2])].shape == (2,)
        assert x[0, xp.asarray(1)].shape == ()
        x[x > 2] = 0
        x[0, 1] = 5.0
        x[...] = xp.ones((2, 3), dtype=xp.float32)
        assert float(xp.sum(x)) == 6.0
        assert [float(value) for value in x[0, :]] == [1.0, 1.0, 1.0]
        assert xp.asarray([[1, 2.5]]).dtype is xp.float64
        assert xp.asarray([1, True], dtype=xp.float32).dtype is xp.float32
        assert xp.asarray(np.arange(3)).dtype is xp.int64
        assert xp.where(x > 0, x, 0.0).dtype is xp.float64
        assert xp.all(x)
        assert xp.concat([x, x], axis=None).shape == (12,)
        assert xp.result_type(xp.float32, 1.5, 2) is xp.float32
        assert copy.deepcopy(x).shape == (2, 3)
        assert xp.linalg.matmul(x, xp.matrix_transpose(x)).shape == (2, 2)
