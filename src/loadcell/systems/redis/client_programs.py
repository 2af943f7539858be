"""Client programs of Redis and compatible servers."""

from loadcell.model.extensions import RESP
from loadcell.model.tools import OF_DATABASES, ClientPrograms, declare

declare(
    ClientPrograms(RESP, OF_DATABASES, scheme="redis", password_variable="REDISCLI_AUTH")  # noqa: S106 - a name
)
