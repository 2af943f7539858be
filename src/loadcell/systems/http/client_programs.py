"""Client programs of HTTP services."""

from loadcell.model.client_programs import ClientPrograms, declare
from loadcell.model.extensions import HTTP

declare(ClientPrograms(HTTP, ("host", "port", "url"), scheme="http", tls_scheme="https"))
