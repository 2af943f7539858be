"""Contract of faults: an action on a subject of the target, applied and undone.

What outlives the run (a stopped process, a rule of the kernel) is described by an `Undo` before it happens:
the journal and the guardian keep that description, and any later process can execute it. What ends with the
run (a server that loadcell started) is brought back by `restore` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import Subject, SubjectAbilities

NOT_RUNNING = MessageCode("fault.not-running", subject=str)
ENDED_EARLY = MessageCode("fault.ended-early", subject=str, error=ForeignText)
NOT_STARTABLE = MessageCode("fault.not-startable", subject=str)


class FaultError(MessageError):
    """A fault could not be applied, or not be undone."""


#: Error codes of a load that faults can cause, or their classes (`08` of a SQLSTATE, `http-5`): a connection
#: ends, an answer does not come, a server ends or starts, storage has no room.
CONNECTION_LOST = ("connection", "reset", "length", "08")
NO_ANSWER = ("timeout", "http-504")
SERVER_ENDED = ("refused", "57P01", "57P02", "57P03", "LOADING", "http-502", "http-503")
NO_ROOM = ("53100", "1114", "MISCONF")
#: ... and storage fails.
IO_FAILED = ("58030", "1026", "1030")


class EndedEarlyError(FaultError):
    """The effect of a fault ended before its end was asked for; nothing is left of it."""


OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class Fault(ABC, Generic[OptionsT]):
    """One action of a trial. Methods are called in a thread of the run, in this order: `prepare` (once or
    twice), `apply`, and later `restore`, `undo` with its arguments, `is_undone`. All may raise FaultError.
    `restore` is also called after an `apply` that failed halfway.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    #: names in other tools, which mistakes of plans are compared with
    synonyms: ClassVar[tuple[str, ...]] = ()
    Options: ClassVar[type[SubjectOptions]] = SubjectOptions
    #: whether its effect stays until it is undone; without one, `for` has no meaning
    lasts: ClassVar[bool] = True
    #: whether a reboot of the machine leaves it in effect
    outlives_boot: ClassVar[bool] = False
    #: whether it may be used against a server that loadcell did not start
    external: ClassVar[bool] = False
    #: whether processes of its subject must have been started with the library for faults
    preloads: ClassVar[bool] = False
    #: whether its subject is the network between load and target, else processes
    on_network: ClassVar[bool] = False
    #: whether a proxy must carry the load of the run
    needs_proxy: ClassVar[bool] = False
    #: whether the load may have no success while it lasts
    stops_load: ClassVar[bool] = False
    #: what its undo leaves, for `check`: a code with the argument `fault`
    remark: ClassVar[MessageCode | None] = None
    #: errors of the load that it can cause, as codes or classes: in its time they are expected
    expected_errors: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: OptionsT, subject: Subject) -> None:
        self.options = options
        self.subject = subject

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:  # noqa: ARG003
        """Why it cannot be applied, as far as can be seen before the run; paths are those of options."""
        return iter(())

    @classmethod
    def remark_on(cls, options: OptionsT) -> Message | None:  # noqa: ARG003
        """A remark on options that may not do what their author hopes, for `check`."""
        return None

    @classmethod
    def without_subject(
        cls,
        options: OptionsT,  # noqa: ARG003
        subjects: Mapping[str, SubjectAbilities],  # noqa: ARG003
    ) -> Message | None:
        """Why no subject of the target can have it, where one has another name; None: the name is wrong."""
        return None

    @classmethod
    def ends_another(cls, options: OptionsT, other: OptionsT) -> bool:  # noqa: ARG003
        """Report whether its undo also ends another fault of its kind on the same parts of the target."""
        return True

    @classmethod
    def changes(cls) -> str | None:
        """Name the state that two faults cannot change at once, such as a hierarchy of control groups."""
        return None

    def prepare(self) -> JsonObject | None:
        """Look up what is about to be changed: arguments of `undo`, None where nothing outlives the run.

        Called half a second before the fault, and again 20 ms before it: the subject may have changed. If it
        is due at once, or could not be prepared, it is prepared at its time.
        """
        return None

    @abstractmethod
    def apply(self) -> JsonObject | None:
        """Cause the fault. Return the arguments of `undo` where more is known of it than before."""

    def restore(self) -> None:
        """Bring back what ended, in the run that it belongs to. Raises EndedEarlyError if the effect had
        ended before.
        """

    def counts(self) -> Mapping[str, int]:
        """Counts of its effect for the record, after `restore`."""
        return {}

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        """Undo it, also from another process, also twice, also after the subject has ended."""

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:  # noqa: ARG003
        """Look whether nothing is left of it."""
        return True

    @classmethod
    def undo_steps(cls, arguments: JsonObject) -> tuple[str, ...]:  # noqa: ARG003
        """The commands of the user that undo it and check that, in their order."""
        return ()


#: A fault that can be undone by any process: its class, by name.
FaultClass = type[Fault[Any]]
