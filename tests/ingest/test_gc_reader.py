"""The quick ways of reading frequent lines of GC logs give what reading each line in full gives."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from loadcell.ingest import gc_gathering
from loadcell.ingest.gc_log import STEADY_CLOCKS, read_jvms
from loadcell.ingest.gc_reader import Reader
from loadcell.model.gc_pauses import GcLog

WORDS = (
    "Young (Normal) (G1 Evacuation Pause)", "Young (Mixed) (G1 Evacuation Pause)",
    "Young (Concurrent Start) (G1 Humongous Allocation)", "Young (Normal) (G1 Preventive Collection)",
    "Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation)", "Young (System.gc())",
)  # fmt: skip


def in_full(lines: list[str]) -> tuple[GcLog, ...]:
    reader = Reader({}, STEADY_CLOCKS, splits=True)
    for line in lines:
        reader.take(line)
    return (*reader.ended, reader.end())


def dated(second: float, zone: str = "+0000") -> str:
    return f"2026-11-28T{int(second) // 3600 + 10:02}:{int(second) // 60 % 60:02}:{second % 60:06.3f}{zone}"


def unified(seed: int, head: str) -> Iterator[str]:
    """A log of G1: details, marks, failures, an overtaking line, a clock that steps, damage, two JVMs."""
    chance = random.Random(seed)
    for start in (0.0, 7200.0):
        at = 1.0
        yield f"{head.format(date=dated(start + at), at=at)} Using G1\n"
        yield f"{head.format(date=dated(start + at), at=at)} Heap Region Size: 1M\n"
        for number in range(700):
            at += chance.uniform(0.001, 2) if number % 50 else -0.4
            step = 600 if number > 350 else 0
            begin = head.format(date=dated(start + at + step), at=at) + f" GC({number})"
            yield f"{begin} Pause Young (Normal) (G1 Evacuation Pause)\n"
            if chance.random() < 0.5:
                yield f"{begin}   Evacuate Collection Set: 0.1ms\n"
                old = chance.randrange(90)
                yield f"{begin} Old regions: {old}->{old + chance.randrange(-3, 9)}\n"
                yield f"{begin} Metaspace: 112K(320K)->{chance.randrange(999)}K(320K) NonClass: 1K->1K\n"
            if chance.random() < 0.05:
                yield f"{begin} To-space exhausted\n"
            sizes = f"{chance.randrange(99)}M->{chance.randrange(9999)}K(2G)"
            length = chance.choice((chance.uniform(0, 9), chance.uniform(0, 400)))
            yield f"{begin} Pause {chance.choice(WORDS)} {sizes} {length:.3f}ms\n"
            if chance.random() < 0.1:
                yield f"{begin} Concurrent Mark Cycle\n"
                yield f"{begin} Pause Remark 20M->20M(2G) 2.000ms\n"
                yield f"{begin} Concurrent Mark Cycle 20.500ms\n"
            if chance.random() < 0.03:
                yield "an order was stored\n"
                yield f"[2026-99-99T10:00:00.000+0000]{begin[30:]} Pause Young (Normal) 9M->1M(2G) 1.000ms\n"
                yield f"{begin} Pause Young (Normal) (G1 Evac{begin} Pause Young (x) 9M->1M(2G) 1.500ms\n"
            if chance.random() < 0.02:
                yield f"{begin} Pause Full (G1 Compaction Pause) 90M->20M(2G) 350.000ms\n"


def legacy(seed: int, stamp: str) -> Iterator[str]:
    """A log of CMS of JDK 8: promotions, phases between, collections over several lines, damage, two JVMs."""
    chance = random.Random(seed)
    for start in (0.0, 7200.0):
        at = 1.0
        yield "OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10), built on Apr 21\n"
        for number in range(700):
            at += chance.uniform(0.5, 2) if number % 50 else -0.4
            begin = stamp.format(date=dated(start + at), at=at)
            before, after = chance.randrange(9000), chance.randrange(9000)
            young = (
                f"[ParNew: {before}K->{after}K(9999K), 0.001 secs] {before + 900}K->{after + 950}K(99999K)"
            )
            yield f"{begin}[GC (Allocation Failure) {at:.3f}: {young}, {chance.uniform(0, 0.4):.7f} secs]\n"
            if chance.random() < 0.2:
                yield f"{begin}[CMS-concurrent-mark: 0.090/0.095 secs] [Times: user=0.5, real=0.1 secs]\n"
            if chance.random() < 0.1:
                yield f"{begin}[GC (x) {at:.3f}: [ParNew (promotion failed): 9K->9K(9K), 1.0 secs]"
                yield f"{at:.3f}: [CMS: 90K->80K(99K), 0.2 secs] 99K->80K(120K), 0.3000000 secs]\n"
            if chance.random() < 0.03:
                yield f"{begin}[GC (Allocation Failure) {at:.3f}: [ParNew: 12\n"
                yield "an order was stored\n"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "head", ["[{date}][{at:.3f}s][info][gc,heap  ]", "[{at:.3f}s]", "[{date}][info][gc]", "[{date}][7][8]"]
)
def test_unified_logs(seed: int, head: str) -> None:
    lines = list(unified(seed, head))
    logs = read_jvms(lines)
    assert logs == in_full(lines)
    assert sum(log.totals.all.count for log in logs) > 1400
    assert len(logs) == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stamp", ["{date}: {at:.3f}: ", "{at:.3f}: ", "{date}: "])
def test_logs_of_jdk_8(seed: int, stamp: str) -> None:
    lines = list(legacy(seed, stamp))
    logs = read_jvms(lines)
    assert logs == in_full(lines)
    assert sum(log.totals.all.count for log in logs) > 1400


def test_durations_are_counted_by_class_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list(unified(5, "[{at:.3f}s]"))
    expected = [log.totals.classes for log in read_jvms(lines)]
    monkeypatch.setattr(gc_gathering, "_MOST_LENGTHS", 7)
    assert [log.totals.classes for log in read_jvms(lines)] == expected


def test_threads_that_wait_for_a_collector_are_stalls() -> None:
    [log] = read_jvms(
        [
            "[0.010s][info][gc] Using The Z Garbage Collector\n",
            "[0.363s][info][gc] Allocation Stall (main) 8.500ms\n",
            "[0.407s][info][gc] Relocation Stall (main) 1.500ms\n",
        ]
    )
    assert (log.around.stalls.count, log.around.stalls.total_ns) == (2, 10_000_000)
