"""Incidents made for real, recognised, remedied, and examined again. Each undoes what it made."""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cli.test_doctor import LEAKING
from incidents.test_clocks import server, shifted
from incidents.test_container_incidents import entered, group, seen_group
from incidents.test_live_mounts import doctor as live_doctor
from incidents.test_live_mounts import namespace, of_mounts, points
from jvms import classes, java
from loadcell.incidents import application_logs, gc_logs
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.clocks import ClockReading, Clocks
from loadcell.incidents.evidence.connections import OpenFiles
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.clocks import ClockGatherer
from loadcell.incidents.live.connections import ConnectionGatherer
from loadcell.incidents.live.disks import DiskGatherer
from loadcell.incidents.live.kernel_log import KernelLogGatherer
from loadcell.linux.fault_control import FaultControl
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload

from .case import judged

_LIMIT_S = 120


@dataclass(frozen=True)
class Outcome:
    """Size of an incident in words; whether it was recognised, and whether it was gone after the remedy."""

    size: str
    is_seen: bool
    is_gone: bool


@dataclass(frozen=True)
class Rehearsal:
    """An incident, how it is made, and its remedy."""

    incident: str
    made: str
    remedy: str
    run: Callable[[random.Random, Path], Outcome]


def _has(incident: str, evidence: Iterable[Evidence]) -> bool:
    return any(incident in judged(item).all for item in evidence)


def _logged(
    source: str, name: str, directory: Path, *options: str, limit_s: float = _LIMIT_S
) -> list[Evidence]:
    """The evidence of the GC log of a program, which may be ended by its limit of time."""
    path = directory / f"gc-{time.monotonic_ns()}.log"
    to_file = f"-Xlog:gc*,safepoint:file={path}:utctime,uptime,level,tags"
    words = [java(), *options, to_file, "-cp", str(classes(source)), name]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(words, check=False, capture_output=True, timeout=limit_s, cwd=directory)
    return list(gc_logs.read([(path, path.name)]).jvms)


#: Retains a share of its allocations up to a limit, of objects of one size.
_ALLOCATING = """
import java.util.ArrayDeque;
public class Allocating {
  static volatile Object garbage;
  public static void main(String[] words) throws Exception {
    int size = Integer.parseInt(words.length > 0 ? words[0] : System.getProperty("size", "1000"));
    long limit = Long.getLong("retained", 5_000_000L), retained = 0;
    long end = System.nanoTime() + Long.getLong("seconds", 8) * 1_000_000_000L;
    ArrayDeque<byte[]> all = new ArrayDeque<>();
    while (System.nanoTime() < end) {
      byte[] item = new byte[size];
      all.add(item); retained += size;
      while (retained > limit) { retained -= all.remove().length; }
      if (Boolean.getBoolean("slow")) Thread.sleep(1);
    }
  }
}
"""
#: Defines classes that nothing unloads.
_DEFINING = """
import java.lang.reflect.Proxy;
import java.net.*;
import java.util.ArrayList;
public class Defining {
  public static void main(String[] words) throws Exception {
    ArrayList<Object> all = new ArrayList<>();
    int most = Integer.getInteger("most", 1_000_000);
    for (int i = 0; i < most; i++) {
      ClassLoader loader = new URLClassLoader(new URL[0], Defining.class.getClassLoader());
      Class<?>[] types = {Runnable.class};
      all.add(Proxy.newProxyInstance(loader, types, (proxy, method, values) -> null));
    }
    Thread.sleep(1000);
  }
}
"""


def _spiral(chance: random.Random, directory: Path) -> Outcome:
    heap, collector = chance.randint(20, 64), chance.choice(["G1", "Serial", "Parallel"])
    options = (f"-Xmx{heap}m", f"-XX:+Use{collector}GC")
    seen = _logged(LEAKING, "Leaking", directory, *options)
    # the remedy: a bounded batch
    after = _logged(_ALLOCATING, "Allocating", directory, *options, f"-Dretained={heap << 17}")
    return Outcome(
        f"{heap} MiB, {collector}", _has("full-gc-spiral", seen), not _has("full-gc-spiral", after)
    )


def _exhaustion(chance: random.Random, directory: Path) -> Outcome:
    heap = chance.randint(32, 64)
    options = (f"-Xmx{heap}m", "-XX:+UseZGC")
    seen = _logged(LEAKING, "Leaking", directory, *options)
    after = _logged(_ALLOCATING, "Allocating", directory, *options, f"-Dretained={heap << 16}", "-Dslow=true")
    name = "heap-exhaustion"
    return Outcome(f"{heap} MiB", _has(name, seen), not _has(name, after))


def _dumps(chance: random.Random, directory: Path) -> Outcome:
    heap = chance.randint(20, 40)
    flags = ("-XX:+HeapDumpBeforeFullGC", f"-XX:HeapDumpPath={directory}")
    seen = _logged(LEAKING, "Leaking", directory, f"-Xmx{heap}m", *flags)
    for file in directory.glob("*.hprof*"):
        file.unlink()
    after = _logged(LEAKING, "Leaking", directory, f"-Xmx{heap}m")
    return Outcome(f"{heap} MiB", _has("heap-dumps", seen), not _has("heap-dumps", after))


def _humongous(chance: random.Random, directory: Path) -> Outcome:
    size = chance.randint(600, 3000) << 10
    options = ("-Xmx256m", "-XX:+UseG1GC", f"-Dsize={size}", f"-Dretained={60 << 20}", "-Dslow=true")
    seen = _logged(_ALLOCATING, "Allocating", directory, *options, "-XX:G1HeapRegionSize=1m")
    after = _logged(_ALLOCATING, "Allocating", directory, *options, "-XX:G1HeapRegionSize=8m")
    name = "humongous-allocations"
    return Outcome(f"objects of {size >> 10} KiB", _has(name, seen), not _has(name, after))


def _metaspace(chance: random.Random, directory: Path) -> Outcome:
    limit = chance.randint(12, 24)
    seen = _logged(_DEFINING, "Defining", directory, "-Xmx256m", f"-XX:MaxMetaspaceSize={limit}m")
    after = _logged(_DEFINING, "Defining", directory, "-Xmx256m", "-XX:MaxMetaspaceSize=256m", "-Dmost=2000")
    name = "metaspace-exhaustion"
    return Outcome(f"{limit} MiB", _has(name, seen), not _has(name, after))


def _exhausted(chance: random.Random, directory: Path) -> Outcome:
    """Objects that all survive, in a heap that is nearly full."""
    heap = chance.randint(32, 96)
    flags = (f"-Xmx{heap}m", "-XX:+UseG1GC", f"-Dretained={int(heap * 0.97) << 20}")
    seen = _logged(_ALLOCATING, "Allocating", directory, *flags, "-XX:G1ReservePercent=0")
    # the remedy: a larger heap
    after = _logged(_ALLOCATING, "Allocating", directory, f"-Xmx{8 * heap}m", *flags[1:])
    name = "to-space-exhausted"
    return Outcome(f"{heap} MiB", _has(name, seen), not _has(name, after))


#: A list of small objects, which each full collection has to follow.
_LINKED = """
public class Linked {
  static Linked last;
  final Linked next;
  Linked(Linked next) { this.next = next; }
  public static void main(String[] words) throws Exception {
    for (int i = 0; i < Integer.parseInt(System.getProperty("objects")); i++) last = new Linked(last);
    System.gc();
    Thread.sleep(200);
  }
}
"""
#: Retains some objects of each batch for ever.
_LEAKING_SLOWLY = """
import java.util.ArrayList;
public class LeakingSlowly {
  static volatile Object garbage;
  public static void main(String[] words) throws Exception {
    ArrayList<byte[]> all = new ArrayList<>();
    int leaked = Integer.getInteger("leaked");
    for (int i = 0; i < 40; i++) all.add(new byte[1 << 20]);
    for (long end = System.nanoTime() + Long.getLong("seconds") * 1_000_000_000L; System.nanoTime() < end;) {
      for (int i = 0; i < leaked; i++) all.add(new byte[1000]);
      for (int i = 0; i < 400; i++) garbage = new byte[10_000];
      Thread.sleep(10);
    }
  }
}
"""


def _long_pause(chance: random.Random, directory: Path) -> Outcome:
    millions = chance.randint(45, 60)
    flags = ("-Xmx4g", "-Xms4g", "-Xss512m", "-XX:+UseSerialGC")
    seen = _logged(_LINKED, "Linked", directory, *flags, f"-Dobjects={millions * 10**6}")
    after = _logged(_LINKED, "Linked", directory, *flags, f"-Dobjects={millions * 10**4}")
    return Outcome(f"{millions} million objects", _has("long-pause", seen), not _has("long-pause", after))


def _leak(chance: random.Random, directory: Path) -> Outcome:
    leaked = chance.randint(15, 40)
    flags = ("-Xmx400m", "-XX:+UseG1GC", "-XX:InitiatingHeapOccupancyPercent=5", "-XX:-G1UseAdaptiveIHOP")
    flags = (*flags, "-Dseconds=100")
    seen = _logged(_LEAKING_SLOWLY, "LeakingSlowly", directory, *flags, f"-Dleaked={leaked}")
    after = _logged(_LEAKING_SLOWLY, "LeakingSlowly", directory, *flags, "-Dleaked=0")
    return Outcome(f"{leaked * 100} kB/s", _has("memory-leak", seen), not _has("memory-leak", after))


def _log_steps(chance: random.Random, directory: Path) -> Outcome:
    """A service that logs, whose clock a preloaded library shifts forth and back."""
    size = chance.uniform(2, 30)
    back = size * chance.uniform(0.9, 1.0)
    preload = Preload.install(directory, Account("me", os.geteuid(), os.getegid(), (), other=False))
    control = FaultControl(preload.control)

    def write(name: str, shifts: list[float]) -> list[Evidence]:
        path = directory / name
        words = (sys.executable, "-c", _WRITING, str(path), "9")
        process = subprocess.Popen(words, env=preload.variables(environment()))
        for shift in shifts:
            time.sleep(3)
            control.shift_clock(round(shift * 1e9))
        process.wait(60)
        control.shift_clock(0)
        seen, _reading = application_logs.read([(path, name)])
        return [seen]

    seen, after = write("a.log", [size, size - back]), write("b.log", [])
    name = "log-clock-steps"
    return Outcome(f"{size:.1f} s and {back:.1f} s", _has(name, seen), not _has(name, after))


def _oom_kill(chance: random.Random, _: Path) -> Outcome:
    limit = chance.randint(12, 48) << 20
    evidence = []
    for share in (2.0, 0.3):
        begin_ns = time.time_ns()
        with group("memory", limit_in_bytes=str(limit)) as path:
            process = entered(path, f"x = b'x' * {round(limit * share)}")
            process.wait()
        time.sleep(0.2)
        for seen in KernelLogGatherer().gather(Host()):
            assert isinstance(seen, KernelLog)
            lines = tuple(line for line in seen.lines if line.utc_ns >= begin_ns - 10**9)
            evidence.append(replace(seen, lines=lines, oom_kills=None))
        time.sleep(1.5)
    return Outcome(f"{limit >> 20} MiB", _has("oom-kill", evidence[:1]), not _has("oom-kill", evidence[1:]))


def _hung_mount(chance: random.Random, directory: Path) -> Outcome:
    count = chance.randint(1, 4)
    with namespace(["-0", *points(directory, count)]) as pid:
        record, _ = live_doctor(pid)
        diagnoses = of_mounts(record)["diagnoses"]
    with namespace(["0", *points_again(directory, count)]) as pid:
        record, _ = live_doctor(pid)
        after = of_mounts(record)["diagnoses"]
    return Outcome(f"{count} mounts", len(diagnoses) == count, not after)


def points_again(directory: Path, count: int) -> list[str]:
    """The mount points of before."""
    return [str(directory / f"mount-{number}") for number in range(count)]


_CLOCK = """
import sys, time
for _ in range(int(sys.argv[1])):
    steady = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    print(steady, time.clock_gettime_ns(time.CLOCK_REALTIME) - steady, flush=True)
    time.sleep(0.2)
"""


def _read_clock(directory: Path, shifts: list[int]) -> Clocks:
    """Readings of a process whose wall clock is shifted, a second each."""
    preload = Preload.install(directory, Account("me", os.geteuid(), os.getegid(), (), other=False))
    control = FaultControl(preload.control)
    words = (sys.executable, "-c", _CLOCK, str(5 * (len(shifts) + 1)))
    with subprocess.Popen(
        words, env=preload.variables(environment()), stdout=subprocess.PIPE, text=True
    ) as process:
        for shift in shifts:
            time.sleep(1)
            control.shift_clock(shift)
        output, _ = process.communicate(timeout=30)
    readings = [tuple(map(int, line.split())) for line in output.splitlines()]
    return Clocks("clock", tuple(ClockReading(at_ns, offset_ns) for at_ns, offset_ns in readings))


def _fight(chance: random.Random, directory: Path) -> Outcome:
    size = chance.uniform(0.7, 30)
    back = size * chance.uniform(0.85, 1.0)
    seen = _read_clock(directory, [round(size * 1e9), round((size - back) * 1e9)])
    after = _read_clock(directory, [])
    name = "fighting-clocks"
    return Outcome(f"{size:.1f} s and {back:.1f} s", _has(name, [seen]), not _has(name, [after]))


def _step(chance: random.Random, directory: Path) -> Outcome:
    size = chance.uniform(0.6, 30) * chance.choice([-1, 1])
    seen, after = _read_clock(directory, [round(size * 1e9)]), _read_clock(directory, [])
    return Outcome(f"{size:+.1f} s", _has("clock-step", [seen]), not _has("clock-step", [after]))


def _servers(chance: random.Random, directory: Path) -> Outcome:
    shift = chance.uniform(0.7, 30) * chance.choice([-1, 1])
    (directory / "proc/5").mkdir(parents=True, exist_ok=True)
    (directory / "proc/5/stat").write_text("5 (ntpd) S 1 " + "0 " * 40)
    (directory / "etc").mkdir(exist_ok=True)

    def look(names: tuple[int, ...], port: int) -> list[Evidence]:
        lines = (f"server 127.0.0.{number}\n" for number in names)
        (directory / "etc/ntp.conf").write_text("".join(lines))
        return [item for item in ClockGatherer().gather(Host(directory, interval_s=0.2, time_port=port))
                if isinstance(item, Evidence)]  # fmt: skip

    with (
        server(shifted(0)) as port,
        server(shifted(0.01), "127.0.0.2", port),
        server(shifted(shift), "127.0.0.3", port),
    ):
        seen, after = look((1, 2, 3), port), look((1, 2), port)

    def is_warned(evidence: list[Evidence]) -> bool:
        """The opinion of the kernel, a note, depends on the machine."""
        return any("time-services" in judged(item).warning for item in evidence)

    return Outcome(f"{shift:+.1f} s", is_warned(seen), not is_warned(after))


def _throttled(chance: random.Random, _: Path) -> Outcome:
    quota = chance.randint(5, 40)
    with group("cpu", cfs_quota_us=str(quota * 1000), cfs_period_us="100000") as path:
        process = entered(path, "while True: pass")
        try:
            time.sleep(0.5)
            seen = seen_group(path)
            (path / "cpu.cfs_quota_us").write_text("-1")
            time.sleep(0.2)
            after = seen_group(path)
        finally:
            process.kill()
            process.wait()
    name = "throttled-container"
    return Outcome(f"{quota / 100} cores", _has(name, [seen]), not _has(name, [after]))


def _group_memory(chance: random.Random, _: Path) -> Outcome:
    limit = chance.randint(12, 48) << 20
    evidence = []
    for share in (2.0, 0.3):
        with group("memory", limit_in_bytes=str(limit)) as path:
            process = entered(path, f"x = b'x' * {round(limit * share)}")
            process.wait()
            evidence.append(seen_group(path))
    name = "container-memory"
    return Outcome(f"{limit >> 20} MiB", _has(name, evidence[:1]), not _has(name, evidence[1:]))


def _listen(chance: random.Random, _: Path) -> Outcome:
    backlog = chance.randint(1, 20)

    def look(port: int) -> list[Evidence]:
        *_, seen = ConnectionGatherer().gather(Host(interval_s=0.2))
        queues = tuple(queue for queue in seen.queues if queue.port == port)
        return [type(seen)("host", 0.2, seen.ephemeral_ports, (), 0, 0, 0, queues)]

    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        for _number in range(backlog + 3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        time.sleep(0.3)
        port = listener.getsockname()[1]
        seen = look(port)
        listener.listen(512)
        after = look(port)
    name = "listen-overflow"
    return Outcome(f"a queue of {backlog}", _has(name, seen), not _has(name, after))


def _files(chance: random.Random, _: Path) -> Outcome:
    limit = chance.randint(40, 400)
    count = round(limit * chance.uniform(0.85, 0.97)) - 3

    def look(limit: int) -> list[Evidence]:
        code = f"import os,sys; [os.dup(0) for _ in range({count})]; print(1, flush=True); sys.stdin.read()"
        with subprocess.Popen(
            [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
        ) as process:  # fmt: skip
            assert process.stdout is not None
            process.stdout.readline()
            seen, *_ = ConnectionGatherer().gather(Host(interval_s=0.1))
            process.communicate(b"")
        assert isinstance(seen, OpenFiles)
        near = tuple(item for item in seen.processes if item.pid == process.pid)
        return [OpenFiles("host", seen.count, seen.limit, near)]

    name = "open-files"
    return Outcome(f"{count} of {limit}", _has(name, look(limit)), not _has(name, look(limit * 2)))


_WRITING = """
import sys, time, threading
end = time.monotonic() + float(sys.argv[2])
file, lock = open(sys.argv[1], "w"), threading.Lock()
def work(name):
    number = 0
    while time.monotonic() < end:
        number += 1
        now = time.time_ns() // 10**6
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"
        with lock:
            file.write(f"{stamp} [{name}] INFO imported {number} rows\\n"); file.flush()
        time.sleep(0.02)
threads = [threading.Thread(target=work, args=(f"worker-{n}",)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def _silence(chance: random.Random, directory: Path) -> Outcome:
    length_s = chance.uniform(2, 5)

    def write(name: str, stops_s: float) -> list[Evidence]:
        path = directory / name
        process = subprocess.Popen((sys.executable, "-c", _WRITING, str(path), str(15 + stops_s)))
        time.sleep(2.5)
        if stops_s:
            process.send_signal(signal.SIGSTOP)
            time.sleep(stops_s)
            process.send_signal(signal.SIGCONT)
        process.wait(30)
        seen, _reading = application_logs.read([(path, name)])
        return [seen]

    name = "silent-threads"
    return Outcome(
        f"{length_s:.1f} s", _has(name, write("a.log", length_s)), not _has(name, write("b.log", 0))
    )


def _image(chance: random.Random, directory: Path, look: Callable[[Path], Any]) -> tuple[int, Any]:
    """A new file system in an image, and what the function sees in it."""
    size = chance.randint(16, 64)
    image, point = directory / "image", directory / "point"
    with image.open("wb") as file:
        file.truncate(size << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True)
    point.mkdir(exist_ok=True)
    options = "loop,errors=remount-ro"
    subprocess.run(["mount", "-o", options, str(image), str(point)], check=True, capture_output=True)
    try:
        return size, look(point)
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True, capture_output=True)


def _systems_of(point: Path) -> list[Evidence]:
    seen = [item for item in DiskGatherer().gather(Host(interval_s=0.1)) if item.kind == "file-systems"]
    return [
        type(item)("host", tuple(system for system in item.systems if str(point) in system.points))
        for item in seen
    ]


def _full(chance: random.Random, directory: Path) -> Outcome:
    def look(point: Path) -> tuple[bool, bool]:
        filler = point / "filler"
        free = os.statvfs(point).f_bavail * os.statvfs(point).f_frsize
        filler.write_bytes(bytes(round(free * 0.985)))
        seen = _has("full-file-system", _systems_of(point))
        filler.unlink()
        return seen, not _has("full-file-system", _systems_of(point))

    size, (is_seen, is_gone) = _image(chance, directory, look)
    return Outcome(f"{size} MiB", is_seen, is_gone)


def _read_only(chance: random.Random, directory: Path) -> Outcome:
    def look(point: Path) -> tuple[bool, bool]:
        device = subprocess.run(
            ["findmnt", "-n", "-o", "SOURCE", str(point)], check=True, capture_output=True, text=True
        ).stdout
        Path("/sys/fs/ext4", Path(device.strip()).name, "trigger_fs_error").write_text("test")
        seen = _has("read-only-remount", _systems_of(point))
        return seen, True

    size, (is_seen, _) = _image(chance, directory, look)
    _, (_, is_gone) = _image(
        chance, directory, lambda point: (True, not _has("read-only-remount", _systems_of(point)))
    )
    return Outcome(f"{size} MiB", is_seen, is_gone)


REHEARSALS = (
    Rehearsal("heap-exhaustion", "a leak until an OutOfMemoryError of ZGC", "a bounded batch", _exhaustion),
    Rehearsal(
        "to-space-exhausted", "objects that survive in a full heap", "eight times the heap", _exhausted
    ),
    Rehearsal("long-pause", "a full collection of 45 million objects and more", "a hundredth", _long_pause),
    Rehearsal(
        "log-clock-steps", "a service whose clock a preloaded library shifts", "one source", _log_steps
    ),
    Rehearsal("oom-kill", "a process above the limit of its group", "less memory", _oom_kill),
    Rehearsal("memory-leak", "a service that retains 1.5 to 4 MB/s", "nothing retained", _leak),
    Rehearsal("full-gc-spiral", "a leaking class in a heap of 20 to 64 MiB", "a bounded batch", _spiral),
    Rehearsal(
        "heap-dumps", "`-XX:+HeapDumpBeforeFullGC` in a heap of 20 to 40 MiB", "without the flag", _dumps
    ),
    Rehearsal("humongous-allocations", "objects larger than half a region", "larger regions", _humongous),
    Rehearsal(
        "metaspace-exhaustion", "classes of ever new loaders", "a limit, and a larger metaspace", _metaspace
    ),
    Rehearsal("hung-mount", "FUSE mounts whose server is stopped", "mounted again", _hung_mount),
    Rehearsal("fighting-clocks", "a preloaded library that shifts the clock", "one source", _fight),
    Rehearsal("clock-step", "a preloaded library that shifts the clock", "no step", _step),
    Rehearsal("time-services", "three time servers on the loopback", "without the outlier", _servers),
    Rehearsal("throttled-container", "a busy process in a control group", "without the limit", _throttled),
    Rehearsal("container-memory", "a process above the limit of its group", "less memory", _group_memory),
    Rehearsal("listen-overflow", "a server that does not accept", "a longer queue", _listen),
    Rehearsal("open-files", "a process that opens files up to its limit", "twice the limit", _files),
    Rehearsal("silent-threads", "a service that is stopped for seconds", "not stopped", _silence),
    Rehearsal("full-file-system", "a file system in an image, filled", "files deleted", _full),
    Rehearsal(
        "read-only-remount",
        "an error of a file system in an image",
        "a file system without errors",
        _read_only,
    ),
)
