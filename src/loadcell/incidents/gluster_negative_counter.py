"""A counter of open files that went below zero: it looks like a leak, and is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.gluster import GlusterVolume
from loadcell.model.message import Count, Message, MessageCode

SIGNS = MessageCode("incident.gluster-negative-counter.signs", "info")
_SEEN = MessageCode(
    "incident.gluster-negative-counter.seen", "info", bricks=list, volume=str, value=str, below=Count
)
_HEALTHY = MessageCode("incident.gluster-negative-counter.healthy", "info", count=Count, volume=str)
_NO_BRICK = MessageCode("incident.gluster-negative-counter.no-brick", "info", volume=str)

_SIGN_BIT: Final = 1 << 63
_MOST_NAMED: Final = 4


class GlusterNegativeCounter(Incident[GlusterVolume]):
    name = "gluster-negative-counter"
    needs = GlusterVolume
    source = "GlusterFS, xlators/debug/io-stats: an unsigned number of 64 bits without a check for zero"
    signs = SIGNS()

    def examine(self, evidence: GlusterVolume) -> Iterator[Judgement]:
        counters = evidence.open_files
        if isinstance(counters, Message):
            yield self.unseen(counters)
            return
        if not counters:
            yield self.unseen(_NO_BRICK(volume=evidence.source))
            return
        negative = [(brick, count) for brick, count in counters if count >= _SIGN_BIT]
        if not negative:
            most = max(count for _, count in counters)
            yield self.healthy(_HEALTHY(count=most, volume=evidence.source))
            return
        summary = _SEEN(
            bricks=[brick for brick, _ in negative[:_MOST_NAMED]],
            volume=evidence.source,
            value=str(negative[0][1]),
            below=(1 << 64) - negative[0][1],
        )
        yield self.diagnosis("note", "high", summary)


PART = GlusterNegativeCounter
