"""GC logs of the JDKs of this machine, each with the counters of its JVM at the end (`counters.json`)."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from bench.paired import ROOT, note

sys.path.insert(0, str(ROOT / "tests"))
from jvms import running
from loadcell.linux.hsperfdata import PerfDataFile
from loadcell.linux.java_processes import inspect

NAMES: Final = [
    f"sun.gc.collector.{number}.{value}" for number in range(4) for value in ("invocations", "time")
]
FREQUENCY: Final = "sun.os.hrt.frequency"
GENERATIONAL: Final = "-XX:ShenandoahGCMode=generational"
#: Version of the JDK, collector, further option.
RUNS: Final = [
    *((11, name, "") for name in ("Serial", "Parallel", "ConcMarkSweep", "G1", "Z", "Shenandoah")),
    *((17, name, "") for name in ("Serial", "Parallel", "G1", "Z", "Shenandoah")),
    *((21, name, "") for name in ("Serial", "Parallel", "G1", "Z", "Shenandoah")),
    (21, "Z", "-XX:+ZGenerational"),
    *((25, name, "") for name in ("Serial", "Parallel", "G1", "Z", "Shenandoah")),
    (25, "Shenandoah", GENERATIONAL),
]
#: Logs: all lines, pauses alone, and a heap that is nearly full.
ALL: Final = "-Xlog:gc*,safepoint:file={path}:utctime,uptime,level,tags"
PAUSES: Final = "-Xlog:gc:file={path}:uptime"


def make(directory: Path, seconds: float = 6) -> None:
    """Write the logs."""
    directory.mkdir(parents=True, exist_ok=True)
    counters, sources = {}, []
    cases = [
        *((run, "", ALL, ("-Xmx160m", "-Drate=300", "-Dretained=80")) for run in RUNS),
        *(
            (run, " pauses", PAUSES, ("-Xmx160m", "-Drate=300", "-Dretained=80"))
            for run in RUNS
            if run[0] == 25
        ),
        *((run, " tight", ALL, ("-Xmx100m", "-Drate=500", "-Dretained=75")) for run in RUNS if run[0] == 17),
    ]
    for (version, collector, option), mark, words, sizes in cases:
        name = f"{collector} {version}{' generational' if 'enerational' in option else ''}{mark}"
        path = directory / f"{name.replace(' ', '-')}.log"
        path.unlink(missing_ok=True)
        note(name)
        options = [
            "-XX:+UnlockExperimentalVMOptions",
            f"-XX:+Use{collector}GC",
            *filter(None, [option]),
            *sizes,
        ]
        with running(*options, words.format(path=path), version=version) as jvm:
            time.sleep(seconds)
            counters[path.stem] = counters_between_collections(jvm.pid)
        kind = f"{'CMS' if 'Mark' in collector else collector} {version}"
        sources.append(
            f"{path.name}\t{kind}{' generational' if 'enerational' in option else ''}\tmade: {name}"
        )
    (directory / "counters.json").write_text(json.dumps(counters))
    (directory / "sources.tsv").write_text("\n".join(sources) + "\n")


def counters_between_collections(pid: int) -> list[tuple[int, float]]:
    """Number and time in ms of each collector, of a JVM that is stopped while no collection runs."""
    process = inspect(pid)
    assert process is not None
    file = PerfDataFile(process.path, process.owners, [*NAMES, FREQUENCY], ["sun.gc.cause"])
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        reading = file.read()
        assert reading is not None
        if file.text(reading[-1]) == "No GC":
            break
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)
    *values, frequency = reading[: len(NAMES) + 1]
    return [
        (int(number or 0), (ticks or 0) / (frequency or 10**9) * 1e3)
        for number, ticks in zip(values[::2], values[1::2], strict=True)
    ]
