"""A layout as a picture: its fields, the grid of its elements, the cells of memory and the path of the walk, in SVG.

Text only, from the facts of `_steps`: nothing here looks at memory, and whoever knows the values hands their text over.
The picture takes the colour of its surroundings (``currentColor``) and puts half-transparent colours under it, so that
it reads in light and in dark. It holds no style sheet, no script and no id: any number of them go on one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from itertools import islice, pairwise, product
from typing import NamedTuple

from candela_xp._layout import Layout, Shape
from candela_xp._steps import FIELDS, Step, fields, touched, walk, window

DRAWN_ROWS = 12  # of a slice
DRAWN_COLUMNS = 16
DRAWN_ELEMENTS = 256  # of all slices
DRAWN_CELLS = 128  # of memory
DRAWN_STEPS = 64  # of the path
WALKED_STEPS = 65536  # of a layout that is larger, the cells that these touch are drawn

Label = Callable[[Shape], tuple[str, str]]
"""The text of the element at an index: a short one for its cell, the whole one for the reader who points at it."""

# Colours of Okabe and Ito, which the colour-blind tell apart, made as light as reads on white and on black. The axes
# also differ in their dashes.
_AXES = (("#d55e00", ""), ("#3b82c4", ""), ("#0e9268", "6 3"), ("#b06a9e", "2 3"), ("#a47a12", "8 3 2 3"))
_EARLY, _LATE = (43, 108, 196), (240, 165, 0)
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
_CHARACTER = 7.0  # width of one, at 11.5 units
_HEIGHT = 26  # of a cell
_FAINT = ' fill-opacity=".65"'


class _Part(NamedTuple):
    """A piece of the picture: its size and its elements."""

    width: float
    height: float
    body: list[str]


def drawing(layout: Layout, label: Label | None = None, cells: int | None = None) -> str:
    """The picture of a layout.

    Parameters
    ----------
    layout
        Any layout, also an empty or a huge one, of which a part is drawn and the rest is counted.
    label
        What the elements hold. Without it each shows its cell.
    cells
        How many cells the buffer has. Without it, it ends at the highest that is touched.

    Returns
    -------
    str
        An ``<svg>`` element, the same for the same arguments.
    """
    parts = [_fields(layout), _grid(layout, label), _memory(layout, label, cells)]
    width = max([part.width for part in parts]) + 2
    body, y = [], 0.0
    for part in parts:
        body.append(f'<g transform="translate(1 {y:g})">{"".join(part.body)}</g>')
        y += part.height + 14
    facts = fields(layout)
    title = f"Layout of shape {_short(facts['shape'])}, stride {_short(facts['stride'])}, offset {facts['offset']}"
    # color-scheme lets currentColor follow the reader's choice where the picture stands alone.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {y:g}" width="{width:g}" height="{y:g}" '
        f'role="img" aria-label="{_safe(title)}" fill="currentColor" font-family="{_MONO}" font-size="11.5" '
        f'style="color-scheme:light dark;max-width:100%;height:auto">'
        f"<title>{_safe(title)}</title><desc>{_safe(description(layout))}</desc>{''.join(body)}</svg>"
    )


def description(layout: Layout) -> str:
    """What the picture shows, in a sentence or two."""
    bounds = layout.bounds()
    if bounds is None:
        return "No elements: nothing is touched."
    low, high = bounds
    moves = [f"{move:+d} when axis {axis} steps" for axis, move in _moving(layout)[:8]]
    where = f"cell {low}" if low == high else f"cells {low} to {high}"
    path = f" In row-major order of indices the position moves by {', '.join(moves)}." if moves else ""
    return f"{_count(layout.len, 'element')} in {where} of memory, the first in cell {layout.offset}.{path}"


def _moving(layout: Layout) -> list[tuple[int, int]]:
    """The axes that step, with what they add."""
    return [(axis, layout.adj_stride[axis]) for axis in range(layout.ndim) if layout.shape[axis] > 1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _short(value: object, most: int = 72) -> str:
    """The text of a field; of one with dozens of axes, its beginning."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _safe(text: str) -> str:
    """Text for XML: escaped, without the control characters that XML lacks."""
    return escape("".join([c if c.isprintable() else "�" for c in text]))


def _text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{extra}>{_safe(words)}</text>'


def _shade(number: int, last: int) -> str:
    """The colour of a step, from the first to the last."""
    part = number / max(last, 1)
    return "#" + "".join([f"{round(a + (b - a) * part):02x}" for a, b in zip(_EARLY, _LATE)])


def _cell(x: float, y: float, width: float, shade: str | None, words: str, tip: str) -> str:
    """One cell: a frame, its colour (None: not touched), its words, and what a pointer finds."""
    fill = 'fill-opacity=".05"' if shade is None else f'fill="{shade}" fill-opacity=".38"'
    frame = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_HEIGHT}" {fill} stroke="currentColor" '
    inside = _text(x + width / 2, y + 17, words, ' text-anchor="middle"')
    return f'<g><title>{_safe(tip)}</title>{frame}stroke-opacity=".3"/>{inside}</g>'


# -- the fields ------------------------------------------------------------------------------------


def _fields(layout: Layout) -> _Part:
    rows = [(name, _short(value)) for name, value in fields(layout).items()]
    indent = _CHARACTER * (max([len(name) for name in FIELDS]) + 2)
    body = []
    for place, (name, value) in enumerate(rows):
        body += [_text(0, 12 + 17 * place, name, _FAINT), _text(indent, 12 + 17 * place, value)]
    return _Part(indent + _CHARACTER * max([len(value) for _, value in rows]), 17 * len(rows), body)


# -- the elements ----------------------------------------------------------------------------------


def _drawn(layout: Layout) -> tuple[int, int, int]:
    """How many rows and columns of a slice are drawn, and how many slices at most."""
    rows, columns = (1, 1, *layout.shape)[-2:]
    rows, columns = min(rows, DRAWN_ROWS), min(columns, DRAWN_COLUMNS)
    return rows, columns, DRAWN_ELEMENTS // max(rows * columns, 1)


def is_drawn_whole(layout: Layout) -> bool:
    """Whether the picture leaves no element out."""
    rows, columns, slices = _drawn(layout)
    return layout.len == 0 or (layout.len <= rows * columns * slices and (1, 1, *layout.shape)[-2:] == (rows, columns))


def _grid(layout: Layout, label: Label | None) -> _Part:
    """The elements as matrices of the last two axes, one below the other for the indices of the others."""
    shows = "each shows its cell" if label is None else "coloured from the first step of the walk to the last"
    heading = f"elements, {shows}"
    if 0 in layout.shape:
        return _Part(_CHARACTER * 20, 16, [_text(0, 12, "no elements")])
    outer = layout.shape[:-2]
    shown_rows, shown_columns, most = _drawn(layout)
    slices = list(islice(product(*[range(min(extent, most)) for extent in outer]), most))
    drawn = {
        (*front, row, column)[-layout.ndim :] if layout.ndim else (): (place, row, column)
        for place, front in enumerate(slices)
        for row in range(shown_rows)
        for column in range(shown_columns)
    }
    words: dict[Shape, tuple[str, str]] = {}
    for index in drawn:
        cell = str(layout.element_offset(index))
        words[index] = (cell, "") if label is None else label(index)
    margin = _CHARACTER * len(str(shown_rows - 1)) + 8 if layout.ndim >= 2 else 0.0
    width = max(30.0, 10 + _CHARACTER * max([len(short) for short, _ in words.values()]))
    head = 16 if layout.ndim else 0
    tall = (18 if outer else 0) + head + shown_rows * _HEIGHT + 10
    body = [_text(0, 12, heading, _FAINT)]
    for place, front in enumerate(slices):
        y = 22 + place * tall
        if outer:
            body.append(_text(0, y + 10, "[" + ", ".join(map(str, front)) + ", :, :]"))
        y += tall - 10 - shown_rows * _HEIGHT
        for column in range(shown_columns if layout.ndim else 0):
            middle = margin + column * width + width / 2
            body.append(_text(middle, y - 5, str(column), _FAINT + ' text-anchor="middle" font-size="9.5"'))
        for row in range(shown_rows if layout.ndim >= 2 else 0):
            extra = _FAINT + ' text-anchor="end" font-size="9.5"'
            body.append(_text(margin - 5, y + row * _HEIGHT + 17, str(row), extra))
    for index, (place, row, column) in drawn.items():
        short, whole = words[index]
        y = 22 + place * tall + tall - 10 - (shown_rows - row) * _HEIGHT
        tip = f"[{', '.join(map(str, index))}] in cell {layout.element_offset(index)}" + (f": {whole}" if whole else "")
        shade = _shade(_number(layout.shape, index), layout.len - 1)
        body.append(_cell(margin + column * width, y, width, shade, short, tip))
    height = 22 + len(slices) * tall - 10
    wide = max(margin + shown_columns * width, _CHARACTER * len(heading))
    if len(drawn) < layout.len:
        note = f"{layout.len - len(drawn)} of {layout.len} elements are not drawn"
        height += 18
        body.append(_text(0, height - 2, note))
        wide = max(wide, _CHARACTER * len(note))
    return _Part(wide, height, body)


def _number(shape: Shape, index: Shape) -> int:
    """The step of the walk that reads an index."""
    number = 0
    for extent, place in zip(shape, index):
        number = number * extent + place
    return number


# -- memory ----------------------------------------------------------------------------------------


def _memory(layout: Layout, label: Label | None, cells: int | None) -> _Part:
    """The cells of memory in rows, the path of the walk over them, and a line for each axis that steps."""
    bounds = layout.bounds()
    size = cells if cells is not None else 0 if bounds is None else bounds[1] + 1
    low, high = _drawn_cells(layout, size)
    if low == high:
        return _Part(_CHARACTER * 20, 16, [_text(0, 12, "no cells of memory")])
    found = touched(layout, low, high, WALKED_STEPS)
    steps = list(islice(walk(layout), DRAWN_STEPS))
    last = layout.len - 1
    words = {cell: _words(layout, number, label) for cell, number in found.first.items()}
    longest = max([len(str(high - 1)), *[len(short) for short, _ in words.values()]])
    width = max(30.0, 10 + _CHARACTER * longest)
    length = min(high - low, max(8, min(32, int(720 // width))))
    room = 22.0 if len(steps) > 1 else 4.0
    tall = room + _HEIGHT + 14 + (20 if any(move < 0 for _, move in _moving(layout)) else 4)
    heading = "memory, each cell shows " + (
        "the step that first reads it" if label is None else "the value that is read there"
    )
    body = [_text(0, 12, heading, _FAINT)]
    corners = {}
    for cell in range(low, high):
        row, column = divmod(cell - low, length)
        x, y = column * width, 18 + row * tall + room
        corners[cell] = (x, y)
        number = found.first.get(cell)
        short, whole = words.get(cell, ("", ""))
        tip = f"cell {cell}: " + ("not touched" if number is None else f"step {number}, {whole}")
        body.append(_cell(x, y, width, None if number is None else _shade(number, last), short, tip))
        extra = _FAINT + ' text-anchor="middle" font-size="9.5"'
        body.append(_text(x + width / 2, y + _HEIGHT + 10, str(cell), extra))
    height = 18 + -(-(high - low) // length) * tall
    body += _path(steps, corners, width)
    lines = _legend(layout) if len(steps) > 1 else []
    for place, (axis, line) in enumerate(lines):
        y = height + 6 + 17 * place
        body += [_stroke(f"M0 {y:g}h22", axis), _text(30, y + 4, line)]
    notes = _notes(layout, size, low, high, len(found.first), len(steps))
    y = height + 17 * len(lines)
    for place, note in enumerate(notes):
        body.append(_text(0, y + 12 + 17 * place, note))
    longest_line = max([30 + _CHARACTER * len(line) for _, line in lines] + [_CHARACTER * len(t) for t in notes] + [0])
    wide = max(length * width, _CHARACTER * len(heading), longest_line)
    return _Part(wide, y + 17 * len(notes), body)


def _drawn_cells(layout: Layout, size: int) -> tuple[int, int]:
    """The cells to draw; those of a layout that reaches below 0, which no buffer has, are drawn all the same."""
    bounds = layout.bounds()
    if bounds is not None and not 0 <= bounds[0] <= bounds[1] < size:
        return bounds[0], min(bounds[1] + 1, bounds[0] + DRAWN_CELLS)
    row = max([abs(step) for step, extent in zip(layout.stride, layout.shape) if extent > 1], default=1) or 1
    return window(layout, size, DRAWN_CELLS, row)


def _words(layout: Layout, number: int, label: Label | None) -> tuple[str, str]:
    """What the cell shows that a step reads first: the short text and the whole one."""
    index = []
    rest = number
    for extent in reversed(layout.shape):
        rest, place = divmod(rest, extent)
        index.append(place)
    at = tuple(reversed(index))
    place_text = "[" + ", ".join(map(str, at)) + "]"
    if label is None:
        return str(number), place_text
    short, whole = label(at)
    return short, f"{place_text}: {whole}"


def _path(steps: list[Step], corners: dict[int, tuple[float, float]], width: float) -> Iterator[str]:
    """The way from cell to cell: over the cells forwards, under them backwards, across from row to row."""
    for before, after in pairwise(steps):
        if before.cell not in corners or after.cell not in corners or before.cell == after.cell:
            continue
        (x1, y1), (x2, y2) = corners[before.cell], corners[after.cell]
        x1, x2 = x1 + width / 2, x2 + width / 2
        forwards = after.cell > before.cell
        if y1 == y2:
            lift = min(20.0, 6 + 0.09 * abs(x2 - x1))
            # Backwards under the numbers of the cells.
            edge, away = (y1, -lift * 2) if forwards else (y1 + _HEIGHT + 13, lift * 1.6)
            curve = f"M{x1:g} {edge:g}Q{(x1 + x2) / 2:g} {edge + away:g} {x2:g} {edge:g}"
            yield _stroke(curve, after.axis) + _head(x2, edge, forwards, forwards, after.axis)
        else:
            down = y2 > y1
            start, end = (y1 + _HEIGHT + 13, y2) if down else (y1, y2 + _HEIGHT + 13)
            middle = (start + end) / 2
            curve = f"M{x1:g} {start:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {end:g}"
            yield _stroke(curve, after.axis) + _head(x2, end, down, x2 >= x1, after.axis)


def _stroke(curve: str, axis: int | None) -> str:
    colour, dashes = _AXES[(axis or 0) % len(_AXES)]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="1.4"{dashed}/>'


def _head(x: float, y: float, down: bool, right: bool, axis: int | None) -> str:
    """The head of an arrow that arrives from above (``down``) or below, from the left (``right``) or the right."""
    colour, _ = _AXES[(axis or 0) % len(_AXES)]
    back, side = (-5 if down else 5), (-3 if right else 3)
    return f'<path d="M{x:g} {y:g}l{side - 2.5:g} {back:g}h5z" fill="{colour}"/>'


def _legend(layout: Layout) -> list[tuple[int, str]]:
    """For each axis that steps, innermost first: what it adds; at most as many as there are colours."""
    lines = []
    for axis, move in reversed(_moving(layout)[-len(_AXES) :]):
        lines.append((axis, f"axis {axis} steps: {move:+d}, adj_stride[{axis}]"))
    return lines


def _notes(layout: Layout, size: int, low: int, high: int, drawn: int, path: int) -> list[str]:
    """What is left out, in words."""
    notes = []
    if layout.len > WALKED_STEPS:
        notes.append(f"marked are cells that the first {WALKED_STEPS} of {layout.len} steps read")
    if high - low < size:
        notes.append(f"{size - (high - low)} of {size} cells are not drawn")
    if 1 < path < layout.len:
        notes.append(f"the path shows the first {path - 1} of {layout.len - 1} moves")
    if layout.is_broadcast and layout.len <= WALKED_STEPS and high - low == size:
        notes.append(f"{layout.len} elements read {_count(drawn, 'cell')}")
    return notes


def _repr_html_(self: Layout) -> str:
    """The picture, in notebooks."""
    return drawing(self)


# Attached here, where it is defined: the layout itself knows nothing of pictures.
Layout._repr_html_ = _repr_html_  # type: ignore[attr-defined]
