"""An environment for each client, made whole or not at all, with the candela_xp of the checkout in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._cache import UnavailableError
from .._plan import HERE, ROOT
from ._clients import COMMON, Client

OWN_TESTS = HERE / "clients" / "own_tests"
_MARKER = "complete.json"
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")

# Runs a command and returns what it printed; the last argument says what it is for.
Runner = Callable[[Sequence[str], str], str]


@dataclass(frozen=True)
class Environment:
    """The environment of a client, complete or still to be made."""

    path: Path
    client: Client

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def complete(self) -> bool:
        """Whether it was made to the end."""
        return (self.path / _MARKER).is_file()

    def tests_root(self, run: Runner) -> Path:
        """The directory to which the client's tests are relative."""
        match self.client.place:
            case "own":
                return OWN_TESTS
            case "sdist":
                return self.path / "source"
        where = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        return Path(run([str(self.python), "-c", where], f"ask {self.client.name}'s environment").strip())


def clients_root(cache: Path) -> Path:
    """The directory of all environments."""
    return cache / "clients"


def environment(cache: Path, client: Client) -> Environment:
    """Where a client's environment is, or will be."""
    return Environment(clients_root(cache) / client.directory, client)


def creation(made: Environment) -> list[list[str]]:
    """The commands that make an environment; each needs those before it."""
    client, python = made.client, str(made.python)
    commands = [
        [sys.executable, "-m", "venv", str(made.path / "venv")],
        [python, *_PIP, "install", *COMMON, *client.requirements],
    ]
    if client.place == "sdist":
        fetched = ["--no-deps", "--no-binary=:all:", "--dest", str(made.path / "sdist"), client.requirements[0]]
        commands.append([python, *_PIP, "download", *fetched])
    return commands


def wheel_command(made: Environment, directory: Path) -> list[str]:
    """Build a wheel of the checkout, without network."""
    return [
        str(made.python), *_PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(ROOT),
    ]  # fmt: skip


def install_command(made: Environment, wheel: Path) -> list[str]:
    """Put a wheel of candela_xp into an environment, in the place of the one before."""
    return [str(made.python), *_PIP, "install", "--no-deps", "--no-index", "--force-reinstall", str(wheel)]


def require(cache: Path, client: Client, run: Runner) -> Environment:
    """A client's complete environment, made if it isn't there.

    Raises
    ------
    UnavailableError
        Something can't be installed. The cache is then as it was before.
    """
    wanted = environment(cache, client)
    if wanted.complete:
        return wanted
    wanted.path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the final place: the rename is atomic. The interpreter of an environment finds itself wherever it is; only
    # its scripts know their place, and none is used.
    with tempfile.TemporaryDirectory(prefix=".create-", dir=wanted.path.parent) as scratch:
        staged = Environment(Path(scratch) / client.directory, client)
        staged.path.mkdir()
        for command in creation(staged):
            run(command, f"install {client.name}")
        if client.place == "sdist":
            _unpack(staged)
        facts = {"client": client.name, "requirements": [*COMMON, *client.requirements]}
        (staged.path / _MARKER).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        _publish(staged, wanted, Path(scratch))
    return wanted


def checked(base: Mapping[str, str]) -> Runner:
    """A runner for commands that must succeed.

    Parameters
    ----------
    base
        The variables of this process; those that would lead Python elsewhere are left out.
    """
    variables = {name: value for name, value in base.items() if name not in ("PYTHONPATH", "PYTHONHOME")}

    def run(command: Sequence[str], purpose: str) -> str:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise UnavailableError(complaint(purpose, command, done.stdout + done.stderr))
        return done.stdout

    return run


def complaint(purpose: str, command: Sequence[str], output: str) -> str:
    """What to say when a command failed."""
    end = "\n".join(f"    {line}" for line in output.strip().splitlines()[-12:])
    return (
        f"clients: cannot {purpose}; this command failed:\n    {' '.join(command)}\n{end}\n"
        "The first run of a client installs it from a package index, so it needs network; later ones don't. "
        "Set pip's own variables (PIP_INDEX_URL, PIP_FIND_LINKS) where packages come from elsewhere."
    )


def _unpack(made: Environment) -> None:
    """The one directory of the client's source archive, as ``source``."""
    (archive,) = (made.path / "sdist").glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(made.path / "unpacked", filter="data")
    (top,) = (made.path / "unpacked").iterdir()
    top.rename(made.path / "source")


def _publish(staged: Environment, wanted: Environment, scratch: Path) -> None:
    if wanted.path.exists() and not wanted.complete:
        # Not completed by us (a copy cut short, say): move it into the scratch directory, which is thrown away.
        wanted.path.rename(scratch / "broken")
    try:
        staged.path.rename(wanted.path)
    except OSError as error:
        # Another run may have been first; its environment is as good as ours.
        if not wanted.complete:
            raise UnavailableError(f"clients: cannot move the environment to {wanted.path}: {error}") from error
