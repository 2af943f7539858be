"""A name that one reading of a directory gives twice: an old brick was added again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.gluster import GlusterNames
from loadcell.model.message import Count, MessageCode

SIGNS = MessageCode("incident.gluster-doubled-names.signs", "info")
_SEEN = MessageCode("incident.gluster-doubled-names.seen", "info", count=Count, mount=str, names=list)
_SEEN_PARTLY = MessageCode(
    "incident.gluster-doubled-names.seen-partly", "info", count=Count, mount=str, names=list
)
_SEEN_COUNT = MessageCode("incident.gluster-doubled-names.seen-count", "info", count=Count, mount=str)
_HEALTHY = MessageCode("incident.gluster-doubled-names.healthy", "info", count=Count, mount=str)
_PARTLY = MessageCode("incident.gluster-doubled-names.partly", "info", count=Count, mount=str)

_MOST_NAMED: Final = 4


class GlusterDoubledNames(Incident[GlusterNames]):
    name = "gluster-doubled-names"
    needs = GlusterNames
    source = "GlusterFS Administrator's Guide: Managing Volumes"
    signs = SIGNS()

    def examine(self, evidence: GlusterNames) -> Iterator[Judgement]:
        paths = evidence.doubled
        count = len(paths) + evidence.further_doubled
        if not count:
            about = {"count": evidence.names, "mount": evidence.source}
            yield self.healthy(_HEALTHY(**about)) if evidence.is_all else self.unseen(_PARTLY(**about))
            return
        if not paths:
            yield self.diagnosis("critical", "high", _SEEN_COUNT(count=count, mount=evidence.source))
            return
        code = _SEEN if evidence.is_all else _SEEN_PARTLY
        summary = code(count=count, mount=evidence.source, names=list(dict.fromkeys(paths))[:_MOST_NAMED])
        quotes = [Quote(evidence.source, 0, path) for path in paths]
        yield self.diagnosis("critical", "high", summary, None, quotes)


PART = GlusterDoubledNames
