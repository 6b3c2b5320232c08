"""Decompositions: Cholesky, eigenvalues, QR, singular values. LAPACK through NumPy, a stack at a time.

Functions of a Hermitian matrix read its lower triangle; what stands above plays no part.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from candela_xp._array import NDArray
from candela_xp._public import checked_choice
from candela_xp._revisions import public
from candela_xp.linalg._core import Array, adjoint, core, refuse_nonfinite


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors of general matrices."""

    eigenvalues: NDArray
    eigenvectors: NDArray


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: NDArray
    eigenvectors: NDArray


class QRResult(NamedTuple):
    """An orthonormal and an upper triangular factor."""

    Q: NDArray
    R: NDArray


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, adjoint of the right singular vectors."""

    U: NDArray
    S: NDArray
    Vh: NDArray


def _refuse_nonfinite_below(x: Array) -> None:
    """Keep NaN and infinity in a lower triangle from LAPACK; what stands above plays no part.

    Raises
    ------
    LinAlgError
        There is one.
    """
    if not np.isfinite(x).all():
        refuse_nonfinite(np.tril(x))


@public(namespace="linalg")
@core("(n,n)->(n,n)", weight=2)
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Cholesky factor of each Hermitian positive definite matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype; the lower triangle is read.
    upper : bool, optional
        Whether to return U with ``x = U^H U`` rather than L with ``x = L L^H``. Default: False.

    Returns
    -------
    NDArray
        Triangular factors, of the shape and dtype of ``x``; the other triangle is exactly 0.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one of them is not positive definite.

    Notes
    -----
    Source: array API 2025.12, ``cholesky``; in the standard since 2021.12, complex since 2022.12.
    """
    if not upper:
        return np.linalg.cholesky(x)
    # NumPy reads the upper triangle here: handed the adjoint, that is the lower one of x.
    return np.linalg.cholesky(adjoint(x), upper=True)


def _complex(a: Array) -> Array:
    """NumPy gives real eigenvalues where it can."""
    return a.astype(np.result_type(a.dtype, np.complex64), copy=False)


@public(namespace="linalg", since="2025.12")
@core("(n,n)->(n),(n,n)", returns=("complex", "complex"), result=EigResult, weight=300)
def eig(x: Array, /) -> tuple[Array, Array]:
    """Eigenvalues and right eigenvectors of each square matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.

    Returns
    -------
    EigResult
        ``eigenvalues``, shape (..., M), in no order, and ``eigenvectors``, shape (..., M, M), one a column, of
        length 1; both complex, of the precision of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    The standard's text asks for orthogonal eigenvectors; only those of normal matrices can be.

    Source: array API 2025.12, ``eig``; in the standard since 2025.12.
    """
    refuse_nonfinite(x)
    values, vectors = np.linalg.eig(x)
    return _complex(values), _complex(vectors)


@public(namespace="linalg")
@core("(n,n)->(n),(n,n)", returns=("real", "same"), result=EighResult, weight=50)
def eigh(x: Array, /) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of each Hermitian matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype; the lower triangle is read.

    Returns
    -------
    EighResult
        ``eigenvalues``, shape (..., M), ascending, of the real dtype of that precision, and ``eigenvectors``, shape
        (..., M, M), orthonormal columns of the dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    Source: array API 2025.12, ``eigh``; in the standard since 2021.12, complex since 2022.12.
    """
    _refuse_nonfinite_below(x)
    values, vectors = np.linalg.eigh(x, "L")
    return values, vectors


@public(namespace="linalg", since="2025.12")
@core("(n,n)->(n)", returns="complex", weight=125)
def eigvals(x: Array, /) -> Array:
    """Eigenvalues of each square matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.

    Returns
    -------
    NDArray
        Eigenvalues, shape (..., M), in no order, complex of the precision of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    Source: array API 2025.12, ``eigvals``; in the standard since 2025.12.
    """
    refuse_nonfinite(x)
    return _complex(np.linalg.eigvals(x))


@public(namespace="linalg")
@core("(n,n)->(n)", returns="real", weight=24)
def eigvalsh(x: Array, /) -> Array:
    """Eigenvalues of each Hermitian matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype; the lower triangle is read.

    Returns
    -------
    NDArray
        Eigenvalues, shape (..., M), ascending, of the real dtype of that precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    Source: array API 2025.12, ``eigvalsh``; in the standard since 2021.12, complex since 2022.12.
    """
    _refuse_nonfinite_below(x)
    return np.linalg.eigvalsh(x, "L")


@public(namespace="linalg")
@core("(m,n)->(m,k),(k,n)", returns=("same", "same"), result=QRResult, weight=13)
def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Array, Array]:
    """QR decomposition of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.
    mode : str, optional
        ``"reduced"``: K = min(M, N) columns of Q; ``"complete"``: all M. Default: ``"reduced"``.

    Returns
    -------
    QRResult
        ``Q``, shape (..., M, K) or (..., M, M), with orthonormal columns, and ``R``, shape (..., K, N) or
        (..., M, N), exactly 0 below the diagonal, which is real; ``x = Q R``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        Fewer than two axes, or another mode.

    Notes
    -----
    Source: array API 2025.12, ``qr``; in the standard since 2021.12, complex since 2022.12.
    """
    checked_choice("qr", "mode", mode, ("reduced", "complete"))
    q, r = np.linalg.qr(x, mode)
    return q, r


@public(namespace="linalg")
@core("(m,n)->(m,m),(k),(n,n)", returns=("same", "real", "same"), result=SVDResult, weight=85)
def svd(x: Array, /, *, full_matrices: bool = True) -> Any:
    """Singular value decomposition of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.
    full_matrices : bool, optional
        Whether U and Vh are square, or have K = min(M, N) columns and rows. Default: True.

    Returns
    -------
    SVDResult
        ``U`` with orthonormal columns, ``S``, shape (..., K), descending, of the real dtype of that precision, and
        ``Vh`` with orthonormal rows; ``x = U[..., :K] diag(S) Vh[..., :K, :]``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        Fewer than two axes, or (a `numpy.linalg.LinAlgError`) a matrix holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    Source: array API 2025.12, ``svd``; in the standard since 2021.12, complex since 2022.12.
    """
    refuse_nonfinite(x)
    return np.linalg.svd(x, full_matrices=bool(full_matrices))


@public(namespace="linalg")
@core("(m,n)->(k)", returns="real", weight=32)
def svdvals(x: Array, /) -> Array:
    """Singular values of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.

    Returns
    -------
    NDArray
        Singular values, shape (..., min(M, N)), descending, of the real dtype of that precision.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        Fewer than two axes, or (a `numpy.linalg.LinAlgError`) a matrix holds NaN or infinity, or the iteration did
        not converge.

    Notes
    -----
    Source: array API 2025.12, ``svdvals``; in the standard since 2021.12, complex since 2022.12.
    """
    refuse_nonfinite(x)
    return np.linalg.svd(x, compute_uv=False)


__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]
