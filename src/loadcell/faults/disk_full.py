"""`disk-full`: the file system of the subject's data has no room but a reserve."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ROOM, SERVER_ENDED, Fault, FaultError
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.plan.units import Size
from loadcell.systems.subjects import SubjectAbilities

NOT_DEDICATED_DEVICE = MessageCode("fault.not-dedicated-device", subject=str)
NO_IMAGE = MessageCode("fault.no-image", subject=str)
NO_FILL = MessageCode("fault.no-fill", path=str, error=ForeignText)

#: Smallest step of filling: what a file system may refuse in larger pieces.
_STEP_BYTES = 1 << 16


class DiskFullOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a full disk."""

    reserve: Size = Field(default=Size(0))
    """Room that stays free."""


class DiskFull(Fault[DiskFullOptions]):
    """Fill the file system by a file without a name: its room is free again when the run ends."""

    name = "disk-full"
    synonyms = ("fill-disk", "no-space")
    summary = "Leave no free space for the subject's data; only on a file system image (`data: {image: ...}`)"
    Options = DiskFullOptions
    expected_errors = (*NO_ROOM, *CONNECTION_LOST, *SERVER_ENDED)
    _descriptor: int | None = None

    @classmethod
    def misfits(cls, options: DiskFullOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].dedicated_device:
            code = NOT_DEDICATED_DEVICE if subjects[options.subject].imageable else NO_IMAGE
            yield Misfit("subject", code(subject=options.subject))

    def apply(self) -> None:
        path = self.subject.data
        assert path is not None
        try:
            self._descriptor = os.open(path, os.O_TMPFILE | os.O_RDWR)
            _fill(self._descriptor, int(self.options.reserve))
        except OSError as error:
            raise FaultError(NO_FILL(path=path, error=error.strerror or str(error))) from error

    def restore(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _fill(descriptor: int, reserve: int) -> None:
    """Allocate what is free but the reserve, in steps that get smaller.

    ext4 keeps blocks for root, which are not free for the server's user: with those, the reserve of the
    fault would be none for it.
    """
    offset = 0
    about = os.fstatvfs(descriptor)
    step = about.f_bavail * about.f_frsize
    while step >= _STEP_BYTES:
        about = os.fstatvfs(descriptor)
        room = about.f_bavail * about.f_frsize - reserve
        length = min(step, room)
        if length < _STEP_BYTES:
            return
        try:
            os.posix_fallocate(descriptor, offset, length)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            step //= 2
        else:
            offset += length


PART = DiskFull
