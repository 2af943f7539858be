"""Client groups, where a plan has several workloads side by side: each group's part of a trial, and over a
treatment's repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.message import Milliseconds, Rate
from loadcell.model.trial_record import Counts, GroupRecord, Totals, TrialRecord
from loadcell.stats.repeats import Repeats, summarise

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment

#: Response-time statistics of a group, or of a type of transaction, by their key in a trial's record.
FIGURES = ("mean_ms", "stdev_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms")

GROUP = FindingCode(
    "found.group", Subject.GROUPS, "info", (Concern.ANSWER, 250), group=str, p99_ms=Milliseconds,
    throughput_per_s=Rate, treatment=str,
)  # fmt: skip


@dataclass(frozen=True)
class OfGroup:
    """One group over the succeeded trials of a treatment.

    `share` is its part of all transactions that succeeded; `response` has a value for each key of `FIGURES`.
    `offered` and `backlog` are those of an open loop, and empty in a closed one.
    """

    name: str
    clients: int | None
    succeeded: int
    failed: int
    share: float | None
    throughput: Repeats
    response: Mapping[str, Repeats]
    offered: Repeats
    backlog: Repeats


def records(record: TrialRecord) -> dict[str, TrialRecord]:
    """For each client group, the trial's record as if that group had been alone."""
    return {
        name: _alone(record, name, group)
        for name, group in (record.groups or {}).items()
        if name in record.operations
    }


def _alone(record: TrialRecord, name: str, group: GroupRecord) -> TrialRecord:
    stats, prefix = record.operations[name], f"{name}:"
    counts = {field.name: getattr(stats, field.name) for field in fields(Counts)}
    return replace(
        record,
        groups=None,
        settings={"load": {"clients": group.clients}},
        totals=Totals(
            transactions=Counts(**counts),
            throughput_per_s=stats.throughput_per_s,
            queries_per_s=group.queries_per_s,
            response=stats.response,
            service=stats.service,
            figures=group.figures,
        ),
        operations={
            key.removeprefix(prefix): value
            for key, value in record.operations.items()
            if key.startswith(prefix)
        },
        errors=tuple(error for error in record.errors if error.group == name),
        schedule=group.schedule,
        client=group.client,
        checks=(),
        expect=(),
    )


def over(treatment: Treatment) -> tuple[OfGroup, ...]:
    """Every group of a treatment's trials; none where the plan has one workload."""
    counting = [trial for trial in treatment.trials if trial.counts]
    every = sum(trial.succeeded for trial in counting)
    groups = []
    for name in dict.fromkeys(name for trial in counting for name in trial.groups):
        group_trials = [trial.groups[name] for trial in counting if name in trial.groups]
        succeeded = sum(trial.succeeded for trial in group_trials)
        loops = [trial.open_loop for trial in group_trials if trial.open_loop is not None]
        groups.append(
            OfGroup(
                name,
                group_trials[0].clients,
                succeeded,
                sum(trial.failed for trial in group_trials),
                succeeded / every if every else None,
                summarise([trial.throughput_per_s for trial in group_trials]),
                {
                    key: summarise([(trial.response or {}).get(key) for trial in group_trials])
                    for key in FIGURES
                },
                summarise([loop.offered_per_s for loop in loops]),
                summarise([float(loop.backlog_peak) for loop in loops]),
            )
        )
    return tuple(groups)


def findings(treatment: Treatment) -> Iterator[Finding]:
    """Results of each of a treatment's groups; empty if it has none."""
    for group in over(treatment):
        p99 = group.response["p99_ms"].median
        if group.throughput.median is None or p99 is None:
            continue
        yield GROUP.finding(
            (treatment.id,),
            group=group.name,
            throughput_per_s=group.throughput.median,
            p99_ms=p99,
            treatment=treatment.label,
        )
