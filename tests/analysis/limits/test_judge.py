"""The judge of the limiting resource on constructed records: right, not known, and too short to tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fake_runs import Shape, write_run
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.limits.candidates import all_candidates
from loadcell.analysis.limits.judge import supported
from loadcell.model.json import document
from loadcell.model.resources import (
    ControlGroupUse,
    CpuShares,
    HostUse,
    PressureStall,
    ProcessUse,
    Resources,
    ThreadUse,
)
from loadcell.report.build import build
from loadcell.report.render import html, markdown
from loadcell.store.read import read_run

QUIET = PressureStall(0.0, 0.0, 0.0, 0.0, 0.0)
HOST = HostUse(4, CpuShares(0.3, 0.2, 0.1, 0.0, 0.0), memory_total_bytes=8_000, pressure=QUIET)
IDLE = Resources(
    10.0,
    HOST,
    ProcessUse(1, 4, 0.4, memory_bytes=6_000, read_bytes_per_s=0.0, write_bytes_per_s=8e5),
    ProcessUse(1, 2, 0.2),
)


def thread(cpu: float, run_delay: float = 0.0) -> tuple[ThreadUse, ...]:
    return (ThreadUse("worker", 7, 7, cpu, run_delay),)


QUOTA = replace(
    IDLE,
    target=ProcessUse(
        1, 4, 0.98, busiest_threads=thread(0.95), control_group=ControlGroupUse(1.0, 0.9), cpus_allowed=1
    ),
)
CPU = replace(IDLE, target=ProcessUse(4, 4, 3.8, busiest_threads=thread(0.95)))
SHARED = replace(
    IDLE,
    host=replace(HOST, cpu=CpuShares(0.98, 0.7, 0.28, 0.0, 0.0)),
    target=ProcessUse(4, 4, 2.6),
    client=ProcessUse(1, 2, 1.2),
)
THREAD = replace(IDLE, target=ProcessUse(1, 4, 1.0, busiest_threads=thread(0.93)))


def names(used: Resources) -> list[str]:
    return [item.candidate.name for item in supported(used)]


@pytest.mark.parametrize(
    ("used", "name"),
    [
        (QUOTA, "quota"),
        (CPU, "cpu"),
        (SHARED, "cpu"),
        (THREAD, "thread"),
    ],
)
def test_signs_support_the_resource_and_no_consequence_of_it(used: Resources, name: str) -> None:
    assert names(used) == [name]


@pytest.mark.parametrize("used", [QUOTA, CPU, THREAD])
def test_nothing_is_named_in_a_window_that_is_too_short(used: Resources) -> None:
    assert names(replace(used, window_s=0.5)) == []


def test_what_another_process_causes_is_no_limit_of_the_target() -> None:
    """On a full machine threads of both sides wait for cores that other processes hold."""
    full = HostUse(2, CpuShares(0.996, 0.6, 0.396, 0.0, 0.0), pressure=PressureStall(cpu=0.99))
    seen = Resources(
        4.0,
        full,
        ProcessUse(14, 14, 0.56, busiest_threads=thread(0.08, 0.6)),
        ProcessUse(1, 3, 0.23, busiest_threads=thread(0.21, 0.70)),
    )
    assert names(seen) == [], "seen with 8 clients"


def test_a_quota_needs_thirty_periods() -> None:
    assert "quota" not in names(replace(QUOTA, window_s=2.9))


def test_explained_candidates_exist() -> None:
    declared = {candidate.name for candidate in all_candidates()}
    assert len(declared) == 3
    assert {name for candidate in all_candidates() for name in candidate.explains} <= declared


def analysed(path: Path, *used: Resources) -> tuple[Path, Analysis]:
    run = write_run(path, Shape(monitors=False, intervals=False, repeats=len(used)))
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["resources"] = document(used[record["repeat"] % len(used)])
        file.write_text(json.dumps(record), encoding="utf-8")
    stored = read_run(run)
    return run, analyse(stored.run, stored.trials)


def test_repeats_that_disagree_leave_the_limit_unknown(tmp_path: Path) -> None:
    _, analysis = analysed(tmp_path / "run", CPU, THREAD)
    assert {limit.named for limit in analysis.limits} == {None}
    contradicting = {candidate.name for limit in analysis.limits for candidate in limit.contradicting}
    assert contradicting == {"cpu", "thread"}
    assert "found.limit.contradiction" in {finding.message.code for finding in analysis.findings}


def test_a_target_at_its_quota_is_short_of_no_cores(tmp_path: Path) -> None:
    assert names(replace(QUOTA, window_s=2.0)) == []


def test_half_of_the_repeats_is_not_enough(tmp_path: Path) -> None:
    _, analysis = analysed(tmp_path / "run", CPU, IDLE)
    assert {limit.named for limit in analysis.limits} == {None}


@pytest.mark.parametrize(("lang", "text"), [("en", "the CPU of the target"), ("zh", "被测系统的 CPU")])
def test_pages_and_json_name_the_limit(tmp_path: Path, lang: str, text: str) -> None:
    run, analysis = analysed(tmp_path / "run", CPU, CPU)
    assert {limit["limit"] for limit in analysis.document()["limits"].values()} == {"cpu"}
    report = build(read_run(run), lang)
    assert text in html.render(report)
    assert text in markdown.render(report)
