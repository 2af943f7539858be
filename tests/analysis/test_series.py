"""Time series made small: means of levels, peaks of peaks."""

from __future__ import annotations

import pytest

from frame_values import columns_of, frame_of, values
from loadcell.analysis.series import bucket_size, thin
from loadcell.store.frames import Frame


def series(trial: str, seconds: range, **columns: list[float | None]) -> Frame:
    """A row a second."""
    names = [trial] * len(seconds)
    return frame_of({"trial": names, "t_s": [float(second) for second in seconds], **columns})


@pytest.mark.parametrize(("points", "at_most", "size"), [(10, 10, 1), (11, 10, 2), (3600, 900, 4), (0, 5, 1)])
def test_points_share_buckets_once_there_are_too_many(points: int, at_most: int, size: int) -> None:
    assert bucket_size(points, at_most) == size


def test_short_series_stay_as_they_are() -> None:
    frame = series("a", range(3), x=[1.0, 2.0, 3.0])
    assert values(thin(frame, {"x": "mean"}, 10), "x") == [1.0, 2.0, 3.0]


def test_levels_are_averaged_peaks_kept_counts_added() -> None:
    frame = series("a", range(1, 5), x=[1, 3, 5, 7], y=[1, 9, 2, 3], z=[1, 1, 1, 1])
    thinned = thin(frame, {"x": "mean", "y": "max", "z": "sum"}, 2)
    assert columns_of(thinned) == {
        "trial": ["a", "a"], "t_s": [2.0, 4.0], "x": [2.0, 6.0], "y": [9, 3], "z": [2, 2],
    }  # fmt: skip


def test_warm_up_never_joins_the_measurement() -> None:
    """Intervals that ended at 0 or before were warm-up."""
    frame = series("a", range(-2, 7), x=[0.0] * 3 + [10.0] * 6)
    thinned = thin(frame, {"x": "mean"}, 5)
    assert columns_of(thinned) == {
        "trial": ["a"] * 5, "t_s": [-1.0, 0.0, 2.0, 4.0, 6.0], "x": [0.0, 0.0, 10.0, 10.0, 10.0],
    }  # fmt: skip


def test_trials_never_join() -> None:
    frame = Frame.concat([series("a", range(1, 5), x=[1.0] * 4), series("b", range(1, 5), x=[5.0] * 4)])
    thinned = thin(frame, {"x": "mean"}, 2)
    assert values(thinned, "trial") == ["a", "a", "b", "b"]
    assert values(thinned, "x") == [1.0, 1.0, 5.0, 5.0]


def test_missing_values_stay_missing_and_missing_columns_are_left_out() -> None:
    frame = series("a", range(1, 5), x=[None, None, 4.0, None])
    assert values(thin(frame, {"x": "sum", "gone": "mean"}, 2), "x") == [None, 4.0]
    assert len(thin(frame.take(slice(0)), {"x": "mean"}, 2)) == 0


def test_what_was_joined_before_keeps_its_extremes() -> None:
    frame = series(
        "a", range(1, 5), x=[4.0] * 4, x_lowest=[4.0, 0.0, 4.0, 3.0], x_highest=[4.0, 8.0, 9.0, 4.0]
    )
    thinned = thin(frame, {"x": "mean"}, 10, {"x"})
    assert values(thinned, "x_lowest") == [4.0, 0.0, 4.0, 3.0]
    result = thin(frame, {"x": "mean"}, 2, {"x"})
    assert columns_of(result) == {
        "trial": ["a", "a"], "t_s": [2.0, 4.0], "x": [4.0, 4.0], "x_lowest": [0.0, 3.0], "x_highest": [8.0,
        9.0],
    }  # fmt: skip
    assert "x_lowest" not in thin(frame, {"x": "mean"}, 2).columns
