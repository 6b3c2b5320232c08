"""One picture a table: how many times faster than NumPy each library runs each case."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks._cases import FLOATS, Row, size_name

COLOURS = {"candela_xp": "#d1495b", "numexpr": "#3d7ea6", "torch": "#e0a030", "jax": "#6b8f3c"}
FINE_TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10)
COARSE_TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
ROW_INCHES, PANEL_INCHES, NAMES_INCHES, FRAME_INCHES = 0.42, 2.1, 2.3, 1.5
# The libraries of a case lie under each other within its band.
BAND = 0.64


def _points(rows: Sequence[Row], cases: Sequence[str], name: str, lane: float, hollow: bool) -> list[list[float]]:
    found = [
        [speed, cases.index(row.case) + lane]
        for row in rows
        if (row.dtype == FLOATS[1]) == hollow and (speed := row.speed(name)) is not None
    ]
    return [list(each) for each in zip(*found)] or [[], []]


def draw(title: str, rows: Sequence[Row], path: Path) -> None:
    """Write an SVG: a panel for each size, a band for each case, a dot for each library and dtype.

    The file is the same for the same rows.
    """
    # Imported as Any: mypy runs where matplotlib is not installed, too.
    matplotlib: Any = import_module("matplotlib")
    Line2D: Any = import_module("matplotlib.lines").Line2D
    ticker: Any = import_module("matplotlib.ticker")
    cases = list(dict.fromkeys(row.case for row in rows))
    sizes = sorted({row.size for row in rows})
    peers = [name for name in COLOURS if any(name in row.timings for row in rows)]
    speeds = [speed for row in rows for name in peers if (speed := row.speed(name)) is not None]
    limits = min(0.5, min(speeds, default=1) / 1.3), max(2.0, max(speeds, default=1) * 1.3)
    among = FINE_TICKS if limits[1] / limits[0] < 30 else COARSE_TICKS
    ticks = [tick for tick in among if limits[0] <= tick <= limits[1]]
    wide, high = NAMES_INCHES + PANEL_INCHES * max(3, len(sizes)), FRAME_INCHES + ROW_INCHES * len(cases)
    with matplotlib.rc_context({"svg.hashsalt": "benchmarks", "font.size": 9, "svg.fonttype": "path"}):
        figure = import_module("matplotlib.figure").Figure((wide, high), layout="constrained")
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for size, axes in zip(sizes, panels):
            here = [row for row in rows if row.size == size]
            for band in range(0, len(cases), 2):
                axes.axhspan(band - 0.5, band + 0.5, color="#f4f4f4", zorder=0)
            axes.axvline(1, color="#444444", linewidth=1, zorder=1)
            for number, name in enumerate(peers):
                lane = BAND * ((number + 0.5) / len(peers) - 0.5)
                for hollow in (False, True):
                    x, y = _points(here, cases, name, lane, hollow)
                    face = "white" if hollow else COLOURS[name]
                    ours = name == "candela_xp"
                    axes.scatter(x, y, 34 if ours else 20, face, edgecolors=COLOURS[name], zorder=3 if ours else 2)
            axes.set_xscale("log")
            axes.set_xlim(*limits)
            axes.xaxis.set_major_locator(ticker.FixedLocator(ticks))
            axes.xaxis.set_minor_locator(ticker.NullLocator())
            axes.set_xticklabels([f"{tick:g}×" for tick in ticks])
            axes.grid(axis="x", color="#dddddd", linewidth=0.6, zorder=0)
            axes.set_title(size_name(size), fontsize=9)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(length=0)
        panels[0].set_yticks(range(len(cases)), cases)
        panels[0].set_ylim(len(cases) - 0.5, -0.5)
        marks = [Line2D([], [], color=COLOURS[name], marker="o", linestyle="", label=name) for name in peers]
        if any(row.dtype == FLOATS[1] for row in rows):
            marks += [
                Line2D([], [], color="#777777", marker="o", linestyle="", label="float64 or complex128"),
                Line2D([], [], color="#777777", marker="o", markerfacecolor="white", linestyle="", label="float32"),
            ]
        figure.suptitle(f"{title}\ntimes faster than NumPy: right of 1× is faster", fontsize=11)
        # two lines, since the narrowest picture has no room for one
        figure.legend(handles=marks, loc="outside lower center", ncols=(len(marks) + 1) // 2 + 1, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})
