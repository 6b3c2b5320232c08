"""Products: what is chosen for which layouts, and the values, against exact integers and bounds of rounding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out

import candela_xp as xp
from candela_xp import _contraction, _matmul
from candela_xp._contraction import Choice, Layout, choose, folded, packed, parts

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def of(shape: tuple[int, ...], *stride: int) -> Layout:
    return Layout(shape, stride) if stride else Layout.contiguous(shape)


# -- the choice ------------------------------------------------------------------------------------

SQUARE = (100, 100)
CASES = {
    "rows and rows": (of(SQUARE), of(SQUARE), Choice()),
    "columns and rows": (of(SQUARE, 1, 100), of(SQUARE), Choice()),
    "columns and columns": (of(SQUARE, 1, 100), of(SQUARE, 1, 100), Choice()),
    "rows with a gap": (of(SQUARE, 130, 1), of(SQUARE, 1, 130), Choice()),
    "every second row": (of(SQUARE, 200, 1), of(SQUARE), Choice()),
    "every second column": (of(SQUARE, 200, 2), of(SQUARE), Choice(pack_left=True)),
    "every second column of the right": (of(SQUARE), of(SQUARE, 200, 2), Choice(pack_right=True)),
    "overlapping windows": (of(SQUARE, 1, 1), of(SQUARE), Choice(pack_left=True)),
    "equal terms": (of(SQUARE, 1, 0), of(SQUARE), Choice(pack_left=True)),
    "backwards rows": (of(SQUARE, -100, 1), of(SQUARE), Choice(pack_left=True)),
    "a stepped matrix and a vector": (of(SQUARE, 200, 2), of((100, 1)), Choice(dots=True)),
    "a stepped matrix and a backwards vector": (of(SQUARE, 200, 2), of((100, 1), -1, 1), Choice(dots=True)),
    "a great stepped matrix and a vector": (
        of((1000, 1000), 2000, 2),
        of((1000, 1)),
        Choice(dots=True),
    ),
    "stepped matrices and a vector": (
        of((9, 200, 200), 80000, 400, 2),
        of((200, 1)),
        Choice(dots=True),
    ),
    "a vector and a great stepped matrix": (
        of((1, 1000)),
        of((1000, 1000), 2000, 2),
        Choice(dots=True),
    ),
    "a backwards matrix and a vector": (of(SQUARE, -100, 1), of((100, 1)), Choice(turn_rows=True)),
    "backwards rows, few columns": (
        of(SQUARE, -100, 1),
        of((100, 3)),
        Choice(turn_rows=True),
    ),
    "backwards columns, few rows": (of((3, 100)), of(SQUARE, 100, -1), Choice(turn_columns=True)),
    "backwards terms in both": (of(SQUARE, 100, -1), of(SQUARE, -100, 1), Choice(turn_terms=True)),
    "backwards terms in the greater": (
        of(SQUARE, 100, -1),
        of((100, 3), 3, 1),
        Choice(turn_terms=True, pack_right=True),
    ),
    "a backwards vector": (of(SQUARE), of((100, 1), -1, 1), Choice(pack_right=True)),
    "a stepped vector": (of(SQUARE), of((100, 1), 3, 1), Choice()),
    "a backwards batch": (of((9, 100, 100), -10000, 100, 1), of((9, 100, 100)), Choice()),
    "one right side": (of((1000, 8, 64)), of((64, 64)), Choice(batches="folded")),
    "one right side in a stack of one": (of((1000, 8, 64)), of((1, 64, 64)), Choice(batches="folded")),
    "one right side, two axes in the stack": (of((10, 100, 8, 64)), of((64, 64)), Choice(batches="folded")),
    "one right side, rows with a gap": (of((9, 8, 64), 640, 80, 1), of((64, 64)), Choice(batches="folded")),
    "one right side, stepped left": (
        of((9, 8, 64), 1024, 128, 2),
        of((64, 64)),
        Choice(pack_left=True, batches="folded"),
    ),
    "one right side, turned terms": (
        of((9, 80, 64), 64 * 80, 64, -1),
        of((64, 64), -64, 1),
        Choice(turn_terms=True, batches="folded"),
    ),
    "one right side, columns on the left": (of((9, 8, 64), 512, 1, 8), of((64, 64)), Choice()),
    "one right side, rows that don't chain": (of((9, 8, 64), 600, 64, 1), of((64, 64)), Choice()),
    "one right side, many columns on the left": (
        of((1000, 8, 64), 512, 1, 8),
        of((64, 64)),
        Choice(batches="threads"),
    ),
    "one left side": (of((64, 64)), of((1000, 64, 8)), Choice(batches="threads")),
    "small matrices": (of((1000, 16, 16)), of((1000, 16, 16)), Choice(batches="threads")),
    "tiny matrices": (of((10000, 8, 8)), of((10000, 8, 8)), Choice()),
    "small matrices, stepped": (
        of((1000, 16, 16), 512, 32, 2),
        of((1000, 16, 16)),
        Choice(batches="threads"),
    ),
    "small matrices, a stepped one for all": (
        of((16, 16), 32, 2),
        of((1000, 16, 16)),
        Choice(pack_left=True, batches="threads"),
    ),
    "greater matrices, stepped": (
        of((50, 64, 64), 16384, 128, 2),
        of((50, 64, 64)),
        Choice(pack_left=True, batches="threads"),
    ),
    "few small matrices": (of((100, 4, 4)), of((100, 4, 4)), Choice()),
    "matrices for BLAS's own threads": (of((64, 65, 64)), of((64, 64, 64)), Choice()),
    "stacks that stretch each other": (of((100, 1, 16, 16)), of((100, 16, 16)), Choice(batches="threads")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_done_follows_from_the_two_layouts(case: str) -> None:
    left, right, wanted = CASES[case]
    assert choose(left, right, 2) == wanted


def test_one_thread_shares_nothing_out() -> None:
    assert choose(of((1000, 16, 16)), of((1000, 16, 16)), 1) == Choice()


def any_matrix(rows: int, columns: int) -> st.SearchStrategy[Layout]:
    steps = st.integers(-12, 12)
    return st.builds(lambda stack, r, c: Layout((3, rows, columns), (stack, r, c)), steps, steps, steps)


@given(any_matrix(3, 4), any_matrix(4, 2))
def test_blas_can_read_what_is_chosen_for_one_matrix(left: Layout, right: Layout) -> None:
    left, right = left.select(0, 0), right.select(0, 0)
    choice = choose(left, right, 2)
    for layout, pack, rows, columns in (
        (left, choice.pack_left, choice.turn_rows, choice.turn_terms),
        (right, choice.pack_right, choice.turn_terms, choice.turn_columns),
    ):
        read = packed(layout) if pack else _contraction.turned(layout, rows=rows, columns=columns)
        assert read.core_is_packed()
        assert read.shape == layout.shape


@given(any_matrix(3, 4), any_matrix(4, 2))
def test_what_is_folded_is_one_matrix_that_blas_can_read(left: Layout, right: Layout) -> None:
    choice = choose(left, right.select(0, 0), 2)
    if choice.batches == "folded":
        merged = folded(choice, left)
        assert merged is not None
        assert merged.shape == (9, 4)
        assert merged.core_is_packed()


# -- integers ----------------------------------------------------------------------------------------


def test_small_integers_are_one_product_in_the_narrowest_float_that_is_exact() -> None:
    assert parts(8, 1024, 128, 128).dtype == "float32"
    assert parts(8, 1025, 128, 128).dtype == "float64"
    assert parts(64, 2, 2**26, 2**26).products == ((0, 0, 0),)
    assert len(parts(64, 2, 2**26, 2**26 + 1).products) > 1
    assert len(parts(32, 1000, 2**31, 2**31).products) == 3
    assert len(parts(64, 1000, 2**63, 2**63).products) == 6


def digits(value: int, width: int, count: int) -> list[int]:
    """What the text says of the digits, in Python's integers."""
    if count == 1:
        return [value]
    found = []
    for _ in range(count - 1):
        low = (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)
        found.append(low)
        value = (value - low) >> width
    return [*found, value]


@given(st.sampled_from([8, 16, 32, 64]), st.integers(1, 2**30), st.data())
def test_the_products_of_digits_give_the_number_and_stay_within_the_float(bits: int, terms: int, data: Any) -> None:
    most = [data.draw(st.integers(0, 2 ** (bits - 1))) for _ in range(2)]
    cut = parts(bits, terms, *most)
    for a in {-most[0], most[0] - 1, most[0] // 2, -(most[0] // 3), min(most[0], 2 ** (bits - 1) - 1)}:
        for b in {-most[1], most[1] - 1, most[1] // 2, min(most[1], 2 ** (bits - 1) - 1)}:
            if abs(a) > most[0] or abs(b) > most[1]:
                continue
            first, second = digits(a, *cut.left), digits(b, *cut.right)
            total = sum(first[i] * second[j] << shift for i, j, shift in cut.products)
            assert (total - a * b) % 2**bits == 0
            largest = max(map(abs, first)) * max(map(abs, second))
            assert terms * largest <= _contraction.EXACT[cut.dtype]


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's own loop over integers, which wraps."""
    return np.asarray(np.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b)))


def spread(name: str, shape: tuple[int, ...], seed: int, greatest: int | None = None) -> np.ndarray:
    """Integers of all sizes of a dtype, its extremes among them; or none beyond some size."""
    generator = np.random.default_rng(seed)
    info = np.iinfo(name)
    if greatest is not None:
        return generator.integers(
            max(-greatest, int(info.min)), min(greatest, int(info.max)), shape, endpoint=True
        ).astype(name)
    values = generator.integers(info.min, info.max, shape, dtype=name, endpoint=True)
    extremes = np.array([info.min, info.max, info.max - 1, 0, 1], name)
    return np.where(generator.random(shape) < 0.2, generator.choice(extremes, shape), values)


SHAPES = [
    ((40, 50), (50, 60)),
    ((40, 50), (50,)),
    ((50,), (50, 40)),
    ((2000,), (2000,)),
    ((3, 40, 50), (50, 40)),
    ((40, 50), (3, 50, 40)),
    ((4, 1, 20, 30), (3, 30, 20)),
    ((40, 0), (0, 50)),
    ((0, 2000), (2000, 3)),
    ((2000, 1), (1, 30)),
]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("greatest", [1, 100, 2**20, None])
def test_integers_wrap_as_numpy_s_do(name: str, greatest: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_matmul, "_WORTH", 0)  # also where it isn't worth it
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 0))
    for place, (shape1, shape2) in enumerate(SHAPES):
        a, b = spread(name, shape1, place, greatest), spread(name, shape2, place + 99, greatest)
        got = xp.asarray(a) @ xp.asarray(b)
        assert got.dtype.name == name
        assert np.array_equal(np.asarray(got), exact(a, b))


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_integers_of_any_layout_wrap_as_numpy_s_do(
    name: str, arrangement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_WORTH", 0)
    monkeypatch.setattr(_matmul, "_WALKED", 1000)
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 1000))
    for place, (shape1, shape2) in enumerate(SHAPES):
        a, b = spread(name, shape1, place), spread(name, shape2, place + 99)
        got = xp.asarray(lay_out(a, arrangement)) @ xp.asarray(lay_out(b, arrangement))
        assert np.array_equal(np.asarray(got), exact(a, b))


@settings(max_examples=200)
@given(st.sampled_from(INTEGERS), st.data())
def test_integers_are_those_of_python_modulo_two_to_their_bits(name: str, data: Any) -> None:
    info = np.iinfo(name)
    rows, terms, columns = (data.draw(st.integers(1, 4)) for _ in range(3))
    numbers = st.one_of(
        st.integers(int(info.min), int(info.max)), st.sampled_from([int(info.min), int(info.max), 0, 1])
    )
    left, right = (
        [[data.draw(numbers) for _ in range(width)] for _ in range(height)]
        for height, width in ((rows, terms), (terms, columns))
    )
    wanted = [[sum(x * y for x, y in zip(row, column)) % 2**info.bits for column in zip(*right)] for row in left]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_matmul, "_WORTH", 0)
        patch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 0))
        got = xp.asarray(np.array(left, name)) @ xp.asarray(np.array(right, name))
    assert [[int(v) % 2**info.bits for v in row] for row in np.asarray(got)] == wanted


@pytest.mark.parametrize("name", ["int64", "uint8", "float16"])
@pytest.mark.parametrize(
    ("shape1", "shape2"), [((700, 20), (20, 30)), ((50, 9, 20), (50, 20, 9)), ((5, 300, 20), (20, 9))]
)
def test_panels_give_what_the_whole_gives(
    name: str, shape1: tuple[int, ...], shape2: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_WORTH", 0)
    kind = "int8" if name == "float16" else name
    a, b = spread(kind, shape1, 1, 3).astype(name), spread(kind, shape2, 2, 3).astype(name)
    wanted = exact(a, b) if name != "float16" else (a.astype("float32") @ b.astype("float32")).astype(name)
    monkeypatch.setattr(_matmul, "_WALKED", 100)
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 0))
    monkeypatch.setattr(_matmul, "_PANEL_BYTES", 1)
    assert np.array_equal(np.asarray(xp.asarray(a) @ xp.asarray(b)), wanted)


# -- floats ------------------------------------------------------------------------------------------

LAYOUTS = [*ARRANGEMENTS, "equal rows", "equal columns", "one number"]


def arranged(values: np.ndarray, name: str) -> np.ndarray:
    if name == "equal rows":
        return np.broadcast_to(values[..., :1, :], values.shape)
    if name == "equal columns":
        return np.broadcast_to(values[..., :1], values.shape)
    if name == "one number":
        return np.broadcast_to(values[..., :1, :1], values.shape)
    return lay_out(values, name)


def within_rounding(got: Any, a: np.ndarray, b: np.ndarray) -> bool:
    """K eps |a| |b| at most from the product in long double."""
    kind = np.result_type(a.dtype, np.float32)
    wide = np.clongdouble if kind.kind == "c" else np.longdouble
    difference = np.abs(np.asarray(got) - np.matmul(a.astype(wide), b.astype(wide)))
    size = np.matmul(np.abs(a).astype(np.longdouble), np.abs(b).astype(np.longdouble))
    return bool((difference <= 4 * a.shape[-1] * np.finfo(a.dtype).eps * size).all())


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("first", LAYOUTS)
def test_floats_of_any_two_layouts_are_multiplied_within_the_bound_of_rounding(
    name: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_WALKED", 1000)
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 100))
    generator = np.random.default_rng(3)

    def values(shape: tuple[int, ...]) -> np.ndarray:
        found = generator.standard_normal(shape)
        return (found + 1j * generator.standard_normal(shape) if name.startswith("complex") else found).astype(name)

    for second in LAYOUTS:
        for shape1, shape2 in [
            ((33, 40), (40, 45)),
            ((5, 20, 30), (30, 9)),
            ((3, 20, 30), (3, 30, 40)),
            ((2, 1, 9, 90), (3, 90, 9)),
        ]:
            a, b = arranged(values(shape1), first), arranged(values(shape2), second)
            got = xp.asarray(a) @ xp.asarray(b)
            assert got.dtype.name == name
            assert got.shape == np.matmul(a, b).shape
            assert within_rounding(got, a, b)
            assert np.asarray(got).flags.c_contiguous


SHARED = [
    ((400, 400), (400,)),
    ((400,), (400, 400)),
    ((3, 50001), (50001,)),
    ((1, 401, 400), (400,)),
    ((400, 16, 16), (400, 16, 16)),
    ((3, 100, 16, 16), (100, 16, 16)),
    ((16, 16), (401, 16, 16)),
    ((1, 16, 16), (401, 16, 16)),
]


@pytest.mark.parametrize(("shape1", "shape2"), SHARED)
@pytest.mark.parametrize("arrangement", ["contiguous", "stepped", "inner reversed"])
def test_products_have_the_same_bits_for_any_number_of_threads(
    shape1: tuple[int, ...], shape2: tuple[int, ...], arrangement: str
) -> None:
    generator = np.random.default_rng(4)
    a, b = generator.standard_normal(shape1), generator.standard_normal(shape2)
    x, y = (xp.asarray(lay_out(values, arrangement)) for values in (a, b))
    found = []
    for threads in (1, 2, 3, 7):
        with xp.settings(threads=threads):
            found.append(np.asarray(x @ y))
    assert within_rounding(found[0], a, b)
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("place", [(0, 0), (17, 20), (39, 49)])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_go_where_the_sums_take_them(
    place: tuple[int, int], special: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 0))
    a, b = np.ones((40, 50)), np.ones((50, 40))
    a[place] = special
    wanted = np.full((40, 40), 50.0)
    wanted[place[0]] = special
    for arrangement in ARRANGEMENTS:
        got = xp.asarray(lay_out(a, arrangement)) @ xp.asarray(lay_out(b, arrangement))
        assert np.array_equal(np.asarray(got), wanted, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_narrow_floats_are_float32_products_rounded_once(
    dtype: Any, arrangement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 100))
    generator = np.random.default_rng(5)
    for shape1, shape2 in [((40, 50), (50, 60)), ((2000,), (2000,)), ((40, 50), (50,)), ((7, 20, 30), (30, 20))]:
        # Multiples of 1/8 and few terms: float32 sums are exact, in whatever order.
        a, b = (generator.integers(-8, 9, shape) / 8 for shape in (shape1, shape2))
        a, b = lay_out(a.astype(dtype), arrangement), lay_out(b.astype(dtype), arrangement)
        wanted = np.asarray(a.astype("float32") @ b.astype("float32")).astype(dtype)
        got = np.asarray(xp.asarray(a) @ xp.asarray(b))
        assert got.dtype == dtype
        assert np.array_equal(got.astype("float32"), wanted.astype("float32"))


# -- tensordot -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float64", "int32", "float16"])
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("axes", [2, ((0, 2), (1, 0)), ((1,), (1,)), ((), ()), ((2, 1, 0), (0, 1, 2))])
def test_tensordot_contracts_axes_wherever_they_lie(name: str, arrangement: str, axes: Any) -> None:
    generator = np.random.default_rng(6)
    a = lay_out(generator.integers(-4, 5, (6, 6, 6)).astype(name), arrangement)
    b = lay_out(generator.integers(-4, 5, (6, 6, 6)).astype(name), arrangement)
    wanted = np.tensordot(a.astype("float64"), b.astype("float64"), axes)
    got = np.asarray(xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes))
    assert got.dtype == name
    assert np.array_equal(got, wanted)


def test_axes_that_chain_become_a_matrix_without_a_copy() -> None:
    values = np.zeros((4, 5, 6))
    for view, rows, shape in [
        (values, 2, (20, 6)),
        (values, 1, (4, 30)),
        (values.transpose(2, 0, 1), 1, (6, 20)),
    ]:
        assert np.shares_memory(_matmul.matrix(view, rows, shape), values)
    turned = values.transpose(0, 2, 1)
    copy = _matmul.matrix(turned, 1, (4, 30))
    assert not np.shares_memory(copy, values)
    assert np.array_equal(copy, turned.reshape(4, 30))


def test_the_axes_that_are_near_in_memory_stay_so_in_the_copy() -> None:
    values = np.zeros((4, 5, 6, 7))
    near_rows, near_columns = values.transpose(1, 3, 0, 2), values.transpose(0, 2, 1, 3)
    assert _matmul.matrix(near_rows, 2, (35, 24)).flags.f_contiguous
    assert _matmul.matrix(near_columns, 2, (24, 35)).flags.c_contiguous


def test_what_overflows_half_precision_is_infinite_and_warns() -> None:
    x = xp.full((100, 100), 300.0, dtype=xp.float16)
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = x @ x
    assert np.isinf(np.asarray(found)).all()
    with np.errstate(over="ignore"):
        assert np.isinf(np.asarray(x @ x)).all()


# -- integers below a byte, complex32 ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2"])
@pytest.mark.parametrize("arrangement", ["contiguous", "stepped", "reversed", "fortran"])
@pytest.mark.parametrize("limit", [0, 2**40])
def test_integers_below_a_byte_wrap_in_their_bits(
    name: str, arrangement: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_WORTH", 0)
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, limit))
    monkeypatch.setattr(_matmul, "_FEW", limit)
    dtype = getattr(xp, name)
    bits, signed = dtype.bits, dtype.kind == "int"
    generator = np.random.default_rng(7)
    for shape1, shape2 in [((7, 9), (9, 8)), ((9,), (9,)), ((3, 5, 9), (9, 4)), ((4, 0), (0, 3)), ((0, 9), (9, 3))]:
        numbers = [generator.integers(-(2 ** (bits - 1)) * signed, 2 ** (bits - signed), s) for s in (shape1, shape2)]
        a, b = (lay_out(values.astype(np.int8).astype(dtype.dtype), arrangement) for values in numbers)

        def wrapped(exact: Any) -> Any:
            low = exact % 2**bits
            return np.where((low >= 2 ** (bits - 1)) & signed, low - 2**bits, low)

        got = xp.asarray(a) @ xp.asarray(b)
        assert got.dtype is dtype
        assert np.array_equal(np.asarray(got).astype(np.int64), wrapped(np.matmul(*numbers)))
        if a.ndim == 1:
            dot = xp.vecdot(xp.asarray(a), xp.asarray(b))
            assert np.asarray(dot).astype(np.int64) == wrapped(np.vecdot(*numbers))


@pytest.mark.parametrize("limit", [0, 2**40])
@pytest.mark.parametrize("arrangement", ["contiguous", "stepped", "reversed", "fortran"])
def test_complex32_products_are_complex64_ones_rounded_once(
    arrangement: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, limit))
    monkeypatch.setattr(_matmul, "_FEW", limit)
    generator = np.random.default_rng(8)
    wide = [
        (generator.integers(-8, 9, shape) / 8 + 1j * generator.integers(-8, 9, shape) / 8).astype(np.complex64)
        for shape in ((20, 30), (30, 20))
    ]
    x, y = (
        xp.asarray(lay_out(np.asarray(xp.astype(xp.asarray(values), xp.complex32)), arrangement)) for values in wide
    )
    for got, wanted in ((x @ y, wide[0] @ wide[1]), (xp.vecdot(x, y.T), np.vecdot(wide[0], wide[1].T))):
        assert got.dtype is xp.complex32
        rounded = np.empty(wanted.shape, np.complex64)
        rounded.real, rounded.imag = wanted.real.astype(np.float16), wanted.imag.astype(np.float16)
        assert np.array_equal(np.asarray(xp.astype(got, xp.complex64)), rounded)


# -- dot products ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["float64", "float32", "complex128", "complex64", "int64", "int8", "uint16", "float16"]
)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("across", [False, True])
def test_dot_products_conjugate_the_first_and_are_exact_in_any_layout(
    name: str, arrangement: str, across: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_FEW", 0)
    monkeypatch.setattr(_matmul, "_WALKED", 100)
    generator = np.random.default_rng(9)

    def values(shape: tuple[int, ...]) -> Any:
        # Few small integers: every sum is exact in every dtype, or wraps.
        found = generator.integers(0, 4, shape) + (1j * generator.integers(0, 4, shape) if name[0] == "c" else 0)
        return found.astype(name)

    for shape1, shape2 in [
        ((30, 40), (30, 40)),
        ((2, 5, 300), (5, 300)),
        ((300, 20), (20,)),
        ((20,), (300, 20)),
        ((2, 1, 128), (3, 128)),
        ((3, 0), (3, 0)),
        ((0, 30), (30,)),
        ((500,), (500,)),
    ]:
        a, b = values(shape1), values(shape2)
        wanted = np.vecdot(a, b) if name != "float16" else np.vecdot(a.astype("f4"), b.astype("f4")).astype(name)
        if across:  # the vectors along the first axis in memory
            a, b = (np.moveaxis(np.moveaxis(x, -1, 0).copy(), 0, -1) for x in (a, b))
        else:
            a, b = lay_out(a, arrangement), lay_out(b, arrangement)
        for threads in (1, 3):
            with xp.settings(threads=threads):
                got = xp.vecdot(xp.asarray(a), xp.asarray(b))
            assert got.dtype.name == name
            assert np.array_equal(np.asarray(got), wanted)


def test_dot_products_that_lie_across_memory_do_not_drift() -> None:
    x = xp.full((200_000, 2), 0.1, dtype=xp.float32)
    exact = 200_000 * float(np.float32(0.1)) ** 2
    assert np.allclose(np.asarray(xp.vecdot(x, x, axis=-2)), exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("stride", [1, 2, -2])
def test_one_row_times_one_column_comes_to_an_end(stride: int) -> None:
    values = np.ones((1, 600_001))[:, ::stride]
    x = xp.asarray(values)
    assert float((x @ x.T)[0, 0]) == values.shape[1]


@pytest.mark.parametrize("name", ["float64", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("steps", [(2, 2), (1, 2), (-1, -2), (2, -1)])
def test_stepped_matrices_times_vectors_are_within_rounding(
    name: str, steps: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matmul, "_SMALL", dict.fromkeys(_matmul._SMALL, 0))
    generator = np.random.default_rng(10)
    values = [generator.standard_normal((3, 80, 120)) for _ in range(2)]
    a = (values[0] + 1j * values[1] if name[0] == "c" else values[0]).astype(name)[:, :: steps[0], :: steps[1]]
    v = generator.standard_normal(a.shape[-1]).astype(name)
    w = generator.standard_normal(a.shape[-2]).astype(name)[::-1]
    x, y, z = map(xp.asarray, (a, v, w))
    assert within_rounding(x @ y, a, v)
    assert within_rounding(x[0, ...] @ y, a[0], v)
    column = xp.matmul(x.mT, z[:, None])
    assert within_rounding(column, a.mT, w[:, None])
    row = np.asarray(xp.matmul(z, x))
    assert np.allclose(row, np.asarray(column)[..., 0], rtol=1e-3 if name in ("float32", "complex64") else 1e-12)


# -- what explain says ----------------------------------------------------------------------------------

SAID = [
    (xp.ones((100, 100)), xp.ones((100, 100)), ["as it is", "as it is", "one product"]),
    (xp.ones((100, 200))[:, ::2], xp.ones((100, 100)), ["packed", "as it is", "one product"]),
    (xp.ones((100, 200))[:, ::2], xp.ones(100), ["as it is", "as it is", "a dot product for each element"]),
    (xp.ones((99, 8, 64)), xp.ones((64, 64)), ["as it is", "as it is", "one product for the whole stack"]),
    (xp.ones((1000, 16, 16)), xp.ones((1000, 16, 16)), ["as it is", "as it is", "1000 products, 2 threads"]),
    (xp.ones((50, 70, 70)), xp.ones((50, 70, 70)), ["as it is", "as it is", "50 products"]),
    (xp.flip(xp.ones((90, 90)), axis=1), xp.flip(xp.ones((90, 90)), axis=0), ["backwards", "one product"]),
    (xp.broadcast_to(xp.ones(100), (100, 100)), xp.ones((100, 100)), ["one of its equal rows or columns"]),
    (xp.ones((3, 3)), xp.ones(3), ["as it is", "as it is", "numpy.matmul"]),
    (xp.ones((0, 3)), xp.ones((3, 0)), ["as it is", "as it is", "numpy.matmul"]),
    (xp.ones((3, 3), dtype=xp.float16), xp.ones(3, dtype=xp.float16), ["as float32", "as float32", "rounded once"]),
    (xp.ones((99, 99), dtype=xp.bfloat16), xp.ones((99, 9), dtype=xp.bfloat16), ["as float32", "one product, rounded"]),
    (xp.ones((99, 99), dtype=xp.int4), xp.ones((99, 9), dtype=xp.int4), ["as int8", "as int8", "exact, as int8"]),
    (xp.full((99, 99), 3), xp.full((99, 99), 3), ["as float32", "as float32", "exact, 1 float32 product"]),
    (xp.full((99, 99), 3), xp.ones((99, 99), dtype=xp.int32), ["memory int32", "as float32"]),
    (xp.full((999, 999), 2**62), xp.full((999, 999), 2**62), ["digits", "exact, ", "float64 products"]),
    (xp.full((99, 2), 2**62), xp.full((2, 99), 2**62), ["numpy.matmul"]),
    (xp.full((99, 99), 2**62), xp.full((99, 99), 2**62), ["as it is", "numpy.matmul"]),
]


@pytest.mark.parametrize("place", range(len(SAID)))
def test_explain_tells_what_is_done_with_the_operands_of_a_product(place: int) -> None:
    x1, x2, wanted = SAID[place]
    with xp.settings(threads=2):
        text = xp.explain(x1, x2)
    lines = text.splitlines()
    assert lines[0] == f"matmul {(x1 @ x2).dtype} {(x1 @ x2).shape}"
    assert [line[:3] for line in lines[1:]] == ["├─ ", "└─ ", "pro"]
    for words in wanted:
        assert words in text


def test_explain_of_a_product_leaves_floats_pending() -> None:
    with xp.settings(defer_min_bytes=0):
        x, y = xp.ones((99, 99)) + 1.0, xp.ones((99, 99), dtype=xp.float32)
        y = y * 2.0
        text = xp.explain(x, y)
        assert "├─ add float64 (99, 99): as it is" in text
        assert "└─ multiply float32 (99, 99): as it is" in text
        assert xp.explain(x).startswith("add")
        assert xp.explain(y).startswith("multiply")


@pytest.mark.parametrize(
    ("x1", "x2", "error"),
    [
        (xp.ones((2, 3)), xp.ones((2, 3)), ValueError),
        (xp.ones(()), xp.ones(3), ValueError),
        (xp.ones((2, 2)), 3, TypeError),
    ],
)
def test_explain_refuses_what_has_no_product(x1: Any, x2: Any, error: Any) -> None:
    with pytest.raises(error, match=r"^(matmul|explain): "):
        xp.explain(x1, x2)


# -- conjugates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("shape1", "shape2"),
    [
        ((70, 80), (80,)),
        ((70,), (70, 80)),
        ((2, 70, 80), (80, 3)),
        ((9,), (9,)),
        ((70, 80), (80, 90)),
        ((70, 0), (0, 3)),
        ((3, 70, 80), (80,)),
    ],
)
@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)])
def test_products_of_conjugates_that_wait_have_the_value_of_computed_ones(
    name: str, shape1: Any, shape2: Any, which: tuple[bool, bool]
) -> None:
    generator = np.random.default_rng(11)
    # Small integers: exact, so that both ways have the same bits; and zeros, whose sign is one of them.
    a, b = ((generator.integers(-2, 3, s) + 1j * generator.integers(-2, 3, s)).astype(name) for s in (shape1, shape2))
    for first, second in ((a, b), (a.real.astype(name), b.real.astype(name))):
        wanted = np.matmul(*[x.conj() if yes else x for x, yes in zip((first, second), which)])
        for waits in (True, False):
            with xp.settings(defer_min_bytes=0 if waits else 2**60):
                x, y = (xp.asarray(v, copy=True) for v in (first, second))
                left, right = xp.conj(x) if which[0] else x, xp.conj(y) if which[1] else y
                got = left @ right
                assert got.dtype.name == name
                found = np.asarray(got)
                assert np.array_equal(found, wanted)
                assert not np.signbit(found.imag[found.imag == 0]).any() or not waits


def test_a_conjugate_that_waits_has_no_memory_after_a_product_with_a_vector() -> None:
    with xp.settings(defer_min_bytes=0):
        a, v = xp.ones((50, 60), dtype=xp.complex128), xp.ones(60, dtype=xp.complex128)
        waiting = xp.conj(a)
        product = waiting @ v
        assert xp.explain(waiting).startswith("conj")
        a[...] = 5j  # computes what waits
        assert np.array_equal(np.asarray(waiting), np.ones((50, 60)))
        assert np.array_equal(np.asarray(product), np.full(50, 60))
        with pytest.raises(ValueError, match="matmul: x1 has shape"):
            xp.conj(a) @ xp.conj(a)


@pytest.mark.parametrize("name", ["float64", "complex64", "int8", "bfloat16", "uint4"])
def test_outer_products_of_long_vectors_are_those_of_short_ones(name: str) -> None:
    dtype = getattr(xp, name)
    values = np.arange(700) % 4
    x, y = (xp.astype(xp.asarray(v), dtype) for v in (values, values[::-1].copy()))
    for threads in (1, 3):
        with xp.settings(threads=threads):
            got = xp.linalg.outer(x, y)
        assert got.dtype is dtype
        assert np.array_equal(np.asarray(xp.astype(got, xp.complex64)).real, np.multiply.outer(values, values[::-1]))
    assert xp.linalg.outer(x[:0], y).shape == (0, 700)


def test_negative_powers_of_large_stacks_name_the_singular_matrix() -> None:
    values = np.tile(np.eye(16) * 2, (2000, 1, 1))
    assert np.array_equal(np.asarray(xp.linalg.matrix_power(xp.asarray(values), -3)), values / 16)
    values[1234] = 0
    with pytest.raises(np.linalg.LinAlgError, match="batch index \\(1234,\\) is singular"):
        xp.linalg.matrix_power(xp.asarray(values), -3)
