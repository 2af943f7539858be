"""Client programs of HTTP services."""

from loadcell.model.extensions import HTTP
from loadcell.model.tools import ClientPrograms, declare

declare(ClientPrograms(HTTP, ("host", "port", "url"), scheme="http", tls_scheme="https"))
