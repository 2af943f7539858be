"""Expectations: `errors == 0`, `latency.p99 < 20ms`.

Each trial is judged by them; one missed makes the run exit 1.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from loadcell.model import fault_metrics as fault_metrics  # declares its metrics
from loadcell.model import resource_metrics as resource_metrics  # likewise
from loadcell.model import trial_record
from loadcell.model.fault_judgement import EFFECT_VALUES, MANAGEMENT
from loadcell.model.message import Message, MessageCode
from loadcell.model.metrics import Kind, Metric, declared, find, value_text
from loadcell.plan import units
from loadcell.plan.problems import ALLOWED_NAMES, INVALID, SettingError, close, shown

ALLOWED_EXPECTATION = MessageCode("allowed.expectation")
ALLOWED_THRESHOLD = MessageCode("allowed.threshold", metric=str, value=Message)
ALLOWED_COUNT = MessageCode("allowed.count")
ALLOWED_EFFECT = MessageCode("allowed.effect", effects=list)
ALLOWED_METRICS = MessageCode("allowed.metrics", command=str)
ALLOWED_METRICS_CLOSE = MessageCode("allowed.metrics-close", names=list, command=str)
INVALID_THRESHOLD = MessageCode("plan.found-threshold", value=str, allowed=Message)
INVALID_IN_EXPECTATION = MessageCode("plan.found-in-expectation", expectation=str, why=Message)
INVALID_COMPARISON = MessageCode("plan.found-comparison", comparator=str, allowed=Message)
UNKNOWN_METRIC = MessageCode("plan.unknown-metric", name=str, allowed=Message)
METRIC_OF_GROUP = MessageCode("metric-meaning.of-group", "info", group=str, meaning=Message)
METRIC_OF_PLAN = MessageCode("metric-meaning.of-plan", "info")

#: The command that lists all metrics.
METRICS_COMMAND = "loadcell plans metrics"
#: The quantiles kept in every record, by their names in expectations.
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
#: Observations beyond a quantile without which it is none.
LEAST_BEYOND = 1
#: So that 100 times a hundredth is one.
ROUNDING = 1e-9


def enough(count: float, quantile: float, beyond: int = LEAST_BEYOND) -> bool:
    """True if at least `beyond` of these observations lie beyond their quantile."""
    return count * (1 - quantile) >= beyond - ROUNDING


def needed(quantile: float) -> int:
    """The fewest observations that carry a quantile."""
    return math.ceil((LEAST_BEYOND - ROUNDING) / (1 - quantile))


Outcome = Literal["met", "missed", "unknown"]
#: From the worst to the best.
WORST_FIRST: tuple[Outcome, ...] = ("missed", "unknown", "met")

#: Values of the words of metrics that have words.
_WORDS: Mapping[Kind, Mapping[str, float]] = {
    "effect": EFFECT_VALUES,
    "management": {word: float(index) for index, word in enumerate(MANAGEMENT)},
}
_NONE: Mapping[str, float | None] = {}
COMPARATORS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def metric(name: str) -> Metric:
    """The metric of this name; of a client group, `read-only.throughput`, with the group's name in front.

    Raises KeyError.
    """
    if (of_load := find(name)) is not None:
        return of_load
    group, _, key = name.partition(".")
    of_group = find(key)
    if of_group is None or not of_group.per_group:
        raise KeyError(name)
    return replace(of_group, key=name, meaning=METRIC_OF_GROUP(group=group, meaning=of_group.meaning))


def _of_plan(name: str) -> Metric:
    """A metric that the plan names: of the output of its workload, or of series of its monitors."""
    return Metric(name, "count", METRIC_OF_PLAN(), "neither")


def meaning(name: str) -> Message:
    """The meaning of a metric of an expectation, also of one that the plan names."""
    try:
        return metric(name).meaning
    except KeyError:
        return _of_plan(name).meaning


_ALLOWED: Mapping[Kind, Message] = {
    "count": ALLOWED_COUNT(),
    "rate": units.Rate.allowed,
    "share": units.Fraction.allowed,
    "time": units.Duration.allowed,
    "size": units.Size.allowed,
    "bandwidth": units.Bandwidth.allowed,
    "effect": ALLOWED_EFFECT(effects=list(EFFECT_VALUES)),
    "management": ALLOWED_EFFECT(effects=list(MANAGEMENT)),
}
#: Values of metrics of errors with a single error.
_OF_ERRORS: Mapping[str, float] = {"errors": 1.0, "error_rate": 1e-9}
#: A number without a unit below this is meant in seconds where it bounds a metric of faults.
_SECONDS_BELOW = 100
_EXPRESSION = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(==|!=|<=|>=|=<|=>|<|>|=)\s*(.*?)\s*")


@dataclass(frozen=True)
class Few:
    """Number of observations of a percentile, and the number it needs."""

    count: int
    needed: int


@dataclass(frozen=True)
class Verdict:
    """`met`, `missed`, or `unknown` when the trial has no such figure; and the figure.

    `few`: it rests on too few observations. `at_least`: the lower bound that it rests on instead.
    """

    verdict: Outcome
    value: float | None
    few: Few | None = None
    at_least: float | None = None

    def result(self, expression: str) -> trial_record.ExpectationResult:
        """For the record of a trial."""
        count, needed = (None, None) if self.few is None else (self.few.count, self.few.needed)
        return trial_record.ExpectationResult(
            expression, self.verdict, self.value, count, needed, at_least=self.at_least
        )


@dataclass(frozen=True)
class Expectation:
    """One expectation; `threshold` is in the metric's own unit (see `Metric`), `text` as written."""

    text: str
    metric: str
    comparator: str
    threshold: float

    @staticmethod
    def parse(text: str, groups: Sequence[str] = (), figures: Sequence[str] = ()) -> Expectation:
        """From `metric comparator value`; a plan's client groups have metrics of their own, and so has a
        workload whose
        `figures` the plan names. Raises SettingError."""
        match = _EXPRESSION.fullmatch(text)
        if match is None:
            raise SettingError(INVALID(value=shown(text), allowed=ALLOWED_EXPECTATION()))
        name, comparator, value = match.groups()
        judged_metric = _of_plan(name) if name in figures else _metric_named(name, groups)
        if judged_metric is None:
            metrics = declared()
            of_groups = [
                f"{group}.{key}" for group in groups for key, item in metrics.items() if item.per_group
            ]
            names = close(name, [*figures, *metrics, *of_groups])
            allowed = (ALLOWED_METRICS_CLOSE if names else ALLOWED_METRICS).pick(
                names=names, command=METRICS_COMMAND
            )
            near = names[0] if names else None
            raise SettingError(UNKNOWN_METRIC(name=shown(name), allowed=allowed), near)
        if comparator not in COMPARATORS:
            meant = {"=": "==", "=<": "<=", "=>": ">="}[comparator]
            allowed = ALLOWED_NAMES(names=list(COMPARATORS))
            raise SettingError(
                INVALID_COMPARISON(comparator=comparator, allowed=allowed), f"{name} {meant} {value}"
            )
        written_text = " ".join(text.split())
        try:
            threshold = _threshold(judged_metric.kind, name, value)
        except SettingError as error:
            message = INVALID_IN_EXPECTATION(expectation=shown(written_text), why=error.message)
            raise SettingError(message, error.nearest) from None
        return Expectation(written_text, name, comparator, threshold)

    @staticmethod
    def recorded(text: str) -> Expectation | None:
        """From an expression of a record, whose metric may be one of a group or of the plan; None of another
        text.
        """
        match = _EXPRESSION.fullmatch(text)
        if match is None or match[2] not in COMPARATORS:
            return None
        try:
            return Expectation(text, match[1], match[2], _threshold(_kind(match[1]), match[1], match[3]))
        except SettingError:
            return None

    def distance(self, value: float) -> float:
        """Distance of a value from the bound, positive on its unfavourable side."""
        if self.comparator in {"<", "<="}:
            return value - self.threshold
        return self.threshold - value if self.comparator in {">", ">="} else abs(value - self.threshold)

    @property
    def is_of_speed(self) -> bool:
        """True if it bounds a time or a rate."""
        return _kind(self.metric) in {"time", "rate"}

    @property
    def is_floor(self) -> bool:
        """True if it asks for a least rate or bandwidth."""
        return self.comparator in {">", ">="} and _kind(self.metric) in {"rate", "bandwidth"}

    def is_written(self, text: str) -> bool:
        """True of the text of a plan that it was read from."""
        return " ".join(text.split()) == self.text

    @property
    def forbids_errors(self) -> bool:
        """True if a single error misses it."""
        return self.metric.rpartition(".")[2] in _OF_ERRORS and (
            self.judge({self.metric: 0.0}).verdict == "met"
            and self.judge({self.metric: _OF_ERRORS[self.metric.rpartition(".")[2]]}).verdict == "missed"
        )

    def judge(
        self, metrics: Mapping[str, float | None], least: Mapping[str, float | None] = _NONE
    ) -> Verdict:
        """Compare a trial's metrics, in the units of `Metric.kind`, with the expectation. `least` are lower
        bounds on unknown ones.

        A percentile beyond which no observation lies is undefined (`loadcell.plan.quantiles`): it is not
        judged.
        """
        value = metrics.get(self.metric)
        if value is None or math.isnan(value):
            bound = least.get(self.metric)
            outcome = self._judge_bound(bound)
            return Verdict(outcome, None, at_least=None if outcome == "unknown" else bound)
        if (few := self._few(metrics)) is not None:
            return Verdict("unknown", None, few)
        met = COMPARATORS[self.comparator](value, self.threshold)
        return Verdict("met" if met else "missed", value)

    def _judge_bound(self, least: float | None) -> Outcome:
        """The outcome for all values above a lower bound, if it is one and the same."""
        if least is None or self.comparator in ("==", "!="):
            return "unknown"
        above = COMPARATORS[self.comparator](least, self.threshold)
        if self.comparator in (">", ">="):
            return "met" if above else "unknown"
        return "unknown" if above else "missed"

    def _few(self, metrics: Mapping[str, float | None]) -> Few | None:
        """Where the metric is a percentile of too few observations; those that do not say how many they are
        had enough.
        """
        percentile = next((name for name in QUANTILES if self.metric.endswith(f".{name}")), None)
        if percentile is None:
            return None
        count, quantile = metrics.get(f"{self.metric.removesuffix(percentile)}count"), QUANTILES[percentile]
        return None if count is None or enough(count, quantile) else Few(int(count), needed(quantile))


def _kind(name: str) -> Kind:
    """The kind of a metric of a record; a number without a unit where nothing declares it."""
    try:
        return metric(name).kind
    except KeyError:
        return "count"


def written(expression: str, value: float) -> str:
    """A value of the metric of a recorded expectation, with its unit: `31.2 ms`."""
    match = _EXPRESSION.fullmatch(expression)
    return value_text("count" if match is None else _kind(match[1]), value)


def _metric_named(name: str, groups: Sequence[str]) -> Metric | None:
    if find(name) is None and name.partition(".")[0] not in groups:
        return None
    try:
        return metric(name)
    except KeyError:
        return None


def _usual_unit(name: str, value: str) -> str:
    """The unit that is probably meant where a time has none: faults last seconds."""
    number = units.split(value)
    is_short = number is not None and number[0] < _SECONDS_BELOW
    return "s" if name.rpartition(".")[2] in fault_metrics.KEYS and is_short else "ms"


def _threshold(kind: Kind, name: str, value: str) -> float:
    allowed = ALLOWED_THRESHOLD(metric=name, value=_ALLOWED[kind])
    match kind:
        case "count":
            parts = units.split(value)
            if parts is None or parts[1]:
                raise SettingError(INVALID_THRESHOLD(value=shown(value), allowed=allowed))
            return float(parts[0])
        case "rate":
            return float(units.parse(value, units.PER_SECOND, allowed))
        case "share":
            return float(units.parse(value, units.PERCENT, allowed))
        case "time":
            return float(units.parse(value, units.SECONDS, allowed, _usual_unit(name, value)) * Decimal(1000))
        case "size":
            return float(units.parse(value, units.BYTES, allowed))
        case "bandwidth":
            return float(units.parse(value, units.BYTES_PER_SECOND, allowed))
        case "effect" | "management":
            words: Mapping[str, float] = _WORDS[kind]
            if value not in words:
                raise SettingError(INVALID_THRESHOLD(value=shown(value), allowed=allowed))
            return words[value]
