"""Contract of incidents: each judges evidence of its type, and one that fails does not end an examination."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadcell.incidents import base
from loadcell.incidents.base import Incident, Judgement, Unseen, examine, registered
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.swap_storm import SwapStorm

CALM = Memory("host", 1 << 30, 1 << 29, 0, 0, 0.0, 0.0, 0.0, 0.0)


class Failing(Incident[Memory]):
    name = "failing"
    needs = Memory
    source = "a test"
    signs = SwapStorm.signs

    def examine(self, evidence: Memory) -> Iterator[Judgement]:
        yield self.healthy(SwapStorm.signs)
        raise ZeroDivisionError(evidence.source)


def test_an_incident_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    incidents = {"failing": Failing, "swap-storm": SwapStorm}
    monkeypatch.setattr(base, "registered", lambda: incidents)
    judgements = examine(CALM)
    assert {item.incident for item in judgements} == set(incidents)
    [failed] = [item for item in judgements if item.incident == "failing"]
    assert isinstance(failed, Unseen)
    assert "ZeroDivisionError: host" in failed.reason.text


def test_incidents_have_names_of_their_files_and_sources() -> None:
    assert len(registered()) >= 40
    for name, incident in registered().items():
        assert name == incident.name
        assert incident.source
