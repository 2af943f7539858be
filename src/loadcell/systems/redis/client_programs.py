"""Client programs of Redis and compatible servers."""

from loadcell.model.client_programs import OF_DATABASES, ClientPrograms, declare
from loadcell.model.extensions import RESP

declare(
    ClientPrograms(RESP, OF_DATABASES, scheme="redis", password_variable="REDISCLI_AUTH")  # noqa: S106 - a name
)
