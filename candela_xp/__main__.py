"""The command line: ``python -m candela_xp info``, ``layout EXPR``, ``demo`` and ``audit SCRIPT``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from candela_xp import __version__
from candela_xp._audit import _command
from candela_xp._commands import _demo, _draw, _info, _layout_expression


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="candela_xp", description="An array library under the array API standard.")
    parser.add_argument("--version", action="version", version=f"candela_xp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    info = commands.add_parser("info", help="versions, BLAS, threads, dtypes, devices, revisions, settings")
    info.add_argument("--json", action="store_true", help="as JSON")
    info.set_defaults(run=_run_info)

    layout = commands.add_parser(
        "layout",
        help="the layout of an array, drawn",
        description='The layout of an array, drawn: candela_xp layout "zeros((4, 6))[1:, ::-1].T". '
        "The expression is never handed to Python: " + _layout_expression.ALLOWED + ".",
    )
    layout.add_argument("expression", metavar="EXPR", help='such as "zeros((4, 6))[1:, ::-1].T"')
    layout.add_argument("--json", action="store_true", help="as JSON")
    layout.add_argument("--cells", type=_count, default=_draw.DRAWN_CELLS, metavar="N", help="draw at most N cells")
    layout.add_argument("--steps", type=_count, default=_draw.LISTED_STEPS, metavar="N", help="list at most N steps")
    layout.set_defaults(run=_run_layout)

    demo = commands.add_parser(
        "demo",
        help="scikit-learn and SciPy on candela_xp arrays, checked against NumPy",
        description="Runs scikit-learn and SciPy on candela_xp arrays and on NumPy arrays and compares. "
        "Needs the packages of candela_xp[demo].",
    )
    demo.add_argument("--json", action="store_true", help="as JSON")
    demo.add_argument("--repeat", type=_count, default=_demo.REPEAT, metavar="N", help="timed runs of each step")
    demo.set_defaults(run=_run_demo)

    audit = commands.add_parser(
        "audit",
        help="where a program would break on other array libraries",
        description="Runs a program and tells which lines other array libraries refuse or answer otherwise. "
        "Options of the audit stand before the program; what follows is the program's.",
        usage="candela_xp audit [OPTIONS] (SCRIPT | -m MODULE) [ARGS]",
    )
    _command.add_arguments(audit)
    audit.set_defaults(run=_command.run)
    return parser


def _count(text: str) -> int:
    """An argument that counts something."""
    if not text.isdecimal() or not 1 <= int(text[:10]) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000000")
    return int(text)


def _style() -> _draw.Style:
    return _draw.Style.of(sys.stdout, os.environ, _draw.terminal_width())


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _run_info(arguments: argparse.Namespace) -> int:
    found = _info.facts()
    if arguments.json:
        _print_json(found)
    else:
        print("\n".join(_info.lines(found, _style())))
    return 0


def _run_layout(arguments: argparse.Namespace) -> int:
    try:
        evaluated = _layout_expression.evaluate(arguments.expression)
    except _layout_expression.ExpressionError as error:
        print(f"layout: {error}", file=sys.stderr)
        return 2
    found = _draw.report(arguments.expression, evaluated, cells=arguments.cells, steps=arguments.steps)
    if arguments.json:
        _print_json(found)
    else:
        print("\n".join(_draw.drawing(found, _style())))
    return 0


def _run_demo(arguments: argparse.Namespace) -> int:
    try:
        found = _demo.run(arguments.repeat, _demo.Progress(sys.stderr))
    except _demo.CannotRunError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        _print_json(found)
    else:
        print("\n".join(_demo.lines(found, _style())))
    return 0 if found["passed"] else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv
        The arguments; those of the process by default.

    Returns
    -------
    int
        0: done; 1: a check of the demo failed, or nobody reads the output any more; 2: the call is wrong or a
        package is missing (wrong options leave by SystemExit, as argparse does). Of an audited program its own.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        with contextlib.suppress(ValueError):  # an audited program may have closed it
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (head, less). Python flushes once more at exit: give that somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
