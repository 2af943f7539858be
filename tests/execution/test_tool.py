"""Tools that people know, as trials: real ones, each compared with the figure that it printed itself."""

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

#: On this machine itself, one short run of each, with a job file as it is and a command whose values the
#: plan names.
HOST = r"""
target: {host: {}}
workload: {tool: {sysbench: cpu run}}
load: {warmup: 0s, duration: 1s}
factors:
  tool:
    sysbench: {workload: {tool: {sysbench: cpu run}}, load.duration: 2s}  # a monitor must see it
    fio: {workload: {tool: {fio: job.fio}}}
    mbw: {workload: {tool: {mbw: -n 2 8}}}
    dd: {workload: {tool: {dd: 'if=/dev/zero of=${directory}/file bs=1M count=16'}}}
    stress-ng: {workload: {tool: {stress-ng: --cpu 1 --cpu-method loop}}}
    command: {workload: {tool: {command: ./bench, unit: request, figures: {
      throughput: {pattern: 'rate (\d+)'}, latency.p99: {pattern: 'p99 ([\d.]+)s', times: 1000},
      failed: {json: lost}, depth: {csv: depth, take: mean}}}}}
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
    records = [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]
    return {trial["tool"]["name"] if "tool" in trial else trial["name"]: trial for trial in records}


def printed(path: Path, trial: dict[str, Any]) -> str:
    """Output of the tool, as the record has it."""
    log = (path / "trials" / trial["name"] / "output.log").read_text()
    return "\n".join(line.partition("worker: ")[2] for line in log.splitlines() if "worker: " in line)


def intervals(path: Path, trial: dict[str, Any]) -> list[dict[str, str]]:
    text = (path / "trials" / trial["name"] / "intervals.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def figure(pattern: str, text: str) -> float:
    matches = re.findall(pattern, text, re.MULTILINE)
    assert matches, (pattern, text)
    return float(matches[-1])


def all_ok(path: Path, done: Any) -> dict[str, dict[str, Any]]:
    records = trials(path)
    assert done.returncode == 0, (
        done.stderr,
        [(item["status"], item["reason"]) for item in records.values()],
    )
    for trial in records.values():
        assert trial["status"] == "ok"
        assert trial["notes"] == ["tool.reported"]
        assert {check["name"]: check["verdict"] for check in trial["checks"]}["tool-output"] == "ok", trial[
            "checks"
        ]
    return records


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
    run, records = on_host
    trial, text = records["sysbench"], printed(run, records["sysbench"])
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
    run, records = on_host
    rows = intervals(run, records["sysbench"])
    lines = re.findall(r"\[ (\d+)s \] thds: 1 eps: ([\d.]+)", printed(run, records["sysbench"]))
    assert [float(row["throughput_per_s"]) for row in rows] == [float(rate) for _, rate in lines]
    assert all(row["phase"] == "measure" for row in rows)


def test_its_processes_are_what_monitors_watch(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, records = on_host
    assert "sysbench" in (run / "trials" / records["sysbench"]["name"] / "processes.csv").read_text()


def test_a_job_file_of_fio_is_run_as_it_is(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, records = on_host
    trial = records["fio"]
    text = printed(run, trial)
    document = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])
    [job] = document["jobs"]
    assert trial["totals"]["throughput_per_s"] == pytest.approx(job["read"]["iops"] + job["write"]["iops"])
    assert set(trial["operations"]) == {"mixed read", "mixed write"}
    for direction in ("read", "write"):
        operation = trial["operations"][f"mixed {direction}"]
        assert operation["throughput_per_s"] == job[direction]["iops"]
        assert operation["succeeded"] == job[direction]["total_ios"]
        assert operation["response"]["mean_ms"] == pytest.approx(job[direction]["lat_ns"]["mean"] / 1e6)
        assert (
            trial["totals"]["figures"][f"mixed-{direction}.mib_per_s"] == job[direction]["bw_bytes"] / 2**20
        )
    assert trial["tool"]["command"][-1].endswith("/job.fio")


def test_memory_by_mbw_is_that_of_each_of_its_methods(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, records = on_host
    trial, text = records["mbw"], printed(run, records["mbw"])
    assert list(trial["operations"]) == ["MEMCPY", "DUMB", "MCBLOCK"]
    for method in trial["operations"]:
        average = figure(rf"AVG\tMethod: {method}\t.*Copy: ([\d.]+) MiB/s", text)
        assert trial["totals"]["figures"][f"{method}.average_mib_per_s"] == average
    assert trial["totals"]["throughput_per_s"] == trial["operations"]["MEMCPY"]["throughput_per_s"]
    assert trial["unit"] == "MiB"


def test_dd_and_stress_ng_say_the_same(on_host: tuple[Path, dict[str, Any]]) -> None:
    run, records = on_host
    text = printed(run, records["dd"])
    seconds = figure(r"copied, ([\d.e-]+) s,", text)
    assert records["dd"]["totals"]["throughput_per_s"] == pytest.approx(16 / seconds)
    text = printed(run, records["stress-ng"])
    per_s = figure(r"^stress-ng: \w+: \[\d+\] cpu +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)", text)
    assert records["stress-ng"]["totals"]["throughput_per_s"] == per_s


def test_a_command_has_the_values_that_the_plan_names(on_host: tuple[Path, dict[str, Any]]) -> None:
    _, records = on_host
    trial = records["bench"]
    assert trial["totals"]["throughput_per_s"] == 250
    assert trial["totals"]["errors"] == 3
    assert trial["totals"]["response"]["p99_ms"] == pytest.approx(4)
    assert trial["totals"]["figures"] == {"depth": 20}
    assert trial["unit"] == "request"


def test_the_report_has_a_row_for_each_and_says_whose_values_they_are(
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
    run, on_server = on_servers
    text, total = printed(run, on_server["wrk"]), on_server["wrk"]["totals"]
    assert total["transactions"]["succeeded"] == figure(r"(\d+) requests in", text)
    assert total["throughput_per_s"] == pytest.approx(figure(r"Requests/sec: +([\d.]+)", text), rel=0.02)
    text, total = printed(run, on_server["ab"]), on_server["ab"]["totals"]
    assert total["transactions"]["succeeded"] == figure(r"Complete requests: +(\d+)", text)
    assert total["response"]["p99_ms"] == pytest.approx(figure(r"99% +(\d+)", text))
    assert on_server["ab"]["unit"] == "request"


def test_iperf3_with_its_own_server_as_the_target(on_servers: tuple[Path, dict[str, Any]]) -> None:
    run, on_server = on_servers
    trial, text = on_server["iperf3"], printed(run, on_server["iperf3"])
    received = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])["end"]["sum_received"]
    mbits_per_s = trial["totals"]["figures"]["mbits_per_s"]
    assert mbits_per_s == pytest.approx(received["bits_per_second"] / 1e6, rel=1e-12)
    assert trial["totals"]["throughput_per_s"] == pytest.approx(
        received["bytes"] / 2**20 / received["seconds"]
    )
    assert trial["unit"] == "MiB"
    assert intervals(run, trial), "read when it had ended"


def test_redis_benchmark_with_a_number_of_requests(on_servers: tuple[Path, dict[str, Any]]) -> None:
    run, on_server = on_servers
    trial, text = on_server["redis-benchmark"], printed(run, on_server["redis-benchmark"])
    assert trial["totals"]["throughput_per_s"] == figure(r"throughput summary: ([\d.]+) requests", text)
    assert trial["totals"]["transactions"]["succeeded"] == 3000
    assert "-c 2 -n 3000" in text


def test_pgbench_and_sysbench_on_data_that_they_made_themselves(tmp_path: Path) -> None:
    levels = (
        "{pgbench: {workload: {tool: {pgbench: -S, prepare: pgbench -i -q -s 1}}}, "
        "sysbench: {workload: {tool: {sysbench: oltp_point_select --tables=1 --table-size=1000 run, "
        "prepare: sysbench oltp_point_select --tables=1 --table-size=1000 prepare}}}}"
    )
    (tmp_path / "plan.yaml").write_text(
        "target: {postgres: {server: embedded}}\nworkload: {tool: {pgbench: -S, prepare: pgbench -i}}\n"
        "load: {clients: 2, warmup: 0s, duration: 1s}\nrepeats: 1\nmonitors: []\n"
        f"factors: {{tool: {levels}}}\n"
    )
    records = all_ok(tmp_path / "run", loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report"))
    text = printed(tmp_path / "run", records["pgbench"])
    assert records["pgbench"]["totals"]["throughput_per_s"] == figure(r"tps = ([\d.]+)", text)
    assert records["pgbench"]["totals"]["response"]["mean_ms"] == pytest.approx(
        figure(r"latency average = ([\d.]+)", text)
    )
    text = printed(tmp_path / "run", records["sysbench"])
    assert records["sysbench"]["totals"]["throughput_per_s"] == figure(
        r"transactions: +\d+ +\(([\d.]+) per sec", text
    )
    assert records["sysbench"]["totals"]["queries_per_s"] == figure(
        r"queries: +\d+ +\(([\d.]+) per sec", text
    )
    assert all(trial["data_set"]["how"] == "loaded" for trial in records.values())
    assert records["pgbench"]["unit"] == records["sysbench"]["unit"] == "transaction"


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


FILES = r"""
target: {host: {}}
workload: {tool: {command: 'sh write', files: [gc.log, other.bin], env: {PASSED: "${env:SECRET_OF_TEST}"}}}
load: {warmup: 0s, duration: 1s}
factors:
  end:
    good: {workload.tool.command: "sh ${plan}/write 0"}
    failing: {workload.tool.command: "sh ${plan}/write 3"}
    endless: {workload.tool.command: "sh ${plan}/write endless", limits.load_slack: 6s}
    missing: {workload.tool.command: "sh -c 'ln -s /etc/passwd gc.log; mkfifo other.bin'"}
    large: {workload.tool.command: "sh -c 'truncate -s 65M gc.log; echo > other.bin'"}
repeats: 1
order: as-written
monitors: []
"""
WRITE = r"""
echo "[0.5s][gc] GC(0) Pause Full (Allocation Failure) 22M->21M(23M) 30.0ms $PASSED" > gc.log
printf '\377\000\r\n\376end' > other.bin
[ "$1" != endless ] || sleep 60
exit $1
"""


def test_files_that_a_command_leaves_are_retained_however_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "hidden-value-1")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    plan = FILES.replace("sh write", "sh ${plan}/write 0")
    (tmp_path / "plan.yaml").write_text(plan.replace("host: {}", f"host: {{directory: {scratch}}}"))
    (tmp_path / "write").write_text(WRITE)
    loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    records = {
        record["levels"]["end"]: record
        for path in (tmp_path / "run" / "trials").glob("*/trial.json")
        for record in [json.loads(path.read_text())]
    }
    status = {level: record["status"] for level, record in records.items()}
    assert status == dict.fromkeys(records, "ok") | {"failing": "failed", "endless": "timed-out"}
    for level in ("good", "failing", "endless"):
        directory = tmp_path / "run" / "trials" / records[level]["name"]
        log = (directory / "gc.log").read_text()
        assert "Pause Full" in log
        assert "hidden-value-1" not in log
        assert (directory / "other.bin").read_bytes() == b"\xff\x00\r\n\xfeend"
        assert records[level]["files"]["other.bin"] == 8
        assert files_check(records[level]) == {"name": "tool-files", "verdict": "ok", "detail": {}}
    assert "gc" in records["good"]["monitors"]
    assert files_check(records["missing"])["detail"] == {
        "missing": ["gc.log: Too many levels of symbolic links"],
        "not_regular": ["other.bin"],
    }
    assert files_check(records["large"])["detail"] == {"too_large": ["gc.log"]}
    assert not (tmp_path / "run" / "trials" / records["large"]["name"] / "gc.log").exists()
    assert not list(scratch.rglob("loadcell-tool-*"))


def files_check(record: dict[str, Any]) -> dict[str, Any]:
    [check] = [check for check in record["checks"] if check["name"] == "tool-files"]
    return dict(check)


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_run_leaves_nothing_running(tmp_path: Path, how: signal.Signals, status: int) -> None:
    mark = f"78{os.getpid()}{int(how)}"
    plan = TROUBLE.replace("MARK", mark).replace("duration: 1s", "duration: 60s")
    with Live(tmp_path, plan) as live:
        until(lambda: len(sleeping(mark)) == 2, "the tool")
        live.send(how)
        assert live.end() == status
    until(lambda: not sleeping(mark), "the end of what the tool had started")


def test_files_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    mark, scratch = f"79{os.getpid()}", tmp_path / "scratch"
    scratch.mkdir()
    plan = TROUBLE.replace("MARK", mark).replace("duration: 1s", "duration: 60s")
    plan = plan.replace("host: {}", f"host: {{directory: {scratch}}}").replace(
        "{tool: {", "{tool: {files: gc.log, "
    )
    with Live(tmp_path, plan) as live:
        until(lambda: len(sleeping(mark)) == 2, "the tool")
        assert list(scratch.rglob("loadcell-tool-*"))
        live.send(signal.SIGKILL)
        assert live.end() == -signal.SIGKILL
        until(lambda: not list(scratch.rglob("loadcell-tool-*")), "the end of the directory")
    until(lambda: not sleeping(mark), "the end of what the tool had started")


def sleeping(mark: str) -> list[int]:
    results = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                results.append(int(process.name))
        except OSError:
            continue
    return living(results)
