"""`replace-brick`: an empty brick takes the place of another one and is healed."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from loadcell.faults.volume_fault import NO_REPLICAS, VolumeFault
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import VolumeShape


class ReplaceBrickOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a replacement."""

    brick: int = Field(default=1, ge=1)
    """Number of the brick that leaves the volume."""
    new: int = Field(ge=1)
    """Number of the new brick, which the volume does not have. Brick 4 of 3 hosts is on host 1."""


class ReplaceBrick(VolumeFault[ReplaceBrickOptions]):
    """Replace a brick at once; the heal daemons then copy the files to the new one."""

    name = "replace-brick"
    summary = (
        "Replace a brick of a GlusterFS volume by an empty one, which is healed (`replace-brick commit`)"
    )
    Options = ReplaceBrickOptions

    @classmethod
    def volume_misfits(cls, options: ReplaceBrickOptions, shape: VolumeShape) -> Iterator[Misfit]:  # noqa: ARG003
        if shape.replica == 1:
            yield Misfit("subject", NO_REPLICAS(fault=cls.name))

    def apply(self) -> None:
        self.volume.replace(self.options.brick, self.options.new)


PART = ReplaceBrick
