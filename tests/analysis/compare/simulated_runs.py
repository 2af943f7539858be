"""Runs as records whose truth is known: drift that blocks share, noise of their own, and a true ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loadcell.analysis.compare import sides
from loadcell.analysis.compare.sides import Sides
from loadcell.model.run_record import PlannedTrial, RunRecord, TreatmentRecord
from loadcell.model.trial_record import Counts, Status, Totals, TrialRecord, Window
from records import latency

Records = tuple[RunRecord, list[TrialRecord]]


def record(number: int, treatment: str, block: int, throughput: float | None, **more: Any) -> TrialRecord:
    """Record of a trial with a closed loop's response times; without throughput one that failed."""
    record = TrialRecord(
        number, f"{number:03d}-{treatment}-r{block}", treatment, block, Status.OK, block=block, **more
    )
    if throughput is None:
        return replace(record, status=Status.FAILED, reason="the server went away")
    mean_ms = 4000 / throughput if throughput else 0.0
    response = latency(
        20_000, mean_ms=mean_ms, min_ms=mean_ms / 4, max_ms=mean_ms * 9, p50_ms=mean_ms * 0.9,
        p90_ms=mean_ms * 1.5, p95_ms=mean_ms * 2, p99_ms=mean_ms * 3, p99_9_ms=mean_ms * 5,
        p99_99_ms=mean_ms * 8,
    )  # fmt: skip
    totals = Totals(
        Counts(attempted=20_000, succeeded=20_000), throughput_per_s=throughput,
        queries_per_s=throughput * 20, response=response,
    )  # fmt: skip
    return replace(record, totals=totals, measure=Window(10.0))


def run_of(
    figures: Mapping[str, Sequence[float | None]],
    factor: str = "target.setting",
    levels: Mapping[str, Mapping[str, str]] | None = None,
    settings: Mapping[str, dict[str, Any]] | None = None,
) -> Records:
    """A run with a treatment for each key, a block for each figure; `settings` are by
    treatment.
    """
    levels = levels or {name: {factor: name} for name in figures}
    treatments = tuple(
        TreatmentRecord(name, dict(levels[name]), settings=(settings or {}).get(name, {})) for name in figures
    )
    records: list[TrialRecord] = []
    for block in range(1, max(len(values) for values in figures.values()) + 1):
        for name, values in figures.items():
            if block <= len(values):
                records.append(record(len(records) + 1, name, block, values[block - 1]))
    planned = tuple(
        PlannedTrial(item.number, item.name, item.treatment, item.repeat, item.block) for item in records
    )
    return RunRecord(order="blocks", treatments=treatments, trials=planned), records


def drifting(
    chance: np.random.Generator, blocks: int, ratio: float, *, drift: float = 0.05, noise: float = 0.02
) -> tuple[np.ndarray, np.ndarray]:
    """Throughputs of two systems, B being `ratio` times A, in blocks that drift."""
    shared = np.exp(chance.normal(0, drift, blocks))
    result = np.exp(chance.normal(0, noise, (2, blocks)))
    return 1000 * shared * result[0], 1000 * ratio * shared * result[1]


def levels_of(a: Sequence[float | None] | np.ndarray, b: Sequence[float | None] | np.ndarray) -> Sides:
    """Two levels of one factor in one run."""
    figures = {
        name: [None if v is None else float(v) for v in item] for name, item in (("off", a), ("on", b))
    }
    return sides.levels(*run_of(figures))


def runs_of(a: Sequence[float | None] | np.ndarray, b: Sequence[float | None] | np.ndarray) -> Sides:
    """The same treatment in two runs."""
    matches = [run_of({"base": [None if v is None else float(v) for v in values]}) for values in (a, b)]
    return sides.runs([("first", *matches[0]), ("second", *matches[1])])
