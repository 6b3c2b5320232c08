"""The pictures of the concept pages, drawn from what the library says: ``python -m docs.pictures`` writes them again.

Layouts are what `candela_xp.draw` draws; the numbers in the others are the library's too: plans from
`candela_xp._traversal`, bytes from `explain` and `memory`. The same library gives the same files; ``--check`` says
which are out of date and writes none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import candela_xp as xp
from candela_xp._layout import Layout
from candela_xp._steps import walk as steps_of
from candela_xp._traversal import Walk, plan

HERE = Path(__file__).resolve().parent / "pictures"
CELL = 32  # of a grid; all lengths are in the units of the picture
GAP = 28
LABEL = 30  # left of a grid, for the number of the first cell of a row
FONT = "font-family='ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'"
INK, FAINT, LINE, EMPTY = "#1f2430", "#6b7280", "#c9ced6", "#f3f4f6"
# First step to last, dark text readable on each
EARLY, LATE = (255, 243, 205), (242, 140, 96)


class Picture(NamedTuple):
    """Part of a picture: its size and what is in it."""

    width: float
    height: float
    body: str


def text(x: float, y: float, words: str, *, size: int = 13, colour: str = INK, anchor: str = "start") -> str:
    """A line of text; ``y`` is its base line."""
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{colour}' text-anchor='{anchor}'>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """A filled rectangle with a thin line around it."""
    return f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' fill='{fill}' stroke='{LINE}'/>"


def shade(part: float) -> str:
    """The colour of a step: 0 is the first, 1 the last."""
    mixed = [round(a + (b - a) * part) for a, b in zip(EARLY, LATE)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def grid(
    title: str, words: Sequence[Sequence[str]], parts: Sequence[Sequence[float | None]], labels: Sequence[str] = ()
) -> Picture:
    """Rows of cells: a word in each and its colour (None: not touched); labels stand before the rows."""
    left = LABEL if labels else 0
    body = [text(0, 14, title, size=13)]
    for row, (line, colours) in enumerate(zip(words, parts)):
        y = 26 + row * CELL
        if labels:
            body.append(text(left - 8, y + 22, labels[row], size=11, colour=FAINT, anchor="end"))
        for column, (word, part) in enumerate(zip(line, colours)):
            x = left + column * CELL
            body.append(box(x, y, CELL, CELL, EMPTY if part is None else shade(part)))
            ink = FAINT if part is None else INK
            body.append(text(x + CELL / 2, y + 22, word, anchor="middle", colour=ink))
    columns = max((len(line) for line in words), default=0)
    return Picture(max(left + columns * CELL, 8.2 * len(title)), 28 + len(words) * CELL, "\n".join(body))


def beside(*pictures: Picture, gap: float = GAP) -> Picture:
    """Pictures in a row."""
    body, x = [], 0.0
    for each in pictures:
        body.append(f"<g transform='translate({x:g} 0)'>\n{each.body}\n</g>")
        x += each.width + gap
    return Picture(x - gap, max(each.height for each in pictures), "\n".join(body))


def file_of(picture: Picture, title: str) -> str:
    """The SVG file of a picture."""
    width, height = picture.width + 24, picture.height + 24
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:g}' height='{height:g}' "
        f"viewBox='0 0 {width:g} {height:g}' role='img' {FONT}>\n<title>{escape(title)}</title>\n"
        f"<rect width='100%' height='100%' fill='#ffffff'/>\n"
        f"<g transform='translate(12 12)'>\n{picture.body}\n</g>\n</svg>\n"
    )


# -- walks -------------------------------------------------------------------------------------------


def rows(values: Sequence[int | None], length: int) -> list[list[int | None]]:
    """A list cut into rows."""
    return [list(values[start : start + length]) for start in range(0, len(values), length)]


def _words(values: Iterable[Sequence[int | None]]) -> list[list[str]]:
    return [["·" if value is None else str(value) for value in line] for line in values]


def _parts(values: Iterable[Sequence[int | None]], last: int) -> list[list[float | None]]:
    return [[None if value is None else value / last for value in line] for line in values]


def _starts(cells: int, length: int) -> list[str]:
    return [str(start) for start in range(0, cells, length)]


def _memory(title: str, cells: Sequence[int], numbers: Sequence[int], length: int) -> Picture:
    """A buffer in which each cell shows a number, and its colour."""
    found: list[int | None] = [None] * (max(cells) + 1)
    for cell, number in zip(cells, numbers):
        found[cell] = number
    cut = rows(found, length)
    return grid(title, _words(cut), _parts(cut, max(max(numbers), 1)), _starts(len(found), length))


def one_order() -> Picture:
    """Two transposed arrays: by their indices, and as the library walks them."""
    shape = (4, 6)
    transposed = Layout.contiguous(shape[::-1]).transpose()
    by_index = [step.cell for step in steps_of(transposed)]
    walk = plan(shape, (transposed, transposed), 8, destination=0)
    by_walk = [cell for _, extents, offsets in walk.steps(0, walk.blocks) for cell in _block(walk, extents, offsets, 0)]
    number = list(range(len(by_index)))
    return beside(
        _memory("in the order of indices", by_index, number, shape[0]),
        _memory(f"as it is walked ({walk.kind})", by_walk, number, shape[0]),
    )


def two_orders() -> Picture:
    """A sum of arrays in two orders: the block in which each cell is read or written."""
    shape = (8, 8)
    plain = Layout.contiguous(shape)
    walk = plan(shape, (plain, plain, plain.transpose()), 16, destination=0)
    pictures = []
    for operand, title in ((0, "memory of the result and of a"), (2, "memory of b")):
        cells, numbers = [], []
        for number, (_, extents, offsets) in enumerate(walk.steps(0, walk.blocks)):
            found = _block(walk, extents, offsets, operand)
            cells += found
            numbers += [number] * len(found)
        pictures.append(_memory(title, cells, numbers, shape[1]))
    return beside(*pictures)


def _block(walk: Walk, extents: tuple[int, ...], offsets: tuple[int, ...], operand: int) -> list[int]:
    """The cells of one block of a walk, in the order in which they are taken."""
    stride = walk.operands[operand].stride
    return [step.cell for step in steps_of(Layout(extents, stride, offsets[operand]))]


# -- bytes -------------------------------------------------------------------------------------------

BAR, SCALE = 22, 380


def bars(title: str, groups: Sequence[tuple[str, Sequence[tuple[str, float]]]], unit: str) -> Picture:
    """Bars in groups: a heading for each group, a word and a length for each bar."""
    greatest = max(value for _, group in groups for _, value in group) or 1
    body, y = [text(0, 14, title)], 30.0
    for heading, group in groups:
        body.append(text(0, y + 14, heading))
        y += 22
        for place, (word, value) in enumerate(group):
            body.append(text(118, y + 15, word, size=12, colour=FAINT, anchor="end"))
            length = SCALE * value / greatest
            body.append(box(126, y, max(length, 1), BAR - 4, shade(1 - place / max(len(group) - 1, 1))))
            body.append(text(132 + length, y + 14, f"{value:g} {unit}", size=12))
            y += BAR
        y += 8
    return Picture(126 + SCALE + 90, y, "\n".join(body))


CHAINS: dict[str, Callable[[xp.NDArray, xp.NDArray, xp.NDArray], xp.NDArray]] = {
    "a + b + c": lambda a, b, c: a + b + c,
    "(a - b)**2 * c + sqrt(a)": lambda a, b, c: (a - b) ** 2 * c + xp.sqrt(a),
    "exp(-(a - b)**2 / 2) * c": lambda a, b, c: xp.exp(-((a - b) ** 2) / 2) * c,
}


def chains() -> Picture:
    """How many bytes chains move, and how many one operation after the other would, as `explain` counts them."""
    groups = []
    for name, compute in CHAINS.items():
        a, b, c = (xp.full((1000, 1000), 0.5) for _ in range(3))
        moved, alone = re.findall(r"(\d+) bytes", xp.explain(compute(a, b, c)))
        groups.append((name, [("one by one", int(alone) / 1e6), ("as a chain", int(moved) / 1e6)]))
    return bars("bytes between memory and cache, 1000×1000 float64", groups, "MB")


def recycled() -> Picture:
    """What `memory` says while arrays come and go."""
    groups: list[tuple[str, list[tuple[str, float]]]] = []

    def look(words: str) -> None:
        now = xp.memory()
        groups.append((words, [("in use", now["in_use_bytes"] // 10**6), ("kept", now["pooled_bytes"] // 10**6)]))

    with xp.settings(pool_bytes=0):
        pass  # an empty pool to begin with
    with xp.settings(defer_min_bytes=0, pool_bytes=2**28):
        x = xp.full((1000, 1000), 0.5)
        y = xp.materialize(x + 1.0)
        look("y = x + 1.0")
        z = xp.materialize(y * 2.0)
        look("z = y * 2.0")
        del y, z
        look("del y, z")
        y = xp.materialize(x - 1.0)  # noqa: F841  # it is there, which is all that is asked of it
        look("y = x - 1.0")
    return bars("memory() of 1000×1000 float64 arrays", groups, "MB")


# -- files -------------------------------------------------------------------------------------------

MATRIX = xp.reshape(xp.arange(12), (3, 4))
LAYOUTS = {
    "layout_rows": MATRIX,
    "layout_columns": MATRIX.T,
    "layout_view": MATRIX[::2, ::-1].T,
    "layout_broadcast": xp.broadcast_to(MATRIX[:1, :], (3, 4)),
    "layout_reshape": xp.reshape(xp.reshape(xp.arange(24), (4, 6))[:, ::2], (2, 6), copy=False),
}
PICTURES: dict[str, tuple[str, Callable[[], Picture]]] = {
    "order_one": ("Transposed arrays by index and as they are walked", one_order),
    "order_two": ("Blocks of a sum of arrays in two orders", two_orders),
    "deferral_bytes": ("Bytes that chains move", chains),
    "memory_pool": ("Memory in use and kept", recycled),
}


def main(arguments: Sequence[str] = ()) -> int:
    """Write the pictures that changed, or with ``--check`` name them."""
    stale = []
    files = {name: f"{xp.draw(x)}\n" for name, x in LAYOUTS.items()}
    files |= {name: file_of(draw(), title) for name, (title, draw) in PICTURES.items()}
    for name, wanted in files.items():
        path = HERE / f"{name}.svg"
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(wanted, encoding="utf-8")
    if stale:
        print(("out of date: " if "--check" in arguments else "wrote ") + ", ".join(stale))
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
