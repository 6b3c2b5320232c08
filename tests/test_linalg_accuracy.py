"""Backward errors of decompositions and solvers against the bounds of their analysis, over well- and ill-conditioned
families, one by one and in stacks that go through several threads.

Sources: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition; LAPACK Users' Guide, chapter 4. u is
the unit roundoff eps/2 and γ(k) = ku / (1 - ku), what k roundings in a row come to. A complex multiplication rounds
like 2√2 real ones (Higham 3.6), so γ takes `ROUNDINGS` times as many there.

Residuals are computed in a wider format and of matrices scaled by a power of two to elements near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from layouts import ARRANGEMENTS, lay_out

import candela_xp as xp
from candela_xp import linalg
from candela_xp.linalg import _core

FLOATS = ("float32", "float64", "complex64", "complex128")
ROUNDINGS = {"f": 1, "c": 2 * math.sqrt(2)}
floats = pytest.mark.parametrize("name", FLOATS)
arrangements = pytest.mark.parametrize("arrangement", ARRANGEMENTS)
SIZE = 12
# Bounds that the analysis gives as a modest multiple c(m, n) of the unit roundoff: rotations and reflections, n of
# them, each of which moves every column by some u of its length. The worst case has another factor of the length of the
# inner products (Higham 19.4: γ(cmn)), which needs errors of one sign; they have both, so n·eps with this factor holds.
MODEST = 4


@pytest.fixture(autouse=True)
def _small_stacks_in_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three matrices are a stack that goes in pieces, whatever their size."""
    monkeypatch.setattr(_core, "LEAST_WORK", 1)
    monkeypatch.setattr(_core, "LEAST_MATRIX_WORK", 0)
    monkeypatch.setattr(_core, "PIECE_WORK", 1)
    monkeypatch.setattr(_core, "LEAST_MATRICES", 3)
    with xp.settings(threads=2):
        yield


# -- families ----------------------------------------------------------------------------------------


def _random(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    values = generator.standard_normal((n, n))
    return values + 1j * generator.standard_normal((n, n)) if name.startswith("complex") else values


def _orthogonal(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    return np.linalg.qr(_random(n, generator, name))[0]


def _hilbert(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    return 1 / (np.arange(n)[:, None] + np.arange(n) + 1)


def _kahan(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    """Upper triangular, its smallest singular value far below its smallest diagonal element."""
    sine, cosine = math.sin(1.2), math.cos(1.2)
    return sine ** np.arange(n)[:, None] * (np.eye(n) - cosine * np.triu(np.ones((n, n)), 1))


def _graded(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    """Rows and columns of sizes from 1 to 2^-22."""
    size = 2.0 ** -np.arange(n)
    return size[:, None] * _random(n, generator, name) * size


def _repeated(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    """Normal, with three eigenvalues for all."""
    q = _orthogonal(n, generator, name)
    return q * (np.arange(n) % 3 + 1) @ q.conj().T


def _deficient(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    """Rank 3, of small integers, so that no rounding gives it more."""
    left, right = np.sign(_random(n, generator, name).real[:, :3]), np.sign(_random(n, generator, name).real[:3])
    return left @ right * (1 + 1j if name.startswith("complex") else 1)


def _tiny(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    return _random(n, generator, name) * 4.0 ** _far(name, -1)


def _huge(n: int, generator: np.random.Generator, name: str) -> np.ndarray:
    return _random(n, generator, name) * 4.0 ** _far(name, 1)


def _far(name: str, sign: int) -> int:
    """Half a binary exponent whose square is out of range."""
    return sign * (48 if name in ("float32", "complex64") else 400)


REGULAR = {
    "random": _random,
    "Hilbert": _hilbert,
    "Kahan": _kahan,
    "graded": _graded,
    "repeated": _repeated,
    "tiny": _tiny,
    "huge": _huge,
}
FAMILIES = {**REGULAR, "rank 3": _deficient}
families = pytest.mark.parametrize("family", FAMILIES)
regular = pytest.mark.parametrize("family", REGULAR)


def stack_of(family: str, name: str, n: int = SIZE, count: int = 4) -> np.ndarray:
    """Some matrices of a family, of that dtype."""
    generator = np.random.default_rng(5)
    return np.stack([FAMILIES[family](n, generator, name) for _ in range(count)]).astype(name)


def hermitian_of(family: str, name: str) -> np.ndarray:
    values = stack_of(family, name)
    return ((values + values.conj().mT) / 2).astype(name)


# -- measuring ---------------------------------------------------------------------------------------


def near_one(values: np.ndarray) -> float:
    """A power of four near the largest element."""
    return 4.0 ** round(math.log2(float(np.abs(values).max())) / 2)


def wide(values: Any) -> np.ndarray:
    """In a format with more digits: what is computed of it has an error that doesn't count beside eps."""
    values = np.asarray(values)
    single = values.dtype in (np.float32, np.complex64)
    real, complex_ = (np.float64, np.complex128) if single else (np.longdouble, np.clongdouble)
    return values.astype(complex_ if values.dtype.kind == "c" else real)


def eps(name: str) -> float:
    return float(np.finfo(name).eps)


def gamma(count: int, name: str) -> float:
    """What so many roundings in a row come to."""
    product = count * ROUNDINGS[np.dtype(name).kind] * eps(name) / 2
    return product / (1 - product)


def spectral(values: np.ndarray) -> np.ndarray:
    """The largest singular value of each matrix."""
    kind = np.complex128 if values.dtype.kind == "c" else np.float64
    return np.linalg.norm(values.astype(kind), 2, axis=(-2, -1))


def row_sum(values: np.ndarray) -> np.ndarray:
    return np.abs(values).sum(-1).max(-1)


def largest(values: np.ndarray) -> np.ndarray:
    return np.abs(values).max((-2, -1))


def assert_orthonormal(columns: np.ndarray, bound: float) -> None:
    error = columns.conj().mT @ columns - np.eye(columns.shape[-1])
    assert spectral(error).max(initial=0) <= bound


def computed(function: Callable[..., Any], *operands: np.ndarray, **keywords: Any) -> list[np.ndarray]:
    """What a function gives for a stack: the same bits in one thread and in two, and matrix by matrix."""
    found = []
    for threads in (1, 2):
        with xp.settings(threads=threads):
            result = function(*map(xp.asarray, operands), **keywords)
            found.append([np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))])
    for index in range(len(operands[0])):
        result = function(*[xp.asarray(operand[index]) for operand in operands], **keywords)
        for one, two, alone in zip(*found, result if isinstance(result, tuple) else (result,)):
            assert one.tobytes() == two.tobytes()
            assert np.asarray(alone).tobytes() == one[index].tobytes()
    return found[1]


def elimination_size(values: np.ndarray) -> np.ndarray:
    """The row-sum norm of |L||U| for elimination with partial pivoting."""
    sizes = []
    for matrix in values:
        upper = wide(matrix).copy()
        lower = np.eye(len(upper), dtype=upper.dtype)
        for column in range(len(upper)):
            pivot = column + int(np.argmax(np.abs(upper[column:, column])))
            upper[[column, pivot]] = upper[[pivot, column]]
            lower[[column, pivot], :column] = lower[[pivot, column], :column]
            lower[column + 1 :, column] = upper[column + 1 :, column] / upper[column, column]
            upper[column + 1 :] -= np.outer(lower[column + 1 :, column], upper[column])
            upper[column + 1 :, column] = 0
        sizes.append(row_sum(np.abs(lower) @ np.abs(upper)))
    return np.array(sizes)


# -- systems -----------------------------------------------------------------------------------------


@floats
@regular
def test_solutions_solve_a_system_that_lies_as_near_as_elimination_allows(name: str, family: str) -> None:
    # (A + ΔA) x = b with |ΔA| <= γ(3n) |L||U| (Higham 9.4), so |b - Ax| <= γ(3n) ‖|L||U|‖ ‖x‖ in the maximum norm.
    # The bound holds for each right-hand side.
    values, right = stack_of(family, name), stack_of("random", name)[..., :3].copy()
    scale = near_one(values)
    (x,) = computed(linalg.solve, values, (right * scale).astype(name))
    a, x, b = wide(values) / scale, wide(x), wide(right)
    error = np.abs(b - a @ x).max(-2)
    assert np.all(error <= gamma(3 * SIZE, name) * elimination_size(a)[:, None] * np.abs(x).max(-2))


@floats
@regular
def test_inverses_have_columns_with_small_residuals(name: str, family: str) -> None:
    # Column by column the solution of A x = e: |AX - I| <= γ(3n) |L||U||X| (Higham 14.3).
    values = stack_of(family, name)
    scale = near_one(values)
    (x,) = computed(linalg.inv, values)
    a, x = wide(values) / scale, wide(x) * scale
    error = row_sum(a @ x - np.eye(SIZE))
    assert np.all(error <= gamma(3 * SIZE, name) * elimination_size(a) * row_sum(x))


def _positive(name: str) -> dict[str, np.ndarray]:
    """Positive definite families; Hilbert's only as large as elimination in that precision can tell (Higham 10.7)."""
    single = name in ("float32", "complex64")
    q = _orthogonal(SIZE, np.random.default_rng(6), name)
    random = stack_of("random", name, count=3).astype("complex128" if name.startswith("complex") else "float64")
    product = random @ random.conj().mT + np.eye(SIZE)
    size = 2.0 ** -np.arange(SIZE)
    made = {
        "random": product,
        "Hilbert": np.stack([_hilbert(4 if single else 9, np.random.default_rng(0), name)] * 3),
        "graded": size[:, None] * product * size,
        "repeated": np.stack([q * (np.arange(SIZE) % 3 + 1) @ q.conj().T] * 3),
        "minimum": np.stack([np.minimum.outer(np.arange(1.0, SIZE + 1), np.arange(1.0, SIZE + 1))] * 3),
        "tiny": product * 4.0 ** _far(name, -1),
        "huge": product * 4.0 ** _far(name, 1),
    }
    return {family: values.astype(name) for family, values in made.items()}


@floats
@pytest.mark.parametrize("family", [*_positive("float64")])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_rebuild_each_element(name: str, family: str, upper: bool) -> None:
    # |A - LLᴴ| <= γ(n+1) |L||Lᴴ|, element by element (Higham 10.3).
    values = _positive(name)[family]
    scale = near_one(values)
    (factor,) = computed(linalg.cholesky, values, upper=upper)
    lower = wide(factor.conj().mT if upper else factor) / math.sqrt(scale)
    error = np.abs(np.tril(wide(values) / scale - lower @ lower.conj().mT))
    size = np.abs(lower)
    assert np.all(error <= gamma(values.shape[-1] + 1, name) * (size @ size.mT))


# -- orthogonal factors ------------------------------------------------------------------------------

SHAPES = [(SIZE, SIZE), (SIZE, 5), (5, SIZE), (SIZE, 1)]
shapes = pytest.mark.parametrize("shape", SHAPES)


@floats
@families
@shapes
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_rebuilds_each_column_to_its_own_length(name: str, family: str, shape: tuple[int, int], mode: Any) -> None:
    # Column j of A is that of QR but for c·n·u of its length, however small it is beside others (Higham 19.4), and
    # Q is as near to orthonormal.
    values = stack_of(family, name)[:, : shape[0], : shape[1]].copy()
    scale = near_one(values)
    q, r = (wide(part) for part in computed(linalg.qr, values, mode=mode))
    a, r = wide(values) / scale, r / scale
    length = np.sqrt((np.abs(a) ** 2).sum(-2))
    error = np.sqrt((np.abs(a - q @ r) ** 2).sum(-2))
    assert np.all(error <= MODEST * SIZE * eps(name) * length)
    assert_orthonormal(q, MODEST * SIZE * eps(name))


@floats
@families
@shapes
@pytest.mark.parametrize("full", [True, False])
def test_singular_vectors_rebuild_the_matrix_to_its_norm(
    name: str, family: str, shape: tuple[int, int], full: bool
) -> None:
    # A + E = U Σ Vᴴ with ‖E‖ <= c·n·u ‖A‖, and U and V as near to orthonormal (LAPACK Users' Guide 4.9).
    values = stack_of(family, name)[:, : shape[0], : shape[1]].copy()
    inner = min(shape)
    scale = near_one(values)
    u, s, vh = (wide(part) for part in computed(linalg.svd, values, full_matrices=full))
    a, s = wide(values) / scale, s / scale
    error = spectral(a - (u[..., :inner] * s[..., None, :]) @ vh[..., :inner, :])
    bound = MODEST * SIZE * eps(name)
    assert np.all(error <= bound * spectral(a))
    assert_orthonormal(u, bound)
    assert_orthonormal(vh.conj().mT, bound)
    # Singular values move by no more than ‖E‖ (Weyl).
    (alone,) = computed(linalg.svdvals, values)
    assert np.all(np.abs(wide(alone) / scale - s) <= 2 * bound * s[..., :1])
    if family == "rank 3":
        assert np.all(s[..., 3:] <= bound * s[..., :1])


@floats
@families
def test_hermitian_eigenvectors_rebuild_the_matrix_to_its_norm(name: str, family: str) -> None:
    # A + E = Q Λ Qᴴ with ‖E‖ <= c·n·u ‖A‖, and Q as near to orthonormal (LAPACK Users' Guide 4.7).
    values = hermitian_of(family, name)
    scale = near_one(values)
    w, q = (wide(part) for part in computed(linalg.eigh, values))
    a, w = wide(values) / scale, w / scale
    bound = MODEST * SIZE * eps(name)
    assert np.all(spectral(a - (q * w[..., None, :]) @ q.conj().mT) <= bound * spectral(a))
    assert_orthonormal(q, bound)
    (alone,) = computed(linalg.eigvalsh, values)
    assert np.all(np.abs(wide(alone) / scale - w) <= 2 * bound * spectral(a)[:, None])


@floats
def test_known_eigenvalues_and_singular_values_come_out(name: str) -> None:
    # Second differences: 2 - 2 cos(πk / (n + 1)). Their distance from the computed ones is at most ‖E‖ (Weyl).
    values = np.stack([2 * np.eye(SIZE) - np.eye(SIZE, k=1) - np.eye(SIZE, k=-1)] * 3).astype(name)
    wanted = 2 - 2 * np.cos(np.pi * np.arange(1, SIZE + 1) / (SIZE + 1))
    bound = MODEST * SIZE * eps(name) * 4
    for got in (linalg.eigvalsh(xp.asarray(values)), linalg.eigh(xp.asarray(values)).eigenvalues):
        assert np.abs(np.asarray(got) - wanted).max() <= bound
    assert np.abs(np.asarray(linalg.svdvals(xp.asarray(values)))[:, ::-1] - wanted).max() <= bound


@floats
@families
@shapes
def test_pseudo_inverses_meet_penrose_s_conditions_to_the_condition(
    name: str, family: str, shape: tuple[int, int]
) -> None:
    # With B = A + E = U Σ Vᴴ and X = B⁺ + F: AXA - A = E - EB⁺B - BB⁺E + EB⁺E + AFA. ‖E‖ <= c·n·u ‖A‖ as above, and as
    # much again where singular values up to n·eps ‖A‖ were dropped; ‖F‖ <= c·n·u ‖X‖ from the products. So with
    # κ = ‖A‖‖X‖ it is at most c·n·eps·κ ‖A‖, and XAX - X in the same way c·n·eps·κ ‖X‖.
    values = stack_of(family, name)[:, : shape[0], : shape[1]].copy()
    scale = near_one(values)
    (x,) = computed(linalg.pinv, values)
    a, x = wide(values) / scale, wide(x) * scale
    size, inverse_size = spectral(a), spectral(x)
    bound = 2 * MODEST * SIZE * eps(name) * size * inverse_size
    assert np.all(spectral(a @ x @ a - a) <= bound * size)
    assert np.all(spectral(x @ a @ x - x) <= bound * inverse_size)
    for product in (a @ x, x @ a):
        assert np.all(spectral(product - product.conj().mT) <= bound)


# -- layouts -----------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[xp.NDArray], Any]] = {
    "cholesky": linalg.cholesky,
    "cholesky, upper": lambda x: linalg.cholesky(x, upper=True),
    "det": linalg.det,
    "eig": linalg.eig,
    "eigh": linalg.eigh,
    "eigvals": linalg.eigvals,
    "eigvalsh": linalg.eigvalsh,
    "inv": linalg.inv,
    "pinv": linalg.pinv,
    "qr": linalg.qr,
    "slogdet": linalg.slogdet,
    "solve": lambda x: linalg.solve(x, x),
    "svd": linalg.svd,
    "svdvals": linalg.svdvals,
}


@floats
@arrangements
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_bits_depend_neither_on_the_layout_nor_on_the_threads(name: str, arrangement: str, function: str) -> None:
    values = _positive(name)["random"]
    stack = np.stack([values, values[::-1]])

    def bits(view: np.ndarray) -> list[bytes]:
        result = FUNCTIONS[function](xp.asarray(view))
        return [np.asarray(part).tobytes() for part in (result if isinstance(result, tuple) else (result,))]

    with xp.settings(threads=1):
        wanted = bits(stack)
    assert bits(lay_out(stack, arrangement)) == wanted
    # What stands above the diagonal plays no part.
    if function.startswith(("cholesky", "eigh", "eigvalsh")):
        junk = np.triu(np.full(stack.shape[-2:], 7), 1).astype(name)
        assert bits(lay_out(stack + junk, arrangement)) == wanted
