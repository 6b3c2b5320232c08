"""The revisions of the standard: which names each has, how they behave, and what a public function looks like."""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import candela_xp as xp
from candela_xp import _dtypes, _revisions
from candela_xp._faces import CONSTANTS, EXTENSIONS

REVISIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

# Which functions came with which revision, by namespace ('' is the main one)
SINCE: dict[str, dict[str, str]] = {
    "": {
        "2021.12": (
            "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu "
            "zeros zeros_like astype broadcast_arrays broadcast_to can_cast finfo iinfo result_type abs acos acosh add "
            "asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift "
            "bitwise_xor ceil cos cosh divide equal exp expm1 floor floor_divide greater greater_equal isfinite isinf "
            "isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor "
            "multiply negative not_equal positive pow remainder round sign sin sinh square sqrt subtract tan tanh "
            "trunc matmul matrix_transpose tensordot vecdot concat expand_dims flip permute_dims reshape roll "
            "squeeze stack argmax argmin nonzero where unique_all unique_counts unique_inverse unique_values "
            "argsort sort max mean min prod std sum var all any"
        ),
        "2022.12": "isdtype conj imag real take",
        "2023.12": (
            "clip copysign hypot maximum minimum signbit moveaxis repeat tile unstack searchsorted cumulative_sum"
        ),
        "2024.12": "nextafter reciprocal take_along_axis count_nonzero cumulative_prod diff",
        "2025.12": "broadcast_shapes isin",
    },
    "linalg": {
        "2021.12": (
            "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
            "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
        ),
        "2025.12": "eig eigvals",
    },
    "fft": {
        "2022.12": "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift",
    },
}

# Parameters, kinds and defaults as in the stubs of 2025.12. Two functions take more, in default mode: squeeze no axis
# (NumPy drops all of length 1), mean a dtype (SciPy passes it).
SIGNATURES: dict[str, dict[str, str]] = {
    "": {
        "(x, /)": (
            "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite "
            "isinf isnan log log10 log1p log2 logical_not matrix_transpose negative nonzero positive real "
            "reciprocal round sign signbit sin sinh sqrt square tan tanh trunc unique_all unique_counts "
            "unique_inverse unique_values"
        ),
        "(x1, x2, /)": (
            "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide "
            "equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or "
            "logical_xor matmul maximum minimum multiply nextafter not_equal pow remainder subtract"
        ),
        "(x, /, *, axis=None, keepdims=False)": "all any argmax argmin count_nonzero max min",
        "(shape, *, dtype=None, device=None)": "empty ones zeros",
        "(x, /, *, dtype=None, device=None)": "empty_like ones_like zeros_like",
        "(x, /, *, axis=-1, descending=False, stable=True)": "argsort sort",
        "(arrays, /, *, axis=0)": "concat stack",
        "(x, /, *, axis=None, dtype=None, include_initial=False)": "cumulative_prod cumulative_sum",
        "(type, /)": "finfo iinfo",
        "(x, /, *, axis=None, dtype=None, keepdims=False)": "prod sum",
        "(x, /, *, axis=None, correction=0.0, keepdims=False)": "std var",
        "(x, /, *, k=0)": "tril triu",
        "()": "__array_namespace_info__",
        "(start, /, stop=None, step=1, *, dtype=None, device=None)": "arange",
        "(obj, /, *, dtype=None, device=None, copy=None)": "asarray",
        "(x, dtype, /, *, copy=True, device=None)": "astype",
        "(*arrays)": "broadcast_arrays",
        "(*shapes)": "broadcast_shapes",
        "(x, /, shape)": "broadcast_to",
        "(from_, to, /)": "can_cast",
        "(x, /, min=None, max=None)": "clip",
        "(x, /, *, axis=-1, n=1, prepend=None, append=None)": "diff",
        "(x, /, axis)": "expand_dims",
        "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)": "eye",
        "(x, /, *, axis=None)": "flip",
        "(x, /, *, device=None, copy=None)": "from_dlpack",
        "(shape, fill_value, *, dtype=None, device=None)": "full",
        "(x, /, fill_value, *, dtype=None, device=None)": "full_like",
        "(dtype, kind)": "isdtype",
        "(x1, x2, /, *, invert=False)": "isin",
        "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)": "linspace",
        "(x, /, *, axis=None, keepdims=False, dtype=None)": "mean",
        "(*arrays, indexing='xy')": "meshgrid",
        "(x, source, destination, /)": "moveaxis",
        "(x, /, axes)": "permute_dims",
        "(x, repeats, /, *, axis=None)": "repeat",
        "(x, /, shape, *, copy=None)": "reshape",
        "(*arrays_and_dtypes)": "result_type",
        "(x, /, shift, *, axis=None)": "roll",
        "(x1, x2, /, *, side='left', sorter=None)": "searchsorted",
        "(x, /, axis=None)": "squeeze",
        "(x, indices, /, *, axis=None)": "take",
        "(x, indices, /, *, axis=-1)": "take_along_axis",
        "(x1, x2, /, *, axes=2)": "tensordot",
        "(x, repetitions, /)": "tile",
        "(x, /, *, axis=0)": "unstack",
        "(x1, x2, /, *, axis=-1)": "vecdot",
        "(condition, x1, x2, /)": "where",
    },
    "linalg": {
        "(x, /)": "det eig eigh eigvals eigvalsh inv matrix_transpose slogdet svdvals",
        "(x1, x2, /)": "matmul outer solve",
        "(x1, x2, /, *, axis=-1)": "cross vecdot",
        "(x, /, *, rtol=None)": "matrix_rank pinv",
        "(x, /, *, upper=False)": "cholesky",
        "(x, /, *, offset=0)": "diagonal",
        "(x, /, *, keepdims=False, ord='fro')": "matrix_norm",
        "(x, n, /)": "matrix_power",
        "(x, /, *, mode='reduced')": "qr",
        "(x, /, *, full_matrices=True)": "svd",
        "(x1, x2, /, *, axes=2)": "tensordot",
        "(x, /, *, offset=0, dtype=None)": "trace",
        "(x, /, *, axis=None, keepdims=False, ord=2)": "vector_norm",
    },
    "fft": {
        "(x, /, *, n=None, axis=-1, norm='backward')": "fft hfft ifft ihfft irfft rfft",
        "(x, /, *, s=None, axes=None, norm='backward')": "fftn ifftn irfftn rfftn",
        "(n, /, *, d=1.0, dtype=None, device=None)": "fftfreq rfftfreq",
        "(x, /, *, axes=None)": "fftshift ifftshift",
    },
}


def names(revision: str, namespace: str = "") -> set[str]:
    """The standard's functions of a revision's namespace."""
    return {name for since, listed in SINCE[namespace].items() if since <= revision for name in listed.split()}


def module_of(revision: str) -> Any:
    return importlib.import_module("candela_xp.v" + revision.replace(".", "_"))


ALL_REVISIONS = pytest.mark.parametrize("revision", REVISIONS)

# -- membership -----------------------------------------------------------------------------------------


@ALL_REVISIONS
def test_a_revisions_module_holds_exactly_its_names(revision: str) -> None:
    module = module_of(revision)
    assert isinstance(module, ModuleType)
    assert module.__name__ == f"candela_xp.v{revision.replace('.', '_')}"
    assert module.__array_api_version__ == revision
    assert module.__version__ == xp.__version__
    dtypes = {dtype.name for dtype in _dtypes.STANDARD if revision != "2021.12" or dtype.kind != "complex"}
    constants = {"e", "inf", "nan", "newaxis", "pi"}
    extensions = {"linalg"} | ({"fft"} if revision >= "2022.12" else set())
    want = names(revision) | dtypes | constants | extensions | {"__array_namespace_info__"}
    assert set(module.__all__) == want
    assert all(hasattr(module, name) for name in want)
    # Names with @ are pytest's: it rewrites the modules of all that has a plugin for it.
    public = {name for name in vars(module) if not name.startswith(("_", "@"))}
    assert public - want <= {"annotations", "build"}
    for extension in extensions:
        inside = getattr(module, extension)
        assert isinstance(inside, ModuleType)
        assert set(inside.__all__) == names(revision, extension)
        assert {name for name in vars(inside) if not name.startswith("_")} >= names(revision, extension)
        assert importlib.import_module(f"{module.__name__}.{extension}") is inside
    for later in {dtype.name for dtype in _dtypes.DTYPES.values()} - dtypes:
        assert not hasattr(module, later)


def test_the_package_itself_is_the_newest_revision_and_the_narrow_dtypes() -> None:
    newest = module_of("2025.12")
    assert xp.__array_api_version__ == "2025.12"
    own = {
        "DType",
        "Device",
        "Layout",
        "NDArray",
        "settings",
        "explain",
        "materialize",
        "memory",
        "Drawing",
        "draw",
        "__version__",
        "__array_api_version__",
    }
    assert set(xp.__all__) == set(newest.__all__) | own | {dtype.name for dtype in _dtypes.EXTENSIONS}
    assert len(xp.__all__) == len(set(xp.__all__))
    for name in newest.__all__:
        if name not in EXTENSIONS:
            assert getattr(xp, name) is getattr(newest, name) or name == "nan"
        else:
            assert set(getattr(xp, name).__all__) == set(getattr(newest, name).__all__)
            for function in getattr(xp, name).__all__:
                assert getattr(getattr(xp, name), function) is getattr(getattr(newest, name), function)
    assert all(hasattr(xp, name) for name in xp.__all__)
    assert set(dir(xp)) >= set(xp.__all__) | {"v2021_12", "v2025_12"}
    with pytest.raises(AttributeError, match=r"module 'candela_xp' has no attribute 'asaray'"):
        xp.asaray  # noqa: B018


def test_the_registry_says_what_the_modules_hold() -> None:
    declared = {(m.namespace, m.name) for m in _revisions.MEMBERS}
    assert declared == {(namespace, name) for namespace in SINCE for name in names("2025.12", namespace)} | {
        ("", "__array_namespace_info__")
    }
    for member in _revisions.MEMBERS:
        if member.until is None and member.name != "__array_namespace_info__":
            since = next(r for r, listed in SINCE[member.namespace].items() if member.name in listed.split())
            assert member.since == since, member.name
    assert _revisions.REVISIONS == REVISIONS
    assert set(CONSTANTS) == {"e", "inf", "nan", "newaxis", "pi"}


def test_constants_are_floats_and_newaxis_none() -> None:
    assert (xp.e, xp.pi, xp.inf) == (math.e, math.pi, math.inf)
    assert math.isnan(xp.nan)
    assert {type(value) for value in (xp.e, xp.pi, xp.inf, xp.nan)} == {float}
    assert xp.newaxis is None


# -- behaviour ----------------------------------------------------------------------------------------------


@ALL_REVISIONS
def test_grids_and_broadcast_arrays_are_lists_before_2025(revision: str) -> None:
    module = module_of(revision)
    want = tuple if revision == "2025.12" else list
    x, y = module.ones(2), module.ones(3)
    assert type(module.meshgrid(x, y)) is want
    assert type(module.meshgrid(x, y, indexing="ij")) is want
    assert type(module.broadcast_arrays(x, module.ones((3, 1)))) is want
    assert [one.shape for one in module.meshgrid(x, y)] == [(3, 2), (3, 2)]
    assert type(module.__array_namespace_info__().devices()) is want


@ALL_REVISIONS
def test_sums_of_floats_widen_before_2023(revision: str) -> None:
    module = module_of(revision)
    wide = revision < "2023.12"
    values = np.full((3, 3), 1.1, np.float32)
    x = xp.asarray(values)
    for name, want in (("sum", np.sum), ("prod", np.prod)):
        got = getattr(module, name)(x)
        assert got.dtype is (xp.float64 if wide else xp.float32)
        assert float(got) == pytest.approx(float(want(values.astype(np.float64))), rel=1e-14 if wide else 1e-6)
        assert getattr(module, name)(xp.astype(x, xp.complex64)).dtype is (xp.complex128 if wide else xp.complex64)
        assert getattr(module, name)(x, dtype=xp.float32).dtype is xp.float32
        assert getattr(module, name)(xp.ones(2, dtype=xp.int8)).dtype is xp.int64
        assert getattr(module, name)(xp.ones(2, dtype=xp.uint8)).dtype is xp.uint64
        assert getattr(module, name)(x, axis=0, keepdims=True).shape == (1, 3)
    assert module.linalg.trace(x).dtype is (xp.float64 if wide else xp.float32)


@ALL_REVISIONS
def test_an_array_gives_the_module_of_a_revision_and_changes_no_state(revision: str) -> None:
    x = xp.ones(2)
    before = {name: getattr(xp, name) for name in xp.__all__}
    got = x.__array_namespace__(api_version=revision)
    assert got is (xp if revision == "2025.12" else module_of(revision))
    assert got.__array_api_version__ == revision
    assert x.__array_namespace__() is x.__array_namespace__(api_version=None) is xp
    assert xp.sum(xp.ones(2, dtype=xp.float32)).dtype is xp.float32
    assert all(getattr(xp, name) is value or name == "nan" for name, value in before.items())


@pytest.mark.parametrize("wrong", ["2020.12", "2023", "", "2025.12.1", 2025.12])
def test_an_unknown_revision_is_a_value_error_that_lists_the_known(wrong: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"^__array_namespace__: api_version .* is unknown; there are {', '.join(REVISIONS)}"
    ):
        xp.ones(2).__array_namespace__(api_version=wrong)


@ALL_REVISIONS
def test_functions_and_dtypes_pickle_under_their_name_in_every_revision(revision: str) -> None:
    module = module_of(revision)
    for name in (*module.__all__,):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            for inside in value.__all__:
                function = getattr(value, inside)
                assert pickle.loads(pickle.dumps(function)) is function, inside
                assert function.__name__ == inside
        elif callable(value) or isinstance(value, xp.DType):
            assert pickle.loads(pickle.dumps(value)) is value, name
            if callable(value):
                assert value.__name__ == value.__qualname__ == name
                assert importlib.import_module(value.__module__).__dict__[name] is value


# -- what a public function looks like -------------------------------------------------------------------------


def listed() -> list[tuple[str, str, str]]:
    return [
        (namespace, name, signature)
        for namespace, rows in SIGNATURES.items()
        for signature, together in rows.items()
        for name in together.split()
    ]


def function_of(namespace: str, name: str) -> Any:
    return getattr(getattr(xp, namespace) if namespace else xp, name)


def test_the_table_of_signatures_holds_every_function() -> None:
    for namespace in SINCE:
        want = names("2025.12", namespace) | ({"__array_namespace_info__"} if not namespace else set())
        assert {name for space, name, _ in listed() if space == namespace} == want


@pytest.mark.parametrize(("namespace", "name", "signature"), listed())
def test_signatures_are_those_of_the_standard_and_annotated(namespace: str, name: str, signature: str) -> None:
    found = inspect.signature(function_of(namespace, name))
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    assert str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty)) == signature
    assert found.return_annotation is not inspect.Signature.empty
    for parameter in found.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name


@pytest.mark.parametrize(("namespace", "name"), [(namespace, name) for namespace, name, _ in listed()])
def test_docstrings_give_parameters_results_errors_and_source(namespace: str, name: str) -> None:
    function = function_of(namespace, name)
    text = inspect.getdoc(function)
    assert text
    assert text.splitlines()[0].endswith((".", ":")) or name == "equal"
    parameters = list(inspect.signature(function).parameters)
    sections = ["Returns", "Notes"]
    if parameters:
        sections += ["Parameters", "Raises"]
    for section in sections:
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    described = text.partition("Parameters\n")[2].partition("\nReturns\n")[0]
    for parameter in parameters:
        assert parameter in described.replace("*", "").replace(",", " ").split(), parameter
    since = next((r for r, rows in SINCE[namespace].items() if name in rows.split()), "2023.12")
    source = rf"Source: array API 2025\.12, ``({namespace}\.)?{name}``; in the standard since {since}"
    assert re.search(source, " ".join(text.split()))


@pytest.mark.parametrize(("namespace", "name"), [(space, name) for space, name, _ in listed() if name[0] != "_"])
def test_an_error_begins_with_the_name_of_the_function(namespace: str, name: str) -> None:
    function = function_of(namespace, name)
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
                for p in parameters)  # fmt: skip
    for wrong in (object(), "text", {1: 2}):
        with pytest.raises((TypeError, ValueError, AttributeError), match=rf"^{name}: "):
            function(*[wrong] * max(count, 1))


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_functions_of_older_behaviour_say_which_revision_they_follow(revision: str) -> None:
    module = module_of(revision)
    for name in names(revision):
        function, newest = getattr(module, name), getattr(xp, name)
        if function is not newest:
            assert "Source: array API 20" in inspect.getdoc(function)  # type: ignore[operator]
            mine, theirs = inspect.signature(function), inspect.signature(newest)
            assert mine.parameters == theirs.parameters


# -- imports --------------------------------------------------------------------------------------------------------


def test_importing_the_package_imports_nothing_that_it_does_not_need() -> None:
    code = "import sys, candela_xp; print(*sorted({name.partition('.')[0] for name in sys.modules}), *sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    heavy = {
        "hypothesis",
        "mpmath",
        "numpy.testing",
        "pandas",
        "pytest",
        "scipy",
        "sklearn",
        "unittest",
        "xml",
        "asyncio",
    }
    assert not loaded & heavy
    assert "numpy" in loaded
    assert not loaded & {"candela_xp.v2021_12", "candela_xp.v2024_12"}, "revisions are imported when asked for"


def test_the_namespace_is_importable_by_its_names() -> None:
    code = (
        "from candela_xp.v2023_12 import *; from candela_xp import *\n"
        "import candela_xp.v2022_12.fft as f; print(f.__name__)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "candela_xp.v2022_12.fft", result.stderr
