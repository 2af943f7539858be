"""Base of faults that are SQL statements to the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar

from loadcell.faults.base import Fault
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import RunStatement, SubjectAbilities

NO_STATEMENTS = MessageCode("fault.no-statements", subject=str)
NO_BACKENDS = MessageCode("fault.no-backends", subject=str)
NO_TABLE = MessageCode("fault.no-table", table=str)


class StatementOptions(SubjectOptions):
    """Options of a fault by statements."""


OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class StatementFault(Fault[OptionsT]):
    """A fault by statements, also on a server that loadcell did not start."""

    external = True

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].statements:
            yield Misfit("subject", NO_STATEMENTS(subject=options.subject))

    def open_session(self) -> AbstractContextManager[RunStatement]:
        """A session for the fault alone. Raises TargetError."""
        assert self.subject.session is not None
        return self.subject.session()
