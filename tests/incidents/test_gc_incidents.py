"""Each incident of collections, recognised in a log that has it, and not in one just below its thresholds."""

from __future__ import annotations

import os
import random
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from loadcell.incidents.base import Diagnosis, Healthy, Unseen
from loadcell.incidents.examination import examination
from loadcell.incidents.gc_logs import read
from loadcell.model.message import Message
from loadcell.report.blocks import Remark, Table
from loadcell.report.doctor.diagnosis import blocks
from loadcell.report.doctor.jvm import sections
from loadcell.report.texts import Texts

from .gc_texts import Log, diagnosed, evidence, is_healthy, is_unseen, judged, leaking, spiral

SPIRAL = "full-gc-spiral"


@pytest.mark.parametrize(
    ("freed_mib", "interval_s", "full_s", "level"),
    [
        (40, 20, 6, "warning"),
        (10, 20, 6, "critical"),
        (40, 10, 6, "critical"),
    ],
)
def test_full_collections_that_free_little_and_take_the_time_are_a_spiral(
    tmp_path: Path, freed_mib: float, interval_s: float, full_s: float, level: str
) -> None:
    log = spiral(repeat(freed_mib), interval_s, full_s)
    diagnosis = diagnosed(judged(tmp_path, log), SPIRAL)
    assert (diagnosis.level, diagnosis.confidence) == (level, "high")
    assert diagnosis.summary.arguments["count"] == 6
    assert [quote.number for quote in diagnosis.quotes] == [2, 3, 4, 5, 6, 7]
    assert "Pause Full" in diagnosis.quotes[0].text


@pytest.mark.parametrize(
    "log",
    [
        spiral(repeat(60), 20, 6),  # frees more than 5 %
        spiral(repeat(10), 31, 8),  # two in a minute
        spiral(repeat(10), 20, 3),  # 21 % of the time
        spiral(repeat(10), 20, 6, occupied_mib=855),  # 84.5 % in use
        spiral(chain((5, 5, 20, 35, 45), repeat(49)), 20, 6),  # frees ever more
        spiral(repeat(10), 20, 6, count=2),
    ],
    ids=["freed", "interval", "time", "occupied", "recovering", "two"],
)
def test_full_collections_below_a_threshold_are_no_spiral(tmp_path: Path, log: Log) -> None:
    judgements = judged(tmp_path, log)
    assert is_healthy(judgements, SPIRAL)


def test_full_collections_that_take_half_a_minute_are_a_spiral(tmp_path: Path) -> None:
    assert diagnosed(judged(tmp_path, spiral(repeat(10), 28, 27)), SPIRAL).level == "critical"
    assert is_healthy(judged(tmp_path, spiral(repeat(10), 31, 30)), SPIRAL), "two in a minute"


@pytest.mark.parametrize("cause", ["System.gc()", "Heap Inspection Initiated GC", "Heap Dump Initiated GC"])
def test_requested_full_collections_are_no_spiral(tmp_path: Path, cause: str) -> None:
    log = Log()
    for index in range(20):
        log.full(10 + index, 950, 945, 400, cause)
    assert is_healthy(judged(tmp_path, log), SPIRAL)


def test_zgc_has_no_full_collections(tmp_path: Path) -> None:
    log = Log("The Z Garbage Collector")
    log.of(1, "Garbage Collection (Allocation Rate) 104M(10%)->56M(5%)")
    judgements = judged(tmp_path, log)
    assert is_unseen(judgements, SPIRAL)
    assert not any(isinstance(item, Diagnosis) for item in judgements)


def test_dumps_at_full_collections(tmp_path: Path) -> None:
    log = Log()
    for index in range(3):
        log.of(10 + index, "Heap Dump (before full gc) 2500.000ms")
        log.full(13 + index, 800, 100, 50)
    diagnosis = diagnosed(judged(tmp_path, log), "heap-dumps")
    assert diagnosis.level == "critical"
    assert diagnosis.summary.arguments == {"count": 3, "total_s": 7.5}


def test_dump_files_next_to_the_log_have_size_and_time(tmp_path: Path) -> None:
    log = Log()
    log.line(0.02, "jvm_args: -Xmx1g -XX:+HeapDumpBeforeFullGC")
    log.full(13, 800, 100, 50)
    for number in range(2):
        (tmp_path / f"java_pid7.hprof.{number}").write_bytes(b"x" * 4096)
    diagnosis = diagnosed(judged(tmp_path, log), "heap-dumps")
    assert (diagnosis.level, diagnosis.summary.arguments["total_bytes"]) == ("critical", 8192)
    assert [os.path.basename(quote.file) for quote in diagnosis.quotes] == [  # noqa: PTH119
        "java_pid7.hprof.0",
        "java_pid7.hprof.1",
    ]
    assert "4 KiB, 20" in diagnosis.quotes[0].text


def test_the_flag_alone_is_a_warning_and_one_dump_is_none(tmp_path: Path) -> None:
    log = Log()
    log.line(0.02, "CommandLine flags: -XX:+HeapDumpAfterFullGC")
    log.young(5, 100, 10)
    assert diagnosed(judged(tmp_path, log), "heap-dumps").level == "warning"
    calm = Log()
    calm.line(0.02, "CommandLine flags: -XX:+HeapDumpOnOutOfMemoryError")
    calm.young(5, 100, 10)
    (tmp_path / "java_pid7.hprof").write_bytes(b"x")
    assert is_healthy(judged(tmp_path, calm), "heap-dumps")


MIB = 1 << 20


def humongous(count: int, others: int) -> Log:
    log = Log()
    for index in range(others):
        log.young(1 + index, 500, 100)
    for index in range(count):
        log.pause(others + 2 + index, "Young (Concurrent Start)", 500, 100, 5, "G1 Humongous Allocation")
    return log


def test_humongous_allocations(tmp_path: Path) -> None:
    diagnosis = diagnosed(judged(tmp_path, humongous(10, 60)), "humongous-allocations")
    assert diagnosis.summary.arguments["count"] == 10
    assert is_healthy(judged(tmp_path, humongous(4, 10)), "humongous-allocations"), "too few"
    assert is_healthy(judged(tmp_path, humongous(6, 94)), "humongous-allocations"), "too small a part"
    serial = Log("Serial")
    serial.pause(1, "Young", 500, 100, 5, "Allocation Failure")
    assert is_unseen(judged(tmp_path, serial), "humongous-allocations")


@pytest.mark.parametrize(
    ("line", "code", "values"),
    [
        ("Heap Region Size: 1M", "regions", {"half_bytes": MIB // 2, "option": "2m", "heap_bytes": 4 << 30}),
        ("Heap Region Size: 32M", "largest", {"half_bytes": 16 * MIB}),
        ("GC(1) Humongous region 8 (object size 1500016 @ 0x1) remset 0", "objects", {"option": "4m"}),
        ("GC(1) Dead humongous region 8 object size 524288 start 0x1 with", "objects", {"option": "2m"}),
        ("GC(1) Reclaimed humongous region 8 (object size 524287 @ 0x1)", "objects", {"option": "1m"}),
        ("GC(1) Humongous region 8 (object size 16777215 @ 0x1) remset", "objects", {"option": "32m"}),
        ("GC(1) Humongous region 8 (object size 16777216 @ 0x1) remset", "beyond", {"regions": 1}),
        ("GC(1) Humongous region 8 (object size 70000000 @ 0x1) remset", "beyond", {"regions": 3}),
    ],
)
def test_humongous_allocations_state_the_region_that_they_need(
    tmp_path: Path, line: str, code: str, values: dict[str, Any]
) -> None:
    log = Log()
    log.line(0.02, line)
    log.lines += humongous(10, 60).lines[1:]
    summary = diagnosed(judged(tmp_path, log), "humongous-allocations").summary
    assert summary.code == f"incident.humongous-allocations.{code}"
    shown = dict(summary.arguments)
    if "option" in shown:
        shown["option"] = str(shown["option"]).removeprefix("-XX:G1HeapRegionSize=")
    assert {name: shown[name] for name in values} == values


def with_objects(*sizes: int, long_lived: int) -> Log:
    """Collections for humongous objects, each of which reclaims one; a long-lived one has a line in each."""
    log = Log()
    for index, size in enumerate(sizes):
        number = log.number
        log.line(1 + index, f"GC({number}) Humongous region 3 (object size {long_lived} @ 0x1) remset 0")
        log.line(1 + index, f"GC({number}) Humongous region 9 (object size {size} @ 0x2) remset 0")
        log.line(1 + index, f"GC({number}) Reclaimed humongous region 9 (object size {size} @ 0x2)")
        log.pause(1 + index, "Young (Concurrent Start)", 500, 100, 5, "G1 Humongous Allocation")
    return log


def test_a_long_lived_large_object_does_not_decide_on_the_regions(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        judged(tmp_path, with_objects(*[600_016] * 20, long_lived=40_000_016)), "humongous-allocations"
    )
    summary = diagnosis.summary
    assert summary.code == "incident.humongous-allocations.most-objects"
    assert (summary.arguments["object_bytes"], summary.arguments["largest_bytes"]) == (600_016, 40_000_016)
    assert summary.arguments["part_share"] == pytest.approx(20 / 21)
    assert summary.arguments["option"] == "-XX:G1HeapRegionSize=2m"
    assert diagnosis.remedy == ""


def test_objects_of_half_the_largest_region_have_another_remedy(tmp_path: Path) -> None:
    sizes = [600_016] * 10 + [20_000_016] * 10
    diagnosis = diagnosed(
        judged(tmp_path, with_objects(*sizes, long_lived=40_000_016)), "humongous-allocations"
    )
    assert diagnosis.summary.code == "incident.humongous-allocations.beyond"
    assert (diagnosis.summary.arguments["regions"], diagnosis.remedy) == (2, "smaller-objects")
    assert "less than half" not in Message(diagnosis.remedy_code).text


def exhausted(*instants: float, note: str = "Evacuation Failure: Allocation") -> Log:
    log = Log()
    for at_s in instants:
        log.pause(at_s, "Young (Normal) (G1 Evacuation Pause)", 990, 900, 300, note)
    return log


def test_collections_without_room_for_survivors(tmp_path: Path) -> None:
    incident = "to-space-exhausted"
    assert diagnosed(judged(tmp_path, exhausted(10, 50, 95)), incident).level == "warning"
    diagnosis = diagnosed(judged(tmp_path, exhausted(10, 30, 69)), incident)
    assert (diagnosis.level, diagnosis.summary.arguments) == ("critical", {"count": 3, "longest_ms": 300})
    assert is_healthy(judged(tmp_path, exhausted(1, 2, 3, note="Evacuation Failure: Pinned")), incident)
    older = Log()
    older.of(10, "To-space exhausted")
    older.young(10, 990, 900)
    assert diagnosed(judged(tmp_path, older), incident).level == "warning"


def metadata(*rows: tuple[float, str, int]) -> Log:
    log = Log()
    for at_s, cause, used_kib in rows:
        log.of(
            at_s, f"Metaspace: {used_kib}K({used_kib}K)->{used_kib}K({used_kib}K) NonClass: 1K(1K)->1K(1K)"
        )
        log.full(at_s, 500, 100, 50, cause)
    return log


def test_metaspace_at_its_limit(tmp_path: Path) -> None:
    incident, last = "metaspace-exhaustion", "Metadata GC Clear Soft References"
    diagnosis = diagnosed(
        judged(tmp_path, metadata(*((at, last, 65_000 + at) for at in (10, 20, 30)))), incident
    )
    assert (diagnosis.level, diagnosis.summary.arguments["used_bytes"]) == ("critical", 65_030 * 1024)
    starting = metadata(*((at, "Metadata GC Threshold", 20_000 * at) for at in (1, 2, 3, 4)))
    assert is_healthy(judged(tmp_path, starting), incident)
    freeing = metadata((10, last, 65_000), (20, last, 40_000), (30, last, 64_000))
    assert is_healthy(judged(tmp_path, freeing), incident)
    assert is_healthy(
        judged(tmp_path, metadata((10, last, 65_000), (200, last, 65_000), (400, last, 65_000))), incident
    )
    failing = Log()
    failing.young(1, 500, 100)
    failing.lines.append('Exception in thread "main" java.lang.OutOfMemoryError: Metaspace\n')
    of_error = diagnosed(judged(tmp_path, failing), incident)
    assert of_error.level == "critical"
    assert of_error.begin_ns is not None, "the time of the pause before it"
    refused = Log()
    refused.young(1, 500, 100)
    refused.lines.append(
        "[2.000s][info][gc,metaspace,freelist,oom] Metaspace (data) allocation failed for size 9\n"
    )
    assert diagnosed(judged(tmp_path, refused), incident).level == "critical"
    other = Log()
    other.young(1, 500, 100)
    other.lines.append("java.lang.OutOfMemoryError: Java heap space\n")
    assert is_healthy(judged(tmp_path, other), incident)


def test_a_heap_that_is_full(tmp_path: Path) -> None:
    incident = "heap-exhaustion"
    rare = spiral(repeat(5), 300, 0.2, 5)
    diagnosis = diagnosed(judged(tmp_path, rare), incident)
    assert (diagnosis.level, diagnosis.confidence) == ("critical", "medium")
    assert diagnosis.summary.arguments["count"] == 5
    assert is_healthy(judged(tmp_path, spiral(repeat(30), 300, 0.2, 5)), incident), "frees 3 %"
    assert is_healthy(judged(tmp_path, spiral(repeat(5), 300, 0.2, 2)), incident), "two"
    recovered = spiral(repeat(5), 300, 0.2, 5)
    recovered.full(9000, 990, 300, 100)
    assert is_healthy(judged(tmp_path, recovered), incident), "the last one freed much"
    requested = Log()
    for index in range(5):
        requested.full(10 + index, 995, 990, 100, "System.gc()")
    assert is_healthy(judged(tmp_path, requested), incident)
    generational = Log("The Z Garbage Collector")
    generational.line(10, "Out Of Memory (main)")
    assert diagnosed(judged(tmp_path, generational), incident).confidence == "high"
    failing = Log()
    failing.young(1, 500, 100)
    failing.lines.append('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n')
    assert diagnosed(judged(tmp_path, failing), incident).level == "critical"


def test_the_lines_of_a_full_heap_have_the_values_that_it_states(tmp_path: Path) -> None:
    freed = [4, 1, 4, 4, 4, 4, 4, 4, 4, 15, 4, 4, 4, 4, 4, 4]
    diagnosis = diagnosed(judged(tmp_path, spiral(iter(freed), 300, 0.2, len(freed))), "heap-exhaustion")
    assert diagnosis.summary.arguments["freed_bytes"] == 15 * 2**20
    assert len(diagnosis.quotes) == 8
    shown = [quote.number for quote in diagnosis.quotes]
    assert {2, 11, 17} < set(shown), "the first one, the one that freed most, and the last one"
    assert shown == sorted(shown)


def test_promotions_that_fail_and_cycles_that_are_late(tmp_path: Path) -> None:
    incident = "promotion-failure"
    log = Log("Parallel")
    log.of(10, "Promotion failed")
    log.pause(10, "Young", 500, 490, 100, "Allocation Failure")
    log.pause(100, "Young", 500, 100, 10, "Allocation Failure")
    diagnosis = diagnosed(judged(tmp_path, log), incident)
    assert (diagnosis.level, diagnosis.summary.arguments["promotion"]) == ("warning", 1)
    often = Log("Concurrent Mark Sweep")
    for index in range(5):
        often.of(10 + 100 * index, "Concurrent mode failure")
        often.full(10 + 100 * index, 990, 500, 900)
    assert diagnosed(judged(tmp_path, often), incident).level == "critical"
    calm = Log("Parallel")
    calm.pause(10, "Young", 500, 490, 100, "Allocation Failure")
    assert is_healthy(judged(tmp_path, calm), incident)


REMEDIES = {
    "Serial": ("Serial", "-Xmn"),
    "Parallel": ("Parallel", "-Xmn"),
    "Concurrent Mark Sweep": ("CMS", "-XX:CMSInitiatingOccupancyFraction"),
    "G1": ("G1", "-XX:InitiatingHeapOccupancyPercent"),
    "The Z Garbage Collector": ("ZGC", "-XX:ZAllocationSpikeTolerance"),
    "Shenandoah": ("Shenandoah", "-XX:ShenandoahMinFreeThreshold"),
}


@pytest.mark.parametrize("collector", REMEDIES)
def test_the_remedy_of_a_failed_promotion_is_that_of_its_collector(tmp_path: Path, collector: str) -> None:
    log = Log(collector)
    log.of(10, "Promotion failed")
    log.pause(10, "Young", 500, 490, 100, "Allocation Failure")
    log.of(20, "Allocation Stall (main) 250.000ms")
    for item in judged(tmp_path, log):
        if isinstance(item, Diagnosis) and item.incident == "promotion-failure":
            remedy = Message(item.remedy_code).text
            assert all(word in remedy for word in REMEDIES[collector])
            others = {words[1] for name, words in REMEDIES.items() if words != REMEDIES[collector]}
            assert not any(word in remedy for word in others - set(REMEDIES[collector]))
            break
    else:
        pytest.fail("no diagnosis")


def test_the_remedy_for_an_unknown_collector_is_general(tmp_path: Path) -> None:
    log = Log("Epsilon")
    log.of(10, "Promotion failed")
    log.pause(10, "Young", 500, 490, 100, "Allocation Failure")
    diagnosis = diagnosed(judged(tmp_path, log), "promotion-failure")
    assert diagnosis.remedy_code == "incident.promotion-failure.remedy"
    assert "CMS" not in Message(diagnosis.remedy_code).text


def test_degenerated_cycles_and_stalls(tmp_path: Path) -> None:
    incident = "promotion-failure"
    log = Log("Shenandoah")
    log.of(10, "Pause Degenerated GC (Mark) 900M->500M(1000M) 120.000ms")
    assert diagnosed(judged(tmp_path, log), incident).level == "note"
    stalled = Log("The Z Garbage Collector")
    stalled.line(10, "Allocation Stall (main) 90.500ms")
    assert diagnosed(judged(tmp_path, stalled), incident).level == "warning"
    stalled.line(11, "Allocation Stall (main) 1090.500ms")
    diagnosis = diagnosed(judged(tmp_path, stalled), incident)
    assert (diagnosis.level, diagnosis.summary.arguments["longest_s"]) == ("critical", 1.0905)


def one_pause(milliseconds: float) -> Log:
    log = Log()
    for at_s in range(1, 50):
        log.young(at_s * 10, 500, 100, 20)
    log.young(500, 500, 100, milliseconds)
    return log


def test_one_long_pause_by_the_limit_and_by_the_timeout_of_clients(tmp_path: Path) -> None:
    incident = "long-pause"
    diagnosis = diagnosed(judged(tmp_path, one_pause(1010)), incident)
    assert (diagnosis.level, diagnosis.summary.arguments["longest_s"]) == ("warning", 1.01)
    assert [quote.number for quote in diagnosis.quotes] == [51]
    assert diagnosed(judged(tmp_path, one_pause(7400)), incident).level == "critical"
    assert is_healthy(judged(tmp_path, one_pause(990)), incident)
    assert diagnosed(judged(tmp_path, one_pause(120), 100_000_000), incident).level == "critical"
    assert is_healthy(judged(tmp_path, one_pause(90), 100_000_000), incident)


def test_safepoints_that_are_no_collections_stop_the_program_too(tmp_path: Path) -> None:
    log = one_pause(10)
    assert is_unseen(judged(tmp_path, log), "long-pause")
    log.line(
        510, 'Safepoint "ThreadDump", Time since last: 9 ns, Reaching safepoint: 400 ns, At safepoint: 1 ns, '
        "Total: 1500000000 ns",
    )  # fmt: skip
    diagnosis = diagnosed(judged(tmp_path, log), "long-pause")
    assert diagnosis.summary.arguments["operation"] == "ThreadDump"
    late = one_pause(10)
    late.line(
        510, 'Safepoint "G1CollectForAllocation", Time since last: 9 ns, Reaching safepoint: 2000000000 ns, '
        "At safepoint: 1 ns, Total: 2100000000 ns",
    )  # fmt: skip
    assert diagnosed(judged(tmp_path, late), "long-pause").summary.arguments["longest_s"] == 2


def growing(first_ms: float, last_ms: float, more: float = 1.0, count: int = 300) -> Log:
    chance = random.Random(7)
    log = Log()
    at_s = 1.0
    for index in range(count):
        part = index / (count - 1)
        log.young(at_s, 500, 100, (first_ms + (last_ms - first_ms) * part) * chance.uniform(0.9, 1.1))
        at_s += 1 / (1 + (more - 1) * part)
    return log


def test_collections_that_take_longer_while_they_are_as_many(tmp_path: Path) -> None:
    incident = "slower-collections"
    diagnosis = diagnosed(judged(tmp_path, growing(20, 90)), incident)
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "medium")
    durations_ms = [float(quote.text.split()[-1].removesuffix("ms")) for quote in diagnosis.quotes]
    assert len(durations_ms) == 8
    first_ms, last_ms = (diagnosis.summary.arguments[name] for name in ("first_ms", "last_ms"))
    assert durations_ms[:4] == pytest.approx([first_ms] * 4, rel=0.05)
    assert durations_ms[4:] == pytest.approx([last_ms] * 4, rel=0.05)
    numbers = [quote.number for quote in diagnosis.quotes]
    assert numbers == sorted(numbers)
    assert is_healthy(judged(tmp_path, growing(20, 30)), incident), "less than twice"
    assert is_healthy(judged(tmp_path, growing(20, 90, more=4)), incident), "more of them"
    assert is_healthy(judged(tmp_path, growing(1, 4)), incident), "too short to matter"
    assert is_unseen(judged(tmp_path, growing(20, 90, count=20)), incident), "too few"


def test_a_live_set_that_grows_is_a_leak(tmp_path: Path) -> None:
    incident = "memory-leak"
    diagnosis = diagnosed(judged(tmp_path, leaking(24, 200, 15)), incident)
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "medium")
    assert 800 * 2**20 < diagnosis.summary.arguments["hourly_bytes"] < 1000 * 2**20  # type: ignore[operator]
    assert diagnosed(judged(tmp_path, leaking(24, 500, 18)), incident).level == "critical"
    assert is_unseen(judged(tmp_path, leaking(5, 200, 40)), incident)


def after_mib(text: str) -> int:
    """Heap after the collection of a line."""
    return int(text.partition("->")[2].partition("M")[0])


@pytest.mark.parametrize(("first_mib", "growth_mib"), [(200, 15), (500, 18)], ids=["rate", "full"])
def test_the_lines_of_a_leak_have_the_live_sets_that_it_states(
    tmp_path: Path, first_mib: float, growth_mib: float
) -> None:
    diagnosis = diagnosed(judged(tmp_path, leaking(24, first_mib, growth_mib)), "memory-leak")
    shown = [after_mib(quote.text) for quote in diagnosis.quotes]
    assert len(shown) == 8
    assert shown[0] * 2**20 == diagnosis.summary.arguments["first_bytes"]
    assert shown[-1] * 2**20 == diagnosis.summary.arguments["last_bytes"]
    assert shown == sorted(shown)


def test_a_leak_over_thousands_of_collections_has_its_lines(tmp_path: Path) -> None:
    log = Log("Parallel")
    for index in range(4500):
        log.full(10 + index, 900, 100 + index // 10, 5)
    diagnosis = diagnosed(judged(tmp_path, log), "memory-leak")
    shown = [after_mib(quote.text) for quote in diagnosis.quotes]
    assert (shown[0] * 2**20, shown[-1] * 2**20) == (
        diagnosis.summary.arguments["first_bytes"], diagnosis.summary.arguments["last_bytes"],
    )  # fmt: skip


def test_cycles_of_a_concurrent_collector_are_lines_of_a_leak(tmp_path: Path) -> None:
    log = Log("The Z Garbage Collector")
    for index in range(30):
        after = 200 + 20 * index
        log.of(10 + 10 * index, f"Garbage Collection (Allocation Rate) 900M(90%)->{after}M({after // 10}%)")
        log.number += 1
    log.pause(320, "Mark Start", 500, 500, 0.02)
    diagnosis = diagnosed(judged(tmp_path, log), "memory-leak")
    assert after_mib(diagnosis.quotes[-1].text) == 780


@pytest.mark.parametrize("seed", range(8))
def test_live_sets_without_a_lasting_trend_are_no_leak(tmp_path: Path, seed: int) -> None:
    incident = "memory-leak"
    assert is_healthy(judged(tmp_path, leaking(24, 850, 0, seed, 10)), incident), "a full but stable heap"
    assert is_healthy(judged(tmp_path, leaking(24, 200, 1, seed)), incident), "hardly any growth"
    filling = leaking(12, 200, 40, seed)
    stable = leaking(40, 680, 0, seed, 20)
    for line in stable.lines[1:]:
        at, _, text = line[1:].partition("s]")
        filling.lines.append(f"[{float(at) + 800:.3f}s]{text}")
    assert is_healthy(judged(tmp_path, filling), incident), "a cache that is full now"


def test_a_heap_that_no_old_collection_cleaned_shows_no_leak(tmp_path: Path) -> None:
    log = Log()
    for index in range(200):
        log.young(1 + index, 150 + 3 * index, 100 + 3 * index)
    judgements = judged(tmp_path, log)
    assert is_unseen(judgements, "memory-leak")
    assert not any(isinstance(item, Diagnosis) for item in judgements)


def test_a_heap_that_a_concurrent_collector_lets_fill_is_no_leak(tmp_path: Path) -> None:
    log = Log("Shenandoah")
    for index in range(30):
        log.of(1 + index, f"Concurrent cleanup {600 + 10 * index}M->{590 + 10 * index}M(1000M) 0.100ms")
    assert is_healthy(judged(tmp_path, log), "memory-leak")


def test_an_incident_states_its_lines_by_file_and_number(tmp_path: Path) -> None:
    log = spiral(repeat(10), 20, 6)
    jvm = evidence(tmp_path, log)
    quote = jvm.quote(3)
    assert quote is not None
    assert (quote.file, quote.number) == ("gc.log", 3)
    assert quote.text == log.lines[2].strip()
    assert jvm.quote(1) is None


def collecting(share: float, seconds: int, collector: str = "Serial", cause: str = "") -> Log:
    """Full collections once a second that free a fifth of the heap and take this share of the time."""
    log = Log(collector)
    for index in range(1, seconds):
        log.full(1 + index, 950, 750, share * 1000, cause or "Allocation Failure")
    return log


@pytest.mark.parametrize(
    ("share", "seconds", "level", "confidence"),
    [
        (0.6, 90, "critical", "high"),
        (0.6, 15, "critical", "medium"),
        (0.3, 90, "warning", "high"),
        (0.17, 90, "warning", "high"),
    ],
)
def test_time_in_collections_that_free_much(
    tmp_path: Path, share: float, seconds: int, level: str, confidence: str
) -> None:
    judgements = judged(tmp_path, collecting(share, seconds))
    diagnosis = diagnosed(judgements, "gc-time")
    assert (diagnosis.level, diagnosis.confidence) == (level, confidence)
    assert is_healthy(judgements, SPIRAL), "each frees a fifth"
    assert diagnosis.summary.arguments["window_share"] == pytest.approx(share, abs=0.05)
    assert len(diagnosis.quotes) == 8


def test_a_busy_minute_of_a_calm_hour_is_time_in_collections(tmp_path: Path) -> None:
    log = collecting(0.4, 80)
    for index in range(300):
        log.young(90 + 10 * index, 500, 100)
    diagnosis = diagnosed(judged(tmp_path, log), "gc-time")
    assert diagnosis.level == "warning"
    assert diagnosis.summary.arguments["total_share"] < 0.02  # type: ignore[operator]
    assert diagnosis.end_ns - diagnosis.begin_ns == 60 * 10**9  # type: ignore[operator]


def test_little_time_in_collections_and_a_short_log(tmp_path: Path) -> None:
    assert is_healthy(judged(tmp_path, collecting(0.1, 90)), "gc-time")
    assert is_healthy(judged(tmp_path, collecting(0.2, 20)), "gc-time"), "the start of a program"
    assert is_unseen(judged(tmp_path, collecting(0.9, 9)), "gc-time")


@pytest.mark.parametrize(
    ("collector", "cause", "words"),
    [
        ("Serial", "", "`-Xmn`"),
        ("Parallel", "Ergonomics", "`-XX:NewRatio=1`"),
        ("G1", "", "remove `-Xmn`"),
        ("Shenandoah", "", "cycle"),
        ("Serial", "System.gc()", "`-XX:+DisableExplicitGC`"),
    ],
)
def test_the_remedy_of_time_in_collections_fits_the_collector(
    tmp_path: Path, collector: str, cause: str, words: str
) -> None:
    diagnosis = diagnosed(judged(tmp_path, collecting(0.6, 90, collector, cause)), "gc-time")
    assert words in Message(diagnosis.remedy_code).text


def dated(at_s: float, text: str) -> str:
    return f"[2026-11-29T16:52:{at_s:06.3f}+0000][{at_s:.3f}s][info][gc] {text}\n"


def written_dumps(directory: Path, process: int, *instants_s: float) -> None:
    """Heap dumps of a process, written at seconds of the minute of `dated`."""
    for number, at_s in enumerate(instants_s):
        dump_at(directory / f"java_pid{process}.hprof.{number}", at_s)


def dump_at(path: Path, at_s: float) -> None:
    path.write_bytes(b"x" * 1024)
    written_s = 1_795_971_120 + at_s
    os.utime(path, (written_s, written_s))


def full_at(*instants_s: float, has_dumps: bool = False) -> Log:
    log = Log("Parallel")
    log.lines = [dated(0.01, "Using Parallel")]
    for number, at_s in enumerate(instants_s):
        if has_dumps:
            log.lines.append(dated(at_s - 0.1, f"GC({number}) Heap Dump (before full gc) 100.000ms"))
        log.lines.append(dated(at_s, f"GC({number}) Pause Full (Ergonomics) 800M->100M(1000M) 50.000ms"))
    return log


def test_dumps_of_other_jvms_beside_the_log_are_no_incident(tmp_path: Path) -> None:
    written_dumps(tmp_path, 7, 10, 20, 30)
    incident = "heap-dumps"
    assert is_healthy(judged(tmp_path, full_at(10, 20, 30)), incident), "a dump has a line in this log"
    young = Log()
    young.lines = [dated(10, "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 8M->1M(9M) 1.000ms")]
    young.lines.insert(0, dated(0.02, "CommandLine flags: -XX:+HeapDumpBeforeFullGC"))
    assert not evidence(tmp_path, young).dump_files, "no full collection"


def test_dumps_in_the_log_and_beside_it_are_one_finding(tmp_path: Path) -> None:
    written_dumps(tmp_path, 7, 9.9, 19.9, 29.9)
    written_dumps(tmp_path, 8, 20)
    written_dumps(tmp_path, 9, -100, -90, -80, -70)
    diagnosis = diagnosed(judged(tmp_path, full_at(10, 20, 30, has_dumps=True)), "heap-dumps")
    assert diagnosis.level == "critical"
    assert (diagnosis.summary.arguments["count"], diagnosis.summary.arguments["files"]) == (3, 3)
    assert diagnosis.summary.arguments["total_bytes"] == 3 * 1024


def test_dumps_beside_a_log_of_jdk_8_are_those_of_its_full_collections(tmp_path: Path) -> None:
    log = Log()
    log.lines = [
        f"2026-11-29T16:52:{at}.000+0000: {at}.000: [Full GC (Ergonomics)  800M->100M(1000M), 0.05 secs]\n"
        for at in (10, 20)
    ]
    assert not evidence(tmp_path, log).dump_files
    written_dumps(tmp_path, 7, 10, 20, 300)
    diagnosis = diagnosed(judged(tmp_path, log), "heap-dumps")
    assert (diagnosis.level, diagnosis.summary.arguments["count"]) == ("warning", 2)


def exhausted_at(*instants_s: float) -> Log:
    log = full_at(*instants_s)
    log.lines = [line.replace("800M->100M(1000M)", "999M->990M(1000M)") for line in log.lines]
    return log


def test_a_dump_of_an_error_beside_the_log_is_an_exhausted_heap(tmp_path: Path) -> None:
    incident = "heap-exhaustion"
    log = exhausted_at(10, 11)
    assert is_healthy(judged(tmp_path, log), incident), "two full collections"
    written_dumps(tmp_path, 7, 40)
    diagnosis = diagnosed(judged(tmp_path, log), incident)
    assert (diagnosis.level, diagnosis.confidence) == ("critical", "high")
    assert str(diagnosis.summary.arguments["path"]).endswith("java_pid7.hprof.0")
    assert is_healthy(judged(tmp_path, log), "heap-dumps")
    assert is_healthy(judged(tmp_path, full_at(10, 11)), incident), "the heap is not full"
    written_dumps(tmp_path, 7, 400)
    assert is_healthy(judged(tmp_path, log), incident), "a dump of another time"


@pytest.mark.parametrize(
    ("name", "used", "options", "expected"),
    [
        ("java_pid7.hprof", 990, "", "critical"),
        ("java_pid7.hprof.1", 850, "", "critical"),
        ("app.hprof", 990, "-XX:HeapDumpPath=/var/dumps/app.hprof", "critical"),
        ("app-7.hprof", 990, "-XX:HeapDumpPath=/var/dumps/app-%p.hprof", "critical"),
        ("java_pid7.hprof", 990, "-XX:HeapDumpPath=/var/dumps", "critical"),
        ("java_pid7.hprof", 100, "", "full-heap"),
        ("before-release.hprof", 990, "", "name"),
        ("before-java_pid7.hprof", 990, "-XX:HeapDumpPath=/var/dumps/app.hprof", "name"),
        ("before-release.hprof", 100, "", "healthy"),
    ],
)
def test_with_the_flag_a_dump_needs_a_full_heap_and_its_name(
    tmp_path: Path, name: str, used: int, options: str, expected: str
) -> None:
    log = full_at(10, 11)
    log.lines = [line.replace("->100M", f"->{used}M") for line in log.lines]
    flags = "CommandLine flags: -XX:+HeapDumpOnOutOfMemoryError"
    log.lines.insert(1, dated(0.02, f"{flags} {options}"))
    log.lines.append(dated(30, "GC(9) Pause Young (Allocation Failure) 300M->40M(1000M) 5.000ms"))
    dump_at(tmp_path / name, 40)
    judgements = judged(tmp_path, log)
    if expected == "healthy":
        assert is_healthy(judgements, "heap-exhaustion")
        return
    diagnosis = diagnosed(judgements, "heap-exhaustion")
    if expected == "critical":
        assert (diagnosis.level, diagnosis.confidence) == ("critical", "high")
        return
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "medium")
    assert diagnosis.summary.code == f"incident.heap-exhaustion.dump-without-{expected}"


@pytest.mark.parametrize("cause", ["Heap Dump Initiated GC", "System.gc()", "Ergonomics"])
def test_the_last_full_collection_before_a_dump_decides(tmp_path: Path, cause: str) -> None:
    log = exhausted_at(10, 11)
    log.lines.insert(1, dated(0.02, "CommandLine flags: -XX:+HeapDumpOnOutOfMemoryError"))
    log.lines.append(dated(20, f"GC(9) Pause Full ({cause}) 990M->100M(1000M) 50.000ms"))
    dump_at(tmp_path / "java_pid7.hprof", 25)
    judgements = judged(tmp_path, log)
    if cause == "Ergonomics":
        diagnosis = diagnosed(judgements, "heap-exhaustion")
        assert diagnosis.summary.code == "incident.heap-exhaustion.dump-without-full-heap"
    else:
        assert is_healthy(judgements, "heap-exhaustion"), "somebody requested both"
    dump_at(tmp_path / "java_pid7.hprof", 15)
    assert diagnosed(judged(tmp_path, log), "heap-exhaustion").level == "critical", "written before it"


def test_a_dump_that_may_be_of_two_jvms_is_that_of_none(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        lines = [line.replace("0.010s", "0.010s") for line in exhausted_at(10, 11).lines]
        (tmp_path / name).write_text("".join(lines))
    path = tmp_path / "heap.hprof"
    for name in ("java_pid7.hprof.0", "heap.hprof"):
        path = tmp_path / name
        path.write_bytes(b"x" * 1024)
        os.utime(path, (1_795_971_140, 1_795_971_140))
    logs = read([(tmp_path / name, name) for name in ("a.log", "b.log")])
    assert [jvm.error_dumps for jvm in logs.jvms] == [(), ()]
    [remark] = [item for item in logs.reading.remarks if item.code == "doctor.uncertain-dump"]
    assert remark.arguments["sources"] == ["a.log", "b.log"]


def filling(last_mib: int, stalls: int, collector: str = "The Z Garbage Collector") -> Log:
    """Cycles of 30 s in which the live set grows to a size and stays, with waits of threads at the end."""
    log = Log(collector)
    for index in range(60):
        at_s = 1 + index / 2
        after = min(last_mib, 100 + 20 * index)
        log.of(at_s, f"Garbage Collection (Allocation Rate) 990M(99%)->{after}M({after // 10}%)")
        log.number += 1
    for index in range(stalls):
        log.line(31 + index / 10, "Allocation Stall (main) 50.000ms")
    log.pause(32, "Mark Start", 500, 500, 0.02)
    return log


def test_a_live_set_of_a_concurrent_collector_that_fills_the_heap_is_a_leak(tmp_path: Path) -> None:
    judgements = judged(tmp_path, filling(980, 10))
    diagnosis = diagnosed(judgements, "memory-leak")
    assert (diagnosis.level, diagnosis.summary.arguments["last_bytes"]) == ("critical", 980 * 2**20)
    assert diagnosed(judgements, "promotion-failure").level == "critical"
    assert is_healthy(judged(tmp_path, filling(980, 0)), "memory-leak"), "no thread waits: new objects"
    assert is_healthy(judged(tmp_path, filling(700, 10)), "memory-leak"), "a third of the heap is free"


def test_degenerated_cycles_of_much_time_are_critical(tmp_path: Path) -> None:
    log = Log("Shenandoah")
    for at_s in (10, 20):
        log.pause(at_s, "Degenerated GC (Mark)", 900, 500, 2000)
    assert diagnosed(judged(tmp_path, log), "promotion-failure").level == "critical"


def test_a_failed_promotion_in_hours_is_a_note(tmp_path: Path) -> None:
    log = Log("Parallel")
    log.of(10, "Promotion failed")
    log.pause(10, "Young", 500, 490, 100, "Allocation Failure")
    log.pause(3600, "Young", 500, 100, 10, "Allocation Failure")
    assert diagnosed(judged(tmp_path, log), "promotion-failure").level == "note"


def exhausting() -> Log:
    """A leak that fills the heap until full collections free nothing."""
    log = leaking(24, 500, 20)
    begin_s = 25 * 60
    for index in range(40):
        log.full(begin_s + index, 990, 985 + index // 10, 700)
    return log


def test_a_leak_stands_before_its_consequences(tmp_path: Path) -> None:
    examined = examination("", [evidence(tmp_path, exhausting())])
    diagnoses = [item for _, item in examined.diagnoses]
    assert diagnoses[0].incident == "memory-leak"
    consequences = [item for item in diagnoses if item.explained_by]
    assert {item.incident for item in consequences} == {"heap-exhaustion", "full-gc-spiral", "gc-time"}
    assert {item.explained_by for item in consequences} == {"memory-leak"}
    shown = blocks(consequences[0], examined.subjects[0].evidence, Texts("en"), is_page=True)
    remedies = [block.advice for block in shown if isinstance(block, Remark)]
    assert "“Memory leak”" in remedies[0]


def test_a_spiral_without_a_leak_explains_its_time_in_collections(tmp_path: Path) -> None:
    examined = examination("", [evidence(tmp_path, spiral(repeat(40), 20, 6))])
    causes = {item.incident: item.explained_by for _, item in examined.diagnoses}
    assert causes[SPIRAL] == ""
    assert causes["gc-time"] == SPIRAL


def test_a_long_requested_collection_has_its_cause_and_remedy(tmp_path: Path) -> None:
    log = one_pause(10)
    log.full(600, 900, 100, 2000, "System.gc()")
    judgements = judged(tmp_path, log)
    diagnosis = diagnosed(judgements, "long-pause")
    assert "System.gc()" in diagnosis.summary.text
    assert "`-XX:+ExplicitGCInvokesConcurrent`" in Message(diagnosis.remedy_code).text
    [spiral_value] = [item for item in judgements if isinstance(item, Healthy) and item.incident == SPIRAL]
    assert "1 requested one is not counted" in spiral_value.value.text
    assert diagnosed(judged(tmp_path, one_pause(2000)), "long-pause").remedy == ""


def test_a_collector_without_causes_has_no_table_of_them(tmp_path: Path) -> None:
    log = Log("Shenandoah")
    log.pause(10, "Init Mark", 900, 900, 1)
    for collector_log, expected in ((log, ["kinds-1"]), (one_pause(10), ["kinds-1", "causes-1"])):
        parts = sections(evidence(tmp_path, collector_log), 1, Texts("en"), is_page=False)
        tables = [block for part in parts for block in part.blocks if isinstance(block, Table)]
        assert [table.id for table in tables] == expected


@pytest.mark.parametrize("incident", [SPIRAL, "heap-exhaustion"])
def test_many_full_collections_in_a_row_are_an_incident_of_a_heap_with_room(
    tmp_path: Path, incident: str
) -> None:
    """G1 with a small heap ended so, with 94% in use: Full GCs of milliseconds, 14% of the time."""
    diagnosis = diagnosed(judged(tmp_path, spiral(repeat(15), 0.5, 0.01, 20, 960)), incident)
    assert (diagnosis.level, diagnosis.summary.arguments["count"]) == ("critical", 20)
    requested = Log()
    for index in range(40):
        requested.full(10 + index / 2, 960, 945, 10, "System.gc()")
    controls = {
        "19": spiral(repeat(15), 0.5, 0.01, 19, 960),
        "84 % in use": spiral(repeat(15), 0.5, 0.01, 40, 855),
        "frees 6 %": spiral(repeat(60), 0.5, 0.01, 40, 990),
        "16 in a minute": spiral(repeat(30), 4, 0.01, 40, 990),
        "requested": requested,
    }
    for control, log in controls.items():
        assert is_healthy(judged(tmp_path, log), incident), control


@pytest.mark.parametrize("drops", [1, 2])
def test_a_last_collection_at_the_end_of_the_process_hides_no_leak(tmp_path: Path, drops: int) -> None:
    log = Log("Serial")
    for index in range(60):
        used = min(980, 500 + 10 * index)
        log.full(10 + index, used + 5, used, 400)
    for index in range(drops):
        log.full(80 + index, 985, 0, 5)
    judgements = judged(tmp_path, log)
    leak = diagnosed(judgements, "memory-leak")
    assert (leak.level, leak.summary.arguments["last_bytes"]) == ("critical", 980 * 2**20)
    assert diagnosed(judgements, "heap-exhaustion").summary.arguments["freed_bytes"] == 5 * 2**20
    assert diagnosed(judgements, SPIRAL).summary.arguments["freed_bytes"] == 5 * 2**20
    log.young(90, 300, 100)
    log.young(91, 300, 100)
    log.young(92, 300, 100)
    assert is_healthy(judged(tmp_path, log), "heap-exhaustion"), "the process works on"


def test_a_live_set_that_rises_in_a_heap_with_room_is_undecided(tmp_path: Path) -> None:
    log = Log("Serial")
    for index in range(15):
        log.full(10 + 2 * index, 200, 25 + index, 5)
    judgements = judged(tmp_path, log)
    [judgement] = [item for item in judgements if item.incident == "memory-leak"]
    assert isinstance(judgement, Unseen)
    assert judgement.reason.code == "incident.memory-leak.rises"
    level = Log("Serial")
    for index in range(15):
        level.full(10 + 2 * index, 200, 25 + index % 3, 5)
    assert is_healthy(judged(tmp_path, level), "memory-leak")
