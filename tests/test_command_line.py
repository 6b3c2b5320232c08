"""The command line: `info`, `layout` and `demo`.

Drawings are read back cell by cell and compared with `Layout.element_offset`; the demo's comparison, table and
verdicts are tested on made-up steps, the demo itself where scikit-learn is installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
import warnings
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from layouts import basic_keys, layouts, shapes, walked

import candela_xp as xp
from candela_xp.__main__ import main
from candela_xp._commands import _demo, _draw, _info
from candela_xp._commands._draw import Style
from candela_xp._commands._layout_expression import (
    ATTRIBUTES,
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_ELEMENTS,
    Evaluated,
    ExpressionError,
    evaluate,
)
from candela_xp._layout import Layout

ROOT = Path(__file__).resolve().parents[1]
DEMO_PACKAGES = ("sklearn", "scipy", "array_api_compat")


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python process that finds this tree, with text output."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        timeout=600,
        check=False,
    )


# -- the program -------------------------------------------------------------------------------------


def test_importing_the_package_imports_no_command():
    code = "import sys, candela_xp; print([m for m in sys.modules if '_commands' in m or m == 'argparse'])"
    assert run_python("-c", code).stdout.strip() == "[]"


def test_the_package_runs_as_a_module():
    done = run_python("-m", "candela_xp", "layout", "zeros((2, 3)).T", NO_COLOR="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  0 │  0  2  4\n  3 │  1  3  5\n" in done.stdout


def test_a_reader_that_leaves_is_no_traceback():
    code = (
        "import os, sys\n"
        "from candela_xp.__main__ import main\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "sys.exit(main(['layout', 'zeros(9)']))"
    )
    done = run_python("-c", code)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [[], ["unknown"], ["layout"], ["info", "extra"], ["demo", "--repeat", "0"], ["demo", "--repeat", "-1"]]
    + [["layout", "zeros(3)", "--cells", text] for text in ("0", "x", "²", "9" * 5000)],
)
def test_wrong_options_exit_with_2_and_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"candela_xp {xp.__version__}\n"


# -- info --------------------------------------------------------------------------------------------


def test_info_as_json_holds_what_the_library_says_of_itself(capsys):
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"]["candela_xp"] == xp.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert found["dtypes"]["standard"] == list(xp.__array_namespace_info__().dtypes())
    assert "bfloat16" in found["dtypes"]["extension"]
    assert not set(found["dtypes"]["standard"]) & set(found["dtypes"]["extension"])
    assert found["revisions"] == ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12"]
    assert found["threads"]["cpus"] >= 1
    assert set(found["blas"]) == {"library", "version", "kernel"}


def test_info_shows_the_settings_and_devices_in_force(capsys):
    with xp.settings(strict=True, simulated_devices=3):
        assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["strict"] is True
    assert found["settings"]["simulated_devices"] == 3
    assert found["devices"] == ["cpu", "simulated:1", "simulated:2"]


def test_the_table_of_info_holds_every_value_within_the_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    facts = _info.facts()
    for group, content in facts.items():
        assert f"\n{group}\n" in f"\n{text}"
        for value in content.values() if isinstance(content, dict) else [content]:
            for part in value if isinstance(value, list) else [value]:
                assert str(part) in text
    names = [line for line in text.splitlines() if "platform" not in line]  # one long word
    assert max(map(len, names)) <= 70


@pytest.mark.skipif(
    "openblas" not in str(np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"])
    or not sys.platform.startswith("linux"),
    reason="the kernel is asked of OpenBLAS, by a way that is certain on Linux only",
)
def test_the_kernel_of_openblas_is_known():
    facts = _info.facts()
    assert facts["blas"]["kernel"] not in ("", "unknown")
    assert facts["threads"]["blas"] >= 1


def test_a_blas_that_cannot_be_asked_is_unknown(monkeypatch):
    monkeypatch.setattr(_info, "_libraries", lambda: iter(()))
    facts = _info.facts()
    assert facts["blas"]["kernel"] == "unknown"
    assert facts["threads"]["blas"] == "unknown"
    assert json.dumps(facts)


# -- layout: expressions -----------------------------------------------------------------------------

WORKED = {
    "zeros((4, 6))": lambda: xp.zeros((4, 6)),
    "zeros((4,6))[1:, ::-1].T": lambda: xp.zeros((4, 6))[1:, ::-1].T,
    "xp.zeros((4, 6), dtype=xp.float32)[::2, 1]": lambda: xp.zeros((4, 6), dtype=xp.float32)[::2, 1],
    "candela_xp.ones(5)[-2]": lambda: xp.ones(5)[-2],
    "empty((2, 3, 4))[..., None, -1:0:-2]": lambda: xp.empty((2, 3, 4))[..., None, -1:0:-2],
    "full((2, 2), -1.5)": lambda: xp.full((2, 2), -1.5),
    "full(shape=(2, 2), fill_value=True)": lambda: xp.full((2, 2), True),
    "arange(12)[::-5]": lambda: xp.arange(12)[::-5],
    "arange(2, 12, 3, dtype=int8)": lambda: xp.arange(2, 12, 3, dtype=xp.int8),
    "arange(0.5, stop=3)": lambda: xp.arange(0.5, 3),
    "eye(3, 4, k=-1).mT": lambda: xp.eye(3, 4, k=-1).mT,
    "zeros(())": lambda: xp.zeros(()),
    "zeros((3, 0, 2))": lambda: xp.zeros((3, 0, 2)),
    "zeros((4, 6))[4:, 2]": lambda: xp.zeros((4, 6))[4:, 2],
    "permute_dims(zeros((2, 3, 4)), (2, 0, -2))": lambda: xp.permute_dims(xp.zeros((2, 3, 4)), (2, 0, 1)),
    "matrix_transpose(zeros((2, 3, 4)))": lambda: xp.matrix_transpose(xp.zeros((2, 3, 4))),
    "moveaxis(zeros((2, 3, 4)), 0, -1)": lambda: xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1),
    "expand_dims(zeros((2, 3)), axis=(0, -1))": lambda: xp.expand_dims(xp.zeros((2, 3)), axis=(0, -1)),
    "squeeze(zeros((2, 1)), 1)": lambda: xp.squeeze(xp.zeros((2, 1)), 1),
    "flip(zeros((2, 3)), axis=0)": lambda: xp.flip(xp.zeros((2, 3)), axis=0),
    "flip(zeros((2, 3)), axis=None)": lambda: xp.flip(xp.zeros((2, 3))),
    "broadcast_to(arange(4), (3, 4))": lambda: xp.broadcast_to(xp.arange(4), (3, 4)),
    "reshape(zeros((4, 6)), (-1, 3))": lambda: xp.reshape(xp.zeros((4, 6)), (-1, 3)),
    "reshape(zeros((4, 6)).T, (24,))": lambda: xp.reshape(xp.zeros((4, 6)).T, (24,)),
    "real(zeros((2, 3), dtype=complex64))": lambda: xp.real(xp.zeros((2, 3), dtype=xp.complex64)),
    "imag(zeros(3, dtype=complex128))[::2]": lambda: xp.imag(xp.zeros(3, dtype=xp.complex128))[::2],
    "linalg.diagonal(zeros((4, 6)))": lambda: xp.linalg.diagonal(xp.zeros((4, 6))),
    "xp.linalg.diagonal(zeros((4, 6)), offset=2)": lambda: xp.linalg.diagonal(xp.zeros((4, 6)), offset=2),
    "unstack(zeros((4, 6)))[-1]": lambda: xp.unstack(xp.zeros((4, 6)))[-1],
    "unstack(zeros((4, 6)), axis=1)[2][::-1]": lambda: xp.unstack(xp.zeros((4, 6)), axis=1)[2][::-1],
    "  zeros(\n  (2, 3)\n)\t[0]  # a comment": lambda: xp.zeros((2, 3))[0],
}


@pytest.mark.parametrize("expression", WORKED)
def test_the_fields_are_those_of_the_library(expression, capsys):
    array = WORKED[expression]()
    layout = array.layout
    assert main(["layout", "--json", expression]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dtype"] == str(array.dtype)
    for field in ("shape", "stride", "adj_stride"):
        assert tuple(found[field]) == getattr(layout, field)
    assert (found["offset"], found["len"]) == (layout.offset, layout.len)
    for field in ("dim_order", "nested_dim_order"):
        assert found[field] == (None if getattr(layout, field) is None else list(getattr(layout, field)))
    assert found["flags"] == {
        "contiguous": layout.is_contiguous,
        "dense": layout.is_dense,
        "transposed": layout.is_transposed,
        "broadcast": layout.is_broadcast,
        "overlaps itself": layout.overlaps_itself,
        "core for BLAS": layout.core_is_packed() if layout.ndim >= 2 else None,
    }
    assert found["buffer"]["cells"] * array.itemsize == found["buffer"]["bytes"] == array._memory.nbytes
    assert found["buffer"]["touched"] == len(set(walked(layout)))


@pytest.mark.parametrize("expression", WORKED)
def test_the_text_shows_the_fields(expression, capsys):
    layout = WORKED[expression]().layout
    assert main(["layout", expression]) == 0
    lines = [line.split(None, 1) for line in capsys.readouterr().out.splitlines() if line.strip()]
    shown = {line[0]: line[1] for line in lines if len(line) == 2}
    for field in ("shape", "stride", "adj_stride", "offset", "len", "dim_order", "nested_dim_order"):
        assert shown[field] == str(getattr(layout, field))


def test_every_function_and_attribute_that_is_allowed_is_worked():
    for name in (*FUNCTIONS, *["." + name for name in ATTRIBUTES]):
        assert any(f"{name}" in expression for expression in WORKED), name


def test_reshape_says_whether_it_is_a_view_or_a_copy(capsys):
    main(["layout", "reshape(zeros((4, 6)), (24,))"])
    assert "reshape to (24,) is a view\n" in capsys.readouterr().out
    main(["layout", "reshape(zeros((4, 6)).T, (24,))[::2]"])
    text = capsys.readouterr().out
    assert "reshape to (24,) is a copy: no strides express it over shape (6, 4), stride (1, 6)\n" in text


# expression, the part that the carets must mark, a part of the problem
REFUSED = [
    ("__import__('os')", "__import__", "not a function"),
    ("__import__('os').system('true')", "__import__('os').system", "not a function"),
    ("zeros((2, 3)).data", "data", "not allowed"),
    ("().__class__.__bases__", "__bases__", "not allowed"),
    ("zeros(3).__class__", "__class__", "not allowed"),
    ("zeros(3)._memory", "_memory", "not allowed"),
    ("xp._layout.sys", "sys", "not allowed"),
    ("zeros.__globals__", "__globals__", "not allowed"),
    ("zeros(10**9)", "10**9", "a computation is no literal integer"),
    ("zeros((2,) * 9)", "(2,) * 9", "a computation is no literal integer"),
    ("zeros(1000000000)", "1000000000", "1000000 are possible"),
    ("zeros((1000, 1001))", "(1000, 1001)", "1001000 elements"),
    (f"zeros({'9' * 400})", "9" * 94, "more elements than can be counted"),
    ("arange(1000001)", "arange(1000001)", "1000001 elements"),
    ("arange(0, 1, 1e-300)", "arange(0, 1, 1e-300)", "1000000 are possible"),
    ("arange(1e999)", "arange(1e999)", "1000000 are possible"),
    ("arange(0, 1, 0)", "arange(0, 1, 0)", "step"),
    ("arange(1j)", "arange(1j)", "arange"),
    ("eye(1001)", "eye(1001)", "1002001 elements"),
    ("full((9, 9, 9, 9, 9, 9, 9), 0)", "(9, 9, 9, 9, 9, 9, 9)", "4782969 elements"),
    ("broadcast_to(zeros(1), (2000000,))", "(2000000,)", "2000000 elements"),
    ("unstack(zeros(5000))[0]", "unstack(zeros(5000))", "4096 arrays are possible"),
    ("[x for x in (1,)]", "[x for x in (1,)]", "a comprehension cannot stand here"),
    ("(x for x in (1,))", "(x for x in (1,))", "a comprehension"),
    ("{1: 2}", "{1: 2}", "a dict"),
    ("lambda: zeros(3)", "lambda: zeros(3)", "a lambda"),
    ("(lambda: zeros(3))()", "lambda: zeros(3)", "a lambda is not a function"),
    ("zeros(3) + 1", "zeros(3) + 1", "a computation"),
    ("zeros(3) if 1 else 2", "zeros(3) if 1 else 2", "a condition"),
    ("(x := zeros(3))", "x := zeros(3)", "an assignment"),
    ("zeros(3) < 1", "zeros(3) < 1", "a comparison"),
    ("f'{zeros(3)}'", "f'{zeros(3)}'", "an f-string"),
    ("zeros(*(1, 2))", "*(1, 2)", "a starred argument"),
    ("zeros(**{})", "**{}", "zeros takes the arguments shape, dtype"),
    ("zeros(3, order=1)", "order=1", "zeros takes the arguments shape, dtype"),
    ("zeros(3, float32, 7)", "7", "zeros takes 2 arguments"),
    ("zeros(3, dtype='float32')", "'float32'", "no dtype"),
    ("zeros(3, dtype=object)", "object", "no dtype"),
    ("zeros([2, 3])", "[2, 3]", "a list is no literal integer"),
    ("zeros(2.5)", "2.5", "2.5 is no literal integer"),
    ("zeros(True)", "True", "True is no literal integer"),
    ("zeros(-1)", "zeros(-1)", "negative"),
    ("zeros('é', 'x')", "'é'", "no literal integer"),
    ("zeros()", "zeros()", "shape"),
    ("full((2, 2), 'x')", "'x'", "no literal number"),
    ("full(2, 300, dtype=int8)", "full(2, 300, dtype=int8)", "does not fit"),
    ("zeros(3)[5]", "5", "out of range"),
    ("zeros(3)[1, 2]", "1, 2", "too many indices"),
    ("zeros(3)[1.5]", "1.5", "no literal integer"),
    ("zeros(3)[zeros(1)]", "zeros(1)", "a call is no literal integer"),
    ("zeros(3)[[1]]", "[1]", "a list"),
    ("zeros(3)[::0]", "::0", "zero"),
    ("zeros(3)[..., ...]", "..., ...", "Ellipsis"),
    ("zeros(3)[1:'a']", "'a'", "no literal integer"),
    ("zeros(3).T", "zeros(3).T", "axes"),
    ("zeros((2, 3)).T()", "T", "is an attribute; it is not called"),
    ("zeros(3)(4)", "zeros(3)", "a call is not a function"),
    ("zeros", "zeros", "is a function; call it"),
    ("xp.linalg.diagonal", "diagonal", "is a function; call it"),
    ("xp", "xp", "the name 'xp' is unknown"),
    ("3", "3", "3 cannot stand here"),
    ("(zeros(3), zeros(3))", "(zeros(3), zeros(3))", "a tuple cannot stand here"),
    ("unstack(zeros(3))", "unstack(zeros(3))", "unstack gives 3 arrays"),
    ("unstack(zeros(3))[3]", "3", "out of range for 3 arrays"),
    ("unstack(zeros(3))[::2]", "::2", "a slice"),
    ("unstack(zeros(3)).T", "unstack(zeros(3))", "unstack gives 3 arrays"),
    ("unstack(zeros(()))[0]", "unstack(zeros(()))", "0-d"),
    ("unstack()[0]", "unstack()", "unstack"),
    ("flip(3)", "3", "3 cannot stand here"),
    ("flip()", "flip()", "flip"),
    ("flip(axis=0)", "flip(axis=0)", "flip"),
    ("imag(zeros(3))", "imag(zeros(3))", "complex"),
    ("reshape(zeros(6), (4,))", "reshape(zeros(6), (4,))", "6 elements"),
    ("permute_dims(zeros((2, 3)), (0, 0))", "permute_dims(zeros((2, 3)), (0, 0))", "permute_dims"),
    ("tile(zeros(3), (2,))", "tile", "not a function that can be called here"),
    ("asarray(3)", "asarray", "not a function"),
    ("np.zeros(3)", "np.zeros", "not a function"),
    ("zeros((2, 3)", "(", "never closed"),
    ("zeros(3);1", ";", "not an expression"),
    ("zeros(3) zeros(3)", "zeros", "not an expression"),
    ("import os", "import", "not an expression"),
    ("é = zeros(3)", "=", "not an expression"),
]


@pytest.mark.parametrize(("expression", "marked", "problem"), REFUSED)
def test_what_is_not_allowed_is_refused_with_a_caret_at_the_place(expression, marked, problem, capsys):
    assert main(["layout", expression]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    first, shown, carets, *allowed = output.err.splitlines()
    assert first.startswith("layout: ")
    assert problem in first
    start, stop = carets.index("^"), carets.rindex("^") + 1
    assert carets.strip() == "^" * (stop - start)
    assert shown[start:stop] == marked
    assert " ".join(allowed).startswith("allowed are zeros, ones, ")
    assert "linalg.diagonal" in " ".join(allowed)


@pytest.mark.parametrize("expression", ["", "   ", "\x00", "zeros(3)\x00", "\udc80", "zeros(3)[\ufeff0]"])
def test_text_that_is_none_is_refused(expression, capsys):
    assert main(["layout", expression]) == 2
    assert "^" in capsys.readouterr().err


def test_a_refusal_shows_only_the_surroundings_of_the_place(capsys):
    assert main(["layout", "zeros((2, 3))" + ".T" * 40 + ".flat" + ".T" * 15]) == 2
    _, shown, carets, *_ = capsys.readouterr().err.splitlines()
    assert len(shown) < 120
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "flat"
    assert shown.startswith("  ...")


@pytest.mark.parametrize(
    "expression",
    [
        "zeros((1, 1))" + ".T" * 100,
        "flip(" * 100 + "zeros(3)" + ")" * 100,
        "zeros(" + "(" * 250 + ")" * 250 + ")",
        "-" * 900 + "1",
        "zeros(3)" + "[...]" * 190,
        "(" * 999,
        "zeros(" + "9" * 900 + ")",
        "zeros(3)[" + "9" * 900 + "]",
        "arange(" + "9" * 900 + ", 1.5)",
        "zeros(0x" + "f" * 900 + ")",
        "full(3, " + "9" * 900 + ")",
        "zeros((" + "1," * 400 + "))",
        "x" * (MAX_CHARACTERS + 1),
        "zeros(3)" * 10**5,
        "lambda:" * 140 + "1",
        "not " * 240 + "1",
    ],
    ids=lambda expression: expression[:12],
)
def test_hostile_input_is_refused_at_once(expression):
    start = time.perf_counter()
    with pytest.raises(ExpressionError):
        evaluate(expression)
    assert time.perf_counter() - start < 2


def test_the_largest_array_is_drawn_in_time(capsys):
    start = time.perf_counter()
    assert main(["layout", "broadcast_to(zeros((1,1,1,1,1,1,1000)), (1,1,1,1,1,1000,1000)).mT"]) == 0
    assert time.perf_counter() - start < 10  # about 0.4 s; the bound allows for a busy machine
    text = capsys.readouterr().out
    assert "only cells 0 to 255 of 1000 are drawn" in text
    assert f"... {MAX_ELEMENTS - _draw.LISTED_STEPS} more steps" in text


def test_nothing_in_the_expression_is_executed(monkeypatch):
    called = []
    monkeypatch.setattr("builtins.eval", lambda *a: called.append(a))
    monkeypatch.setattr("builtins.exec", lambda *a: called.append(a))
    monkeypatch.setattr(os, "system", lambda *a: called.append(a))
    for text in (
        "__import__('os').system('true')",
        "eval('1')",
        "exec('1')",
        "zeros(eval('3'))",
        "zeros(3)[exec('1')]",
    ):
        with pytest.raises(ExpressionError):
            evaluate(text)
    evaluate("zeros(3)")
    assert called == []


_PIECES = st.sampled_from(
    (
        *FUNCTIONS,
        *ATTRIBUTES,
        *("(", ")", "[", "]", ",", ":", "::", "-", "...", ".", "=", "*", "**", "{", "}", "#", ":=", "f'", "'a'"),
        *("if", "in", "for", "lambda", "None", "True", "0", "1", "2", "3", "17", "1e9", "1j", "é", "__class__"),
        *("xp.", "linalg.", "dtype=", "axis=", "offset=", "k=", "complex64", "int8"),
        *(" ", "\\", "\n", "\x00", "9" * 30),
    )
)


@given(
    st.text() | st.text(alphabet="zerosT()[],:.-0123456789 '\"\\{}\x00") | st.lists(_PIECES, max_size=40).map("".join)
)
@example("zeros(3)[\udfff]")
@example("zeros(٣)")
@example("1_0" * 20)
@example("'\\N{'")
@example("0777")
@example("1if 1else 1")
@example("'\\d'")
def test_garbage_is_an_expression_error_or_an_array(text):
    try:
        found = evaluate(text)
    except ExpressionError as error:
        refusal = error
    else:
        assert isinstance(found.array, xp.NDArray)
        assert found.array.size <= MAX_ELEMENTS
        return
    assert "^" in str(refusal)
    assert refusal.start < refusal.stop


_INTEGERS = st.integers(-3, 3) | st.integers()
_TUPLES = st.lists(_INTEGERS, max_size=3).map(lambda values: "(" + "".join(f"{value}, " for value in values) + ")")
_KEYS = st.lists(
    st.one_of(
        _INTEGERS.map(str),
        st.sampled_from(["None", "...", ":", "::-1", "1:", "::2"]),
        st.builds("{}:{}:{}".format, _INTEGERS, _INTEGERS, _INTEGERS),
    ),
    min_size=1,
    max_size=3,
).map(", ".join)


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}[{}]".format, inner, _KEYS),
        st.builds("{}.{}".format, inner, st.sampled_from(ATTRIBUTES)),
        st.builds("{}({}, {})".format, st.sampled_from(sorted(FUNCTIONS)), inner, _TUPLES | _INTEGERS.map(str)),
        st.builds("{}({})".format, st.sampled_from(sorted(FUNCTIONS)), inner),
        st.builds("unstack({})[{}]".format, inner, _INTEGERS),
        st.builds("{}({}, axis={})".format, st.sampled_from(["flip", "expand_dims", "squeeze"]), inner, _TUPLES),
    )


_ROOTS = st.one_of(
    st.builds(
        "{}({})".format, st.sampled_from(["zeros", "ones", "empty", "arange", "eye"]), _TUPLES | _INTEGERS.map(str)
    ),
    st.builds("zeros({}, dtype={})".format, _TUPLES, st.sampled_from(["complex64", "int8", "bfloat16", "None"])),
    st.builds("full({}, {})".format, _TUPLES, st.floats().map(repr) | _INTEGERS.map(str)),
)


@given(st.recursive(_ROOTS, _extended, max_leaves=6))
def test_whatever_nearly_is_an_expression_is_refused_or_drawn(text):
    try:
        found = evaluate(text)
    except ExpressionError:
        return
    facts = _draw.report(text, found, cells=50, steps=5)
    assert json.loads(json.dumps(facts))["len"] == found.array.size
    for width in (40, 80):
        assert _draw.drawing(facts, Style(width))


@pytest.mark.parametrize("expression", ["zeros(3)['\\d']", "zeros(3)[1if 1else 1]", "full(3, 1e300, dtype=float16)"])
def test_neither_the_parser_nor_the_kernels_warn_of_an_expression(expression):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with contextlib.suppress(ExpressionError):
            evaluate(expression)
    assert seen == []


def _key_text(key: tuple) -> str:
    """A basic key as it is written between brackets."""

    def part(item) -> str:
        if item is Ellipsis:
            return "..."
        if isinstance(item, slice):
            bounds = ["" if bound is None else str(bound) for bound in (item.start, item.stop, item.step)]
            return ":".join(bounds)
        return str(item)

    return ", ".join(map(part, key)) + ("," if len(key) == 1 else "")


@st.composite
def worked_expressions(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """An expression of views that all fit, and NumPy's array of the numbers of the cells that it reads."""
    shape = draw(shapes(ndim_max=3))
    size = math.prod(shape)
    text, cells = f"reshape(arange({size}), {shape})", np.arange(size).reshape(shape)
    for _ in range(draw(st.integers(0, 4))):
        ndim = cells.ndim
        operations = ["key", "flip", "expand", "broadcast"] + ["permute", "unstack"] * (ndim > 0 and cells.shape[0] > 0)
        operations += ["T"] * (ndim == 2) + ["mT", "diagonal"] * (ndim >= 2) + ["moveaxis"] * (ndim > 0)
        operation = draw(st.sampled_from(operations))
        if operation == "key":
            key = draw(basic_keys(cells.shape))
            if key:
                text, cells = f"{text}[{_key_text(key)}]", cells[(*key, ...) if ... not in key else key]
        elif operation == "flip":
            text, cells = f"flip({text})", np.flip(cells)
        elif operation == "expand" and ndim < 5:
            axis = draw(st.integers(-ndim - 1, ndim))
            text, cells = f"xp.expand_dims({text}, axis={axis})", np.expand_dims(cells, axis)
        elif operation == "broadcast" and ndim < 5:
            wider = (draw(st.integers(0, 3)), *cells.shape)
            text, cells = f"broadcast_to({text}, {wider})", np.broadcast_to(cells, wider)
        elif operation == "permute":
            axes = tuple(draw(st.permutations(range(ndim))))
            text, cells = f"permute_dims({text}, axes={axes})", cells.transpose(axes)
        elif operation == "moveaxis":
            source, place = draw(st.integers(-ndim, ndim - 1)), draw(st.integers(-ndim, ndim - 1))
            text, cells = f"moveaxis({text}, {source}, {place})", np.moveaxis(cells, source, place)
        elif operation == "unstack":
            number = draw(st.integers(-cells.shape[0], cells.shape[0] - 1))
            text, cells = f"unstack({text})[{number}]", cells[number, ...]
        elif operation == "diagonal":
            offset = draw(st.integers(-2, 2))
            text = f"linalg.diagonal({text}, offset={offset})"
            cells = np.diagonal(cells, offset, -2, -1)
        elif operation in ATTRIBUTES:
            text, cells = f"{text}.{operation}", cells.mT
    return text, cells


@given(worked_expressions())
def test_views_walk_the_cells_that_numpy_reads(case):
    text, cells = case
    found = evaluate(text)
    assert found.array.shape == cells.shape
    assert [step.cell for step in _draw.walk(found.array.layout)] == cells.ravel().tolist()
    facts = _draw.report(text, found)
    assert read_back("\n".join(_draw.drawing(facts, Style(100)))) == {
        cell: next(iter(np.flatnonzero(cells == cell).tolist()), None) for cell in range(found.cells)
    }


# -- layout: the drawing -----------------------------------------------------------------------------


def first_steps(layout: Layout) -> dict[int, int]:
    """Cell -> the step that first touches it, each cell computed from its index."""
    first: dict[int, int] = {}
    for number, index in enumerate(product(*map(range, layout.shape))):
        first.setdefault(layout.element_offset(index), number)
    return first


def read_back(text: str) -> dict[int, int | None]:
    """Cell -> the step that a drawing shows there, None for a dot; places by the ruler, not by counting."""
    lines = text.splitlines()
    frame = next((place for place, line in enumerate(lines) if "┌" in line), None)
    if frame is None:
        return {}
    ruler = {match.end(): int(match[0]) for match in re.finditer(r"\d+", lines[frame - 1])}
    shown: dict[int, int | None] = {}
    for line in lines[frame + 1 :]:
        label = re.match(r"\s*(\d+) │", line)
        if label is None:
            break
        for match in re.finditer(r"\d+|·", line[label.end() :]):
            place = ruler[match.end() + label.end()]
            shown[int(label[1]) + place] = None if match[0] == "·" else int(match[0])
    return shown


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(
    "expression",
    [
        *WORKED,
        "arange(200)",
        "zeros((3, 4, 5))[1:, ::2, ::-1].mT",
        "zeros((90, 2)).T",
        "zeros((2, 100))[:, 50:3:-7]",
        "reshape(zeros((12, 17))[:, ::2], (4, 27))",
    ],
)
def test_every_cell_shows_the_step_that_first_touches_it(expression, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["layout", expression]) == 0
    text = capsys.readouterr().out
    evaluated = evaluate(expression)
    first = first_steps(evaluated.array.layout)
    assert read_back(text) == {cell: first.get(cell) for cell in range(evaluated.cells)}
    drawing = [line for line in text.splitlines() if "│" in line]
    assert all(len(line) <= width for line in drawing)


def test_the_seeds_transposed_example_draws_as_worked_by_hand(capsys):
    # Candela, Memory Layout, "transposed [4, 3]": 1 - 4 * (3 - 1) = -7
    assert main(["layout", "zeros((3, 4)).T"]) == 0
    text = capsys.readouterr().out
    assert "  adj_stride  (-7, 4)\n" in text
    assert [line.split("│")[1].split() for line in text.splitlines() if "│" in line] == [
        ["0", "3", "6", "9"],
        ["1", "4", "7", "10"],
        ["2", "5", "8", "11"],
    ]
    assert re.search(r"^ +3  \[1, 0\]  → +1  = 8 - 7 +adj_stride\[0\]$", text, re.MULTILINE)


def test_an_empty_buffer_and_an_empty_view_say_so(capsys):
    main(["layout", "zeros((0, 3))"])
    text = capsys.readouterr().out
    assert "the buffer has no cells\n" in text
    assert "no elements, nothing to walk\n" in text
    main(["layout", "zeros((2, 3))[2:]"])
    text = capsys.readouterr().out
    assert read_back(text) == dict.fromkeys(range(6))
    assert "no elements, nothing to walk\n" in text


def test_the_walk_lists_index_cell_and_the_addition(capsys):
    assert main(["layout", "zeros((4,6))[1:, ::-1].T"]) == 0
    layout = xp.zeros((4, 6))[1:, ::-1].T.layout
    rows = re.findall(
        r"^ +(\d+)  \[(.*?)\]  →  +?(\d+)  (?:= (\d+) ([+-]) (\d+))? +(?:offset|adj_stride\[(\d)\])$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert len(rows) == layout.len
    for number, index in enumerate(product(*map(range, layout.shape))):
        step, shown, cell, before, sign, move, axis = rows[number]
        assert int(step) == number
        assert shown == ", ".join(map(str, index))
        assert int(cell) == layout.element_offset(index)
        if number:
            assert int(before) == int(rows[number - 1][2])
            assert int(sign + move) == layout.adj_stride[int(axis)] == int(cell) - int(before)


def test_limits_are_kept_and_said(capsys):
    assert main(["layout", "--cells", "10", "--steps", "4", "zeros((8, 6))[5:, 1::2]"]) == 0
    text = capsys.readouterr().out
    # from the row of the lowest touched cell, 31
    assert read_back(text) == {30: None, 31: 0, 32: None, 33: 1, 34: None, 35: 2, 36: None, 37: 3, 38: None, 39: 4}
    assert "only cells 30 to 39 of 48 are drawn (--cells)" in text
    assert "... 5 more steps (--steps)" in text
    assert main(["layout", "--json", "--cells", "10", "--steps", "4", "zeros((8, 6))[5:, 1::2]"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["drawn"] == {
        "first_cell": 30,
        "complete": False,
        "steps": [None, 0, None, 1, None, 2, None, 3, None, 4],
    }
    assert found["walk"]["complete"] is False
    assert [step["cell"] for step in found["walk"]["steps"]] == [31, 33, 35, 37]


def test_a_row_longer_than_the_drawing_starts_at_the_lowest_touched_cell():
    facts = _draw.report("x", evaluate("zeros((2, 1000))[1, 500:]"), cells=7, steps=1)
    assert facts["drawn"]["first_cell"] == 1500
    assert facts["drawn"]["steps"] == list(range(7))


@given(layouts())
def test_the_walk_is_one_addition_a_step_and_arrives_where_the_index_says(layout):
    steps = list(_draw.walk(layout))
    assert [step.cell for step in steps] == walked(layout)
    assert [step.indices for step in steps] == list(product(*map(range, layout.shape)))
    assert [step.number for step in steps] == list(range(layout.len))
    for before, after in pairwise(steps):
        assert after.cell - before.cell == layout.adj_stride[after.axis]


@given(layouts(), st.integers(0, 20), st.integers(0, 60))
def test_touched_cells_are_counted_all_and_dated_in_the_range(layout, low, length):
    first = first_steps(layout)
    found = _draw.touched(layout, low, low + length)
    assert found.total == len(first)
    assert found.first == {cell: step for cell, step in first.items() if low <= cell < low + length}


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 60))
def test_a_line_holds_whole_rows_or_a_round_number_of_cells(row, cells, room):
    length = _draw.row_length(row, cells, room)
    assert 1 <= length <= room
    assert length % row == 0 if row <= room else length % 10 == 0 or length == room < 10


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_where_no_color_is_unset():
    assert Style.of(Terminal(), {}, 80).colour
    assert not Style.of(Terminal(), {"NO_COLOR": "1"}, 80).colour
    assert not Style.of(Terminal(), {"TERM": "dumb"}, 80).colour
    assert not Style.of(io.StringIO(), {}, 80).colour


def test_colour_changes_nothing_but_the_colour():
    facts = _draw.report("zeros((4, 6)).T", evaluate("zeros((4, 6)).T"))
    plain, coloured = "\n".join(_draw.drawing(facts, Style())), "\n".join(_draw.drawing(facts, Style(colour=True)))
    assert plain != coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_streams_without_the_characters_get_ascii():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    style = Style.of(stream, {}, 80)
    assert not style.unicode
    text = "\n".join(_draw.drawing(_draw.report("zeros(3)[::2]", evaluate("zeros(3)[::2]")), style))
    assert text.isascii()
    assert "|  0  .  1" in text


def test_the_width_is_that_of_columns_and_at_least_40():
    assert _draw.terminal_width({"COLUMNS": "123"}) == 123
    assert _draw.terminal_width({"COLUMNS": "3"}) == 40
    assert _draw.terminal_width({"COLUMNS": "wide"}) >= 40


def test_root_shape_gives_the_rows_also_of_components():
    assert evaluate("real(zeros((3, 4), dtype=complex64))").root_shape == (3, 8)
    assert evaluate("zeros((3, 4)).T[0]").root_shape == (3, 4)
    assert evaluate("imag(zeros((), dtype=complex64))").root_shape == (2,)
    assert isinstance(evaluate("zeros(3)"), Evaluated)


# -- demo: its parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "found", "gap"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 0.5], [1.0, 0.25], 0.25),
        ([100.0, 1.0], [100.0, 2.0], 0.01),
        ([math.nan, math.inf], [math.nan, math.inf], 0.0),
        ([math.nan, 1.0], [1.0, 1.0], math.inf),
        ([math.inf], [-math.inf], math.inf),
        ([math.inf], [1e300], math.inf),
        ([1, 2], [1, 5], 3.0),
        ([True, False], [True, True], 1.0),
        ([2**53], [2**53 + 1], 1.0),
        ([1.0], [1.0, 1.0], math.inf),
        ([], [], 0.0),
        (3.0, 3.5, 0.5 / 3),
        ([1 + 1j], [1 + 2j], 1 / abs(1 + 1j)),
    ],
)
def test_the_difference_is_relative_to_the_scale_and_never_hides_nan(expected, found, gap):
    assert _demo.difference(np.asarray(expected), np.asarray(found)) == pytest.approx(gap)


class Estimator:
    """What an estimator looks like after fit."""

    def __init__(self, **fitted):
        self.__dict__.update(fitted)

    def get_params(self):
        return {}


def test_fitted_attributes_and_parts_of_tuples_are_results():
    model = Estimator(alpha=np.ones(1), mean_=np.ones(2), count_=3, _private_=np.ones(1))
    assert list(_demo.flatten({"fitted": model, "pair": (1, [2, 3])})) == [
        "fitted.mean_",
        "pair[0]",
        "pair[1][0]",
        "pair[1][1]",
    ]


@pytest.mark.parametrize(
    ("expected", "found", "problem"),
    [
        (np.ones(3), xp.ones(3), None),
        (np.ones(3), np.ones(3), "r is numpy.ndarray, not an NDArray"),
        (np.ones(3), np.float64(1), "r is numpy.float64, not an NDArray"),
        (np.ones(3), xp.ones(3, dtype=xp.float32), "r is float32, with NumPy float64"),
        (np.ones(3), xp.ones(3) + 1e-9, "r differs by 1.0e-09, tolerance 1e-12"),
        (np.ones(3), xp.full(3, xp.nan), "r differs by inf, tolerance 1e-12"),
        (np.ones(3), xp.ones(4), "r differs by inf, tolerance 1e-12"),
        (np.ones(()), 1.0, "r is a Python number, with NumPy an array"),
        (1.0, 1.0, None),
        (np.float64(1.0), xp.asarray(1.0), None),
        (np.float64(1.0), 1.5, "r differs by 5.0e-01, tolerance 1e-12"),
    ],
)
def test_a_result_must_be_ours_of_the_same_dtype_and_close(expected, found, problem):
    compared = _demo.compare({"r": expected}, {"r": found}, 1e-12)
    assert (problem in compared.problems) if problem else compared.problems == ()


def test_a_fitted_attribute_of_numpy_is_a_problem():
    compared = _demo.compare({"m": Estimator(mean_=np.ones(2))}, {"m": Estimator(mean_=np.ones(2))}, 1e-12)
    assert compared.problems == ("m.mean_ is numpy.ndarray, not an NDArray",)


def test_results_that_only_one_side_has_are_problems():
    assert _demo.compare({"a": 1.0}, {"b": 1.0}, 1.0).problems == ("a is missing", "b is there, but not with NumPy")


def test_hand_overs_are_counted_and_only_inside_the_block():
    x = xp.arange(3)
    before = xp.NDArray.__array__
    with _demo.counting() as tally:
        np.asarray(x)
        np.from_dlpack(x)
        x + 1
    assert tally.count == 2
    assert xp.NDArray.__array__ is before
    np.asarray(x)
    assert tally.count == 2


def outcome_of(run, **details):
    step = _demo.Step("made up", "nobody's", run, **details)
    return _demo.run_step(step, {"x": xp.arange(4.0)}, {"x": np.arange(4.0)}, 1)


def test_a_step_that_agrees_passes_and_is_timed():
    outcome = outcome_of(lambda arrays: {"r": arrays["x"] * 2})
    assert outcome["problems"] == []
    assert (outcome["difference"], outcome["hand_overs"]) == (0.0, 0)
    assert outcome["ratio"] > 0


def test_a_step_that_hands_arrays_over_fails_unless_it_says_why():
    def run(arrays):
        np.asarray(arrays["x"])
        return {"r": arrays["x"]}

    assert outcome_of(run)["problems"] == ["arrays were handed to NumPy 1 times"]
    assert outcome_of(run, hands_over="a reason")["problems"] == []


def test_a_step_that_raises_fails_with_the_place():
    outcome = outcome_of(lambda arrays: {"r": arrays["x"].nowhere if isinstance(arrays["x"], xp.NDArray) else 1})
    (problem,) = outcome["problems"]
    assert re.fullmatch(r"AttributeError: .*nowhere.* \(test_command_line\.py:\d+\)", problem)
    assert outcome["ratio"] is None


def test_the_table_shows_every_step_what_is_wrong_and_the_verdict():
    good = outcome_of(lambda arrays: {"r": arrays["x"]}, hands_over="a reason")
    bad = outcome_of(lambda arrays: {"r": arrays["x"] + (1 if isinstance(arrays["x"], xp.NDArray) else 0)})
    raised = outcome_of(lambda arrays: {"r": arrays["x"].layout if isinstance(arrays["x"], xp.NDArray) else 1})
    found = {"versions": {"numpy": "1"}, "repeat": 1, "steps": [good, bad, raised], "passed": False}
    text = "\n".join(_demo.lines(found, Style()))
    assert re.search(r"^ok +made up +0.0e\+00 +1e-12 +[\d.]+ +[\d.]+ +[\d.]+ +0\*$", text, re.MULTILINE)
    assert re.search(r"^FAIL +made up +3.3e-01 ", text, re.MULTILINE)
    assert "FAIL made up: r differs by 3.3e-01, tolerance 1e-12\n" in text
    assert "* made up: a reason\n" in text
    assert text.endswith("2 of 3 steps failed")
    assert json.loads(json.dumps(found, allow_nan=False))
    found = {"versions": {}, "repeat": 1, "steps": [good], "passed": True}
    assert "\n".join(_demo.lines(found, Style())).endswith("all 1 steps agree with NumPy")


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1)])
def test_the_verdict_is_the_exit_code(passed, status, monkeypatch, capsys):
    step = outcome_of(lambda arrays: {"r": arrays["x"]})
    step["problems"] = [] if passed else ["made up"]
    found = {"versions": {}, "repeat": 1, "steps": [step], "passed": passed}
    monkeypatch.setattr(_demo, "run", lambda repeat, progress: found)
    assert main(["demo"]) == status
    assert main(["demo", "--json"]) == status
    assert json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))["passed"] is passed


@pytest.mark.parametrize("missing", DEMO_PACKAGES)
def test_a_missing_package_is_named_with_the_way_to_install_it(missing, monkeypatch, capsys):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")

    def absent(name):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_demo.importlib, "import_module", absent)
    assert main(["demo"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.endswith("is missing; pip install 'candela_xp[demo]'\n")


def test_scipy_that_was_imported_too_early_is_said(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "scipy", type(sys)("scipy"))
    monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
    assert main(["demo"]) == 2
    assert "in a process of its own" in capsys.readouterr().err


def test_progress_is_one_line_of_a_terminal_and_lines_elsewhere():
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = _demo.Progress(stream)
        progress.show(1, 2, "first")
        progress.show(2, 2, "second")
        progress.done()
    assert file.getvalue() == "[1/2] first\n[2/2] second\n"
    assert terminal.getvalue() == "\r\x1b[K[1/2] first\r\x1b[K[2/2] second\r\x1b[K"


# -- demo: the whole -----------------------------------------------------------------------------------


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in DEMO_PACKAGES),
    reason="scikit-learn, SciPy and array-api-compat are no test dependencies; pip install candela_xp[demo]",
)
def test_the_demo_agrees_with_numpy_step_by_step():
    # One BLAS thread: a busy machine makes threads of two libraries wait for each other for minutes.
    done = run_python("-m", "candela_xp", "demo", "--json", "--repeat", "1", OPENBLAS_NUM_THREADS="1")
    found = json.loads(done.stdout)
    assert [problem for step in found["steps"] for problem in step["problems"]] == []
    assert done.returncode == 0
    assert found["passed"]
    names = [step["step"] for step in found["steps"]]
    assert len(set(names)) == len(names) >= 30
    assert {step["library"] for step in found["steps"]} == {"array-api-compat", "scikit-learn", "SciPy"}
    for step in found["steps"]:
        assert step["difference"] <= step["tolerance"] < 1e-6
        assert step["hand_overs"] == 0 or step["hands_over_because"]
    assert done.stderr.splitlines()[0] == f"[1/{len(names)}] {names[0]}"
