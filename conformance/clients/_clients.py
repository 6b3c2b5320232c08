"""The clients: what each needs, which of its tests use a foreign array namespace, and how they come to use ours."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from typing import Literal

BACKENDS = ("candela_xp", "array_api_strict", "numpy")
UNKNOWN, LIKE_STRICT, NAMED = "unknown", "like-strict", "named"
MODES = (UNKNOWN, LIKE_STRICT)

# What every environment holds: what candela_xp stands on, what builds it, what runs tests, and the peer.
COMMON = (
    "numpy==2.4.6",
    "ml_dtypes==0.6.0",
    "array-api-strict==2.6.1",
    "hatchling==1.33.0",
    "pytest==9.2.0",
    "pytest-xdist==3.8.0",
)


@dataclass(frozen=True)
class Client:
    """One library whose tests are run.

    Attributes
    ----------
    name
        Its name on the command line and in the report.
    requirements
        What is installed beside COMMON, versions pinned; the client itself comes first.
    tests
        Files and directories, relative to the place of the tests.
    place
        "installed": the tests come with the client; "sdist": only with its source, which is unpacked; "own": ours.
    plugin
        The module of ``client_plugins`` that makes the tests use the backend.
    containing
        If given, only those files of `tests` that hold one of these words.
    arguments, variables
        For pytest.
    by_name
        The client or its tests branch on the name array_api_strict, so that the two modes differ.
    backends
        With which the tests make sense.
    module
        By which module of candela_xp it goes in, where that is not the package itself.
    minutes
        After which a run has hung.
    """

    name: str
    requirements: tuple[str, ...]
    tests: tuple[str, ...]
    place: Literal["installed", "sdist", "own"] = "installed"
    plugin: str | None = None
    containing: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    by_name: bool = False
    backends: tuple[str, ...] = BACKENDS
    module: str = "candela_xp"
    minutes: int = 20

    @property
    def version(self) -> str:
        """What is tested: the version of the client, or all versions where its tests are ours."""
        if self.place == "own":
            return ", ".join(requirement.replace("==", " ") for requirement in self.requirements)
        return self.requirements[0].partition("==")[2]

    @property
    def directory(self) -> str:
        """The name of its environment: another one for other versions or another Python."""
        text = "\n".join([*COMMON, *self.requirements, self.place, sys.version])
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


_SCIPY_CHAPTERS = (
    "cluster constants differentiate fft integrate interpolate linalg ndimage optimize signal spatial special stats"
)
_CUBED = ("cubed==0.27.0", "zarr==3.1.6", "dask==2026.8.0", "distributed==2026.8.0", "dill==0.4.1", "rich==15.0.0")
_HYPOTHESIS = "hypothesis==6.170.17"

CLIENTS = (
    Client(
        name="scipy",
        requirements=(
            "scipy==1.17.1",
            _HYPOTHESIS,
            "mpmath==1.3.0",
            "matplotlib==3.11.2",
            "marray==0.0.12",
            "array-api-compat==1.16.0",
        ),
        tests=tuple(f"scipy/{chapter}" for chapter in _SCIPY_CHAPTERS.split()),
        plugin="for_scipy",
        arguments=("-m", "array_api_backends"),
        variables=(("SCIPY_ARRAY_API", "1"),),
        by_name=True,
        minutes=60,
    ),
    Client(
        name="sklearn",
        requirements=("scikit-learn==1.9.1", "scipy==1.17.1"),
        tests=("sklearn",),
        plugin="for_sklearn",
        containing=(
            "yield_namespace_device_dtype_combinations",
            "yield_mixed_namespace",
            "array_api_strict",
            "parametrize_with_checks",
        ),
        variables=(("SCIPY_ARRAY_API", "1"),),
        by_name=True,
    ),
    Client(
        name="array_api_extra",
        requirements=(
            "array-api-extra==0.11.5",
            "array-api-compat==1.16.0",
            "typing_extensions==4.16.0",
            _HYPOTHESIS,
        ),
        tests=("array_api_extra/tests/main",),
        plugin="for_array_api_extra",
        arguments=("-W", "error::DeprecationWarning"),
        by_name=True,
    ),
    Client(
        name="array_api_compat",
        requirements=("array-api-compat==1.16.0",),
        tests=("array_api_compat/tests",),
        plugin="for_array_api_compat",
        by_name=True,
    ),
    Client(
        name="xarray",
        requirements=("xarray==2026.9.0", "pandas==3.1.1"),
        tests=tuple(f"xarray/tests/test_{part}.py" for part in ("array_api", "dtypes", "namedarray")),
        plugin="for_xarray",
        arguments=("-k", "array_api"),
    ),
    Client(
        name="marray",
        requirements=("marray==0.0.12", "array-api-compat==1.16.0"),
        tests=("marray/tests/test_marray.py",),
        plugin="for_marray",
        by_name=True,
    ),
    Client(
        name="einops",
        requirements=("einops==0.8.2",),
        tests=("einops/tests/test_ops.py", "einops/tests/test_packing.py"),
        plugin="for_einops",
        variables=(("EINOPS_TEST_BACKENDS", "numpy"),),
    ),
    Client(
        name="array_api_signal",
        requirements=(
            "array-api-signal==0.2.0",
            "array-api-compat==1.16.0",
            "array-api-extra==0.11.5",
            "scipy==1.17.1",
        ),
        tests=("tests",),
        place="sdist",
        plugin="for_array_api_signal",
    ),
    Client(
        name="quantity_array",
        requirements=("quantity-array==0.0.1", "array-api-compat==1.16.0", "pint==0.25.3"),
        tests=("tests/test_array.py",),
        place="sdist",
        plugin="for_quantity_array",
        # its module imports array_api_strict as xp and compares with NumPy on the way: a namespace of its own or none
        backends=("candela_xp", "array_api_strict"),
    ),
    Client(
        name="cubed",
        requirements=_CUBED,
        tests=tuple(
            f"cubed/tests/test_{part}.py" for part in ("array_api", "core", "indexing", "linalg", "gufunc", "rechunk")
        ),
        plugin="for_cubed",
        variables=(("CUBED_BACKEND_ARRAY_API_MODULE", "{backend}"),),
        module="candela_xp.backends.cubed",
        # these need a cloud, Graphviz, or gigabytes
        arguments=(
            "-k",
            "not cloud and not visualize and not test_plan and not quad_means "
            "and not rechunk_and_store and not rechunk_era5",
        ),
        minutes=30,
    ),
    Client(
        name="cubed_zarr",
        requirements=_CUBED,
        tests=("test_cubed_zarr.py",),
        place="own",
        plugin="for_cubed",
        variables=(("CUBED_BACKEND_ARRAY_API_MODULE", "{backend}"),),
        module="candela_xp.backends.cubed",
    ),
    Client(
        name="interop",
        requirements=(
            "matplotlib==3.11.2",
            "pandas==3.1.1",
            "polars==2.1.0",
            "pyarrow==26.0.1",
            "dask==2026.8.0",
            "xarray==2026.9.0",
            "joblib==1.6.0",
        ),
        tests=("test_interop.py",),
        place="own",
    ),
)


def named(name: str) -> Client:
    """A client by its name.

    Raises
    ------
    ValueError
        There is no such client.
    """
    for client in CLIENTS:
        if client.name == name:
            return client
    raise ValueError(f"no client {name}; there are {', '.join(client.name for client in CLIENTS)}")
