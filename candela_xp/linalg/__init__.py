"""Linear algebra (array API 2025.12, extension ``linalg``)."""

from __future__ import annotations

from candela_xp.linalg._decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from candela_xp.linalg._norms import matrix_norm, vector_norm
from candela_xp.linalg._products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vecdot,
)
from candela_xp.linalg._solvers import det, inv, matrix_rank, pinv, slogdet, solve

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
