"""JVMs of this machine: time in collections, the GC log that they write, classes that grow, JVMs that end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jvms import running
from loadcell.incidents.base import Diagnosis, Unseen, examine
from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.collections import Collections, DumpFile
from loadcell.incidents.evidence.jvms import ClassGrowth, ClassHistograms, EndedJvm, JvmCounters
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.evidence.numa import NodeMemory, NumaMemory
from loadcell.incidents.live import jvms
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.classes import ClassGatherer
from loadcell.incidents.live.ended_jvms import EndedJvmGatherer
from loadcell.incidents.live.gathering import gather
from loadcell.incidents.live.gc_log_ends import GcLogGatherer
from loadcell.incidents.live.jvms import JvmGatherer
from loadcell.incidents.live.numa import NumaGatherer
from loadcell.linux import gc_log_files, java_processes, procfs
from loadcell.linux.java_traces import JavaTraces, traces_of

from .test_host_incidents import level

GIB = 1 << 30
#: Fills the heap, and then allocates on: each full collection frees next to nothing.
LEAKING = """
import java.util.ArrayList;
public class Leaking {
  public static void main(String[] words) throws Exception {
    Thread named = new Thread(() -> {
      try { Thread.sleep(100_000); } catch (InterruptedException e) { }
    }, "postgres://app:hunter2@db/x");
    named.setDaemon(true);
    named.start();
    System.out.println("ready");
    ArrayList<byte[]> all = new ArrayList<>();
    int most = Integer.getInteger("most", 1000);
    while (true) {
      try {
        if (all.size() < most) all.add(new byte[10_000]); else new String(new char[20_000]);
      } catch (OutOfMemoryError e) { all.subList(0, 5).clear(); }
      if (Boolean.getBoolean("slow")) Thread.sleep(1);
    }
  }
}
"""


def test_a_dump_whose_name_two_jvms_share_is_uncertain(tmp_path: Path) -> None:
    """A path with the process in it, or a directory, is that of one JVM."""
    shared = f"-XX:HeapDumpPath={tmp_path / 'heap.hprof'}"
    options = ("-Xmx16m", "-Xshare:auto")
    with (
        running(*options, shared) as first, running(*options, shared) as second,
        running(*options, f"-XX:HeapDumpPath={tmp_path}") as third,
    ):  # fmt: skip
        [shared_one, _, single] = jvms = [traces_of(process.pid) for process in (first, second, third)]
        assert shared_one is not None
        assert single is not None
        (tmp_path / "heap.hprof").write_bytes(b"x")
        (tmp_path / f"java_pid{third.pid}.hprof").write_bytes(b"x")
        evidence = [
            item
            for traces in (shared_one, single)
            for item in EndedJvmGatherer().gather(Host(ended=(traces,)))
            if isinstance(item, EndedJvm)
        ]
        for traces in jvms:
            assert traces is not None
            traces.close()
    assert [dump.others for dump in evidence[0].dumps] == [(second.pid,)]
    assert evidence[0].certain_dumps == ()
    assert [dump.others for dump in evidence[1].certain_dumps] == [()]


def dumps_of(traces: JavaTraces | None, *others: JavaTraces) -> tuple[DumpFile, ...]:
    """The dumps of a JVM by its evidence."""
    assert traces is not None
    gathered = EndedJvmGatherer().gather(Host(ended=(traces, *others)))
    return next(item.dumps for item in gathered if isinstance(item, EndedJvm))


def test_a_jvm_that_started_after_a_dump_did_not_write_it(tmp_path: Path) -> None:
    shared = ("-Xmx16m", f"-XX:HeapDumpPath={tmp_path / 'heap.hprof'}")
    with running(*shared) as first:
        traces = traces_of(first.pid)
        (tmp_path / "heap.hprof").write_bytes(b"x")
        with running(*shared) as second:
            again = traces_of(second.pid)
            assert again is not None
            for others in ((), (again,)):
                [dump] = dumps_of(traces, *others)
                assert dump.others == (), "running or ended"
            (tmp_path / "heap.hprof").write_bytes(b"y")
            [dump] = dumps_of(traces)
            assert dump.others == (second.pid,)
            again.end_s = again.begin_s - 10
            assert not again.ran_at(dump.written_ns / 1e9)
            again.close()
        assert traces is not None
        traces.close()


def test_processes_with_the_options_of_a_jvm_did_not_write_its_dump(tmp_path: Path) -> None:
    """A shell and `timeout` have them on their command lines."""
    shared = f"-XX:HeapDumpPath={tmp_path / 'heap.hprof'}"
    shell = subprocess.Popen(["bash", "-c", "sleep 100; true", "java", shared], start_new_session=True)
    try:
        with running("-Xmx16m", shared, prefix=["timeout", "100"]) as parent:
            while not (below := procfs.tree(procfs.ROOT, [parent.pid])[1:]):
                time.sleep(0.01)
            traces = traces_of(below[0])
            assert traces is not None
            time.sleep(0.1)
            (tmp_path / "heap.hprof").write_bytes(b"x")
            dumps = dumps_of(traces)
            traces.close()
            # it ends the JVM, too
            parent.terminate()
            parent.wait()
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    assert [dump.others for dump in dumps] == [()]


@pytest.mark.skipif(os.getuid() != 0 and "CI" not in os.environ, reason="needs root")
def test_the_same_path_of_another_mount_namespace_is_another_dump(tmp_path: Path) -> None:
    shared = ("-Xmx16m", f"-XX:HeapDumpPath={tmp_path / 'heap.hprof'}")
    with running(*shared) as first, running(*shared, prefix=["unshare", "-m"]) as second:
        jvms = [traces_of(process.pid) for process in (first, second)]
        (tmp_path / "heap.hprof").write_bytes(b"x")
        assert jvms[1] is not None
        assert jvms[1].dump_name
        for others in ((), (jvms[1],)):
            [dump] = dumps_of(jvms[0], *others)
            assert dump.others == ()
        for traces in jvms:
            assert traces is not None
            traces.close()


@pytest.mark.parametrize(("option", "expected"), [("", 1), ("-XX:+HeapDumpBeforeFullGC", 0)])
def test_a_dump_of_a_full_collection_is_no_error(tmp_path: Path, option: str, expected: int) -> None:
    words = [
        "-Xmx16m", f"-XX:HeapDumpPath={tmp_path / 'heap.hprof'}", f"-Xlog:gc:file={tmp_path / 'gc.log'}",
        "-XX:+HeapDumpOnOutOfMemoryError", *([option] if option else []),
    ]  # fmt: skip
    with running(*words) as process:
        traces = traces_of(process.pid)
        assert traces is not None
        (tmp_path / "heap.hprof").write_bytes(b"x")
        gathered = list(EndedJvmGatherer().gather(Host(ended=(traces,))))
        traces.close()
    [collections] = [item for item in gathered if isinstance(item, Collections)]
    assert (len(collections.dump_files), len(collections.error_dumps)) == (1, expected)


def counters(share: float, now: float = 0.1, running_s: float = 100.0, **values: Any) -> JvmCounters:
    defaults: dict[str, Any] = {"full": 0, "full_now": 0, "old_used_bytes": GIB, "old_limit_bytes": 2 * GIB}
    return JvmCounters("a", 7, running_s, 1.0, share * running_s, now, **defaults | values)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (counters(0.2), "warning"),
        (counters(0.6), "critical"),
        (counters(0.6, now=0.0), "note"),  # in the past
        (counters(0.12), "healthy"),
        (counters(0.6, running_s=24), "healthy"),  # of a start
        (counters(0.05, now=0.6), "warning"),
        (counters(0.05, now=0.4), "healthy"),
        (counters(0.05, full=9, full_now=2, old_used_bytes=int(1.9 * GIB)), "critical"),
        (counters(0.05, full=9, full_now=2, old_used_bytes=int(1.4 * GIB)), "healthy"),
        (counters(0.05, full=9, full_now=1, old_used_bytes=int(1.9 * GIB)), "healthy"),  # requested once
        (counters(0.05, full=None, full_now=None, old_used_bytes=int(1.9 * GIB)), "healthy"),
        (counters(0.6, full=None, full_now=None, old_used_bytes=int(1.9 * GIB)), "critical"),
        (counters(0.05, old_used_bytes=int(1.9 * GIB)), "healthy"),
    ],
)
def test_time_in_collections(evidence: JvmCounters, expected: str) -> None:
    assert level(evidence, "gc-time") == expected


def test_growth_of_classes_is_a_note() -> None:
    def histograms(after: int) -> ClassHistograms:
        return ClassHistograms("7", 7, 1.0, 9 * GIB, (ClassGrowth("a.B", 1 << 20, after),))

    assert level(histograms(3 << 20), "class-growth") == "note"
    assert level(histograms((1 << 20) + 800_000), "class-growth") == "healthy"
    [slower] = [item for item in examine(histograms((1 << 20) + 800_000)) if isinstance(item, Unseen)]
    assert slower.reason.arguments["hourly_bytes"] == 3600 << 20


def test_memory_on_other_nodes_is_a_note() -> None:
    def spread(far: int) -> NumaMemory:
        return NumaMemory("host", 2, (NodeMemory(7, "java", 0, 100, far),))

    assert level(spread(30), "numa-spread") == "note"
    assert level(spread(20), "numa-spread") == "healthy"


def test_memory_by_node_is_read(tmp_path: Path) -> None:
    for path in ("sys/devices/system/node/node0", "sys/devices/system/node/node1", "proc/7"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("0-3\n")
    (tmp_path / "sys/devices/system/node/node1/cpulist").write_text("4-7\n")
    fields = ["0"] * 40
    fields[20] = "100000"
    (tmp_path / "proc/7/stat").write_text("7 (java) S 1 " + " ".join(fields[1:]) + "\n")
    (tmp_path / "proc/7/status").write_text("Cpus_allowed_list:\t0-2\n")
    (tmp_path / "proc/7/numa_maps").write_text(
        "7f00 default anon=30 dirty=30 N0=10 N1=20 kernelpagesize_kB=4\n"
        "7f01 default anon=1 N1=1 kernelpagesize_kB=2048\n"
    )
    (seen,) = NumaGatherer().gather(Host(tmp_path))
    assert seen.processes == (NodeMemory(7, "java", 0, 30 * 4096 + (2 << 20), 20 * 4096 + (2 << 20)),)


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("-Xlog:gc*:file=/var/log/gc-%p.log:time:filecount=5", "/var/log/gc-7.log"),
        ("-Xlog:gc*,safepoint:logs/gc.log", "logs/gc.log"),
        ('-Xlog:gc*:file="/a:b.log":time', "/a:b.log"),
        ("-Xloggc:/x/gc.log", "/x/gc.log"),
        ("-Xlog:gc", ""),
        ("-Xlog:gc*:stderr", ""),
        ("-Xlog:class+load:file=/x/classes.log", ""),
    ],
)
def test_the_log_of_a_command_line(argument: str, path: str) -> None:
    assert gc_log_files.named(["java", argument, "Main"], 7) == path


@pytest.mark.parametrize(
    ("words", "environment", "path"),
    [
        ("java -jar app.jar -Xloggc:/x", {}, ""),
        ("java -Xloggc:/x -jar app.jar -Xloggc:/y", {}, "/x"),
        ("java -cp a:b -Xloggc:/x Main -Xloggc:/y", {}, "/x"),
        ("java --add-opens a/b=c -Xloggc:/x @file -m a/b -Xloggc:/y", {}, "/x"),
        ("java --module=a/b -Xloggc:/y", {}, ""),
        ("jsvc -user tomcat -Xloggc:/x Main", {}, "/x"),
        ("java Main", {"JAVA_TOOL_OPTIONS": "-Xmx1g -Xlog:gc*:file=/x:time"}, "/x"),
        ("java Main", {"JDK_JAVA_OPTIONS": "'-Xloggc:/a b'"}, "/a b"),
        ("java Main", {"JDK_JAVA_OPTIONS": "-Xloggc:/x '"}, "/x"),
        ("jsvc Main", {"JDK_JAVA_OPTIONS": "-Xloggc:/x"}, ""),
        ("java -Xloggc:/y Main", {"JAVA_TOOL_OPTIONS": "-Xloggc:/x"}, "/y"),
        ("java -Xloggc:/y Main", {"_JAVA_OPTIONS": "-Xloggc:/x"}, "/x"),
    ],
)
def test_options_of_a_jvm_count_and_those_of_applications_do_not(
    words: str, environment: dict[str, str], path: str
) -> None:
    assert gc_log_files.named(words.split(), 7, environment) == path


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("gc.log", ["gc.log"], "gc.log"),
        ("gc.log", ["gc.log.0", "gc.log.1.current"], "gc.log.1.current"),
        ("gc.log", ["gc.log", "gc.log.0.current"], "gc.log.0.current"),
        ("gc.log", ["gc.log.0", "gc.log"], "gc.log"),
        ("gc[1].log", ["gc1.log", "gc[1].log.0.current"], "gc[1].log.0.current"),
        ("gc-%t.log", ["gc-1.log", "gc-2.log"], "gc-2.log"),
        ("gc-%t.log", ["gc-1.log", "gc-2.log.0.current"], "gc-2.log.0.current"),
        ("gc.log", [], "gc.log"),
    ],
)
def test_the_file_that_a_jvm_writes(tmp_path: Path, name: str, files: list[str], expected: str) -> None:
    """The last of the files is the newest."""
    home = tmp_path / "proc/7"
    (home / "cwd").mkdir(parents=True)
    (home / "cmdline").write_bytes(f"java\0-Xloggc:{name}\0Main\0".encode())
    for second, file in enumerate(files):
        (home / "cwd" / file).touch()
        os.utime(home / "cwd" / file, (second, second))
    assert gc_log_files.located(7, tmp_path) == (expected, home / "cwd" / expected)


def test_the_log_of_a_jvm_by_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "gc.log"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Xlog:gc*:file={log}")
    with running("-Xmx200m", "-Drate=10") as process:
        location = gc_log_files.located(process.pid)
        assert location is not None
        assert location[1].samefile(log)


def of_pid(evidence: Any, pid: int) -> JvmCounters:
    (jvm,) = [item for item in evidence if isinstance(item, JvmCounters) and item.pid == pid]
    return jvm


def test_a_jvm_without_memory_is_recognised_while_it_runs(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    options = ("-Xmx24m", "-XX:+UseSerialGC", f"-Xlog:gc*:file={log}:time,uptime,level,tags")
    with running(*options, "-Dmost=1000000", source=LEAKING) as process:
        time.sleep(4)
        gathered = gather(Host(pid=process.pid), [JvmGatherer, GcLogGatherer])
    jvm = of_pid(gathered.evidence, process.pid)
    assert jvm.source.startswith("Leaking")
    assert jvm.full is not None
    assert jvm.full > 3
    assert jvm.collecting_s > 1
    (collections,) = [item for item in gathered.evidence if isinstance(item, Collections)]
    spirals = [item for item in examine(collections) if item.incident == "full-gc-spiral"]
    assert [item.level for item in spirals if isinstance(item, Diagnosis)] == ["critical"]
    incidents = {item.incident for item in examine(jvm) if isinstance(item, Diagnosis)}
    assert incidents == {"gc-time"}


def with_collector(pid: int, name: str, directory: Path) -> JvmCounters:
    """Counters of a JVM with the serial collector, under the name of another one."""
    process = java_processes.inspect(pid)
    assert process is not None
    serial = b"Serial full collection pauses"
    data = Path(process.path).read_bytes()
    assert data.count(serial) == 1
    path = directory / "counters"
    path.write_bytes(data.replace(serial, name.encode().ljust(len(serial), b"\0")))
    copied = replace(process, path=str(path), owners=frozenset({os.getuid()}))
    seen = jvms.counters(copied, jvms.read(copied), Host())
    assert isinstance(seen, JvmCounters)
    return seen


def test_pauses_of_concurrent_cycles_are_no_full_collections(tmp_path: Path) -> None:
    with running("-Xmx24m", "-XX:+UseSerialGC", "-Dmost=1000000", source=LEAKING) as process:
        time.sleep(2)
        assert (with_collector(process.pid, "MSC", tmp_path).full or 0) > 3
        of_cms = with_collector(process.pid, "CMS", tmp_path)
    assert (of_cms.full, of_cms.full_now) == (None, None)
    assert of_cms.collecting_s > 0
    with running("-Xmx200m", "-XX:+UseShenandoahGC") as process:
        gathered = gather(Host(pid=process.pid), [JvmGatherer])
    assert of_pid(gathered.evidence, process.pid).full_now is None


def test_a_healthy_jvm_is_healthy_and_named_without_a_log() -> None:
    with running("-Xmx200m", "-Drate=10") as process:
        time.sleep(1)
        gathered = gather(Host(pid=process.pid), [JvmGatherer, GcLogGatherer])
    assert level(of_pid(gathered.evidence, process.pid), "gc-time") == "healthy"
    (missing,) = gathered.missing
    assert "no GC log in a file" in missing.reason.text


def test_the_classes_that_grow_are_named() -> None:
    with running("-Xmx400m", "-Dslow=true", "-Dmost=1000000", source=LEAKING) as process:
        (seen,) = ClassGatherer().gather(Host(pid=process.pid))
    assert isinstance(seen, ClassHistograms)
    assert 3 < seen.interval_s < 6, "a slow leak needs time"
    assert seen.grown[0].name == "byte[]"
    assert level(seen, "class-growth") == "note"


def test_histograms_are_no_full_collections_of_the_jvm() -> None:
    with running("-Xmx60m", "-XX:+UseSerialGC", "-Drate=10") as process:
        time.sleep(1)
        gathered = gather(Host(pid=process.pid), [JvmGatherer, ClassGatherer])
    assert of_pid(gathered.evidence, process.pid).full_now == 0
    assert any(isinstance(item, ClassHistograms) for item in gathered.evidence)


def test_a_jvm_that_ends_meanwhile_is_reported() -> None:
    with running() as process:
        threading.Timer(0.3, process.kill).start()
        gathered = gather(Host(pid=process.pid, interval_s=1.0), [JvmGatherer, ClassGatherer])
    reasons = {item.needs: item.reason.text for item in gathered.missing}
    assert "ended during the examination" in reasons[JvmCounters]
    assert "ended during the examination" in reasons[ClassHistograms]


@pytest.mark.skipif(os.getuid() != 0 and "CI" not in os.environ, reason="needs root")
def test_hidden_processes_are_named_as_such() -> None:
    """As another user, in a mount namespace whose /proc hides the processes of others."""
    code = (
        "import json, os\n"
        "from loadcell.incidents.live.base import Host\n"
        "from loadcell.incidents.live.gathering import gather, gatherers\n"
        "gatherers(); os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "gathered = gather(Host())\n"
        "print(json.dumps([[item.needs.__name__, item.reason.code] for item in gathered.missing]))"
    )
    with running() as process:
        command = f"mount -t proc -o hidepid=2 proc /proc && exec {sys.executable} -c '{code}'"
        environment = {**os.environ, "HOME": "/nonexistent", "XDG_CACHE_HOME": ""}
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, check=False, timeout=30,
            env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert process.poll() is None
    reasons = dict(json.loads(done.stdout))
    assert reasons["JvmCounters"] == "doctor.live.jvm-hidden"


def test_a_gatherer_that_hangs_is_missing_and_its_process_ends() -> None:
    assert [type(item) for item in gather(Host(), []).missing] == []
    from . import hanging_gatherer

    begin = time.monotonic()
    gathered = gather(Host(interval_s=0.1), [hanging_gatherer.Hanging, NumaGatherer])
    assert time.monotonic() - begin < 3
    assert [item.nodes for item in gathered.evidence if isinstance(item, NumaMemory)][:1] == [1]
    (missing,) = gathered.missing
    assert isinstance(missing, Missing)
    assert (missing.needs, missing.reason.text) == (ClassHistograms, "no answer within 0.50 s")
    assert not list(Path("/proc").glob("[0-9]*/comm")) or "lc-hanging" not in {
        path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if path.exists()
    }


def test_a_large_answer_is_complete_where_nobody_reads_it_before_its_limit() -> None:
    from . import hanging_gatherer

    begin = time.monotonic()
    gathered = gather(
        Host(), [hanging_gatherer.Large, hanging_gatherer.Hanging], meanwhile=lambda: time.sleep(0.6)
    )
    assert time.monotonic() - begin < 3
    (log,) = (item for item in gathered.evidence if isinstance(item, KernelLog))
    assert len(log.lines) == hanging_gatherer.LARGE
    assert [item.needs for item in gathered.missing] == [ClassHistograms]
