"""Conversions from and to narrow dtypes round once, half to even; printing is their inverse.

The oracle is exact: fractions, and the least and the greatest exponent of a dtype.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, cast, lay_out
from oracles import identical, kind, ours, plain, twin, widened

import candela_xp as xp
from candela_xp import settings as candela_settings
from candela_xp._dtypes import DTYPES, EXTENSIONS, DType

EVERY = list(DTYPES)
NARROW = [d.name for d in EXTENSIONS]
FLOATS = [d.name for d in EXTENSIONS if d.kind == "float"]
# 2**k alone, without zero and sign
SCALE = "float8_e8m0fnu"
ROUNDING = [name for name in FLOATS if name != SCALE]
# What becomes of a number beyond the greatest; elsewhere it is an infinity.
NAN_BEYOND = ["float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", SCALE]
SATURATING = ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


def nearest(exact: Fraction | float, name: str) -> float:
    """The value of a narrow float nearest to a number; of two equally near the one whose last bit is 0."""
    known = ml_dtypes.finfo(twin(name))
    signed_zero = "uz" not in name
    if isinstance(exact, float):  # NaN, an infinity or a zero with its sign
        if math.isnan(exact):
            return -0.0 if name in SATURATING else math.nan
        if exact == 0.0:
            return exact if signed_zero else 0.0
        return beyond(exact, name)
    size = abs(exact)
    # floor(log2): numerator and denominator are near enough to it to need one comparison.
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, int(known.minexp)) - int(known.nmant))
    multiple = round(size / unit) * unit
    if multiple > Fraction(float(known.max)):
        return beyond(math.copysign(math.inf, exact), name)
    found = float(multiple)
    return math.copysign(found, exact if found or signed_zero else 1.0)


def beyond(infinity: float, name: str) -> float:
    if name in NAN_BEYOND:
        return math.nan
    return math.copysign(float(ml_dtypes.finfo(twin(name)).max), infinity) if name in SATURATING else infinity


def exactly(value: Any) -> Fraction | float:
    """A number as a fraction; zeros of either sign, infinities and NaN as floats."""
    number = value if isinstance(value, int) else float(value)
    if isinstance(number, float) and (not math.isfinite(number) or number == 0.0):
        return number
    return Fraction(number) if number else 0.0


def numbers_of(view: np.ndarray) -> list[Any]:
    wide = widened(view)
    return [int(v) if wide.dtype.kind in "biu" else v.item() for v in wide.ravel()]


def wanted(source: np.ndarray, target: str) -> np.ndarray:
    """The conversion by exact arithmetic, of one axis."""
    numbers = numbers_of(source)
    if kind(target) == "complex":
        parts = [(nearest(exactly(complex(v).real), "float16"), nearest(exactly(complex(v).imag), "float16"))
                 for v in numbers]  # fmt: skip
        return cast(np.array([complex(*part) for part in parts], np.complex64), twin(target))
    if kind(target) in ("int", "uint"):
        low, size = (int(xp.iinfo(getattr(xp, target)).min), 2 ** getattr(xp, target).bits)
        return cast(np.array([(int(v) - low) % size + low for v in numbers], np.int8), twin(target))
    return np.array([nearest(exactly(v), target) for v in numbers], np.float32).astype(twin(target))


def near_ties(name: str) -> list[Fraction]:
    """Values, the numbers half-way to their neighbours, and those a little beside."""
    known = ml_dtypes.finfo(twin(name))
    tiny, step, most = Fraction(float(known.smallest_subnormal)), Fraction(float(known.eps)), Fraction(float(known.max))
    if name == SCALE:
        tiny = Fraction(2) ** -20
    found = []
    least = tiny if name == SCALE else Fraction(float(known.tiny))
    for value in (tiny, 3 * tiny, least, Fraction(1), 1 + step, Fraction(3, 2), Fraction(5), most):
        exponent = math.floor(math.log2(value))
        unit = Fraction(2) ** (max(exponent, int(known.minexp)) - int(known.nmant))
        for shift in (0, Fraction(1, 2), Fraction(-1, 2), Fraction(1, 4)):
            for beside in (0, Fraction(1, 2**30), Fraction(-1, 2**30), Fraction(1, 2**14)):
                found.append(value + unit * shift + unit * beside)
    return [value for value in found if value > 0]


def samples(source: str, target: str) -> np.ndarray:
    """Values of a dtype where its conversion to another may go wrong."""
    if kind(source) == "bool":
        return np.array([True, False])
    if kind(source) in ("int", "uint"):
        limits = xp.iinfo(getattr(xp, source))
        found = {0, 1, 2, 3, int(limits.min), int(limits.max), int(limits.max) - 1, int(limits.min) + 1}
        for exponent in range(1, 64):
            for less in (4, 8, 9, 10, 11, 12, 24, 25, 40, 53, 54):
                tie = 2**exponent + (2 ** (exponent - less) if exponent >= less else 0)
                found |= {tie, tie - 1, tie + 1, -tie, -tie - 1, 3 * tie, 3 * tie + 1}
        inside = sorted(v for v in found if limits.min <= v <= limits.max)
        return cast(np.array(inside, np.int8 if source in NARROW else source), twin(source))
    some = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e9, -1e9, 1e30, 1e-9]
    if kind(target) == "float" and target in NARROW:
        some += [sign * float(value) for value in near_ties(target) for sign in (1, -1)]
    elif kind(target) == "complex":
        some += [float(value) for value in near_ties("float16")]
    with np.errstate(all="ignore"):
        if kind(source) == "complex":
            return cast(np.array(some) + 1j * np.roll(some, 7), twin(source))
        return cast(np.array(some), twin(source))


@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize("source", EVERY)
def test_a_conversion_to_a_narrow_dtype_rounds_the_exact_value_once(source: str, target: str) -> None:
    if kind(source) == "complex" and kind(target) != "complex":
        return  # refused, see test_datatypes
    values = samples(source, target)
    if kind(target) in ("int", "uint") and kind(source) == "float":
        wide = widened(values)
        values = values[np.isfinite(wide) & (np.abs(wide) < 100)]
        if target.startswith("u"):
            values = values[widened(values) >= 0]
    if target == SCALE:
        # Neither zero nor sign: NaN, which the next test says. ml_dtypes rounds float32's subnormals upwards.
        values = values[widened(values) >= 2.0**-126]
    want = wanted(values, target)
    for defer in (2**62, 0):
        with np.errstate(all="ignore"), candela_settings(defer_min_bytes=defer):
            got = plain(xp.astype(ours(values), getattr(xp, target)))
            assert identical(got, want), [
                (v, g, w) for v, g, w in zip(values, got, want) if not identical(g[None], w[None])
            ][:5]
            for name in ARRANGEMENTS:
                two = np.resize(values, (7, 6))
                got = plain(xp.astype(ours(lay_out(two, name)), getattr(xp, target)))
                assert identical(got, np.resize(want, (7, 6))), name


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "int32", "uint64"])
def test_a_scale_has_nan_for_what_is_negative(source: str) -> None:
    with np.errstate(all="ignore"):
        x = ours(np.array([-1, -4]).astype(twin(source)) if source != "uint64" else np.array([], np.uint64))
        assert np.isnan(widened(plain(xp.astype(x, xp.float8_e8m0fnu)))).all()


@pytest.mark.parametrize("source", NARROW)
@pytest.mark.parametrize("target", [name for name in EVERY if name not in NARROW])
def test_a_conversion_from_a_narrow_dtype_is_exact(source: str, target: str) -> None:
    if kind(source) == "complex" and kind(target) not in ("complex", "bool"):
        return
    values = samples(source, "float16")
    wide = widened(values)
    if kind(target) in ("int", "uint") and kind(source) == "float":
        values = values[np.isfinite(wide) & (np.abs(wide) < 127)]
        wide = widened(values)
        if kind(target) == "uint":
            values, wide = values[wide >= 0], wide[wide >= 0]
    for defer in (2**62, 0):
        with candela_settings(defer_min_bytes=defer):
            got = plain(xp.astype(ours(values), getattr(xp, target)))
            assert identical(got, wide != 0 if target == "bool" else wide.astype(target))


@given(st.sampled_from(ROUNDING), st.lists(st.floats(width=64), min_size=1, max_size=30))
def test_any_float64_becomes_the_nearest(name: str, numbers: list[float]) -> None:
    with np.errstate(all="ignore"):
        got = plain(xp.astype(xp.asarray(numbers, dtype=xp.float64), getattr(xp, name)))
    assert identical(got, np.array([nearest(exactly(v), name) for v in numbers], np.float32).astype(twin(name)))


@given(st.sampled_from(ROUNDING), st.data())
def test_any_integer_becomes_the_nearest(name: str, data: st.DataObject) -> None:
    source, low, high = data.draw(st.sampled_from([("int64", -(2**63), 2**63 - 1), ("uint64", 0, 2**64 - 1)]))
    numbers = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=30))
    want = np.array([nearest(exactly(v), name) for v in numbers], np.float32).astype(twin(name))
    with np.errstate(all="ignore"):
        assert identical(plain(xp.astype(ours(np.array(numbers, source)), getattr(xp, name))), want)
        assert identical(plain(xp.asarray(numbers, dtype=getattr(xp, name))), want), "from a list"


@pytest.mark.parametrize("name", ROUNDING)
def test_every_way_to_make_an_array_of_python_numbers_rounds_once(name: str) -> None:
    dtype = getattr(xp, name)
    step = Fraction(float(ml_dtypes.finfo(twin(name)).eps))
    for number in (1 + float(step / 2) + 2**-40, 1 + float(step / 2), 1 + float(3 * step / 2) - 2**-40):
        want = np.array([nearest(Fraction(number), name)], np.float32).astype(twin(name))
        x = xp.zeros(1, dtype=dtype)
        x[0] = number
        made = [
            xp.asarray([number], dtype=dtype), xp.full(1, number, dtype=dtype), xp.full_like(x, number), x,
            xp.asarray(np.array([number]), dtype=dtype), xp.reshape(xp.asarray(number, dtype=dtype), (1,)),
            xp.zeros(1, dtype=dtype) + number, xp.linspace(number, 2 * number, 1, dtype=dtype),
            xp.where(xp.asarray([True]), number, xp.zeros(1, dtype=dtype)),
            xp.arange(number, number + 1, 2, dtype=dtype),
        ]  # fmt: skip
        assert [identical(plain(one), want) for one in made] == [True] * len(made), number
    if name in ("float16", "bfloat16"):
        # As float64 this is the tie between two numbers.
        number = (2**62 + 2**54 + 1) if name == "bfloat16" else 2**15 + 2**4 + 1
        want = np.array([nearest(Fraction(number), name)], np.float32).astype(twin(name))
        x = xp.zeros(1, dtype=dtype)
        x[0] = number
        made = [
            xp.asarray([number], dtype=dtype),
            xp.full(1, number, dtype=dtype),
            xp.asarray([[0.5], [number]], dtype=dtype)[1],
            x,
            xp.zeros(1, dtype=dtype) + number,
        ]
        assert [identical(plain(one), want) for one in made] == [True] * len(made), number


# -- printing ------------------------------------------------------------------------------------------------


def evaluated(text: str) -> xp.NDArray:
    """What a representation says, made again."""

    def made(values: Any, *, dtype: DType, shape: tuple[int, ...] | None = None) -> xp.NDArray:
        found = xp.asarray(values, dtype=dtype)
        return found if shape is None else xp.reshape(found, shape)

    return eval(text, {"NDArray": made, "nan": math.nan, "inf": math.inf, **DTYPES})


def all_values(name: str) -> np.ndarray:
    if name == "complex32":
        # "nanj" and "infj" are no Python.
        parts = np.arange(0, 2**16, 7, dtype=np.uint16)
        parts = parts[np.isfinite(parts.view(np.float16))]
        return parts[: len(parts) // 2 * 2].view(twin(name))
    bits = getattr(xp, name).bits
    if bits == 16:
        return np.arange(0, 2**16, 5, dtype=np.uint16).view(twin(name))
    return (
        cast(np.arange(2**bits), np.uint8).view(twin(name))
        if kind(name) == "float"
        else cast(np.arange(2**bits, dtype=np.int8), twin(name))
    )


@pytest.mark.parametrize("name", NARROW)
def test_a_representation_evaluates_to_the_same_values(name: str) -> None:
    values = all_values(name)
    for part in np.array_split(values, -(-len(values) // 900)):
        with np.errstate(all="ignore"):
            assert identical(plain(evaluated(repr(ours(part)))), part)
    for one in values[:: max(1, len(values) // 50)]:
        with np.errstate(all="ignore"):
            assert identical(plain(evaluated(repr(ours(np.asarray(one))))), np.asarray(one))


@pytest.mark.parametrize("name", ROUNDING)
def test_a_number_is_printed_with_as_few_digits_as_tell_it_from_its_neighbours(name: str) -> None:
    values = all_values(name)
    for value in values[:: max(1, len(values) // 400)]:
        number = float(widened(np.asarray(value)))
        if not math.isfinite(number) or number == 0:
            continue
        text = repr(ours(np.asarray(value))).removeprefix("NDArray(").split(",")[0]
        if number.is_integer() and abs(number) < 1e6:
            assert float(text) == number, "whole numbers in full"
            continue
        digits = len(Decimal(text).normalize().as_tuple().digits)
        assert nearest(exactly(float(text)), name) == number
        if digits > 1:
            fewer = float(f"{number:.{digits - 2}e}")
            assert nearest(exactly(fewer), name) != number, (text, fewer)


def test_printing_warns_of_nothing_and_marks_what_is_left_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in NARROW:
            x = xp.ones((40, 40), dtype=getattr(xp, name))
            assert "..." in repr(x)
            assert repr(x).endswith(f"dtype={name})")
