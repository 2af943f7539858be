"""Embedded stores as a target: key-value engines in the process that makes the load."""

from loadcell.model import panels
from loadcell.model.panels import FactLabels

panels.declare(FactLabels(("library", "files_on_disk")))
