"""Client programs of MariaDB and MySQL: the variables of their C client library."""

from loadcell.model.extensions import MYSQL
from loadcell.model.tools import OF_DATABASES, ClientPrograms, declare

declare(
    ClientPrograms(
        MYSQL,
        OF_DATABASES,
        scheme="mysql",
        variables={"MYSQL_HOST": "host", "MYSQL_TCP_PORT": "port", "MYSQL_UNIX_PORT": "socket"},
        password_variable="MYSQL_PWD",  # noqa: S106 - a name
    )
)
