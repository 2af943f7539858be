"""GlusterFS on this machine: hosts as namespaces, a volume on them, and its mount under a target's data."""

from loadcell.model import panels
from loadcell.model.panels import BrickTables, Line, Panel

panels.declare(
    BrickTables("gluster.bricks", "gluster"),
    Panel("gluster.heal", "axis.entries-to-heal", (
        Line("entries", "series.entries-to-heal", "max"),
    ), position=46, least=1, colour=6),
)  # fmt: skip
