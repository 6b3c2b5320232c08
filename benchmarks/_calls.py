"""Calls of single functions: small ones, where the overhead of a call shows, and large ones, where the kernel does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import candela_xp
from benchmarks._cases import Row
from benchmarks._libraries import force
from benchmarks._measure import side_by_side
from benchmarks._progress import Progress
from benchmarks._run import Effort

PEERS = ("numpy", "candela_xp", "array_api_strict", "torch")


class Call(NamedTuple):
    """One line of a table: its name, what is to be reached, and the callable of each library."""

    name: str
    target: str
    functions: dict[str, Callable[[], object]]


def namespaces(names: tuple[str, ...] = PEERS) -> dict[str, Any]:
    """The libraries of these names that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            continue
    return found


def measure(title: str, calls: list[Call], size: int, effort: Effort) -> list[Row]:
    """A row for each."""
    progress, rows = Progress(title, len(calls)), []
    for call in calls:
        progress.step(call.name)
        timings = side_by_side(call.functions, **effort._asdict())
        rows.append(Row(call.name, timings, size=size, target=call.target))
    progress.end()
    return rows


def _array(xp: Any, values: Any) -> Any:
    if xp is np:
        return values.copy()
    return xp.asarray(values.tolist(), dtype=getattr(xp, values.dtype.name))


def small(libraries: dict[str, Any]) -> Iterator[Call]:
    """Ten float64 elements, and matrices of 10 by 10."""
    half = "3 x numpy or 1/4 of strict"
    made = {}
    for name, xp in libraries.items():
        made[name] = (xp, _array(xp, np.arange(10.0)), _array(xp, np.arange(10.0) + 1), _array(xp, np.eye(10) + 0.5))

    def case(label: str, target: str, make: Callable[[Any, Any, Any, Any], Callable[[], object]]) -> Call:
        return Call(label, target, {name: make(*parts) for name, parts in made.items()})

    yield case("x + y", "3 x numpy and 1/6 of strict", lambda xp, x, y, m: lambda: x + y)
    yield case("x[1:5]", "torch and 1/8 of strict", lambda xp, x, y, m: lambda: x[1:5])
    yield case("sum(x)", half, lambda xp, x, y, m: lambda: xp.sum(x))
    yield case("exp(x)", half, lambda xp, x, y, m: lambda: xp.exp(x))
    yield case("m.T", half, lambda xp, x, y, m: lambda: m.T)
    yield case("reshape(x, (2, 5))", half, lambda xp, x, y, m: lambda: xp.reshape(x, (2, 5)))
    yield case("m @ m (10×10)", half, lambda xp, x, y, m: lambda: m @ m)
    yield case("x * 2.0", "", lambda xp, x, y, m: lambda: x * 2.0)
    yield case("x < y", "", lambda xp, x, y, m: lambda: x < y)
    yield case("x[3]", "", lambda xp, x, y, m: lambda: x[3])
    yield case("m[2:5, 1]", "", lambda xp, x, y, m: lambda: m[2:5, 1])


# The standard's name where NumPy has another, or none.
_NUMPY = {
    "bitwise_invert": np.invert,
    "cumulative_sum": np.cumulative_sum,
    "cumulative_prod": np.cumulative_prod,
    "concat": np.concatenate,
}

UNARY = (
    "abs acos asin asinh atan atanh ceil conj cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p log2 "
    "negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"
).split()
BINARY = (
    "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum "
    "minimum multiply nextafter not_equal pow remainder subtract"
).split()
INTEGER = (
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift floor_divide remainder add multiply"
).split()
COMPLEX = "abs add multiply divide exp log sqrt sin cos tanh conj square".split()
REDUCE = "sum prod mean std var max min argmax argmin any all count_nonzero cumulative_sum".split()


def large(size: int = 10**6) -> Iterator[Call]:
    """Dense arrays of ``size`` elements: each function against the NumPy call that does the same."""
    random = np.random.default_rng(0)
    real = random.uniform(0.1, 0.9, size)
    other = random.uniform(0.5, 1.5, size)
    whole = random.integers(1, 60, size)
    planar = real + 1j * other
    target = "1.05 x numpy"

    def one(label: str, theirs: Callable[..., object], ours: Callable[..., object], *operands: Any) -> Call:
        mine = [candela_xp.asarray(operand, copy=True) for operand in operands]
        return Call(label, target, {"numpy": lambda: theirs(*operands), "candela_xp": lambda: force(ours(*mine))})

    def numpy_of(name: str) -> Callable[..., object]:
        found: Any = _NUMPY.get(name) or getattr(np, name)
        return found  # type: ignore[no-any-return]  # looked up by name

    for name in UNARY:
        yield one(name, numpy_of(name), getattr(candela_xp, name), real)
    yield one("acosh", np.acosh, candela_xp.acosh, real + 1)
    for name in BINARY:
        yield one(name, numpy_of(name), getattr(candela_xp, name), real, other)
    for name in INTEGER:
        yield one(f"{name} int64", numpy_of(name), getattr(candela_xp, name), whole, whole % 7 + 1)
    for name in COMPLEX:
        operands = (planar, planar[::-1].copy()) if name in BINARY else (planar,)
        yield one(f"{name} complex128", numpy_of(name), getattr(candela_xp, name), *operands)
    yield one("x ** 0.5", lambda x: x**0.5, lambda x: x**0.5, real)
    yield one("x ** 2", lambda x: x**2, lambda x: x**2, real)
    yield one("x // 0.3", lambda x: x // 0.3, lambda x: x // 0.3, real)
    for name in REDUCE:
        yield one(name, numpy_of(name), getattr(candela_xp, name), real)
    square = real.reshape(1000, -1)
    for name in ("sum", "mean", "var", "max", "prod"):
        for axis in (0, 1):
            theirs = partial(numpy_of(name), axis=axis)
            ours = partial(getattr(candela_xp, name), axis=axis)
            yield one(f"{name} axis={axis} of 1000×1000", theirs, ours, square)
    single = real.astype(np.float32).reshape(1000, -1)
    yield one("sum axis=0 float32", lambda x: np.sum(x, axis=0), lambda x: candela_xp.sum(x, axis=0), single)
    index = random.integers(0, size, size)
    mask = real > 0.5
    yield one("sort", np.sort, candela_xp.sort, real)
    yield one("argsort stable", lambda x: np.argsort(x, kind="stable"), candela_xp.argsort, real)
    yield one("unique_values", np.unique_values, candela_xp.unique_values, real)
    yield one("unique_values int64", np.unique_values, candela_xp.unique_values, whole)
    yield one("unique_all int64", np.unique_all, candela_xp.unique_all, whole)
    yield one("nonzero", np.nonzero, candela_xp.nonzero, mask)
    yield one("roll", lambda x: np.roll(x, 5), lambda x: candela_xp.roll(x, 5), real)
    yield one("concat", lambda x, y: np.concatenate([x, y]), lambda x, y: candela_xp.concat([x, y]), real, other)
    yield one("where", np.where, candela_xp.where, mask, real, other)
    yield one("clip", lambda x: np.clip(x, 0.2, 0.8), lambda x: candela_xp.clip(x, 0.2, 0.8), real)
    yield one(
        "astype float32",
        lambda x: x.astype(np.float32),
        lambda x: candela_xp.astype(x, candela_xp.float32),
        real,
    )
    yield one("take", np.take, candela_xp.take, real, index)
    yield one("x[indices]", lambda x, i: x[i], lambda x, i: x[i], real, index)
    yield one("x[mask]", lambda x, m: x[m], lambda x, m: x[m], real, mask)
    ascending = np.sort(other)
    yield one("searchsorted", np.searchsorted, candela_xp.searchsorted, ascending, real[: size // 10])
    yield one("isin int64", np.isin, candela_xp.isin, whole, np.arange(20))
    yield one("diff", np.diff, candela_xp.diff, real)
    yield one("arange", lambda: np.arange(float(size)), lambda: candela_xp.arange(float(size)))
    yield one("arange step 0.1", lambda: np.arange(0, size / 10, 0.1), lambda: candela_xp.arange(0, size / 10, 0.1))
    yield one("linspace", lambda: np.linspace(0, 1, size), lambda: candela_xp.linspace(0, 1, size))
    yield one("fft", np.fft.fft, candela_xp.fft.fft, planar)
    yield one("x @ y (700×700)", np.matmul, candela_xp.matmul, square[:700, :700].copy(), square[:700, 300:].copy())
    yield one("svdvals (300×300)", np.linalg.svdvals, candela_xp.linalg.svdvals, square[:300, :300].copy())
