"""Evidence of an event, in a directory: the examination of the host, threads of the JVM, processes, samples.

What is short-lived is written first. The size of a directory is bounded.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.incidents import record as records
from loadcell.incidents.evidence.jvms import EndedJvm
from loadcell.incidents.examination import Examination, examination
from loadcell.incidents.live.base import Host, Look
from loadcell.incidents.live.ended_jvms import EndedJvmGatherer
from loadcell.incidents.live.gathering import gather, gatherers
from loadcell.incidents.live.kernel_log import oom_kills
from loadcell.linux import procfs
from loadcell.linux.java_attach import AttachError, run
from loadcell.linux.java_traces import JavaTraces
from loadcell.linux.procfs import ProcessStat
from loadcell.model import json as model_json
from loadcell.model.numbers import utc_second
from loadcell.monitors.base import Row
from loadcell.plan.secret_patterns import without_secrets

#: Largest size of the directory of an event.
MOST_BYTES: Final = 20 << 20
_MOST_PROCESSES: Final = 40
_MOST_CHARACTERS: Final = 300
_THREADS_S: Final = 2.5
_INTERVAL_S: Final = 0.5


@dataclass(frozen=True)
class Event:
    """The examination at an event, and the JVMs that had ended."""

    examined: Examination
    ended: tuple[EndedJvm, ...] = ()

    @property
    def incidents(self) -> list[str]:
        """Incidents of the host that are more than a note, each once; without those of ended JVMs."""
        return self._names(of_ended=False)

    @property
    def ended_incidents(self) -> list[str]:
        """Those in the GC logs of JVMs that have ended."""
        return self._names(of_ended=True)

    @property
    def has_failed(self) -> bool:
        """True where a JVM that has ended left a crash report, a heap dump, or an incident in its log."""
        return any(jvm.crashes or jvm.certain_dumps for jvm in self.ended) or bool(self.ended_incidents)

    def _names(self, *, of_ended: bool) -> list[str]:
        sources = {f"{jvm.log_name} ({jvm.pid})" for jvm in self.ended}
        names = [
            diagnosis.incident
            for subject, diagnosis in self.examined.diagnoses
            if diagnosis.level != "note" and (subject.evidence.source in sources) is of_ended
        ]
        return list(dict.fromkeys(names))


@dataclass
class EventDirectory:
    """A directory whose files together have at most `MOST_BYTES`."""

    path: Path
    remaining_bytes: int = MOST_BYTES

    def write(self, name: str, text: str) -> None:
        """Write a file for its owner alone, cut where the room ends. Raises OSError."""
        data = text.encode("utf-8", "replace")[: self.remaining_bytes]
        self.remaining_bytes -= len(data)
        with open(self.path / name, "xb", opener=_for_owner) as file:
            file.write(data)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def look() -> Look:
    """A look at this host at this moment."""
    return Look(time.monotonic(), oom_kills(procfs.ROOT))


def gather_event(
    directory: Path,
    pid: int | None,
    title: str,
    rows: Iterable[tuple[float, Row]],
    earlier: Look,
    ended: Sequence[JavaTraces] = (),
) -> Event:
    """Write the evidence of an event: of the host at this time, with the messages of logs since an `earlier`
    look, and the files of JVMs that have `ended`. Raises OSError.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700)
    event = EventDirectory(directory)
    if pid is not None and not ended:
        event.write("threads.txt", _threads(pid))
    event.write("processes.txt", _processes())
    event.write("samples.csv", _table(rows))
    # two histograms would collect the heap of a JVM that is in trouble twice
    gathered = gather(
        Host(earlier=earlier, ended=tuple(ended)), [*gatherers(), *([EndedJvmGatherer] if ended else [])]
    )  # fmt: skip
    jvms = [item for item in gathered.evidence if isinstance(item, EndedJvm)]
    others = [item for item in gathered.evidence if not isinstance(item, EndedJvm)]
    examined = examination(title, others, gathered.missing)
    event.write(
        "examination.json",
        json.dumps(model_json.document(records.record(examined)), indent=2, ensure_ascii=False) + "\n",
    )
    for jvm in jvms:
        _write(event, jvm)
    return Event(examined, tuple(jvms))


def _write(event: EventDirectory, jvm: EndedJvm) -> None:
    """Write the files of a JVM that has ended, and the list of them: heap dumps remain where they are."""
    rows = [f"command: {jvm.command[:_MOST_CHARACTERS]}", f"GC log: {jvm.log_name or 'none'}"]
    rows += [f"crash report: {name}" for name, _ in jvm.crashes]
    rows += [
        f"heap dump: {dump.path}, {dump.size_bytes} bytes, {utc_second(dump.written_ns)}"
        + (f", perhaps of another JVM with this path: {', '.join(map(str, dump.others))}" * bool(dump.others))
        for dump in jvm.dumps
    ]
    event.write(f"ended-{jvm.pid}.txt", "\n".join(rows) + "\n")
    for number, (_, text) in enumerate(jvm.crashes):
        event.write(f"hs_err-{jvm.pid}{f'-{number}' if number else ''}.log", text)
    if jvm.log:
        event.write(f"gc-{jvm.pid}.log", jvm.log)


def _threads(pid: int) -> str:
    """Threads of a JVM with their stacks, or why there are none. Applications name threads as they like."""
    try:
        return without_secrets(run(pid, "Thread.print", _THREADS_S))
    except AttachError as error:
        return f"{error}\n"


def _processes() -> str:
    """The busiest and the largest processes of this moment."""
    before = {(stat.pid, stat.start): stat.user + stat.system for stat in procfs.all_stats(procfs.ROOT)}
    begin = time.monotonic()
    time.sleep(_INTERVAL_S)
    stats = list(procfs.all_stats(procfs.ROOT))
    ticks_per_percent = (time.monotonic() - begin) * os.sysconf("SC_CLK_TCK") / 100

    def percent(stat: ProcessStat) -> float:
        used = stat.user + stat.system
        return (used - before.get((stat.pid, stat.start), used)) / ticks_per_percent

    half = _MOST_PROCESSES // 2
    busiest = sorted(stats, key=percent, reverse=True)[:half]
    largest = sorted(stats, key=lambda stat: stat.rss_pages, reverse=True)[:half]
    page_mib = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    lines = ["    pid state  cpu %  rss MiB threads command"]
    for stat in dict.fromkeys([*busiest, *largest]):
        command = " ".join(procfs.command_line(stat.pid)) or f"[{stat.name}]"
        lines.append(
            f"{stat.pid:7} {stat.state:5} {percent(stat):6.1f} {stat.rss_pages * page_mib:8.1f} "
            f"{stat.threads:7} {without_secrets(command)[:_MOST_CHARACTERS]}"
        )
    return "\n".join(lines) + "\n"


def _table(rows: Iterable[tuple[float, Row]]) -> str:
    """The last samples."""
    samples = list(rows)
    text = io.StringIO()
    if samples:
        last = samples[-1][0]
        columns = list(samples[-1][1])
        table = csv.writer(text)
        table.writerow(["t_s", *columns])
        for instant, row in samples:
            table.writerow([f"{instant - last:.3f}", *(row.get(column) for column in columns)])
    return text.getvalue()
