"""Resources of a trial: against the clocks of real processes, on recorded machines, and in a run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from execution.live import living, loadcell, measured, until
from linux import trees
from loadcell.execution.resource_use import MOST_READ, ResourceWatch
from loadcell.linux import process_counters
from loadcell.linux.procfs import children, process_stat, read_small
from loadcell.model.resource_metrics import METRICS, metric_values
from loadcell.model.resources import ControlGroupUse
from loadcell.store.read import read_run
from monitors.proc_tree import ProcTree

BUSY = """
import sys, threading, time
def work():
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("burner")
    while True: pass
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""


@contextmanager
def child(program: str, *arguments: str) -> Iterator[int]:
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def ticks(pid: int) -> int:
    stat = process_stat(Path("/"), pid)
    assert stat is not None
    return stat.user + stat.system


def test_cpu_time_is_that_of_the_processes_own_clock() -> None:
    with child(BUSY) as pid:
        watch = ResourceWatch(Path("/"), client=lambda: [os.getpid()], target=lambda: [pid])
        before = ticks(pid)
        watch.begin()
        until(lambda: ticks(pid) - before >= 150, "1.5 s of CPU time")
        watch.look()
        watch.end()
        used_s = (ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.cores * used.window_s == pytest.approx(used_s, rel=0.02)
    thread = used.target.busiest_thread
    assert thread is not None
    assert thread.name == "burner"
    assert thread.cpu == pytest.approx(used.target.cores, rel=0.1, abs=0.05)
    assert used.target.threads == 2
    assert (used.target.memory_bytes or 0) > 1e6
    assert used.host.cpu is not None
    assert used.host.cpu.busy * used.host.cores >= 0.8 * used.target.cores


#: The parent does not wait for its child, which works until a file is there.
FORKING = """
import os, sys, time
pid = os.fork()
while pid == 0 and not os.path.exists(sys.argv[1]): pass
if pid == 0: os._exit(0)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_server_whose_processes_end_with_their_sessions_keeps_their_use(tmp_path: Path) -> None:
    with child(FORKING, str(tmp_path / "end")) as pid:
        [session] = children(Path("/"), pid)
        watch = ResourceWatch(Path("/"), client=list, target=lambda: [pid])
        watch.begin()
        first = ticks(session)
        until(lambda: ticks(session) - first >= 20, "0.2 s of CPU time")
        watch._due_ns = 0
        watch.look()
        (tmp_path / "end").touch()
        until(lambda: not living([session]), "the session's end")
        watch.end()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.cores * used.window_s >= 0.19
    assert used.target.processes == 2


def test_a_server_that_is_killed_and_started_again_keeps_its_use() -> None:
    with child(BUSY) as first, child(BUSY) as second:
        roots = [first]
        watch = ResourceWatch(Path("/"), client=list, target=lambda: roots)
        before = ticks(first)
        watch.begin()
        until(lambda: ticks(first) - before >= 40, "0.4 s of CPU time")
        watch._due_ns = 0
        watch.look()
        used_s = (ticks(first) - before) / os.sysconf("SC_CLK_TCK")
        os.kill(first, signal.SIGKILL)
        until(lambda: not living([first]), "its end")
        roots[:] = [second]
        watch.end()
        used_s += ticks(second) / os.sysconf("SC_CLK_TCK")
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.cores * used.window_s == pytest.approx(used_s, rel=0.05, abs=0.03)
    assert used.target.processes == 1


def recorded(root: Path, at: int) -> None:
    """A machine with 1,024 cores, 300 disks and no PSI, at one of two instants."""
    proc = root / "proc"
    cores = "".join(f"cpu{core} {100 * at} 0 0 {100 * at} 0 0 0 0 0 0\n" for core in range(1024))
    proc.mkdir(exist_ok=True)
    (proc / "stat").write_text(f"cpu {102400 * at} 0 0 {102400 * at} 0 0 0 0 0 0\n{cores}ctxt {5000 * at}\n")
    (proc / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 400 kB\n")
    disks = []
    for disk in range(300):
        (root / "sys" / "block" / f"sd{disk}").mkdir(parents=True, exist_ok=True)
        busy = (1 << 32) - 500 + 400 * at if disk == 7 else disk * at  # wraps
        disks.append(
            f"8 {disk} sd{disk} 0 0 0 0 {10 * at} 0 {80 * at} {50 * at} 0 {busy % (1 << 32)} {50 * at}"
        )
    (proc / "diskstats").write_text("\n".join(disks) + "\n")


def test_a_large_machine_has_a_small_record(tmp_path: Path) -> None:
    instants = iter((0, 0, 10**9, 10**9, 10**9, 2 * 10**9))
    watch = ResourceWatch(tmp_path, client=list, now_ns=lambda: next(instants, 2 * 10**9))
    recorded(tmp_path, 1)
    watch.begin()
    recorded(tmp_path, 2)
    watch.end()
    used = watch.resources()
    assert used is not None
    assert (used.host.cores, used.host.cpu.busy if used.host.cpu else None) == (1024, 0.5)
    assert used.host.pressure is None
    assert used.host.context_switches_per_s == pytest.approx(5000 / used.window_s)
    assert len(used.disks) == 8
    assert used.disk is not None
    assert used.disk.device == "sd7", "its counter wrapped at 32 bits"
    assert used.disk.utilisation == pytest.approx(0.4 / used.window_s)
    assert used.disk.write_await_ms == 5
    assert used.disk.write_bytes_per_s == pytest.approx(80 * 512 / used.window_s)
    assert (used.target, used.client) == (None, None)


def test_counters_that_are_reset_count_as_nothing(tmp_path: Path) -> None:
    watch = ResourceWatch(tmp_path, client=list)
    recorded(tmp_path, 3)
    watch.begin()
    recorded(tmp_path, 1)
    watch.end()
    values = metric_values(watch.resources())
    assert values["disk.write"] == values["host.context_switches"] == 0


def test_a_process_that_hides_its_io_has_none(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.process(50, 1)
    watch = ResourceWatch(tree.root, client=list, target=lambda: [50])
    watch.begin()
    (tree.root / "proc" / "50" / "io").unlink(missing_ok=True)
    watch.end()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert (used.target.read_bytes_per_s, used.target.write_bytes_per_s) == (None, None)


def test_of_thousands_of_threads_some_are_read_and_the_busiest_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = ProcTree(tmp_path)
    tree.process(50, 1, threads=MOST_READ + 500)
    for tid in range(50, 50 + MOST_READ + 500):
        tree.thread(50, tid, name=f"worker {tid}", run_ns=10**9)
    files: list[str] = []

    def read(path: Path | str) -> str:
        files.append(Path(path).name)
        return read_small(path)

    monkeypatch.setattr(process_counters, "read_small", read)
    watch = ResourceWatch(tree.root, client=list, target=lambda: [50])
    watch.begin()
    counts = {name: files.count(name) for name in set(files)}
    assert (counts["schedstat"], counts.get("comm", 0), counts["status"]) == (MOST_READ, 0, 2)
    read_tids = sorted(watch._begun.target.threads[50, 100].times) if watch._begun else []
    for tid in read_tids[:7]:
        tree.thread(50, tid, name=f"worker {tid}", run_ns=10**9 + tid * 1000)
    shutil.rmtree(tree.root / f"proc/50/task/{read_tids[-1]}")  # one that was not read takes its place
    watch._due_ns = 0
    watch.look()
    shutil.rmtree(tree.root / f"proc/50/task/{read_tids[6]}")
    watch.end()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.voluntary_switches_per_s is None
    assert [(thread.tid, thread.name) for thread in used.target.busiest_threads] == [
        (tid, f"worker {tid}") for tid in read_tids[6:1:-1]
    ]


def test_threads_that_end_before_the_last_look_keep_their_use(tmp_path: Path) -> None:
    """The client ends its threads with the load; the end is known here some milliseconds later."""
    tree = ProcTree(tmp_path)
    tree.process(50, 1, threads=2)
    tree.thread(50, 50, name="python", run_ns=10**6)
    tree.thread(50, 51, name="load-0", run_ns=10**9)
    watch = ResourceWatch(tree.root, client=lambda: [50])
    watch.begin()
    tree.thread(50, 51, name="load-0", run_ns=2 * 10**9)
    watch._due_ns = 0
    watch.look()
    shutil.rmtree(tree.root / "proc/50/task/51")
    watch._due_ns = 0
    watch.look()
    watch.end()
    used = watch.resources()
    assert used is not None
    assert used.client is not None
    assert [thread.name for thread in used.client.busiest_threads] == ["load-0"]


def test_a_target_whose_processes_are_hidden_has_no_use(tmp_path: Path) -> None:
    """As with hidepid=2: directories of other users' processes do not exist."""
    watch = ResourceWatch(tmp_path, client=lambda: [51], target=lambda: [50])
    recorded(tmp_path, 1)
    watch.begin()
    watch._due_ns = 0
    watch.look()
    recorded(tmp_path, 2)
    watch.end()
    used = watch.resources()
    assert used is not None
    assert (used.target, used.client) == (None, None)
    assert used.host.cores == 1024


def test_limits_of_the_control_group_and_their_effect_in_the_window(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.process(50, 1)
    group = "sys/fs/cgroup/server"
    trees.write(tmp_path, "proc/50/cgroup", "0::/server\n")
    trees.write(tmp_path, f"{group}/cpu.max", "200000 100000")
    trees.write(tmp_path, f"{group}/memory.max", "4096000")
    trees.write(tmp_path, f"{group}/cpu.stat", "nr_periods 100\nnr_throttled 90\n")
    trees.write(tmp_path, f"{group}/memory.events", "high 5\nmax 7\noom 0\n")
    watch = ResourceWatch(tmp_path, client=list, target=lambda: [50])
    watch.begin()
    trees.write(tmp_path, f"{group}/cpu.stat", "nr_periods 110\nnr_throttled 94\n")
    trees.write(tmp_path, f"{group}/memory.events", "high 5\nmax 9\noom 1\n")
    watch.end()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.control_group is not None
    assert used.target.control_group.identity
    assert replace(used.target.control_group, identity=None) == ControlGroupUse(2.0, 0.4, 4096000, 0, 2, 1)


#: Two thousand children, each of which works and is waited for.
SHORT_LIVED = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2000):
    pid = os.fork()
    if pid == 0:
        sum(range(2000))
        os._exit(0)
    os.waitpid(pid, 0)
times = os.times()
print(times.user + times.system + times.children_user + times.children_system, flush=True)
sys.stdin.readline()
"""


def test_processes_that_come_and_go_by_the_thousand_are_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SHORT_LIVED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        started = process_stat(Path("/"), process.pid)
        assert started is not None
        watch = ResourceWatch(Path("/"), client=list, target=lambda: [process.pid])
        watch.begin()
        process.stdin.write("go\n")
        process.stdin.flush()
        used_s = float(process.stdout.readline()) - (started.user + started.system) / os.sysconf("SC_CLK_TCK")
        watch.end()
        process.stdin.write("end\n")
        process.stdin.flush()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.target.cores * used.window_s == pytest.approx(used_s, rel=0.02, abs=0.03)


@pytest.mark.parametrize(("second", "is_sample"), [(0.9, False), (1.0, True), (2.0, True), (2.5, False)])
def test_largest_samples_need_no_monitor_and_one_to_two_seconds(second: float, is_sample: bool) -> None:
    now_ns = 0
    with child(BUSY) as pid:
        watch = ResourceWatch(
            Path("/"), client=lambda: [os.getpid()], target=lambda: [pid], now_ns=lambda: now_ns
        )
        watch.begin()
        first = ticks(pid)
        until(lambda: ticks(pid) - first >= 20, "0.2 s of CPU time")
        now_ns, watch._due_ns = int(second * 1e9), 0
        watch.look()
        now_ns += 1_000_000
        watch.end()
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert used.client is not None
    assert (used.target.cores_max is not None) == is_sample
    assert (used.client.cores_max is not None) == is_sample
    assert (used.host.cpu_max is not None) == is_sample
    if is_sample:
        assert (used.target.cores_max or 0) >= used.target.cores >= 0.19 / second
        assert (used.host.cpu_max or 0) >= (used.host.cpu.busy if used.host.cpu else 1)
    assert (used.host.memory_available_min_bytes or 0) > 0
    assert (used.target.memory_max_bytes or 0) > 1e6


def test_samples_of_monitors_count_within_the_window_only() -> None:
    now_ns = 10 * 10**9
    watch = ResourceWatch(Path("/"), client=list, target=lambda: [os.getpid()], now_ns=lambda: now_ns)
    watch.begin()
    for second, cores in ((10.5, 9000.0), (11, 700.0), (12, 500.0), (13.5, 8000.0)):
        total = {"pid": 0, "cpu_percent": cores, "memory_bytes": int(cores) << 30}
        if second > 13:
            now_ns = 13 * 10**9
            watch.end()
        watch.monitored("target", [{"mono_ns": int(second * 1e9), **total}])
        watch.monitored("host", [{"mono_ns": int(second * 1e9), "cpu_busy_percent": cores / 100}])
    used = watch.resources()
    assert used is not None
    assert used.target is not None
    assert (used.target.cores_max, used.target.memory_peak_bytes) == (7.0, 700 << 30)


PLAN = """
target: {redis: {server: local}}
workload: {kv: {mix: {get: 1}, keys: 1000}}
load: {clients: 2, warmup: 0s, duration: 800ms, interval: 200ms}
repeats: 1
monitors: []
expect: [host.cpu > 0%, target.memory < 1TB, target.cpu > 1%, "disk.write < 100TB/s", client.cores > 0]
"""


def test_a_trial_of_less_than_a_second_without_monitors_has_resources(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    result = measured(tmp_path, "plan.yaml", "--no-report")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"Target (cores| *Generator)", result.stdout), result.stdout
    [trial] = read_run(tmp_path / "run").trials
    used = trial.resources
    assert used is not None
    assert used.target is not None
    # the window ends after the clients, later on a busy machine
    assert 0.6 < used.window_s < sum(phase.duration_s or 0.0 for phase in trial.phases)
    assert used.target.cores > 0.01
    shown = loadcell(tmp_path, "report", "run", "--json")
    resources = json.loads(shown.stdout)["resources"]
    assert resources["baseline"]["target.cpu"] == pytest.approx(used.target.cores)
    query = loadcell(tmp_path, "query", 'SELECT "target.memory" AS size FROM trials', "run", "--json")
    [[size]] = [list(row.values()) for row in json.loads(query.stdout)]
    assert size == used.target.memory_max_bytes


def test_every_metric_has_a_path_in_the_record() -> None:
    watch = ResourceWatch(Path("/"), client=lambda: [os.getpid()], target=lambda: [os.getpid()])
    watch.begin()
    watch.end()
    used = watch.resources()
    assert used is not None
    for metric in METRICS:
        metric.value(used)
