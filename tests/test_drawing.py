"""Pictures of layouts and arrays: read back cell by cell, and compared with positions computed index by index."""

from __future__ import annotations

import re
from itertools import pairwise, product
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from layouts import ALL_LAYOUTS, layouts, views
from layouts import example as array_of

import candela_xp as xp
from candela_xp import _drawing
from candela_xp._dtypes import DTYPES
from candela_xp._layout import Layout

SVG = "{http://www.w3.org/2000/svg}"


class Read:
    """A picture, read back from its text."""

    def __init__(self, picture: str) -> None:
        self.root = ElementTree.fromstring(picture)
        self.lines = [text.text for text in self.root.iter(f"{SVG}text")]
        self.elements = {}  # index -> (cell, text in the picture, text for who points at it)
        self.memory = {}  # cell -> (step or None, the rest, text in the picture, middle of its box)
        for group in self.root.iter(f"{SVG}g"):
            title = group.find(f"{SVG}title")
            if title is None:
                continue
            box, word = group.find(f"{SVG}rect"), group.find(f"{SVG}text").text or ""
            element = re.fullmatch(r"\[(.*)\] in cell (-?\d+)(?:: (.*))?", title.text)
            if element:
                index = tuple(int(part) for part in element[1].split(",") if part)
                assert index not in self.elements
                self.elements[index] = (int(element[2]), word, element[3])
                continue
            cell = re.fullmatch(r"cell (-?\d+): (?:not touched|step (\d+), (.*))", title.text)
            middle = float(box.get("x")) + float(box.get("width")) / 2
            assert int(cell[1]) not in self.memory
            self.memory[int(cell[1])] = (None if cell[2] is None else int(cell[2]), cell[3], word, middle)

    def note(self, pattern):
        """The numbers in the line that a pattern finds, or None."""
        found = [match for match in (re.fullmatch(pattern, line or "") for line in self.lines) if match]
        return tuple(int(part) for part in found[0].groups()) if found else None

    def path(self):
        """The horizontal beginning and end of every move, in order."""
        curves = [path.get("d") for path in self.root.iter(f"{SVG}path") if path.get("fill") == "none"]
        numbers = [[float(part) for part in re.findall(r"-?[\d.]+", curve)] for curve in curves if "h22" not in curve]
        return [(found[0], found[-2]) for found in numbers]


def first_steps(layout: Layout) -> dict[int, int]:
    """Cell -> the step that first touches it, each cell computed from its index."""
    first: dict[int, int] = {}
    for number, index in enumerate(product(*map(range, layout.shape))):
        first.setdefault(layout.element_offset(index), number)
    return first


def agrees(layout: Layout, read: Read) -> None:
    """Whatever is drawn is right, and what isn't drawn is counted."""
    for index, (cell, word, _) in read.elements.items():
        assert cell == layout.element_offset(index)
        assert word == str(cell)
    left_out = read.note(r"(\d+) of (\d+) elements are not drawn")
    assert (left_out is None) == (len(read.elements) == layout.len)
    assert left_out is None or left_out == (layout.len - len(read.elements), layout.len)
    first = first_steps(layout)
    assert {cell: step for cell, (step, *_) in read.memory.items()} == {cell: first.get(cell) for cell in read.memory}
    indices = list(product(*map(range, layout.shape)))
    for step, index, word, _ in read.memory.values():
        assert step is None or (index, word) == (str(list(indices[step])), str(step))


# -- layouts -----------------------------------------------------------------------------------------


@given(layouts())
@example(Layout((), (), 0))
@example(Layout((0,), (1,), 3))
@example(Layout((3, 0, 2), (0, 2, 1), 0))
@example(Layout((0, 100), (100, 1)))
@example(Layout((3, 4), (0, 0), 2))
@example(Layout((5,), (-1,), 2))  # reaches below 0: no buffer has it, and it is drawn all the same
@example(Layout((2, 2, 2, 2, 2), (16, 8, 4, 2, 1), 0))
def test_every_cell_that_is_drawn_is_where_the_index_says(layout):
    read = Read(_drawing.drawing(layout))
    agrees(layout, read)
    assert _drawing.is_drawn_whole(layout) == (len(read.elements) == layout.len)


@given(views(ndim_max=4))
def test_a_small_view_is_drawn_whole(case):
    layout = case.layout
    read = Read(_drawing.drawing(layout, cells=len(case.base)))
    agrees(layout, read)
    assert len(read.elements) == layout.len
    assert _drawing.is_drawn_whole(layout)
    if len(case.base) <= _drawing.DRAWN_CELLS:
        assert set(read.memory) == set(range(len(case.base)))


@given(views(ndim_max=3))
def test_the_path_leads_from_cell_to_cell_in_the_order_of_the_walk(case):
    layout = case.layout
    read = Read(_drawing.drawing(layout))
    cells = [layout.element_offset(index) for index in product(*map(range, layout.shape))][: _drawing.DRAWN_STEPS]
    moves = [(a, b) for a, b in pairwise(cells) if a != b and {a, b} <= set(read.memory)]
    assert read.path() == [(pytest.approx(read.memory[a][3]), pytest.approx(read.memory[b][3])) for a, b in moves]


@given(layouts())
def test_the_fields_are_those_of_the_layout(layout):
    lines = Read(_drawing.drawing(layout)).lines
    for name in ("shape", "stride", "adj_stride", "offset", "len"):
        assert lines[lines.index(name) + 1] == str(getattr(layout, name))
    for axis, extent in enumerate(layout.shape):
        legend = f"axis {axis} steps: {layout.adj_stride[axis]:+d}, adj_stride[{axis}]"
        assert (legend in lines) == (extent > 1 and layout.len > 0)


@given(layouts())
def test_a_picture_goes_on_any_page(layout):
    picture = _drawing.drawing(layout)
    assert picture == _drawing.drawing(layout)
    root = ElementTree.fromstring(picture)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "text", "path"}, "no script, no style for the rest of the page"
    assert not any("id" in element.attrib or "href" in element.attrib for element in root.iter())
    assert root.get("fill") == "currentColor"
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter(f"{SVG}rect"):
        assert 0 <= float(element.get("x")) <= width - float(element.get("width"))
        assert float(element.get("y")) <= height


@pytest.mark.parametrize(
    "layout",
    [
        Layout.contiguous((1000, 1000)),
        Layout((10**9, 10**9), (0, 0), 5),
        Layout((10**6,) * 4, (10**18, 10**12, 10**6, 1)),
        Layout.contiguous((2,) * 40),
        Layout.contiguous((1,) * 64),
        Layout.contiguous((70000,)),
        Layout((3, 3), (10**15, -(10**14)), 10**15),
    ],
    ids=str,
)
def test_of_a_huge_layout_a_part_is_drawn_and_the_rest_is_counted(layout):
    picture = _drawing.drawing(layout)
    read = Read(picture)
    assert len(picture) < 300_000
    assert 1 <= len(read.elements) <= _drawing.DRAWN_ELEMENTS
    assert _drawing.is_drawn_whole(layout) == (len(read.elements) == layout.len)
    assert len(read.memory) <= _drawing.DRAWN_CELLS
    for index, (cell, _, _) in read.elements.items():
        assert cell == layout.element_offset(index)
    if layout.len > len(read.elements):
        assert read.note(r"(\d+) of (\d+) elements are not drawn") == (layout.len - len(read.elements), layout.len)
    size = layout.bounds()[1] + 1
    if size > len(read.memory):
        assert read.note(r"(\d+) of (\d+) cells are not drawn") == (size - len(read.memory), size)
    walked = read.note(r"marked are cells that the first (\d+) of (\d+) steps read")
    assert walked == ((_drawing.WALKED_STEPS, layout.len) if layout.len > _drawing.WALKED_STEPS else None)


def test_elements_that_share_cells_are_counted():
    assert Read(_drawing.drawing(Layout((3, 4), (0, 1)))).note(r"(\d+) elements read (\d+) cells") == (12, 4)


@given(st.text(max_size=8))
@example("<script>alert(1)</script>")
@example('"&\x00\x1b')
def test_a_label_is_text_whatever_it_holds(words):
    root = ElementTree.fromstring(_drawing.drawing(Layout.contiguous((2,)), lambda index: (words, words)))
    assert {element.tag for element in root.iter()} == {SVG + tag for tag in "svg title desc g rect text path".split()}


# -- arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_an_array_shows_its_values_in_every_layout(name):
    values = array_of(name, "int32")
    x = xp.asarray(values, copy=False)
    read = Read(xp.draw(x))
    assert {index: int(word) for index, (_, word, _) in read.elements.items()} == dict(np.ndenumerate(values))
    shown = {cell: int(word) for cell, (step, _, word, _) in read.memory.items() if step is not None}
    assert shown == {x.layout.element_offset(index): value for index, value in np.ndenumerate(values)}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_an_array_of_every_dtype_is_drawn(dtype):
    x = xp.asarray([0, 1, 1], dtype=dtype) if dtype.name != "float8_e8m0fnu" else xp.ones(3, dtype=dtype)
    words = [word for _, word, _ in Read(xp.draw(x)).elements.values()]
    assert [complex(word) if word not in ("True", "False") else word == "True" for word in words] == x._numpy().tolist()
    assert str(dtype) in x._repr_html_()


def test_long_values_are_shortened_in_the_cell_and_whole_beside_it():
    x = xp.asarray([1, 2**62, -(2**62)])
    assert [found[1:] for found in Read(xp.draw(x)).elements.values()] == [
        ("1", "1"),
        ("46116860…", "4611686018427387904"),
        ("-4611686…", "-4611686018427387904"),
    ]
    third = xp.asarray([1 / 3, xp.nan, -xp.inf, 1e300])
    assert [word for _, word, _ in Read(xp.draw(third)).elements.values()] == ["0.3333", "nan", "-inf", "1e+300"]


def test_a_view_shows_the_whole_buffer_and_what_it_reads_of_it():
    x = xp.reshape(xp.arange(24), (4, 6))[1:3, ::-2]
    read = Read(xp.draw(x))
    assert set(read.memory) == set(range(24))
    assert {cell for cell, (step, *_) in read.memory.items() if step is not None} == {7, 9, 11, 13, 15, 17}


def test_drawing_computes_what_waits_and_changes_nothing():
    with xp.settings(defer_min_bytes=0):
        x = xp.ones((2, 3)) + 1.0
        assert x._node is not None
        assert [word for _, word, _ in Read(xp.draw(x)).elements.values()] == ["2"] * 6
        assert x._node is None
    assert not x._memory.exported


def test_a_notebook_shows_the_picture_of_a_small_array_and_the_summary_of_a_large_one():
    small = xp.reshape(xp.arange(6), (2, 3)).T
    shown = small._repr_html_()
    assert xp.draw(small) in shown
    assert "NDArray, int64, shape (3, 2), 48 bytes of memory" in shown
    assert "<svg" not in xp.arange(17)._repr_html_(), "one more than the picture has columns"
    large = xp.zeros((100, 100))[:, ::2]
    shown = large._repr_html_()
    assert "<svg" not in shown
    assert "NDArray, float64, shape (100, 50), 80000 bytes of memory, stride (100, 2), offset 0" in shown
    assert "<pre>NDArray([[0., 0., 0., ...," in shown
    ElementTree.fromstring(shown)


def test_a_notebook_names_a_device_that_is_not_the_cpu():
    with xp.settings(simulated_devices=2):
        x = xp.ones(2, device=xp.__array_namespace_info__().devices()[1])
        assert f", {x.device}, 16 bytes" in x._repr_html_()


def test_layouts_and_drawings_show_themselves_in_notebooks():
    layout = xp.ones((2, 3)).layout
    assert layout._repr_html_() == xp.draw(layout) == xp.draw(layout)._repr_html_()
    assert isinstance(xp.draw(layout), str)


@pytest.mark.parametrize("wrong", [np.ones(3), [1], None, (2, 3)], ids=repr)
def test_what_is_no_array_and_no_layout_is_refused(wrong):
    with pytest.raises(TypeError, match=f"draw: x must be an NDArray or a Layout, got a {type(wrong).__name__}"):
        xp.draw(wrong)


def test_strict_mode_draws_as_well():
    with xp.settings(strict=True):
        assert xp.draw(xp.ones((2, 2)))
