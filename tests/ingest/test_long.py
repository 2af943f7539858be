"""Records of very long runs: neighbouring intervals are joined, nothing that was read is lost, and the page
says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from frame_values import rows_of, values
from ingest.made import made
from loadcell.ingest import write_run
from loadcell.ingest.series import Room
from loadcell.report.publish import Prewarm
from loadcell.store.layout import INTERVAL_COLUMNS, REACH_COLUMNS
from loadcell.store.read import StoredRun

HEAD = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 8\n\nThreads started!\n\n"
TAIL = (
    "SQL statistics:\n    transactions:                        {count}  (500.00 per sec.)\n"
    "    ignored errors:                      0      (0.00 per sec.)\nGeneral statistics:\n    "
    "total time:       {seconds}.0s\n\n"
    "Latency (ms):\n         avg:                                   12.80\n         95th "
    "percentile:                       17.32\n\n"
)
SECONDS, STALLED = 3_000, range(1_001, 1_004)


def sysbench(path: Path) -> Path:
    """Three seconds of it stand still."""
    rates = [0 if second in STALLED else 500 for second in range(SECONDS)]
    rows = (
        f"[ {second}s ] thds: 8 tps: {rate:.2f} qps: 1.00 (r/w/o: 1.00/0.00/0.00) lat (ms,95%): "
        f"{rate / 50:.2f} err/s: 0.50 reconn/s: 0.00\n"
        for second, rate in enumerate(rates, 1)
    )
    path.write_text(HEAD + "".join(rows) + TAIL.format(count=sum(rates), seconds=SECONDS))
    return path


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    monkeypatch.setattr(write_run, "Room", lambda: Room(400, 200))
    return made(tmp_path / "out", "sysbench", sysbench(tmp_path / "long.txt"))


def test_totals_are_those_that_were_printed_and_intervals_add_up_to_them(long: StoredRun) -> None:
    (trial,) = long.trials
    assert trial.imported.joined == 8
    assert trial.totals.throughput_per_s == 500
    assert trial.totals.response.percentile_ms("95") == 17.32
    rows = long.intervals()
    assert len(rows) == SECONDS // 8
    assert (sum(values(rows, "succeeded")), sum(values(rows, "failed"))) == (500 * (SECONDS - 3), 0)
    assert values(rows, "duration_s") == [8.0] * len(rows)
    assert values(rows, "t_s") == [8.0 * number for number in range(len(rows))]


def test_a_stall_of_seconds_stays_to_be_seen(long: StoredRun) -> None:
    rows = long.intervals()
    (stalled,) = (row for row in rows_of(rows) if row["throughput_per_s_lowest"] == 0)
    assert stalled["t_s"] == 1_000
    assert (stalled["throughput_per_s"], stalled["throughput_per_s_highest"]) == (500 * 5 / 8, 500)
    assert stalled["response_p95_ms"] == 10
    assert stalled["response_p99_ms"] is None


@pytest.mark.parametrize(
    ("lang", "message"),
    [("en", "merged up to 8 printed intervals into one"), ("zh", "最多将 8 个打印出的间隔合并为一个")],
)
def test_the_page_says_what_was_joined_and_draws_how_far_it_went(
    long: StoredRun, lang: str, message: str
) -> None:
    with Prewarm() as prewarm:
        prewarm.begin()
        prewarm.begin()
        context = prewarm.publish(long.path, lang)
    assert context.stored.id == long.id
    for name in ("report.html", "report.md"):
        assert message in (long.path / name).read_text()
    data = (long.path / "report.html").read_text().partition('id="data"')[2]
    assert "throughput_per_s_lowest" in data
    assert len(data) < 3_000_000


def test_short_records_have_every_interval_and_no_more_columns(tmp_path: Path) -> None:
    stored_run = made(tmp_path / "out", "sysbench", sysbench(tmp_path / "long.txt"))
    (trial,) = stored_run.trials
    assert trial.imported.joined is None
    path = stored_run.directory(trial.name) / "intervals.csv"
    head, first, *_ = path.read_text().splitlines()
    assert head.split(",") == list(INTERVAL_COLUMNS)
    assert not set(REACH_COLUMNS) & set(head.split(","))
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert {name: float(row[name]) for name in ("t_s", "duration_s", "succeeded", "throughput_per_s")} == {
        "t_s": 0, "duration_s": 1, "succeeded": 500, "throughput_per_s": 500,
    }  # fmt: skip
    assert (row["utc"], row["response_p99_ms"], row["operation"]) == ("", "", "transaction")
    assert len(stored_run.intervals()) == SECONDS


def test_where_a_tool_says_when_it_began_every_interval_has_its_instant(tmp_path: Path) -> None:
    log = tmp_path / "pgbench_log.1"
    log.write_text("".join(f"0 {number} 1000 0 {1_700_000_000 + number} 500000\n" for number in range(5)))
    rows = made(tmp_path / "out", "pgbench-log", log).intervals()
    assert values(rows, "utc")[:2] == ["2023-11-14T22:13:20.499000Z", "2023-11-14T22:13:21.499000Z"]


def pgbench_log(path: Path) -> Path:
    """Two days: a transaction in each second but one, and three in another."""
    stalled, busy, count = 70_001, 90_000, 172_800
    instants = [
        second
        for second in range(count)
        for _ in range(0 if second == stalled else 3 if second == busy else 1)
    ]
    path.write_text(
        "".join(
            f"0 {number} 1000 0 {1_700_000_000 + second} 1000\n" for number, second in enumerate(instants)
        )
    )
    return path


def test_a_log_of_transactions_that_is_longer_than_a_day_keeps_how_far_it_went_too(tmp_path: Path) -> None:
    stored_run = made(tmp_path / "out", "pgbench-log", pgbench_log(tmp_path / "pgbench_log.1"))
    (trial,) = stored_run.trials
    assert trial.imported.joined == 2
    rows = stored_run.intervals()
    assert set(values(rows, "duration_s")) == {2.0}
    lowest, highest = (sorted(values(rows, name)) for name in REACH_COLUMNS)
    assert (lowest[:2], highest[-2:]) == ([0, 1], [1, 3])
    (stalled,) = (row for row in rows_of(rows) if row["throughput_per_s_lowest"] == 0)
    assert (stalled["t_s"], stalled["throughput_per_s"], stalled["throughput_per_s_highest"]) == (
        70_000,
        0.5,
        1,
    )
