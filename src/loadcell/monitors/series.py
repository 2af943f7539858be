"""Series by name: what monitors share whose numbers only the watched program can name.

Samples are a table in long form, a row a series and sample, since series come and go while a trial runs. The
number of series recorded has an upper bound; those beyond it are named in the trial's record.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pydantic import Field, field_validator

from loadcell.model import trial_record
from loadcell.model.message import Count, ForeignText, Message, MessageCode
from loadcell.model.metrics import Direction, MetricFacts, find
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.monitors.series_labels import LABELS, LongLabels, labels_table
from loadcell.plan.parts import NamedOptions
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration

SERIES_SELECTOR = MessageCode("series.selector", text=str, examples=list)
SERIES_METRIC = MessageCode("series.metric", text=str)
SERIES_METRIC_NAME = MessageCode("series.metric-name", name=str)
SERIES_INTERVAL = MessageCode("series.interval", least=str, most=str)
SERIES_TIMEOUT = MessageCode("series.timeout", least=str, most=str)
SERIES_LEFT_OUT = MessageCode("series.left-out", "caution", count=Count, limit=Count, names=list)
SERIES_TOO_LONG = MessageCode(
    "series.too-long", "caution", name=ForeignText, most_name=Count, most_labels=Count
)
SERIES_UNMATCHED = MessageCode("series.unmatched", "caution", names=list)

#: Of a counter the rate per second, of a histogram or summary the mean of its observations, else the value.
Measure = Literal["value", "rate", "mean"]

#: Columns of every table of series; a value's unit is that of the series, per second for a rate.
COLUMNS: Final = ("name", "labels", "measure", "value")
TEXT: Final = frozenset({"name", "labels", "measure"})

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 0.1, 3600.0
SHORTEST_TIMEOUT_S, LONGEST_TIMEOUT_S = 0.01, 3.0
MOST_SERIES: Final = 1000
#: Characters of a name and of a set of labels; statements and addresses as labels have no bound of their own.
LONGEST_NAME: Final = 256
LONGEST_LABELS: Final = 4096
_SERIES_SHOWN: Final = 60
#: Names that a remark lists; families that are counted beyond the limit.
_NAMES_SHOWN, _FAMILIES_COUNTED = 8, 500
_SELECTOR = re.compile(r"(?P<not>!?)(?P<name>[^{}\s!]*)(?:\{(?P<labels>.*)\})?")
_SELECTORS: Final = ("`http_*`", '`queue_depth{queue="mail*"}`', "`!go_*`")
_LABEL = re.compile(r'\s*+([A-Za-z_][\w.-]*+)\s*+=\s*+"((?:[^"\\]++|\\.)*+)"\s*+(?:,|$)')
#: A label of a series, whose name a service may choose freely.
_FOREIGN_LABEL = re.compile(r'\s*+([^",={}]++)=\s*+"((?:[^"\\]++|\\.)*+)"\s*+(?:,|$)')
_METRIC = re.compile(
    r"\s*(?P<how>mean|max|min|last)\s+of\s+(?P<series>.+?)\s*(?:,\s*(?P<better>lower|higher) is better\s*)?"
)
_METRIC_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.%-]{0,63}")


@dataclass(frozen=True, slots=True)
class Series:
    """A series: its name, and its labels as Prometheus writes them (`code="200",method="GET"`)."""

    name: str
    labels: str = ""


class Reading(NamedTuple):
    """One number of one sample; `weight` is the number of observations that a mean stands for.

    A tuple, because frozen classes take four times as long to make.
    """

    series: Series
    measure: Measure
    value: float
    weight: float = 1.0


@dataclass(frozen=True)
class Selector:
    """Names of series by a pattern (`http_*`), and labels by patterns (`{code="5*"}`)."""

    name: re.Pattern[str]
    labels: tuple[tuple[str, re.Pattern[str]], ...]
    negative: bool

    @staticmethod
    def parse(text: str) -> Selector:
        """Raises SettingError."""
        match = _SELECTOR.fullmatch(text.strip())
        if match is None or not (match["name"] or match["labels"]):
            raise SettingError(SERIES_SELECTOR(text=repr(text), examples=_SELECTORS))
        labels, position, written = [], 0, match["labels"] or ""
        while position < len(written):
            label = _LABEL.match(written, position)
            if label is None:
                raise SettingError(SERIES_SELECTOR(text=repr(text), examples=_SELECTORS))
            labels.append((label[1], _glob(label[2])))
            position = label.end()
        return Selector(_glob(match["name"] or "*"), tuple(labels), bool(match["not"]))

    def matches(self, series: Series) -> bool:
        """True for the series that the patterns describe, whether it is chosen or excluded by them."""
        if self.name.match(series.name) is None:
            return False
        if not self.labels:
            return True
        values = _label_values(series.labels)
        return all(pattern.match(values.get(label, "")) is not None for label, pattern in self.labels)


def selects(selectors: Sequence[Selector], series: Series) -> bool:
    """True for a series that a pattern chooses, or any where none chooses, unless another one excludes it."""
    chosen = all(selector.negative for selector in selectors)
    for selector in selectors:
        if selector.matches(series):
            if selector.negative:
                return False
            chosen = True
    return chosen


def _label_values(labels: str) -> dict[str, str]:
    """Labels of a series by name, up to the first that is not written as Prometheus does."""
    values: dict[str, str] = {}
    position = 0
    # Not `finditer`, which tries each position again where a long text is no label.
    while (label := _FOREIGN_LABEL.match(labels, position)) is not None:
        values[label[1].rstrip()] = label[2]
        position = label.end()
    return values


def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


class SeriesOptions(NamedOptions):
    """Options of every monitor of series."""

    interval: Duration = Field(default=Duration(1.0), description="Time between samples: 100ms to 1h.")
    timeout: Duration = Field(
        default=Duration(1.0),
        description="Time limit of one sample, of a scrape or of a program started for it: 10ms to 3s.",
    )
    series: tuple[str, ...] = Field(
        default=(),
        description="Series to record, by name or pattern, with labels or without; `!` excludes. "
        "Default: all.",
        examples=[["http_requests_total", 'queue_depth{queue="mail*"}', "!go_*"]],
    )
    limit: int = Field(
        default=100, ge=1, le=MOST_SERIES, description="Most series recorded; a remark names the others."
    )
    under_load: tuple[str, ...] = Field(
        default=(),
        description="Series that the report draws under throughput and response times, by name or pattern.",
        examples=[["queue_depth"]],
    )
    metrics: dict[str, str] = Field(
        default_factory=dict,
        description="Metrics of the trial by name: `mean`, `max`, `min` or `last` `of` series over the "
        "measured window, for expectations and comparisons.",
        examples=[{"queue": "max of queue_depth, lower is better"}],
    )

    @property
    def metric_names(self) -> Iterable[str]:
        return self.metrics

    @field_validator("interval")
    @classmethod
    def _interval_is_possible(cls, interval: Duration) -> Duration:
        if not SHORTEST_INTERVAL_S <= interval <= LONGEST_INTERVAL_S:
            least, most = Duration(SHORTEST_INTERVAL_S).text, Duration(LONGEST_INTERVAL_S).text
            raise SettingError(SERIES_INTERVAL(least=least, most=most))
        return interval

    @field_validator("timeout")
    @classmethod
    def _timeout_is_possible(cls, timeout: Duration) -> Duration:
        if not SHORTEST_TIMEOUT_S <= timeout <= LONGEST_TIMEOUT_S:
            least, most = Duration(SHORTEST_TIMEOUT_S).text, Duration(LONGEST_TIMEOUT_S).text
            raise SettingError(SERIES_TIMEOUT(least=least, most=most))
        return timeout

    @field_validator("series", "under_load")
    @classmethod
    def _selectors_are_readable(cls, series: tuple[str, ...]) -> tuple[str, ...]:
        for text in series:
            Selector.parse(text)
        return series

    @field_validator("metrics")
    @classmethod
    def _metrics_are_readable(cls, metrics: dict[str, str]) -> dict[str, str]:
        for name, text in metrics.items():
            if not _METRIC_NAME.fullmatch(name) or find(name) is not None or name.startswith("latency."):
                raise SettingError(SERIES_METRIC_NAME(name=repr(name)))
            SeriesMetric.parse(text)
        return metrics


@dataclass
class SeriesMetric:
    """A metric over samples of the measured window.

    Several series that it selects are added up at each sample; of means it takes the weighted mean.
    """

    how: str
    selector: Selector
    better: Direction = "neither"
    values: int = 0
    total: float = 0.0
    weight: float = 0.0
    extreme: float = math.nan
    last: float = math.nan

    @staticmethod
    def parse(text: str) -> SeriesMetric:
        """From `max of NAME`, and perhaps `, lower is better`. Raises SettingError."""
        match = _METRIC.fullmatch(text)
        if match is None:
            raise SettingError(SERIES_METRIC(text=repr(text)))
        better: Direction = (
            "lower" if match["better"] == "lower" else "higher" if match["better"] else "neither"
        )
        return SeriesMetric(match["how"], Selector.parse(match["series"]), better)

    def add(self, readings: Sequence[Reading]) -> None:
        """Take the readings of one sample, which are all of its series."""
        if not readings:
            return
        if all(reading.measure == "mean" for reading in readings):
            weight = sum(reading.weight for reading in readings)
            value = sum(reading.value * reading.weight for reading in readings) / weight
        else:
            weight, value = 1.0, sum(reading.value for reading in readings)
        self.values += 1
        self.total += value * weight
        self.weight += weight
        self.last = value
        pick = max if self.how == "max" else min
        self.extreme = value if math.isnan(self.extreme) else pick(self.extreme, value)

    @property
    def value(self) -> float | None:
        """None without samples."""
        if not self.values:
            return None
        return {"mean": self.total / self.weight, "last": self.last}.get(self.how, self.extreme)


@dataclass(frozen=True)
class Choice:
    """Use of a series: a row a sample, and a part of metrics (by index)."""

    recorded: bool
    metrics: tuple[int, ...]

    def __bool__(self) -> bool:
        return self.recorded or bool(self.metrics)


@dataclass
class Selection:
    """Chooses the series that are recorded, in the order of their appearance, up to the limit."""

    selectors: Sequence[Selector]
    metrics: Sequence[SeriesMetric]
    limit: int
    recorded: set[Series] = field(default_factory=set)
    #: series beyond the limit by name
    left_out: dict[str, int] = field(default_factory=dict)

    def choose(self, series: Series) -> Choice:
        """To be asked once for each series."""
        metrics = tuple(index for index, metric in enumerate(self.metrics) if metric.selector.matches(series))
        if not selects(self.selectors, series):
            return Choice(False, metrics)
        if series in self.recorded or len(self.recorded) < self.limit:
            self.recorded.add(series)
            return Choice(True, metrics)
        if series.name in self.left_out or len(self.left_out) < _FAMILIES_COUNTED:
            self.left_out[series.name] = self.left_out.get(series.name, 0) + 1
        return Choice(False, metrics)


def series_table(key: str) -> SampleTable:
    """The table of a monitor of series by the monitor's key in the plan."""
    return SampleTable(key.replace(":", "-"), COLUMNS, TEXT)


Opts = TypeVar("Opts", bound=SeriesOptions)


class SeriesMonitor(Monitor[Opts]):
    """Base of monitors of series. `rows` makes rows of the readings of a sample."""

    by_default = False

    def __init__(self, options: Opts, context: MonitorContext) -> None:
        super().__init__(options, context)
        self.table = series_table(context.key or self.name)
        self.tables = {LABELS: labels_table(self.table)}  # type: ignore[misc]  # named as in the plan
        self._labels = LongLabels(context.redact)
        self.series_metrics = {name: SeriesMetric.parse(text) for name, text in options.metrics.items()}
        self.selection = Selection(
            [Selector.parse(text) for text in options.series],
            list(self.series_metrics.values()),
            options.limit,
        )
        self._remarks: dict[str, tuple[Message, int]] = {}

    @property
    def interval_ns(self) -> int:
        return self.options.interval.ns

    def remark(self, message: Message) -> None:
        """Note what happened: the first of each kind, and how often there was one."""
        first, count = self._remarks.get(message.code, (message, 0))
        self._remarks[message.code] = (first, count + 1)

    def is_too_long(self, series: Series) -> bool:
        """True, with a remark, for a series whose name or labels are too long to be recorded."""
        if len(series.name) <= LONGEST_NAME and len(series.labels) <= LONGEST_LABELS:
            return False
        self.remark_too_long(series.name)
        return True

    def remark_too_long(self, name: str) -> None:
        """Note that a series of this name is not recorded for its length."""
        shown = self.context.redact(name)[:_SERIES_SHOWN]
        self.remark(SERIES_TOO_LONG(name=shown, most_name=LONGEST_NAME, most_labels=LONGEST_LABELS))

    @property
    def has_remarks(self) -> bool:
        return bool(self._remarks)

    def remarks(self) -> list[tuple[Message, int]]:
        return [*self._remarks.values(), *((message, 1) for message in self._of_selection())]

    def _of_selection(self) -> Iterable[Message]:
        if self.selection.left_out:
            left_out = self.selection.left_out
            names = sorted(left_out, key=lambda name: (-left_out[name], name))
            yield SERIES_LEFT_OUT(count=sum(left_out.values()), limit=self.options.limit, names=_shown(names))
        unmatched = [name for name, metric in self.series_metrics.items() if not metric.values]
        if unmatched:
            yield SERIES_UNMATCHED(names=_shown(unmatched))

    def rows(self, readings: Iterable[tuple[Reading, Choice]]) -> list[Row]:
        """Rows of the readings of one sample, which become part of metrics within the measured window."""
        rows: list[Row] = []
        of_metrics: dict[int, list[Reading]] = {}
        for reading, choice in readings:
            if choice.recorded:
                series, measure, value, _ = reading
                labels = self._labels.short(series.labels)
                rows.append({"name": series.name, "labels": labels, "measure": measure, "value": value})
            for index in choice.metrics:
                of_metrics.setdefault(index, []).append(reading)
        if of_metrics and self.context.measuring():
            for index, those in of_metrics.items():
                self.selection.metrics[index].add(those)
        return rows

    def further_rows(self) -> Mapping[str, list[Row]]:
        """Long labels that are new in the rows."""
        return {LABELS: self._labels.new_rows()}

    def account(self) -> trial_record.MonitorRecord:
        return trial_record.MonitorRecord(under_load=self.options.under_load or None)

    def metrics(self) -> Mapping[str, float]:
        values = {name: metric.value for name, metric in self.series_metrics.items()}
        return {name: value for name, value in values.items() if value is not None}

    def metric_facts(self) -> Mapping[str, MetricFacts]:
        metrics = self.series_metrics.items()
        return {name: MetricFacts("count", metric.better) for name, metric in metrics if metric.values}


def _shown(names: Sequence[Any]) -> list[str]:
    return [*map(str, names[:_NAMES_SHOWN]), *(["..."] if len(names) > _NAMES_SHOWN else [])]
