"""Streams against arithmetic: a service that stops reading for half a second under a fixed rate."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lines import command
from stream_servers import stalling, stream_server
from truth.loads import undisturbed

RATE, SECONDS, STALL_S = 4_000, 6, 0.5
PLAN = """
target: {{stream: {{url: "tcp://{address}"}}}}
workload: {{stream: {{fields: {{id: {{step: 1}}}}, size: 200B, answers: each, order: all}}}}
load: {{clients: 1, rate: {rate}/s, arrivals: constant, warmup: 1s, duration: {seconds}s}}
repeats: 1
monitors: []
"""
#: Largest difference from the arithmetic.
TOLERANCE = 0.03


def measured(home: Path) -> dict[str, Any]:
    """The record of a trial in whose measurement the service stalls once."""
    with stream_server(stalling(after_s=2.5, for_s=STALL_S)) as server:
        (home / "plan.yaml").write_text(PLAN.format(address=server.address, rate=RATE, seconds=SECONDS))
        done = command(home, "run", "plan.yaml", "--no-report", "--out", "out")
    assert done.returncode == 0, done.stderr
    [path] = (home / "out").glob("trials/*/trial.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def test_a_stall_has_the_latency_and_backlog_of_the_arithmetic(tmp_path: Path) -> None:
    """A record that is due t after the begin of a stall of length S waits for S - t: S at most, S/2 for the
    mean of the R * S records of it, which are outstanding together at its end.
    """
    numbers = count()
    undisturbed(lambda: _has_the_arithmetic(tmp_path / str(next(numbers))))


def _has_the_arithmetic(home: Path) -> None:
    home.mkdir()
    record = measured(home)
    response = record["totals"]["response"]
    assert response["max_ms"] == pytest.approx(1e3 * STALL_S, rel=TOLERANCE)
    waiting_s = RATE * STALL_S**2 / 2
    usual_s = response["p50_ms"] / 1e3 * RATE * SECONDS
    assert response["mean_ms"] / 1e3 * RATE * SECONDS - usual_s == pytest.approx(waiting_s, rel=TOLERANCE)
    figures = record["totals"]["figures"]
    assert figures["stream.outstanding.max"] == pytest.approx(RATE * STALL_S, rel=TOLERANCE)
    assert figures["stream.lost"] == figures["stream.reordered"] == 0
    assert record["totals"]["transactions"]["succeeded"] == RATE * SECONDS
