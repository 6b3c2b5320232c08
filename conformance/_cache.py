"""The suite on this machine: fetched whole or not at all, found by commit."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._pins import SPEC_URL, SUITE_URL, Pin

SUBMODULE = "array-api"
_MARKER = "candela_xp_checkout.json"
# git sets these for its hooks; they'd point our git at the repository whose hook runs us.
_GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


class UnavailableError(Exception):
    """Something that a command needs isn't there; the message says how to get it."""


@dataclass(frozen=True)
class Checkout:
    """A complete checkout of the suite, with the specification filled in."""

    path: Path
    commit: str
    spec_commit: str


def cache_root(environment: Mapping[str, str]) -> Path:
    """The directory that holds the checkouts.

    Parameters
    ----------
    environment
        The process's variables; ``XDG_CACHE_HOME`` counts where it is absolute, as the XDG specification asks.
    """
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "candela-xp"


def checkout_path(root: Path, commit: str) -> Path:
    """Where the checkout of a commit of the suite lives."""
    return root / f"suite-{commit}"


def find(root: Path, commit: str) -> Checkout | None:
    """The complete checkout of a commit, None if there is none."""
    path = checkout_path(root, commit)
    try:
        facts = json.loads((path / _MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(facts, dict) or facts.get("commit") != commit:
        return None
    return Checkout(path, commit, str(facts.get("spec_commit")))


def require(root: Path, commit: str) -> Checkout:
    """The complete checkout of a commit.

    Raises
    ------
    UnavailableError
        It hasn't been fetched.
    """
    checkout = find(root, commit)
    if checkout is None:
        raise UnavailableError(
            f"suite: {checkout_path(root, commit)} is missing or incomplete; run\n"
            f"    python -m conformance fetch\n"
            f"(without network: fetch --suite-source DIR --spec-source DIR, with clones of {SUITE_URL} and {SPEC_URL})"
        )
    return checkout


def fetch(root: Path, pins: Sequence[Pin], *, suite_source: str, spec_source: str) -> list[Checkout]:
    """Put every pinned commit of the suite into the cache, with the specification it records.

    Parameters
    ----------
    root
        The cache directory; made if absent.
    pins
        The commits wanted. Those already there are left alone.
    suite_source, spec_source
        Each a git URL, a working tree or a bare git directory.

    Raises
    ------
    UnavailableError
        git is absent, a source can't be read, or it lacks a commit. The cache is then as it was before.
    """
    missing = [pin for pin in pins if find(root, pin.commit) is None]
    if missing:
        root.mkdir(parents=True, exist_ok=True)
        # Beside the final place, so that the rename stays within one file system and is atomic.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root) as scratch:
            store = _Store(Path(scratch) / "objects.git")
            for pin in missing:
                _add(root, Path(scratch), store, pin, suite_source, spec_source)
    return [require(root, pin.commit) for pin in pins]


def _add(root: Path, scratch: Path, store: _Store, pin: Pin, suite_source: str, spec_source: str) -> None:
    store.bring(suite_source, pin.commit, pin.tag, what="suite", option="--suite-source")
    spec_commit = store.submodule(pin.commit, SUBMODULE)
    store.bring(spec_source, spec_commit, None, what="specification", option="--spec-source")
    staged = scratch / pin.commit
    store.export(pin.commit, staged)
    store.export(spec_commit, staged / SUBMODULE)
    checkout = Checkout(checkout_path(root, pin.commit), pin.commit, spec_commit)
    (staged / _MARKER).write_text(json.dumps({"commit": pin.commit, "spec_commit": spec_commit}), encoding="utf-8")
    _publish(staged, checkout)


def _publish(staged: Path, checkout: Checkout) -> None:
    if checkout.path.exists() and find(checkout.path.parent, checkout.commit) is None:
        # Not completed by us (a copy cut short, say): move it into the scratch directory, which is thrown away.
        checkout.path.rename(staged.with_name(f"{staged.name}.broken"))
    try:
        staged.rename(checkout.path)
    except OSError as error:
        # Another fetch may have been first; its checkout is as good as ours.
        if find(checkout.path.parent, checkout.commit) is None:
            raise UnavailableError(f"fetch: cannot move the checkout to {checkout.path}: {error}") from error


class _Store:
    """A bare repository for the objects of one fetch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._git_or_fail("init", "--quiet", "--bare", str(path), at=path.parent)

    def bring(self, source: str, commit: str, tag: str | None, *, what: str, option: str) -> None:
        """Make a commit of a source present.

        Some servers hand out only what a branch or tag points to, so the commit is asked for by hash, by tag, and at
        last everything is fetched. Only the hash decides whether it came: a tag that was moved doesn't count.
        """
        place = str(Path(source).expanduser().resolve()) if Path(source).expanduser().exists() else source
        attempts = [["--depth=1", "--", place, commit]]
        if tag is not None:
            attempts.append(["--depth=1", "--", place, f"refs/tags/{tag}"])
        attempts.append(["--", place, "+refs/heads/*:refs/source/heads/*", "+refs/tags/*:refs/source/tags/*"])
        complaints: list[str] = []
        for attempt in attempts:
            if self._has(commit):
                return
            done = self._git("fetch", "--quiet", "--no-tags", *attempt)
            if done.returncode != 0:
                complaints.append(done.stderr.decode(errors="replace").strip())
        if self._has(commit):
            return
        if len(complaints) == len(attempts):
            raise UnavailableError(
                f"fetch: cannot read the {what} from {source}:\n{complaints[-1]}\n"
                f"pass {option} with a git URL, a working tree or a bare git directory that can be read"
            )
        raise UnavailableError(
            f"fetch: {source} has no commit {commit} of the {what}; update that clone, or pass another {option}"
        )

    def submodule(self, commit: str, path: str) -> str:
        """The commit that a tree records for a submodule."""
        line = self._git_or_fail("ls-tree", commit, path).decode()
        mode, kind, sha = [*line.split(None, 3), "", "", ""][:3]
        if (mode, kind) != ("160000", "commit"):
            raise UnavailableError(f"fetch: commit {commit} of the suite records no submodule {path!r}")
        return sha

    def export(self, commit: str, destination: Path) -> None:
        """Write the files of a commit."""
        archive = self._git_or_fail("archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(destination, filter="data")

    def _has(self, commit: str) -> bool:
        return self._git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def _git_or_fail(self, *arguments: str, at: Path | None = None) -> bytes:
        done = self._git(*arguments, at=at)
        if done.returncode != 0:
            raise UnavailableError(f"fetch: git {arguments[0]} failed:\n{done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def _git(self, *arguments: str, at: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        environment = {name: value for name, value in os.environ.items() if name not in _GIT_VARIABLES}
        environment["GIT_TERMINAL_PROMPT"] = "0"
        try:
            return subprocess.run(
                ["git", *arguments], cwd=at or self._path, env=environment, capture_output=True, check=False
            )
        except FileNotFoundError as error:
            raise UnavailableError("fetch: git isn't installed or not on PATH") from error
