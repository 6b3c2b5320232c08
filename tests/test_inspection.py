"""What the namespace says of itself."""

from __future__ import annotations

import importlib
import pickle

import pytest

import candela_xp as xp
from candela_xp import settings as candela_settings
from candela_xp._dtypes import EXTENSIONS
from candela_xp._revisions import REVISIONS
from candela_xp._settings import from_environment

MODULES = [importlib.import_module(f"candela_xp.v{revision.replace('.', '_')}") for revision in REVISIONS]
NAMES = {
    "bool": ["bool"], "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"], "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}  # fmt: skip


def names_of(kind: str | tuple[str, ...] | None) -> set[str]:
    """The standard's names of a kind."""
    integers = {*NAMES["signed integer"], *NAMES["unsigned integer"]}
    numbers = {*integers, *NAMES["real floating"], *NAMES["complex floating"]}
    if isinstance(kind, tuple):
        return {name for one in kind for name in names_of(one)}
    return {None: {"bool", *numbers}, "integral": integers, "numeric": numbers}.get(kind) or set(NAMES[str(kind)])


@pytest.mark.parametrize("module", [xp, *MODULES], ids=lambda module: module.__name__)
def test_every_revision_lists_its_dtypes_by_kind(module: object) -> None:
    info = module.__array_namespace_info__()  # type: ignore[attr-defined]
    kinds: list[str | tuple[str, ...] | None] = [None, "integral", "numeric", *NAMES, ("bool", "real floating"), ()]
    for kind in kinds:
        found = info.dtypes(kind=kind)
        want = names_of(kind) if kind != () else set()
        if module.__array_api_version__ == "2021.12":  # type: ignore[attr-defined]
            want -= set(NAMES["complex floating"])
        assert set(found) == want
        assert all(getattr(xp, name) is dtype for name, dtype in found.items())
        assert info.dtypes(kind=kind, device=info.default_device()) == found


@pytest.mark.parametrize("module", [xp, *MODULES], ids=lambda module: module.__name__)
def test_the_narrow_dtypes_are_listed_only_where_they_are_asked_for(module: object) -> None:
    info = module.__array_namespace_info__()  # type: ignore[attr-defined]
    every = tuple(d.name for d in EXTENSIONS)
    oldest = module.__array_api_version__ == "2021.12"  # type: ignore[attr-defined]
    narrow = {d.name: d for d in EXTENSIONS if d.kind != "complex" or not oldest}
    assert info.dtypes(kind="extension") == narrow
    assert info.dtypes(kind=("bool", "extension")) == {"bool": xp.bool, **narrow}
    assert not narrow.keys() & info.dtypes().keys()
    assert not narrow.keys() & info.dtypes(kind="numeric").keys()
    for chosen in (True, every, list(every)):
        with candela_settings(extension_dtypes=chosen):
            assert narrow.items() <= info.dtypes().items()
            assert "int4" in info.dtypes(kind="signed integer")
            assert "bfloat16" not in info.dtypes(kind="integral")
    with candela_settings(extension_dtypes=("bfloat16",)):
        assert info.dtypes().keys() & narrow.keys() == {"bfloat16"}
        with candela_settings(extension_dtypes=False):
            assert not narrow.keys() & info.dtypes().keys()
    with pytest.raises(ValueError, match=r"settings: extension_dtypes must be of float16, bfloat16, .*, got 'float12'"):
        candela_settings(extension_dtypes=("float12",))
    with pytest.raises(TypeError, match=r"settings: extension_dtypes must be a tuple of names, got 'bfloat16'"):
        candela_settings(extension_dtypes="bfloat16")
    assert from_environment({"CANDELA_XP_EXTENSION_DTYPES": "all"}).extension_dtypes == every
    assert from_environment({"CANDELA_XP_EXTENSION_DTYPES": "int4, uint4"}).extension_dtypes == ("int4", "uint4")


@pytest.mark.parametrize("module", [xp, *MODULES], ids=lambda module: module.__name__)
def test_devices_defaults_and_capabilities_are_those_of_the_arrays(module: object) -> None:
    info = module.__array_namespace_info__()  # type: ignore[attr-defined]
    newest = module.__array_api_version__ == "2025.12"  # type: ignore[attr-defined]
    with candela_settings(simulated_devices=3):
        devices = info.devices()
        assert type(devices) is (tuple if newest else list)
        assert [str(device) for device in devices] == ["cpu", "simulated:1", "simulated:2"]
        assert info.default_device() is devices[0] is xp.ones(1).device
        for device in devices:
            defaults = info.default_dtypes(device=device)
            assert defaults == {
                "real floating": xp.asarray(1.5).dtype, "complex floating": xp.asarray(1j).dtype,
                "integral": xp.asarray(1).dtype, "indexing": xp.argmax(xp.ones(2)).dtype,
            }  # fmt: skip
    assert len(info.devices()) == 1
    assert info.default_dtypes() == defaults
    capabilities = info.capabilities()
    assert capabilities == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert xp.ones((1,) * capabilities["max dimensions"]).ndim == 64
    with pytest.raises(ValueError, match=r"65 axes"):
        xp.ones((1,) * 65)


def test_unknown_kinds_and_devices_are_refused() -> None:
    info = xp.__array_namespace_info__()
    for kind in ("float", ("bool", "int")):
        with pytest.raises(ValueError, match=r"^dtypes: kind '(float|int)' is unknown; there are bool"):
            info.dtypes(kind=kind)
    with pytest.raises(TypeError, match=r"^dtypes: 3 is no device"):
        info.dtypes(device=3)
    with pytest.raises(ValueError, match=r"no device is called 'gpu'"):
        info.default_dtypes(device="gpu")


@pytest.mark.parametrize("module", [xp, *MODULES], ids=lambda module: module.__name__)
def test_the_inspection_function_pickles_as_that_of_its_revision(module: object) -> None:
    function = module.__array_namespace_info__  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(function)) is function
