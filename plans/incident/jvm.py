"""Incidents of a JVM: programs with small heaps, examined by their GC logs or while they run.

`jvm.py INCIDENT` in a directory for scratch files; needs a JDK of version 11 or later, by JAVA_HOME or on
PATH. Standard library only.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rehearsal import Examination, Rehearsal, Steps, ended, main, program

SOURCES: Final = Path(__file__).resolve().parent.parent / "incident-jvm"
_LIMIT_S: Final = 150
#: The time in collections since the start counts from 30 s on; during one the counters do not change.
_LASTING_S: Final = 31
_BATCH_S: Final = 8
_RATE: Final = "-Drate=400"


def command(name: str, directory: Path, log: Path, *options: str) -> list[str]:
    """The command that runs a program of `SOURCES` with a GC log; it is compiled first. Raises OSError."""
    if not (directory / f"{name}.class").exists():
        compiler = [program("javac"), "--release", "11", "-d", str(directory), str(SOURCES / f"{name}.java")]
        subprocess.run(compiler, check=True, capture_output=True, text=True)
    to_file = f"-Xlog:gc*,safepoint:file={log}:utctime,uptime,level,tags:filecount=0"
    return [program("java"), *options, to_file, "-cp", str(directory), name]


def logged(name: str, directory: Path, size: str, *options: str) -> Examination:
    """The examination of the GC log of a program, which has ended or is stopped at a limit of time."""
    log = directory / f"gc-{time.monotonic_ns()}.log"
    with suppress(subprocess.TimeoutExpired):
        words = command(name, directory, log, *options)
        subprocess.run(words, check=False, capture_output=True, timeout=_LIMIT_S, cwd=directory)
    return Examination(("--gc-log", str(log)), size)


@contextmanager
def running(name: str, directory: Path, *options: str, warm_up_s: float = 3) -> Iterator[int]:
    """The process id of a JVM that runs a program, some seconds after its start."""
    log = directory / f"gc-{time.monotonic_ns()}.log"
    words = command(name, directory, log, *options)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory)
    try:
        time.sleep(warm_up_s)
        yield process.pid
    finally:
        ended(process)


def _in_parts(heap_mib: int) -> tuple[str, str]:
    """The batch by tenths of the heap, each released before the next."""
    return f"-Dpart={(heap_mib << 20) // 10}", f"-Dseconds={_BATCH_S}"


def full_gc_spiral(chance: random.Random, directory: Path) -> Steps:
    heap, collector = chance.randint(20, 64), chance.choice(["G1", "Serial", "Parallel"])
    size, options = f"{heap} MiB, {collector}", (f"-Xmx{heap}m", f"-XX:+Use{collector}GC")
    yield logged("Leak", directory, size, *options)
    yield logged("Leak", directory, size, *options, *_in_parts(heap))


def heap_exhaustion(chance: random.Random, directory: Path) -> Steps:
    heap = chance.randint(32, 64)
    size, options = f"{heap} MiB", (f"-Xmx{heap}m", "-XX:+UseZGC")
    yield logged("Leak", directory, size, *options)
    yield logged("Leak", directory, size, *options, *_in_parts(heap))


def heap_dumps(chance: random.Random, directory: Path) -> Steps:
    heap = chance.randint(20, 40)
    size, flags = f"{heap} MiB", ("-XX:+HeapDumpBeforeFullGC", f"-XX:HeapDumpPath={directory}")
    yield logged("Leak", directory, size, f"-Xmx{heap}m", *flags)
    for file in directory.glob("*.hprof*"):
        file.unlink()
    yield logged("Leak", directory, size, f"-Xmx{heap}m")


def humongous_allocations(chance: random.Random, directory: Path) -> Steps:
    kib = chance.randint(600, 3000)
    size = f"objects of {kib} KiB"
    options = ("-Xmx256m", "-XX:+UseG1GC", f"-Dsize={kib << 10}", f"-Dretained={60 << 20}", "-Dslow=true")
    yield logged("Allocation", directory, size, *options, "-XX:G1HeapRegionSize=1m")
    yield logged("Allocation", directory, size, *options, "-XX:G1HeapRegionSize=16m")


def metaspace_exhaustion(chance: random.Random, directory: Path) -> Steps:
    limit = chance.randint(12, 24)
    size = f"{limit} MiB"
    yield logged("Loaders", directory, size, "-Xmx256m", f"-XX:MaxMetaspaceSize={limit}m")
    yield logged("Loaders", directory, size, "-Xmx256m", "-XX:MaxMetaspaceSize=256m", "-Dmost=2000")


def to_space_exhausted(chance: random.Random, directory: Path) -> Steps:
    """Objects that all survive, in a heap that is nearly full."""
    heap = chance.randint(32, 96)
    size, options = f"{heap} MiB", ("-XX:+UseG1GC", f"-Dretained={int(heap * 0.97) << 20}")
    yield logged("Allocation", directory, size, f"-Xmx{heap}m", *options, "-XX:G1ReservePercent=0")
    earlier = ("-XX:G1ReservePercent=20", "-XX:InitiatingHeapOccupancyPercent=35")
    yield logged("Allocation", directory, size, f"-Xmx{8 * heap}m", *options, *earlier)


def promotion_failure(chance: random.Random, directory: Path) -> Steps:
    """Survivors that an old generation without room cannot take, or threads that wait for memory (ZGC)."""
    heap, collector = chance.randint(40, 96), chance.choice(["Serial", "Z"])
    size, options = (
        f"{heap} MiB, {collector}",
        (f"-XX:+Use{collector}GC", f"-Dretained={heap * 6 // 10 << 20}", _RATE),
    )
    yield logged("Allocation", directory, size, f"-Xmx{heap}m", *options)
    yield logged("Allocation", directory, size, f"-Xmx{16 * heap}m", *options)


def long_pause(chance: random.Random, directory: Path) -> Steps:
    millions = chance.randint(45, 60)
    size, options = f"{millions} million objects", ("-Xmx4g", "-Xms4g", f"-Dobjects={millions * 10**6}")
    yield logged("LinkedObjects", directory, size, *options, "-XX:+UseSerialGC")
    yield logged("LinkedObjects", directory, size, *options, "-XX:+UseZGC")


def slower_collections(chance: random.Random, directory: Path) -> Steps:
    """Ever more requests are pending, and each young collection copies them."""
    mib = chance.randint(20, 28)
    size = f"0 to {mib} MiB"
    options = (
        "-Xmx192m", "-Xms192m", "-Xmn96m", "-XX:SurvivorRatio=1", "-XX:TargetSurvivorRatio=100",
        "-XX:+UseSerialGC", f"-Dgrowth={mib << 20}",
    )  # fmt: skip
    yield logged("PendingRequests", directory, size, *options)
    yield logged("PendingRequests", directory, size, *options, "-Dbound=1000000")


def memory_leak(chance: random.Random, directory: Path) -> Steps:
    leaked = chance.randint(15, 40)
    size = f"{leaked * 100} kB/s"
    options = (
        "-Xmx400m", "-XX:+UseG1GC", "-XX:InitiatingHeapOccupancyPercent=5", "-XX:-G1UseAdaptiveIHOP",
        "-Dseconds=100",
    )  # fmt: skip
    yield logged("SlowLeak", directory, size, *options, f"-Dleaked={leaked}")
    yield logged("SlowLeak", directory, size, *options, "-Dleaked=0")


def gc_time(chance: random.Random, directory: Path) -> Steps:
    """A high rate of allocation next to a live set that nearly fills the heap."""
    heap, collector = chance.randint(40, 100), chance.choice(["Serial", "Parallel", "G1"])
    size = f"{heap} MiB, {collector}"
    options = (f"-XX:+Use{collector}GC", "-Dseconds=120", "-Drate=200")
    live = int(heap * 0.8) << 20
    for mib, retained in ((heap, live), (4 * heap, live // 10)):
        words = (*options, f"-Xmx{mib}m", f"-Dretained={retained}")
        with running("Allocation", directory, *words, warm_up_s=_LASTING_S) as pid:
            yield Examination(("--pid", str(pid)), size)


def class_growth(chance: random.Random, directory: Path) -> Steps:
    """A leak that is young: at a constant rate an old one grows by a small share."""
    leaked = chance.randint(80, 200)
    size, options = f"{leaked / 10:g} MB/s", ("-Xmx1g", "-XX:+UseG1GC", "-Dseconds=60", "-Dlive=10")
    for number in (leaked, 0):
        with running("SlowLeak", directory, *options, f"-Dleaked={number}", warm_up_s=1) as pid:
            yield Examination(("--pid", str(pid)), size)


def log_coincidences(chance: random.Random, directory: Path) -> Steps:
    """A service whose threads write no line while its JVM collects a large live set."""
    millions = chance.randint(16, 24)
    size, options = f"{millions} million objects", ("-Xmx2g", "-Xms2g", "-Xss512m", "-XX:+UseSerialGC")
    for objects in (millions * 10**6, 10**4):
        service = directory / f"service-{objects}.log"
        words = (f"-Dobjects={objects}", f"-Dlog={service}")
        examined = logged("StallingService", directory, size, *options, *words)
        yield Examination(("--log", str(service), *examined.words), size)


REHEARSALS: Final = {
    "heap-exhaustion": Rehearsal(
        "a batch that ZGC has no memory for", "tenths of the batch, released one by one", heap_exhaustion
    ),
    "to-space-exhausted": Rehearsal(
        "objects that survive in a full heap", "eight times the heap, a larger reserve, earlier marking",
        to_space_exhausted,
    ),
    "promotion-failure": Rehearsal(
        "a live set near the size of the heap, Serial or ZGC", "sixteen times the heap", promotion_failure,
    ),
    "long-pause": Rehearsal(
        "a full collection of 45 million objects and more", "the same with ZGC", long_pause
    ),
    "slower-collections": Rehearsal(
        "ever more pending requests, which young collections copy", "a bounded queue", slower_collections
    ),
    "memory-leak": Rehearsal("a service that retains 1.5 to 4 MB/s", "the leak closed", memory_leak),
    "gc-time": Rehearsal(
        "a live set of 80% of the heap and a high rate of allocation",
        "four times the heap, a tenth at once", gc_time,
    ),
    "class-growth": Rehearsal(
        "a running service that retains 8 to 20 MB/s", "the leak closed", class_growth
    ),
    "log-coincidences": Rehearsal(
        "a service that stalls in full collections", "a small live set", log_coincidences
    ),
    "full-gc-spiral": Rehearsal(
        "a batch that exceeds a heap of 20 to 64 MiB", "tenths of the batch, released one by one",
        full_gc_spiral,
    ),
    "heap-dumps": Rehearsal(
        "`-XX:+HeapDumpBeforeFullGC` in a heap of 20 to 40 MiB", "without the flag", heap_dumps
    ),
    "humongous-allocations": Rehearsal(
        "objects larger than half a region", "larger regions", humongous_allocations
    ),
    "metaspace-exhaustion": Rehearsal(
        "classes of ever new loaders", "fewer loaders, and a larger metaspace", metaspace_exhaustion
    ),
}  # fmt: skip

if __name__ == "__main__":
    main(REHEARSALS)
