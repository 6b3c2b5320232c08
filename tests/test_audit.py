"""The audit: where findings are, what it leaves alone, and that nothing stays behind."""

from __future__ import annotations

import functools
import inspect
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from processes import in_process

import candela_xp as xp
from candela_xp import _dtypes
from candela_xp._audit import _rules, _watch
from candela_xp._audit._findings import HARMS, Outcome
from candela_xp._revisions import MEMBERS

HERE = str(Path(__file__))
SQRT = xp.sqrt  # before any audit


def rules(audit, line=None):
    """The ids of the rules that were met in this file, or on one line of it."""
    found = [each for each in audit.result.findings if each.file == HERE]
    return {each.rule.id for each in found if line is None or each.line == line}


def here():
    """The line after the call."""
    return inspect.currentframe().f_back.f_lineno + 1


def run(code, name):
    """Run code as if it stood in a file of that name."""
    exec(compile(code, name, "exec"), {"xp": xp, "x": xp.asarray([1.0, 2.0, 3.0])})


# -- where ---------------------------------------------------------------------------------------------


def test_a_finding_tells_the_line_the_hits_and_an_example():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.audit(["jax"]) as audit:
        for i in range(3):
            line = here()
            x[i] = 0.0
    (found,) = audit.result.findings
    assert (found.file, found.line, found.hits) == (HERE, line, 3)
    assert found.operation == "float64[3][0] = 0.0"
    assert found.rule.id == "setitem-int"
    assert found.rule.outcomes.keys() == {"jax"}


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        ("x[5:]", "float64[3][5:]"),
        ("x[:9:2]", "float64[3][:9:2]"),
        ("xp.asarray([1], dtype=xp.int32) / 2", "int32[1] / 2"),
        ("2 / xp.asarray([1], dtype=xp.int32)", "2 / int32[1]"),
        ("xp.sqrt(xp.asarray([4]))", "sqrt(int64[1])"),
        ("xp.zeros((1,), dtype=xp.float64, device='cpu')", "zeros((1,), float64, 'cpu')"),
        ("xp.asarray([[1.0, 2.0]] * 2).mT", "float64[2, 2].mT"),
    ],
)
def test_an_example_shows_dtypes_and_shapes(use, shown):
    with xp.audit(list(_rules.measured().versions)) as audit:
        run(use, "<a use>")
    assert shown in {each.operation for each in audit.result.findings}


@pytest.mark.parametrize("package", ["array_api_compat", "array_api_extra"])
def test_what_helpers_do_is_told_of_the_line_that_called_them(package):
    namespace = {}
    code = "def helper(x):\n    return x + 1\n"
    exec(compile(code, f"/somewhere/{package}/_lib/_funcs.py", "exec"), namespace)
    x = xp.asarray([1], dtype=xp.uint16)
    with xp.audit(["torch"]) as audit:
        line = here()
        namespace["helper"](x)
    assert rules(audit, line) == {"uint16-arith"}
    assert len(audit.result.findings) == 1


def test_what_helpers_write_is_their_own_choice():
    namespace = {}
    code = "def set(x):\n    x[0] = 1.0\n    return bool(x[0] > 0)\n"
    exec(compile(code, "/vendored/array_api_extra/_lib/_at.py", "exec"), namespace)
    with xp.audit() as audit:
        namespace["set"](xp.asarray([1.0], dtype=xp.float64))
    assert not {"setitem-int", "bool-if"} & rules(audit)


def test_functools_and_contextlib_are_passed():
    @functools.singledispatch
    def root(x):
        return xp.sqrt(x)

    with xp.audit(["torch"]) as audit:
        root(xp.asarray([4]))
    assert rules(audit) == {"sqrt-int"}


def test_what_the_library_does_inside_is_no_finding():
    x = xp.asarray([[4.0, 1.0], [1.0, 3.0]])
    with xp.audit(list(_rules.measured().versions)) as audit:
        repr(x)
        xp.linalg.vector_norm(x)
        xp.linalg.matrix_rank(x)
        xp.fft.fftshift(x)
        xp.unstack(x)
    assert rules(audit) == set()


def test_threads_are_watched_too():
    def work():
        xp.sqrt(xp.asarray([4]))

    with xp.audit(["torch"]) as audit:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert rules(audit) == {"sqrt-int"}


def test_names_that_were_imported_before_are_watched():
    before = SQRT
    with xp.audit(["torch"]) as audit:
        SQRT(xp.asarray([4]))
    assert rules(audit) == {"sqrt-int"}
    assert SQRT is before is xp.sqrt


# -- what is left as it was --------------------------------------------------------------------------------


def state():
    """All that hooks may replace."""
    namespaces = [vars(module) for module in _watch._namespaces()]
    return [{**vars(xp.NDArray)}, {**vars(_dtypes.DType)}, *({**each} for each in namespaces)]


def test_everything_is_put_back():
    before = state()
    with xp.audit():
        assert state() != before
    assert state() == before


def test_everything_is_put_back_after_an_exception():
    before = state()
    with pytest.raises(ZeroDivisionError), xp.audit() as audit:
        xp.sqrt(xp.asarray([4]))
        raise ZeroDivisionError
    assert state() == before
    assert "sqrt-int" in rules(audit)


def test_an_audit_that_cannot_begin_leaves_nothing_behind(monkeypatch):
    before = state()
    monkeypatch.setattr(_watch.Watch, "_functions", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _watch.start()
    monkeypatch.undo()
    assert state() == before
    with xp.audit():
        pass


def test_a_function_taken_during_an_audit_works_after_it():
    with xp.audit(["torch"]) as audit:
        taken = xp.sqrt
    assert float(taken(xp.asarray(4.0))) == 2.0
    taken(xp.asarray([4]))
    assert rules(audit) == set()


def test_what_is_watched_still_is_what_it_was():
    with xp.audit():
        assert inspect.signature(xp.sqrt) == inspect.signature(SQRT)
        assert pickle.loads(pickle.dumps(xp.sqrt)) is xp.sqrt
        assert xp.sqrt.__doc__ == SQRT.__doc__
        with pytest.raises(AttributeError, match="'NDArray' object has no attribute 'astype'"):
            xp.asarray(1.0).astype  # noqa: B018
        with pytest.raises(AttributeError, match="module 'candela_xp' has no attribute 'median'"):
            xp.median  # noqa: B018
        with pytest.raises(TypeError, match="unhashable type: 'NDArray'"):
            hash(xp.asarray(1.0))
        with pytest.raises(TypeError, match="__array_ufunc__=None"):
            np.sin(xp.asarray(1.0))
        assert (np.float64(2) * xp.asarray([1.0])).dtype == xp.float64
        assert xp.asarray([1.0]).shape == (1,)
        assert xp.v2022_12.linalg.inv(xp.eye(2)).shape == (2, 2)


def test_results_are_the_same_under_an_audit():
    def program():
        x = xp.asarray(np.linspace(0, 1, 12).reshape(3, 4))
        x[0, :] = x[1, :]
        y = x[:, 1:] * 2 + xp.sum(x, axis=0)[1:]
        y += 1
        mask = y > 2
        return [np.asarray(each).tolist() for each in (x, y, y[mask], xp.linalg.svdvals(y), xp.sort(y))]

    expected = program()
    with xp.audit(list(_rules.measured().versions), data=True):
        assert program() == expected


def test_pending_arrays_stay_pending_unless_values_are_asked_for():
    with xp.settings(defer_min_bytes=0):
        x = xp.asarray([1.0, 2.0])
        with xp.audit():
            y = x + 1.0
            y + y
            assert y._node is not None


def test_nothing_of_the_audit_is_imported_before_it_is_asked_for():
    done = in_process(
        "import sys, candela_xp; print([n for n in sys.modules if '_audit' in n]); candela_xp.audit;"
        "print('candela_xp.audit' in sys.modules)"
    )
    assert done.stdout.split("\n")[:2] == ["[]", "True"], done.stderr


# -- asking -------------------------------------------------------------------------------------------------


def test_one_audit_at_a_time():
    with xp.audit(), pytest.raises(RuntimeError, match="one is on already"), xp.audit():
        pass
    with xp.audit():
        pass


def test_unknown_backends_and_revisions_are_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"backend 'tensorflow' is unknown; there are numpy, array_api_strict, torch"):
        _watch.start(["tensorflow"])
    with pytest.raises(ValueError, match=r"revision '2019.12' is unknown; there are 2021.12, 2022.12"):
        _watch.start(since="2019.12")


def test_the_result_is_there_after_the_block_was_entered():
    audit = xp.audit()
    with pytest.raises(RuntimeError, match=r"with candela_xp\.audit"):
        audit.result  # noqa: B018


def test_the_audit_tells_backends_and_versions():
    with xp.audit(["torch", "jax", "torch"]) as audit:
        pass
    assert audit.result.backends == ("torch", "jax")
    assert audit.result.versions == {name: _rules.measured().versions[name] for name in ("torch", "jax")}


def test_only_rules_by_which_a_chosen_backend_does_otherwise_are_met():
    with xp.audit(["torch"]) as audit:
        xp.asarray([1.0, 2.0])[0] = 1.0
    assert "setitem-int" not in rules(audit)


def test_the_refusals_of_array_api_strict_are_no_findings_unless_asked_for():
    x = xp.asarray([[1.0, 2.0]])
    with xp.audit() as audit:
        x[0]
    assert rules(audit) == set()
    with xp.audit(["array_api_strict"]) as audit:
        x[0]
    assert rules(audit) == {"too-few-indices"}


def test_names_that_came_after_a_revision_are_found():
    x = xp.asarray([1.0, 2.0])
    with xp.audit(["torch"], since="2022.12") as audit:
        xp.maximum(x, x)
        xp.add(x, x)
    (found,) = audit.result.findings
    assert found.rule.id == "newer-name"
    assert found.operation == "maximum(float64[2], float64[2])"
    since = {member.since for member in MEMBERS if member.name == "maximum"}
    assert min(since) > "2022.12"


def test_values_are_looked_at_on_request_only():
    x, minus = xp.asarray([1, 2]), xp.asarray([-1, 1])
    with xp.audit(["torch"]) as audit, pytest.raises(ValueError, match="negative power"):
        x**minus
    assert "int-pow-negative" not in rules(audit)
    with xp.audit(["torch"], data=True) as audit, pytest.raises(ValueError, match="negative power"):
        x**minus
    assert "int-pow-negative" in rules(audit)


# -- aliasing ---------------------------------------------------------------------------------------------


def double(values):
    values *= 2
    return values


@pytest.mark.parametrize(
    ("code", "met"),
    [
        ("y = x\ny += 1", {"iadd-alias"}),
        ("kept = [x]\nx += 1", {"iadd-alias"}),
        ("def f(v):\n    v += 1\nf(x)", {"iadd-alias"}),
        ("def f(v):\n    v += 1\nf(x * 2)", set()),
        ("def f(v):\n    v += 1\ndef g(*a):\n    f(*a)\nfor i in range(9): g(x * 2)", set()),
        ("def f(v):\n    v += 1\ndef g(*a):\n    f(*a)\ng(x)", {"iadd-alias"}),
        ("x += 1", set()),
        ("x[0:2] += 1", set()),
        ("(x * 2).__iadd__(1)", set()),
        ("y = x[1:]\ny += 1", {"alias-slice"}),
        ("y = x[1:]\nx += 1", {"alias-slice"}),
        ("y = x[1:][1:]\ny += 1", {"alias-slice"}),
        ("y = x[1:]\ndel x\ny += 1", set()),
        ("y = x[:1]\nz = x[2:]\ndel x\ny += 1", set()),
        ("y = x[:2]\nz = x[1:]\ndel x\ny += 1", {"alias-slice"}),
        ("y = xp.reshape(x, (3, 1))\ny += 1", {"alias-reshape"}),
        ("y = xp.flip(x)\ny += 1", {"alias-flip"}),
        ("y = xp.asarray(x)\ny += 1", {"alias-asarray"}),
        ("y = x[1:] * 1\ny += 1", set()),
        ("import numpy\nn = numpy.ones(3)\ny = xp.asarray(n)\ny += 1", {"asarray-ndarray-alias"}),
        ("import numpy\nn = numpy.ones(3)\ny = xp.asarray(n)\nz = y[1:]\ndel n\ny += 1", {"alias-slice"}),
        ("import numpy\nn = numpy.ones(4)\ny = xp.asarray(n[::2])\ndel n\ny += 1", set()),
        ("import numpy\ny = xp.asarray(numpy.ones(3))\ny += 1", set()),
        ("y = x[xp.asarray([0, 1])]\ny += 1", set()),
    ],
)
def test_writing_is_a_finding_where_another_array_sees_it(code, met):
    with xp.audit(["jax"]) as audit:
        run(code, "<writes>")
    found = {each.rule.id for each in audit.result.findings if each.rule.certainty == "aliasing possible"}
    assert found == met


@pytest.mark.parametrize(
    ("body", "met"),
    [
        ("y = v\n    y += 1\n    return v", {"iadd-alias"}),
        ("y = v\n    y += 1\n    return y", set()),
        ("y = v\n    y += 1\n    v = y * 2\n    return v", set()),
        ("y = v\n    for _ in range(2):\n        y += 1\n        z = v + 1\n        v = y", {"iadd-alias"}),
        ("kept = [v]\n    v += 1\n    return kept", {"iadd-alias"}),
        ("kept = [v]\n    v += 1\n    return v", set()),
        ("xp.kept = v\n    v += 1\n    del xp.kept", {"iadd-alias"}),
        ("y = v[1:]\n    y += 1\n    return v", {"alias-slice"}),
        ("y = v[1:]\n    y += 1\n    return y", set()),
        ("y = v[1:]\n    v += 1\n    return y if xp else v", {"alias-slice"}),
        ("y = v[1:]\n    v[0] = 1.0\n    return v", set()),
        ("def g(w):\n        w += 1\n        return w\n    v = g(v)\n    return v", set()),
        ("def g(w):\n        w += 1\n        return w\n    return g(v) + v", {"iadd-alias"}),
        (
            "def g(*w):\n        return h(*w, **{})\n    def h(w):\n        w += 1\n        return w\n    return g(v)",
            set(),
        ),
        ("y = xp.reshape(v, (3,))\n    y[0] = 1.0\n    return v", {"alias-setitem"}),
        ("y = xp.reshape(v, (3,))\n    y[0] = 1.0\n    return y", set()),
        ("v = xp.reshape(v, (3,))\n    v[0] = 1.0\n    return v", set()),
        ("class C:\n        pass\n    C.a = v\n    C.a += 1\n    return C", set()),
    ],
)
def test_writing_is_no_finding_where_nobody_reads_the_other_name_afterwards(body, met):
    with xp.audit(["jax"]) as audit:
        run(f"def f(v):\n    {body}\nf(x[:] * 1)", "<reads>")
    found = {each.rule.id for each in audit.result.findings if each.rule.certainty == "aliasing possible"}
    assert found == met


def test_looking_for_readers_leaves_the_dictionary_of_locals_alone():
    def write(values):
        kept = locals()
        kept.pop("values")
        values += 1
        return kept

    x = xp.asarray([1.0, 2.0])
    with xp.audit(["jax"]) as audit:
        assert write(x) == {}
    assert "iadd-alias" in rules(audit)


@pytest.mark.parametrize(
    ("code", "met"),
    [
        ("x[x > 1].shape", True),
        ("(x[x > 1] + 1).shape", True),
        ("xp.sum(x[x > 1], axis=0, keepdims=True).shape", False),
        ("xp.searchsorted(x[x > 1], x).shape", False),
        ("xp.searchsorted(x, x[x > 1]).shape", True),
    ],
)
def test_a_shape_that_follows_from_values_is_followed(code, met):
    with xp.audit(["dask"]) as audit:
        run(code, "<unknown>")
    assert ("masked-shape-int" in {each.rule.id for each in audit.result.findings}) is met


@pytest.mark.parametrize(
    ("asks", "met"),
    [
        ("is_lazy_array", {"f32-plus-f64-0d", "i32-plus-i64-0d"}),
        ("is_jax_array", {"bool-if", "f32-plus-f64-0d", "i32-plus-i64-0d"}),
        ("is_numpy_array", {"bool-if", "setitem-int", "f32-plus-f64-0d", "i32-plus-i64-0d"}),
    ],
)
def test_a_function_that_tells_backends_apart_suits_them(asks, met):
    code = f"""def {asks}(x):
    return True
def f(x):
    if {asks}(x) and x[0] > 0:
        x[0] = 1.0
    xp.astype(x, xp.float32) + x[0]
    return xp.ones(2, dtype=xp.int32) + xp.ones((), dtype=xp.int64)
f(x)"""
    with xp.audit(["torch", "jax", "jax_jit", "dask"]) as audit:
        run(code, "<asks>")
    assert {each.rule.id for each in audit.result.findings} - {"default-float-data"} == met


def test_an_array_of_no_elements_asks_for_a_namespace_and_not_for_a_dtype():
    with xp.audit(["torch"]) as audit:
        xp.empty(0)
        assert not rules(audit)
        xp.empty(1)
    assert rules(audit) == {"default-float"}


def test_arrays_that_are_gone_are_forgotten():
    x = xp.asarray([1.0, 2.0, 3.0])
    watch = _watch.start(["jax"])
    try:
        for _ in range(20_000):
            x[1:]
        origins = watch._recorder.origins
        assert len(origins._made) < 10_000
        assert all(len(over) < 200 for over in origins._over.values())
    finally:
        watch.stop()


# -- harm ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "effect", "detail", "harm"),
    [
        ("float64 [1]", "differs", "float64 [2]", "silent value"),
        ("float64 [1]", "differs", "float32 [1]", "silent dtype"),
        ("raises IndexError: 3", "differs", "float64 [1]", "error or value"),
        ("float64 [1]", "refuses", "TypeError: no", "refused"),
        ("float64 [1]", "recomputes", "again", "recomputed"),
    ],
)
def test_harm_follows_from_what_was_measured(reference, effect, detail, harm):
    assert _rules.harm(reference, {"torch": Outcome(effect, detail)}) == harm
    assert harm in HARMS


def test_the_most_harmful_findings_come_first():
    x = xp.asarray([1.0, 2.0])
    with xp.audit(["jax", "torch"]) as audit:
        x[0] = 1.0
        y = x
        y += 1
        xp.sqrt(xp.asarray([1]))
    ranks = [HARMS.index(each.rule.harm) for each in audit.result.sorted()]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1
