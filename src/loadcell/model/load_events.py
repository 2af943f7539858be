"""Lines that the process of a load writes: events while it works, and a result or a failure at its end.

Times are nanoseconds of CLOCK_MONOTONIC and since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from loadcell.model.json import OMITTED, JsonObject, read
from loadcell.model.load_result import Distribution, LoadedData, LoadResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The process has been pinned to processors and a memory policy, as read back."""

    type: Literal["pinned"] = "pinned"
    cpus: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """All clients are connected."""

    type: Literal["connected"] = "connected"
    clients: int
    took_ns: int
    mono_ns: int
    utc_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """An armed load waits for its start instant."""

    type: Literal["ready"] = "ready"
    mono_ns: int
    utc_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBegan:
    """A phase of the load begins: `warmup`, `measure` or `drain`."""

    type: Literal["phase"] = "phase"
    phase: str
    mono_ns: int
    utc_ns: int


@dataclass(frozen=True, slots=True)
class IntervalOperation:
    """Counts and times of one operation within an interval; None where a tool does not report a value."""

    name: str
    kind: str = ""
    started: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    retried: int | None = None
    throughput_per_s: float | None = None
    response: Distribution | None = None
    service: Distribution | None = None


@dataclass(frozen=True, slots=True)
class GroupState:
    """State of a client group at the end of an interval; only an open loop has a backlog."""

    name: str
    in_flight: int | None = None
    backlog: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval of the load has ended; `hlog` are its lines of the interval log."""

    type: Literal["interval"] = "interval"
    phase: str
    start_mono_ns: int
    start_utc_ns: int
    duration_ns: int
    operations: tuple[IntervalOperation, ...]
    in_flight: int | None = None
    backlog: int | None = None
    groups: tuple[GroupState, ...] = ()
    hlog: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A client lost its connection, or has it again."""

    type: Literal["trouble"] = "trouble"
    mono_ns: int
    utc_ns: int
    code: str
    message: str
    client: int
    group: Annotated[str | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingProgress:
    """Rows of a data set that have been loaded."""

    type: Literal["progress"] = "progress"
    done_rows: int
    total_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The work is done: the last line."""

    type: Literal["result"] = "result"
    result: LoadResult | LoadedData


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The work has failed, with this message of the engine or of the catalogue: the last line."""

    type: Literal["error"] = "error"
    error: JsonObject


LoadEvent = Pinned | Connected | Ready | PhaseBegan | Interval | Trouble | LoadingProgress
_Line = Annotated[LoadEvent | Finished | Failed, Field(discriminator="type")]


def read_event(line: bytes | str) -> LoadEvent | Finished | Failed:
    """Read one line. Raises MismatchError for one that is no event."""
    event: LoadEvent | Finished | Failed = read(_Line, line)  # type: ignore[arg-type]
    return event
