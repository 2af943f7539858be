"""Contract of incidents: each judges evidence of its type, and one that fails does not end an examination."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadcell.incidents.base import Judgement, Unseen, examine, registered
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.swap_storm import SwapStorm

CALM = Memory("host", 1 << 30, 1 << 29, 0, 0, 0.0, 0.0, 0.0, 0.0)


def test_an_incident_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine_badly(_: SwapStorm, evidence: Memory) -> Iterator[Judgement]:
        raise ZeroDivisionError(evidence.source)

    monkeypatch.setattr(SwapStorm, "examine", examine_badly)
    [failed] = examine(CALM)
    assert isinstance(failed, Unseen)
    assert failed.incident == "swap-storm"
    assert "ZeroDivisionError: host" in failed.reason.text


def test_incidents_have_names_of_their_files_and_sources() -> None:
    assert len(registered()) >= 40
    for name, incident in registered().items():
        assert name == incident.name
        assert incident.source
