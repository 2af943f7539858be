"""Base of faults that change the bricks of a GlusterFS volume by its command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from loadcell.faults.base import Fault
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.gluster.changes import Changes
from loadcell.systems.subjects import SubjectAbilities, VolumeShape

NO_VOLUME = MessageCode("fault.no-volume", subject=str, subjects=list)
NO_REPLICAS = MessageCode("fault.no-replicas", fault=str)
INCOMPLETE_SET = MessageCode("fault.bricks-not-whole", bricks=int, replica=int)
REMOVAL_ENDED = MessageCode("fault.removal-ended", subject=str, state=str, failures=int)
NOT_UNDOABLE = MessageCode("fault.volume-not-undone", "info", fault=str)
HEAL_CONTINUES = MessageCode("fault.heal-continues", "info", fault=str)
STOPPED = MessageCode("fault.volume-stopped", "info", fault=str)

#: Numbers of bricks: those above the volume's stand for new directories, on the hosts in turn.
Bricks = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]

OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class VolumeFault(Fault[OptionsT]):
    """A change of a volume. Nothing outlives the run, with which the volume ends; a volume whose bricks were
    changed is made again before the next trial.
    """

    remark = NOT_UNDOABLE
    lasts = False

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        shape = subjects[options.subject].volume
        if shape is None:
            volumes = [name for name, abilities in subjects.items() if abilities.volume is not None]
            yield Misfit("subject", NO_VOLUME(subject=options.subject, subjects=volumes))
        else:
            yield from cls.volume_misfits(options, shape)

    @classmethod
    def volume_misfits(cls, options: OptionsT, shape: VolumeShape) -> Iterator[Misfit]:  # noqa: ARG003
        """Why it cannot be applied to a volume of this shape."""
        return iter(())

    @property
    def volume(self) -> Changes:
        """Commands on the volume."""
        assert self.subject.volume is not None
        return self.subject.volume
