"""Network probes as a person runs them: on the loopback, and against `loadcell host --serve`, which counts
the same.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from execution.live import LOADCELL, Live, descendants, living, loadcell, until
from loadcell.systems.shared.account import free_port

PLAN = """
target: {host: {}}
workload: {probe: {network: {test: rr}}}
load: {clients: 2, warmup: 100ms, duration: 500ms, interval: 100ms}
repeats: 1
monitors: [target]
expect: [errors == 0]
"""


def run(home: Path, text: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    (home / "plan.yaml").write_text(text)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    trials = [json.loads(path.read_text()) for path in sorted((home / "run" / "trials").glob("*/trial.json"))]
    return done, trials


@contextmanager
def serving() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A separate server, and its address."""
    command = [LOADCELL, "host", "--serve", "127.0.0.1:0", "--json"]
    server = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert server.stdout is not None
        yield server, json.loads(server.stdout.readline())["address"]
    finally:
        server.kill()
        server.communicate()


def served(server: subprocess.Popen[str], by: signal.Signals) -> dict[str, Any]:
    """Ends a server in order; what it says of its life."""
    server.send_signal(by)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    return document


def test_three_tests_of_the_loopback_from_plan_to_report(tmp_path: Path) -> None:
    text = f"{PLAN}factors: {{workload.probe.network.test: [rr, crr, stream]}}\n"
    done, trials = run(tmp_path, text)
    assert done.returncode == 0, done.stderr
    trials_by_test = {trial["levels"]["workload.probe.network.test"]: trial for trial in trials}
    for test, figure in (
        ("rr", "transactions_per_s"),
        ("crr", "transactions_per_s"),
        ("stream", "mbit_per_s"),
    ):
        trial = trials_by_test[test]
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        assert (trial["status"], trial["errors"]) == ("ok", []), trial["reason"]
        assert verdicts["littles-law"] == verdicts["counting-identity"] == verdicts["client-limit"] == "ok"
        assert list(trial["totals"]["figures"]) == [figure]
    rate = trials_by_test["stream"]["totals"]["throughput_per_s"]
    assert trials_by_test["stream"]["totals"]["figures"]["mbit_per_s"] == pytest.approx(
        rate * 131072 * 8 / 1e6
    )
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    assert "TCP_CRR" in (tmp_path / "run" / "report.html").read_text()


def test_the_server_of_the_loopback_goes_with_the_load(tmp_path: Path) -> None:
    with Live(tmp_path, PLAN.replace("500ms", "60s")) as live:
        live.in_phase("measure")
        worker = live.worker()
        [server] = until(lambda: list(descendants(worker)), "the server")
        assert Path(f"/proc/{server}/comm").read_text() == "loadcell-serve\n"
        live.send(signal.SIGINT)
        assert live.end() == 130
        until(lambda: not living([worker, server]), "the server's end")


def test_a_server_elsewhere_counts_the_same(tmp_path: Path) -> None:
    with serving() as (server, address):
        text = PLAN.replace("host: {}", f"host: {{peer: '{address}'}}")
        done, [trial] = run(tmp_path, text)
        assert done.returncode == 0, done.stderr
        assert trial["target"]["peer"] == address
        account = served(server, signal.SIGTERM)
    assert account["connections"] == 2
    assert account["transactions"] == trial["lifetime"]["transactions"] > 0


def test_a_peer_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    peer = f"127.0.0.1:{free_port()}"
    done, [trial] = run(tmp_path, PLAN.replace("host: {}", f"host: {{peer: '{peer}'}}"))
    assert (done.returncode, trial["status"]) == (3, "failed")
    assert trial["reason"] == f"no loadcell responds at {peer} (Connection refused)"
    assert "loadcell host --serve" in trial["advice"]


def test_a_peer_that_goes_ends_the_trial(tmp_path: Path) -> None:
    with serving() as (server, address):
        plan = PLAN.replace("host: {}", f"host: {{peer: '{address}'}}").replace("500ms", "60s")
        with Live(tmp_path, plan) as live:
            live.in_phase("measure")
            server.kill()
            assert live.end() == 3
            [trial] = live.stored().trials
    assert trial.status == "failed"
    assert "the peer broke the connection off" in trial.reason
    assert "--serve" in trial.advice
