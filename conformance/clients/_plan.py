"""What a run of the clients will do, as plain data: jobs, the pytest command, its variables. Nothing runs here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _outcomes
from .._plan import HERE
from ._clients import LIKE_STRICT, NAMED, UNKNOWN, Client

BACKEND_VARIABLE = "CANDELA_XP_CLIENTS_BACKEND"
LIKE_STRICT_VARIABLE = "CANDELA_XP_CLIENTS_LIKE_STRICT"
# The user's own values would change the run unseen by the report, or lead Python to another candela_xp.
_FOREIGN = ("PYTEST_", "CANDELA_XP_", "HYPOTHESIS_", "PYTHON", "SCIPY_", "SKLEARN_", "CUBED_", "EINOPS_")
_FIXED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    # installed files stay as they are
    "PYTHONDONTWRITEBYTECODE": "1",
    # some clients parametrize tests over sets: the processes of pytest-xdist must agree on the order
    "PYTHONHASHSEED": "0",
    "CANDELA_XP_STRICT": "0",
}


@dataclass(frozen=True)
class Job:
    """One row of the report: a client's tests with a backend.

    The mode says how the client meets candela_xp: as a backend of which it has never heard, or as it treats
    array_api_strict. Other backends go by their own names.
    """

    client: Client
    backend: str
    mode: str

    @property
    def label(self) -> str:
        """The job's name for people."""
        return f"{self.client.name}, {self.backend}{'' if self.mode == NAMED else f', {self.mode}'}"


def plan(clients: Iterable[Client], backends: Sequence[str], modes: Sequence[str]) -> list[Job]:
    """The jobs of a command, in the order in which they run.

    A client that never asks for the name of a namespace is the same in both modes: it runs once, as unknown.
    """
    jobs = []
    for client in clients:
        for backend in backends:
            if backend not in client.backends:
                continue
            if backend != "candela_xp":
                jobs.append(Job(client, backend, NAMED))
            elif client.by_name:
                jobs += [Job(client, backend, mode) for mode in modes]
            else:
                jobs.append(Job(client, backend, UNKNOWN))
    return jobs


def tests_of(client: Client, root: Path) -> list[Path]:
    """The files and directories to hand to pytest."""
    paths = [root / test for test in client.tests]
    if not client.containing:
        return paths
    files = sorted(file for path in paths for file in path.rglob("test_*.py"))
    return [file for file in files if any(word in file.read_text(encoding="utf-8") for word in client.containing)]


def command(job: Job, python: Path, root: Path, scratch: Path, processes: str | None = None) -> list[str]:
    """The pytest command.

    Parameters
    ----------
    job
        What runs.
    python
        The interpreter of the client's environment.
    root
        The directory to which the client's tests are relative.
    scratch
        A directory with an empty ``pytest.ini``: the client's own settings may want plugins that we don't install.
    processes
        Of pytest-xdist: a number, "auto", or None for none.
    """
    client = job.client
    parts = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-p", "_outcomes"]
    if client.plugin is not None:
        parts += ["-p", f"client_plugins.{client.plugin}"]
    parts += ["-c", str(scratch / "pytest.ini"), f"--rootdir={root}", f"--confcutdir={root}"]
    # Native tracebacks: pytest's own parse every file on the way, and break where a client recurses deeply.
    parts += ["--quiet", "--tb=native", "--continue-on-collection-errors", f"--basetemp={scratch / 'temporary'}"]
    parts += ["-W", "ignore::pytest.PytestUnknownMarkWarning"]
    if processes is not None:
        parts += ["-n", processes]
    return [*parts, *client.arguments, *map(str, tests_of(client, root))]


def variables(job: Job, base: Mapping[str, str], *, outcomes: Path, storage: Path) -> dict[str, str]:
    """The variables of the pytest process.

    Parameters
    ----------
    job
        What runs.
    base
        The variables of this process.
    outcomes
        The file that the plugin writes.
    storage
        A directory for what Hypothesis keeps.
    """
    kept = {name: value for name, value in base.items() if not name.startswith(_FOREIGN)}
    backend = job.client.module if job.backend == "candela_xp" else job.backend
    return {
        **kept,
        **_FIXED,
        # never the checkout itself: candela_xp comes from the environment
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE / "clients")]),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(storage),
        _outcomes.PATH_VARIABLE: str(outcomes),
        _outcomes.MODULE_VARIABLE: job.backend,
        BACKEND_VARIABLE: job.backend,
        LIKE_STRICT_VARIABLE: "1" if job.mode == LIKE_STRICT else "0",
        **{name: value.replace("{backend}", backend) for name, value in job.client.variables},
    }
