"""Linear algebra against definitions, exact rational elimination and NumPy, over layouts, dtypes and empty shapes."""

from __future__ import annotations

import inspect
import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out

import candela_xp as xp
from candela_xp import linalg
from candela_xp.linalg._core import core_shapes, parse

FLOATS = ("float32", "float64", "complex64", "complex128")
REAL = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}
COMPLEX = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}
floats = pytest.mark.parametrize("name", FLOATS)
arrangements = pytest.mark.parametrize("arrangement", ARRANGEMENTS)
GENERATOR = np.random.default_rng(1)


def random(shape: tuple[int, ...], name: str = "float64", seed: int = 0) -> np.ndarray:
    """Small integers of a dtype; complex ones with both parts."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, shape).astype("complex128" if name.startswith("complex") else "float64")
    if name.startswith("complex"):
        values = values + 1j * generator.integers(-4, 5, shape)
    return values.astype(name)


def square(stack: tuple[int, ...], size: int, name: str = "float64", seed: int = 0) -> np.ndarray:
    """Well conditioned square matrices of small integers."""
    return (random((*stack, size, size), name, seed) + 7 * size * np.eye(size)).astype(name)


def hermitian(stack: tuple[int, ...], size: int, name: str = "float64", seed: int = 0) -> np.ndarray:
    matrices = square(stack, size, name, seed)
    return ((matrices + matrices.conj().mT) / 2).astype(name)


def array(values: Any, arrangement: str = "contiguous") -> xp.NDArray:
    return xp.asarray(lay_out(values, arrangement))


def eps(name: str) -> float:
    return float(np.finfo(name).eps)


def close(got: xp.NDArray, wanted: Any, name: str, factor: float = 64) -> bool:
    """Within some units of the largest wanted element."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    if got.size == 0:
        return True
    return bool(np.abs(got - wanted).max() <= factor * eps(name) * max(np.abs(wanted).max(), 1e-30))


class Exact:
    """A complex rational, for elimination without rounding."""

    def __init__(self, value: complex | Fraction, imaginary: Fraction | None = None) -> None:
        if imaginary is not None:
            self.real, self.imag = Fraction(value), imaginary
        else:
            self.real, self.imag = Fraction(float(value.real)), Fraction(float(value.imag))

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def __sub__(self, other: Exact) -> Exact:
        return Exact(self.real - other.real, self.imag - other.imag)

    def __truediv__(self, other: Exact) -> Exact:
        size = other.real**2 + other.imag**2
        turned = self * Exact(other.real, -other.imag)
        return Exact(turned.real / size, turned.imag / size)

    def __bool__(self) -> bool:
        return bool(self.real or self.imag)

    def __complex__(self) -> complex:
        return complex(float(self.real), float(self.imag))


def exactly(matrix: np.ndarray, right: np.ndarray) -> tuple[complex, np.ndarray]:
    """Determinant and solution by Gauss-Jordan elimination with rationals."""
    size = len(matrix)
    rows = [[Exact(complex(v)) for v in [*a, *b]] for a, b in zip(matrix, right)]
    determinant = Exact(1 + 0j)
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column])
        if pivot != column:
            rows[pivot], rows[column] = rows[column], rows[pivot]
            determinant = Exact(0j) - determinant
        determinant = determinant * rows[column][column]
        rows[column] = [v / rows[column][column] for v in rows[column]]
        for r in range(size):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[column])]
    return complex(determinant), np.array([[complex(v) for v in row[size:]] for row in rows]).reshape(right.shape)


# -- the core ----------------------------------------------------------------------------------------


def test_a_signature_says_which_core_axes_an_operand_has() -> None:
    matrix, vector = parse("(m,n?),(k)->()")
    assert [(a.letter, a.optional) for a in matrix] == [("m", False), ("n", True)]
    assert [(a.letter, a.optional) for a in vector] == [("k", False)]


@pytest.mark.parametrize(
    ("signature", "shapes", "message"),
    [
        ("(n,n)->()", [(3, 4)], r"f: x1 has shape \(3, 4\): the last two axes must be equal \(square matrices\)"),
        ("(n,n)->()", [(3,)], r"f: x1 has shape \(3,\): at least 2 axes are needed"),
        ("(m?,k),(k,n?)->()", [(), (3,)], r"f: x1 has shape \(\): at least 1 axis is needed"),
        (
            "(m?,k),(k,n?)->()",
            [(3, 4), (5, 6)],
            r"x1 has shape \(3, 4\), x2 \(5, 6\): the last axis of x1 \(4\) must equal the second last axis of x2",
        ),
        ("(m?,k),(k,n?)->()", [(2, 3, 4), (3, 4, 6)], r"the stacks \(2,\) and \(3,\) could not be broadcast"),
        ("(n),(n)->()", [(1,), (3,)], r"the last axis of x1 \(1\) must equal the last axis of x2 \(3\)"),
        ("(3),(3)->(3)", [(3,), (2,)], r"f: x2 has shape \(2,\): the last axis must have length 3"),
    ],
)
def test_shapes_that_don_t_fit_the_core_are_named(signature: str, shapes: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core_shapes("f", ("x1", "x2"), parse(signature), shapes)


@given(st.lists(st.integers(0, 3), max_size=4).map(tuple), st.lists(st.integers(0, 3), max_size=4).map(tuple))
def test_matmul_takes_and_refuses_the_shapes_that_numpy_does(shape1: tuple[int, ...], shape2: tuple[int, ...]) -> None:
    a, b = np.ones(shape1), np.ones(shape2)
    try:
        wanted = np.matmul(a, b).shape
    except ValueError:
        with pytest.raises(ValueError, match="matmul"):
            xp.matmul(xp.asarray(a), xp.asarray(b))
    else:
        assert xp.matmul(xp.asarray(a), xp.asarray(b)).shape == wanted


def test_every_public_function_can_be_inspected_pickled_and_is_documented() -> None:
    for name in linalg.__all__:
        function = getattr(linalg, name)
        assert pickle.loads(pickle.dumps(function)) is function
        parameters = inspect.signature(function).parameters
        assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
        assert "Source: array API 2025.12" in function.__doc__
        assert all(f"{p}" in function.__doc__ for p in parameters)
    assert "x1: 'NDArray'" in str(inspect.signature(xp.matmul)) or "x1: NDArray" in str(inspect.signature(xp.matmul))


def test_products_are_one_function_in_both_namespaces() -> None:
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp, name) is getattr(linalg, name)
        assert getattr(xp, name).__module__ == "candela_xp"


@pytest.mark.parametrize("name", [n for n in linalg.__all__ if n not in ("matmul", "tensordot", "vecdot", "cross")])
def test_what_is_no_array_of_ours_is_refused_by_name(name: str) -> None:
    function = getattr(linalg, name)
    rest = {"matrix_power": (2,), "solve": (xp.ones((2, 2)),), "outer": (xp.ones(2),)}.get(name, ())
    with pytest.raises(TypeError, match=rf"{name}: x1? is a numpy.ndarray, not an NDArray; use candela_xp.asarray"):
        function(np.ones((2, 2)), *rest)


def test_operands_on_two_devices_don_t_mix() -> None:
    with xp.settings(simulated_devices=2):
        here = xp.eye(2)
        there = here.to_device(xp.__array_namespace_info__().devices()[1])
        for function in (xp.matmul, linalg.solve, xp.vecdot, xp.tensordot):
            with pytest.raises(ValueError, match=f"{function.__name__}: one array is on cpu, the other on simulated:1"):
                function(here, there)
        with pytest.raises(ValueError, match="pinv"):
            linalg.pinv(here, rtol=there[0, 0])
        for result in (xp.matmul(there, there), linalg.inv(there), linalg.qr(there).R, linalg.vector_norm(there)):
            assert result.device is there.device


@pytest.mark.parametrize("function", ["det", "inv", "svdvals", "matrix_norm", "vector_norm", "eigvalsh"])
def test_integers_are_computed_in_the_default_float_and_refused_in_strict_mode(function: str) -> None:
    values = np.array([[4, 1], [1, 3]])
    wanted = getattr(linalg, function)(array(values.astype("float64")))
    for dtype in ("int8", "uint64", "int32"):
        got = getattr(linalg, function)(array(values.astype(dtype)))
        assert got.dtype == xp.float64
        assert np.array_equal(np.asarray(got), np.asarray(wanted))
    with xp.settings(strict=True), pytest.raises(TypeError, match=f"{function}: not defined for int64 arrays"):
        getattr(linalg, function)(array(values))


NARROW = [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_are_computed_in_float32_and_rounded_once(dtype: Any) -> None:
    a = np.random.default_rng(3).uniform(0.5, 1.5, (8, 8)).astype(dtype)
    b = np.random.default_rng(4).uniform(0.5, 1.5, (8, 8)).astype(dtype)
    wide, other = a.astype("float32"), b.astype("float32")
    x, y = xp.asarray(a), xp.asarray(b)
    own = x.dtype
    for got, wanted in [
        (xp.matmul(x, y), wide @ other),
        (xp.vecdot(x, y), np.vecdot(wide, other)),
        (xp.tensordot(x, y, axes=1), wide @ other),
        (linalg.trace(x), np.trace(wide)),
        (linalg.vector_norm(x, axis=1), np.linalg.norm(wide, axis=1)),
        (linalg.inv(x), np.linalg.inv(wide)),
        (linalg.svdvals(x), np.linalg.svdvals(wide)),
        (linalg.outer(x[0, :], y[0, :]), np.outer(wide[0], other[0])),
    ]:
        assert got.dtype is own
        assert np.array_equal(np.asarray(got).astype("float32"), wanted.astype(dtype).astype("float32"))
    assert linalg.eigvals(x).dtype is (xp.complex32 if own is xp.float16 else xp.complex64)
    assert linalg.matrix_rank(x).dtype == xp.int64


# -- products ----------------------------------------------------------------------------------------

PRODUCT_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((2, 1, 2, 3), (4, 3, 2)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3,)),
    ((2, 0), (0, 3)),
    ((0, 2, 3), (3, 1)),
    ((0,), (0,)),
]


@pytest.mark.parametrize("name", ["int8", "uint8", "int64", "uint32", "float32", "complex128"])
@arrangements
def test_matmul_sums_products_exactly_in_its_own_dtype(name: str, arrangement: str) -> None:
    for place, (shape1, shape2) in enumerate(PRODUCT_SHAPES):
        kind = "float64" if "int" in name else name
        a, b = 20 * random(shape1, kind, place), random(shape2, kind, place + 99)
        if "int" in name:
            a, b = a.astype("int64").astype(name), b.astype("int64").astype(name)
            # Python integers, then the low bits of each.
            wide = np.matmul(a.astype(object), b.astype(object)) if 0 not in (*shape1, *shape2) else np.matmul(a, b)
            flat = [int(v) % 2 ** (8 * a.itemsize) for v in np.ravel(wide)]
            wanted = np.array(flat, f"uint{8 * a.itemsize}").view(name).reshape(np.shape(wide))
        else:
            wanted = np.matmul(a.astype("complex128"), b.astype("complex128"))
        got = xp.matmul(array(a, arrangement), array(b, arrangement))
        assert got.dtype.name == name
        assert np.array_equal(np.asarray(got), wanted)
        assert np.array_equal(np.asarray(array(a, arrangement) @ array(b, arrangement)), wanted)


def test_matmul_of_booleans_is_numpy_s_and_refused_in_strict_mode() -> None:
    a = np.array([[True, False], [True, True]])
    assert np.array_equal(np.asarray(array(a) @ array(a)), a @ a)
    with xp.settings(strict=True), pytest.raises(TypeError, match="matmul: not defined for bool"):
        array(a) @ array(a)


def test_what_is_known_of_shapes_stays_bounded_and_right() -> None:
    for extent in range(300):
        assert float(xp.vecdot(xp.ones(extent), xp.ones(extent))) == extent
        assert linalg.outer(xp.ones(extent), xp.ones(1)).shape == (extent, 1)


def test_matmul_promotes_and_refuses_scalars_and_strangers() -> None:
    assert (xp.ones((2, 2), dtype=xp.float32) @ xp.ones((2, 2))).dtype == xp.float64
    assert (xp.ones((2, 2), dtype=xp.int8) @ xp.ones((2, 2), dtype=xp.uint8)).dtype == xp.int16
    for stranger in (2, 2.0, "a", [[1.0]], np.ones((2, 2))):
        with pytest.raises(TypeError):
            xp.ones((2, 2)) @ stranger
        with pytest.raises(TypeError):
            stranger @ xp.ones((2, 2))

    class Right:
        def __rmatmul__(self, other: Any) -> str:
            return "mine"

    assert xp.ones((2, 2)) @ Right() == "mine"


@arrangements
def test_the_in_place_product_checks_before_it_writes(arrangement: str) -> None:
    x = array(square((), 3), arrangement)
    before = np.array(np.asarray(x))
    y, other = x, array(square((), 3, seed=4))
    y @= other
    assert y is x
    assert np.array_equal(np.asarray(x), before @ np.asarray(other))
    x @= x
    kept = np.array(np.asarray(x))
    with pytest.raises(TypeError):
        x @= 2.0
    with pytest.raises(ValueError, match=r"in place, the result has shape \(3,\), the array \(3, 3\)"):
        x @= xp.ones(3)
    with pytest.raises(TypeError, match="in place"):
        x @= xp.ones((3, 3), dtype=xp.complex64)
    with pytest.raises(ValueError, match="several indices share an element"):
        z = xp.broadcast_to(xp.ones((1, 3)), (3, 3))
        z @= x
    assert np.array_equal(np.asarray(x), kept)


@floats
@arrangements
def test_vecdot_conjugates_the_first_operand(name: str, arrangement: str) -> None:
    for shape1, shape2, axis in [
        ((3,), (3,), -1),
        ((4, 1, 3), (2, 3), -1),
        ((3, 2), (4, 3, 1), -2),
        ((2, 0), (2, 0), -1),
        ((0, 3), (1, 3), -1),
    ]:
        a, b = random(shape1, name, 1), random(shape2, name, 2)
        wanted = (np.moveaxis(a, axis, -1).conj() * np.moveaxis(b, axis, -1)).sum(-1)
        got = xp.vecdot(array(a, arrangement), array(b, arrangement), axis=axis)
        assert got.dtype.name == name
        assert np.array_equal(np.asarray(got), wanted)


@pytest.mark.parametrize("function", [xp.vecdot, linalg.cross])
def test_the_contracted_axis_is_never_stretched_and_counts_from_the_end(function: Any) -> None:
    for shape1, shape2 in [((1,), (3,)), ((3,), (1,)), ((2, 3), (2, 1))]:
        with pytest.raises(ValueError, match=function.__name__):
            function(xp.ones(shape1), xp.ones(shape2))
    for axis in (-3, -2, 5):
        with pytest.raises(IndexError, match=f"{function.__name__}: axis {axis} is out of range"):
            function(xp.ones((2, 3)), xp.ones(3), axis=axis)
    with pytest.raises(ValueError, match="0-d"):
        function(xp.asarray(1.0), xp.ones(3))
    with pytest.raises(TypeError, match="axis must be an integer"):
        function(xp.ones(3), xp.ones(3), axis=1.0)
    x, y = array(random((3, 4), seed=1)), array(random((3, 4), seed=2))
    assert np.array_equal(np.asarray(function(x, y, axis=0)), np.asarray(function(x, y, axis=-2)))
    with xp.settings(strict=True), pytest.raises(TypeError, match="counts from the front; use a negative axis"):
        function(x, y, axis=0)


def test_vecdot_of_small_integers_wraps_in_their_own_dtype() -> None:
    x = xp.asarray([100, 100, 100], dtype=xp.int8)
    assert int(xp.vecdot(x, x)) == (30000 + 128) % 256 - 128


@pytest.mark.parametrize("name", ["int16", "uint8", "float32", "complex64"])
@arrangements
def test_cross_and_outer_multiply_elements(name: str, arrangement: str) -> None:
    kind = name if name.startswith(("float", "complex")) else "float64"
    a, b = random((4, 3), kind, 1).astype("int64" if "int" in name else kind), random((3,), kind, 2)
    a, b = a.astype(name), b.astype("int64" if "int" in name else kind).astype(name)
    wanted = np.stack(
        [a[:, 1] * b[2] - a[:, 2] * b[1], a[:, 2] * b[0] - a[:, 0] * b[2], a[:, 0] * b[1] - a[:, 1] * b[0]], -1
    )
    got = linalg.cross(array(a, arrangement), array(b, arrangement))
    assert got.dtype.name == name
    assert np.array_equal(np.asarray(got), wanted)
    turned = linalg.cross(array(a.T, arrangement), array(b[:, None], arrangement), axis=-2)
    assert np.array_equal(np.asarray(turned), wanted.T)
    u = a[:, 0]
    assert np.array_equal(np.asarray(linalg.outer(array(u, arrangement), array(b, arrangement))), u[:, None] * b)


def test_outer_and_cross_refuse_what_they_don_t_define() -> None:
    with pytest.raises(ValueError, match=r"outer: x2 has shape \(1, 2\): one axis is needed"):
        linalg.outer(xp.ones(2), xp.ones((1, 2)))
    with pytest.raises(ValueError, match="outer"):
        linalg.outer(xp.asarray(1.0), xp.ones(2))
    with pytest.raises(TypeError, match="cross: not defined for bool"):
        linalg.cross(xp.ones(3, dtype=xp.bool), xp.ones(3, dtype=xp.bool))
    assert linalg.outer(xp.zeros(0), xp.ones(2)).shape == (0, 2)
    assert linalg.cross(xp.zeros((0, 3)), xp.ones(3)).shape == (0, 3)


@st.composite
def contractions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    shape1 = draw(st.lists(st.integers(0, 3), max_size=3))
    count = draw(st.integers(0, len(shape1)))
    first = draw(st.permutations(range(len(shape1))))[:count]
    shape2 = draw(st.lists(st.integers(0, 3), max_size=2))
    second: list[int] = []
    for axis in first:
        place = draw(st.integers(0, len(shape2)))
        shape2.insert(place, shape1[axis])
        second = [p + (p >= place) for p in second] + [place]
    flipped1 = [a - len(shape1) if draw(st.booleans()) else a for a in first]
    flipped2 = [a - len(shape2) if draw(st.booleans()) else a for a in second]
    return tuple(shape1), tuple(shape2), (tuple(flipped1), flipped2)


@given(contractions(), st.sampled_from(list(ARRANGEMENTS)), st.sampled_from(["int16", "float64", "complex64"]))
def test_tensordot_contracts_any_pairs_of_axes(case: Any, arrangement: str, name: str) -> None:
    shape1, shape2, (first, second) = case
    kind = "float64" if name == "int16" else name
    a, b = random(shape1, kind, 1).astype(name), random(shape2, kind, 2).astype(name)
    letters1 = list("abcdef"[: len(shape1)])
    letters2 = list("uvwxyz"[: len(shape2)])
    for i, j in zip(first, second):
        letters2[j] = letters1[i]
    kept1 = [c for c in letters1 if c not in letters2]
    kept2 = [c for c in letters2 if c not in letters1]
    wanted = np.einsum(f"{''.join(letters1)},{''.join(letters2)}->{''.join(kept1 + kept2)}", a, b)
    got = xp.tensordot(array(a, arrangement), array(b, arrangement), axes=(first, second))
    assert got.dtype.name == name
    assert np.array_equal(np.asarray(got), wanted)


def test_tensordot_with_a_number_takes_last_and_first_axes() -> None:
    a, b = random((2, 3, 4), seed=1), random((3, 4, 2), seed=2)
    assert np.array_equal(np.asarray(xp.tensordot(array(a), array(b))), np.einsum("abc,bcd->ad", a, b))
    assert np.array_equal(
        np.asarray(xp.tensordot(array(a), array(b[0, 0]), axes=0)), np.einsum("abc,d->abcd", a, b[0, 0])
    )
    assert xp.tensordot(xp.asarray(2.0), xp.asarray(3.0), axes=0).shape == ()


def test_tensordot_takes_lists_and_single_integers_as_numpy_does_in_default_mode() -> None:
    a, b = random((2, 3), seed=1), random((3, 2), seed=2)
    for axes in ([[1], [0]], (1, 0), [1, 0]):
        assert np.array_equal(np.asarray(xp.tensordot(array(a), array(b), axes=axes)), a @ b)
        with xp.settings(strict=True), pytest.raises(TypeError, match=r"tensordot: axes .*; use a tuple"):
            xp.tensordot(array(a), array(b), axes=axes)


@pytest.mark.parametrize(
    ("axes", "error"),
    [
        (-1, ValueError),
        (3, ValueError),
        (1.0, TypeError),
        (((0,), (0, 1)), ValueError),
        (((0, 0), (0, 1)), ValueError),
        (((0,), (1,)), ValueError),
        (((2,), (0,)), IndexError),
        (((0,), (0.5,)), TypeError),
        (((0,),), ValueError),
    ],
)
def test_tensordot_refuses_axes_that_don_t_pair(axes: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="tensordot"):
        xp.tensordot(xp.ones((2, 3)), xp.ones((2, 3)), axes=axes)


def test_tensordot_never_stretches_an_axis_of_length_1() -> None:
    with pytest.raises(ValueError, match=r"axis 1 of x1 \(1\) must equal axis 0 of x2 \(3\)"):
        xp.tensordot(xp.ones((2, 1)), xp.ones((3, 2)), axes=1)


# -- views and traces --------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -2, 3, -3, 100, -100, 2**70, -(2**70)])
@arrangements
def test_diagonals_are_views_and_traces_their_sums(offset: int, arrangement: str) -> None:
    values = random((2, 3, 4), seed=5)
    x = array(values, arrangement)
    wanted = np.diagonal(values, max(-9, min(9, offset)), -2, -1)
    got = linalg.diagonal(x, offset=offset)
    assert np.array_equal(np.asarray(got), wanted)
    assert np.array_equal(np.asarray(linalg.trace(x, offset=offset)), wanted.sum(-1))
    if got.size:
        got[...] = xp.asarray(77.0)
        assert np.count_nonzero(np.asarray(x) == 77) == got.size
    assert linalg.matrix_transpose(x).shape == (2, 4, 3)
    linalg.matrix_transpose(x)[0, 1, 2] = 99.0
    assert float(x[0, 2, 1]) == 99


def test_views_of_matrices_need_two_axes() -> None:
    for function in (linalg.diagonal, linalg.trace, linalg.matrix_transpose):
        with pytest.raises(ValueError, match=rf"{function.__name__}: x has shape \(3,\): at least 2 axes are needed"):
            function(xp.ones(3))
    with pytest.raises(TypeError, match="diagonal: offset must be an integer"):
        linalg.diagonal(xp.eye(2), offset=0.5)
    with pytest.raises(TypeError, match="trace: complex values have no float64 form"):
        linalg.trace(xp.eye(2, dtype=xp.complex128), dtype=xp.float64)


def test_traces_widen_integers_and_keep_floats() -> None:
    wide = {"int8": "int64", "int32": "int64", "uint8": "uint64", "uint64": "uint64"}
    for name in ("int8", "int32", "uint8", "uint64", "float32", "complex64"):
        x = xp.astype(xp.eye(3) * 100, getattr(xp, name))
        assert linalg.trace(x).dtype.name == wide.get(name, name)
        assert complex(linalg.trace(x)) == 300
    assert int(linalg.trace(xp.astype(xp.eye(3) * 100, xp.int8), dtype=xp.int8)) == 300 - 256
    assert linalg.trace(xp.zeros((2, 0, 3))).shape == (2,)
    assert int(linalg.trace(xp.ones((3, 3), dtype=xp.bool))) == 3
    with xp.settings(strict=True), pytest.raises(TypeError, match="trace: not defined for bool"):
        linalg.trace(xp.ones((3, 3), dtype=xp.bool))


def test_traces_of_floats_widen_before_2023_12() -> None:
    for revision, wanted in [
        ("2021.12", "float64"),
        ("2022.12", "float64"),
        ("2023.12", "float32"),
        ("2025.12", "float32"),
    ]:
        older = xp.eye(2).__array_namespace__(api_version=revision).linalg
        assert older.trace(xp.ones((2, 2), dtype=xp.float32)).dtype.name == wanted
    older = xp.eye(2).__array_namespace__(api_version="2022.12").linalg
    assert older.trace(xp.ones((2, 2), dtype=xp.complex64)).dtype == xp.complex128
    assert not hasattr(older, "eig")


@floats
@arrangements
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -3])
def test_powers_multiply_or_invert_repeatedly(name: str, arrangement: str, exponent: int) -> None:
    for stack, size in [((), 3), ((2, 2), 2), ((), 0), ((0,), 2), ((3,), 1)]:
        values = (square(stack, size, name) / (8 * max(size, 1))).astype(name)
        base = np.linalg.inv(values.astype("complex128")) if exponent < 0 else values.astype("complex128")
        wanted = np.broadcast_to(np.eye(size), values.shape)
        for _ in range(abs(exponent)):
            wanted = wanted @ base
        x = array(values, arrangement)
        got = linalg.matrix_power(x, exponent)
        assert got.dtype.name == name
        assert close(got, wanted, name)
        if got.size:
            got[...] = 0.0
            assert np.array_equal(np.asarray(x), values), "the result has memory of its own"


def test_powers_refuse_singular_matrices_and_fractions() -> None:
    with pytest.raises(ValueError, match=r"matrix_power: x has shape \(2, 2\): the matrix is singular"):
        linalg.matrix_power(xp.ones((2, 2)), -1)
    with pytest.raises(TypeError, match="matrix_power: n must be an integer"):
        linalg.matrix_power(xp.ones((2, 2)), 0.5)


# -- solvers -----------------------------------------------------------------------------------------


@floats
@arrangements
def test_determinants_inverses_and_solutions_equal_the_exact_ones(name: str, arrangement: str) -> None:
    for size, seed in itertools.product((1, 2, 3, 5), range(3)):
        values, right = square((), size, name, seed), random((size, 2), name, seed + 50)
        determinant, solution = exactly(values, right)
        x = array(values, arrangement)
        got = linalg.det(x)
        assert got.dtype.name == name
        assert abs(complex(got) - determinant) <= 8 * eps(name) * abs(determinant)
        sign, logarithm = linalg.slogdet(x)
        assert (sign.dtype.name, logarithm.dtype.name) == (name, REAL[name])
        assert abs(complex(sign) - determinant / abs(determinant)) <= 16 * eps(name)
        assert abs(float(logarithm) - math.log(abs(determinant))) <= 16 * eps(name) * max(1, math.log(abs(determinant)))
        assert close(linalg.inv(x), exactly(values, np.eye(size))[1], name)
        assert close(linalg.solve(x, array(right, arrangement)), solution, name)
        assert close(linalg.solve(x, array(right[:, 0], arrangement)), solution[:, 0], name)


def test_determinants_keep_their_last_places_where_they_are_large_or_small() -> None:
    for size in (8, 12, 16):
        values = square((3,), size, seed=size)
        exact = [exactly(v, np.eye(size)[:, :1])[0].real for v in values]
        for factor in (1.0, 2.0**-40):
            got = np.asarray(linalg.det(xp.asarray(values * factor)))
            wanted = np.array([Fraction(e) * Fraction(factor) ** size for e in exact], dtype=object).astype(float)
            assert np.all(np.abs(got - wanted) <= 16 * eps("float64") * np.abs(wanted))
    uneven = np.diag([1e300, 1e300, 1e-300])
    assert float(linalg.det(xp.asarray(uneven))) == pytest.approx(1e300, rel=1e-12)
    assert float(linalg.det(xp.asarray(np.diag([1e-200, 1e-200])))) == 0


def test_permutations_have_exactly_the_sign_as_determinant() -> None:
    for order in itertools.permutations(range(4)):
        values = np.eye(4)[list(order)]
        sign = round(np.linalg.det(values))
        assert float(linalg.det(array(values))) == sign
        assert (float(linalg.slogdet(array(values)).sign), float(linalg.slogdet(array(values)).logabsdet)) == (sign, 0)


@floats
def test_singular_and_empty_matrices_have_determinants(name: str) -> None:
    for values in ([[0, 0], [0, 0]], [[1, 2], [0, 0]], [[1, 2], [2, 4]]):
        x = xp.asarray(np.array(values, dtype=name))
        assert complex(linalg.det(x)) == 0
        assert complex(linalg.slogdet(x).sign) == 0
        assert float(linalg.slogdet(x).logabsdet) == -math.inf
    empty = xp.zeros((2, 0, 0), dtype=getattr(xp, name))
    assert np.array_equal(np.asarray(linalg.det(empty)), [1, 1])
    assert np.array_equal(np.asarray(linalg.slogdet(empty).logabsdet), [0, 0])
    assert linalg.det(xp.zeros((0, 3, 3), dtype=getattr(xp, name))).shape == (0,)


def test_nan_and_infinity_pass_through_determinants_without_a_warning() -> None:
    assert math.isnan(float(linalg.det(xp.asarray([[math.nan, 1.0], [1.0, 1.0]]))))
    assert math.isnan(float(linalg.slogdet(xp.asarray([[math.nan, 1.0], [1.0, 1.0]])).logabsdet))
    for place in itertools.product(range(3), range(3)):
        values = square((), 3, seed=8)
        values[place] = math.nan
        x = xp.asarray(values)
        assert math.isnan(float(linalg.det(x)))
        assert math.isnan(float(linalg.slogdet(x).logabsdet))
        for got in (linalg.inv(x), linalg.solve(x, xp.ones(3)), linalg.matrix_power(x, -2)):
            assert np.isnan(np.asarray(got)).any()
        pair = xp.asarray(np.stack([np.eye(3), values]))
        assert np.array_equal(np.asarray(linalg.inv(pair))[0], np.eye(3))
        assert np.array_equal(np.asarray(linalg.solve(pair, xp.ones(3)))[0], np.ones(3))
    # A NaN that comes first LAPACK takes for a pivot 0, and the matrix for singular.
    first = xp.asarray(np.stack([np.eye(2), [[math.nan, 1.0], [1.0, 1.0]]]))
    assert np.isnan(np.asarray(linalg.inv(first))).tolist() == [[[False] * 2] * 2, [[True] * 2] * 2]
    assert np.isnan(np.asarray(linalg.solve(first, xp.ones(2)))).tolist() == [[False] * 2, [True] * 2]
    assert np.isnan(np.asarray(linalg.solve(first, xp.ones((2, 1)))))[:, 0, 0].tolist() == [False, True]
    assert np.isnan(np.asarray(linalg.slogdet(first).logabsdet)).tolist() == [False, True]
    with pytest.raises(ValueError, match=r"batch index \(0,\) is singular"):
        linalg.inv(xp.asarray(np.stack([np.ones((2, 2)), [[math.nan, 1.0], [1.0, 1.0]]])))
    mixed = np.stack([np.eye(2) * 1e6, np.full((2, 2), np.nan), np.eye(2)])
    got = np.asarray(linalg.det(xp.asarray(mixed)))
    assert got[0] == 1e12
    assert math.isnan(got[1])
    assert got[2] == 1


@pytest.mark.parametrize(
    ("shape1", "shape2", "wanted"),
    [
        ((3, 3), (3,), (3,)),
        ((2, 3, 3), (3,), (2, 3)),
        ((3, 3, 3), (3, 3), (3, 3, 3)),
        ((3, 3), (2, 3, 1), (2, 3, 1)),
        ((2, 1, 3, 3), (4, 3, 2), (2, 4, 3, 2)),
        ((3, 3), (3, 0), (3, 0)),
        ((0, 0), (0,), (0,)),
        ((0, 0), (0, 2), (0, 2)),
        ((0, 2, 2), (2,), (0, 2)),
    ],
)
def test_only_a_one_dimensional_right_side_is_a_vector(shape1: Any, shape2: Any, wanted: Any) -> None:
    values = square(shape1[:-2], shape1[-1], seed=2)
    right = random(shape2, seed=3)
    got = linalg.solve(xp.asarray(values), xp.asarray(right))
    assert got.shape == wanted
    product = np.asarray(xp.asarray(values) @ (got if len(shape2) > 1 else got[..., None]))
    target = np.broadcast_to(right if len(shape2) > 1 else right[:, None], product.shape)
    assert np.allclose(product, target, atol=1e-12)


@pytest.mark.parametrize(
    ("shape1", "shape2", "message"),
    [
        ((3, 4), (3,), r"solve: x1 has shape \(3, 4\): the last two axes must be equal"),
        (
            (3, 3),
            (4,),
            r"solve: x1 has shape \(3, 3\), x2 \(4,\): the second last axis of x1 \(3\) must equal the last",
        ),
        ((3, 3), (2, 3), r"the second last axis of x1 \(3\) must equal the second last axis of x2"),
        ((2, 3, 3), (3, 3, 1), r"the stacks \(2,\) and \(3,\) could not be broadcast"),
        ((3,), (3,), r"solve: x1 has shape \(3,\): at least 2 axes"),
        ((3, 3), (), r"solve: x2 has shape \(\): at least 1 axis"),
    ],
)
def test_systems_whose_shapes_disagree_are_named(shape1: Any, shape2: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linalg.solve(xp.ones(shape1), xp.ones(shape2))


def test_the_matrix_that_fails_in_a_stack_is_named() -> None:
    stack = np.broadcast_to(np.eye(2), (2, 3, 2, 2)).copy()
    stack[1, 2] = [[1, 2], [2, 4]]
    x = xp.asarray(stack)
    message = r"has shape \(2, 3, 2, 2\): the matrix at batch index \(1, 2\) is singular"
    with pytest.raises(np.linalg.LinAlgError, match="inv: x " + message):
        linalg.inv(x)
    for _ in range(2):  # the second call takes the short path
        with pytest.raises(ValueError, match="solve: x1 " + message):
            linalg.solve(x, xp.ones((2, 3, 2, 2)))
    stack[1, 2] = [[1, 2], [2, 1]]
    with pytest.raises(ValueError, match=r"cholesky: x .* batch index \(1, 2\) is not positive definite"):
        linalg.cholesky(xp.asarray(stack))


@pytest.mark.parametrize("function", ["eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "pinv", "matrix_rank"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_iterations_refuse_nan_and_infinity_instead_of_running_for_ever(function: str, value: float) -> None:
    stack = np.broadcast_to(np.eye(3), (2, 3, 3)).copy()
    stack[1, 1, 0] = value
    with pytest.raises(ValueError, match=rf"{function}: x has shape .* batch index \(1,\) holds NaN or infinity"):
        getattr(linalg, function)(xp.asarray(stack))


@floats
@arrangements
def test_the_pseudo_inverse_meets_penrose_s_conditions(name: str, arrangement: str) -> None:
    for rows, columns, rank in [(4, 2, 2), (2, 4, 2), (3, 3, 3), (4, 4, 2), (3, 5, 1)]:
        left, right = random((2, rows, rank), name, rows), random((2, rank, columns), name, columns + 9)
        values = (left @ right).astype(name)
        got = np.asarray(linalg.pinv(array(values, arrangement))).astype("complex128")
        assert got.shape == (2, columns, rows)
        wide = values.astype("complex128")
        scale = np.abs(wide).max() * np.abs(got).max()
        for product, wanted in [
            (wide @ got @ wide, wide),
            (got @ wide @ got, got),
            ((wide @ got).conj().mT, wide @ got),
            ((got @ wide).conj().mT, got @ wide),
        ]:
            assert np.abs(product - wanted).max() <= 200 * eps(name) * max(scale, 1) * max(1, np.abs(wanted).max())


def test_pseudo_inverses_of_empty_zero_and_tiny_matrices() -> None:
    assert linalg.pinv(xp.zeros((2, 0, 3))).shape == (2, 3, 0)
    assert linalg.pinv(xp.zeros((0, 2, 3))).shape == (0, 3, 2)
    assert np.array_equal(np.asarray(linalg.pinv(xp.zeros((2, 3)))), np.zeros((3, 2)))
    assert np.array_equal(np.asarray(linalg.pinv(xp.asarray([[4.0, 0.0], [0.0, 1.0]]), rtol=0.5)), [[0.25, 0], [0, 0]])
    assert float(linalg.pinv(xp.asarray([[1e-300]]))[0, 0]) == pytest.approx(1e300)


def test_ranks_count_singular_values_above_the_tolerance() -> None:
    stack = np.zeros((4, 2, 3))
    stack[0] = [[1, 2, 3], [2, 4, 6]]
    stack[1, 0, 0] = stack[1, 1, 1] = 1
    stack[3, 0, 0], stack[3, 1, 1] = 8, 1
    for name in FLOATS:
        x = xp.asarray(stack.astype(name))
        for rtol, wanted in [
            (None, [1, 2, 0, 2]),
            (0.5, [1, 2, 0, 1]),
            (np.array([0.01, 0.5, 0.5, 0.01]), [1, 2, 0, 2]),
            (np.array([0.5], dtype="float32"), [1, 2, 0, 1]),
            (np.array(0.5, dtype="float16"), [1, 2, 0, 1]),
            (np.array([[0.5]]), [1, 2, 0, 1]),
        ]:
            got = linalg.matrix_rank(x, rtol=xp.asarray(rtol) if isinstance(rtol, np.ndarray) else rtol)
            assert got.dtype == xp.int64
            assert np.asarray(got).tolist() == wanted
    assert linalg.matrix_rank(xp.zeros((2, 0, 3))).shape == (2,)
    assert int(linalg.matrix_rank(xp.zeros((3, 0)))) == 0
    assert int(linalg.matrix_rank(xp.asarray([[1.0, 0.0], [0.0, 2.0**-11]], dtype=xp.float16))) == 1, "eps is float16's"
    for rtol, error in [("a", TypeError), (1j, TypeError), (True, TypeError), (xp.asarray([1]), TypeError)]:
        with pytest.raises(error, match="matrix_rank: rtol"):
            linalg.matrix_rank(xp.asarray(stack), rtol=rtol)
    with pytest.raises(ValueError, match=r"rtol has shape \(5,\), which doesn't stretch to the stack \(4,\)"):
        linalg.matrix_rank(xp.asarray(stack), rtol=xp.ones(5))


# -- decompositions ----------------------------------------------------------------------------------


@floats
@arrangements
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_rebuild_the_matrix_and_are_triangular(name: str, arrangement: str, upper: bool) -> None:
    for stack, size in [((), 1), ((2, 2), 3), ((), 4), ((3,), 0), ((0,), 2)]:
        values = hermitian(stack, size, name)
        got = linalg.cholesky(array(values, arrangement), upper=upper)
        assert got.dtype.name == name
        factor = np.asarray(got)
        assert close(xp.asarray(factor.conj().mT @ factor if upper else factor @ factor.conj().mT), values, name)
        assert not np.any(np.tril(factor, -1) if upper else np.triu(factor, 1))
        junk = values + np.triu(np.full(values.shape[-2:], 1e6), 1).astype(name)
        assert np.array_equal(np.asarray(linalg.cholesky(array(junk, arrangement), upper=upper)), factor)


@floats
@arrangements
def test_hermitian_eigenvectors_rebuild_the_matrix_from_its_lower_triangle(name: str, arrangement: str) -> None:
    for stack, size in [((), 1), ((2, 2), 3), ((), 6), ((3,), 0), ((0,), 2)]:
        values = hermitian(stack, size, name)
        junk = values + np.triu(np.full(values.shape[-2:], np.nan), 1).astype(name)
        got = linalg.eigh(array(junk, arrangement))
        assert (got.eigenvalues.dtype.name, got.eigenvectors.dtype.name) == (REAL[name], name)
        w, q = np.asarray(got.eigenvalues), np.asarray(got.eigenvectors)
        assert np.all(np.diff(w) >= 0)
        assert close(xp.asarray((q * w[..., None, :]) @ q.conj().mT), values, name)
        assert close(xp.asarray(q.conj().mT @ q), np.broadcast_to(np.eye(size), q.shape), name)
        assert close(linalg.eigvalsh(array(junk, arrangement)), w, name)


@floats
@arrangements
def test_general_eigenvectors_satisfy_their_equation_and_are_complex(name: str, arrangement: str) -> None:
    for stack, size in [((), 1), ((2, 2), 3), ((), 5), ((3,), 0), ((0,), 2)]:
        values = square(stack, size, name)
        got = linalg.eig(array(values, arrangement))
        assert got.eigenvalues.dtype.name == got.eigenvectors.dtype.name == COMPLEX[name]
        assert got.eigenvectors.shape == values.shape
        w, v = np.asarray(got.eigenvalues), np.asarray(got.eigenvectors)
        assert np.allclose(values @ v, v * w[..., None, :], atol=64 * eps(name) * 100)
        assert np.allclose(np.linalg.norm(v, axis=-2), 1, atol=16 * eps(name))
        assert np.allclose(
            np.sort_complex(np.asarray(linalg.eigvals(array(values, arrangement)))), np.sort_complex(w), rtol=1e-4
        )


def test_real_matrices_with_real_eigenvalues_have_complex_ones_too() -> None:
    assert linalg.eig(xp.eye(2, dtype=xp.float32)).eigenvalues.dtype == xp.complex64
    assert linalg.eigvals(xp.zeros((0, 3, 3))).dtype == xp.complex128
    assert np.allclose(np.sort(np.asarray(linalg.eigvals(xp.asarray([[0.0, -1.0], [1.0, 0.0]]))).imag), [-1, 1])


@floats
@arrangements
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_factors_rebuild_the_matrix_with_an_exact_triangle(name: str, arrangement: str, mode: Any) -> None:
    for shape in [(4, 2), (2, 4), (2, 2, 3, 3), (0, 3), (3, 0), (0, 2, 3), (0, 0)]:
        values = random(shape, name, 7)
        got = linalg.qr(array(values, arrangement), mode=mode)
        q, r = np.asarray(got.Q), np.asarray(got.R)
        rows, columns = shape[-2:]
        inner = rows if mode == "complete" else min(rows, columns)
        assert q.shape == (*shape[:-2], rows, inner)
        assert r.shape == (*shape[:-2], inner, columns)
        assert got.Q.dtype.name == got.R.dtype.name == name
        assert close(xp.asarray(q @ r), values, name)
        assert close(xp.asarray(q.conj().mT @ q), np.broadcast_to(np.eye(inner), (*shape[:-2], inner, inner)), name)
        assert not np.any(np.tril(r, -1))
        assert not np.any(np.diagonal(r, axis1=-2, axis2=-1).imag), "the diagonal is real"


def test_qr_names_the_modes_that_there_are() -> None:
    for mode in ("raw", "r", "full", None):
        with pytest.raises(ValueError, match="qr: mode must be one of 'reduced', 'complete'"):
            linalg.qr(xp.eye(2), mode=mode)


@floats
@arrangements
@pytest.mark.parametrize("full", [True, False])
def test_singular_vectors_rebuild_the_matrix(name: str, arrangement: str, full: bool) -> None:
    for shape in [(4, 2), (2, 4), (2, 2, 3, 3), (1, 1), (0, 3), (3, 0), (0, 2, 3), (2, 0, 0)]:
        values = random(shape, name, 8)
        got = linalg.svd(array(values, arrangement), full_matrices=full)
        u, s, vh = (np.asarray(part) for part in got)
        rows, columns = shape[-2:]
        inner = min(rows, columns)
        assert (got.U.dtype.name, got.S.dtype.name, got.Vh.dtype.name) == (name, REAL[name], name)
        assert u.shape[-1] == (rows if full else inner)
        assert vh.shape[-2] == (columns if full else inner)
        assert np.all(np.diff(s) <= 0)
        assert np.all(s >= 0)
        assert close(xp.asarray((u[..., :inner] * s[..., None, :]) @ vh[..., :inner, :]), values, name)
        assert close(
            xp.asarray(u.conj().mT @ u),
            np.broadcast_to(np.eye(u.shape[-1]), u.conj().mT.shape[:-2] + (u.shape[-1],) * 2),
            name,
        )
        assert close(linalg.svdvals(array(values, arrangement)), s, name)
    assert linalg.svd(xp.ones((4, 2))).U.shape == (4, 4), "full matrices are the default"


def test_results_with_several_parts_are_named_tuples_that_pickle() -> None:
    x = xp.eye(2)
    for result, fields in [
        (linalg.eig(x), ("eigenvalues", "eigenvectors")),
        (linalg.eigh(x), ("eigenvalues", "eigenvectors")),
        (linalg.qr(x), ("Q", "R")),
        (linalg.svd(x), ("U", "S", "Vh")),
        (linalg.slogdet(x), ("sign", "logabsdet")),
    ]:
        assert result._fields == fields
        assert all(getattr(result, field) is result[place] for place, field in enumerate(fields))
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result)
        assert all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(again, result))


# -- norms -------------------------------------------------------------------------------------------


def defined_norm(values: np.ndarray, order: float) -> float:
    """A vector's norm by its definition, in exact powers as far as they are rational."""
    sizes = [abs(complex(v)) for v in values]
    if order == math.inf:
        return max(sizes, default=0)
    if order == -math.inf:
        return min(sizes, default=math.inf)
    if order == 0:
        return sum(1 for s in sizes if s)
    if order < 0 and 0 in sizes:
        return 0
    total = math.fsum(s**order for s in sizes)
    return total ** (1 / order) if total else (0 if order > 0 else math.inf)


@floats
@arrangements
@pytest.mark.parametrize("order", [2, 1, 0, math.inf, -math.inf, -1, -2, 3, 0.5, 2.5, -0.5, 10])
def test_vector_norms_follow_their_definition(name: str, arrangement: str, order: float) -> None:
    values = random((2, 3, 4), name, 11)
    if order < 0:
        values[0] += np.asarray(9, dtype=name)
    x = array(values, arrangement)
    for axis in (None, 0, -1, (0, 2), (2, 1, 0), (-2,), ()):
        axes = tuple(range(3)) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = tuple(a % 3 for a in axes)
        kept = tuple(a for a in range(3) if a not in axes)
        rows = values.transpose(*kept, *axes).reshape(*[values.shape[a] for a in kept], -1)
        if not axes:
            rows = values[..., None]
        wanted = np.array([defined_norm(row, order) for row in rows.reshape(-1, rows.shape[-1])], "float64")
        wanted = wanted.reshape(rows.shape[:-1])
        got = linalg.vector_norm(x, axis=axis, ord=order)
        assert got.dtype.name == REAL[name]
        assert np.allclose(np.asarray(got), wanted, rtol=64 * eps(name), atol=0)
        wide = linalg.vector_norm(x, axis=axis, ord=order, keepdims=True)
        assert wide.shape == tuple(1 if a in axes else n for a, n in enumerate(values.shape))
        assert np.array_equal(np.asarray(wide).ravel(), np.asarray(got).ravel())


@pytest.mark.parametrize("order", [2, 1, 3, 0.5, 2.5, 100, -1, -2, -0.5, -100, math.inf, -math.inf])
def test_vector_norms_of_one_element_are_its_size(order: float) -> None:
    for value in (3.0, -0.25, 0.0, 1e300, 1e-300):
        got = float(linalg.vector_norm(xp.asarray(value), ord=order))
        assert got == pytest.approx(abs(value), rel=1e-13)
    assert float(linalg.vector_norm(xp.asarray(3 + 4j), ord=order)) == pytest.approx(5, rel=1e-13)


@pytest.mark.parametrize("order", [2, 1, 3, 0.5, 0, -1, -2.5, math.inf, -math.inf])
def test_vector_norms_of_nothing_are_0_or_infinity(order: float) -> None:
    wanted = math.inf if order < 0 else 0
    assert float(linalg.vector_norm(xp.zeros(0), ord=order)) == wanted
    got = linalg.vector_norm(xp.zeros((2, 0, 3)), axis=1, ord=order)
    assert np.array_equal(np.asarray(got), np.full((2, 3), wanted))
    assert linalg.vector_norm(xp.zeros((2, 0)), axis=0, ord=order).shape == (0,)


def test_orders_beyond_all_floats_are_infinity_and_numpy_s_numbers_are_orders() -> None:
    x = xp.asarray([3.0, -4.0])
    assert float(linalg.vector_norm(x, ord=10**400)) == 4
    assert float(linalg.vector_norm(x, ord=-(10**400))) == 3
    assert float(linalg.vector_norm(x, ord=np.float32(1))) == 7
    assert float(linalg.matrix_norm(xp.ones((2, 2)), ord=np.int64(1))) == 2
    assert int(linalg.matrix_rank(xp.eye(2), rtol=np.float64(0.5))) == 2
    with xp.settings(strict=True), pytest.raises(TypeError, match="NumPy scalar"):
        linalg.vector_norm(x, ord=np.float32(1))


@pytest.mark.parametrize("scale", [1e200, 1e-200, 5e307, 1e-310])
def test_squares_that_overflow_or_vanish_don_t_spoil_the_norm(scale: float) -> None:
    values = np.array([0.75, 1.0]) * scale
    for function in (linalg.vector_norm, linalg.matrix_norm):
        got = float(function(xp.asarray(values.reshape(1, 2))))
        assert got == pytest.approx(1.25 * scale, rel=1e-12 if scale > 1e-300 else 1e-8)
    assert float(linalg.vector_norm(xp.asarray(values), ord=3)) == pytest.approx(91 ** (1 / 3) / 4 * scale, rel=1e-8)
    assert float(linalg.vector_norm(xp.asarray([3e30, 4e30], dtype=xp.float32))) == pytest.approx(5e30, rel=1e-6)


@pytest.mark.parametrize("order", [2, 1, 3, 0.5, math.inf])
def test_nan_and_infinity_show_in_the_norm(order: float) -> None:
    assert math.isnan(float(linalg.vector_norm(xp.asarray([1.0, math.nan]), ord=order)))
    assert float(linalg.vector_norm(xp.asarray([1.0, -math.inf]), ord=order)) == math.inf
    assert float(linalg.vector_norm(xp.asarray([math.inf, 2.0]), ord=-order)) == pytest.approx(2)
    assert float(linalg.vector_norm(xp.asarray([0.0, 2.0]), ord=-order)) == 0


def test_float32_norms_don_t_drift_along_a_far_axis() -> None:
    values = np.full((200_000, 2), 0.1, dtype="float32")
    wanted = math.sqrt(200_000) * float(np.float32(0.1))
    assert np.allclose(np.asarray(linalg.vector_norm(xp.asarray(values), axis=0)), wanted, rtol=1e-6)
    assert np.allclose(np.asarray(linalg.vector_norm(xp.asarray(values), axis=0, ord=1)), 20000, rtol=1e-6)


def test_vector_norms_refuse_orders_and_axes_that_there_aren_t() -> None:
    for order in ("fro", None, 1j, math.nan, True):
        with pytest.raises(ValueError, match="vector_norm: ord must be a real number"):
            linalg.vector_norm(xp.ones(3), ord=order)
    with pytest.raises(IndexError, match="vector_norm: axis 1 is out of range"):
        linalg.vector_norm(xp.ones(3), axis=1)
    with pytest.raises(ValueError, match="twice"):
        linalg.vector_norm(xp.ones((3, 3)), axis=(0, -2))


ORDERS = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]


@floats
@arrangements
@pytest.mark.parametrize("order", ORDERS)
def test_matrix_norms_follow_their_table(name: str, arrangement: str, order: Any) -> None:
    for shape in [(2, 3), (3, 2), (2, 2, 3, 3), (1, 1), (0, 2, 2)]:
        values = random(shape, name, 12)
        sizes = np.abs(values.astype("complex128"))
        singular = np.sqrt(np.maximum(np.linalg.eigvalsh(np.asarray(values @ values.conj().mT, "complex128")), 0))
        singular = np.sort(singular, -1)[..., ::-1][..., : min(shape[-2:])]
        wanted = {
            "fro": lambda v=sizes: np.sqrt((v**2).sum((-2, -1))),
            "nuc": lambda v=singular: v.sum(-1),
            1: lambda v=sizes: v.sum(-2).max(-1),
            -1: lambda v=sizes: v.sum(-2).min(-1),
            2: lambda v=singular: v.max(-1),
            -2: lambda v=singular: v.min(-1),
            math.inf: lambda v=sizes: v.sum(-1).max(-1),
            -math.inf: lambda v=sizes: v.sum(-1).min(-1),
        }[order]()
        got = linalg.matrix_norm(array(values, arrangement), ord=order)
        assert got.dtype.name == REAL[name]
        assert got.shape == shape[:-2]
        assert np.allclose(np.asarray(got), wanted, rtol=64 * eps(name), atol=64 * math.sqrt(eps("float64")))
        assert linalg.matrix_norm(array(values, arrangement), ord=order, keepdims=True).shape == (*shape[:-2], 1, 1)
    assert float(linalg.matrix_norm(xp.asarray([[3.0, 4.0]]))) == 5
    assert float(linalg.matrix_norm(xp.asarray([[3.0, 4.0]]), ord=None)) == 5


@pytest.mark.parametrize("order", ORDERS)
def test_matrix_norms_of_nothing_are_0_or_a_minimum_over_nothing(order: Any) -> None:
    for shape in [(0, 3), (3, 0), (0, 0), (2, 0, 3)]:
        over_nothing = (order == -2) or (order == -1 and shape[-1] == 0) or (order == -math.inf and shape[-2] == 0)
        got = np.asarray(linalg.matrix_norm(xp.zeros(shape), ord=order))
        assert np.array_equal(got, np.full(shape[:-2], math.inf if over_nothing else 0))


@pytest.mark.parametrize("order", ORDERS)
def test_matrix_norms_of_nan_and_infinity_come_out_matrix_by_matrix(order: Any) -> None:
    stack = np.stack([np.full((3, 3), np.nan), np.eye(3), np.where(np.eye(3) > 0, np.inf, 0)])
    got = np.asarray(linalg.matrix_norm(xp.asarray(stack), ord=order))
    assert math.isnan(got[0])
    assert got[1] == float(linalg.matrix_norm(xp.eye(3), ord=order))
    assert math.isnan(got[2]) if order == -2 else got[2] == math.inf


def test_matrix_norms_name_the_orders_that_there_are() -> None:
    for order in ("max", 3, 0, 1.5, math.nan, 1j):
        with pytest.raises(ValueError, match="matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"):
            linalg.matrix_norm(xp.eye(2), ord=order)
