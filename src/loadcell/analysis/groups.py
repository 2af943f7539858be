"""Client groups, where a plan has several workloads side by side: each group's part of a trial, and over a treatment's repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadcell.analysis.finding import Finding
from loadcell.analysis.types import FIGURES
from loadcell.model.message import Argument, Message
from loadcell.stats.repeats import Repeats, summarise

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment


@dataclass(frozen=True)
class OfGroup:
    """One group over the trials of a treatment that ended well.

    `share` is its part of all transactions that succeeded; `response` has a figure for each key of `FIGURES`. `offered`
    and `backlog` are those of an open loop, and empty in a closed one.
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


def records(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A trial's record as it would be if only one group had been there, for each of its groups."""
    return {
        name: _alone(record, name, own)
        for name, own in (record.get("groups") or {}).items()
        if name in (record.get("operations") or {})
    }


def _alone(record: Mapping[str, Any], name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    operations, before = record["operations"], f"{name}:"
    one = operations[name]
    return {
        **{key: value for key, value in record.items() if key != "groups"},
        "settings": {"load": {"clients": own.get("clients")}},
        "totals": {
            "transactions": one,
            "throughput_per_s": one.get("throughput_per_s"),
            "queries_per_s": own.get("queries_per_s"),
            "response": one.get("response"),
            "service": one.get("service"),
            "figures": own.get("figures"),
        },
        "operations": {
            key.removeprefix(before): value for key, value in operations.items() if key.startswith(before)
        },
        "errors": [error for error in record.get("errors") or () if error.get("group") == name],
        "schedule": own.get("schedule"),
        "client": own.get("client"),
        "checks": [],
        "expect": [],
    }


def over(treatment: Treatment) -> tuple[OfGroup, ...]:
    """Every group of a treatment's trials; none where the plan has one workload."""
    counting = [trial for trial in treatment.trials if trial.counts]
    every = sum(trial.succeeded for trial in counting)
    found = []
    for name in dict.fromkeys(name for trial in counting for name in trial.groups):
        own = [trial.groups[name] for trial in counting if name in trial.groups]
        succeeded = sum(trial.succeeded for trial in own)
        loops = [trial.open_loop for trial in own if trial.open_loop is not None]
        found.append(
            OfGroup(
                name,
                own[0].clients,
                succeeded,
                sum(trial.failed for trial in own),
                succeeded / every if every else None,
                summarise([trial.throughput_per_s for trial in own]),
                {key: summarise([(trial.response or {}).get(key) for trial in own]) for key in FIGURES},
                summarise([loop.offered_per_s for loop in loops]),
                summarise([float(loop.backlog_peak) for loop in loops]),
            )
        )
    return tuple(found)


def findings(treatment: Treatment) -> Iterator[Finding]:
    """How each of a treatment's groups fared; nothing where there are none."""
    for group in over(treatment):
        p99 = group.response["p99_ms"].median
        if group.throughput.median is None or p99 is None:
            continue
        params: dict[str, Argument] = {
            "group": group.name, "throughput_per_s": group.throughput.median, "p99_ms": p99,
            "treatment": treatment.label,
        }  # fmt: skip
        yield Finding("groups", Message("found.group", params).rated("info"), (treatment.id,))
