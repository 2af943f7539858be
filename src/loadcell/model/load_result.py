"""Result of a load as its maker reports it: the engine, another module or a tool. Times are in nanoseconds.

A load is a list of client groups. The only group of a load has no name, and its account is the load's. The
process of a load writes lines: events while it works, and a result or a failure at its end; their times are
nanoseconds of CLOCK_MONOTONIC and since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from pydantic import Field

from loadcell.model.json import OMITTED, JsonObject, read
from loadcell.model.latency import Latency
from loadcell.model.message import Message
from loadcell.model.result_summary import ResultSummary
from loadcell.model.timeline import Timeline
from loadcell.model.trial_record import TRANSACTION, ErrorRecord, Lifetime, ToolRecord


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times of `count` requests; None where a tool does not report a value."""

    count: int | None
    mean_ns: Annotated[float | None, OMITTED] = None
    stdev_ns: Annotated[float | None, OMITTED] = None
    min_ns: Annotated[float | None, OMITTED] = None
    max_ns: Annotated[float | None, OMITTED] = None
    p50_ns: Annotated[float | None, OMITTED] = None
    p90_ns: Annotated[float | None, OMITTED] = None
    p95_ns: Annotated[float | None, OMITTED] = None
    p99_ns: Annotated[float | None, OMITTED] = None
    p999_ns: Annotated[float | None, OMITTED] = None
    p9999_ns: Annotated[float | None, OMITTED] = None

    @property
    def total_ns(self) -> float:
        """Sum of all times, as far as it is known."""
        return (self.count or 0) * (self.mean_ns or 0.0)

    def milliseconds(self) -> Latency:
        """The distribution in milliseconds."""
        percentiles_ns = {
            "50": self.p50_ns, "90": self.p90_ns, "95": self.p95_ns,
            "99": self.p99_ns, "99.9": self.p999_ns, "99.99": self.p9999_ns,
        }  # fmt: skip
        return Latency(
            self.count,
            _ms(self.mean_ns),
            _ms(self.stdev_ns),
            _ms(self.min_ns),
            _ms(self.max_ns),
            {name: value / 1e6 for name, value in percentiles_ns.items() if value is not None},
        )


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6


def latency(distribution: Distribution | None) -> Latency | None:
    """A distribution in milliseconds; None when nothing was counted."""
    return None if distribution is None or distribution.count == 0 else distribution.milliseconds()


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """The measured window; `start_utc_ns` since 1970."""

    start_mono_ns: int
    start_utc_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Counts and times of one operation within the window; attempted == succeeded + failed + in_flight.

    `throughput_per_s` is the rate that a tool reports.
    """

    name: str
    kind: str = ""
    attempted: int = 0
    carried_in: int | None = None
    succeeded: int = 0
    failed: int = 0
    in_flight: int = 0
    retried: int | None = None
    throughput_per_s: float | None = None
    response: Distribution | None = None
    service: Distribution | None = None
    failed_response: Distribution | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes that arrived, those of bodies of responses, and responses by class of status (`2xx`)."""

    bytes: int
    body_bytes: int
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BacklogResult:
    """Requests due and not sent, and for how long the oldest had been due at the end."""

    peak: int = 0
    at_end: int = 0
    overdue_ns: int = 0


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """Open loop: `presence_ns` is the time that requests were due and not answered, summed over all."""

    arrivals: str
    offered: int
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    pacing_error: Distribution | None = None
    backlog_wait: Distribution | None = None
    backlog: BacklogResult = field(default_factory=BacklogResult)
    presence_ns: int = 0


@dataclass(frozen=True, slots=True)
class ThreadResult:
    """One thread of the load generator; `spun_ns` is time spent in busy waiting."""

    cpu_ns: int = 0
    wall_ns: int = 0
    spun_ns: int = 0
    busy: float = 0.0
    connections: int | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class ClientShares:
    """Successes by client within the window: sum, sum of squares, least and most."""

    clients: int
    sum: int
    squares: float
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class ClientResult:
    """Resources that the load generator used, its lateness, and client time outside of transactions."""

    threads: tuple[ThreadResult, ...] = ()
    cpu_ns: int = 0
    max_rss_bytes: int | None = None
    lateness: Distribution | None = None
    connects: int | None = None
    reconnects: int | None = None
    reconnecting_ns: int = 0
    resting_ns: int = 0
    age_at_start_ns: int = 0
    age_at_end_ns: int = 0
    shares: ClientShares | None = None


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Account of one client group. What is None, a tool does not report."""

    name: str = ""
    operations: tuple[OperationResult, ...] = ()
    queries: Mapping[str, float] | None = None
    received: Received | None = None
    lifetime: Lifetime | None = None
    schedule: ScheduleResult | None = None
    client: ClientResult | None = None
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def transaction(self) -> OperationResult | None:
        """The operation that stands for whole transactions."""
        return next((operation for operation in self.operations if operation.name == TRANSACTION), None)


@dataclass(frozen=True, slots=True)
class ToolResult(ToolRecord):
    """The tool that made the load; of parts that ran in several `groups`, the first one's are `counted`.

    `disagreements` are printed totals by their labels, each with the different value that was read; None of a
    tool that printed none.
    """

    groups: int | None = None
    counted: tuple[str, ...] = ()
    disagreements: JsonObject | None = None

    def record(self) -> ToolRecord:
        """Those facts that the trial's record has."""
        return ToolRecord(*(getattr(self, fact.name) for fact in fields(ToolRecord)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult(GroupResult):
    """Result of a load; its account is that of all groups together.

    `outcome` with `reason_args` is a message code. `window` is None if nothing was measured. `unit` and
    `tool` are of a load that a tool made; `value` is the result
    of a function. `hlog` are lines of the interval log. `timelines` are of a load
    with faults, one of each group.
    """

    outcome: str
    reason_args: JsonObject | None = None
    window: MeasuredWindow | None = None
    errors: tuple[ErrorRecord, ...] = ()
    remarks: Mapping[str, JsonObject] = field(default_factory=dict)
    groups: tuple[GroupResult, ...] = ()
    unit: str | None = None
    tool: ToolResult | None = None
    value: ResultSummary | None = None
    hlog: tuple[str, ...] = ()
    hlog_header: tuple[str, ...] = ()
    timelines: tuple[Timeline, ...] = ()

    @property
    def seconds(self) -> float:
        """Duration of the window."""
        return 0.0 if self.window is None else self.window.duration_ns / 1e9

    @property
    def client_groups(self) -> tuple[GroupResult, ...]:
        """All client groups."""
        return self.groups or (self,)

    def group(self, name: str) -> GroupResult:
        """A client group by its name; one that is missing has done nothing."""
        return next((group for group in self.client_groups if group.name == name), GroupResult(name))


@dataclass(frozen=True, slots=True)
class LoadedData:
    """Result of loading a data set; None where the loader does not report it."""

    duration_s: float
    rows: int | None = None
    size_bytes: int | None = None


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
class RetainedFiles:
    """Files that the load will leave in its directory, which the receiver removes."""

    type: Literal["retained-files"] = "retained-files"
    directory: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """The load has made what it needs: from now on its own time counts, without the limit of the data."""

    type: Literal["laid-out"] = "laid-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The work is done: the last line."""

    type: Literal["result"] = "result"
    result: LoadResult | LoadedData


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReason:
    """A message as another process writes it (`Message.document`); `code` is None if it has only words."""

    code: str | None
    args: JsonObject
    finding: str
    advice: str

    @property
    def message(self) -> Message:
        return Message(self.code or "", self.args, recorded=(self.finding, self.advice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The work has failed for this reason: the last line."""

    type: Literal["error"] = "error"
    error: FailureReason


LoadEvent = (
    Pinned | Connected | Ready | PhaseBegan | Interval | Trouble | LoadingProgress | RetainedFiles | LaidOut
)
_Line = Annotated[LoadEvent | Finished | Failed, Field(discriminator="type")]


def read_event(line: bytes | str) -> LoadEvent | Finished | Failed:
    """Read one line. Raises MismatchError for one that is no event."""
    event: LoadEvent | Finished | Failed = read(_Line, line)  # type: ignore[arg-type]
    return event
