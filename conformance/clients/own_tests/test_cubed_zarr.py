"""Cubed from zarr to zarr on four executors, with the backend's own arrays as chunks in every process.

Its own tests begin with arrays in memory and stay in one process.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cubed: Any = import_module("cubed")
cubed_xp: Any = import_module("cubed.array_api")
zarr: Any = import_module("zarr")
backend: Any = import_module("cubed.backend_array_api").namespace
ROOT_PACKAGE = os.environ["CUBED_BACKEND_ARRAY_API_MODULE"].partition(".")[0]
_RANDOM = np.random.default_rng(0)
LEFT, RIGHT = _RANDOM.random((400, 300)), _RANDOM.random((300, 200))


def package_of(chunk: Any) -> str:
    """Whose array a chunk is."""
    return type(chunk).__module__.partition(".")[0]


def double(chunk: Any, package: str = "") -> Any:
    """Runs in the workers, where chunks must be the backend's too."""
    if package_of(chunk) != package:
        raise TypeError(f"a chunk of {type(chunk)} in process {os.getpid()}")
    return chunk * 2.0


def close(found: Any, expected: Any) -> None:
    """Equal but for the order of additions."""
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both matrices in zarr, in chunks of 100 by 100."""
    directory = tmp_path_factory.mktemp("zarr")
    for name, values in (("left", LEFT), ("right", RIGHT)):
        written = zarr.create_array(
            directory / f"{name}.zarr", shape=values.shape, chunks=(100, 100), dtype=values.dtype
        )
        written[:] = values
    return directory


@pytest.fixture(params=["single-threaded", "threads", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Any:
    """Where the chunks are computed."""
    return import_module("cubed.runtime.create").create_executor(request.param)


@pytest.fixture(params=["zarr's dtype", "backend's dtype"])
def matrices(request: pytest.FixtureRequest, store: Path) -> tuple[Any, Any]:
    """Both matrices, with the NumPy dtype that zarr gives them or the backend's."""
    spec = cubed.Spec(work_dir=str(store), allowed_mem="200MB")
    found = [cubed.from_zarr(str(store / f"{name}.zarr"), spec=spec) for name in ("left", "right")]
    if request.param == "backend's dtype":
        found = [cubed_xp.astype(matrix, backend.float64) for matrix in found]
    return found[0], found[1]


def test_elementwise_and_index(matrices: Any, executor: Any) -> None:
    left, _ = matrices
    result = (cubed_xp.sqrt(left) + left * 2 - 1)[120:, 5:250].compute(executor=executor)
    close(result, (np.sqrt(LEFT) + LEFT * 2 - 1)[120:, 5:250])


def test_matmul(matrices: Any, executor: Any) -> None:
    left, right = matrices
    close(cubed_xp.matmul(left, right).compute(executor=executor), LEFT @ RIGHT)


def test_qr(matrices: Any, executor: Any) -> None:
    left, _ = matrices
    q, r = cubed.compute(*cubed_xp.linalg.qr(left[:, :100].rechunk((100, 100))), executor=executor)
    close(np.asarray(q) @ np.asarray(r), LEFT[:, :100])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "mean", "std", "max"])
def test_reductions(matrices: Any, executor: Any, name: str, axis: int | None) -> None:
    left, _ = matrices
    close(getattr(cubed_xp, name)(left, axis=axis).compute(executor=executor), getattr(np, name)(LEFT, axis=axis))


def test_nanmean(matrices: Any, executor: Any) -> None:
    left, _ = matrices
    close(cubed.nanmean(left).compute(executor=executor), LEFT.mean())


def test_chunks_are_ours(matrices: Any, executor: Any) -> None:
    left, _ = matrices
    doubled = cubed.map_blocks(double, left, dtype=left.dtype, package=ROOT_PACKAGE).compute(executor=executor)
    assert package_of(doubled) == ROOT_PACKAGE
    close(doubled, LEFT * 2)


def test_to_zarr(matrices: Any, executor: Any, tmp_path: Path) -> None:
    left, _ = matrices
    cubed.to_zarr(left + 1, str(tmp_path / "out.zarr"), executor=executor)
    close(zarr.open_array(str(tmp_path / "out.zarr"))[:], LEFT + 1)
