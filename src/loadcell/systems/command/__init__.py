"""Servers that a command of the plan starts."""

from loadcell.model import panels
from loadcell.model.message import Bytes
from loadcell.model.panels import FactLabels, FactUnit

panels.declare(
    FactLabels(("command", "directory", "files")),
    FactUnit(Bytes, ("files.*.size_bytes",)),
)
