"""Latencies of several fio processes as one distribution.

Counts, means, deviations and extremes merge exactly. Percentiles merge only by the buckets that
`--output-format=json+` prints; without them there are none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadcell.ingest.printed_numbers import integer

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

#: fio's percentiles by their rank as text, and the record's keys.
RANKS = {
    "50.000000": "p50_ms",
    "90.000000": "p90_ms",
    "95.000000": "p95_ms",
    "99.000000": "p99_ms",
    "99.900000": "p99.9_ms",
    "99.990000": "p99.99_ms",
}


def merged(latencies: Sequence[JsonObject]) -> JsonObject:
    """Latency statistics of all processes in fio's keys (ns); a single one as it is."""
    measured = [latency for latency in latencies if latency.get("N", latency.get("mean"))]
    if len(measured) < 2:
        return measured[0] if measured else (latencies[0] if latencies else {})
    count = sum(latency["N"] for latency in measured)
    mean = sum(latency["N"] * latency["mean"] for latency in measured) / count
    squares = sum(latency["N"] * (latency["stddev"] ** 2 + latency["mean"] ** 2) for latency in measured)
    return {
        "N": count,
        "min": min(latency["min"] for latency in measured),
        "max": max(latency["max"] for latency in measured),
        "mean": mean,
        "stddev": math.sqrt(max(0.0, squares / count - mean**2)),
        "percentile": _percentiles(measured),
    }


def _percentiles(latencies: Sequence[JsonObject]) -> JsonObject:
    """By the buckets of all; empty where one process has none."""
    buckets: Counter[int] = Counter()
    for latency in latencies:
        if not latency.get("bins"):
            return {}
        for value, count in latency["bins"].items():
            buckets[integer(value)] += count
    total, below, percentiles = sum(buckets.values()), 0, {}
    pending = list(RANKS)
    for value in sorted(buckets):
        below += buckets[value]
        while pending and below >= float(pending[0]) / 100 * total:
            percentiles[pending.pop(0)] = value
    return percentiles
