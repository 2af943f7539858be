"""MariaDB and MySQL as a target: a MariaDB run by loadcell from the machine's binaries, or an existing
server.
"""

from loadcell.model import client_programs
from loadcell.model.client_programs import OF_DATABASES, ClientPrograms
from loadcell.model.extensions import MYSQL

# Client programs of MariaDB and MySQL: the variables of their C client library.
client_programs.declare(
    ClientPrograms(
        MYSQL,
        OF_DATABASES,
        scheme="mysql",
        variables={"MYSQL_HOST": "host", "MYSQL_TCP_PORT": "port", "MYSQL_UNIX_PORT": "socket"},
        password_variable="MYSQL_PWD",  # noqa: S106 - a name
    )
)
