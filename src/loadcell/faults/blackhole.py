"""`blackhole`: what load and target send to each other never arrives."""

from __future__ import annotations

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER
from loadcell.faults.carried import PlainCarriedFault


class Blackhole(PlainCarriedFault):
    """Swallow all bytes of the load."""

    name = "blackhole"
    summary = "Swallow all bytes in both directions; connections stay open"
    stops_load = True
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)


PART = Blackhole
