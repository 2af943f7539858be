"""The lines of a run along which the load rises and everything else is held: what saturation is read from.

Throughput and response times are taken on the logarithmic scale, where levels and machines act as factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadcell.analysis import layout
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Trial
from loadcell.stats import additive
from loadcell.stats.additive import Additive, Floats

#: What is read from a trial: a number above 0, or None where it has none.
Figure = Callable[[Trial], float | None]
#: A treatment's value of a factor as a number, or None.
Value = Callable[[Treatment], float | None]


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


@dataclass(frozen=True)
class Line:
    """Treatments that differ in one factor alone: `items` are its values, rising, and the treatments."""

    where: str
    held: Mapping[str, str]
    items: tuple[tuple[float, Treatment], ...]


def lines_along(treatments: Sequence[Treatment], key: str, value: Value) -> tuple[Line, ...]:
    """Every line along a factor with two or more values, in the plan's order, or the only line; none where it
    is no factor. Treatments without a value are left out.
    """
    lines: dict[tuple[tuple[str, str], ...], list[tuple[float, Treatment]]] = {}
    for treatment in treatments:
        number = value(treatment)
        if number is not None:
            held = tuple((name, level) for name, level in treatment.levels.items() if name != key)
            lines.setdefault(held, []).append((number, treatment))
    varied = _varied(list(lines))
    short = short_keys([name for treatment in treatments[:1] for name in treatment.levels])
    usable = []
    for held, line in lines.items():
        if len(lines) == 1 or len({number for number, _ in line}) > 1:
            line.sort(key=lambda item: item[0])
            where = ", ".join(f"{short.get(name, name)} = {level}" for name, level in held if name in varied)
            usable.append(Line(where, dict(held), tuple(line)))
    return tuple(usable)


def sweeps(treatments: Sequence[Treatment]) -> tuple[Sweep, ...]:
    """Every line with two or more loads, in the plan's order, or the only line; none where clients are no
    factor.
    """
    lines = lines_along(treatments, LOAD, _clients)
    return tuple(_sweep(line.where, line.held, line.items) for line in lines)


def _clients(treatment: Treatment) -> float | None:
    if any(trial.open_loop is not None for trial in treatment.trials):
        return None  # there clients are only room for the offered load, and throughput is the rate asked for
    return load_of(treatment, LOAD)


def load_of(treatment: Treatment, key: str) -> float | None:
    """The level of a load's factor as a number above 0 (of `2000/s` per second); None of others."""
    value = treatment.values.get(key)
    if key not in treatment.levels or isinstance(value, bool):
        return None
    number = value if isinstance(value, int | float) else layout.number_of(treatment.levels[key], value)
    return float(number) if number is not None and number > 0 else None


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
