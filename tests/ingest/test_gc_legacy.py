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


def test_a_cut_collection_is_not_understood_and_the_next_one_is() -> None:
    read_log = log(
        "1.000: [GC (Allocation Failure) 1.0: [ParNew: 613404K->68\n"
        "2.000: [GC (Allocation Failure) 65536K->10720K(76288K), 0.0100000 secs]\n"
        "garbage\n"
        "3.000: [GC (Allocation Failure) 1.0: [ParNew: 6"
    )
    assert [pause.start_ns for pause in read_log.pauses] == [2_000_000_000]
    assert (read_log.lines, read_log.unread) == (4, 3)


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
