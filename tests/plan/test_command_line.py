"""`--set` and `--only`: what they change, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.plan.problems import Problem
from plan.fake_parts import PLAN, DatabaseOptions, mistakes, read

SWEEP = (
    PLAN
    + "factors: {load.clients: {from: 5, to: 20, step: 5}, storage: {a: {target.database.data: a}, b: {}}}\n"
)


def only_mistake(directory: Path, text: str, **how: tuple[str, ...]) -> Problem:
    (problem,) = mistakes(directory, text, **how)
    return problem


def test_settings_are_changed_in_the_order_given(tmp_path: Path) -> None:
    sets = (
        "load.duration=5s",
        "load.duration=7s",
        "workload.mix.tables=3",
        "repeats=9",
        "title=Mine: a test",
    )
    plan = read(tmp_path, PLAN, sets=sets)
    assert plan.base.load.duration == 7
    assert plan.base.document()["workload"]["mix"]["tables"] == 3
    assert plan.repeats == 9
    assert plan.text == PLAN
    assert plan.sets == sets


def test_a_section_can_be_made_and_replaced(tmp_path: Path) -> None:
    text = PLAN.replace("load: {clients: 1}\n", "")
    plan = read(tmp_path, text, sets=("load.clients=2", "target={cache: {memory: 1MB}}", "limits.prepare=1h"))
    assert (plan.base.load.clients, plan.base.target_name, plan.limits.prepare) == (2, "cache", 3600)


def test_free_settings_can_be_added(tmp_path: Path) -> None:
    plan = read(
        tmp_path,
        PLAN,
        sets=("target.database.settings.pg_stat.track=all", "target.database.settings.fsync=off"),
    )
    assert isinstance(plan.base.target, DatabaseOptions)
    assert plan.base.target.settings == {"pg_stat.track": "all", "fsync": "off"}


def test_monitors_are_set_whole_or_by_option(tmp_path: Path) -> None:
    assert list(read(tmp_path, PLAN, sets=("monitors=[jvm]",)).monitors) == ["jvm"]
    plan = read(
        tmp_path, PLAN + "monitors: [host]", sets=("monitors.host.disks=false", "monitors.jvm.gc=false")
    )
    assert plan.base.document()["monitors"] == {"host": {"disks": False}, "jvm": {"gc": False}}


def test_factors_are_set_whole_or_in_part_or_taken_away(tmp_path: Path) -> None:
    assert read(tmp_path, SWEEP, sets=("factors.load.clients=[1, 2]",)).treatment_count == 4
    assert read(tmp_path, SWEEP, sets=("factors.load.clients.to=40",)).treatment_count == 16
    assert read(tmp_path, SWEEP, sets=("factors.storage.b.target.database.data=c",)).treatments[1].values == {
        "load.clients": 5,
        "target.database.data": "c",
    }
    assert read(tmp_path, SWEEP, sets=("factors.load.warmup=[1s, 2s]",)).treatment_count == 16
    assert read(tmp_path, SWEEP, sets=("factors=",)).treatment_count == 1


@pytest.mark.parametrize(
    ("setting", "path", "finding", "nearest"),
    [
        ("load.durations=5s", "load.durations", 'no setting "durations" in load', "load.duration"),
        ("load.duration=5", "load.duration", "5, a number without a unit", "5s"),
        ("load.duration", "", "found", None),
        ("=5s", "", "found", None),
        ("repeat=5", "repeat", "no setting", "repeats"),
        ("duration=5s", "duration", "no setting", "load.duration"),
        ("load.threads=[a", "load.threads", "not YAML", None),
        ("repeats=0", "repeats", "found 0", None),
        ("target.cache.memory=1MB", "target", "2 names", None),
        ("target.database.password=hunter2", "target.database.password", "contains a secret", None),
    ],
)
def test_a_wrong_set_is_a_mistake_in_the_option(
    setting: str, path: str, finding: str, nearest: str | None, tmp_path: Path
) -> None:
    problem = only_mistake(tmp_path, PLAN, sets=(setting,))
    assert (problem.path, problem.nearest) == (path, nearest)
    assert finding in problem.finding
    assert "hunter2" not in str(problem)
    if "2 names" not in finding:
        assert problem.mark.file == f"--set {setting.partition('=')[0]}"
        assert problem.mark.line is None


def test_setting_what_a_factor_sets_anyway_is_refused_with_advice(tmp_path: Path) -> None:
    problem = only_mistake(tmp_path, SWEEP, sets=("load.clients=7",))
    assert "is a factor" in problem.finding
    assert "--only load.clients=" in (problem.allowed or "")
    assert read(tmp_path, SWEEP, sets=("load.clients=7", "design=one-at-a-time")).base.load.clients == 7


def test_only_keeps_the_levels_it_names_in_the_plans_order(tmp_path: Path) -> None:
    plan = read(tmp_path, SWEEP, only=("load.clients=20,5", "storage=b"))
    assert [treatment.id for treatment in plan.treatments] == ["clients=5,storage=b", "clients=20,storage=b"]
    assert plan.only == ("load.clients=20,5", "storage=b")
    assert [len(factor.levels) for factor in plan.factors] == [2, 1]


def test_only_takes_a_factors_last_name_and_adds_up(tmp_path: Path) -> None:
    plan = read(tmp_path, SWEEP, only=("clients=5", "clients=15", "storage=a"))
    assert [treatment.levels["load.clients"] for treatment in plan.treatments] == ["5", "15"]


@pytest.mark.parametrize(
    ("only", "finding", "nearest"),
    [
        ("load.cleints=5", 'no factor "load.cleints"', "load.clients"),
        ("load.clients=7", 'no level "7"', None),
        ("storage=bb", 'no level "bb"', "b"),
        ("storage", 'found "storage"', "storage"),
    ],
)
def test_a_wrong_only_is_a_mistake_in_the_option(
    only: str, finding: str, nearest: str | None, tmp_path: Path
) -> None:
    problem = only_mistake(tmp_path, SWEEP, only=(only,))
    assert finding in problem.finding
    assert problem.nearest == nearest
    assert problem.mark.file == f"--only {only.partition('=')[0]}"


def test_only_in_a_one_at_a_time_design_keeps_the_treatments_with_these_levels(tmp_path: Path) -> None:
    text = PLAN + "design: one-at-a-time\nfactors: {load.clients: [1, 2, 3], target.database.data: [x, y]}"
    assert [t.id for t in read(tmp_path, text, only=("clients=1,3",)).treatments] == [
        "baseline",
        "clients=3",
        "data=x",
        "data=y",
    ]
    assert [t.id for t in read(tmp_path, text, only=("clients=3",)).treatments] == ["clients=3"]
    problem = only_mistake(tmp_path, text, only=("clients=3", "data=x"))
    assert "no treatment has these levels" in problem.finding
