"""Outputs of tools: recorded outputs of the real ones, cut, mixed with other text, and in other
locales.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from loadcell.ingest.base import NotItsOutputError, Reading
from loadcell.ingest.printed_numbers import number
from loadcell.ingest.readers import (
    ab,
    dd,
    fio,
    iperf3,
    mbw,
    pgbench,
    pgbench_log,
    redis_benchmark,
    stress_ng,
    sysbench,
    wrk,
)
from loadcell.ingest.text import Output
from loadcell.report.texts import Texts
from loadcell.workloads.tool_runner.result import groups as groups_of
from loadcell.workloads.tool_runner.result import total_of

OUTPUTS = Path(__file__).parent / "outputs"
READERS = {
    "sysbench-oltp.txt": sysbench,
    "sysbench-cpu.txt": sysbench,
    "sysbench-memory.txt": sysbench,
    "sysbench-fileio.txt": sysbench,
    "pgbench.txt": pgbench,
    "pgbench-s.txt": pgbench,
    "ab.txt": ab,
    "ab-404.txt": ab,
    "ab-kept.txt": ab,
    "ab-warning.txt": ab,
    "ab-error.txt": ab,
    "wrk.txt": wrk,
    "redis-benchmark.csv": redis_benchmark,
    "redis-benchmark.txt": redis_benchmark,
    "fio.json": fio,
    "iperf3.json": iperf3,
    "mbw.txt": mbw,
    "dd.txt": dd,
    "stress-ng.txt": stress_ng,
}


def lines(name: str) -> list[str]:
    return (OUTPUTS / name).read_text().splitlines(keepends=True)


def reading(name: str) -> Reading:
    return READERS[name].read(lines(name))


@pytest.mark.parametrize("name", READERS)
def test_of_a_tools_whole_output_nothing_is_left_unread(name: str) -> None:
    parsed = reading(name)
    assert parsed.measured
    assert parsed.examples == ()
    assert all(item.throughput_per_s is not None for item in parsed.measured)


def test_sysbench_oltp_twice_in_one_text() -> None:
    execution, two = reading("sysbench-oltp.txt").measured
    assert (execution.title, execution.unit, execution.clients, two.clients) == ("oltp", "transaction", 1, 2)
    assert (execution.throughput_per_s, execution.succeeded, execution.duration_s) == (158.13, 476, 3.0096)
    assert execution.figures == {"queries_per_s": 3162.63}
    assert execution.response == {"min_ms": 1.52, "mean_ms": 6.31, "max_ms": 29.03, "p95_ms": 15.0}
    assert [interval.throughput_per_s for interval in execution.intervals] == [133.71, 136.20, 205.03]
    assert [interval.start_s for interval in execution.intervals] == [0, 1, 2]
    assert execution.errors == {}
    assert two.errors["ignored"] == two.failed == 13
    assert [interval.failed for interval in two.intervals] == [9, 2, 2]


def test_sysbench_cpu_and_memory() -> None:
    (cpu,) = reading("sysbench-cpu.txt").measured
    assert (cpu.title, cpu.clients, cpu.throughput_per_s, cpu.succeeded) == ("cpu", 2, 2148.82, 2151)
    (memory,) = reading("sysbench-memory.txt").measured
    assert memory.figures == {"mib_per_s": 3467.98}
    assert memory.settings["block_size"] == "1KiB"


def test_sysbench_fileio_counts_reads_writes_and_syncs() -> None:
    (files,) = reading("sysbench-fileio.txt").measured
    assert (files.title, files.clients, files.succeeded) == ("fileio", 2, 18971)
    assert files.throughput_per_s == pytest.approx(18971 / 2.0015)
    assert files.figures == {
        "reads_per_s": 4738.46,
        "writes_per_s": 3158.98,
        "fsyncs_per_s": 1580.99,
        "read_mib_per_s": 74.04,
        "written_mib_per_s": 49.36,
    }
    assert [interval.throughput_per_s for interval in files.intervals] == [
        pytest.approx((58.33 + 38.88) * 64 + 1241.29), pytest.approx((89.93 + 59.95) * 64 + 1918.53),
    ]  # fmt: skip
    assert [interval.response for interval in files.intervals] == [{"p95_ms": 0.665}, {"p95_ms": 0.576}]


def test_pgbench_with_progress_and_statements() -> None:
    (execution,) = reading("pgbench.txt").measured
    assert (
        execution.title,
        execution.clients,
        execution.succeeded,
        execution.failed,
        execution.duration_s,
    ) == ("TPC-B (sort of)", 4, 1925, 0, 4)
    assert execution.throughput_per_s == 483.570656
    assert execution.response == {"mean_ms": 8.235, "stdev_ms": 6.986}
    assert [interval.throughput_per_s for interval in execution.intervals] == [332.0, 474.0, 609.9, 506.2]
    assert execution.settings == {
        "version": "15.18", "scale": 2, "protocol": "simple", "threads": 2, "max_tries": 1, "reconnect": "no",
    }  # fmt: skip


def test_a_shell_loop_round_pgbench_is_several_executions() -> None:
    text = [*lines("pgbench.txt"), "\n", *lines("pgbench-s.txt")]
    assert [item.title for item in pgbench.read(text).measured] == ["TPC-B (sort of)", "select only"]
    bare = [line for line in text if not line.startswith(("pgbench (", "starting", "progress"))]
    assert [item.throughput_per_s for item in pgbench.read(bare).measured] == [483.570656, 5269.025370]


def test_a_pgbench_log_has_every_transaction() -> None:
    (execution,) = pgbench_log.read_output(Output([OUTPUTS / "pgbench_log.txt"])).measured
    times = sorted(int(line.split()[2]) for line in lines("pgbench_log.txt"))
    assert execution.succeeded == len(times) == 300
    assert execution.response["max_ms"] == times[-1] / 1e3
    assert execution.response["p50_ms"] == pytest.approx(times[150] / 1e3, rel=0.01)
    assert (execution.clients, execution.failed) == (4, 0)


def test_of_a_log_with_failures_and_a_cut_line_each_is_counted(tmp_path: Path) -> None:
    log = tmp_path / "pgbench_log.1"
    log.write_text(
        "0 1 1000 0 100 500000\n1 1 failed 0 100 600000\n0 2 skipped 0 100 700000\n1 2 3000 0 101 0\n0 3 12"
    )
    parsed = pgbench_log.read_output(Output([log]))
    (execution,) = parsed.measured
    assert (execution.succeeded, execution.failed, execution.errors) == (2, 2, {"failed": 1, "skipped": 1})
    assert parsed.unread == 1


def test_ab_counts_answers_that_are_not_2xx_as_failures() -> None:
    (execution,) = reading("ab.txt").measured
    assert (execution.succeeded, execution.failed, execution.clients) == (500, 0, 5)
    assert execution.throughput_per_s == pytest.approx(783.93, rel=0.001)
    assert execution.response["p99_ms"] == 14
    (bad,) = ab.read(lines("ab-404.txt")).measured
    assert bad.errors == {"non-2xx": 50}
    assert bad.succeeded == 0


def test_ab_gives_no_times_below_a_millisecond_and_none_of_kept_connections() -> None:
    (made,) = reading("ab.txt").measured
    assert made.response["min_ms"] == 1
    assert set(made.figures) == {"processing_mean_ms", "waiting_mean_ms"}, (
        "connecting took less than half of one"
    )
    text = [line.replace("Connect:        0    0", "Connect:        0    2") for line in lines("ab.txt")]
    assert ab.read(text).measured[0].figures["connect_mean_ms"] == 2
    changed_lines = [
        line.replace("Connect:        0    0", "Connect:        0    2") for line in lines("ab-kept.txt")
    ]
    (execution,) = ab.read(changed_lines).measured
    assert (made.settings["keep_alive"], execution.settings["keep_alive"]) == ("no", "yes")
    assert "keep_alive_requests" not in execution.settings, "how many there were is a result"
    assert "connect_mean_ms" not in execution.figures, (
        "a mean over requests that nearly all made no connection"
    )
    expected = {"stdev_ms", "max_ms", "p98_ms", "p99_ms"}
    assert set(execution.response) == expected, "of half of them it says 0: less than there is a figure for"


def test_wrk_with_and_without_errors() -> None:
    (execution,) = reading("wrk.txt").measured
    assert (execution.succeeded, execution.clients, execution.duration_s) == (1980, 5, 2.0)
    assert execution.response["p99_ms"] == 12.59
    text = [
        *lines("wrk.txt")[:-2],
        "  Socket errors: connect 1, read 2, write 0, timeout 4\n",
        "  Non-2xx or 3xx responses: 80\n",
    ]
    (bad,) = wrk.read(text).measured
    assert bad.errors == {"connect": 1, "read": 2, "timeout": 4, "status": 80}
    assert bad.succeeded == 1900


def test_redis_benchmark_in_both_forms() -> None:
    set_, get = reading("redis-benchmark.csv").measured
    assert (set_.title, set_.throughput_per_s, get.response["p99_ms"]) == ("SET", 16906.17, 12.455)
    (text,) = reading("redis-benchmark.txt").measured
    assert (text.title, text.clients, text.succeeded, text.throughput_per_s) == ("GET", 20, 20000, 22002.20)
    assert text.response["max_ms"] == 16.575


def test_fio_reads_writes_and_syncs_apart() -> None:
    read, write = reading("fio.json").measured
    assert (read.title, read.succeeded) == ("rr read", 538)
    assert read.throughput_per_s == pytest.approx(268.865567)
    assert read.response["p99_ms"] == pytest.approx(2.146304)
    assert write.figures["sync_p99_ms"] == pytest.approx(5.406720)
    assert write.settings["fdatasync"] == "1"


@pytest.mark.parametrize(
    ("groups", "elapsed_s", "turns"),
    [
        ((0, 0, 0), 3, [1, 1, 1]),  # jobs of one group work at once
        ((0, 1, 2), 7, [1, 2, 3]),  # 3 * 2 s fit into 7: a stonewall may have parted them
        ((0, 1, 1), 5, [1, 2, 2]),
        ((0, 1, 2), 3, [1, 1, 1]),  # new_group: they would not have fitted
    ],
)
def test_fios_groups_that_may_have_followed_each_other_are_not_added_up(
    groups: tuple[int, ...], elapsed_s: int, turns: list[int]
) -> None:
    document = json.loads((OUTPUTS / "fio.json").read_text())
    (job,) = document["jobs"]
    document["jobs"] = [
        {**job, "jobname": f"j{at}", "groupid": group, "elapsed": elapsed_s, "write": {}}
        for at, group in enumerate(groups)
    ]
    text = json.dumps(document)
    parsed = fio.read([text, "\n", text])
    assert [item.turn + 1 for item in parsed.measured[:3]] == turns
    assert min(item.turn for item in parsed.measured[3:]) > max(item.turn for item in parsed.measured[:3])
    first = parsed.measured[0]
    total = total_of(parsed.measured, at_once=True)
    assert total.throughput_per_s == pytest.approx(first.throughput_per_s * turns.count(1))
    assert total.succeeded == 538 * turns.count(1)
    several = {"groups": len(set(turns)), "counted": [f"j{at} read" for at in range(turns.count(1))]}
    assert groups_of(fio.read([text]).measured) == (several if len(set(turns)) > 1 else {})
    assert (first.began_s is None) == (len(set(groups)) > 1)


def test_what_was_copied_into_a_report_is_read_without_its_head_and_with_remarks_in_it() -> None:
    """As a published report has them: no version above, arrows and words behind the values, only mbw's
    averages (-q).
    """
    cpu = """> sysbench cpu run
Prime numbers limit: 10000
Initializing worker threads...
Threads started!

CPU speed:
    events per second:  3329.35   <-- 主要关注这个eps指标

General statistics:
    total time:                          10.0002s
    total number of events:              33299

Latency (ms):
         min:                                    0.30
         avg:                                    0.30
         max:                                    0.62
         95th percentile:                        0.31
         sum:                                 9994.03

Threads fairness:
    events (avg/stddev):           33299.0000/0.00
    execution time (avg/stddev):   9.9940/0.00
"""
    memory = """> sysbench memory run
Running memory speed test with the following options:
  block size: 1KiB
  total size: 102400MiB
  operation: write
  scope: global

Total operations: 38967914 (3896177.52 per second)
38054.60 MiB transferred (3804.86 MiB/sec)

General statistics:
    total time:                          10.0002s
    total number of events:              38967914
    execution time (avg/stddev):   4.4688/0.00
"""
    parsed = sysbench.read((cpu + memory).splitlines(keepends=True))
    first, second = parsed.measured
    assert (first.title, first.throughput_per_s, first.response["p95_ms"]) == ("cpu", 3329.35, 0.31)
    assert (second.title, second.figures["mib_per_s"]) == ("memory", 3804.86)
    assert parsed.examples == ("> sysbench cpu run", "> sysbench memory run")
    averages = (
        "AVG Method: MEMCPY  Elapsed: 0.04889    MiB: 256.00000  Copy: 5236.255 MiB/s",
        "AVG Method: DUMB    Elapsed: 0.04096    MiB: 256.00000  Copy: 6249.985 MiB/s",
        "AVG Method: MCBLOCK Elapsed: 0.01208    MiB: 256.00000  Copy: 21185.915 MiB/s",
    )
    copied = mbw.read(averages).measured
    assert [(item.title, item.throughput_per_s) for item in copied] == [
        ("MEMCPY", 5236.255), ("DUMB", 6249.985), ("MCBLOCK", 21185.915),
    ]  # fmt: skip
    (disk,) = dd.read(
        [
            "1+0 records in\n",
            "1+0 records out\n",
            "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.834568 s, 1.3 GB/s\n",
        ]
    ).measured
    assert disk.throughput_per_s == pytest.approx(1024 / 0.834568)


def test_iperf3_mbw_dd_and_stress_ng() -> None:
    (net,) = reading("iperf3.json").measured
    assert net.figures["mbits_per_s"] == pytest.approx(8176.505782771864)
    assert len(net.intervals) == 2
    memcpy, dumb, block = reading("mbw.txt").measured
    assert (memcpy.title, memcpy.throughput_per_s, memcpy.figures) == (
        "MEMCPY",
        3960.151,
        {"average_mib_per_s": 4102.739},
    )
    assert (dumb.title, block.title) == ("DUMB", "MCBLOCK")
    (copy,) = reading("dd.txt").measured
    assert copy.throughput_per_s == pytest.approx(50 / 0.066676)
    (hog,) = reading("stress-ng.txt").measured
    assert (hog.title, hog.clients, hog.throughput_per_s) == ("cpu", 2, 910.06)


@pytest.mark.parametrize(
    "text",
    [
        "52428800 bytes (52 MB, 50 MiB) copied, 0.05 s, 1.0 GB/s",
        "52428800 Bytes (52 MB, 50 MiB) kopiert, 0,05 s, 1,0 GB/s",
        "52428800字节（52 MB，50 MiB）已复制，0.05 s，1.0 GB/s",
        "52428800 octets (52 MB, 50 MiB) copiés, 0,05 s, 1,0 GB/s",
    ],
)
def test_dd_in_other_languages(text: str) -> None:
    (copy,) = dd.read(["50+0 records in\n", "50+0 records out\n", text]).measured
    assert copy.throughput_per_s == pytest.approx(1000)


@pytest.mark.parametrize("name", READERS)
def test_output_that_was_cut_anywhere_is_read_as_far_as_it_goes_or_refused(name: str) -> None:
    text = (OUTPUTS / name).read_text()
    for part in range(20):
        try:
            parsed = READERS[name].read(text[: len(text) * part // 20].splitlines(keepends=True))
        except NotItsOutputError:
            continue
        assert all(item.throughput_per_s is None or item.throughput_per_s >= 0 for item in parsed.measured)


@pytest.mark.parametrize("name", READERS)
def test_text_of_another_kind_is_refused_with_what_was_looked_for(name: str) -> None:
    with pytest.raises(NotItsOutputError, match=r"\w") as caught:
        READERS[name].read(["Dear Sir,\n", "\n", "the figures are enclosed.\n"])
    assert re.search("[\u4e00-\u9fff]", Texts("zh").message(caught.value.message))


def test_lines_of_other_programs_between_are_counted_not_guessed() -> None:
    text = [*lines("sysbench-oltp.txt"), "=== run 3 ===\n", "real 0m3.1s\n"]
    parsed = sysbench.read(text)
    assert len(parsed.measured) == 2
    assert (parsed.unread, parsed.examples) == (2, ("=== run 3 ===", "real 0m3.1s"))


def test_numbers_as_people_and_locales_write_them() -> None:
    assert [number(text) for text in ("12.5", "1,234.5", "1,234,567", "0,066676", " 7 ")] == [
        12.5,
        1234.5,
        1234567,
        0.066676,
        7,
    ]
    assert [number(text) for text in ("1.234,5", "1.234.567", "1 234,5", "1\u202f234.5", "1'234.5")] == [
        1234.5, 1234567, 1234.5, 1234.5, 1234.5,
    ]  # fmt: skip
    for text in ("n/a", "1,2,3", "1 2", "--5"):
        with pytest.raises(ValueError, match="is not a number"):
            number(text)
