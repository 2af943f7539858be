"""Entries of a volume whose copies differ, each claiming to be right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.gluster import GlusterVolume
from loadcell.model.message import Count, Message, MessageCode

SIGNS = MessageCode("incident.gluster-split-brain.signs", "info")
_SEEN = MessageCode("incident.gluster-split-brain.seen", "info", count=Count, volume=str, names=list)
_AT_LEAST = MessageCode("incident.gluster-split-brain.at-least", "info", count=Count, volume=str, names=list)
_HEALTHY = MessageCode(
    "incident.gluster-split-brain.healthy", "info", volume=str, connected=Count, bricks=Count
)
_NO_COPIES = MessageCode("incident.gluster-split-brain.no-copies", "info", volume=str)
_NO_BRICK = MessageCode("incident.gluster-split-brain.no-brick", "info", volume=str, bricks=Count)

_MOST_NAMED: Final = 4


class GlusterSplitBrain(Incident[GlusterVolume]):
    name = "gluster-split-brain"
    needs = GlusterVolume
    source = "GlusterFS Administrator's Guide: Split brain and the ways to deal with it"
    signs = SIGNS()

    def examine(self, evidence: GlusterVolume) -> Iterator[Judgement]:
        entries = evidence.split_brain
        if isinstance(entries, Message):
            yield self.unseen(entries)
            return
        if entries is None:
            yield self.healthy(_NO_COPIES(volume=evidence.source))
            return
        if not entries and not evidence.connected:
            yield self.unseen(_NO_BRICK(volume=evidence.source, bricks=evidence.bricks))
            return
        if not entries:
            yield self.healthy(
                _HEALTHY(volume=evidence.source, connected=evidence.connected, bricks=evidence.bricks)
            )
            return
        code = _AT_LEAST if evidence.has_more else _SEEN
        summary = code(count=len(entries), volume=evidence.source, names=entries[:_MOST_NAMED])
        quotes = [Quote("heal info split-brain", 0, entry) for entry in entries]
        yield self.diagnosis("critical", "high", summary, None, quotes)


PART = GlusterSplitBrain
