"""Small runs as records, without a run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loadcell.analysis.analyse import Analysis, analyse
from loadcell.model.run_record import FactorRecord, PlannedTrial, RunRecord, TreatmentRecord
from loadcell.model.trial_record import Counts, Status, Totals, TrialRecord, Window
from records import latency


def run_of(
    throughputs: Mapping[str, Sequence[float | None]],
    *,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[RunRecord, list[TrialRecord]]:
    """A run with a trial for each throughput (None: the trial failed), `levels` naming each treatment's
    factors.
    """
    levels = levels or {name: {"load.clients": int(name)} for name in throughputs}
    repeats = max(len(values) for values in throughputs.values())
    trials: list[PlannedTrial] = []
    records: list[TrialRecord] = []
    for repeat in range(1, repeats + 1):
        for name, values in throughputs.items():
            if repeat <= len(values):
                number = len(trials) + 1
                planned = PlannedTrial(number, f"{number:03d}-{name}-r{repeat}", name, repeat, block=repeat)
                trials.append(planned)
                records.append(_record(planned, values[repeat - 1]))
    run = RunRecord(
        repeats=repeats,
        factors=tuple(FactorRecord(key) for key in next(iter(levels.values()), {})),
        treatments=tuple(
            TreatmentRecord(
                name, {key: str(value) for key, value in levels[name].items()}, dict(levels[name])
            )
            for name in throughputs
        ),
        trials=tuple(trials),
    )
    return run, records


def _record(planned: PlannedTrial, throughput: float | None) -> TrialRecord:
    record = TrialRecord(
        planned.number, planned.name, planned.treatment, planned.repeat, Status.OK, block=planned.block
    )
    if throughput is None:
        return replace(record, status=Status.FAILED, reason="the server went away")
    response = latency(
        1000, mean_ms=5.0, min_ms=1.0, max_ms=40.0, p50_ms=throughput / 100, p90_ms=7.0, p95_ms=8.0,
        p99_ms=throughput / 10, p99_9_ms=12.0, p99_99_ms=14.0,
    )  # fmt: skip
    totals = Totals(
        Counts(attempted=1010, succeeded=1000), throughput_per_s=throughput, queries_per_s=throughput * 20,
        response=response,
    )  # fmt: skip
    return replace(record, measure=Window(10.0), totals=totals)


def analysis_of(throughputs: Mapping[str, Sequence[float | None]], **more: Any) -> Analysis:
    """The same, analysed."""
    return analyse(*run_of(throughputs, **more))


def findings_by_code(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Text keys of all findings with their parameters."""
    return {finding.message.code: dict(finding.message.arguments) for finding in analysis.findings}
