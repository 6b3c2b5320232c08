"""Settings and modes: nesting, threads, tasks, environment; and the table of cases against the source."""

from __future__ import annotations

import ast
import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import candela_xp
from candela_xp import _modes, _settings, settings
from candela_xp._settings import Settings, current, from_environment

PACKAGE = Path(candela_xp.__file__).parent


@pytest.fixture(autouse=True)
def _defaults():
    """Known settings, whatever the environment of the test run says."""
    with settings(strict=False, simulated_devices=1):
        yield


# -- the context manager -------------------------------------------------------------------------------


def test_blocks_nest_and_restore_what_was_in_force():
    before = current()
    with settings(strict=True) as outer:
        assert outer == current() == before._replace(strict=True)
        with settings(simulated_devices=4) as inner:
            assert inner == current()
            assert inner.strict
            assert inner.simulated_devices == 4
            with settings(strict=False, simulated_devices=2):
                assert (current().strict, current().simulated_devices) == (False, 2)
            assert current() == inner
        assert current() == outer
    assert current() == before


def test_a_block_that_fails_restores_what_was_in_force():
    with pytest.raises(ZeroDivisionError), settings(strict=True):
        raise ZeroDivisionError
    assert not current().strict


def test_a_block_without_settings_changes_nothing():
    with settings(strict=True), settings() as unchanged:
        assert unchanged == current()
        assert unchanged.strict


def test_making_settings_does_not_put_them_in_force():
    settings(strict=True)
    assert not current().strict


def test_one_object_may_be_used_again_and_inside_itself():
    strict = settings(strict=True)
    for _ in range(2):
        with strict:
            with settings(strict=False):
                with strict:
                    assert current().strict
                assert not current().strict
            assert current().strict
        assert not current().strict


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        ({"strict": 1}, TypeError, "settings: strict must be True or False, got 1"),
        ({"strict": "yes"}, TypeError, "settings: strict must be True or False, got 'yes'"),
        ({"simulated_devices": True}, TypeError, "settings: simulated_devices must be an integer, got True"),
        ({"simulated_devices": 2.0}, TypeError, "settings: simulated_devices must be an integer, got 2.0"),
        ({"simulated_devices": 0}, ValueError, "settings: simulated_devices must be in 1..16, got 0"),
        ({"simulated_devices": 17}, ValueError, "settings: simulated_devices must be in 1..16, got 17"),
    ],
)
def test_a_value_that_a_setting_cannot_take_is_refused_before_the_block_and_named(keywords, error, said):
    with pytest.raises(error) as caught:
        settings(**keywords)
    assert str(caught.value) == said


def test_settings_are_keywords_and_unknown_ones_are_refused():
    with pytest.raises(TypeError):
        settings(True)
    with pytest.raises(TypeError):
        settings(stricter=True)


# -- threads and tasks -----------------------------------------------------------------------------------


def in_thread(function):
    """What a function returns in a thread of its own."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_a_new_thread_starts_with_the_settings_of_the_environment():
    with settings(strict=True, simulated_devices=5):
        assert in_thread(current) == _settings._initial


def test_threads_do_not_see_each_others_blocks():
    barrier = threading.Barrier(2, timeout=10)
    seen = {}

    def work(name, strict, devices):
        with settings(strict=strict, simulated_devices=devices):
            barrier.wait()
            seen[name] = current()
            barrier.wait()

    threads = [threading.Thread(target=work, args=args) for args in (("a", True, 2), ("b", False, 3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"a": Settings(True, 2), "b": Settings(False, 3)}
    assert current() == Settings(False, 1)


def test_one_object_may_be_in_force_in_two_threads_at_once():
    # The blocks overlap without nesting: the first in is the first out.
    strict = settings(strict=True)
    inside, entered, left = threading.Event(), threading.Event(), threading.Event()
    failures = []

    def first():
        try:
            with strict:
                inside.set()
                assert entered.wait(10)
            assert current() == _settings._initial
        except Exception as error:
            failures.append(error)
        finally:
            left.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with strict:
        entered.set()
        assert left.wait(10)
        assert current().strict
    thread.join()
    assert not failures
    assert not current().strict


def test_tasks_do_not_see_each_others_blocks_and_inherit_the_one_they_were_made_in():
    async def work(devices):
        inherited = current()
        with settings(simulated_devices=devices):
            for _ in range(3):
                await asyncio.sleep(0)
                assert current() == inherited._replace(simulated_devices=devices)
        assert current() == inherited
        return inherited.strict

    async def main():
        with settings(strict=True):
            tasks = [asyncio.create_task(work(devices)) for devices in (2, 3, 4)]
        assert not current().strict
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [True, True, True]
    assert current() == Settings(False, 1)


# -- environment -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1", "true", "True", "YES", " on "])
def test_these_words_of_the_environment_mean_strict(text):
    assert from_environment({"CANDELA_XP_STRICT": text}) == Settings(strict=True)


@pytest.mark.parametrize("text", ["", "0", "false", "No", "off", "  "])
def test_these_words_of_the_environment_do_not(text):
    assert from_environment({"CANDELA_XP_STRICT": text}) == Settings()


def test_an_empty_environment_gives_the_defaults():
    assert from_environment({}) == Settings(strict=False, simulated_devices=1)


@pytest.mark.parametrize("text", ["2", " 16 ", "01"])
def test_the_environment_counts_devices(text):
    assert from_environment({"CANDELA_XP_SIMULATED_DEVICES": text}).simulated_devices == int(text)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CANDELA_XP_STRICT", "2"),
        ("CANDELA_XP_STRICT", "maybe"),
        ("CANDELA_XP_SIMULATED_DEVICES", "two"),
        ("CANDELA_XP_SIMULATED_DEVICES", "1.5"),
        ("CANDELA_XP_SIMULATED_DEVICES", "²"),
        ("CANDELA_XP_SIMULATED_DEVICES", "-1"),
        ("CANDELA_XP_SIMULATED_DEVICES", "0"),
        ("CANDELA_XP_SIMULATED_DEVICES", "17"),
    ],
)
def test_an_environment_that_a_setting_cannot_take_is_refused_and_named(variable, text):
    with pytest.raises(ValueError) as caught:
        from_environment({variable: text})
    assert text in str(caught.value)
    assert variable.removeprefix("CANDELA_XP_").lower() in str(caught.value).lower()


def in_process(code, **environment):
    """Run Python code in a process of its own, in the directory of the package."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_environment_is_read_at_import():
    done = in_process(
        "from candela_xp._settings import current; print(current())",
        CANDELA_XP_STRICT="1",
        CANDELA_XP_SIMULATED_DEVICES="3",
    )
    assert done.stdout.strip() == "Settings(strict=True, simulated_devices=3)", done.stderr


def test_an_impossible_environment_fails_the_import_with_the_name_of_the_variable():
    done = in_process("import candela_xp", CANDELA_XP_STRICT="perhaps")
    assert done.returncode != 0
    assert "ValueError: CANDELA_XP_STRICT must be 1 or 0, got 'perhaps'" in done.stderr


# -- modes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _modes.CASES)
def test_a_case_passes_in_default_mode_and_is_refused_with_its_way_out_in_strict_mode(name):
    _modes.allow(name, "add: the values")
    with settings(strict=True):
        assert _modes.is_strict()
        with pytest.raises(TypeError) as caught:
            _modes.allow(name, "add: the values")
        assert str(caught.value) == f"add: the values; {_modes.CASES[name].strict}"
    assert not _modes.is_strict()


def test_a_case_that_is_no_row_is_a_mistake_in_either_mode():
    for strict in (False, True):
        with settings(strict=strict), pytest.raises(KeyError):
            _modes.allow("no such case", "add")


def test_every_row_has_a_name_of_its_own_a_default_and_a_way_out():
    assert len(_modes.CASES) == len(_modes._ROWS)
    for name, case in _modes.CASES.items():
        assert case.name == name
        assert case.default
        assert case.strict


def calls_of_allow():
    """(file and line, the name asked for) of every call of `allow` in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
                if called == "allow":
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node.args[0]


def test_every_call_of_allow_names_a_row():
    calls = list(calls_of_allow())
    assert calls
    for place, name in calls:
        assert isinstance(name, ast.Constant), f"{place}: the name of the case should be spelled out"
        assert name.value in _modes.CASES, f"{place}: {name.value!r} is no row of _modes"


def test_every_row_is_asked_for_somewhere():
    asked = {name.value for _, name in calls_of_allow() if isinstance(name, ast.Constant)}
    assert set(_modes.CASES) - asked == set()
