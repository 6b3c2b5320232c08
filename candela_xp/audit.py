"""The audit: which other backends the code that runs under it would break on.

``candela_xp.audit()`` is a context manager, and this module is what ``pytest -p candela_xp.audit`` loads.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType, TracebackType

from candela_xp._audit._findings import HARMS, Audit, Certainty, Effect, Finding, Harm, Outcome, Rule
from candela_xp._audit._rules import DEFAULT_BACKENDS
from candela_xp._audit._watch import Watch, start
from candela_xp_pytest import pytest_addoption, pytest_configure

__all__ = [
    "DEFAULT_BACKENDS", "HARMS", "Audit", "Auditing", "Certainty", "Effect", "Finding", "Harm", "Outcome", "Rule",
    "pytest_addoption", "pytest_configure", "start",
]  # fmt: skip


class Auditing:
    """An audit of what runs in a ``with`` block.

    Attributes
    ----------
    result : Audit
        What was found so far; all of it after the block.
    """

    def __init__(self, backends: Sequence[str] | None, since: str | None, data: bool) -> None:
        self._chosen = backends, since, data
        self._watch: Watch | None = None

    @property
    def result(self) -> Audit:
        """What was found so far.

        Raises
        ------
        RuntimeError
            The block wasn't entered yet.
        """
        if self._watch is None:
            raise RuntimeError("audit: nothing was watched yet; use it as `with candela_xp.audit() as audit:`")
        return self._watch.result

    def __enter__(self) -> Auditing:
        """Begin to watch."""
        backends, since, data = self._chosen
        self._watch = start(backends, since=since, data=data)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching, and put everything back."""
        if self._watch is not None:
            self._watch.stop()


class _Callable(ModuleType):
    """A module that is called like the function it stands for."""

    def __call__(
        self, backends: Sequence[str] | None = None, *, since: str | None = None, data: bool = False
    ) -> Auditing:
        """Record what other backends refuse or answer otherwise while a ``with`` block runs.

        Parameters
        ----------
        backends : sequence of str, optional
            Which backends to ask about; by default `DEFAULT_BACKENDS`. An unknown name is an error that lists all.
        since : str, optional
            A revision of the standard such as ``"2022.12"``: functions that came later are found too.
        data : bool, optional
            Whether to look at values too (a divisor of 0, NaN that becomes an integer), which computes what is
            pending.

        Returns
        -------
        Auditing
            To be entered by ``with``; ``result`` holds what was found.

        Raises
        ------
        ValueError
            On entering: a backend or the revision is unknown.
        RuntimeError
            On entering: an audit is on already.

        Examples
        --------
        >>> import candela_xp as xp
        >>> with xp.audit(["jax"]) as audit:
        ...     x = xp.asarray([1.0, 2.0])
        ...     x[0] = 3.0
        >>> [(found.rule.id, found.operation) for found in audit.result.sorted()]
        [('setitem-int', 'float64[2][0] = 3.0')]
        """
        return Auditing(backends, since, data)


sys.modules[__name__].__class__ = _Callable
