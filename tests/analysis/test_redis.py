"""Work of a Redis at each treatment, from samples that are taken whenever a trial begins."""

from __future__ import annotations

import pytest

from analysis.runs import analysis_of
from frame_values import frame_of_rows
from loadcell.analysis import server
from loadcell.store.frames import Frame
from loadcell.store.layout import ColumnType


def samples(*rows: tuple[float, float, int]) -> Frame:
    """Samples of the first trial: when they were taken, of how long, and the commands since the
    one before.
    """
    types: dict[str, ColumnType] = {
        "trial": "text", "treatment": "text", "t_s": "number", "elapsed_s": "number", "commands": "integer",
        "cpu_s": "number",
        "clients": "integer",
    }  # fmt: skip
    return frame_of_rows(types, [("001-1-r1", "1", at, long, count, long / 2, 9) for at, long, count in rows])


def test_what_was_counted_before_the_measurement_is_in_no_rate() -> None:
    """A second before the first look, nothing was asked for half of the time: 800 commands a second were
    none.
    """
    treatments = analysis_of({"1": [1000.0]}).treatments
    (result,) = server.redis_by_treatment(
        samples((0.6, 1.0, 800), (1.6, 1.0, 1000), (1.9, 0.3, 300)), treatments
    )
    assert result.commands_per_s == pytest.approx(1000)
    assert result.cpu == pytest.approx(0.5)
    assert result.clients == 9


def test_of_a_measurement_without_a_whole_sample_there_is_no_rate() -> None:
    treatments = analysis_of({"1": [1000.0]}).treatments
    (result,) = server.redis_by_treatment(samples((0.6, 1.0, 800)), treatments)
    assert (result.commands_per_s, result.cpu, result.clients) == (None, None, 9)
