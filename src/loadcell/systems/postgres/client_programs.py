"""Client programs of PostgreSQL: the variables of libpq, which takes a socket's directory as a host."""

from loadcell.model.client_programs import OF_DATABASES, ClientPrograms, declare
from loadcell.model.extensions import POSTGRES

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
