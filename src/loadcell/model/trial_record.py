"""Everything known about one trial: `trial.json` of a run directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from loadcell.model.fault_record import FaultRecord, ProxyRecord
from loadcell.model.json import OF_PLAN, OMITTED, WORDS, JsonObject, Word
from loadcell.model.latency import Latency
from loadcell.model.message import Bytes, Change, Milliseconds, Seconds, Share, Unit
from loadcell.model.metrics import MetricFacts
from loadcell.model.profile_record import HeapRecord, MemoryRecord, ProfileRecord
from loadcell.model.resources import Resources
from loadcell.model.result_summary import ResultSummary

#: Stage of a search: `bracket` and `refine` find a candidate, `confirm` repeats it beside the adjacent
#: levels; `overload` is a trial above it, and `after` one at it again directly afterwards.
Stage = Literal["bracket", "refine", "confirm", "overload", "after"]
#: Reason for measuring a level in a search.
Why = Literal["lowest", "higher", "model", "section", "edge", "again", "confirm", "overload", "after"]
#: The operation that stands for whole transactions (requests, operations of a store).
TRANSACTION = "transaction"


class Status(StrEnum):
    """Outcome of a trial."""

    OK = "ok"
    #: target or load broke, or nothing succeeded
    FAILED = "failed"
    #: a phase exceeded its limit
    TIMED_OUT = "timed-out"
    #: the run was interrupted
    ABORTED = "aborted"
    #: it finished, but the measurement cannot be trusted
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """One phase of a trial's life; `status` is None while it lasts."""

    name: Word = ""
    started_mono_ns: int | None = None
    started_utc: Word | None = None
    duration_s: float | None = None
    status: Annotated[Word | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class Window:
    """The measured window, by the monotonic clock of the client's machine and in UTC."""

    duration_s: float
    started_mono_ns: int | None = None
    started_utc: Word | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Transactions within the window; attempted == succeeded + failed + in_flight.

    `carried_in` were in progress when it opened; `retried` counts tries within attempts. None where a tool
    does not report it.
    """

    attempted: int | None = 0
    carried_in: int | None = 0
    succeeded: int | None = 0
    failed: int | None = 0
    in_flight: int | None = 0
    retried: int | None = 0


@dataclass(frozen=True, slots=True)
class OperationStats:
    """Counts and latencies of one operation within the window.

    `kind` is `read`, `write`, `other`, `type` or `outcome`. `response` runs from the intended start,
    `service` from the actual one, both of successes; `failed_response` is of failures.
    """

    kind: Word = ""
    attempted: int | None = 0
    carried_in: int | None = 0
    succeeded: int | None = 0
    failed: int | None = 0
    in_flight: int | None = 0
    retried: int | None = 0
    throughput_per_s: float | None = None
    response: Latency | None = None
    service: Latency | None = None
    failed_response: Latency | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """All transactions of a trial within the window.

    `queries` counts statements by kind; `figures` are values of the metrics of workload, tool and monitors,
    by metric key;
    `metrics` what they are, where a part declared them (absent in older runs). `statuses` are HTTP responses
    by class. None where the workload has no such value.
    """

    transactions: Counts = field(default_factory=Counts)
    queries: Mapping[str, float | None] | None = None
    throughput_per_s: float | None = None
    queries_per_s: float | None = None
    received_bytes: int | None = None
    body_bytes: int | None = None
    statuses: Mapping[str, int] | None = None
    received_bytes_per_s: float | None = None
    errors: int | None = None
    error_rate: float | None = None
    response: Latency | None = None
    service: Latency | None = None
    failed_response: Latency | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    metrics: Annotated[Mapping[str, MetricFacts] | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """Failures of one code: of transactions (`operation` is `transaction`) or of operations within them.

    `message` is the first one, `examples` are the first others; `meaning` explains the code in English;
    `advice` is a remedy in English and `advice_code` its message code.
    """

    code: Word
    count: int
    operation: Word = TRANSACTION
    message: str | None = None
    meaning: str | None = None
    advice: Annotated[str | None, OMITTED] = None
    advice_code: Annotated[Word | None, OMITTED] = None
    group: Annotated[str | None, OMITTED] = None
    examples: Annotated[tuple[str, ...], OMITTED] = ()


@dataclass(frozen=True, slots=True)
class Backlog:
    """Requests due and not sent: `peak`, `at_end`, and for how long the oldest had been due at the end, in
    seconds.
    """

    peak: int = 0
    at_end: int = 0
    overdue_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Open loop: offered and completed load; `requests_mean` is the mean number of requests due and not
    answered.
    """

    arrivals: Word = ""
    offered: int | None = None
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    pacing_error: Latency | None = None
    backlog_wait: Latency | None = None
    backlog: Backlog = field(default_factory=Backlog)
    requests_mean: float | None = None


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Counts over the whole load, warm-up and drain included, to compare with the server's counters."""

    transactions: int = 0
    failed: int = 0
    queries: int = 0
    rolled_back: int = 0
    rows_changed: int = 0
    operations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadUsage:
    """One thread of the load generator.

    `spun_s` is time spent in busy waiting; `busy` is the share of time at work.
    """

    cpu_s: float = 0.0
    wall_s: float = 0.0
    busy: float = 0.0
    spun_s: float = 0.0
    connections: int | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Fairness:
    """Distribution of successes over clients: `index` is 1 where all have the same number, and 1/n where one
    of n has all (Jain, Chiu and Hawe, DEC-TR-301, 1984: squared sum over n times the sum of squares).
    """

    clients: int
    least: int
    most: int
    index: float


@dataclass(frozen=True, slots=True)
class ClientUsage:
    """Cost and lateness of the load generator.

    `resting_s` is time in client-seconds that clients paused by their own choice; `age_at_start_s` and
    `age_at_end_s` sum the ages of the transactions in progress at the window's ends, in seconds.
    """

    threads: tuple[ThreadUsage, ...] = ()
    cpu_s: float | None = None
    busy_max: float | None = None
    max_rss_bytes: int | None = None
    lateness: Latency | None = None
    connects: int | None = None
    reconnects: int | None = None
    reconnecting_s: float = 0.0
    resting_s: float = 0.0
    age_at_start_s: float = 0.0
    age_at_end_s: float = 0.0
    fairness: Annotated[Fairness | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """Results of one client group; its operations are in the trial's, under its name."""

    workload: str
    share: float | None = None
    clients: int | None = None
    queries: Mapping[str, float | None] | None = None
    queries_per_s: float | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    schedule: Schedule | None = None
    client: ClientUsage | None = None


#: Units of the evidence of checks by the names of values; others are counts, ratios, or times of a
#: distribution (`latency.is_time`).
EVIDENCE_UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(
        (
            "covered_s", "largest_s", "limit_s", "longest_s", "overdue_s", "paused_s", "total_s", "window_s",
        ),
        Seconds,
    ),
    **dict.fromkeys(("busiest", "of_its_cores", "quota_share", "share", "tolerance"), Share),
    "difference": Change,
    **dict.fromkeys(("late_ms", "response_ms"), Milliseconds),
    "swapped_bytes": Bytes,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """Outcome of one check of a trial; `detail` is the evidence (`EVIDENCE_UNITS`).

    `verdict` is ok, noticed (shown beside the trial), broken (makes it invalid) or unknown.
    """

    name: Word
    verdict: Word
    detail: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """An expectation compared with a trial: `verdict` is met, missed or unknown, `value` the metric's.

    A percentile of too few requests is unknown: it has `count` of the `needed` ones. `fault` is the place of
    the fault whose own expectation it is, from 0. `at_least` is the lower bound that an unknown value was
    judged by: of a recovery that was not seen.
    """

    expression: str
    verdict: Word
    value: float | None = None
    count: Annotated[int | None, OMITTED] = None
    needed: Annotated[int | None, OMITTED] = None
    fault: Annotated[int | None, OMITTED] = None
    at_least: Annotated[float | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """The external tool that made the load, or whose output was imported."""

    name: Word
    version: Annotated[str | None, OMITTED] = None
    command: Annotated[tuple[str, ...] | None, OMITTED] = None
    settings: Annotated[JsonObject | None, OMITTED, OF_PLAN] = None
    parts: Annotated[tuple[str, ...] | None, OMITTED] = None
    unread: Annotated[int | None, OMITTED] = None
    unread_examples: Annotated[tuple[str, ...] | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class ImportedFrom:
    """Source of an imported trial; `joined` printed intervals make one of its intervals."""

    tool: Word
    file: str
    title: str | None = None
    joined: Annotated[int | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class MonitorRecord:
    """Samples of one monitor: its `file`, files of its further `tables`, and its own cost.

    `text_columns`: by file, the columns that hold text; all others hold numbers. Absent in runs that did not
    record it.

    Of a monitor that queries a server also `connects`, `questions` (queries sent) and the server's CPU time
    for them. Of one that runs a program also the CPU time of this, and how often it ended with which status
    (or signal). `notes` are remarks: `note` is the code, `text` the English text, `count` how often.
    `under_load`: series by name or pattern that a report draws under the throughput.
    """

    samples: int = 0
    file: Annotated[Word | None, OMITTED] = None
    cpu_s: Annotated[float | None, OMITTED] = None
    late_max_ms: Annotated[float | None, OMITTED] = None
    missed: Annotated[int | None, OMITTED] = None
    tables: Annotated[Mapping[str, str] | None, OMITTED, WORDS] = None
    text_columns: Annotated[Mapping[str, tuple[str, ...]] | None, OMITTED, WORDS] = None
    trouble: Annotated[str | None, OMITTED] = None
    imported: Annotated[str | None, OMITTED] = None
    assumed_interval_s: Annotated[float | None, OMITTED] = None
    connects: Annotated[int | None, OMITTED] = None
    questions: Annotated[int | None, OMITTED] = None
    server_cpu_s: Annotated[float | None, OMITTED] = None
    program_cpu_s: Annotated[float | None, OMITTED] = None
    exit_statuses: Annotated[Mapping[str, int] | None, OMITTED, WORDS] = None
    notes: Annotated[tuple[JsonObject, ...] | None, OMITTED] = None
    under_load: Annotated[tuple[str, ...] | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """Execution plan of a statement, as the server explained it outside of the measurement.

    `statement` is the name of its operation, `sql` its text as the plan has it. `shape` is the plan without
    numbers and conditions: equal shapes are the same plan. `text` is the server's, by line. `executed`: the
    statement was executed, so `text` has measured times and rows. `trouble`: why there is no plan.
    """

    statement: str
    sql: str
    shape: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    executed: bool = False
    trouble: Annotated[str | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class SearchObservation:
    """Observation of a trial in a search; `met` is None when the trial says nothing about its level."""

    group: int
    level: int
    label: str
    stage: Stage
    why: Why
    value: float | None = None
    met: bool | None = None
    bounds: tuple[ExpectationResult, ...] = ()
    kept_up: bool | None = None


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Everything known about one trial.

    `levels` are labels by factor, `values` and `settings` plan settings as JSON. `reason` and `advice` are
    English and None while `status` is ok; `reason_code` with `reason_args` is the same as a message. `target`
    and `data_set` are facts that the target reports. `files` are sizes in bytes.
    """

    number: int
    name: Word
    treatment: Word
    repeat: int
    status: Status
    schema: int = 1
    levels: Annotated[Mapping[str, str], OF_PLAN] = field(default_factory=dict)
    values: Annotated[JsonObject, OF_PLAN] = field(default_factory=dict)
    block: int | None = None
    arm: Annotated[Word | None, OMITTED] = None
    role: Annotated[Word | None, OMITTED] = None
    reason: str | None = None
    reason_code: Word | None = None
    reason_args: JsonObject | None = field(default_factory=dict)
    advice: str | None = None
    died_during: Annotated[Word | None, OMITTED] = None
    started_utc: Word | None = None
    ended_utc: Word | None = None
    phases: tuple[PhaseRecord, ...] = ()
    settings: Annotated[JsonObject, OF_PLAN] = field(default_factory=dict)
    unit: Word | None = None
    notes: tuple[str, ...] = ()
    measure: Window | None = None
    totals: Totals | None = None
    operations: Mapping[str, OperationStats] = field(default_factory=dict)
    errors: tuple[ErrorRecord, ...] = ()
    schedule: Schedule | None = None
    groups: Annotated[Mapping[str, GroupRecord] | None, OMITTED] = None
    lifetime: Lifetime | None = None
    client: ClientUsage | None = None
    checks: tuple[Check, ...] = ()
    tool: Annotated[ToolRecord | None, OMITTED] = None
    value: Annotated[ResultSummary | None, OMITTED] = None
    imported: Annotated[ImportedFrom | None, OMITTED] = None
    memory: Annotated[MemoryRecord | None, OMITTED] = None
    heap: Annotated[HeapRecord | None, OMITTED] = None
    profile: Annotated[ProfileRecord | None, OMITTED] = None
    target: JsonObject | None = None
    data_set: JsonObject | None = None
    monitors: Mapping[str, MonitorRecord] = field(default_factory=dict)
    expect: tuple[ExpectationResult, ...] = ()
    search: Annotated[SearchObservation | None, OMITTED] = None
    affinity: Annotated[JsonObject | None, OMITTED] = None
    plans: Annotated[tuple[PlanRecord, ...] | None, OMITTED] = None
    faults: Annotated[tuple[FaultRecord, ...] | None, OMITTED] = None
    proxy: Annotated[ProxyRecord | None, OMITTED] = None
    resources: Annotated[Resources | None, OMITTED] = None
    files: Annotated[Mapping[str, int] | None, OMITTED] = None
