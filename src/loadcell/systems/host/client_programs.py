"""Programs that load the machine itself: there is nothing to connect to."""

from loadcell.model.extensions import HOST
from loadcell.model.tools import ClientPrograms, declare

declare(ClientPrograms(HOST))
