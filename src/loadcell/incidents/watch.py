"""Conditions on metrics of this host, sampled once a second, such as `gc.full >= 3 in 60s`.

A metric is a column of a monitor; of single cores, disks and links the worst one counts. Counts are added up
over the time; other metrics must fulfil the condition in each sample of it, without a gap. A condition
happens again only after it was false, and not before a pause since its last event.
"""

from __future__ import annotations

import operator
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loadcell.model import numbers
from loadcell.model.message import MessageCode, MessageError, Seconds, unit_of, with_unit
from loadcell.monitors import host_parts
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.monitors.host import Host
from loadcell.monitors.jvm import JvmMonitor
from loadcell.monitors.jvm.counters import INCREASES
from loadcell.monitors.target import Target
from loadcell.plan import units
from loadcell.plan.problems import SettingError, nearest

NOT_UNDERSTOOD = MessageCode("watch.not-understood", text=str)
UNKNOWN_METRIC = MessageCode("watch.unknown-metric", metric=str, near=list)
NEEDS_PID = MessageCode("watch.needs-pid", metric=str)
LONG_WINDOW = MessageCode("watch.long-window", limit_s=Seconds)
NO_WINDOW = MessageCode("watch.no-window", window=str)
WRONG_VALUE = MessageCode("watch.value", value=str, metric=str)

_CONDITION: Final = re.compile(
    r"\s*(?P<metric>[\w.]+)\s*(?P<operator>>=|<=|==|>|<)\s*(?P<value>[+-]?[\d.]+\s*[\w/%]*?)"
    r"(?:\s+in\s+(?P<window>[\d.]+\s*\w+))?\s*"
)
_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip
#: Short names of frequent metrics.
_SHORT: Final = {
    "gc.full": "jvm.full_gcs",
    "gc.young": "jvm.young_gcs",
    "gc.full_ms": "jvm.full_gc_ms",
    "gc.young_ms": "jvm.young_gc_ms",
    "clock.step": "host.clock_offset_step_s",
}
_MONITORS: Final[Mapping[str, type[Monitor[Any]]]] = {"host": Host, "target": Target, "jvm": JvmMonitor}
#: Tables of the monitor `host` with a row for each core, disk or link.
_PARTS: Final = host_parts.TABLES
_OF_PROCESS: Final = frozenset({"target", "jvm"})
#: Comparisons that a count may fulfil before the end of the time, and no longer at it.
_AT_MOST: Final = frozenset({"<", "<=", "=="})
#: Rows that are retained as evidence, of one second each.
_MOST_ROWS: Final = 600
#: Longest time of a condition: counts of each second are retained for so long.
_MOST_WINDOW_S: Final = 86_400.0
#: Time between two samples after which a metric counts as not observed.
MOST_GAP_S: Final = 5.0
#: Time after an event without another one; a longer window takes its place. The condition of a service in
#: trouble changes within seconds, and would use up all events at once.
LEAST_PAUSE_S: Final = 60.0
#: Samples are taken a little early or late.
_SLACK_S: Final = 0.25


class WatchError(MessageError):
    """A condition that cannot be watched."""


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with a value; without a window, of the last sample."""

    text: str
    monitor: str
    column: str
    operator: str
    value: float
    window_s: float | None = None
    #: further table of the monitor, with several rows
    table: str = ""

    @property
    def metric(self) -> str:
        """Full name of the column."""
        return f"{self.table or self.monitor}.{self.column}"

    @property
    def is_count(self) -> bool:
        """True where values of samples are added up."""
        return self.monitor == "jvm" and self.column in INCREASES

    def holds(self, value: float) -> bool:
        """True of a value that fulfils the comparison."""
        return _OPERATORS[self.operator](value, self.value)

    def written(self, value: float) -> str:
        """A value of the column with its unit, which is the end of its name."""
        if self.column.endswith("_percent"):
            return numbers.share(value / 100)
        if self.column.endswith("_bytes_per_s"):
            return f"{numbers.size(value)}/s"
        unit = unit_of(self.column)
        return numbers.short(value) if unit is None else with_unit(unit, value)


def parse(text: str, *, has_pid: bool) -> Condition:
    """The condition of a text. Raises WatchError."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise WatchError(NOT_UNDERSTOOD(text=repr(text)))
    metric = _SHORT.get(match["metric"], match["metric"])
    monitor, _, column = metric.partition(".")
    if column not in _columns(monitor):
        raise WatchError(UNKNOWN_METRIC(metric=match["metric"], near=_near(metric)))
    if monitor in _OF_PROCESS and not has_pid:
        raise WatchError(NEEDS_PID(metric=match["metric"]))
    window = match["window"]
    try:
        window_s = None if window is None else float(units.Duration.read(window))
    except SettingError:
        raise WatchError(NOT_UNDERSTOOD(text=repr(text))) from None
    if window_s is not None and window_s <= 0:
        raise WatchError(NO_WINDOW(window=window))
    if window_s is not None and window_s > _MOST_WINDOW_S:
        raise WatchError(LONG_WINDOW(limit_s=_MOST_WINDOW_S))
    table = monitor if monitor in _PARTS else ""
    return Condition(
        text.strip(),
        "host" if table else monitor,
        column,
        match["operator"],
        _value(match, column),
        window_s,
        table,
    )


def _columns(monitor: str) -> tuple[str, ...]:
    """Columns of a monitor that have numbers."""
    kind = _MONITORS.get(monitor)
    table = _PARTS.get(monitor) if kind is None else kind.table
    if table is None:
        return ()
    return tuple(column for column in table.columns if column not in table.text)


def _near(metric: str) -> list[str]:
    names = [f"{monitor}.{column}" for monitor in (*_MONITORS, *_PARTS) for column in _columns(monitor)]
    names += _SHORT
    similar = nearest(metric, names, 0.0)
    return [similar] if similar else []


def _value(match: re.Match[str], column: str) -> float:
    """The value in the unit of a column."""
    text = match["value"].strip().removesuffix("%")
    try:
        return float(text)
    except ValueError:
        pass
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-")
    try:
        if column.endswith("_ms"):
            return sign * float(units.Duration.read(text)) * 1e3
        if column.endswith("_s") and not column.endswith("_per_s"):
            return sign * float(units.Duration.read(text))
        return sign * float(units.Size.read(text.removesuffix("/s")))
    except SettingError:
        raise WatchError(WRONG_VALUE(value=match["value"], metric=match["metric"])) from None


@dataclass
class Watch:
    """The samples of a condition, and whether it happened."""

    condition: Condition
    #: rows of the monitor with their instants, for the evidence
    rows: deque[tuple[float, Row]] = field(default_factory=lambda: deque(maxlen=_MOST_ROWS))
    #: counts in the window
    _counts: deque[tuple[float, float]] = field(default_factory=deque)
    #: instant since which the counts are complete, or the condition holds
    _since: float | None = None
    _last: float | None = None
    #: false from an event until the condition does not hold
    _is_armed: bool = True
    _event: float | None = None

    def take(self, instant: float, rows: list[Row]) -> float | None:
        """Take the rows of a sample; the value of the condition at its event, else None."""
        row = _row(rows, self.condition)
        sample = None if row is None else row.get(self.condition.column)
        if row is not None:
            self.rows.append((instant, row))
        if sample is None:
            self._since = None
            return None
        take = self._take_count if self.condition.is_count else self._take_value
        value, is_complete = take(instant, float(sample))
        self._last = instant
        if not self.condition.holds(value):
            self._is_armed = True
            return None
        if not is_complete or not self._is_armed or self._is_pausing(instant):
            return None
        self._is_armed, self._event = False, instant
        return value

    def _is_pausing(self, instant: float) -> bool:
        pause_s = max(LEAST_PAUSE_S, self.condition.window_s or 0.0)
        return self._event is not None and instant - self._event < pause_s - _SLACK_S

    def _take_count(self, instant: float, count: float) -> tuple[float, bool]:
        """The total of the window, and whether it can no longer change."""
        window_s = self.condition.window_s or 0.0
        self._since = instant if self._since is None else self._since
        self._counts.append((instant, count))
        while self._counts[0][0] <= instant - window_s and len(self._counts) > 1:
            self._counts.popleft()
        total = sum(value for _, value in self._counts)
        return total, self.condition.operator not in _AT_MOST or self._covers(instant)

    def _take_value(self, instant: float, value: float) -> tuple[float, bool]:
        """The value of a sample, and whether the condition held through the window if it holds now."""
        has_gap = self._last is not None and instant - self._last > MOST_GAP_S
        if not self.condition.holds(value):
            self._since = None
        elif self._since is None or has_gap:
            self._since = instant
        return value, self._covers(instant)

    def _covers(self, instant: float) -> bool:
        window_s = self.condition.window_s or 0.0
        return self._since is not None and instant - self._since >= window_s - _SLACK_S


def _row(rows: list[Row], condition: Condition) -> Row | None:
    """The row of a sample: of several processes their total, of parts of the host the worst one."""
    if condition.table:
        valued = [row for row in rows if row.get(condition.column) is not None]
        pick = min if condition.operator.startswith("<") else max
        return pick(valued, key=lambda row: float(row[condition.column]), default=None)
    totals = [row for row in rows if row.get("pid") == 0]
    chosen = totals or rows
    return chosen[-1] if chosen else None


def sampled(monitor: Monitor[Any], condition: Condition, elapsed_s: float) -> list[Row]:
    """Rows of the table of a condition since the last sample."""
    rows = monitor.sample(elapsed_s)
    further = monitor.further_rows()
    return further.get(condition.table, []) if condition.table else rows


def monitor_of(condition: Condition, pid: int | None) -> Monitor[Any]:
    """The monitor of a condition, of the tree of a process."""
    kind = _MONITORS[condition.monitor]
    context = MonitorContext(roots=lambda: [] if pid is None else [pid])
    return kind(kind.Options(), context)
