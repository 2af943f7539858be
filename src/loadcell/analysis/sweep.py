"""The lines of a run along which the load rises and everything else is held: what saturation is read from.

Throughput and response times are taken on the logarithmic scale, where levels and machines act as factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Trial
from loadcell.stats import additive
from loadcell.stats.additive import Additive, Floats

#: What is read from a trial: a number above 0, or None where it has none.
Figure = Callable[[Trial], float | None]


def speed_of(trial: Trial) -> float | None:
    """A trial's throughput where it counts and is above 0, which a logarithm needs."""
    value = trial.throughput_per_s
    return value if trial.counts and value is not None and math.isfinite(value) and value > 0 else None


def response_of(trial: Trial) -> float | None:
    """A counting trial's mean response time in ms."""
    value = (trial.response or {}).get("mean_ms")
    return value if trial.counts and value is not None and math.isfinite(value) and value > 0 else None


def fit(treatments: Sequence[Treatment], figure: Figure) -> Additive | None:
    """A metric's logarithm over treatments (rows) and blocks; None without any.

    Every treatment must have one.
    """
    values, rows, blocks = [], [], []
    for row, treatment in enumerate(treatments):
        for trial in treatment.trials:
            value = figure(trial)
            if value is not None:
                values.append(math.log(value))
                rows.append(row)
                blocks.append(trial.block)
    if not values:
        return None
    return additive.fit(np.array(values), np.array(rows, dtype=np.int64), additive.numbered(blocks))


#: The factor that is the load of a closed loop.
LOAD = "load.clients"


@dataclass(frozen=True, eq=False)
class Sweep:
    """One line: `treatments` by rising load, those with a usable figure only, at `loads` (L,) clients.

    `where` names what is held (empty when nothing else varies) and `held` its levels. `speed` is log
    throughput (per second) with blocks taken out, a row a load; `response` the same of the mean response time
    (ms), None where trials lack it. `planned` counts all loads of the line, `unusable` names treatments that
    gave no figure above 0.
    """

    where: str
    held: Mapping[str, str]
    treatments: tuple[Treatment, ...]
    loads: Floats
    speed: Additive | None
    response: Additive | None
    planned: int
    unusable: tuple[Treatment, ...]

    @property
    def throughput(self) -> Floats:
        """Typical throughput at each load, per second."""
        return np.zeros(0) if self.speed is None else np.exp(self.speed.rows)

    @property
    def repeated(self) -> bool:
        """True if repeats lie apart, so that there is a spread to reckon with."""
        return self.speed is not None and self.speed.variance is not None


def sweeps(treatments: Sequence[Treatment]) -> tuple[Sweep, ...]:
    """Every line with two or more loads, in the plan's order, or the only line; none where clients are no
    factor.
    """
    lines: dict[tuple[tuple[str, str], ...], list[tuple[float, Treatment]]] = {}
    for treatment in treatments:
        load = _load(treatment)
        if load is not None:
            held = tuple((key, level) for key, level in treatment.levels.items() if key != LOAD)
            lines.setdefault(held, []).append((load, treatment))
    varied = _varied(list(lines))
    short = short_keys([key for treatment in treatments[:1] for key in treatment.levels])
    usable = []
    for held, line in lines.items():
        if len(lines) == 1 or len({load for load, _ in line}) > 1:
            line.sort(key=lambda item: item[0])
            where = ", ".join(f"{short.get(key, key)} = {level}" for key, level in held if key in varied)
            usable.append(_sweep(where, dict(held), line))
    return tuple(usable)


def _load(treatment: Treatment) -> float | None:
    value = treatment.values.get(LOAD)
    if any(trial.open_loop is not None for trial in treatment.trials):
        return None  # there clients are only room for the offered load, and throughput is the rate asked for
    if LOAD not in treatment.levels or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value > 0 else None


def _varied(lines: Sequence[Sequence[tuple[str, str]]]) -> set[str]:
    """The factors whose levels distinguish the lines."""
    levels: dict[str, set[str]] = {}
    for line in lines:
        for key, level in line:
            levels.setdefault(key, set()).add(level)
    return {key for key, labels in levels.items() if len(labels) > 1}


def _sweep(where: str, held: Mapping[str, str], line: Sequence[tuple[float, Treatment]]) -> Sweep:
    usable = [(load, item) for load, item in line if any(speed_of(trial) for trial in item.trials)]
    items = [item for _, item in usable]
    speed = fit(items, speed_of)
    response = fit(items, response_of) if all(any(map(response_of, item.trials)) for item in items) else None
    return Sweep(
        where, held, tuple(items), np.array([load for load, _ in usable]), speed, response, len(line),
        tuple(item for _, item in line if item not in items),
    )  # fmt: skip
