"""`reset`: connections of the load end by a reset (RST)."""

from __future__ import annotations

from loadcell.faults.base import CONNECTION_LOST
from loadcell.faults.carried import PlainCarriedFault


class Reset(PlainCarriedFault):
    """Reset the connections of the load."""

    name = "reset"
    summary = "Reset the connections of the load, and new ones as long as it lasts"
    stops_load = True
    expected_errors = (*CONNECTION_LOST, "http-502")


PART = Reset
