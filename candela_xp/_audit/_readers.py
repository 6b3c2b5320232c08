"""Who may still read an array: the variables of the functions under way, as their code goes on, and anything else."""

from __future__ import annotations

from dis import Instruction, get_instructions, opname
from inspect import CO_OPTIMIZED
from sys import getrefcount
from types import CodeType, FrameType
from typing import Any, NamedTuple

_FEW = 16  # elements of a container that are looked at
_OWN_COPY = 3  # references to the variables that a frame copied for us: its own, ours, and the argument of the count
_ENDS = ("RETURN_", "RAISE_VARARGS", "RERAISE")
_GOES_ELSEWHERE = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "JUMP")


class _Step(NamedTuple):
    """An instruction: what it reads, what it writes, and which ones may follow."""

    reads: frozenset[str]
    writes: frozenset[str]
    next: tuple[int, ...]


# By identity; the code is kept, so that no other one gets its identity.
_steps: dict[int, tuple[dict[int, _Step], CodeType]] = {}
_answers: dict[tuple[int, int, str], bool] = {}


def may_be_read(array: Any, frame: FrameType, holders: int, *, written: bool = False) -> bool:
    """Whether an array may be read after what a frame is doing.

    Parameters
    ----------
    array
        What somebody may hold.
    frame
        The user's frame; those that called it are looked at too.
    holders
        How many references there are beside those of the audit.
    written
        Whether the frame writes to this very array, in place. The variable, or the attribute, through which it does
        so is assigned anew and not asked about.

    Returns
    -------
    bool
        False if none but variables of running functions hold it, and none of these functions reads one of them
        before it is assigned anew.
    """
    above: FrameType | None = frame
    while above is not None:
        held, names = _held(array, above)
        if written and above is frame and not (names and _assigns(frame)):
            held += 1  # the attribute, or the element of a container
        if any(_reads(above.f_code, above.f_lasti, name) for name in names):
            return True
        holders -= held
        above = above.f_back
    return holders > 0


def _held(array: Any, frame: FrameType) -> tuple[int, list[str]]:
    """How many references a frame has to an array, and the names of the variables that hold it."""
    code = frame.f_code
    if "locals" in code.co_names:  # up to Python 3.12, looking at the variables would renew the dictionary that it got
        return 0, []
    variables = frame.f_locals
    held = {name: count for name, value in variables.items() if (count := _count(value, array))}
    if code.co_flags & CO_OPTIMIZED and type(variables) is dict and getrefcount(variables) <= _OWN_COPY:
        variables.clear()  # a copy, up to Python 3.12, which would keep the arrays
    # The arguments of f(*args, **options) are copied on their way.
    on_the_way = bool(held) and opname[code.co_code[frame.f_lasti]] == "CALL_FUNCTION_EX"
    return sum(held.values()) + on_the_way, [*held]


def _count(value: Any, array: Any) -> int:
    """How many references a variable gives to an array: itself, or by a small container."""
    if type(value) is dict:
        value = [*value.values()]
    inside = value[:_FEW] if type(value) is tuple or type(value) is list else (value,)
    return sum(each is array for each in inside)


def _assigns(frame: FrameType) -> bool:
    """Whether what a frame is doing ends in an assignment to a variable: ``y += 1`` and not ``y.x += 1``."""
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED:
        return True
    steps = _read(code)
    return any(steps[after].writes for after in steps[frame.f_lasti].next)


def _reads(code: CodeType, place: int, name: str) -> bool:
    """Whether code reads a variable after a place, before it assigns it anew."""
    if not code.co_flags & CO_OPTIMIZED:  # variables of a module may be read by any function
        return True
    key = (id(code), place, name)
    if key not in _answers:
        steps = _read(code)
        # The place may be a cache that follows the instruction.
        left, seen = [*steps[max(at for at in steps if at <= place)].next], {place}
        _answers[key] = False
        while left:
            at = left.pop()
            if at in seen or at not in steps:
                continue
            seen.add(at)
            step = steps[at]
            if name in step.reads:
                _answers[key] = True
                break
            if name not in step.writes:
                left += step.next
    return _answers[key]


def _read(code: CodeType) -> dict[int, _Step]:
    """The instructions of a function by offset."""
    found = _steps.get(id(code))
    if found is None:
        instructions = list(get_instructions(code))
        steps = {each.offset: _step(each, after) for each, after in zip(instructions, [*instructions[1:], None])}
        found = _steps[id(code)] = steps, code
    return found[0]


def _step(each: Instruction, after: Instruction | None) -> _Step:
    name, value = each.opname, each.argval
    # A name such as STORE_FAST_LOAD_FAST has as many variables.
    kinds = [part for part in name.split("_") if part in ("LOAD", "STORE", "DELETE")]
    names = value if isinstance(value, tuple) else (value,) * len(kinds)
    variables = list(zip(kinds, names)) if "FAST" in name or "DEREF" in name or "CLOSURE" in name else []
    following = [] if name.startswith(_ENDS) or name in _GOES_ELSEWHERE or after is None else [after.offset]
    if "JUMP" in name or name in ("FOR_ITER", "SEND"):
        following.append(value)
    return _Step(
        frozenset(str(variable) for kind, variable in variables if kind == "LOAD"),
        frozenset(str(variable) for kind, variable in variables if kind != "LOAD"),
        tuple(following),
    )
