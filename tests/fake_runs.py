"""Simulated run directories, written by the real writer, from a simple model of a database under load.

Everything is decided by a seed. The model is a Universal Scalability Law curve for throughput, Little's law
for the mean response time, and a heavy tail; repeats scatter by 2 %.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from loadcell.model.latency import Latency
from loadcell.model.run_record import (
    Execution,
    FactorRecord,
    LevelRecord,
    PlannedTrial,
    RunRecord,
    TreatmentRecord,
)
from loadcell.model.trial_record import (
    Backlog,
    Check,
    ClientUsage,
    Counts,
    ErrorRecord,
    ExpectationResult,
    MonitorRecord,
    OperationStats,
    PhaseRecord,
    Schedule,
    Status,
    ThreadUsage,
    Totals,
    TrialRecord,
    Window,
)
from loadcell.store import layout
from loadcell.store.write import RunWriter, TrialWriter
from loadcell.systems.postgres.monitor import PostgresMonitor

#: Standard normal quantiles by percentile: the tail is log-normal.
NORMAL = {"50": 0.0, "90": 1.2816, "95": 1.6449, "99": 2.3263, "99.9": 3.0902, "99.99": 3.719}
START = datetime(2026, 3, 9, 8, 0, 0, tzinfo=UTC)
GIB = 2**30

HOST_COLUMNS = (
    "cpu_user_percent", "cpu_system_percent", "cpu_iowait_percent", "cpu_steal_percent", "cpu_idle_percent",
    "cpu_busy_percent", "cpu_max_core_percent", "load1", "memory_available_bytes",
    "disk_read_bytes_per_s", "disk_write_bytes_per_s", "net_rx_bytes_per_s", "net_tx_bytes_per_s",
)  # fmt: skip
TARGET_COLUMNS = (
    "pid", "name", "role", "cpu_user_percent", "cpu_system_percent", "cpu_percent", "rss_bytes", "threads",
    "read_bytes_per_s", "write_bytes_per_s", "processes",
)  # fmt: skip
OPERATIONS = {"point_select": ("read", 10), "index_update": ("write", 1), "commit": ("other", 1)}


@dataclass(frozen=True)
class Fate:
    """Outcome of a trial that is not `ok`."""

    status: str
    reason: str
    advice: str = "Look at output.log of this trial."
    measured: bool = False
    code: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """Shape of a run. `factors` maps plan paths to levels (numbers or labels); `fates` is by trial number.

    `checkpoint_every_s` makes throughput dip for `checkpoint_lasts_s` again and again, with disk writes and
    an event each;
    `fades` is the share of its throughput a trial loses from beginning to end; `pace` multiplies all
    throughputs, and
    `settings` are the target's beside the usual ones. With `jvm` the target
    is a JVM with these options. With a factor `load.rate` its trials are open loops:
    throughput is the rate, or what the server can do.
    """

    factors: Mapping[str, Sequence[Any]] = field(default_factory=lambda: {"load.clients": [4, 16]})
    repeats: int = 2
    title: str = "PostgreSQL under growing concurrency"
    question: str = "How many concurrent clients help before more of them only wait?"
    warmup_s: int = 5
    seconds: int = 30
    operations: bool = False
    monitors: bool = True
    server: bool = False
    intervals: bool = True
    failed_transactions: Mapping[int, int] = field(default_factory=dict)
    server_message: str = "deadlock detected"
    fates: Mapping[int, Fate] = field(default_factory=dict)
    unwritten: frozenset[int] = frozenset()
    noticed: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    expect: tuple[str, ...] = ("errors == 0",)
    missed: frozenset[int] = frozenset()
    state: str = "finished"
    seed: int = 7
    checkpoint_every_s: int = 0
    checkpoint_lasts_s: int = 15
    fades: float = 0.0
    started: datetime = START
    pace: float = 1.0
    version: str = "0.1.0"
    kernel: str = "6.1.0-28-amd64"
    settings: Mapping[str, str] = field(default_factory=dict)
    jvm: Mapping[str, Any] | None = None


def write_run(path: Path, shape: Shape | None = None) -> Path:
    """Write a run of this shape to `path`, and return it."""
    shape = shape or Shape()
    chance = random.Random(shape.seed)
    treatments = _treatments(shape)
    trials = _order(treatments, shape, chance)
    length = timedelta(seconds=shape.warmup_s + shape.seconds + 3)
    writer = RunWriter(path)
    try:
        writer.write_plan(_plan_text(shape))
        writer.write_run(_run_record(shape, treatments, trials, shape.started + length * len(trials)))
        writer.write_environment({**ENVIRONMENT, "hosts": [{**HOST, "kernel": shape.kernel}]})
        by_id = {treatment.id: treatment for treatment in treatments}
        for trial in trials:
            if trial.number not in shape.unwritten:
                started = shape.started + length * (trial.number - 1)
                _Trial(shape, trial, by_id[trial.treatment], started, chance).write(writer)
    finally:
        writer.close()
    return path


def _treatments(shape: Shape) -> tuple[TreatmentRecord, ...]:
    treatments = []
    for levels in itertools.product(*shape.factors.values()):
        values = dict(zip(shape.factors, levels, strict=True))
        name = ",".join(f"{key.rsplit('.', 1)[-1]}={value}" for key, value in values.items()) or "base"
        name = re.sub(r"[^\w=,.-]", "-", name)
        labels = {key: str(value) for key, value in values.items()}
        treatments.append(TreatmentRecord(name, labels, values, _settings(shape, values)))
    return tuple(treatments)


def _settings(shape: Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    jvm = None if shape.jvm is None else _jvm(shape.jvm, values)
    return {
        "target": {"postgres": {"server": "embedded"}} if jvm is None else {"jvm": jvm},
        "workload": {"sysbench": {"script": "oltp_read_write", "tables": 12, "table_size": 100000}},
        "load": {
            "threads": "auto", "warmup": f"{shape.warmup_s}s", "duration": f"{shape.seconds}s",
            "interval": "1s", "clients": _clients(values),
        },
        "limits": {"up": 60.0},
    }  # fmt: skip


def _jvm(options: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a JVM, with those of the levels."""
    properties = dict(options.get("properties", {}))
    resolved = {**options, "properties": properties}
    for path, value in values.items():
        option, _, name = path.removeprefix("target.jvm.").partition(".")
        if option == "properties":
            properties[name] = value
        elif path.startswith("target.jvm."):
            resolved[option] = value
    return resolved


def _clients(values: Mapping[str, Any]) -> int:
    clients = values.get("load.clients", 16)
    return clients if isinstance(clients, int) else 16


def _order(
    treatments: Sequence[TreatmentRecord], shape: Shape, chance: random.Random
) -> tuple[PlannedTrial, ...]:
    order = []
    for block in range(1, shape.repeats + 1):
        names = [treatment.id for treatment in treatments]
        chance.shuffle(names)
        order += [(name, block) for name in names]
    width = len(str(len(order))) if len(order) > 999 else 3
    return tuple(
        PlannedTrial(n, f"{n:0{width}d}-{name}-r{block}", name, repeat=block, block=block)
        for n, (name, block) in enumerate(order, 1)
    )


def _run_record(
    shape: Shape, treatments: tuple[TreatmentRecord, ...], trials: tuple[PlannedTrial, ...], ended: datetime
) -> RunRecord:
    started_utc, ended_utc = _utc(shape.started), _utc(ended) if shape.state == "finished" else None
    return RunRecord(
        plan_name="postgres-concurrency", title=shape.title, question=shape.question, seed=shape.seed,
        order="blocks", design="full", repeats=shape.repeats,
        factors=tuple(
            FactorRecord(key, tuple(LevelRecord(str(level), level) for level in levels))
            for key, levels in shape.factors.items()
        ),
        treatments=treatments, trials=trials, expect=shape.expect,
        loadcell_version=shape.version, engine_version="0.1.0", python="3.11.7",
        started_utc=started_utc, ended_utc=ended_utc, state=shape.state,
        executions=(Execution(4242, started_utc, ended_utc, how="first"),),
        command=("loadcell", "run", "plans/postgres-concurrency.yaml"),
    )  # fmt: skip


def _plan_text(shape: Shape) -> str:
    lines = [
        f"title: {shape.title}", f"question: {shape.question}", "target:", "  postgres: {server: embedded}",
        "workload:", "  sysbench: {script: oltp_read_write, tables: 12, table_size: 100000}",
        "load:", "  clients: 16", f"  warmup: {shape.warmup_s}s", f"  duration: {shape.seconds}s",
    ]  # fmt: skip
    if shape.factors:
        lines.append("factors:")
    lines += [
        f"  {key}: [{', '.join(str(level) for level in levels)}]" for key, levels in shape.factors.items()
    ]
    return "\n".join([*lines, f"repeats: {shape.repeats}", f"expect: [{', '.join(shape.expect)}]"]) + "\n"


HOST = {
    "role": "client+target", "hostname": "bench-01", "kernel": "6.1.0-28-amd64",
    "os": "Debian GNU/Linux 12 (bookworm)",
    "cpu": {"model": "AMD EPYC 7763 64-Core Processor", "cores": 8, "threads": 16, "mhz": 2450.0},
    "memory_bytes": 32 * GIB, "numa_nodes": 1, "virtualisation": "kvm", "clocksource": "kvm-clock",
    "governor": "performance", "thp": "madvise", "swap_bytes": 0, "load_at_start": [0.12, 0.2, 0.18],
    "disks": [{"name": "nvme0n1", "model": "Samsung PM9A3", "size_bytes": 960 * 10**9}],
}  # fmt: skip
ENVIRONMENT = {"schema": 1, "collected_utc": "2026-03-09T08:00:00.000000Z", "hosts": [HOST]}


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


class _Trial:
    """Writes one trial."""

    def __init__(
        self,
        shape: Shape,
        trial: PlannedTrial,
        treatment: TreatmentRecord,
        started: datetime,
        chance: random.Random,
    ) -> None:
        self.shape, self.trial, self.treatment = shape, trial, treatment
        self.started, self.chance = started, chance
        self.fate = shape.fates.get(trial.number)
        self.measured = self.fate is None or self.fate.measured
        self.clients = n = _clients(treatment.values)
        speed = 180 * n / (1 + 0.02 * (n - 1) + 0.0001 * n * (n - 1)) * self._factor_speed()
        self.throughput = speed * chance.gauss(1, 0.02) * (1 - 0.01 * trial.repeat) * shape.pace
        rate = treatment.values.get("load.rate")
        self.due = float(rate.removesuffix("/s")) if rate else None
        if self.due is not None:
            self.throughput = min(self.due, self.throughput)
        self.mean_ms = n / self.throughput * 1e3
        self.sigma = 0.35 + 0.004 * n**0.8
        self.mono = int(started.timestamp() * 1e9) % 10**15
        self.window = self.mono + (shape.warmup_s + 2) * 10**9

    def _factor_speed(self) -> float:
        speed = 1.0
        for key, level in self.treatment.values.items():
            if key != "load.clients":
                levels = list(self.shape.factors[key])
                speed *= 1 + 0.35 * levels.index(level) / max(1, len(levels) - 1)
        return speed

    def write(self, writer: RunWriter) -> None:
        out = writer.trial(self.trial.name)
        record = self._record()
        out.event({"mono_ns": self.mono, "utc": _utc(self.started), "event": "phase", "phase": "up"})
        if self.measured and self.shape.intervals:
            self._intervals(out)
        if self.measured and self.shape.monitors:
            self._host(out)
            self._target(out)
        if self.measured and self.shape.server:
            self._server(out)
        for second in range(1, self.shape.seconds):
            if self._checkpoint(second) and second % self.shape.checkpoint_every_s == 0:
                out.event({**self._at(second), "event": "checkpoint", "reason": "timed"})
        if self.trial.number in self.shape.failed_transactions:
            moment = {"mono_ns": self.window + 11 * 10**9, "utc": self._utc_at(11)}
            error = {"code": "40P01", "message": self.shape.server_message, "client": 3}
            out.event({**moment, "event": "trouble", **error})
        out.output("database system is ready to accept connections")
        out.finish(record)

    def _latency(self, count: int, scale: float = 1.0) -> Latency | None:
        if not count:
            return None
        median = self.mean_ms * scale * math.exp(-(self.sigma**2) / 2)
        quantiles = {name: median * math.exp(z * self.sigma) for name, z in NORMAL.items()}
        return Latency(
            count, self.mean_ms * scale, stdev_ms=self.mean_ms * scale * self.sigma,
            min_ms=median * math.exp(-3 * self.sigma), max_ms=quantiles["99.99"] * 1.3,
            percentiles_ms=quantiles,
        )  # fmt: skip

    def _seconds(self) -> range:
        return range(-self.shape.warmup_s, self.shape.seconds)

    def _at(self, second: float) -> dict[str, Any]:
        return {
            "t_s": float(second),
            "mono_ns": self.window + int(second * 1e9),
            "utc": self._utc_at(second),
        }

    def _utc_at(self, second: float) -> str:
        return _utc(self.started + timedelta(seconds=self.shape.warmup_s + 2 + second))

    def _intervals(self, out: TrialWriter) -> None:
        rows = []
        operations = {"transaction": ("transaction", 1), **(OPERATIONS if self.shape.operations else {})}
        for second in self._seconds():
            settled = 1 - 0.5 * math.exp(-(second + self.shape.warmup_s) / 1.5)
            rate = self.throughput * settled * self.chance.gauss(1, 0.03) * self._pace(second)
            hiccup = 3.0 if second == self.shape.seconds // 2 else 1.0
            latency = self._latency(1, self.chance.gauss(1, 0.05))
            times = latency.values() if latency else {}
            timings = ("mean_ms", "p50_ms", "p90_ms", "p95_ms")
            for name, (kind, per_transaction) in operations.items():
                rows.append(
                    {
                        **self._at(second), "phase": "warmup" if second < 0 else "measure", "operation": name,
                        "kind": kind, "duration_s": 1.0, "started": round(rate * per_transaction),
                        "succeeded": round(rate * per_transaction), "failed": 0, "retried": 0,
                        "in_flight": self.clients,
                        "backlog": 3 if self.due is not None and name == "transaction" else None,
                        "throughput_per_s": round(rate * per_transaction, 3),
                        **{f"response_{key}": round(times[key], 4) for key in timings},
                        "response_p99_ms": round(times["p99_ms"] * hiccup, 4),
                        "response_max_ms": round(times["max_ms"] * hiccup, 4),
                        "service_p50_ms": round(times["p50_ms"], 4),
                        "service_p99_ms": round(times["p99_ms"], 4),
                    }
                )  # fmt: skip
        out.intervals(rows)

    def _server(self, out: TrialWriter) -> None:
        """A PostgreSQL that is looked at: half of the sessions wait for a lock, a checkpoint begins at second
        10.
        """
        tables, head = PostgresMonitor.tables, layout.SAMPLE_HEAD
        n = self.clients
        waits = {
            ("CPU", "CPU"): n - n // 2 - n // 4,
            ("Lock", "transactionid"): n // 2,
            ("IO", "WALSync"): n // 4,
        }
        for second in self._seconds():
            at = {**self._at(second + 0.03), "late_ms": 0.1, "cost_ms": 0.5}
            checkpoint = second == 10
            row = {
                **at, "elapsed_s": 1.0, "looks": 1, "sessions": n, "sessions_active": n,
                "sessions_idle_in_transaction": 0, "other_sessions_active": 0, "commits": 100, "rollbacks": 0,
                "blocks_hit": 990, "blocks_read": 10, "temp_bytes": 0, "deadlocks": 0,
                "wal_bytes": 100 * 2048,
                "checkpoints_timed": int(checkpoint), "checkpoint_write_ms": 0.0,
            }  # fmt: skip
            out.rows("postgres.csv", (*head, *PostgresMonitor.table.columns), [row])
            kinds = [
                {**at, "wait_event_type": kind, "wait_event": event, "looks": 1, "sessions": sessions}
                for (kind, event), sessions in waits.items()
                if sessions
            ]
            out.rows("postgres-waits.csv", (*head, *tables["waits"].columns), kinds)
            if checkpoint or second == 14:
                start = {"event": "checkpoint", "reason": "timed"}
                out.event({**self._moment(at), **(start if checkpoint else {"event": "checkpoint-end"})})
        texts = {"UPDATE t SET v = v + $1 WHERE id = $2": 3000.0, "SELECT <b>v</b> FROM t": 1000.0}
        statements = [
            {
                **self._at(self.shape.seconds), "query_id": str(n), "query": query, "calls": 500,
                "total_ms": total_ms,
                "mean_ms": total_ms / 500, "share": total_ms / 4000, "rows": 500, "blocks_hit": 90,
                "blocks_read": 10,
            }
            for n, (query, total_ms) in enumerate(texts.items())
        ]  # fmt: skip
        out.rows("postgres-statements.csv", (*head, *tables["statements"].columns), statements)

    def _moment(self, at: Mapping[str, Any]) -> dict[str, Any]:
        return {"mono_ns": at["mono_ns"], "utc": at["utc"]}

    def _checkpoint(self, second: int) -> bool:
        every = self.shape.checkpoint_every_s
        return (
            bool(every) and second > 0 and second % every < self.shape.checkpoint_lasts_s and second >= every
        )

    def _pace(self, second: int) -> float:
        """Share of its throughput that remains in this second."""
        remaining = 1 - self.shape.fades * max(0, second) / self.shape.seconds
        return remaining * (0.55 if self._checkpoint(second) else 1.0)

    def _busy(self, second: int) -> float:
        level = min(96.0, 8 + 88 * self.clients / (self.clients + 9))
        return max(
            1.0, min(100.0, level * self.chance.gauss(1, 0.04) if second > -self.shape.warmup_s else 5)
        )

    def _host(self, out: TrialWriter) -> None:
        rows = []
        for second in self._seconds():
            busy, steal = self._busy(second), abs(self.chance.gauss(0, 0.3))
            writing = 5 if self._checkpoint(second) else 1
            rows.append(
                {
                    **self._at(second + 0.01), "late_ms": 0.2, "cost_ms": 0.15,
                    "cpu_user_percent": busy * 0.68, "cpu_system_percent": busy * 0.3,
                    "cpu_iowait_percent": (100 - busy) * 0.1, "cpu_steal_percent": steal,
                    "cpu_idle_percent": (100 - busy) * 0.9, "cpu_busy_percent": busy,
                    "cpu_max_core_percent": min(100.0, busy * 1.2), "load1": self.clients / 3,
                    "memory_available_bytes": 20 * GIB,
                    "disk_read_bytes_per_s": abs(self.chance.gauss(2e5, 1e5)),
                    "disk_write_bytes_per_s": abs(self.chance.gauss(3e7, 5e6)) * writing,
                    "net_rx_bytes_per_s": 1e5, "net_tx_bytes_per_s": 1e5,
                }
            )  # fmt: skip
        out.rows("host.csv", (*layout.SAMPLE_HEAD, *HOST_COLUMNS), rows)

    def _target(self, out: TrialWriter) -> None:
        rows = []
        for second in self._seconds():
            busy = self._busy(second) * 12
            total = {
                **self._at(second + 0.02), "late_ms": 0.2, "cost_ms": 0.4, "pid": 0, "name": "total",
                "role": "",
                "cpu_user_percent": busy * 0.8, "cpu_system_percent": busy * 0.2, "cpu_percent": busy,
                "rss_bytes": int((0.4 + 0.01 * (second + self.shape.warmup_s)) * GIB),
                "threads": self.clients + 7,
                "read_bytes_per_s": abs(self.chance.gauss(1e5, 4e4)),
                "write_bytes_per_s": abs(self.chance.gauss(2.5e7, 5e6)), "processes": self.clients + 7,
            }  # fmt: skip
            rows += [
                total,
                {**total, "pid": 900, "name": "postgres", "role": "checkpointer", "cpu_percent": 0.4},
            ]
        out.rows("processes.csv", (*layout.SAMPLE_HEAD, *TARGET_COLUMNS), rows)

    def _record(self) -> TrialRecord:
        shape, fate = self.shape, self.fate
        name, verdict = shape.noticed.get(self.trial.number, ("steal", "ok"))
        lengths = {
            "up": 0.4, "prepare": 1.2, "warmup": float(shape.warmup_s), "measure": float(shape.seconds),
            "collect": 0.1,
        }  # fmt: skip
        record = TrialRecord(
            self.trial.number, self.trial.name, self.trial.treatment, self.trial.repeat,
            Status(fate.status) if fate else Status.OK,
            levels=self.treatment.levels, values=self.treatment.values, block=self.trial.block,
            reason=fate.reason if fate else None, reason_code=fate.code if fate else None,
            reason_args=dict(fate.args) if fate else {}, advice=fate.advice if fate else None,
            started_utc=_utc(self.started), ended_utc=self._utc_at(shape.seconds + 1),
            phases=tuple(
                PhaseRecord(phase, self.mono, _utc(self.started), duration_s, "ok")
                for phase, duration_s in lengths.items()
            ),
            settings=self.treatment.settings, client=ClientUsage(),
            checks=(
                Check("littles-law", "ok", {"expected": self.clients, "found": self.clients}),
                Check(name, verdict, {"steal_percent": 4.2}),
            ),
            target={
                "version": "PostgreSQL 16.4", "server": "embedded",
                "settings": {
                    "shared_buffers": "128MB", "max_connections": "100", "fsync": "on", **shape.settings,
                },
                "data_directory": {"file_system": "ext4"},
            },
            data_set={
                "fingerprint": "5f1c", "how": "restored", "duration_s": 1.2, "size_bytes": 290_000_000,
            },
        )  # fmt: skip
        return self._with_results(record) if self.measured else record

    def _with_results(self, record: TrialRecord) -> TrialRecord:
        shape, seconds = self.shape, float(self.shape.seconds)
        failed = shape.failed_transactions.get(self.trial.number, 0)
        succeeded = round(self.throughput * seconds)
        response = self._latency(succeeded)
        expectation = "missed" if self.trial.number in shape.missed else "met"
        return replace(
            record,
            measure=Window(seconds, self.window, self._utc_at(0)),
            totals=Totals(
                Counts(
                    attempted=succeeded + failed + self.clients, carried_in=self.clients, succeeded=succeeded,
                    failed=failed, in_flight=self.clients, retried=failed * 2,
                ),
                queries={
                    "total": 20 * succeeded, "read": succeeded * 14, "write": succeeded * 4,
                    "other": succeeded * 2,
                },
                throughput_per_s=succeeded / seconds, queries_per_s=20 * succeeded / seconds,
                errors=failed, error_rate=failed / (succeeded + failed), response=response,
                service=self._latency(succeeded, 1.0 if self.due is None else 0.4),
            ),
            schedule=self._schedule(),
            operations={"point_select": OperationStats("read", succeeded=succeeded * 10, response=response)},
            errors=tuple(
                ErrorRecord("40P01", failed, operation, shape.server_message, "deadlock")
                for operation in ("index_update", "transaction")
                if failed
            ),
            client=ClientUsage(
                (ThreadUsage(busy=0.1, connections=self.clients),),
                cpu_s=3.0, busy_max=0.1, max_rss_bytes=9_000_000, connects=self.clients,
            ),
            monitors=self._monitors() if shape.monitors else {},
            expect=tuple(ExpectationResult(text, expectation, float(failed)) for text in shape.expect),
        )  # fmt: skip

    def _monitors(self) -> dict[str, MonitorRecord]:
        monitors = {
            "host": MonitorRecord(35, "host.csv", cpu_s=0.01, late_max_ms=0.5, missed=0),
            "target": MonitorRecord(35, "processes.csv", cpu_s=0.02, late_max_ms=0.5, missed=0),
        }
        if self.shape.server:
            monitors["postgres"] = MonitorRecord(
                35, "postgres.csv", cpu_s=0.02, late_max_ms=0.5, missed=0,
                tables={"waits": "postgres-waits.csv", "statements": "postgres-statements.csv"},
                connects=1, questions=35, server_cpu_s=0.07,
                notes=(
                    {"note": "others-hidden", "text": "as recorded"},
                    {"note": "new", "text": "not known yet"},
                ),
            )  # fmt: skip
        return monitors

    def _schedule(self) -> Schedule | None:
        if self.due is None:
            return None
        offered = round(self.due * self.shape.seconds)
        unsent = offered - round(self.throughput * self.shape.seconds)
        return Schedule(
            "poisson", offered, self.due, achieved_per_s=self.throughput,
            pacing_error=Latency(offered, 0.004, max_ms=0.3, percentiles_ms={"50": 0.0004, "99": 0.021}),
            backlog=Backlog(unsent + 3, unsent, unsent / self.due), requests_mean=float(self.clients),
        )  # fmt: skip


def rates() -> Shape:
    """Open loops: three rates that the server keeps up with, and one that it does not."""
    fate = Fate(
        "failed",
        "98,000 requests were due and could not be sent, the oldest for 5.1 s, and the backlog grew",
        "lower the rate", measured=True, code="overloaded",
    )  # fmt: skip
    shape = Shape(
        factors={"load.rate": ["500/s", "1000/s", "2000/s", "16000/s"]}, title="PostgreSQL under a rate"
    )
    return replace(shape, fates={n: fate for n, rate in trial_levels(shape).items() if rate == "16000/s"})


def trial_levels(shape: Shape) -> dict[int, str]:
    """The number of each trial with its level of the only factor."""
    treatments = _treatments(shape)
    levels = {treatment.id: next(iter(treatment.levels.values())) for treatment in treatments}
    return {
        trial.number: levels[trial.treatment]
        for trial in _order(treatments, shape, random.Random(shape.seed))
    }


def write_history(
    results: Path, paces: Sequence[float], shape: Shape | None = None, **from_change: Any
) -> list[Path]:
    """A run a day under `results`, with these paces; from the first pace that is not 1 on, with `from_change`
    as well.
    """
    shape = replace(shape or Shape(), monitors=False, intervals=False)
    changed = next((day for day, pace in enumerate(paces) if pace != 1), len(paces))
    written = []
    for day, pace in enumerate(paces):
        started = START + timedelta(days=day)
        name = f"{started:%Y%m%dT%H%M%SZ}-{day:04x}"
        more = from_change if day >= changed else {}
        daily = replace(shape, pace=pace, started=started, seed=shape.seed + day, **more)
        written.append(write_run(results / "postgres-concurrency" / name, daily))
    return written


def an_hour() -> Shape:
    """One long trial of each treatment, with a checkpoint every five minutes."""
    return Shape(
        factors={"storage": ["local", "replicated"]}, seconds=3600, repeats=1, warmup_s=60,
        checkpoint_every_s=300,
        title="PostgreSQL for an hour", question="Does it keep its pace?",
    )  # fmt: skip


def two_treatments() -> Shape:
    """The smallest comparison: two levels, two repeats."""
    return Shape()


def watched() -> Shape:
    """A server that was looked into, at three levels."""
    return Shape(factors={"load.clients": [4, 8, 16]}, server=True)


def sweep(repeats: int = 2) -> Shape:
    """5 to 160 clients in 32 steps."""
    return Shape(factors={"load.clients": list(range(5, 161, 5))}, repeats=repeats)


def two_hundred() -> Shape:
    """200 trials: 100 treatments of two factors, every operation's intervals, some trials that went wrong."""
    return Shape(
        factors={"load.clients": [2 * n for n in range(1, 26)],
            "target.postgres.settings.shared_buffers": ["128MB", "256MB", "512MB", "1GB"]},
        operations=True,
        fates={17: Fate("failed", "the server closed the connection during prepare")},
        noticed={3: ("steal", "noticed")},
    )  # fmt: skip


def a_thousand() -> Shape:
    """1,000 trials: 100 treatments ten times each, with all that monitors saw."""
    return Shape(
        factors={"load.clients": [2 * n for n in range(1, 26)], "storage": ["a", "b", "c", "d"]}, repeats=10
    )


def troubled() -> Shape:
    """Everything that can go wrong in one run."""
    return Shape(
        factors={"load.clients": [1, 2, 4, 8, 16, 32]},
        repeats=3,
        title="A run in trouble",
        fates={
            2: Fate("failed", "the server closed the connection during prepare",
                "Look at the server's log in output.log."),
            5: Fate("timed-out", "prepare took longer than its limit of 30 min", "Raise limits.prepare."),
            7: Fate("invalid", "the client was the limit: a thread was busy for 99 % of the time",
                    "Give the client more threads.", measured=True),
            9: Fate("aborted", "interrupted by Ctrl-C", "loadcell run --resume goes on."),
        },
        failed_transactions={4: 120, 11: 3},
        noticed={3: ("steal", "noticed"), 4: ("clock-step", "noticed"), 6: ("littles-law", "broken")},
        unwritten=frozenset({17, 18}),
        missed=frozenset({4, 11}),
        state="interrupted",
    )  # fmt: skip


def two_factors(repeats: int = 3) -> Shape:
    """Clients by storage: the one drawn across, the other as lines."""
    return Shape(
        factors={"load.clients": [1, 2, 4, 8, 16, 32, 64], "storage": ["local", "replicated", "distributed"]},
        repeats=repeats,
    )


def many_factors() -> Shape:
    """Three factors of two levels: a factorial."""
    return Shape(
        factors={
            "load.clients": [8, 32],
            "storage": ["local", "replicated"],
            "protocol": ["simple", "prepared"],
        },
        repeats=6,
    )


def hostile() -> Shape:
    """Text from outside that tries to be markup."""
    evil = "</script><b>bold</b>{{ 7*7 }}"
    return Shape(
        factors={"target": [evil, "plain"]},
        title=evil,
        question=evil,
        server_message=evil,
        failed_transactions={1: 5},
        fates={3: Fate("failed", evil, evil)},
    )
