"""The stream rule service under load: its metrics in record and report, and services that are killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from execution.live import Live, command_line, descendants, living, loadcell, until
from loadcell.report import charts
from loadcell.report.context import ReportContext
from loadcell.store.read import StoredRun, read_run

PLAN = """
target:
  jvm:
    service: rules
    heap: 128MiB
    properties: {{rules: 2, answers: each, highWater: 1000{properties}}}
workload:
  stream:
    fields:
      id: {{step: 1}}
      key: {{from: 0, to: 999}}
      time: {{step: 1}}
      kind: {{values: [P, P, P, L]}}
      amount: {{from: 1, to: 100000}}
      place: {{from: 0, to: 99}}
    size: 200B
    answers: each
    order: key
    key: key
load: {{clients: 1, rate: 2000/s, warmup: 2s, duration: 4s, interval: 500ms}}
repeats: {repeats}
monitors:
  - host
  - prometheus:
      url: "http://127.0.0.1:{{port}}/metrics"
      interval: 500ms
      under_load: [rules_queue_records, "rules_fired_*", rules_forward_blocked_seconds_total]
      metrics: {{taken: mean of rules_records_total}}
"""


def plan(properties: str = "", repeats: int = 1) -> str:
    return PLAN.format(properties=properties, repeats=repeats)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run with a coordinator of two servers."""
    home = tmp_path_factory.mktemp("rules")
    (home / "plan.yaml").write_text(plan(", coordinate: 2, threads: 2"))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stdout + done.stderr
    return read_run(home / "run")


def test_metrics_of_all_servers_are_sampled(run: StoredRun) -> None:
    [record] = run.trials
    assert record.totals is not None
    assert record.totals.figures["stream.lost"] == 0
    # after a start on a busy machine, the service also takes the backlog of the warm-up
    throughput_per_s = record.totals.throughput_per_s
    assert throughput_per_s is not None
    assert throughput_per_s > 0.9 * 2_000
    assert record.totals.figures["taken"] == pytest.approx(throughput_per_s, rel=0.1)
    monitor = record.monitors["prometheus"]
    assert monitor.under_load == (
        "rules_queue_records", "rules_fired_*", "rules_forward_blocked_seconds_total",
    )  # fmt: skip
    samples = run.samples("prometheus")
    values = dict(zip(samples.text("name").tolist(), samples.numbers("value").tolist(), strict=True))
    assert values["rules_servers"] == 2


def test_the_report_draws_them_under_the_load(run: StoredRun) -> None:
    chart = charts.drawn_in("series", ReportContext.of(run, "en"))[0]
    panels = [view["title"] for view in chart.spec["vconcat"]]
    at = [index for index, title in enumerate(panels) if "rules_" in str(title)]
    assert len(at) == 3
    assert at[-1] < next(index for index, title in enumerate(panels) if "CPU" in str(title))


def test_without_a_port_of_the_service_the_plan_is_refused(tmp_path: Path) -> None:
    text = plan().partition("workload:")[2]
    (tmp_path / "plan.yaml").write_text('target: {stream: {url: "tcp://127.0.0.1:9"}}\nworkload:' + text)
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    assert "prometheus.url" in done.stdout + done.stderr
    assert "write the port of the page as a number" in done.stdout + done.stderr


def service(live: Live) -> int:
    """Process id of the service, or of the coordinator."""

    def java() -> int | None:
        return next((pid for pid in descendants(live.process.pid) if _is_java(pid)), None)

    return int(until(java, "the service"))


def _is_java(pid: int) -> bool:
    return command_line(pid).split(" ")[0].endswith("java")


@pytest.mark.parametrize("phase", ["warmup", "measure"])
def test_a_service_that_is_killed_is_a_reason_and_starts_again(tmp_path: Path, phase: str) -> None:
    with Live(tmp_path, plan(repeats=2)) as live:
        live.in_phase(phase)
        os.kill(service(live), signal.SIGKILL)
        status = live.end()
    first, second = read_run(live.path).trials
    assert (first.status, second.status) == ("failed", "ok")
    assert status == 3
    assert "SIGKILL" in (first.reason or ""), first.reason


def test_a_service_that_is_killed_at_clean_up_costs_nothing(tmp_path: Path) -> None:
    # The service does not end by this signal: the clean-up waits for it.
    waiting = plan().replace("service: rules", "service: rules\n    stop: {signal: CONT, within: 60s}")
    with Live(tmp_path, waiting) as live:
        live.in_phase("measure")
        pid = service(live)
        until(lambda: list(live.path.glob("trials/001-*/trial.json")), "the record")
        assert living([pid])
        os.kill(pid, signal.SIGKILL)
        assert live.end() == 0
    assert [trial.status for trial in read_run(live.path).trials] == ["ok"]
    assert not living([pid])


@pytest.mark.parametrize("victim", ["coordinator", "server"])
def test_of_a_killed_coordinator_or_server_nothing_remains(tmp_path: Path, victim: str) -> None:
    with Live(tmp_path, plan(", coordinate: 2")) as live:
        live.in_phase("measure")
        coordinator = service(live)
        servers = [pid for pid in descendants(coordinator) if _is_java(pid)]
        assert len(servers) == 2
        os.kill(coordinator if victim == "coordinator" else servers[0], signal.SIGKILL)
        assert live.end() == 3
    [record] = read_run(live.path).trials
    assert record.status == "failed"
    expected = "SIGKILL" if victim == "coordinator" else "ended the connection"
    assert expected in (record.reason or ""), record.reason
    deadline_s = time.monotonic() + 10
    while living([coordinator, *servers]):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
