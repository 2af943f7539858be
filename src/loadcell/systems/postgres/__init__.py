"""PostgreSQL as a target: run by loadcell from its own or the machine's binaries, or an existing server."""

from loadcell.model import panels, tools
from loadcell.model.extensions import POSTGRES
from loadcell.model.panels import KIB, MIB, DatabaseTables, FactLabels, Line, Panel
from loadcell.model.tools import OF_DATABASES, ClientPrograms, JdbcServer

# Client programs of PostgreSQL: the variables of libpq, which takes a socket's directory as a host.
tools.declare(
    ClientPrograms(
        POSTGRES,
        OF_DATABASES,
        scheme="postgresql",
        variables={
            "PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "database",
            "PGSSLMODE": "sslmode", "PGSSLROOTCERT": "sslrootcert", "PGOPTIONS": "options",
        },
        password_variable="PGPASSWORD",  # noqa: S106 - a name
        socket_as_host=True,
        jdbc=JdbcServer(("postgresql",), ("postgres",), 5432, target="postgres", option="dsn"),
    )
)  # fmt: skip

# Panels and tables of PostgreSQL: waits of its sessions, WAL, blocks read, and lags of standbys.
panels.declare(
    FactLabels(("version_number",)),
    DatabaseTables("postgres", "postgres.waits", "postgres.statements"),
    # a line for each kind of wait of the run
    Panel("waits", "axis.waits", (), position=30, stacked=True, least=1, legend_below=True, checkpoints=True),
    Panel("server", "axis.wal", (
        Line("wal_bytes_per_s", "series.wal", divide=MIB),
    ), position=40, least=1, checkpoints=True, colour=6),
    Panel("server", "axis.blocks-read", (
        Line("blocks_read_per_s", "series.read"),
    ), position=41, least=100, checkpoints=True, colour=6),
    Panel("postgres.replication", "axis.replay-lag-kib", (
        Line("replay_lag_bytes", "", "max", divide=KIB),
    ), position=87, least=64, by="standby"),
    Panel("postgres.replication", "axis.replay-lag-ms", (
        Line("replay_lag_ms", "", "max"),
    ), position=88, least=1, by="standby"),
)  # fmt: skip
