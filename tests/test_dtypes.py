"""Data types: identity, equality with the NumPy twin, and the promotion tables of the standard written out."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations, product

import ml_dtypes
import numpy as np
import pytest

import candela_xp
from candela_xp import _dtypes, settings
from candela_xp._dtypes import DTYPES, EXTENSIONS, STANDARD, DType, can_cast, is_kind, named, promote, scalar_dtype

ALL = list(DTYPES.values())
each_dtype = pytest.mark.parametrize("dtype", ALL, ids=str)

# -- the rows ------------------------------------------------------------------------------------------

# Array API 2025.12, "Data Types": name -> kind, bits
STANDARD_ROWS = {
    "bool": ("bool", 8),
    "int8": ("int", 8),
    "int16": ("int", 16),
    "int32": ("int", 32),
    "int64": ("int", 64),
    "uint8": ("uint", 8),
    "uint16": ("uint", 16),
    "uint32": ("uint", 32),
    "uint64": ("uint", 64),
    "float32": ("float", 32),
    "float64": ("float", 64),
    "complex64": ("complex", 64),
    "complex128": ("complex", 128),
}


def test_the_standard_has_thirteen_dtypes_and_these_are_their_kinds_and_bits():
    assert {d.name: (d.kind, d.bits) for d in STANDARD} == STANDARD_ROWS
    assert not any(d.extension for d in STANDARD)


NARROW_ROWS = {
    "float16": ("float", 16), "bfloat16": ("float", 16), "complex32": ("complex", 32),
    "float8_e4m3fn": ("float", 8), "float8_e5m2": ("float", 8), "float8_e4m3b11fnuz": ("float", 8),
    "float8_e4m3fnuz": ("float", 8), "float8_e5m2fnuz": ("float", 8), "float8_e4m3": ("float", 8),
    "float8_e3m4": ("float", 8), "float8_e8m0fnu": ("float", 8),
    "float6_e2m3fn": ("float", 6), "float6_e3m2fn": ("float", 6), "float4_e2m1fn": ("float", 4),
    "int2": ("int", 2), "uint2": ("uint", 2), "int4": ("int", 4), "uint4": ("uint", 4),
}  # fmt: skip
WIDE = {"float": "float32", "complex": "complex64", "int": "int8", "uint": "int8"}


def test_the_narrow_dtypes_are_extensions_and_these_are_their_kinds_and_bits():
    assert {d.name: (d.kind, d.bits) for d in EXTENSIONS} == NARROW_ROWS
    for dtype in EXTENSIONS:
        assert dtype.wide == WIDE[dtype.kind]
        assert dtype.itemsize == max(1, dtype.bits // 8), "a byte holds one element, also of fewer bits"


def test_every_float_that_ml_dtypes_adds_in_whole_bytes_is_an_extension():
    whole_bytes = {
        name
        for name in vars(ml_dtypes)
        if name.startswith(("float8", "bfloat16")) and isinstance(getattr(ml_dtypes, name), type)
    }
    assert whole_bytes <= set(NARROW_ROWS)


@each_dtype
def test_itemsize_is_that_of_the_numpy_twin(dtype):
    twin = np.dtype(getattr(np, dtype.name, None) or getattr(ml_dtypes, dtype.name))
    assert dtype.dtype == twin
    assert dtype.itemsize == twin.itemsize
    if dtype.bits >= 8:
        assert dtype.bits == 8 * twin.itemsize
    assert dtype.extension or dtype.wide is twin


def test_numbers_are_the_places_among_all_dtypes():
    assert [d.number for d in ALL] == list(range(len(ALL)))


# -- identity and equality -----------------------------------------------------------------------------


@each_dtype
def test_a_dtype_is_the_attribute_of_the_namespace_and_prints_so(dtype):
    assert getattr(candela_xp, dtype.name) is dtype
    assert repr(dtype) == f"candela_xp.{dtype.name}"
    assert str(dtype) == dtype.name


@each_dtype
def test_a_dtype_pickles_and_copies_to_itself(dtype):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype


@each_dtype
def test_numpys_dtype_of_it_is_its_twin_and_the_two_are_equal_both_ways_with_one_hash(dtype):
    twin = dtype.dtype
    assert np.dtype(dtype) is twin
    assert dtype == twin
    assert twin == dtype
    assert not dtype != twin  # noqa: SIM202 - `!=` is what is tested
    assert not twin != dtype  # noqa: SIM202
    assert hash(dtype) == hash(twin)
    assert {twin: "found"}[dtype] == "found"
    assert {dtype: "found"}[twin] == "found"


def test_dtypes_are_equal_to_themselves_only():
    for a, b in product(ALL, repeat=2):
        assert (a == b) == (a is b)
        assert (a != b) == (a is not b)
        assert (a == b.dtype) == (a is b)
        assert (b.dtype == a) == (a is b)
    assert len(set(ALL)) == len(ALL)


@each_dtype
def test_a_dtype_equals_no_string_none_type_or_number(dtype):
    for other in (dtype.name, repr(dtype), "f8", None, float, int, bool, complex, dtype.dtype.type, 0, 1.0, object()):
        assert not dtype == other  # noqa: SIM201 - `==` is what is tested
        assert dtype != other
        assert not other == dtype  # noqa: SIM201
        assert other != dtype


def test_a_dtype_of_the_other_byte_order_is_not_equal():
    assert candela_xp.float64 != np.dtype(">f8")
    assert np.dtype(">f8") != candela_xp.float64


@each_dtype
def test_a_dtype_takes_no_new_attributes(dtype):
    with pytest.raises(AttributeError):
        dtype.alias = "other"


# -- promotion: the standard's tables --------------------------------------------------------------------

# Array API 2025.12, "Type Promotion Rules", written out: header row, then one row a dtype.
SIGNED = """
         int8   int16  int32  int64
  int8   int8   int16  int32  int64
  int16  int16  int16  int32  int64
  int32  int32  int32  int32  int64
  int64  int64  int64  int64  int64
"""
UNSIGNED = """
          uint8   uint16  uint32  uint64
  uint8   uint8   uint16  uint32  uint64
  uint16  uint16  uint16  uint32  uint64
  uint32  uint32  uint32  uint32  uint64
  uint64  uint64  uint64  uint64  uint64
"""
MIXED = """
         uint8  uint16  uint32
  int8   int16  int32   int64
  int16  int16  int32   int64
  int32  int32  int32   int64
  int64  int64  int64   int64
"""
FLOATING = """
              float32     float64     complex64   complex128
  float32     float32     float64     complex64   complex128
  float64     float64     float64     complex128  complex128
  complex64   complex64   complex128  complex64   complex128
  complex128  complex128  complex128  complex128  complex128
"""
BOOLEAN = """
        bool
  bool  bool
"""


def read(table):
    """{(row, column): result} of a written table, both ways round."""
    header, *rows = [line.split() for line in table.strip().splitlines()]
    found = {}
    for name, *results in rows:
        for column, result in zip(header, results, strict=True):
            found[name, column] = found[column, name] = result
    return found


TABLE = {pair: result for text in (SIGNED, UNSIGNED, MIXED, FLOATING, BOOLEAN) for pair, result in read(text).items()}


def test_the_written_tables_are_whole():
    # 4² signed, 4² unsigned, 2·4·3 mixed, 4² floating-point, 1 boolean
    assert len(TABLE) == 16 + 16 + 24 + 16 + 1


def test_promotion_follows_the_tables_of_the_standard_in_both_modes():
    for strict in (False, True):
        with settings(strict=strict):
            for (a, b), result in TABLE.items():
                assert promote("f", DTYPES[a], DTYPES[b]) is DTYPES[result], (a, b)


def test_pairs_outside_the_tables_promote_as_numpys_in_default_mode():
    outside = [(a, b) for a, b in product(STANDARD, repeat=2) if (a.name, b.name) not in TABLE]
    assert len(outside) == 13 * 13 - len(TABLE)
    for a, b in outside:
        assert promote("f", a, b) == np.result_type(a.dtype, b.dtype), (a, b)


def test_pairs_outside_the_tables_are_refused_in_strict_mode_naming_both_and_the_way_out():
    with settings(strict=True):
        for a, b in product(STANDARD, repeat=2):
            if (a.name, b.name) not in TABLE:
                with pytest.raises(TypeError, match=rf"^add: cannot mix {a} and {b} arrays; use astype"):
                    promote("add", a, b)


# The narrow dtypes: a rule of ours, since the standard has none and NumPy refuses most pairs.
NARROW = {
    ("float16", "float16"): "float16",
    ("bfloat16", "bfloat16"): "bfloat16",
    ("float16", "bfloat16"): "float32",
    ("float16", "float32"): "float32",
    ("float16", "float64"): "float64",
    ("float16", "complex64"): "complex64",
    ("float16", "complex128"): "complex128",
    ("bfloat16", "float32"): "float32",
    ("bfloat16", "float64"): "float64",
    ("bfloat16", "complex64"): "complex64",
    ("bfloat16", "complex128"): "complex128",
    ("complex32", "float16"): "complex32",
    ("complex32", "bfloat16"): "complex64",
    ("complex32", "float32"): "complex64",
    ("complex32", "float64"): "complex128",
    ("complex32", "complex64"): "complex64",
    ("complex32", "complex128"): "complex128",
}


def test_half_precision_promotes_to_wider_floats_and_both_halves_to_float32():
    for strict in (False, True):
        with settings(strict=strict):
            for (a, b), result in NARROW.items():
                assert promote("f", DTYPES[a], DTYPES[b]) is DTYPES[result]
                assert promote("f", DTYPES[b], DTYPES[a]) is DTYPES[result]


def test_float16_promotes_with_wider_floats_as_numpys():
    for dtype in STANDARD:
        if dtype.kind in ("float", "complex"):
            assert promote("f", DTYPES["float16"], dtype) == np.result_type(np.float16, dtype.dtype)


def test_other_pairs_with_a_narrow_dtype_are_refused_but_integers_with_16_bit_floats_in_default_mode():
    allowed = set(NARROW) | {(b, a) for a, b in NARROW}
    refused = 0
    for narrow, other in product(EXTENSIONS, ALL):
        if narrow is other or (narrow.name, other.name) in allowed:
            continue
        refused += 1
        practical = narrow.bits >= 16 and other.kind in ("bool", "int", "uint") and not other.extension
        if practical:  # as in JAX and torch
            assert promote("f", narrow, other) is promote("f", other, narrow) is narrow
        for strict in (True,) if practical else (False, True):
            with settings(strict=strict):
                for pair in ((narrow, other), (other, narrow)):
                    said = "cannot mix" if practical else f"{pair[0]} and {pair[1]} have no common dtype; use astype"
                    with pytest.raises(TypeError, match=f"f: {said}"):
                        promote("f", *pair)
    assert refused > 100


@pytest.mark.parametrize("dtype", [d for d in EXTENSIONS if d.bits <= 8], ids=str)
def test_a_dtype_of_eight_bits_or_fewer_mixes_with_itself_only(dtype):
    assert promote("f", dtype, dtype) is dtype
    with pytest.raises(TypeError):
        promote("f", dtype, DTYPES["float64"])


def test_promotion_is_symmetric_idempotent_and_reaches_an_upper_bound():
    for a, b in combinations(ALL, 2):
        both_ways = [_dtypes.PROMOTION.get(pair, _dtypes.PRACTICAL.get(pair)) for pair in ((a, b), (b, a))]
        assert both_ways[0] is both_ways[1]
    for (a, b), result in _dtypes.PROMOTION.items():
        assert _dtypes.PROMOTION[a, result] is result, (a, b)
        assert _dtypes.PROMOTION[b, result] is result, (a, b)


def test_promotion_within_the_tables_does_not_depend_on_grouping():
    table = _dtypes.PROMOTION
    for a, b, c in product(STANDARD, repeat=3):
        if all(pair in table for pair in ((a, b), (b, c))) and (table[a, b], c) in table and (a, table[b, c]) in table:
            assert table[table[a, b], c] is table[a, table[b, c]]


def test_no_pair_is_in_both_tables():
    assert not set(_dtypes.PROMOTION) & set(_dtypes.PRACTICAL)


# -- casting -------------------------------------------------------------------------------------------


def test_a_dtype_casts_exactly_where_the_tables_lead_from_it_to_the_target():
    table = {
        **TABLE,
        **NARROW,
        **{(b, a): r for (a, b), r in NARROW.items()},
        **{(d.name, d.name): d.name for d in ALL},
    }
    for source, target in product(ALL, repeat=2):
        assert can_cast(source, target) == (table.get((source.name, target.name)) == target.name)


def test_values_are_assigned_to_a_higher_kind_or_within_a_kind_and_booleans_anywhere():
    level = {"uint": 1, "int": 1, "float": 2, "complex": 3}
    for source, target in product(ALL, repeat=2):
        if "bool" in (source.kind, target.kind):
            expected = source.kind == "bool"
        else:
            expected = level[source.kind] <= level[target.kind]
        assert _dtypes.same_kind(source, target) == expected, (source, target)
        # Whatever promotes may be assigned.
        assert expected or not can_cast(source, target)


# -- Python scalars --------------------------------------------------------------------------------------

SCALARS = {bool: True, int: 3, float: 2.5, complex: 1j}
# Array API 2025.12, "Mixing arrays with Python scalars": kind of the array -> scalars that the standard takes
TAKEN = {
    "bool": {bool},
    "int": {int},
    "uint": {int},
    "float": {int, float, complex},
    "complex": {int, float, complex},
}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def test_scalars_that_the_standard_takes_keep_the_dtype_and_a_complex_one_keeps_the_precision():
    for strict in (False, True):
        with settings(strict=strict):
            for dtype in STANDARD:
                for kind in TAKEN[dtype.kind]:
                    expected = COMPLEX.get(dtype.name, dtype.name) if kind is complex else dtype.name
                    assert scalar_dtype("f", dtype, SCALARS[kind]) is DTYPES[expected]


def test_other_scalars_combine_as_numpys_in_default_mode():
    for dtype, (kind, value) in product(STANDARD, SCALARS.items()):
        assert scalar_dtype("f", dtype, value) == np.result_type(dtype.dtype, value), (dtype, kind)


def test_other_scalars_are_refused_in_strict_mode_naming_both_and_the_way_out():
    with settings(strict=True):
        for dtype, (kind, value) in product(STANDARD, SCALARS.items()):
            if kind not in TAKEN[dtype.kind]:
                with pytest.raises(TypeError, match=rf"^f: cannot mix an? {dtype} array with .*; use astype") as caught:
                    scalar_dtype("f", dtype, value)
                assert repr(value) in str(caught.value)
        with pytest.raises(TypeError, match="cannot mix an int64 array"):
            scalar_dtype("f", DTYPES["int64"], 0.5)
        with pytest.raises(TypeError, match="cannot mix a uint8 array"):
            scalar_dtype("f", DTYPES["uint8"], 0.5)


def test_narrow_floats_take_real_scalars_and_refuse_complex_ones_unless_there_is_a_complex_dtype_of_their_precision():
    for dtype in EXTENSIONS:
        if dtype.kind != "float":
            continue
        for value in (True, 3, 2.5):
            assert scalar_dtype("f", dtype, value) is dtype
        if dtype.bits == 16:
            assert str(scalar_dtype("f", dtype, 1j)) == {"float16": "complex32", "bfloat16": "complex64"}[dtype.name]
            continue
        with pytest.raises(TypeError, match=f"f: cannot mix a {dtype} array with a complex scalar; use astype"):
            scalar_dtype("f", dtype, 1j)


def test_narrow_integers_take_scalars_as_other_integers_do():
    for dtype in EXTENSIONS:
        if dtype.kernels != "narrowint":
            continue
        assert scalar_dtype("f", dtype, 3) is dtype
        assert scalar_dtype("f", dtype, 2.5) is DTYPES["float64"]
        assert scalar_dtype("f", dtype, 1j) is DTYPES["complex128"]
        with settings(strict=True), pytest.raises(TypeError, match=f"cannot mix an? {dtype} array with the Python"):
            scalar_dtype("f", dtype, 2.5)


# -- names in dtype= -------------------------------------------------------------------------------------


@each_dtype
def test_a_dtype_names_itself_in_either_mode(dtype):
    for strict in (False, True):
        with settings(strict=strict):
            assert named("f", dtype) is dtype


@each_dtype
def test_numpys_dtypes_and_scalar_types_name_their_twins_in_default_mode(dtype):
    for other in (dtype.dtype, dtype.dtype.type):
        assert named("f", other) is dtype
        with settings(strict=True), pytest.raises(TypeError, match=f"^f: dtype is .*, not {dtype!r}; use the dtype of"):
            named("f", other)


@pytest.mark.parametrize(
    ("kind", "name"), [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")]
)
def test_pythons_types_name_the_default_dtypes_in_default_mode(kind, name):
    assert named("f", kind) is DTYPES[name]
    with settings(strict=True), pytest.raises(TypeError, match="use the dtype of the namespace"):
        named("f", kind)


@pytest.mark.parametrize(
    "other",
    ["float64", "f8", "", None, 8, 1.0, object, str, ..., np.dtype("U3"), np.dtype("M8[s]"), np.dtype(">f8"), [1]],
)
def test_what_is_no_dtype_is_refused_and_named(other):
    for strict in (False, True):
        with settings(strict=strict), pytest.raises(TypeError, match=r"^zeros: .* is no dtype of candela_xp") as caught:
            named("zeros", other)
        assert repr(other) in str(caught.value)


def test_numpys_aliases_of_one_size_name_the_same_dtype():
    for alias in (np.longlong, np.long, np.intp, np.intc, np.ulonglong, np.uintp):
        twin = np.dtype(alias)
        assert named("f", twin).dtype == twin


# -- kinds ---------------------------------------------------------------------------------------------

# Array API 2025.12, isdtype
KINDS = {
    "bool": {"bool"},
    "signed integer": {"int8", "int16", "int32", "int64"},
    "unsigned integer": {"uint8", "uint16", "uint32", "uint64"},
    "real floating": {"float32", "float64"},
    "complex floating": {"complex64", "complex128"},
}
KINDS["integral"] = KINDS["signed integer"] | KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] | KINDS["real floating"] | KINDS["complex floating"]


def test_the_kinds_of_dtypes_are_those_of_the_standard():
    assert set(_dtypes.KIND_QUERIES) == set(KINDS)
    for kind, members in KINDS.items():
        assert {d.name for d in STANDARD if is_kind(d, kind)} == members


def test_narrow_dtypes_are_of_the_kinds_of_the_standard():
    kinds = {
        "float": {"real floating", "numeric"},
        "complex": {"complex floating", "numeric"},
        "int": {"signed integer", "integral", "numeric"},
        "uint": {"unsigned integer", "integral", "numeric"},
    }
    for dtype in EXTENSIONS:
        assert {kind for kind in KINDS if is_kind(dtype, kind)} == kinds[dtype.kind]


def test_complex_dtypes_hold_two_of_their_real_ones():
    for dtype, real in _dtypes.REAL_OF.items():
        assert real.bits * 2 == dtype.bits
        assert _dtypes.COMPLEX_OF[real] is dtype
        assert _dtypes.COMPLEX_OF[dtype] is dtype


def test_defaults_are_those_of_the_standard():
    # "the default real-valued floating-point dtype … float64", integers and indices of 64 bits on 64-bit platforms
    assert isinstance(_dtypes.DEFAULT_FLOAT, DType)
    assert [str(d) for d in (_dtypes.DEFAULT_FLOAT, _dtypes.DEFAULT_COMPLEX, _dtypes.DEFAULT_INT)] == [
        "float64",
        "complex128",
        "int64",
    ]
    assert np.dtype(_dtypes.DEFAULT_INDEX) == np.intp
