"""sysbench: forms of 0.4, 0.5, 1.0 and 1.1, checkpoints, and summaries without a head."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.ingest import checks
from loadcell.ingest.base import Measured
from loadcell.ingest.readers import sysbench

HEAD = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 2\n\nThreads started!\n\n"
SUMMARY = """CPU speed:
    events per second:  {rate:.2f}

General statistics:
    total time:                          {time:.4f}s
    total number of events:              {count}

Latency (ms):
         min:                                    {least}
         avg:                                    {mean}
         max:                                   32.27
         95th percentile:                        4.41
         sum:                                 1974.06

"""
FAIRNESS = """Threads fairness:
    events (avg/stddev):           1100.0000/153.00
    execution time (avg/stddev):   0.9870/0.01

"""


def summary(*, count: int, rate: float, time_s: float, mean: str = "1.00", least: str = "0.20") -> str:
    return SUMMARY.format(count=count, rate=rate, time=time_s, mean=mean, least=least)


def measured(text: str) -> tuple[Measured, ...]:
    parsed = sysbench.read(text.splitlines(keepends=True))
    assert parsed.examples == ()
    return parsed.measured


def test_checkpoints_are_stretches_of_one_execution() -> None:
    """1.0.20 counts from zero after each; its total time is that of the execution."""
    text = (
        f"{HEAD}[ 1s ] Checkpoint report:\n{summary(count=2000, rate=2000, time_s=1)}{FAIRNESS}"
        f"[ 1s ] thds: 2 eps: 2000.00 lat (ms,95%): 0.24\n[ 2s ] thds: 2 eps: 1500.00 lat (ms,95%): 0.24\n"
        f"[ 3s ] Checkpoint report:\n{summary(count=3000, rate=1500, time_s=3, mean='2.00')}{FAIRNESS}"
        f"[ 3s ] thds: 2 eps: 1500.00 lat (ms,95%): 0.24\n[ 4s ] thds: 2 eps: 1000.00 lat (ms,95%): 0.24\n"
        f"{summary(count=1000, rate=1000, time_s=4, mean='4.00', least='0.10')}{FAIRNESS}"
    )
    (execution,) = measured(text)
    assert (execution.succeeded, execution.duration_s, execution.clients) == (6000, 4, 2)
    assert execution.throughput_per_s == 1500
    assert execution.response == {"min_ms": 0.1, "max_ms": 32.27, "mean_ms": pytest.approx(2)}
    assert len(execution.intervals) == 4
    assert checks.disagreements(execution) == []


def test_summaries_without_a_head_are_executions_each() -> None:
    first, second = summary(count=1000, rate=100, time_s=10), summary(count=3000, rate=300, time_s=10)
    assert [item.succeeded for item in measured(first + second)] == [1000, 3000]
    assert [item.succeeded for item in measured(first + FAIRNESS + second + FAIRNESS)] == [1000, 3000]
    cut = first.partition("Latency")[0]
    assert [item.succeeded for item in measured(cut + second)] == [1000, 3000]


@pytest.mark.parametrize(
    ("before", "fatal"),
    [
        ("Time limit exceeded, exiting...\n", 0),
        ("FATAL: mysql_drv_query() returned error 1205\n", 4),
        ("", 0),
    ],
)
def test_a_repeated_message_counts_as_the_one_before(before: str, fatal: int) -> None:
    text = f"{HEAD}{before}(last message repeated 3 times)\n{summary(count=1000, rate=100, time_s=10)}"
    (execution,) = measured(text)
    assert (execution.failed, dict(execution.errors)) == (fatal, {"fatal": 4} if fatal else {})


FILES = """sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4

Throughput:
         read:  IOPS=1800.00 28.13 MiB/s (29.49 MB/s)
         write: IOPS=1200.00 18.75 MiB/s (19.66 MB/s)
         fsync: IOPS=500.00

Latency (ms):
         min:                                  0.06
         avg:                                  0.44
         max:                                 37.16
         95th percentile:                      1.12
         sum:                               4358.00

"""


def test_files_of_1_1_have_rates_and_no_counts() -> None:
    (files,) = measured(FILES)
    assert (files.title, files.clients, files.throughput_per_s) == ("fileio", 4, 3500)
    assert files.figures == {
        "reads_per_s": 1800, "read_mib_per_s": 28.13, "writes_per_s": 1200, "written_mib_per_s": 18.75,
        "fsyncs_per_s": 500,
    }  # fmt: skip
    bare = FILES.partition("threads: 4\n")[2]
    assert len(measured(bare + bare)) == 2, "copied without their heads"


def test_the_rate_of_all_tests_of_1_1() -> None:
    text = (
        "sysbench 1.1.0 (x)\nThroughput:\n    events/s (eps):                      780.6922\n"
        "    time elapsed:                        10.0001s\n    total number of events:              7807\n"
    )
    (threads,) = measured(text)
    assert (threads.throughput_per_s, threads.succeeded) == (780.6922, 7807)
    assert checks.disagreements(threads) == []
    (wrong,) = measured(text.replace("7807", "1807"))
    assert [item.total.label for item in checks.disagreements(wrong)] == ["events / total time"]


def test_an_interval_of_sysbench_tpcc_has_no_colon_behind_its_errors() -> None:
    line = (
        "[ {at}s ] thds: 10 tps: 70.00 qps: 2357.14 (r/w/o: 1079.60/1099.59/177.96) lat (ms,95%): 331.91 "
        "err/s 1.20 reconn/s: 0.00\n"
    )
    text = HEAD + "".join(line.format(at=at) for at in (10, 20)) + summary(count=1400, rate=70, time_s=20)
    (execution,) = measured(text)
    assert [(item.throughput_per_s, item.failed) for item in execution.intervals] == [(70, 12), (70, 12)]


OLD = """sysbench {version}:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 4
{intervals}
OLTP test statistics:
    queries performed:
        read:                            140014
        write:                           50005
        other:                           20002
        total:                           210021
    transactions:                        10001  (166.66 per sec.)
    deadlocks:                           2      (0.03 per sec.)
    read/write requests:                 190019 (3166.54 per sec.)
    other operations:                    20002  (333.32 per sec.)

{general}:
    total time:                          60.0083s
    total number of events:              10001
    total time taken by event execution: 239.8
    {times}:
         min:                                  1.42ms
         avg:                                 23.98ms
         max:                                  1.12s
         approx.  95 percentile:              57.20ms

Threads fairness:
    events (avg/stddev):           2500.2500/12.00
    execution time (avg/stddev):   59.95/0.00
"""


@pytest.mark.parametrize(
    ("version", "general", "times", "intervals"),
    [
        ("0.4.12", "Test execution summary", "per-request statistics", 0),
        ("0.5", "General statistics", "response time", 2),
    ],
)
def test_times_and_deadlocks_of_old_versions(version: str, general: str, times: str, intervals: int) -> None:
    line = (
        "[  {at}s] threads: 4, tps: 166.60, reads: 2333.10, writes: 833.00, response time: 57.20ms (95%), "
        "errors: 0.10, reconnects:  0.00\n"
    )
    series = "".join(line.format(at=30 * (number + 1)) for number in range(intervals))
    (execution,) = measured(OLD.format(version=version, general=general, times=times, intervals=series))
    assert execution.response == {"min_ms": 1.42, "mean_ms": 23.98, "max_ms": 1120, "p95_ms": 57.2}
    assert (execution.succeeded, dict(execution.errors)) == (10001, {"deadlock": 2})
    assert [(item.start_s, item.throughput_per_s, item.failed) for item in execution.intervals] == [
        (0, 166.6, 3), (30, 166.6, 3),
    ][:intervals]  # fmt: skip
    assert checks.disagreements(execution) == []


def test_intervals_of_the_first_releases_of_0_5_lack_a_comma() -> None:
    line = (
        "[  {at}s] threads: 4, tps: 166.60, reads/s: 2333.10, writes/s: 833.00 response time: 57.20ms (99%)\n"
    )
    series = "".join(line.format(at=30 * number) for number in (1, 2))
    text = OLD.format(version="0.5", general="General statistics", times="response time", intervals=series)
    (execution,) = measured(text)
    assert [(item.throughput_per_s, item.response) for item in execution.intervals] == [
        (166.6, {"p99_ms": 57.2})
    ] * 2


def test_files_and_memory_of_0_4() -> None:
    text = (
        "sysbench 0.4.12:  x\nNumber of threads: 1\n\n"
        "Operations performed:  6001 Read, 4000 Write, 12800 Other = 22801 Total\n"
        "Read 93.766Mb  Written 62.5Mb  Total transferred 156.27Mb  (9.3753Mb/sec)\n"
        "  600.02 Requests/sec executed\n\nTest execution summary:\n    total time:       16.6680s\n"
        "    total number of events:              10001\n"
    )
    (files,) = measured(text)
    assert (files.title, files.throughput_per_s, files.figures) == ("fileio", 600.02, {"mib_per_s": 9.3753})
    assert checks.disagreements(files) == []
    (memory,) = measured(
        "sysbench 0.4.12:  x\nOperations performed: 1048576 (2232543.87 ops/sec)\n\n"
        "1024.00 MB transferred (2180.22 MB/sec)\n\nTest execution summary:\n    total time:      0.4697s\n"
        "    total number of events:              1048576\n"
    )
    assert (memory.title, memory.throughput_per_s, memory.figures) == (
        "memory",
        2232543.87,
        {"mib_per_s": 2180.22},
    )


def test_a_histogram_is_understood() -> None:
    text = HEAD + (
        "Latency histogram (values are in milliseconds)\n"
        "       value  ------------- distribution ------------- count\n"
        "       0.204 |****************************************         21\n"
        "       6.318 |                  2\n \n"
    )
    assert len(measured(text + summary(count=1000, rate=100, time_s=10))) == 1


@pytest.mark.parametrize("name", ["cpu", "fileio", "memory", "oltp"])
def test_indentation_that_was_lost_or_added_makes_no_difference(name: str) -> None:
    text = (Path(__file__).parent / "outputs" / f"sysbench-{name}.txt").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    plain = sysbench.read(lines)
    for changed in ([f"\t\t{line}" for line in lines], [line.lstrip(" ") for line in lines]):
        parsed = sysbench.read(changed)
        assert (parsed.examples, [item.response for item in parsed.measured]) == (
            plain.examples,
            [item.response for item in plain.measured],
        )
        assert [item.throughput_per_s for item in parsed.measured] == [
            item.throughput_per_s for item in plain.measured
        ]
