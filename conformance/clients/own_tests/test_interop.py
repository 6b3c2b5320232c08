"""What libraries that know NumPy arrays, and nothing of the standard, make of the backend's arrays.

Each test goes one way that users go: it hands an array over, and looks at what arrived. The row of NumPy shows what
such a library can do at best.
"""

from __future__ import annotations

import copy
import io
import operator
import os
import pickle
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

xp: Any = import_module(os.environ.get("CANDELA_XP_CLIENTS_BACKEND", "candela_xp"))
ARRAY = type(xp.asarray(0))
VECTOR, MATRIX = np.asarray([1.0, 2.0, 3.0]), np.arange(6.0).reshape(2, 3)
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


@pytest.fixture
def vector() -> Any:
    """Three float64."""
    return xp.asarray([1.0, 2.0, 3.0])


@pytest.fixture
def matrix() -> Any:
    """Float64 of shape (2, 3)."""
    return xp.reshape(xp.asarray([float(value) for value in range(6)]), (2, 3))


def equal(found: Any, expected: Any) -> None:
    """Values and shape, after the conversion that NumPy does."""
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)


class TestNumPy:
    """Conversions, and what NumPy's functions do on the way."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_asarray_keeps_the_dtype(self, dtype: str) -> None:
        equal(xp.asarray([0, 1, 1], dtype=getattr(xp, dtype)), np.asarray([0, 1, 1], dtype=dtype))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_a_dtype_names_its_twin(self, dtype: str) -> None:
        assert np.dtype(getattr(xp, dtype)) == np.dtype(dtype)

    @pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 1, 2)])
    def test_asarray_keeps_the_shape(self, shape: tuple[int, ...]) -> None:
        equal(xp.ones(shape), np.ones(shape))

    def test_asarray_of_another_dtype(self, vector: Any) -> None:
        equal(np.asarray(vector, dtype=np.float32), VECTOR.astype(np.float32))

    def test_a_copy_is_apart(self, vector: Any) -> None:
        converted = np.array(vector, copy=True)
        converted[0] = 99.0
        assert float(vector[0]) == 1.0

    def test_no_copy_is_the_same_memory(self, vector: Any) -> None:
        assert np.shares_memory(np.asarray(vector, copy=False), np.asarray(vector, copy=False))

    def test_from_dlpack_both_ways(self, matrix: Any) -> None:
        equal(np.from_dlpack(matrix), MATRIX)
        equal(xp.from_dlpack(MATRIX), MATRIX)

    def test_asarray_of_numpy(self) -> None:
        equal(xp.asarray(MATRIX), MATRIX)

    def test_assertions_take_arrays(self, vector: Any) -> None:
        np.testing.assert_allclose(vector, VECTOR)
        np.testing.assert_array_equal(vector, VECTOR)

    def test_isdtype_of_a_numpy_dtype(self) -> None:
        assert xp.isdtype(np.dtype("float64"), "real floating")

    def test_scalars(self, vector: Any) -> None:
        assert (float(vector[1]), int(xp.asarray(3)), bool(xp.asarray(True))) == (2.0, 3, True)
        assert operator.index(xp.asarray(3)) == 3

    def test_length_and_iteration(self, vector: Any) -> None:
        assert len(vector) == 3
        assert [float(value) for value in vector] == [1.0, 2.0, 3.0]

    def test_indices_of_numpy(self, vector: Any) -> None:
        assert float(vector[np.int64(1)]) == 2.0
        equal(vector[np.asarray([0, 2])], VECTOR[[0, 2]])
        equal(vector[np.asarray([True, False, True])], VECTOR[[0, 2]])


class TestCopies:
    """Pickle, copy, joblib."""

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle_of_an_array(self, matrix: Any, protocol: int) -> None:
        again = pickle.loads(pickle.dumps(matrix, protocol))
        assert (type(again), again.dtype, again.device) == (ARRAY, matrix.dtype, matrix.device)
        equal(again, MATRIX)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_pickle_of_a_dtype(self, dtype: str) -> None:
        known = getattr(xp, dtype)
        again = pickle.loads(pickle.dumps(known))
        assert again == known
        assert hash(again) == hash(known)

    @pytest.mark.parametrize("name", ["add", "sum", "reshape", "asarray"])
    def test_pickle_of_a_function(self, name: str) -> None:
        assert pickle.loads(pickle.dumps(getattr(xp, name))) is getattr(xp, name)

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_copy(self, matrix: Any, copied: Any) -> None:
        again = copied(matrix)
        assert type(again) is ARRAY
        equal(again, MATRIX)

    def test_a_deep_copy_is_apart(self, matrix: Any) -> None:
        again = copy.deepcopy(matrix)
        again[0, 0] = 7.0
        assert float(matrix[0, 0]) == 0.0

    def test_joblib_stores(self, matrix: Any) -> None:
        joblib = import_module("joblib")
        file = io.BytesIO()
        joblib.dump(matrix, file)
        file.seek(0)
        equal(joblib.load(file), MATRIX)
        assert joblib.hash(matrix) == joblib.hash(copy.deepcopy(matrix))

    def test_joblib_runs_functions_in_processes(self, matrix: Any) -> None:
        joblib = import_module("joblib")
        results = joblib.Parallel(n_jobs=2)(joblib.delayed(xp.sum)(matrix) for _ in range(2))
        assert [float(result) for result in results] == [15.0, 15.0]


class TestMatplotlib:
    """Every kind of plot is drawn to the end."""

    @pytest.fixture
    def axes(self) -> Iterator[Any]:
        """Axes that are drawn when the test is over."""
        pyplot = import_module("matplotlib.pyplot")
        figure, axes = pyplot.subplots()
        yield axes
        figure.savefig(io.BytesIO(), format="png")
        pyplot.close(figure)

    def test_plot(self, axes: Any, vector: Any) -> None:
        (line,) = axes.plot(vector, vector * 2, "o--")
        equal(line.get_xdata(), VECTOR)
        equal(line.get_ydata(), VECTOR * 2)

    def test_plot_of_columns(self, axes: Any, matrix: Any) -> None:
        assert len(axes.plot(matrix)) == 3

    def test_imshow(self, axes: Any, matrix: Any) -> None:
        equal(axes.imshow(matrix).get_array(), MATRIX)

    def test_hist(self, axes: Any, vector: Any) -> None:
        assert sum(axes.hist(vector)[0]) == 3

    def test_scatter(self, axes: Any, vector: Any) -> None:
        axes.scatter(vector, vector, c=vector, s=vector)

    def test_errorbar(self, axes: Any, vector: Any) -> None:
        axes.errorbar(vector, vector, yerr=vector)

    @pytest.mark.parametrize("kind", ["pcolormesh", "contour"])
    def test_of_a_matrix(self, axes: Any, matrix: Any, kind: str) -> None:
        getattr(axes, kind)(matrix)

    @pytest.mark.parametrize("kind", ["bar", "fill_between"])
    def test_of_two_vectors(self, axes: Any, vector: Any, kind: str) -> None:
        getattr(axes, kind)(vector, vector)

    def test_boxplot(self, axes: Any, vector: Any) -> None:
        axes.boxplot(vector)


class TestPandas:
    """Columns are float64, not objects."""

    @pytest.fixture
    def pd(self) -> Any:
        """The library."""
        return import_module("pandas")

    def test_series(self, pd: Any, vector: Any) -> None:
        equal(pd.Series(vector), VECTOR)

    def test_frame(self, pd: Any, matrix: Any) -> None:
        equal(pd.DataFrame(matrix, columns=list("abc")), MATRIX)

    def test_column_of_a_new_frame(self, pd: Any, vector: Any) -> None:
        equal(pd.DataFrame({"a": vector})["a"], VECTOR)

    def test_new_column(self, pd: Any, vector: Any) -> None:
        frame = pd.DataFrame({"a": [1, 2, 3]})
        frame["b"] = vector
        equal(frame["b"], VECTOR)

    def test_index(self, pd: Any, vector: Any) -> None:
        equal(pd.Index(vector), VECTOR)

    def test_series_and_array_add(self, pd: Any, vector: Any) -> None:
        equal(pd.Series(VECTOR) + vector, VECTOR * 2)


class TestColumns:
    """Polars and PyArrow."""

    @pytest.fixture
    def pl(self) -> Any:
        """Polars."""
        return import_module("polars")

    @pytest.fixture
    def pa(self) -> Any:
        """PyArrow."""
        return import_module("pyarrow")

    def test_polars_by_way_of_numpy(self, pl: Any, vector: Any, matrix: Any) -> None:
        assert pl.Series("a", np.asarray(vector)).to_list() == [1.0, 2.0, 3.0]
        assert pl.DataFrame(np.asarray(matrix)).shape == (2, 3)

    def test_polars_takes_or_refuses_an_array(self, pl: Any, vector: Any) -> None:
        try:
            series = pl.Series("a", vector)
        except TypeError:
            return
        assert series.dtype == pl.Float64
        assert series.to_list() == [1.0, 2.0, 3.0]

    def test_pyarrow_by_way_of_numpy(self, pa: Any, vector: Any) -> None:
        assert pa.array(np.asarray(vector)).type == pa.float64()

    def test_pyarrow_takes_an_array(self, pa: Any, vector: Any) -> None:
        assert pa.array(vector).type == pa.float64()


class TestDask:
    """Chunks that are the backend's, and chunks on the way to it and back."""

    @pytest.fixture
    def da(self) -> Any:
        """Its array module."""
        return import_module("dask.array")

    def test_delayed_in_processes(self, matrix: Any) -> None:
        dask = import_module("dask")
        sums = [dask.delayed(xp.sum)(matrix[row, :]) for row in range(2)]
        assert [float(result) for result in dask.compute(*sums, scheduler="processes")] == [3.0, 12.0]

    def test_there_and_back_in_each_chunk(self, da: Any) -> None:
        values = np.arange(24.0).reshape(4, 6)
        chunked = da.from_array(values, chunks=(2, 3))
        roots = chunked.map_blocks(lambda chunk: np.asarray(xp.sqrt(xp.asarray(chunk))), dtype=np.float64)
        equal(roots.compute(scheduler="sync"), np.sqrt(values))

    def test_an_array_as_source(self, da: Any, matrix: Any) -> None:
        chunked = da.from_array(matrix, chunks=(1, 3), asarray=False)
        equal((chunked + 1).compute(scheduler="sync"), MATRIX + 1)
        assert float(chunked.sum().compute(scheduler="sync")) == 15.0

    def test_chunks_stay_ours(self, da: Any) -> None:
        values, meta = np.arange(24.0).reshape(4, 6), xp.empty((0, 0))
        chunked = da.from_array(values, chunks=(2, 3)).map_blocks(xp.asarray, dtype=np.float64, meta=meta)

        def double(chunk: Any) -> Any:
            assert type(chunk) is ARRAY
            return chunk * 2

        doubled = chunked.map_blocks(double, dtype=np.float64, meta=meta)
        equal(doubled.compute(scheduler="sync"), values * 2)


# d is a DataArray of the backend with the dimensions a and b. Each expression is to give one of the backend again.
_XARRAY = """
d
d + 1
d * d
-d
abs(d)
d > 2
(d > 2).any()
d.sum('a')
d.sum()
d.mean()
d.var('a')
d.max()
d.count()
d.isel(a=0)
d.isel(a=[1, 0])
d.sel(a=20)
d[:, 1:]
d.transpose()
d.stack(z=('a', 'b'))
xr.concat([d, d], 'a')
d.clip(1, 2)
d.round()
d.astype(xp.float32)
d.roll(a=1)
d.shift(a=1)
d.pad(a=1)
d.diff('a')
d.isnull()
d.where(d > 2)
d.where(d > 2, 0.0)
d.fillna(0.0)
d.sortby('a')
d.dot(d)
xr.ufuncs.sin(d)
xr.zeros_like(d)
xr.full_like(d, 2.0)
xr.apply_ufunc(xp.exp, d)
d.copy(deep=True)
pickle.loads(pickle.dumps(d))
""".strip().splitlines()


class TestXarray:
    """Labelled arrays stay the backend's."""

    @pytest.fixture
    def xr(self) -> Any:
        """The library."""
        return import_module("xarray")

    @pytest.mark.parametrize("expression", _XARRAY)
    def test_stays_ours(self, xr: Any, matrix: Any, expression: str) -> None:
        labelled = xr.DataArray(matrix, dims=("a", "b"), coords={"a": [10, 20]})
        result = eval(expression, {"d": labelled, "xr": xr, "xp": xp, "pickle": pickle})
        assert type(result.data) is ARRAY

    def test_is_shown(self, xr: Any, matrix: Any) -> None:
        labelled = xr.DataArray(matrix, dims=("a", "b"))
        assert "a" in repr(labelled)
        assert "a" in labelled._repr_html_()

    def test_dataset(self, xr: Any, matrix: Any) -> None:
        assert type((xr.Dataset({"t": (("a", "b"), matrix)}) * 2)["t"].data) is ARRAY

    def test_plot(self, xr: Any, matrix: Any) -> None:
        xr.DataArray(matrix, dims=("a", "b")).plot()
