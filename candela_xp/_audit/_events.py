"""What can be watched: functions, operators, protocols and attributes, by name and in groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

from candela_xp._revisions import MEMBERS

_NUMBERS = "add sub mul truediv floordiv mod pow".split()
_BITS = "and or xor lshift rshift".split()

_LEFT = [f"__{name}__" for name in _NUMBERS]
REFLECTED: Final = frozenset(f"__r{name}__" for name in _NUMBERS)
IN_PLACE: Final = frozenset(f"__i{name}__" for name in (*_NUMBERS, *_BITS, "matmul"))

# Attributes that the class hasn't got, but that NumPy's has: asked for, they are an event.
METHODS: Final = frozenset("astype reshape sum mean max min prod std var item sort repeat".split())

# Names of NumPy's that the standard lacks, and that torch lacks while JAX and Dask have them.
NAMES: Final = tuple("array percentile pad flatnonzero power nanmax nanmin interp".split())

_CREATION = ("arange asarray empty empty_like eye full full_like linspace ones ones_like zeros zeros_like").split()
_FLOATING = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh reciprocal"
).split()


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions, by name; those of extensions as ``linalg.inv``."""
    found: dict[str, Callable[..., Any]] = {}
    for member in MEMBERS:
        if member.until is None and inspect.isfunction(member.value):
            found[f"{member.namespace}.{member.name}" if member.namespace else member.name] = member.value
    return found


def _forms(names: Iterable[str]) -> tuple[str, ...]:
    """Operators with their reflected and in-place forms."""
    return tuple(f"__{form}{name}__" for name in names for form in ("", "r", "i"))


def _of_one_array(function: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(function).parameters), "") == "x"


@cache
def groups() -> dict[str, tuple[str, ...]]:
    """The groups that rows name."""
    public = functions()
    return {
        "functions": tuple(public),
        "functions but asarray": tuple(name for name in public if name not in ("asarray", "from_dlpack", "isdtype")),
        "functions of an array": tuple(name for name, function in public.items() if _of_one_array(function)),
        "creation functions": tuple(_CREATION),
        "floating-point functions": tuple(_FLOATING),
        "arithmetic operators": (*_LEFT, *REFLECTED),
        "operators of numbers but *": _forms(name for name in _NUMBERS if name != "mul"),
        "+, - and *": _forms(("add", "sub", "mul")),
        "reflected operators": tuple(REFLECTED),
        "in-place operators": tuple(IN_PLACE),
        "<, <=, > and >=": ("__lt__", "__le__", "__gt__", "__ge__"),
        "names of NumPy's": NAMES,
    }


def newer_than(revision: str) -> list[str]:
    """The public functions that came after a revision."""
    oldest: dict[str, str] = {}
    for member in MEMBERS:
        name = f"{member.namespace}.{member.name}" if member.namespace else member.name
        oldest[name] = min(member.since, oldest.get(name, member.since))
    return [name for name in functions() if oldest[name] > revision]


def expand(names: Iterable[str]) -> set[str]:
    """Names of events, groups replaced by their members."""
    known = groups()
    return {each for name in names for each in known.get(name, (name,))}
