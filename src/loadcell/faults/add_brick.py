"""`add-brick`: empty bricks join a GlusterFS volume."""

from __future__ import annotations

from pydantic import Field

from loadcell.faults.volume_fault import Bricks, VolumeFault
from loadcell.plan.parts import SubjectOptions


class AddBrickOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of new bricks."""

    bricks: Bricks
    """Numbers of the new bricks, which the volume does not have: `[5, 6]`.

    Hosts have bricks in turn: brick 5 of 4 hosts is on host 1.
    """
    replica: int | None = Field(default=None, ge=1)
    """New number of copies of each file. Default: as many as before."""


class AddBrick(VolumeFault[AddBrickOptions]):
    """Add bricks, whose directories have to be empty."""

    name = "add-brick"
    summary = "Add empty bricks to a GlusterFS volume (`volume add-brick`); files move by `rebalance`"
    Options = AddBrickOptions

    def apply(self) -> None:
        self.volume.add(self.options.bricks, self.options.replica)


PART = AddBrick
