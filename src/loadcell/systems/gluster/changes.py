"""Changes of a volume's bricks in use: add, remove, replace, rebalance, heal; all under time limits."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.model.message import MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.gluster.command_line import CommandError
from loadcell.systems.gluster.volume import NAME, Brick, Volume

BRICK_NOT_EMPTY = MessageCode("gluster.brick-not-empty", brick=int, path=str, entries=list)
BRICK_UNKNOWN = MessageCode("gluster.brick-unknown", brick=int, bricks=list)
BRICK_IN_USE = MessageCode("gluster.brick-in-use", brick=int)

#: Longest answer that is waited for.
LIMIT_S = 30.0
_PAUSE_S = 0.3
#: Entries of a directory that an error names.
_MOST_ENTRIES = 4

IN_PROGRESS = "in progress"
COMPLETED = "completed"


@dataclass(frozen=True)
class TaskStatus:
    """State of a rebalance or a removal on all nodes, in words of GlusterFS (`completed`)."""

    state: str
    files: int = 0
    size_bytes: int = 0
    failures: int = 0

    @property
    def ended(self) -> bool:
        return self.state not in {IN_PROGRESS, "not started"}


class Changes:
    """Commands that change the bricks of a volume. Methods raise TargetError."""

    def __init__(self, volume: Volume) -> None:
        self._volume = volume

    # -- bricks

    def add(self, numbers: Sequence[int], replica: int | None) -> None:
        """Add empty bricks, with `replica` the new number of copies."""
        volume = self._volume
        bricks = [self._new_brick(number) for number in numbers]
        volume.changed = True
        self._ask("add-brick", *_copies(replica), *_places(bricks), "force")
        volume.bricks = (*volume.bricks, *bricks)

    def drop_copies(self, numbers: Sequence[int], replica: int) -> None:
        """Remove bricks at once, so that `replica` copies remain, and the data on them are abandoned."""
        bricks = [self._brick(number) for number in numbers]
        self._volume.changed = True
        self._ask("remove-brick", *_copies(replica), *_places(bricks), how="force")
        self._forget(bricks)

    def begin_removal(self, numbers: Sequence[int]) -> None:
        """Begin to move the data of bricks to the others."""
        bricks = [self._brick(number) for number in numbers]
        self._volume.changed = True
        self._ask("remove-brick", *_places(bricks), how="start")
        self._volume.removing = tuple(numbers)

    def removal(self, numbers: Sequence[int]) -> TaskStatus:
        """State of a removal that was begun."""
        return self._status("remove-brick", *_places(self._brick(number) for number in numbers))

    def commit_removal(self, numbers: Sequence[int]) -> None:
        """Take bricks out of the volume whose data have been moved."""
        bricks = [self._brick(number) for number in numbers]
        self._volume.removing = ()
        self._ask("remove-brick", *_places(bricks), how="commit")
        self._forget(bricks)

    def stop_removal(self, numbers: Sequence[int]) -> None:
        """Abandon a removal: the bricks stay, and data that were moved stay where they are."""
        self._volume.removing = ()
        self._ask("remove-brick", *_places(self._brick(number) for number in numbers), how="stop")

    def replace(self, number: int, new: int) -> None:
        """Replace a brick by an empty one, which is healed from its replicas."""
        old, brick = self._brick(number), self._new_brick(new)
        self._volume.changed = True
        self._ask("replace-brick", old.location, brick.location, "commit", "force")
        self._volume.bricks = tuple(brick if other == old else other for other in self._volume.bricks)

    # -- data

    def begin_rebalance(self, *, fix_layout: bool) -> None:
        """Begin to move files to the bricks that their names belong to."""
        self._ask("rebalance", *(("fix-layout",) if fix_layout else ()), "start")
        self._volume.rebalanced = True

    def rebalance(self) -> TaskStatus:
        """State of the last rebalance."""
        return self._status("rebalance")

    def stop_rebalance(self) -> None:
        """Stop a rebalance after the file that it moves; a finished one is left alone."""
        if not self.rebalance().ended:
            self._ask("rebalance", "stop")

    def heal(self, *, full: bool) -> None:
        """Have replicas made equal: files that are known to differ, or all.

        The heal daemons refuse it until they are connected to their bricks.
        """
        words = (NAME, "full") if full else (NAME,)
        order = self._volume.command_line.order
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                return order("volume", "heal", *words, limit_s=LIMIT_S)
            except CommandError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_S)

    # --

    def _brick(self, number: int) -> Brick:
        for brick in self._volume.bricks:
            if brick.number == number:
                return brick
        numbers = [str(brick.number) for brick in self._volume.bricks]
        raise TargetError(BRICK_UNKNOWN(brick=number, bricks=numbers))

    def _new_brick(self, number: int) -> Brick:
        """A brick that is not in the volume; its directory has to be empty."""
        if any(brick.number == number for brick in self._volume.bricks):
            raise TargetError(BRICK_IN_USE(brick=number))
        brick = self._volume.brick(number)
        if entries := _entries(brick.path):
            raise TargetError(BRICK_NOT_EMPTY(brick=number, path=str(brick.path), entries=entries))
        return brick

    def _forget(self, bricks: Sequence[Brick]) -> None:
        self._volume.bricks = tuple(brick for brick in self._volume.bricks if brick not in bricks)

    def _status(self, command: str, *places: str) -> TaskStatus:
        return task_status(self._ask(command, *places, how="status"))

    def _ask(self, command: str, *words: str, how: str = "") -> ET.Element:
        """Execute a command on the volume; again after temporary refusals."""
        ask = self._volume.command_line.ask_again
        return ask("volume", command, NAME, *words, *filter(None, (how,)), limit_s=LIMIT_S)


def task_status(answer: ET.Element) -> TaskStatus:
    """The summary of a status of rebalance or remove-brick."""
    total = answer.find(".//aggregate")
    if total is None:
        return TaskStatus("not started")
    return TaskStatus(
        total.findtext("statusStr") or "",
        int(total.findtext("files") or 0),
        int(total.findtext("size") or 0),
        int(total.findtext("failures") or 0),
    )


def _copies(replica: int | None) -> tuple[str, ...]:
    return () if replica is None else ("replica", str(replica))


def _places(bricks: Iterable[Brick]) -> tuple[str, ...]:
    return tuple(brick.location for brick in bricks)


def _entries(path: Path) -> list[str]:
    """The first entries of a directory, hidden ones (`.glusterfs`) too."""
    if not path.is_dir():
        return [path.name] if path.exists() else []
    return sorted(entry.name for entry in path.iterdir())[:_MOST_ENTRIES]
