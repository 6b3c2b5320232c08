"""The cases: a use of each rule of the audit, and a near miss."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("cases.toml")


class Case(NamedTuple):
    """A row of ``cases.toml``.

    Attributes
    ----------
    use
        Code that meets the rule; what it names ``out`` is compared between libraries.
    near
        Code that just doesn't.
    dtype
        Whether the dtype counts also where JAX has no 64-bit numbers.
    """

    use: str
    near: str
    dtype: bool = False


def read() -> dict[str, Case]:
    """The cases, by the id of their rule."""
    return {name: Case(**row) for name, row in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}
