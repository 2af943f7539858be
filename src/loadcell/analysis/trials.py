"""A trial as the analysis sees it: a few plain values, taken from its record with nothing lost by a missing
key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadcell.analysis import error_codes, flames, groups, open_loop, quantiles, types
from loadcell.analysis.error_codes import error_meaning
from loadcell.analysis.flames import Lost
from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.types import Counted
from loadcell.model.json import JsonObject
from loadcell.model.latency import Latency
from loadcell.model.message import Message
from loadcell.model.metrics import MetricFacts
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

#: Every state a trial can be in; `not-run` stands for one that was planned and has no record.
STATUSES = ("ok", "failed", "timed-out", "aborted", "invalid", "not-run")

#: The `reason_code` of a trial in which ever more was due than the target took.
OVERLOADED = "overloaded"


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
    #: How many requests a client may have under way at once.
    pipeline: int = 1
    response: Mapping[str, float] | None = None
    service: Mapping[str, float] | None = None
    #: quantiles of the response time that it had too few transactions for
    left_out: tuple[str, ...] = ()
    open_loop: OpenLoop | None = None
    errors: tuple[ErrorCount, ...] = ()
    checks: tuple[Check, ...] = ()
    expectations: tuple[ExpectationResult, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, MetricFacts] = field(default_factory=dict)
    types: Mapping[str, Counted] = field(default_factory=dict)
    outcomes: Mapping[str, Counted] = field(default_factory=dict)
    arm: str | None = None
    groups: Mapping[str, Trial] = field(default_factory=dict)
    #: what its throughput counts; None where the record does not say
    unit: str | None = None
    #: what the target had lost, which was looked into meanwhile and so too slow to be compared; None where it
    #: was not
    lost: Lost | None = None
    #: True if its values are those that a tool printed: rounded, and by the tool's own lights
    reported: bool = False

    @property
    def counts(self) -> bool:
        """True if its values enter medians: those of succeeded trials do."""
        return self.status == "ok" and self.throughput_per_s is not None and self.lost is None

    @property
    def reason(self) -> str | None:
        """Why it is not `ok`, in the record's own words."""
        return self.why.text if self.why else None

    @property
    def advice(self) -> str | None:
        """The remedy, in the record's words."""
        return self.remedy.text if self.remedy else None

    @property
    def overloaded(self) -> bool:
        """True if it was aborted because the backlog kept growing."""
        return self.reason_code == OVERLOADED


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
        pipeline=in_flight(record),
        response=quantiles.carried(response),
        service=quantiles.carried(_finite(totals.service)),
        left_out=quantiles.left_out(response or {}),
        open_loop=open_loop.from_schedule(record.schedule),
        errors=_errors(record),
        checks=record.checks,
        expectations=record.expect,
        figures={name: value for name, value in totals.figures.items() if value is not None},
        metrics=totals.metrics or {},
        types=types.counted(record, types.TYPE),
        outcomes=types.counted(record, types.OUTCOME),
        arm=record.arm,
        unit=record.unit,
        lost=flames.lost_memory(record),
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
        counts.append(
            ErrorCount(
                code,
                error_meaning(code, errors[0].meaning or ""),
                errors[0].message or "",
                transactions or sum(error.count for error in errors),
                transactions,
                _remedy(errors[0]),
            )
        )
    return tuple(counts)


def _remedy(error: ErrorRecord) -> Message | None:
    """Remedy that a record gives for an error; early records lack its code."""
    if not error.advice:
        return None
    return Message(error.advice_code or f"short-of.{error.code}", recorded=(error.advice, ""))
