"""latency.hlog read back: what the engine wrote, as HdrHistogram's own reader has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from engine.loads import MS
from loadcell import _engine
from loadcell.store.trial_files import read_histogram
from specifications import complete
from truth.reference_server import ReferenceServer


def theirs(path: Path, tag: str) -> HdrHistogram:
    """All intervals of a tag by the reference reader."""
    total = HdrHistogram(1, 3_600_000_000_000, 3)
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    while (histogram := reader.get_next_interval_histogram()) is not None:
        if histogram.get_tag() == tag:
            total.add(histogram)
    reader.close()
    return total


def written(path: Path, values: dict[int, int], tag: str = "transaction/response", digits: int = 3) -> Path:
    """A log with one histogram (value in ns -> count) twice, encoded by the reference."""
    histogram = HdrHistogram(1, 3_600_000_000_000, digits)
    for value, count in values.items():
        histogram.record_value(value, count)
    line = f"Tag={tag},0.000,1.000,1.000,{histogram.encode().decode()}\n"
    path.write_text(f"#[Histogram log format version 1.3]\n{line}{line}")
    return path


def test_the_engines_own_log(tmp_path: Path) -> None:
    lines: list[str] = []
    with ReferenceServer(service_us=300) as server:
        spec = server.specification("oltp_read_only", clients=4, duration_s=1.0)
        spec["load"]["interval_ns"] = 250 * MS
        text = _engine.run(
            json.dumps(complete(spec)), lambda event: lines.extend(json.loads(event).get("hlog", []))
        )
    result = json.loads(text)
    path = tmp_path / "latency.hlog"
    path.write_text("\n".join([*result["hlog_header"], *lines, *result["hlog"]]) + "\n")
    for tag in ("transaction/response", "point_select/service"):
        values_ms, counts = read_histogram(path, tag)
        expected = theirs(path, tag)
        assert counts.sum() == expected.get_total_count()
        assert [(round(ms * 1e6), int(n)) for ms, n in zip(values_ms, counts, strict=True)] == [
            (expected.get_highest_equivalent_value(item.value_iterated_to), item.count_at_value_iterated_to)
            for item in expected.get_recorded_iterator()
        ]


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_any_values_at_any_resolution(tmp_path: Path, digits: int) -> None:
    chance = np.random.default_rng(digits)
    values = {
        int(v): int(n)
        for v, n in zip(chance.integers(1, 10**11, 200), chance.integers(1, 10**6, 200), strict=True)
    }
    values |= {1: 3, 2047: 5, 2048: 7}
    path = written(tmp_path / "latency.hlog", values, digits=digits)
    values_ms, counts = read_histogram(path, "transaction/response")
    assert counts.sum() == 2 * sum(values.values())
    assert np.all(np.diff(values_ms) > 0)
    ordered = sorted(values)
    assert values_ms[0] * 1e6 >= ordered[0]
    assert values_ms[-1] * 1e6 == pytest.approx(ordered[-1], rel=2 * 10**-digits)


def test_a_tag_that_is_not_there_gives_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "latency.hlog", {5: 1})
    values_ms, counts = read_histogram(path, "commit/response")
    assert values_ms.size == counts.size == 0


@pytest.mark.parametrize(
    "text", ["", "HIST", "AAAA", "HISTFAAAAA", "not base64 at all", "HISTFAAAAAR4nGNgYGAA"]
)
def test_a_broken_histogram_is_a_value_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latency.hlog"
    path.write_text(f"Tag=transaction/response,0.000,1.000,1.0,{text}\n")
    with pytest.raises(ValueError, match="a histogram"):
        read_histogram(path, "transaction/response")
