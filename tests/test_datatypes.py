"""Data type functions: casts, promotion, limits, kinds."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import cast
from oracles import (
    ALL_DTYPES,
    COMPLEX,
    FLOAT,
    INF,
    INTEGER,
    NAN,
    NARROW,
    NARROW_INTEGER,
    REAL_FLOAT,
    SIGNED,
    STANDARD,
    UNSIGNED,
    arranged,
    examples,
    identical,
    kind,
    ours,
    plain,
    special,
    tame,
    twin,
)  # fmt: skip

import candela_xp as xp
from candela_xp import settings as candela_settings

EVERY = [*ALL_DTYPES, "float8_e8m0fnu", "int2", "uint2"]

# -- astype -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ALL_DTYPES)
@pytest.mark.parametrize("target", ALL_DTYPES)
def test_astype_casts_in_every_layout_to_a_dense_new_array(source: str, target: str) -> None:
    values, own = tame(source).reshape(3, 4), getattr(xp, target)
    if kind(source) == "complex" and kind(target) not in ("complex", "bool"):
        with pytest.raises(TypeError, match=rf"^astype: {source} to {target} would drop the imaginary part"):
            xp.astype(ours(values), own)
        return
    wide = values.astype(np.float64) if source in [*NARROW, *NARROW_INTEGER] else values
    want = wide != 0 if target == "bool" else cast(wide, twin(target))
    for layout, view in arranged(values):
        got = xp.astype(ours(view), own)
        assert got.dtype is own
        assert identical(plain(got), want), layout
        assert not np.may_share_memory(plain(got), view)
        assert got.layout.is_contiguous
        got[...] = got


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_astype_to_the_same_dtype_copies_unless_told_not_to(dtype: str) -> None:
    for layout, view in examples(dtype):
        x = ours(view)
        assert xp.astype(x, x.dtype, copy=False) is x
        copied = xp.astype(x, x.dtype)
        assert copied is not x
        assert identical(plain(copied), view), layout
        assert not np.may_share_memory(plain(copied), view)
        assert (
            xp.astype(x, xp.float32 if dtype != "float32" else xp.float64, copy=False) is not x
            if kind(dtype) != "complex"
            else True
        )


@pytest.mark.parametrize("dtype", [*FLOAT, *NARROW])
def test_everything_but_zero_is_true(dtype: str) -> None:
    values = special(dtype)
    wide = values.astype(np.complex128) if dtype not in NARROW else values.astype(np.float32)
    assert identical(plain(xp.astype(ours(values), xp.bool)), wide != 0)
    if kind(dtype) == "complex":
        assert bool(xp.astype(xp.asarray(complex(0, NAN), dtype=getattr(xp, dtype)), xp.bool))
    assert not bool(xp.astype(xp.asarray(-0.0, dtype=getattr(xp, dtype)), xp.bool))


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(INTEGER))
def test_integers_wrap_as_c_does(number: int, target: str) -> None:
    known = np.iinfo(target)
    size = int(known.max) - int(known.min) + 1
    got = int(xp.astype(xp.asarray([number]), getattr(xp, target))[0])
    assert got == (number - int(known.min)) % size + int(known.min)


def test_astype_refuses_what_is_no_array_or_dtype() -> None:
    for wrong in ("float32", None, 3, object()):
        with pytest.raises(TypeError, match=r"^astype: .* is no dtype of candela_xp"):
            xp.astype(xp.ones(2), wrong)
    with pytest.raises(TypeError, match=r"^astype: x is a builtins.list"):
        xp.astype([1], xp.int8)


# -- can_cast, result_type ------------------------------------------------------------------------------------

LEVELS = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}


def promotes(source: str, target: str) -> bool:
    """The standard's promotion tables, from their rules."""
    a, b = kind(source), kind(target)
    bits, wide = np.dtype(source).itemsize, np.dtype(target).itemsize
    if source == target:
        return True
    if (a, b) in (("int", "int"), ("uint", "uint"), ("float", "float"), ("complex", "complex")):
        return bits < wide
    if (a, b) == ("uint", "int"):
        return bits < wide
    return (a, b) == ("float", "complex") and bits <= wide // 2


@pytest.mark.parametrize("source", STANDARD)
@pytest.mark.parametrize("target", STANDARD)
def test_can_cast_follows_the_promotion_tables_and_in_default_mode_numpys_across_kinds(
    source: str, target: str
) -> None:
    a, b = getattr(xp, source), getattr(xp, target)
    with candela_settings(strict=True):
        assert xp.can_cast(a, b) is promotes(source, target)
        assert xp.can_cast(xp.ones(1, dtype=a), b) is promotes(source, target)
    by_numpy = np.result_type(np.dtype(source), np.dtype(target)) == np.dtype(target)
    assert xp.can_cast(a, b) is bool(by_numpy)


@pytest.mark.parametrize("first", STANDARD)
@pytest.mark.parametrize("second", STANDARD)
def test_result_type_is_the_smallest_dtype_to_which_both_cast(first: str, second: str) -> None:
    a, b = getattr(xp, first), getattr(xp, second)
    found = [name for name in STANDARD if promotes(first, name) and promotes(second, name)]
    with candela_settings(strict=True):
        if found:
            least = min(found, key=lambda name: (np.dtype(name).itemsize, kind(name) != kind(first)))
            assert xp.result_type(a, b) is xp.result_type(b, a) is getattr(xp, least)
            assert xp.result_type(xp.ones(2, dtype=a), b) is getattr(xp, least)
        else:
            with pytest.raises(TypeError, match=r"^result_type: cannot mix"):
                xp.result_type(a, b)
    assert xp.result_type(a, b) == np.result_type(np.dtype(first), np.dtype(second))


@given(st.lists(st.sampled_from([*STANDARD, True, 2, 0.5, 1j]), min_size=1, max_size=5))
def test_result_type_does_not_depend_on_the_order(things: list[Any]) -> None:
    given_things = [getattr(xp, one) if isinstance(one, str) else one for one in things]
    for strict in (False, True):
        found: set[Any] = set()
        with candela_settings(strict=strict):
            for order in itertools.permutations(given_things):
                try:
                    found.add(xp.result_type(*order))
                except TypeError:
                    found.add(TypeError)
        assert len(found) == 1


@pytest.mark.parametrize(
    ("things", "want"),
    [
        ((xp.float32, 1), "float32"), ((xp.float32, 1.5), "float32"), ((xp.float32, 1j), "complex64"),
        ((xp.float64, 1j), "complex128"), ((xp.uint8, 1), "uint8"), ((1, xp.uint8, xp.int8), "int16"),
        ((xp.int8, 1.5), "float64"), ((xp.bool, 1), "int64"), ((xp.bool, True), "bool"),
        ((xp.complex64, 2.5), "complex64"),
        ((1, 2.5), "float64"), ((True,), "bool"), ((xp.bfloat16, 1.5), "bfloat16"),
        ((xp.float16, xp.bfloat16), "float32"),
        ((xp.int16, xp.uint16, xp.float32), "float32"), ((np.float64(1.0), xp.float32), "float32"),
        ((xp.int8, xp.int16, xp.int64, xp.int8), "int64"), ((True, 1, 2.0, 1j), "complex128"),
    ],
)  # fmt: skip
def test_result_type_of_scalars_dtypes_and_arrays(things: Any, want: str) -> None:
    assert xp.result_type(*things) is getattr(xp, want)
    arrays = [xp.ones(2, dtype=one) if isinstance(one, xp.DType) else one for one in things]
    assert xp.result_type(*arrays) is getattr(xp, want)


def test_result_type_refuses_nothing_and_what_is_no_dtype() -> None:
    with pytest.raises(ValueError, match=r"^result_type: at least one"):
        xp.result_type()
    for wrong in ("float32", None, [1], np.ones(2)):
        with pytest.raises(TypeError, match=r"^result_type: .* is no dtype"):
            xp.result_type(xp.float32, wrong)
        with pytest.raises(TypeError, match=r"^can_cast: "):
            xp.can_cast(wrong, xp.float32)
    with pytest.raises(TypeError, match=r"^result_type: float8_e5m2 and int8 have no common dtype"):
        xp.result_type(xp.float8_e5m2, xp.int8)
    with pytest.raises(TypeError, match=r"^result_type: .*complex scalar"):
        xp.result_type(xp.float8_e5m2, 1j)


# -- finfo, iinfo ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOAT, *NARROW, "float8_e8m0fnu"])
def test_finfo_gives_python_numbers_for_dtypes_and_arrays(dtype: str) -> None:
    own = getattr(xp, dtype)
    component = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    want = np.finfo(component) if dtype in FLOAT else ml_dtypes.finfo(twin(dtype))
    for info in (xp.finfo(own), xp.finfo(xp.ones(2, dtype=own))):
        assert info.bits == want.bits
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, name)) is float
            assert getattr(info, name) == float(getattr(want, name))
        assert type(info.bits) is int
        assert info.dtype is getattr(xp, component)
        assert all(name in repr(info) for name in ("bits=", "eps=", "max=", "min=", "smallest_normal=", "dtype="))


@pytest.mark.parametrize("dtype", INTEGER)
def test_iinfo_gives_python_integers_for_dtypes_and_arrays(dtype: str) -> None:
    own = getattr(xp, dtype)
    for info in (xp.iinfo(own), xp.iinfo(xp.ones(2, dtype=own))):
        bits = int(dtype.removeprefix("u")[3:])
        low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        assert (info.bits, info.min, info.max, info.dtype) == (bits, low, high, own)
        assert {type(info.bits), type(info.min), type(info.max)} == {int}


def test_limits_of_the_other_kind_are_refused_with_the_way_out() -> None:
    for dtype in ("bool", *INTEGER):
        with pytest.raises(TypeError, match=rf"^finfo: {dtype} is not floating-point; use iinfo"):
            xp.finfo(getattr(xp, dtype))
    for dtype in ("bool", *FLOAT, *NARROW):
        with pytest.raises(TypeError, match=rf"^iinfo: {dtype} is no integer dtype; use finfo"):
            xp.iinfo(getattr(xp, dtype))
    assert xp.finfo(np.float32).dtype is xp.float32
    assert xp.iinfo(np.dtype("int8")).dtype is xp.int8


# -- isdtype ----------------------------------------------------------------------------------------------------

KINDS = {
    "bool": ["bool"], "signed integer": [*SIGNED, "int2", "int4"],
    "unsigned integer": [*UNSIGNED, "uint2", "uint4"], "integral": [*INTEGER, "int2", "int4", "uint2", "uint4"],
    "real floating": [*REAL_FLOAT, *NARROW, "float8_e8m0fnu"], "complex floating": [*COMPLEX, "complex32"],
    "numeric": [name for name in EVERY if name != "bool"],
}  # fmt: skip


@pytest.mark.parametrize("dtype", EVERY)
def test_isdtype_knows_every_kind_and_tuples_of_kinds_and_dtypes(dtype: str) -> None:
    own = getattr(xp, dtype)
    for name, members in KINDS.items():
        assert xp.isdtype(own, name) is (dtype in members)
        for other, others in KINDS.items():
            assert xp.isdtype(own, (name, other)) is (dtype in members or dtype in others)
    for other in EVERY:
        assert xp.isdtype(own, getattr(xp, other)) is (dtype == other)
        assert xp.isdtype(own, ("bool", getattr(xp, other))) is (dtype in ("bool", other))
    assert xp.isdtype(own, ()) is False


def test_isdtype_refuses_unknown_kinds_also_behind_one_that_fits() -> None:
    for wrong in ("float", "int", "Bool", "real floating-point"):
        with pytest.raises(ValueError, match=rf"^isdtype: kind '{wrong}' is unknown; there are bool, complex floating"):
            xp.isdtype(xp.bool, wrong)
        with pytest.raises(ValueError, match=r"^isdtype: kind"):
            xp.isdtype(xp.bool, ("bool", wrong))
    for wrong in (None, 3, ["bool"]):
        with pytest.raises(TypeError, match=r"^isdtype: "):
            xp.isdtype(xp.bool, wrong)
    with pytest.raises(TypeError, match=r"^isdtype: "):
        xp.isdtype("bool", "bool")
    assert xp.isdtype(np.dtype("float32"), "real floating")


def test_infinity_and_nan_survive_between_floats() -> None:
    for first, second in itertools.product((*FLOAT, "float16", "bfloat16"), repeat=2):
        if kind(first) == "complex" and kind(second) != "complex":
            continue
        got = plain(xp.astype(xp.asarray([INF, -INF, NAN], dtype=getattr(xp, first)), getattr(xp, second)))
        wide = got.real.astype(np.float64)
        assert (wide[0], wide[1]) == (INF, -INF)
        assert np.isnan(wide[2])
