"""Trials that only profile: which are run, that they count in nothing, and that what goes wrong with them
costs nothing.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from execution.world import PLAN, World
from loadcell.analysis.analyse import analyse
from loadcell.execution import trial_source
from loadcell.model.profile_record import LostMemory, MemoryRecord, ProfileRecord
from loadcell.profilers import perf
from loadcell.profilers.launcher import ProfilerAccount
from loadcell.profilers.perf import ProfilerError
from loadcell.report.build import build
from loadcell.systems.shared import launch  # noqa: F401 - declares the metrics of memory profilers

THREE = PLAN.replace("clients: 2, ", "") + "factors: {load.clients: [2, 8, 4]}\n"


class FakeSampler:
    """Says what is asked of it, and finds what it is reported to."""

    def __init__(self, log: list[str], trouble: ProfilerError | None = None) -> None:
        self.log = log
        self.trouble = trouble

    def __call__(self, options: Any, work: Path) -> FakeSampler:
        assert work.is_dir()
        return self

    def workload(self, section: Any) -> Any:
        return section

    def attach(self, roots: list[int]) -> None:
        self.log.append("attach")
        if self.trouble is not None:
            raise self.trouble

    def phase(self, name: str, mono_ns: int) -> None:
        self.log.append(f"phase {name}")

    def end(self) -> None:
        self.log.append("end")

    def output(self) -> list[str]:
        return ["a word"]

    def collect(self, writer: Any, title: str, log: Any) -> ProfileRecord:
        self.log.append(f"collect {title}")
        writer.text("profile.folded", "server;main 3\n")
        return ProfileRecord("cpu", "perf", "cpu-clock", samples=3)

    def remove(self) -> None:
        self.log.append("remove")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(trial_source, "sampler_of", FakeSampler(world.log))
    return world


def unscored(world: World, ended: Any) -> list[tuple[str, str]]:
    return [(item.name, item.status) for item in world.stored(ended).unscored]


def loads(world: World) -> list[str]:
    return [step for step in world.log if step.startswith("load ")]


def test_profiles_of_two_kinds_have_a_trial_each(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path, PLAN + "profile: {cpu: {}, off-cpu: {}}\n")
    assert unscored(world, ended) == [("profile-baseline", "ok"), ("profile-off-cpu-baseline", "ok")]


@pytest.mark.parametrize(
    ("treatments", "names"),
    [
        ("best", ["clients=8"]),
        ("all", ["clients=2", "clients=8", "clients=4"]),
        ("[clients=4, clients=2]", ["clients=2", "clients=4"]),
    ],
)
def test_the_treatments_wanted_are_run_once_more(
    world: World, tmp_path: Path, treatments: str, names: list[str]
) -> None:
    ended = world.run(tmp_path, THREE + f"profile: {{cpu: {{treatments: {treatments}}}}}\n")
    assert (ended.state, ended.exit_status) == ("finished", 0)
    stored = world.stored(ended)
    assert [item.name for item in stored.unscored] == [f"profile-{name}" for name in names]
    assert [item.number for item in stored.unscored] == list(range(4, 4 + len(names)))
    assert {(item.role, item.status) for item in stored.unscored} == {("profile", "ok")}
    assert loads(world)[3:] == [f"load {name.removeprefix('clients=')}" for name in names]


def test_the_sampler_sees_the_load_from_before_its_first_connection_to_its_end(
    world: World, tmp_path: Path
) -> None:
    world.run(tmp_path, PLAN + "profile: cpu\n")
    profiled = world.log[world.log.index("attach") :]
    steps = ["attach", "load 2", "phase measure", "end", "describe a", "collect baseline", "remove"]
    assert [step for step in profiled if step in steps] == steps


def test_it_counts_in_nothing(world: World, tmp_path: Path) -> None:
    plain = world.run(tmp_path, THREE, out=tmp_path / "plain", seed=1)
    profiled = world.run(tmp_path, THREE + "profile: cpu\n", out=tmp_path / "profiled", seed=1)
    item, other = world.stored(plain), world.stored(profiled)
    assert [trial.name for trial in item.trials] == [trial.name for trial in other.trials]
    assert item.run.trials == other.run.trials
    assert item.run.verdicts == other.run.verdicts
    assert [entry.role for entry in other.run.unscored] == ["profile"]
    assert other.missing == []
    assert item.run.unscored is None


def test_what_goes_wrong_with_it_costs_no_result(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = ProfilerError("perf may not look", advice="let it")
    monkeypatch.setattr(trial_source, "sampler_of", FakeSampler(world.log, trouble))
    ended = world.run(tmp_path, THREE + "profile: cpu\n")
    assert (ended.state, ended.exit_status, ended.reason) == ("finished", 0, None)
    stored = world.stored(ended)
    assert [trial.status for trial in stored.trials] == ["ok"] * 3
    [failed] = stored.unscored
    assert (failed.status, failed.reason, failed.advice) == ("failed", "perf may not look", "let it")
    assert "profile-clients=8: perf may not look; let it" in (tmp_path / "progress.txt").read_text()
    assert (world.log[-2:], len(loads(world))) == (["down a", "destroy a"], 3)


def test_a_target_elsewhere_cannot_be_profiled(tmp_path: Path) -> None:
    ended = World().run(tmp_path, PLAN + "profile: cpu\n")
    assert ended.exit_status == 0
    assert "no processes on this machine" in (tmp_path / "progress.txt").read_text()


def test_without_an_ok_trial_there_is_no_best_one(world: World, tmp_path: Path) -> None:
    world.results["load 2"] = lambda result: result.update(outcome="lost")
    ended = world.run(tmp_path, PLAN + "profile: cpu\n")
    assert unscored(world, ended) == []
    assert "no profile was taken: no trial succeeded" in (tmp_path / "progress.txt").read_text()


def test_one_that_was_interrupted_is_done_when_the_run_continues(world: World, tmp_path: Path) -> None:
    text = PLAN + "profile: cpu\n"
    world.fail("load", lambda: None, lambda: os.kill(os.getpid(), signal.SIGINT))
    ended = world.run(tmp_path, text)
    assert (ended.state, ended.exit_status) == ("interrupted", 130)
    assert unscored(world, ended) == [("profile-baseline", "aborted")]
    world.log.clear()
    ended = world.run(tmp_path, text, resume=ended.path)
    assert (ended.state, ended.exit_status) == ("finished", 0)
    assert unscored(world, ended) == [("profile-baseline", "ok")]
    assert len(loads(world)) == 1


def test_a_finished_run_can_be_profiled_afterwards_and_only_once(world: World, tmp_path: Path) -> None:
    first = world.run(tmp_path, PLAN)
    for item in (1, 0):
        world.log.clear()
        ended = world.run(tmp_path, PLAN + "profile: cpu\n", resume=first.path)
        assert len(loads(world)) == item
        assert unscored(world, ended) == [("profile-baseline", "ok")]


def test_one_that_failed_is_done_again_only_when_asked_for(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PLAN + "profile: cpu\n"
    broken = FakeSampler(world.log, ProfilerError("no", advice="yes"))
    monkeypatch.setattr(trial_source, "sampler_of", broken)
    ended = world.run(tmp_path, text)
    monkeypatch.setattr(trial_source, "sampler_of", FakeSampler(world.log))
    world.run(tmp_path, text, resume=ended.path)
    assert unscored(world, ended) == [("profile-baseline", "failed")]
    world.run(tmp_path, text, resume=ended.path, retry_failed=True)
    assert unscored(world, ended) == [("profile-baseline", "ok")]


def test_a_search_profiles_what_it_measured_best(world: World, tmp_path: Path) -> None:
    search = PLAN.replace("clients: 2, ", "").replace("order: as-written\n", "") + (
        "design: {search: {factor: load.clients, between: [1, 4], step: 1}}\nprofile: cpu\n"
    )
    ended = world.run(tmp_path, search)
    [(name, status)] = unscored(world, ended)
    assert (name, status) == ("profile-clients=4", "ok")
    run = json.loads((ended.path / "run.json").read_text())
    assert [entry["name"] for entry in run["unscored"]] == ["profile-clients=4"]


def test_that_perf_is_missing_is_reported_before_the_first_trial(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf.shutil, "which", lambda _: None)
    world.run(tmp_path, PLAN + "profile: cpu\n")
    assert "no profile (perf is not installed)" in (tmp_path / "progress.txt").read_text()


def test_a_target_that_was_looked_into_counts_in_no_figure_and_is_judged(tmp_path: Path) -> None:
    world = World()
    parts = world.parts()
    nothing = LostMemory(0, 0)
    memory = MemoryRecord(
        {"definite": nothing, "indirect": nothing, "possible": LostMemory(7, 1)}, record_count=0
    )
    parts.targets["mock"].examine = lambda self: ProfilerAccount(memory)  # type: ignore[attr-defined]
    world.parts = lambda: parts  # type: ignore[method-assign]
    text = PLAN.replace("[errors == 0]", "[leak.definite == 0, leak.possible == 0]")
    ended = world.run(tmp_path, text)
    assert ended.exit_status == 1
    stored = world.stored(ended)
    [trial] = stored.trials
    assert trial.status == "ok"
    assert [(item.verdict, item.value) for item in trial.expect] == [("met", 0), ("missed", 7)]
    analysis = analyse(stored.run, stored.trials)
    assert not analysis.trials[0].counts
    assert not analysis.treatments[0].measured
    section = next(item for item in build(stored).sections if item.id == "memory")
    cells = [cell.text for cell in section.blocks[1].rows[0]]  # type: ignore[union-attr]
    assert cells == ["001-baseline-r1", "0", "0", "7 in 1", "–", "–", "0"]
