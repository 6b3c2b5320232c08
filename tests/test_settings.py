"""Settings and modes: nesting, threads, tasks, deferral, environment; and the table of cases against the source."""

from __future__ import annotations

import ast
import asyncio
import contextvars
import gc
import inspect
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import candela_xp
import candela_xp as xp
from candela_xp import _modes, _settings, settings
from candela_xp._revisions import REVISIONS
from candela_xp._settings import Settings, current, from_environment

PACKAGE = Path(candela_xp.__file__).parent


@pytest.fixture(autouse=True)
def _defaults():
    """Known settings, whatever the environment of the test run says."""
    with settings(strict=False, simulated_devices=1):
        yield


@pytest.fixture
def floors(monkeypatch):
    """A floor that no other block of the test run lowers, with 1000 as the initial value."""
    monkeypatch.setattr(_settings, "_floors", {0: 1000})
    monkeypatch.setattr(_settings, "defer_floor", 1000)


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
        ({"defer_min_bytes": -1}, ValueError, "settings: defer_min_bytes must be at least 0, got -1"),
        ({"defer_min_bytes": False}, TypeError, "settings: defer_min_bytes must be an integer, got False"),
        ({"threads": 0}, ValueError, "settings: threads must be in 1..256, got 0"),
        ({"threads": 257}, ValueError, "settings: threads must be in 1..256, got 257"),
        ({"threads": True}, TypeError, "settings: threads must be an integer, got True"),
        ({"block_elements": 0}, ValueError, "settings: block_elements must be in 1..16777216, got 0"),
        ({"block_elements": 2**24 + 1}, ValueError, "settings: block_elements must be in 1..16777216, got 16777217"),
        ({"block_elements": "8"}, TypeError, "settings: block_elements must be an integer, got '8'"),
        ({"pool_bytes": -5}, ValueError, "settings: pool_bytes must be at least 0, got -5"),
        ({"pool_bytes": 1e9}, TypeError, "settings: pool_bytes must be an integer, got 1000000000.0"),
    ],
)
def test_a_value_that_a_setting_cannot_take_is_refused_before_the_block_and_named(keywords, error, said):
    with pytest.raises(error) as caught:
        settings(**keywords)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "keywords",
    [
        {"defer_min_bytes": 0},
        {"defer_min_bytes": 2**70},
        {"threads": 1},
        {"threads": 256},
        {"block_elements": 1},
        {"block_elements": 2**24},
        {"pool_bytes": 0},
        {"pool_bytes": 2**40},
    ],
)
def test_the_least_and_the_greatest_value_are_taken(keywords):
    (name, value), *_ = keywords.items()
    before = current()
    with settings(**keywords):
        assert current() == before._replace(**{name: value})
    assert current() == before


def test_the_defaults_are_values_that_the_settings_take():
    defaults = Settings()
    assert defaults.checked() == defaults
    for name in ("defer_min_bytes", "block_elements"):
        default = getattr(defaults, name)
        assert f"| {name} | CANDELA_XP_{name.upper()} | {default} |" in _settings.__doc__
        assert f" {default} by default" in inspect.getdoc(settings)
    assert 0 < defaults.pool_bytes <= 2**29


def test_the_default_number_of_threads_is_that_of_the_cpus_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert _settings._usable_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(1000)))
    assert _settings._usable_cpus() == 256
    monkeypatch.delattr(os, "sched_getaffinity")
    for found, said in ((8, 8), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda found=found: found)
        assert _settings._usable_cpus() == said


def test_the_pool_keeps_an_eighth_of_a_small_memory_and_half_a_gibibyte_where_the_memory_is_unknown(monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__, raising=False)
    assert _settings._pool_share() == 4096 * 125
    pages["SC_PHYS_PAGES"] = 2**30
    assert _settings._pool_share() == 2**29
    pages["SC_PHYS_PAGES"] = -1  # what sysconf says where it doesn't know
    assert _settings._pool_share() == 2**29
    monkeypatch.delattr(os, "sysconf")
    assert _settings._pool_share() == 2**29


def test_every_setting_is_a_keyword_and_is_documented_with_its_variable():
    said = inspect.getdoc(settings)
    assert set(inspect.signature(settings).parameters) == set(Settings._fields)
    for name in Settings._fields:
        assert f"| {name} | CANDELA_XP_{name.upper()} |" in _settings.__doc__
        assert f"\n{name} : " in said
        assert f"CANDELA_XP_{name.upper()}" in said


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
    before = current()
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
    initial = _settings._initial
    assert seen == {
        "a": initial._replace(strict=True, simulated_devices=2),
        "b": initial._replace(strict=False, simulated_devices=3),
    }
    assert current() == before


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
    before = current()

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
    assert current() == before


# -- the floor of deferral -------------------------------------------------------------------------------


def test_the_floor_is_the_smallest_value_of_any_open_block(floors):
    def seen():
        return _settings.defer_floor

    with settings(defer_min_bytes=500):
        assert seen() == 500
        with settings(defer_min_bytes=2000), settings(strict=True):  # an inner block doesn't end the outer one
            assert seen() == 500
            assert current().defer_min_bytes == 2000
            with settings(defer_min_bytes=0):
                assert seen() == 0
            assert seen() == 500
        with settings(defer_min_bytes=500):
            pass
        assert seen() == 500
    assert seen() == 1000
    with settings(defer_min_bytes=5000):
        assert seen() == 1000


def test_the_floor_counts_the_blocks_of_all_threads_until_the_last_is_left(floors):
    before = current()
    inside, leave = threading.Barrier(4, timeout=10), threading.Barrier(2, timeout=10)

    def work(value, leave):
        with settings(defer_min_bytes=value):
            inside.wait()
            leave.wait()

    first = threading.Thread(target=work, args=(10, leave))
    others = [threading.Thread(target=work, args=(10, later := threading.Barrier(3, timeout=10)))]
    others.append(threading.Thread(target=work, args=(20, later)))
    for thread in (first, *others):
        thread.start()
    inside.wait()
    assert current() == before
    assert _settings.defer_floor == 10
    leave.wait()
    first.join()
    assert _settings.defer_floor == 10
    later.wait()
    for thread in others:
        thread.join()
    assert _settings.defer_floor == 1000


def test_the_floor_stays_down_for_a_context_that_outlives_its_block(floors):
    with settings(defer_min_bytes=3):
        context = contextvars.copy_context()
    assert current().defer_min_bytes != 3
    assert context.run(current).defer_min_bytes == 3
    assert _settings.defer_floor == 3
    del context
    assert _settings.defer_floor == 1000


def test_settings_that_someone_keeps_do_not_hold_the_floor_down(floors):
    with settings(defer_min_bytes=3) as kept:
        also = current()
    assert kept == also
    assert _settings.defer_floor == 1000


def test_a_generator_left_open_and_closed_elsewhere_disturbs_no_other_block(floors):
    def within(value):
        with settings(defer_min_bytes=value):
            yield _settings.defer_floor

    before = current()
    context = contextvars.copy_context()
    generator = within(4)
    assert context.run(next, generator) == 4
    assert _settings.defer_floor == 4
    thread = threading.Thread(target=generator.close)  # a context without any block
    thread.start()
    thread.join()
    assert in_thread(current) == _settings._initial
    assert current() == before
    assert context.run(current).defer_min_bytes == 4  # it is still open there
    del context
    assert _settings.defer_floor == 1000


def test_a_generator_in_garbage_lets_the_floor_up_again(floors):
    def within(value):
        with settings(defer_min_bytes=value):
            yield

    def leave_open():
        generator = within(6)
        next(generator)
        circle = [generator]
        circle.append(circle)

    context = contextvars.copy_context()
    context.run(leave_open)
    assert _settings.defer_floor == 6
    del context
    gc.collect()
    assert _settings.defer_floor == 1000


def test_the_floor_holds_while_many_threads_enter_and_leave(floors):
    failures = []

    def work(value):
        for _ in range(300):
            with settings(defer_min_bytes=value):
                if _settings.defer_floor > value:
                    failures.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert _settings.defer_floor == 1000


def test_a_block_that_is_never_left_is_no_trouble_at_exit():
    done = in_process("import candela_xp\ncandela_xp.settings(defer_min_bytes=0, threads=2).__enter__()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_floor_starts_at_what_the_environment_says():
    done = in_process("from candela_xp import _settings; print(_settings.defer_floor)", CANDELA_XP_DEFER_MIN_BYTES="77")
    assert done.stdout.strip() == "77", done.stderr


# -- who is told -----------------------------------------------------------------------------------------


def test_listeners_hear_of_another_pool_size_at_both_ends_of_a_block_and_of_nothing_else(monkeypatch):
    heard = []
    monkeypatch.setattr(_settings, "on_change", [heard.append])
    before = current()
    with settings(strict=True, threads=1):
        assert not heard
        with settings(pool_bytes=5) as chosen, settings(pool_bytes=5):
            assert heard == [chosen]
    assert heard == [chosen, before._replace(strict=True, threads=1)]


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
        ("CANDELA_XP_DEFER_MIN_BYTES", "-1"),
        ("CANDELA_XP_DEFER_MIN_BYTES", "2e6"),
        ("CANDELA_XP_THREADS", "0"),
        ("CANDELA_XP_THREADS", "257"),
        ("CANDELA_XP_THREADS", "true"),
        ("CANDELA_XP_BLOCK_ELEMENTS", "0"),
        ("CANDELA_XP_BLOCK_ELEMENTS", "16777217"),
        ("CANDELA_XP_POOL_BYTES", "1 GB"),
    ],
)
def test_an_environment_that_a_setting_cannot_take_is_refused_and_named(variable, text):
    with pytest.raises(ValueError) as caught:
        from_environment({variable: text})
    assert str(caught.value).startswith(f"{variable} must be ")
    assert str(caught.value).endswith(f", got {text.lower()!r}")


@pytest.mark.parametrize("name", ["defer_min_bytes", "threads", "block_elements", "pool_bytes"])
def test_the_environment_gives_integers_and_an_empty_variable_the_default(name):
    variable = f"CANDELA_XP_{name.upper()}"
    assert from_environment({variable: " 7 "}) == Settings()._replace(**{name: 7})
    assert from_environment({variable: " "}) == Settings()


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
    assert done.stdout.startswith("Settings(strict=True, simulated_devices=3, "), done.stderr


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


# -- what users of array-api-strict know -----------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_api_version_is_the_revision_of_the_namespace_that_arrays_give(revision):
    x = xp.asarray([1.0])
    with settings(api_version=revision):
        assert x.__array_namespace__().__array_api_version__ == revision
        assert x.__array_namespace__(api_version="2022.12").__array_api_version__ == "2022.12"
    assert x.__array_namespace__().__array_api_version__ == REVISIONS[-1]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x[x > 1],
        lambda x: x[x > 1, ...],
        lambda x: x[np.asarray([True, False])],
        lambda x: x[[True, False]],
        lambda x: x.__setitem__(x > 1, 0.0),
    ],
)
def test_masks_are_refused_where_boolean_indexing_is_off(use):
    x = xp.asarray([1.0, 2.0])
    with settings(boolean_indexing=False), pytest.raises(RuntimeError) as caught:
        use(x)
    assert str(caught.value) == "index: the key holds a boolean mask, which settings(boolean_indexing=False) refuses"
    assert x[1] == 2.0
    use(x)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("nonzero", xp.nonzero),
        ("unique_all", xp.unique_all),
        ("unique_counts", xp.unique_counts),
        ("unique_inverse", xp.unique_inverse),
        ("unique_values", xp.unique_values),
        ("repeat", lambda x: xp.repeat(x, xp.asarray([1, 2]))),
    ],
)
def test_shapes_that_follow_from_values_are_refused_where_they_are_off(name, use):
    x = xp.asarray([1.0, 2.0])
    with settings(data_dependent_shapes=False), pytest.raises(RuntimeError) as caught:
        use(x)
    assert str(caught.value).startswith(f"{name}: the shape of the result follows from ")
    assert str(caught.value).endswith(", which settings(data_dependent_shapes=False) refuses")
    use(x)


def test_masks_and_other_shapes_from_values_are_refused_apart():
    x = xp.asarray([1.0, 2.0])
    with settings(data_dependent_shapes=False):
        assert x[x > 1].shape == (1,)
        assert xp.repeat(x, 2).shape == (4,)
        assert xp.count_nonzero(x) == 2
        assert xp.isin(xp.asarray([1]), xp.asarray([1]))
    with settings(boolean_indexing=False):
        assert xp.nonzero(x)[0].shape == (2,)
        assert x[xp.asarray([0])].shape == (1,)


def test_capabilities_are_those_of_the_settings():
    with settings(boolean_indexing=False, data_dependent_shapes=False):
        told = xp.__array_namespace_info__().capabilities()
    assert (told["boolean indexing"], told["data-dependent shapes"]) == (False, False)
    told = xp.__array_namespace_info__().capabilities()
    assert (told["boolean indexing"], told["data-dependent shapes"]) == (True, True)


@pytest.mark.parametrize("namespace", [xp, xp.v2022_12, xp.v2025_12])
def test_namespaces_have_the_extensions_that_are_chosen(namespace):
    linalg, fft = namespace.linalg, namespace.fft
    with settings(extensions=("linalg",)):
        assert namespace.linalg is linalg
        assert not hasattr(namespace, "fft")
        with pytest.raises(AttributeError, match=r"has no 'fft' under settings\(extensions=\('linalg',\)\)"):
            namespace.fft  # noqa: B018
        with settings(extensions=()):
            assert not hasattr(namespace, "linalg")
        assert namespace.linalg is linalg
    assert (namespace.linalg, namespace.fft) == (linalg, fft)
    assert not hasattr(xp.v2021_12, "fft")


def test_other_threads_keep_their_extensions():
    with settings(extensions=()), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: hasattr(xp, "linalg")).result()
        assert not hasattr(xp, "linalg")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"api_version": "2020.12"}, ValueError, "api_version must be one of 2021.12, "),
        ({"extensions": ("random",)}, ValueError, "extensions must be of linalg, fft, got 'random'"),
        ({"extensions": "linalg"}, TypeError, "extensions must be a tuple of names, got 'linalg'"),
        ({"boolean_indexing": 1}, TypeError, "boolean_indexing must be True or False, got 1"),
        ({"data_dependent_shapes": "no"}, TypeError, "data_dependent_shapes must be True or False, got 'no'"),
    ],
)
def test_these_settings_refuse_what_they_cannot_take(given, error, message):
    with pytest.raises(error) as caught:
        settings(**given)
    assert str(caught.value).startswith(f"settings: {message}")


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("API_VERSION", "2023.12", {"api_version": "2023.12"}),
        ("BOOLEAN_INDEXING", "0", {"boolean_indexing": False}),
        ("DATA_DEPENDENT_SHAPES", "false", {"data_dependent_shapes": False}),
        ("EXTENSIONS", "linalg", {"extensions": ("linalg",)}),
        ("EXTENSIONS", "fft, linalg", {"extensions": ("fft", "linalg")}),
        ("EXTENSIONS", "none", {"extensions": ()}),
        ("EXTENSIONS", "", {}),
        ("BOOLEAN_INDEXING", "", {}),
    ],
)
def test_the_environment_says_these_too(variable, text, expected):
    assert from_environment({f"CANDELA_XP_{variable}": text}) == Settings()._replace(**expected)


@pytest.mark.parametrize(("variable", "text"), [("API_VERSION", "2020"), ("EXTENSIONS", "linalg,random")])
def test_an_environment_of_unknown_names_is_refused(variable, text):
    with pytest.raises(ValueError, match=rf"^CANDELA_XP_{variable} must be .*, got '{text}'$"):
        from_environment({f"CANDELA_XP_{variable}": text})


def test_extensions_of_the_environment_are_gone_from_the_start():
    code = "import candela_xp as xp; print(hasattr(xp, 'linalg'), hasattr(xp, 'fft'), hasattr(xp.v2023_12, 'fft'))"
    done = in_process(code, CANDELA_XP_EXTENSIONS="linalg")
    assert done.stdout.split() == ["True", "False", "False"], done.stderr
