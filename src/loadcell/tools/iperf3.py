"""iperf3's JSON (`-J`)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from loadcell.tools.base import Interval, Measured, NotItsOutputError, Reading

NAME = "iperf3"


def read(lines: Iterable[str]) -> Reading:
    """What arrived, in 10^6 bit/s (as iperf3 has it) and MiB/s; intervals as they were sent."""
    try:
        document = json.loads("".join(lines))
        start, end = document["start"], document["end"]
    except (ValueError, KeyError, TypeError) as error:
        raise NotItsOutputError(f"no JSON with `start` and `end`, as `iperf3 -J` writes ({error})") from None
    if document.get("error"):
        raise NotItsOutputError(f"iperf3 ended with an error: {document['error']}")
    test = start.get("test_start", {})
    received = end.get("sum_received") or end["sum"]
    sent = end.get("sum_sent") or end["sum"]
    figures = {"mbits_per_s": received["bits_per_second"] / 1e6}
    if "retransmits" in sent:
        figures["retransmits"] = sent["retransmits"]
    if end.get("cpu_utilization_percent"):
        figures["client_cpu_percent"] = end["cpu_utilization_percent"]["host_total"]
    intervals = [
        Interval(
            one["sum"]["start"], one["sum"]["seconds"], one["sum"]["bytes"] / 2**20 / one["sum"]["seconds"]
        )
        for one in document.get("intervals", [])
        if one["sum"]["seconds"] > 0
    ]
    measured = Measured(
        str(test.get("protocol", "TCP")).lower(), "MiB", received["bytes"] / 2**20 / received["seconds"],
        duration_s=received["seconds"], clients=test.get("num_streams"), figures=figures,
        settings={"version": start.get("version", ""), "block_bytes": test.get("blksize", 0)}, intervals=tuple(intervals),
    )  # fmt: skip
    return Reading((measured,))
