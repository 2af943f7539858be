"""Logs of every transaction: the engine's values are those of a plain loop over lines in Python, damaged and
odd logs included.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import pytest

from loadcell import _engine
from loadcell.ingest.base import Measured, NotItsOutputError, Part, Reading
from loadcell.ingest.readers import benchmarksql, pgbench_log
from loadcell.ingest.text import Output

OUTPUTS = Path(__file__).parent / "outputs"
LOG = (OUTPUTS / "pgbench_log.txt").read_bytes()


def log(home: Path, *texts: bytes) -> Reading:
    return pgbench_log.read_output(Output(written(home, texts)))


def table(home: Path, *texts: bytes) -> Reading:
    return benchmarksql.read_output(Output(written(home, texts)))


def written(home: Path, texts: Sequence[bytes]) -> list[Path]:
    files = [home / f"log.{number}" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    return files


@dataclass
class Plain:
    """Results of a loop over lines: when each transaction ended (s) and how long it took (ms)."""

    ends_s: list[float] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    clients: set[int] = field(default_factory=set)
    words: Counter[str] = field(default_factory=Counter)
    unread: int = 0


def plain(text: bytes) -> Plain:
    results = Plain()
    for line in text.split(b"\n"):
        fields = line.removesuffix(b"\r").split(b" ")
        used = [fields[column] for column in (0, 2, 4, 5)] if len(fields) > 5 else []
        if used and all(re.fullmatch(rb"[0-9]+", item) for item in used) and int(used[0]) < 2**20:
            client, ticks, second, micro = map(int, used)
            results.ends_s.append(second + micro * 1e-6)
            results.times_ms.append(ticks / 1000)
            results.clients.add(client)
        elif re.fullmatch(rb"\d{1,8} \d+ [a-z]+ \d+ \d+ \d+( \d+)*", line.strip()):
            results.words[fields[2].decode()] += 1
        elif line.strip():
            results.unread += 1
    return results


def is_as(measured: Measured | Part, times_ms: list[float]) -> None:
    """Percentiles are exact: the first time that so large a share of the others does not exceed."""
    response, ordered = measured.response, sorted(times_ms)
    assert measured.succeeded == len(times_ms)
    for key, rank in {
        "p50_ms": 0.5,
        "p90_ms": 0.9,
        "p95_ms": 0.95,
        "p99_ms": 0.99,
        "p99.9_ms": 0.999,
    }.items():
        exact = ordered[math.ceil(rank * (len(ordered) - 1))]
        assert response[key] == exact if exact < 1048 else response[key] == pytest.approx(exact, rel=1 / 2048)
    assert response["mean_ms"] == pytest.approx(fmean(times_ms))
    assert response["min_ms"] == ordered[0]
    assert response["max_ms"] == pytest.approx(ordered[-1], rel=1 / 2048)
    if len(ordered) > 1:
        assert response["stdev_ms"] == pytest.approx(stdev(times_ms), rel=1e-3)


def seconds_are_as(measured: Measured, ends_s: list[float], times_ms: list[float], base_s: float) -> None:
    by_second: dict[int, list[float]] = {}
    for end_s, time_ms in zip(ends_s, times_ms, strict=True):
        by_second.setdefault(math.floor(end_s - base_s), []).append(time_ms)
    low, high = min(by_second), max(by_second)
    items = list(measured.intervals)
    assert len(items) == high - low  # the last, which is cut, is left out
    for second, item in zip(range(low, high), items, strict=True):
        times = sorted(by_second.get(second, []))
        assert item.throughput_per_s == len(times)
        assert bool(item.response) == bool(times)
        if times:
            assert item.response["mean_ms"] == pytest.approx(fmean(times))
            late = times[math.ceil(0.99 * len(times)) - 1]
            assert item.response["p99_ms"] == pytest.approx(late, rel=0.009, abs=0.002)


def made(count: int, *, more: str = "", end: str = "\n", slow: bool = False, seed: int = 7) -> bytes:
    random = Random(seed)
    at, rows = 1_795_270_066.0, []
    for number in range(count):
        at += random.expovariate(200)
        took = int(800 * random.lognormvariate(0, 1)) + (random.randrange(3) * 900_000 if slow else 0)
        rows.append(f"{random.randrange(12)} {number} {took} 0 {int(at)} {int(at % 1 * 1e6)}{more}{end}")
    return "".join(rows).encode()


ODD = (
    b'\0\xff\xfe rubbish\n\n \n"1 2 3\n1 2 -5 0 1 1\n0 1 1,234 0 1 1\n0 1 5.5 0 1 1\nNOTICE: x\n '
    b"0 1 55 0 1 1\n9999999 1 55 0 1 1\n"
)
WORDS = (
    b"0 1 failed 0 1795270066 1\n3 1 skipped 0 1795270066 2\n0 9 serialization 0 1795270067 3 0 "
    b"4\r\n1 1 deadlock 0 1795270067 3\n"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LOG, id="as pgbench wrote it"),
        pytest.param(made(3_000, end="\r\n"), id="ends of lines as Windows has them"),
        pytest.param(made(3_000, more=" 17"), id="with the lag of -R"),
        pytest.param(made(3_000, more=" 17 2"), id="with lag and retries"),
        pytest.param(made(9, more="") + made(90, more=" 17 2") + made(90, more=" 3"), id="of several shapes"),
        pytest.param(b"".join(made(5_000).splitlines(keepends=True)[::10]), id="sampled (--sampling-rate)"),
        pytest.param(
            made(2_000) + WORDS + made(100, seed=8) + WORDS, id="with failed, skipped and retried ones"
        ),
        pytest.param(made(100) + ODD + made(100, seed=9) + ODD, id="with rubbish between"),
        pytest.param(made(500)[:-9], id="cut within its last line"),
        pytest.param(made(500) + b"0 12 55", id="cut before its last field"),
        pytest.param(made(2_000, slow=True), id="with times of seconds"),
        pytest.param(
            b"".join(Random(5).sample(made(3_000).splitlines(keepends=True), 3_000)), id="in no order"
        ),
        pytest.param(made(40_000), id="longer than what is waited for"),
    ],
)
def test_a_log_has_the_metrics_of_a_loop_over_its_lines(tmp_path: Path, text: bytes) -> None:
    expected, reading = plain(text), log(tmp_path, text)
    (execution,) = reading.measured
    is_as(execution, expected.times_ms)
    assert (execution.clients, execution.errors, execution.failed) == (
        len(expected.clients),
        expected.words,
        expected.words.total(),
    )
    assert reading.unread == expected.unread
    begins = [end - time / 1e3 for end, time in zip(expected.ends_s, expected.times_ms, strict=True)]
    assert execution.began_s == pytest.approx(min(begins), abs=1e-6)
    assert execution.duration_s == pytest.approx(max(expected.ends_s) - min(begins), abs=1e-6)
    assert execution.throughput_per_s == pytest.approx(len(begins) / (max(expected.ends_s) - min(begins)))
    assert execution.began_s is not None
    seconds_are_as(execution, expected.ends_s, expected.times_ms, execution.began_s)


def test_logs_of_several_threads_are_read_as_one_and_lines_end_with_their_file(tmp_path: Path) -> None:
    rows = made(900).splitlines()
    (execution,) = log(tmp_path, *(b"\n".join(rows[number::3]) for number in range(3))).measured
    assert execution.succeeded == 900
    expected = plain(made(900))
    seconds_are_as(execution, expected.ends_s, expected.times_ms, execution.began_s or 0)


def test_what_could_not_be_read_is_shown_as_it_stands(tmp_path: Path) -> None:
    parsed = log(tmp_path, LOG + b"\xff\xfe rubbish\r\n" + b"x" * 3_000_000 + b"\n0 12 55")
    assert (parsed.measured[0].succeeded, parsed.unread) == (300, 3)
    assert parsed.examples == ("\ufffd\ufffd rubbish", "x" * 200, "0 12 55")


@pytest.mark.parametrize("text", [b"0 1 failed 0 100 1\n", b"0 1 skipped 0 100 1\n1 1"])
def test_a_log_in_which_nothing_ended_is_none(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(NotItsOutputError, match="no transaction of the log ended"):
        log(tmp_path, text)


AGGREGATED = (
    b"1345828501 5601 1542744 483552416 61 2573\n1345828503 7884 1979812 565806736 60 "
    b"1479\n1345828505 7208 1979422 567277552 59 1391\n"
)


def test_a_log_of_intervals_differs_from_one_of_transactions(tmp_path: Path) -> None:
    """The example of pgbench's own documentation."""
    parsed = log(tmp_path, AGGREGATED + b"NOTICE: x\n")
    (execution,) = parsed.measured
    assert (execution.succeeded, execution.duration_s, parsed.unread) == (20_693, 6, 1)
    assert (execution.response["min_ms"], execution.response["max_ms"]) == (0.059, 2.573)
    assert [interval.throughput_per_s for interval in execution.intervals] == [2800.5, 3942]


HEAD = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n"


def test_tpmc_counts_new_orders_also_those_rolled_back_by_design_and_never_failed_ones(
    tmp_path: Path,
) -> None:
    rows = [
        "7,1000,10,10,NEW_ORDER,0,0,0", "7,2000,20,20,NEW_ORDER,1,0,0", "7,3000,30,30,NEW_ORDER,0,0,1",
        "7,20000,5,5,PAYMENT,0,0,0", "7,29000,6,6,DELIVERY,0,0,0", "7,30000,90,90,DELIVERY_BG,0,2,0",
    ]  # fmt: skip
    parsed = table(tmp_path, HEAD + "\n".join(rows).encode())
    (execution,) = parsed.measured
    assert execution.duration_s == 30
    assert execution.figures == {"tpmC": 4, "tpmTotal": 8}
    assert (execution.succeeded, execution.failed, execution.throughput_per_s) == (4, 1, 4 / 30)
    assert {name: (part.succeeded, part.failed, part.kind) for name, part in execution.parts.items()} == {
        "new_order": (2, 1, "type"), "payment": (1, 0, "type"), "delivery": (1, 0, "type"),
        "new_order_rolled_back": (1, 0, "outcome"),
    }  # fmt: skip
    assert execution.response["max_ms"] == 20
    assert parsed.unread == 0


TYPES = ("NEW_ORDER", "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY", "DELIVERY_BG")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_has_the_metrics_of_a_loop_over_its_rows(tmp_path: Path, end: str) -> None:
    random = Random(11)
    rows = [
        (
            random.randrange(60_000),
            int(9 * random.lognormvariate(0, 1)),
            random.choice(TYPES),
            int(random.random() < 0.01),
            int(random.random() < 0.02),
        )
        for _ in range(4_000)
    ]
    body = "".join(
        f"7,{at},{took},{took},{name},{back},0,{error}{end}" for at, took, name, back, error in rows
    )
    odd = (
        f'"7",1,1,1,PAYMENT,0,0,0{end}7,1,1,1,"PAYMENT",0,0,0{end}7,1{end}{end}'
        f"7;1;1;1;PAYMENT;0;0;0{end}7,5,1.234,5"
    )
    parsed = table(tmp_path, b"\xef\xbb\xbf" + HEAD + body.encode() + odd.encode())
    (execution,) = parsed.measured
    well = [
        (at / 1e3, float(took), name) for at, took, name, _, error in rows if not error and name != TYPES[-1]
    ]
    is_as(execution, [took for _, took, _ in well])
    seconds_are_as(execution, [at for at, _, _ in well], [took for _, took, _ in well], 0.0)
    assert execution.duration_s == max(at for at, *_ in rows) / 1e3
    failed = Counter(name for *_, name, _, error in rows if error and name != TYPES[-1])
    assert (execution.failed, execution.errors) == (failed.total(), {"error": failed.total()})
    for name in TYPES[:-1]:
        is_as(execution.parts[name.lower()], [took for _, took, members in well if members == name])
        assert execution.parts[name.lower()].failed == failed[name]
    assert parsed.unread == 5


def test_several_results_in_one_table_are_several_executions(tmp_path: Path) -> None:
    rows = b"1,1000,10,10,PAYMENT,0,0,0\n" + HEAD + b"2,500,20,20,PAYMENT,0,0,0\n2,600,9\nrubbish\n"
    parsed = table(tmp_path, HEAD + rows)
    assert [item.duration_s for item in parsed.measured] == [1, 0.5]
    assert parsed.unread == 2


def test_a_table_of_another_kind_is_no_result_of_benchmarksql(tmp_path: Path) -> None:
    with pytest.raises(NotItsOutputError, match="its first line is not `run,elapsed,latency"):
        table(tmp_path, b"a,b,c\n1,2,3\n")


def test_the_engine_tells_how_far_it_is_and_ends_when_whoever_hears_it_raises(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [made(1_000) * 700])
    progress: list[str] = []
    _engine.import_pgbench_log([file], progress.append)
    assert [json.loads(event)["total_bytes"] for event in progress] == [file.stat().st_size]

    def refuse(event: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _engine.import_pgbench_log([file], refuse)


def test_a_file_that_is_gone_is_an_error_of_the_operating_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _engine.import_benchmarksql([tmp_path / "none"], print)
