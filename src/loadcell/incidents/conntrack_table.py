"""The packet filter's table of connections is almost full: beyond it packets are dropped."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.connections import Connections
from loadcell.model.message import Count, MessageCode, Share

SIGNS = MessageCode("incident.conntrack-table.signs", "info", used_share=Share, critical_share=Share)
_SEEN = MessageCode("incident.conntrack-table.seen", "info", count=Count, limit=Count, used_share=Share)
_HEALTHY = MessageCode("incident.conntrack-table.healthy", "info", count=Count, limit=Count, used_share=Share)
_NONE = MessageCode("incident.conntrack-table.none", "info")

SHARE, CRITICAL_SHARE = 0.8, 0.95


class ConntrackTable(Incident[Connections]):
    name = "conntrack-table"
    needs = Connections
    source = "Linux, Documentation/networking/nf_conntrack-sysctl.rst"
    signs = SIGNS(used_share=SHARE, critical_share=CRITICAL_SHARE)

    def examine(self, evidence: Connections) -> Iterator[Judgement]:
        count, limit = evidence.tracked, evidence.most_tracked
        if count is None or not limit:
            yield self.healthy(_NONE())
            return
        share = count / limit
        values = {"count": count, "limit": limit, "used_share": share}
        if share < SHARE:
            yield self.healthy(_HEALTHY(**values))
        else:
            is_critical = share >= CRITICAL_SHARE
            yield self.diagnosis("critical" if is_critical else "warning", "high", _SEEN(**values))


PART = ConntrackTable
