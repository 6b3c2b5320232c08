"""The explorer of layouts: the rules in its page are those of the library.

The page's JavaScript runs under Node; the oracle is the library, asked by the same layout and the same text.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from layouts import basic_keys, layouts, shapes, views

import candela_xp as xp
from candela_xp._commands._layout_expression import ExpressionError, evaluate
from candela_xp._layout import Layout
from candela_xp._steps import fields, flags, walk

EXPLORER = Path(__file__).resolve().parent.parent / "docs" / "_static" / "explorer"

# Node is no dependency: where it isn't, the rules can't be run. CI has it and fails without.
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("CI"), reason="the page's rules run under Node, which is absent"
)

DRIVER = """
const rules = require(process.argv[1]);
const asked = {
  facts: (x) => rules.facts(x),
  walk: (x) => rules.walk(x),
  nesting: (x) => rules.nesting(x),
  root: (_, text) => rules.root(text),
  apply: (x, text, kind) => rules.apply(x, { kind, text }),
  reshape: (x, text) => rules.reshapePlan(x, rules.completed(x, text)),
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [question, layout, text, kind] = JSON.parse(line);
  let answer;
  try {
    answer = { answer: asked[question](layout, text, kind) };
  } catch (error) {
    if (!(error instanceof rules.Refusal)) answer = { broken: String(error.stack) };
    else answer = { refused: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\\n");
});
"""


class Page:
    """The rules of the page in a process of their own, asked line by line."""

    def __init__(self) -> None:
        self.node = subprocess.Popen(
            ["node", "-e", DRIVER, str(EXPLORER / "rules.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, question: str, layout: Layout | None, text: str = "", kind: str = "") -> Any:
        """The answer, or the refusal as a str."""
        assert self.node.stdin
        assert self.node.stdout
        plain = None if layout is None else layout._asdict()
        self.node.stdin.write(json.dumps([question, plain, text, kind]) + "\n")
        self.node.stdin.flush()
        found = json.loads(self.node.stdout.readline())
        assert "broken" not in found, found["broken"]
        return found["answer"] if "answer" in found else found["refused"]

    def close(self) -> None:
        self.node.stdin.close()
        self.node.stdout.close()
        self.node.wait()


@pytest.fixture(scope="module")
def page():
    page = Page()
    yield page
    page.close()


def as_json(value: Any) -> Any:
    """A value as it comes back from JSON: tuples are lists."""
    return json.loads(json.dumps(value))


def told(layout: Layout) -> dict[str, Any]:
    """What the library says of a layout, under the names of the page."""
    orders = {"dim_order": layout.dim_order, "nested_dim_order": layout.nested_dim_order}
    return as_json({**fields(layout), **orders, "flags": flags(layout)})


def of(answer: Any) -> Layout:
    """A layout of the page as one of the library."""
    return Layout(tuple(answer["shape"]), tuple(answer["stride"]), answer["offset"])


def written(integers: Any) -> str:
    return ", ".join(map(str, integers))


def test_the_documentation_shows_the_page():
    shown = re.findall(r'(?:href|src)="([^"]+)"', (EXPLORER.parents[1] / "explorer.md").read_text(encoding="utf-8"))
    assert [(EXPLORER.parents[1] / name).resolve() for name in shown] == [EXPLORER / "index.html"] * 2


# -- fields and the walk -----------------------------------------------------------------------------


def test_every_small_layout_has_the_fields_of_the_library(page):
    axes = list(product(range(4), range(-3, 4)))
    found = [Layout((), ()), *[Layout((n,), (s,), 9) for n, s in axes]]
    found += [Layout((n, m), (s, t), 20) for (n, s), (m, t) in product(axes, axes)]
    for layout in found:
        assert page.ask("facts", layout) == told(layout)


@settings(max_examples=1000)
@given(layouts())
@example(Layout((3, 3, 3), (9, 7, 5), 0))
def test_every_layout_has_the_fields_of_the_library(page, layout):
    assert page.ask("facts", layout) == told(layout)


@given(layouts())
def test_the_walk_is_that_of_the_library(page, layout):
    steps = [{"index": list(step.indices), "cell": step.cell, "axis": step.axis} for step in walk(layout)]
    assert page.ask("walk", layout) == steps


@settings(max_examples=500)
@given(layouts())
def test_the_reason_for_an_order_of_axes_is_how_they_nest(page, layout):
    assume(layout.len)
    verdicts = {each["verdict"] for each in page.ask("nesting", layout)}
    assert (layout.nested_dim_order is None) == ("overlap" in verdicts)
    assert layout.is_dense == (verdicts <= {"fits", "one"})


@given(shapes(ndim_max=5, extent_max=5))
def test_a_shape_begins_as_its_dense_layout(page, shape):
    assert of(page.ask("root", None, str(shape))) == Layout.contiguous(shape)


# -- views of any layout -----------------------------------------------------------------------------


def by_library(layout: Layout, kind: str, text: str) -> Layout | None:
    """What the library makes of a view, None where it refuses. Memory is not looked at, so none is needed."""
    array = xp.zeros(1)._with(layout)
    numbers = tuple(int(part) for part in text.split(",") if part.strip()) if kind != "index" else ()
    try:
        if kind == "permute":
            return xp.permute_dims(array, numbers).layout
        if kind == "flip":
            return xp.flip(array, axis=numbers or None).layout
        if kind == "broadcast":
            return xp.broadcast_to(array, numbers).layout
        if kind == "reshape":
            return xp.reshape(array, numbers, copy=False).layout
        if kind == "expand":
            return xp.expand_dims(array, numbers).layout
        if kind == "squeeze":
            return xp.squeeze(array, axis=numbers or None).layout
        if kind == "diagonal":
            return xp.linalg.diagonal(array, offset=numbers[0]).layout
        assert kind == "windows"
        axis, size, step = numbers
        if not -layout.ndim <= axis < layout.ndim or size < 1 or step < 1:
            return None
        return layout.windows(axis % layout.ndim, size, step)
    except (ValueError, IndexError):
        return None


def agrees(page: Page, layout: Layout, kind: str, text: str) -> None:
    answer, expected = page.ask("apply", layout, text, kind), by_library(layout, kind, text)
    if expected is None:
        assert isinstance(answer, str), f"{kind} {text}: the library refuses"
        assert answer.startswith(f"{kind}: ")
    else:
        assert not isinstance(answer, str), answer
        assert of(answer["layout"]) == expected


# Few axes and small numbers, so that about half of the requests fit.
numbers = st.lists(st.integers(-3, 3), min_size=1, max_size=4).map(written)


@settings(max_examples=1000)
@given(layouts(), st.sampled_from(["permute", "flip", "expand", "squeeze", "broadcast", "reshape"]), numbers)
def test_views_and_refusals_are_those_of_the_library(page, layout, kind, text):
    agrees(page, layout, kind, text)


@settings(max_examples=500)
@given(st.data(), layouts())
def test_permutations_are_those_of_the_library(page, data, layout):
    assume(layout.ndim)
    agrees(page, layout, "permute", written(data.draw(st.permutations(range(layout.ndim)))))


@settings(max_examples=500)
@given(st.data(), layouts())
def test_stretched_axes_are_those_of_the_library(page, data, layout):
    shape = data.draw(st.tuples(*[st.just(n) if n != 1 else st.integers(0, 3) for n in layout.shape]))
    front = data.draw(st.lists(st.integers(0, 3), max_size=2))
    agrees(page, layout, "broadcast", written([*front, *shape]))


@given(layouts(), st.integers(-6, 6))
def test_diagonals_are_those_of_the_library(page, layout, offset):
    agrees(page, layout, "diagonal", str(offset))


@settings(max_examples=300)
@given(layouts(), st.integers(-4, 4), st.integers(0, 4), st.integers(0, 3))
def test_windows_are_those_of_the_library(page, layout, axis, size, step):
    agrees(page, layout, "windows", written([axis, size, step]))


def splits(count: int) -> st.SearchStrategy[list[int]]:
    """Shapes of a number of elements."""
    if count <= 1:
        return st.lists(st.just(1), max_size=2).map(lambda ones: [*ones, count])
    factors = [n for n in range(2, count + 1) if count % n == 0]
    return st.sampled_from(factors).flatmap(
        lambda n: splits(count // n).map(lambda rest: [n, *rest] if rest != [1] else [n])
    )


@settings(max_examples=1000)
@given(st.data(), st.one_of(layouts(), views().map(lambda view: view.layout)))
def test_a_reshape_is_a_view_where_it_is_one_in_the_library(page, data, layout):
    shape = data.draw(splits(layout.len))
    if prod(shape) and data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    agrees(page, layout, "reshape", written(shape))


@settings(max_examples=500)
@given(st.data(), layouts())
def test_the_reason_for_a_reshape_is_the_strides_that_chain(page, data, layout):
    assume(layout.len > 1)
    plan = page.ask("reshape", layout, written(data.draw(splits(layout.len))))
    long = [axis for axis in range(layout.ndim) if layout.shape[axis] > 1]
    assert [axis for run in plan["runs"] for axis in run["axes"]] == long
    for link in plan["links"]:
        outer, inner = link["outer"], link["inner"]
        assert link["chains"] == (layout.stride[outer] == layout.shape[inner] * layout.stride[inner])
        together = any({outer, inner} <= set(run["axes"]) for run in plan["runs"])
        assert together == link["chains"]
    # An axis that cannot be made is the reason for a refusal, and there is no other.
    assert (plan["failure"] is None) == (plan["view"] is not None)
    if plan["failure"]:
        assert plan["failure"]["left"] % plan["failure"]["extent"]


@settings(max_examples=1000)
@given(st.data(), layouts())
def test_indices_select_what_the_library_selects(page, data, layout):
    key = data.draw(basic_keys(layout.shape).filter(bool))
    text = ", ".join(key_text(part) for part in key)
    assume(len(max(re.findall(r"\d+", text), key=len, default="")) <= 12)  # the page refuses numbers of more digits
    answer = page.ask("apply", layout, text, "index")
    assert of(answer["layout"]) == xp.zeros(1)._with(layout)[key].layout


def key_text(part: Any) -> str:
    if part is Ellipsis or part is None:
        return "..." if part is Ellipsis else "None"
    if isinstance(part, slice):
        return ":".join("" if bound is None else str(bound) for bound in (part.start, part.stop, part.step))
    return str(part)


# -- what people write -------------------------------------------------------------------------------

TOKENS = [
    "0",
    "1",
    "2",
    "-1",
    "-3",
    "7",
    ":",
    "::",
    ",",
    ",",
    "...",
    "None",
    " ",
    "+1",
    "01",
    "1.5",
    "x",
    "-",
    "(",
    "[]",
]
FUNCTIONS = {
    "permute": "permute_dims",
    "flip": "flip",
    "broadcast": "broadcast_to",
    "reshape": "reshape",
    "expand": "expand_dims",
    "squeeze": "squeeze",
}


@settings(max_examples=1000)
@given(
    shapes(ndim_max=3, extent_max=3),
    st.sampled_from(["index", *FUNCTIONS]),
    st.lists(st.sampled_from(TOKENS), max_size=6),
)
@example((2, 3), "index", ["1", ",", ","])
@example((2, 3), "index", [":", ":", ":", ":"])
@example((2, 3), "index", ["::", "0"])
@example((2, 3), "reshape", ["-1", ",", "-1"])
@example((2, 3), "reshape", ["x"])
def test_a_text_that_python_does_not_take_is_refused_in_words(page, shape, kind, tokens):
    text = "".join(tokens)
    assume("0x" not in text)  # Python takes hexadecimal numbers, the page doesn't
    assume(kind == "index" or text.strip())  # nothing written stands for the default, see below
    if kind == "index":
        expression = f"zeros({shape})[{text}]"
    else:
        comma = "" if text.rstrip().endswith(",") else ","
        named = "axis=" if kind == "flip" else ""  # keyword-only
        expression = f"{FUNCTIONS[kind]}(zeros({shape}), {named}({text}{comma}))"
    try:
        expected = evaluate(expression).array.layout
    except ExpressionError:
        expected = None
    answer = page.ask("apply", Layout.contiguous(shape), text, kind)
    if expected is None:
        assert isinstance(answer, str), f"Python does not take {expression}"
        assert answer.startswith(f"{kind}")
        assert "undefined" not in answer
        assert "NaN" not in answer
    else:
        assert not isinstance(answer, str), answer
        assert of(answer["layout"]) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3, x", "shape: “x” is not a whole number"),
        ("3,, 4", "shape: a number is missing"),
        ("-3, 4", "shape: shape (-3, 4) has a negative extent"),
        ("2.5", "shape: “2.5” is not a whole number"),
        ("5000", "shape: an extent of 5000; this page draws at most 4096 elements"),
        ("100, 100", "shape: shape (100, 100) has 10000 elements; this page draws at most 4096"),
        ("9" * 30, "shape: “" + "9" * 30 + "” has more digits than this page counts with"),
        ("1," * 65, "shape: shape has 65 axes; 64 are possible"),
        ("<b>", "shape: “<b>” is not a whole number"),
    ],
)
def test_a_shape_that_cannot_be_drawn_is_refused_in_words(page, text, words):
    assert page.ask("root", None, text) == words


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("index", "", "index: write what stands between the brackets, such as 1:, ::-1"),
        ("index", "::0", "index: the step of the slice “::0” is 0; use 1, 2, … or -1, -2, …"),
        ("index", "1:2:3:4", "index: “1:2:3:4” has more than two colons; a slice is start:stop:step"),
        ("index", "0, 3", "index: 3 is out of range for axis 1 of length 3"),
        ("index", "0, 0, 0", "index: the array has 2 axes, the index names 3"),
        ("index", "..., ...", "index: only one ... is possible"),
        ("permute", "0", "permute: (0,) names 1 of 2 axes; name each once"),
        ("permute", "0, 0", "permute: (0, 0) names an axis twice"),
        ("permute", "0, 2", "permute: axis 2 is out of range for 2 axes; use -2..1"),
        ("reshape", "4, 2", "reshape: shape (2, 3) has 6 elements, (4, 2) has 8"),
        ("reshape", "-1, 4", "reshape: 6 elements of shape (2, 3) do not fill shape (-1, 4)"),
        ("reshape", "-1, -1", "reshape: shape (-1, -1) holds more than one -1"),
        ("broadcast", "9000, 2, 3", "broadcast: an extent of 9000; this page draws at most 4096 elements"),
        ("broadcast", "4000, 2, 3", "broadcast: shape (4000, 2, 3) has 24000 elements; this page draws at most 4096"),
        ("squeeze", "0", "squeeze: axes (0,) of shape (2, 3) are not all of length 1"),
        ("windows", "0", "windows: write axis, size and, if not 1, step, such as 0, 3"),
        ("windows", "1, 4", "windows: axis 1 of length 3 is shorter than a window of 4"),
        ("spin", "", "there is no view “spin”"),
        ("constructor", "", "there is no view “constructor”"),
    ],
)
def test_a_view_that_is_none_is_refused_in_words(page, kind, text, words):
    assert page.ask("apply", Layout.contiguous((2, 3)), text, kind) == words


def test_a_reshape_that_needs_a_copy_is_refused_with_its_strides(page):
    words = page.ask("apply", Layout((3, 2), (1, 3)), "6", "reshape")
    assert words == "reshape: no strides show shape (3, 2), stride (1, 3) as (6,); a copy is needed"


# -- the Python that the page shows ------------------------------------------------------------------


@settings(max_examples=300)
@given(st.data(), shapes(ndim_max=3, extent_max=4, extent_min=1))
def test_the_python_that_the_page_shows_gives_the_layout_that_it_shows(page, data, shape):
    scope = {"xp": xp, "x": xp.reshape(xp.arange(prod(shape)), shape)}
    layout = Layout.contiguous(shape)
    for _ in range(4):
        kind = data.draw(st.sampled_from(["index", *FUNCTIONS, "diagonal", "copy"]))
        if kind == "index":
            text = ", ".join(key_text(part) for part in data.draw(basic_keys(layout.shape)))
        elif kind == "permute":
            text = written(data.draw(st.permutations(range(layout.ndim))))
        elif kind == "reshape":
            text = written(data.draw(splits(layout.len)))
        elif kind == "broadcast":
            text = written([2, *layout.shape])
        else:
            text = data.draw(st.sampled_from(["", "0", "-1"]))
        answer = page.ask("apply", layout, text, kind)
        if isinstance(answer, str):
            continue
        exec(answer["code"], scope)
        layout = of(answer["layout"])
        assert scope["x"].layout == layout
