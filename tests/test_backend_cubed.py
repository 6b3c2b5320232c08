"""Cubed computing with NDArrays: the namespace that it takes, then arrays in Zarr on each executor against NumPy.

Cubed reads its backend from the environment when it is imported, so everything with Cubed runs in a process of its own:
this file is also the script of those processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import candela_xp as xp
from candela_xp.backends import cubed as backend

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

needs_cubed = pytest.mark.skipif(
    find_spec("cubed") is None or find_spec("zarr") is None, reason="the extra 'distributed' is not installed"
)
needs_distributed = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
needs_dask = pytest.mark.skipif(find_spec("dask") is None, reason="dask is not installed")
EXECUTORS = [
    "single-threaded",
    "threads",
    "processes",
    pytest.param("dask", marks=needs_distributed),
]


# -- the namespace -----------------------------------------------------------------------------------


def test_the_backend_has_every_public_name_and_nansum():
    assert set(backend.__all__) == {*xp.__all__, "nansum"}
    assert all(hasattr(backend, name) for name in backend.__all__)
    assert not hasattr(xp, "nansum")


@pytest.mark.parametrize(
    ("name", "dtype"), [("int64", xp.int64), ("f", xp.float32), (">i2", xp.int16), ("bfloat16", xp.bfloat16)]
)
def test_the_name_of_a_dtype_stands_for_it(name, dtype):
    assert backend.empty((2,), dtype=name).dtype is dtype
    assert backend.astype(xp.ones(2), name).dtype is dtype
    assert backend.result_type(name, name) is dtype
    assert backend.can_cast(name, dtype)
    if name != "bfloat16":
        assert backend.zeros((2,), dtype=np.dtype(name)).dtype is dtype
    with pytest.raises(TypeError, match="is no dtype"):
        xp.empty((2,), dtype=name)


def test_names_that_are_no_dtype_are_refused():
    with pytest.raises(TypeError, match="not understood"):
        backend.empty((2,), dtype="number")
    with pytest.raises(TypeError, match="is no dtype"):
        backend.empty((2,), dtype="datetime64[s]")


def test_kinds_of_dtypes_remain_strings():
    assert backend.isdtype("bool", "bool")
    assert backend.isdtype("f4", ("integral", "real floating"))
    assert not backend.isdtype(xp.int8, "bool")


def test_numpy_arrays_are_taken_for_operands_without_a_copy():
    values = np.arange(6.0).reshape(2, 3)
    assert type(backend.add(values, xp.ones(3))) is xp.NDArray
    assert backend.mean(values, axis=-1, dtype=np.float32).dtype is xp.float32
    assert np.shares_memory(np.asarray(backend.permute_dims(values, (1, 0))), values)
    with pytest.raises(TypeError, match="x is a numpy"):
        xp.mean(values)


def test_an_array_like_another_may_have_another_shape():
    x = xp.ones((2, 3), dtype=xp.float32)
    assert backend.full_like(x, 2.0).shape == (2, 3)
    padding = backend.full_like(x, fill_value=2, shape=(1, 3))
    assert (padding.shape, padding.dtype, float(padding[0, 0])) == ((1, 3), xp.float32, 2.0)
    assert backend.full_like(x, 1, dtype="bool", shape=()).dtype is xp.bool
    assert backend.full_like(np.ones(2), np.float64(3)).dtype is xp.float64


def test_booleans_are_filled_with_numbers():
    assert bool(backend.full((), 1, dtype=xp.bool))
    assert not bool(backend.full((), fill_value=0, dtype=bool))
    assert backend.full((2,), 1, dtype="int8").dtype is xp.int8


def test_an_integer_takes_an_axis_away():
    assert backend.take(xp.reshape(xp.arange(6), (2, 3)), 1, axis=0).shape == (3,)


@pytest.mark.parametrize("dtype", [xp.bool, xp.int16, xp.float32, xp.float64, xp.complex64])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_nansum_leaves_out_what_is_no_number(dtype, axis, keepdims):
    values = np.asarray([[1, 0, 2], [0, 1, 3]], dtype=np.dtype(dtype))
    if dtype.kind in ("float", "complex"):
        values[0, 1] = np.nan
        values[1, 2] = np.inf
    found = backend.nansum(values, axis=axis, keepdims=keepdims)
    wanted = np.nansum(values, axis=axis, keepdims=keepdims)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(np.asarray(found), wanted)


def test_nansum_sums_in_a_dtype():
    found = backend.nansum(xp.asarray([1.0, xp.nan], dtype=xp.float32), dtype="float64")
    assert found.dtype is xp.float64
    assert float(found) == 1


@pytest.mark.parametrize("name", ["add", "mean", "nansum", "isdtype", "asarray"])
def test_functions_pickle_by_the_backends_name(name):
    function = getattr(backend, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert b"candela_xp.backends.cubed" in pickle.dumps(function)


# -- NumPy's reductions ------------------------------------------------------------------------------


class WithMethods(xp.NDArray):
    __slots__ = ()


backend._give_methods(WithMethods)


@pytest.mark.parametrize("name", backend.METHODS)
def test_numpys_reduction_of_a_chunk_is_an_array(name):
    values = np.asarray([[1.0, 0.0, 2.0], [3.0, 1.0, 4.0]])
    chunk = WithMethods(values, xp.float64, xp.asarray(0).device)
    found = getattr(np, name)(chunk, axis=0, keepdims=True)
    assert type(found) is xp.NDArray
    np.testing.assert_array_equal(np.asarray(found), getattr(np, name)(values, axis=0, keepdims=True))


def test_numpys_reduction_takes_a_dtype_and_no_output():
    chunk = WithMethods(np.ones(3), xp.float64, xp.asarray(0).device)
    assert np.sum(chunk, dtype=np.float32).dtype is xp.float32
    with pytest.raises(TypeError, match="sum: out= is not supported"):
        np.sum(chunk, out=np.empty(()))


def test_numpys_reductions_are_refused_unless_cubed_computes_here():
    code = "import numpy, candela_xp, candela_xp.backends.cubed; print(type(numpy.sum(candela_xp.ones(3))).__name__)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("CUBED_BACKEND_ARRAY_API_MODULE", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "does not support ufuncs" in done.stderr
    environment["CUBED_BACKEND_ARRAY_API_MODULE"] = "candela_xp.backends.cubed"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "NDArray\n"


# -- with Cubed --------------------------------------------------------------------------------------


def run(tmp_path, *command):
    """Run a script with Cubed computing here; what it printed."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
        "CUBED_BACKEND_ARRAY_API_MODULE": "candela_xp.backends.cubed",
        "TMPDIR": str(tmp_path),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def scenario(tmp_path, name, *arguments):
    return run(tmp_path, __file__, name, str(tmp_path), *arguments)


@needs_cubed
def test_the_example_of_the_page_prints_what_it_says(tmp_path):
    told = re.search(r"\)  # (mean .*)$", FILES["example.py"], re.MULTILINE)[1]
    assert run(tmp_path, "example.py").splitlines()[-1] == told


@needs_cubed
def test_an_array_of_gigabytes_is_reduced_in_bounded_memory(tmp_path):
    logical, peak = map(float, scenario(tmp_path, "gigabytes").split())
    assert logical > 3.5e9
    assert peak < 1e9


@needs_cubed
@pytest.mark.parametrize("name", EXECUTORS)
def test_results_on_an_executor_are_numpys_and_chunks_are_arrays(tmp_path, name):
    assert scenario(tmp_path, "results", name) == "done\n"


@needs_cubed
def test_a_chunk_of_another_type_stops_the_run(tmp_path):
    assert "a chunk is a" in scenario(tmp_path, "other_chunks")


@needs_cubed
@needs_distributed
def test_a_run_on_dask_completes_though_a_worker_is_killed(tmp_path):
    assert scenario(tmp_path, "killed", "dask") == "killed, done\n"


@needs_cubed
def test_a_run_on_processes_is_resumed_after_a_worker_was_killed(tmp_path):
    assert scenario(tmp_path, "killed", "processes") == "killed, BrokenProcessPool, done\n"


@needs_cubed
@needs_distributed
def test_workers_too_small_for_a_task_are_refused(tmp_path):
    assert scenario(tmp_path, "too_small") == "a task may use 2000000000 bytes, the smallest worker has 1000000000\n"


# -- what those processes run; Cubed is imported here only -------------------------------------------


def checked(chunk):
    """The chunk, which is an NDArray in the worker too."""
    if type(chunk) is not xp.NDArray:
        raise TypeError(f"a chunk is a {type(chunk)}")
    return chunk


def as_numpy(chunk):
    return np.asarray(chunk)


def middle(chunk):
    return chunk[1:-1, 1:-1]


def kill_once(chunk, flag=None):
    """The chunk; but the first worker that comes by dies of it."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return chunk + 1.0
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def executor(name):
    """An executor of two workers."""
    if name == "dask":
        from dask_executor import ClusterExecutor
        from distributed import LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None) as cluster:
            yield ClusterExecutor(cluster.scheduler_address)
    else:
        from cubed.runtime.create import create_executor

        yield create_executor(name, {} if name == "single-threaded" else {"max_workers": 2})


def stored(home, name, values, chunks):
    import zarr

    made = zarr.create_array(f"{home}/{name}.zarr", shape=values.shape, chunks=chunks, dtype=values.dtype)
    made[:] = values


def gigabytes(home):
    import resource

    import cubed
    import cubed.array_api as cxp
    import zarr

    shape, chunks = (40_000, 12_000), (2_000, 1_000)
    store = zarr.create_array(f"{home}/x.zarr", shape=shape, chunks=chunks, dtype="float64", fill_value=1.5)
    block = np.random.default_rng(0).random(chunks)
    store[2_000:4_000, 1_000:2_000] = block
    x = cubed.from_zarr(f"{home}/x.zarr", spec=cubed.Spec(work_dir=home, allowed_mem="200MB"))
    x = cubed.map_blocks(checked, x, dtype=x.dtype)
    with executor("threads") as workers:
        mean, std, total = cubed.compute(cxp.mean(x), cxp.std(x), cxp.sum(x, axis=0), executor=workers)
    size = shape[0] * shape[1]
    expected = 1.5 + (block - 1.5).sum() / size
    np.testing.assert_allclose(float(mean), expected)
    variance = ((block - expected) ** 2).sum() / size + (1.5 - expected) ** 2 * (size - block.size) / size
    np.testing.assert_allclose(float(std), variance**0.5)
    columns = np.full(shape[1], 1.5 * shape[0])
    columns[1_000:2_000] += (block - 1.5).sum(axis=0)
    np.testing.assert_allclose(np.asarray(total), columns)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(size * 8, peak if sys.platform == "darwin" else peak * 1024)


def results(home, name):
    import cubed
    import cubed.array_api as cxp
    import zarr

    generator = np.random.default_rng(0)
    a, b = generator.random((400, 300)), generator.random((300, 200))
    stored(home, "a", a, (100, 100))
    stored(home, "b", b, (100, 100))
    spec = cubed.Spec(work_dir=home, allowed_mem="200MB")
    x, y = (cubed.map_blocks(checked, cubed.from_zarr(f"{home}/{n}.zarr", spec=spec), dtype=a.dtype) for n in "ab")
    tall = x[:, :100].rechunk((100, 100))
    q, r = cxp.linalg.qr(tall)
    checks = {
        "mean": (cxp.mean(x, axis=0), a.mean(axis=0)),
        "std": (cxp.std(x), a.std()),
        "nanmean": (cubed.nanmean(x), a.mean()),
        "sum": (cxp.sum(x, axis=1), a.sum(axis=1)),
        "matmul": (cubed.map_blocks(checked, cxp.matmul(x, y), dtype=a.dtype), a @ b),
        "indexing": ((cxp.sqrt(x) + x * 2 - 1)[120:, 5:250], (np.sqrt(a) + a * 2 - 1)[120:, 5:250]),
        "of booleans": (cxp.sum(cxp.ones((4, 6), dtype=cxp.bool, chunks=2, spec=spec)), 24),
        "overlapping": (
            cubed.map_overlap(middle, x, dtype=a.dtype, chunks=x.chunks, depth=1, boundary=0.0, trim=False),
            a,
        ),
        "gathering": (x[[7, 3, 311], :], a[[7, 3, 311], :]),
    }
    with executor(name) as workers:
        found = cubed.compute(*(lazy for lazy, _ in checks.values()), q, r, executor=workers)
        cubed.to_zarr(x + 1, f"{home}/out.zarr", executor=workers)
    assert all(type(result) is xp.NDArray for result in found)
    *values, q, r = map(np.asarray, found)
    for key, value, (_, expected) in zip(checks, values, checks.values()):
        np.testing.assert_allclose(value, expected, err_msg=key)
    np.testing.assert_allclose(q @ r, a[:, :100], atol=1e-12)
    np.testing.assert_allclose(q.T @ q, np.eye(100), atol=1e-12)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    np.testing.assert_array_equal(zarr.open_array(f"{home}/out.zarr")[:], a + 1)
    print("done")


def other_chunks(home):
    import cubed
    import cubed.array_api as cxp

    x = cubed.map_blocks(
        as_numpy, cxp.ones((4,), chunks=2, spec=cubed.Spec(home, allowed_mem="10MB")), dtype=np.float64
    )
    try:
        cubed.map_blocks(checked, x, dtype=x.dtype).compute()
    except TypeError as error:
        print(error)


def killed(home, name):
    import cubed

    values = np.random.default_rng(0).random((40, 30))
    stored(home, "x", values, (10, 10))
    x = cubed.from_zarr(f"{home}/x.zarr", spec=cubed.Spec(work_dir=home, allowed_mem="10MB"))
    flag = f"{home}/flag"
    made = cubed.map_blocks(kill_once, x, dtype=x.dtype, flag=flag)
    told = []
    try:
        with executor(name) as workers:
            found = made.compute(executor=workers)
        told.append("killed" if os.path.exists(flag) else "nobody was killed")
    except RuntimeError as error:
        told += ["killed" if os.path.exists(flag) else "nobody was killed", type(error).__name__]
        with executor(name) as workers:
            found = made.compute(executor=workers, resume=True)
    np.testing.assert_array_equal(np.asarray(found), values + 1)
    print(", ".join([*told, "done"]))


def too_small(home):
    import cubed
    import cubed.array_api as cxp

    x = cxp.ones((4,), chunks=2, spec=cubed.Spec(home, allowed_mem="2GB"))
    with executor("dask") as workers:
        try:
            (x + 1).compute(executor=workers)
        except ValueError as error:
            print(str(error).removesuffix(" for one"))


# -- dask.array --------------------------------------------------------------------------------------

NDARRAY, NUMPY = {"NDArray"}, {"ndarray"}
DASK_ROWS = {
    "itself": (lambda da, x: x, NDARRAY),
    "map_blocks": (lambda da, x: x.map_blocks(xp.sqrt, meta=xp.empty((0, 0))), NDARRAY),
    "out of NumPy": (lambda da, x: da.ones((4, 4), chunks=2).map_blocks(xp.asarray, meta=xp.empty((0, 0))), NDARRAY),
    "back from NumPy": (lambda da, x: x.T.map_blocks(xp.asarray, meta=xp.empty((0, 0))), NDARRAY),
    "+": (lambda da, x: x + x * 2.0, NDARRAY),
    "abs": (lambda da, x: abs(-x), NDARRAY),
    "slice": (lambda da, x: x[1:], NDARRAY),
    "gather": (lambda da, x: x[[0, 2]], NDARRAY),
    "flip": (lambda da, x: da.flip(x, 0), NDARRAY),
    "squeeze": (lambda da, x: x[None].squeeze(), NDARRAY),
    "concatenate": (lambda da, x: da.concatenate([x, x]), NDARRAY),
    "stack": (lambda da, x: da.stack([x, x]), NDARRAY),
    "split": (lambda da, x: x.rechunk(1), NDARRAY),
    "join": (lambda da, x: x.rechunk(3), NUMPY),
    "T": (lambda da, x: x.T, NUMPY),
    "reshape": (lambda da, x: x.reshape(12), NUMPY),
    "where": (lambda da, x: da.where(x > 1, x, 0.0), NUMPY),
    "broadcast_to": (lambda da, x: da.broadcast_to(x, (2, 3, 4)), NUMPY),
    "map_overlap": (lambda da, x: x.map_overlap(lambda chunk: chunk, depth=1), NUMPY),
}


@needs_dask
@pytest.mark.parametrize("row", DASK_ROWS)
def test_chunks_of_dask_arrays_are_what_the_page_says(row):
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    make, kinds = DASK_ROWS[row]
    made = make(da, da.from_array(xp.reshape(xp.arange(12.0), (3, 4)), chunks=2))
    assert {type(chunk.compute(scheduler="synchronous")).__name__ for chunk in made.to_delayed().ravel()} == kinds


@needs_dask
def test_dask_joins_chunks_into_numpy_arrays():
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    x = xp.reshape(xp.arange(12.0), (3, 4))
    assert type(da.from_array(x, chunks=2).compute(scheduler="synchronous")) is np.ndarray
    assert type(da.asarray(x).compute(scheduler="synchronous")) is xp.NDArray


@needs_dask
@pytest.mark.parametrize("name", ["sqrt", "exp", "sum", "max", "mean", "std"])
def test_dask_functions_that_call_numpys_fail(name):
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    x = da.from_array(xp.reshape(xp.arange(12.0), (3, 4)), chunks=2)
    with pytest.raises((TypeError, AttributeError)):
        getattr(da, name)(x).compute(scheduler="synchronous")


@needs_dask
def test_arrays_and_dask_arrays_do_not_mix():
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    x = xp.reshape(xp.arange(12.0), (3, 4))
    with pytest.raises(TypeError):
        x + da.from_array(x, chunks=2)
    with pytest.raises(TypeError):
        da.from_array(x, chunks=2) + x


@needs_dask
def test_a_function_of_ours_refuses_what_dask_made_numpys():
    da = pytest.importorskip("dask.array", reason="dask.array is not installed")
    x = da.from_array(xp.reshape(xp.arange(12.0), (3, 4)), chunks=2)
    with pytest.raises(TypeError, match="sqrt: x is a numpy"):
        x.T.map_blocks(xp.sqrt, meta=xp.empty((0, 0))).compute(scheduler="synchronous")


if __name__ == "__main__":
    SCENARIOS = {f.__name__: f for f in (gigabytes, results, other_chunks, killed, too_small)}
    SCENARIOS[sys.argv[1]](*sys.argv[2:])
