"""Workers: a task runs in several threads at once, in the caller's context, and nothing of it is left after `run`."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import weakref

import numpy as np
import pytest
from processes import in_process

from candela_xp import _settings, _workers, settings
from candela_xp._workers import run


class Meeting:
    """A task that all its runs reach before any goes on; `last` is what each does then, with its number."""

    def __init__(self, count, last=lambda number: None):
        self.barrier = threading.Barrier(count, timeout=20)
        self.last = last
        self.numbers = itertools.count()
        self.threads = []

    def __call__(self):
        number = next(self.numbers)
        self.threads.append(threading.current_thread())
        self.barrier.wait()
        self.last(number)


# -- who runs it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_a_task_runs_in_the_caller_and_in_workers_at_the_same_time(threads):
    task = Meeting(threads)
    run(task, threads)
    assert threading.current_thread() in task.threads
    assert len(set(task.threads)) == threads


def test_all_blocks_are_done_when_run_returns():
    blocks, done = iter(range(1000)), []

    def task():
        for block in blocks:
            done.append(block)

    run(task, 4)
    assert sorted(done) == list(range(1000))


def test_workers_stay_for_the_next_call_and_more_are_made_only_when_more_are_asked_for():
    run(Meeting(4), 4)
    before = list(_workers._workers)
    assert len(before) >= 3
    for _ in range(20):
        task = Meeting(4)
        run(task, 4)
        assert set(task.threads) <= {*before, threading.current_thread()}
    assert _workers._workers == before
    run(Meeting(len(before) + 2), len(before) + 2)
    assert _workers._workers[:-1] == before
    assert all(worker.daemon and worker.name.startswith("candela_xp") for worker in _workers._workers)


@pytest.mark.parametrize("threads", [1, 0, -1])
def test_one_thread_or_less_is_the_caller_alone(threads):
    calls = []
    run(lambda: calls.append(threading.current_thread()), threads)
    assert calls == [threading.current_thread()]


def test_a_run_inside_a_run_is_the_thread_alone_whether_worker_or_caller():
    inner = []

    def last(number):
        run(lambda: inner.append(threading.current_thread()), 4)

    task = Meeting(3, last)
    run(task, 3)
    assert sorted(map(id, inner)) == sorted(map(id, task.threads))
    again = Meeting(3)  # and afterwards there is help again
    run(again, 3)
    assert len(set(again.threads)) == 3


def test_several_threads_may_ask_at_once():
    sums, failures = {}, []

    def user(name):
        try:
            for turn in range(50):
                blocks, found = iter(range(100)), []
                run(lambda blocks=blocks, found=found: found.extend(blocks), 3)
                assert sorted(found) == list(range(100)), turn
            sums[name] = sum(found)
        except BaseException as error:
            failures.append(error)

    users = [threading.Thread(target=user, args=(name,)) for name in range(5)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert not failures
    assert sums == dict.fromkeys(range(5), 4950)


def test_a_caller_does_not_wait_for_workers_that_others_keep_busy():
    # All the workers are inside another run that ends only after this one has.
    run(Meeting(2), 2)
    count = len(_workers._workers)
    entered, leave = threading.Barrier(count + 2, timeout=20), threading.Event()

    def stay():
        entered.wait()
        assert leave.wait(20)

    other = threading.Thread(target=run, args=(stay, count + 1))
    other.start()
    entered.wait()
    calls = []
    run(lambda: calls.append(threading.current_thread()), 2)
    assert calls == [threading.current_thread()]
    leave.set()
    other.join()


def test_where_no_thread_can_be_started_the_caller_does_it_alone(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_workers, "_workers", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    calls = []
    run(lambda: calls.append(threading.current_thread()), 4)
    assert calls == [threading.current_thread()]


# -- context ---------------------------------------------------------------------------------------------


def test_numpy_s_error_state_and_the_settings_are_those_of_the_caller():
    seen = []

    def last(number):
        seen.append((np.geterr()["divide"], _settings.current()))

    with np.errstate(divide="raise"), settings(strict=True, simulated_devices=3) as chosen:
        run(Meeting(3, last), 3)
    assert seen == [("raise", chosen)] * 3
    seen.clear()
    with np.errstate(divide="ignore"):
        run(Meeting(3, last), 3)
    assert seen == [("ignore", _settings.current())] * 3


def test_what_a_worker_changes_in_its_context_stays_there():
    def last(number):
        np.seterr(divide="call" if threading.current_thread() is not caller else "raise")

    caller = threading.current_thread()
    with np.errstate(divide="ignore"):
        run(Meeting(3, last), 3)
        assert np.geterr()["divide"] == "raise"
    seen = []
    with np.errstate(divide="warn"):
        run(Meeting(3, lambda number: seen.append(np.geterr()["divide"])), 3)
    assert seen == ["warn"] * 3


# -- exceptions ------------------------------------------------------------------------------------------


def test_a_floating_point_error_of_a_worker_is_raised_in_the_caller():
    def last(number):
        if threading.current_thread() is not caller:
            np.divide(np.ones(4), 0.0)

    caller = threading.current_thread()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        run(Meeting(2, last), 2)


def test_the_first_exception_is_raised_after_all_have_ended():
    order = [threading.Event() for _ in range(4)]
    ended = []

    def last(number):
        # 2 fails, then 0, then 3; 1 ends well, last of all.
        turn = (1, 3, 0, 2)[number]
        if turn:
            assert order[turn - 1].wait(20)
        ended.append(number)
        threading.Timer(0.05, order[turn].set).start()  # the exception has been noted by then
        if number != 1:
            raise ValueError(f"of {number}")

    with pytest.raises(ValueError, match=r"^of 2$") as caught:
        run(Meeting(4, last), 4)
    assert ended == [2, 0, 3, 1]
    assert caught.value.__context__ is None
    run(Meeting(4), 4)  # the workers have survived


def test_the_caller_s_exception_waits_for_the_workers():
    ended = []

    def last(number):
        if threading.current_thread() is caller:
            failed.set()
            raise KeyError("caller")
        assert failed.wait(20)
        ended.append(number)

    caller, failed = threading.current_thread(), threading.Event()
    with pytest.raises(KeyError):
        run(Meeting(3, last), 3)
    assert len(ended) == 2


@pytest.mark.skipif(not hasattr(__import__("signal"), "pthread_kill"), reason="signals can't be sent to one thread")
@pytest.mark.parametrize("times", [1, 3])
def test_interrupts_of_a_waiting_caller_wait_for_the_workers(times):
    code = f"""
import signal, threading, time
from candela_xp._workers import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests with it ignored
both, ended, caller = threading.Barrier(2), [], threading.main_thread()
def task():
    both.wait()
    if threading.current_thread() is caller:
        return
    for _ in range({times}):
        time.sleep(0.05)
        signal.pthread_kill(caller.ident, signal.SIGINT)
    time.sleep(0.1)
    ended.append(True)
    raise ValueError("less urgent")
try:
    run(task, 2)
except KeyboardInterrupt:
    print(ended)
run(lambda: None, 2)
"""
    done = in_process(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[True]\n", "")


# -- nothing is left -------------------------------------------------------------------------------------


class Held:
    """Something that a weak reference can follow."""


def test_the_task_is_let_go_when_run_returns_or_raises_also_where_a_worker_never_began():
    gc.collect()
    gc.disable()
    try:
        run(Meeting(3), 3)
        for fails in (False, True):
            for threads in (1, 3):
                held = Held()
                alive = weakref.ref(held)
                meeting = Meeting(threads)

                def task(held=held, meeting=meeting, fails=fails):
                    meeting()
                    if fails:
                        raise ValueError

                try:
                    run(task, threads)
                except ValueError:
                    assert fails
                del task, held
                assert alive() is None, (fails, threads)
    finally:
        gc.enable()


def test_a_withdrawn_share_keeps_no_arrays_alive():
    run(Meeting(2), 2)
    count = len(_workers._workers)
    entered, leave = threading.Barrier(count + 2, timeout=20), threading.Event()

    def stay():
        entered.wait()
        assert leave.wait(20)

    other = threading.Thread(target=run, args=(stay, count + 1))
    other.start()
    entered.wait()
    held = Held()
    alive = weakref.ref(held)
    run(lambda held=held: None, 2)
    del held
    assert alive() is None
    leave.set()
    other.join()


# -- processes -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_the_child_of_a_fork_makes_workers_of_its_own():
    code = """
import os, threading
from candela_xp import _workers
def together():
    barrier, seen = threading.Barrier(3), []
    def task():
        barrier.wait(20)
        seen.append(threading.current_thread())
    _workers.run(task, 3)
    return len(set(seen))
assert together() == 3
if child := os.fork():
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), together())
else:
    assert not _workers._workers
    assert together() == 3
"""
    done = in_process(code, "-W", "ignore::DeprecationWarning")  # a fork beside threads
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 3\n", "")


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [("", 0, ""), ("raise ValueError('of main')", 1, "ValueError: of main"), ("raise SystemExit(3)", 3, "")],
)
def test_idle_workers_are_quiet_at_exit(last, code, said):
    done = in_process(
        "import threading\nfrom candela_xp._workers import run\n"
        f"barrier = threading.Barrier(4)\nrun(barrier.wait, 4)\n{last}"
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.strip().splitlines()[-1:] == ([said] if said else [])
    assert "Exception ignored" not in done.stderr


def test_a_run_at_the_end_of_the_interpreter_still_does_its_work():
    code = """
import atexit
from candela_xp._workers import run
def work(run=run):
    blocks, done = iter(range(10)), []
    run(lambda: done.extend(blocks), 4)
    print(len(done))
class Last:
    def __del__(self, work=work):
        work()
atexit.register(work)
last = Last()
"""
    done = in_process(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n10\n", "")
