"""One load of a trial: what the engine is asked for, and what is written while it says how it goes."""

from __future__ import annotations

import hashlib
import os
import queue
from collections.abc import Callable, Mapping
from typing import Any

from loadcell.execution import concurrent_runs, groups
from loadcell.execution.checks import Covered
from loadcell.execution.context import RunContext
from loadcell.execution.disturbances import DisturbanceWatch
from loadcell.execution.machine_watch import Machine, workers
from loadcell.execution.phases import Phases
from loadcell.execution.record import Mean, interval_rows
from loadcell.model.instants import utc_text
from loadcell.model.trial_record import TRANSACTION
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.sampler import Sampler
from loadcell.plan import rate
from loadcell.plan.model import BOUNDS, Group, Load, Resolved
from loadcell.plan.quantiles import QUANTILES, enough
from loadcell.plan.units import Duration
from loadcell.store.layout import INTERVAL_COLUMNS, INTERVALS, SAMPLE_HEAD
from loadcell.store.write import TrialWriter
from loadcell.systems.base import Target
from loadcell.workloads.composite import CompositeWorkload

#: The data are the same in every trial of every run: only the work on them is random.
DATA_SEED = 1
#: How often a load looks for other runs; a look costs about a millisecond.
_NEIGHBOUR_EVERY_NS = 2_000_000_000

Event = Callable[[dict[str, Any]], None]


def trial_seed(run_seed: int, repeat: int) -> int:
    """The same for all treatments of one repeat: what is compared within a block draws the same numbers."""
    digest = hashlib.sha256(f"loadcell:{run_seed}:{repeat}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def specification(
    endpoint: dict[str, Any], workload: dict[str, Any], resolved: Resolved, threads: int, seed: int
) -> dict[str, Any]:
    """The specification for the engine. Holds secrets: never to be written anywhere."""
    load = resolved.load
    return {
        "version": 1,
        "seed": seed,
        "target": endpoint,
        "workload": workload,
        "load": {
            "clients": resolved.clients,
            "threads": threads,
            "warmup_ns": load.warmup.ns,
            "duration_ns": load.duration.ns,
            **{key: value for key in BOUNDS if (value := getattr(load, key)) is not None},
            "interval_ns": load.interval.ns,
            "timeout_ns": None if load.timeout is None else load.timeout.ns,
            "max_retries": load.max_retries,
            "schedule": schedule(load),
        },
    }


def specification_of_groups(
    endpoint: dict[str, Any], composite: CompositeWorkload, resolved: Resolved, threads: int, seed: int
) -> dict[str, Any]:
    """The same of client groups, which `threads` are divided among."""
    common = specification(endpoint, {}, resolved, threads, seed)
    window = {key: common["load"][key] for key in ("warmup_ns", "duration_ns", "interval_ns")}

    def load(group: Group, own_threads: int) -> dict[str, Any]:
        spec = specification(endpoint, {}, resolved.alone(group), own_threads, seed)["load"]
        return {key: value for key, value in spec.items() if key not in window}

    group_specs = groups.of_specification(composite, resolved, threads, load)
    return {
        **{key: common[key] for key in ("version", "seed", "target")},
        "load": window,
        "groups": group_specs,
    }


def schedule(load: Load) -> dict[str, Any] | None:
    """When requests are due, as the engine wants it said; None for a closed loop."""
    if load.rate is None:
        return None
    return {
        "arrivals": load.arrivals,
        "rate": [
            {
                "from_per_s": stretch.from_per_s,
                "to_per_s": stretch.to_per_s,
                "for_ns": Duration(stretch.seconds).ns,
            }
            for stretch in rate.stretches(load.rate, load.duration)
        ],
        "most_overdue_ns": load.max_backlog.ns,
    }


class LoadWatch:
    """Stands beside one load: writes intervals, samples and events as they come, and looks out for
    disturbances.

    Times are relative to the measurement's start, which is known only when it begins: rows before it wait. Of
    what is written nothing is kept: a load of many hours takes no more memory than one of seconds.
    """

    def __init__(
        self, context: RunContext, phases: Phases, writer: TrialWriter, resolved: Resolved, event: Event
    ) -> None:
        self.covered = Covered()
        self.witness = DisturbanceWatch(context.root)
        self.machine = Machine(context.root)
        self.neighbours: set[int] = set()
        self.steal_share: float | None = None
        self.measuring_since_ns: int | None = None
        self.target_cpu = Mean()
        self.target_processes: list[int] = []
        self._context = context
        self._phases = phases
        self._writer = writer
        self._event = event
        self._resolved = resolved
        self._columns: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._samplers: list[Sampler] = []
        #: values of monitors' metrics by key, once they have stopped
        self.metrics: dict[str, float] = {}
        self._sampled: queue.SimpleQueue[tuple[str, list[Row]]] = queue.SimpleQueue()
        self._reported: queue.SimpleQueue[Row] = queue.SimpleQueue()
        self._waiting: list[tuple[str, tuple[str, ...], list[dict[str, Any]]]] = []
        self._looked_ns = 0
        self._errors = 0

    def start_monitors(self, target: Target[Any]) -> None:
        """Begin sampling the target, and whatever else monitors look at."""
        roots = self.target_processes = target.processes()
        load = self._resolved.load
        length_s = float(load.warmup) + (load.expected_s or 0.0)

        def watched() -> list[int]:
            """The worker is there only while it works."""
            return workers(self._context.root, os.getpid()) if target.in_worker else roots

        context = MonitorContext(
            roots=watched, observed=target.observed(), process_kind=target.process_kind, length_s=length_s
        )
        for name, options in self._resolved.monitors.items():
            monitor = self._context.parts.monitors[name](options, context)
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

    def stop_monitors(self) -> dict[str, Any]:
        """End sampling, write the waiting rows, and return the account of each monitor."""
        accounts = {sampler.name: sampler.stop() for sampler in self._samplers}
        self.metrics = {key: value for account in accounts.values() for key, value in account.metrics.items()}
        self._samplers.clear()
        self.tick()
        for file, columns, rows in self._waiting:
            self._writer.rows(file, columns, rows)
        self._waiting.clear()
        return {name: account.document() for name, account in accounts.items()}

    def event(self, event: dict[str, Any]) -> None:
        """Take one event of the engine."""
        kind = event.get("type")
        if kind == "interval":
            self._interval(event)
        elif kind == "phase":
            self._phase(event)
        elif kind == "connected":
            self._event(
                {
                    "event": "connected",
                    **_times(event),
                    "clients": event["clients"],
                    "took_s": event["took_ns"] / 1e9,
                }
            )
        elif kind == "trouble":
            other_fields = {
                key: value for key, value in event.items() if key not in ("type", "mono_ns", "utc_ns", "utc")
            }
            self._event({"event": "trouble", **_times(event), **other_fields})

    def tick(self) -> None:
        """Look round: the clock, the monitors, the target's words, the neighbours."""
        for line in self._context.waiting_lines():
            self._writer.output(line)
        while not self._sampled.empty():
            name, rows = self._sampled.get()
            file, columns = self._columns[name]
            self._put(file, columns, rows)
            if name == "target" and self.measuring_since_ns is not None:
                for row in rows:
                    if row["pid"] == 0 and row["cpu_percent"] is not None:
                        self.target_cpu.add(row["cpu_percent"])
        while not self._reported.empty():
            self._event(self._reported.get())
        step_s = self.witness.tick()
        if step_s is not None:
            self._event({"event": "clock-step", "step_s": step_s})
        now_ns = self._context.monotonic_ns()
        if now_ns - self._looked_ns > _NEIGHBOUR_EVERY_NS:
            self._looked_ns = now_ns
            self.meet(self._context.neighbours())

    def meet(self, pids: list[int]) -> None:
        """Note other runs; each is reported once per trial."""
        for pid in pids:
            if pid not in self.neighbours:
                self.neighbours.add(pid)
                who = concurrent_runs.described(pid, self._context.root)
                self._event({"event": "neighbour", "pid": pid, "who": who})
                self._context.progress.note(
                    f"another loadcell is running on this machine ({who}): both measure each other"
                )

    def _phase(self, event: Mapping[str, Any]) -> None:
        name, mono_ns = event["phase"], event["mono_ns"]
        self._event({"event": "phase", **_times(event), "phase": name})
        if name in ("warmup", "measure"):
            if self._phases.current == name:  # begun with connecting, which is no part of it
                self._phases.found.pop()
            self._phases.begin(name, mono_ns, utc_text(event["utc_ns"]))
        elif self._phases.open:
            self._phases.end("ok", mono_ns)
        if name == "measure":
            self.measuring_since_ns = mono_ns
            self.witness.begin()
            self.machine.begin()
            waiting, self._waiting = self._waiting, []
            for file, columns, rows in waiting:
                self._put(file, columns, rows)
        elif name == "drain":
            self.steal_share = self.witness.steal_share()
            self.machine.end()

    def _interval(self, event: Mapping[str, Any]) -> None:
        rows = interval_rows(event)
        self._put(INTERVALS, INTERVAL_COLUMNS, rows)
        if event.get("hlog"):
            self._writer.latency(event["hlog"])
        for row in rows:
            if row["operation"] == TRANSACTION:
                self.covered.add(row)
                if row["phase"] == "measure":
                    self._errors += row["failed"] or 0
                    if (count := self._resolved.load.count) is not None:
                        self._context.progress.made(self.covered.succeeded + self.covered.failed, count)
                self._context.progress.interval(
                    row["throughput_per_s"] or 0.0,
                    row.get("response_p99_ms") if enough(row["succeeded"] or 0, QUANTILES["p99"]) else None,
                    self._errors,
                    row["backlog"] or 0,
                )

    def _put(self, file: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
        """Write rows, or keep them until their time in the measurement is known."""
        if self.measuring_since_ns is None:
            self._waiting.append((file, columns, rows))
            return
        for row in rows:
            row["t_s"] = (row["mono_ns"] - self.measuring_since_ns) / 1e9
        self._writer.rows(file, columns, rows)


def _times(event: Mapping[str, Any]) -> dict[str, Any]:
    utc = event.get("utc") or (utc_text(event["utc_ns"]) if "utc_ns" in event else utc_text())
    return {"mono_ns": event["mono_ns"], "utc": utc} if "mono_ns" in event else {"utc": utc}
