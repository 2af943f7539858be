"""A remote mount that does not answer: programs that touch it hang and cannot be ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.mounts import Mounts, RemoteMount
from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds

SIGNS = MessageCode(
    "incident.hung-mount.signs", "info", limit_s=Seconds, critical_s=Seconds, silent_s=Seconds
)
_SEEN = MessageCode(
    "incident.hung-mount.seen", "info", points=list, source=ForeignText, type=str, waited_s=Seconds
)
_SLOW = MessageCode(
    "incident.hung-mount.slow", "info", points=list, source=ForeignText, type=str, answered_s=Seconds
)
_MOVED = MessageCode(
    "incident.hung-mount.moved",
    "info",
    points=list,
    source=ForeignText,
    waited_s=Seconds,
    address=str,
    addresses=list,
)
_ERROR = MessageCode(
    "incident.hung-mount.error", "info", points=list, source=ForeignText, type=str, error=ForeignText
)
_HEALTHY = MessageCode("incident.hung-mount.healthy", "info", count=Count, slowest_s=Seconds, limit_s=Seconds)
_NONE = MessageCode("incident.hung-mount.none", "info")
_UNASKED = MessageCode("incident.hung-mount.unasked", "info", count=Count, points=list)
_SHORT = MessageCode("incident.hung-mount.short", "info", points=list, waited_s=Seconds)
_FAILED = MessageCode("incident.hung-mount.failed", "info", points=list)
_DENIED = MessageCode("incident.hung-mount.denied", "info", points=list)

LIMIT_S: Final = 2.0
CRITICAL_S: Final = 5.0
#: The wait for all mounts ends at one instant: the last ones asked were waited for less than that.
SILENT_S: Final = 4.0
#: Mount points that a message names.
_MOST_NAMED: Final = 4
DENIED: Final = "Permission denied"
#: The kernel's message about any process that hangs.
_BLOCKED: Final = "blocked for more than"


class HungMount(Incident[Mounts]):
    name = "hung-mount"
    needs = Mounts
    stalls = True
    source = (
        "nfs(5): a `hard` mount retries indefinitely; a healthy server answers statfs within milliseconds"
    )
    signs = SIGNS(limit_s=LIMIT_S, critical_s=CRITICAL_S, silent_s=SILENT_S)
    remedies = ("fuse",)

    def examine(self, evidence: Mounts) -> Iterator[Judgement]:
        healthy: list[RemoteMount] = []
        for mount in evidence.mounts:
            if mount.error == DENIED:
                yield self.unseen(_DENIED(points=_named(mount.points)))
            elif (judgement := self._judged(mount, evidence)) is not None:
                yield judgement
            else:
                healthy.append(mount)
        if evidence.unasked:
            names = _named(evidence.unasked)
            yield self.unseen(_UNASKED(count=len(evidence.unasked), points=names))
        if evidence.failed:
            yield self.unseen(_FAILED(points=_named(evidence.failed)))
        if healthy:
            slowest_s = max(mount.answered_s or 0.0 for mount in healthy)
            yield self.healthy(_HEALTHY(count=len(healthy), slowest_s=slowest_s, limit_s=LIMIT_S))
        elif not evidence.mounts and not evidence.unasked and not evidence.failed:
            yield self.healthy(_NONE())

    def _judged(self, mount: RemoteMount, evidence: Mounts) -> Judgement | None:
        quotes = (*_of_server(mount, evidence), *evidence.blocked)
        position = {"points": _named(mount.points), "source": mount.source, "type": mount.type}
        remedy = "fuse" if mount.type.startswith("fuse") else ""
        if mount.answered_s is None:
            if mount.waited_s <= LIMIT_S:
                return self.unseen(_SHORT(points=_named(mount.points), waited_s=mount.waited_s))
            level: Level = "critical" if mount.waited_s >= SILENT_S else "warning"
            return self.diagnosis(level, "high", self._silence(mount), None, quotes, remedy)
        if mount.error:
            return self.diagnosis(
                "warning", "high", _ERROR(**position, error=mount.error), None, quotes, remedy
            )
        if mount.answered_s > LIMIT_S:
            level = "critical" if mount.answered_s > CRITICAL_S else "warning"
            summary = _SLOW(**position, answered_s=mount.answered_s)
            return self.diagnosis(level, "medium", summary, None, quotes, remedy)
        return None

    def _silence(self, mount: RemoteMount) -> Message:
        if mount.has_moved:
            return _MOVED(
                points=_named(mount.points),
                source=mount.source,
                waited_s=mount.waited_s,
                address=mount.mounted_address,
                addresses=mount.addresses,
            )
        return _SEEN(
            points=_named(mount.points), source=mount.source, type=mount.type, waited_s=mount.waited_s
        )


def _of_server(mount: RemoteMount, evidence: Mounts) -> Iterator[Quote]:
    """Lines of the kernel that name the server of a mount."""
    names = [name for name in (mount.server, mount.mounted_address) if name]
    patterns = [_word(name) for name in names]
    yield from (
        quote
        for quote in evidence.quotes
        if _BLOCKED in quote.text or any(pattern.search(quote.text) for pattern in patterns)
    )


def _word(name: str) -> re.Pattern[str]:
    """A host name or address that is no part of a longer one; a port may follow, but not in IPv6."""
    joints = ".:" if ":" in name else "."
    return re.compile(rf"(?<![\w{joints}-]){re.escape(name)}(?![\w-]|[{joints}]\w)", re.IGNORECASE)


def _named(points: tuple[str, ...]) -> list[str]:
    shown = list(points[:_MOST_NAMED])
    return [*shown, "…"] if len(points) > _MOST_NAMED else shown


PART = HungMount
