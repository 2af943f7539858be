"""Monitors `prometheus` and `command` in a whole run: their series, metrics and remarks."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from browser import Browser
from execution.live import loadcell
from loadcell.store.read import StoredRun, read_run
from metric_pages import Pages, Request

PLAN = """
title: A service that counts its requests
target: {{http: {{url: "http://127.0.0.1:{port}"}}}}
workload: {{http: {{path: /}}}}
load: {{clients: 1, warmup: 1s, duration: 3s, interval: 500ms}}
repeats: 1
monitors:
  - prometheus:
      url: http://127.0.0.1:{port}/metrics
      interval: 200ms
      timeout: 3s
      auth: {{bearer: "${{env:SCRAPE_TOKEN}}"}}
      metrics: {{counted: mean of served_total, depth: 'max of depth{{queue="a"}}, lower is better'}}
  - prometheus: {{name: away, url: "http://127.0.0.1:1/metrics"}}
  - command:
      name: fixed
      run: [./print-number]
      start: each-interval
      timeout: 3s
      metrics: {{fixed: last of fixed}}
  - command:
      name: talkative
      run: [./print-token]
      env: {{TOKEN: "${{env:SCRAPE_TOKEN}}"}}
      start: each-interval
      timeout: 3s
  - command: {{name: broken, run: [no-such-program]}}
expect: [errors == 0, counted > 0, depth == 7, fixed == 42]
"""
TOKEN = "a-token-of-a-test-4711"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one finished run in `run`."""
    home = tmp_path_factory.mktemp("named-series")
    script = home / "print-number"
    script.write_text("#!/bin/sh\necho fixed 42\n")
    script.chmod(0o755)
    script = home / "print-token"
    script.write_text('#!/bin/sh\necho "refused: $TOKEN" >&2\nexit 1\n')
    script.chmod(0o755)
    served = 0

    def answer(request: Request) -> None:
        nonlocal served
        if request.path == "/":
            served += 1
            request.reply(b"hello")
        elif request.headers.get("Authorization") == f"Bearer {TOKEN}":
            depth = 'depth{queue="a"} 7\ndepth{queue="<b>"} 9\n'
            request.reply(f"# TYPE served_total counter\nserved_total {served}\n{depth}".encode())
        else:
            request.reply(b"no", 401)

    with Pages() as pages:
        pages.answer = answer
        (home / "plan.yaml").write_text(PLAN.format(port=pages.port))
        done = loadcell(home, "run", "plan.yaml", "--out", "run", env={"SCRAPE_TOKEN": TOKEN})
    (home / "output").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return home


@pytest.fixture(scope="module")
def run(home: Path) -> StoredRun:
    return read_run(home / "run")


def test_metrics_are_judged_and_the_rate_is_the_load(run: StoredRun) -> None:
    [record] = run.trials
    assert record.status == "ok"
    assert record.totals is not None
    figures = record.totals.figures
    assert (figures["depth"], figures["fixed"]) == (7.0, 42.0)
    facts = record.totals.metrics
    assert facts is not None
    assert facts["depth"].better == "lower"
    # Both count the same requests; scrapes cover all of the window but an interval at each of its ends.
    assert figures["counted"] == pytest.approx(record.totals.throughput_per_s, rel=0.5)
    assert [verdict.verdict for verdict in record.expect] == ["met"] * 4


def test_samples_are_a_long_table(home: Path, run: StoredRun) -> None:
    [record] = run.trials
    with (run.directory(record.name) / "prometheus.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["name"], row["labels"], row["measure"]) for row in rows} == {
        ("served_total", "", "rate"), ("depth", 'queue="a"', "value"), ("depth", 'queue="<b>"', "value"),
    }  # fmt: skip
    query = "select name, max(value) as value from samples where monitor = 'command:fixed' group by name"
    answered = loadcell(home, "query", query, "run", "--json")
    assert "42" in answered.stdout, answered.stdout + answered.stderr


def test_remarks_are_recorded_and_shown(home: Path, run: StoredRun) -> None:
    [record] = run.trials
    notes = {
        name: [note["note"] for note in monitor.notes or ()] for name, monitor in record.monitors.items()
    }
    assert notes == {
        "prometheus": [], "prometheus:away": ["scrape.unreachable"],
        "command:fixed": [], "command:broken": ["command-monitor.not-started"],
        "command:talkative": ["command-monitor.failed"],
    }  # fmt: skip
    statuses = record.monitors["command:fixed"].exit_statuses
    assert statuses is not None
    assert list(statuses) == ["0"]
    output = (home / "output").read_text()
    assert "monitor prometheus:away: cannot connect to http://127.0.0.1:1/metrics" in output
    assert "refused: ${env:SCRAPE_TOKEN}" in output
    assert "monitor command:broken: `no-such-program` cannot be started" in output


def test_no_secret_is_written(home: Path) -> None:
    for file in home.rglob("*"):
        if file.is_file():
            assert TOKEN.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "Remedy: start the service"), ("zh", "解决办法：请在加压前启动该服务")]
)
def test_the_report_has_folded_charts_and_remarks(
    browser: Browser, home: Path, language: str, sentence: str
) -> None:
    written = home / language
    assert loadcell(home, "report", "run", "--lang", language, "--out", str(written)).returncode == 0
    assert sentence in (written / "report.html").read_text()
    assert "served_total" in (written / "report-pictures" / "chart-named-series.svg").read_text()
    browser.open(written / "report.html")
    figure = "document.querySelector('#chart-named-series')"
    assert browser.ask(f"{figure}.closest('details').open") is False
    browser.ask(f"{figure}.closest('details').open = true")
    browser.wait_for(f"{figure}.querySelector('.canvas').dataset.drawn === 'yes'")
    words = browser.ask(f"{figure}.querySelector('svg').textContent")
    assert "served_total" in words
    assert 'queue="<b>"' in words
    assert browser.complaints == []
