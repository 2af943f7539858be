"""Interval logs of histograms for simulated runs, written by HdrHistogram's own encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hdrh.histogram import HdrHistogram


def write_log(path: Path, intervals: Sequence[Mapping[float, int]], length_s: float = 1.0) -> None:
    """A log with one interval for each mapping of response times (ms) to counts."""
    lines = ["#[Histogram log format version 1.3]"]
    for number, values in enumerate(intervals):
        histogram = HdrHistogram(1, 3_600_000_000_000, 3)
        for value_ms, count in values.items():
            histogram.record_value(round(value_ms * 1e6), count)
        encoded = histogram.encode().decode()
        for kind in ("response", "service"):
            lines.append(
                f"Tag=transaction/{kind},{number * length_s:.3f},{length_s:.3f},{max(values):.3f},{encoded}"
            )
    path.write_text("\n".join(lines) + "\n")


def add_logs(run: Path, intervals: Sequence[Mapping[float, int]]) -> Path:
    """The same log for every trial of a run."""
    for trial in (run / "trials").iterdir():
        write_log(trial / "latency.hlog", intervals)
    return run
