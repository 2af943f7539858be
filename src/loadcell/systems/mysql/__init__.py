"""MariaDB and MySQL as a target: a MariaDB run by loadcell from the machine's binaries, or an existing
server.
"""

from loadcell.model import panels, tools
from loadcell.model.extensions import MYSQL
from loadcell.model.message import MessageCode
from loadcell.model.panels import MIB, DatabaseTables, DipCause, FactLabels, Line, Panel
from loadcell.model.tools import OF_DATABASES, ClientPrograms, JdbcServer

# Client programs of MariaDB and MySQL: the variables of their C client library.
tools.declare(
    ClientPrograms(
        MYSQL,
        OF_DATABASES,
        scheme="mysql",
        variables={"MYSQL_HOST": "host", "MYSQL_TCP_PORT": "port", "MYSQL_UNIX_PORT": "socket"},
        password_variable="MYSQL_PWD",  # noqa: S106 - a name
        jdbc=JdbcServer(("mysql", "mariadb"), ("mysql", "mariadb"), 3306, target="mysql", option="url"),
    )
)
# Panels and tables of the monitor. Waits, log volume and pages read have the panels of all SQL servers.
panels.declare(
    FactLabels(("version_comment",)),
    DatabaseTables("mysql", "mysql.waits", "mysql.statements"),
    Panel("mysql", "axis.row-lock-waits", (
        Line("row_lock_waits", "series.row-lock-waits"),
    ), position=42, least=1, colour=6),
    Panel("mysql", "axis.pages-flushed", (
        Line("pages_flushed", "series.pages-flushed"),
    ), position=43, least=100, colour=6),
    Panel("mysql", "axis.checkpoint-age", (
        Line("checkpoint_age_bytes", "series.checkpoint-age", "max", divide=MIB),
    ), position=44, least=1, colour=6),
    Panel("mysql", "axis.history-list", (
        Line("history_list", "series.history-list", "max"),
    ), position=45, least=100, colour=6),
    DipCause("mysql", "pages_flushed", "page-flushes", MessageCode("with.page-flushes")),
    DipCause("mysql", "checkpoint_age_bytes", "checkpoint-age", MessageCode("with.checkpoint-age")),
    DipCause("mysql", "row_lock_ms", "row-locks", MessageCode("with.row-locks")),
)  # fmt: skip
