"""Base of faults that end processes, which the target starts again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadcell.faults.base import (
    CONNECTION_LOST,
    NO_ANSWER,
    NOT_RUNNING,
    NOT_STARTABLE,
    SERVER_ENDED,
    Fault,
    FaultError,
)
from loadcell.linux import process_tree
from loadcell.model.json import JsonObject
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import SubjectAbilities


class EndingFault(Fault[SubjectOptions]):
    """Ends the processes of a subject that the target can start again.

    Nothing of it outlives the run, with which the target's processes end anyway.
    """

    expected_errors = (*CONNECTION_LOST, *NO_ANSWER, *SERVER_ENDED)
    #: whether this fault ended the subject, and has not started it again
    _ended = False

    @classmethod
    def misfits(cls, options: SubjectOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].startable:
            yield Misfit("subject", NOT_STARTABLE(subject=options.subject))

    @classmethod
    def ends_another(cls, options: SubjectOptions, other: SubjectOptions) -> bool:  # noqa: ARG003
        return False  # a subject that has ended cannot be ended again

    def prepare(self) -> JsonObject | None:
        self._roots = process_tree.roots(self.subject.processes())
        if not self._roots:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        return None

    def restore(self) -> None:
        assert self.subject.start is not None
        if self._ended:
            self.subject.start()
            self._ended = False
