"""Processes that the kernel killed for want of memory, on the machine or at the limit of a container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.kernel_log import RECENT_NS, KernelLog
from loadcell.linux.kernel_log import AGE_S, KernelLine
from loadcell.model.message import Count, Message, MessageCode, Seconds

SIGNS = MessageCode("incident.oom-kill.signs", "info", age_s=Seconds, recent_s=Seconds)
_SEEN = MessageCode("incident.oom-kill.seen", "info", count=Count, since_s=Seconds, names=list)
_IN_GROUP = MessageCode("incident.oom-kill.seen-in-group", "info", count=Count, since_s=Seconds, names=list)
_OTHERS = MessageCode("incident.oom-kill.others", "info", count=Count)
_COUNTED = MessageCode("incident.oom-kill.counted", "info", count=Count)
_HEALTHY = MessageCode("incident.oom-kill.healthy", "info", lines=Count)

#: Since Linux 2.6; `Killed process` since 4.20, `Kill process` before is followed by it.
_KILLED: Final = re.compile(
    r"[Oo]ut of memory.*: Kill(?:ed)? process (\d+) \((.+?)\)|^Killed process (\d+) \((.+?)\)"
)
_COUNTED_SINCE = MessageCode("incident.oom-kill.counted-since", "info", count=Count, since_s=Seconds)
_HEALTHY_SINCE = MessageCode("incident.oom-kill.healthy-since", "info", lines=Count, since_s=Seconds)
_GROUP: Final = "emory cgroup out of memory"
_MOST_NAMED: Final = 6


class OomKill(Incident[KernelLog]):
    name = "oom-kill"
    needs = KernelLog
    source = "Linux, mm/oom_kill.c"
    signs = SIGNS(age_s=AGE_S, recent_s=RECENT_NS / 1e9)

    def examine(self, evidence: KernelLog) -> Iterator[Judgement]:
        kills = _kills(evidence.lines)
        for is_group, code in ((False, _SEEN), (True, _IN_GROUP)):
            lines = [(line, name) for line, name in kills if (_GROUP in line.text) == is_group]
            if not lines:
                continue
            since_ns = evidence.now_ns - lines[-1][0].utc_ns
            summary = code(
                count=len(lines),
                since_s=float(round(since_ns / 1e9)),
                names=_names([name for _, name in reversed(lines)]),
            )
            yield self.diagnosis(
                "critical" if since_ns <= RECENT_NS else "warning",
                "high",
                summary,
                (lines[0][0].utc_ns, lines[-1][0].utc_ns),
                [evidence.quote(line) for line, _ in lines],
            )
        if kills:
            return
        if evidence.oom_kills:
            level: Level = "warning" if evidence.unreadable is not None else "note"
            code = _COUNTED if evidence.since_s is None else _COUNTED_SINCE
            summary = code.pick(count=evidence.oom_kills, since_s=evidence.since_s)
            yield self.diagnosis(level, "medium", summary)
        elif evidence.unreadable is None:
            code = _HEALTHY if evidence.since_s is None else _HEALTHY_SINCE
            yield self.healthy(code.pick(lines=len(evidence.lines), since_s=evidence.since_s))
        else:
            yield self.unseen(evidence.unreadable)


def _names(names: list[str]) -> list[str | Message]:
    """The last processes, and the number of the others."""
    others = len(names) - _MOST_NAMED
    return [*names[:_MOST_NAMED], *([_OTHERS(count=others)] if others > 0 else [])]


def _kills(lines: tuple[KernelLine, ...]) -> list[tuple[KernelLine, str]]:
    """Messages about killed processes with `name (id)`; a process counts once."""
    kills: dict[str, tuple[KernelLine, str]] = {}
    for line in lines:
        if match := _KILLED.search(line.text):
            pid, name = (match[1], match[2]) if match[1] else (match[3], match[4])
            kills.setdefault(f"{pid} {name}", (line, f"{name} ({pid})"))
    return list(kills.values())


PART = OomKill
