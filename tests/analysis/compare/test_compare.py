"""The comparison as a whole: what it finds, and what it does with data that are none."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from analysis.compare.simulated_runs import drifting, levels_of, record, run_of, runs_of
from loadcell.analysis import tukey
from loadcell.analysis.compare import findings, sides
from loadcell.analysis.compare.compare import OVERALL, Comparison, Row, compare, noise_floor
from loadcell.analysis.compare.metrics import METRICS, CannotCompareError, Verdict, named
from loadcell.analysis.compare.sides import Side, Sides
from loadcell.analysis.treatments import treatments
from loadcell.analysis.trials import of_run
from loadcell.model.trial_record import TrialRecord
from records import with_field

CHANCE = np.random.default_rng(42)
A, B = drifting(CHANCE, 10, 1.1)


def row(comparison: Comparison, metric: str = "throughput", context: str | None = None) -> Row:
    matches = [
        item
        for item in comparison.rows
        if item.metric.name == metric and (context is None or item.context == context)
    ]
    return matches[0]


def keys(comparison: Comparison) -> set[str]:
    return {finding.message.code for finding in findings.find(comparison, None)}


def test_a_faster_level_is_found_in_throughput_and_response_time() -> None:
    comparison = compare(levels_of(A, B))
    assert {item.metric.name: item.verdict.word for item in comparison.rows} == dict.fromkeys(
        ("throughput", "p50", "p95", "p99"), "faster"
    )
    throughput = row(comparison)
    assert throughput.effect is not None
    assert throughput.effect.low is not None
    assert throughput.effect.high is not None
    assert throughput.effect.low < 1.1 < throughput.effect.high
    assert throughput.effect.n == 10
    assert throughput.medians == (np.median(A), np.median(B))
    assert "compare.faster" in keys(comparison)
    assert not comparison.incomplete


def test_pairs_see_what_drift_hides_from_two_runs() -> None:
    wild_a, wild_b = drifting(np.random.default_rng(8), 10, 1.05, drift=0.2)
    paired, unpaired = compare(levels_of(wild_a, wild_b)), compare(runs_of(wild_a, wild_b))
    assert row(paired).verdict.word == "faster"
    assert (row(unpaired).verdict.word, row(unpaired).verdict.reason) == ("insufficient", "one-run")


def test_other_methods_agree_where_it_is_clear() -> None:
    checked = row(compare(levels_of(A, B))).checked
    assert checked is not None
    assert checked.means is not None
    for middle, low, high in (checked.medians, checked.means):
        assert 1 < low < middle < high
    assert checked.delta > 0.5


def test_treatments_combined_are_surer_than_each() -> None:
    levels = {f"{s}-{n}": {"s": s, "load.clients": str(n)} for s in ("x", "y") for n in (1, 2, 4, 8)}
    chance = np.random.default_rng(4)
    figures = {name: list(100 * np.exp(chance.normal(0.04 * (name[0] == "y"), 0.03, 8))) for name in levels}
    comparison = compare(sides.levels(*run_of(figures, levels=levels), factor="s"))
    overall, single = row(comparison, context=OVERALL), row(comparison, context="clients = 1")
    assert overall.effect is not None
    assert single.effect is not None
    assert overall.medians == (None, None)
    assert comparison.headline == (overall,)

    def width(row: Row) -> float:
        assert row.effect is not None
        assert row.effect.low is not None
        assert row.effect.high is not None
        return row.effect.high - row.effect.low

    assert width(overall) < 0.7 * width(single)


def test_several_are_ranked_with_groups() -> None:
    chance = np.random.default_rng(6)
    figures = {
        name: list(1000 * speed * np.exp(chance.normal(0, 0.01, 10)))
        for name, speed in {"base": 1.0, "much": 1.5, "alike": 1.001, "less": 0.8}.items()
    }
    comparison = compare(sides.levels(*run_of(figures)))
    top = comparison.ranking[0]
    assert (comparison.sides.sides[top.index].label, top.groups) == ("much", "a")
    groups = {comparison.sides.sides[rank.index].label: rank.groups for rank in comparison.ranking}
    assert groups["base"] == groups["alike"] == "b"
    assert groups["less"] == "c"
    assert "compare.ranked.alone" in keys(comparison)


def test_identical_arms_give_the_noise_and_the_noise_stops_a_claim() -> None:
    a, b = drifting(np.random.default_rng(12), 8, 1.0, noise=0.06)
    run, _ = run_of({"base": [1.0]}, levels={"base": {}})
    records = [
        record(2 * block + item, "base", block, float(values[block]), arm=arm)
        for block in range(8)
        for item, (arm, values) in enumerate((("a", a), ("b", b)))
    ]
    arms = compare(sides.arms(run, records))
    floor = noise_floor(arms)
    effect = row(arms).effect
    assert effect is not None
    assert effect.low is not None
    assert effect.high is not None
    assert floor["throughput", "base"] == pytest.approx(max(effect.high, 1 / effect.low) - 1)
    assert "compare.arms" in keys(arms)
    tight = levels_of(*drifting(np.random.default_rng(1), 10, 1.04, noise=0.005))
    assert row(compare(tight)).verdict.word == "faster"
    with_noise = row(compare(tight, noise={("throughput", "elsewhere"): 0.05}))
    assert (with_noise.verdict.word, with_noise.verdict.reason) == ("ambiguous", "noise")


def test_metrics_are_the_users_choice() -> None:
    comparison = compare(levels_of(A, B), named(["p99.9", "throughput"]))
    assert [item.metric.name for item in comparison.rows] == ["p99.9", "throughput"]
    assert comparison.headline[0].metric == METRICS["p99.9"]
    with pytest.raises(CannotCompareError, match="no metric 'p98'"):
        named(["p98"])


# --- bad input
# -----------------------------------------------------------------------------------------------------


def test_one_repeat_describes_itself() -> None:
    comparison = compare(levels_of([1000.0], [1100.0]))
    throughput = row(comparison)
    assert throughput.effect is not None
    assert throughput.effect.ratio == pytest.approx(1.1)
    assert throughput.effect.low is None
    assert (throughput.verdict.word, throughput.verdict.reason) == ("insufficient", "few")
    assert throughput.checked is None
    assert "compare.few" in keys(comparison)
    assert "compare.descriptive" not in keys(comparison)
    assert sentence(comparison, "compare.few").endswith("A verdict needs 6 repeats: `--set repeats=6`.")


def sentence(comparison: Comparison, code: str) -> str:
    """The text of the only finding with this code."""
    (finding,) = (item for item in findings.find(comparison, None) if item.message.code == code)
    return finding.message.text


def test_sides_with_different_numbers_of_values_are_counted_apart() -> None:
    comparison = compare(runs_of([100.0, 101.0, None], [110.0] * 5))
    effect = row(comparison).effect
    assert effect is not None
    assert (effect.n, effect.sizes) == (2, (2, 5))
    assert "(5 trials of second, 2 of first)" in sentence(comparison, "compare.insufficient.few-runs")
    equal = compare(runs_of([100.0, 101.0], [110.0, 111.0]))
    assert "(2 trials per side)" in sentence(equal, "compare.insufficient.few-runs")


def test_what_does_not_count_is_named_with_its_reason() -> None:
    assert sentence(compare(runs_of([100.0, None, 101.0, None], [110.0] * 4)), "compare.trials") == (
        "2 of 4 trials of first are excluded: 002-base-r2 and 004-base-r4 failed (the server went away). "
        "If the compared change itself causes the failures, its results look too good."
    )
    many = sentence(compare(runs_of([None] * 9, [110.0] * 9)), "compare.trials")
    assert "004-base-r4, … failed" in many


def test_medians_that_disagree_with_the_change_are_marked_and_explained() -> None:
    """Pairs lose 10 %, but the block in the middle gains: so does the median."""
    a = [100.0, 101.0, 102.0, 200.0, 300.0, 301.0, 302.0]
    b = [value * (1.05 if value == 200 else 0.9) for value in a]
    paired = compare(levels_of(a, b), [METRICS["throughput"]])
    assert row(paired).verdict.word == "slower"
    assert row(paired).contrary_medians == pytest.approx(0.05)
    text = sentence(paired, "compare.contrary.paired")
    assert text.startswith("In 1 row (marked *) the change disagrees with the two medians: throughput (-")
    assert "by the medians +5.0%. The change is the middle of the ratios within blocks" in text
    assert row(compare(levels_of(A, B))).contrary_medians is None


def test_medians_contradict_no_difference_that_is_not_claimed() -> None:
    """Where a difference is not known, chance puts the medians on either side."""
    a = [100.0, 101.0, 102.0, 200.0, 300.0, 301.0, 302.0]
    same = compare(levels_of(a, [value * (1.05 if value == 200 else 0.99) for value in a]))
    noisy = compare(levels_of(a, [value * (1.3 if value == 200 else 0.9 + value / 2000) for value in a]))
    single = compare(runs_of([100.0] * 4 + [50.0] * 3, [101.0] * 4 + [20.0] * 3))
    for comparison in (same, noisy, single):
        assert row(comparison).verdict.word in {"same", "ambiguous", "insufficient"}
        assert row(comparison).contrary_medians is None
        assert not any(code.startswith("compare.contrary") for code in keys(comparison))


def test_an_unknown_metric_lists_few_close_names() -> None:
    with pytest.raises(CannotCompareError) as caught:
        named(["host.cpuu"])
    assert caught.value.message.advice.startswith("It may be host.cpu, ")
    assert caught.value.message.advice.count(",") < 6
    with pytest.raises(CannotCompareError) as caught:
        named(["foo"])
    assert "throughput, mean, p50, p90; `loadcell plans metrics`" in caught.value.message.advice
    assert named(["latency.p99"]) == (METRICS["p99"],)


def test_where_the_run_is_the_unit_advice_speaks_of_runs() -> None:
    once = compare(runs_of(list(A)[:3], list(B)[:3]))
    assert "compare.insufficient.few-runs" in keys(once)
    assert not {"compare.descriptive.runs", "compare.descriptive", "compare.noise.unknown"} & keys(once)
    of_side = [run_of({"x": [value] * 2}) for value in (100.0, 103.0, 98.0)]
    labels = [", ".join(f"{side}-{number}" for number in (1, 2, 3)) for side in ("old", "new")]
    several = compare(sides.run_groups([sides.RunGroup(label, of_side) for label in labels]))
    (finding,) = (
        item for item in findings.find(several, None) if item.message.code == "compare.ambiguous.wide.runs"
    )
    assert finding.message.text.startswith("Whether new-1, new-2, new-3 differ from old-1, old-2, old-3 is")
    assert finding.message.text.endswith("More runs per side would narrow it.")


def test_a_side_without_a_single_good_trial() -> None:
    for make in (levels_of, runs_of):
        comparison = compare(make(list(A), [None] * 10))
        assert all(item.effect is None and item.verdict.reason == "no-figure" for item in comparison.rows)
        assert comparison.incomplete
        assert {"compare.none", "compare.trials"} <= keys(comparison)


def test_both_sides_without() -> None:
    comparison = compare(levels_of([None] * 3, [None] * 3))
    assert comparison.rows[0].medians == (None, None)
    assert comparison.incomplete


@pytest.mark.parametrize("bad", [math.nan, 0.0, math.inf])
def test_no_number_and_no_throughput_form_no_ratio(bad: float) -> None:
    broken = [bad, *list(B)[1:]]
    comparison = compare(levels_of(list(A), broken))
    throughput = row(comparison)
    assert throughput.effect is not None
    assert throughput.effect.n == 9
    assert throughput.unusable == (0, 1)
    assert all(math.isfinite(value) for value in (throughput.effect.ratio, *(throughput.medians)) if value)
    assert {"compare.unusable", "compare.lost-pairs"} & keys(comparison)


def test_nothing_but_zeros_is_no_figure() -> None:
    comparison = compare(levels_of(list(A), [0.0] * 10))
    assert row(comparison).effect is None
    assert "compare.unusable" in keys(comparison)


def test_constant_data_are_the_same_and_are_doubted() -> None:
    comparison = compare(levels_of([500.0] * 8, [500.0] * 8))
    assert row(comparison).verdict.word == "same"
    assert "compare.constant" in keys(comparison)
    faster = compare(levels_of([500.0] * 8, [600.0] * 8))
    assert row(faster).verdict.word == "faster"


def test_a_partner_that_failed_leaves_its_pair_out() -> None:
    comparison = compare(levels_of(list(A), [None, *list(B)[1:]]))
    effect = row(comparison).effect
    assert effect is not None
    assert effect.n == 9
    assert "compare.lost-pairs" in keys(comparison)


def test_a_treatment_that_only_fails_on_one_side_does_not_move_the_whole() -> None:
    levels = {f"{s}-{n}": {"s": s, "load.clients": n} for s in ("x", "y") for n in ("1", "2")}
    figures: dict[str, list[float | None]] = {name: list(A) for name in levels}
    figures["y-2"] = [None] * 10
    comparison = compare(sides.levels(*run_of(figures, levels=levels), factor="s"))
    overall = row(comparison, context=OVERALL)
    assert overall.effect is not None
    assert overall.effect.ratio == 1
    assert comparison.incomplete


def test_a_percentile_needs_transactions_beyond_it() -> None:
    run, records = run_of({"off": [100.0] * 6, "on": [100.0] * 6})
    records = [with_field(item, "totals.response.count", 400) for item in records]
    comparison = compare(sides.levels(run, records), named(["p95", "p99", "p99.9"]))
    assert [item.effect is not None for item in comparison.rows] == [True]
    assert [metric.name for metric in comparison.absent] == ["p99", "p99.9"]
    assert "compare.absent" in keys(comparison)
    assert "compare.no-value" not in keys(comparison)
    assert not comparison.incomplete, "neither side has them"
    one_side = [
        with_field(item, "totals.response.count", 20_000) if item.treatment == "on" else item
        for item in records
    ]
    lacking = compare(sides.levels(run, one_side), named(["p95", "p99"]))
    assert lacking.incomplete
    assert [(item.verdict.word, item.verdict.reason) for item in lacking.rows if item.effect is None] == [
        ("no-value", "scarce")
    ]
    (finding,) = (item for item in findings.find(lacking, None) if item.message.code == "compare.no-value")
    assert finding.message.text == (
        "1 value has no counterpart to compare with: p99 response time of setting = off. "
        "The exit status is therefore 3, or 1 by --fail-on."
    )


def test_a_percentile_is_of_all_trials_as_in_the_report_of_the_run() -> None:
    """Trials with more transactions are the faster ones: their median alone flatters a side."""
    run, records = run_of({"off": [60.0, 60.0, 100.0, 100.0, 100.0, 60.0, 60.0], "on": [200.0] * 7})
    counts = {60.0: 480, 100.0: 800, 200.0: 1600}
    records = [
        with_field(item, "totals.response.count", counts[item.totals.throughput_per_s or 0])
        for item in records
        if item.totals is not None
    ]

    def medians(records: list[TrialRecord]) -> tuple[float | None, ...]:
        (only,) = compare(sides.levels(run, records), named(["p99"])).rows
        return only.medians

    reported = [item.latency_ms("p99_ms") for item in treatments(run, of_run(run, records))]
    assert medians(records)[0] is None, "most trials of this side have too few"
    most = [with_field(item, "totals.response.count", 800) if item.block == 1 else item for item in records]
    assert list(medians(most)) == reported == [200.0, 60.0]
    none_beyond = [
        with_field(item, "totals.response.count", 20) if item.block == 2 else item for item in most
    ]
    assert medians(none_beyond) == (None, None)


def test_ten_thousand_trials_take_seconds() -> None:
    chance = np.random.default_rng(2)
    levels = {f"{s}-{n}": {"s": s, "load.clients": str(n)} for s in ("x", "y") for n in range(500)}
    figures = {name: list(1000 * np.exp(chance.normal(0, 0.02, 10))) for name in levels}
    chosen = sides.levels(*run_of(figures, levels=levels), factor="s")
    begun = time.process_time()
    comparison = compare(chosen)
    spent_s = time.process_time() - begun
    assert len(comparison.rows) == 4 * 501
    different = sum(item.verdict.word in {"faster", "slower"} for item in comparison.rows)
    assert different <= 0.01 * len(comparison.rows)
    assert spent_s < 60


def test_many_repeats_of_two_treatments() -> None:
    a, b = drifting(np.random.default_rng(3), 5000, 1.001)
    comparison = compare(levels_of(a, b))
    assert row(comparison).verdict.word == "same"


def test_a_side_that_lacks_a_context_altogether() -> None:
    trials = levels_of(A, B).sides[0].trials
    broken = Sides("runs", (Side("a", trials), Side("b", {})), {"": ""}, paired=False)
    assert compare(broken).rows[0].effect is None


def test_failed_transactions_are_reported() -> None:
    run, records = run_of({"off": list(A), "on": list(B)})
    records[1] = with_field(records[1], "totals.transactions.failed", 50)
    by_name = {
        f.message.code: f.message.arguments for f in findings.find(compare(sides.levels(run, records)), None)
    }
    assert by_name["compare.errors"]["count"] == 50
    assert by_name["compare.errors"]["side"] == "setting = on"


def test_a_ranking_separates_the_same_treatments_as_the_report() -> None:
    chance = np.random.default_rng(8)
    for _ in range(20):
        figures = {
            name: list(1000 * np.exp(chance.normal(0.02 * n, 0.02, 6))) for n, name in enumerate("abcd")
        }
        run, records = run_of(figures)
        comparison = compare(sides.levels(run, records), cross_checks=0)
        groups = {figures_of.index: set(figures_of.groups) for figures_of in comparison.ranking}
        reported = list(treatments(run, of_run(run, records)))
        test = tukey.of(reported, lambda trial: trial.throughput_per_s)
        for first, other in combinations(range(4), 2):
            assert test.differ(reported[first], reported[other]) == (not groups[first] & groups[other])


def test_a_side_that_lacks_a_context_is_not_ranked_by_the_others() -> None:
    """The last one failed where all are slow: a mean over the others would put the slowest first."""
    chance = np.random.default_rng(3)
    speeds = {"a": 1.0, "b": 1.1, "c": 0.8}
    levels = {f"{s}-{n}": {"s": s, "load.clients": n} for s in speeds for n in ("1", "2")}
    figures: dict[str, list[float | None]] = {
        name: list(1000 / int(name[2:]) ** 3 * speeds[name[0]] * np.exp(chance.normal(0, 0.01, 8)))
        for name in levels
    }
    figures["c-2"] = [None] * 8
    comparison = compare(sides.levels(*run_of(figures, levels=levels), factor="s"), cross_checks=0)
    assert [item.verdict.word for item in comparison.headline] == ["faster", "slower"]
    assert [item.index for item in comparison.ranking] == [1, 0]
    assert comparison.ranking[0].value == pytest.approx(1.1, rel=0.02)
    figures["c-2"] = [100.0, *[None] * 7]
    scarce = compare(sides.levels(*run_of(figures, levels=levels), factor="s"), cross_checks=0)
    assert [item.index for item in scarce.ranking] == [1, 0, 2]


def test_a_side_that_shares_no_block_is_not_ranked() -> None:
    """It was measured at another time: nothing tells it apart from its blocks."""
    chance = np.random.default_rng(4)
    drifts = np.where(np.arange(12) < 6, 1.0, 3.0) * np.exp(chance.normal(0, 0.01, (3, 12)))
    figures = {name: [float(value) for value in drifts[n]] for n, name in enumerate("abc")}
    apart = {"a": slice(6, 12), "b": slice(6, 12), "c": slice(0, 6)}
    values: dict[str, list[float | None]] = {
        name: [
            None if block in range(*apart[name].indices(12)) else figures[name][block] for block in range(12)
        ]
        for name in figures
    }
    comparison = compare(sides.levels(*run_of(values)), cross_checks=0)
    assert sorted(item.index for item in comparison.ranking) == [0, 1]


def test_a_gate_takes_a_row_that_only_the_page_calls_slower_for_ambiguous() -> None:
    """No row is passed over: `--fail-on slower --fail-on ambiguous` must not pass a page that says slower."""
    comparison = compare(levels_of(B, A), named(["throughput"]))
    (slower,) = comparison.rows
    assert (slower.verdict.word, slower.gate_word) == ("slower", "slower")
    doubtful = replace(slower, gate_p=0.06)
    assert (doubtful.verdict.word, doubtful.gate_word) == ("slower", "ambiguous")
    assert replace(comparison, rows=(doubtful,)).gate_words == {"ambiguous"}
    assert replace(comparison, rows=(slower, doubtful)).gate_words == {"slower", "ambiguous"}
    same = replace(slower, verdict=Verdict("same", "alike"), gate_p=None)
    assert same.gate_word == "same"
