"""Command line of the conformance runs: ``python -m conformance`` with a command (``--help`` lists them)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import _narrow, _report
from ._cache import UnavailableError, cache_root, fetch
from ._pins import PINS, REVISIONS, SPEC_URL, SUITE_URL
from ._plan import MODES, ROOT, Options
from ._suite import run
from .clients import _causes, _page
from .clients._clients import BACKENDS, CLIENTS, Client, named
from .clients._clients import MODES as CLIENT_MODES
from .clients._plan import plan as plan_clients
from .clients._run import run as run_clients
from .portability import _outcomes
from .portability._libraries import LIBRARIES


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(prog="python -m conformance", description="Other people's suites against candela_xp.")
    commands = top.add_subparsers(dest="command", required=True, metavar="{fetch,suite,narrow,clients,portability}")
    _add_fetch(commands.add_parser("fetch", help="put the official suite into the cache"))
    _add_suite(commands.add_parser("suite", help="run the official suite and write the report"))
    _add_narrow(commands.add_parser("narrow", help="run the official suite with a narrow dtype in float32's place"))
    _add_clients(commands.add_parser("clients", help="run the tests of libraries that take our arrays"))
    _add_portability(
        commands.add_parser(
            "portability", help="measure anew what other libraries do with the uses that the audit knows"
        )
    )
    return top


def options_of(arguments: argparse.Namespace) -> Options:
    """The suite command's arguments as plain data."""
    chosen = [revision for revision in REVISIONS if arguments.revision in (revision.name, "all")]
    seeds = tuple(range(arguments.seeds)) if arguments.seeds is not None else tuple(arguments.seed)
    return Options(
        revisions=tuple(chosen),
        modes=MODES if arguments.mode == "both" else (arguments.mode,),
        seeds=tuple(dict.fromkeys(seeds)),
        max_examples=arguments.max_examples,
        processes=arguments.processes,
        deadline=not arguments.disable_deadline,
        module=arguments.module,
        variables=tuple(arguments.env),
        select=arguments.select,
        verbose=arguments.verbose,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns
    -------
    0 if all is well, 1 if a test failed, 2 if something needed is missing.
    """
    arguments = parser().parse_args(argv)
    try:
        commands = {
            "fetch": _fetch,
            "suite": _suite,
            "narrow": _narrow_suite,
            "clients": _clients,
            "portability": _portability,
        }
        return commands[arguments.command](arguments)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _add_fetch(command: argparse.ArgumentParser) -> None:
    kinds = "a git URL, a working tree or a bare git directory"
    command.add_argument("--suite-source", metavar="SOURCE", default=SUITE_URL, help=f"{kinds} (default: {SUITE_URL})")
    command.add_argument("--spec-source", metavar="SOURCE", default=SPEC_URL, help=f"{kinds} (default: {SPEC_URL})")


def _add_suite(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    names = [revision.name for revision in REVISIONS]
    add("--revision", choices=[*names, "all"], default="all", help="revision of the standard (default: all)")
    add("--mode", choices=[*MODES, "both"], default="default", help="mode of candela_xp (default: default)")
    add("--max-examples", type=_positive, default=100, metavar="N", help="Hypothesis examples a test (default: 100)")
    add("-n", dest="processes", metavar="PROCESSES", help="processes of pytest-xdist, a number or auto")
    seeds = command.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, nargs="+", default=[0], metavar="S", help="Hypothesis seeds (default: 0)")
    seeds.add_argument("--seeds", type=_positive, metavar="COUNT", help="the seeds 0 to COUNT-1")
    add("--module", help="another library's module; {revision} is filled in; no report is written")
    add("--env", type=_variable, action="append", default=[], metavar="NAME=VALUE", help="a variable for the run")
    add("--disable-deadline", action="store_true", help="let an example take longer than the suite's 800 ms")
    add("-k", dest="select", metavar="EXPRESSION", help="only tests that pytest's -k picks; no report is written")
    add("-v", "--verbose", action="store_true", help="show tracebacks of failures")
    add("--no-report", action="store_true", help="don't write conformance.md and conformance.json")
    add("--report-dir", type=Path, default=ROOT / "docs", metavar="DIR", help="where the report goes (default: docs)")


def _add_narrow(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    names = ", ".join(narrow.name for narrow in _narrow.DTYPES)
    add("dtypes", nargs="*", type=_narrow_dtype, metavar="DTYPE", help=f"of {names} (default: all)")
    add("--mode", choices=[*MODES, "both"], default="default", help="mode of candela_xp (default: default)")
    add("--max-examples", type=_positive, default=25, metavar="N", help="Hypothesis examples a test (default: 25)")
    add("-n", dest="processes", metavar="PROCESSES", help="processes of pytest-xdist, a number or auto")
    add("--seed", type=int, nargs="+", default=[0], metavar="S", help="Hypothesis seeds (default: 0)")
    add("-k", dest="select", metavar="EXPRESSION", help="only tests that pytest's -k picks; no report is written")
    add("-v", "--verbose", action="store_true", help="show tracebacks of failures")
    add("--no-report", action="store_true", help="don't write conformance.md")
    add("--report-dir", type=Path, default=ROOT / "docs", metavar="DIR", help="where the report goes (default: docs)")


def _add_clients(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    names = [client.name for client in CLIENTS]
    add("clients", nargs="*", type=_client, metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    add("--mode", choices=[*CLIENT_MODES, "both"], default="both", help="how clients see candela_xp (default: both)")
    add("--backend", choices=BACKENDS, nargs="+", default=["candela_xp"], help="whose arrays (default: candela_xp)")
    add("-n", dest="processes", metavar="PROCESSES", help="processes of pytest-xdist, a number or auto")
    add("--keep", action="store_true", help="keep pytest's output of each run, and say where")
    add("--no-report", action="store_true", help="don't write conformance.md and clients.json")
    add("--report-dir", type=Path, default=ROOT / "docs", metavar="DIR", help="where the report goes (default: docs)")


def _add_portability(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    installed = [name for name, library in LIBRARIES.items() if library.is_installed]
    names = f"of {', '.join(LIBRARIES)} (default: those installed)"
    add("libraries", nargs="*", metavar="NAME", default=installed, help=names)
    add("--check", action="store_true", help="say what is otherwise, and write nothing")


def _fetch(arguments: argparse.Namespace) -> int:
    root = cache_root(os.environ)
    sources = {"suite_source": arguments.suite_source, "spec_source": arguments.spec_source}
    for checkout in fetch(root, PINS, **sources):
        print(f"{checkout.path}: specification {checkout.spec_commit}")
    return 0


def _suite(arguments: argparse.Namespace) -> int:
    options = options_of(arguments)
    rows = run(options, cache_root(os.environ), os.environ, sys.stderr)
    if options.reportable and not arguments.no_report:
        for path in _report.write(arguments.report_dir, rows):
            print(f"wrote {path}")
    return 1 if any(row.failed for row in rows) else 0


def _narrow_suite(arguments: argparse.Namespace) -> int:
    asked = Options(
        modes=MODES if arguments.mode == "both" else (arguments.mode,),
        seeds=tuple(dict.fromkeys(arguments.seed)),
        max_examples=arguments.max_examples,
        processes=arguments.processes,
        select=arguments.select,
        verbose=arguments.verbose,
    )
    rows = []
    for narrow in dict.fromkeys(arguments.dtypes or _narrow.DTYPES):
        print(f"{narrow.name} in the place of float32", file=sys.stderr)
        options = _narrow.options_for(narrow, asked)
        rows += [(narrow, row) for row in run(options, cache_root(os.environ), os.environ, sys.stderr)]
    # The section is about all of them.
    if asked.select is None and not arguments.dtypes and not arguments.no_report:
        print(f"wrote {_narrow.write(arguments.report_dir, rows)}")
    return 1 if any(row.failed for _, row in rows) else 0


def _clients(arguments: argparse.Namespace) -> int:
    chosen = dict.fromkeys(arguments.clients or CLIENTS)
    causes = _causes.read(_causes.CAUSES.read_text(encoding="utf-8"))
    modes = CLIENT_MODES if arguments.mode == "both" else (arguments.mode,)
    jobs = plan_clients(chosen, list(dict.fromkeys(arguments.backend)), modes)
    rows = run_clients(
        jobs,
        causes,
        cache_root(os.environ),
        os.environ,
        sys.stderr,
        processes=arguments.processes,
        keep=arguments.keep,
    )
    if not arguments.no_report:
        for path in _page.write(arguments.report_dir, rows, causes):
            print(f"wrote {path}")
    ours = [row for row in rows if row.backend == "candela_xp"]
    for cause in _causes.idle(causes, {(row.client, row.mode): row.failed for row in ours}):
        print(f"causes.toml: explains no failure any more: {cause.client}, {cause.where}: {cause.why}", file=sys.stderr)
    return 1 if any(_causes.unexplained(causes, row.client, row.mode, row.failed) for row in ours) else 0


def _portability(arguments: argparse.Namespace) -> int:
    for name in arguments.libraries:
        if name not in LIBRARIES or not LIBRARIES[name].is_installed:
            raise UnavailableError(f"portability: {name} isn't one of {', '.join(LIBRARIES)}, or isn't installed")
    before = _outcomes.load()
    after = _outcomes.measured_anew(before, arguments.libraries, say=lambda line: print(line, file=sys.stderr))
    found = _outcomes.changes(before, after)
    print("\n".join(found) or "nothing is otherwise")
    if not arguments.check:
        _outcomes.save(after)
        print(f"wrote {_outcomes.FILE}")
    return 1 if arguments.check and found else 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _narrow_dtype(text: str) -> _narrow.Narrow:
    try:
        return _narrow.named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _client(text: str) -> Client:
    try:
        return named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, value


if __name__ == "__main__":
    raise SystemExit(main())
