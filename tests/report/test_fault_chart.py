"""Chart of the load around each fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadcell.model.fault_judgement import (
    Effect,
)
from loadcell.model.trial_record import TrialRecord
from loadcell.report.build import build
from loadcell.report.render import html
from loadcell.store.read import StoredRun
from report.fault_runs import (
    RATE_PER_S,
    section,
)


def test_the_chart_overlays_the_repeats_and_shades_the_phases(broken: StoredRun) -> None:
    _, chart = section(build(broken))
    assert {row["trial"] for row in chart.data["load"]} == {trial.name for trial in broken.trials}
    before = [row["rate"] for row in chart.data["load"] if row["t"] < -0.2]
    paused = [row for row in chart.data["load"] if 0.2 < row["t"] < 0.8]
    assert min(before) == pytest.approx(RATE_PER_S, rel=0.06)
    assert {row["rate"] for row in paused} == {0}
    assert {row["p99"] for row in paused} == {None}
    assert max(row["p99"] for row in chart.data["load"] if row["p99"]) == pytest.approx(1000, rel=0.07)
    phases = [row["phase"] for row in chart.data["spans"] if row["treatment"] == chart.chosen[0]]
    assert phases == ["before", "held", "undone", "recovered"]


def test_the_chart_begins_with_a_fault_that_had_an_effect(broken: StoredRun) -> None:
    first = broken.run.treatments[0].id

    def without(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        effect: Effect = "none" if trial.treatment == first else "outage"
        return replace(trial, faults=(replace(fault, judgement=replace(fault.judgement, effect=effect)),))

    _, chart = section(build(replace(broken, trials=tuple(map(without, broken.trials)))))
    names = [name for name, _ in chart.choices]
    assert list(chart.chosen) == [names[1]]
    assert len(names) == len(broken.run.treatments)


def test_the_chooser_of_the_chart_names_faults(broken: StoredRun) -> None:
    _, chart = section(build(broken))
    assert chart.chooser == "faults"
    assert "Faults shown (up to " in html.render(build(broken))
