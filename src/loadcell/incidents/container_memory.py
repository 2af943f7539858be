"""A control group at its memory limit: processes are killed, or wait for memory to be reclaimed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.containers import ControlGroups, MemoryLimit
from loadcell.model.message import Bytes, Count, MessageCode, Seconds

SIGNS = MessageCode("incident.container-memory.signs", "info", rate=Count)
_KILLING = MessageCode(
    "incident.container-memory.killing", "info", group=str, count=Count, limit_bytes=Bytes, interval_s=Seconds
)
_KILLED = MessageCode("incident.container-memory.killed", "info", group=str, count=Count, limit_bytes=Bytes)
_RECLAIMING = MessageCode(
    "incident.container-memory.reclaiming",
    "info",
    group=str,
    count=Count,
    limit_bytes=Bytes,
    interval_s=Seconds,
)
_HEALTHY = MessageCode(
    "incident.container-memory.healthy",
    "info",
    count=Count,
    group=str,
    used_bytes=Bytes,
    limit_bytes=Bytes,
)
_NONE = MessageCode("incident.container-memory.none", "info")

#: A group full of caches reaches its limit now and then.
RATE: Final = 10
_MOST: Final = 8


class ContainerMemory(Incident[ControlGroups]):
    name = "container-memory"
    needs = ControlGroups
    stalls = True
    source = "Linux, Documentation/admin-guide/cgroup-v2.rst, memory.events"
    signs = SIGNS(rate=RATE)

    def examine(self, evidence: ControlGroups) -> Iterator[Judgement]:
        diagnoses = [item for group in evidence.memory for item in self._judged(group, evidence)]
        yield from diagnoses[:_MOST]
        if diagnoses:
            return
        if not evidence.memory:
            yield self.healthy(_NONE())
            return
        fullest = max(evidence.memory, key=lambda group: group.used_bytes / group.limit_bytes)
        yield self.healthy(
            _HEALTHY(
                count=len(evidence.memory),
                group=fullest.group,
                used_bytes=fullest.used_bytes,
                limit_bytes=fullest.limit_bytes,
            )
        )

    def _judged(self, group: MemoryLimit, evidence: ControlGroups) -> Iterator[Judgement]:
        about = {"group": group.group, "limit_bytes": group.limit_bytes}
        interval_s = evidence.interval_s
        if group.kills:
            summary = _KILLING(**about, count=group.kills, interval_s=interval_s)
            yield self.diagnosis("critical", "high", summary)
        elif group.all_kills:
            yield self.diagnosis("warning", "high", _KILLED(**about, count=group.all_kills))
        elif group.reached >= RATE * interval_s:
            summary = _RECLAIMING(**about, count=group.reached, interval_s=interval_s)
            yield self.diagnosis("warning", "medium", summary)


PART = ContainerMemory
