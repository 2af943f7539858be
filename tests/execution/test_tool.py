"""Tools that people know, as trials: real ones, each held against the figure that it printed itself."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live, living, loadcell, until

#: On this machine itself, one short run of each, with a job file as it is and a command whose figures the
#: plan names.
HOST = r"""
target: {host: {}}
workload: {tool: {sysbench: cpu run}}
load: {warmup: 0s, duration: 1s}
factors:
  tool:
    sysbench: {workload: {tool: {sysbench: cpu run}}, load.duration: 2s}  # long enough for a monitor to see it
    fio: {workload: {tool: {fio: job.fio}}}
    mbw: {workload: {tool: {mbw: -n 2 8}}}
    dd: {workload: {tool: {dd: 'if=/dev/zero of=${directory}/file bs=1M count=16'}}}
    stress-ng: {workload: {tool: {stress-ng: --cpu 1 --cpu-method loop}}}
    command: {workload: {tool: {command: ./bench, unit: request, figures: {
      throughput: {pattern: 'rate (\d+)'}, latency.p99: {pattern: 'p99 ([\d.]+)s', times: 1000}, failed: {json: lost},
      depth: {csv: depth, take: mean}}}}}
repeats: 1
order: as-written
monitors: [target]
"""
JOB = """\
[mixed]
rw=randrw
size=1m
bs=4k
runtime=${duration_s}
"""
BENCH = """#!/bin/sh
echo 'rate 250, p99 0.004s'
echo '{"lost": 3}'
echo 'at,depth
1,10
2,30'
"""


def trials(path: Path) -> dict[str, dict[str, Any]]:
    """By the tool."""
    found = [json.loads(one.read_text()) for one in sorted((path / "trials").glob("*/trial.json"))]
    return {trial["tool"]["name"] if "tool" in trial else trial["name"]: trial for trial in found}


def printed(path: Path, trial: dict[str, Any]) -> str:
    """What the tool printed, as the record has it."""
    log = (path / "trials" / trial["name"] / "output.log").read_text()
    return "\n".join(line.partition("worker: ")[2] for line in log.splitlines() if "worker: " in line)


def intervals(path: Path, trial: dict[str, Any]) -> list[dict[str, str]]:
    text = (path / "trials" / trial["name"] / "intervals.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def figure(pattern: str, text: str) -> float:
    found = re.findall(pattern, text, re.MULTILINE)
    assert found, (pattern, text)
    return float(found[-1])


def all_ok(path: Path, done: Any) -> dict[str, dict[str, Any]]:
    found = trials(path)
    assert done.returncode == 0, (done.stderr, [(one["status"], one["reason"]) for one in found.values()])
    for trial in found.values():
        assert trial["status"] == "ok"
        assert trial["notes"] == ["tool.reported"]
        assert {one["name"]: one["verdict"] for one in trial["checks"]}["tool-output"] == "ok", trial[
            "checks"
        ]
    return found


@pytest.fixture(scope="module")
def on_host(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    home = tmp_path_factory.mktemp("host")
    (home / "plan.yaml").write_text(HOST)
    (home / "job.fio").write_text(JOB)
    (home / "bench").write_text(BENCH)
    (home / "bench").chmod(0o755)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    return home / "run", all_ok(home / "run", done)


def test_sysbench_says_the_same(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    trial, text = found["sysbench"], printed(run, found["sysbench"])
    assert trial["totals"]["throughput_per_s"] == figure(r"events per second: +([\d.]+)", text)
    assert trial["totals"]["transactions"]["succeeded"] == figure(r"total number of events: +(\d+)", text)
    assert trial["totals"]["response"]["p95_ms"] == pytest.approx(figure(r"95th percentile: +([\d.]+)", text))
    assert trial["totals"]["response"]["mean_ms"] == pytest.approx(figure(r"avg: +([\d.]+)", text))
    assert trial["measure"]["duration_s"] == pytest.approx(figure(r"total time: +([\d.]+)s", text))
    assert trial["tool"]["version"].startswith("sysbench 1.")
    assert trial["tool"]["command"][1:3] == ["--threads=1", "--time=2"]
    assert trial["client"]["cpu_s"] > 0
    assert trial["unit"] == "operation"


def test_its_interval_lines_are_the_series(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    rows = intervals(run, found["sysbench"])
    lines = re.findall(r"\[ (\d+)s \] thds: 1 eps: ([\d.]+)", printed(run, found["sysbench"]))
    assert [float(row["throughput_per_s"]) for row in rows] == [float(rate) for _, rate in lines]
    assert all(row["phase"] == "measure" for row in rows)


def test_its_processes_are_what_monitors_watch(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    assert "sysbench" in (run / "trials" / found["sysbench"]["name"] / "processes.csv").read_text()


def test_a_job_file_of_fio_is_run_as_it_is(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    trial = found["fio"]
    text = printed(run, trial)
    whole = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])
    [job] = whole["jobs"]
    assert trial["totals"]["throughput_per_s"] == pytest.approx(job["read"]["iops"] + job["write"]["iops"])
    assert set(trial["operations"]) == {"mixed read", "mixed write"}
    for direction in ("read", "write"):
        own = trial["operations"][f"mixed {direction}"]
        assert own["throughput_per_s"] == job[direction]["iops"]
        assert own["succeeded"] == job[direction]["total_ios"]
        assert own["response"]["mean_ms"] == pytest.approx(job[direction]["lat_ns"]["mean"] / 1e6)
        assert (
            trial["totals"]["figures"][f"mixed-{direction}.mib_per_s"] == job[direction]["bw_bytes"] / 2**20
        )
    assert trial["tool"]["command"][-1].endswith("/job.fio")


def test_memory_by_mbw_is_that_of_each_of_its_methods(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    trial, text = found["mbw"], printed(run, found["mbw"])
    assert list(trial["operations"]) == ["MEMCPY", "DUMB", "MCBLOCK"]
    for method in trial["operations"]:
        average = figure(rf"AVG\tMethod: {method}\t.*Copy: ([\d.]+) MiB/s", text)
        assert trial["totals"]["figures"][f"{method}.average_mib_per_s"] == average
    assert trial["totals"]["throughput_per_s"] == trial["operations"]["MEMCPY"]["throughput_per_s"]
    assert trial["unit"] == "MiB"


def test_dd_and_stress_ng_say_the_same(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_host
    text = printed(run, found["dd"])
    seconds = figure(r"copied, ([\d.e-]+) s,", text)
    assert found["dd"]["totals"]["throughput_per_s"] == pytest.approx(16 / seconds)
    text = printed(run, found["stress-ng"])
    per_s = figure(r"^stress-ng: \w+: \[\d+\] cpu +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)", text)
    assert found["stress-ng"]["totals"]["throughput_per_s"] == per_s


def test_a_command_has_the_figures_that_the_plan_names(on_host: tuple[Path, dict[str, Any]]) -> None:
    _, found = on_host
    trial = found["bench"]
    assert trial["totals"]["throughput_per_s"] == 250
    assert trial["totals"]["errors"] == 3
    assert trial["totals"]["response"]["p99_ms"] == pytest.approx(4)
    assert trial["totals"]["figures"] == {"depth": 20}
    assert trial["unit"] == "request"


def test_the_report_has_a_row_for_each_and_says_whose_figures_they_are(
    on_host: tuple[Path, dict[str, Any]],
) -> None:
    assert loadcell(on_host[0].parent, "report", "run", "--format", "html").returncode == 0
    page = (on_host[0] / "report.html").read_text()
    assert "those that the tool itself printed" in page
    for name in ("sysbench", "fio", "mbw", "dd", "stress-ng"):
        assert name in page


#: On servers that loadcell starts for them.
SERVICES = """
target: {command: {command: 'python3 -m http.server --bind 127.0.0.1 {port}', directory: ., url: 'http://127.0.0.1:{port}'}}
workload: {tool: {wrk: '${url}/index.html'}}
load: {clients: 2, warmup: 0s, duration: 1s}
factors:
  tool:
    wrk: {workload: {tool: {wrk: '${url}/index.html'}}}
    ab: {workload: {tool: {ab: '${url}/index.html'}}}
    iperf3: {workload: {tool: {iperf3: ''}}, target: {command: {command: 'iperf3 -s -p {port}', url: 'http://127.0.0.1:{port}'}}}
    redis-benchmark:
      workload: {tool: {redis-benchmark: -t set}}
      target: {command: {command: "redis-server --port {port} --save ''", url: 'http://127.0.0.1:{port}'}}
      load.requests: 3000
repeats: 1
monitors: []
"""


@pytest.fixture(scope="module")
def on_servers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    home = tmp_path_factory.mktemp("servers")
    (home / "index.html").write_text("x" * 1000)
    (home / "plan.yaml").write_text(SERVICES)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    return home / "run", all_ok(home / "run", done)


def test_wrk_and_ab_on_a_server_that_loadcell_started(on_servers: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_servers
    text, total = printed(run, found["wrk"]), found["wrk"]["totals"]
    assert total["transactions"]["succeeded"] == figure(r"(\d+) requests in", text)
    assert total["throughput_per_s"] == pytest.approx(figure(r"Requests/sec: +([\d.]+)", text), rel=0.02)
    text, total = printed(run, found["ab"]), found["ab"]["totals"]
    assert total["transactions"]["succeeded"] == figure(r"Complete requests: +(\d+)", text)
    assert total["response"]["p99_ms"] == pytest.approx(figure(r"99% +(\d+)", text))
    assert found["ab"]["unit"] == "request"


def test_iperf3_with_its_own_server_as_the_target(on_servers: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_servers
    trial, text = found["iperf3"], printed(run, found["iperf3"])
    said = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])["end"]["sum_received"]
    assert trial["totals"]["figures"]["mbits_per_s"] == said["bits_per_second"] / 1e6
    assert trial["totals"]["throughput_per_s"] == pytest.approx(said["bytes"] / 2**20 / said["seconds"])
    assert trial["unit"] == "MiB"
    assert intervals(run, trial), "read when it had ended"


def test_redis_benchmark_with_a_number_of_requests(on_servers: tuple[Path, dict[str, Any]]) -> None:
    run, found = on_servers
    trial, text = found["redis-benchmark"], printed(run, found["redis-benchmark"])
    assert trial["totals"]["throughput_per_s"] == figure(r"throughput summary: ([\d.]+) requests", text)
    assert trial["totals"]["transactions"]["succeeded"] == 3000
    assert "-c 2 -n 3000" in text


def test_pgbench_and_sysbench_on_data_that_they_made_themselves(tmp_path: Path) -> None:
    levels = (
        "{pgbench: {workload: {tool: {pgbench: -S, prepare: pgbench -i -q -s 1}}}, sysbench: {workload: {tool: "
        "{sysbench: oltp_point_select --tables=1 --table-size=1000 run, prepare: sysbench oltp_point_select --tables=1 --table-size=1000 prepare}}}}"
    )
    (tmp_path / "plan.yaml").write_text(
        "target: {postgres: {server: embedded}}\nworkload: {tool: {pgbench: -S, prepare: pgbench -i}}\n"
        f"load: {{clients: 2, warmup: 0s, duration: 1s}}\nrepeats: 1\nmonitors: []\nfactors: {{tool: {levels}}}\n"
    )
    found = all_ok(tmp_path / "run", loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report"))
    text = printed(tmp_path / "run", found["pgbench"])
    assert found["pgbench"]["totals"]["throughput_per_s"] == figure(r"tps = ([\d.]+)", text)
    assert found["pgbench"]["totals"]["response"]["mean_ms"] == pytest.approx(
        figure(r"latency average = ([\d.]+)", text)
    )
    text = printed(tmp_path / "run", found["sysbench"])
    assert found["sysbench"]["totals"]["throughput_per_s"] == figure(
        r"transactions: +\d+ +\(([\d.]+) per sec", text
    )
    assert found["sysbench"]["totals"]["queries_per_s"] == figure(r"queries: +\d+ +\(([\d.]+) per sec", text)
    assert all(trial["data_set"]["how"] == "loaded" for trial in found.values())
    assert found["pgbench"]["unit"] == found["sysbench"]["unit"] == "transaction"


TROUBLE = """
target: {host: {}}
workload: {tool: {command: "sh -c 'setsid sleep MARK & sleep MARK'"}}
load: {warmup: 0s, duration: 1s}
repeats: 1
monitors: []
"""


def test_a_tool_that_fails_or_never_ends_costs_its_trial_and_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = f"77{os.getpid()}"
    levels = """\
factors:
  trouble:
    endless: {limits.load_slack: 500ms}
    failing: {workload: {tool: {command: "sh -c 'echo no more seats >&2; exit 4'"}}}
order: as-written
"""
    (tmp_path / "plan.yaml").write_text(TROUBLE.replace("MARK", mark) + levels)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 3
    endless, failing = trials(tmp_path / "run").values()
    assert endless["status"] == "timed-out"
    assert (failing["status"], failing["reason"]) == ("failed", "sh ended with status 4: no more seats")
    assert "no more seats" in printed(tmp_path / "run", failing)
    until(lambda: not sleeping(mark), "the end of what the tool had started")


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_run_leaves_nothing_running(tmp_path: Path, how: signal.Signals, status: int) -> None:
    mark = f"78{os.getpid()}{int(how)}"
    plan = TROUBLE.replace("MARK", mark).replace("duration: 1s", "duration: 60s")
    with Live(tmp_path, plan) as live:
        until(lambda: len(sleeping(mark)) == 2, "the tool")
        live.send(how)
        assert live.end() == status
    until(lambda: not sleeping(mark), "the end of what the tool had started")


def sleeping(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(int(process.name))
        except OSError:
            continue
    return living(found)
