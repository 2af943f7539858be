"""Contract of monitors, and their sampler: a few rows per sample, at regular instants, in a dedicated thread.

The sampler records its lateness and cost. Monitors read running counters, of which rows have differences.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from loadcell.linux.host_counters import difference
from loadcell.model import trial_record
from loadcell.model.message import Message
from loadcell.model.metrics import MetricFacts
from loadcell.model.panels import SampleTable
from loadcell.plan.parts import MonitorPart, Opts

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.monitors.numbered_writes import NumberedWrites

Row: TypeAlias = "JsonObject"

INTERVAL_NS = 1_000_000_000


@dataclass(frozen=True)
class MonitorContext:
    """Context of a monitor.

    `roots` gives the present ids of the target's root processes; `observed` is the target's access for
    monitors of its kind (`Target.observed`), None if there is none; `storage` is what loadcell made under its
    data (`Target.made_storage`); `process_kind` reduces the title of a
    process of the target to its kind (`Target.process_kind`). `length_s` is the expected duration of the
    load, warm-up included; `measuring` is True within the measured window, which began at
    `measuring_since_ns` and ended at `measured_until_ns` (monotonic; None before). `secret` turns
    `${env:NAME}` in an option into its value; `redact` replaces values by references, and has to see texts
    before they are cut. `key` is the monitor's key in the plan, which has a name in it
    where the plan has several of one kind. `numbered_writes` gives a writer of numbered records. `filled`
    replaces secrets and the target's placeholders in an option (`Target.filled`).
    """

    roots: Callable[[], list[int]]
    observed: Any = None
    storage: Any = None
    process_kind: Callable[[str], str] = str
    length_s: float = 0.0
    measuring: Callable[[], bool] = lambda: True
    measuring_since_ns: Callable[[], int | None] = lambda: None
    measured_until_ns: Callable[[], int | None] = lambda: None
    secret: Callable[[str], str] = str
    redact: Callable[[str], str] = str
    key: str = ""
    numbered_writes: Callable[[], NumberedWrites | None] = lambda: None
    filled: Callable[[str], str] = str


class Monitor(MonitorPart[Opts], ABC):
    """Samples something once an interval. The sampler adds times, lateness and cost to every row.

    A monitor that looks into systems of one kind names the capability of such targets in `needs`.
    """

    #: the table of its rows; that of an instance, where a plan may have several of one kind
    table: SampleTable
    #: its further tables, by the names that `further_rows` gives them
    tables: ClassVar[Mapping[str, SampleTable]] = {}

    def __init__(self, options: Opts, context: MonitorContext) -> None:
        self.options = options
        self.context = context

    @abstractmethod
    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows for the time since the last call (`elapsed_s`; 0 at the first call, which sets the counters'
        base).
        """

    @property
    def interval_ns(self) -> int:
        """Sampling interval in ns."""
        return INTERVAL_NS

    def finish(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002
        """A last look when the load is over, like `sample`."""
        return []

    def further_rows(self) -> Mapping[str, list[Row]]:
        """Rows of its other tables since the last call, by name of the table."""
        return {}

    def events(self) -> list[Row]:
        """Events since the last call, each with its `event`; the sampler adds the time."""
        return []

    def metrics(self) -> Mapping[str, float]:
        """Values of its declared metrics over the samples, by key; asked for once, after `close`."""
        return {}

    def metric_facts(self) -> Mapping[str, MetricFacts]:
        """Facts of those of its metrics that no module declares, by key."""
        return {}

    def remarks(self) -> Sequence[tuple[Message, int]]:
        """Remarks on its samples for users, each with how often it happened; asked for once, after
        `close`.
        """
        return ()

    def account(self) -> trial_record.MonitorRecord:
        """Its cost to the server and its notes, asked for once, after `close`."""
        return trial_record.MonitorRecord()

    def close(self) -> None:
        """Give back what it holds; for most: nothing."""


def rate(before: int | None, now: int | None, elapsed_s: float) -> float | None:
    """A counter's mean rate per second; None when either reading is missing."""
    if before is None or now is None or elapsed_s <= 0:
        return None
    return difference(before, now) / elapsed_s


#: How long the monitors of a trial may take to end, all of them together: one that hangs is left behind.
END_LIMIT_S = 4.0

#: Takes a monitor's name (`postgres`, for a table beside it `postgres.waits`) and the rows of one sample;
#: called in the sampler's thread.
Sink = Callable[[str, list[Row]], None]
#: Takes one event, in the same thread.
Tell = Callable[[Row], None]


@dataclass
class Schedule:
    """Instants `start + k * interval`: being late once never shifts those to come, and what is missed is
    counted.
    """

    start_ns: int
    interval_ns: int = INTERVAL_NS
    taken: int = 0
    missed: int = 0

    @property
    def due_ns(self) -> int:
        """The next instant."""
        return self.start_ns + (self.taken + self.missed) * self.interval_ns

    def take(self, now_ns: int) -> int:
        """Note that the sample due is taken at `now_ns`; returns how late.

        Instants wholly gone by are missed.
        """
        late = now_ns - self.due_ns
        self.taken += 1
        if now_ns >= self.due_ns:
            self.missed += (now_ns - self.due_ns) // self.interval_ns + 1
        return late


@dataclass
class Account:
    """Result and cost of sampling: for trial.json."""

    table: SampleTable
    samples: int = 0
    cpu_ns: int = 0
    late_max_ns: int = 0
    missed: int = 0
    trouble: str | None = None
    #: further tables that got rows
    tables: dict[str, SampleTable] = field(default_factory=dict)
    further: trial_record.MonitorRecord = field(default_factory=lambda: trial_record.MonitorRecord())
    metrics: Mapping[str, float] = field(default_factory=dict)
    metric_facts: Mapping[str, MetricFacts] = field(default_factory=dict)
    remarks: Sequence[tuple[Message, int]] = ()

    def record(self) -> trial_record.MonitorRecord:
        """For the trial's record. A file that got no row is not there, and not named."""
        notes = (
            *(self.further.notes or ()),
            *(
                {"note": message.code, "text": message.text, "count": count, **message.document()}
                for message, count in self.remarks
            ),
        )
        written = [*([self.table] if self.samples else []), *self.tables.values()]
        return replace(
            self.further,
            notes=notes or None,
            samples=self.samples,
            file=self.table.file if self.samples else None,
            cpu_s=self.cpu_ns / 1e9,
            late_max_ms=self.late_max_ns / 1e6,
            missed=self.missed,
            tables={name: table.file for name, table in self.tables.items()} or None,
            text_columns={table.file: tuple(sorted(table.text)) for table in written},
            trouble=self.trouble,
        )


class Sampler:
    """Runs one monitor from `start` to `stop`."""

    def __init__(
        self,
        name: str,
        monitor: Monitor[Any],
        sink: Sink,
        interval_ns: int = INTERVAL_NS,
        *,
        tell: Tell = lambda event: None,  # noqa: ARG005
    ) -> None:
        self.name = name
        self.account = Account(monitor.table)
        self._monitor = monitor
        self._sink = sink
        self._tell = tell
        self._interval_ns = interval_ns
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"monitor-{name}", daemon=True)

    def start(self) -> None:
        """Begin: the first call sets the counters' base, samples follow one interval apart."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Have it end without waiting for it."""
        self._stop.set()

    def stop(self, limit_s: float = END_LIMIT_S) -> Account:
        """End, and give back what the monitor holds."""
        self._stop.set()
        self._thread.join(timeout=max(0.0, limit_s))
        if self._thread.is_alive():
            self.account.trouble = self.account.trouble or f"did not end within {END_LIMIT_S:g} s"
        return self.account

    def _run(self) -> None:
        schedule = Schedule(time.monotonic_ns(), self._interval_ns)
        last_ns = schedule.start_ns
        while not self._stop.wait(max(0.0, (schedule.due_ns - time.monotonic_ns()) / 1e9)):
            now_ns = time.monotonic_ns()
            late_ns = schedule.take(now_ns)
            elapsed_s = (now_ns - last_ns) / 1e9 if schedule.taken > 1 else 0.0
            self._sample(self._monitor.sample, now_ns, elapsed_s, late_ns)
            last_ns = now_ns
            self.account.missed = schedule.missed
        now_ns = time.monotonic_ns()
        self._sample(self._monitor.finish, now_ns, (now_ns - last_ns) / 1e9, 0)
        with contextlib.suppress(OSError):
            self._monitor.close()
        try:
            self.account.further = self._monitor.account()
            self.account.metrics = self._monitor.metrics()
            self.account.metric_facts = self._monitor.metric_facts()
            self.account.remarks = self._monitor.remarks()
        except Exception as error:  # as in `_sample`
            self.account.trouble = self.account.trouble or f"{type(error).__name__}: {error}"

    def _sample(self, ask: Callable[[float], list[Row]], now_ns: int, elapsed_s: float, late_ns: int) -> None:
        """Take one sample. A monitor that fails costs its own sample, never the trial."""
        utc = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        cpu_before = time.thread_time_ns()
        try:
            rows = ask(elapsed_s)
            tables, events = self._monitor.further_rows(), self._monitor.events()
        except Exception as error:  # a monitor of whatever make must not take the trial with it
            self.account.trouble = self.account.trouble or f"{type(error).__name__}: {error}"
            return
        cost_ns = time.thread_time_ns() - cpu_before
        self.account.cpu_ns += cost_ns
        self.account.late_max_ns = max(self.account.late_max_ns, late_ns)
        head = {"mono_ns": now_ns, "utc": utc, "late_ms": late_ns / 1e6, "cost_ms": cost_ns / 1e6}
        if rows:
            self.account.samples += 1
            self._sink(self.name, [{**head, **row} for row in rows])
        for table, rows_of_table in tables.items():
            if rows_of_table:
                self.account.tables[table] = self._monitor.tables[table]
                self._sink(f"{self.name}.{table}", [{**head, **row} for row in rows_of_table])
        for event in events:
            self._tell({"mono_ns": now_ns, "utc": utc, **event})
