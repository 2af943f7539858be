"""Services on the JVM that loadcell starts, or that are already running."""

from loadcell.model import panels
from loadcell.model.message import Bytes
from loadcell.model.panels import FactLabels, FactUnit

panels.declare(
    FactLabels(("java", "vendor", "collector", "compressed_oops", "heap_max_bytes", "pid", "service")),
    FactUnit(Bytes, ("heap_max_bytes",)),
)
