"""The libraries: how each takes data over, how a case becomes a call of it, and how its result is forced."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

import candela_xp
from benchmarks._cases import Case
from benchmarks._numexpr import evaluation


class Library(NamedTuple):
    """A peer.

    Attributes
    ----------
    take
        From a NumPy array to memory of the library's own.
    call
        From a case and the operands to a call that computes it, all of it; None where the library can't.
    """

    name: str
    version: str
    take: Callable[[Any], Any]
    call: Callable[[Case, tuple[Any, ...]], Callable[[], Any] | None]


def _same(x: Any) -> Any:
    return x


def force(result: Any) -> Any:
    """Settle what a function of candela_xp returned, one array or several."""
    return tuple(map(candela_xp.materialize, result)) if isinstance(result, tuple) else candela_xp.materialize(result)


def as_numpy(result: Any) -> Any:
    """A result as a NumPy array; torch makes none of bfloat16, but hands out its memory."""
    if str(getattr(result, "dtype", "")) == "torch.bfloat16":
        return np.asarray(candela_xp.from_dlpack(result))
    return np.asarray(result)


def _standard(
    name: str, xp: Any, force: Callable[[Any], Any]
) -> Callable[[Case, tuple[Any, ...]], Callable[[], Any] | None]:
    """Calls of a namespace. NumPy's results pass through ``force`` as well: every call has the same form."""

    def call(case: Case, arrays: tuple[Any, ...]) -> Callable[[], Any] | None:
        if name in case.without:
            return None
        function = case.instead.get(name, case.function)
        return lambda: force(function(xp, *arrays))

    return call


def _numpy() -> Library:
    return Library("numpy", np.__version__, _same, _standard("numpy", np, _same))


def _candela_xp() -> Library:
    return Library(
        "candela_xp",
        candela_xp.__version__,
        lambda values: candela_xp.asarray(values, copy=True),
        _standard("candela_xp", candela_xp, candela_xp.materialize),
    )


def _numexpr() -> Library:
    numexpr: Any = importlib.import_module("numexpr")

    def call(case: Case, arrays: tuple[Any, ...]) -> Callable[[], Any] | None:
        return evaluation(numexpr, case.numexpr, arrays) if case.numexpr else None

    return Library("numexpr", numexpr.__version__, _same, call)


def _torch() -> Library:
    torch: Any = importlib.import_module("torch")
    xp: Any = importlib.import_module("array_api_compat.torch")

    def take(values: Any) -> Any:
        if values.dtype.name == "bfloat16":  # torch doesn't know NumPy's
            return torch.from_dlpack(candela_xp.asarray(values, copy=True))
        return torch.from_numpy(values.copy())

    return Library("torch", torch.__version__, take, _standard("torch", xp, _same))


def _jax() -> Library:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    xp: Any = importlib.import_module("jax.numpy")

    def call(case: Case, arrays: tuple[Any, ...]) -> Callable[[], Any] | None:
        if "jax" in case.without:
            return None
        function = case.instead.get("jax", case.function)
        compiled = jax.jit(lambda *operands: function(xp, *operands))
        return lambda: compiled(*arrays).block_until_ready()

    return Library("jax", jax.__version__, lambda values: xp.array(values, copy=True), call)


_MAKERS = {"numpy": _numpy, "candela_xp": _candela_xp, "numexpr": _numexpr, "torch": _torch, "jax": _jax}
NAMES = tuple(_MAKERS)


def installed(names: Collection[str] = NAMES) -> Iterator[Library]:
    """Those of these names that are there, NumPy first."""
    for name, make in _MAKERS.items():
        if name in names:
            try:
                yield make()
            except ImportError:
                continue
