"""Threads that help with one computation: a pool for the whole process, made at first need.

Threads of our own rather than those of `concurrent.futures`: its executor starts another one whenever none has said yet
that it is idle. Asked 5,000 times for 7 helpers it had 255 threads in the end. In time the two are alike: a call whose
helper comes too late takes 2 µs (executor: 3), one whose helper takes part some 10 µs (executor: 15), over what the
work takes (CPython 3.11, 2 cores).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue

_CALLER = -1  # the share of the thread that calls `run`; those of the workers are 0, 1, ...


class _State(threading.local):
    """What is known of each thread."""

    busy = False  # it works on a task


_thread = _State()


class _Run:
    """One call of `run`: who takes which share of the work, and how each ended.

    Nothing is locked or counted: `takers` and `ends` say everything, so `wait` can begin anew after an interrupt.
    """

    __slots__ = ("bell", "contexts", "ends", "takers", "task")

    def __init__(self, task: Callable[[], None], helpers: int) -> None:
        self.task = task
        # One copy each: a context can't be entered twice.
        self.contexts = [copy_context() for _ in range(helpers)]
        self.takers: dict[int, str] = {}
        self.ends: dict[int, BaseException | None] = {}  # in the order of time
        self.bell: SimpleQueue[None] = SimpleQueue()  # rings at each end

    def help(self, share: int) -> None:
        """Take a share in a worker, unless the caller has withdrawn it."""
        if self.takers.setdefault(share, "worker") == "worker":
            try:
                self.contexts[share].run(self.task)
                self.ends[share] = None
            except BaseException as error:  # the caller raises it
                self.ends[share] = error
            finally:
                self.bell.put(None)

    def wait(self) -> None:
        """Withdraw the shares that no worker has begun, and wait for the others to end."""
        shares = range(len(self.contexts))
        begun = [share for share in shares if self.takers.setdefault(share, "caller") == "worker"]
        while not all(share in self.ends for share in begun):
            self.bell.get()

    def error(self) -> BaseException | None:
        """What the caller is to raise."""
        own = self.ends.get(_CALLER)
        if own is not None and not isinstance(own, Exception):
            return own
        return next((error for error in self.ends.values() if error is not None), None)

    def forget(self) -> None:
        """Let go of the task: withdrawn shares may stand in the queue for long, and its arrays with them."""
        del self.task
        self.contexts.clear()
        self.ends.clear()


_jobs: SimpleQueue[tuple[_Run, int]] = SimpleQueue()
_workers: list[threading.Thread] = []
_hiring = threading.Lock()


def is_busy() -> bool:
    """Whether this thread is at work on a task of `run`."""
    return _thread.busy


def run(task: Callable[[], None], threads: int) -> None:
    """Run a task in this thread and, at the same time, in up to ``threads - 1`` others; return when all have ended.

    The task divides the work itself: each of its runs takes blocks until none is left. Workers that haven't begun by
    the time this thread is through aren't waited for. In a worker, and inside another `run`, it just runs here.

    Workers see the context variables of the caller: settings and NumPy's error state.

    Raises
    ------
    BaseException
        The first that any of the threads raised, after all have ended; but an interrupt of this thread goes first.
    """
    helpers = 0 if threads <= 1 or _thread.busy else _hire(threads - 1)
    if helpers == 0:
        task()
        return
    shared = _Run(task, helpers)
    _thread.busy = True
    try:
        for share in range(helpers):
            _jobs.put((shared, share))
        task()
    except BaseException as error:
        shared.ends[_CALLER] = error
    finally:
        _thread.busy = False
        _wait(shared)
    first = shared.error()
    shared.forget()
    if first is not None:
        try:
            raise first
        finally:
            del first  # its traceback leads to this frame: without a way back there is no circle


def _wait(shared: _Run) -> None:
    """Wait for all shares, through interrupts as well: nobody may write once the caller has gone on."""
    while True:
        try:
            shared.wait()
        except BaseException as error:
            shared.ends[_CALLER] = error
        else:
            return


def _hire(wanted: int) -> int:
    """Make sure of so many workers; returns how many of them there are."""
    if sys.is_finalizing():
        return 0  # no thread runs any more, and CPython 3.11 would wait for a new one to start
    if len(_workers) < wanted:
        with _hiring:
            while len(_workers) < wanted:
                name = f"candela_xp_{len(_workers)}"
                # Daemons: an idle thread must not keep the process alive.
                thread = threading.Thread(target=_serve, args=(_jobs,), name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no more, or the interpreter is about to end
                    break
                _workers.append(thread)
    return min(wanted, len(_workers))


def _serve(jobs: SimpleQueue[tuple[_Run, int]]) -> None:
    """The life of a worker."""
    _thread.busy = True
    while True:
        shared, share = jobs.get()
        shared.help(share)
        del shared  # an idle worker keeps nothing alive


def _start_anew() -> None:
    """In the child of a fork, where the workers are gone."""
    global _jobs, _workers, _hiring
    _jobs, _workers, _hiring = SimpleQueue(), [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
