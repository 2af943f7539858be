"""Runs made up from known laws: lines of rising load and factorials, with noise, drift of the machine, and a
seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.runs import run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.treatments import Treatment, treatments
from loadcell.analysis.trials import of_run
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from records import with_times


def usl(loads: Sequence[float], rate: float, sigma: float, kappa: float) -> dict[float, float]:
    """Throughput by load, by the Universal Scalability Law."""
    return {n: rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) for n in loads}


def sweep_run(
    truth: Mapping[float, float], repeats: int, *, noise: float = 0.02, drift: float = 0.0, seed: int = 0
) -> tuple[RunRecord, list[TrialRecord]]:
    """A line of rising load, each repeat a block; response times follow from Little's law."""
    chance = np.random.default_rng(seed)
    blocks = np.exp(chance.normal(0, drift, repeats))
    throughputs = {
        f"{n:g}": [float(x) for x in value * blocks * np.exp(chance.normal(0, noise, repeats))]
        for n, value in truth.items()
    }
    run, records = run_of(
        throughputs, levels={f"{n:g}": {"load.clients": int(n) if n == int(n) else n} for n in truth}
    )
    return run, [
        with_times(record, mean_ms=float(record.treatment) / record.totals.throughput_per_s * 1e3)
        for record in records
    ]


def sweep(truth: Mapping[float, float], repeats: int, **more: Any) -> list[Treatment]:
    """The same as treatments."""
    run, records = sweep_run(truth, repeats, **more)
    return list(treatments(run, of_run(run, records)))


def factorial(
    factors: Mapping[str, Sequence[Any]],
    effect: Any,
    repeats: int,
    *,
    noise: float = 0.02,
    drift: float = 0.0,
    seed: int = 0,
    only: Any = None,
    **run_fields: Any,
) -> Analysis:
    """A run of all combinations of levels (that `only` allows), each with the throughput that
    `effect(levels)` gives.
    """
    chance = np.random.default_rng(seed)
    blocks = np.exp(chance.normal(0, drift, repeats))
    throughputs: dict[str, Sequence[float | None]] = {}
    levels = {}
    for cell in itertools.product(*factors.values()):
        result = dict(zip(factors, cell, strict=True))
        if only is None or only(result):
            name = ",".join(f"{key}={level}" for key, level in result.items())
            levels[name] = result
            outcome = effect(result) * blocks * np.exp(chance.normal(0, noise, repeats))
            throughputs[name] = [float(value) for value in outcome]
    run, records = run_of(throughputs, levels=levels)
    return analyse(replace(run, **run_fields), records)
