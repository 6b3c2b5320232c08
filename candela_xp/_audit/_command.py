"""``python -m candela_xp audit SCRIPT [ARGS]``: run a program under the audit, keep its status, write reports."""

from __future__ import annotations

import argparse
import builtins
import contextlib
import io
import os
import pkgutil
import runpy
import sys
import threading
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TextIO

from candela_xp._audit import _terminal
from candela_xp._audit._report import Report
from candela_xp._audit._request import FAILED, FORMATS, Request, RequestError, known_rules
from candela_xp._commands import _draw


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--backends", metavar="NAMES", help="ask about these only, such as torch,jax")
    parser.add_argument("--since", metavar="REVISION", help="also find what is newer than this revision: 2022.12")
    parser.add_argument("--data", action="store_true", help="also look at values, which computes what is deferred")
    parser.add_argument(
        "--fail-on", metavar="NAMES", help=f"exit status {FAILED} if one of these backends would differ"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help=f"write a report: {', '.join(FORMATS)}; repeatable",
    )
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does")
    parser.add_argument("script", metavar="SCRIPT [ARGS]", nargs=argparse.REMAINDER, help="a program and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the program; its own status, or `FAILED` if it ends well and the audit doesn't; 2 if the call is wrong."""
    root, stream = Path.cwd(), sys.stderr  # the program may change both
    program: list[str] = arguments.script if arguments.module is None else arguments.module
    try:
        if not program:
            raise RequestError("name a script, or a module after -m")
        if arguments.module is None and not os.path.exists(program[0]):
            raise RequestError(f"no such script: {program[0]}")
        request = Request.of(
            arguments.backends, arguments.since, arguments.data, arguments.fail_on, arguments.report, root
        )
        recorder = request.start()
    except RequestError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 2
    try:
        status = _run_program(program, arguments.module is not None)
    finally:
        audit = recorder.stop()
    report = Report.of(audit, known_rules(), root)
    problems = request.write(report)
    _print(report, request, problems, stream)
    if status is None:
        # Python says so by the signal, not by a number; the traceback has been printed.
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    return status or (2 if problems else request.status(report.audit))


def _print(report: Report, request: Request, problems: list[str], stream: TextIO) -> None:
    """The report for the one who waits; on standard error, since standard output is the program's."""
    written = [f"audit: report in {path}" for path in request.reports] if not problems else []
    with contextlib.suppress(OSError, ValueError):  # the program closed its standard error
        style = _draw.Style.of(stream, os.environ, _draw.terminal_width())
        shown = _terminal.summary(report, style) if request.reports else _terminal.lines(report, style)
        print("\n".join([*shown, *written, *(f"audit: {each}" for each in problems)]), file=stream, flush=True)


def _run_program(program: list[str], is_module: bool) -> int | None:
    """Run a script or module as ``__main__``, as Python does; its exit status, None if it was interrupted."""
    name = program[0]
    sys.argv = list(program)
    before = set(threading.enumerate())
    try:
        status = _ended(name, is_module)
        # Python waits for a program's threads before it ends: they may find something too.
        for thread in threading.enumerate():
            if not thread.daemon and thread not in before:
                thread.join()
    except KeyboardInterrupt as error:
        _print_as_python_does(error)
        return None
    return status


def _ended(name: str, is_module: bool) -> int:
    """Run what has this name; its exit status."""
    try:
        if is_module:
            _set_first_path(os.getcwd())
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        elif pkgutil.get_importer(name) is not None or name.endswith(".pyc"):
            _set_first_path(None)  # a folder or archive with a __main__.py: runpy puts it there itself
            runpy.run_path(os.path.abspath(name), run_name="__main__")
        else:
            _set_first_path(os.path.dirname(os.path.realpath(name)))
            _run_file(os.path.abspath(name))
    except SystemExit as leaving:
        return _status(leaving.code)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _print_as_python_does(error)
        return 1
    return 0


def _run_file(path: str) -> None:
    """Run a source file as ``python FILE`` does.

    Not by `runpy`: it takes the module away when the code has run, before threads and exit handlers have, and gives
    ``__file__`` as typed, which means another file once the program changes its folder.
    """
    module = ModuleType("__main__")
    loader = SourceFileLoader("__main__", path)
    vars(module).update(__file__=path, __loader__=loader, __cached__=None, __builtins__=builtins)
    with io.open_code(path) as file:
        source = file.read()
    sys.modules["__main__"] = module
    # dont_inherit: the program isn't under this module's __future__.
    exec(compile(source, path, "exec", dont_inherit=True), vars(module))


def _set_first_path(folder: str | None) -> None:
    """Put the program's folder where that of ``-m candela_xp`` stands, unless Python was told to have none (-P)."""
    if not sys.flags.safe_path:
        sys.path[:1] = [] if folder is None else [folder]


def _status(code: object) -> int:
    """The exit status that Python makes of ``SystemExit(code)``."""
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    with contextlib.suppress(OSError, ValueError):
        print(code, file=sys.stderr)
    return 1


def _print_as_python_does(error: BaseException) -> None:
    """The traceback through the program's own hook, without the frames that run the program."""
    traceback = error.__traceback__
    while traceback is not None and _is_runner(traceback):
        traceback = traceback.tb_next
    with contextlib.suppress(OSError, ValueError):  # its reader is gone, or it's closed
        sys.stdout.flush()
    error = error.with_traceback(traceback)
    try:
        sys.excepthook(type(error), error, traceback)
    except Exception:
        sys.__excepthook__(type(error), error, traceback)


def _is_runner(traceback: TracebackType) -> bool:
    name = traceback.tb_frame.f_globals.get("__name__")
    return name in (__name__, "runpy") or traceback.tb_frame.f_code.co_filename == "<frozen runpy>"
