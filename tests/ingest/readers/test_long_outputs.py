"""Long outputs: read in blocks, counted and forgotten, with the values that reading them line by line would
give.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadcell.ingest import series
from loadcell.ingest.base import Interval
from loadcell.ingest.readers import sysbench
from loadcell.ingest.series import Intervals
from loadcell.ingest.text import LONGEST_LINE, Output, Table, blocks, decoded, lines, stretches

OUTPUTS = Path(__file__).parent / "outputs"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=12)), st.integers(1, 40))
def test_blocks_lose_nothing_and_end_where_lines_end(parts: list[bytes], size: int) -> None:
    text = b"\n".join(parts)
    pieces = list(blocks(io.BytesIO(text), size))
    assert b"".join(pieces) == text
    for block in pieces[:-1]:
        assert block.endswith(b"\n") or b"\n" not in block
        assert len(block) <= 2 * size


def test_lines_end_alike_and_none_is_longer_than_a_tools() -> None:
    assert list(lines([b"a\r\nb\rc\n", b"d"])) == ["a\n", "b\n", "c\n", "d"]
    (long,) = lines([b"x" * (3 * LONGEST_LINE)])
    assert len(long) == LONGEST_LINE


def test_texts_of_chinese_locales_are_read_as_such() -> None:
    assert decoded("已复制，0.05 秒".encode("gb18030")) == "已复制，0.05 秒"
    assert decoded("已复制".encode()) == "已复制"
    assert decoded(b"\xff\xfe\xff 12 MB/s").endswith("12 MB/s")


def test_who_reads_an_output_tells_how_far_it_is(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    files[0].write_text("a\nb")
    files[1].write_text("c\n")
    progress: list[tuple[int, int]] = []
    output = Output(files, lambda read, total: progress.append((read, total)))
    assert (output.first_line(), list(output.lines())) == (b"a\n", ["a\n", "b", "c\n"])
    assert progress[-1] == (5, 5)
    output.on_event('{"type": "progress", "read_bytes": 2, "total_bytes": 9}')
    assert progress[-1] == (2, 9)


def test_intervals_are_joined_when_there_are_too_many_and_add_up_to_the_same() -> None:
    few = Intervals(most=100)
    for number in range(1_000):
        failed = 1 if number == 7 else None
        few.append(
            Interval(float(number), 1.0, 10.0 + number % 2, failed, {"mean_ms": 4.0, "p99_ms": number % 5})
        )
    assert few.joined == 16
    items = list(few)
    assert len(items) == len(few) <= 100
    assert sum(item.duration_s * item.throughput_per_s for item in items) == 10_500
    assert sum(item.failed or 0 for item in items) == 1
    assert {item.response["mean_ms"] for item in items} == {4.0}
    assert {item.response["p99_ms"] for item in items[:-1]} == {4}
    assert {item.duration_s for item in items[:-1]} == {16}
    assert items[0].start_s == 0
    assert all(item.start_s + item.duration_s == next_.start_s for item, next_ in pairwise(items))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0, 9, width=16), max_size=60), st.integers(2, 9), st.sampled_from([1, 7, 60]))
def test_what_is_joined_is_what_all_were(rates: list[float], most: int, at_once: int) -> None:
    joined_series = Intervals(most)
    for begin in range(0, len(rates), at_once):
        some = np.array(rates[begin : begin + at_once])
        start = np.arange(begin, begin + len(some), dtype=np.float64)
        times = {"p99_ms": some, "min_ms": some, "mean_ms": np.where(some > 5, some, np.nan)}
        joined_series.extend(
            {"start": start, "duration": np.ones(len(some)), "rate": some, "failed": some, **times}
        )
        assert len(list(joined_series)) == len(joined_series) <= most
    items = list(joined_series)
    for number, item in enumerate(items):
        members = rates[number * joined_series.joined : (number + 1) * joined_series.joined]
        assert (item.start_s, item.duration_s) == (number * joined_series.joined, len(members))
        assert math.isclose(item.throughput_per_s, sum(members) / len(members), abs_tol=1e-9)
        reach = (None, None) if joined_series.joined == 1 else (min(members), max(members))
        assert (item.lowest_per_s, item.highest_per_s) == reach
        assert (item.response["p99_ms"], item.response["min_ms"]) == (max(members), min(members))
        high = [rate for rate in members if rate > 5]
        assert ("mean_ms" in item.response) == bool(high)
        assert not high or min(high) - 1e-9 <= item.response["mean_ms"] <= max(high) + 1e-9


def test_a_stall_stays_to_be_seen_in_what_is_joined() -> None:
    """Three seconds of a million."""
    joined_series = Intervals()
    rate = np.full(1_000_000, 5_000.0)
    rate[654_321:654_324] = 0
    joined_series.extend(
        {
            "start": np.arange(1e6),
            "duration": np.ones(1_000_000),
            "rate": rate,
            "failed": np.full(1_000_000, np.nan),
        }
    )
    lowest = [item for item in joined_series if item.lowest_per_s == 0]
    assert [(item.start_s, item.duration_s, item.highest_per_s) for item in lowest] == [(654_320, 16, 5_000)]
    assert sum(item.duration_s * item.throughput_per_s for item in joined_series) == rate.sum()


def intervals(count: int) -> str:
    rows = [
        f"[ {second}s ] thds: 8 tps: {500 + second % 9:.2f} qps: 10000.00 (r/w/o: "
        f"7000.00/2000.00/1000.00) lat (ms,95%): "
        f"{16 + second % 3:.2f} err/s: {second % 2:.2f} reconn/s: 0.00\n"
        for second in range(1, count + 1)
    ]
    head, _, tail = (OUTPUTS / "sysbench-oltp.txt").read_text().partition("[ 1s ]")
    return head + "".join(rows) + tail[tail.index("SQL statistics") :]


def of_files(count: int) -> str:
    rows = [
        f"[ {second}s ] reads: {second % 7}.25 MiB/s writes: 3.50 MiB/s fsyncs: {second % 9}.00/s "
        f"latency (ms,95%): 0.{second % 10}00\n"
        for second in range(1, count + 1)
    ]
    head, _, tail = (OUTPUTS / "sysbench-fileio.txt").read_text().partition("Threads started!\n")
    return f"{head}Threads started!\n{''.join(rows)}{tail[tail.index('Throughput:') :]}"


def of_events(count: int) -> str:
    rows = [
        f"[ {second}s ] thds: 2 eps: {900 + second % 5}.25 lat (ms,99%): {second % 3}.10\n"
        for second in range(1, count + 1)
    ]
    head, _, tail = (OUTPUTS / "sysbench-cpu.txt").read_text().partition("Threads started!\n")
    return f"{head}Threads started!\n{''.join(rows)}{tail}"


def output(home: Path, text: str | bytes) -> Output:
    file = home / "output"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Output((file,))


@pytest.mark.parametrize("kind", [intervals, of_files, of_events])
def test_a_long_row_of_intervals_is_read_as_it_would_be_line_by_line(
    tmp_path: Path, kind: Callable[[int], str]
) -> None:
    text = kind(3_000)
    parts = stretches(output(tmp_path, text), b"[ ")
    tables = [(some.text().count(b"\n"), len(some.numbers(0))) for some in parts if isinstance(some, Table)]
    assert tables == [(3_000, 3_000 * 8)]
    quick = sysbench.read_output(output(tmp_path, text))
    windows = sysbench.read_output(output(tmp_path, text.replace("\n", "\r\n")))
    slow = sysbench.read(text.splitlines(keepends=True))
    assert list(quick.measured[0].intervals) == list(slow.measured[0].intervals)
    assert list(quick.measured[0].intervals) == list(windows.measured[0].intervals)
    assert len(quick.measured[0].intervals) == 3_000
    assert (quick.unread, slow.unread, windows.unread) == (0, 0, 0)


def test_many_executions_keep_no_more_together_than_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(series.Room.__init__, "__defaults__", (4_000, 500))
    parsed = sysbench.read_output(output(tmp_path, intervals(3_000) + intervals(900) + intervals(2_990)))
    joined_series = [item.intervals for item in parsed.measured if len(item.intervals) > 3]
    assert [len(item) for item in joined_series] == [1_500, 900, 1_495]
    assert [item.joined for item in joined_series if isinstance(item, Intervals)] == [2, 1, 2]
    assert [sum(interval.duration_s for interval in item) for item in joined_series] == [3_000, 900, 2_990]


def test_another_percentile_in_the_middle_of_a_row_is_seen(tmp_path: Path) -> None:
    rows = intervals(1_000).replace("[ 600s ] thds: 8", "[ 600s ] thds: 9").splitlines(keepends=True)
    rows = [row.replace("(ms,95%)", "(ms,99%)") if row.startswith("[ 7") else row for row in rows]
    items = list(sysbench.read_output(output(tmp_path, "".join(rows))).measured[0].intervals)
    assert len(items) == 1_000
    assert {second for second, item in enumerate(items, 1) if "p99_ms" in item.response} == {
        second for second in range(1, 1_001) if str(second).startswith("7")
    }


def test_one_odd_line_within_a_long_row_of_intervals_is_counted(tmp_path: Path) -> None:
    rows = intervals(1_000).splitlines(keepends=True)
    rows.insert(500, "[ 400s ] thds: eight tps: many\n")
    rows.insert(600, "[ 401s\n")
    parsed = sysbench.read_output(output(tmp_path, "".join(rows)))
    assert parsed.unread == 2
    assert len(parsed.measured[0].intervals) == 1_000
