"""Which commit of the official suite judges which revision of the standard, under which module name."""

from __future__ import annotations

from dataclasses import dataclass

SUITE_URL = "https://github.com/data-apis/array-api-tests"
SPEC_URL = "https://github.com/data-apis/array-api"


@dataclass(frozen=True)
class Pin:
    """A commit of the suite; the tag is another way to reach it, never a replacement for it."""

    commit: str
    tag: str | None = None


@dataclass(frozen=True)
class Revision:
    """A revision of the standard, the suite for it and the module of ours that claims to follow it."""

    name: str
    pin: Pin
    module: str


NEW = Pin("55fcc60179efa2680ddd6cd926ddf17b83530e2b")
# NEW cannot judge the two oldest revisions: it looks for the widest complex dtype at import, and 2021.12 has none
# (dtype_helpers.py:285 of https://github.com/data-apis/array-api-tests); it calls conj() on real arrays and
# __dlpack__(copy=) whatever the revision (test_linalg.py:989, test_dlpack.py:83).
OLD = Pin("41379d15d26d67a1e66c840e775d41a8a7fb1516", tag="2026.02.26")

REVISIONS = (
    Revision("2021.12", OLD, "candela_xp.v2021_12"),
    Revision("2022.12", OLD, "candela_xp.v2022_12"),
    Revision("2023.12", NEW, "candela_xp.v2023_12"),
    Revision("2024.12", NEW, "candela_xp.v2024_12"),
    Revision("2025.12", NEW, "candela_xp"),
)
PINS = (OLD, NEW)
