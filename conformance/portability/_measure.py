"""Measuring: every case on one library, in a process of its own (run as a module, with the library's name)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from conformance.portability._cases import Case, read
from conformance.portability._libraries import LIBRARIES, OWN, Library

DIGITS = 7  # significant ones that are compared
_HASH = re.compile(r"[0-9a-f]{16,}")
LENGTH = 110  # characters of an exception's message that are kept


class Answer(NamedTuple):
    """What a library did with a case.

    Attributes
    ----------
    text
        The value, or the exception.
    raised
        Whether it is an exception.
    computations
        How often a lazy library computed on the way.
    """

    text: str
    raised: bool
    computations: int = 0


def answers(name: str, cases: Iterable[str] | None = None) -> dict[str, Answer]:
    """What a library does with cases, all by default; measured in another process.

    Raises
    ------
    RuntimeError
        The process failed; its last words follow.
    """
    library = LIBRARIES.get(name, OWN)
    done = subprocess.run(
        [sys.executable, "-m", "conformance.portability._measure", name, *(cases or ())],
        env={**os.environ, **dict(library.environment)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"measuring {name} failed: {done.stderr[-2000:]}")
    return {case: Answer(*row) for case, row in json.loads(done.stdout.splitlines()[-1]).items()}


def answer(library: Library, case: Case) -> Answer:
    """What a library does with a case, in this process."""
    xp = import_module(library.namespace)
    computed: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = _traced(library, xp, case.use) if library.traced else _run(library, xp, case.use, computed)
            count = len(computed)
            return Answer(text(out, library), raised=False, computations=count)
        except Exception as error:
            words = _HASH.sub("…", " ".join(str(error).split()))
            short = words if len(words) <= LENGTH else words[:LENGTH].rsplit(" ", 1)[0] + " …"
            return Answer(f"raises {type(error).__name__}: {short}".removesuffix(": "), raised=True)


def _run(library: Library, xp: Any, code: str, computed: list[int]) -> Any:
    space = {"xp": xp, "A": lambda values, dtype="float64": library.array(xp, values, dtype)}
    if library.distribution != "dask":
        exec(code, space)
        return space["out"]
    dask = import_module("dask")

    def scheduler(*args: Any, **kwargs: Any) -> Any:
        computed.append(1)
        return dask.get(*args, **kwargs)

    with dask.config.set(scheduler=scheduler):
        exec(code, space)
    return space["out"]


def _traced(library: Library, xp: Any, code: str) -> Any:
    """Run under jit, arrays being tracers; what comes out are arrays and plain values."""
    import jax

    plain: dict[int, Any] = {}

    def function(flag: Any) -> list[Any]:
        def array(values: Any, dtype: str = "float64") -> Any:
            made = library.array(xp, values, dtype)
            return xp.where(flag, made, made)

        space = {"xp": xp, "A": array}
        exec(code, space)
        out: Any = space["out"]
        leaves = list(out) if isinstance(out, list | tuple) else [out]
        for place, leaf in enumerate(leaves):
            if not isinstance(leaf, jax.Array):
                plain[place] = leaf
        plain[-1] = isinstance(out, list | tuple)
        return [0 if place in plain else leaf for place, leaf in enumerate(leaves)]

    leaves = jax.jit(function)(True)
    found = [plain.get(place, leaf) for place, leaf in enumerate(leaves)]
    return found if plain[-1] else found[0]


def text(value: Any, library: Library) -> str:
    """A value in words that are the same in all libraries: dtype and elements of arrays, the names of dtypes."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(text(each, library) for each in value) + "]"
    if isinstance(value, str | bool | int | float | None) and not isinstance(value, np.generic):
        return repr(value)
    if isinstance(value, np.dtype | type) or not hasattr(value, "ndim"):  # a dtype, such as torch.float32
        return str(value).rpartition(".")[2].strip("'>")
    array = np.asarray(library.values(value))
    return f"{array.dtype} {_rounded(array.tolist())}"


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_rounded(each) for each in value) + "]"
    return f"{value:.{DIGITS}g}" if isinstance(value, float | complex) else str(value)


def main(name: str, cases: list[str]) -> None:
    """Measure and print."""
    library, known = LIBRARIES.get(name, OWN), read()
    found = {case: answer(library, known[case]) for case in cases or known}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
