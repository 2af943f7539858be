"""netperf's output, in the forms that its manual and people's notes show: it is not to be had from Debian's
main archive.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.ingest.base import NotItsOutputError, Reading
from loadcell.ingest.readers import netperf

OUTPUTS = Path(__file__).parent / "outputs"


def reading(name: str) -> Reading:
    parsed = netperf.read((OUTPUTS / name).read_text().splitlines(keepends=True))
    assert parsed.examples == ()
    return parsed


def test_a_stream_in_bits_and_bytes_and_that_it_was_not_confident() -> None:
    (execution,) = reading("netperf-stream.txt").measured
    assert (execution.title, execution.unit, execution.duration_s) == ("TCP_STREAM", "MiB", 10)
    assert execution.figures == {"mbits_per_s": 9415.38, "throughput_interval_percent": 5.123}
    assert execution.throughput_per_s == pytest.approx(9415.38e6 / 8 / 2**20)
    assert execution.settings["confidence"] == "not achieved"


def test_requests_with_and_without_a_connection_each() -> None:
    rr, crr = reading("netperf-rr.txt").measured
    assert (rr.title, rr.unit, rr.throughput_per_s, rr.duration_s) == (
        "TCP_RR",
        "transaction",
        35345.31,
        2.31,
    )
    assert [(item.start_s, item.duration_s, item.throughput_per_s) for item in rr.intervals] == [
        (0, 1.127, 38331.29),
        (1.127, 1.179, 32521.35),
    ]
    assert (crr.title, crr.throughput_per_s, crr.duration_s) == ("TCP_CRR", 6591.45, 30)


def test_of_datagrams_those_count_that_arrived() -> None:
    udp, keys = reading("netperf-udp.txt").measured
    assert (udp.title, udp.duration_s) == ("UDP_STREAM", 5)
    assert udp.figures == {"mbits_per_s": 338.40, "sent_mbits_per_s": 343.22, "send_errors": 0}
    assert (keys.title, keys.throughput_per_s, keys.duration_s) == ("TCP_RR", 12757.8, 5)
    assert keys.response == pytest.approx(
        {
            "min_ms": 0.049,
            "mean_ms": 0.07826,
            "max_ms": 0.263,
            "p50_ms": 0.077,
            "p90_ms": 0.108,
            "p99_ms": 0.123,
        }
    )


def test_a_test_that_was_cut_is_not_measured() -> None:
    lines = (OUTPUTS / "netperf-rr.txt").read_text().splitlines(keepends=True)[:7]
    parsed = netperf.read(lines)
    assert parsed.measured == ()
    assert parsed.examples == ("netperf TCP_RR: ended without results",)
    with pytest.raises(NotItsOutputError):
        netperf.read(["hello\n"])


def test_rows_between_commas_have_the_names_of_their_head() -> None:
    """`-o`: the selectors' full names, then one row of values."""
    head = "{} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : first burst 0\n"
    parsed = netperf.read(
        [
            head.format("MIGRATED TCP REQUEST/RESPONSE"),
            "Elapsed Time (sec),Throughput,Throughput Units,99th Percentile Latency Microseconds,Stddev "
            "Latency Microseconds,Confidence Iterations Run\n",
            "20.00,1500.25,Trans/s,810,12.50,3\n",
            head.format("MIGRATED TCP STREAM"),
            "Throughput,Throughput Units\n",
            "800.00,10^6bits/s\n",
        ]
    )
    requests, stream = parsed.measured
    assert (requests.title, requests.throughput_per_s, requests.duration_s) == ("TCP_RR", 1500.25, 20)
    assert requests.response == pytest.approx({"p99_ms": 0.81, "stdev_ms": 0.0125})
    assert (stream.unit, stream.figures) == ("MiB", {"mbits_per_s": 800})
    assert parsed.unread == 0
