"""What was seen: uses are judged by the rules, and what they meet is kept by rule, file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from candela_xp._array import NDArray
from candela_xp._audit._conditions import Use
from candela_xp._audit._events import expand, newer_than
from candela_xp._audit._findings import Audit, Finding, Rule
from candela_xp._audit._origins import Origins
from candela_xp._audit._rules import HELPED, Row, known, measured, newer, select
from candela_xp._audit._sites import told_apart
from candela_xp._dtypes import DType
from candela_xp._revisions import REVISIONS

_CONVERSIONS = ("__int__", "__float__", "__index__")
_FEW = 8  # parts of a tuple that its signature tells apart


_SIGNS: dict[type, Callable[[Any], Any]] = {
    int: lambda value: "negative" if value < 0 else int,
    tuple: lambda value: (tuple, len(value) > 1, *map(sign, value[:_FEW])),
    list: lambda value: (list, len(value) > 1, *map(sign, value[:_FEW])),
    slice: lambda value: "reversed" if type(value.step) is int and value.step < 0 else slice,
    bool: lambda value: value,
    str: lambda value: value,
    DType: lambda value: value.name,
}


def sign(value: Any) -> Any:
    """What steady conditions go by, as something to look up by."""
    kind = type(value)
    if kind is NDArray:
        view = value._view
        return value._dtype.number * 100 + (len(value.shape) if view is None else view.ndim)
    of = _SIGNS.get(kind)
    return kind if of is None else of(value)


# What holds at a place, and what depends on more: rules with the conditions that are still to be asked.
Judged = tuple[list[Finding], list[tuple[Rule, list[Callable[[Use], bool]]]]]


class Event:
    """One thing that is watched.

    Attributes
    ----------
    name
        The function, operator or attribute.
    rows
        The rules about it.
    parameters
        What its arguments are called.
    """

    def __init__(self, name: str, rows: Sequence[Row], recorder: Recorder) -> None:
        self.name = name
        self.rows = rows
        self.parameters: tuple[str, ...] = ()
        self._recorder = recorder
        self._converts = name in _CONVERSIONS
        self._judged: dict[Any, Judged] = {}

    def seen(
        self,
        frame: FrameType,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        held: int = 0,
        helped: bool = False,
        through_numpy: str = "",
    ) -> None:
        """Judge a use, before it takes place: once for each place and signature, as far as it follows from these.

        Parameters
        ----------
        frame
            The user's.
        args, kwargs
            The arguments.
        held
            See `Use`.
        helped
            Whether array-api-compat or array-api-extra called.
        through_numpy
            See `Use`.
        """
        key = (id(frame.f_code), frame.f_lasti, *map(sign, args))
        if kwargs:
            key += (*kwargs, *map(sign, kwargs.values()))
        if helped or through_numpy:
            key += (helped, through_numpy)
        if self._converts:
            self._recorder.converted_at = frame.f_code, frame.f_lineno
        judged = self._judged.get(key)
        if judged is None or judged[1]:
            recorder = self._recorder
            last = recorder.converted_at
            use = Use(self.name, self.parameters, args, kwargs, frame, recorder.origins, held, through_numpy, last)
            if judged is None:
                judged = self._judged[key] = self._judge(use, helped)
            for rule, conditions in judged[1]:
                try:
                    for condition in conditions:
                        if not condition(use):
                            break
                    else:
                        recorder.finding(rule, use).hits += 1
                except Exception:  # as in _holds; its call would double the time
                    pass
        for finding in judged[0]:
            finding.hits += 1

    def _judge(self, use: Use, helped: bool) -> Judged:
        sure: list[Finding] = []
        left = []
        chosen = told_apart(use.frame.f_code)
        for rule, _, conditions in self.rows:
            if rule.group in HELPED and (helped or chosen.issuperset(rule.outcomes)):
                continue
            if all(_holds(condition.holds, use) for condition in conditions if condition.steady):
                fleeting = [condition.holds for condition in conditions if not condition.steady]
                if fleeting:
                    left.append((rule, fleeting))
                else:
                    sure.append(self._recorder.finding(rule, use))
        return sure, left


def _holds(test: Callable[[Use], bool], use: Use) -> bool:
    """Whether a condition holds; arguments that the function itself will refuse may be beyond its understanding."""
    try:
        return test(use)
    except Exception:
        return False


class Recorder:
    """An audit under way.

    Attributes
    ----------
    result
        What was found so far.
    events
        What is watched, by name.
    """

    def __init__(self, backends: Sequence[str] | None, *, since: str | None, data: bool) -> None:
        chosen = known(backends)
        if since is not None and since not in REVISIONS:
            raise ValueError(f"audit: revision {since!r} is unknown; there are {', '.join(REVISIONS)}")
        rows = select(chosen, data=data)
        if since is not None:
            rows.append(Row(newer(since), tuple(newer_than(since)), ()))
        self.result = Audit(chosen, {name: measured().versions[name] for name in chosen})
        self.origins = Origins()
        self.converted_at: tuple[Any, int] | None = None
        self._findings: dict[tuple[str, str, int], Finding] = {}
        by_event: dict[str, list[Row]] = {}
        for row in rows:
            for name in expand(row.on):
                by_event.setdefault(name, []).append(row)
        self.events = {name: Event(name, its, self) for name, its in by_event.items()}

    def finding(self, rule: Rule, use: Use) -> Finding:
        """The finding of a rule at a place, made if it is the first."""
        file, line = use.frame.f_code.co_filename, use.frame.f_lineno
        found = self._findings.get((rule.id, file, line))
        if found is None:
            found = self._findings[rule.id, file, line] = Finding(rule, file, line, 0, shown(use))
            self.result.findings.append(found)
        return found


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_PATTERNS = {
    "__getitem__": "{}[{}]",
    "__setitem__": "{}[{}] = {}",
    "__array__": "numpy.asarray({})",
    "__buffer__": "numpy.asarray({})",  # from Python 3.12 on NumPy asks for this first
    "dtype.__eq__": "{} == {}",
    "dtype.__str__": "str({})",
    "dtype.__hash__": "hash({})",
    **{f"__{name}__": f"{{}} {symbol} {{}}" for name, symbol in _SYMBOLS.items()},
    **{f"__r{name}__": f"{{1}} {symbol} {{0}}" for name, symbol in _SYMBOLS.items()},
    **{f"__i{name}__": f"{{}} {symbol}= {{}}" for name, symbol in _SYMBOLS.items()},
}


def shown(use: Use) -> str:
    """A use as an example: name, dtypes and shapes."""
    arguments = [_shown(value) for value in use.arguments.values()]
    name = use.event
    if name in _PATTERNS:
        return _PATTERNS[name].format(*arguments)
    if name.startswith((".", "dtype.")):
        return f"{arguments[0]}.{name.rpartition('.')[2]}"
    return f"{name.strip('_')}({', '.join(arguments)})"


def _shown(value: Any) -> str:
    if isinstance(value, NDArray | np.ndarray):
        whose = "" if isinstance(value, NDArray) else "numpy "
        return f"{whose}{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple | list):
        inside = ", ".join(map(_shown, value[:_FEW])) + (", …" if len(value) > _FEW else "")
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        parts = [value.start, value.stop] if value.step is None else [value.start, value.stop, value.step]
        return ":".join("" if part is None else _shown(part) for part in parts)
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str):
        return repr(value)[:80]
    return str(value) if isinstance(value, DType) else type(value).__name__
