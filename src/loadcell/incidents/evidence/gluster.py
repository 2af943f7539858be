"""GlusterFS as evidence: names on a mount, and the state of a volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence
from loadcell.model.message import Message


@dataclass(frozen=True, slots=True)
class LostName:
    """A name without a readable file: the error, the bricks of this host that hold a file of this name, and
    those to which the hash of the name leads. Bricks of other hosts were not inspected.
    """

    path: str
    error: str
    holders: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    not_inspected: tuple[str, ...] = ()


@dataclass(frozen=True)
class GlusterNames(Evidence):
    """Names of a mount: those twice in one reading, directories without mode, names without a file.

    `is_all` is False where the tree was read in part: of many names, or in too short a time.
    """

    kind: ClassVar[str] = "gluster-names"

    names: int
    directories: int
    doubled: tuple[str, ...] = ()
    without_mode: tuple[str, ...] = ()
    lost: tuple[LostName, ...] = ()
    is_all: bool = True
    #: further names with these defects, whose paths are not known
    further_doubled: int = 0
    further_without_mode: int = 0
    further_lost: int = 0


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A running rebalance; `left_s` is None where it is not known."""

    running_s: float
    scanned: int
    left_s: float | None


@dataclass(frozen=True)
class GlusterVolume(Evidence):
    """State of a volume: entries in split-brain (None where it stores no copies), open files by brick, and
    a rebalance (None where none runs). A message in place of an answer is the reason for none. `has_more` is
    True where more entries may be in split-brain.
    """

    kind: ClassVar[str] = "gluster-volume"

    bricks: int
    split_brain: tuple[str, ...] | Message | None = None
    connected: int = 0
    open_files: tuple[tuple[str, int], ...] | Message = ()
    rebalance: Rebalance | Message | None = None
    has_more: bool = False
