"""Determinants, inverses, linear systems and rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from candela_xp import _device
from candela_xp._array import NDArray, as_python_scalar
from candela_xp._datatypes import finfo_object
from candela_xp._dtypes import REAL_OF, DType
from candela_xp._layout import broadcast_shapes
from candela_xp._revisions import public
from candela_xp.linalg._core import Array, Shape, adjoint, core, refuse_nonfinite


class SlogdetResult(NamedTuple):
    """Sign of a determinant and natural logarithm of its absolute value."""

    sign: NDArray
    logabsdet: NDArray


def _undefined(x: Array) -> Array:
    """Which matrices of a stack hold a NaN. LAPACK takes a NaN for the pivot 0 where it comes first."""
    return np.asarray(np.isnan(x).any(axis=(-2, -1)))


def _has_undefined(x: Array) -> bool:
    """Whether some matrix of a stack holds a NaN: where its dot product with itself is one. Squares have no other way.

    10×10 doubles 0.4 µs, 1.0 with isnan and a reduction.
    """
    flags = x.flags
    if flags.f_contiguous and x.ndim == 2:
        x = x.T
    elif not flags.c_contiguous:
        return bool(np.logical_or.reduce(np.isnan(x), axis=None))
    square = np.vdot(x, x).real
    return bool(square != square)


def _without_undefined(x: Array) -> tuple[Array, Array]:
    """Which matrices hold a NaN, and the stack with others in their place, whose NaN no elimination carries on."""
    lost = _undefined(x)
    return lost, np.where(lost[..., np.newaxis, np.newaxis], np.eye(x.shape[-1]), x).astype(x.dtype)


def inverse(x: Array) -> Array:
    """Inverses; of a matrix with NaN all NaN.

    Raises
    ------
    LinAlgError
        A matrix is singular.
    """
    if not _has_undefined(x):
        return np.linalg.inv(x)
    lost, sound = _without_undefined(x)
    return np.asarray(np.where(lost[..., np.newaxis, np.newaxis], x.dtype.type(np.nan), np.linalg.inv(sound)))


# Up to this many rows the error of a sum of logarithms outweighs that of the elimination itself.
SCALED_SIZE = 64
# Determinants between 2 to minus this and 2 to this are left as they are; of matrices with more than 4 rows, 2 to half
# of it times the root of the rows.
LEAST_EXPONENT = 12


@public(namespace="linalg")
@core("(n,n)->()", weight=5)
def det(x: Array, /) -> Array:
    """Determinant of each square matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.

    Returns
    -------
    NDArray
        Determinants, shape (...), of the dtype of ``x``; 1 for matrices without elements.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square.

    Notes
    -----
    Source: array API 2025.12, ``det``; in the standard since 2021.12, complex since 2022.12.
    """
    # A NaN that was there before is no invalid operation; NumPy's elimination says it is.
    with np.errstate(invalid="ignore"):
        value = np.asarray(np.linalg.det(x))
    size = x.shape[-1]
    magnitude = np.abs(value)
    # NumPy computes single precision in double and rounds once.
    double = x.dtype.char not in "fF" and 0 < size <= SCALED_SIZE
    limit = 2.0 ** max(LEAST_EXPONENT, LEAST_EXPONENT / 2 * size**0.5) if double else np.inf
    ordinary = (magnitude > 1 / limit) & (magnitude <= limit)
    if ordinary if value.ndim == 0 else ordinary.all():
        return value
    if not value.all():
        value = np.asarray(np.where((value == 0) & _undefined(x), value.dtype.type(np.nan), value))
    far = ~ordinary & (magnitude > 0) & (magnitude < np.inf)
    if double and far.any():
        value[far] = _rescaled(x if value.ndim == 0 else x[far], value[far].reshape(value.shape and (-1,)))
    return value


def _rescaled(x: Array, value: Array) -> Array:
    """Determinants in double precision once more, of matrices over a power of two that brings the pivots near 1.

    NumPy takes the exponential of a sum of logarithms, whose error grows with the sum: errors in units of the last
    place, of random matrices, here and there: 4×4 of 1e5 0.6 and 2, of 1e19 1 and 14; 16×16 of 1e20 5 and 16, of 1e78 5
    and 94. 16×16 of 1e11 7 and 11, and below there is nothing to gain: the elimination has errors of its own.
    """
    size, magnitude = x.shape[-1], np.abs(value)
    _, exponent = np.frexp(magnitude)
    power = np.rint(exponent / size).astype(np.intc)
    half = size * power // 2
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        pivots_near_one = x * np.ldexp(1.0, -power)[..., np.newaxis, np.newaxis]
        scaled = np.linalg.det(pivots_near_one) * np.ldexp(1.0, half) * np.ldexp(1.0, size * power - half)
        # Elements that the scaling drove out of range give another value.
        sound = np.abs(scaled - value) <= 1e-6 * magnitude
    return np.asarray(np.where(sound, scaled, value))


@public(namespace="linalg")
@core("(n,n)->(),()", returns=("same", "real"), result=SlogdetResult, weight=5)
def slogdet(x: Array, /) -> tuple[Array, Array]:
    """Sign of the determinant of each square matrix in a stack, and the logarithm of its absolute value.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.

    Returns
    -------
    SlogdetResult
        ``sign``, of the dtype of ``x`` (for complex matrices a number of absolute value 1), and ``logabsdet``, of
        the real dtype of that precision; both of shape (...). 0 and -infinity for singular matrices.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square.

    Notes
    -----
    The standard's text has ``-infinity + 0j`` for complex matrices in one place; the dtype it asks for is real.

    Source: array API 2025.12, ``slogdet``; in the standard since 2021.12, complex since 2022.12.
    """
    with np.errstate(invalid="ignore"):
        sign, logabsdet = map(np.asarray, np.linalg.slogdet(x))
    if not sign.all():
        lost = (sign == 0) & _undefined(x)
        sign = np.where(lost, sign.dtype.type(np.nan), sign)
        logabsdet = np.where(lost, logabsdet.dtype.type(np.nan), logabsdet)
    return sign, logabsdet


@public(namespace="linalg")
@core("(n,n)->(n,n)", weight=10)
def inv(x: Array, /) -> Array:
    """Inverse of each square matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, M), of floating-point dtype.

    Returns
    -------
    NDArray
        Inverses, of the shape and dtype of ``x``; of a matrix with NaN all NaN.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype).
    ValueError
        The matrices aren't square, or (a `numpy.linalg.LinAlgError`) one of them is singular.

    Notes
    -----
    Source: array API 2025.12, ``inv``; in the standard since 2021.12, complex since 2022.12.
    """
    return inverse(x)


@public(namespace="linalg")
@core("(n,n),(n,k?)->(n,k?)", weight=5)
def solve(x1: Array, x2: Array, /) -> Array:
    """Solution of each system of linear equations in a stack.

    Parameters
    ----------
    x1 : NDArray
        Coefficients, shape (..., M, M), of floating-point dtype.
    x2 : NDArray
        Right-hand sides: the columns of matrices, shape (..., M, K), or one vector, shape (M,); the stacks broadcast.

    Returns
    -------
    NDArray
        Solutions, shape (..., M, K), or (..., M) for a vector, of the dtype in which the operands combine; where the
        coefficients hold a NaN all NaN.

    Raises
    ------
    TypeError
        An operand is no NDArray or of another kind (in default mode integers are computed in the default
        floating-point dtype), or the dtypes don't combine.
    ValueError
        The matrices of x1 aren't square, x2 has another number of rows, the stacks don't broadcast, the operands are
        on different devices, or (a `numpy.linalg.LinAlgError`) a matrix is singular.

    Notes
    -----
    Only a one-dimensional x2 is a vector; one of shape (2, 3) is a 2×3 matrix, never two vectors.

    Source: array API 2025.12, ``solve``; in the standard since 2021.12, complex since 2022.12.
    """
    if not _has_undefined(x1):
        return np.asarray(np.linalg.solve(x1, x2))
    undefined, sound = _without_undefined(x1)
    lost = undefined[..., np.newaxis] if x2.ndim == 1 else undefined[..., np.newaxis, np.newaxis]
    return np.asarray(np.where(lost, x1.dtype.type(np.nan), np.linalg.solve(sound, x2)))


def _tolerance(
    function: str, dtype: DType, operands: Sequence[NDArray], stacks: Sequence[Shape], keywords: dict[str, Any]
) -> None:
    """Make of ``rtol`` a factor that broadcasts against singular values, shape (..., 1).

    Raises
    ------
    TypeError
        It is no real number and no array of real floating-point dtype.
    ValueError
        An array that doesn't stretch to the stack, or is on another device.
    """
    (x,), (stack,) = operands, stacks
    rtol = keywords.get("rtol")
    real = REAL_OF.get(dtype, dtype)
    wide = np.float32 if real.kernels == "narrow" else real.dtype.type
    if rtol is None:
        # The precision is that of x, also where narrow floats are computed in float32.
        keywords["rtol"] = wide(max(x.shape[-2:]) * finfo_object(real).eps)
        return
    if isinstance(rtol, np.generic):
        rtol = as_python_scalar(function, rtol)
    if isinstance(rtol, NDArray):
        _device.shared(function, x._device, rtol._device)
        if rtol._dtype.kind != "float":
            raise TypeError(
                f"{function}: rtol is an array of {rtol._dtype}, not of a real floating-point dtype; use astype"
            )
        if rtol.size != 1 and broadcast_shapes((stack, rtol.shape)) != stack:
            raise ValueError(
                f"{function}: rtol has shape {rtol.shape}, which doesn't stretch to the stack {stack} of x"
            )
        view = rtol._numpy()
        if view.size == 1:
            view = view.reshape(())
        keywords["rtol"] = (view.astype(np.float32) if rtol._dtype.kernels == "narrow" else view)[..., np.newaxis]
        return
    if isinstance(rtol, bool) or not isinstance(rtol, int | float):
        raise TypeError(f"{function}: rtol must be a real number or an array, got {rtol!r}")
    keywords["rtol"] = wide(rtol)


def _kept(values: Array, rtol: Any) -> Array:
    """Which singular values (descending) lie above ``rtol`` times the largest."""
    return np.asarray(values > rtol * values[..., :1])


# Pseudo-inverses of matrices whose condition is no more are refined.
REFINED_CONDITION = 64


@public(namespace="linalg")
@core("(m,n)->(n,m)", keywords=_tolerance, weight=100)
def pinv(x: Array, /, *, rtol: float | NDArray | None = None) -> Array:
    """Moore-Penrose pseudo-inverse of each matrix in a stack.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.
    rtol : float or NDArray, optional
        Singular values up to ``rtol`` times the largest count as 0; an array of real floating-point dtype holds one
        factor a matrix, or stretches to the stack. None: ``max(M, N)`` times the machine epsilon of ``x``.

    Returns
    -------
    NDArray
        Pseudo-inverses, shape (..., N, M), of the dtype of ``x``.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype), or ``rtol`` is no real number or array.
    ValueError
        Fewer than two axes, ``rtol`` doesn't stretch to the stack or is on another device, or (a
        `numpy.linalg.LinAlgError`) a matrix holds NaN or infinity, or the iteration did not converge.

    Notes
    -----
    The standard's text writes the pseudo-inverse as U Σ⁺ V^H; it is V Σ⁺ U^H.

    Source: array API 2025.12, ``pinv``; in the standard since 2021.12, complex since 2022.12.
    """
    refuse_nonfinite(x)
    u, values, vh = np.linalg.svd(x, full_matrices=False)
    kept = _kept(values, rtol)
    inverse = np.divide(1, values, where=kept, out=np.zeros_like(values))
    raw = np.matmul(adjoint(vh) * inverse[..., np.newaxis, :], adjoint(u))
    # One step of Newton's iteration, which keeps the range: LAPACK's singular vectors alone leave errors of 200
    # units in the last place on 3×3 matrices of condition κ = 13, this leaves 1. Two products cost little beside the
    # svd. But its rounding makes X A unsymmetric by eps κ², the singular vectors by some n eps κ: 12×12 random matrices
    # of κ = 6000 by 100 times as much after the step, Hilbert's with κ = 7e13 by 7e8 instead of 1e-3.
    with np.errstate(over="ignore", invalid="ignore"):
        near = inverse.max(axis=-1, initial=0) * values.max(axis=-1, initial=0) <= REFINED_CONDITION
        if not near.any():
            return np.asarray(raw)
        refined = raw + (raw - np.matmul(raw, np.matmul(x, raw)))
    return np.asarray(np.where(near[..., np.newaxis, np.newaxis] & np.isfinite(refined), refined, raw))


@public(namespace="linalg")
@core("(m,n)->()", returns="integer", keywords=_tolerance, weight=32)
def matrix_rank(x: Array, /, *, rtol: float | NDArray | None = None) -> Array:
    """Rank of each matrix in a stack: how many singular values differ from 0.

    Parameters
    ----------
    x : NDArray
        Matrices, shape (..., M, N), of floating-point dtype.
    rtol : float or NDArray, optional
        Singular values up to ``rtol`` times the largest count as 0; an array of real floating-point dtype holds one
        factor a matrix, or stretches to the stack. None: ``max(M, N)`` times the machine epsilon of ``x``.

    Returns
    -------
    NDArray
        Ranks, shape (...), of the default integer dtype.

    Raises
    ------
    TypeError
        ``x`` is no NDArray or of another kind (in default mode integers are computed in the default floating-point
        dtype), or ``rtol`` is no real number or array.
    ValueError
        Fewer than two axes, ``rtol`` doesn't stretch to the stack or is on another device, or (a
        `numpy.linalg.LinAlgError`) a matrix holds NaN or infinity, or the iteration did not converge.

    Notes
    -----
    Source: array API 2025.12, ``matrix_rank``; in the standard since 2021.12, complex since 2022.12.
    """
    refuse_nonfinite(x)
    values = np.linalg.svd(x, compute_uv=False)
    return np.asarray(np.count_nonzero(_kept(values, rtol), axis=-1))


__all__ = ["det", "slogdet", "inv", "pinv", "solve", "matrix_rank"]
