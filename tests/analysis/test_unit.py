"""Units of throughput: what trials record, one word for a run."""

from __future__ import annotations

import pytest

from loadcell.analysis.treatments import unit_of
from records import trial


@pytest.mark.parametrize(
    ("units", "unit_of_run"),
    [
        ([], "transaction"),
        ([None, None], "transaction"),
        (["request", "request"], "request"),
        (["request", "transaction"], "operation"),
        (["request", None], "operation"),
        (["message"], "operation"),
    ],
)
def test_trials_speak_of_one_unit(units: list[str | None], unit_of_run: str) -> None:
    assert unit_of([trial(unit=name) for name in units]) == unit_of_run
