"""Judgement of faults on a server with a known service time, which is stopped for a known time."""

from __future__ import annotations

import json
import os
import signal
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.model.fault_judgement import FaultJudgement
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.json import convert
from loadcell.model.load_result import LoadResult
from truth.assertions import agrees, at_least, below
from truth.loads import FULL_STRENGTH, load, paced, undisturbed
from truth.noise import effects_of_noise
from truth.reference_server import ReferenceServer

CLIENTS, SERVICE_S, RATE_PER_S = 32, 0.002, 250.0
AT_S = 3.0
#: Error allowed of the arithmetic: 3%, or 10 ms, the larger; on a busy machine more.
SHARE, LEAST_S = 0.03, 0.010
#: Lengths of stops; a recovery takes 10 s to be confirmed, for which only the full strength waits.
STOPS_S = [1, 5] if FULL_STRENGTH else [1]
CONFIRMED_S = 13 if FULL_STRENGTH else 2


class Stopper:
    """Stops a process at an instant of the measurement, for a time; `instants` are those of the signals."""

    def __init__(self, pid: int, for_s: float) -> None:
        self._pid, self._for_s = pid, for_s
        self.instants: list[Instants] = []
        self._thread: threading.Thread | None = None

    def on_event(self, event: dict[str, Any]) -> None:
        if event["type"] == "phase" and event["phase"] == "measure":
            self._thread = threading.Thread(target=self._stop, args=(event["mono_ns"],))
            self._thread.start()

    def _stop(self, start_ns: int) -> None:
        for number, due_s in ((signal.SIGSTOP, AT_S), (signal.SIGCONT, AT_S + self._for_s)):
            due_ns = start_ns + round(due_s * 1e9)
            time.sleep(max(0.0, (due_ns - time.monotonic_ns()) / 1e9 - 0.001))
            while time.monotonic_ns() < due_ns:
                pass
            began_ns = time.monotonic_ns()
            os.kill(self._pid, number)
            ended_ns = time.monotonic_ns()
            self.instants.append(Instants(due_s, (began_ns - start_ns) / 1e9, (ended_ns - start_ns) / 1e9))

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()


def stopped(for_s: float, duration_s: float) -> tuple[FaultJudgement, FaultRecord]:
    """The judgement of a stop of a server with one queue, and the fault."""
    with ReferenceServer(service_us=round(SERVICE_S * 1e6), servers=1) as server:
        specification = server.specification("oltp_point_select", clients=CLIENTS, duration_s=duration_s)
        specification["load"]["timeline"] = True
        stopper = Stopper(server.pid, for_s)
        result, _ = load(
            paced(specification, (RATE_PER_S, duration_s), most_overdue_s=60), on_event=stopper.on_event
        )
        stopper.join()
    timelines = convert(LoadResult, result).timelines
    fault = FaultRecord("hang", "server", "undone", *stopper.instants)
    (judgement,) = judge([fault], Completions.of(timelines, duration_s), CLIENTS)
    return judgement, fault


def near(title: str, value_s: float | None, expected_s: float) -> None:
    """A time agrees with the arithmetic within 3% or 10 ms."""
    share = max(SHARE, LEAST_S / expected_s)
    assert value_s is not None
    agrees(title, value_s, expected_s, full=share, loose=3 * share + 0.05 / expected_s)


def test_a_stop_of_200_ms() -> None:
    judged = []

    def check() -> None:
        judgement, fault = stopped(0.2, AT_S + 2)
        judged.append(judgement)
        assert fault.applied is not None
        assert fault.undone is not None
        near(
            "pause of a server stopped for 200 ms (s)",
            judgement.pause_s,
            fault.undone.ended_s - fault.applied.began_s,
        )

    undisturbed(check)
    assert judged[-1].effect == "dip"
    assert judged[-1].recovery is not None
    assert judged[-1].recovery.censored == "too-short"


@pytest.mark.parametrize("for_s", STOPS_S)
def test_a_stopped_server_is_judged_as_arithmetic_has_it(for_s: int) -> None:
    """The backlog drains at the difference of service rate and arrival rate."""

    def check() -> None:
        service_s = measured_service_s()
        drained_s = for_s / (1 - RATE_PER_S * service_s)
        judgement, _ = stopped(for_s, AT_S + drained_s + CONFIRMED_S)
        assert judgement.effect == "outage"
        assert judgement.lost is not None
        near(f"pause of a server stopped for {for_s:g} s (s)", judgement.pause_s, for_s)
        if FULL_STRENGTH:
            assert judgement.recovery is not None
            near(f"recovery from a stop of {for_s:g} s (s)", judgement.recovery.from_injection_s, drained_s)
        near(
            f"operations lost in a stop of {for_s:g} s, as seconds of load",
            judgement.lost / RATE_PER_S,
            for_s,
        )

    undisturbed(check)


def measured_service_s() -> float:
    """Mean service time of a server that always has work: a sleep takes longer than asked."""
    with ReferenceServer(service_us=round(SERVICE_S * 1e6), servers=1) as server:
        specification = server.specification("oltp_point_select", clients=CLIENTS, duration_s=3)
        result, _ = load(specification)
    transaction = next(item for item in result["operations"] if item["name"] == "transaction")
    return 3 / float(transaction["succeeded"])


REDIS = """
target: {redis: {server: local, settings: {save: ""}}}
workload: {kv: {keys: 1000}}
load: {clients: 8, rate: RATE/s, max_backlog: 1min, warmup: 0s, duration: DURATION}
monitors: []
repeats: 1
"""


def redis_trial(home: Path, faults: str, duration: str, rate: int = 1000) -> dict[str, Any]:
    """The trial of a plan with these faults."""
    plan = REDIS.replace("RATE", str(rate)).replace("DURATION", duration)
    (home / "plan.yaml").write_text(f"{plan}faults: [{faults}]\n")
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr + done.stdout
    [path] = (home / "run").glob("trials/*/trial.json")
    trial: dict[str, Any] = json.loads(path.read_text())
    return trial


@pytest.mark.parametrize("for_s", STOPS_S)
def test_redis_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, for_s: int) -> None:
    """Redis answers a backlog so fast that the recovery comes with the end of the stop."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    attempts = []

    def check() -> None:
        home = tmp_path / str(len(attempts))
        home.mkdir()
        attempts.append(home)
        trial = redis_trial(home, f"{{hang: redis, at: 5s, for: {for_s}s}}", f"{5 + for_s + CONFIRMED_S}s")
        judgement = trial["faults"][0]["judgement"]
        assert judgement["effect"] == "outage"
        near(f"pause of Redis stopped for {for_s} s (s)", judgement["pause_s"], for_s)
        near(
            f"lost operations of Redis stopped for {for_s} s, as seconds of load",
            judgement["lost"] / 1000,
            for_s,
        )
        if FULL_STRENGTH:
            recovery_s = judgement["recovery"]["from_injection_s"]
            near(f"recovery of Redis stopped for {for_s} s (s)", recovery_s, for_s)

    undisturbed(check)


def test_process_faults_are_applied_at_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    count = 30 if FULL_STRENGTH else 8
    faults = ", ".join(f"{{hang: redis, at: {1000 + 150 * number}ms, for: 30ms}}" for number in range(count))
    trial = redis_trial(tmp_path, faults, f"{1500 + 150 * count}ms", rate=200)
    late_s = [
        fault[when]["began_s"] - fault[when]["requested_s"]
        for fault in trial["faults"]
        for when in ("applied", "undone")
    ]
    assert len(late_s) == 2 * count
    below("lateness of process faults, median (ms)", 1e3 * statistics.median(late_s), full=2.0, loose=50.0)


def test_a_fault_without_effect_is_judged_none() -> None:
    """In series with the noise of a real load (`noise.py`)."""
    effects = effects_of_noise(200 if FULL_STRENGTH else 25)
    share = effects.count("none") / len(effects)
    at_least("faults without effect that are judged none (share)", share, 0.92)
