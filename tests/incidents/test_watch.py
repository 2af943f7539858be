"""Conditions on metrics: how they are read, when they happen, and the evidence of a real event."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jvms import classes, java, running
from loadcell.incidents.watch import MOST_GAP_S, Condition, Watch, WatchError, monitor_of, parse, sampled
from loadcell.incidents.watch_evidence import MOST_BYTES, EventDirectory

from .test_live_jvms import LEAKING


def test_conditions_are_read_with_short_names_and_units() -> None:
    condition = parse("gc.full >= 3 in 60s", has_pid=True)
    assert condition == Condition("gc.full >= 3 in 60s", "jvm", "full_gcs", ">=", 3.0, 60.0)
    assert condition.is_count
    assert parse("host.memory_available_bytes<1GiB", has_pid=False).value == 1 << 30
    assert parse("gc.full_ms > 0.5s in 2min", has_pid=True).value == 500
    assert parse("host.cpu_busy_percent >= 90%", has_pid=False) == Condition(
        "host.cpu_busy_percent >= 90%", "host", "cpu_busy_percent", ">=", 90.0
    )
    assert parse("host.disk_read_bytes_per_s > 5MB/s", has_pid=False).value == 5e6


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("host.cpu_busy_percent >= 70", 74.36666, "74%"),
        ("host.disk_read_bytes_per_s > 5MB/s", 5.2e6, "4.96 MiB/s"),
        ("gc.full_ms > 0.5s in 2min", 512.3456, "512 ms"),
        ("gc.full >= 3 in 60s", 12.0, "12"),
        ("clock.step <= -0.5", -7.2, "-7.2 s"),
    ],
)
def test_values_of_a_condition_are_written_with_their_unit(text: str, value: float, written: str) -> None:
    assert parse(text, has_pid=True).written(value) == written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gc.full", "no condition"),
        ("gc.full >= x", "no condition"),
        ("gc.full >= 3 in x", "no condition"),
        ("host.cpu_busy >= 3", "host.cpu_busy_percent"),
        ("disk.x >= 3", "no metric"),
        ("jvm.last_gc_cause == 3", "no metric"),
        ("gc.full_ms >= 3furlongs", "no value"),
        ("gc.full >= 3 in 0s", "nothing can be measured"),
        ("host.load1 > 3 in 0min", "nothing can be measured"),
    ],
)
def test_what_is_no_condition_has_a_reason(text: str, words: str) -> None:
    with pytest.raises(WatchError, match=words):
        parse(text, has_pid=True)


def test_metrics_of_processes_need_one() -> None:
    with pytest.raises(WatchError, match="of a process"):
        parse("gc.full >= 3", has_pid=False)


def events(condition: str, column: str, *samples: float | None) -> list[int]:
    """Seconds at which a condition happens."""
    watch = Watch(parse(condition, has_pid=True))
    instants = []
    for second, sample in enumerate(samples):
        rows = [] if sample is None else [{"pid": 7, column: sample}]
        if watch.take(float(second), rows) is not None:
            instants.append(second)
    return instants


def test_counts_are_added_up_over_the_window() -> None:
    assert events("gc.full >= 3 in 5s", "full_gcs", 0, 1, 0, 1, 1, 0) == [4]
    assert events("gc.full >= 3 in 3s", "full_gcs", 1, 0, 0, 1, 0, 1) == []
    assert events("gc.full >= 3 in 5s", "full_gcs", 3, 1, 1, 1, 0, 0) == [0]


def test_other_metrics_must_hold_through_the_window() -> None:
    name = "cpu_busy_percent"
    assert events("host.cpu_busy_percent >= 90 in 5s", name, 95, 95, 95, 95, 95, 95, 95) == [5]
    assert events("host.cpu_busy_percent >= 90 in 5s", name, 95, 95, 95, 70, 95, 95) == []
    assert events("host.cpu_busy_percent >= 90", name, 95, 95, 80, 95) == [0]


def test_counts_of_at_most_need_the_complete_window() -> None:
    assert events("gc.young == 0 in 5s", "young_gcs", 0, 0, 0, 0, 0, 0, 0) == [5]
    assert events("gc.full <= 1 in 5s", "full_gcs", 0, 1, 0, 0, 1, 0, 0) == [6]
    assert events("gc.full < 1 in 5s", "full_gcs", 0, 0, 1, 0, 0, 0, 0, 0) == [7]
    # once, until it has been broken
    quiet = [0.0] * 70
    assert events("gc.young == 0 in 5s", "young_gcs", *quiet, 1, *quiet) == [5, 75]


def test_a_missing_sample_begins_the_window_again() -> None:
    name = "cpu_busy_percent"
    assert events("host.cpu_busy_percent >= 90 in 5s", name, 95, 95, 95, None, 95, 95) == []
    assert events("host.cpu_busy_percent >= 90 in 3s", name, 95, None, 95, 95, 95, 95) == [5]
    assert events("gc.young == 0 in 3s", "young_gcs", 0, 0, None, 0, 0, 0, 0) == [6]
    watch = Watch(parse("host.cpu_busy_percent >= 90 in 5s", has_pid=False))
    instants = [instant for instant in (0.0, 1.0, 30.0, 31.0) if watch.take(instant, [{name: 95.0}])]
    assert instants == [], "nothing was observed in between"


def test_a_condition_that_continues_happens_once() -> None:
    assert events("host.cpu_busy_percent >= 90 in 2s", "cpu_busy_percent", *[95.0] * 500) == [2]
    # each further collection would be an event if only those since the last one counted
    assert events("gc.full >= 3 in 60s", "full_gcs", *[3.0] * 500) == [0]


def test_a_condition_happens_again_once_it_was_false_and_after_a_pause() -> None:
    name = "cpu_busy_percent"
    assert events("host.cpu_busy_percent >= 90", name, *[95, 80] * 65) == [0, 60, 120]
    assert events("host.cpu_busy_percent >= 90", name, 95, *[80] * 30, *[95] * 300) == [0, 60]
    assert events("host.cpu_busy_percent >= 90 in 2min", name, *([95] * 121 + [80]) * 3) == [120, 242, 364]
    # the total of 60 s is below 3 from 63 s on
    assert events("gc.full >= 3 in 60s", "full_gcs", *[1] * 4, *[0] * 70, 1, 1, 1) == [2, 76]


def test_a_window_of_a_second_has_two_samples() -> None:
    assert events("host.cpu_busy_percent >= 90 in 1s", "cpu_busy_percent", 95, 50, 95, 95) == [3]


def test_values_may_be_negative() -> None:
    assert parse("clock.step <= -0.5", has_pid=False).value == -0.5
    assert parse("clock.step <= -500ms", has_pid=False).value == -0.5
    assert events("clock.step <= -0.5", "clock_offset_step_s", 0, -0.6, 0) == [1]


def test_rows_and_windows_are_bounded() -> None:
    with pytest.raises(WatchError, match="at most"):
        parse("gc.full >= 3 in 30d", has_pid=True)
    watch = Watch(parse("gc.full >= 100 in 1d", has_pid=True))
    for second in range(2000):
        watch.take(float(second), [{"pid": 7, "full_gcs": 0}])
    assert len(watch.rows) == 600


def test_the_total_of_several_processes_counts() -> None:
    watch = Watch(parse("target.cpu_percent > 100", has_pid=True))
    rows = [
        {"pid": 7, "cpu_percent": 60.0},
        {"pid": 0, "cpu_percent": 120.0},
        {"pid": 8, "cpu_percent": 60.0},
    ]
    assert watch.take(1.0, rows) == 120.0
    assert watch.take(2.0, []) is None


def test_of_disks_cores_and_links_the_worst_counts() -> None:
    condition = parse("disks.util_percent >= 90", has_pid=False)
    assert (condition.monitor, condition.table, condition.metric) == ("host", "disks", "disks.util_percent")
    watch = Watch(condition)
    rows = [{"disk": "a", "util_percent": 95.0}, {"disk": "b", "util_percent": 5.0}, {"disk": "c"}]
    assert watch.take(1.0, rows) == 95.0
    assert Watch(parse("cores.cpu_busy_percent < 1", has_pid=False)).take(1.0, []) is None
    monitor = monitor_of(condition, None)
    sampled(monitor, condition, 0)
    time.sleep(0.2)
    assert all("util_percent" in row for row in sampled(monitor, condition, 0.2))
    monitor.close()


def test_the_directory_of_an_event_is_bounded(tmp_path: Path) -> None:
    event = EventDirectory(tmp_path)
    for number in range(3):
        event.write(f"{number}.txt", "x" * (MOST_BYTES // 2 + 10))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == MOST_BYTES


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "loadcell", "doctor", *words]


def test_evidence_of_full_collections_is_gathered(tmp_path: Path) -> None:
    """The condition remains true: it is one event. After the last one the end of the JVM is watched."""
    words = (
        "--watch", "gc.full >= 3 in 60s", "--most", "1", "--json", "--out", str(tmp_path / "out")
    )  # fmt: skip
    with (
        running("-Xmx24m", "-XX:+UseSerialGC", "-Dmost=1000000", source=LEAKING) as process,
        subprocess.Popen(
            command(*words, "--pid", str(process.pid)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as watching,
    ):  # fmt: skip
        assert watching.stdout is not None
        happened = json.loads(watching.stdout.readline())
        time.sleep(3)
        assert watching.poll() is None, "the JVM runs"
        process.kill()
        process.wait()
        output, errors = watching.communicate(timeout=90)
    assert watching.returncode == 1, errors
    (ended,) = map(json.loads, output.splitlines())
    assert ended["ended"] == [process.pid]
    reached, last = errors.splitlines()[-2:]
    assert reached == (
        f"limit of 1 event reached (`--most`): the watch continues for the end of the JVM {process.pid} alone"
    )
    assert last == f"the process {process.pid} has ended: the watch ends"
    assert happened["value"] >= 3
    assert "gc-time" in happened["incidents"]
    directory = Path(happened["directory"])
    assert directory.parent == tmp_path / "out"
    threads = (directory / "threads.txt").read_text()
    assert '"main"' in threads
    assert "@db/x" in threads
    assert "hunter2" not in threads
    assert f"{process.pid} " in (directory / "processes.txt").read_text()
    assert "full_gcs" in (directory / "samples.csv").read_text().splitlines()[0]
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    kinds = {item["kind"] for item in json.loads((directory / "examination.json").read_text())["subjects"]}
    assert {"jvm", "memory", "mounts"} <= kinds


def test_it_ends_by_its_limits_by_ctrl_c_and_with_the_process(tmp_path: Path) -> None:
    never = ("--watch", "host.load1 > 100000")
    done = subprocess.run(
        command(*never, "--for", "1s"), capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "limit of 1 s reached (`--for`): the watch ends"
    always = ("--watch", "host.load1 >= 0", "--most", "1", "--out", str(tmp_path))
    done = subprocess.run(command(*always), capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.count("see")) == (1, 1)
    assert done.stderr.splitlines()[-1] == "limit of 1 event reached (`--most`): the watch ends"
    done = subprocess.run(
        command(*never, "--for", "1s", "-q"), capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with subprocess.Popen(command(*never), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "watching" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "stopped after 0 events: the watch ends\n"
        assert process.wait(timeout=10) == 0
    sleeper = subprocess.Popen(["sleep", "100"])
    begin = time.monotonic()
    words = command("--watch", "target.cpu_percent > 90000", "--pid", str(sleeper.pid))
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        process.stderr.readline()
        sleeper.kill()
        sleeper.wait()
        assert "has ended" in process.stderr.readline()
        assert process.wait(timeout=10) == 0
    assert time.monotonic() - begin < 20


#: Waits for a file, then retains all that it allocates.
EXHAUSTING = """
import java.util.ArrayList;
public class Exhausting {
  public static void main(String[] words) throws Exception {
    System.out.println("ready");
    System.out.flush();
    while (!new java.io.File("go").exists()) Thread.sleep(50);
    ArrayList<byte[]> all = new ArrayList<>();
    while (true) all.add(new byte[100_000]);
  }
}
"""


@pytest.mark.parametrize("is_child", [False, True], ids=["itself", "child"])
def test_a_jvm_that_dies_while_it_is_watched_leaves_its_evidence(tmp_path: Path, is_child: bool) -> None:
    """Its files are relative to its directory, which nothing states when it has ended."""
    home = tmp_path / "service"
    home.mkdir()
    java_words = [
        java(), "-Xmx24m", "-Xlog:gc*:file=gc.log", "-XX:+HeapDumpOnOutOfMemoryError",
        "-XX:+CrashOnOutOfMemoryError", "-XX:-CreateCoredumpOnCrash", "-cp", str(classes(EXHAUSTING)),
        "Exhausting",
    ]  # fmt: skip
    words = ["sh", "-c", '"$@"; sleep 60', "sh", *java_words] if is_child else java_words
    with subprocess.Popen(
        words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        words = command(
            "--watch", "gc.full >= 100000", "--pid", str(process.pid), "--json", "--out", str(tmp_path)
        )  # fmt: skip
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watching:  # fmt: skip
            assert watching.stdout is not None
            assert watching.stderr is not None
            assert "watching" in watching.stderr.readline()
            time.sleep(5)
            (home / "go").touch()
            event = json.loads(watching.stdout.readline())
            if is_child:
                assert watching.poll() is None, "the process of the call lives"
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output, errors = watching.communicate(timeout=60)
    assert (watching.returncode, output) == (1, "")
    assert "has ended" in errors
    assert "Traceback" not in errors
    (pid,) = event["ended"]
    assert (pid == process.pid) != is_child
    assert {"heap-exhaustion", "full-gc-spiral", "to-space-exhausted"} & set(event["incidents"])
    assert event["crash_reports"] == [str(home / f"hs_err_pid{pid}.log")]
    assert event["heap_dumps"] == [str(home / f"java_pid{pid}.hprof")]
    directory = Path(event["directory"])
    assert "Pause Full" in (directory / f"gc-{pid}.log").read_text()
    assert "OutOfMemoryError" in (directory / f"hs_err-{pid}.log").read_text()
    summary = (directory / f"ended-{pid}.txt").read_text()
    assert f"heap dump: {home}/java_pid{pid}.hprof, " in summary
    assert "Exhausting" in summary
    assert (directory / "samples.csv").read_text().count("\n") > 1
    assert not (directory / "threads.txt").exists()
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_jvm_that_ends_regularly_is_no_failure(tmp_path: Path) -> None:
    with running() as process:
        words = command("--watch", "gc.full >= 9", "--pid", str(process.pid), "--out", str(tmp_path))
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watching:  # fmt: skip
            assert watching.stderr is not None
            assert f"events are written to {tmp_path}" in watching.stderr.readline()
            time.sleep(1)
            process.terminate()
            process.wait()
            output, errors = watching.communicate(timeout=60)
    assert watching.returncode == 0
    assert f"the JVM {process.pid} has ended" in output, errors


def watched_shell(home: Path, script: str, *words: str) -> list[Any]:
    """Lines of JSON of the watch of a shell that starts JVMs, until the shell or the watch ends."""
    waiting = f"while [ ! -e go ]; do sleep 0.1; done; {script}"
    shell = ["sh", "-c", waiting, "sh", java(), str(classes(SLEEPING))]
    with subprocess.Popen(shell, cwd=home, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        watch = command(*words, "--pid", str(process.pid), "--out", str(home / "out"))
        with subprocess.Popen(
            watch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watching:  # fmt: skip
            assert watching.stderr is not None
            assert "watching" in watching.stderr.readline()
            (home / "go").touch()
            output, errors = watching.communicate(timeout=120)
        assert "Traceback" not in errors
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return [json.loads(line) if line.startswith("{") else line for line in output.splitlines()]


#: Lives for as many milliseconds.
SLEEPING = """
public class Sleeping {
  public static void main(String[] words) throws Exception { Thread.sleep(Integer.parseInt(words[0])); }
}
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_directories_of_jvms_that_end_are_bounded(tmp_path: Path, as_json: bool) -> None:
    script = 'for i in 1 2 3; do "$1" -Xmx16m -cp "$2" Sleeping 4000; done; sleep 6'
    words = ("--watch", "host.load1 > 100000", "--most", "1", *(["--json"] if as_json else []))
    last = watched_shell(tmp_path, script, *words)[-1]
    assert len(list((tmp_path / "out").iterdir())) == 1
    if as_json:
        assert last["further_ended"] == 2
    else:
        assert last == "2 further JVMs have ended: evidence was gathered of the first 1"


def test_incidents_of_other_jvms_are_apart_from_those_of_one_that_has_ended(tmp_path: Path) -> None:
    script = '"$1" -Xmx16m -cp "$2" Sleeping 4000; sleep 6'
    with running("-Xmx24m", "-XX:+UseSerialGC", "-Dmost=1000000", source=LEAKING):
        [ended] = watched_shell(tmp_path, script, "--watch", "host.load1 > 100000", "--json")
    assert ended["incidents"] == []
    assert "gc-time" in ended["host_incidents"]


def test_windows_of_a_condition_go_on_while_evidence_is_gathered(tmp_path: Path) -> None:
    """A gap between samples would begin them again."""
    script = '"$1" -Xmx16m -cp "$2" Sleeping 4000; sleep 60'
    begin = time.monotonic()
    words = ("--watch", "host.load1 >= 0 in 8s", "--most", "1", "--json")
    ended, event = watched_shell(tmp_path, script, *words)
    assert "ended" in ended
    assert event["value"] >= 0
    with (Path(event["directory"]) / "samples.csv").open() as rows:
        instants = [float(row["t_s"]) for row in csv.DictReader(rows)]
    gaps = [after - before for before, after in pairwise(instants)]
    assert max(gaps) < MOST_GAP_S, f"{gaps}, {time.monotonic() - begin:.1f} s"


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_place_where_no_event_can_be_written_is_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    begin = time.monotonic()
    words = command("--watch", "host.load1 > 100000", "--for", "60s", "--out", str(tmp_path / name))
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 2
    assert "events cannot be written" in " ".join(done.stderr.split())
    assert time.monotonic() - begin < 40
