"""The official suite over narrow dtypes: what stands in for float32, what is drawn, checked and reported."""

import inspect
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import candela_xp
from conformance import _cache, _narrow, _pins, _plan, _suite
from conformance.__main__ import main
from conformance._results import Outcome, Row

HERE = Path(_narrow.__file__).parent
NAMES = [narrow.name for narrow in _narrow.DTYPES]
EACH = pytest.mark.parametrize("name", NAMES)


def in_suite(name, code):
    """Run code as the suite's process would, with the dtype in the place of float32."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("CANDELA_XP_")}
    path = os.pathsep.join([str(HERE), str(Path(candela_xp.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=variables | {"PYTHONPATH": path, _narrow.VARIABLE: name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def row(**changes):
    made = Row("2025.12", "default", "a" * 40, "b" * 40, "_stand_in", (0,), 10, False, (), {"numpy": "2"}, 3, (), ())
    return replace(made, **changes)


@EACH
def test_the_module_under_test_is_candela_xp_with_the_dtype_named_float32(name):
    code = """
import candela_xp, _stand_in as xp
assert set(candela_xp.__all__) <= set(vars(xp))
assert xp.ones(2, dtype=xp.float32).dtype is xp.float32
print(xp.float32, xp.float64, xp.complex64)
"""
    complex64 = {"float16": "complex32", "bfloat16": "complex64"}[name]
    assert in_suite(name, code).split() == [name, "float64", complex64]


@EACH
def test_floats_of_32_bits_are_drawn_from_the_dtype_and_within_bounds(name):
    code = f"""
import math, _draws
import numpy as np, ml_dtypes
from hypothesis import given, settings, strategies as st
dtype = np.dtype(getattr(ml_dtypes, "{name}", "{name}"))
seen = set()

@settings(database=None)
@given(st.floats(width=32), st.floats(-2.5, 7, width=16), st.floats(width=32, allow_nan=False, allow_infinity=False))
def check(any_, bounded, finite):
    for value in (any_, bounded, finite):
        assert math.isnan(value) or float(np.float32(value).astype(dtype)) == value
    assert -2.5 <= bounded <= 7 and math.isfinite(finite)
    seen.add(any_)

check()
assert len(seen) > 20
"""
    in_suite(name, code)


@EACH
def test_a_result_that_is_not_the_wide_one_rounded_once_is_an_assertion_error(name):
    code = """
import candela_xp, _once
x = candela_xp.asarray([1.0, 2.0], dtype=_once.NARROW)
right = candela_xp.exp
assert (_once.checked("exp")(x) == right(x))[0]
# An ulp beside in the narrow dtype, right in the wide one
candela_xp.exp = lambda x: candela_xp.nextafter(right(x), x) if x.dtype is _once.NARROW else right(x)
candela_xp.exp.__name__ = "exp"
try:
    _once.checked("exp")(x)
except AssertionError as error:
    print(error)
"""
    assert in_suite(name, code).startswith("exp: ")


def test_every_function_of_values_is_checked():
    from candela_xp import _elementwise, _statistical

    def public(module):
        names = {name for name in candela_xp.__all__ if getattr(candela_xp, name) is vars(module).get(name)}
        return {name for name in names if inspect.isfunction(getattr(candela_xp, name))}

    code = "import _once; print(*_once.CHECKED)"
    checked = set(in_suite("float16", code).split())
    others = {
        "clip",
        "imag",
        "nextafter",
        "real",
        *(name for name in dir(candela_xp) if name[:7] in ("bitwise", "logical")),
    }
    assert checked == (public(_elementwise) | public(_statistical)) - others


@EACH
def test_what_is_left_out_is_a_file_or_a_test_and_has_a_reason(name):
    narrow = _narrow.named(name)
    assert all(test.startswith("test_") and ".py" in test and reason for test, reason in narrow.left_out)
    given = dict(_narrow.options_for(narrow, _plan.Options()).variables)
    assert given["PYTEST_ADDOPTS"].split() == [f"--deselect=array_api_tests/{test}" for test, _ in narrow.left_out]
    text = _narrow.section([(narrow, row())])
    assert all(reason in text for _, reason in narrow.left_out)
    with pytest.raises(ValueError, match=r"^must be one of bfloat16, float16, got 'int4'"):
        _narrow.named("int4")


def test_the_section_counts_and_names_failures():
    failed = (Outcome("array_api_tests/test_a.py::test_sum", "failed", "AssertionError: sum"),)
    text = _narrow.section([(_narrow.named("bfloat16"), row()), (_narrow.named("float16"), row(failed=failed))])
    assert "| bfloat16 | default | 3 | 0 | 0 | 5 |" in text
    assert "### Failed: float16, default mode" in text
    assert "AssertionError: sum" in text
    assert "tests/test_narrow.py" in text


FAKE_TESTS = """
import os
import sys

def test_stands_in():
    assert os.environ["ARRAY_API_TESTS_MODULE"] == "_stand_in"
    assert "_draws" in sys.modules

def test_fails_for_one():
    assert os.environ["CANDELA_XP_CONFORMANCE_NARROW"] == "bfloat16", "on purpose"
"""


@pytest.fixture
def fake_suite(tmp_path, monkeypatch):
    """A complete checkout of a suite of two tests and one that is left out, in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_suite, "NEEDED", ("pytest", "hypothesis"))
    monkeypatch.setattr(_suite, "_POLL_SECONDS", 0.02)
    checkout = _cache.checkout_path(_cache.cache_root(os.environ), _pins.NEW.commit)
    tests = checkout / "array_api_tests"
    tests.mkdir(parents=True)
    options = ["--skips-file", "--xfails-file", "--max-examples", "--disable-deadline"]
    lines = [f'    parser.addoption("{option}", nargs="?")\n' for option in options]
    (checkout / "conftest.py").write_text("def pytest_addoption(parser):\n" + "".join(lines))
    (checkout / "pytest.ini").write_text("[pytest]\n")
    (tests / "__init__.py").write_text("")
    (tests / "dtype_helpers.py").write_text(
        "_name_to_dtype = {}\n_dtype_nbits = {}\ndtype_ranges = {}\n"
        "def MinMax(a, b):\n    return a, b\ndef _make_dtype_mapping_from_names(names):\n    return names\n"
    )
    (tests / "test_a.py").write_text(FAKE_TESTS)
    (tests / "test_linalg.py").write_text("def test_eig():\n    raise ValueError\n")
    (tests / "test_fft.py").write_text("def test_rfft():\n    raise ValueError\n")
    (checkout / "candela_xp_checkout.json").write_text(json.dumps({"commit": _pins.NEW.commit, "spec_commit": "5"}))
    return checkout


def test_a_run_over_the_dtypes_leaves_out_what_is_named_and_writes_its_section(fake_suite, tmp_path, capsys):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "conformance.md").write_text("# Conformance\n\nOther text.\n")
    assert main(["narrow", "--report-dir", str(docs)]) == 1
    output, errors = capsys.readouterr()
    assert "bfloat16 in the place of float32\n2025.12 default, seed 0: 2 passed, 0 failed, 0 skipped" in errors
    assert "FAILED array_api_tests/test_a.py::test_fails_for_one" in errors
    assert output == f"wrote {docs / 'conformance.md'}\n"
    page = (docs / "conformance.md").read_text()
    assert "Other text." in page
    assert "| bfloat16 | default | 2 | 0 | 0 | 5 |" in page


def test_wrong_arguments_end_with_2(capsys):
    for arguments in (["narrow", "int4"], ["narrow", "--mode", "lax"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "usage:" in capsys.readouterr().err
