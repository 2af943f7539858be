"""Remote mounts as evidence: whether each answers, and what points to its server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence, Quote


@dataclass(frozen=True)
class RemoteMount:
    """A remote file system with all its mount points.

    `answered_s` is the time in which it gave its size; None of one that did not within `waited_s`. `error`
    is the answer where that is an error. `mounted_address` is that of the time of the mount, `addresses`
    those that its name has now, empty where it has none or was not looked up. `server` is its name or
    address, empty of a file system without one.
    """

    points: tuple[str, ...]
    type: str
    source: str
    answered_s: float | None
    waited_s: float = 0.0
    error: str = ""
    mounted_address: str = ""
    addresses: tuple[str, ...] = ()
    server: str = ""

    @property
    def has_moved(self) -> bool:
        """True if the server's name no longer leads to the mounted address."""
        return bool(self.mounted_address and self.addresses and self.mounted_address not in self.addresses)


@dataclass(frozen=True)
class Mounts(Evidence):
    """Remote mounts of a host; `unasked` are those for which there was no time.

    The process that asked a mount of `failed` ended without an answer.
    `blocked` has the processes in uninterruptible sleep, `quotes` lines of the kernel about servers.
    """

    kind: ClassVar[str] = "mounts"

    mounts: tuple[RemoteMount, ...]
    unasked: tuple[str, ...] = ()
    blocked: tuple[Quote, ...] = ()
    quotes: tuple[Quote, ...] = ()
    failed: tuple[str, ...] = ()
