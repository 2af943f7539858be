"""Long outputs: read in blocks, counted and forgotten, with the figures that reading them line by line would give."""

from __future__ import annotations

import io
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcell.tools import benchmarksql, pgbench_log, runs, sysbench
from loadcell.tools.base import Interval, NotItsOutputError
from loadcell.tools.blocks import LONGEST_LINE, blocks, decoded, lines
from loadcell.tools.ledger import Ledger, Times
from loadcell.tools.series import Intervals

OUTPUTS = Path(__file__).parent / "outputs"


@given(st.lists(st.binary(max_size=12)), st.integers(1, 40))
def test_blocks_lose_nothing_and_end_where_lines_end(parts: list[bytes], size: int) -> None:
    text = b"\n".join(parts)
    found = list(blocks(io.BytesIO(text), size))
    assert b"".join(found) == text
    for block in found[:-1]:
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


def test_times_are_counted_exactly_and_very_long_ones_closely() -> None:
    random = np.random.default_rng(4)
    ticks = (800 * random.lognormal(0, 1, 20_000)).astype(np.int64)
    times = Times(ticks_per_ms=1000)
    for part in np.array_split(ticks, 7):
        times.add(part)
    found, ordered = times.response(), np.sort(ticks) / 1000
    for key, rank in {"p50_ms": 0.5, "p99_ms": 0.99, "p99.9_ms": 0.999}.items():
        assert found[key] == ordered[math.ceil(rank * (len(ticks) - 1))]
    assert found["mean_ms"] == pytest.approx(ordered.mean())
    assert found["stdev_ms"] == pytest.approx(ordered.std(ddof=1))
    assert (found["min_ms"], found["max_ms"]) == (ordered[0], ordered[-1])
    times.add(np.array([3_000_001, 90_000_123]))
    assert times.response()["max_ms"] == pytest.approx(90_000.123, rel=1 / 4096)


def test_seconds_have_their_counts_means_and_tails_in_whatever_order_they_come() -> None:
    random = np.random.default_rng(5)
    ends = 1_000.0 + np.cumsum(random.exponential(0.001, 20_000))
    ticks = (800 * random.lognormal(0, 1, len(ends))).astype(np.int64)
    ledger = Ledger(ticks_per_ms=1000, base_s=1_000.0)
    shuffled = random.permutation(len(ends))
    for part in np.array_split(shuffled, 9):
        ledger.add(ends[part], ticks[part])
    found = list(ledger.intervals())
    second = np.floor(ends - 1_000.0)
    assert len(found) == int(second.max())  # the last, which is cut, is left out
    for number, one in enumerate(found):
        own = ticks[second == number] / 1000
        assert one.throughput_per_s == len(own)
        assert one.response["mean_ms"] == pytest.approx(own.mean())
        assert one.response["p99_ms"] == pytest.approx(
            np.sort(own)[math.ceil(0.99 * len(own)) - 1], rel=0.009
        )
    assert sum(one.throughput_per_s for one in found) == (second < second.max()).sum()


def test_a_second_in_which_nothing_ended_is_one_of_no_throughput() -> None:
    ledger = Ledger(ticks_per_ms=1, base_s=0.0)
    ledger.add(np.array([0.5, 3.5, 4.5]), np.array([1, 2, 3]))
    assert [(one.start_s, one.throughput_per_s) for one in ledger.intervals()] == [
        (0, 1),
        (1, 0),
        (2, 0),
        (3, 1),
    ]


def test_a_log_of_years_has_wider_intervals_instead_of_millions() -> None:
    ledger = Ledger(ticks_per_ms=1, base_s=0.0)
    for day in range(0, 1_200, 100):
        ledger.add(np.arange(day * 86_400, (day + 100) * 86_400, 60).astype(float) + 0.5, np.full(144_000, 7))
    found = ledger.intervals()
    assert 10_000 < len(found) <= 100_000
    whole = list(found)
    assert whole[0].duration_s > 60
    assert sum(one.duration_s * one.throughput_per_s for one in whole) == pytest.approx(1_728_000, rel=1e-3)
    assert {round(one.response["p99_ms"]) for one in whole if one.response} == {7}


def test_intervals_are_joined_when_there_are_too_many_and_add_up_to_the_same() -> None:
    few = Intervals(most=100)
    for number in range(1_000):
        failed = 1 if number == 7 else None
        few.append(
            Interval(float(number), 1.0, 10.0 + number % 2, failed, {"mean_ms": 4.0, "p99_ms": number % 5})
        )
    assert few.joined > 1
    found = list(few)
    assert len(found) == len(few) <= 100
    assert sum(one.duration_s * one.throughput_per_s for one in found) == 10_500
    assert sum(one.failed or 0 for one in found) == 1
    assert {one.response["mean_ms"] for one in found} == {4.0}
    assert {one.response["p99_ms"] for one in found[:-1]} == {4}
    assert found[0].start_s == 0
    assert all(one.start_s + one.duration_s == next_.start_s for one, next_ in pairwise(found))


LOG = (OUTPUTS / "pgbench_log.txt").read_bytes()


@pytest.mark.parametrize("size", [64, 1000, 2**20])
def test_a_log_gives_the_same_in_blocks_of_any_size(size: int) -> None:
    whole, parted = (
        pgbench_log.read_blocks([LOG]).measured[0],
        pgbench_log.read_blocks(blocks(io.BytesIO(LOG), size)).measured[0],
    )
    assert parted.response == whole.response
    assert (parted.succeeded, parted.clients, parted.duration_s) == (
        whole.succeeded,
        whole.clients,
        whole.duration_s,
    )


def test_rubbish_within_a_log_is_counted_and_nothing_else_is_lost() -> None:
    rows = LOG.splitlines(keepends=True)
    text = b"".join(
        [*rows[:100], b"\0\xff\xfe rubbish\n", b"\n", b'"1 2 3\n', b"1 2 -5 0 1 1\n", *rows[100:], b"0 12 55"]
    )
    found = pgbench_log.read_blocks([text])
    assert found.measured[0].succeeded == 300
    assert found.unread == 4
    assert found.examples[-1] == "0 12 55"


AGGREGATED = "1345828501 5601 1542744 483552416 61 2573\n1345828503 7884 1979812 565806736 60 1479\n1345828505 7208 1979422 567277552 59 1391\n"


def test_a_log_of_intervals_is_told_from_one_of_transactions() -> None:
    """The example of pgbench's own documentation."""
    found = pgbench_log.read([*AGGREGATED.splitlines(keepends=True), "NOTICE: x\n"])
    (one,) = found.measured
    assert (one.succeeded, one.duration_s, found.unread) == (20_693, 6, 1)
    assert (one.response["min_ms"], one.response["max_ms"]) == (0.059, 2.573)
    assert [each.throughput_per_s for each in one.intervals] == [2800.5, 3942]


def intervals(count: int) -> str:
    rows = [
        f"[ {second}s ] thds: 8 tps: {500 + second % 9:.2f} qps: 10000.00 (r/w/o: 7000.00/2000.00/1000.00) lat (ms,95%): "
        f"{16 + second % 3:.2f} err/s: {second % 2:.2f} reconn/s: 0.00\n"
        for second in range(1, count + 1)
    ]
    head, _, tail = (OUTPUTS / "sysbench-oltp.txt").read_text().partition("[ 1s ]")
    return head + "".join(rows) + tail[tail.index("SQL statistics") :]


def test_a_long_row_of_intervals_is_read_as_it_would_be_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = intervals(3_000)
    quick = sysbench.read_blocks([text.encode()])
    monkeypatch.setattr(runs, "FEWEST", math.inf)
    slow = sysbench.read_blocks([text.encode()])
    assert list(quick.measured[0].intervals) == list(slow.measured[0].intervals)
    assert len(quick.measured[0].intervals) == 3_000
    assert (quick.unread, slow.unread) == (0, 0)


def test_one_odd_line_within_a_long_row_of_intervals_is_counted() -> None:
    rows = intervals(1_000).splitlines(keepends=True)
    rows.insert(500, "[ 400s ] thds: eight tps: many\n")
    rows.insert(600, "[ 401s\n")
    found = sysbench.read(rows)
    assert found.unread == 2
    assert len(found.measured[0].intervals) == 1_000


RESULT = "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n"


def test_tpmc_counts_new_orders_also_those_rolled_back_by_design_and_never_failed_ones() -> None:
    rows = [
        "7,1000,10,10,NEW_ORDER,0,0,0", "7,2000,20,20,NEW_ORDER,1,0,0", "7,3000,30,30,NEW_ORDER,0,0,1",
        "7,20000,5,5,PAYMENT,0,0,0", "7,29000,6,6,DELIVERY,0,0,0", "7,30000,90,90,DELIVERY_BG,0,2,0",
    ]  # fmt: skip
    found = benchmarksql.read([RESULT, *(f"{row}\n" for row in rows)])
    (one,) = found.measured
    assert one.duration_s == 30
    assert one.figures == {"tpmC": 4, "tpmTotal": 8}
    assert (one.succeeded, one.failed, one.throughput_per_s) == (4, 1, 4 / 30)
    assert {name: (part.succeeded, part.failed, part.kind) for name, part in one.parts.items()} == {
        "new_order": (2, 1, "type"), "payment": (1, 0, "type"), "delivery": (1, 0, "type"),
        "new_order_rolled_back": (1, 0, "outcome"),
    }  # fmt: skip
    assert one.response["max_ms"] == 20
    assert found.unread == 0


def test_several_results_in_one_table_are_several_executions() -> None:
    text = [
        RESULT,
        "1,1000,10,10,PAYMENT,0,0,0\n",
        RESULT,
        "2,500,20,20,PAYMENT,0,0,0\n",
        "2,600,9",
        "rubbish\n",
    ]
    found = benchmarksql.read(text)
    assert [one.duration_s for one in found.measured] == [1, 0.5]
    assert found.unread == 1


def test_a_table_of_another_kind_is_no_result_of_benchmarksql() -> None:
    with pytest.raises(NotItsOutputError, match="its first line is not `run,elapsed,latency"):
        benchmarksql.read(["a,b,c\n", "1,2,3\n"])
