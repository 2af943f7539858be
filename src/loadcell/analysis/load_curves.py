"""Throughput against response time as the load rises: one curve for each group of treatments that differ in
their load alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcell.analysis.saturation import Saturation
from loadcell.analysis.sweep import Sweep, lines_along, load_of
from loadcell.analysis.treatments import Treatment

#: The factor that is the load of an open loop.
RATE = "load.rate"
P99 = "p99_ms"


@dataclass(frozen=True)
class LoadPoint:
    """One level of the load: medians over repeats of throughput (per second) and p99 (ms), and the pairs of
    each repeat.

    `load` is a number of clients, or an offered rate per second.
    """

    load: float
    throughput_per_s: float
    p99_ms: float
    repeats: tuple[tuple[float, float], ...]
    treatment: Treatment


@dataclass(frozen=True)
class LoadCurve:
    """Points by rising load. `where` names what is held, empty where nothing else varies; `knee` is the load
    at the knee, None where there is none.
    """

    where: str
    points: tuple[LoadPoint, ...]
    knee: float | None = None


def of_clients(lines: Sequence[Saturation | Sweep]) -> tuple[LoadCurve, ...]:
    """Curves along the number of clients, each with the knee of its saturation."""
    curves = []
    for line in lines:
        sweep = line.sweep if isinstance(line, Saturation) else line
        pairs = zip(sweep.loads.tolist(), sweep.treatments, strict=True)
        knee = line.knee if isinstance(line, Saturation) else None
        at = line.load(knee) if isinstance(line, Saturation) and knee is not None else None
        curves.append(LoadCurve(sweep.where, _points(pairs), at))
    return tuple(curves)


def of_rates(treatments: Sequence[Treatment]) -> tuple[LoadCurve, ...]:
    """Curves along the offered rate of open loops, without knees: beyond it a loop is overloaded, and its
    response times say only how long it lasted.
    """
    lines = lines_along(treatments, RATE, lambda treatment: load_of(treatment, RATE))
    return tuple(LoadCurve(line.where, _points(line.items)) for line in lines)


def _points(items: Iterable[tuple[float, Treatment]]) -> tuple[LoadPoint, ...]:
    points = []
    for load, treatment in items:
        p99_ms, speed = treatment.latency[P99].median, treatment.throughput.median
        pairs = tuple(
            (float(trial.throughput_per_s), float(time))
            for trial in treatment.trials
            if trial.counts
            and not trial.overloaded
            and trial.throughput_per_s
            and (time := (trial.response or {}).get(P99))
        )
        if pairs and p99_ms and speed and math.isfinite(p99_ms):
            points.append(LoadPoint(float(load), speed, p99_ms, pairs, treatment))
    return tuple(points)
