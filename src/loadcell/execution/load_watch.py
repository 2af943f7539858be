"""Watches one load of a trial: writes its intervals, events and samples, and notices disturbances."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from loadcell.execution import machine_watch as concurrent
from loadcell.execution.checks import SAMPLING_GAP_LIMIT_S, Covered
from loadcell.execution.context import Phases, RunContext
from loadcell.execution.machine_watch import DisturbanceWatch, Machine, workers
from loadcell.execution.record import interval_rows
from loadcell.execution.resource_use import ResourceWatch
from loadcell.model.json import JsonObject, document
from loadcell.model.load_result import (
    Connected,
    Interval,
    IntervalOperation,
    LoadEvent,
    PhaseBegan,
    Trouble,
    latency,
)
from loadcell.model.message import Message, MessageCode
from loadcell.model.metrics import MetricFacts
from loadcell.model.numbers import utc_text
from loadcell.model.trial_record import TRANSACTION, MonitorRecord
from loadcell.monitors.base import END_LIMIT_S, MonitorContext, Row, Sampler
from loadcell.plan.expect import QUANTILES, enough
from loadcell.plan.model import Resolved
from loadcell.store.layout import INTERVAL_COLUMNS, INTERVALS, SAMPLE_HEAD
from loadcell.store.redaction import redacted_message
from loadcell.store.write import TrialWriter
from loadcell.systems.base import Target

MONITOR_REMARK = MessageCode("monitor-remark", "caution", monitor=str, why=Message, remedy=Message)
ANOTHER_LOADCELL = MessageCode("another-loadcell", "info", who=str)

#: How often a load looks for other runs; a look costs about a millisecond.
_NEIGHBOUR_EVERY_NS = 2_000_000_000

Event = Callable[[JsonObject], None]


class LoadWatch:
    """Stands beside one load: writes intervals, samples and events as they come, and looks out for
    disturbances.

    Times are relative to the measurement's start, which is known only when it begins: rows before it wait.
    None is stored here: a load of many hours takes no more memory than one of seconds.
    """

    def __init__(
        self, context: RunContext, phases: Phases, writer: TrialWriter, resolved: Resolved, event: Event
    ) -> None:
        self.covered = Covered()
        self.disturbances = DisturbanceWatch(context.root)
        self.machine = Machine(context.root)
        self.neighbours: set[int] = set()
        self.steal_share: float | None = None
        #: times in which this process did nothing, as pairs of instants
        self.gaps_ns: list[tuple[int, int]] = []
        self.measuring_since_ns: int | None = None
        self.measured_until_ns: int | None = None
        self.resources: ResourceWatch | None = None
        self._measuring = False
        #: roots of the target's processes and of its storage: all so far, and the present ones
        self.target_processes: list[int] = []
        self._present: list[int] = []
        self._context = context
        self._phases = phases
        self._writer = writer
        self._event = event
        self._resolved = resolved
        self._columns: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._samplers: list[Sampler] = []
        #: values of monitors' metrics by key, once they have stopped
        self.metrics: dict[str, float] = {}
        #: facts of those that the plan names, by key
        self.metric_facts: dict[str, MetricFacts] = {}
        self._sampled: queue.SimpleQueue[tuple[str, list[Row]]] = queue.SimpleQueue()
        self._reported: queue.SimpleQueue[Row] = queue.SimpleQueue()
        self._waiting: list[tuple[str, tuple[str, ...], list[Row]]] = []
        self._looked_ns = 0
        self._ticked_ns: int | None = None
        self._errors = 0

    def start_monitors(self, target: Target[Any], ports: tuple[int, ...] = ()) -> None:
        """Begin sampling the target, which listens on `ports`, and whatever else monitors look at."""
        self.look_again(target)
        load = self._resolved.load
        length_s = float(load.warmup) + (load.expected_s or 0.0)

        def client() -> list[int]:
            """The worker is there only while it works; in it, the target works with its storage."""
            present = workers(self._context.root, os.getpid())
            return [*present, *self._present] if target.in_worker else present

        def watched() -> list[int]:
            return client() if target.in_worker else self._present

        self.resources = ResourceWatch(
            self._context.root,
            client,
            watched if self._present and not target.in_worker else None,
            in_client=target.in_worker,
            ports=ports,
            process_kind=target.process_kind,
        )
        context = MonitorContext(
            roots=watched,
            observed=target.observed(),
            storage=target.made_storage(),
            process_kind=target.process_kind,
            length_s=length_s,
            measuring=lambda: self._measuring,
            measuring_since_ns=lambda: self.measuring_since_ns,
            measured_until_ns=lambda: self.measured_until_ns,
            secret=self._context.secret,
            redact=self._context.redact,
            numbered_writes=target.numbered_writes,
            filled=target.filled,
        )
        for name, options in self._resolved.monitors.items():
            monitor = self._context.parts.monitor(name)(options, replace(context, key=name))
            tables = {
                name: monitor.table,
                **{f"{name}.{key}": table for key, table in monitor.tables.items()},
            }
            for key, table in tables.items():
                self._columns[key] = (table.file, (*SAMPLE_HEAD, *table.columns))
            sampler = Sampler(
                name, monitor, lambda who, rows: self._sampled.put((who, rows)), monitor.interval_ns,
                tell=self._reported.put,
            )  # fmt: skip
            self._samplers.append(sampler)
        for sampler in self._samplers:
            sampler.start()

    def look_again(self, target: Target[Any]) -> None:
        """Take the processes of the target, of which some may have been started again; from any thread."""
        self._present = target.with_storage()
        self.target_processes = [*dict.fromkeys([*self.target_processes, *self._present])]

    def stop_monitors(self) -> dict[str, MonitorRecord]:
        """End sampling, write the waiting rows, and return the record of each monitor."""
        if self.resources is not None:
            self.resources.close()
        for sampler in self._samplers:
            sampler.ask_to_stop()
        deadline = time.monotonic() + END_LIMIT_S
        accounts = {sampler.name: sampler.stop(deadline - time.monotonic()) for sampler in self._samplers}
        self.metrics = {key: value for account in accounts.values() for key, value in account.metrics.items()}
        for account in accounts.values():
            self.metric_facts |= account.metric_facts
        self._samplers.clear()
        self.tick()
        for file, columns, rows in self._waiting:
            self._writer.rows(file, columns, rows)
        self._waiting.clear()
        for name, account in accounts.items():
            for message, _ in account.remarks:
                if message.remedy is not None:
                    why, remedy = (
                        redacted_message(item, self._context.redact) for item in (message, message.remedy)
                    )
                    remark = MONITOR_REMARK(monitor=name, why=why, remedy=remedy)
                    self._context.progress.note(remark, key=f"{name} {message.code}")
        return {name: account.record() for name, account in accounts.items()}

    def event(self, event: LoadEvent) -> None:
        """Take one event of the load."""
        match event:
            case Interval():
                self._interval(event)
            case PhaseBegan():
                self._phase(event)
            case Connected(clients=clients, took_ns=took_ns):
                connected = {**_event("connected", event), "clients": clients, "took_s": took_ns / 1e9}
                self._event(connected)
            case Trouble():
                trouble = document(event)
                for name in ("type", "mono_ns", "utc_ns"):
                    del trouble[name]
                self._event({**_event("trouble", event), **trouble})

    def tick(self) -> None:
        """Look round: the clock, the monitors, the target's words, the neighbours."""
        for line in self._context.waiting_lines():
            self._writer.output(line)
        while not self._sampled.empty():
            name, rows = self._sampled.get()
            file, columns = self._columns[name]
            self._put(file, columns, rows)
            if self.resources is not None:
                self.resources.monitored(name, rows)
        while not self._reported.empty():
            self._event(self._reported.get())
        step_s = self.disturbances.tick()
        if step_s is not None:
            self._event({"event": "clock-step", "step_s": step_s})
        if self.resources is not None:
            self.resources.look()
        now_ns = self._context.monotonic_ns()
        if self._ticked_ns is not None and now_ns - self._ticked_ns > SAMPLING_GAP_LIMIT_S * 1e9:
            self.gaps_ns.append((self._ticked_ns, now_ns))
            self._event({"event": "sampling-gap", "length_s": (now_ns - self._ticked_ns) / 1e9})
        self._ticked_ns = now_ns
        if now_ns - self._looked_ns > _NEIGHBOUR_EVERY_NS:
            self._looked_ns = now_ns
            self.meet(self._context.neighbours())

    def meet(self, pids: list[int]) -> None:
        """Note other runs; each is reported once per trial."""
        for pid in pids:
            if pid not in self.neighbours:
                self.neighbours.add(pid)
                who = concurrent.described(pid, self._context.root)
                self._event({"event": "neighbour", "pid": pid, "who": who})
                self._context.progress.note(ANOTHER_LOADCELL(who=who), key=ANOTHER_LOADCELL.code)

    def _phase(self, event: PhaseBegan) -> None:
        name, mono_ns = event.phase, event.mono_ns
        self._event({**_event("phase", event), "phase": name})
        if name in ("warmup", "measure"):
            if self._phases.current == name:  # begun with connecting, which is no part of it
                self._phases.records.pop()
            self._phases.begin(name, mono_ns, utc_text(event.utc_ns))
        elif self._phases.open:
            self._phases.end("ok", mono_ns)
        if self._measuring and name != "measure":
            self.measured_until_ns = mono_ns
        self._measuring = name == "measure"
        if name == "measure":
            self.measuring_since_ns = mono_ns
            self.disturbances.begin()
            self.machine.begin()
            if self.resources is not None:
                self.resources.begin()
            waiting, self._waiting = self._waiting, []
            for file, columns, rows in waiting:
                self._put(file, columns, rows)
        elif name == "drain":
            self.steal_share = self.disturbances.steal_share()
            self.machine.end()
            if self.resources is not None:
                self.resources.end()

    def _interval(self, interval: Interval) -> None:
        self._put(INTERVALS, INTERVAL_COLUMNS, interval_rows(interval))
        if interval.hlog:
            self._writer.latency(interval.hlog)
        for operation in interval.operations:
            if operation.name == TRANSACTION:
                self._transactions(interval, operation)

    def _transactions(self, interval: Interval, transaction: IntervalOperation) -> None:
        """Count the transactions of an interval, and show them."""
        self.covered.add(interval, transaction)
        progress, seconds = self._context.progress, interval.duration_ns / 1e9
        if interval.phase == "measure":
            self._errors += transaction.failed or 0
            if (count := self._resolved.load.count) is not None:
                progress.made(self.covered.succeeded + self.covered.failed, count)
        succeeded, rate = transaction.succeeded or 0, transaction.throughput_per_s
        response = latency(transaction.response) if enough(succeeded, QUANTILES["p99"]) else None
        progress.interval(
            succeeded / seconds if rate is None and seconds > 0 else rate or 0.0,
            response.percentile_ms("99") if response else None,
            self._errors,
            interval.backlog or 0,
        )

    def _put(self, file: str, columns: tuple[str, ...], rows: list[Row]) -> None:
        """Write rows, or keep them until their time in the measurement is known."""
        if self.measuring_since_ns is None:
            self._waiting.append((file, columns, rows))
            return
        for row in rows:
            row["t_s"] = (row["mono_ns"] - self.measuring_since_ns) / 1e9
        self._writer.rows(file, columns, rows)


def _event(name: str, event: Connected | PhaseBegan | Trouble) -> JsonObject:
    """A line of events.jsonl with its time."""
    return {"event": name, "mono_ns": event.mono_ns, "utc": utc_text(event.utc_ns)}
