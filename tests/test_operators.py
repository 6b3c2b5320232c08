"""Operators: forward, reflected and in place, by dtypes and scalars, against NumPy and the rules written out."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, cast, lay_out, numbers

import candela_xp as xp
from candela_xp._dtypes import DTYPES, STANDARD
from candela_xp._errors import DeviceError

ALL_DTYPES = list(DTYPES.values())
INTEGERS = [d for d in STANDARD if d.kind in ("int", "uint")]

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITWISE = ["and_", "or_", "xor"]
SHIFTS = ["lshift", "rshift"]
BINARY = ARITHMETIC + BITWISE + SHIFTS
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
FUNCTIONS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
LEVEL = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
ROUGH = {"truediv", "pow"}  # NumPy's own kernels may differ in the last bit by stride


def forward(name: str) -> Any:
    return getattr(operator, name)


def in_place(name: str) -> Any:
    return getattr(operator, "i" + name.rstrip("_"))


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


# -- the rules, written out --------------------------------------------------------------------------


def common_dtype(a: xp.DType, b: xp.DType) -> xp.DType | None:
    """Where two arrays meet in default mode: NumPy's table, and for the narrow floats the few pairs that there are."""
    if a is b:
        return a
    if a.extension or b.extension:
        narrow, other = (a, b) if a.extension else (b, a)
        if narrow.bits >= 16 and not other.extension and other.kind in ("bool", "int", "uint"):
            return narrow
        if min(a.bits, b.bits) <= 8 or {a.kind, b.kind} - {"float", "complex"}:
            return None
        if {a, b} == {xp.complex32, xp.float16}:
            return xp.complex32
        # bfloat16 with float16, and each with all others, meet where float32 would.
        return DTYPES[np.promote_types(a.wide, b.wide).name]
    return DTYPES.get(np.promote_types(a.dtype, b.dtype).name)


def scalar_dtype(dtype: xp.DType, scalar: Any) -> xp.DType | None:
    """Where an array meets a Python scalar in default mode."""
    level = 0 if isinstance(scalar, bool) else {int: 1, float: 2, complex: 3}[type(scalar)]
    if level <= LEVEL[dtype.kind]:
        return dtype
    if level == 1:
        return xp.int64
    if level == 2:
        return xp.float64
    if dtype.extension and dtype.kind == "float":
        return {xp.float16: xp.complex32, xp.bfloat16: xp.complex64}.get(dtype)
    return xp.complex64 if dtype is xp.float32 else xp.complex128


def computed_dtype(name: str, common: xp.DType) -> xp.DType | None:
    """The dtype in which an operator computes operands of one dtype, None where it is not defined."""
    kind = common.kind
    if name in ("eq", "ne"):
        return common
    if name in ("lt", "le", "gt", "ge"):
        return None if kind == "complex" else common
    if name in BITWISE:
        return common if kind in ("bool", "int", "uint") else None
    if name in SHIFTS:
        return {"bool": xp.int64, "int": common, "uint": common}.get(kind)
    if kind == "complex" and name in ("floordiv", "mod"):
        return None
    if name == "truediv":
        return common if kind in ("float", "complex") else xp.float64
    if kind == "bool":
        return {"sub": None, "add": xp.bool, "mul": xp.bool}.get(name, xp.int64)
    return common


def computed(name: str, dtype: xp.DType, a: Any, b: Any) -> np.ndarray:
    """NumPy's result for operands brought to one dtype; narrow ones in their wide dtype, rounded once."""
    a, b = (cast(cast(value, dtype.dtype), dtype.wide) for value in (a, b))
    result = np.asarray(forward(name)(a, b))
    return result if name in COMPARISONS else cast(result, dtype.dtype)


def assert_close(found: xp.NDArray, expected: np.ndarray, name: str, what: Any) -> None:
    assert isinstance(found, xp.NDArray), what
    values = found._numpy()
    assert values.dtype == expected.dtype, what
    assert values.shape == expected.shape, what
    if name in ROUGH and expected.dtype.kind in "fc" and expected.dtype.itemsize > 2:
        np.testing.assert_allclose(values, expected, rtol=4 * np.finfo(expected.dtype).eps, err_msg=str(what))
    else:
        assert same_bits(values, expected), what


def operands(a: xp.DType, b: xp.DType) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that broadcast, of values for which every operator is defined and nothing overflows."""
    if "int2" in (a.name, b.name):
        return cast(np.ones((2, 3)), a.dtype), cast([1, 1, 1], b.dtype)
    if "uint2" in (a.name, b.name):
        return cast(np.ones((2, 3)), a.dtype), cast([1, 2, 1], b.dtype)
    return cast([[1, 2, 3], [4, 1, 2]], a.dtype), cast([1, 2, 1], b.dtype)


# -- arrays with arrays ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
@pytest.mark.parametrize("a", ALL_DTYPES, ids=str)
def test_two_arrays_combine_in_their_common_dtype_or_not_at_all(name, a):
    for b in ALL_DTYPES:
        first, second = operands(a, b)
        x, y = xp.asarray(first), xp.asarray(second)
        common = common_dtype(a, b)
        dtype = computed_dtype(name, common) if common else None
        if dtype is None:
            with pytest.raises(TypeError, match=rf"^{FUNCTIONS[name]}: "):
                forward(name)(x, y)
            continue
        for left, right, one, other in ((x, y, first, second), (y, x, second, first)):
            expected = computed(name, dtype, one, other)
            assert_close(forward(name)(left, right), expected, name, (a, b))
        assert same_bits(x._numpy(), first)
        assert same_bits(y._numpy(), second)


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_the_operator_is_the_function(name):
    function = getattr(xp, FUNCTIONS[name])
    for dtype in STANDARD:
        if computed_dtype(name, dtype) is None:
            continue
        first, second = (xp.asarray(one) for one in operands(dtype, dtype))
        assert same_bits(forward(name)(first, second)._numpy(), function(first, second)._numpy())


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_zero_dimensional_arrays_promote_like_others(name):
    for a, b in [(xp.float32, xp.float64), (xp.int8, xp.int64), (xp.uint8, xp.int8), (xp.complex64, xp.float64)]:
        dtype = computed_dtype(name, common_dtype(a, b))
        if dtype is None:
            continue
        for left, right in ((a, b), (b, a)):
            for shapes in (((3,), ()), ((), (3,)), ((), ())):
                result = forward(name)(xp.ones(shapes[0], dtype=left), xp.ones(shapes[1], dtype=right))
                assert isinstance(result, xp.NDArray)
                assert result.shape == np.broadcast_shapes(*shapes)
                assert result.dtype is (xp.bool if name in COMPARISONS else dtype)


def test_shapes_that_do_not_broadcast_are_a_value_error():
    x, y = xp.ones((2, 3)), xp.ones((2,))
    for name in BINARY + COMPARISONS:
        if name in ARITHMETIC + COMPARISONS:
            with pytest.raises(ValueError, match="broadcast"):
                forward(name)(x, y)
    assert (xp.ones((2, 1)) + xp.ones((0,))).shape == (2, 0)


@pytest.mark.parametrize("first", ARRANGEMENTS)
@pytest.mark.parametrize("second", ARRANGEMENTS)
def test_operands_of_any_two_layouts_give_the_same_values(first, second):
    a, b = numbers((3, 4)), numbers((3, 4))[::-1]
    x, y = xp.asarray(lay_out(a, first)), xp.asarray(lay_out(b, second))
    assert (x + y)._numpy().tolist() == (a + b).tolist()
    assert (x < y)._numpy().tolist() == (a < b).tolist()
    x -= y
    assert x._numpy().tolist() == (a - b).tolist()


# -- arrays with scalars -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_a_scalar_takes_the_dtype_of_the_array_where_its_kind_allows_on_either_side(name, dtype):
    first, _ = operands(dtype, dtype)
    x = xp.asarray(first)
    integer = 1 if dtype is xp.int2 else 2
    scalars = [True, integer, 1.5, 2j]
    numpys = [np.True_, np.int8(integer), np.uint64(integer), np.float32(1.5), np.float64(1.5)]
    numpys += [np.complex64(2j), np.complex128(2j)]
    for scalar in scalars + numpys:
        plain = scalar.item() if isinstance(scalar, np.generic) else scalar
        common = scalar_dtype(dtype, plain)
        compute = computed_dtype(name, common) if common else None
        if compute is None:
            for left, right in ((x, scalar), (scalar, x)):
                with pytest.raises(TypeError):
                    forward(name)(left, right)
            continue
        assert_close(forward(name)(x, scalar), computed(name, compute, first, plain), name, (dtype, scalar))
        assert_close(forward(name)(scalar, x), computed(name, compute, plain, first), name, (scalar, dtype))


@pytest.mark.parametrize("name", [*ARITHMETIC, *BITWISE])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_an_integer_outside_the_dtype_is_an_overflow_and_a_value_error(name, dtype):
    if name == "truediv":
        return  # integers divide as floats
    limits = np.iinfo(dtype.dtype)
    x = xp.ones(3, dtype=dtype)
    for value in (int(limits.max) + 1, int(limits.min) - 1, 2**80):
        for left, right in ((x, value), (value, x)):
            for error in (OverflowError, ValueError):
                with pytest.raises(error, match=rf"{FUNCTIONS[name]}: -?\d+ does not fit {dtype}; use astype"):
                    forward(name)(left, right)
        with pytest.raises(OverflowError):
            in_place(name)(x, value)
    assert x._numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_comparison_with_an_integer_outside_the_dtype_has_the_right_answer(name, dtype):
    limits = np.iinfo(dtype.dtype)
    values = [int(limits.min), 0, 1, int(limits.max)]
    x = xp.asarray(np.array(values, dtype.dtype))
    for number in (
        int(limits.max) + 1,
        int(limits.min) - 1,
        2**63,
        -(2**63) - 1,
        2**64,
        2**80,
        -(2**80),
        values[-1],
        values[0],
    ):
        assert forward(name)(x, number)._numpy().tolist() == [forward(name)(v, number) for v in values]
        assert forward(name)(number, x)._numpy().tolist() == [forward(name)(number, v) for v in values]


@pytest.mark.parametrize("name", COMPARISONS)
@given(
    st.lists(st.sampled_from([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]), min_size=3, max_size=3),
    st.lists(st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]), min_size=3, max_size=3),
)
def test_uint64_and_int64_compare_exactly(name, unsigned, signed):
    x, y = xp.asarray(unsigned, dtype=xp.uint64), xp.asarray(signed)
    assert forward(name)(x, y)._numpy().tolist() == [forward(name)(a, b) for a, b in zip(unsigned, signed)]
    assert forward(name)(y, x)._numpy().tolist() == [forward(name)(b, a) for a, b in zip(unsigned, signed)]


# -- operands that we don't know ---------------------------------------------------------------------


class Turn:
    """A type with operators of its own."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


for _name in BINARY + COMPARISONS + ["matmul"]:
    plain = _name.rstrip("_")
    mirrored = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}.get(plain, "r" + plain)
    setattr(Turn, f"__{mirrored}__", lambda self, other, name=_name: ("reflected", name))
    if _name not in COMPARISONS:
        setattr(Turn, f"__{plain}__", lambda self, other, name=_name: ("forward", name))


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS, "matmul"])
def test_a_type_with_operators_of_its_own_has_its_turn(name):
    x = xp.ones(3)
    other = Turn()
    assert forward(name)(x, other) == ("reflected", name)
    if name not in COMPARISONS:
        assert forward(name)(other, x) == ("forward", name)
        assert in_place(name)(x, other) == ("reflected", name)
    assert x._numpy().tolist() == [1, 1, 1]


UNKNOWN = [None, "a", b"a", [1.0], (1.0,), {}, object(), Decimal(1), Fraction(1, 2), Ellipsis, int, np.dtype("int8")]


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS, "matmul"])
@pytest.mark.parametrize("value", UNKNOWN, ids=lambda value: type(value).__name__)
def test_an_unknown_operand_is_a_type_error_and_equal_to_nothing(name, value):
    x = xp.ones(3, dtype=xp.int64)
    if name in ("eq", "ne"):
        assert forward(name)(x, value) is (name == "ne")
        assert forward(name)(value, x) is (name == "ne")
        return
    if name == "add" and isinstance(value, bytes):
        with pytest.raises(TypeError, match=r"add: x1 is a builtins.bytes, not an NDArray"):
            value + x  # from Python 3.12 on it would append our memory
        with pytest.raises(TypeError):
            x + value
        return
    method = getattr(xp.NDArray, f"__{name.rstrip('_')}__")
    if name in COMPARISONS and isinstance(value, np.dtype):
        with pytest.raises(TypeError, match="not an NDArray"):
            method(x, value)  # else NumPy would compare it with the dtype of x
        return
    assert method(x, value) is NotImplemented
    if (name, type(value)) == ("pow", Fraction):
        assert (x**value)._numpy().tolist() == [1, 1, 1]  # a Fraction has its turn, and makes a float of itself
        return
    with pytest.raises(TypeError):
        forward(name)(x, value)
    if name != "mod" or not isinstance(value, str | bytes):  # text % anything is formatting
        with pytest.raises(TypeError):
            forward(name)(value, x)
    if name not in COMPARISONS:
        with pytest.raises(TypeError):
            in_place(name)(x, value)
    assert x._numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_the_function_says_what_to_do_with_an_unknown_operand(name):
    function = getattr(xp, FUNCTIONS[name])
    x = xp.ones(3, dtype=xp.int64)
    for left, right, place in ((x, [1], "x2"), ([1], x, "x1"), ([1], 1, "x1")):
        message = rf"{FUNCTIONS[name]}: {place} is a builtins.list, not an NDArray; use candela_xp.asarray"
        with pytest.raises(TypeError, match=message):
            function(left, right)
    with pytest.raises(TypeError, match=rf"{FUNCTIONS[name]}: x2 is a numpy.ndarray"):
        function(x, np.ones(3, int))


class Derived(np.ndarray):
    """A subclass of NumPy's array."""


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS, "matmul"])
@pytest.mark.parametrize("kind", [np.array, lambda v: np.array(v).view(Derived)], ids=["ndarray", "derived"])
def test_a_numpy_array_is_refused_on_either_side_and_the_message_says_what_to_do(name, kind):
    x = xp.ones(3, dtype=xp.int64)
    array = kind([1, 1, 1])
    for left, right in ((x, array), (array, x)):
        with pytest.raises(TypeError, match=r"x[12] is a \S+, not an NDArray; use candela_xp.asarray"):
            forward(name)(left, right)
    if name not in COMPARISONS:
        with pytest.raises(TypeError, match=r"not an NDArray; use candela_xp.asarray"):
            in_place(name)(x, array)
        with pytest.raises(TypeError):  # NumPy's own in-place operator, and its own message
            in_place(name)(array, x)
    assert x._numpy().tolist() == array.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", [*BINARY, "matmul"])
def test_a_masked_array_is_refused_too(name):
    # Not its comparisons and in-place operators with us on the right: numpy.ma asks neither __array_ufunc__ nor
    # our reflected operator there, and takes the values by __array__ (numpy/ma/core.py, _comparison and __iadd__).
    x, array = xp.ones(3, dtype=xp.int64), np.ma.array([1, 1, 1])
    for left, right in ((x, array), (array, x)):
        with pytest.raises(
            TypeError, match=r"x[12] is a numpy\.ma\S*\.MaskedArray, not an NDArray; use candela_xp.asarray|ufunc"
        ):
            forward(name)(left, right)


def test_ufuncs_do_not_take_us_apart():
    x, array = xp.ones(3), np.ones(3)
    for ufunc in (np.add, np.equal, np.matmul, np.hypot):
        for pair in ((x, array), (array, x), (x, x)):
            with pytest.raises(TypeError, match="__array_ufunc__"):
                ufunc(*pair)
    with pytest.raises(TypeError):
        np.negative(x)


@pytest.mark.parametrize(
    "scalar", [np.timedelta64(5, "ns"), np.datetime64(1, "s"), np.str_("a"), np.bytes_(b"a"), np.longdouble(1)]
)
def test_numpy_scalars_that_are_no_numbers_of_ours_are_refused(scalar):
    x = xp.ones(3)
    for left, right in ((x, scalar), (scalar, x)):
        with pytest.raises(TypeError, match=r"add: .* is no number|not supported|ufunc"):
            left + right


class Liar:
    """It says that candela_xp is its namespace, and is no array of it."""

    dtype = xp.float64
    device = None
    shape = (3,)
    ndim = 1

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return xp


def test_an_object_that_claims_our_namespace_is_no_array_of_ours():
    x, liar = xp.ones(3), Liar()
    for name in [*BINARY, "lt", "matmul"]:
        for left, right in ((x, liar), (liar, x)):
            with pytest.raises(TypeError):
                forward(name)(left, right)
    for function in (
        xp.abs,
        xp.sum,
        xp.sort,
        xp.linalg.diagonal,
        xp.reshape,
        xp.concat,
        xp.unique_values,
        xp.matrix_transpose,
    ):
        with pytest.raises(TypeError, match=r"NDArray|sequence|tuple or list"):
            function(liar, (3,)) if function is xp.reshape else function(liar)
    with pytest.raises(TypeError, match="index"):
        x[liar]
    with pytest.raises(TypeError, match="setitem: Liar is no NDArray"):
        x[...] = liar
    with pytest.raises(TypeError, match="asarray"):
        xp.asarray(liar)


# -- in place ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("a", ALL_DTYPES, ids=str)
def test_in_place_keeps_dtype_and_memory_or_refuses_and_keeps_the_values(name, a):
    for b in ALL_DTYPES:
        first, second = operands(a, b)
        x, y = xp.asarray(first.copy()), xp.asarray(second)
        place = x._memory
        common = common_dtype(a, b)
        dtype = computed_dtype(name, common) if common else None
        fits = dtype is not None and (dtype is a or (LEVEL[dtype.kind] <= LEVEL[a.kind] and a is not xp.bool))
        if not fits:
            with pytest.raises(TypeError, match=rf"^{FUNCTIONS[name]}: "):
                in_place(name)(x, y)
            assert same_bits(x._numpy(), first), (a, b)
            continue
        result = in_place(name)(x, y)
        assert result is x
        assert x.dtype is a
        assert x._memory is place
        assert_close(x, cast(computed(name, dtype, first, second), a.dtype), name, (a, b))
        x = xp.asarray(first.copy())
        if dtype is not a:
            with xp.settings(strict=True), pytest.raises(TypeError, match=rf"^{FUNCTIONS[name]}: "):
                in_place(name)(x, y)
            assert same_bits(x._numpy(), first), (a, b)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_in_place_with_scalars_keeps_dtype_or_refuses(name, dtype):
    first, _ = operands(dtype, dtype)
    integer = 1 if dtype is xp.int2 else 2
    for scalar in (True, integer, 1.5, 2j, np.float64(1.5), np.int32(integer)):
        x = xp.asarray(first.copy())
        plain = scalar.item() if isinstance(scalar, np.generic) else scalar
        common = scalar_dtype(dtype, plain)
        compute = computed_dtype(name, common) if common else None
        if compute is dtype:
            assert in_place(name)(x, scalar) is x
            assert_close(x, computed(name, dtype, first, plain), name, (dtype, scalar))
        elif compute is None or LEVEL[compute.kind] > LEVEL[dtype.kind] or dtype is xp.bool:
            with pytest.raises(TypeError):
                in_place(name)(x, scalar)
            assert same_bits(x._numpy(), first)


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_in_place_writes_into_every_layout_and_nowhere_else(name, arrangement):
    for dtype in (xp.int32, xp.float64, xp.complex64, xp.bfloat16):
        if computed_dtype(name, dtype) is not dtype:
            continue
        values = (numbers((3, 4), dtype.dtype)).astype(dtype.dtype)
        array = lay_out(values, arrangement)
        owner = array if array.base is None else array.base
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        rest = np.ones(owner.nbytes, bool)
        inside = np.zeros(array.shape, np.int64) + (
            array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        )
        for axis, step in enumerate(array.strides):
            inside += (np.arange(array.shape[axis]) * step).reshape((-1,) + (1,) * (array.ndim - 1 - axis))
        rest[(inside.reshape(-1, 1) + np.arange(array.itemsize)).reshape(-1)] = False
        bytes_before = np.frombuffer(owner.tobytes(), np.uint8)[rest]
        x = xp.asarray(array)
        in_place(name)(x, 2)
        np.testing.assert_array_equal(np.frombuffer(owner.tobytes(), np.uint8)[rest], bytes_before)
        assert_close(xp.asarray(array.copy()), computed(name, dtype, values, 2), name, arrangement)


OVERLAPS = {
    "reversed": (lambda x: x, lambda x: x[::-1]),
    "shifted up": (lambda x: x[1:], lambda x: x[:-1]),
    "shifted down": (lambda x: x[:-1], lambda x: x[1:]),
    "first row": (lambda x: x, lambda x: x[0]),
    "last column": (lambda x: x, lambda x: x[:, -1:]),
    "one element": (lambda x: x, lambda x: x[1, 1, ...]),
    "transposed": (lambda x: x, lambda x: x.T),
    "itself": (lambda x: x, lambda x: x),
    "every other": (lambda x: x[::2], lambda x: x[1:3]),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("separate", [False, True], ids=["one array", "two asarrays"])
def test_an_operand_that_overlaps_the_target_is_read_before_it_is_written(name, overlap, separate):
    target, operand = OVERLAPS[overlap]
    for dtype in (xp.uint8, xp.int64, xp.float32, xp.complex128, xp.float16, xp.bfloat16, xp.bool):
        if computed_dtype(name, dtype) is not dtype:
            continue
        array = (np.arange(16).reshape(4, 4) % 3 + (dtype is not xp.bool)).astype(dtype.dtype)
        expected = array.copy()
        target(expected)[...] = computed(name, dtype, target(array), np.array(operand(array)))
        x = xp.asarray(array)
        y = xp.asarray(array) if separate else x
        part = target(x)
        assert in_place(name)(part, operand(y)) is part
        assert_close(xp.asarray(array), expected, name, (overlap, dtype))


def test_components_overlap_with_their_complex_array():
    array = np.array([1 + 2j, 3 + 4j])
    z = xp.asarray(array)
    re = xp.real(z)
    re += xp.imag(z)
    assert array.tolist() == [3 + 2j, 7 + 4j]
    z *= xp.real(z)
    assert array.tolist() == [9 + 6j, 49 + 28j]


def test_an_item_may_be_changed_in_place_also_of_a_broadcast_array():
    base = xp.asarray([1, 2, 3])
    base[1] += 5
    base[::2] *= 2
    assert base._numpy().tolist() == [2, 7, 6]
    x = xp.broadcast_to(base, (2, 3))
    x[0] += 1
    assert base._numpy().tolist() == [3, 8, 7]
    with pytest.raises(ValueError, match=r"add: several indices share an element.*asarray\(x, copy=True\)"):
        x += 1
    with pytest.raises(ValueError, match=r"bitwise_and: several indices share.*copy=True"):
        x &= x
    assert base._numpy().tolist() == [3, 8, 7]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_in_place_never_grows_the_array(name):
    x = xp.ones((3, 1))
    for y in (xp.ones((3, 2)), xp.ones((1, 3, 1)), xp.ones((1, 1, 1)), xp.ones((3, 0))):
        with pytest.raises(ValueError, match=rf"{FUNCTIONS[name]}: in place, the result has shape .*; drop the '='"):
            in_place(name)(x, y)
    with pytest.raises(ValueError, match="broadcast"):
        in_place(name)(x, xp.ones((4, 1)))
    assert x._numpy().tolist() == [[1], [1], [1]]
    in_place(name)(x, xp.ones((1,)))
    assert x.shape == (3, 1)


@pytest.mark.parametrize("dtype", [d for d in INTEGERS if d.kind == "int"], ids=str)
def test_an_integer_to_a_negative_power_raises_and_changes_nothing(dtype):
    for arrangement in ARRANGEMENTS:
        array = lay_out(np.array([2, 3, 4, 5], dtype.dtype), arrangement)
        x = xp.asarray(array)
        exponents = xp.asarray([2, 2, -1, 2], dtype=dtype)
        for base, exponent in ((x, exponents), (x, -1), (2, exponents)):
            with pytest.raises(ValueError, match=r"pow: an integer to a negative power .*; use astype"):
                base**exponent
        for exponent in (exponents, -1, exponents[2]):
            with pytest.raises(ValueError, match=r"pow: an integer to a negative power .*; use astype"):
                x **= exponent
            assert array.tolist() == [2, 3, 4, 5]


def test_read_only_memory_is_refused_before_anything_is_computed():
    array = np.ones(3)
    array.flags.writeable = False
    x = xp.asarray(array)
    for name in ARITHMETIC:
        with pytest.raises(ValueError, match=rf"{FUNCTIONS[name]}: .*read-only; use asarray\(x, copy=True\)"):
            in_place(name)(x, 2.0)
    m = xp.asarray(np.broadcast_to(array, (3, 3)))
    with pytest.raises(ValueError, match=r"matmul: .*copy=True"):
        m @= m


# -- one operand -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_operators_of_one_operand_make_new_arrays(dtype):
    array = cast([1, 2, 4], dtype.dtype)
    x = xp.asarray(array)
    kind = dtype.kind
    positive = +x
    assert not np.shares_memory(positive._numpy(), array)
    expected = array.astype(np.int64) if kind == "bool" else array
    assert same_bits(positive._numpy(), expected)
    size = abs(x)
    real = xp.float16 if dtype is xp.complex32 else dtype
    wide = cast(expected, dtype.wide) if dtype.extension else expected
    assert same_bits(size._numpy(), cast(np.abs(wide), real.dtype) if dtype.extension else np.abs(expected))
    if kind == "bool":
        with pytest.raises(TypeError, match=r"negative: .*use logical_not"):
            operator.neg(x)
    elif dtype is not xp.float8_e8m0fnu:  # which has no sign
        assert same_bits((-x)._numpy(), cast(-wide, dtype.dtype) if dtype.extension else -array)
    if kind in ("bool", "int", "uint"):
        assert same_bits((~x)._numpy(), cast(~wide, dtype.dtype) if dtype.extension else ~array)
    else:
        with pytest.raises(TypeError, match="bitwise_invert: not defined for"):
            operator.invert(x)


# -- products ----------------------------------------------------------------------------------------


def test_matmul_as_an_operator():
    a, b = numbers((2, 3)), numbers((3, 2))
    x, y = xp.asarray(a), xp.asarray(b)
    assert (x @ y)._numpy().tolist() == (a @ b).tolist()
    assert (x[0, :] @ y)._numpy().tolist() == (a[0] @ b).tolist()
    square = xp.asarray(numbers((2, 2)))
    kept, place = square, square._memory
    square @= square
    assert square is kept
    assert square._memory is place
    assert square._numpy().tolist() == (numbers((2, 2)) @ numbers((2, 2))).tolist()
    z = xp.asarray(numbers((2, 2)))
    with pytest.raises(ValueError, match=r"matmul: in place, the result has shape \(2,\), the array \(2, 2\)"):
        z @= z[0, :]
    with pytest.raises(TypeError, match="matmul: in place, the result has dtype complex128"):
        z @= xp.asarray(numbers((2, 2), "complex128"))
    assert z._numpy().tolist() == numbers((2, 2)).tolist()
    for scalar in (2, 2.0, True, np.float64(2)):
        for call in (lambda s=scalar: z @ s, lambda s=scalar: s @ z):
            with pytest.raises((TypeError, ValueError)):
                call()


def test_what_python_cannot_do_with_arrays_stays_a_type_error():
    x = xp.asarray([1, 2, 3])
    for call in (
        lambda: divmod(x, 2),
        lambda: divmod(2, x),
        lambda: pow(x, 2, 3),
        lambda: hash(x),
        lambda: {x: 1},
        lambda: round(x),
    ):
        with pytest.raises(TypeError):
            call()


# -- devices and modes -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS, "matmul"])
def test_arrays_on_different_devices_do_not_mix_and_the_error_names_both(name):
    with xp.settings(simulated_devices=3):
        cpu, first, second = xp.__array_namespace_info__().devices()
        for a, b in ((cpu, first), (first, cpu), (first, second)):
            x, y = xp.ones(3, dtype=xp.int64, device=a), xp.ones(3, dtype=xp.int64, device=b)
            with pytest.raises(DeviceError, match=rf"one array is on {a}, the other on {b}; use to_device"):
                forward(name)(x, y)
            if name not in COMPARISONS:
                with pytest.raises(DeviceError, match=f"{a}.*{b}"):
                    in_place(name)(x, y)
            assert x._numpy().tolist() == [1, 1, 1]
            if name != "matmul":
                assert forward(name)(x, x).device is a
                assert forward(name)(x, 1).device is a
                assert forward(name)(1, x).device is a


STRICT = [
    (xp.int32, xp.float32),
    (xp.bool, xp.int8),
    (xp.uint64, xp.int8),
    (xp.int8, 1.5),
    (xp.bool, 1),
    (xp.int8, True),
    (xp.int64, 1j),
    (xp.float64, np.float32(1)),
    (xp.int64, np.int64(1)),
]


@pytest.mark.parametrize(("dtype", "other"), STRICT, ids=repr)
def test_strict_mode_refuses_operands_that_the_standard_does_not_mix(dtype, other):
    x = xp.ones(3, dtype=dtype)
    y = xp.ones(3, dtype=other) if isinstance(other, xp.DType) else other
    for left, right in ((x, y), (y, x)):
        assert isinstance(left * right, xp.NDArray)
        assert isinstance(left == right, xp.NDArray)
        with xp.settings(strict=True):
            for name, function in (("mul", "multiply"), ("eq", "equal")):
                with pytest.raises(TypeError, match=rf"{function}: .*(astype|\.item\(\))"):
                    forward(name)(left, right)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ARITHMETIC), st.sampled_from(STANDARD), st.data())
def test_strict_mode_gives_the_same_answers_where_it_gives_any(name, dtype, data):
    first, second = operands(dtype, dtype)
    scalar = data.draw(st.sampled_from([2, 1.5, 2j]))
    for left, right in (
        (xp.asarray(first), xp.asarray(second)),
        (xp.asarray(first), scalar),
        (scalar, xp.asarray(first)),
    ):
        with xp.settings(strict=True):
            try:
                found = forward(name)(left, right)
            except TypeError as error:
                assert "; use " in str(error) or "not defined" in str(error)  # noqa: PT017
                continue
        assert same_bits(found._numpy(), forward(name)(left, right)._numpy())


@pytest.mark.parametrize("size", [2, 20_000])
@pytest.mark.parametrize("name", ["int64", "float64"])
def test_an_in_place_operator_that_the_error_state_stops_leaves_the_array_as_it_was(name: str, size: int) -> None:
    x = xp.full(size, 7, dtype=getattr(xp, name))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x //= 0
    assert bool(xp.all(x == 7))
    if name == "float64":
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            x /= 0.0
        assert bool(xp.all(x == 7))


def test_an_in_place_operator_that_a_warning_stops_leaves_a_small_array_as_it_was() -> None:
    x = xp.asarray([7, 8])
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        x //= 0
    assert [int(one) for one in x] == [7, 8]
