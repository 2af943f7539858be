"""Panels and tables of PostgreSQL: waits of its sessions, WAL and blocks read."""

from loadcell.model.panels import MIB, DatabaseTables, Line, Panel, declare

declare(
    DatabaseTables("postgres", "postgres.waits", "postgres.statements"),
    # a line for each kind of wait of the run
    Panel("waits", "axis.waits", (), position=30, stacked=True, least=1, legend_below=True, checkpoints=True),
    Panel("server", "axis.wal", (
        Line("wal_bytes_per_s", "series.wal", divide=MIB),
    ), position=40, least=1, checkpoints=True, colour=6),
    Panel("server", "axis.blocks-read", (
        Line("blocks_read_per_s", "series.read"),
    ), position=41, least=100, checkpoints=True, colour=6),
)  # fmt: skip
