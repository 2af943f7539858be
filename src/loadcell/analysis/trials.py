"""Trials as the analysis sees them: a few plain values, taken from records with nothing lost by a
missing key.

Distributions come without the percentiles that too few observations support (`loadcell.plan.expect` has the
rule); trials are compared where some more lie beyond, as a value made by a single observation is another one
in every trial. Types of transaction and outcomes are counted apart where a workload does so: of one trial,
and over a treatment's repeats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from loadcell.analysis import error_codes, flames, groups, open_loop
from loadcell.analysis.error_codes import error_meaning
from loadcell.analysis.flames import Lost
from loadcell.analysis.groups import FIGURES
from loadcell.analysis.open_loop import OpenLoop
from loadcell.model.engine_messages import OVERLOADED
from loadcell.model.json import JsonObject
from loadcell.model.latency import Latency
from loadcell.model.message import Message
from loadcell.model.metrics import MetricFacts
from loadcell.model.resources import Resources
from loadcell.model.run_record import PlannedTrial, RunRecord
from loadcell.model.trial_record import (
    TRANSACTION,
    Check,
    ClientUsage,
    Counts,
    ErrorRecord,
    ExpectationResult,
    Totals,
    TrialRecord,
)
from loadcell.plan.expect import LEAST_BEYOND, ROUNDING, enough
from loadcell.plan.expect import QUANTILES as _BY_NAME
from loadcell.stats.repeats import Repeats, summarise
from loadcell.store.frames import Frame

#: The quantiles kept in every record: key in the record -> quantile.
QUANTILES = {f"{name}_ms": quantile for name, quantile in _BY_NAME.items()}
#: Observations beyond a quantile without which two of them are not compared.
LEAST_BEYOND_TO_COMPARE = 5


def carries(figures: Mapping[str, float], key: str, beyond: int = LEAST_BEYOND) -> bool:
    """True if that many observations lie beyond the quantile of this key; for what is none, True.

    Values that do not say how many observations there were are taken to have had enough: the tool that gave
    them knew.
    """
    quantile, count = QUANTILES.get(key), figures.get("count")
    return quantile is None or count is None or enough(count, quantile, beyond)


def left_out(figures: Mapping[str, float]) -> tuple[str, ...]:
    """The keys of quantiles that there are too few observations for."""
    count = figures.get("count")
    few = () if count is None else _unsupported(int(count))
    return tuple(key for key in few if key in figures)


@cache
def _unsupported(count: int) -> tuple[str, ...]:
    """The keys of quantiles that this many observations do not support."""
    return tuple(key for key in QUANTILES if not carries({"count": count}, key))


def carried(figures: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Values of a distribution (ms, by the record's keys) without those that too few observations support."""
    if figures is None:
        return None
    few = left_out(figures)
    return {key: value for key, value in figures.items() if key not in few} if few else figures


def coefficient_of_variation(response: Mapping[str, float] | None) -> float | None:
    """Standard deviation over mean of the response times within a trial; None without these."""
    mean_ms, stdev_ms = (response or {}).get("mean_ms"), (response or {}).get("stdev_ms")
    return stdev_ms / mean_ms if mean_ms and stdev_ms is not None else None


def carried_over_time(intervals: Frame) -> Frame:
    """Rows of intervals without the quantiles that what `succeeded` in each does not carry: a point of such a
    line would be the
    slowest of an interval, and the line one of maxima."""
    if not intervals.has("succeeded"):
        return intervals
    succeeded = intervals.numbers("succeeded")
    columns = {}
    for key, quantile in QUANTILES.items():
        few = succeeded * (1 - quantile) < LEAST_BEYOND - ROUNDING
        for name in (f"response_{key}", f"service_{key}"):
            if intervals.has(name):
                columns[name] = np.where(few, np.nan, intervals.numbers(name))
    return intervals.adding(columns)


#: How a trial's record calls an operation that is a type of transaction, or an outcome of some that
#: succeeded.
TYPE, OUTCOME = "type", "outcome"

#: The unit of workloads whose transactions are made of steps.
SCENARIO = "scenario"
#: Where the unit is one operation, what an operation does is its type; of blocks also the flush that follows
#: one. Of scenarios the steps are shown so.
_OPERATIONS = {
    "operation": (TYPE, "read", "write"),
    "block": (TYPE, "read", "write", "other"),
    SCENARIO: (TYPE, "read", "write"),
}


@dataclass(frozen=True)
class Counted:
    """One type or outcome in one trial; `response` in ms, None when none succeeded."""

    succeeded: int
    failed: int
    throughput_per_s: float | None
    response: Mapping[str, float] | None


@dataclass(frozen=True)
class OfType:
    """One type or outcome over the succeeded trials of a treatment.

    `share` is its part of all transactions that succeeded; `response` has a value for each key of `FIGURES`.
    """

    name: str
    succeeded: int
    failed: int
    share: float | None
    throughput: Repeats
    response: Mapping[str, Repeats]


def counted(record: TrialRecord, kind: str) -> dict[str, Counted]:
    """Types or outcomes of a trial by name, in the record's order; client groups, types to the engine, are
    excluded.
    """
    groups = record.groups or {}
    kinds = _OPERATIONS.get(record.unit or "", (kind,)) if kind == TYPE else (kind,)
    return {
        name: Counted(
            stats.succeeded or 0,
            stats.failed or 0,
            stats.throughput_per_s,
            carried(stats.response.values() if stats.response else None),
        )
        for name, stats in record.operations.items()
        if stats.kind in kinds and name not in groups
    }


def over_repeats(trials: Sequence[Mapping[str, Counted]], succeeded: int) -> tuple[OfType, ...]:
    """Every type (or outcome) that these trials have; `succeeded` counts all their transactions."""
    names = dict.fromkeys(name for trial in trials for name in trial)
    return tuple(_over(name, [trial[name] for trial in trials if name in trial], succeeded) for name in names)


def _over(name: str, counts: Sequence[Counted], succeeded: int) -> OfType:
    count = sum(counted.succeeded for counted in counts)
    return OfType(
        name,
        count,
        sum(counted.failed for counted in counts),
        count / succeeded if succeeded else None,
        summarise([counted.throughput_per_s for counted in counts]),
        {key: summarise([(counted.response or {}).get(key) for counted in counts]) for key in FIGURES},
    )


#: Every state a trial can be in; `not-run` stands for one that was planned and has no record.
STATUSES = ("ok", "failed", "timed-out", "aborted", "invalid", "not-run")


@dataclass(frozen=True)
class ErrorCount:
    """Frequency of one kind of error in one trial.

    `transactions` is how many it ended for good. `count` is that, or, where it ended none (all were tried
    again with success), how many statements it struck: the record has both, and a failure is not to be
    counted twice.
    """

    code: str
    meaning: Message
    message: str
    count: int
    transactions: int
    #: what to do about it, where that is known
    remedy: Message | None = None
    #: number of failures by the operations of the workload that it struck
    operations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """One trial. Rates are per second, latencies in ms; None where the trial has no such figure.

    `figures` are metrics of workload, tool and monitors (tpmC), `metrics` what is declared of them, `types`
    and `outcomes` what it counts transactions by.
    `groups` is the part of each client group, where there are several, as a separate trial.
    `arm` tells two identical treatments apart in an A/A run.
    """

    number: int
    name: str
    treatment: str
    repeat: int
    block: int
    status: str
    #: why it is not `ok`, and what to do about it; None where the record does not say
    why: Message | None = None
    remedy: Message | None = None
    reason_code: str | None = None
    throughput_per_s: float | None = None
    queries_per_s: float | None = None
    #: what services of HTTP sent, headers included; None where the work is another
    received_bytes_per_s: float | None = None
    attempted: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    reconnecting_s: float = 0.0
    resting_s: float = 0.0
    #: How long the transactions in progress at the window's two ends had been so: the end's less the start's.
    edges_s: float = 0.0
    duration_s: float | None = None
    clients: int | None = None
    #: Jain's index of the clients' successes, 0 to 1; None of one client
    fairness: float | None = None
    #: How many requests a client may have under way at once.
    pipeline: int = 1
    response: Mapping[str, float] | None = None
    service: Mapping[str, float] | None = None
    #: mean response time of failed transactions
    failed_mean_ms: float | None = None
    #: quantiles of the response time that it had too few transactions for
    left_out: tuple[str, ...] = ()
    open_loop: OpenLoop | None = None
    errors: tuple[ErrorCount, ...] = ()
    checks: tuple[Check, ...] = ()
    expectations: tuple[ExpectationResult, ...] = ()
    #: titles of its faults, in the order of the plan
    faults: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, MetricFacts] = field(default_factory=dict)
    #: what machine, target and client used; None where the record does not say
    resources: Resources | None = None
    types: Mapping[str, Counted] = field(default_factory=dict)
    outcomes: Mapping[str, Counted] = field(default_factory=dict)
    arm: str | None = None
    groups: Mapping[str, Trial] = field(default_factory=dict)
    #: what its throughput counts; None where the record does not say
    unit: str | None = None
    #: what the target had lost, which was looked into meanwhile and so too slow to be compared; None where it
    #: was not
    lost: Lost | None = None
    #: largest size of the heap, of a trial under massif
    heap_peak_bytes: int | None = None
    #: True if its values are those that a tool printed: rounded, and by the tool's own lights
    reported: bool = False

    @property
    def examined(self) -> bool:
        """True if a profiler that slows it down examined its memory: its throughput does not count."""
        return self.lost is not None or self.heap_peak_bytes is not None

    @property
    def counts(self) -> bool:
        """True if its values enter medians: those of succeeded trials do."""
        return self.status == "ok" and self.throughput_per_s is not None and not self.examined

    @property
    def reason(self) -> str | None:
        """Why it is not `ok`, in the record's own words."""
        return self.why.text if self.why else None

    @property
    def advice(self) -> str | None:
        """The remedy, in the record's words."""
        return self.remedy.text if self.remedy else None

    @property
    def is_bounded(self) -> bool:
        """True if a client has at most `pipeline` requests in flight. Where only the service bounds them, as
        records of a stream, Little's law could not be checked.
        """
        return not any(check.name == "littles-law" and check.verdict == "unknown" for check in self.checks)

    @property
    def overloaded(self) -> bool:
        """True if it was aborted because the backlog kept growing."""
        return self.reason_code in OVERLOADED


def _number(value: Any) -> float | None:
    """A number of a record; None if it is not finite (NaN, an infinity)."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _finite(latency: Latency | None) -> Mapping[str, float] | None:
    """Reported values of a distribution that are finite."""
    if latency is None:
        return None
    return {name: value for name, value in latency.values().items() if math.isfinite(value)}


def _section(settings: JsonObject, key: str) -> JsonObject:
    section = settings.get(key)
    return section if isinstance(section, dict) else {}


def from_record(record: TrialRecord) -> Trial:
    """Trial from its record; what a trial that failed early lacks is empty."""
    totals, client = record.totals or Totals(), record.client or ClientUsage()
    counts = totals.transactions if record.totals else Counts()
    clients = _section(record.settings, "load").get("clients")
    response = _finite(totals.response)
    return Trial(
        number=record.number,
        name=record.name,
        treatment=record.treatment,
        repeat=record.repeat,
        block=record.repeat if record.block is None else record.block,
        status=str(record.status),
        why=error_codes.why(record),
        remedy=error_codes.remedy(record),
        reason_code=record.reason_code,
        throughput_per_s=_number(totals.throughput_per_s),
        queries_per_s=_number(totals.queries_per_s),
        received_bytes_per_s=_number(totals.received_bytes_per_s) if totals.statuses else None,
        attempted=counts.attempted or 0,
        succeeded=counts.succeeded or 0,
        failed=counts.failed or 0,
        retried=counts.retried or 0,
        reconnecting_s=client.reconnecting_s,
        resting_s=client.resting_s,
        edges_s=client.age_at_end_s - client.age_at_start_s,
        duration_s=record.measure.duration_s if record.measure else None,
        clients=clients if isinstance(clients, int) else None,
        fairness=client.fairness.index if client.fairness else None,
        pipeline=in_flight(record),
        response=carried(response),
        service=carried(_finite(totals.service)),
        failed_mean_ms=None if totals.failed_response is None else _number(totals.failed_response.mean_ms),
        left_out=left_out(response or {}),
        open_loop=open_loop.from_schedule(record.schedule),
        errors=_errors(record),
        checks=record.checks,
        expectations=record.expect,
        faults=tuple(fault.title for fault in record.faults or ()),
        figures={name: value for name, value in totals.figures.items() if value is not None},
        metrics=totals.metrics or {},
        resources=record.resources,
        types=counted(record, TYPE),
        outcomes=counted(record, OUTCOME),
        arm=record.arm,
        unit=record.unit,
        lost=flames.lost_memory(record),
        heap_peak_bytes=record.heap.peak_bytes if record.heap else None,
        reported=record.tool is not None,
        groups={name: from_record(group) for name, group in groups.records(record).items()},
    )


def lack(trials: Iterable[Trial], keys: Iterable[str]) -> bool:
    """True if any that counts had too few transactions for one of these quantiles."""
    wanted = set(keys)
    return any(trial.counts and wanted & {*trial.left_out} for trial in trials)


def in_flight(record: TrialRecord) -> int:
    """Largest number of requests in flight per client: by the plan, or as Little's law was checked."""
    workload = _section(record.settings, "workload")
    depths = (_section(workload, name).get(key) for name in workload for key in ("pipeline", "streams"))
    checked = (check.detail.get("pipeline") for check in record.checks)
    return max((depth for depth in (*depths, *checked) if isinstance(depth, int)), default=1)


def of_run(run: RunRecord, records: Sequence[TrialRecord]) -> tuple[Trial, ...]:
    """All trials of a run in planned order; those without a record have the status `not-run`."""
    recorded = {trial.name: trial for trial in map(from_record, records)}
    planned = [
        recorded.pop(entry.name) if entry.name in recorded else _not_run(entry) for entry in run.trials
    ]
    return tuple(sorted([*planned, *recorded.values()], key=lambda trial: trial.number))


def _not_run(entry: PlannedTrial) -> Trial:
    block = entry.repeat if entry.block is None else entry.block
    return Trial(entry.number, entry.name, entry.treatment, entry.repeat, block, "not-run", arm=entry.arm)


def _errors(record: TrialRecord) -> tuple[ErrorCount, ...]:
    """Errors of a trial, one for each code."""
    by_code: dict[str, list[ErrorRecord]] = {}
    for error in record.errors:
        by_code.setdefault(error.code, []).append(error)
    counts = []
    for code, errors in by_code.items():
        transactions = sum(error.count for error in errors if error.operation == TRANSACTION)
        count = transactions or sum(error.count for error in errors)
        counts.append(
            ErrorCount(
                code,
                error_meaning(code, errors[0].meaning or ""),
                "; ".join((errors[0].message or "", *errors[0].examples)),
                count,
                transactions,
                error_codes.explained(record, code, count, _remedy(errors[0])),
                Counter({error.operation: error.count for error in errors if error.operation != TRANSACTION}),
            )
        )
    return tuple(counts)


def _remedy(error: ErrorRecord) -> Message | None:
    """Remedy that a record gives for an error; early records lack its code."""
    if not error.advice:
        return None
    return Message(error.advice_code or f"short-of.{error.code}", recorded=(error.advice, ""))
