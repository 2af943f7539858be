"""Names that a directory gives, but whose file cannot be read: it is on another brick than its hash says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import MOST_QUOTES, Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.model.message import Count, ForeignText, MessageCode

SIGNS = MessageCode("incident.gluster-lost-names.signs", "info")
_SEEN = MessageCode(
    "incident.gluster-lost-names.seen", "info", count=Count, mount=str, error=ForeignText, names=list
)
_SEEN_PARTLY = MessageCode(
    "incident.gluster-lost-names.seen-partly", "info", count=Count, mount=str, error=ForeignText, names=list
)
_SEEN_COUNT = MessageCode("incident.gluster-lost-names.seen-count", "info", count=Count, mount=str)
_HEALTHY = MessageCode("incident.gluster-lost-names.healthy", "info", count=Count, mount=str)
_PARTLY = MessageCode("incident.gluster-lost-names.partly", "info", count=Count, mount=str)

_MOST_NAMED: Final = 4


class GlusterLostNames(Incident[GlusterNames]):
    name = "gluster-lost-names"
    needs = GlusterNames
    source = "GlusterFS, xlators/cluster/dht: a file lies on the subvolume of the hash of its name"
    signs = SIGNS()

    def examine(self, evidence: GlusterNames) -> Iterator[Judgement]:
        count = len(evidence.lost) + evidence.further_lost
        if not count:
            about = {"count": evidence.names, "mount": evidence.source}
            yield self.healthy(_HEALTHY(**about)) if evidence.is_all else self.unseen(_PARTLY(**about))
            return
        if not evidence.lost:
            yield self.diagnosis("critical", "high", _SEEN_COUNT(count=count, mount=evidence.source))
            return
        code = _SEEN if evidence.is_all else _SEEN_PARTLY
        summary = code(
            count=count,
            mount=evidence.source,
            error=evidence.lost[0].error,
            names=[item.path for item in evidence.lost[:_MOST_NAMED]],
        )
        quotes = [Quote(evidence.source, 0, _bricks(item)) for item in evidence.lost[:MOST_QUOTES]]
        yield self.diagnosis("critical", "high", summary, None, quotes)


def _bricks(item: LostName) -> str:
    holders, hashed = (", ".join(names) or "?" for names in (item.holders, item.hashed))
    text = f"{item.path}: {item.error}; on {holders}; hash: {hashed}"
    return f"{text}; not inspected: {', '.join(item.not_inspected)}" if item.not_inspected else text


PART = GlusterLostNames
