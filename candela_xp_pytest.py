"""The options of the audit for pytest; nothing else happens, and nothing else is imported, unless one is given.

A module beside the package and not in it: pytest imports the plugins of all that is installed each time it starts, and
a module of `candela_xp` would bring the library and NumPy with it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

PLUGIN = "candela_xp.audit"
"""Name of the entry point, for ``pytest -p candela_xp.audit``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("candela_xp", "portability audit of code that uses candela_xp arrays")
    group.addoption(
        "--audit-report",
        metavar="FILE",
        action="append",
        default=[],
        help="write a report on what other array libraries refuse or answer otherwise: "
        ".html, .json, .sarif or .txt; repeatable",
    )
    group.addoption("--audit-backends", metavar="NAMES", help="ask about these only, such as torch,jax")
    group.addoption("--audit-since", metavar="REVISION", help="also find what is newer than this revision: 2022.12")
    group.addoption("--audit-data", action="store_true", help="also look at values, which computes what is deferred")
    group.addoption("--audit-fail-on", metavar="NAMES", help="fail if one of these backends would differ")


def pytest_configure(config: pytest.Config) -> None:
    """Start the audit if it is asked for: by any of its options, or by name with -p."""
    option = config.option
    asked = (
        option.audit_report
        or option.audit_backends is not None
        or option.audit_since is not None
        or option.audit_data
        or option.audit_fail_on is not None
        or PLUGIN in option.plugins
    )
    if asked:
        from candela_xp._audit._plugin import Plugin

        config.pluginmanager.register(Plugin(config), "candela_xp.audit.recorder")
