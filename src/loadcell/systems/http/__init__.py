"""HTTP services as a target."""

from loadcell.model import client_programs
from loadcell.model.client_programs import ClientPrograms
from loadcell.model.extensions import HTTP

# Client programs of HTTP services.
client_programs.declare(ClientPrograms(HTTP, ("host", "port", "url"), scheme="http", tls_scheme="https"))
