"""Client programs of PostgreSQL: the variables of libpq, which takes a socket's directory as a host."""

from loadcell.model.extensions import POSTGRES
from loadcell.model.tools import OF_DATABASES, ClientPrograms, declare

declare(
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
    )
)  # fmt: skip
