"""Base of all evidence: source and clock, lines of text, and the reading of its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from loadcell.model.message import Message

#: Lines of evidence that a diagnosis shows.
MOST_QUOTES: Final = 8


@dataclass(frozen=True)
class Evidence:
    """Base of all types of evidence; `source` names it for people: files, a run and its trial, a process.

    Instants are ns by the clock of the evidence, which is UTC unless a type says otherwise. `remarks` state
    what is missing in it: a reader must know that before its values.
    """

    #: name of the type in records
    kind: ClassVar[str]

    source: str
    remarks: tuple[Message, ...] = field(default=(), kw_only=True)

    @property
    def trials(self) -> tuple[str, ...]:
        """Names of the trials of a run that an incident in this evidence concerns."""
        return (self.source,) if self.source else ()

    @property
    def process(self) -> int | None:
        """Number of the process that is the subject; None of a host, a file or a run."""
        return None

    @property
    def begin_ns(self) -> int | None:
        """First instant; None where the evidence has no time."""
        return None

    @property
    def end_ns(self) -> int | None:
        """Last instant."""
        return None

    def utc_ns(self, instant_ns: int) -> int | None:
        """An instant by the wall clock, where that is known."""
        return instant_ns


@dataclass(frozen=True)
class Missing:
    """A type of evidence that could not be gathered, and why."""

    needs: type[Evidence]
    reason: Message


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of evidence in its own words. `number` counts from 1; 0 of a file without lines."""

    file: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A file of several that is no log, and why; the others were read."""

    file: str
    reason: Message


@dataclass(frozen=True)
class Reading:
    """Log files as read: lines in total, those not understood with examples, and remarks.

    `losses` are those of the remarks that state what was not read: damaged places and `refused` files.
    """

    kind: str
    files: tuple[str, ...]
    lines: int = 0
    unread: int = 0
    examples: tuple[Quote, ...] = ()
    remarks: tuple[Message, ...] = ()
    losses: tuple[Message, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def unread_share(self) -> float:
        """Share of the lines that were not understood."""
        return self.unread / self.lines if self.lines else 0.0
