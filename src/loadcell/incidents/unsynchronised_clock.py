"""A clock that nobody corrects: no service sets it, or the kernel regards it as not synchronised."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.clocks import NOT_RECORDED, Clocks
from loadcell.model.message import MessageCode

SIGNS = MessageCode("incident.unsynchronised-clock.signs", "info")
_NO_SERVICE = MessageCode("incident.unsynchronised-clock.no-service", "info")
_HIDDEN = MessageCode("incident.unsynchronised-clock.hidden", "info")
_SERVICES = MessageCode("incident.unsynchronised-clock.services", "info", services=list)
_HEALTHY = MessageCode("incident.unsynchronised-clock.healthy", "info")
_NOT_ASKED = MessageCode("incident.unsynchronised-clock.not-asked", "info")


class UnsynchronisedClock(Incident[Clocks]):
    name = "unsynchronised-clock"
    needs = Clocks
    source = "adjtimex(2): STA_UNSYNC"
    signs = SIGNS()
    remedies = ("no-service", "hidden", "services")

    def examine(self, evidence: Clocks) -> Iterator[Judgement]:
        services = [*evidence.services, *evidence.guest_tools]
        if not evidence.has_services:
            yield self.unseen(NOT_RECORDED())
        elif evidence.is_synchronised is None:
            yield self.unseen(_NOT_ASKED())
        elif evidence.is_synchronised:
            yield self.healthy(_HEALTHY())
        elif services:
            yield self.diagnosis("note", "medium", _SERVICES(services=services), remedy="services")
        elif evidence.has_hidden:
            yield self.diagnosis("note", "low", _HIDDEN(), remedy="hidden")
        else:
            yield self.diagnosis("note", "high", _NO_SERVICE(), remedy="no-service")


PART = UnsynchronisedClock
