"""A rebalance that needs weeks at its rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.gluster import GlusterVolume
from loadcell.model.message import Message, MessageCode, Rate, Seconds

SIGNS = MessageCode("incident.gluster-slow-rebalance.signs", "info", limit_s=Seconds)
_SEEN = MessageCode(
    "incident.gluster-slow-rebalance.seen",
    "info",
    volume=str,
    running_s=Seconds,
    left_s=Seconds,
    scanned_per_s=Rate,
)
_HEALTHY = MessageCode("incident.gluster-slow-rebalance.healthy", "info", volume=str, left_s=Seconds)
_UNKNOWN = MessageCode("incident.gluster-slow-rebalance.unknown", "info", volume=str)
_NONE = MessageCode("incident.gluster-slow-rebalance.none", "info", volume=str)

LIMIT_S: Final = 7 * 86_400.0


class GlusterSlowRebalance(Incident[GlusterVolume]):
    name = "gluster-slow-rebalance"
    needs = GlusterVolume
    source = "GlusterFS Administrator's Guide: Rebalancing volumes"
    signs = SIGNS(limit_s=LIMIT_S)

    def examine(self, evidence: GlusterVolume) -> Iterator[Judgement]:
        rebalance = evidence.rebalance
        if isinstance(rebalance, Message):
            yield self.unseen(rebalance)
        elif rebalance is None:
            yield self.healthy(_NONE(volume=evidence.source))
        elif rebalance.left_s is None:
            yield self.unseen(_UNKNOWN(volume=evidence.source))
        elif rebalance.left_s < LIMIT_S:
            yield self.healthy(_HEALTHY(volume=evidence.source, left_s=rebalance.left_s))
        else:
            summary = _SEEN(
                volume=evidence.source,
                running_s=rebalance.running_s,
                left_s=rebalance.left_s,
                scanned_per_s=rebalance.scanned / max(1.0, rebalance.running_s),
            )
            yield self.diagnosis("warning", "medium", summary)


PART = GlusterSlowRebalance
