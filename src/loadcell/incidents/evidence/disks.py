"""Local disks and file systems as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A local file system with its sizes; None of one that did not answer in time.

    `should_write` is True where its options or the table of file systems want it writable. `number` is that
    of its device (`8:1`).
    """

    points: tuple[str, ...]
    type: str
    source: str
    is_read_only: bool = False
    should_write: bool = False
    size_bytes: int | None = None
    free_bytes: int = 0
    inodes: int = 0
    free_inodes: int = 0
    number: str = ""

    @property
    def point(self) -> str:
        """The first mount point."""
        return self.points[0]


@dataclass(frozen=True)
class FileSystems(Evidence):
    """Local file systems of a host."""

    kind: ClassVar[str] = "file-systems"

    systems: tuple[FileSystem, ...]


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Use of a disk over an interval: busy time, completed requests, their mean time; `in_progress` at the
    end.
    """

    name: str
    busy_share: float
    requests: int
    wait_ms: float
    in_progress: int


@dataclass(frozen=True)
class Disks(Evidence):
    """Disks of a host over an interval."""

    kind: ClassVar[str] = "disks"

    interval_s: float
    disks: tuple[DiskUse, ...]
