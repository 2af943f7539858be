"""MariaDB and MySQL as a target: a MariaDB run by loadcell from the machine's binaries, or an existing
server.
"""

from loadcell.model import panels, tools
from loadcell.model.extensions import MYSQL
from loadcell.model.panels import FactLabels
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
panels.declare(FactLabels(("version_comment",)))
