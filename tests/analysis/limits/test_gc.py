"""Garbage collections as the limiting resource, and incidents that limited a treatment."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import fake_runs
from analysis.limits.test_judge import CLIENT, CPU, IDLE, OTHERS, QUOTA, THREAD, names
from incidents.gc_texts import Log
from incidents.test_retained import HUNG, with_examination
from incidents.test_runs import spiral, trial_names, with_logs
from loadcell.analysis.limits.candidate import Evidence
from loadcell.analysis.trials import Trial, of_run
from loadcell.model.gc_pauses import SHARE
from loadcell.model.resources import Resources
from loadcell.report.blocks import Table
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.store.read import read_run


@pytest.mark.parametrize(
    "used", [IDLE, CPU, THREAD, CLIENT, OTHERS], ids=["idle", "cpu", "thread", "client", "others"]
)
def test_pauses_for_most_of_the_time_are_the_limit(used: Resources) -> None:
    assert names(used, paused_share=0.74) == ["gc"]
    assert "gc" not in names(used, paused_share=0.45)


def test_a_used_up_quota_contradicts() -> None:
    assert names(QUOTA, paused_share=0.74) == ["gc", "quota"]


def test_pauses_that_keep_no_request_are_no_limit() -> None:
    assert "gc" not in names(IDLE, paused_share=0.74, achieved_share=1.0)


def trial(home: Path, **figures: float) -> Trial:
    """The first trial of a run of 30 s with these metrics."""
    run = read_run(fake_runs.write_run(home, fake_runs.Shape()))
    first = of_run(run.run, run.trials)[0]
    return replace(first, figures=figures, resources=IDLE, duration_s=30.0)


@pytest.mark.parametrize(
    ("figures", "share"),
    [
        ({SHARE: 0.6}, 0.6),
        ({SHARE: 0.6, "jvm.full_gc_time": 3000.0}, 0.6),
        ({"jvm.young_gc_time": 6000.0, "jvm.full_gc_time": 12000.0}, 0.6),
        ({}, None),
    ],
)
def test_the_share_is_that_of_the_log_or_of_the_counters(
    tmp_path: Path, figures: dict[str, float], share: float | None
) -> None:
    evidence = Evidence.of(trial(tmp_path, **figures))
    assert evidence is not None
    assert evidence.paused_share == (None if share is None else pytest.approx(share))


def with_resources(run: Path) -> Path:
    """The same run, on a machine that is full of other processes."""
    for path in (run / "trials").glob("*/trial.json"):
        record = json.loads(path.read_text())
        record["resources"] = asdict(OTHERS)
        path.write_text(json.dumps(record))
    return run


def limits(run: Path) -> list[str]:
    """Findings on limits."""
    context = ReportContext.of(read_run(run), "en")
    return [
        context.texts.message(item.message)
        for item in context.findings
        if item.message.code.startswith("found.limit")
    ]


def test_the_limit_of_a_treatment_with_a_critical_incident_is_the_incident(tmp_path: Path) -> None:
    all_names = trial_names(tmp_path)
    of_treatment = [name for name in all_names if "clients=4" in name]
    run = with_resources(with_logs(tmp_path / "run", dict.fromkeys(of_treatment, spiral())))
    incident, others = limits(run)
    assert incident == "The bottleneck at clients = 4 was an incident: Full GC spiral, in 2 of 2 trials."
    assert "other processes" in others
    assert "clients = 4" not in others.partition(":")[0]
    [table] = [
        block
        for section in build(read_run(run), "en").sections
        for block in section.blocks
        if isinstance(block, Table) and block.id == "table-limits"
    ]
    assert [cell.text for cell in table.rows[0]][-4] == "Full GC spiral"
    assert table.rows[0][-1].text == "2/2"


def test_an_incident_in_the_smaller_part_of_the_trials_is_not_the_limit(tmp_path: Path) -> None:
    name = next(name for name in trial_names(tmp_path) if "clients=4" in name)
    run = with_resources(with_logs(tmp_path / "run", {name: spiral()}))
    assert not any("incident" in text for text in limits(run))


def test_a_warning_is_not_the_limit(tmp_path: Path) -> None:
    slow = Log()
    for index in range(10):
        slow.young(1 + index, 500, 100, 1200 if index == 5 else 10)
    run = with_resources(with_logs(tmp_path / "run", dict.fromkeys(trial_names(tmp_path), slow)))
    assert not any("incident" in text for text in limits(run))


def test_a_hung_mount_that_a_trial_retained_is_the_limit(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path, HUNG)
    document = json.loads((run / "trials" / name / "doctor.json").read_text()) | {"utc": None}
    for directory in (run / "trials").iterdir():
        (directory / "doctor.json").write_text(json.dumps(document))
    assert any("was an incident: Hung remote mount" in item for item in limits(with_resources(run)))
