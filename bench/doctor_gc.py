"""Time and memory of reading GC logs: two logs of different sizes, each in a separate process.

    python -m bench.doctor_gc [--size 50]

Prints a line per format: size, seconds, and the peak memory with that of a log of a tenth of the size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import doctor_speed


def unified(collections: int) -> Iterator[str]:
    """A log of G1 with -Xlog:gc*, as JDK 17 writes it."""
    yield "[0.010s][info][gc] Using G1\n"
    for number in range(collections):
        head = f"[2026-11-28T10:00:00.000+0000][{number * 0.37 + 1:.3f}s][info][gc"
        yield f"{head},start    ] GC({number}) Pause Young (Normal) (G1 Evacuation Pause)\n"
        for phase in ("Pre Evacuate Collection Set", "Merge Heap Roots", "Evacuate Collection Set", "Other"):
            yield f"{head},phases   ] GC({number})   {phase}: 0.1ms\n"
        for regions in ("Eden regions: 5->0(8)", "Old regions: 12->13", "Humongous regions: 0->0"):
            yield f"{head},heap     ] GC({number}) {regions}\n"
        yield f"{head},metaspace] GC({number}) Metaspace: 112K(320K)->112K(320K) NonClass: 108K->108K\n"
        yield f"{head}          ] GC({number}) Pause Young (Normal) (G1 Preventive) 24M->3M(256M) 2.345ms\n"
        yield f"{head},cpu      ] GC({number}) User=0.00s Sys=0.00s Real=0.00s\n"


def basic(collections: int) -> Iterator[str]:
    """A log of pauses alone (-Xlog:gc)."""
    yield "[0.010s][info][gc] Using G1\n"
    for number in range(collections):
        head = f"[2026-11-28T10:00:00.000+0000][{number * 0.37 + 1:.3f}s][info][gc] GC({number})"
        yield f"{head} Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 2.345ms\n"


def legacy(collections: int) -> Iterator[str]:
    """A log of Parallel with -XX:+PrintGCDetails, as JDK 8 writes it."""
    for number in range(collections):
        yield (
            f"2026-06-28T10:00:00.123+0000: {number * 0.37 + 1:.3f}: [GC (Allocation Failure) "
            "[PSYoungGen: 65536K->10720K(76288K)] 65536K->13088K(251392K), 0.0100000 secs] "
            "[Times: user=0.02 sys=0.00, real=0.01 secs]\n"
        )


FORMATS = {"unified": unified, "basic": basic, "legacy": legacy}


def write(path: Path, name: str, size_bytes: int) -> None:
    """A log of about this size."""
    sample = sum(len(line) for line in FORMATS[name](1_000))
    with path.open("w") as file:  # the peak of this process would be that of the next one
        file.writelines(FORMATS[name](size_bytes * 1_000 // sample))


def examine(path: Path) -> int:
    """Examine a log; the number of its pauses."""
    from loadcell.incidents.examination import examination
    from loadcell.incidents.gc_logs import read

    logs = read([(path, path.name)])
    examination(path.name, logs.jvms, readings=[logs.reading])
    return logs.jvms[0].log.totals.all.count


if __name__ == "__main__":
    doctor_speed.main("bench.doctor_gc", __doc__, FORMATS, write, examine, "pauses")
