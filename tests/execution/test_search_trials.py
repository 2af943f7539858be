"""A run of `design: search`: each trial decided from those before, written down before it begins, and resumed
after an interruption.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from execution.world import World
from loadcell.analysis.analyse import analyse
from loadcell.execution.executor import LoadError
from loadcell.execution.resume import PlanChangedError
from loadcell.execution.runner import Ended

SEARCH = """
target: {mock: {}}
workload: {work: {}}
load: {warmup: 1s, duration: 2s}
design: {search: {factor: load.clients, between: [1, 64], step: 1}}
repeats: 2
seed: 3
"""


def curve(clients: int) -> int:
    """Transactions a second: highest at 20 clients."""
    return round(2000 * clients * 40 / (clients**2 + 20**2))


@pytest.fixture
def world() -> World:
    return World(per_s=curve)


def loads(world: World) -> list[str]:
    return [step.removeprefix("load ") for step in world.log if step.startswith("load ")]


def answer(world: World, ended: Ended, index: int = 0) -> dict[str, Any]:
    stored = world.stored(ended)
    stored_answer: dict[str, Any] = analyse(stored.run, stored.trials).searches[index].document()["answer"]
    return stored_answer


def test_it_measures_few_levels_and_finds_the_best(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path, SEARCH)
    assert (ended.state, ended.exit_status) == ("finished", 0)
    assert answer(world, ended)["level"] == "20"
    assert answer(world, ended)["recovered"] is True
    assert loads(world)[:4] == ["1", "4", "16", "64"]
    assert len(loads(world)) < 20


def test_every_probe_is_a_trial_as_any_other_with_what_it_was_for(world: World, tmp_path: Path) -> None:
    stored = world.stored(world.run(tmp_path, SEARCH))
    assert stored.missing == []
    assert [trial.name for trial in stored.trials] == [entry.name for entry in stored.planned]
    first = stored.trials[0]
    assert (first.name, first.status) == ("001-clients=1-r1", "ok")
    assert (first.search.stage, first.search.why, first.search.met) == (
        "bracket",
        "lowest",
        True,
    )
    assert first.search.value == first.totals.throughput_per_s
    assert {entry.stage for entry in stored.planned} == {
        "bracket",
        "refine",
        "confirm",
        "overload",
        "after",
    }
    measured = {trial.treatment for trial in stored.trials}
    assert [entry.id for entry in stored.run.treatments] == sorted(
        measured, key=lambda name: int(name.partition("=")[2])
    )


def test_a_trial_is_in_the_runs_list_before_anything_of_it_happens(world: World, tmp_path: Path) -> None:
    listed: list[int] = []

    def look() -> None:
        listed.append(len(json.loads((tmp_path / "run" / "run.json").read_text())["trials"]))

    world.fail("load 4", look)
    world.fail("load 16", look)
    world.run(tmp_path, SEARCH)
    assert listed == [2, 3]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """A search that nothing disturbed: its trials' names, and its directory."""
    home = tmp_path_factory.mktemp("undisturbed")
    world = World(per_s=curve)
    ended = world.run(home, SEARCH)
    return [trial.name for trial in world.stored(ended).trials], ended.path


@pytest.mark.parametrize("finished", [0, 1, 5, 9, 12])
def test_killed_at_any_trial_it_continues_as_if_nothing_had_been(
    world: World, tmp_path: Path, undisturbed: tuple[list[str], Path], finished: int
) -> None:
    """Remains of a SIGKILL: some finished trials, a half written one, and run.json as it was then."""
    names, path = undisturbed
    shutil.copytree(path, tmp_path / "run")
    run = json.loads((path / "run.json").read_text())
    for name in names[finished:]:
        shutil.rmtree(tmp_path / "run" / "trials" / name)
    (tmp_path / "run" / "trials" / f".{names[finished]}.part").mkdir()
    begun = names[: finished + 1]
    run["trials"] = [entry for entry in run["trials"] if entry["name"] in begun]
    used = {entry["treatment"] for entry in run["trials"]}
    run["treatments"] = [entry for entry in run["treatments"] if entry["id"] in used]
    run |= {"state": "running", "ended_utc": None}
    (tmp_path / "run" / "run.json").write_text(json.dumps(run))

    ended = world.run(tmp_path, SEARCH, resume=tmp_path / "run")
    assert len(loads(world)) == len(names) - finished, "finished trials are not run again"
    assert [trial.name for trial in world.stored(ended).trials] == names
    assert [entry.name for entry in world.stored(ended).planned] == names
    assert (ended.exit_status, answer(world, ended)["level"]) == (0, "20")


def test_ctrl_c_and_going_on(world: World, tmp_path: Path, undisturbed: tuple[list[str], Path]) -> None:
    world.fail("load 16", lambda: os.kill(os.getpid(), signal.SIGINT))
    before = world.run(tmp_path, SEARCH)
    assert before.exit_status == 130
    stored = world.stored(before)
    assert analyse(stored.run, stored.trials).searches[0].ended is False
    ended = world.run(tmp_path, SEARCH, resume=before.path)
    assert [trial.name for trial in world.stored(ended).trials] == undisturbed[0]


def test_a_finished_search_has_nothing_left_to_do(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path, SEARCH)
    world.log.clear()
    assert world.run(tmp_path, SEARCH, resume=ended.path).exit_status == 0
    assert loads(world) == []


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (("between: [1, 64]", "between: [1, 32]"), "treatment clients=64 is no longer in the plan"),
        (("step: 1", "step: 1, tolerance: 5%"), "search.tolerance was 0.02, is 0.05"),
        (("repeats: 2", "repeats: 3"), "repeats was 2, is 3"),
        (("warmup: 1s", "warmup: 3s"), "load.warmup was 1s, is 3s"),
    ],
)
def test_another_search_is_refused_with_what_differs(
    world: World, tmp_path: Path, change: tuple[str, str], difference: str
) -> None:
    before = world.run(tmp_path, SEARCH)
    with pytest.raises(PlanChangedError) as caught:
        world.run(tmp_path, SEARCH.replace(*change), resume=before.path)
    assert difference in [str(difference) for difference in caught.value.differences]


def test_trials_that_would_not_be_decided_on_are_refused(world: World, tmp_path: Path) -> None:
    before = world.run(tmp_path, SEARCH)
    path = before.path / "trials" / "003-clients=16-r1" / "trial.json"
    record = json.loads(path.read_text())
    record["search"]["value"] = 1.0
    path.write_text(json.dumps(record))
    with pytest.raises(PlanChangedError) as caught:
        world.run(tmp_path, SEARCH, resume=before.path)
    assert "does not arrive at trial 004-clients=64-r1" in str(caught.value.differences[0])


def test_one_search_for_each_treatment_of_the_other_factors_in_turns(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path, SEARCH + "factors: {target.mock.variant: [a, b]}\norder: as-written\n")
    stored = world.stored(ended)
    assert [trial.treatment for trial in stored.trials][:4] == [
        "variant=a,clients=1", "variant=b,clients=1", "variant=a,clients=4", "variant=b,clients=4",
    ]  # fmt: skip
    assert [answer(world, ended, index)["level"] for index in (0, 1)] == ["20", "20"]
    assert ended.exit_status == 0
    item = world.run(
        tmp_path, SEARCH + "factors: {target.mock.variant: [a, b]}\n", out=tmp_path / "one"
    )  # both ends are shuffled by the seed
    assert {trial.treatment[:9] for trial in world.stored(item).trials[:2]} == {"variant=a", "variant=b"}


def test_a_level_that_breaks_the_target_is_part_of_the_search(world: World, tmp_path: Path) -> None:
    broken = LoadError("the server gave up", advice="")
    world.fail("load 64", broken, broken, broken, broken)
    ended = world.run(tmp_path, SEARCH)
    assert ended.exit_status == 0
    assert answer(world, ended)["level"] == "20"
    assert answer(world, ended)["lost"] == ["64"]


def test_a_target_that_never_works_ends_the_search_at_once(world: World, tmp_path: Path) -> None:
    world.fail("load 1", LoadError("no", advice=""), LoadError("no", advice=""))
    ended = world.run(tmp_path, SEARCH)
    assert (ended.exit_status, len(loads(world))) == (3, 2)
    assert answer(world, ended)["nothing"] == "nothing-measured"


def test_only_an_expectation_missed_at_the_answer_counts(world: World, tmp_path: Path) -> None:
    assert world.run(tmp_path, SEARCH + "expect: [throughput > 100/s]\n").exit_status == 0
    missed = world.run(tmp_path, SEARCH + "expect: [throughput > 1900/s]\n", out=tmp_path / "missed")
    assert missed.exit_status == 0, "at 1 client it is missed; that is no answer"
    assert (
        world.run(tmp_path, SEARCH + "expect: [throughput > 5000/s]\n", out=tmp_path / "x").exit_status == 1
    )


def test_a_bound_on_latency(world: World, tmp_path: Path) -> None:
    """Little's law says what N clients wait on average."""
    text = SEARCH.replace("step: 1", "step: 1, objective: max clients, subject to: latency.mean < 16ms")
    ended = world.run(tmp_path, text)
    result = answer(world, ended)
    at = [clients for clients in range(1, 65) if clients / curve(clients) < 0.016]
    assert (result["level"], result["missed"]) == (str(at[-1]), str(at[-1] + 1))
    assert (result["met"], result["tried"]) == (4, 4)


def test_what_is_shown_on_the_way(world: World, tmp_path: Path) -> None:
    from execution.world import FakeExecutor
    from loadcell.execution.progress import LineProgress
    from loadcell.execution.runner import Options, Runner

    with (tmp_path / "progress.txt").open("w") as stream:
        Runner(
            world.plan(tmp_path, SEARCH), world.parts(), Options(out=tmp_path / "run"), LineProgress(stream),
            executor=FakeExecutor(world), work_home=tmp_path, neighbours=list,
        ).run()  # fmt: skip
    output = (tmp_path / "progress.txt").read_text().splitlines()
    lines = [line for line in output if not line.startswith("the target was not observed")]
    assert lines[0] == "mock: a search of about 18 trials, about 1 min 30 s"
    assert lines[2] == "  bracket clients 1 ├──────────────────────→ 64"
    assert lines[3].startswith("[ 1/~18] clients=1-r1")
    closing = [line for line in lines if line.startswith("  refine")]
    assert closing
    assert all("├" in line and "┤" in line and "● " not in line for line in closing)
    assert all(len(line) <= 80 or line.startswith("writing ") for line in lines), "a path may be long"
