"""iperf3: directions, datagrams that were lost, and intervals that were omitted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadcell.ingest import checks
from loadcell.ingest.base import Measured, NotItsOutputError
from loadcell.ingest.readers import iperf3

MIB = 2**20
Sum = dict[str, Any]


def part(mib: float, **more: object) -> Sum:
    """A sum over 2 s."""
    return {
        "start": 0,
        "end": 2,
        "seconds": 2.0,
        "bytes": mib * MIB,
        "bits_per_second": mib * MIB * 4,
        **more,
    }


def interval(at_s: float, mib: float, *, omitted: bool = False, reverse_mib: float | None = None) -> Sum:
    sums = {"sum": mib} | ({} if reverse_mib is None else {"sum_bidir_reverse": reverse_mib})
    return {
        name: {"start": at_s, "end": at_s + 1, "seconds": 1.0, "bytes": value * MIB, "omitted": omitted}
        for name, value in sums.items()
    }


def measured(end: Sum, *intervals: Sum, version: str = "iperf 3.12", **test: object) -> tuple[Measured, ...]:
    document = {
        "start": {
            "version": version,
            "timestamp": {"timesecs": 1_700_000_000},
            "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, **test},
        },
        "intervals": list(intervals),
        "end": end,
    }
    parsed = iperf3.read([json.dumps(document)])
    assert parsed.examples == ()
    return parsed.measured


def test_both_directions_of_bidir_are_parts_of_one_turn() -> None:
    forward, reverse = measured(
        {
            "sum_sent": part(100, retransmits=3), "sum_received": part(98),
            "sum_sent_bidir_reverse": part(60), "sum_received_bidir_reverse": part(58),
        },
        interval(0, 50, reverse_mib=29), interval(1, 50, reverse_mib=29),
    )  # fmt: skip
    assert [(way.title, way.throughput_per_s, way.turn) for way in (forward, reverse)] == [
        ("tcp", 49, 0),
        ("tcp reverse", 29, 0),
    ]
    assert [item.throughput_per_s for item in reverse.intervals] == [29, 29]
    assert checks.disagreements(forward) == checks.disagreements(reverse) == []


def test_omitted_intervals_are_in_no_series() -> None:
    end = {"sum_sent": part(100), "sum_received": part(100)}
    (total,) = measured(end, interval(0, 5, omitted=True), interval(0, 50), interval(1, 50), omit=1)
    assert [(item.start_s, item.throughput_per_s) for item in total.intervals] == [(0, 50), (1, 50)]
    assert total.began_s == 1_700_000_001
    assert checks.disagreements(total) == []


LOST = {"jitter_ms": 0.25, "lost_packets": 920, "packets": 1000, "lost_percent": 92.0}


def test_of_datagrams_the_arrived_ones_count_with_their_loss_and_jitter() -> None:
    sent, received = part(200, packets=1000, lost_packets=0), part(16, **LOST)
    (total,) = measured(
        {"sum": part(200, **LOST), "sum_sent": sent, "sum_received": received}, protocol="UDP"
    )
    assert total.throughput_per_s == 8
    assert total.figures == {
        "mbits_per_s": pytest.approx(67.108864), "lost_packets": 920, "lost_percent": 92, "jitter_ms": 0.25,
    }  # fmt: skip


def test_iperf_3_1_prints_of_datagrams_only_the_sent_ones_and_their_loss() -> None:
    (total,) = measured(
        {"sum": part(200, **LOST)}, interval(0, 100), interval(1, 100), version="iperf 3.1.3", protocol="UDP"
    )
    assert total.throughput_per_s == pytest.approx(8)
    assert total.figures["lost_percent"] == 92
    assert checks.disagreements(total) == [], "intervals are compared with what was sent"


def test_a_server_that_sent_does_not_know_what_arrived() -> None:
    (total,) = measured({"sum_sent": part(100), "sum_received": part(0)}, reverse=1)
    assert total.throughput_per_s == 50


def event(kind: str, data: object) -> str:
    return json.dumps({"event": kind, "data": data}) + "\n"


def test_events_of_a_stream_make_one_execution() -> None:
    """`--json-stream` of 3.17 and later."""
    start = {"version": "iperf 3.17", "test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 4096}}
    total = {"seconds": 2, "bytes": 4 * 2**20, "bits_per_second": 2**24}
    intervals = [
        {"start": at, "seconds": 1, "bytes": 2**21, "bits_per_second": 2**24, "omitted": False}
        for at in (0, 1)
    ]
    text = (
        event("start", start)
        + "".join(event("interval", {"streams": [], "sum": interval}) for interval in intervals)
        + event("end", {"streams": [], "sum_sent": total, "sum_received": total})
    )
    parsed = iperf3.read([text, event("start", start), event("interval", {"sum": intervals[0]})])
    (execution,) = parsed.measured
    assert (execution.title, execution.throughput_per_s, execution.clients) == ("tcp", 2, 2)
    assert [interval.throughput_per_s for interval in execution.intervals] == [2, 2]
    assert checks.disagreements(execution) == []
    assert parsed.unread == 1, "the second one has no end"


def test_a_stream_that_ends_in_an_error_gives_its_reason() -> None:
    with pytest.raises(NotItsOutputError, match="the server is busy"):
        iperf3.read([event("start", {}) + event("error", "the server is busy")])
