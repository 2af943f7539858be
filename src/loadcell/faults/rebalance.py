"""`rebalance`: files of a GlusterFS volume move to the bricks that their names belong to."""

from __future__ import annotations

from loadcell.faults.volume_fault import STOPPED, VolumeFault
from loadcell.plan.parts import SubjectOptions


class RebalanceOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a rebalance."""

    fix_layout: bool = False
    """Distribute new files only; files that exist stay where they are."""


class Rebalance(VolumeFault[RebalanceOptions]):
    """Begin a rebalance; its undo stops one that has not ended."""

    name = "rebalance"
    summary = "Move files of a distributed GlusterFS volume between bricks (`volume rebalance`)"
    Options = RebalanceOptions
    lasts = True
    remark = STOPPED
    _begun = False

    def apply(self) -> None:
        self.volume.begin_rebalance(fix_layout=self.options.fix_layout)
        self._begun = True

    def restore(self) -> None:
        if self._begun:
            self.volume.stop_rebalance()


PART = Rebalance
