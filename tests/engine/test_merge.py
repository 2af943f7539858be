"""Armed workers on a real Redis: they begin at one instant, and their results merge without loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from loadcell import _engine
from loadcell.execution.executor import LoadError, LoadHooks, WorkerExecutor
from loadcell.model.load_result import Connected, Interval, LoadEvent, LoadResult, PhaseBegan, Ready
from redis_server import RedisServer
from specifications import load_order

from .loads import MS, SECOND, specification

RANGE = 1, 3_600_000_000_000, 3
COUNTS = ("attempted", "carried_in", "succeeded", "failed", "in_flight", "retried")
KV = {"keys": 500, "mix": {"get": 0.5, "set": 0.5}}


def execute(server: RedisServer, start_at: int, **load: Any) -> tuple[LoadResult, list[LoadEvent]]:
    """Execute an armed load that begins at `start_at`. Return its result and its events."""
    executor = WorkerExecutor()
    events: list[LoadEvent] = []
    spec = json.loads(specification(server.endpoint(), KV, workload="kv", armed_ns=20 * SECOND, **load))

    def on_event(event: LoadEvent) -> None:
        events.append(event)
        if isinstance(event, Ready):
            executor.start_at(start_at)

    return executor.run(load_order(spec), LoadHooks(60, on_event=on_event)), events


def start_worker(spec: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start a worker process with an armed load; several run at once."""
    command = [sys.executable, "-m", "loadcell.execution.worker"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    order = {"mode": "run", "parent": os.getpid(), "spec": spec}
    assert process.stdin is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    return process


def wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["type"] != "ready":
        pass


def give_start(process: subprocess.Popen[bytes], mono_ns: int) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"start_at_mono_ns": mono_ns}).encode() + b"\n")
    process.stdin.flush()


def finish_worker(process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Wait for a worker. Return its result and its events."""
    lines, _ = process.communicate(timeout=60)
    *events, last = [json.loads(line) for line in lines.splitlines()]
    assert last["type"] == "result", last
    return last["result"], events


def decoded(histogram: dict[str, Any]) -> HdrHistogram:
    return HdrHistogram.decode(histogram["encoded"])


def recorded(events: list[dict[str, Any]], kind: str) -> HdrHistogram:
    """All values of the transaction in the interval logs of the measured window."""
    union = HdrHistogram(*RANGE)
    for event in events:
        for line in event.get("hlog", []):
            if event.get("phase") == "measure" and line.startswith(f"Tag=transaction/{kind},"):
                union.add(HdrHistogram.decode(line.rsplit(",", 1)[1]))
    return union


def cells(histogram: HdrHistogram) -> list[tuple[int, int]]:
    return [
        (item.value_iterated_to, item.count_added_in_this_iter_step)
        for item in histogram.get_recorded_iterator()
    ]


def test_an_armed_worker_reports_ready_and_begins_at_the_instant(redis_server: RedisServer) -> None:
    begin = time.monotonic_ns() + 3 * SECOND
    result, events = execute(redis_server, begin, warmup_ns=100 * MS)
    connected, ready, phase = events[:3]
    assert isinstance(connected, Connected)
    assert isinstance(ready, Ready)
    assert isinstance(phase, PhaseBegan)
    assert ready.mono_ns < begin
    assert phase.mono_ns == begin
    assert result.window is not None
    assert result.window.start_mono_ns == begin + 100 * MS
    assert all(event.start_mono_ns >= begin for event in events if isinstance(event, Interval))


def test_an_instant_that_has_passed_is_a_clear_error(redis_server: RedisServer) -> None:
    with pytest.raises(LoadError) as failure:
        execute(redis_server, time.monotonic_ns() - 5 * SECOND)
    assert "the start time had already passed" in str(failure.value)
    assert failure.value.message.code == "load.start-missed"


def test_an_instant_that_never_comes_is_an_error_at_the_time_limit(redis_server: RedisServer) -> None:
    spec = specification(redis_server.endpoint(), KV, workload="kv", armed_ns=200 * MS)
    with pytest.raises(_engine.EngineError) as failure:
        _engine.run(spec, lambda event: None)
    assert json.loads(failure.value.args[0])["code"] == "start-never-came"


def test_merged_results_have_summed_counts_and_the_union_of_all_recorded_values(
    redis_server: RedisServer,
) -> None:
    spec = json.loads(specification(redis_server.endpoint(), KV, workload="kv", armed_ns=20 * SECOND))
    workers = [start_worker(spec), start_worker(spec)]
    for worker in workers:
        wait_until_ready(worker)
    begin = time.monotonic_ns() + SECOND
    for worker in workers:
        give_start(worker, begin)
    runs = [finish_worker(worker) for worker in workers]
    results, events = [result for result, _ in runs], [events for _, events in runs]
    merged = json.loads(_engine.merge([json.dumps(result) for result in results]))

    assert [result["window"]["start_mono_ns"] for result in results] == [begin + 50 * MS] * 2
    assert merged["window"]["duration_ns"] == pytest.approx(
        300 * MS, abs=10 * MS
    )  # clocks are read separately
    assert merged["outcome"] == "completed"
    for index, operation in enumerate(merged["operations"]):
        for key in COUNTS:
            assert operation[key] == sum(result["operations"][index][key] for result in results), key
    for kind in ("response", "service"):
        histogram = merged["histograms"]["operations"][0][kind]
        union = HdrHistogram(*RANGE)
        for worker_events in events:
            union.add(recorded(worker_events, kind))
        assert cells(decoded(histogram)) == cells(union)
        summaries = [result["operations"][0][kind] for result in results]
        sums = [result["histograms"]["operations"][0][kind]["sum_ns"] for result in results]
        assert histogram["sum_ns"] == sum(sums)
        assert merged["operations"][0][kind]["count"] == union.get_total_count()
        assert merged["operations"][0][kind]["max_ns"] == max(summary["max_ns"] for summary in summaries)
        assert merged["operations"][0][kind]["min_ns"] == min(summary["min_ns"] for summary in summaries)
