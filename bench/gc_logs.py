"""Kind, lines, lines not understood and pauses of GC logs as read, and agreement with other readers.

    python -m bench.gc_logs DIRECTORY... [--make DIRECTORY] [--keep]

Reads every `*.log` of the directories. `--make` first writes logs of the JDKs of this machine, with the
counters of each JVM. `sources.tsv` in a directory has the name of each log, its kind and its source. Results
have no text of the logs, which stay where they are.

GCViewer 1.36 and gctoolkit 3.0.0 (Maven Central) read the same logs. Their number of pauses, accumulated
time, longest pause, largest heap and sum of the heap after each collection are compared within 1 %. Where
they differ, a subset of the pauses that has their values names what they leave out.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from bench.gc_logs_made import make
from bench.paired import ROOT, keep, note
from loadcell.ingest.gc_log import read_jvms
from loadcell.model.gc_pauses import GcLog, Pause

PEERS: Final = ROOT / "bench" / "gc_peers"
TOLERANCE: Final = 0.01
#: Values of a JVM's log in milliseconds and KiB; the heap is 0 where no line has it.
VALUES: Final = ("pauses", "total_ms", "longest_ms", "largest_heap_kib", "after_kib")
#: A line of the end of a pause in the unified format.
_PAUSE: Final = re.compile(r"GC\(\d+\) (?:[yYO]: )?Pause .* \d+[.,]\d+ms$", re.MULTILINE)


@dataclass(frozen=True)
class Totals:
    """The compared values."""

    pauses: int
    total_ms: float
    longest_ms: float
    largest_heap_kib: int
    after_kib: int

    def differences(self, other: Totals) -> list[str]:
        """Names of values that differ by more than the tolerance."""
        return [name for name in VALUES if not _is_close(getattr(self, name), getattr(other, name))]


@dataclass
class Row:
    """A log, and how it was read; `agrees` and `differs` are by reader."""

    log: str
    kind: str
    format: str
    lines: int
    not_understood: int
    totals: Totals
    #: time in which the program stood: that of a pause within another one counts once
    stopped_ms: float
    #: number and time of the pauses by the counters of the JVM
    counted: tuple[int, float] | None = None
    agrees: list[str] = field(default_factory=list)
    differs: dict[str, str] = field(default_factory=dict)


def _is_close(first: float, second: float) -> bool:
    return abs(first - second) <= TOLERANCE * max(abs(first), abs(second)) + 0.001


def totals(pauses: Iterable[Pause]) -> Totals:
    """Totals of pauses."""
    every = list(pauses)
    return Totals(
        len(every),
        sum(pause.duration_ns for pause in every) / 1e6,
        max((pause.duration_ns for pause in every), default=0) / 1e6,
        max((pause.capacity_bytes or 0 for pause in every), default=0) // 1024,
        sum(pause.after_bytes or 0 for pause in every) // 1024,
    )


#: Pauses that a reader leaves out, by the text that names it.
SUBSETS: Final[Mapping[str, Callable[[Pause], bool]]] = {
    "leaves out the cleanup of G1": lambda pause: pause.name == "Cleanup",
    "leaves out remark and cleanup": lambda pause: pause.name in ("Cleanup", "Remark"),
    "leaves out pauses of concurrent cycles": lambda pause: pause.kind == "cycle",
    "leaves out Final Roots of Shenandoah": lambda pause: pause.name == "Final Roots",
    "leaves out full collections": lambda pause: pause.kind == "full",
    "leaves out full collections and remarks": lambda pause: pause.kind in ("full", "cycle"),
    "leaves out collections with a failure": lambda pause: bool(pause.failures),
    "leaves out collections that start a mark": lambda pause: "Initial Mark" in pause.name,
    "leaves out young collections": lambda pause: pause.kind == "young",
}


def explained(pauses: Sequence[Pause], expected: Totals, peer: Totals) -> str:
    """Describe the difference of a reader."""
    if not peer.pauses:
        return "finds no pause"
    without_heap = [name for name in expected.differences(peer) if name in VALUES[:3]]
    if not without_heap:
        return "reads no heap" if not peer.after_kib else "takes sizes that are rounded to whole MiB"
    for text, is_without in SUBSETS.items():
        part = totals(pause for pause in pauses if not is_without(pause))
        if part.pauses < expected.pauses and not set(part.differences(peer)) & set(VALUES[:3]):
            return text
    is_cycle = all(pause.kind == "cycle" and pause.before_bytes is None for pause in pauses)
    if is_cycle and _is_close(expected.total_ms, peer.total_ms) and peer.pauses < expected.pauses:
        return "counts the pauses of a cycle as one"
    if peer.pauses == expected.pauses:
        return "takes a pause within another one from it"
    return (
        "reads a part of the pauses"
        if peer.pauses < expected.pauses
        else "counts a part of a pause as another"
    )


def read(path: Path, kind: str, log: str) -> tuple[Row, list[Pause]]:
    """A log by loadcell."""
    text = path.read_text(errors="replace")
    logs: tuple[GcLog, ...] = read_jvms(text.splitlines(keepends=True))
    pauses = [pause for item in logs for pause in item.pauses]
    is_unified = "] GC(" in text or text.startswith("[")
    name = kind or next((item.collector for item in logs if item.collector), "")
    row = Row(
        log,
        name,
        "unified" if is_unified and "[GC (" not in text else "JDK 8 and before",
        sum(item.lines for item in logs),
        sum(item.unread for item in logs),
        totals(pauses),
        sum(item.totals.stopped_ns for item in logs) / 1e6,
    )
    counted = sum(item.totals.all.count for item in logs)
    if is_unified and len(_PAUSE.findall(text)) == counted:
        row.agrees.append("its lines")
    return row, pauses


def peers(paths: Sequence[Path]) -> dict[str, dict[str, Totals]]:
    """Totals by reader and path; a log that one refuses is missing."""
    with tempfile.TemporaryDirectory() as directory:
        note("fetching GCViewer and gctoolkit")
        words = ["mvn", "-q", "-B", "-f", str(PEERS / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*words, f"-DoutputDirectory={directory}"], check=True, capture_output=True)
        viewer = Path(directory, "gcviewer-1.36.jar")
        viewer = viewer.rename(Path(directory).parent / f"{Path(directory).name}-gcviewer.jar")
        modules = ",".join(f"com.microsoft.gctoolkit.{name}" for name in ("api", "parser", "vertx"))
        commands = {
            "GCViewer": ["-cp", str(viewer), str(PEERS / "GcViewerTotals.java")],
            "gctoolkit": ["-p", directory, "--add-modules", modules, str(PEERS / "GcToolkitTotals.java")],
        }
        try:
            return {name: _run(name, words, paths) for name, words in commands.items()}
        finally:
            viewer.unlink()


def _run(name: str, words: list[str], paths: Sequence[Path]) -> dict[str, Totals]:
    note(f"reading {len(paths)} logs by {name}")
    done = subprocess.run(["java", *words, *map(str, paths)], capture_output=True, text=True, check=False)
    results = {}
    for line in done.stdout.splitlines():
        path, *fields = line.split("\t")
        if len(fields) == 5:
            results[path] = Totals(int(fields[0]), float(fields[1]), float(fields[2]), *map(int, fields[3:]))
    return results


def compare_counters(row: Row, counters: Sequence[Sequence[float]]) -> None:
    """Compare with counters of the JVM's performance data, which count pauses of most collectors."""
    if row.kind.startswith("Shenandoah") or not any(number for number, _ in counters if number):
        return  # its counters have concurrent phases, too
    counted = sum(int(number or 0) for number, _ in counters)
    row.counted = counted, sum(milliseconds for _, milliseconds in counters)
    if counted == row.totals.pauses:
        row.agrees.append("hsperfdata")
    else:
        is_cycles = not row.totals.pauses
        row.differs["hsperfdata"] = f"counts {counted}{': the log has cycles alone' if is_cycles else ''}"


def rows_of(directories: Sequence[Path]) -> list[Row]:
    """All logs of directories."""
    paths = [path for directory in directories for path in sorted(directory.glob("*.log"))]
    by_peer = peers(paths)
    rows = []
    for directory in directories:
        sources = directory / "sources.tsv"
        lines = sources.read_text().splitlines() if sources.exists() else []
        named = {name: (kind, source) for name, kind, source in (line.split("\t") for line in lines)}
        file = directory / "counters.json"
        counters = json.loads(file.read_text()) if file.exists() else {}
        for path in sorted(directory.glob("*.log")):
            kind, source = named.get(path.name, ("", path.stem))
            row, pauses = read(path, kind, source)
            if path.stem in counters:
                compare_counters(row, counters[path.stem])
            for name, results in by_peer.items():
                peer = results.get(str(path))
                if peer is None:
                    row.differs[name] = "refuses the log"
                elif row.totals.differences(peer):
                    row.differs[name] = explained(pauses, row.totals, peer)
                else:
                    row.agrees.append(name)
            rows.append(row)
    return rows


def summary(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Logs by kind: all, those understood in every line, those that agree with another reader."""
    kinds: dict[str, Counter[str]] = {}
    for row in rows:
        counts = kinds.setdefault(row.kind, Counter())
        counts["logs"] += 1
        counts["understood"] += not row.not_understood
        counts["agree"] += bool(set(row.agrees) - {"its lines"})
    return {kind: dict(counts) for kind, counts in sorted(kinds.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directories", type=Path, nargs="*")
    parser.add_argument("--make", type=Path, help="write logs of the JDKs of this machine there")
    parser.add_argument("--keep", action="store_true", help="store the result")
    options = parser.parse_args()
    directories = list(options.directories)
    if options.make is not None:
        make(options.make)
        directories.append(options.make)
    rows = rows_of(directories)
    for row in rows:
        share = row.not_understood / max(1, row.lines)
        print(
            f"{row.kind:24} {row.log:44} {row.lines:7} lines, {share:6.2%} not understood, "
            f"{row.totals.pauses:5} pauses, {row.totals.total_ms:12.3f} ms; "
            f"agrees: {', '.join(row.agrees) or '-'}; "
            f"{'; '.join(f'{name} {text}' for name, text in row.differs.items())}"
        )
    print(json.dumps(summary(rows), indent=1))
    if options.keep:
        result = {"kinds": summary(rows), "logs": [asdict(row) for row in rows]}
        keep("gc_logs", "python -m bench.gc_logs PUBLIC MADE --keep", result)


if __name__ == "__main__":
    main()
