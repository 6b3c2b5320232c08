"""The tools around: other packages take our arrays and give theirs, with the real packages where they are installed.

docs/interop.md says the same to users, a row a consumer.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import copy
import io
import mmap
import os
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import candela_xp as xp
from candela_xp.backends.safetensors import load_file

ROOT = Path(__file__).resolve().parent.parent
OWN = ["contiguous", "transposed", "reversed", "stepped", "broadcast"]


def example(name="contiguous", dtype=None):
    """A 3 by 2 array of ours in memory of its own; the five layouts of OWN."""
    dtype = dtype or xp.float64
    x = xp.asarray([[1, 2], [3, 4], [5, 6]], dtype=dtype)
    if name == "transposed":
        x = xp.asarray(x.T, copy=True).T
    elif name == "reversed":
        x = xp.flip(xp.asarray(xp.flip(x), copy=True))
    elif name == "stepped":
        x = xp.asarray(xp.repeat(x, 2, axis=1), copy=True)[:, ::2]
    elif name == "broadcast":
        x = xp.broadcast_to(xp.asarray([[1, 2]], dtype=dtype), (3, 2))
    return x


def address(x: Any) -> int:
    return np.asarray(x).__array_interface__["data"][0]


def aligned(values: Any, dtype: str) -> np.ndarray:
    """A NumPy array that begins at a multiple of 64 bytes, as JAX wants it."""
    values = np.asarray(values, dtype)
    memory = np.zeros(values.nbytes + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    found = memory[start : start + values.nbytes].view(dtype).reshape(values.shape)
    found[...] = values
    return found


def package(name):
    return pytest.importorskip(name, reason=f"{name} is not part of the test extra; it is of the interop extra")


@pytest.fixture
def elsewhere():
    """An array on a simulated device."""
    with xp.settings(simulated_devices=2):
        yield xp.asarray([1.0, 2.0, 3.0], device=xp.__array_namespace_info__().devices()[1])


def test_every_package_of_the_extra_has_a_row_and_a_test():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8").lower()
    tests = Path(__file__).read_text(encoding="utf-8").lower()
    for wanted in project["optional-dependencies"]["interop"]:
        name = re.match(r"\w+", wanted)[0]
        assert re.search(rf"^\| .*{name}.* \|$", page, re.MULTILINE), name
        assert re.search(rf'package\("{name}[".]', tests), name


def fresh(tmp_path, script, *arguments):
    """What a script prints that runs in an interpreter of its own, with warnings as errors.

    Processes are started there and not here: a fork of a test process takes the threads' locks of all the packages
    that other tests loaded.
    """
    file = tmp_path / "script.py"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file), *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


# -- NumPy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("take", [np.asarray, np.from_dlpack])
def test_numpy_takes_our_memory_without_a_copy(take, name):
    x = example(name)
    found = take(x)
    assert type(found) is np.ndarray
    assert address(found) == address(x)
    assert found.tolist() == np.asarray(x, copy=True).tolist()
    assert found.flags.writeable is (name != "broadcast")


def test_numpy_functions_that_convert_take_our_arrays_and_give_numpys():
    x = xp.asarray([3.0, 1.0, 2.0])
    for found, expected in [
        (np.concatenate([x, x]), [3, 1, 2, 3, 1, 2]),
        (np.sort(x), [1, 2, 3]),
        (np.interp(x, [0, 4], [0, 8]), [6, 2, 4]),
        (np.where(x > 1, x, 0), [3, 0, 2]),
    ]:
        assert type(found) is np.ndarray
        assert found.tolist() == expected
    np.testing.assert_allclose(x, [3, 1, 2])
    array = np.zeros(3)
    array[:] = x
    assert array.tolist() == [3, 1, 2]


@pytest.mark.parametrize("function", [np.sin, np.add, np.sum])
def test_numpys_ufuncs_refuse_our_arrays(function):
    x = xp.asarray([3.0, 1.0, 2.0])
    with pytest.raises(TypeError, match="operand 'NDArray' does not support ufuncs"):
        function(*[x] * getattr(function, "nin", 1))


@pytest.mark.parametrize("name", OWN)
def test_numpy_saves_and_loads(name, tmp_path):
    x = example(name)
    np.save(tmp_path / "one.npy", x)
    back = xp.asarray(np.load(tmp_path / "one.npy"))
    assert back.dtype is x.dtype
    assert bool(xp.all(back == x))
    np.savez(tmp_path / "several.npz", x=x, y=x > 2)
    with np.load(tmp_path / "several.npz") as loaded:
        assert bool(xp.all(xp.asarray(loaded["x"]) == x))
        assert xp.asarray(loaded["y"]).dtype is xp.bool
    text = io.StringIO()
    np.savetxt(text, x)
    text.seek(0)
    assert np.loadtxt(text).tolist() == np.asarray(x).tolist()


def test_numpys_files_do_not_know_the_narrow_floats():
    file = io.BytesIO()
    x = example(dtype=xp.bfloat16)
    np.save(file, x)
    file.seek(0)
    loaded = np.load(file)
    with pytest.raises(TypeError, match="no dtype of candela_xp"):
        xp.asarray(loaded)
    assert bool(xp.all(xp.asarray(loaded.view(ml_dtypes.bfloat16)) == x))


@pytest.mark.parametrize("dtype", xp._dtypes.EXTENSIONS, ids=str)
@pytest.mark.parametrize("name", OWN)
def test_numpys_files_keep_the_bits_of_the_narrow_floats(name, dtype, tmp_path):
    bits = f"u{dtype.itemsize}"
    x = xp.asarray(np.asarray(example(name, np.dtype(bits))).view(dtype))
    np.save(tmp_path / "bits.npy", np.asarray(x).view(bits))
    for mode in (None, "r"):
        loaded = np.load(tmp_path / "bits.npy", mmap_mode=mode)
        back = xp.asarray(loaded.view(dtype), copy=False)
        assert back.dtype is dtype
        assert back.shape == x.shape
        assert not x.size or address(back) == address(loaded)
        assert np.asarray(back).view(bits).tolist() == np.asarray(x).view(bits).tolist()


@pytest.mark.parametrize("name", OWN)
def test_safetensors_writes_a_dense_copy_and_we_map_it(name, tmp_path):
    safetensors = package("safetensors.numpy")
    x = example(name, xp.bfloat16)
    safetensors.save_file({"x": np.asarray(xp.asarray(x, copy=True))}, tmp_path / "x.safetensors")
    assert bool(xp.all(load_file(tmp_path / "x.safetensors")["x"] == x))


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_memory_mapped_array_is_taken_without_a_copy(mode, tmp_path):
    file = tmp_path / "mapped.npy"
    np.save(file, np.arange(6.0).reshape(2, 3))
    mapped = np.load(file, mmap_mode=mode)
    for x in (xp.asarray(mapped), xp.from_dlpack(mapped)):
        assert address(x) == address(mapped)
        assert type(x + 1) is xp.NDArray
        assert bool(xp.all(pickle.loads(pickle.dumps(x)) == x))
        if mode == "r":
            for write in (lambda x=x: x.__setitem__((0, 0), 9.0), lambda x=x: x.__iadd__(1.0)):
                with pytest.raises(ValueError, match=r"memory is read-only; use asarray\(x, copy=True\)"):
                    write()
        else:
            x[0, 0] = 9.0
            assert mapped[0, 0] == 9
        with pytest.raises(TypeError, match=r"add: x2 is a numpy.memmap, not an NDArray; use candela_xp.asarray"):
            x + mapped
    assert np.load(file)[0, 0] == (9 if mode == "r+" else 0)


def test_a_mapped_file_is_a_buffer_of_bytes(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(8)))
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        x = xp.asarray(mapped)
        assert x.dtype is xp.uint8
        assert np.asarray(x).tolist() == list(range(8))
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(BufferError):  # the array still looks at the file
            mapped.close()
        del x


# -- torch and JAX -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in OWN if name != "reversed"])
def test_torch_takes_our_memory_and_gives_its_own_without_a_copy(name):
    torch = package("torch")
    x = example(name)
    for take in (torch.from_dlpack, torch.asarray, torch.as_tensor):
        tensor = take(x)
        assert tensor.data_ptr() == address(x)
        assert tensor.stride() == x.layout.stride
        assert tensor.tolist() == np.asarray(x).tolist()
        back = xp.from_dlpack(tensor)
        assert address(back) == address(x)
        assert back.dtype is x.dtype
    if name != "broadcast":
        tensor[0, 1] = 9.0
        assert float(x[0, 1]) == 9
        back[0, 1] = 8.0
        assert tensor[0, 1] == 8


def test_torch_takes_arrays_walked_backwards_as_copies():
    # torch has no negative strides; its releases up to 2.13 at least end the process on some. Hence the copy.
    torch = package("torch")
    x = example("reversed")
    assert min(x.layout.stride) < 0
    assert torch.from_dlpack(xp.asarray(x, copy=True)).tolist() == np.asarray(x).tolist()


def test_tensors_that_torch_does_not_export_are_refused_in_torchs_words():
    torch = package("torch")
    for tensor, message in [
        (torch.ones(3, requires_grad=True), "require gradient"),
        (torch.ones(3, dtype=torch.complex64).conj(), "conjugate bit"),
        (torch.eye(3).to_sparse(), "layout other than torch.strided"),
    ]:
        for take in (xp.from_dlpack, xp.asarray):
            with pytest.raises(BufferError, match=message):
                take(tensor)


def test_torch_tensors_and_our_arrays_do_not_mix_under_operators():
    torch = package("torch")
    x, tensor = xp.ones(3), torch.ones(3)
    for mix in (lambda: x + tensor, lambda: tensor + x):
        with pytest.raises(TypeError, match="unsupported operand type"):
            mix()
    with pytest.raises(TypeError, match=r"add: x2 is a torch.Tensor, not an NDArray; use candela_xp.asarray"):
        xp.add(x, tensor)


def test_jax_takes_our_memory_without_a_copy_where_it_is_aligned():
    jnp = package("jax.numpy")
    x = xp.asarray(aligned([[1, 2, 3], [4, 5, 6]], "float32"))
    for array in (jnp.from_dlpack(x), jnp.from_dlpack(x, copy=False)):
        assert array.unsafe_buffer_pointer() == address(x)
        assert array.tolist() == [[1, 2, 3], [4, 5, 6]]
    odd = x[:, 1:]  # neither dense nor aligned
    with pytest.raises(RuntimeError, match="striding"):
        jnp.from_dlpack(odd)
    assert jnp.from_dlpack(xp.asarray(odd, copy=True)).tolist() == [[2, 3], [5, 6]]


@pytest.mark.parametrize("name", OWN)
def test_jax_converts_arrays_of_every_layout(name):
    jnp = package("jax.numpy")
    x = example(name, xp.float32)
    for convert in (jnp.asarray, jnp.array):
        assert convert(x).dtype == np.float32
        assert convert(x).tolist() == np.asarray(x).tolist()
    for refuse in (lambda: jnp.sin(x), lambda: jnp.ones(2) + x):
        with pytest.raises(TypeError):
            refuse()


def test_jax_takes_the_dtypes_that_both_have():
    jnp = package("jax.numpy")
    for dtype in (xp.bool, xp.int32, xp.uint8, xp.float16, xp.bfloat16, xp.float32, xp.complex64, xp.float8_e5m2):
        x = xp.asarray([1, 0, 1], dtype=dtype)
        array = jnp.from_dlpack(x)
        assert array.dtype == dtype.dtype
        assert xp.from_dlpack(array).dtype is dtype
        assert np.asarray(array).tobytes() == np.asarray(x).tobytes()


def test_jax_arrays_come_without_a_copy_and_read_only():
    jnp = package("jax.numpy")
    array = jnp.arange(6.0).reshape(2, 3)
    for x in (xp.from_dlpack(array), xp.asarray(array)):
        assert address(x) == array.unsafe_buffer_pointer()
        for write in (lambda x=x: x.__setitem__((0, 0), 9.0), lambda x=x: x.__iadd__(1.0)):
            with pytest.raises(ValueError, match=r"memory is read-only; use asarray\(x, copy=True\)"):
                write()
        with pytest.raises(TypeError, match="unsupported operand type"):
            x + array
    own = xp.asarray(array, copy=True)
    own[0, 0] = 9.0
    assert array[0, 0] == 0


# -- matplotlib --------------------------------------------------------------------------------------


@pytest.fixture
def axes():
    """Axes of a figure without pyplot, which are drawn at the end."""
    package("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = FigureCanvasAgg(Figure())
    yield canvas.figure.subplots()
    canvas.draw()
    assert np.asarray(canvas.buffer_rgba()).std() > 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "uint8", "bool"])
def test_matplotlib_plots_our_arrays(axes, dtype):
    x = xp.asarray([0, 1, 1, 0], dtype=getattr(xp, dtype))
    (line,) = axes.plot(xp.linspace(0, 1, 4), x)
    assert line.get_ydata(orig=False).astype(float).tolist() == [0, 1, 1, 0]
    (line,) = axes.plot(x[::-1])
    assert line.get_xdata(orig=False).tolist() == [0, 1, 2, 3]


def test_matplotlib_draws_a_line_a_column(axes):
    assert [line.get_ydata(orig=False).tolist() for line in axes.plot(example())] == [[1, 3, 5], [2, 4, 6]]


@pytest.mark.parametrize("name", OWN)
def test_matplotlib_shows_images_of_our_arrays(axes, name):
    x = example(name)
    image = axes.imshow(x, vmin=float(xp.min(x)), vmax=float(xp.max(x)))
    assert image.get_array().tolist() == np.asarray(x).tolist()
    axes.figure.colorbar(image)
    assert axes.imshow(xp.ones((3, 4, 3), dtype=xp.uint8)).get_array().shape == (3, 4, 3)
    axes.contour(x * xp.asarray([1.0, 2.0]))
    assert axes.pcolormesh(x).get_array().shape == (3, 2)


def test_matplotlib_counts_histograms_of_our_arrays(axes):
    x = xp.asarray([0.0, 0.1, 0.6, 0.9])
    count, edges, _ = axes.hist(x, bins=xp.asarray([0.0, 0.5, 1.0]))
    assert count.tolist() == [2, 2]
    assert edges.tolist() == [0, 0.5, 1]
    count, _, _ = axes.hist(x, bins=2, range=(0, 1), weights=xp.asarray([1.0, 2.0, 3.0, 4.0]))
    assert count.tolist() == [3, 7]


def test_matplotlib_takes_the_columns_of_a_numpy_array_as_data_sets(axes):
    # What is no NumPy array is to matplotlib a list of data sets, so a matrix of ours would be taken by its rows.
    x = xp.asarray([[0.0, 5.0], [0.0, 5.0], [1.0, 6.0]])
    count, _, _ = axes.hist(np.asarray(x), bins=[0, 1, 5, 6])
    assert count.tolist() == [[2, 1, 0], [0, 0, 3]]
    assert len(axes.boxplot(np.asarray(x))["boxes"]) == 2
    assert len(axes.violinplot(np.asarray(x))["bodies"]) == 2


def test_matplotlib_draws_error_bars_and_bars(axes):
    x = xp.asarray([1.0, 2.0])
    y = xp.asarray([5.0, 6.0])
    _, _, (vertical,) = axes.errorbar(x, y, yerr=xp.asarray([0.5, 1.0]))
    assert [segment[:, 1].tolist() for segment in vertical.get_segments()] == [[4.5, 5.5], [5, 7]]
    axes.errorbar(x, y, xerr=x[0], yerr=xp.stack([x, y]))
    assert [bar.get_height() for bar in axes.bar(x, y)] == [5, 6]
    axes.fill_between(x, y, y + 1, where=x > 0)


def test_matplotlib_colours_points_by_our_arrays(axes):
    x = xp.asarray([1.0, 2.0, 3.0])
    points = axes.scatter(x, x * 2, c=x, s=x * 10)
    assert points.get_array().tolist() == [1, 2, 3]
    assert points.get_offsets().tolist() == [[1, 2], [2, 4], [3, 6]]
    assert points.get_sizes().tolist() == [10, 20, 30]
    colours = xp.asarray([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert axes.scatter(x, x, c=colours).get_facecolors()[:, :3].tolist() == np.asarray(colours).tolist()


def test_matplotlibs_limits_are_python_numbers(axes):
    x = xp.asarray([1.0, 2.0])
    axes.plot(x)
    axes.set_xlim(float(x[0]), float(x[1]))
    assert axes.get_xlim() == (1, 2)
    axes.set_xticks(x)
    assert axes.get_xticks().tolist() == [1, 2]


# -- pandas, polars, pyarrow -------------------------------------------------------------------------

TABLE_DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]


@pytest.mark.parametrize("name", [*TABLE_DTYPES, "complex128"])
def test_pandas_keeps_our_dtypes(name):
    pandas = package("pandas")
    x = xp.asarray([1, 0, 1], dtype=getattr(xp, name))
    found = [
        pandas.Series(x),
        pandas.DataFrame({"x": x})["x"],
        pandas.DataFrame(xp.stack([x, x], axis=1))[1],
        pandas.DataFrame({"y": [1, 2, 3]}).assign(x=x)["x"],
    ]
    for series in found:
        assert series.dtype == np.dtype(name)
        assert series.tolist() == np.asarray(x).tolist()
        back = xp.asarray(series)
        assert back.dtype is x.dtype
        assert bool(xp.all(back == x))


@pytest.mark.parametrize("name", OWN)
def test_pandas_takes_every_layout(name):
    pandas = package("pandas")
    x = example(name)
    assert pandas.DataFrame(x).to_numpy().tolist() == np.asarray(x).tolist()
    assert pandas.Series(x[:, 1], index=xp.arange(3)).tolist() == np.asarray(x)[:, 1].tolist()


def test_a_pandas_series_may_be_a_view_and_is_none_with_copy_true():
    pandas = package("pandas")
    x = xp.asarray([1.0, 2.0, 3.0])
    view = pandas.Series(x)
    x[0] = 9.0
    assert view.tolist() == [9, 2, 3]
    for own in (pandas.Series(x, copy=True), pandas.DataFrame({"x": x})["x"]):
        assert not np.shares_memory(own.to_numpy(), np.asarray(x))
    series = pandas.Series([1.0, 2.0, 3.0])
    own = xp.asarray(series)
    assert np.shares_memory(series.to_numpy(), np.asarray(own))


def test_pandas_and_our_arrays_do_not_mix_under_operators():
    pandas = package("pandas")
    x, series = xp.ones(3), pandas.Series([1.0, 2.0, 3.0])
    for mix in (lambda: x + series, lambda: series + x):
        with pytest.raises(TypeError, match=r"not an NDArray; use candela_xp.asarray"):
            mix()
    assert (series + np.asarray(x)).tolist() == [2, 3, 4]
    assert series[np.asarray(xp.asarray(series) > 1)].tolist() == [2, 3]
    assert np.asarray(xp.asarray(series) + x).tolist() == [2, 3, 4]


def test_text_in_pandas_is_refused():
    pandas = package("pandas")
    with pytest.raises(TypeError, match="is no dtype of candela_xp"):
        xp.asarray(pandas.Series(["a", "b"], dtype=object))


@pytest.mark.parametrize("name", TABLE_DTYPES)
def test_polars_goes_through_numpy(name):
    polars = package("polars")
    x = xp.asarray([1, 0, 1], dtype=getattr(xp, name))
    series = polars.Series("x", np.asarray(x))
    assert series.to_list() == np.asarray(x).tolist()
    if name != "bool":  # which polars holds as bits
        assert address(series.to_numpy()) == address(x)
    assert polars.DataFrame({"x": np.asarray(x)})["x"].dtype == series.dtype
    back = xp.asarray(series)
    assert back.dtype is x.dtype
    assert bool(xp.all(back == x))


def test_polars_numbers_come_without_a_copy_and_read_only():
    polars = package("polars")
    series = polars.Series([1.0, 2.0])
    x = xp.asarray(series)
    assert address(x) == address(series.to_numpy())
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 9.0
    assert str(xp.asarray(polars.Series([1, None]))) == "NDArray([ 1., nan], dtype=float64)"
    with pytest.raises(TypeError, match="is no dtype of candela_xp"):
        xp.asarray(polars.Series(["a"]))


@pytest.mark.parametrize("name", [name for name in TABLE_DTYPES if name != "bool"])
def test_pyarrow_goes_through_numpy_without_a_copy(name):
    pyarrow = package("pyarrow")
    x = xp.asarray([1, 0, 1], dtype=getattr(xp, name))
    array = pyarrow.array(np.asarray(x))
    assert array.buffers()[1].address == address(x)
    for take in (xp.asarray, xp.from_dlpack):
        back = take(array)
        assert back.dtype is x.dtype
        assert address(back) == address(x)
        with pytest.raises(ValueError, match="read-only"):
            back[0] = 1
    table = pyarrow.table({"x": np.asarray(x)})
    assert bool(xp.all(xp.asarray(table["x"]) == x))


def test_pyarrows_booleans_are_bits_and_its_tensors_views():
    pyarrow = package("pyarrow")
    assert pyarrow.array(np.asarray(xp.asarray([True, False]))).to_pylist() == [True, False]
    x = example()
    assert np.shares_memory(pyarrow.Tensor.from_numpy(np.asarray(x)).to_numpy(), np.asarray(x))


def test_pyarrows_nulls_are_refused_in_its_words():
    pyarrow = package("pyarrow")
    with pytest.raises(TypeError, match="no nulls"):
        xp.asarray(pyarrow.array([1.0, None]))


# -- xarray ------------------------------------------------------------------------------------------


@pytest.fixture
def labelled():
    """A function that makes a DataArray over an array of ours."""
    xarray = package("xarray")
    return lambda x: xarray.DataArray(x, dims=("y", "x"), coords={"x": [10, 20], "other": ("y", xp.arange(3))})


def test_xarray_wraps_without_a_copy(labelled):
    x = example()
    a = labelled(x)
    assert a.data is x
    assert type(a.coords["other"].data) is xp.NDArray
    assert type(a.coords["x"].data) is np.ndarray  # an index is pandas'
    assert type(a.values) is np.ndarray
    assert address(a.values) == address(x)
    assert "NDArray(" in repr(a)
    assert "NDArray" in a._repr_html_()
    assert bool(a.equals(pickle.loads(pickle.dumps(a))))


OURS = {  # what stays an NDArray, and what it is
    "arithmetic": (lambda a: 1 - a * 2 + a, [[0, -1], [-2, -3], [-4, -5]]),
    "comparison": (lambda a: a > 2, [[False, False], [True, True], [True, True]]),
    "broadcasting": (lambda a: a + a.isel(y=0, drop=True), [[2, 4], [4, 6], [6, 8]]),
    "where with an array": (lambda a: a.where(a > 2, -a), [[-1, -2], [3, 4], [5, 6]]),
    "fillna with an array": (lambda a: a.where(a > 1, a * xp.nan).fillna(-a), [[-1, 2], [3, 4], [5, 6]]),
    "isel": (lambda a: a.isel(x=1), [2, 4, 6]),
    "isel of a slice": (lambda a: a.isel(y=slice(None, None, -2)), [[5, 6], [1, 2]]),
    "isel of a list": (lambda a: a.isel(y=[2, 0]), [[5, 6], [1, 2]]),
    "sel": (lambda a: a.sel(x=20), [2, 4, 6]),
    "sortby a coordinate": (lambda a: a.sortby("x", ascending=False), [[2, 1], [4, 3], [6, 5]]),
    "sortby values": (lambda a: a.sortby(-a.isel(x=0)), [[5, 6], [3, 4], [1, 2]]),
    "roll": (lambda a: a.roll(y=1), [[5, 6], [1, 2], [3, 4]]),
    "diff": (lambda a: a.diff("y"), [[2, 2], [2, 2]]),
    "transpose": (lambda a: a.transpose("x", "y"), [[1, 3, 5], [2, 4, 6]]),
    "stack": (lambda a: a.stack(z=("y", "x")), [1, 2, 3, 4, 5, 6]),
    "isnull": (lambda a: a.isnull(), [[False] * 2] * 3),
    "clip": (lambda a: a.clip(2, 5), [[2, 2], [3, 4], [5, 5]]),
    "astype": (lambda a: a.astype(xp.int32), [[1, 2], [3, 4], [5, 6]]),
    "fillna with zeros": (lambda a: (a * xp.nan).fillna(xp.zeros_like(a.data)), [[0, 0]] * 3),
    "count": (lambda a: a.count("y"), [3, 3]),
    "sum": (lambda a: a.sum("y"), [9, 12]),
    "product, NaN not skipped": (lambda a: a.prod("y", skipna=False), [15, 48]),
    "mean, NaN not skipped": (lambda a: a.mean("y", skipna=False), [3, 4]),
    "max, NaN not skipped": (lambda a: a.max("y", skipna=False), [5, 6]),
    "mean of integers": (lambda a: a.astype(xp.int64).mean("y"), [3, 4]),
    "max of integers": (lambda a: a.astype(xp.int64).max("y"), [5, 6]),
    "all": (lambda a: (a > 1).all("y"), [False, True]),
    "dot": (lambda a: a.dot(a), 91),
}


@pytest.mark.parametrize("case", OURS)
@pytest.mark.parametrize("name", [name for name in OWN if name != "broadcast"])
def test_what_xarray_computes_stays_an_ndarray(labelled, case, name):
    compute, expected = OURS[case]
    found = compute(labelled(example(name)))
    assert type(found.data) is xp.NDArray
    assert np.asarray(found.data).tolist() == expected


NUMPYS = {  # where xarray goes through NumPy: the values are right, the class is NumPy's
    "mean": (lambda a: a.mean("y"), [3, 4]),
    "std": (lambda a: a.std("y"), [pytest.approx(1.632993161855452)] * 2),
    "max": (lambda a: a.max("y"), [5, 6]),
    "argmax": (lambda a: a.argmax("y"), [2, 2]),
    "cumsum": (lambda a: a.cumsum("y"), [[1, 2], [4, 6], [9, 12]]),
    "median": (lambda a: a.median("y"), [3, 4]),
    "coarsen": (lambda a: a.coarsen(y=3).mean(), [[3, 4]]),
}


@pytest.mark.parametrize("case", NUMPYS)
def test_reductions_in_which_xarray_skips_nan_give_the_right_values(labelled, case):
    compute, expected = NUMPYS[case]
    assert np.asarray(compute(labelled(example())).data).tolist() == expected


REFUSED = {
    "where without a second value": lambda a: a.where(a > 2),
    "pad": lambda a: a.pad(x=1),
    "shift": lambda a: a.shift(x=1),
    "reindex": lambda a: a.reindex(x=[10, 30]),
    "NumPy's ufuncs": np.sin,
}


@pytest.mark.parametrize("case", REFUSED)
def test_where_xarray_needs_numpys_dtypes_as_numpy_is_the_way(labelled, case):
    a = labelled(example())
    with pytest.raises(TypeError):
        REFUSED[case](a)
    found = REFUSED[case](a.as_numpy())
    assert type(found.data) is np.ndarray
    back = found.copy(data=xp.asarray(found.data))
    assert type(back.data) is xp.NDArray


def test_xarray_assigns_a_number_to_one_element_and_arrays_to_more(labelled):
    for dtype, kept in ((xp.float32, 9.5), (xp.int64, 9)):
        a = labelled(xp.zeros((3, 2), dtype=dtype))
        a[0, 0] = 9.5
        a[1:] = xp.ones((2, 2), dtype=dtype)
        assert type(a.data) is xp.NDArray
        assert a.dtype is dtype
        assert np.asarray(a.data).tolist() == [[kept, 0], [1, 1], [1, 1]]
        with pytest.raises(TypeError, match=r"setitem: ndarray is no NDArray; use candela_xp.asarray\(value\)"):
            a[0] = 1.0
        assert np.asarray(a.data).tolist() == [[kept, 0], [1, 1], [1, 1]]


def test_xarray_applies_our_functions(labelled):
    xarray = package("xarray")
    x = example()
    for found in (xarray.apply_ufunc(xp.sin, labelled(x)), xarray.ufuncs.sin(labelled(x))):
        assert type(found.data) is xp.NDArray
        assert bool(xp.all(found.data == xp.sin(x)))


def test_an_xarray_dataset_holds_our_arrays(labelled):
    xarray = package("xarray")
    x = example()
    data = xarray.Dataset({"a": labelled(x), "b": ("y", xp.asarray([3.0, 1.0, 2.0]))})
    for found, expected in [
        (data * 2 + data, {"a": [[3, 6], [9, 12], [15, 18]], "b": [9, 3, 6]}),
        (data.isel(y=1), {"a": [3, 4], "b": 1}),
        (data.sortby("b"), {"a": [[3, 4], [5, 6], [1, 2]], "b": [1, 2, 3]}),
        (data.mean("y", skipna=False), {"a": [3, 4], "b": 2}),
        (data.map(abs), {"a": [[1, 2], [3, 4], [5, 6]], "b": [3, 1, 2]}),
    ]:
        for name, values in expected.items():
            assert type(found[name].data) is xp.NDArray
            assert np.asarray(found[name].data).tolist() == values


def test_xarray_does_not_mix_ours_with_numpys(labelled):
    a = labelled(example())
    with pytest.raises(TypeError, match=r"not an NDArray; use candela_xp.asarray"):
        a + a.as_numpy()


# -- dask --------------------------------------------------------------------------------------------


@pytest.fixture
def chunked():
    """A function that makes a dask array of two chunks over an array of ours."""
    array = package("dask.array")
    return lambda x: array.from_array(x, chunks=(2, 2), asarray=False)


def test_dasks_chunks_are_ours_and_dask_joins_them_as_numpys(chunked):
    dask = package("dask")
    x = example()
    lazy = chunked(x)
    assert type(lazy._meta) is xp.NDArray
    sines = lazy.map_blocks(xp.sin, meta=lazy._meta)
    chunks = dask.compute(*sines.to_delayed().ravel(), scheduler="synchronous")
    assert [type(chunk) for chunk in chunks] == [xp.NDArray] * 2
    assert bool(xp.all(xp.concat(list(chunks)) == xp.sin(x)))
    for found, expected in [(sines, xp.sin(x)), (lazy + lazy, x + x), (lazy * 2.0, x * 2), (lazy.T, x.T)]:
        joined = found.compute(scheduler="synchronous")
        assert type(joined) is np.ndarray
        assert joined.tolist() == np.asarray(expected).tolist()
    assert type(lazy[:2].compute(scheduler="synchronous")) is xp.NDArray  # a single chunk


def test_dask_joins_our_chunks_as_ours_where_it_is_told_how(chunked, monkeypatch):
    dispatch = package("dask.array.dispatch")
    lookup = copy.copy(dispatch.concatenate_lookup._lookup)
    monkeypatch.setattr(dispatch.concatenate_lookup, "_lookup", lookup)
    dispatch.concatenate_lookup.register(xp.NDArray, lambda arrays, axis=0: xp.concat(arrays, axis=axis))
    x = example()
    found = (chunked(x) * 2.0).compute(scheduler="synchronous")
    assert type(found) is xp.NDArray
    assert bool(xp.all(found == x * 2))


def test_dasks_delayed_functions_take_and_give_our_arrays():
    dask = package("dask")
    x = example()
    total = dask.delayed(xp.sum)(dask.delayed(xp.sin)(x))
    for scheduler in ("synchronous", "threads"):
        found = total.compute(scheduler=scheduler)
        assert type(found) is xp.NDArray
        assert bool(found == xp.sum(xp.sin(x)))


def test_dask_and_joblib_tell_our_arrays_apart_by_their_values():
    hashes = [package("dask.base").tokenize, package("joblib").hash]
    x = example()
    for digest in hashes:
        assert digest(x) == digest(copy.copy(x))
        assert len({digest(x), digest(x + 1), digest(x.T), digest(xp.astype(x, xp.float32))}) == 4


def test_a_dask_array_comes_whole():
    array = package("dask.array")
    assert np.asarray(xp.asarray(array.ones((3, 2), chunks=(2, 2)))).tolist() == [[1, 1]] * 3


# -- files: zarr and HDF5 ----------------------------------------------------------------------------

FILE_DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", FILE_DTYPES)
@pytest.mark.parametrize("layout", OWN)
def test_zarr_writes_and_reads(name, layout):
    zarr = package("zarr")
    x = example(layout, getattr(xp, name))
    whole = zarr.create_array(zarr.storage.MemoryStore(), data=np.asarray(x), chunks=(2, 2))
    parts = zarr.create_array(zarr.storage.MemoryStore(), shape=x.shape, dtype=np.dtype(x.dtype), chunks=(2, 2))
    parts[...] = np.asarray(x)
    parts[1, :] = np.asarray(x[0, :])
    for stored in (whole, parts):
        for back in (xp.asarray(stored[...]), xp.asarray(stored)):
            assert back.dtype is x.dtype
            assert bool(xp.all(back[0, :] == x[0, :]))
    assert bool(xp.all(xp.asarray(parts[1]) == x[0, :]))


@pytest.mark.parametrize("name", FILE_DTYPES)
@pytest.mark.parametrize("layout", OWN)
def test_hdf5_writes_and_reads(name, layout):
    h5py = package("h5py")
    x = example(layout, getattr(xp, name))
    with h5py.File(io.BytesIO(), "w") as file:
        stored = file.create_dataset("x", data=x)
        assert stored.dtype == np.dtype(name)
        file["y"] = x.T
        stored[1] = x[0, :]
        for back in (xp.asarray(stored[...]), xp.asarray(stored)):
            assert back.dtype is x.dtype
            assert bool(xp.all(back[0, :] == x[0, :]))
            assert bool(xp.all(back[1, :] == x[0, :]))
        assert bool(xp.all(xp.asarray(file["y"]) == x.T))
        stored.attrs["row"] = x[0, :]
        assert stored.attrs["row"].tolist() == np.asarray(x)[0].tolist()
        ours = xp.zeros((3, 2), dtype=x.dtype)
        stored.read_direct(np.asarray(ours))
        assert bool(xp.all(ours[0, :] == x[0, :]))


# -- other threads and processes ---------------------------------------------------------------------

PROCESSES = """
import concurrent.futures
import multiprocessing
import sys

import candela_xp as xp


def work(x):
    total = xp.sum(xp.astype(x, xp.float64))
    before = xp.asarray(x, copy=True)
    if not x.layout.overlaps_itself:
        x[...] = False
        assert float(xp.sum(xp.astype(x, xp.float64))) == 0
    return before, total, x.device


def arrays():
    x = xp.asarray([[1, 2], [3, 4], [5, 6]], dtype=xp.float64)
    with xp.settings(simulated_devices=2):
        there = x.to_device(xp.__array_namespace_info__().devices()[1])
    yield from [x, x.T, xp.flip(x), x[:, ::2], xp.broadcast_to(x[0, :], (3, 2)), x[:0, :], x[1, 1], there]
    for dtype in (xp.bool, xp.uint8, xp.int64, xp.bfloat16, xp.float8_e5m2):
        yield xp.astype(x, dtype)
    yield xp.ones((300, 300))  # larger than what joblib sends in the message itself


def check(run):
    given = list(arrays())
    kept = [xp.asarray(x, copy=True) for x in given]
    for x, before, (back, total, device) in zip(given, kept, run(work, given), strict=True):
        assert type(back) is xp.NDArray
        assert back.dtype is x.dtype and back.shape == x.shape and back.device is device is x.device
        assert bool(xp.all(back == before)) and bool(xp.all(x == before))
        assert float(total) == float(xp.sum(xp.astype(before, xp.float64)))
    print("passed", len(given))


if __name__ == "__main__":
    kind = sys.argv[1]
    if kind == "loky":
        import joblib

        with joblib.parallel_config("loky", n_jobs=2, max_nbytes=10_000):
            check(lambda f, given: joblib.Parallel()(joblib.delayed(f)(x) for x in given))
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
    elif kind.startswith("futures"):
        context = multiprocessing.get_context(kind.partition(" ")[2])
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            check(lambda f, given: list(pool.map(f, given)))
    else:
        with multiprocessing.get_context(kind).Pool(2) as pool:
            check(pool.map)
            pool.close()
            pool.join()
"""


@pytest.mark.parametrize("kind", ["spawn", "fork", "futures spawn", "futures fork", "loky"])
def test_arrays_go_to_other_processes_and_come_back(kind, tmp_path):
    if kind == "loky":
        package("joblib")
    if "fork" in kind and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    assert fresh(tmp_path, PROCESSES, kind)[0] == "passed"


def test_threads_share_our_arrays():
    x = example()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert all(found is x for found in pool.map(lambda one: one, [x] * 4))
        assert [float(total) for total in pool.map(xp.sum, [x, x * 2])] == [21, 42]


def test_a_thread_of_a_pool_has_settings_of_its_own():
    def mixed():
        return xp.asarray([1]) + 0.5

    with concurrent.futures.ThreadPoolExecutor(1) as pool, xp.settings(strict=True):
        with pytest.raises(TypeError, match="use astype"):
            pool.submit(contextvars.copy_context().run, mixed).result()
        with pytest.raises(TypeError, match="use astype"):
            mixed()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(contextvars.copy_context().run, mixed).result().dtype is xp.float64


def test_joblib_runs_threads_on_our_arrays_without_a_copy():
    joblib = package("joblib")
    x = example()
    run = joblib.Parallel(2, backend="threading")
    assert all(found is x for found in run(joblib.delayed(lambda one: one)(x) for _ in range(4)))


def test_joblib_dumps_and_loads(tmp_path):
    joblib = package("joblib")
    for x in (example("reversed"), example(dtype=xp.bfloat16)):
        joblib.dump(x, tmp_path / "x.joblib")
        for mode in (None, "r", "r+"):
            back = joblib.load(tmp_path / "x.joblib", mmap_mode=mode)
            assert back.dtype is x.dtype
            assert bool(xp.all(back == x))
            back[0, 0] = 9  # also where the file is mapped read-only: then it is a copy
        assert float(joblib.load(tmp_path / "x.joblib")[0, 0]) == 9


def test_joblib_remembers_results(tmp_path):
    joblib = package("joblib")
    calls = []

    def slow(x):
        calls.append(1)
        return xp.sin(x)

    remembered = joblib.Memory(tmp_path, verbose=0).cache(slow)
    x = example()
    for _ in range(2):
        assert bool(xp.all(remembered(x) == xp.sin(x)))
    assert len(calls) == 1
    remembered(x + 1)
    assert len(calls) == 2


# -- IPython and copies ------------------------------------------------------------------------------


def test_ipython_shows_an_array_as_its_text_and_as_a_picture():
    package("IPython")
    from IPython.core.formatters import DisplayFormatter
    from IPython.lib.pretty import pretty

    for x in (example(), xp.ones((400, 400)), xp.asarray(1), xp.ones((0, 3))):
        shown, _ = DisplayFormatter().format(x)
        assert shown == {"text/plain": repr(x), "text/html": x._repr_html_()}
    assert pretty([xp.asarray(1)]) == "[NDArray(1, dtype=int64)]"
    assert pretty(xp.float32) == "candela_xp.float32"


@pytest.mark.parametrize("name", OWN)
def test_copies_are_dense_and_share_nothing(name):
    x = example(name)
    before = np.asarray(x).tolist()
    for made in (copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": [x]})["x"][0], pickle.loads(pickle.dumps(x))):
        assert type(made) is xp.NDArray
        assert np.asarray(made).tolist() == before
        assert not np.shares_memory(np.asarray(made), np.asarray(x))
    made = copy.copy(x)
    made[0, 0] = 9.0
    assert np.asarray(x).tolist() == before


# -- what is refused ---------------------------------------------------------------------------------

Y = np.ones(3)
FOREIGN = {
    "add": lambda x: xp.add(x, Y),
    "operator": lambda x: x + Y,
    "reflected operator": lambda x: Y + x,
    "comparison": lambda x: x == Y,
    "in place": lambda x: x.__iadd__(Y),
    "power": lambda x: Y**x,
    "matmul": lambda x: x @ Y,
    "reflected matmul": lambda x: Y @ x,
    "where": lambda x: xp.where(x > 1, Y, x),
    "concat": lambda x: xp.concat([x, Y]),
    "reduction": lambda x: xp.sum(Y),
    "sort": lambda x: xp.sort(Y),
    "reshape": lambda x: xp.reshape(Y, (3, 1)),
    "astype": lambda x: xp.astype(Y, xp.float32),
    "linear algebra": lambda x: xp.linalg.solve(np.eye(3), x),
    "Fourier transform": lambda x: xp.fft.fft(Y),
    "unique": lambda x: xp.unique_values(Y),
}


@pytest.mark.parametrize("case", FOREIGN)
@pytest.mark.parametrize("strict", [False, True])
def test_numpys_arrays_where_ours_belong_are_refused_and_asarray_is_named(case, strict):
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.settings(strict=strict), pytest.raises(TypeError, match=r"use candela_xp\.asarray\(") as caught:
        FOREIGN[case](x)
    assert "numpy.ndarray" in str(caught.value)
    assert np.asarray(x).tolist() == [1, 2, 3]
    assert Y.tolist() == [1, 1, 1]


def test_numpys_in_place_operators_and_out_refuse_our_arrays():
    x, y = xp.asarray([1.0, 2.0, 3.0]), np.ones(3)
    for write in (lambda: y.__iadd__(x), lambda: np.add(y, 1, out=x), lambda: np.add(y, 1, out=(x,))):
        with pytest.raises(TypeError):
            write()
    assert y.tolist() == [1, 1, 1]
    assert np.asarray(x).tolist() == [1, 2, 3]


class Closed:
    """A producer whose memory is gone."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise RuntimeError("the producer is closed")


def test_what_a_producer_raises_comes_through_and_nothing_is_written():
    x = xp.asarray([1.0, 2.0, 3.0])
    for take in (xp.from_dlpack, xp.asarray, lambda one: xp.asarray([one, one])):
        with pytest.raises(RuntimeError, match="the producer is closed"):
            take(Closed())
    for use in (lambda: x.__setitem__(0, Closed()), lambda: xp.add(x, Closed())):
        with pytest.raises(TypeError, match=r"use candela_xp\.asarray\("):
            use()
    with pytest.raises(TypeError, match="unsupported operand type"):
        x + Closed()
    with pytest.raises(TypeError, match="unsupported operand type"):
        x += Closed()
    assert np.asarray(x).tolist() == [1, 2, 3]


def test_an_array_on_a_simulated_device_turns_into_numpys_only_by_to_device(elsewhere):
    into = np.zeros(3)
    file = io.BytesIO()
    for take in (np.asarray, np.sort, lambda x: into.__setitem__(slice(None), x), lambda x: np.save(file, x)):
        with pytest.raises(ValueError, match="__array__: the array is on simulated:1; use to_device"):
            take(elsewhere)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(elsewhere)
    assert into.tolist() == [0, 0, 0]
    assert file.getvalue() == b""
    assert np.asarray(elsewhere.to_device("cpu")).tolist() == [1, 2, 3]
    for back in (copy.copy(elsewhere), copy.deepcopy(elsewhere), pickle.loads(pickle.dumps(elsewhere))):
        assert back.device is elsewhere.device


@pytest.mark.parametrize(
    ("name", "take"),
    [
        ("pandas", lambda pandas, x: pandas.Series(x)),
        ("pandas", lambda pandas, x: pandas.DataFrame({"x": x})),
        ("xarray", lambda xarray, x: xarray.DataArray(x).values),
        ("matplotlib.figure", lambda figure, x: figure.Figure().subplots().plot(x)),
        ("zarr", lambda zarr, x: zarr.array(np.asarray(x))),
    ],
)
def test_packages_that_go_through_numpy_say_that_the_array_is_elsewhere(elsewhere, name, take):
    module = package(name)
    with pytest.raises(ValueError, match="the array is on simulated:1; use to_device"):
        take(module, elsewhere)


def test_a_file_keeps_what_it_had_when_an_array_is_elsewhere(elsewhere):
    h5py = package("h5py")
    with h5py.File(io.BytesIO(), "w") as file:
        stored = file.create_dataset("there", data=xp.asarray([7.0, 8.0, 9.0]))
        with pytest.raises(ValueError, match="use to_device"):
            file.create_dataset("new", data=elsewhere)
        with pytest.raises(ValueError, match="use to_device"):
            stored[...] = elsewhere
        assert list(file) == ["there"]
        assert stored[...].tolist() == [7, 8, 9]


def test_torch_and_jax_refuse_arrays_from_a_device_that_they_do_not_know(elsewhere):
    torch, jnp = package("torch"), package("jax.numpy")
    for take in (torch.from_dlpack, jnp.from_dlpack):
        with pytest.raises((BufferError, RuntimeError, TypeError, ImportError)):  # each has its own
            take(elsewhere)
        assert take(elsewhere.to_device("cpu")).tolist() == [1, 2, 3]


def test_xarray_wraps_an_array_elsewhere_and_computes_there(elsewhere):
    xarray = package("xarray")
    found = xarray.DataArray(elsewhere, dims="x") * 2 + 1
    assert found.data.device is elsewhere.device
    assert found.data.to_device("cpu")[2] == 7
