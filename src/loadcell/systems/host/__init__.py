"""The machine itself as a target."""

from loadcell.model import client_programs
from loadcell.model.client_programs import ClientPrograms
from loadcell.model.extensions import HOST

# Programs that load the machine itself: there is nothing to connect to.
client_programs.declare(ClientPrograms(HOST))
