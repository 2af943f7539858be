"""Executions that differ in what their text says of them are levels, and no repeats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lines import CliRunner
from loadcell.cli import main
from loadcell.ingest.readers.wrk import read
from loadcell.store.read import read_run

SYSBENCH = (Path(__file__).parent / "readers" / "outputs" / "sysbench-cpu.txt").read_text(encoding="utf-8")
WRK = """Running 1m test @ http://127.0.0.1:{port}/
  2 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   250.00us   20.00us   2.00ms   90.00%
  {count} requests in {time}, 80.00MB read
Requests/sec:  {rate}
Transfer/sec:      1.33MB
"""


def imported(tmp_path: Path, text: str) -> Path:
    (tmp_path / "out.txt").write_text(text, encoding="utf-8")
    out = tmp_path / "results"
    done = CliRunner().invoke(
        main, ["import", "--no-report", "auto", str(tmp_path / "out.txt"), "--results", str(out)]
    )
    assert done.exit_code == 0, done.output
    (path,) = out.glob("*/*/run.json")
    return path.parent


def test_another_limit_of_prime_numbers_is_another_level(tmp_path: Path) -> None:
    other = SYSBENCH.replace("Prime numbers limit: 10000", "Prime numbers limit: 12000")
    run = read_run(imported(tmp_path, SYSBENCH + other + SYSBENCH + other)).run
    levels = [treatment.levels for treatment in run.treatments]
    assert {level["Prime_numbers_limit"] for level in levels} == {"10000", "12000"}
    assert len(levels) == 2 * len({json.dumps({**level, "Prime_numbers_limit": ""}) for level in levels})


OUTPUTS = Path(__file__).parent / "readers" / "outputs"


@pytest.mark.parametrize(
    ("name", "old", "new", "factor"),
    [
        ("netperf-stream.txt", " to 127.0.0.1 ", " to 192.0.2.1 ", "host"),
        ("netperf-rr.txt", "131072 1        1 ", "131072 64       1 ", "request_bytes"),
        ("sysbench-fileio.txt", "Doing random r/w test", "Doing sequential read test", "test"),
        ("sysbench-fileio.txt", "2 files, 4MiB each", "1 files, 8MiB each", "files"),
        ("sysbench-fileio.txt", "Using synchronous I/O", "Using asynchronous I/O", "io_mode"),
        ("iperf3.json", '"reverse":\t0', '"reverse":\t1', "reverse"),
        ("fio.json", '"rw" :', '"filename" : "/dev/sdb", "rw" :', "filename"),
    ],
)
def test_executions_that_their_text_says_to_differ_are_no_repeats(
    tmp_path: Path, name: str, old: str, new: str, factor: str
) -> None:
    text = (OUTPUTS / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "alike").mkdir()
    alike = read_run(imported(tmp_path / "alike", text * 3)).run
    other = read_run(imported(tmp_path, text + text.replace(old, new) + text)).run
    assert factor in {name for treatment in other.treatments for name in treatment.levels}
    assert len(other.treatments) > len(alike.treatments)


def test_other_urls_are_levels(tmp_path: Path) -> None:
    texts = [WRK.format(port=port, count=6000, time="60.00s", rate="100.00") for port in (1, 2, 1)]
    run = read_run(imported(tmp_path, "".join(texts))).run
    assert sorted(len(treatment.levels) for treatment in run.treatments) == [1, 1]
    assert run.repeats == 2


def test_other_threads_of_the_client_are_levels(tmp_path: Path) -> None:
    text = WRK.format(port=1, count=6000, time="60.00s", rate="100.00")
    run = read_run(imported(tmp_path, text + text.replace("2 threads", "4 threads"))).run
    assert [treatment.levels for treatment in run.treatments] == [{"threads": "2"}, {"threads": "4"}]


@pytest.mark.parametrize(("time", "rate"), [("1.00h", 3700.5), ("1.01s", 7.43)])
def test_the_printed_rate_is_taken_and_not_one_of_rounded_values(time: str, rate: float) -> None:
    count = round(rate * (3600 if time.endswith("h") else 1.0))
    (measured,) = read(WRK.format(port=1, count=count, time=time, rate=rate).splitlines(True)).measured
    assert measured.throughput_per_s == pytest.approx(rate)


def test_settings_that_are_cut_or_written_alike_in_ids_are_no_repeats(tmp_path: Path) -> None:
    long = "http://127.0.0.1:1/" + "catalogue/" * 12
    urls = (f"{long}1", f"{long}2", "http://127.0.0.1:1/a?b", "http://127.0.0.1:1/a-b", f"{long}1")
    text = WRK.format(port=1, count=6000, time="60.00s", rate="100.00")
    run = read_run(imported(tmp_path, "".join(text.replace("http://127.0.0.1:1/", url) for url in urls))).run
    assert [treatment.levels["url"] for treatment in run.treatments] == list(urls[:4])
    assert len({treatment.id for treatment in run.treatments}) == 4
    assert run.repeats == 2
