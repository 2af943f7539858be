"""Forms of pgbench's output by version and option: scripts, retries, rate limits, times since 1970."""

from __future__ import annotations

import pytest

from loadcell.ingest.base import Part, Reading
from loadcell.ingest.readers import pgbench
from loadcell.workloads.tool_runner import result

PROGRESS = """progress: {0} s, 40.0 tps, lat 20.5 ms stddev 3.1, 0 failed
progress: {1} s, 60.0 tps, lat 19.5 ms stddev 2.9, 2 failed
"""
SUMMARY = """transaction type: {type}
scaling factor: 7
query mode: prepared
number of clients: 3
number of threads: 2
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 500
{more}latency average = 20.1 ms
latency stddev = 3.0 ms
initial connection time = 4.2 ms
tps = 50.021 (without initial connection time)
"""
SCRIPTS = """SQL script 1: read.sql
 - weight: 4 (targets 80.0% of total)
 - 400 transactions (80.0% of total, tps = 40.01)
 - number of failed transactions: 0 (0.000%)
 - latency average = 10.5 ms
 - latency stddev = 1.5 ms
 - statement latencies in milliseconds and failures:
         9.200           0  SELECT 1;
SQL script 2: <builtin: simple update>
 - weight: 1 (targets 20.0% of total)
 - 100 transactions (20.0% of total, tps = 10.01)
 - number of failed transactions: 5 (4.762%)
 - latency average = 58.5 ms
 - latency stddev = 9.5 ms
"""
#: As 9.6 has it.
OLD_SCRIPTS = """SQL script 1: read.sql
 - weight = 4
 - 400 transactions (80.0% of total, tps = 40.01)
 - latency average = 10.5 ms
SQL script 2: read.sql
 - weight = 1
 - 100 transactions (20.0% of total, tps = 10.01)
 - latency average = 58.5 ms
"""


def summary(kind: str = "read.sql", more: str = "") -> str:
    return SUMMARY.format(type=kind, more=more)


def read(text: str) -> Reading:
    return pgbench.read(text.splitlines(keepends=True))


def test_times_since_1970_give_the_same_intervals_and_when_it_began() -> None:
    elapsed, epoch = (
        read(PROGRESS.format(*at) + summary()).measured[0]
        for at in (("5.0", "10.0"), ("1700000005.250", "1700000010.250"))
    )
    assert list(epoch.intervals) == list(elapsed.intervals)
    assert (elapsed.began_s, epoch.began_s) == (None, 1_700_000_000.25)


def test_a_single_time_since_1970_is_an_interval_as_long_as_the_run() -> None:
    line = PROGRESS.format("1700000010.250", "").splitlines(keepends=True)[0]
    (execution,) = read(line + summary()).measured
    assert [(item.start_s, item.duration_s) for item in execution.intervals] == [(0, 10)]
    assert execution.began_s == 1_700_000_000.25


def test_a_running_tool_gives_no_live_intervals_of_times_since_1970() -> None:
    follow = result.PGBENCH.follow()
    assert [follow(line) for line in PROGRESS.format("1700000005.250", "1700000010.250").splitlines()] == [
        None, None,
    ]  # fmt: skip
    follow = result.PGBENCH.follow()
    (first, second) = (follow(line) for line in PROGRESS.format("5.0", "10.0").splitlines())
    assert first is not None
    assert second is not None
    assert (first.duration_s, second.start_s, second.failed) == (5, 5, 2)


def test_each_of_several_scripts_is_a_part_and_their_mix_a_setting() -> None:
    parsed = read(summary("multiple scripts") + SCRIPTS)
    (execution,) = parsed.measured
    assert parsed.examples == ()
    assert (execution.throughput_per_s, execution.response) == (50.021, {"mean_ms": 20.1, "stdev_ms": 3.0})
    assert execution.parts == {
        "read.sql": Part(400, 0, {"mean_ms": 10.5, "stdev_ms": 1.5}),
        "simple update": Part(100, 5, {"mean_ms": 58.5, "stdev_ms": 9.5}),
    }
    assert execution.settings["scripts"] == "read.sql@4, simple update@1"


def test_a_script_that_is_given_twice_is_two_parts() -> None:
    parsed = read(summary("multiple scripts") + OLD_SCRIPTS + summary())
    assert parsed.examples == ()
    assert [list(execution.parts) for execution in parsed.measured] == [["read.sql", "read.sql (2)"], []]
    assert parsed.measured[0].settings["scripts"] == "read.sql@4, read.sql (2)@1"


def test_failures_are_counted_by_kind_where_pgbench_does() -> None:
    plain = read(summary(more="number of failed transactions: 20 (3.846%)\n")).measured[0]
    assert (plain.failed, plain.errors) == (20, {"failed": 20})
    more = (
        "number of failed transactions: 20 (3.846%)\nnumber of serialization failures: 15 (2.885%)\n"
        "number of deadlock failures: 5 (0.962%)\nnumber of transactions retried: 60 (11.5%)\n"
        "total number of retries: 90\n"
    )
    parsed = read(summary(more=more))
    (execution,) = parsed.measured
    assert (parsed.examples, execution.succeeded, execution.failed) == ((), 500, 20)
    assert execution.errors == {"serialization": 15, "deadlock": 5}
    assert execution.figures["retries"] == 90


def test_transactions_that_a_rate_limit_skipped_are_failures() -> None:
    more = (
        "number of failed transactions: 0 (0.000%)\nnumber of transactions skipped: 30 (5.660%)\n"
        "number of transactions above the 25.0 ms latency limit: 12/500 (2.400%)\n"
        "rate limit schedule lag: avg 0.305 (max 5.540) ms\n"
    )
    line = "progress: 10.0 s, 50.0 tps, lat 20.1 ms stddev 3.0, 1 failed, lag 0.305 ms, 30 skipped\n"
    parsed = read(line + summary(more=more))
    (execution,) = parsed.measured
    assert (parsed.examples, execution.failed, execution.errors) == ((), 30, {"skipped": 30})
    assert [item.failed for item in execution.intervals] == [31]
    assert execution.figures == {
        "schedule_lag_mean_ms": 0.305,
        "schedule_lag_max_ms": 5.54,
        "above_limit": 12,
    }
    assert execution.settings["latency_limit_ms"] == 25


def test_connecting_again_for_each_transaction_is_a_setting() -> None:
    text = summary().replace("initial connection time", "average connection time", 1)
    text = text.replace("without initial connection time", "including reconnection times")
    parsed = read(text)
    (execution,) = parsed.measured
    assert (parsed.examples, execution.figures) == ((), {"connecting_mean_ms": 4.2})
    assert execution.settings["reconnect"] == "yes"


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        ("pgbench: client 0 executing \\set aid\n", 0),
        ("client 0 receiving\n", 0),
        ("pgbench: client 1 repeats the transaction after the error (try 1/5)\n", 0),
        ("pgbench: client 1 got an error in command 1 (SQL) of script 0; ERROR:  serialization\n", 0),
        ("pgbench: error: Run was aborted; the above results are incomplete.\n", 1),
        ("what is this\n", 1),
    ],
)
def test_lines_of_debug_are_no_unread_ones_but_an_aborted_run_is_reported(line: str, unread: int) -> None:
    parsed = read(summary() + line)
    assert (parsed.unread, parsed.measured[0].errors) == (unread, {})


def test_clients_that_aborted_are_errors() -> None:
    error = "pgbench: error: client 1 script 0 aborted in command 0 query 0: ERROR:  none\n"
    position = "LINE 1: SELECT a;\n               ^\n"
    parsed = read("starting vacuum...end.\n" + summary().replace("scaling", f"{error}{position}scaling"))
    assert (parsed.measured[0].errors, parsed.examples) == ({"client": 1}, ())


def test_indentation_makes_no_difference() -> None:
    text = summary(more=SCRIPTS)
    plain = read(text)
    for changed in (f"  {text}", "".join(f"\t{line}\n" for line in text.splitlines())):
        parsed = read(changed)
        assert (parsed.examples, parsed.measured[0].parts) == (plain.examples, plain.measured[0].parts)
        assert parsed.measured[0].clients == 3
