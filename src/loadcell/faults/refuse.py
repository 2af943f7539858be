"""`refuse`: new connections of the load are refused, as if nothing listened."""

from __future__ import annotations

from loadcell.faults.carried import PlainCarriedFault


class Refuse(PlainCarriedFault):
    """Refuse new connections of the load."""

    name = "refuse"
    summary = "Refuse new connections; those that are open stay"
    expected_errors = ("connection", "refused", "reset", "08")


PART = Refuse
