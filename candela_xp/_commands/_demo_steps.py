"""The steps of the demo. Import it through `_demo.load_steps`, which sets SCIPY_ARRAY_API first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat
import numpy as np
import scipy
import scipy.cluster.vq
import scipy.fft
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import pairwise
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from candela_xp._commands._demo import Step

Arrays = Mapping[str, Any]


def versions() -> dict[str, str]:
    """Versions of the packages that the steps use."""
    return {
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
        "array-api-compat": array_api_compat.__version__,
    }


def dispatching() -> Any:
    """The context in which scikit-learn computes with the namespace of its arguments."""
    return sklearn.config_context(array_api_dispatch=True)


def data() -> dict[str, Any]:
    """The inputs, as NumPy arrays: digits (1797 images of 8×8) and breast cancer (569 cases, 30 measurements)."""
    pixels, digit = load_digits(return_X_y=True)
    cases, benign = load_breast_cancer(return_X_y=True)
    # The steps depend on nothing random but what a fixed random_state gives.
    standard = (cases - cases.mean(axis=0)) / cases.std(axis=0)
    return {
        "pixels": pixels / 16,
        "images": pixels.reshape(-1, 8, 8) / 16,
        "digit": digit.astype(np.int64),
        "cases": cases,
        "standard": standard,
        "benign": benign.astype(np.int64),
        "target": benign.astype(np.float64),
        "guess": (standard[:, 0] < 0).astype(np.int64),
        "probability": 1 / (1 + np.exp(standard[:, 0])),
    }


def _fitted(estimator: Any, x: str, y: str | None = None, *methods: str) -> Callable[[Arrays], Arrays]:
    """Fit a copy of an estimator and call its methods; results are theirs and the fitted attributes."""

    def run(arrays: Arrays) -> Arrays:
        model = clone(estimator)
        model.fit(arrays[x], *(() if y is None else (arrays[y],)))
        return {"fitted": model} | {method: getattr(model, method)(arrays[x]) for method in methods}

    return run


def _of(function: Callable[..., Any], *names: str) -> Callable[[Arrays], Arrays]:
    """Call a function of some of the arrays."""
    return lambda arrays: {"result": function(*[arrays[name] for name in names])}


def _reconstruction(arrays: Arrays) -> Arrays:
    model = PCA(10, svd_solver="full").fit(arrays["pixels"])
    return {"reconstructed": model.inverse_transform(model.transform(arrays["pixels"]))}


def _views(arrays: Arrays) -> Arrays:
    """Every second image backwards, features in reverse: a view with negative strides all the way into LAPACK."""
    view = arrays["pixels"][::-2, ::-1]
    model = PCA(5, svd_solver="full").fit(view)
    return {"fitted": model, "transform": model.transform(view)}


def _namespace(arrays: Arrays) -> Arrays:
    found = array_api_compat.array_namespace(arrays["cases"])
    return {"mean": found.mean(arrays["cases"], axis=0), "size": array_api_compat.size(arrays["cases"])}


def _pearsonr(x: Any, y: Any) -> tuple[Any, Any]:
    found = scipy.stats.pearsonr(x, y)
    return found.statistic, found.pvalue


def _describe(x: Any) -> tuple[Any, ...]:
    found = scipy.stats.describe(x)
    return found.mean, found.variance, found.skewness, found.kurtosis


_LEARN = "scikit-learn"
# Where a factorisation or an iteration stands between input and result, rounding differs by its condition.
_FACTORED = 1e-10
_ITERATED = 1e-8

STEPS: tuple[Step, ...] = (
    Step("array_namespace", "array-api-compat", _namespace),
    Step("StandardScaler", _LEARN, _fitted(StandardScaler(), "cases", None, "transform")),
    Step("MinMaxScaler", _LEARN, _fitted(MinMaxScaler(), "cases", None, "transform")),
    Step("PolynomialFeatures", _LEARN, lambda a: {"r": PolynomialFeatures(2).fit_transform(a["standard"][:, :8])}),
    Step("PCA, full", _LEARN, _fitted(PCA(10, svd_solver="full"), "pixels", None, "transform"), _FACTORED),
    Step(
        "PCA, randomized",
        _LEARN,
        _fitted(
            PCA(10, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
            "pixels",
            None,
            "transform",
        ),
        _FACTORED,
    ),
    Step("PCA of a reversed view", _LEARN, _views, _FACTORED),
    Step("PCA, there and back", _LEARN, _reconstruction, _FACTORED),
    Step("Ridge", _LEARN, _fitted(Ridge(solver="svd"), "standard", "target", "predict"), _FACTORED),
    Step("RidgeCV", _LEARN, _fitted(RidgeCV(), "standard", "target", "predict"), _FACTORED),
    Step(
        "LinearDiscriminantAnalysis",
        _LEARN,
        _fitted(LinearDiscriminantAnalysis(), "standard", "benign", "predict", "predict_proba", "transform"),
        _FACTORED,
    ),
    Step(
        "LogisticRegression",
        _LEARN,
        _fitted(LogisticRegression(), "standard", "benign", "predict_proba"),
        _ITERATED,
        hands_over="scikit-learn computes the gradient on our arrays and takes it to NumPy for SciPy's L-BFGS",
    ),
    Step("GaussianNB", _LEARN, _fitted(GaussianNB(), "standard", "benign", "predict", "predict_proba"), _FACTORED),
    Step(
        "GaussianMixture",
        _LEARN,
        lambda a: _fitted(GaussianMixture(3, init_params="random", random_state=0), "few", None, "predict")(
            {"few": a["standard"][:, :6]}
        ),
        _ITERATED,
    ),
    Step("accuracy_score", _LEARN, _of(metrics.accuracy_score, "benign", "guess")),
    Step("zero_one_loss", _LEARN, _of(metrics.zero_one_loss, "benign", "guess")),
    Step(
        "confusion_matrix",
        _LEARN,
        _of(metrics.confusion_matrix, "benign", "guess"),
        hands_over="scikit-learn counts with a sparse matrix, which takes NumPy arrays",
    ),
    Step("r2_score", _LEARN, _of(metrics.r2_score, "target", "probability")),
    Step("mean_squared_error", _LEARN, _of(metrics.mean_squared_error, "target", "probability")),
    Step("explained_variance_score", _LEARN, _of(metrics.explained_variance_score, "target", "probability")),
    Step("mean_absolute_error", _LEARN, _of(metrics.mean_absolute_error, "target", "probability")),
    Step("rbf_kernel", _LEARN, _of(pairwise.rbf_kernel, "standard")),
    Step("euclidean_distances", _LEARN, _of(pairwise.euclidean_distances, "standard")),
    Step("cosine_similarity", _LEARN, _of(pairwise.cosine_similarity, "standard")),
    Step("fft.rfft2", "SciPy", _of(scipy.fft.rfft2, "images")),
    Step("fft.fft of columns", "SciPy", _of(lambda x: scipy.fft.fft(x, axis=0), "pixels")),
    Step("stats.zscore", "SciPy", _of(scipy.stats.zscore, "cases")),
    Step("stats.skew", "SciPy", _of(scipy.stats.skew, "cases")),
    Step("stats.describe", "SciPy", _of(_describe, "cases")),
    Step("stats.rankdata", "SciPy", _of(lambda x: scipy.stats.rankdata(x, axis=0), "cases")),
    Step(
        "stats.pearsonr",
        "SciPy",
        _of(_pearsonr, "target", "probability"),
        hands_over="its p-value needs special.betaincc, which SciPy has for NumPy arrays only and converts for",
    ),
    Step("signal.hilbert", "SciPy", _of(lambda x: scipy.signal.hilbert(x, axis=0), "standard")),
    Step("signal.resample", "SciPy", _of(lambda x: scipy.signal.resample(x, 128), "standard")),
    Step(
        "signal.fftconvolve",
        "SciPy",
        lambda a: {"r": scipy.signal.fftconvolve(a["images"], a["images"][:1], axes=(1, 2))},
    ),
    Step("cluster.vq.whiten", "SciPy", _of(scipy.cluster.vq.whiten, "cases")),
    Step("special.softmax", "SciPy", _of(lambda x: scipy.special.softmax(x, axis=1), "standard")),
    Step("special.logsumexp", "SciPy", _of(lambda x: scipy.special.logsumexp(x, axis=1), "standard")),
)
