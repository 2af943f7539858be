"""Servers that a command of the plan starts."""

from loadcell.model import panels
from loadcell.model.panels import FactLabels

panels.declare(FactLabels(("command", "directory", "files")))
