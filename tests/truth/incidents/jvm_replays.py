"""Incidents of JVMs in GC logs of random sizes and times, and logs below their thresholds."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import repeat
from pathlib import Path

from incidents.gc_texts import Log, evidence, leaking, spiral
from incidents.test_gc_incidents import growing, humongous, metadata, one_pause
from loadcell.incidents.evidence.collections import DumpFile
from loadcell.incidents.evidence.jvms import JvmCounters

from .case import LATEST_S, Build, Example, Replay, log_example

GIB = 1 << 30
_LAST = "Metadata GC Clear Soft References"


def _quiet(log: Log, chance: random.Random) -> float:
    """An uneventful end of a log: time after the last sign."""
    remaining_s = chance.uniform(0, LATEST_S)
    at_s = float(log.lines[-1][1:].partition("s]")[0])
    log.line(at_s + remaining_s, "GC(99999) Concurrent Mark Cycle 12.345ms")
    return remaining_s


def _spiral(
    freed: tuple[float, float],
    share: tuple[float, float],
    occupied: tuple[float, float],
    interval: tuple[float, float] = (1, 1.05),
) -> Build:
    """Full collections that free this part of the heap (MiB of 1000), take this share of the time, and leave
    the rest of this occupancy. Without an interval no pause is a long one.
    """

    def build(chance: random.Random, directory: Path) -> Example:
        freed_mib, used_mib = chance.uniform(*freed), chance.uniform(*occupied)
        interval_s = chance.uniform(*interval)
        full_s = interval_s * chance.uniform(*share)
        log = spiral(repeat(freed_mib), interval_s, full_s, chance.randint(3, 12), used_mib)
        remaining_s = 0.0 if share[0] < 0.3 else _quiet(log, chance) * 0.01
        return log_example(log, directory, f"{freed_mib:.0f} MiB freed, each {interval_s:.0f} s", remaining_s)

    return build


def _filled(freed: tuple[float, float]) -> Build:
    """Rare full collections at the end of a log that free so much (MiB of 1000)."""

    def build(chance: random.Random, directory: Path) -> Example:
        freed_mib = chance.uniform(*freed)
        log = spiral(repeat(freed_mib), chance.uniform(61, 300), 0.3, chance.randint(3, 9), 995)
        return log_example(log, directory, f"{freed_mib:.0f} MiB freed")

    return build


def _requested(chance: random.Random, directory: Path) -> Example:
    log = Log()
    for index in range(chance.randint(10, 60)):
        log.full(10 + index, chance.uniform(900, 990), chance.uniform(880, 900), chance.uniform(100, 700),
                 chance.choice(["System.gc()", "Heap Inspection Initiated GC"]))  # fmt: skip
    return log_example(log, directory, "requested")


def _stable(chance: random.Random, directory: Path) -> Example:
    """A batch with a large but stable heap."""
    live = chance.uniform(600, 840)
    return log_example(leaking(30, live, 0, chance.randrange(10**6), 10), directory, f"{live:.0f} MiB live")


def _dumps(count: tuple[int, int]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        log = Log()
        log.young(5, 500, 100)
        number = chance.randint(*count)
        files = tuple(
            DumpFile(f"/d/java_pid7.hprof.{item}", chance.randint(1, 182) << 30, 10**18)
            for item in range(number)
        )
        return Example(replace(evidence(directory, log), dump_files=files), f"{number} files")

    return build


def _humongous(share: tuple[float, float]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        total = chance.randint(60, 300)
        count = round(total * chance.uniform(*share))
        return log_example(humongous(count, total - count), directory, f"{count} of {total}")

    return build


def _exhausted(chance: random.Random, directory: Path) -> Example:
    log = Log()
    at_s = chance.uniform(5, 500)
    for _ in range(chance.randint(3, 8)):
        name = "Young (Normal) (G1 Evacuation Pause)"
        log.pause(at_s, name, 990, 900, chance.uniform(50, 900), "Evacuation Failure: Allocation")
        at_s += chance.uniform(1, 20)
    return log_example(log, directory, "failures", _quiet(log, chance))


def _pinned(chance: random.Random, directory: Path) -> Example:
    log = Log()
    for index in range(chance.randint(1, 30)):
        log.pause(
            10 + index, "Young (Normal) (G1 Evacuation Pause)", 600, 300, 30, "Evacuation Failure: Pinned"
        )
    return log_example(log, directory, "pinned objects")


def _metaspace(spacing: tuple[float, float], cause: str, growth: int) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        at_s, used = chance.uniform(5, 300), chance.randint(30_000, 250_000)
        rows = []
        for index in range(chance.randint(3, 9)):
            rows.append((at_s, cause, used + growth * index))
            at_s += chance.uniform(*spacing)
        log = metadata(*rows)
        return log_example(log, directory, f"{used} KiB", _quiet(log, chance))

    return build


def _promotion(chance: random.Random, directory: Path) -> Example:
    log = Log("Concurrent Mark Sweep")
    for index in range(chance.randint(1, 9)):
        at_s = 10 + 100 * index + chance.uniform(0, 50)
        log.of(at_s, "Concurrent mode failure")
        log.full(at_s, 990, chance.uniform(400, 700), chance.uniform(200, 950))
    return log_example(log, directory, "late cycles", _quiet(log, chance))


def _plain(chance: random.Random, directory: Path) -> Example:
    log = Log("Parallel")
    at_s = 0.0
    for _ in range(chance.randint(30, 300)):
        at_s += chance.uniform(0.2, 10)
        log.pause(at_s, "Young", 500, 100, chance.uniform(1, 150), "Allocation Failure")
    return log_example(log, directory, "young collections")


def _pause(milliseconds: tuple[float, float]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        length = chance.uniform(*milliseconds)
        log = one_pause(length)
        return log_example(log, directory, f"{length:.0f} ms", _quiet(log, chance))

    return build


def _slower(factor: tuple[float, float], more: float = 1.0) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        first, grown = chance.uniform(15, 40), chance.uniform(*factor)
        log = growing(first, first * grown, more, chance.randint(150, 500))
        return log_example(log, directory, f"x {grown:.1f}", _quiet(log, chance))

    return build


def _leak(growth: tuple[float, float], count: tuple[int, int]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        collections, first = chance.randint(*count), chance.uniform(100, 300)
        step = chance.uniform(*growth)
        log = leaking(collections, first, step, chance.randrange(10**6))
        return log_example(log, directory, f"{step:.0f} MiB per collection", _quiet(log, chance))

    return build


def _counters(share: tuple[float, float], running: tuple[float, float] = (40, 5000)) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        part, running_s = chance.uniform(*share), chance.uniform(*running)
        seen = JvmCounters("jvm", 7, running_s, 1.0, part * running_s, 0.1, 3, 0, GIB, 4 * GIB)
        return Example(seen, f"{part:.0%} of {running_s:.0f} s")

    return build


def _full_now(count: int | None) -> Build:
    """Full collections of the last second that leave the old generation full."""

    def build(chance: random.Random, _: Path) -> Example:
        used = round(chance.uniform(0.91, 1.0) * GIB)
        seen = JvmCounters(
            "jvm", 7, 500.0, 1.0, chance.uniform(0, 50), chance.uniform(0, 0.4), count, count, used, GIB
        )
        return Example(seen, f"{count} full collections, {used / GIB:.0%} in use")

    return build


REPLAYS = (
    Replay("full-gc-spiral", _spiral((0, 48), (0.3, 0.9), (930, 999), (2, 28)), (
        _spiral((60, 90), (0.3, 0.9), (930, 999)),
        _spiral((0, 48), (0.05, 0.2), (900, 945)),
        _spiral((0, 30), (0.3, 0.9), (300, 680)),
        _requested,
        _stable,
    )),
    Replay("heap-exhaustion", _filled((0, 15)), (_filled((30, 200)), _requested, _stable)),
    Replay("heap-dumps", _dumps((2, 40)), (_dumps((0, 1)),)),
    Replay("humongous-allocations", _humongous((0.12, 0.6)), (_humongous((0.0, 0.08)),)),
    Replay("to-space-exhausted", _exhausted, (_pinned,)),
    Replay("metaspace-exhaustion", _metaspace((2, 25), _LAST, 5), (
        _metaspace((80, 400), _LAST, 5),
        _metaspace((2, 25), "Metadata GC Threshold", 20_000),
    )),
    Replay("promotion-failure", _promotion, (_plain,)),
    Replay("long-pause", _pause((1_010, 9_000)), (_pause((50, 800)),)),
    Replay("slower-collections", _slower((3, 8)), (_slower((1, 1.6)), _slower((3, 6), more=4.0))),
    Replay("memory-leak", _leak((12, 25), (20, 30)), (_leak((0, 0.1), (20, 30)), _stable)),
    Replay("gc-time", _counters((0.2, 0.9)), (
        _counters((0, 0.12)),
        _counters((0.3, 0.9), (2, 24)),
        _full_now(1),
        _full_now(None),
    )),
)  # fmt: skip
