"""A local file system without space or inodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.disks import FileSystem, FileSystems
from loadcell.model.message import Bytes, Count, MessageCode, Share

SIGNS = MessageCode(
    "incident.full-file-system.signs", "info", free_share=Share, free_bytes=Bytes, critical_share=Share
)
_SEEN = MessageCode(
    "incident.full-file-system.seen", "info", point=str, free_bytes=Bytes, size_bytes=Bytes, free_share=Share
)
_INODES = MessageCode(
    "incident.full-file-system.inodes", "info", point=str, free=Count, inodes=Count, free_share=Share
)
_HEALTHY = MessageCode(
    "incident.full-file-system.healthy",
    "info",
    count=Count,
    point=str,
    free_bytes=Bytes,
    size_bytes=Bytes,
    free_share=Share,
)
_NONE = MessageCode("incident.full-file-system.none", "info")
_UNASKED = MessageCode("incident.full-file-system.unasked", "info", points=list)

FREE_SHARE, CRITICAL_SHARE = 0.05, 0.01
#: A large file system has room at 5 %.
FREE_BYTES: Final = 10 << 30
_MOST_NAMED: Final = 6


class FullFileSystem(Incident[FileSystems]):
    name = "full-file-system"
    needs = FileSystems
    source = "ext4 reserves 5% for root (mke2fs(8), -m)"
    signs = SIGNS(free_share=FREE_SHARE, free_bytes=FREE_BYTES, critical_share=CRITICAL_SHARE)

    def examine(self, evidence: FileSystems) -> Iterator[Judgement]:
        silent = [system.point for system in evidence.systems if system.size_bytes is None]
        if silent:
            yield self.unseen(_UNASKED(points=silent[:_MOST_NAMED]))
        sized = [system for system in evidence.systems if system.size_bytes]
        diagnoses = [judgement for system in sized for judgement in self._judged(system)]
        yield from diagnoses
        if diagnoses:
            return
        fullest = min(sized, key=_free_share, default=None)
        if fullest is not None:
            yield self.healthy(
                _HEALTHY(
                    count=len(sized),
                    point=fullest.point,
                    free_bytes=fullest.free_bytes,
                    size_bytes=fullest.size_bytes,
                    free_share=_free_share(fullest),
                )
            )
        elif not silent:
            yield self.healthy(_NONE())

    def _judged(self, system: FileSystem) -> Iterator[Judgement]:
        if system.is_read_only:
            return
        share = _free_share(system)
        if share < FREE_SHARE and system.free_bytes < FREE_BYTES:
            summary = _SEEN(
                point=system.point,
                free_bytes=system.free_bytes,
                size_bytes=system.size_bytes,
                free_share=share,
            )
            yield self.diagnosis(_level(share), "high", summary)
        if system.inodes and (share := system.free_inodes / system.inodes) < FREE_SHARE:
            summary = _INODES(
                point=system.point, free=system.free_inodes, inodes=system.inodes, free_share=share
            )
            yield self.diagnosis(_level(share), "high", summary)


def _free_share(system: FileSystem) -> float:
    return system.free_bytes / system.size_bytes if system.size_bytes else 1.0


def _level(free_share: float) -> Level:
    return "critical" if free_share < CRITICAL_SHARE else "warning"


PART = FullFileSystem
