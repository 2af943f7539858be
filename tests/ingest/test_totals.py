"""Totals that a text prints: compared with the stored values by one check, and reported when they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.ingest import checks
from loadcell.ingest.base import Interval, Measured, PrintedTotal
from loadcell.ingest.checks import printed_total
from loadcell.ingest.readers import reader
from loadcell.ingest.series import Intervals
from loadcell.ingest.text import Output
from loadcell.store.read import read_run

SAR = """Linux 5.14.0 (db9) \t09/13/2023 \t_x86_64_\t(2 CPU)

10:00:00       proc/s   cswch/s
10:00:01         1.00    100.00
10:00:02         1.00    200.00
Average:         1.00    {average}
"""


def measured(*printed: PrintedTotal, intervals: tuple[Interval, ...] | Intervals = ()) -> Measured:
    return Measured(
        "t", "request", 100.0, 990, 10, 10.0, response={"mean_ms": 2.0}, figures={"mib_per_s": 5.0},
        intervals=intervals, printed=printed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("figure", "agrees", "differs"),
    [
        ("throughput_per_s", "103.1", "110.5"),
        ("succeeded", "990", "1980"),
        ("attempted", "1000", "2000"),
        ("failed", "10", "0"),
        ("duration_s", "10.4", "30"),
        ("mean_ms", "2.01", "1.2"),
        ("mib_per_s", "5.1", "7.3"),
    ],
)
def test_rounding_agrees_and_another_value_does_not(figure: str, agrees: str, differs: str) -> None:
    assert checks.disagreements(measured(printed_total("x", agrees, figure))) == []
    (item,) = checks.disagreements(measured(printed_total("x", differs, figure)))
    assert item.total.label == "x"
    assert item.stored == pytest.approx({"throughput_per_s": 100, "attempted": 1000}.get(figure, item.stored))


def test_a_value_of_few_digits_agrees_within_the_last_of_them() -> None:
    assert printed_total("x", "1.5", "mib_per_s", factor=1000).rounding == pytest.approx(50)
    assert printed_total("x", "1,234", "succeeded").value == 1234
    small = Measured("t", "request", 0.3, printed=(printed_total("x", "0", "throughput_per_s"),))
    assert checks.disagreements(small) == []


def test_a_value_that_was_not_stored_is_not_compared() -> None:
    assert checks.disagreements(measured(printed_total("x", "5", "p99_ms"))) == []
    nothing = Measured("t", "request", None, printed=(printed_total("x", "5", "throughput_per_s"),))
    assert checks.disagreements(nothing) == []


@pytest.mark.parametrize("columns", [False, True])
def test_intervals_are_compared_where_they_cover_the_duration(columns: bool) -> None:
    series = tuple(Interval(at, 1.0, 200.0) for at in range(10))
    intervals = Intervals.of(series) if columns else series
    total = printed_total("rate", "100.0", checks.INTERVALS)
    (item,) = checks.disagreements(measured(total, intervals=intervals))
    assert item.stored == 200
    assert checks.disagreements(measured(total, intervals=series[:5])) == []


def call(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments), "--results", str(home)])


def test_a_total_that_disagrees_is_a_warning_and_stands_in_the_report(tmp_path: Path) -> None:
    text = tmp_path / "sar.txt"
    text.write_text(SAR.format(average="750.00"))
    result = call(tmp_path / "en", "sar", text, "--report")
    assert result.exit_code == 0
    assert "the text prints Average (context_switches_per_s) 750, but 150 was read" in result.output
    (path,) = [run.parent for run in tmp_path.rglob("run.json")]
    run = read_run(path)
    (check,) = run.trials[0].checks
    assert (check.name, check.verdict) == (checks.NAME, "noticed")
    assert check.detail == {"Average (context_switches_per_s)": {"printed": 750, "stored": 150}}
    assert "Printed totals disagree with the values read" in (run.path / "report.md").read_text()
    assert "但读取到的是 150" in call(tmp_path / "zh", "sar", text, "--lang", "zh").output


def test_a_total_that_agrees_is_no_warning(tmp_path: Path) -> None:
    text = tmp_path / "sar.txt"
    text.write_text(SAR.format(average="150.00"))
    result = call(tmp_path / "out", "sar", text)
    assert "the text prints" not in result.output
    (path,) = [run.parent for run in tmp_path.rglob("run.json")]
    assert [check.verdict for check in read_run(path).trials[0].checks] == ["ok"]


PGBENCH = """pgbench (15.4)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: {clients}
number of threads: 2
maximum number of tries: 1
duration: 20 s
number of transactions actually processed: {count}
number of failed transactions: 0 (0.000%)
latency average = {latency} ms
initial connection time = 12.000 ms
tps = {tps} (without initial connection time)
"""
WRK = """Running 2m test @ http://127.0.0.1:8000/
  2 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.50ms   9.00ms   80.00%
    Req/Sec     5.00k     0.10k    6.00k    80.00%
  {count} requests in {time}, 100.00MB read
Requests/sec:  {rate}
Transfer/sec:      1.00MB
"""
REDIS = """====== SET ======
  {count} requests completed in {time} seconds
  10 parallel clients
  3 bytes payload
  keep alive: 1

Summary:
  throughput summary: {rate} requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.300     0.100     0.200     0.400     0.500     0.900
"""
OF_PGBENCH = {"clients": "8", "count": "100000", "latency": "1.600", "tps": "5000.000"}
OF_WRK = {"count": "1002000", "time": "1.67m", "rate": "10000.00"}
OF_REDIS = {"count": "50000", "time": "0.50", "rate": "100000.00"}


@pytest.mark.parametrize(
    ("tool", "text", "values", "altered", "labels"),
    [
        ("pgbench", PGBENCH, OF_PGBENCH, {"count": "80000"}, ["transactions actually processed/duration"]),
        ("pgbench", PGBENCH, OF_PGBENCH, {"clients": "4"}, ["latency average x tps"]),
        ("pgbench", PGBENCH, OF_PGBENCH, {"latency": "2.100"}, ["latency average x tps"]),
        ("wrk", WRK, OF_WRK, {"rate": "9000.00"}, ["requests in time"]),
        ("wrk", WRK, OF_WRK, {"time": "2.00m"}, ["requests in time"]),
        ("redis-benchmark", REDIS, OF_REDIS, {"rate": "10000.00"}, ["requests completed in seconds"]),
    ],
)
def test_rates_counts_and_times_of_a_text_are_compared_with_each_other(
    tmp_path: Path,
    tool: str,
    text: str,
    values: dict[str, str],
    altered: dict[str, str],
    labels: list[str],
) -> None:
    def differing(values: dict[str, str]) -> list[str]:
        path = tmp_path / "output.txt"
        path.write_text(text.format(**values))
        (item,) = reader(tool).read(Output((path,))).measured
        assert item.printed
        return [difference.total.label for difference in checks.disagreements(item)]

    assert differing(values) == []
    assert differing(values | altered) == labels


def test_clients_of_pgbench_wait_for_the_last_transactions(tmp_path: Path) -> None:
    """With 64 of 60 s at work, each waits for a while at the end, which is in no latency."""
    values = {"clients": "10500", "count": "111259", "latency": "5725.300", "tps": "1732.600"}
    path = tmp_path / "pgbench.txt"
    path.write_text(PGBENCH.replace("duration: 20", "duration: 60").format(**values))
    (item,) = reader("pgbench").read(Output((path,))).measured
    assert checks.disagreements(item) == []


def test_a_value_is_not_compared_with_itself(tmp_path: Path) -> None:
    """Without its last line the rate of wrk is its count over its time."""
    path = tmp_path / "wrk.txt"
    path.write_text("".join(WRK.format(**OF_WRK).splitlines(keepends=True)[:-2]))
    (item,) = reader("wrk").read(Output((path,))).measured
    assert (item.throughput_per_s, item.printed) == (10000, ())


def test_clients_of_pgbench_that_wait_or_stop_are_not_counted_from_its_latency(tmp_path: Path) -> None:
    paced = "rate limit schedule lag: avg 0.100 (max 2.000) ms\n"
    path = tmp_path / "pgbench.txt"
    path.write_text((PGBENCH + paced).format(**OF_PGBENCH | {"latency": "0.500"}))
    (item,) = reader("pgbench").read(Output((path,))).measured
    assert [total.label for total in item.printed] == ["transactions actually processed/duration"]
