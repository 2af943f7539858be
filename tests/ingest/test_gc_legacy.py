"""GC logs of JDK 8 and before, of all collectors: several lines an event, others between, comma decimals."""

from __future__ import annotations

import pytest

from loadcell.ingest.gc_log import STEADY_CLOCKS, read, read_jvms
from loadcell.model.gc_pauses import GcLog, Pause

KIB, MIB = 1 << 10, 1 << 20
TIMES = " [Times: user=0.78 sys=0.01, real=0.11 secs]"


def log(text: str) -> GcLog:
    return read(text.splitlines(keepends=True), clocks=STEADY_CLOCKS)


def only(text: str) -> Pause:
    read_log = log(text)
    assert read_log.unread == 0, read_log.examples
    [pause] = read_log.pauses
    return pause


@pytest.mark.parametrize(
    ("text", "kind", "name", "cause", "heap_kib", "duration_ms"),
    [
        ("[GC (Allocation Failure) 0.246: [DefNew: 4416K->511K(4928K), 0.0057 secs] "
         "4416K->1232K(15872K), 0.0058 secs]" + TIMES,
         "young", "Young", "Allocation Failure", (4416, 1232, 15872), 5.8),
        ("[GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] 65536K->13088K(251392K), "
         "0.0100000 secs]" + TIMES,
         "young", "Young", "Allocation Failure", (65536, 13088, 251392), 10),
        ("[Full GC (Ergonomics) [PSYoungGen: 10720K->0K(76288K)] [ParOldGen: 4280K->14000K(175104K)] "
         "15000K->14000K(251392K), [Metaspace: 9000K->8999K(1058816K)], 0.0500000 secs]" + TIMES,
         "full", "Full", "Ergonomics", (15000, 14000, 251392), 50),
        ("[Full GC (System) [PSYoungGen: 3456K->0K(150528K)] [PSOldGen: 0K->3285K(344064K)] "
         "3456K->3285K(494592K) [PSPermGen: 7844K->7844K(21248K)], 0.0422600 secs]" + TIMES,
         "full", "Full", "System.gc()", (3456, 3285, 494592), 42.26),
        ("[GC 325407K->83000K(776768K), 0.2300771 secs]", "young", "Young", "",
         (325407, 83000, 776768), 230.0771),
        ("[Full GC 267628K->83769K(776768K), 1.8479984 secs]", "full", "Full", "",
         (267628, 83769, 776768), 1847.9984),
        ("[GC (CMS Initial Mark) [1 CMS-initial-mark: 10812K(11901K)] 10887K(12514K), 0.0001997 secs]",
         "cycle", "Initial Mark", "", (10887, 10887, 12514), 0.1997),
        ("[GC[YG occupancy: 387 K (613 K)]65.550: [Rescan (parallel) , 0.0085125 secs]65.559: "
         "[weak refs processing, 0.0000243 secs] [1 CMS-remark: 10812K(11901K)] 11200K(12514K), "
         "0.0110730 secs]" + TIMES,
         "cycle", "Remark", "", (11200, 11200, 12514), 11.073),
        ("[GC pause (G1 Evacuation Pause) (young) 24M->21M(256M), 0.0105 secs]",
         "young", "Young", "G1 Evacuation Pause", (24 * 1024, 21 * 1024, 256 * 1024), 10.5),
        ("[GC cleanup 117M->106M(138M), 0.0015947 secs]", "cycle", "Cleanup", "",
         (117 * 1024, 106 * 1024, 138 * 1024), 1.5947),
        ("[Pause Final Mark (process weakrefs), 0.445 ms]", "cycle", "Final Mark", "", None, 0.445),
        ("[Pause Full 63M->60M(64M), 25.300 ms]", "full", "Full", "",
         (63 * 1024, 60 * 1024, 64 * 1024), 25.3),
    ],
)  # fmt: skip
def test_collections_of_all_collectors(
    text: str, kind: str, name: str, cause: str, heap_kib: tuple[int, int, int] | None, duration_ms: float
) -> None:
    pause = only(f"12.345: {text}\n")
    assert (pause.kind, pause.name, pause.cause) == (kind, name, cause)
    sizes = pause.before_bytes, pause.after_bytes, pause.capacity_bytes
    assert sizes == ((None,) * 3 if heap_kib is None else tuple(size * KIB for size in heap_kib))
    assert (pause.start_ns, pause.duration_ns) == (12_345_000_000, round(duration_ms * 1e6))


def test_stamps_are_dates_and_uptimes_with_either_decimal_mark() -> None:
    body = "[GC (Allocation Failure) 65536K->10720K(76288K), 0,0100000 secs]"
    pause = only(f"2026-06-28T10:00:00.123+0800: 0,123: {body}\n")
    assert (pause.start_ns, pause.duration_ns) == (123_000_000, 10_000_000)
    assert pause.utc_ns == 1_782_612_000_133_000_000
    dated = only(f"2026-06-28T10:00:00.123+0800: {body}\n")
    assert dated.start_ns == 1_782_612_000_123_000_000


def test_a_concurrent_mode_failure_goes_over_lines_of_concurrent_phases() -> None:
    read_log = log(
        "12.300: [GC (Allocation Failure) 12.3: [ParNew (promotion failed): 613K->613K(614K), 0.1045 secs]"
        "12.4: [CMS12.5: [CMS-concurrent-mark: 1.000/2.000 secs] [Times: user=1.00 sys=0.00, real=2.00 secs]"
        "\n"
        " (concurrent mode failure): 10812K->8000K(11901K), 5.0123 secs] 11425K->8000K(12515K), "
        "[Metaspace: 9000K->9000K(1058816K)], 5.1200000 secs]" + TIMES + "\n"
    )
    [pause] = read_log.pauses
    assert (pause.kind, pause.failures) == ("full", ("promotion", "concurrent-mode"))
    assert (pause.before_bytes, pause.after_bytes) == (11425 * KIB, 8000 * KIB)
    assert pause.duration_ns == 5_120_000_000
    assert read_log.unread == 0, read_log.examples


def test_sizes_of_g1_stand_in_the_lines_after_it() -> None:
    read_log = log(
        "0.500: [GC pause (G1 Evacuation Pause) (young) (to-space exhausted), 0.0105 secs]\n"
        "   [Parallel Time: 9.5 ms, GC Workers: 8]\n"
        "      [GC Worker Start (ms): Min: 500.1, Avg: 500.2, Max: 500.3, Diff: 0.2]\n"
        "   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->21.5M(256.0M)]\n"
        " [Times: user=0.04 sys=0.04, real=0.02 secs] \n"
        "0.511: [GC concurrent-root-region-scan-start]\n"
        "0.520: [GC concurrent-root-region-scan-end, 0.0090000 secs]\n"
        "0.600: [Full GC (Allocation Failure)  255M->250M(256M), 0.5 secs]\n"
        "   [Eden: 0.0B(12.0M)->0.0B(12.0M) Survivors: 0.0B->0.0B Heap: 255.0M(256.0M)->250.0M(256.0M)], "
        "[Metaspace: 2623K->2623K(1056768K)]\n"
    )
    young, full = read_log.pauses
    assert (young.before_bytes, young.after_bytes, young.failures) == (24 * MIB, 21.5 * MIB, ("to-space",))
    assert (full.kind, full.after_bytes) == ("full", 250 * MIB)
    assert read_log.collector == "G1"
    assert read_log.around.concurrent["concurrent-root-region-scan"].total_ns == 9_000_000
    assert read_log.unread == 0, read_log.examples


def test_flags_dumps_and_safepoints_are_read() -> None:
    read_log = log(
        "OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10), built on Apr 21 2021\n"
        "Memory: 4k page, physical 16266548k(1266548k free), swap 0k(0k free)\n"
        "CommandLine flags: -XX:+HeapDumpBeforeFullGC -XX:MaxHeapSize=1073741824 -XX:+PrintGC \n"
        "1.000: Total time for which application threads were stopped: 0.0123000 seconds, Stopping threads "
        "took: 0.0010000 seconds\n"
        "2.000: [Heap Dump (before full gc): , 1.5000000 secs]\n"
        "Dumping heap to java_pid7.hprof ...\n"
        "Heap dump file created [182000 bytes in 1.234 secs]\n"
    )
    assert read_log.unread == 0, read_log.examples
    assert "-XX:+HeapDumpBeforeFullGC" in read_log.around.flags
    durations = [dump.duration_ns for dump in read_log.around.dumps]
    assert durations == [1_500_000_000, None, 1_234_000_000]
    assert read_log.around.safepoints[""].total_ns == 12_300_000
    assert read_log.around.reaching.longest_ns == 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        # two threads wrote their stamps, one after the other or mixed
        "2026-06-28T10:00:01.500+0200: 2026-06-28T10:00:01.500+0200: 1.500: 1.500[GC concurrent-mark-start]\n"
        ": [Full GC (Metadata GC Threshold) 2026-06-28T10:00:01.501+0200: 1.501: "
        "[GC concurrent-root-region-scan-end, 0.0004000 secs]\n"
        " 700M->600M(2048M), 2.0000000 secs]\n",
        "2026-06-28T10:00:01.500+02002026-06-28T10:00:01.500+0200: : 1.5001.500: : "
        "[GC concurrent-mark-start]\n"
        "[Full GC (Metadata GC Threshold)  700M->600M(2048M), 2.0000000 secs]\n",
        "1.499: 1.500: [GC concurrent-mark-start]\n"
        "1.500: [Full GC (Metadata GC Threshold)  700M->600M(2048M), 2.0000000 secs]\n",
    ],
    ids=["dates", "mixed", "uptimes"],
)
def test_lines_of_two_threads_with_their_stamps_together(text: str) -> None:
    read_log = log(text + "3.600: [GC remark, 0.0010000 secs]\n")
    assert read_log.unread == 0, read_log.examples
    full, _ = read_log.pauses
    assert (full.kind, full.start_ns, full.duration_ns) == ("full", 1_500_000_000, 2_000_000_000)
    assert (full.before_bytes, full.capacity_bytes) == (700 * MIB, 2048 * MIB)
    assert (read_log.clock, read_log.collector) == ("uptime", "G1")


RANGE = "[0x00000000f0000000, 0x00000000f8000000, 0x0000000100000000)"


@pytest.mark.parametrize("is_with_heap", [False, True])
def test_a_young_collection_within_a_remark_is_a_pause_too(is_with_heap: bool) -> None:
    heap = f"{{Heap before GC invocations=4 (full 1):\n par new generation   total 900K, used 800K {RANGE}\n"
    after = f"Heap after GC invocations=5 (full 1):\n  eden space 700K,   0% used {RANGE}\n}}\n"
    read_log = log(
        "5.000: [GC (CMS Final Remark) [YG occupancy: 800 K (900 K)]"
        f"{heap if is_with_heap else ''}5.000: [GC (CMS Final Remark) 5.000: [ParNew\n"
        "Desired survivor size 100000 bytes, new threshold 6 (max 6)\n"
        f": 800K->80K(900K), 0.0200000 secs] 2800K->2090K(8900K), 0.0210000 secs]{TIMES}\n"
        f"{after if is_with_heap else ''}5.021: [Rescan (parallel) , 0.0030000 secs]"
        f"[1 CMS-remark: 2010K(8000K)] 2090K(8900K), 0.0500000 secs]{TIMES}\n"
    )
    young, remark = read_log.pauses
    assert (young.kind, young.duration_ns, young.promoted_bytes) == ("young", 21_000_000, 10 * KIB)
    assert (remark.name, remark.start_ns, remark.duration_ns) == ("Remark", 5_000_000_000, 50_000_000)
    assert read_log.totals.stopped_ns == 50_000_000
    assert read_log.unread == 0, read_log.examples


def test_a_cause_is_no_note_of_the_table_of_ages() -> None:
    pause = only(
        "7.000: [GC pause (young)\nDesired survivor size 900 bytes, new threshold 3 (max 15)\n"
        "- age   1:   500 bytes,   500 total\n 24M->21M(256M), 0.0105 secs]\n"
        "   [Parallel Time:  9.6 ms]\n      [GC Worker Start (ms):  7000.1  7000.2\n"
        "       Avg: 7000.2, Min: 7000.1, Max: 7000.2, Diff:   0.1]\n"
        "         [Processed Buffers : 4 5\n          Sum: 9, Avg: 4, Min: 4, Max: 5, Diff: 1]\n"
    )
    assert pause.cause == ""


def test_dashes_are_a_failure_to_evacuate_or_to_promote() -> None:
    read_log = log(
        "1.000: [GC pause (G1 Humongous Allocation) (young) (initial-mark)-- 400M->220M(512M), 0.04 secs]\n"
        "2.000: [GC-- [PSYoungGen: 900K->900K(1000K)] 2300K->2300K(3000K), 0.03 secs]\n"
    )
    assert [pause.failures for pause in read_log.pauses] == [("to-space",), ("promotion",)]


def test_shenandoah_with_lines_of_starts_and_phases_that_are_cancelled() -> None:
    read_log = log(
        "1.000: [Concurrent reset, start]\n    Using 2 of 2 workers for concurrent reset\n"
        "1.002: [Concurrent reset 32M->33M(64M), 2.000 ms]\n"
        "1.003: [Pause Init Mark, start]\n1.004: [Pause Init Mark (process weakrefs), 0.700 ms]\n"
        "1.005: [Concurrent marking\n    Failed to allocate TLAB, 4096K\n"
        "    Cancelling GC: Allocation Failure\n, 27.500 ms]\n"
        "Trigger: Handle Allocation Failure\n"
        "1.040: [Pause Degenerated GC (Mark), start]\n    Good progress for free space: 20M, need 4K\n"
        "1.060: [Pause Degenerated GC (Mark) 60M->20M(64M), 19.500 ms]\n"
        "Free: 44M, Max: 1024K regular, 17M humongous, Frag: 5% external, 2% internal\n"
        "1.061: [Concurrent cleanup 20M->18M(64M), 0.100 ms]\n"
        'GC STATISTICS:\n  "(G)" (gross) pauses include VM time\nTotal Pauses (G)   = 0.01 s (a = 678 us)\n'
    )
    assert read_log.unread == 0, read_log.examples
    mark, degenerated = read_log.pauses
    assert (mark.end_ns, mark.duration_ns) == (1_004_000_000, 700_000)
    assert (degenerated.kind, degenerated.end_ns) == ("degenerated", 1_060_000_000)
    assert read_log.around.concurrent["Concurrent marking"].total_ns == 27_500_000
    assert [change.after_bytes for change in read_log.changes][-1] == 18 * MIB
    assert read_log.collector == "Shenandoah"


def test_a_rotated_file_begins_with_lines_that_are_known() -> None:
    read_log = log(
        "2026-06-28 10:00:00 GC log file created /logs/gc.log.2\n"
        "Memory: 4k page, physical 16266548k(1266548k free), swap 0k(0k free)\n"
        "   [Code Root Fixup: 0.1 ms]\n   [Other: 0.5 ms]\n      [Choose CSet: 0.0 ms]\n"
        "   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->21.5M(256.0M)]\n"
        " 66.259: [G1Ergonomics (Concurrent Cycles) request concurrent cycle initiation]\n"
        "{Heap before GC invocations=18 (full 4):\n"
        f" garbage-first heap   total 3145728K, used 1281K {RANGE}\n"
        "  region size 1024K, 171 young (175104K), 27 survivors (27648K)\n"
        "66.300: [GC pause (G1 Evacuation Pause) (young) 24M->21M(256M), 0.0105 secs]\n"
        "an order was stored\n"
    )
    assert (read_log.unread, len(read_log.pauses)) == (1, 1)


def test_a_collection_without_a_stamp_has_the_time_of_the_line_before() -> None:
    read_log = log(
        "4.000: [GC pause (G1 Evacuation Pause) (young) 24M->21M(256M), 0.0105 secs]\n"
        "[GC remark [Finalize Marking, 0.0001 secs] [GC ref-proc, 0.0003 secs], 0.0020000 secs]\n"
    )
    assert [pause.start_ns for pause in read_log.pauses] == [4_000_000_000, 4_000_000_000]
    assert log("[GC pause (young) 24M->21M(256M), 0.0105 secs]\n").unread == 1, "no line has a time"


def test_a_cut_collection_is_not_understood_and_the_next_one_is() -> None:
    read_log = log(
        "1.000: [GC (Allocation Failure) 1.0: [ParNew: 613404K->68\n"
        "2.000: [GC (Allocation Failure) 65536K->10720K(76288K), 0.0100000 secs]\n"
        "garbage\n"
        "3.000: [GC (Allocation Failure) 1.0: [ParNew: 6"
    )
    assert [pause.start_ns for pause in read_log.pauses] == [2_000_000_000]
    assert (read_log.lines, read_log.unread) == (4, 3)


@pytest.mark.parametrize("stamp", ["{at}.000: ", "2026-06-28T10:00:0{at}.000+0000: "])
def test_a_cut_collection_does_not_swallow_the_next_ones(stamp: str) -> None:
    body = "[GC (Allocation Failure) 65536K->10720K(76288K), 0.0100000 secs]\n"
    read_log = log(
        stamp.format(at=1) + "[GC (Allocation Failure) 1.0: [ParNew: 6134\n"
        + "".join(stamp.format(at=at) + body for at in (2, 3))
    )  # fmt: skip
    assert (len(read_log.pauses), read_log.unread) == (2, 1)


def test_jvms_in_one_file_have_logs_of_their_own() -> None:
    head = "OpenJDK 64-Bit Server VM (25.{number}-b10) for linux-amd64 JRE (1.8.0), built on Apr 21 2021\n"
    body = "{at}: [GC (Allocation Failure) [PSYoungGen: 655K->107K(762K)] 655K->107K(762K), 0.0100000 secs]\n"
    text = "".join(
        head.format(number=number) + "".join(body.format(at=f"{at}.000") for at in instants)
        for number, instants in ((1, (5, 9)), (2, (9, 12)), (3, (1, 2, 3)))
    )
    logs = read_jvms(text.splitlines(keepends=True))
    assert [len(item.pauses) for item in logs] == [4, 3], "the second header is that of a rotated file"
    assert [item.around.vm.split("25.")[1][0] for item in logs] == ["1", "3"]
    assert [item.lines for item in logs] == [7, 3]


def test_a_wall_clock_that_steps_back_does_not_turn_the_order() -> None:
    body = "[GC (Allocation Failure) [PSYoungGen: 655K->107K(762K)] 655K->107K(762K), 0.0100000 secs]\n"
    text = "".join(f"2026-06-28T10:00:{second:02}.000+0000: {body}" for second in (10, 20, 15, 25))
    [read_log] = read_jvms(text.splitlines(keepends=True))
    assert [pause.line for pause in read_log.pauses] == [1, 2, 3, 4]
    assert (read_log.around.clock_steps, read_log.around.furthest_back_ns) == (1, 5_000_000_000)
    both = "".join(
        f"2026-06-28T10:00:{second:02}.000+0000: {uptime}.000: {body}"
        for uptime, second in ((1, 10), (2, 11), (3, 2), (4, 3))
    )
    [read_log] = read_jvms(both.splitlines(keepends=True))
    assert [pause.line for pause in read_log.pauses] == [1, 2, 3, 4]
    assert (read_log.around.clock_steps, read_log.around.furthest_back_ns) == (1, 10_000_000_000)
