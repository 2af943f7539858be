"""Directories of mode 0000 that belong to root: a heal or a rebalance lost owner and mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.gluster import GlusterNames
from loadcell.model.message import Count, MessageCode

SIGNS = MessageCode("incident.gluster-lost-modes.signs", "info")
_SEEN = MessageCode("incident.gluster-lost-modes.seen", "info", count=Count, mount=str, names=list)
_SEEN_PARTLY = MessageCode(
    "incident.gluster-lost-modes.seen-partly", "info", count=Count, mount=str, names=list
)
_SEEN_COUNT = MessageCode("incident.gluster-lost-modes.seen-count", "info", count=Count, mount=str)
_HEALTHY = MessageCode("incident.gluster-lost-modes.healthy", "info", count=Count, mount=str)
_PARTLY = MessageCode("incident.gluster-lost-modes.partly", "info", count=Count, mount=str)

_MOST_NAMED: Final = 4


class GlusterLostModes(Incident[GlusterNames]):
    name = "gluster-lost-modes"
    needs = GlusterNames
    source = "GlusterFS Administrator's Guide: Managing Volumes"
    signs = SIGNS()

    def examine(self, evidence: GlusterNames) -> Iterator[Judgement]:
        paths = evidence.without_mode
        count = len(paths) + evidence.further_without_mode
        if not count:
            about = {"count": evidence.directories, "mount": evidence.source}
            yield self.healthy(_HEALTHY(**about)) if evidence.is_all else self.unseen(_PARTLY(**about))
            return
        if not paths:
            yield self.diagnosis("critical", "high", _SEEN_COUNT(count=count, mount=evidence.source))
            return
        code = _SEEN if evidence.is_all else _SEEN_PARTLY
        summary = code(count=count, mount=evidence.source, names=list(dict.fromkeys(paths))[:_MOST_NAMED])
        quotes = [Quote(evidence.source, 0, path) for path in paths]
        yield self.diagnosis("critical", "high", summary, None, quotes)


PART = GlusterLostModes
