"""Drawings in the terminal: tables, and which cells of its buffer a layout touches, in which order.

`report` gathers everything about a layout as plain data, which ``--json`` prints as it is; `drawing` turns that
into lines.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from candela_xp._commands._layout_expression import Evaluated
from candela_xp._steps import FIELDS, FLAGS, fields, flags, touched, walk, window

DRAWN_CELLS = 256
LISTED_STEPS = 24
_TALL = 24  # rows from which several rows of the root share a line, where the terminal is wide enough

# 256-colour codes from the first step to the last
_EARLY_TO_LATE = (51, 45, 39, 33, 63, 99, 135, 171, 207)


class Style(NamedTuple):
    """What the terminal can show: columns, colour, characters beyond ASCII."""

    width: int = 80
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str], width: int) -> Style:
        """The style for a stream: colour only on a terminal and where NO_COLOR is unset."""
        colour = stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        try:
            "┌─│·→".encode(getattr(stream, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls(width, colour, False)
        return cls(width, colour, True)

    def plain(self, text: str) -> str:
        """The text in the characters that the terminal has."""
        return text if self.unicode else text.translate(str.maketrans("┌─│·→", "+-|.>"))

    def bold(self, text: str) -> str:
        """The text as a heading."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def step(self, text: str, number: int, last: int) -> str:
        """The text in the colour of a step of the walk."""
        if not self.colour:
            return text
        place = number * (len(_EARLY_TO_LATE) - 1) // max(last, 1)
        return f"\x1b[38;5;{_EARLY_TO_LATE[min(place, len(_EARLY_TO_LATE) - 1)]}m{text}\x1b[0m"

    def verdict(self, text: str, good: bool) -> str:
        """The text in green or red."""
        return f"\x1b[{32 if good else 31}m{text}\x1b[0m" if self.colour else text


def terminal_width(environment: Mapping[str, str] = os.environ) -> int:
    """Columns of the terminal: COLUMNS, or what standard output's terminal says, or 80; at least 40."""
    given = environment.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(40, int(given))
    try:
        return max(40, os.get_terminal_size(1).columns)
    except (OSError, ValueError):
        return 80


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, indent: str = "  ") -> list[str]:
    """Rows of text as lines of aligned columns; the columns in ``right`` are aligned to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if place in right else cell.ljust(w) for place, (cell, w) in enumerate(zip(row, widths))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


# -- facts -------------------------------------------------------------------------------------------


def report(
    expression: str, evaluated: Evaluated, *, cells: int = DRAWN_CELLS, steps: int = LISTED_STEPS
) -> dict[str, Any]:
    """Everything about the layout of an expression's array, as plain data.

    Parameters
    ----------
    expression, evaluated
        The text and what it gave.
    cells
        How many cells of the buffer to draw at most.
    steps
        How many steps of the walk to list at most.

    Returns
    -------
    dict
        Strides, offsets and cells count elements. Under ``drawn``, ``steps[i]`` is the step that first touches
        cell ``first_cell + i``, None where none does.
    """
    layout, buffer_cells = evaluated.array.layout, evaluated.cells
    row = evaluated.root_shape[-1] if evaluated.root_shape and evaluated.root_shape[-1] else 1
    low, high = window(layout, buffer_cells, cells, row)
    found = touched(layout, low, high)
    listed = [
        {"step": step.number, "index": step.indices, "cell": step.cell, "axis": step.axis}
        for _, step in zip(range(steps), walk(layout))
    ]
    return {
        "expression": expression,
        "dtype": str(evaluated.array.dtype),
        **fields(layout),
        "flags": flags(layout),
        "dim_order": layout.dim_order,
        "nested_dim_order": layout.nested_dim_order,
        "buffer": {
            "cells": buffer_cells,
            "bytes": buffer_cells * evaluated.array.itemsize,
            "touched": found.total,
            "row": row,
        },
        "notes": evaluated.notes,
        "drawn": {
            "first_cell": low,
            "complete": (low, high) == (0, buffer_cells),
            "steps": [found.first.get(cell) for cell in range(low, high)],
        },
        "walk": {"complete": len(listed) == layout.len, "steps": listed},
    }


# -- lines -------------------------------------------------------------------------------------------


def drawing(facts: dict[str, Any], style: Style) -> list[str]:
    """The lines that show a report."""
    buffer = facts["buffer"]
    lines = [
        style.bold(facts["expression"]),
        f"{facts['dtype']}, {_count(facts['len'], 'element')} over a buffer of {_count(buffer['cells'], 'cell')} "
        f"({_count(buffer['bytes'], 'byte')}), {buffer['touched']} of them touched",
        *facts["notes"],
        "",
        *table([(name, str(facts[name])) for name in FIELDS]),
        "",
        *table([(name, str(facts[name])) for name in ("dim_order", "nested_dim_order")]),
        "",
        *_flag_lines(facts["flags"], style),
        "",
        *_buffer_lines(facts, style),
        "",
        *_walk_lines(facts, style),
    ]
    return [style.plain(line) for line in lines]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _flag_lines(flags: dict[str, bool | None], style: Style) -> list[str]:
    words = {True: "yes", False: "no", None: "-"}
    rows = [(name, words[value], FLAGS[name]) for name, value in flags.items()]
    return [line if len(line) <= style.width else line[: style.width - 3] + "..." for line in table(rows)]


def row_length(row: int, cells: int, room: int) -> int:
    """How many cells stand in a line that has room for ``room`` of them.

    One row of the root array, where it fits; several where that keeps a tall drawing short; else a round number.
    """
    if row > room:
        return room - room % 10 or room
    if cells <= row * _TALL:
        return row
    return row * min(room // row, math.ceil(cells / (row * _TALL)))


def _buffer_lines(facts: dict[str, Any], style: Style) -> list[str]:
    """The buffer as rows of cells: a ruler, and in each cell the step that first touches it."""
    drawn, buffer = facts["drawn"], facts["buffer"]
    steps, first = drawn["steps"], drawn["first_cell"]
    if not steps:
        return ["the buffer has no cells"]
    last = max((step for step in steps if step is not None), default=0)
    label = len(str(first + len(steps) - 1))
    # Two spaces and the widest of steps and ruler; the ruler is never wider than the label.
    room = max(1, (style.width - label - 5) // (max(len(str(last)), label) + 2))
    length = row_length(buffer["row"], len(steps), room)
    width = max(len(str(last)), len(str(min(length, len(steps)) - 1))) + 2
    head = f"  {'':{label}} "
    lines = ["the buffer: each cell shows the step that first touches it, · none"]
    if not drawn["complete"]:
        end = first + len(steps) - 1
        lines.append(f"only cells {first} to {end} of {buffer['cells']} are drawn (--cells)")
    across = min(length, len(steps))
    lines.append(f"{head} {''.join(str(place).rjust(width) for place in range(across))}")
    lines.append(f"{head}┌{'─' * (across * width + 1)}")
    for start in range(0, len(steps), length):
        shown = [_cell(step, width, last, style) for step in steps[start : start + length]]
        lines.append(f"  {first + start:>{label}} │{''.join(shown)}")
    return lines


def _cell(step: int | None, width: int, last: int, style: Style) -> str:
    return "·".rjust(width) if step is None else style.step(str(step).rjust(width), step, last)


def _walk_lines(facts: dict[str, Any], style: Style) -> list[str]:
    """The first steps: index, cell, and the addition that led there."""
    listed = facts["walk"]["steps"]
    if not listed:
        return ["no elements, nothing to walk"]
    rows = []
    before = 0
    for step in listed:
        axis, cell = step["axis"], step["cell"]
        if axis is None:
            sum_, reason = "", "offset"
        else:
            move = facts["adj_stride"][axis]
            sum_, reason = f"{before} {'-' if move < 0 else '+'} {abs(move)}", f"adj_stride[{axis}]"
        index = "[" + ", ".join(map(str, step["index"])) + "]"
        rows.append((str(step["step"]), index, "→", str(cell), f"= {sum_}" if sum_ else "", reason))
        before = cell
    lines = ["the walk: row-major order of indices, one addition a step", *table(rows, right=(0, 3))]
    if not facts["walk"]["complete"]:
        lines.append(f"  ... {facts['len'] - len(listed)} more steps (--steps)")
    return lines
