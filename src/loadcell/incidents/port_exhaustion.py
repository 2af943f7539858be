"""Connections from one address to one destination that use up the ephemeral ports: the next one has none."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.connections import Connections
from loadcell.model.message import Count, MessageCode, Share

SIGNS = MessageCode("incident.port-exhaustion.signs", "info", used_share=Share, critical_share=Share)
_SEEN = MessageCode(
    "incident.port-exhaustion.seen",
    "info",
    source=str,
    destination=str,
    used=Count,
    ports=Count,
    used_share=Share,
    waiting=Count,
)
_HEALTHY = MessageCode(
    "incident.port-exhaustion.healthy",
    "info",
    source=str,
    destination=str,
    used=Count,
    ports=Count,
    waiting=Count,
)
_NO_CONNECTION = MessageCode("incident.port-exhaustion.no-connection", "info", ports=Count, waiting=Count)

SHARE, CRITICAL_SHARE = 0.75, 0.95


class PortExhaustion(Incident[Connections]):
    name = "port-exhaustion"
    needs = Connections
    source = "ip(7): ip_local_port_range; connect(2): EADDRNOTAVAIL"
    signs = SIGNS(used_share=SHARE, critical_share=CRITICAL_SHARE)

    def examine(self, evidence: Connections) -> Iterator[Judgement]:
        ports = max(1, evidence.ephemeral_ports)
        full = [item for item in evidence.destinations if item.used >= SHARE * ports]
        for item in full:
            share = min(1.0, item.used / ports)
            summary = _SEEN(
                source=item.source,
                destination=item.address,
                used=item.used,
                ports=ports,
                used_share=share,
                waiting=item.waiting,
            )
            yield self.diagnosis("critical" if share >= CRITICAL_SHARE else "warning", "high", summary)
        if not full:
            most = max(evidence.destinations, key=lambda item: item.used, default=None)
            if most is None:
                yield self.healthy(_NO_CONNECTION(ports=ports, waiting=evidence.waiting))
                return
            yield self.healthy(
                _HEALTHY(
                    source=most.source,
                    destination=most.address,
                    used=most.used,
                    ports=ports,
                    waiting=evidence.waiting,
                )
            )


PART = PortExhaustion
