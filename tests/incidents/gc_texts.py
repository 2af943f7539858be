"""Logs of JVMs with an incident, and of healthy ones near it, in the words of JDK 17."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.incidents.base import Diagnosis, Healthy, Judgement, Unseen, examine
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.gc_logs import read

HEAP_MIB = 1000


@dataclass
class Log:
    """Lines of a log of G1 with a heap of 1000 MiB."""

    collector: str = "G1"
    lines: list[str] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self.line(0.01, f"Using {self.collector}")

    def line(self, at_s: float, text: str) -> None:
        """A line without a collection."""
        self.lines.append(f"[{at_s:.3f}s][info][gc] {text}\n")

    def of(self, at_s: float, text: str) -> None:
        """A line of the present collection."""
        self.line(at_s, f"GC({self.number}) {text}")

    def pause(
        self, at_s: float, name: str, before: float, after: float, milliseconds: float, cause: str = ""
    ) -> None:
        """A pause that ends at an instant; sizes in MiB."""
        cause = f" ({cause})" if cause else ""
        sizes = f"{round(before)}M->{round(after)}M({HEAP_MIB}M)"
        self.of(at_s, f"Pause {name}{cause} {sizes} {milliseconds:.3f}ms")
        self.number += 1

    def young(
        self, at_s: float, before: float, after: float, milliseconds: float = 10, cause: str = ""
    ) -> None:
        self.pause(at_s, "Young (Normal)", before, after, milliseconds, cause or "G1 Evacuation Pause")

    def full(self, at_s: float, before: float, after: float, milliseconds: float, cause: str = "") -> None:
        self.pause(at_s, "Full", before, after, milliseconds, cause or "G1 Compaction Pause")


def judged(directory: Path, log: Log, timeout_ns: int | None = None) -> tuple[Judgement, ...]:
    """Judgements of a log."""
    return examine(evidence(directory, log, timeout_ns))


def evidence(directory: Path, log: Log, timeout_ns: int | None = None) -> Collections:
    """The evidence of a log."""
    path = directory / "gc.log"
    path.write_text("".join(log.lines))
    [jvm] = read([(path, "gc.log")], timeout_ns).jvms
    return jvm


def diagnosed(judgements: tuple[Judgement, ...], incident: str) -> Diagnosis:
    """The only diagnosis of an incident."""
    [diagnosis] = [item for item in judgements if isinstance(item, Diagnosis) and item.incident == incident]
    return diagnosis


def is_healthy(judgements: tuple[Judgement, ...], incident: str) -> bool:
    """True if an incident was examined and is not there."""
    of_incident = [item for item in judgements if item.incident == incident]
    return any(isinstance(item, Healthy) for item in of_incident) and not any(
        isinstance(item, Diagnosis) for item in of_incident
    )


def is_unseen(judgements: tuple[Judgement, ...], incident: str) -> bool:
    """True if the evidence does not show an incident."""
    return any(isinstance(item, Unseen) for item in judgements if item.incident == incident)


def spiral(
    freed_mib: Iterator[float], interval_s: float, full_s: float, count: int = 6, occupied_mib: float = 990
) -> Log:
    """Full collections at equal distances, each of which frees so much."""
    log = Log()
    at_s = 10.0
    for _ in range(count):
        freed = next(freed_mib)
        log.full(at_s + full_s, occupied_mib, occupied_mib - freed, full_s * 1000)
        at_s += interval_s
    return log


def leaking(count: int, first_mib: float, growth_mib: float, seed: int = 1, noise_mib: float = 5) -> Log:
    """Marks of the old generation with a mixed collection after each: the live set grows by so much."""
    chance = random.Random(seed)
    log = Log()
    for index in range(count):
        at_s = 60.0 * (index + 1)
        live = first_mib + growth_mib * index + chance.uniform(-noise_mib, noise_mib)
        log.pause(at_s, "Young (Concurrent Start)", live + 200, live + 150, 8, "G1 Evacuation Pause")
        log.pause(at_s + 1, "Remark", live + 150, live + 140, 2)
        log.young(at_s + 2, live + 180, live + 60)
        log.pause(at_s + 3, "Young (Mixed)", live + 90, live, 9, "G1 Evacuation Pause")
    log.pause(60.0 * (count + 1), "Young (Concurrent Start)", 0, 0, 8, "G1 Evacuation Pause")
    return log
