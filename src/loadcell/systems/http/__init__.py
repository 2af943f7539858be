"""HTTP services as a target."""

from loadcell.model import panels, tools
from loadcell.model.extensions import HTTP
from loadcell.model.panels import FactLabels
from loadcell.model.tools import ClientPrograms

# Client programs of HTTP services.
tools.declare(ClientPrograms(HTTP, ("host", "port", "url"), scheme="http", tls_scheme="https"))
panels.declare(FactLabels(("software",)))
