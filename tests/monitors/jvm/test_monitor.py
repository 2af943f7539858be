"""The monitor of JVMs on real ones: its values are those of jstat, and what it cannot read it names."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from jvms import COLLECTORS, jstat, running
from linux.test_hsperfdata import file_of
from loadcell.linux.java_processes import JavaProcess, Lack, inspect
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.jvm import JvmMonitor, JvmOptions
from loadcell.monitors.jvm.counters import JVM

#: Columns of jstat -gcutil and -gccapacity, without the counters.
SHARES = {
    "S0": "survivor0_percent", "S1": "survivor1_percent", "E": "eden_percent", "O": "old_percent",
    "M": "metaspace_percent", "CCS": "class_space_percent",
}  # fmt: skip
SIZES_KIB = {
    "NGCMN": "young_capacity_min_bytes", "NGCMX": "young_capacity_max_bytes", "NGC": "young_capacity_bytes",
    "S0C": "survivor0_capacity_bytes", "S1C": "survivor1_capacity_bytes", "EC": "eden_capacity_bytes",
    "OGCMN": "old_capacity_min_bytes", "OGCMX": "old_capacity_max_bytes",
    "OGC": "old_generation_capacity_bytes", "OC": "old_capacity_bytes",
    "MCMN": "metaspace_capacity_min_bytes", "MCMX": "metaspace_capacity_max_bytes",
    "MC": "metaspace_capacity_bytes", "CCSMN": "class_space_capacity_min_bytes",
    "CCSMX": "class_space_capacity_max_bytes", "CCSC": "class_space_capacity_bytes",
}  # fmt: skip
#: CPU time of a sample that parses no names, also on a busy machine; parsing the whole file takes 175.
MOST_US = 100


@contextmanager
def watching(pid: int, options: JvmOptions | None = None, root: Path = Path("/")) -> Iterator[JvmMonitor]:
    """A monitor that has its base."""
    context = MonitorContext(roots=lambda: [pid])
    monitor = JvmMonitor(options or JvmOptions(), context, root=root)
    assert monitor.sample(0) == []
    try:
        yield monitor
    finally:
        monitor.close()


def stopped(pid: int) -> None:
    """Stop a JVM, so that nothing changes between two readings."""
    os.kill(pid, signal.SIGSTOP)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)


def same_as_jstat(row: Row, pid: int) -> None:
    """All columns that both have; jstat rounds to two decimals and to 0.1 KiB, and has `-` for no value."""
    for option, columns, unit, digits in (("-gcutil", SHARES, 1, 2), ("-gccapacity", SIZES_KIB, 1024, 1)):
        printed = jstat(option, pid)
        for name, column in columns.items():
            if printed[name] == "-" or row[column] is None:
                assert (row[column] or 0) == 0 or printed[name] != "-", name
                continue
            assert row[column] / unit == pytest.approx(float(printed[name]), abs=0.51 * 10**-digits), name


@pytest.mark.parametrize("collector", COLLECTORS)
def test_every_collector_has_the_values_of_jstat(collector: str) -> None:
    version, option = COLLECTORS[collector]
    with running(option, "-Xmx96m", version=version) as jvm, watching(jvm.pid) as monitor:
        stopped(jvm.pid)
        before = jstat("-gcutil", jvm.pid)
        monitor.sample(1.0)
        os.kill(jvm.pid, signal.SIGCONT)
        time.sleep(0.8)
        stopped(jvm.pid)
        [row] = monitor.sample(1.0)
        same_as_jstat(row, jvm.pid)
        now = jstat("-gcutil", jvm.pid)
        for count, seconds, counted, timed in (
            ("YGC", "YGCT", "young_gcs", "young_gc_ms"),
            ("FGC", "FGCT", "full_gcs", "full_gc_ms"),
            ("CGC", "CGCT", "concurrent_gcs", "concurrent_gc_ms"),
        ):
            if "-" in (now[count], before[count]):
                assert row[counted] is None
                continue
            assert row[counted] == int(now[count]) - int(before[count])
            assert row[timed] / 1e3 == pytest.approx(float(now[seconds]) - float(before[seconds]), abs=0.0011)
        assert sum(row[column] or 0 for column in ("young_gcs", "full_gcs", "concurrent_gcs")) > 0
        # while a collection runs, its cause is the present one
        assert {row["last_gc_cause"], row["gc_cause"]} - {"", "No GC"} != set()
        assert set(row) == set(JVM.columns)


@pytest.mark.parametrize("version", [11, 21, 25])
def test_other_versions_have_the_values_of_jstat(version: int) -> None:
    with running("-Xmx96m", version=version) as jvm, watching(jvm.pid) as monitor:
        time.sleep(0.5)
        stopped(jvm.pid)
        [row] = monitor.sample(1.0)
        same_as_jstat(row, jvm.pid)
        assert row["young_gcs"] > 0
        assert row["safepoint_ms"] > 0
        loaded = jstat("-class", jvm.pid)
        assert row["classes"] == int(loaded["Loaded"]) - int(loaded["Unloaded"])
        assert row["threads"] >= 2


def test_threads_have_their_whole_names_and_native_memory_its_areas() -> None:
    options = "-Xmx64m", "-XX:NativeMemoryTracking=summary"
    with running(*options) as jvm, watching(jvm.pid) as monitor:
        monitor.finish(1.0)
        further = monitor.further_rows()
        assert monitor.remarks() == []
        names = {row["java_name"]: row for row in further["threads"]}
        assert names["a-name-of-more-than-fifteen-characters"]["name"] == "a-name-of-more-"
        assert Path(f"/proc/{jvm.pid}/task/{names['main']['tid']}").exists()
        areas = {row["area"]: row["committed_bytes"] for row in further["native-memory"]}
        assert areas["Java Heap"] > 1 << 20
        assert areas["Total"] == pytest.approx(
            sum(size for area, size in areas.items() if area != "Total"), rel=0.01
        )
        assert monitor.further_rows() == {}, "once"


def test_no_command_is_sent_to_a_jvm_that_takes_none() -> None:
    with running("-Xmx64m", "-XX:+DisableAttachMechanism") as jvm, watching(jvm.pid) as monitor:
        monitor.finish(1.0)
        assert [message.code for message, _ in monitor.remarks()] == ["jvm-monitor.no-answer"]
        time.sleep(0.2)
        jvm.kill()
        assert jvm.stdout is not None
        assert "Full thread dump" not in jvm.stdout.read()


def test_no_command_is_sent_that_is_not_wanted() -> None:
    with running("-Xmx64m") as jvm, watching(jvm.pid, JvmOptions(commands=False)) as monitor:
        assert monitor.finish(1.0) != []
        assert (monitor.further_rows(), monitor.remarks()) == ({}, [])


def test_a_jvm_without_a_handler_of_the_signal_lives_on() -> None:
    with running("-Xmx64m", "-Xrs") as jvm, watching(jvm.pid) as monitor:
        monitor.finish(1.0)
        assert len(monitor.further_rows()["threads"]) > 5, "it has the socket from its start"
        time.sleep(0.2)
        assert jvm.poll() is None


def test_a_sample_costs_little() -> None:
    with running("-Xmx64m") as jvm, watching(jvm.pid) as monitor:
        costs = []
        for _ in range(60):
            began = time.thread_time_ns()
            for _ in range(50):
                monitor.sample(1.0)
                monitor.further_rows()
            costs.append((time.thread_time_ns() - began) / 50 / 1e3)
        assert min(costs) <= MOST_US, "parsing the whole file takes longer, also on a quiet machine"


def test_the_jvm_that_replaces_another_has_a_new_base() -> None:
    pids: list[int] = []
    monitor = JvmMonitor(JvmOptions(commands=False), MonitorContext(roots=lambda: pids))
    with running("-Xmx64m") as first:
        pids[:] = [first.pid]
        monitor.sample(0)
        assert len(monitor.sample(1.0)) == 1
    with running("-Xmx64m") as second:
        pids[:] = [second.pid]
        assert monitor.sample(1.0) == [], "the end of the first"
        assert monitor.sample(1.0) == [], "the base of the second"
        [row] = monitor.sample(1.0)
        assert row["pid"] == second.pid
        assert row["young_gcs"] < 100
    assert monitor.remarks() == []
    monitor.close()


def test_of_two_jvms_the_larger_is_sampled() -> None:
    with running("-Xmx32m") as small, running("-Xmx256m", "-Dretained=120") as large:
        time.sleep(1.0)
        context = MonitorContext(roots=lambda: [small.pid, large.pid])
        monitor = JvmMonitor(JvmOptions(), context)
        monitor.sample(0)
        [row] = monitor.sample(1.0)
        assert row["pid"] == large.pid
        [(message, _)] = monitor.remarks()
        assert message.plain_arguments == {"pid": large.pid, "count": 1}
        monitor.close()


def test_a_target_without_a_jvm_has_no_rows() -> None:
    with watching(os.getpid()) as monitor:
        assert monitor.sample(1.0) == []
        assert [message.code for message, _ in monitor.remarks()] == ["jvm-monitor.no-jvm"]


@pytest.mark.parametrize("option", ["-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"])
def test_a_jvm_without_counters_is_unavailable(option: str) -> None:
    with running("-Xmx64m", option) as jvm, watching(jvm.pid) as monitor:
        assert monitor.sample(1.0) == []
        assert monitor.finish(1.0) == []
        assert [message.code for message, _ in monitor.remarks()] == ["jvm-monitor.off"]


def test_the_file_of_an_earlier_process_with_this_id_is_not_read() -> None:
    with running("-Xmx64m", "-XX:-UsePerfData") as jvm:
        stale = Path(f"/tmp/hsperfdata_loadcell-test/{jvm.pid}")
        stale.parent.mkdir(exist_ok=True)
        stale.write_bytes(file_of({"sun.gc.collector.0.invocations": 99}))
        try:
            with watching(jvm.pid) as monitor:
                assert monitor.sample(1.0) == []
                assert [message.code for message, _ in monitor.remarks()] == ["jvm-monitor.stale"]
        finally:
            shutil.rmtree(stale.parent)


def test_another_process_that_got_the_id_is_not_taken_for_the_jvm() -> None:
    with running("-Xmx64m") as jvm, watching(jvm.pid) as monitor:
        assert len(monitor.sample(1.0)) == 1
        jvm.kill()
        jvm.wait()
        assert monitor.sample(1.0) == [], "files of /proc belong to the process that has ended"


def test_a_file_of_counters_that_was_removed() -> None:
    with running("-Xmx64m") as jvm:
        process = inspect(jvm.pid)
        assert process is not None
        Path(process.path).unlink()
        again = inspect(jvm.pid)
        # whoever may follow the mappings of other processes (CAP_CHECKPOINT_RESTORE) reads it on
        assert again is not None
        assert again.lack is Lack.REMOVED or "map_files" in again.path


def as_nobody(pid: int) -> JavaProcess | None:
    """Inspect a process without the rights of root; to be run in a fork that ends afterwards."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    return inspect(pid)


def test_the_jvm_of_another_user_is_named_as_such() -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with running("-Xmx64m") as jvm:
        assert inspect(jvm.pid) != JavaProcess(jvm.pid, lack=Lack.FOREIGN), "root may read it"
        # a fork has all modules loaded: another user might not be allowed to read the interpreter
        with get_context("fork").Pool(1) as fork:
            assert fork.apply(as_nobody, (jvm.pid,)) == JavaProcess(jvm.pid, lack=Lack.FOREIGN)


@pytest.mark.parametrize(("content", "code"), [
    (file_of({"a": 1}, version=(3, 0)), "jvm-monitor.version"),
    (b"something else", "jvm-monitor.file"),
    (file_of({"sun.gc.collector.0.invocations": 1}), "jvm-monitor.file"),
])  # fmt: skip
def test_unknown_formats(tmp_path: Path, content: bytes, code: str) -> None:
    root = recorded(tmp_path, 40, "/tmp/hsperfdata_me/40", content)
    with watching(40, root=root) as monitor:
        assert monitor.sample(1.0) == []
        assert [message.code for message, _ in monitor.remarks()] == [code]


def test_in_a_container_the_file_has_the_id_of_its_namespace(tmp_path: Path) -> None:
    root = recorded(tmp_path, 40, "/tmp/hsperfdata_app/1", b"")
    owners = frozenset({0, os.getuid()})
    assert inspect(40, root) == JavaProcess(40, f"{root}/proc/40/root/tmp/hsperfdata_app/1", owners=owners)


def test_a_fifo_in_place_of_the_counters_is_not_read(tmp_path: Path) -> None:
    root = recorded(tmp_path, 40, "/tmp/hsperfdata_me/40", b"")
    file = root / "proc/40/root/tmp/hsperfdata_me/40"
    file.unlink()
    os.mkfifo(file)
    assert inspect(40, root) == JavaProcess(40, lack=Lack.FOREIGN)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes a pid and mount namespace")
def test_a_jvm_in_separate_namespaces() -> None:
    unshare = ("unshare", "--pid", "--fork", "--mount", "--kill-child", "--mount-proc", "sh", "-c",
           'mount -t tmpfs none /tmp && exec "$@"', "sh")  # fmt: skip
    with running("-Xmx64m", prefix=unshare) as outer, watching(outer.pid) as monitor:
        [row] = monitor.sample(1.0)
        assert row["pid"] != outer.pid
        monitor.finish(1.0)
        assert "main" in {row["java_name"] for row in monitor.further_rows()["threads"]}


def recorded(tmp_path: Path, pid: int, path: str, content: bytes) -> Path:
    """A tree with /proc of a JVM that maps `path` within its root."""
    home = tmp_path / "proc" / str(pid)
    inside = home / "root" / path.lstrip("/")
    inside.parent.mkdir(parents=True)
    inside.write_bytes(content)
    (home / "maps").write_text(
        f"7f00-7f08 rw-s 00000000 08:01 1234    {path}\n7f10-7f20 r-xp 0 08:01 1 /x/libjvm.so\n"
    )
    (home / "status").write_text(
        f"Name:\tjava\nUid:\t1\t{os.getuid()}\t1\t1\nNSpid:\t{pid}\t{Path(path).name}\n"
    )
    (home / "statm").write_text("100 50 1 1 1 1 1\n")
    (home / "stat").write_text(f"{pid} (java) S 1 {' '.join(['1'] * 48)}\n")
    return tmp_path


def test_metrics_are_of_samples_that_are_mostly_in_the_measurement() -> None:
    began: list[int] = []
    ended: list[int] = []
    with running("-Xmx64m", "-Drate=300") as jvm:
        context = MonitorContext(
            roots=lambda: [jvm.pid],
            measuring=lambda: bool(began) and not ended,
            measuring_since_ns=lambda: began[0] if began else None,
            measured_until_ns=lambda: ended[0] if ended else None,
        )
        monitor = JvmMonitor(JvmOptions(commands=False), context)
        monitor.sample(0)
        time.sleep(0.3)
        [before] = monitor.sample(0.3)
        began.append(time.monotonic_ns())
        assert len(monitor.sample(1.0)) == 1
        time.sleep(0.6)
        [second] = monitor.sample(0.6)
        assert before["young_gcs"] > 0
        assert monitor.metrics()["jvm.young_gcs"] == second["young_gcs"]
        assert monitor.metrics()["jvm.full_gc_time"] == second["full_gc_ms"]
        time.sleep(0.6)
        ended.append(time.monotonic_ns())
        time.sleep(0.2)
        [last] = monitor.finish(0.8)
        assert last["young_gcs"] > 0
        assert monitor.metrics()["jvm.young_gcs"] == second["young_gcs"] + last["young_gcs"], "three quarters"
        time.sleep(0.2)
        assert len(monitor.sample(0.2)) == 1
        assert monitor.metrics()["jvm.young_gcs"] == second["young_gcs"] + last["young_gcs"]
        monitor.close()
    assert JvmMonitor(JvmOptions(), context).metrics() == {}
