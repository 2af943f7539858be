"""Metrics of a trial that are compared, and the verdict on an effect in one: `faster`, `slower`, `same`,
`ambiguous`, `insufficient` where the design allows none, or `no-value`, with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loadcell.analysis.trials import LEAST_BEYOND_TO_COMPARE, QUANTILES, Trial, carries
from loadcell.model import resource_metrics
from loadcell.model.message import Message, MessageCode, MessageError
from loadcell.model.metrics import MetricFacts
from loadcell.model.resource_metrics import ResourceMetric
from loadcell.plan.expect import METRICS_COMMAND
from loadcell.plan.problems import MOST_LISTED, Writer, close, in_english
from loadcell.stats.multiple_testing import FALSE_DISCOVERIES
from loadcell.stats.two_samples import Effect

REFUSED = MessageCode("compare.refused", finding=Message, remedy=Message)
REFUSED_DIFFERENCES = MessageCode(
    "compare.refused.differences", differences=str, finding=Message, remedy=Message
)
REFUSED_METRIC = MessageCode("compare.refused.metric", metric=str, metrics=list, command=str)

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
    monitor; `resource`: that of a resource. Without any it is throughput.
    """

    name: str
    key: str | None = None
    figure: str | None = None
    higher_is_better: bool = True
    #: False of a metric for which neither direction is better
    directed: bool = True
    resource: ResourceMetric | None = None
    #: True of a metric of a workload that counts bytes
    is_size: bool = False

    @property
    def least_effect(self) -> float:
        """Default of the smallest change that matters, as a fraction."""
        tail = self.key in QUANTILES and QUANTILES[self.key] >= QUANTILES[f"{TAIL}_ms"]
        return LEAST_TAIL_EFFECT if tail else LEAST_EFFECT

    def of(self, trial: Trial) -> float | None:
        """The value of a trial; None when it has none, or it is not a number."""
        if self.resource is not None:
            value = None if trial.resources is None else self.resource.value(trial.resources)
        elif self.figure is not None:
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
RESOURCES = {
    metric.key: Metric(
        metric.key,
        figure=metric.key,
        higher_is_better=metric.better == "higher",
        directed=metric.better != "neither",
        resource=metric,
    )
    for metric in resource_metrics.METRICS
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
    return tuple(
        METRICS.get(name.removeprefix("latency.")) or RESOURCES.get(name) or _of_workload(name, facts)
        for name in dict.fromkeys(names)
    )


def _of_workload(name: str, facts: Mapping[str, MetricFacts | None]) -> Metric:
    if name not in facts:
        names = close(name, [*METRICS, *facts, *RESOURCES]) or [*list(METRICS)[:4], *facts]
        raise CannotCompareError(
            REFUSED_METRIC(metric=repr(name), metrics=names[:MOST_LISTED], command=METRICS_COMMAND)
        )
    fact = facts[name]
    better = "higher" if fact is None else fact.better
    return Metric(
        name,
        figure=name,
        higher_is_better=better != "lower",
        directed=better != "neither",
        is_size=fact is not None and fact.kind == "size",
    )


#: `no-value`: a side has no value to compare, which is no verdict. `higher` and `lower` are of metrics
#: without a better direction.
Word = Literal["same", "faster", "slower", "higher", "lower", "ambiguous", "insufficient", "no-value"]
#: Words of verdicts that claim a difference.
DIFFERENT: frozenset[Word] = frozenset({"faster", "slower", "higher", "lower"})
#: What the design lacks for a verdict: treatments ran one after the other, not in shuffled blocks; one run on
#: a side; two runs on a side.
Lack = Literal["order", "one-run", "few-runs"]
#: Why a verdict is what it is. For `faster` and `slower`: the whole interval is beyond the least effect, or
#: only the estimate is. For `no-value`: nothing to compare; too few transactions beyond a percentile. For
#: `ambiguous`: the interval holds "no difference" and more than the least effect that matters; one such
#: interval in n is expected by chance; the difference is there, but whether it matters is not clear; it is no
#: larger than what identical arms differ by.
Reason = Literal[
    "clear", "estimate", "alike", "no-figure", "scarce", "few", "order", "one-run", "few-runs", "wide",
    "chance", "small", "noise",
]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Verdict on B against A, with its reason."""

    word: Word
    reason: Reason


def judge(
    effect: Effect | None,
    adjusted_p: float | None,
    *,
    higher_is_better: bool,
    directed: bool = True,
    least_effect: float = LEAST_EFFECT,
    noise: float | None = None,
    scarce: bool = False,
    lack: Lack | None = None,
) -> Verdict:
    """Judge B against A; without an effect, `scarce` is true if transactions were too few.

    `least_effect` is the smallest change that matters, as a fraction; `noise` what identical arms were seen
    to differ by; `lack` what the design lacks for any verdict. *Same* needs the whole interval within the
    least effect; *faster* and *slower* an interval that excludes 1, a difference that remains significant
    after the correction for multiple comparisons, and an estimate beyond both.
    """
    if effect is None:
        return Verdict("no-value", "scarce" if scarce else "no-figure")
    if lack is not None:
        return Verdict("insufficient", lack)
    if effect.low is None or effect.high is None or adjusted_p is None:
        return Verdict("insufficient", "few")
    least = 1 + least_effect
    if 1 / least <= effect.low and effect.high <= least:
        return Verdict("same", "alike")
    if effect.low <= 1 <= effect.high:
        return Verdict("ambiguous", "wide")
    if adjusted_p > FALSE_DISCOVERIES:
        return Verdict("ambiguous", "chance")
    size = math.exp(abs(math.log(effect.ratio)))
    if size < least:
        return Verdict("ambiguous", "small")
    if noise is not None and size < 1 + noise:
        return Verdict("ambiguous", "noise")
    surely = effect.low > least or effect.high < 1 / least
    word: Word = "faster" if (effect.ratio > 1) == higher_is_better else "slower"
    if not directed:
        word = "higher" if effect.ratio > 1 else "lower"
    return Verdict(word, "clear" if surely else "estimate")
