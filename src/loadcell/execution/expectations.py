"""Judges a trial by the expectations of its plan and of its faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from loadcell.execution.outcome import judged_values
from loadcell.execution.record import metrics
from loadcell.model import fault_metrics
from loadcell.model.fault_judgement import FaultJudgement
from loadcell.model.fault_record import FaultRecord
from loadcell.model.trial_record import ExpectationResult, TrialRecord
from loadcell.plan.model import Resolved


def judged(record: TrialRecord, resolved: Resolved) -> Iterator[ExpectationResult]:
    """Results of the expectations of the plan, and of those of each fault by the metrics of that fault."""
    values = judged_values(record, metrics(record))
    faults = record.faults or () if values else ()
    least = _least(faults)
    for expected in resolved.expect:
        yield expected.judge(values, least).result(expected.text)
    for number, planned in enumerate(resolved.faults):
        fault = faults[number : number + 1]
        of_fault = {**values, **(_values(fault[0]) if fault else {})}
        least = _least(fault)
        for expected in planned.expect:
            yield replace(expected.judge(of_fault, least).result(expected.text), fault=number)


def _values(fault: FaultRecord) -> dict[str, float | None]:
    """Metrics of one fault; those of a client group follow its name and a dot."""
    values = {} if fault.judgement is None else fault_metrics.of_fault(fault.judgement)
    for group, judgement in (fault.groups or {}).items():
        values |= {f"{group}.{key}": value for key, value in fault_metrics.of_fault(judgement).items()}
    return values


def _least(faults: Sequence[FaultRecord]) -> Mapping[str, float | None]:
    """Lower bounds on recoveries that were not seen, of all clients and of each group."""
    by_group: dict[str, list[FaultJudgement]] = {}
    for fault in faults:
        if fault.judgement is not None:
            by_group.setdefault("", []).append(fault.judgement)
        for group, judgement in (fault.groups or {}).items():
            by_group.setdefault(f"{group}.", []).append(judgement)
    return {
        f"{group}{key}": bound_ms
        for group, judgements in by_group.items()
        for key, bound_ms in fault_metrics.least_recoveries_ms(judgements).items()
    }
