"""A local file system that refuses writes, though it was mounted for them: the kernel met an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.disks import FileSystems
from loadcell.model.message import Count, MessageCode

SIGNS = MessageCode("incident.read-only-remount.signs", "info")
_SEEN = MessageCode("incident.read-only-remount.seen", "info", points=list, type=str, source=str)
_HEALTHY = MessageCode("incident.read-only-remount.healthy", "info", count=Count)


class ReadOnlyRemount(Incident[FileSystems]):
    name = "read-only-remount"
    needs = FileSystems
    source = "ext4(5): errors=remount-ro; fstab(5)"
    signs = SIGNS()
    cause = "disk-errors"

    def examine(self, evidence: FileSystems) -> Iterator[Judgement]:
        refused = [system for system in evidence.systems if system.is_read_only and system.should_write]
        for system in refused:
            summary = _SEEN(points=system.points, type=system.type, source=system.source)
            names = [PurePath(system.source).name, system.number]
            yield self.diagnosis("critical", "medium", summary, devices=filter(None, names))
        if not refused:
            yield self.healthy(_HEALTHY(count=len(evidence.systems)))


PART = ReadOnlyRemount
