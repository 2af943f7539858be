"""Base of faults that are SQL statements to the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from loadcell.faults.base import Fault, FaultError
from loadcell.model.message import MessageCode, Seconds
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import RunStatement, SubjectAbilities

NO_STATEMENTS = MessageCode("fault.no-statements", subject=str)
NO_BACKENDS = MessageCode("fault.no-backends", subject=str)
NO_TABLE = MessageCode("fault.no-table", table=str)
UNANSWERED = MessageCode("fault.no-answer", subject=str, limit_s=Seconds)

#: Time limit of a statement: the server cancels it then.
STATEMENT_LIMIT_S = 10.0
#: How long after that limit the answer may come; a server that hangs never sends it.
_ANSWER_SLACK_S = 5.0


OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class StatementFault(Fault[OptionsT]):
    """A fault by statements, also on a server that loadcell did not start."""

    external = True

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].statements:
            yield Misfit("subject", NO_STATEMENTS(subject=options.subject))

    @classmethod
    def ends_another(cls, options: OptionsT, other: OptionsT) -> bool:  # noqa: ARG003
        return False  # each has its own session

    @contextmanager
    def open_session(self, limit_s: float = STATEMENT_LIMIT_S) -> Iterator[RunStatement]:
        """A session for the fault alone, whose statements take at most that long. Raises TargetError."""
        assert self.subject.session is not None
        session: AbstractContextManager[RunStatement] = self.subject.session()
        with session as execute:
            execute(f"SET statement_timeout = {round(limit_s * 1e3)}")
            yield execute

    def answered(self, action: Callable[[], None], limit_s: float = STATEMENT_LIMIT_S) -> None:
        """Execute statements in another thread, so that a server that hangs does not delay other faults.

        Raises what they raise, and FaultError where no answer comes.
        """
        errors: list[Exception] = []

        def attempt() -> None:
            try:
                action()
            except Exception as error:  # raised below
                errors.append(error)

        thread = threading.Thread(target=attempt, name=self.name, daemon=True)
        thread.start()
        thread.join(limit_s + _ANSWER_SLACK_S)
        if thread.is_alive():
            raise FaultError(UNANSWERED(subject=self.subject.name, limit_s=limit_s))
        if errors:
            raise errors[0]
