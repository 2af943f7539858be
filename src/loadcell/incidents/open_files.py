"""A process, or the host, that has almost as many open files as it may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.connections import OpenFiles
from loadcell.model.message import Count, MessageCode, Share

SIGNS = MessageCode("incident.open-files.signs", "info", used_share=Share, critical_share=Share)
_SEEN = MessageCode(
    "incident.open-files.seen", "info", name=str, pid=str, count=Count, limit=Count, used_share=Share
)
_HOST = MessageCode("incident.open-files.host", "info", count=Count, limit=Count, used_share=Share)
_HEALTHY = MessageCode(
    "incident.open-files.healthy", "info", count=Count, limit=Count, name=str, pid=str, host=Count
)
_HIDDEN = MessageCode("incident.open-files.hidden", "info", count=Count)

SHARE, CRITICAL_SHARE = 0.8, 0.95
_MOST: Final = 5


class FilesAtLimit(Incident[OpenFiles]):
    name = "open-files"
    needs = OpenFiles
    source = "getrlimit(2): RLIMIT_NOFILE, EMFILE; proc(5): file-nr, ENFILE"
    signs = SIGNS(used_share=SHARE, critical_share=CRITICAL_SHARE)

    def examine(self, evidence: OpenFiles) -> Iterator[Judgement]:
        if evidence.hidden:
            yield self.unseen(_HIDDEN(count=evidence.hidden))
        host_share = evidence.count / evidence.limit if evidence.limit else 0.0
        if host_share >= SHARE:
            summary = _HOST(count=evidence.count, limit=evidence.limit, used_share=host_share)
            yield self.diagnosis(_level(host_share), "high", summary)
        full = [process for process in evidence.processes if process.share >= SHARE]
        for process in full[:_MOST]:
            summary = _SEEN(
                name=process.name,
                pid=str(process.pid),
                count=process.count,
                limit=process.limit,
                used_share=process.share,
            )
            yield self.diagnosis(_level(process.share), "high", summary)
        if not full and host_share < SHARE and evidence.processes:
            nearest = evidence.processes[0]
            yield self.healthy(
                _HEALTHY(
                    count=nearest.count,
                    limit=nearest.limit,
                    name=nearest.name,
                    pid=str(nearest.pid),
                    host=evidence.count,
                )
            )


def _level(share: float) -> Level:
    return "critical" if share >= CRITICAL_SHARE else "warning"


PART = FilesAtLimit
