"""Services that set the clock, and their servers: one of each that disagrees makes the clock step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.clocks import NOT_RECORDED, STEP_S, Clocks, TimeServer
from loadcell.model.message import Count, Message, MessageCode, Seconds

SIGNS = MessageCode("incident.time-services.signs", "info", step_s=Seconds)
_TWO = MessageCode("incident.time-services.two", "info", count=Count, services=list)
_OUTLIERS = MessageCode(
    "incident.time-services.outliers",
    "info",
    count=Count,
    names=list,
    outliers=Count,
    difference_s=Seconds,
)
_UNDECIDED = MessageCode("incident.time-services.undecided", "info", names=list, difference_s=Seconds)
_OFF = MessageCode("incident.time-services.off", "info", count=Count, difference_s=Seconds)
_REFUSED = MessageCode("incident.time-services.refused", "info", names=list, reason=Message)
_HEALTHY = MessageCode(
    "incident.time-services.healthy", "info", services=list, count=Count, difference_s=Seconds
)
_ALONE = MessageCode("incident.time-services.alone", "info", services=list)
_NONE = MessageCode("incident.time-services.none", "info")
_HIDDEN = MessageCode("incident.time-services.hidden", "info")


@dataclass(frozen=True)
class _Timed:
    """A server that gave the time."""

    name: str
    offset_s: float


class TimeServices(Incident[Clocks]):
    name = "time-services"
    needs = Clocks
    source = "RFC 8633: one client, at least four servers"
    signs = SIGNS(step_s=STEP_S)

    def examine(self, evidence: Clocks) -> Iterator[Judgement]:
        if not evidence.has_services:
            yield self.unseen(NOT_RECORDED())
            return
        timed = [
            _Timed(server.name, server.offset_s) for server in evidence.servers if server.offset_s is not None
        ]
        diagnoses = [*self._services(evidence), *self._servers(timed)]
        yield from diagnoses
        yield from self._refusals(evidence.servers)
        if diagnoses:
            return
        if not evidence.services and evidence.has_hidden:
            yield self.unseen(_HIDDEN())
        elif not evidence.services:
            yield self.healthy(_NONE())
        elif not timed:
            yield self.healthy(_ALONE(services=evidence.services))
        else:
            yield self.healthy(
                _HEALTHY(services=evidence.services, count=len(timed), difference_s=_spread(timed))
            )

    def _services(self, evidence: Clocks) -> Iterator[Judgement]:
        if len(evidence.services) > 1:
            summary = _TWO(count=len(evidence.services), services=evidence.services)
            yield self.diagnosis("warning", "high", summary)

    def _servers(self, timed: list[_Timed]) -> Iterator[Judgement]:
        if not timed:
            return
        if _spread(timed) <= STEP_S:
            difference_s = abs(median(server.offset_s for server in timed))
            if difference_s > STEP_S:
                summary = _OFF(count=len(timed), difference_s=difference_s)
                yield self.diagnosis("warning", "high", summary)
            return
        middle_s = median(server.offset_s for server in timed)
        outliers = [server for server in timed if abs(server.offset_s - middle_s) > STEP_S]
        if not outliers or len(outliers) * 2 >= len(timed):
            names = [server.name for server in timed]
            yield self.diagnosis("warning", "high", _UNDECIDED(names=names, difference_s=_spread(timed)))
            return
        summary = _OUTLIERS(
            count=len(timed),
            names=[server.name for server in outliers],
            outliers=len(outliers),
            difference_s=max(abs(server.offset_s - middle_s) for server in outliers),
        )
        yield self.diagnosis("warning", "high", summary)

    def _refusals(self, servers: tuple[TimeServer, ...]) -> Iterator[Judgement]:
        by_reason: dict[str, tuple[Message, list[str]]] = {}
        for server in servers:
            if server.reason is not None:
                by_reason.setdefault(server.reason.text, (server.reason, []))[1].append(server.name)
        for reason, names in by_reason.values():
            yield self.unseen(_REFUSED(names=names, reason=reason))


def _spread(timed: list[_Timed]) -> float:
    offsets = [server.offset_s for server in timed]
    return max(offsets) - min(offsets)


PART = TimeServices
