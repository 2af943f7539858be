"""The metrics of a trial that are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from loadcell.analysis.trials import LEAST_BEYOND_TO_COMPARE, QUANTILES, Trial, carries
from loadcell.model.message import Message, MessageCode, MessageError
from loadcell.model.metrics import MetricFacts
from loadcell.plan.problems import Writer, in_english

REFUSED = MessageCode("compare.refused", finding=Message, remedy=Message)
REFUSED_DIFFERENCES = MessageCode(
    "compare.refused.differences", differences=str, finding=Message, remedy=Message
)
REFUSED_METRIC = MessageCode("compare.refused.metric", metric=str, metrics=list)

#: Below 2 % a change is seldom worth having, and layout, ASLR and the like alone move values by as much
#: (Mytkowicz 2009).
LEAST_EFFECT = 0.02
#: Of percentiles from p90 on: they rest on few transactions, and what moves throughput by 2 % moves them by
#: several times as much.
LEAST_TAIL_EFFECT, TAIL = 0.05, "p90"


class CannotCompareError(MessageError):
    """Why things cannot be compared, with a remedy; `differences` where that is what they are."""

    def __init__(self, message: Message, differences: Sequence[Message] = ()) -> None:
        super().__init__(message)
        self.differences = tuple(differences)

    def written(self, write: Writer) -> str:
        """The reason, the differences and the remedy in lines for people."""
        remedy = self.message.remedy or ""
        if not self.differences:
            return write(REFUSED(finding=self.message, remedy=remedy))
        lines = "".join(f"\n  {write(difference)}" for difference in self.differences)
        return write(REFUSED_DIFFERENCES(finding=self.message, differences=lines, remedy=remedy))

    def __str__(self) -> str:
        return self.written(in_english)


@dataclass(frozen=True)
class Metric:
    """A metric by its name on the command line.

    `key`: that of a response time in a trial's record; `figure`: that of a metric of workload, tool or
    monitor. Without both it is throughput.
    """

    name: str
    key: str | None = None
    figure: str | None = None
    higher_is_better: bool = True

    @property
    def least_effect(self) -> float:
        """Default of the smallest change that matters, as a fraction."""
        tail = self.key in QUANTILES and QUANTILES[self.key] >= QUANTILES[f"{TAIL}_ms"]
        return LEAST_TAIL_EFFECT if tail else LEAST_EFFECT

    def of(self, trial: Trial) -> float | None:
        """The value of a trial; None when it has none, or it is not a number."""
        if self.figure is not None:
            value = trial.figures.get(self.figure)
        else:
            value = trial.throughput_per_s if self.key is None else (trial.response or {}).get(self.key)
        return value if value is not None and math.isfinite(value) else None

    def scarce(self, trial: Trial) -> bool:
        """True if too few of a trial's transactions lie beyond this percentile to compare it; False for other
        metrics.
        """
        return self.key is not None and not carries(trial.response or {}, self.key, LEAST_BEYOND_TO_COMPARE)

    def carried(self, trials: Sequence[Trial]) -> bool:
        """True if these trials support a percentile: all have it, most with enough transactions to compare.

        Then all are compared: those that carry it are the faster ones, whose median is another one.
        """
        if self.key not in QUANTILES:
            return True
        timed = [trial for trial in trials if trial.response]
        scarce = sum(self.scarce(trial) for trial in timed)
        return 2 * scarce < len(timed) and all(self.of(trial) is not None for trial in timed)


@dataclass(frozen=True)
class LeastEffects:
    """The smallest changes that matter, as fractions: those named for a metric, else the one for all, else
    each metric's own.
    """

    everywhere: float | None = None
    named: Mapping[str, float] = field(default_factory=dict)

    def of(self, metric: Metric) -> float:
        """That of a metric."""
        everywhere = metric.least_effect if self.everywhere is None else self.everywhere
        return self.named.get(metric.name, everywhere)


#: Each metric's own.
USUAL_LEAST_EFFECTS = LeastEffects()

METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput"),
        Metric("mean", "mean_ms", higher_is_better=False),
        *(Metric(key.removesuffix("_ms"), key, higher_is_better=False) for key in QUANTILES),
    )
}
#: What is compared when nobody says what: more of them would only cost certainty.
USUAL = tuple(METRICS[name] for name in ("throughput", "p50", "p95", "p99"))


def named(names: Sequence[str], trials: Iterable[Trial] = ()) -> tuple[Metric, ...]:
    """Metrics by name, in the order given; beside `METRICS` those that any of the trials has.

    Raises CannotCompareError.
    """
    facts: dict[str, MetricFacts | None] = {}
    for trial in trials:
        facts |= {key: trial.metrics.get(key) for key in trial.figures}
    return tuple(METRICS.get(name) or _of_workload(name, facts) for name in dict.fromkeys(names))


def _of_workload(name: str, facts: Mapping[str, MetricFacts | None]) -> Metric:
    if name not in facts:
        raise CannotCompareError(REFUSED_METRIC(metric=repr(name), metrics=[*METRICS, *facts]))
    fact = facts[name]
    return Metric(name, figure=name, higher_is_better=fact is None or fact.better != "lower")
