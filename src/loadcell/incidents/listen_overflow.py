"""Connections that a server does not accept in time: the kernel drops them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.connections import Connections, ListenQueue
from loadcell.model.message import Count, MessageCode, Seconds

SIGNS = MessageCode("incident.listen-overflow.signs", "info", rate=Count)
_SEEN = MessageCode("incident.listen-overflow.seen", "info", count=Count, interval_s=Seconds, queues=list)
_FULL = MessageCode("incident.listen-overflow.full", "info", queues=list)
_HEALTHY = MessageCode(
    "incident.listen-overflow.healthy",
    "info",
    interval_s=Seconds,
    total=Count,
    count=Count,
    length=Count,
    limit=Count,
)
_NO_COUNTER = MessageCode("incident.listen-overflow.no-counter", "info")

CRITICAL_RATE: Final = 10
_MOST_NAMED: Final = 5


class ListenOverflow(Incident[Connections]):
    name = "listen-overflow"
    needs = Connections
    source = "listen(2); Linux, net/ipv4/tcp_ipv4.c, ListenOverflows"
    signs = SIGNS(rate=CRITICAL_RATE)

    def examine(self, evidence: Connections) -> Iterator[Judgement]:
        fullest = sorted(evidence.queues, key=_filled, reverse=True)
        full = [queue for queue in fullest if queue.is_full]
        if evidence.dropped:
            is_critical = evidence.dropped >= CRITICAL_RATE * evidence.interval_s
            queues = _named(full or [queue for queue in fullest if queue.length][:1])
            summary = _SEEN(count=evidence.dropped, interval_s=evidence.interval_s, queues=queues)
            yield self.diagnosis("critical" if is_critical else "warning", "high", summary)
        elif full:
            yield self.diagnosis("warning", "high", _FULL(queues=_named(full)))
        elif evidence.dropped is None or evidence.all_dropped is None:
            yield self.unseen(_NO_COUNTER())
        else:
            longest = fullest[0] if fullest else ListenQueue(0, 0, 0)
            yield self.healthy(
                _HEALTHY(
                    interval_s=evidence.interval_s,
                    total=evidence.all_dropped,
                    count=len(fullest),
                    length=longest.length,
                    limit=longest.limit,
                )
            )


def _filled(queue: ListenQueue) -> float:
    return queue.length / queue.limit if queue.limit else 0.0


def _named(queues: list[ListenQueue]) -> list[str]:
    return [f":{queue.port} {queue.length}/{queue.limit}" for queue in queues[:_MOST_NAMED]] or ["–"]


PART = ListenOverflow
