"""Programs that load the machine itself: there is nothing to connect to."""

from loadcell.model.client_programs import ClientPrograms, declare
from loadcell.model.extensions import HOST

declare(ClientPrograms(HOST))
