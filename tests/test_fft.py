"""Fourier transforms against their defining sums, over layouts, dtypes, lengths, axes and norms."""

from __future__ import annotations

import inspect
import math
import pickle
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import ARRANGEMENTS, lay_out

import candela_xp as xp
from candela_xp import fft

NORMS = ("backward", "ortho", "forward")
COMPLEX = {"float32": "complex64", "float64": "complex128"}
REAL = {"complex64": "float32", "complex128": "float64"}
TO_COMPLEX = ("fft", "ifft")
HALVED = ("rfft", "ihfft")
TO_REAL = ("irfft", "hfft")
arrangements = pytest.mark.parametrize("arrangement", ARRANGEMENTS)
norms = pytest.mark.parametrize("norm", NORMS)


def numbers(shape: tuple[int, ...], name: str) -> np.ndarray:
    generator = np.random.default_rng(len(shape) + sum(shape))
    values = generator.uniform(-1, 1, shape)
    if name.startswith("complex"):
        values = values + 1j * generator.uniform(-1, 1, shape)
    return values.astype(name)


def array(values: np.ndarray, arrangement: str = "contiguous") -> xp.NDArray:
    return xp.asarray(lay_out(values, arrangement))


def fitted(values: np.ndarray, length: int, axis: int) -> np.ndarray:
    """An axis cut or padded with zeros."""
    values = np.moveaxis(values, axis, -1)[..., :length]
    padding = np.zeros((*values.shape[:-1], length - values.shape[-1]), values.dtype)
    return np.moveaxis(np.concatenate([values, padding], -1), -1, axis)


def summed(values: np.ndarray, length: int, axis: int, sign: int, scale: float) -> np.ndarray:
    """``scale * sum(values[j] * exp(sign * 2πi * j * k / n))`` for each k, in double precision."""
    steps = np.outer(np.arange(length), np.arange(length)) % length
    matrix = np.exp(sign * 2j * np.pi * steps / length)
    moved = np.moveaxis(fitted(values.astype("complex128"), length, axis), axis, -1)
    return scale * np.moveaxis(moved @ matrix, -1, axis)


def scale(norm: str, length: int, *, inverse: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(length)
    return 1 / length if (norm == "forward") != inverse else 1.0


def completed(values: np.ndarray, length: int, axis: int) -> np.ndarray:
    """All values of a Hermitian signal of which the first ``length // 2 + 1`` are given."""
    half = np.moveaxis(fitted(values.astype("complex128"), length // 2 + 1, axis), axis, -1).copy()
    half[..., 0] = half[..., 0].real
    if length % 2 == 0:
        half[..., -1] = half[..., -1].real
    mirrored = half[..., 1 : (length + 1) // 2][..., ::-1].conj()
    return np.moveaxis(np.concatenate([half, mirrored], -1), -1, axis)


def defined(function: str, values: np.ndarray, length: int, axis: int, norm: str) -> np.ndarray:
    """What a transform along one axis is by definition; ``length`` is that of the whole signal."""
    inverse = function.startswith("i")
    sign = 1 if inverse else -1
    factor = scale(norm, length, inverse=inverse)
    if function in TO_REAL:
        return summed(completed(values, length, axis), length, axis, sign, factor).real
    result = summed(values, length, axis, sign, factor)
    return (
        np.moveaxis(np.moveaxis(result, axis, -1)[..., : length // 2 + 1], -1, axis) if function in HALVED else result
    )


def check(got: xp.NDArray, wanted: np.ndarray, name: str) -> None:
    assert got.dtype.name == name
    assert got.shape == wanted.shape
    eps = float(np.finfo(name).eps)
    if wanted.size:
        assert np.abs(np.asarray(got) - wanted).max() <= 32 * eps * max(1.0, np.abs(wanted).max())


def result_name(function: str, name: str) -> str:
    if function in TO_REAL:
        return REAL[name]
    return COMPLEX[name] if function in HALVED else name


# -- one axis ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [*TO_COMPLEX, *HALVED, *TO_REAL])
@pytest.mark.parametrize("double", [False, True])
@arrangements
@norms
def test_transforms_have_the_values_of_their_sums(function: str, double: bool, arrangement: str, norm: Any) -> None:
    name = ("float" if function in HALVED else "complex") + str(
        (32 if double is False else 64) * (1 if function in HALVED else 2)
    )
    values = numbers((2, 5, 4), name)
    x = array(values, arrangement)
    for axis, n in [(-1, None), (0, None), (1, None), (-2, 3), (1, 8), (2, 1), (-3, 7), (2, 6)]:
        extent = values.shape[axis]
        length = n if n is not None else 2 * (extent - 1) if function in TO_REAL else extent
        got = getattr(fft, function)(x, n=n, axis=axis, norm=norm)
        check(got, defined(function, values, length, axis, norm), result_name(function, name))


def test_backward_is_the_norm_when_none_is_named() -> None:
    x = xp.asarray(numbers((6,), "complex128"))
    for function in (fft.fft, fft.ifft, fft.fftn, fft.ifftn, fft.irfft, fft.hfft, fft.irfftn):
        assert np.array_equal(np.asarray(function(x)), np.asarray(function(x, norm="backward")))
        assert np.array_equal(np.asarray(function(x)), np.asarray(function(x, norm=None)))
        with xp.settings(strict=True), pytest.raises(TypeError, match="norm is None; use norm='backward'"):
            function(x, norm=None)


@given(st.integers(1, 40), st.sampled_from(NORMS))
def test_transforms_of_any_length_agree_with_multiple_precision(length: int, norm: Any) -> None:
    values = numbers((length,), "complex128")
    with mpmath.workdps(30):
        roots = [mpmath.expjpi(mpmath.mpf(-2 * j) / length) for j in range(length)]
        terms = [mpmath.mpc(complex(v)) for v in values]
        exact = [mpmath.fsum(v * roots[j * k % length] for j, v in enumerate(terms)) for k in range(length)]
    wanted = np.array([complex(v) for v in exact]) * scale(norm, length, inverse=False)
    check(fft.fft(xp.asarray(values), norm=norm), wanted, "complex128")


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    st.data(),
    st.sampled_from(NORMS),
    st.sampled_from(list(ARRANGEMENTS)),
)
def test_the_inverse_undoes_the_transform_on_every_shape(shape: Any, data: Any, norm: Any, arrangement: str) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    values, real = numbers(shape, "complex128"), numbers(shape, "float64")
    if shape[axis] == 0:
        with pytest.raises(ValueError, match="fft: the transform needs at least 1 element, n is 0"):
            fft.fft(array(values, arrangement), axis=axis, norm=norm)
        return
    options = {"axis": axis, "norm": norm}
    check(fft.ifft(fft.fft(array(values, arrangement), **options), **options), values, "complex128")
    length = shape[axis]
    check(fft.irfft(fft.rfft(array(real, arrangement), **options), n=length, **options), real, "float64")
    check(fft.hfft(fft.ihfft(array(real, arrangement), **options), n=length, **options), real, "float64")


def test_an_axis_without_elements_can_be_padded() -> None:
    x = xp.zeros((2, 0), dtype=xp.complex128)
    assert np.array_equal(np.asarray(fft.fft(x, n=3)), np.zeros((2, 3)))
    assert fft.irfft(x, n=4).shape == (2, 4)
    assert fft.fft(x, axis=0).shape == (2, 0)


@pytest.mark.parametrize("function", ["fft", "ifft", "rfft", "ihfft", "irfft", "hfft"])
def test_lengths_below_1_are_refused(function: str) -> None:
    x = xp.ones(3) if function in HALVED else xp.ones(3, dtype=xp.complex128)
    transform = getattr(fft, function)
    for n in (0, -1, -3):
        with pytest.raises(
            ValueError, match=f"{function}: the transform needs at least 1 element, n is {n}; pass 1 or more"
        ):
            transform(x, n=n)
    with pytest.raises(TypeError, match=f"{function}: n must be an integer"):
        transform(x, n=2.0)
    with pytest.raises(ValueError, match=f"{function}: .* more than memory can address"):
        transform(x, n=2**80)
    with pytest.raises(IndexError, match=f"{function}: axis 1 is out of range"):
        transform(x, axis=1)
    with pytest.raises(IndexError, match=f"{function}: axis -1 is out of range"):
        transform(x[0])
    with pytest.raises(ValueError, match=f"{function}: norm must be one of 'backward', 'ortho', 'forward', got 'none'"):
        transform(x, norm="none")
    with pytest.raises(TypeError, match=f"{function}: x is a numpy.ndarray, not an NDArray"):
        transform(np.ones(3))


@pytest.mark.parametrize("function", ["irfft", "hfft"])
def test_one_element_has_no_default_length_of_a_real_result(function: str) -> None:
    x = xp.ones((2, 1), dtype=xp.complex128)
    with pytest.raises(ValueError, match=f"{function}: .* n is 0; axis 1 has length 1, pass n"):
        getattr(fft, function)(x)
    assert np.array_equal(np.asarray(getattr(fft, function)(x, n=1)), np.ones((2, 1)))


# -- several axes ------------------------------------------------------------------------------------

CASES: list[tuple[Any, Any]] = [
    (None, None),
    (None, (0,)),
    (None, [2, 0]),
    (None, (-1, -2)),
    ((2, 5), (0, 1)),
    ([4, 3], [-1, 0]),
    ((-1, 2), (1, 0)),
    ((3, 4, 2), (0, 1, 2)),
    ((5, -1, 4), (2, 0, 1)),
]


@pytest.mark.parametrize("double", [False, True])
@arrangements
@norms
def test_transforms_over_several_axes_go_one_after_the_other(double: bool, arrangement: str, norm: Any) -> None:
    name = "complex128" if double else "complex64"
    values = numbers((3, 4, 2), name)
    x, real = array(values, arrangement), array(values.real.copy(), arrangement)
    for s, axes in CASES:
        places = range(3) if axes is None else axes
        lengths = [values.shape[a] if s is None or s[i] == -1 else s[i] for i, a in enumerate(places)]
        for function in ("fft", "ifft"):
            wanted = values
            for axis, length in zip(places, lengths):
                wanted = defined(function, wanted, length, axis, norm)
            check(getattr(fft, function + "n")(x, s=s, axes=axes, norm=norm), wanted, name)
        wanted = defined("rfft", values.real, lengths[-1], list(places)[-1], norm)
        for axis, length in list(zip(places, lengths))[:-1]:
            wanted = defined("fft", wanted, length, axis, norm)
        check(fft.rfftn(real, s=s, axes=axes, norm=norm), wanted, name)
        # The default length of the last axis of a real result is 2 (M - 1), also where -1 asks for the default.
        if s is None or s[-1] == -1:
            lengths[-1] = 2 * (values.shape[list(places)[-1]] - 1)
        wanted = values
        for axis, length in list(zip(places, lengths))[:-1]:
            wanted = defined("ifft", wanted, length, axis, norm)
        wanted = defined("irfft", wanted, lengths[-1], list(places)[-1], norm)
        check(fft.irfftn(x, s=s, axes=axes, norm=norm), wanted, REAL[name])


def test_minus_one_on_the_last_axis_of_a_real_result_uses_every_element() -> None:
    x = fft.rfftn(xp.asarray(numbers((4, 6), "float64")))
    assert fft.irfftn(x, s=(-1, -1), axes=(0, 1)).shape == (4, 6)
    check(fft.irfftn(x, s=(-1, -1), axes=(0, 1)), np.asarray(fft.irfftn(x)), "float64")


@pytest.mark.parametrize("function", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_lengths_need_axes_and_go_with_them(function: str) -> None:
    x = xp.ones((3, 4), dtype=xp.float64 if function == "rfftn" else xp.complex128)
    transform = getattr(fft, function)
    with pytest.raises(ValueError, match=f"{function}: .* without axes; name the axes"):
        transform(x, s=(3, 4))
    with pytest.raises(ValueError, match=f"{function}: s has 2 lengths for 1 axes"):
        transform(x, s=(3, 4), axes=(0,))
    for s in ((0, 2), (2, -2)):
        with pytest.raises(ValueError, match=f"{function}: the transform needs at least 1 element, s is"):
            transform(x, s=s, axes=(0, 1))
    with pytest.raises(IndexError, match=f"{function}: axis 2 is out of range"):
        transform(x, axes=(2,))
    for options in ({"axes": 0}, {"axes": (0.5,)}, {"s": 3, "axes": (0,)}, {"s": (1.5,), "axes": (0,)}, {"axes": "ab"}):
        with pytest.raises(TypeError, match=function):
            transform(x, **options)


def test_no_axes_leave_the_values_and_give_a_copy() -> None:
    for x in (xp.ones((2, 3), dtype=xp.complex128), xp.asarray(2j)):
        axes = () if x.ndim else None
        for function in (fft.fftn, fft.ifftn):
            got = function(x, axes=axes)
            assert np.array_equal(np.asarray(got), np.asarray(x))
            got[...] = 0.0
            assert complex(xp.sum(x)) != 0
    for transform, x in ((fft.rfftn, xp.ones((2, 3))), (fft.irfftn, xp.ones((2, 3), dtype=xp.complex64))):
        with pytest.raises(ValueError, match="there is no axis to transform"):
            transform(x, axes=())
        with pytest.raises(ValueError, match="there is no axis to transform"):
            transform(x[0, 0])


def test_an_axis_named_twice_is_transformed_twice() -> None:
    values = numbers((4,), "complex128")
    twice = fft.fft(fft.fft(xp.asarray(values)))
    assert np.allclose(np.asarray(fft.fftn(xp.asarray(values), axes=(0, -1))), np.asarray(twice))


# -- dtypes, modes, devices -------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["fft", "ifft", "irfft", "hfft", "fftn", "ifftn", "irfftn"])
def test_real_input_counts_as_complex_and_is_refused_in_strict_mode(function: str) -> None:
    transform = getattr(fft, function)
    values = np.arange(1.0, 7.0)
    real = "r" in function or function == "hfft"
    for dtype, wide in [
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int16", "complex128"),
        ("bool", "complex128"),
    ]:
        got = transform(xp.asarray(values.astype(dtype)))
        assert got.dtype.name == (REAL[wide] if real else wide)
        wanted = transform(xp.asarray(values.astype(dtype).astype(wide)))
        assert np.array_equal(np.asarray(got), np.asarray(wanted))
        with xp.settings(strict=True), pytest.raises(TypeError, match=f"{function}: .*; use astype"):
            transform(xp.asarray(values.astype(dtype)))


@pytest.mark.parametrize("function", ["rfft", "ihfft", "rfftn"])
def test_complex_input_to_a_real_transform_is_refused(function: str) -> None:
    transform = getattr(fft, function)
    with pytest.raises(TypeError, match=f"{function}: the input must be real, this one is complex64"):
        transform(xp.ones(3, dtype=xp.complex64))
    assert transform(xp.ones(3, dtype=xp.int8)).dtype == xp.complex128
    with xp.settings(strict=True), pytest.raises(TypeError, match=function):
        transform(xp.ones(3, dtype=xp.int8))
    with xp.settings(strict=True):
        assert transform(xp.ones(3, dtype=xp.float32)).dtype == xp.complex64


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_transformed_in_single_precision(dtype: Any) -> None:
    values = numbers((6,), "float32").astype(dtype)
    got = fft.rfft(xp.asarray(values))
    assert got.dtype == xp.complex64
    assert np.array_equal(np.asarray(got), np.fft.rfft(values.astype("float32")))


def test_results_stay_on_the_device_of_the_input() -> None:
    with xp.settings(simulated_devices=2):
        device = xp.__array_namespace_info__().devices()[1]
        x = xp.ones(4, dtype=xp.complex128, device=device)
        for got in (
            fft.fft(x),
            fft.irfftn(x),
            fft.fftshift(x),
            fft.fftfreq(3, device=device),
            fft.rfftfreq(3, device=device),
        ):
            assert got.device is device


def test_nan_and_infinity_pass_without_an_exception() -> None:
    with np.errstate(invalid="ignore"):
        got = np.asarray(fft.fft(xp.asarray([1.0, math.nan, 2.0])))
    assert np.isnan(got).all()


def test_every_public_function_can_be_inspected_pickled_and_is_documented() -> None:
    for name in fft.__all__:
        function = getattr(fft, name)
        assert pickle.loads(pickle.dumps(function)) is function
        assert "Source: array API 2025.12" in function.__doc__
        assert all(p in function.__doc__ for p in inspect.signature(function).parameters)
    assert not hasattr(xp.ones(1).__array_namespace__(api_version="2021.12"), "fft")
    for revision in ("2022.12", "2023.12", "2024.12", "2025.12"):
        older = xp.ones(1).__array_namespace__(api_version=revision).fft
        assert older.fftfreq(3, dtype=xp.float32).dtype == xp.float32


# -- frequencies and shifts --------------------------------------------------------------------------------


@given(st.integers(1, 50), st.floats(0.001, 1000.0), st.sampled_from([None, "float32", "float64", "float16"]))
def test_frequencies_are_quotients_rounded_once(n: int, d: float, name: str | None) -> None:
    numerators = [k if k < (n + 1) // 2 else k - n for k in range(n)]
    dtype = None if name is None else getattr(xp, name)
    for got, wanted in [
        (fft.fftfreq(n, d=d, dtype=dtype), numerators),
        (fft.rfftfreq(n, d=d, dtype=dtype), list(range(n // 2 + 1))),
    ]:
        assert got.dtype.name == (name or "float64")
        total = Fraction(n * d)
        exact = np.array([float(Fraction(k) / total) for k in wanted]).astype(name or "float64")
        assert np.array_equal(np.asarray(got), exact)


def test_frequencies_have_the_order_of_the_transform() -> None:
    assert np.asarray(fft.fftfreq(4)).tolist() == [0, 0.25, -0.5, -0.25]
    assert np.asarray(fft.fftfreq(5, d=0.2)).tolist() == [0, 1, 2, -2, -1]
    assert np.asarray(fft.fftfreq(1)).tolist() == [0]
    assert np.asarray(fft.rfftfreq(4, d=1)).tolist() == [0, 0.25, 0.5]
    assert np.asarray(fft.rfftfreq(5, d=np.float64(0.2))).tolist() == [0, 1, 2]


@pytest.mark.parametrize("function", [fft.fftfreq, fft.rfftfreq])
def test_frequencies_refuse_what_makes_no_sense(function: Any) -> None:
    name = function.__name__
    for n in (0, -4):
        with pytest.raises(ValueError, match=f"{name}: the transform needs at least 1 element, n is {n}"):
            function(n)
    with pytest.raises(TypeError, match=f"{name}: n must be an integer"):
        function(4.0)
    with pytest.raises(ValueError, match=f"{name}: n \\* d is 0"):
        function(4, d=0.0)
    for d in (1j, "a", None, True):
        with pytest.raises(TypeError, match=f"{name}: d must be a Python float"):
            function(4, d=d)
    for dtype in (xp.int64, xp.complex128, xp.bool):
        with pytest.raises(TypeError, match=f"{name}: dtype must be real floating-point"):
            function(4, dtype=dtype)


@arrangements
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8", "bool"])
def test_shifts_move_half_a_length_and_undo_each_other(arrangement: str, dtype: str) -> None:
    for shape in [(4, 5), (5, 4), (1, 3), (0, 3), (3,), ()]:
        values = np.arange(1, 1 + math.prod(shape)).astype(dtype).reshape(shape)
        x = array(values, arrangement)
        cases: list[Any] = [None] if not shape else [None, 0, -1, (0,), [0, -1] if len(shape) > 1 else [-1], ()]
        for axes in cases:
            places = range(len(shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
            wanted, back = values, values
            for axis in places:
                half = shape[axis] // 2
                wanted, back = np.roll(wanted, half, axis), np.roll(back, -half, axis)
            got = fft.fftshift(x, axes=axes)
            assert got.dtype.name == dtype
            assert np.array_equal(np.asarray(got), wanted)
            assert np.array_equal(np.asarray(fft.ifftshift(x, axes=axes)), back)
            assert np.array_equal(np.asarray(fft.ifftshift(got, axes=axes)), values)
            if got.size:
                got[...] = False
                assert np.array_equal(np.asarray(x), values), "the result has memory of its own"


def test_shifts_refuse_axes_that_there_aren_t() -> None:
    with pytest.raises(IndexError, match="fftshift: axis 2 is out of range"):
        fft.fftshift(xp.ones((2, 2)), axes=2)
    with pytest.raises(TypeError, match="ifftshift: axis must be an integer"):
        fft.ifftshift(xp.ones((2, 2)), axes=(0.5,))
    with pytest.raises(TypeError, match=r"fftshift: x is a builtins\.list, not an NDArray"):
        fft.fftshift([1, 2])
