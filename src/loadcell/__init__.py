"""loadcell: controlled performance experiments, and what their numbers mean."""

__version__ = "0.1.0"
