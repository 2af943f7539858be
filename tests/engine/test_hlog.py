"""The interval log, read by HdrHistogram's own Python reader."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from engine.loads import MS, operation
from loadcell import _engine
from specifications import complete
from truth.reference_server import ReferenceServer


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[HdrHistogram]]:
    """A result, and every histogram that its log holds."""
    lines: list[str] = []
    with ReferenceServer(service_us=400, stall_at_ms=500, stall_ms=50) as server:
        spec = server.specification("oltp_read_only", clients=6, duration_s=1.25, warmup_s=0.2)
        spec["load"]["interval_ns"] = 500 * MS
        text = _engine.run(
            json.dumps(complete(spec)), lambda event: lines.extend(json.loads(event).get("hlog", []))
        )
    result = json.loads(text)
    path = tmp_path_factory.mktemp("hlog") / "latency.hlog"
    path.write_text("\n".join([*result["hlog_header"], *lines, *result["hlog"]]) + "\n")
    return result, read(path)


def read(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    histograms = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        histograms.append(histogram)
    reader.close()
    return histograms


def test_transactions_have_an_interval_each_and_their_parts_the_whole_window(
    recorded: tuple[dict[str, Any], list[HdrHistogram]],
) -> None:
    result, histograms = recorded
    spans: dict[str, list[tuple[float, float]]] = {}
    start = result["window"]["start_utc_ns"] // MS
    for histogram in histograms:
        span = (histogram.start_time_stamp_msec - start, histogram.end_time_stamp_msec - start)
        spans.setdefault(histogram.get_tag(), []).append(span)
    near = [pytest.approx(span, abs=2) for span in ((0, 500), (500, 1000), (1000, 1250))]
    assert spans.pop("transaction/response") == near
    assert spans.pop("transaction/service") == near
    names = [operation["name"] for operation in result["operations"] if operation["name"] != "transaction"]
    assert set(spans) == {f"{name}/{kind}" for name in names for kind in ("response", "service")}
    assert all(span == [pytest.approx((0, 1250), abs=2)] for span in spans.values())


def value_of_rank(histogram: HdrHistogram, quantile: float) -> int:
    """The value that a share of all values does not exceed. (The reader's own percentiles round to a rank
    below.)
    """
    rank, seen = math.ceil(quantile * histogram.get_total_count()), 0
    for step in histogram.get_recorded_iterator():
        seen += step.count_added_in_this_iter_step
        if seen >= rank:
            return int(step.value_iterated_to)
    raise AssertionError("an empty histogram")


@pytest.mark.parametrize("kind", ["response", "service"])
def test_the_log_holds_what_the_result_says(
    recorded: tuple[dict[str, Any], list[HdrHistogram]], kind: str
) -> None:
    result, histograms = recorded
    for entry in result["operations"]:
        merged = HdrHistogram(1, 3_600_000_000_000, 3)
        for histogram in histograms:
            if histogram.get_tag() == f"{entry['name']}/{kind}":
                merged.add(histogram)
        figures = operation(result, entry["name"])[kind]
        assert merged.get_total_count() == figures["count"] == entry["succeeded"]
        for quantile, name in (
            (0.5, "p50_ns"),
            (0.9, "p90_ns"),
            (0.99, "p99_ns"),
            (0.999, "p999_ns"),
            (0.9999, "p9999_ns"),
        ):
            assert figures[name] == pytest.approx(value_of_rank(merged, quantile), rel=0.001), name
        assert figures["max_ns"] == pytest.approx(merged.get_max_value(), rel=0.001)
        assert figures["min_ns"] == pytest.approx(merged.get_min_value(), rel=0.001)
        assert figures["mean_ns"] == pytest.approx(merged.get_mean_value(), rel=0.001)
        assert figures["stdev_ns"] == pytest.approx(merged.get_stddev(), rel=0.01)
