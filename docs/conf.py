"""Sphinx: ``sphinx-build -W docs docs/_build`` makes the pages into a site."""

from importlib.metadata import version as installed

project = "candela_xp"
author = "The candela_xp developers"
release = version = installed("candela_xp")
extensions = ["myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build", "changes"]
myst_heading_anchors = 3
# README and CHANGELOG lie outside the site; tests/test_documentation.py checks that every link leads somewhere.
suppress_warnings = ["myst.xref_missing"]
