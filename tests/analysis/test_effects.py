"""Effects of factors: what is recovered, what is distinguishable, and what a design cannot show."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.reported import stream
from analysis.runs import analysis_of, findings_by_code
from loadcell.analysis.effects import Effects, Interaction, MainEffect, find
from loadcell.analysis.effects_findings import choices
from loadcell.analysis.finding import Subject
from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.ranking import summary
from loadcell.analysis.sweep import speed_of
from loadcell.report.texts import LANGUAGES, Texts
from stats.simulated import factorial

CUBE = {"a": [1, 2], "b": ["x", "y"], "c": ["u", "v"]}


def main(effects: Effects, key: str) -> MainEffect:
    return next(item for item in effects.mains if item.key == key)


def pair(effects: Effects, *keys: str) -> Interaction:
    return next(item for item in effects.interactions if {item.of, item.at} == set(keys))


def doubling(levels: dict[str, Any]) -> float:
    """a doubles, b adds a tenth, c does nothing; a and b together lose a fifth."""
    result = levels["a"] == 2 and levels["b"] == "y"
    return 1000 * levels["a"] * (1.1 if levels["b"] == "y" else 1) * (0.8 if result else 1)


def test_known_ratios_come_back() -> None:
    """Over b's levels a doubles, or doubles less a fifth: the geometric mean of 2 and 1.6."""
    effects = factorial(CUBE, doubling, 3, noise=0.0).effects
    assert main(effects, "a").change.ratio.value == pytest.approx(math.sqrt(2 * 1.6))
    assert main(effects, "b").change.ratio.value == pytest.approx(1.1 * math.sqrt(0.8))
    assert main(effects, "c").change.ratio.value == pytest.approx(1)
    interaction = pair(effects, "a", "b")
    assert {level: change.ratio.value for level, change in interaction.changes.items()} == pytest.approx(
        {"x": 2, "y": 1.6} if interaction.of == "a" else {"1": 1.1, "2": 0.88}
    )


def test_throughput_that_follows_the_offered_rate_has_no_effects() -> None:
    """Persistence of a Redis at 1,000/s costs response time and writes, not throughput."""

    def offered(rate_per_s: float, keys: dict[str, list[Any]]) -> Effects:
        treatments = factorial(keys, lambda levels: 1000.0, 3, noise=0.0).treatments
        loops = [
            replace(
                item,
                trials=tuple(
                    replace(trial, open_loop=OpenLoop("constant", rate_per_s, trial.throughput_per_s))
                    for trial in item.trials
                ),
            )
            for item in treatments
        ]
        return find(loops, speed_of, "full")

    for keys in (CUBE, {"persistence": ["none", "always"]}):
        assert (offered(1000.0, keys).reason, offered(1000.0, keys).changes) == ("open-loop", ())
        assert offered(2000.0, keys).reason != "open-loop", "overloaded: throughput is a capacity"


def test_the_shares_are_all_there_is() -> None:
    effects = factorial(CUBE, doubling, 4, noise=0.1).effects
    shares = [*(item.share for item in effects.mains), *(item.share for item in effects.interactions)]
    assert sum(shares) + effects.higher + effects.noise == pytest.approx(1)
    assert all(share >= 0 for share in shares)


def test_jains_own_example() -> None:
    """Memory-cache study, 2^2: y = 15, 45, 25, 75.

    On his additive scale the shares are 76, 19 and 5 % (1991, 17.3).
    """
    cells = {(4, 1): 15, (16, 1): 45, (4, 2): 25, (16, 2): 75}
    effects = factorial(
        {"memory": [4, 16], "cache": [1, 2]},
        lambda levels: math.exp(cells[levels["memory"], levels["cache"]] / 10),
        1,
        noise=0.0,
    ).effects
    assert main(effects, "memory").share == pytest.approx(0.7619, abs=1e-4)
    assert main(effects, "cache").share == pytest.approx(0.1905, abs=1e-4)
    assert pair(effects, "memory", "cache").share == pytest.approx(0.0476, abs=1e-4)


def test_levels_stand_against_the_overall_mean() -> None:
    effects = factorial(
        {"a": [1, 2, 4], "b": ["x", "y"]}, lambda levels: 100.0 * levels["a"], 2, noise=0.0
    ).effects
    levels = {level: ratio.value for level, ratio in main(effects, "a").levels.items()}
    assert levels == pytest.approx({"1": 0.5, "2": 1, "4": 2})


def test_drift_of_the_machine_is_no_effect_and_no_noise() -> None:
    effects = factorial(CUBE, doubling, 4, noise=0.001, drift=0.3).effects
    assert effects.noise < 0.001
    assert main(effects, "c").real is False
    assert main(effects, "b").real is True


def test_intervals_hold_the_truth_in_95_of_100_experiments() -> None:
    """Two repeats of eight treatments, a drifting machine: 400 experiments, binomial bounds of 4 standard
    errors.
    """
    held = 0
    for seed in range(400):
        ratio = main(
            factorial(CUBE, doubling, 2, noise=0.03, drift=0.05, seed=seed).effects, "a"
        ).change.ratio
        assert ratio.low is not None
        assert ratio.high is not None
        held += ratio.low <= math.sqrt(2 * 1.6) <= ratio.high
    assert abs(held / 400 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400)


def test_what_does_nothing_is_seldom_called_an_effect() -> None:
    """Six terms are judged together, so that in at most 5 % of experiments any of them is a false alarm."""
    alarms = 0
    for seed in range(300):
        effects = factorial(CUBE, lambda levels: 100.0, 3, noise=0.03, drift=0.05, seed=seed).effects
        terms: list[MainEffect | Interaction] = [*effects.mains, *effects.interactions]
        alarms += any(term.real for term in terms)
    assert alarms / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_a_trial_that_failed_does_not_tilt_the_effects() -> None:
    """The fast block lacks one treatment: its mean is compared with what that block gave the others."""
    analysis = analysis_of(
        {"1x": [100, 200], "1y": [100, 200], "2x": [200, 400], "2y": [200, None]},
        levels={f"{a}{b}": {"a": a, "b": b} for a in (1, 2) for b in "xy"},
    )
    assert main(analysis.effects, "a").change.ratio.value == pytest.approx(2)
    assert main(analysis.effects, "b").change.ratio.value == pytest.approx(1)


def test_the_stream_says_what_its_author_saw_and_what_he_could_not() -> None:
    """Rules cost much with one thread, and four threads remove that: their interaction explains most.
    Retained records matter little on average and much for ten rules in one thread. One repeat: descriptive.
    """
    analysis = stream()
    effects = analysis.effects
    interaction = effects.interactions[0]
    assert (interaction.of, interaction.at) == ("engine.rules", "engine.threads")
    assert interaction.share > effects.mains[0].share, "the interaction explains more than any factor alone"
    assert interaction.changes["1"].ratio.value == pytest.approx(math.sqrt(21 / 46 * 22 / 79))
    assert interaction.changes["4"].ratio.value == pytest.approx(math.sqrt(24 / 23 * 26 / 22))
    assert not main(effects, "engine.retained_records").matters
    assert not effects.repeated
    assert all(item.real is None for item in effects.mains)
    assert all(item.change.ratio.low is None for item in effects.mains)
    sentences = [
        Texts("en").message(item.message) for item in analysis.findings if item.subject is Subject.EFFECTS
    ]
    assert sentences == [
        "rules and threads interact (41% of the variance of throughput). From 1 to 10, rules changes "
        "throughput by ×0.357 at threads = 1, but by ×1.11 at threads = 4.",
        "rules: from 1 to 10, throughput changed by ×0.629 on average, which accounts for 27% of its "
        "variance.",
        "threads: from 1 to 4, throughput changed by ×1.52 on average, which accounts for 22% of its "
        "variance.",
        "retained_records: from 200000 to 500000, throughput changed little on average (×0.856, 3.1% of its "
        "variance), but by ×0.582 at rules = 10 and threads = 1. Without repeats, an effect under this "
        "condition cannot be distinguished from chance.",
        "Effects of factors are descriptive only: without repeats they cannot be separated from noise. "
        "Set `repeats` to 2 or more.",
    ]


def test_of_the_streams_threads_four_is_the_safe_choice() -> None:
    """At worst 22 s instead of 26 with one rule and many records; at best 79 s become 22."""
    choice = next(item for item in stream().effects.choices if item.key == "engine.threads")
    assert choice.level == "4"
    assert choice.risks == pytest.approx(22 / 26)
    assert choice.buys == pytest.approx(79 / 22)


def test_a_choice_that_repeats_do_not_tell_is_none() -> None:
    """More files help one engine and cost the other as much: 4 lies between.

    With much noise another might be the safest.
    """

    def speed(levels: dict[str, Any]) -> float:
        return 1000 * (1 + 0.1 * levels["files"] if levels["engine"] == "a" else 3 - 0.1 * levels["files"])

    factors = {"files": [1, 4, 8], "engine": ["a", "b"]}
    for noise, key in ((0.001, "found.effects.choose"), (0.2, "found.effects.choose.unsure")):
        effects = factorial(factors, speed, 6, noise=noise).effects
        assert pair(effects, "files", "engine").matters
        sentences = {
            choice.message.arguments["factor"]: choice.message
            for choice in choices(effects)
            if choice.message.code.startswith("found.effects.choose")
        }
        assert sentences["files"].code == key
        assert sentences["engine"].code == "found.effects.choose.always"
    assert sentences["files"].arguments["others"]


ALONE = {"a": [1, 2, 3], "b": ["x", "y"], "c": ["u", "v"]}


def star(levels: dict[str, Any]) -> bool:
    """At most one factor differs from a = 1, b = x, c = u."""
    return (levels["a"] != 1) + (levels["b"] != "x") + (levels["c"] != "u") <= 1


def test_one_at_a_time_holds_each_level_against_the_baseline() -> None:
    def speed(levels: dict[str, Any]) -> float:
        return 100 * levels["a"] * (1.5 if levels["b"] == "y" else 1)

    analysis = factorial(ALONE, speed, 6, noise=0.01, only=star, design="one-at-a-time")
    changes = {(item.key, item.before, item.after): item.ratio for item in analysis.effects.changes}
    assert set(changes) == {("a", "1", "2"), ("a", "1", "3"), ("b", "x", "y"), ("c", "u", "v")}
    assert changes["a", "1", "3"].value == pytest.approx(3, rel=0.03)
    assert changes["b", "x", "y"].is_significant
    assert not analysis.effects.interactions
    keys = [item.message.code for item in analysis.findings if item.subject is Subject.EFFECTS]
    assert keys[0] == "found.effects.alone"
    assert keys[-1] == "found.effects.invisible"


def test_one_at_a_time_with_a_crossed_factor_has_a_baseline_each() -> None:
    factors = {**ALONE, "storage": ["local", "remote"]}

    def speed(levels: dict[str, Any]) -> float:
        return 100 * levels["a"] * (0.5 if levels["storage"] == "remote" else 1)

    result = factorial(factors, speed, 2, noise=0.0, only=star, design="one-at-a-time").effects
    ratios = {
        (item.key, item.after, item.base and item.base.levels["storage"]): item.ratio.value
        for item in result.changes
    }
    assert ratios["a", "3", "local"] == pytest.approx(3)
    assert ratios["a", "3", "remote"] == pytest.approx(3)
    assert ratios["storage", "remote", "local"] == pytest.approx(0.5)


def test_a_baseline_that_gave_nothing_leaves_nothing_to_compare_with() -> None:
    analysis = analysis_of(
        {"1x": [None], "2x": [200], "1y": [100]},
        levels={"1x": {"a": 1, "b": "x"}, "2x": {"a": 2, "b": "x"}, "1y": {"a": 1, "b": "y"}},
    )
    assert analysis.effects.reason == "missing"


@pytest.mark.parametrize(
    ("throughputs", "key"),
    [
        ({"1x": [100], "1y": [100], "2x": [100], "2y": [None]}, "found.effects.missing"),
        ({"1x": [100], "1y": [100], "2x": [100], "2y": [0]}, "found.effects.missing"),
        ({"1x": [100], "1y": [100], "2x": [100], "2y": [math.nan]}, "found.effects.missing"),
        ({"1x": [100], "1y": [100], "2x": [100]}, "found.effects.gaps"),
        ({"1x": [9, 9], "1y": [9, 9], "2x": [9, 9], "2y": [9, 9]}, "found.effects.hardly.once"),
        ({"1x": [None], "1y": [None], "2x": [None], "2y": [None]}, None),
        ({"1x": [100], "2x": [100]}, "found.effects.one.once"),
        ({"1x": [100], "2x": [None]}, None),
    ],
)  # fmt: skip
def test_whatever_was_measured_has_a_sentence(
    throughputs: dict[str, list[float | None]], key: str | None
) -> None:
    levels = {name: {"a": int(name[0]), "b": name[1]} for name in throughputs}
    analysis = analysis_of(throughputs, levels=levels)
    matches = [item for item in analysis.findings if item.subject is Subject.EFFECTS]
    assert (matches[0].message.code if matches else None) == key
    for language in LANGUAGES:
        for finding in matches:
            assert "nan" not in Texts(language).message(finding.message)


@pytest.mark.parametrize(
    ("off", "key"),
    [
        ([200, 202, 201], "found.effects.one"),
        ([101, 102, 103], "found.effects.one.small"),
        ([90, 130, 100], "found.effects.one.noise"),
        ([200], "found.effects.one.once"),
    ],
)
def test_the_only_factor_of_a_run_has_its_effect_once(off: list[float | None], key: str) -> None:
    on: list[float | None] = [100, 101, 102]
    levels = {"on": {"fsync": "on"}, "off": {"fsync": "off"}}
    analysis = analysis_of({"on": on[: len(off)], "off": off}, levels=levels)
    effects = [item for item in analysis.findings if item.subject is Subject.EFFECTS]
    assert [item.message.code for item in effects] == [key]
    arguments = effects[0].message.arguments
    assert (arguments["factor"], arguments["before"], arguments["after"]) == ("fsync", "on", "off")
    assert "found.lowest" not in [item.message.code for item in summary(analysis.findings, analysis.trials)]


def test_of_the_only_factor_the_ratio_is_that_of_geometric_means() -> None:
    levels = {"on": {"fsync": "on"}, "off": {"fsync": "off"}}
    analysis = analysis_of({"on": [100, 400], "off": [400, 900]}, levels=levels)
    assert analysis.effects.changes[0].ratio.value == pytest.approx(600 / 200)


def test_throughput_follows_the_rate_of_an_open_loop_which_is_no_effect() -> None:
    levels = {name: {"load.rate": int(name)} for name in ("100", "200")}
    assert not analysis_of({"100": [100], "200": [200]}, levels=levels).effects.changes


def test_a_thousand_treatments_of_many_factors_are_no_trouble() -> None:
    factors = {f"f{n}": [1, 2] for n in range(8)} | {"load.clients": [1, 2, 4, 8]}
    effects = factorial(factors, lambda levels: 100.0 * levels["load.clients"] * levels["f3"], 2).effects
    assert [item.key for item in effects.mains[:2]] == ["load.clients", "f3"]
    assert np.isclose(main(effects, "f3").change.ratio.value, 2, rtol=0.01)


def test_the_findings_of_a_small_real_effect_beside_a_large_load_are_not_lost() -> None:
    """Clients from 1 to 256 explain nearly all: a storage that costs a quarter still matters."""
    factors = {"load.clients": [1, 4, 16, 64, 256], "storage": ["local", "remote"]}
    analysis = factorial(
        factors,
        lambda levels: 100 * levels["load.clients"] * (0.75 if levels["storage"] == "remote" else 1),
        3,
    )
    assert main(analysis.effects, "storage").share < 0.05
    keys = [item.message.code for item in analysis.findings if item.subject is Subject.EFFECTS]
    assert keys == ["found.effects.main", "found.effects.main"]
    assert "found.effects.noise" not in findings_by_code(analysis)


@pytest.mark.parametrize(
    ("repeats", "noise", "effect", "code"),
    [
        (3, 0.05, 1.0, "found.effects.noise"),
        (6, 0.002, 1.0, "found.effects.hardly"),
        (6, 0.002, 1.01, "found.effects.hardly"),
    ],
)
def test_factors_without_an_effect_to_speak_of_have_the_ends_of_their_intervals(
    repeats: int, noise: float, effect: float, code: str
) -> None:
    """Small is what is surely below 2%; an effect that is not excluded is no small one."""
    analysis = factorial(
        CUBE,
        lambda levels: 1000.0 * levels["a"] * (effect if levels["b"] == "y" else 1),
        repeats,
        noise=noise,
    )
    silent = [main(analysis.effects, key).change.ratio for key in ("b", "c")]
    [finding] = [item for item in analysis.findings if item.message.code in ("found.effects.noise", code)]
    arguments = finding.message.arguments
    assert (finding.message.code, arguments["factors"]) == (code, ("b", "c"))
    assert arguments["low_times"] == min(ratio.low for ratio in silent if ratio.low is not None)
    assert arguments["high_times"] == max(ratio.high for ratio in silent if ratio.high is not None)
    assert (arguments["high_times"] > 1.02) == (code == "found.effects.noise")


def engines(scan: float) -> Effects:
    """Two engines under three kinds of work: the fast one is 2.5 and 2 times as fast at two, `scan` times at
    the third.
    """
    faster = {"A": 2.5, "B": 2.0, "E": scan}
    return factorial(
        {"workload.ycsb.workload": list(faster), "target.store.engine": ["slow", "fast"]},
        lambda levels: (
            {"A": 100, "B": 1000, "E": 50}[levels["workload.ycsb.workload"]]
            * (faster[levels["workload.ycsb.workload"]] if levels["target.store.engine"] == "fast" else 1)
        ),
        6,
        noise=0.05,
    ).effects


def test_what_is_chosen_does_something_under_what_is_asked_for_and_not_the_other_way_round() -> None:
    effects = engines(1.0)
    (interaction,) = effects.interactions
    assert main(effects, "workload.ycsb.workload").share > main(effects, "target.store.engine").share
    assert (interaction.of, interaction.at) == ("target.store.engine", "workload.ycsb.workload")
    assert interaction.changes["A"].ratio.value == pytest.approx(2.5, rel=0.1)
    assert interaction.changes["E"].ratio.value == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(("scan", "key"), [(1.01, ".never-behind"), (1.5, ".always")])
def test_a_level_is_the_best_one_everywhere_only_where_repeats_tell_so(scan: float, key: str) -> None:
    effects = engines(scan)
    (choice,) = effects.choices
    assert (choice.level, choice.surely) == ("fast", key == ".always")
    (choice_of_factor,) = choices(effects)
    assert choice_of_factor.message.code == f"found.effects.choose{key}"
