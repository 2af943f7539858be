"""Loads through the engine itself, and what their records hold."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadcell import _engine
from specifications import complete
from stalls import StallWatch

MS = 1_000_000
SECOND = 1_000_000_000

#: `make truth` asks for full strength: bounds that hold on a quiet machine. `make test` runs anywhere, and
#: asks only for what no neighbour can break and a wrong formula would.
FULL_STRENGTH = os.environ.get("LOADCELL_TRUTH") == "full"

Result = dict[str, Any]
Events = list[dict[str, Any]]


def bound(full: float, loose: float) -> float:
    """Largest deviation allowed of a measured value, or duration of a load: at full strength, or on a busy
    machine.
    """
    return full if FULL_STRENGTH else loose


def simulations(full: int) -> int:
    """Number of simulated runs: all at full strength, else an eighth, which takes seconds."""
    return full if FULL_STRENGTH else full // 8


def load(
    specification: dict[str, Any],
    *,
    outcome: str = "completed",
    on_event: Callable[[dict[str, Any]], None] = lambda event: None,
) -> tuple[Result, Events]:
    """Run a load to its end: its result, and its events, each of which `on_event` gets."""
    events: Events = []

    def keep(text: str) -> None:
        events.append(json.loads(text))
        on_event(events[-1])

    result = json.loads(_engine.run(json.dumps(complete(specification)), keep))
    assert result["outcome"] == outcome, result
    return result, events


def paced(
    specification: dict[str, Any],
    *rates: tuple[float, float],
    arrivals: str = "constant",
    most_overdue_s: float = 5.0,
) -> dict[str, Any]:
    """The same load as an open loop: rates are pairs (per second, for seconds)."""
    rate = [{"from_per_s": per_s, "to_per_s": per_s, "for_ns": int(for_s * SECOND)} for per_s, for_s in rates]
    schedule = {"arrivals": arrivals, "rate": rate, "most_overdue_ns": int(most_overdue_s * SECOND)}
    return {**specification, "load": {**specification["load"], "schedule": schedule}}


#: Stall of the machine that moves a percentile of a load of seconds, in seconds.
LONG_STALL_S = 0.01


def operation(result: Result, name: str) -> dict[str, Any]:
    """One operation's part of a result."""
    return next(op for op in result["operations"] if op["name"] == name)


def counts_above(result: Result, events: Events, tag: str, limit_ns: int) -> int:
    """Count the values above a limit in the intervals of a tag, read by HdrHistogram's own reader."""
    lines = [*result["hlog_header"], *[line for e in events for line in e.get("hlog", [])], *result["hlog"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "latency.hlog"
        path.write_text("\n".join(lines) + "\n")
        reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
        count = 0
        while (histogram := reader.get_next_interval_histogram()) is not None:
            if histogram.get_tag() == tag:
                count += sum(
                    i.count_added_in_this_iter_step
                    for i in histogram.get_recorded_iterator()
                    if i.value_iterated_to > limit_ns
                )
        reader.close()
        return count


#: How long checks wait for a machine that does not stall. `make test` repeats failed ones alone at its end.
PATIENCE_S = bound(240.0, 100.0)


def undisturbed(check: Callable[[], None], attempts: int = 5, patience_s: float = PATIENCE_S) -> None:
    """Run a check that something else on this machine may disturb until it passes once; the last time counts.

    For checks to a few percent in real time. A process that takes the core for some milliseconds is no
    fault of the code under test, while a fault in that code shows every time. Attempts in which the machine
    itself stalled count only once `patience_s` have passed; each failed attempt is reported with its stalls.
    """
    failures = 0
    began = time.monotonic()
    while True:
        with StallWatch() as stalls:
            try:
                check()
            except AssertionError:
                stalled = stalls.longest_s >= LONG_STALL_S
                late = time.monotonic() - began >= patience_s
                failures += not stalled or late
                print(f"an attempt failed; longest stall {1e3 * stalls.longest_s:.1f} ms")
                if failures >= attempts or late:
                    raise
            else:
                return
