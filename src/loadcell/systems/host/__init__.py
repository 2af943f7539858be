"""The machine itself as a target."""

from loadcell.model import panels, tools
from loadcell.model.extensions import HOST
from loadcell.model.panels import FactLabels, MachineTarget
from loadcell.model.tools import ClientPrograms

# Programs that load the machine itself: there is nothing to connect to.
tools.declare(ClientPrograms(HOST))
panels.declare(FactLabels(("peer",)), MachineTarget(HOST.name))
