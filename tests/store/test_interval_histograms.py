"""Histograms of intervals in classes of equal width, from logs that HdrHistogram's encoder wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loadcell.store.interval_histograms import PER_DECADE, lower_ms, read
from report.histogram_logs import write_log

TAG = "transaction/response"


def counted(counts: np.ndarray) -> dict[float, int]:
    """Lower end of a class in ms, in three digits -> count."""
    positions = np.flatnonzero(counts)
    return {
        float(f"{low:.3g}"): int(counts[position])
        for low, position in zip(lower_ms(positions), positions.tolist(), strict=True)
    }


def test_each_interval_has_its_times_and_its_counts(tmp_path: Path) -> None:
    path = tmp_path / "latency.hlog"
    write_log(path, [{1.05: 3, 20.5: 1}, {1.05: 5}], length_s=0.5)
    histograms = read(path, TAG, 100)
    assert histograms.begin_s.tolist() == [0.0, 0.5]
    assert histograms.end_s.tolist() == [0.5, 1.0]
    assert [counted(row) for row in histograms.counts] == [{1.0: 3, 20.0: 1}, {1.0: 5}]
    assert counted(histograms.total) == {1.0: 8, 20.0: 1}
    assert histograms.every == 1


def test_values_from_nanoseconds_to_an_hour_fall_into_the_class_that_contains_them(tmp_path: Path) -> None:
    path = tmp_path / "latency.hlog"
    values = [2e-6, 0.0103, 0.5, 7.3, 150.0, 61_000.0, 3_500_000.0]
    write_log(path, [{value: 1} for value in values])
    for value, row in zip(values, read(path, TAG, 100).counts, strict=True):
        (position,) = np.flatnonzero(row)
        low = float(lower_ms(np.array([position]))[0])
        assert low * 0.999 <= value < low * 10 ** (1 / PER_DECADE)


def test_of_a_long_log_one_of_n_neighbours_is_read(tmp_path: Path) -> None:
    path = tmp_path / "latency.hlog"
    write_log(path, [{1.0 + second: 1} for second in range(10)])
    histograms = read(path, TAG, 4)
    assert histograms.every == 3
    assert [int(begin) // 3 for begin in histograms.begin_s] == [0, 1, 2, 3]
    assert histograms.begin_s.tolist() == read(path, TAG, 4).begin_s.tolist()


def test_a_log_without_the_tag_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "latency.hlog"
    write_log(path, [{1.0: 1}])
    assert read(path, "other/response", 10).counts.shape[0] == 0


@pytest.mark.parametrize("line", [f"Tag={TAG},", f"Tag={TAG},x,1.0,1.0,SElTVA==", f"Tag={TAG},0,1,1,%%%"])
def test_a_damaged_line_is_an_error_that_says_so(tmp_path: Path, line: str) -> None:
    path = tmp_path / "latency.hlog"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=r"cannot be read|no interval"):
        read(path, TAG, 10)
