"""all, any and diff."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import shapes
from oracles import ALL_DTYPES, NAN, STANDARD, arranged, examples, identical, kind, ours, plain, special, tame, twin

import candela_xp as xp
from candela_xp import settings as candela_settings


def truth(view: np.ndarray) -> np.ndarray:
    wide = view.astype(np.float32) if view.dtype.kind in "fV" and view.itemsize < 4 else view
    return wide != 0


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("name", ["all", "any"])
def test_all_and_any_over_every_choice_of_axes_of_every_layout(name: str, dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        axes: list[Any] = [None, (), *range(-view.ndim, view.ndim), tuple(range(view.ndim))]
        for axis, keepdims in itertools.product(axes, (False, True)):
            got = getattr(xp, name)(ours(view), axis=axis, keepdims=keepdims)
            want = np.asarray(getattr(np, name)(truth(view), axis=axis, keepdims=keepdims))
            assert identical(plain(got), want), (layout, axis)
            assert not np.may_share_memory(plain(got), view)


def test_nan_and_infinities_are_true_and_nothing_is_all_but_not_any() -> None:
    assert bool(xp.all(xp.asarray([NAN, float("inf"), complex(0, NAN)])))
    assert bool(xp.all(xp.zeros(0)))
    assert not bool(xp.any(xp.zeros(0)))


@pytest.mark.parametrize("name", ["all", "any"])
def test_axes_of_all_and_any_are_checked(name: str) -> None:
    with pytest.raises(IndexError, match=rf"^{name}: axis 1"):
        getattr(xp, name)(xp.ones(2), axis=1)
    with pytest.raises(ValueError, match=rf"^{name}: axis .* twice"):
        getattr(xp, name)(xp.ones((2, 2)), axis=(0, 0))
    with pytest.raises(TypeError, match=rf"^{name}: axis must be an integer"):
        getattr(xp, name)(xp.ones(2), axis="0")
    with pytest.raises(TypeError, match=rf"^{name}: x is a builtins.bool"):
        getattr(xp, name)(True)


@pytest.mark.parametrize("dtype", STANDARD)
def test_diff_subtracts_neighbours_along_every_axis_of_every_layout(dtype: str) -> None:
    for layout, view in [*arranged(special(dtype).reshape(3, 4)), *examples(dtype)]:
        with np.errstate(all="ignore"):
            for axis, times in itertools.product(range(-view.ndim, view.ndim), (0, 1, 2, 5)):
                got = xp.diff(ours(view), axis=axis, n=times)
                assert identical(plain(got), _differences(view, axis, times)), layout


def _differences(view: np.ndarray, axis: int, times: int) -> np.ndarray:
    for _ in range(times):
        ahead = np.moveaxis(view, axis, 0)
        pair = ahead[1:], ahead[: max(len(ahead) - 1, 0)]
        view = np.moveaxis(np.not_equal(*pair) if view.dtype == bool else np.subtract(*pair), 0, axis)
    return view


@given(shapes(ndim_max=3, extent_max=4), st.data())
def test_diff_joins_what_is_prepended_and_appended_first(shape: tuple[int, ...], data: st.DataObject) -> None:
    if not shape:
        return
    values = np.arange(np.prod(shape)).reshape(shape) ** 2
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    ends: dict[str, np.ndarray] = {}
    for name in data.draw(st.sets(st.sampled_from(["prepend", "append"]))):
        extents = list(shape)
        extents[axis] = data.draw(st.integers(0, 3))
        ends[name] = np.full(extents, 7)
    times = data.draw(st.integers(0, 3))
    got = xp.diff(ours(values), axis=axis, n=times, **{name: ours(end) for name, end in ends.items()})
    together = [part for part in (ends.get("prepend"), values, ends.get("append")) if part is not None]
    assert identical(plain(got), _differences(np.concatenate(together, axis), axis, times))


def test_unsigned_differences_wrap_and_narrow_ones_round_once() -> None:
    assert plain(xp.diff(xp.asarray([3, 1], dtype=xp.uint8))).tolist() == [254]
    for dtype in ("float16", "bfloat16"):
        assert identical(plain(xp.diff(ours(tame(dtype)))), np.diff(tame(dtype).astype("f4")).astype(twin(dtype)))
    assert kind("uint8") == "uint"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.diff(x, n=-1), ValueError, "diff: n must be at least 0, got -1"),
        (lambda x: xp.diff(x, n=1.5), TypeError, "diff: n must be an integer"),
        (lambda x: xp.diff(x, axis=2), IndexError, "diff: axis 2"),
        (lambda x: xp.diff(xp.asarray(1)), IndexError, "diff: axis -1 is out of range: a 0-d array"),
        (lambda x: xp.diff([1, 2]), TypeError, "diff: x is a builtins.list"),
        (lambda x: xp.diff(x, prepend=0), TypeError, "diff: prepend is a builtins.int"),
        (lambda x: xp.diff(x, append=[1]), TypeError, "diff: append is a builtins.list"),
        (lambda x: xp.diff(x, append=xp.ones((3, 1))), ValueError, "diff: "),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}"):
        call(xp.ones((2, 3)))


def test_results_are_on_the_device_of_the_input_and_devices_do_not_mix() -> None:
    with candela_settings(simulated_devices=2):
        there = xp.__array_namespace_info__().devices()[1]
        x = xp.ones(3, device=there)
        assert {xp.all(x).device, xp.any(x).device, xp.diff(x).device, xp.diff(x, append=x).device} == {there}
        with pytest.raises(ValueError, match=r"one array is on"):
            xp.diff(x, prepend=xp.ones(1))
