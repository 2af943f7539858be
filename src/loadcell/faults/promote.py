"""`promote`: a standby of PostgreSQL becomes the primary, and the load reconnects to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER, SERVER_ENDED, Fault
from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import SubjectAbilities

NOT_PROMOTABLE = MessageCode("fault.not-promotable", subject=str)
PRIMARY_STAYS_DOWN = MessageCode("fault.primary-stays-down", "info", fault=str)


class Promote(Fault[SubjectOptions]):
    """Make a standby the primary.

    A primary that still runs is killed before, so that there are never two. Nothing outlives the run, with
    which the servers end; before the next trial all of them are made again.
    """

    name = "promote"
    synonyms = ("failover", "switchover")
    summary = "Make a standby of PostgreSQL the primary; connections of the load lead to it from then on"
    lasts = False
    needs_proxy: ClassVar[bool] = True
    remark = PRIMARY_STAYS_DOWN
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER, *SERVER_ENDED)

    @classmethod
    def misfits(cls, options: SubjectOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].promotable:
            yield Misfit("subject", NOT_PROMOTABLE(subject=options.subject))

    @classmethod
    def without_subject(
        cls, options: SubjectOptions, subjects: Mapping[str, SubjectAbilities]
    ) -> Message | None:
        promotable = any(abilities.promotable for abilities in subjects.values())
        return None if promotable else NOT_PROMOTABLE(subject=options.subject)

    def apply(self) -> None:
        assert self.subject.promote is not None
        endpoint = self.subject.promote()
        if self.subject.carrier is not None:
            self.subject.carrier.begin({"redirect": {"target": endpoint.section()}})


PART = Promote
