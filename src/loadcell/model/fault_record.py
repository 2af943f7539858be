"""A fault of a trial, as it was requested, applied and undone; and the proxy of network faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Final, Literal

from loadcell.model import catalogue
from loadcell.model.fault_judgement import FaultJudgement
from loadcell.model.json import OMITTED, JsonObject, Word
from loadcell.model.message import Message

#: Name of the check whether the target was down after a load with faults.
TARGET_DOWN: Final = "target-down"

#: `waiting`: its time did not come; `failed`: it could not be applied, or ended early;
#: `applied`: it ended by itself; `undone`; `remains`: it could not be undone.
FaultState = Literal["waiting", "failed", "applied", "undone", "remains"]


@dataclass(frozen=True, slots=True)
class Instants:
    """When something was requested, begun and finished, in seconds from the start of the measurement."""

    requested_s: float
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One fault of a trial; `reason` is the message code of a failure and `text` its English text.
    `expected_errors` are the error codes of the load, or their classes, that a fault of its kind can cause.
    `counts` are those of its effect, such as `calls` and `failed` of write errors.
    """

    action: Word
    subject: str
    state: FaultState
    applied: Instants | None = None
    undone: Instants | None = None
    reason: Annotated[Word | None, OMITTED] = None
    reason_args: Annotated[JsonObject | None, OMITTED] = None
    text: Annotated[str | None, OMITTED] = None
    judgement: Annotated[FaultJudgement | None, OMITTED] = None
    #: the judgement by the load of each client group alone, where there are several
    groups: Annotated[Mapping[Word, FaultJudgement] | None, OMITTED] = None
    expected_errors: Annotated[tuple[Word, ...], OMITTED] = ()
    counts: Annotated[Mapping[Word, int] | None, OMITTED] = None
    #: identifier of its entry in the journal of faults, while it remains
    entry: Annotated[str | None, OMITTED] = None

    @property
    def title(self) -> str:
        """As people name it: `hang redis`."""
        return f"{self.action} {self.subject}"

    @property
    def why(self) -> Message | None:
        """The reason of a failure with its remedy; in recorded words where the catalogue lacks it."""
        if self.text is None:
            return None
        code, arguments = self.reason or "", self.reason_args or {}
        return Message(code, arguments, recorded=None if code in catalogue.texts() else (self.text, ""))

    @property
    def ended_s(self) -> float:
        """End of its effect's cause; infinite while it remains. Of a fault that was applied."""
        assert self.applied is not None
        if self.undone is not None:
            return self.undone.ended_s
        return inf if self.state == "remains" else self.applied.ended_s


@dataclass(frozen=True, slots=True)
class ProxyRecord:
    """The proxy that carried the load of a trial, and its counts.

    `unconnected` connections found no target; `reset` ones and `swallowed_bytes` are those of faults.
    `answered` are requests that it answered itself, `truncated` responses that it cut.
    """

    threads: int
    connections: int
    unconnected: int
    to_server_bytes: int
    to_client_bytes: int
    reset: int
    swallowed_bytes: int
    answered: int
    truncated: int
    cpu_s: float
