"""Sphinx: ``sphinx-build -W --keep-going -b html docs docs/_build`` makes the pages into a site."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for docs.reference_pages

project = "candela_xp"
author = "The candela_xp developers"
copyright = author
release = version = installed("candela_xp")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.reference_pages"]
exclude_patterns = ["_build", "changes"]
default_role = "code"  # what docstrings put between single backticks is code
nitpicky = False

html_theme = "furo"
html_title = f"candela_xp {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# Short names of types that are long; docs.reference_pages shows them as they are.
autodoc_type_aliases = {name: name for name in ("Axes", "Axis", "Norm", "NumPyArray", "Scalar", "Shape")}
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
