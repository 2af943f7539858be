"""Forms that other versions and options of a tool print: wrk2, mbw and dd several times, netperf's keys and
units.
"""

from __future__ import annotations

import pytest

from loadcell.ingest import checks
from loadcell.ingest.base import Measured, NotItsOutputError, Reading
from loadcell.ingest.readers import dd, mbw, netperf, wrk

# --- wrk2

DISTRIBUTION = """  Latency Distribution (HdrHistogram - {kind})
 50.000%  {half}
 99.000%  {most}
100.000%    1.21s

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.264     0.000000            1         1.00
    1212.416     1.000000        39500          inf
#[Mean    =      {mean}, StdDeviation   =      294.695]
#[Max     =     1212.416, Total count    =        39500]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
"""
UNCORRECTED = "Uncorrected Latency (measured without taking delayed starts into account)"
WRK2 = f"""Running 20s test @ http://localhost:8080/
  2 threads and 100 connections
  Thread calibration: mean lat.: 1.423ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   133.54ms  294.69ms   1.21s    85.00%
    Req/Sec     1.00k   100.00     2.00k    70.00%
{DISTRIBUTION.format(kind="Recorded Latency", half="1.10ms", most="1.27s", mean="133.544")}
{DISTRIBUTION.format(kind=UNCORRECTED, half="206.00us", most="6.00ms", mean="0.240")}  39998 requests in 20.00s, 32.61MB read
Requests/sec:   1999.93
Transfer/sec:      1.63MB
"""  # noqa: E501


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_the_uncorrected_latency_of_wrk2_never_replaces_the_recorded_one() -> None:
    parsed = wrk.read(lines(WRK2))
    (total,) = parsed.measured
    assert parsed.examples == ()
    assert (total.response["p50_ms"], total.response["p99_ms"]) == (1.1, 1270)
    assert checks.disagreements(total) == []


def test_a_percentile_in_place_of_the_maximum_is_none() -> None:
    (total,) = wrk.read(
        lines(WRK2.replace("Stdev     Max ", "Stdev     99% ").replace("1.27s", "1.21s"))
    ).measured
    assert (total.response["p99_ms"], total.response.get("max_ms")) == (1210, None)


def test_a_hidden_line_among_those_of_the_spectrum_is_unread() -> None:
    parsed = wrk.read(lines(WRK2.replace("  Detailed", "       0.264     0.000000   one\n  Detailed", 1)))
    assert parsed.examples == ("0.264     0.000000   one",)


def test_a_distribution_of_another_run_is_noticed() -> None:
    (total,) = wrk.read(lines(WRK2.replace("133.544", "13.544"))).measured
    assert [item.total.label for item in checks.disagreements(total)] == ["Mean"]


# --- mbw

ROUND = "{which}\tMethod: {method}\tElapsed: 0.01\tMiB: {mib}.00000\tCopy: {rate} MiB/s\n"


def mbw_run(mib: int, rates: tuple[int, ...], average: int | None) -> str:
    rounds = [(str(number), rate) for number, rate in enumerate(rates)]
    rounds += [] if average is None else [("AVG", average)]
    return "".join(
        ROUND.format(which=which, method=method, mib=mib, rate=rate)
        for method in ("MEMCPY", "DUMB")
        for which, rate in rounds
    )


@pytest.mark.parametrize("average", [120, None])
def test_runs_of_mbw_one_after_the_other_stay_apart(average: int | None) -> None:
    parsed = mbw.read(
        lines(mbw_run(32, (100, 150), average) + mbw_run(64, (200, 300), 2 * average if average else None))
    )
    assert [(part.title, part.throughput_per_s, part.settings["array_mib"]) for part in parsed.measured] == [
        ("MEMCPY", 125, 32), ("DUMB", 125, 32), ("MEMCPY", 250, 64), ("DUMB", 250, 64),
    ]  # fmt: skip
    assert not any(checks.disagreements(part) for part in parsed.measured)


def test_mbw_with_averages_alone_is_a_run_each() -> None:
    parsed = mbw.read(lines(mbw_run(32, (), 100) + mbw_run(64, (), 300)))
    assert [part.throughput_per_s for part in parsed.measured] == [100, 100, 300, 300]


def test_an_average_of_other_rounds_is_noticed() -> None:
    (part, _) = mbw.read(lines(mbw_run(32, (100, 150), 240))).measured
    assert [item.total.label for item in checks.disagreements(part)] == ["rounds"]


# --- dd

RECORDS = "600+0 records in\n600+0 records out\n"
PROGRESS = """209715200 bytes (210 MB, 200 MiB) copied, 1 s, 210 MB/s
314572800 bytes (315 MB, 300 MiB) copied, 2 s, 157 MB/s
"""
COPY = "629145600 bytes (629 MB, 600 MiB) copied, 4 s, 157 MB/s\n"


def test_progress_of_dd_is_the_series_of_its_copy() -> None:
    parsed = dd.read(lines(PROGRESS + RECORDS + COPY))
    (copy,) = parsed.measured
    assert (parsed.unread, copy.throughput_per_s) == (0, 150)
    assert [(item.start_s, item.duration_s, item.throughput_per_s) for item in copy.intervals] == [
        (0, 1, 200), (1, 1, 100), (2, 2, 150),
    ]  # fmt: skip
    assert checks.disagreements(copy) == []


def test_copies_of_dd_one_after_the_other_are_executions() -> None:
    assert len(dd.read(lines(2 * (RECORDS + COPY))).measured) == 2
    assert len(dd.read(lines(2 * COPY)).measured) == 2, "only the last lines were kept"
    assert len(dd.read(lines(2 * (PROGRESS + RECORDS + COPY))).measured) == 2


def test_a_rate_that_contradicts_bytes_and_seconds_is_noticed() -> None:
    (copy,) = dd.read(lines(RECORDS + COPY.replace("157 MB/s", "1.2 GB/s"))).measured
    assert [item.total.label for item in checks.disagreements(copy)] == ["rate"]


# --- netperf

RR = """MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Interim result:   412.50 {interim}/s over 1.000 seconds ending at 1700000001.000
Interim result:   387.50 {interim}/s over 1.000 seconds ending at 1700000002.000
Local /Remote
Socket Size   Request  Resp.   Elapsed  {head}
Send   Recv   Size     Size    Time     {rate}
bytes  Bytes  bytes    bytes   secs.    {unit}

16384  131072 1000     1000    2.00     400.00
16384  131072
"""  # noqa: E501


def measured(text: str) -> Measured:
    parsed = netperf.read(lines(text))
    assert parsed.examples == ()
    (test,) = parsed.measured
    return test


def test_requests_that_were_printed_in_bits_are_no_transactions() -> None:
    bits = measured(RR.format(interim="10^6bits", head="", rate="Throughput", unit="10^6bits/sec"))
    assert (bits.unit, bits.figures["mbits_per_s"]) == ("MiB", 400)
    assert bits.throughput_per_s == pytest.approx(400e6 / 8 / 2**20)
    assert checks.disagreements(bits) == []
    transactions = measured(RR.format(interim="Trans", head="Trans.", rate="Rate", unit="per sec"))
    assert (transactions.unit, transactions.throughput_per_s) == ("transaction", 400)


def test_interim_results_below_a_thousand_are_in_the_series() -> None:
    test = measured(RR.format(interim="Trans", head="Trans.", rate="Rate", unit="per sec"))
    assert [item.throughput_per_s for item in test.intervals] == [412.5, 387.5]
    (item,) = checks.disagreements(
        measured(RR.format(interim="Trans", head="Trans.", rate="Rate", unit="per sec").replace("412", "912"))
    )
    assert item.total.figure == checks.INTERVALS


KEYS = """THROUGHPUT=2841.07
THROUGHPUT_UNITS=Trans/s
TRANSACTION_RATE=2841.067
P50_LATENCY=334
ELAPSED_TIME=10.00
PROTOCOL=TCP
DIRECTION=Send|Recv
"""


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("", "TCP_Send|Recv"),
        (
            "OMNI Send|Recv TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n",
            "OMNI_Send|Recv",
        ),
    ],
)
def test_keys_of_the_omni_tests_are_read_with_a_head_and_without(head: str, title: str) -> None:
    test = measured(head + KEYS)
    assert (test.title, test.unit, test.throughput_per_s, test.duration_s) == (
        title,
        "transaction",
        2841.07,
        10,
    )
    assert test.response == {"p50_ms": 0.334}
    assert checks.disagreements(test) == []


def test_keys_that_come_again_are_the_next_test() -> None:
    parsed: Reading = netperf.read(lines(KEYS + KEYS.replace("2841.07", "3000.00")))
    assert [test.throughput_per_s for test in parsed.measured] == [2841.07, 3000]


def test_keys_without_a_throughput_and_its_unit_are_another_programs() -> None:
    for text in ("HOME=/root\nPATH=/bin\n", "THROUGHPUT=5\n"):
        with pytest.raises(NotItsOutputError):
            netperf.read(lines(text))
