"""The GC log of a trial: samples, metrics, expectations and the report."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jvms import classes, java
from truth import pausing_server
from truth.pausing_server import PAUSE_S

SERVER = Path(pausing_server.__file__)
PLAN = """
title: Pauses
target: {{command: {{command: "{python} {server} {{port}} {log}", url: "http://127.0.0.1:{{port}}"}}}}
workload: {{http: {{path: /fast}}}}
load: {{clients: 4, warmup: 1s, duration: 3s}}
repeats: 1
monitors: [{{jvm: {{gc_log: {log}}}}}]
expect: [gc.pause.max < 10s, gc.pauses > 100]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a run on a service with known pauses."""
    home = tmp_path_factory.mktemp("gc")
    (home / "plan.yaml").write_text(PLAN.format(python=sys.executable, server=SERVER, log=home / "gc.log"))
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--no-report", "--out", "out"]
    ended = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    return home / "out"


def rows(run: Path, file: str) -> list[dict[str, str]]:
    [path] = (run / "trials").glob(f"*/{file}")
    with path.open() as lines:
        return list(csv.DictReader(lines))


def test_pauses_are_samples_at_their_time(run: Path) -> None:
    pauses = rows(run, "gc-pauses.csv")
    starts = [float(pause["mono_ns"]) / 1e9 % 1 for pause in pauses]
    assert len(pauses) >= 3
    assert all(min(start, 1 - start) < 0.2 for start in starts), "each at the beginning of a second"
    assert {(pause["kind"], pause["cause"], pause["after_bytes"]) for pause in pauses} == {
        ("full", "System.gc()", str(4 << 20))
    }
    seconds = rows(run, "gc.csv")
    assert len(seconds) == 4, "with the warm-up"
    assert sum(int(second["pauses"]) for second in seconds) <= len(pauses)


def test_metrics_are_judged(run: Path) -> None:
    [path] = (run / "trials").glob("*/trial.json")
    trial = json.loads(path.read_text())
    figures = trial["totals"]["figures"]
    assert figures["gc.pauses"] in (2, 3, 4)
    assert figures["gc.pause.total"] >= 2 * PAUSE_S * 1e3
    assert figures["gc.pause.share"] >= 0.6 * PAUSE_S
    assert figures["gc.slow.p99"] >= 0
    assert [expected["verdict"] for expected in trial["expect"]] == ["met", "missed"]
    assert trial["monitors"]["jvm"]["notes"][0]["code"] == "jvm-monitor.no-jvm"


def test_the_report_has_the_pauses_in_both_languages(run: Path) -> None:
    for language, title, heading in (
        ("en", "Pauses of the garbage collector", "slowest 1% in pauses"),
        ("zh", "GC 停顿", "最慢 1% 遇停顿"),
    ):
        command = [sys.executable, "-m", "loadcell", "report", str(run), "--format", "md", "--lang", language]
        subprocess.run(command, check=True, capture_output=True)
        text = (run / "report.md").read_text()
        assert f"**{title}**" in text
        assert heading in text


def test_a_log_without_a_clock_is_remarked_on(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    log.write_text("[1.000s][info][gc] GC(0) Pause Full (System.gc()) 8M->4M(16M) 5.000ms\nnoise\n")
    plan = PLAN.format(python=sys.executable, server=SERVER, log=log).replace(
        f"{{port}} {log}", "{port} /dev/null"
    )
    (tmp_path / "plan.yaml").write_text(plan.replace("3s", "1s").replace("expect", "#"))
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--out", "out"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    [path] = (tmp_path / "out" / "trials").glob("*/trial.json")
    notes = json.loads(path.read_text())["monitors"]["gc"]["notes"]
    assert [note["code"] for note in notes] == ["gc-log.clock", "gc-log.unread"]


SERVICE = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
public class Service {
  static volatile Object sink;
  public static void main(String[] words) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 0);
    server.setExecutor(Executors.newFixedThreadPool(
        2, task -> new Thread(task, "a-handler-of-requests-of-the-service")));
    server.createContext("/", exchange -> {
      sink = new byte[200_000];
      exchange.sendResponseHeaders(204, -1);
      exchange.close();
    });
    server.start();
  }
}
"""
JVM_PLAN = """
target:
  command:
    command: >-
      {java} -XX:NativeMemoryTracking=summary "-Xlog:gc*:file={home}/gc.log:timenanos,level,tags"
      -Dsun.net.httpserver.nodelay=true {home}/Service.java {{port}}
    url: http://127.0.0.1:{{port}}
workload: {{http: {{}}}}
load: {{clients: 2, warmup: 1s, duration: 3s}}
factors:
  heap:
    small: {{target.command.env.JAVA_TOOL_OPTIONS: -Xmx48m}}
    large: {{target.command.env.JAVA_TOOL_OPTIONS: -Xmx96m}}
repeats: 1
monitors: [target, {{jvm: {{gc_log: {home}/gc.log}}}}]
"""


def test_a_jvm_has_tables_with_levels_across(tmp_path: Path) -> None:
    (tmp_path / "Service.java").write_text(SERVICE)
    (tmp_path / "plan.yaml").write_text(JVM_PLAN.format(java=java(), home=tmp_path))
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--out", "out"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    command = [sys.executable, "-m", "loadcell", "report", "out", "--format", "md", "--lang", "en"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "out" / "report.md").read_text()
    table = text.partition("**Response times and collections**")[2].partition("**")[0]
    assert "| metric | heap = small | heap = large |" in table
    lines = {line.split("|")[1].strip(): line.split("|")[2:4] for line in table.splitlines() if "|" in line}
    small, large = (int(cell.split("/")[0]) for cell in lines["YGC/YGCT (s)"])
    assert small > 0
    assert large > 0
    assert [cell.strip() for cell in lines["errors"]] == ["0", "0"]
    assert "the GC log, which is exact" in text
    assert "%" in lines["coefficient of variation"][0]
    assert "Java Heap" in text
    page = (tmp_path / "out" / "report.html").read_text()
    assert "a-handler-of-requests-of-the-service" in page, "the busiest threads by their names in Java"
    command[-1] = "zh"
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "| 变异系数（乖离率） |" in (tmp_path / "out" / "report.md").read_text()


JVM_TARGET_PLAN = """
target:
  jvm: {{main: Service, classpath: {classes}, arguments: "{{port}}", heap: 32MiB, collector: Serial}}
workload: {{http: {{}}}}
load: {{clients: 2, warmup: 1s, duration: 2500ms}}
repeats: 1
"""


@pytest.fixture(scope="module")
def jvm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a run on a service that the target `jvm` starts."""
    home = tmp_path_factory.mktemp("jvm")
    (home / "plan.yaml").write_text(JVM_TARGET_PLAN.format(classes=classes(SERVICE)))
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--no-report", "--out", "out"]
    ended = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return home / "out"


def test_the_record_has_each_pause_in_the_log_of_the_target(jvm_run: Path) -> None:
    [log] = (jvm_run / "trials").glob("*/gc.log")
    logged = [line for line in log.read_text().splitlines() if " Pause " in line and line.endswith("ms")]
    pauses = rows(jvm_run, "gc-pauses.csv")
    assert len(pauses) > 3
    [ended_ns] = re.findall(r"\[(\d+)ns\]", logged[-1])
    last_ns = int(pauses[-1]["mono_ns"]) + float(pauses[-1]["duration_ms"]) * 1e6
    assert last_ns == pytest.approx(int(ended_ns), abs=1e6), "also the last one"


def test_collections_are_counted_up_to_the_end_of_the_measurement(jvm_run: Path) -> None:
    [path] = (jvm_run / "trials").glob("*/trial.json")
    metric = json.loads(path.read_text())["totals"]["figures"]["jvm.young_gcs"]
    samples = [(float(row["t_s"]), int(row["young_gcs"])) for row in rows(jvm_run, "jvm.csv")]
    since_s, *ends = [at_s for at_s, _ in samples]
    counted, last = 0, 0
    for (end_s, collections), begin_s in zip(samples[1:], [since_s, *ends], strict=False):
        if min(end_s, 2.5) - max(begin_s, 0) > (end_s - begin_s) / 2:
            counted, last = counted + collections, collections
    assert samples[-1][0] >= 2.5
    assert last > 0, "in the half second after the last regular sample"
    assert metric == counted


def test_a_failed_start_leaves_the_details_of_its_crash_in_the_trial(tmp_path: Path) -> None:
    plan = JVM_TARGET_PLAN.format(classes=classes(SERVICE)).replace("32MiB", "2TiB, directory: .")
    (tmp_path / "plan.yaml").write_text(plan)
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--no-report", "--out", "out"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert {path.name for path in tmp_path.iterdir()} == {"plan.yaml", "out"}
    [details] = tmp_path.glob("out/trials/*/hs_err_pid*.log")
    assert "Native memory allocation" in details.read_text()
