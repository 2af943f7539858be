"""loadcell: controlled performance experiments, and what their numbers mean."""

from loadcell import lazy

__version__ = "0.1.0"

lazy.install()
