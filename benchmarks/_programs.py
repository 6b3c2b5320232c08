"""Whole programs: scikit-learn on the arrays of each library, through array API dispatch.

SCIPY_ARRAY_API=1 must be in the environment before scipy is imported; ``__main__`` sees to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks._cases import FLOATS, Case, Function

FEATURES = 20
ROWS = 10**5


def _samples(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Rows in three clusters, and a hundred of them."""
    x = random.normal(size=(size, FEATURES)) + random.integers(0, 3, (size, 1)) * 2.0
    return (x.astype(dtype, copy=False), x[:100].astype(dtype))


def _dispatched(run: Callable[[Any, Any], Any]) -> Function:
    def function(xp: Any, x: Any, some: Any) -> Any:
        import sklearn

        with sklearn.config_context(array_api_dispatch=True), warnings.catch_warnings():
            # ConvergenceWarning: five steps are what is timed.
            warnings.simplefilter("ignore")
            return run(x, some)

    return function


def _kernel(x: Any, some: Any) -> Any:
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(x, some, gamma=0.05)


def _mixture(x: Any, some: Any) -> Any:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(3, max_iter=5, tol=0, init_params="random_from_data", random_state=0)
    return model.fit(x).predict_proba(x)


def _components(x: Any, some: Any) -> Any:
    from sklearn.decomposition import PCA

    return PCA(5, svd_solver="covariance_eigh").fit_transform(x)


def _scaled(x: Any, some: Any) -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(x)


# NumPy against candela_xp: the others are no drop-in here (JAX is not supported by scikit-learn at all).
CASES = tuple(
    Case(
        name,
        _dispatched(run),
        _samples,
        dtypes=FLOATS[:1],
        sizes=(ROWS,),
        groups=("program",),
        without=("torch", "jax"),
        # GaussianMixture iterates, so last bits grow
        tolerance=1000,
    )
    for name, run in (
        ("rbf_kernel", _kernel),
        ("GaussianMixture", _mixture),
        ("PCA", _components),
        ("StandardScaler", _scaled),
    )
    if find_spec("sklearn") is not None
)
