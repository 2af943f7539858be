"""Findings on the return from an overload, and on an answer that trials above it contradict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from analysis.runs import run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.finding import Finding
from loadcell.model.run_record import PlannedTrial, SearchRecord
from loadcell.model.trial_record import (
    Check,
    ExpectationResult,
    Schedule,
    SearchObservation,
    Stage,
    Status,
    TrialRecord,
)
from loadcell.report.texts import Texts
from records import with_field

RATES = (1900, 7790, 7950, 12800, 20000)
LABELS = tuple(f"{rate}/s" for rate in RATES)
BOUND = "latency.p99 < 20ms"


class Tried(NamedTuple):
    """A trial of a search: its rate, what it gave (None: nothing), its p99, and what the machine did."""

    rate: int
    stage: Stage
    per_s: float | None
    p99_ms: float = 5.0
    check: str = ""

    @property
    def met(self) -> bool | None:
        if self.per_s is None:
            return None
        return self.p99_ms < 20 and self.per_s >= 0.98 * self.rate


#: The search that finds 7790/s: it met the bound with a p99 of 7.6 and 9 ms, and 12800/s missed it.
STEPS = (
    Tried(1900, "bracket", 1900), Tried(7790, "bracket", 7796, 8.0), Tried(12800, "bracket", 12790, 60.0),
    Tried(7950, "refine", 7950, 25.0), Tried(7790, "confirm", 7796, 7.6), Tried(7950, "confirm", 7950, 31.0),
    Tried(7790, "confirm", 7790, 9.0), Tried(7950, "confirm", 7950, 28.0),
)  # fmt: skip
OVERLOAD = Tried(12800, "overload", 9000, 900.0)


def searched(*tried: Tried) -> Analysis:
    """A finished search for the highest rate with a p99 below 20 ms."""
    run, records = run_of({str(item.rate): [1.0] for item in tried}, levels={
        str(rate): {"load.rate": f"{rate}/s"} for rate in RATES
    })  # fmt: skip
    base = records[0]
    planned, trials = [], []
    for number, item in enumerate(tried, 1):
        name = f"{number:03d}-{item.rate}"
        planned.append(PlannedTrial(number, name, str(item.rate), number, block=1))
        trials.append(_record(replace(base, number=number, name=name, treatment=str(item.rate)), item))
    search = SearchRecord(
        "load.rate", "bound", "max load.rate", "throughput", (BOUND,), LABELS, tuple(map(float, RATES))
    )
    run = replace(run, search=search, repeats=2, seed=1, state="finished", trials=tuple(planned))
    return analyse(run, trials)


def _record(record: TrialRecord, item: Tried) -> TrialRecord:
    verdict = "met" if item.p99_ms < 20 else "missed"
    bounds = () if item.per_s is None else (ExpectationResult(BOUND, verdict, item.p99_ms),)
    observed = SearchObservation(
        0, RATES.index(item.rate), f"{item.rate}/s", item.stage, "lowest", item.per_s, item.met, bounds,
        None if item.per_s is None else item.per_s >= 0.98 * item.rate,
    )  # fmt: skip
    record = replace(record, search=observed, levels={"load.rate": f"{item.rate}/s"})
    if item.check:
        record = replace(record, checks=(Check(item.check, "noticed", {}),))
    if item.per_s is None:
        return replace(record, status=Status.FAILED, reason="it went away")
    schedule = Schedule("constant", item.rate * 10, float(item.rate), item.per_s, requests_mean=5.0)
    return replace(with_field(record, "totals.throughput_per_s", item.per_s), schedule=schedule)


def findings(*tried: Tried) -> dict[str, Finding]:
    return {finding.message.code: finding for finding in searched(*STEPS, *tried).findings}


def after(per_s: float | None, p99_ms: float = 5.0, check: str = "") -> Tried:
    return Tried(7790, "after", per_s, p99_ms, check)


CLAIMS = ("found.search.metastable", "found.search.undecided", "found.search.recovered")


def claims(results: dict[str, Finding]) -> list[str]:
    return [code.removeprefix("found.search.") for code in results if code.startswith(CLAIMS)]


def test_lower_throughput_after_each_overload_is_named_with_the_rates() -> None:
    results = findings(OVERLOAD, after(2000, 900), OVERLOAD, after(2500, 800))
    assert claims(results) == ["metastable"]
    arguments = results["found.search.metastable"].message.arguments
    assert (arguments["after_per_s"], arguments["before_per_s"]) == (2500, 7793)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_missed_response_time_is_named_and_not_a_throughput_that_rose(lang: str) -> None:
    results = findings(OVERLOAD, after(8496, 88.9), OVERLOAD, after(7800, 41.4))
    assert claims(results) == ["metastable.time"]
    sentence = Texts(lang, "request").message(results["found.search.metastable.time"].message)
    for part in (BOUND, "65.2 ms", "8.00 ms"):
        assert part in sentence
    assert "8,496" not in sentence


def test_trials_that_all_failed_after_each_overload_are_reported() -> None:
    assert claims(findings(OVERLOAD, after(None), OVERLOAD, after(None))) == ["metastable.nothing"]


@pytest.mark.parametrize(
    "tried",
    [
        pytest.param((OVERLOAD, after(7790, 20.5), OVERLOAD, after(7790, 9.5)), id="recovered late"),
        pytest.param((OVERLOAD, after(7790, 5.0)), id="at once"),
    ],
)
def test_a_target_that_met_the_bound_again_came_back(tried: Sequence[Tried]) -> None:
    assert claims(findings(*tried)) == ["recovered"]


#: Kept up with, and the bound met, where the target was to be overloaded.
NO_OVERLOAD = Tried(12800, "overload", 12676, 6.47)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_is_claimed_where_no_trial_was_an_overload(lang: str) -> None:
    results = findings(NO_OVERLOAD, after(8496, 88.9), NO_OVERLOAD, after(7800, 41.4))
    assert claims(results) == []
    texts = Texts(lang, "request")
    assert "12800/s" in texts.message(results["found.search.no-overload"].message)
    answer = results["found.search.bound.above"]
    assert answer.severity == "caution"
    sentence = texts.message(answer.message)
    expected = {
        "en": "The limit is unknown: 2 of 3 trials at rate = 12800/s",
        "zh": "极限未知：在高于搜索结果的 rate = 12800/s 处，3 次试验中有 2 次",
    }
    assert sentence.startswith(expected[lang])
    assert {"en": "met in 3 of 5 trials", "zh": "5 次试验中 3 次满足"}[lang] in sentence


def test_a_value_of_one_trial_is_no_median() -> None:
    def answer(*tried: Tried, lang: str) -> str:
        analysis = searched(*tried)
        code = next(item for item in analysis.findings if item.message.code.startswith("found.search.bound"))
        return Texts(lang, "request").message(code.message)

    assert "requests/s (1 trial)" in answer(*STEPS[:4], lang="en")
    assert "单次试验的吞吐量为" in answer(*STEPS[:4], lang="zh")
    assert "requests/s (median)" in answer(*STEPS, lang="en")
    assert "吞吐量中位数为" in answer(*STEPS, lang="zh")


def test_one_overload_of_two_is_too_few_for_a_claim() -> None:
    assert claims(findings(NO_OVERLOAD, after(7800, 88.9), OVERLOAD, after(2000, 900))) == ["undecided"]


def test_a_miss_within_the_noise_is_undecided() -> None:
    near = (OVERLOAD, after(7790, 20.1), OVERLOAD, after(7790, 20.2))
    scattered = (Tried(7790, "confirm", 7790, 19.5), *near)
    assert claims(findings(*near)) == ["metastable.time"]
    assert claims(findings(*scattered)) == ["undecided"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_trials_that_the_machine_disturbed_are_undecided(lang: str) -> None:
    results = findings(OVERLOAD, after(2000, 900, "steal"), OVERLOAD, after(2000, 900))
    assert claims(results) == ["undecided.disturbed"]
    finding = results["found.search.undecided.disturbed"]
    assert finding.severity == "caution"
    stolen = {"en": "Steal time: other virtual machines used the CPU", "zh": "CPU 时间被宿主机抢占（steal）"}
    assert stolen[lang] in Texts(lang, "request").message(finding.message)


def test_a_load_generator_that_waits_for_a_busy_target_is_no_disturbance() -> None:
    results = findings(OVERLOAD, after(2000, 900, "client-waiting"), OVERLOAD, after(2000, 900))
    assert claims(results) == ["metastable"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_end_of_the_search_is_no_bound_of_the_limit_where_nothing_was_measured(lang: str) -> None:
    results = findings(NO_OVERLOAD, after(7790, 8.0))
    assert "found.search.missed.mixed" not in results
    sentence = Texts(lang, "request").message(results["found.search.missed.open"].message)
    expected = {
        "en": "above 7790/s: a trial at 12800/s met the bounds, and nothing higher was measured. The search "
        "ends at 20000/s",
        "zh": "7790/s 之上的任何位置：12800/s 处有试验满足约束，更高的取值没有测量（20000/s",
    }
    assert expected[lang] in sentence


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_higher_rate_that_some_trials_kept_up_with_is_named_beside_the_highest_kept_up_with(
    lang: str,
) -> None:
    slow = Tried(12800, "overload", 9000, 6.0)
    results = findings(slow, after(7790, 8.0), slow, after(7790, 8.0))
    assert "found.kept-up.highest" not in results
    sentence = Texts(lang, "request").message(results["found.kept-up.mixed"].message)
    expected = {
        "en": "At rate = 12800/s, 1 of 3 trials sustained the rate.",
        "zh": "3 次试验中有 1 次达到目标速率",
    }
    assert expected[lang] in sentence


def test_an_answer_without_a_contradiction_stays_good() -> None:
    results = findings(OVERLOAD, after(7790, 8.0))
    assert results["found.search.bound"].severity == "good"
    assert "found.search.missed" in results
