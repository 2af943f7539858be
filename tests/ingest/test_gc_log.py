"""GC logs of all collectors and versions, with other decorators, rotated, damaged."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from jvms import COLLECTORS, running
from loadcell.ingest.gc_log import files, in_measurement, read, read_files, read_jvms
from loadcell.model.gc_pauses import GcLog

MIB = 1 << 20
HEAD = "[2026-11-28T17:48:{at:06.3f}+0000][{at:.3f}s][info][gc          ] "


def log(*texts: str, head: str = HEAD) -> GcLog:
    """A log with these lines, 10 ms apart."""
    return read(f"{head.format(at=1 + number / 100)}{text}\n" for number, text in enumerate(texts))


@pytest.mark.parametrize(
    ("text", "kind", "name", "cause"),
    [
        ("Pause Young (Normal) (G1 Evacuation Pause) 6M->2M(64M) 4.533ms", "young", "Young (Normal)",
         "G1 Evacuation Pause"),
        ("Pause Young (Mixed) (G1 Evacuation Pause) 6M->2M(64M) 4.533ms", "mixed", "Young (Mixed)",
         "G1 Evacuation Pause"),
        ("Pause Young (Concurrent Start) (G1 Humongous Allocation) 6M->2M(64M) 4.533ms", "young",
         "Young (Concurrent Start)", "G1 Humongous Allocation"),
        ("Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Pinned) 6M->2M(64M) 4.533ms",
         "young", "Young (Normal)", "G1 Evacuation Pause"),
        ("Pause Young (Allocation Failure) 6M->2M(64M) 4.533ms", "young", "Young", "Allocation Failure"),
        ("Pause Full (System.gc()) 6M->2M(64M) 4.533ms", "full", "Full", "System.gc()"),
        ("Pause Initial Mark 6M->2M(64M) 4.533ms", "cycle", "Initial Mark", ""),
        ("Pause Degenerated GC (Mark) 6M->2M(64M) 4.533ms", "degenerated", "Degenerated GC (Mark)", ""),
    ],
)  # fmt: skip
def test_pauses_of_all_collectors_are_of_few_kinds(text: str, kind: str, name: str, cause: str) -> None:
    [pause] = log(f"GC(3) {text}").pauses
    assert (pause.kind, pause.name, pause.cause) == (kind, name, cause)
    assert (pause.duration_ns, pause.before_bytes, pause.after_bytes) == (4_533_000, 6 * MIB, 2 * MIB)
    assert pause.capacity_bytes == 64 * MIB


def test_a_change_of_the_heap_has_the_length_of_its_pause() -> None:
    full, young = log(
        "GC(4) Pause Full (Allocation Failure) 240M->50M(256M) 4.000ms",
        "GC(3) Pause Young (Allocation Failure) 240M->50M(256M) 15.000ms",
    ).changes
    assert young.encloses(full)
    assert not full.encloses(young)


def test_short_pauses_of_concurrent_collectors_have_no_heap_and_the_cause_of_their_cycle() -> None:
    read_log = log(
        "GC(3) y: Pause Mark Start 0.012ms",
        "GC(4) Minor Collection (Allocation Rate)",
        "GC(4) y: Pause Mark Start 0.012ms",
        "GC(4) y: Allocated:         -                 2M (4%)            2M (4%)            5M (11%)    ",
        "GC(4) y:  Promoted:         -                  -                 1M (0%)            3M (1%)     ",
        "GC(4) y: Young Generation 20M(21%)->16M(17%) 0.012s",
        "GC(4) Minor Collection (Allocation Rate) 20M(21%)->16M(17%) 0.012s",
        "GC(5) Pause Init Mark (unload classes) 0.012ms",
        "GC(5) Concurrent cleanup 27M->26M(48M) 0.012ms",
    )
    assert [(pause.kind, pause.cause) for pause in read_log.pauses] == [
        ("cycle", ""), ("cycle", "Allocation Rate"), ("cycle", ""),
    ]  # fmt: skip
    first, second = read_log.changes
    assert (first.before_bytes, first.after_bytes, first.allocated_bytes, first.promoted_bytes) == (
        20 * MIB, 16 * MIB, 5 * MIB, 3 * MIB,
    )  # fmt: skip
    assert (second.before_bytes, second.after_bytes, second.promoted_bytes) == (27 * MIB, 26 * MIB, None)


@pytest.mark.parametrize(
    ("lines", "promoted"),
    [
        (["Heap Region Size: 2M", "GC(1) Old regions: 3->5"], 4 * MIB),
        (["Heap region size: 1M", "GC(1) Old regions: 3->3"], 0),
        (["GC(1) Old regions: 3->5"], None),
        (["GC(1) Tenured: 1024K(2048K)->2048K(2048K)"], MIB),
        (["GC(1) ParOldGen: 1024K(2048K)->2048K(2048K)"], MIB),
        (["GC(1) CMS: 1024K->2048K(4096K)"], MIB),
        (["GC(2) Tenured: 1024K(2048K)->2048K(2048K)"], None),
    ],
)
def test_growth_of_the_old_generation(lines: list[str], promoted: int | None) -> None:
    [pause] = log(*lines, "GC(1) Pause Young (Allocation Failure) 6M->2M(64M) 4.533ms").pauses
    assert pause.promoted_bytes == promoted


@pytest.mark.parametrize(
    ("head", "clock", "end_ns"),
    [
        ("[123456789012ns][1.000s][info][gc] ", "monotonic", 123_456_789_012),
        ("[1001000000ns][1.001s][info][gc] ", "uptime", 1_001_000_000),
        ("[2026-11-28T17:48:01.250+0000][info][gc] ", "utc", 1_795_888_081_250_000_000),
        ("[2026-11-28T17:48:01.250+0000][5000ns][info][gc] ", "utc", 1_795_888_081_250_000_000),
        ("[5000ns][123456789012ns][info][gc] ", "monotonic", 123_456_789_012),
        ("[2026-11-28T18:48:01,250+0100][info][gc] ", "utc", 1_795_888_081_250_000_000),
        ("[1795888081250ms][info][gc] ", "utc", 1_795_888_081_250_000_000),
        ("[250ms][info][gc] ", "uptime", 250_000_000),
        ("[1,250s][info][gc] ", "uptime", 1_250_000_000),
        ("[1.250s][7][8][info][gc,start] ", "uptime", 1_250_000_000),
    ],
)  # fmt: skip
def test_decorators(head: str, clock: str, end_ns: int) -> None:
    read_log = log("GC(1) Pause Young (Allocation Failure) 6M->2M(64M) 4,500ms", head=head)
    assert (read_log.clock, read_log.pauses[0].end_ns) == (clock, end_ns)
    assert read_log.pauses[0].duration_ns == 4_500_000


def test_instants_are_those_of_the_measurement() -> None:
    line = "GC(1) Pause Young (Allocation Failure) 6M->2M(64M) 4.5ms"
    by_monotonic = log(line, head="[5000ns][info][gc] ")
    aligned = in_measurement(by_monotonic, 2_000, 7)
    assert aligned is not None
    assert [pause.end_ns for pause in aligned.pauses] == [3_000]
    by_wall_clock = in_measurement(log(line), 7, 1_795_888_080_000_000_000)
    assert by_wall_clock is not None
    assert [change.end_ns for change in by_wall_clock.changes] == [1_000_000_000]
    assert in_measurement(log(line, head="[5.000s][info][gc] "), 2_000, 7) is None


def test_lines_without_decorators_are_counted_and_never_fail() -> None:
    lines = ["", "garbage", "GC(1) Pause Young 1M->1M(2M) 1.0ms", "[info][gc] GC(1) Pause Young (x) 1.0ms"]
    read_log = read(lines)
    assert (read_log.lines, read_log.unread, read_log.pauses) == (4, 3, ())
    chance = random.Random(5)
    sound = [f"{HEAD.format(at=at)}GC({at}) Pause Full (System.gc()) 6M->2M(64M) 4.533ms" for at in range(9)]
    for _ in range(2_000):
        line = list(chance.choice(sound))
        for _ in range(chance.randrange(1, 8)):
            line[chance.randrange(len(line))] = chr(chance.randrange(1, 300))
        read(["".join(line)])


def test_rotated_files_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    heads = [HEAD.format(at=second) for second in range(5)]
    (tmp_path / "gc.log.1").write_text(heads[0] + "Heap Region Size: 1M\n")
    (tmp_path / "gc.log.0").write_text(f"{heads[1]}GC(1) Old regions: 3->5\n")
    (tmp_path / "gc.log").write_text(f"{heads[2]}GC(1) Pause Young (Normal) (x) 6M->2M(64M) 4.5ms\n")
    (tmp_path / "gc.log.bak").write_text(f"{heads[3]}GC(9) Pause Young (Normal) (x) 6M->2M(64M) 4.5ms\n")
    assert [path.name for path in files(tmp_path, "gc.log")] == ["gc.log.1", "gc.log.0", "gc.log"]
    [pause] = read_files(tmp_path, "gc.log").pauses
    assert pause.promoted_bytes == 2 * MIB, "its lines are in three files"
    assert read_files(tmp_path, "other.log") == GcLog("uptime")


@pytest.mark.parametrize(
    ("text", "collector"),
    [
        ("GC(1) PSOldGen: 15496K->15504K(17920K)", "Parallel"),
        ("GC(1) Tenured: 0K(43712K)->581K(43712K)", "Serial"),
        ("GC(1) CMS: 0K->6K(27328K)", "Concurrent Mark Sweep"),
        ("GC(1) Old regions: 3->5", "G1"),
        ("GC(1) Pause Young (Concurrent Start) (Metadata GC Threshold) 6M->2M(64M) 4.533ms", "G1"),
        ("GC(1) Pause Full (G1 Compaction Pause) 6M->2M(64M) 4.533ms", "G1"),
        ("GC(1) O: Pause Relocate Start 0.010ms", "Z"),
        ("GC(1) Minor Collection (High Usage) 64M(100%)->10M(16%) 0.007s", "Z"),
        ("GC(1) Pause Final Update Refs 0.012ms", "Shenandoah"),
        ("GC(1) Pause Remark 29M->29M(46M) 2.328ms", ""),
    ],
)
def test_a_log_without_its_first_lines_tells_the_collector(text: str, collector: str) -> None:
    assert log(text).collector == collector


def test_generational_shenandoah_collects_the_old_generation_beside_the_young_one() -> None:
    [read_log] = read_jvms(
        f"{HEAD.format(at=1 + number / 100)}{text}\n"
        for number, text in enumerate(
            (
                "GC(7) Pause Init Mark (Young) 0.030ms",
                "GC(7) Concurrent remembered set scanning 0.300ms",
                "GC(7) Concurrent marking (Young) 0.500ms",
                "GC(7) Pause Final Mark (Young) 0.200ms",
                "GC(7) Concurrent cleanup (Young) 90M->80M(160M) 0.010ms",
                "GC(7) Concurrent marking (Old) 0.900ms",
                "GC(7) Pause Final Mark (Old) 0.250ms",
                "GC(7) Concurrent cleanup (Old) 80M->30M(160M) 0.020ms",
                "GC(8) Pause Degenerated GC (Young) (Outside of Cycle) 150M->90M(160M) 3.500ms",
            )
        )
    )
    assert (read_log.collector, read_log.unread) == ("Shenandoah", 0)
    [degenerated] = [pause for pause in read_log.pauses if pause.kind == "degenerated"]
    assert degenerated.name == "Degenerated GC (Young) (Outside of Cycle)"
    names = [pause.name for pause in read_log.pauses if pause.kind == "cycle"]
    assert names == ["Init Mark (Young)", "Final Mark (Young)", "Final Mark (Old)"]
    assert read_log.around.concurrent["Concurrent marking"].total_ns == 1_400_000
    assert [item.used_bytes for item in read_log.around.live_sets] == [30 * MIB], "the young one lives less"


def test_a_promotion_that_fails_is_of_the_young_pause_around_the_full_one() -> None:
    full, young = log(
        "GC(14) Pause Young (Allocation Failure)",
        "Promotion failed",
        "GC(15) Pause Full (Allocation Failure)",
        "GC(15) Pause Full (Allocation Failure) 154M->76M(154M) 5.000ms",
        "GC(14) Pause Young (Allocation Failure) 119M->76M(154M) 60.000ms",
    ).pauses
    assert (full.failures, young.failures) == ((), ("promotion",))
    [later] = log(
        "GC(3) Promotion failed", "GC(3) Pause Young (Allocation Failure) 9M->7M(15M) 6.000ms"
    ).pauses
    assert later.failures == ("promotion",)


def test_objects_that_generational_shenandoah_does_not_promote_are_no_failure() -> None:
    [pause] = log(
        *["GC(3) Promotion failed, size 16, has plab? yes, PLAB remaining: 10224, plab promotions disabled"]
        * 3,
        "GC(3) Pause Final Update Refs 0.058ms",
    ).pauses
    assert pause.failures == ()


def test_lines_in_brackets_without_the_time_are_of_another_program() -> None:
    read_log = read(
        [
            f"{HEAD.format(at=1)}GC(1) Pause Young (Normal) (x) 6M->2M(64M) 4.5ms\n",
            "[main] an order was stored\n",
            f"{HEAD.format(at=2)}Attempting full compaction\n",
        ]
    )
    assert (read_log.unread, read_log.examples) == (1, ((2, "[main] an order was stored"),))


#: Further ones, by their version and options.
NEWER = {
    "G1 of 25": (25, "-XX:+UseG1GC"),
    "ZGC of 21, generational": (21, "-XX:+UseZGC -XX:+ZGenerational"),
    "ZGC of 25": (25, "-XX:+UseZGC"),
    "Shenandoah of 25, generational": (25, "-XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational"),
}


@pytest.mark.parametrize("collector", [*COLLECTORS, *NEWER])
def test_logs_of_real_collectors_are_understood(tmp_path: Path, collector: str) -> None:
    version, options = {**COLLECTORS, **NEWER}[collector]
    words = f"-Xlog:gc*,safepoint:file={tmp_path}/gc.log:utctime,uptime,timenanos,level,tags"
    with running(*options.split(), "-Xmx64m", "-Drate=300", words, version=version):
        for _ in range(100):
            read_log = read_files(tmp_path, "gc.log")
            if len(read_log.pauses) > 5 and len(read_log.changes) > 3:
                break
            time.sleep(0.1)
    assert (read_log.clock, read_log.unread) == ("monotonic", 0)
    assert len(read_log.pauses) > 5
    assert read_log.collector != ""
    assert all(0 < pause.duration_ns < 10**10 for pause in read_log.pauses)
