"""A trial as the analysis sees it: a few plain values, taken from its record with nothing lost by a missing key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadcell.analysis import failure_reasons, groups, leaks, open_loop, quantiles, types
from loadcell.analysis.failure_reasons import error_meaning
from loadcell.analysis.leaks import Lost
from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.types import Counted
from loadcell.model.message import Message

#: Every state a trial can be in; `not-run` stands for one that was planned and has no record.
STATUSES = ("ok", "failed", "timed-out", "aborted", "invalid", "not-run")

#: The checks every trial is held against; others are shown by their own name.
CHECKS = (
    "littles-law", "counting-identity", "client-limit", "server-counters", "intervals-complete", "steal",
    "clock-step", "neighbour", "pacing", "backlog", "tpcc-consistency", "pgbench-balances",
    "values",
    "percentiles", "swap", "throttled", "other-processes", "client-waiting", "affinity", "direct-io",
    "ports", "tool-output", "tool-groups", "streams", "in-memory",
)  # fmt: skip

#: The `reason_code` of a trial in which ever more was due than the target took.
OVERLOADED = "overloaded"


@dataclass(frozen=True)
class Check:
    """One check of a trial: `verdict` is ok, noticed, broken or unknown; `detail` is its evidence."""

    name: str
    verdict: str
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """An expectation held against a trial: `verdict` is met, missed or unknown.

    `count` is of how many a percentile is that is `unknown` because it needs more (`needed`); both are None of all others.
    """

    expression: str
    verdict: str
    value: float | None
    count: int | None = None
    needed: int | None = None


@dataclass(frozen=True)
class ErrorCount:
    """How often one kind of error came up in one trial.

    `transactions` is how many it ended for good. `count` is that, or, where it ended none (all were tried again with
    success), how many statements it struck: the record has both, and a failure is not to be counted twice.
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

    `figures` are those that its workload alone has (tpmC), `types` and `outcomes` what it counts transactions by.
    `groups` is the part of each client group, where there are several, as a trial of its own.
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
    expectations: tuple[Judged, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    types: Mapping[str, Counted] = field(default_factory=dict)
    outcomes: Mapping[str, Counted] = field(default_factory=dict)
    arm: str | None = None
    groups: Mapping[str, Trial] = field(default_factory=dict)
    #: what its throughput counts; None where the record does not say
    unit: str | None = None
    #: what the target had lost, which was looked into meanwhile and so too slow to be compared; None where it was not
    lost: Lost | None = None
    #: whether its figures are those that a tool printed: rounded, and by the tool's own lights
    reported: bool = False

    @property
    def counts(self) -> bool:
        """Whether its figures enter medians: only those of trials that ended well do."""
        return self.status == "ok" and self.throughput_per_s is not None and self.lost is None

    @property
    def reason(self) -> str | None:
        """Why it is not `ok`, in the record's own words."""
        return self.why.text if self.why else None

    @property
    def advice(self) -> str | None:
        """What to do about it, in the record's own words."""
        return self.remedy.text if self.remedy else None

    @property
    def overloaded(self) -> bool:
        """Whether it was given up because ever more was due than the target took."""
        return self.reason_code == OVERLOADED


def _number(value: Any) -> float | None:
    """A figure of a record; what is no finite number (NaN, an infinity) is no figure."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _figures(totals: Mapping[str, Any], key: str) -> Mapping[str, float] | None:
    """A distribution's figures, those that are numbers."""
    found = totals.get(key)
    if not isinstance(found, Mapping):
        return None
    return {key: value for key, value in found.items() if _number(value) is not None}


def _section(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = record.get(key)
    return found if isinstance(found, Mapping) else {}


def from_record(record: Mapping[str, Any]) -> Trial:
    """A trial from its `trial.json`. Keys that are missing or null (a trial that failed early) give empty values."""
    totals = _section(record, "totals")
    transactions = _section(totals, "transactions")
    clients = _section(_section(record, "settings"), "load").get("clients")
    return Trial(
        number=record["number"],
        name=record["name"],
        treatment=record["treatment"],
        repeat=record["repeat"],
        block=record.get("block", record["repeat"]),
        status=record["status"],
        why=failure_reasons.why(record),
        remedy=failure_reasons.remedy(record),
        reason_code=record.get("reason_code"),
        throughput_per_s=_number(totals.get("throughput_per_s")),
        queries_per_s=_number(totals.get("queries_per_s")),
        received_bytes_per_s=_number(totals.get("received_bytes_per_s")) if totals.get("statuses") else None,
        attempted=transactions.get("attempted") or 0,
        succeeded=transactions.get("succeeded") or 0,
        failed=transactions.get("failed") or 0,
        retried=transactions.get("retried") or 0,
        reconnecting_s=_section(record, "client").get("reconnecting_s") or 0.0,
        resting_s=_section(record, "client").get("resting_s") or 0.0,
        edges_s=(_section(record, "client").get("age_at_end_s") or 0.0)
        - (_section(record, "client").get("age_at_start_s") or 0.0),
        duration_s=_section(record, "measure").get("duration_s"),
        clients=clients if isinstance(clients, int) else None,
        pipeline=_pipeline(record),
        response=quantiles.carried(_figures(totals, "response")),
        service=quantiles.carried(_figures(totals, "service")),
        left_out=quantiles.left_out(_figures(totals, "response") or {}),
        open_loop=open_loop.from_record(record),
        errors=_errors(record),
        checks=tuple(
            Check(check["name"], check["verdict"], _section(check, "detail"))
            for check in record.get("checks") or ()
        ),
        expectations=tuple(
            Judged(
                entry["expression"],
                entry["verdict"],
                entry.get("value"),
                entry.get("count"),
                entry.get("needed"),
            )
            for entry in record.get("expect") or ()
        ),
        figures=_section(totals, "figures"),
        types=types.counted(record, types.TYPE),
        outcomes=types.counted(record, types.OUTCOME),
        arm=record.get("arm"),
        unit=record.get("unit"),
        lost=leaks.from_record(record),
        reported=record.get("tool") is not None,
        groups={name: from_record(own) for name, own in groups.records(record).items()},
    )


def lack(trials: Iterable[Trial], keys: Iterable[str]) -> bool:
    """Whether any that counts had too few transactions for one of these quantiles."""
    wanted = set(keys)
    return any(trial.counts and wanted & {*trial.left_out} for trial in trials)


def _pipeline(record: Mapping[str, Any]) -> int:
    """How many at once each client may have under way: as the plan says, or as the law was held against it when it ran."""
    workload = _section(_section(record, "settings"), "workload")
    depths = (_section(workload, name).get(key) for name in workload for key in ("pipeline", "streams"))
    judged = (_section(check, "detail").get("pipeline") for check in record.get("checks") or ())
    return max((depth for depth in (*depths, *judged) if isinstance(depth, int)), default=1)


def of_run(run: Mapping[str, Any], records: list[dict[str, Any]]) -> tuple[Trial, ...]:
    """All trials of a run in the order they were planned; those without a record become `not-run`."""
    known = {trial.name: trial for trial in map(from_record, records)}
    planned = [
        known.pop(
            entry["name"],
            Trial(
                entry["number"],
                entry["name"],
                entry["treatment"],
                entry["repeat"],
                entry.get("block", entry["repeat"]),
                "not-run",
                arm=entry.get("arm"),
            ),
        )
        for entry in run.get("trials") or ()
    ]
    return tuple(sorted([*planned, *known.values()], key=lambda trial: trial.number))


def _errors(record: Mapping[str, Any]) -> tuple[ErrorCount, ...]:
    """What went wrong in a trial, each code once."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for error in record.get("errors") or ():
        kinds.setdefault(str(error["code"]), []).append(error)
    found = []
    for code, errors in kinds.items():
        transactions = sum(error["count"] for error in errors if error.get("operation") == "transaction")
        first = errors[0]
        found.append(
            ErrorCount(
                code,
                error_meaning(code, first.get("meaning") or ""),
                first.get("message") or "",
                transactions or sum(error["count"] for error in errors),
                transactions,
                _remedy(code, first),
            )
        )
    return tuple(found)


def _remedy(code: str, error: Mapping[str, Any]) -> Message | None:
    """What a record says is to be done about an error. Those of earlier versions give no code of the sentence."""
    if not error.get("advice"):
        return None
    return Message(str(error.get("advice_code") or f"short-of.{code}"), recorded=(error["advice"], ""))
