"""`remove-brick`: bricks leave a GlusterFS volume, after their data have moved or together with a copy."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from pydantic import Field

from loadcell.faults.base import FaultError
from loadcell.faults.volume_fault import INCOMPLETE_SET, REMOVAL_ENDED, Bricks, VolumeFault
from loadcell.model.message import MessageError
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.gluster.changes import COMPLETED
from loadcell.systems.gluster.command_line import CommandError
from loadcell.systems.subjects import VolumeShape

_POLL_S = 0.5
#: How long the thread may take to end: one command, each of which has a time limit.
_END_LIMIT_S = 60.0


class RemoveBrickOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a removal."""

    bricks: Bricks
    """Numbers of the bricks that leave: `[3, 4]`."""
    replica: int | None = Field(default=None, ge=1)
    """Copies of each file that remain: the bricks leave at once. Default: as many as before, data move."""


class RemoveBrick(VolumeFault[RemoveBrickOptions]):
    """Remove bricks. A removal whose data are still moving at the end is stopped, and the bricks stay."""

    name = "remove-brick"
    summary = (
        "Remove bricks of a GlusterFS volume: at once with fewer copies, else after their data have moved"
    )
    Options = RemoveBrickOptions
    lasts = True

    @classmethod
    def volume_misfits(cls, options: RemoveBrickOptions, shape: VolumeShape) -> Iterator[Misfit]:
        if options.replica is None and len(options.bricks) % shape.replica:
            yield Misfit("bricks", INCOMPLETE_SET(bricks=len(options.bricks), replica=shape.replica))

    def prepare(self) -> None:
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: MessageError | None = None

    def apply(self) -> None:
        options = self.options
        if options.replica is not None:
            self.volume.drop_copies(options.bricks, options.replica)
            return
        self.volume.begin_removal(options.bricks)
        self._thread = threading.Thread(target=self._follow, name=self.name, daemon=True)
        self._thread.start()

    def restore(self) -> None:
        if self._thread is None:
            return
        self._end.set()
        self._thread.join(_END_LIMIT_S)
        if self._error is not None:
            raise self._error

    def _follow(self) -> None:
        """Commit the removal when all data have moved; stop it when the fault ends before."""
        bricks, changes = self.options.bricks, self.volume
        try:
            while not self._end.wait(_POLL_S):
                try:
                    status = changes.removal(bricks)
                except CommandError:  # another command has the volume, or a daemon has ended
                    continue
                if status.state == COMPLETED:
                    changes.commit_removal(bricks)
                    return
                if status.ended:
                    changes.stop_removal(bricks)
                    raise FaultError(
                        REMOVAL_ENDED(subject=self.subject.name, state=status.state, failures=status.failures)
                    )
            changes.stop_removal(bricks)
        except MessageError as error:
            self._error = error


PART = RemoveBrick
