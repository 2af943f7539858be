"""A plan's runs in order of time, as series: one figure a run and treatment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.treatments import short_keys, treatments
from loadcell.analysis.trials import Trial, of_run
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.stats.repeats import summarise


@dataclass(frozen=True)
class Metric:
    """A metric of a trial: its name in the catalogue, and its direction of improvement."""

    name: str
    of: Callable[[Trial], float | None]
    higher_is_better: bool


def _latency(key: str) -> Callable[[Trial], float | None]:
    return lambda trial: (trial.response or {}).get(key)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", lambda trial: trial.throughput_per_s, True),
        *(Metric(name, _latency(f"{name}_ms"), False) for name in ("mean", "p50", "p95", "p99", "p99.9")),
    )
}


@dataclass(frozen=True, eq=False)
class Run:
    """One run: name and start, records, and for each treatment the median over the succeeded repeats."""

    name: str
    started_utc: str
    state: str
    run: RunRecord
    records: Sequence[TrialRecord]
    environment: JsonObject
    values: Mapping[str, float]
    repeats: Mapping[str, int]

    @property
    def without(self) -> tuple[str, ...]:
        """The treatments it has no figure of."""
        return tuple(name for name in self.repeats if name not in self.values)

    @property
    def short(self) -> str:
        """The argument of other commands for this run."""
        return self.name.rpartition("-")[2]


@dataclass(frozen=True, eq=False)
class Series:
    """One treatment over the runs with a value for it: `places` are positions among all runs."""

    treatment: str
    label: str
    places: tuple[int, ...]
    values: tuple[float, ...]


def run_of(
    name: str,
    state: str,
    run: RunRecord,
    records: Sequence[TrialRecord],
    environment: JsonObject,
    metric: Metric,
) -> Run:
    """A run from its documents."""
    treatments_of_run = treatments(run, of_run(run, records))
    summaries = {
        treatment.id: summarise([metric.of(trial) for trial in treatment.trials if trial.counts])
        for treatment in treatments_of_run
    }
    return Run(
        name,
        run.started_utc or "",
        state,
        run,
        records,
        environment,
        {key: summary.median for key, summary in summaries.items() if _figure(summary.median)},  # type: ignore[misc]
        {key: len(summary.values) for key, summary in summaries.items()},
    )


def _figure(value: float | None) -> bool:
    """True if there is a value: without successes there is none to compare with."""
    return value is not None and math.isfinite(value) and value > 0


def series_of(runs: Sequence[Run]) -> tuple[Series, ...]:
    """A series a treatment, in the order of the latest run that has it; those of older runs only come last."""
    names: dict[str, None] = {}
    for run in reversed(runs):
        names.update(dict.fromkeys(run.values))
    labels = _labels(runs)
    series = []
    for name in names:
        places = tuple(position for position, run in enumerate(runs) if name in run.values)
        values = tuple(runs[position].values[name] for position in places)
        series.append(Series(name, labels.get(name, name), places, values))
    return tuple(series)


def _labels(runs: Sequence[Run]) -> dict[str, str]:
    """Labels of treatments by the latest run that has them."""
    labels: dict[str, str] = {}
    for run in runs:
        treatments = run.run.treatments
        short = short_keys(list(dict.fromkeys(key for treatment in treatments for key in treatment.levels)))
        for treatment in treatments:
            pairs = (f"{short[key]} = {level}" for key, level in treatment.levels.items())
            labels[treatment.id] = ", ".join(pairs) or treatment.id
    return labels
