"""Streams against arithmetic: a service that stops reading for half a second under a fixed rate."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lines import command
from stream_servers import stalling, stream_server
from truth.loads import bound, undisturbed

RATE, SECONDS, STALL_S = 4_000, 6, 0.5
PLAN = """
target: {{stream: {{{address}}}}}
workload: {{stream: {{fields: {{id: {{step: 1}}}}, answers: each, order: all, {settings}}}}}
load: {{clients: 1, rate: {rate}/s, arrivals: constant, warmup: 1s, duration: {seconds}s}}
repeats: 1
monitors: []
"""
#: Largest difference from the arithmetic; a busy machine delays the client itself by tens of milliseconds.
TOLERANCE = bound(0.03, 0.2)


def measured(home: Path, settings: str = "size: 200B", *, unix: bool = False) -> tuple[dict[str, Any], float]:
    """The record of a trial in whose measurement the service stalls once, and for how many seconds."""
    home.mkdir()
    with stream_server(stalling(after_s=2.5, for_s=STALL_S), home / "s" if unix else None) as server:
        address = f'url: "tcp://localhost:1", socket: {server.address}'
        address = address if unix else f'url: "tcp://{server.address}"'
        plan = PLAN.format(address=address, settings=settings, rate=RATE, seconds=SECONDS)
        (home / "plan.yaml").write_text(plan)
        done = command(home, "run", "plan.yaml", "--no-report", "--out", "out")
    assert done.returncode == 0, done.stderr
    [path] = (home / "out").glob("trials/*/trial.json")
    record: dict[str, Any] = json.loads(path.read_text())
    assert len(server.stalls_s) == 1
    return record, server.stalls_s[0]


def test_a_stall_has_the_latency_and_backlog_of_the_arithmetic(tmp_path: Path) -> None:
    """A record that is due t after the begin of a stall of length S waits for S - t: S at most, S/2 for the
    mean of the R * S records of it, which are outstanding together at its end.
    """
    numbers = count()
    undisturbed(lambda: _has_the_arithmetic(tmp_path / str(next(numbers))))


def _has_the_arithmetic(home: Path) -> None:
    record, stall_s = measured(home)
    totals = record["totals"]
    _has_the_latency(totals, stall_s)
    assert totals["figures"]["stream.outstanding.max"] == pytest.approx(RATE * stall_s, rel=TOLERANCE)
    # the buffers of the kernel have room for all records of the stall
    assert totals["figures"]["stream.blocked_time"] < 1e3 * TOLERANCE * stall_s


def _has_the_latency(totals: dict[str, Any], stall_s: float) -> None:
    response = totals["response"]
    assert response["max_ms"] == pytest.approx(1e3 * stall_s, rel=TOLERANCE)
    waiting_s = RATE * stall_s**2 / 2
    usual_s = response["p50_ms"] / 1e3 * RATE * SECONDS
    assert response["mean_ms"] / 1e3 * RATE * SECONDS - usual_s == pytest.approx(waiting_s, rel=TOLERANCE)
    assert totals["figures"]["stream.lost"] == totals["figures"]["stream.reordered"] == 0
    # one may be in progress at the begin or the end
    assert totals["transactions"]["succeeded"] == pytest.approx(RATE * SECONDS, abs=2)


#: Size of a record, and of the send buffer, of which the kernel makes twice the size.
RECORD_BYTES, SEND_BUFFER_BYTES = 1_000, 20_000
#: Most bytes that the receive buffer of the service takes: twice its first size, as it may grow.
RECEIVE_BUFFER_BYTES = 2 * 131_072
#: Most bytes that a client offers at once.
BATCH_BYTES = 1 << 16


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_a_full_socket_in_a_stall_is_backpressure_and_changes_no_latency(tmp_path: Path, unix: bool) -> None:
    """The buffers take the first records of the stall. The others wait as the backlog of the client, which
    is blocked for the remaining time; a record waits for the stall wherever it is.
    """
    numbers = count()
    undisturbed(lambda: _has_backpressure(tmp_path / str(next(numbers)), unix))


def _has_backpressure(home: Path, unix: bool) -> None:
    record, stall_s = measured(home, f"size: {RECORD_BYTES}B, send_buffer: {SEND_BUFFER_BYTES}B", unix=unix)
    _has_the_latency(record["totals"], stall_s)
    figures, backlog = record["totals"]["figures"], record["schedule"]["backlog"]
    due = RATE * stall_s
    most_in_buffers = (2 * SEND_BUFFER_BYTES + (0 if unix else RECEIVE_BUFFER_BYTES)) / RECORD_BYTES
    blocked_s = figures["stream.blocked_time"] / 1e3
    # until the buffers are full it is not blocked
    assert (due - most_in_buffers) / RATE <= blocked_s <= stall_s * (1 + TOLERANCE)
    assert figures["stream.blocked_share"] == pytest.approx(blocked_s / SECONDS, rel=0.01)
    # due and not sent at the end of the stall: all but those in the buffers
    assert due - most_in_buffers <= backlog["peak"] <= due * (1 + TOLERANCE)
    assert backlog["at_end"] == 0
    # sent and not answered: those in the buffers, and one batch when there is room again
    in_buffers, tolerance = due - backlog["peak"], TOLERANCE * due
    outstanding = figures["stream.outstanding.max"]
    assert in_buffers - tolerance <= outstanding <= in_buffers + BATCH_BYTES / RECORD_BYTES + tolerance
