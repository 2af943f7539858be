"""The lines of a run along which the load rises and everything else is held: what saturation is read from.

Throughput and response times are taken on the logarithmic scale, where levels and machines act as factors.

Tukey's test of all pairs of treatments: which of them differ in one figure by more than chance.

Of many treatments the highest is chosen by looking at all of them, so it cannot be compared with each of the
others as if it were the only comparison: of 16 identical treatments one would stand out in four of ten runs.
Tukey's test (Tukey 1953; Kramer 1956 for unlike numbers of values) keeps the probability of any false
difference at 5 %, however many treatments there are. It is made on logarithms after block effects are
removed: what moves a whole block leaves differences as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Trial
from loadcell.stats import additive, distributions
from loadcell.stats.additive import COVERAGE, Additive, Floats

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


@dataclass(frozen=True, eq=False)
class TukeyTest:
    """The test of all pairs of rows of a fit."""

    fitted: Additive

    @cached_property
    def least_difference(self) -> float | None:
        """The least significant difference of the logarithms of two single values of different rows; 0 where
        all repeats agree, None without repeats.
        """
        freedom, rows = self.fitted.freedom, len(self.fitted.rows)
        if freedom < 1 or rows < 2:
            return None
        quantile = distributions.range_quantile(COVERAGE, rows, freedom)
        return quantile * math.sqrt((self.fitted.variance or 0.0) / 2)

    def differ(self, row: int, other: int) -> bool | None:
        """True if the means of two rows differ by more than chance; None without repeats.

        False, too, where no chain of blocks joins the two: they might differ by their blocks alone.
        """
        if self.least_difference is None:
            return None
        error = self.fitted.error_of_difference(row, other)
        means = self.fitted.rows
        return error is not None and bool(abs(means[row] - means[other]) > self.least_difference * error)


@dataclass(frozen=True, eq=False)
class TreatmentTest:
    """The test of all pairs of treatments; `rows` are those of the treatments that have a value above 0."""

    rows: Mapping[str, int]
    test: TukeyTest | None

    def differ(self, treatment: Treatment, other: Treatment) -> bool | None:
        """True if two treatments differ by more than chance; None where there are no repeats to tell it."""
        first, second = self.rows.get(treatment.id), self.rows.get(other.id)
        if first is None or second is None or self.test is None:
            return None
        return self.test.differ(first, second)


def tukey_test(treatments: Sequence[Treatment], figure: Figure) -> TreatmentTest:
    """The test of treatments in a metric; all of them count as compared with each other."""
    usable = [item for item in treatments if any(figure(trial) for trial in item.trials)]
    fitted = fit(usable, figure) if usable else None
    test = None if fitted is None else TukeyTest(fitted)
    return TreatmentTest({item.id: row for row, item in enumerate(usable)}, test)
