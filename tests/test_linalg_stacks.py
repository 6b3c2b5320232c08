"""Stacks of matrices in pieces: how they are cut, what fails first, which settings and states threads see."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out

import candela_xp as xp
from candela_xp import linalg
from candela_xp.linalg import _core
from candela_xp.linalg._core import boxes, in_pieces, parse

arrangements = pytest.mark.parametrize("arrangement", ARRANGEMENTS)
ONE = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_rank", "pinv", "qr", "slogdet", "svd"]
ONE += ["svdvals"]
functions = pytest.mark.parametrize("function", ONE)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two matrices are a stack that goes in pieces of one, in two threads."""
    monkeypatch.setattr(_core, "LEAST_WORK", 1)
    monkeypatch.setattr(_core, "LEAST_MATRIX_WORK", 0)
    monkeypatch.setattr(_core, "PIECE_WORK", 1)
    monkeypatch.setattr(_core, "LEAST_MATRICES", 2)
    with xp.settings(threads=2):
        yield


def positive(stack: tuple[int, ...], size: int = 3, name: str = "float64") -> np.ndarray:
    """Positive definite matrices."""
    generator = np.random.default_rng(math.prod(stack))
    values = generator.standard_normal((*stack, size, size))
    if name.startswith("complex"):
        values = values + 1j * generator.standard_normal(values.shape)
    return (values @ values.conj().mT + np.eye(size)).astype(name)


def parts(result: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def bits(result: Any) -> list[tuple[Any, ...]]:
    return [(part.shape, part.dtype, part.tobytes()) for part in parts(result)]


# -- cutting -----------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple), st.integers(1, 40))
def test_boxes_fill_a_stack_in_order(stack: tuple[int, ...], pieces: int) -> None:
    found = boxes(stack, pieces)
    numbers = np.arange(math.prod(stack)).reshape(stack)
    assert np.concatenate([numbers[box].ravel() for box in found]).tolist() == list(range(numbers.size))
    assert min(pieces, numbers.size) <= len(found) < 2 * pieces
    sizes = [numbers[box].size for box in found]
    assert max(sizes) <= 2 * min(sizes)


@pytest.mark.parametrize(
    ("stack", "pieces", "wanted"),
    [
        ((10,), 3, [3, 3, 4]),
        ((2, 10), 2, [10, 10]),
        ((2, 10), 4, [5, 5, 5, 5]),
        ((2, 3, 4), 6, [4] * 6),
        ((1, 1, 4), 2, [2, 2]),
        ((2, 2), 99, [1] * 4),
    ],
)
def test_the_first_axes_are_cut_first(stack: tuple[int, ...], pieces: int, wanted: list[int]) -> None:
    numbers = np.arange(math.prod(stack)).reshape(stack)
    assert [numbers[box].size for box in boxes(stack, pieces)] == wanted


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((3, 3), False),
        ((2, 3, 3), False),
        ((_core.LEAST_MATRICES - 1, 300, 300), False),
        ((0, 300, 300), False),
        ((10_000, 0, 0), False),
        ((10_000, 8, 8), True),
        ((100, 100, 8, 8), True),
        ((10_000, 3, 3), False),
        ((16, 100, 100), True),
        ((16, 500, 500), True),
        ((15, 500, 500), False),
    ],
)
def test_only_large_stacks_of_matrices_neither_tiny_nor_huge_are_cut(
    shape: tuple[int, ...], cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def body(x: np.ndarray) -> np.ndarray:
        seen.append(x.size)
        return x.sum(-1)

    monkeypatch.setattr(_core, "_blas", blas(1)[0])
    values = np.zeros(shape)
    with xp.settings(threads=2):
        got = in_pieces(body, parse("(n,n)->(n)"), 10)(values)
    assert got.shape == shape[:-1]
    assert (len(seen) > 1) is cut
    assert sum(seen) == values.size
    seen.clear()
    with xp.settings(threads=1):
        in_pieces(body, parse("(n,n)->(n)"), 10)(values)
    assert seen == [values.size]


# -- values ------------------------------------------------------------------------------------------

STACKS = [(2,), (7,), (3, 2), (1, 5), (5, 1, 2), (40,)]


@pytest.mark.usefixtures("small")
@functions
@pytest.mark.parametrize("name", ["float32", "complex128", "float16"])
def test_pieces_give_the_bits_of_the_whole(function: str, name: str) -> None:
    call = getattr(linalg, function)
    for stack in STACKS:
        x = xp.asarray(positive(stack, name=name))
        whole = bits(call(x))
        with xp.settings(threads=1):
            assert bits(call(x)) == whole
        with xp.settings(threads=5):
            assert bits(call(x)) == whole


@pytest.mark.usefixtures("small")
@functions
@arrangements
def test_pieces_of_any_layout_are_right(function: str, arrangement: str) -> None:
    call = getattr(linalg, function)
    values = positive((3, 4))
    wanted = bits(call(xp.asarray(values)))
    x = xp.asarray(lay_out(values, arrangement))
    assert bits(call(x)) == wanted
    assert np.array_equal(np.asarray(x), values)
    stretched = xp.broadcast_to(xp.asarray(values[:, :1]), (3, 4, 3, 3))
    for got, one in zip(parts(call(stretched)), parts(call(xp.asarray(values[:, :1])))):
        assert np.array_equal(got, np.broadcast_to(one, got.shape))


@pytest.mark.usefixtures("small")
@functions
@pytest.mark.parametrize("shape", [(0, 3, 3), (4, 0, 0), (0, 0, 0), (2, 0, 3, 3), (1, 1, 1), (3, 1, 1)])
def test_stacks_without_matrices_and_matrices_without_elements_have_results(
    function: str, shape: tuple[int, ...]
) -> None:
    for got in parts(getattr(linalg, function)(xp.ones(shape))):
        assert got.shape[: len(shape) - 2] == shape[:-2]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("keywords", [{"full_matrices": True}, {"full_matrices": False}])
def test_rectangular_matrices_go_in_pieces_too(keywords: dict[str, bool]) -> None:
    values = np.random.default_rng(0).standard_normal((6, 4, 2))
    for x in (values, values.mT):
        for got, wanted in zip(parts(linalg.svd(xp.asarray(x), **keywords)), np.linalg.svd(x, **keywords)):
            assert np.array_equal(got, wanted)
        for mode in ("reduced", "complete"):
            for got, wanted in zip(parts(linalg.qr(xp.asarray(x), mode=mode)), np.linalg.qr(x, mode)):
                assert np.array_equal(got, wanted)
        assert linalg.pinv(xp.asarray(x)).shape == x.mT.shape


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_norms_by_singular_values_go_in_pieces(order: Any) -> None:
    values = positive((3, 4))
    values[1, 2, 0, 0], values[2, 3, 1, 1] = math.nan, math.inf
    got = np.asarray(linalg.matrix_norm(xp.asarray(values), ord=order))
    for index in np.ndindex(3, 4):
        assert np.array_equal(got[index], float(linalg.matrix_norm(xp.asarray(values[index]), ord=order)), True)


@pytest.mark.usefixtures("small")
@arrangements
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((4,), (4,)),
        ((4,), ()),
        ((), (4,)),
        ((3, 1), (4,)),
        ((1, 4), (3, 1)),
        ((3, 4), (4,)),
        ((4,), (3, 1)),
        ((1,), (5,)),
    ],
)
def test_the_stacks_of_a_system_broadcast(left: tuple[int, ...], right: tuple[int, ...], arrangement: str) -> None:
    values = positive(left)
    sides = np.random.default_rng(1).standard_normal((*right, 3, 2))
    got = np.asarray(linalg.solve(xp.asarray(lay_out(values, arrangement)), xp.asarray(lay_out(sides, arrangement))))
    stack = np.broadcast_shapes(left, right)
    a, b = np.broadcast_to(values, (*stack, 3, 3)), np.broadcast_to(sides, (*stack, 3, 2))
    assert got.shape == b.shape
    for index in np.ndindex(stack):
        assert np.array_equal(got[index], np.linalg.solve(a[index], b[index]))
    if not right:
        vector = np.asarray(linalg.solve(xp.asarray(values), xp.asarray(sides[:, 0])))
        assert vector.shape == (*stack, 3)
        for index in np.ndindex(stack):
            assert np.array_equal(vector[index], np.linalg.solve(a[index], sides[:, 0]))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (3, 4)])
def test_tolerances_are_cut_with_their_matrices(shape: tuple[int, ...]) -> None:
    values = np.broadcast_to(np.diag([1.0, 0.1, 0.01]), (3, 4, 3, 3))
    rtol = np.random.default_rng(2).choice([0.5, 0.05, 0.005], shape)
    ranks = np.asarray(linalg.matrix_rank(xp.asarray(values), rtol=xp.asarray(rtol)))
    inverses = np.asarray(linalg.pinv(xp.asarray(values), rtol=xp.asarray(rtol)))
    each = np.broadcast_to(rtol, (3, 4))
    for index in np.ndindex(3, 4):
        rank = 1 + int(each[index] < 0.1) + int(each[index] < 0.01)
        assert ranks[index] == rank
        assert np.allclose(inverses[index], np.diag([1.0, 10.0, 100.0][:rank] + [0.0] * (3 - rank)))


# -- errors ------------------------------------------------------------------------------------------

SINGULAR = np.ones((3, 3))
INDEFINITE = np.diag([1.0, -1.0, 1.0])
UNDEFINED = np.diag([1.0, math.nan, 1.0])
FAILING = [
    ("inv", SINGULAR, "is singular"),
    ("cholesky", INDEFINITE, "is not positive definite"),
    *[(name, UNDEFINED, "holds NaN or infinity") for name in ONE if name.startswith(("eig", "svd", "pinv", "matrix"))],
]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("function", "bad", "reason"), FAILING)
def test_the_first_matrix_that_fails_is_named(function: str, bad: np.ndarray, reason: str) -> None:
    for first, others in [((0, 0), [(0, 1), (3, 9)]), ((1, 7), [(2, 0), (3, 9)]), ((3, 9), []), ((2, 9), [(3, 0)])]:
        values = positive((4, 10))
        for index in (first, *others):
            values[index] = bad
        message = rf"{function}: x has shape .* the matrix at batch index \({first[0]}, {first[1]}\) {reason}"
        for threads in (1, 2, 3):
            with xp.settings(threads=threads), pytest.raises(np.linalg.LinAlgError, match=message):
                getattr(linalg, function)(xp.asarray(values))


@pytest.mark.usefixtures("small")
def test_the_first_system_that_fails_is_named_in_the_stack_of_both_operands() -> None:
    values = positive((10,))
    values[7] = values[8] = SINGULAR
    for _ in range(2):  # the second call takes the short path
        with pytest.raises(ValueError, match=r"solve: x1 has shape .* batch index \(0, 7\) is singular"):
            linalg.solve(xp.asarray(values), xp.ones((2, 10, 3, 3)))
        with pytest.raises(ValueError, match=r"solve: x1 has shape .* batch index \(7, 0\) is singular"):
            linalg.solve(xp.asarray(values[:, None]), xp.ones((10, 2, 3, 1)))
        with pytest.raises(ValueError, match=r"solve: x1 has shape .* batch index \(7,\) is singular"):
            linalg.solve(xp.asarray(values), xp.ones(3))


@pytest.mark.parametrize("function", ["pinv", "matrix_rank"])
@pytest.mark.parametrize("least", [2, 10**9])
def test_a_failing_matrix_is_named_also_beside_tolerances_for_each(
    function: str, least: int, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "LEAST_MATRICES", least)
    values = positive((6,))
    values[4] = UNDEFINED
    with pytest.raises(ValueError, match=rf"{function}: .* batch index \(4,\) holds NaN"):
        getattr(linalg, function)(xp.asarray(values), rtol=xp.full(6, 1e-3))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("function", "numpy_s", "said", "reason"),
    [
        ("eigvals", "eigvals", "Eigenvalues did not converge", "has eigenvalues that did not converge"),
        ("eigh", "eigh", "Eigenvalues did not converge", "has eigenvalues that did not converge"),
        ("svdvals", "svd", "SVD did not converge", "has singular values that did not converge"),
        ("matrix_norm", "svd", "SVD did not converge", "has singular values that did not converge"),
    ],
)
def test_the_first_iteration_that_does_not_converge_is_named(
    function: str, numpy_s: str, said: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No input is known that stops LAPACK's iterations, so what NumPy then says is said for it.
    kernel = getattr(np.linalg, numpy_s)

    def stubborn(x: np.ndarray, *rest: Any, **keywords: Any) -> Any:
        if np.any(x == 77):
            raise np.linalg.LinAlgError(said)
        return kernel(x, *rest, **keywords)

    monkeypatch.setattr(np.linalg, numpy_s, stubborn)
    values = positive((3, 8))
    values[1, 6, 0, 0] = values[2, 0, 0, 0] = 77
    keywords = {"ord": "nuc"} if function == "matrix_norm" else {}
    with pytest.raises(np.linalg.LinAlgError, match=rf"{function}: x has shape .* batch index \(1, 6\) {reason}"):
        getattr(linalg, function)(xp.asarray(values), **keywords)


@pytest.mark.usefixtures("small")
def test_matrices_with_nan_have_results_beside_others_in_pieces() -> None:
    values = positive((12,))
    values[5, 0, 0] = values[7, 2, 2] = math.nan  # one that LAPACK takes for a pivot 0, one that it carries on
    for call in (linalg.inv, linalg.det, lambda x: linalg.solve(x, xp.ones(3)), lambda x: linalg.slogdet(x).logabsdet):
        got = np.asarray(call(xp.asarray(values)))
        assert np.isnan(got[[5, 7]]).all()
        assert np.isfinite(np.delete(got, [5, 7], 0)).all()


@pytest.mark.usefixtures("small")
def test_other_errors_of_a_piece_are_raised_and_end_the_rest() -> None:
    seen = []

    def body(x: np.ndarray) -> np.ndarray:
        seen.append(int(x[0, 0, 0]))
        if np.any(x == 1):
            raise MemoryError("no more")
        return x

    with pytest.raises(MemoryError, match="no more"):
        in_pieces(body, parse("(n,n)->(n,n)"), 1)(np.arange(1000.0).reshape(1000, 1, 1))
    assert len(seen) <= 16, "as many pieces as there are"
    assert _core._blas._users == 0


@pytest.mark.usefixtures("small")
def test_threads_see_the_error_state_of_the_caller() -> None:
    seen = set()

    def body(x: np.ndarray) -> np.ndarray:
        seen.add(np.geterr()["over"])
        return x

    with np.errstate(over="raise"):
        in_pieces(body, parse("(n,n)->(n,n)"), 1)(np.ones((100, 2, 2)))
    assert seen == {"raise"}
    huge = xp.asarray(np.broadcast_to(1e200 * np.eye(3), (20, 3, 3)))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        linalg.det(huge)
    with np.errstate(over="ignore"):
        assert np.isinf(np.asarray(linalg.det(huge))).all()


# -- BLAS --------------------------------------------------------------------------------------------


class _Library:
    """A BLAS that counts."""

    def __init__(self, threads: int) -> None:
        self.threads, self.calls = threads, 0

    def get(self) -> int:
        return self.threads

    def set(self, threads: int) -> None:
        self.threads, self.calls = threads, self.calls + 1


def blas(threads: int) -> tuple[_core._Blas, _Library]:
    made, library = _core._Blas(), _Library(threads)
    made._get, made._set = library.get, library.set
    return made, library


def test_blas_keeps_to_one_thread_until_the_last_block_has_ended() -> None:
    made, library = blas(4)
    with made.alone():
        assert library.threads == 1
        with made.alone():
            assert library.threads == 1
        assert library.threads == 1
    assert (library.threads, library.calls) == (4, 2)
    with pytest.raises(ZeroDivisionError), made.alone():
        1 / 0  # noqa: B018
    assert library.threads == 4
    made, library = blas(1)
    with made.alone():
        assert library.threads == 1
    assert library.calls == 0


def test_blas_has_its_threads_again_after_blocks_of_many_threads() -> None:
    made, library = blas(8)
    wrong = []

    def work() -> None:
        for _ in range(200):
            with made.alone():
                if library.threads != 1:
                    wrong.append(library.threads)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert library.threads == 8


def test_the_child_of_a_fork_gets_blas_back() -> None:
    made, library = blas(3)
    block = made.alone()
    block.__enter__()
    made.start_anew()
    assert (library.threads, made._users) == (3, 0)
    made.start_anew()
    with made.alone():
        assert library.threads == 1
    assert library.threads == 3


def test_another_blas_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core.ctypes, "CDLL", lambda name: object())
    made = _core._Blas()
    with made.alone():
        pass
    made.start_anew()
    assert not made.can_be_held
    # Its threads would get into the way of ours where the matrices are large enough for them.
    monkeypatch.setattr(_core, "_blas", made)
    seen: list[int] = []

    def body(x: np.ndarray) -> np.ndarray:
        seen.append(len(x))
        return x

    for rows, pieces in ((90, True), (91, False)):
        seen.clear()
        with xp.settings(threads=2):
            in_pieces(body, parse("(n,n)->(n,n)"), 10)(np.zeros((20, rows, rows)))
        assert (len(seen) > 1) is pieces


@pytest.mark.usefixtures("small")
def test_calls_from_several_threads_at_once_are_right() -> None:
    x = xp.asarray(positive((50,), 8))
    wanted = bits(linalg.svd(x))
    got: list[Any] = []
    workers = [threading.Thread(target=lambda: got.append(bits(linalg.svd(x)))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert got == [wanted] * 4
    assert _core._blas._users == 0


@pytest.mark.parametrize("name", ["det", "slogdet"])
def test_determinants_are_taken_in_pieces_of_more_than_500_matrices(name: str) -> None:
    """With 500 or fewer NumPy 2.4 lets no other thread run."""
    sizes = []
    original = np.linalg.det if name == "det" else np.linalg.slogdet

    def counting(x: Any) -> Any:
        sizes.append(len(x))
        return original(x)

    values = np.tile(np.eye(16), (2600, 1, 1))
    with pytest.MonkeyPatch.context() as patch, xp.settings(threads=2):
        patch.setattr(np.linalg, name, counting)
        found = getattr(linalg, name)(xp.asarray(values))
    assert np.array_equal(np.asarray(found if name == "det" else found.sign), np.ones(2600))
    assert sum(sizes) == 2600
    assert len(sizes) > 1
    assert min(sizes) > 500
