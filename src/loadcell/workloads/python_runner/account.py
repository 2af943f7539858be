"""Account of a load of Python: lines of the harness in, intervals and the engine's result out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.workloads.python_runner.samples import TRANSACTION, Sample, Samples
from loadcell.workloads.python_runner.spec import VerifySpec

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

Say = Callable[[str], None]

#: Metrics, as `loadcell.model.python_metrics` declares them.
CALL_TIME, CALLS, OVERHEAD = "python.call_time", "python.calls_per_sample", "python.loop_overhead"
RESIDENT, PEAK, GROWTH = "python.memory.start", "python.memory.peak", "python.memory.growth"
RESULT_SIZE = "python.result_size"
#: Samples of an interval may arrive this much after its end.
_LATE_NS = 1_500_000_000


@dataclass(frozen=True)
class Clock:
    """The offset of UTC to CLOCK_MONOTONIC, in nanoseconds."""

    offset_ns: int

    @classmethod
    def now(cls) -> Clock:
        return cls(time.time_ns() - time.monotonic_ns())

    def utc_ns(self, mono_ns: int) -> int:
        """An instant in nanoseconds since 1970."""
        return mono_ns + self.offset_ns


class Account:
    """Counts and samples of a load so far, in any number of processes."""

    def __init__(
        self, load: JsonObject, clock: Clock, processes: int, verify: VerifySpec | None = None
    ) -> None:
        self._verify = verify
        self._result: JsonObject | None = None
        self._load, self._clock = load, clock
        self._expected = processes
        self._ready: list[JsonObject] = []
        self._ended: list[JsonObject] = []
        self._errors: dict[tuple[str, str], list[object]] = {}
        self._samples = Samples(0, load["clients"])
        self._next_ns = 0

    def take(self, line: JsonObject, say: Say) -> bool:
        """Take a line; True once all processes are ready to begin."""
        match line["type"]:
            case "ready":
                self._ready.append(line)
                self._samples.overheads_ns.append(line["overhead_ns"])
                if len(self._ready) == self._expected:
                    now_ns = time.monotonic_ns()
                    connected = {"type": "connected", "clients": self._load["clients"], "took_ns": 0}
                    say(json.dumps(connected | {"mono_ns": now_ns, "utc_ns": self._clock.utc_ns(now_ns)}))
                    return True
            case "samples":
                self._samples.add(line["client"], line["samples"])
                self._tell(time.monotonic_ns() - _LATE_NS, say)
            case "overhead":
                self._samples.overheads_ns.append(line["ns"] / line["calls"])
            case "error":
                entry = self._errors.setdefault((line["name"], line["position"]), [line["text"], 0])
                entry[1] += line["count"]
            case "result":
                self._result = line
            case "end":
                self._ended.append(line)
        return False

    def begin(self, start_ns: int) -> None:
        """The load begins at this instant."""
        self._next_ns = start_ns
        self._samples.begin_ns = start_ns + self._load["warmup_ns"]

    @property
    def processes(self) -> list[int]:
        """Ids of the processes of the load."""
        return [line["process"] for line in self._ready]

    # -- intervals

    def _tell(self, until_ns: int, say: Say) -> None:
        """Say the intervals that have ended by an instant."""
        while (end_ns := self._interval_end_ns()) <= until_ns:
            self._say_interval(self._next_ns, end_ns, say)
            self._next_ns = end_ns

    def _interval_end_ns(self) -> int:
        end_ns: int = self._next_ns + self._load["interval_ns"]
        measure_ns = self._samples.begin_ns
        return measure_ns if self._next_ns < measure_ns < end_ns else end_ns

    def _say_interval(self, begin_ns: int, end_ns: int, say: Say) -> None:
        samples = self._samples.ended_by(end_ns, begin_ns)
        operation = self._samples.operation(samples, closed=False)
        interval = {
            "type": "interval",
            "phase": "warmup" if begin_ns < self._samples.begin_ns else "measure",
            "start_mono_ns": begin_ns,
            "start_utc_ns": self._clock.utc_ns(begin_ns),
            "duration_ns": end_ns - begin_ns,
            "operations": [
                {
                    "name": TRANSACTION,
                    "kind": TRANSACTION,
                    "started": operation["attempted"],
                    "succeeded": operation["succeeded"],
                    "failed": operation["failed"],
                    "retried": 0,
                    "throughput_per_s": self._samples.rate(samples, closed=self._load["schedule"] is None),
                    "response": operation["response"],
                    "service": operation["service"],
                }
            ],
        }
        say(json.dumps(interval))

    # -- result

    def result(self, used_s: float, say: Say) -> JsonObject:
        """The engine's result."""
        samples = self._samples.measured()
        begin_ns, end_ns = self._samples.begin_ns, self._samples.end_ns()
        self._tell(end_ns - self._load["interval_ns"] // 2, say)
        if self._next_ns < end_ns:  # the last one ends with the last sample
            self._say_interval(self._next_ns, end_ns, say)
        closed = self._load["schedule"] is None
        operation = self._samples.operation(samples, closed=closed)
        figures = {OVERHEAD: self._samples.overhead_ns / 1e6}
        if (mean_ns := self._samples.mean_ns(samples)) is not None:
            figures[CALL_TIME] = mean_ns / 1e6
        if closed:
            figures[CALLS] = float(self._ready[0]["calls"])
        for name, key in ((RESIDENT, "resident_bytes"), (PEAK, "peak_bytes"), (GROWTH, "grown_bytes")):
            figures[name] = float(sum(line[key] for line in self._ended))
        if self._result is not None:
            figures[RESULT_SIZE] = float(self._result["size_bytes"])
        return {
            "outcome": "completed",
            "window": {
                "start_mono_ns": begin_ns,
                "start_utc_ns": self._clock.utc_ns(begin_ns),
                "duration_ns": end_ns - begin_ns,
            },
            "operations": [operation],
            "queries": {},
            "errors": [
                {"code": name, "operation": TRANSACTION, "count": count, "message": f"{text} ({position})"}
                for (name, position), (text, count) in self._errors.items()
            ],
            "schedule": None if closed else self._schedule(samples, end_ns - begin_ns),
            "client": self._client(operation, end_ns - begin_ns, used_s),
            "figures": figures,
            "unit": "call",
            "value": self._value(),
        }

    def _value(self) -> JsonObject | None:
        """Content of a result of the function (`loadcell.model.result_summary`)."""
        if self._result is None or self._verify is None:
            return None
        return {
            "group": self._verify.group,
            "tolerance": self._verify.tolerance,
            "type": self._result["name"],
            "kind": self._result["kind"],
            "columns": self._result["columns"],
            "size_bytes": self._result["size_bytes"],
        }

    def _client(self, operation: JsonObject, window_ns: int, used_s: float) -> JsonObject:
        """Time of the clients: outside of the calls they rest, and the harness uses them.

        The time of the calls is that of their distributions. Where the loop without the function took longer
        than the loop with it, that is 0: the sum of the samples would be below it.
        """
        distributions = [operation[name] for name in ("response", "failed_response")]
        spent_ns = sum(times["mean_ns"] * times["count"] for times in distributions if times is not None)
        resting_ns = max(0.0, window_ns * self._load["clients"] - spent_ns)
        return {
            "threads": [],
            "cpu_ns": round(used_s * 1e9),
            "max_rss_bytes": None,
            "lateness": None,
            "resting_ns": round(resting_ns),
        }

    def _schedule(self, samples: list[Sample], window_ns: int) -> JsonObject:
        """Account of an open loop."""
        waits, lates = self._samples.lateness(samples)
        presence_ns = sum(sample.end_ns - (sample.due_ns or sample.begin_ns) for sample in samples)
        schedule = self._load["schedule"]
        return {
            "arrivals": schedule["arrivals"],
            "offered": len(samples),
            "offered_per_s": len(samples) / window_ns * 1e9 if window_ns else None,
            "achieved_per_s": sum(sample.calls for sample in samples) / window_ns * 1e9
            if window_ns
            else None,
            "pacing_error": lates,
            "backlog_wait": waits,
            "backlog": {"peak": 0, "at_end": 0, "overdue_ns": 0},
            "presence_ns": presence_ns,
        }
