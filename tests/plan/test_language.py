"""Meaning of a plan: settings with defaults, factors, levels, and the treatments they make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.plan.problems import PlanError
from plan.fake_parts import PLAN, CacheOptions, DatabaseOptions, mistakes, read

FOUR_CLIENTS = PLAN.replace("{clients: 1}", "{clients: 4}")


def ids(directory: Path, text: str, **how: tuple[str, ...]) -> list[str]:
    return [treatment.id for treatment in read(directory, text, **how).treatments]


# -- settings


def test_what_is_omitted_has_defaults(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN)
    assert (plan.title, plan.question, plan.design, plan.order, plan.seed) == (
        "plan",
        "",
        "full",
        "blocks",
        None,
    )
    assert plan.repeats == 3
    assert plan.base.document() == {
        "target": {
            "database": {"server": "embedded", "dsn": None, "password": None, "data": None, "settings": {}}
        },
        "workload": {
            "mix": {
                "script": "read_write",
                "tables": 1,
                "ratio": 0.5,
                "think": "0s",
                "goal": None,
                "share": "100%",
            }
        },
        "load": {
            "clients": 1,
            "threads": "auto",
            "warmup": "5s",
            "duration": "30s",
            "interval": "1s",
            "max_retries": 10,
        },
        "monitors": {"host": {"disks": True}},
        "limits": {
            "up": "1min",
            "prepare": "30min",
            "load_slack": "1min",
            "collect": "1min",
            "verify": "1min",
            "cleanup": "1min",
        },
        "expect": [],
    }


def test_everything_can_be_given(tmp_path: Path) -> None:
    plan = read(
        tmp_path,
        """\
title: A title
question: |
  Why so slow?
target: {database: {server: local, settings: {fsync: off, work_mem: 64MB, jit: false, cost: 1.1}}}
workload: {mix: {ratio: 1, think: 200ms, goal: 2000/s, share: 5%}}
load: {clients: 16, threads: 2, warmup: 1s, duration: 1min, interval: 500ms, max_retries: 0}
limits: {prepare: 2h}
monitors: [host, {jvm: {gc: false}}]
expect: [errors == 0, latency.p99 < 20ms]
repeats: 7
order: as-written
seed: 42
""",
    )
    settings = plan.base.target
    assert isinstance(settings, DatabaseOptions)
    assert settings.settings == {"fsync": "off", "work_mem": "64MB", "jit": False, "cost": 1.1}
    assert (plan.base.load.warmup, plan.base.load.duration, plan.base.load.interval) == (1, 60, 0.5)
    assert plan.limits.prepare == 7200
    assert plan.base.document()["workload"]["mix"] == {
        "script": "read_write",
        "tables": 1,
        "ratio": 1.0,
        "think": "200ms",
        "goal": "2000/s",
        "share": "5%",
    }
    assert plan.base.document()["monitors"] == {"host": {"disks": True}, "jvm": {"gc": False}}
    assert [expectation.text for expectation in plan.expect] == ["errors == 0", "latency.p99 < 20ms"]
    assert (plan.repeats, plan.order, plan.seed, plan.question) == (7, "as-written", 42, "Why so slow?\n")


def test_title_and_question_may_be_in_two_languages(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "title: {en: Reads, zh: 读取}\nquestion: How many?\n")
    assert [plan.title_in(language) for language in ("en", "zh")] == ["Reads", "读取"]
    assert [plan.question_in(language) for language in ("en", "zh")] == ["How many?", "How many?"]
    assert (plan.title, plan.title_zh, plan.question_zh) == ("Reads", "读取", None)


def test_a_document_is_a_plan_again(tmp_path: Path) -> None:
    import json

    text = (
        PLAN.replace("{clients: 1}", "{clients: 3, warmup: 200ms}")
        + "expect: [errors == 0]\nmonitors: [jvm]\n"
    )
    settings = read(tmp_path, text).base.document()
    settings["monitors"] = [{name: options} for name, options in settings["monitors"].items()]
    again = read(tmp_path, json.dumps(settings)).base.document()
    assert again["load"] == settings["load"]
    assert again["target"] == settings["target"]


@pytest.mark.parametrize(
    "rate",
    [
        "2000/s",
        {"steps": [{"rate": "500/s", "for": "10s"}, {"rate": "0/s", "for": "5s"}]},
        {"from": "100/s", "to": "5000/s", "over": "20s"},
    ],
)
def test_a_rate_is_written_as_it_was_read(rate: object, tmp_path: Path) -> None:
    import json

    load = {"clients": 3, "rate": rate, "arrivals": "poisson"}
    load_settings = read(tmp_path, PLAN.replace("{clients: 1}", json.dumps(load))).base.document()["load"]
    assert (load_settings["rate"], load_settings["arrivals"], load_settings["max_backlog"]) == (
        rate,
        "poisson",
        "5s",
    )


def test_rates_are_levels_like_any_others(tmp_path: Path) -> None:
    several = read(tmp_path, PLAN + "factors: {load.rate: {from: 1000/s, to: 4000/s, times: 2}}\n")
    assert [treatment.levels["load.rate"] for treatment in several.treatments] == [
        "1000/s",
        "2000/s",
        "4000/s",
    ]
    assert [treatment.resolved.load.rate for treatment in several.treatments] == [1000, 2000, 4000]
    ramp = "{from: 1/s, to: 9/s, over: 20s}"
    forms = read(
        tmp_path, PLAN + f"factors: {{load: {{even: {{load.rate: 5/s}}, rising: {{load.rate: {ramp}}}}}}}\n"
    )
    assert [treatment.id for treatment in forms.treatments] == ["load=even", "load=rising"]


def test_on_off_yes_and_no_are_text_and_numbers_are_yaml_1_2(tmp_path: Path) -> None:
    text = PLAN.replace(
        "{database: {}}", "{database: {settings: {a: on, b: no, c: 0o17, d: 010, e: 1e3, f: 2001-01-01}}}"
    )
    settings = read(tmp_path, text).base.target
    assert isinstance(settings, DatabaseOptions)
    assert settings.settings == {"a": "on", "b": "no", "c": 15, "d": 10, "e": 1000.0, "f": "2001-01-01"}


def test_anchors_and_aliases_work(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN.replace("{mix: {}}", "{mix: {script: &s read_only}}") + "title: *s\n")
    assert plan.title == "read_only"


def test_monitors_of_one_target_watch_it_unasked_and_no_other(tmp_path: Path) -> None:
    assert list(read(tmp_path, PLAN).monitors) == ["host"]
    on_cache = PLAN.replace("database", "cache").replace("mix", "calls")
    assert list(read(tmp_path, on_cache).monitors) == ["host", "jvm", "cache-stats"]


#: A factor that switches the target.
SWITCHED = PLAN.replace("mix", "calls") + (
    "factors: {system: {database: {target: {database: {}}}, cache: {target: {cache: {}}}}}\n"
)


@pytest.mark.parametrize(
    "plan",
    [
        SWITCHED,
        SWITCHED.replace("target: {database: {}}\n", "", 1),
        SWITCHED.replace("target: {database: {}}\n", "target: {cache: {}}\n", 1),
        PLAN.replace("mix", "calls") + "factors: {target: [{database: {}}, {cache: {}}]}\n",
    ],
)
def test_each_treatment_has_the_default_monitors_of_its_target(tmp_path: Path, plan: str) -> None:
    settings = [treatment.resolved for treatment in read(tmp_path, plan).treatments]
    assert {setting.target_name: [*setting.monitors] for setting in settings} == {
        "database": ["host"],
        "cache": ["host", "jvm", "cache-stats"],
    }


def test_an_option_of_a_default_monitor_leaves_the_others(tmp_path: Path) -> None:
    set_by_option = read(tmp_path, SWITCHED, sets=("monitors.host.disks=false",))
    for treatment in set_by_option.treatments:
        assert treatment.resolved.document()["monitors"]["host"] == {"disks": False}
    varied = read(tmp_path, PLAN + "factors: {monitors.host.disks: [true, false]}\n")
    assert [[*treatment.resolved.monitors] for treatment in varied.treatments] == [["host"], ["host"]]


def test_no_monitors_is_a_choice(tmp_path: Path) -> None:
    assert dict(read(tmp_path, PLAN + "monitors: []").monitors) == {}


def test_the_name_is_the_files_and_fit_for_a_path(tmp_path: Path) -> None:
    from loadcell.plan.load import load_plan
    from plan.fake_parts import PARTS

    path = tmp_path / "my plan (2)! .yaml"
    path.write_text(PLAN)
    assert load_plan(path, PARTS).name == "my-plan-2"


# -- levels


@pytest.mark.parametrize(
    ("levels", "values"),
    [
        ("{from: 5, to: 20, step: 5}", [5, 10, 15, 20]),
        ("{from: 5, to: 22, step: 5}", [5, 10, 15, 20]),
        ("{from: 20, to: 5, step: -5}", [20, 15, 10, 5]),
        ("{from: 5, to: 5, step: 1}", [5]),
        ("{from: 1, to: 64, times: 4}", [1, 4, 16, 64]),
        ("{from: 1, to: 60, times: 4}", [1, 4, 16]),
        ("{from: 1, to: 10, times: 1.5}", [1, 2, 3, 5, 8]),
        ("{from: 64, to: 1, times: 0.25}", [64, 16, 4, 1]),
        ("{from: 5, to: 5, times: 2}", [5]),
        ("[3, 1, 2]", [3, 1, 2]),
    ],
)
def test_levels_of_whole_numbers(levels: str, values: list[int], tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + f"factors: {{load.clients: {levels}}}")
    problems = [treatment.values["load.clients"] for treatment in plan.treatments]
    assert problems == values
    assert [type(value) for value in problems] == [int] * len(values)
    assert [treatment.resolved.load.clients for treatment in plan.treatments] == values


@pytest.mark.parametrize(
    ("path", "levels", "values"),
    [
        ("workload.mix.ratio", "{from: 0.1, to: 0.5, step: 0.1}", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("workload.mix.ratio", "{from: 0.1, to: 1.0, times: 3}", [0.1, 0.3, 0.9]),
        ("load.duration", "{from: 1s, to: 3s, step: 1s}", ["1s", "2s", "3s"]),
        ("load.duration", "{from: 100ms, to: 1000ms, times: 10}", ["100ms", "1000ms"]),
        (
            "target.database.settings.work_mem",
            "{from: 64MB, to: 256MB, times: 2}",
            ["64MB", "128MB", "256MB"],
        ),
    ],
)
def test_levels_of_other_kinds(path: str, levels: str, values: list[object], tmp_path: Path) -> None:
    text = PLAN.replace("{clients: 1}", "{clients: 1, interval: 100ms}")
    plan = read(tmp_path, text + f"factors: {{{path}: {levels}}}")
    assert [treatment.values[path] for treatment in plan.treatments] == values


def test_a_free_setting_may_have_dots_in_its_name(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "factors: {target.database.settings.pg_stat.track: [all, none]}")
    settings = [treatment.resolved.target for treatment in plan.treatments]
    assert [s.settings for s in settings if isinstance(s, DatabaseOptions)] == [
        {"pg_stat.track": "all"},
        {"pg_stat.track": "none"},
    ]
    assert [treatment.id for treatment in plan.treatments] == ["track=all", "track=none"]


def test_paths_lead_into_named_and_nested_options(tmp_path: Path) -> None:
    text = PLAN.replace("{mix: {}}", "{calls: {operations: {read: {}}}}") + (
        "factors:\n"
        "  workload.calls.operations.read.weight: [1, 9]\n"
        "  workload.calls.first.think: [1s]\n"
        "  workload.calls.passed_on.any.thing: [x]\n"
    )
    assert read(tmp_path, text).treatments[1].resolved.document()["workload"]["calls"] == {
        "operations": {"read": {"weight": 9, "think": "0s"}},
        "first": {"weight": 1, "think": "1s"},
        "passed_on": {"any.thing": "x"},
    }


def test_named_levels_set_several_things_and_leave_the_rest(tmp_path: Path) -> None:
    plan = read(
        tmp_path,
        PLAN.replace("{database: {}}", "{database: {data: own, settings: {a: 1}}}")
        + "factors:\n  storage:\n    local: {target.database.data: x, target.database.settings.b: 2}\n"
        + "    plain: {}\n",
    )
    first, second = plan.treatments
    assert (first.id, first.levels) == ("storage=local", {"storage": "local"})
    assert first.values == {"target.database.data": "x", "target.database.settings.b": 2}
    assert first.resolved.document()["target"]["database"]["settings"] == {"a": 1, "b": 2}
    assert first.resolved.document()["target"]["database"]["data"] == "x"
    assert second.resolved.document()["target"]["database"]["data"] == "own"
    assert second.resolved.document()["target"]["database"]["settings"] == {"a": 1}
    assert document(plan.factors[0].record()) == {
        "key": "storage",
        "levels": [
            {"label": "local", "sets": {"target.database.data": "x", "target.database.settings.b": 2}},
            {"label": "plain", "sets": {}},
        ],
    }


def test_a_named_level_can_replace_a_whole_section(tmp_path: Path) -> None:
    text = PLAN.replace("mix: {}", "mix: {tables: 7}") + (
        "factors: {work: {plain: {workload.mix: {}}, many: {workload.mix: {tables: 9}, load.clients: cpus}}}"
    )
    plain, many = read(tmp_path, text).treatments
    assert plain.resolved.workload.model_dump()["tables"] == 1  # the default, not the 7 that was replaced
    assert many.resolved.workload.model_dump()["tables"] == 9
    assert (plain.resolved.load.clients, many.resolved.load.clients) == (1, len(os.sched_getaffinity(0)))


def test_a_client_for_each_processor_is_a_number_once_it_is_read(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN.replace("{clients: 1}", "{clients: cpus}"))
    assert plan.base.document()["load"]["clients"] == len(os.sched_getaffinity(0))


def test_a_named_level_can_switch_the_whole_target(tmp_path: Path) -> None:
    text = PLAN + "factors:\n  system:\n    db: {}\n    cache: {target: {cache: {memory: 2MB}}}\n"
    first, second = read(tmp_path, text).treatments
    assert (first.resolved.target_name, second.resolved.target_name) == ("database", "cache")
    assert isinstance(second.resolved.target, CacheOptions)
    assert second.resolved.target.memory == 2_000_000


def test_whole_targets_may_be_listed_too(tmp_path: Path) -> None:
    assert ids(tmp_path, PLAN + "factors: {target: [{database: {}}, {cache: {}}]}") == [
        "target=database",
        "target=cache",
    ]


def test_a_factor_may_give_what_the_plan_leaves_out(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN.replace("load: {clients: 1}\n", "") + "factors: {load.clients: [8, 16]}")
    assert [treatment.resolved.load.clients for treatment in plan.treatments] == [8, 16]
    assert plan.base.load.clients == 8


# -- designs


def test_no_factors_make_one_treatment(tmp_path: Path) -> None:
    (treatment,) = read(tmp_path, PLAN).treatments
    assert (treatment.id, treatment.levels, treatment.values) == ("baseline", {}, {})


def test_full_is_every_combination_the_first_factor_slowest(tmp_path: Path) -> None:
    text = PLAN + "factors: {load.clients: [1, 2], target.database.data: [a, b, c]}"
    expected = [f"clients={clients},data={data}" for clients in (1, 2) for data in "abc"]
    assert ids(tmp_path, text) == expected


ONE_AT_A_TIME = FOUR_CLIENTS + (
    "design: one-at-a-time\nfactors: {load.clients: [1, 4, 16], target.database.settings.mem: [1GB, 2GB]}\n"
)


def test_one_at_a_time_goes_round_the_plans_own_values(tmp_path: Path) -> None:
    plan = read(tmp_path, ONE_AT_A_TIME)
    assert [t.id for t in plan.treatments] == ["baseline", "clients=1", "clients=16", "mem=1GB", "mem=2GB"]
    assert [t.resolved.load.clients for t in plan.treatments] == [4, 1, 16, 4, 4]
    baseline = plan.treatments[0]
    assert baseline.levels == {"load.clients": "4", "target.database.settings.mem": "default"}
    assert baseline.values == {"load.clients": 4}
    assert plan.treatments[3].levels == {"load.clients": "4", "target.database.settings.mem": "1GB"}


def test_the_baseline_is_found_however_the_value_is_written(tmp_path: Path) -> None:
    text = PLAN.replace("{clients: 1}", "{clients: 1, duration: 1min}") + (
        "design: one-at-a-time\nfactors: {load.duration: [30s, 60s], load.warmup: [5s, 9s]}\n"
    )
    assert ids(tmp_path, text) == ["baseline", "duration=30s", "warmup=9s"]


def test_crossed_factors_are_combined_with_everything(tmp_path: Path) -> None:
    expected = [
        f"{change}storage={storage}"
        for storage in ("x", "y")
        for change in ("", "clients=1,", "clients=16,", "mem=1GB,", "mem=2GB,")
    ]
    under_cross = (
        ONE_AT_A_TIME + "cross: {storage: {x: {target.database.data: x}, y: {target.database.data: y}}}"
    )
    assert ids(tmp_path, under_cross) == expected
    by_name = under_cross.replace(
        "2GB]}", "2GB], storage: {x: {target.database.data: x}, y: {target.database.data: y}}}"
    )
    by_name = by_name[: by_name.index("cross:")] + "cross: [storage]"
    assert ids(tmp_path, by_name) == expected


# -- names of treatments


def test_names_use_the_last_segment_and_the_whole_path_where_it_is_ambiguous(tmp_path: Path) -> None:
    text = PLAN + "factors: {workload.mix.share: [5%], target.database.settings.share: [b]}"
    assert ids(tmp_path, text) == ["workload.mix.share=5%,target.database.settings.share=b"]


def test_names_are_safe_in_a_path(tmp_path: Path) -> None:
    assert ids(tmp_path, PLAN + "factors: {target.database.data: [/mnt/a b, ../x, é]}") == [
        "data=_mnt_a_b",
        "data=_._x",
        "data=_",
    ]


def test_names_that_would_be_long_or_alike_are_numbers(tmp_path: Path) -> None:
    long = "x" * 61
    assert ids(tmp_path, PLAN + f"factors: {{target.database.data: [a, {long}]}}") == ["t01", "t02"]
    assert ids(tmp_path, PLAN + "factors: {target.database.data: [/a, +a, ':a']}") == ["t01", "t02", "t03"]


# -- many


def test_ten_thousand_treatments_are_counted_before_they_are_built(tmp_path: Path) -> None:
    text = PLAN + "factors: {load.clients: {from: 1, to: 10000, step: 1}}\nrepeats: 2\n"
    plan = read(tmp_path, text)
    assert (plan.treatment_count, plan.size()) == (10_000, 20_000)
    assert "treatments" not in vars(plan)
    assert len({treatment.id for treatment in plan.treatments}) == 10_000


def test_of_very_many_the_ends_are_checked_at_once_and_the_rest_when_built(tmp_path: Path) -> None:
    levels = list(range(1, 2001))
    text = PLAN + f"factors: {{load.clients: {[*levels[:-1], 0]}}}"
    assert [problem.finding for problem in mistakes(tmp_path, text)] == ["found 0"]
    levels[1] = 0
    plan = read(tmp_path, PLAN + f"factors: {{load.clients: {levels}}}")
    with pytest.raises(PlanError, match="found 0"):
        _ = plan.treatments
