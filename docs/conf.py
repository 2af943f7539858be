"""Sphinx: the documentation as HTML (`make docs`)."""

project = "loadcell"
author = "the loadcell authors"
extensions = ["myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
