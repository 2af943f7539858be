"""`heal`: the replicas of a GlusterFS volume are made equal."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.faults.volume_fault import HEAL_CONTINUES, NO_REPLICAS, VolumeFault
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import VolumeShape


class HealOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a heal."""

    full: bool = False
    """Compare all files; else only those that are known to differ."""


class Heal(VolumeFault[HealOptions]):
    """Begin a heal. It cannot be stopped; a trial begins after all heals have ended."""

    name = "heal"
    summary = "Have the heal daemons of a GlusterFS volume make replicas equal (`volume heal`)"
    Options = HealOptions
    remark = HEAL_CONTINUES

    @classmethod
    def volume_misfits(cls, options: HealOptions, shape: VolumeShape) -> Iterator[Misfit]:  # noqa: ARG003
        if shape.replica == 1:
            yield Misfit("subject", NO_REPLICAS(fault=cls.name))

    def apply(self) -> None:
        self.volume.heal(full=self.options.full)


PART = Heal
