"""Which findings a summary says, in which order, and what it says only once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest

from analysis.reported import storages, stream
from analysis.runs import analysis_of
from loadcell.analysis.analyse import Analysis
from loadcell.analysis.finding import LAST, Concern, Finding, FindingCode, Subject
from loadcell.analysis.ranking import MOST, ranked, summary
from loadcell.analysis.trials import Trial
from loadcell.model.message import Message, Severity, declared
from loadcell.model.trial_record import Check
from loadcell.report.texts import Texts

#: The findings of a run; those of machines, comparisons and histories have pages of their own.
FINDINGS_OF_RUNS = {
    key: code
    for key, code in declared().items()
    if isinstance(code, FindingCode) and key.startswith("found.")
}


def finding(key: str, severity: Severity = "info", evidence: Sequence[str] = ()) -> Finding:
    subject = FINDINGS_OF_RUNS[key].subject if key in FINDINGS_OF_RUNS else Subject.TRUST
    return Finding(subject, Message(key).rated(severity), tuple(evidence))


def keys(findings: Sequence[Finding]) -> list[str]:
    return [item.message.code for item in findings]


def summary_of(analysis: Analysis) -> list[str]:
    """The summary of a run of `analysis.runs`, whose made-up percentiles the checks rightly doubt."""
    findings = [item for item in analysis.findings if item.subject is not Subject.CHECKS]
    return keys(summary(findings, analysis.trials))


def test_every_finding_has_a_place() -> None:
    assert len(FINDINGS_OF_RUNS) > 140
    assert {key for key, code in FINDINGS_OF_RUNS.items() if code.rank == LAST} == set()


def test_a_text_nobody_knows_comes_last() -> None:
    result, strange = finding("found.lowest"), finding("nobody.said", "problem")
    assert [entry.finding for entry in ranked([strange, result])] == [result, strange]


def test_what_spoils_the_answer_comes_before_it_and_what_went_wrong_after_it() -> None:
    several = [
        finding("found.pacing"), finding("found.held", "good"), finding("found.drift", "caution"),
        finding("found.expect.missed", "problem"), finding("found.highest", "good"),
        finding("found.trials.empty", "problem"),
    ]  # fmt: skip
    assert keys([entry.finding for entry in ranked(several)]) == [
        "found.trials.empty", "found.highest", "found.expect.missed", "found.drift", "found.held",
        "found.pacing",
    ]  # fmt: skip


def test_a_wrong_figure_stands_first_unless_its_trial_does_not_count() -> None:
    wrong = finding("found.check.advice", "problem", ["003"])
    answer = finding("found.highest", "good")
    good = [Trial(n, f"{n:03d}", "t", 1, 1, "ok", throughput_per_s=10.0) for n in (1, 2)]
    counted = [*good, Trial(3, "003", "t", 1, 1, "ok", throughput_per_s=10.0)]
    invalid = [*good, Trial(3, "003", "t", 1, 1, "invalid", throughput_per_s=10.0)]
    assert [entry.concern for entry in ranked([wrong, answer], counted)] == [Concern.STANDS, Concern.ANSWER]
    assert [entry.finding for entry in ranked([wrong, answer], invalid)] == [answer, wrong]


@pytest.mark.parametrize(("ok", "first"), [(3, False), (5, False), (2, True), (0, True)])
def test_that_most_trials_were_lost_stands_first(ok: int, first: bool) -> None:
    lost = Finding(
        Subject.TRIALS, Message("found.trials.some", {"ok_count": ok, "count": 6}).rated("problem")
    )
    answer = finding("found.highest", "good")
    assert (ranked([answer, lost])[0].finding is lost) == first
    # Unless what lost them is the answer: more was due than the target took.
    overloaded = finding("found.overloaded", "problem")
    assert ranked([answer, lost, overloaded])[0].finding is overloaded


def test_the_worse_of_two_qualms_comes_first() -> None:
    bad, mild = finding("found.spread", "caution"), finding("found.drift", "info")
    assert [entry.finding for entry in ranked([mild, bad])] == [bad, mild]


def test_no_subject_crowds_out_the_others() -> None:
    many = [
        Finding(Subject.EFFECTS, Message("found.effects.main", {"factor": f"f{n}"}).rated("info"))
        for n in range(9)
    ]
    few = [finding("found.highest", "good"), finding("found.descriptive", "caution")]
    assert keys(summary([*many, *few])) == ["found.effects.main"] * 4 + ["found.highest", "found.descriptive"]


def test_how_far_to_trust_it_always_has_a_place() -> None:
    wrong = [
        Finding(subject, Message("found.trials.empty", {"n": n}).rated("problem"))
        for n, subject in enumerate(islice(Subject, 9))
    ]
    assert keys(summary([*wrong, finding("found.drift", "caution")]))[-1] == "found.drift"


def test_that_expectations_were_met_has_a_place_beside_failures_and_doubts() -> None:
    answers = [finding(key) for key in ("found.effects.one", "found.recommend.none", "found.highest")]
    wrong = [finding("found.errors.some", "problem")]
    doubts = [finding(key, "caution") for key in ("found.drift", "found.descriptive", "found.spread.none")]
    chosen = keys(summary([*answers, *wrong, *doubts, finding("found.expect.met", "good")]))
    assert chosen[0] == "found.effects.one"
    assert chosen[-1] == "found.expect.met"


@pytest.mark.parametrize("seed", range(30))
def test_never_more_than_seven_and_nothing_twice(seed: int) -> None:
    chance = random.Random(seed)
    texts = sorted(FINDINGS_OF_RUNS)
    some = []
    for number in range(chance.randrange(40)):
        key = chance.choice(texts)
        severity: Severity = chance.choice(("good", "info", "caution", "problem"))
        params = {
            "n": number,
            "ok_count": chance.randrange(9),
            "count": 9,
            "of": 9,
            "line": "x",
            "check": "c",
        }
        some.append(Finding(FINDINGS_OF_RUNS[key].subject, Message(key, params).rated(severity)))
    chosen = summary(some)
    assert len(chosen) <= MOST
    assert len({id(entry) for entry in chosen}) == len(chosen)
    assert summary(some) == chosen
    concerns = [entry.concern for entry in ranked(chosen)]
    assert concerns == sorted(concerns)
    if some:
        assert chosen


def test_that_all_was_well_is_one_sentence() -> None:
    well = [
        Finding(Subject.TRIALS, Message("found.trials.all", {"count": 6}).rated("good")),
        Finding(Subject.ERRORS, Message("found.errors.none", {"count": 600}).rated("good")),
    ]
    met = Finding(
        Subject.EXPECTATIONS,
        Message("found.expect.met", {"count": 2, "expressions": ("a", "b")}).rated("good"),
    )
    missed = finding("found.expect.missed", "problem")
    assert keys(summary(well)) == ["found.well"]
    (result,) = summary([*well, met])
    assert replace(result.message, severity="problem") == Message(
        "found.well.expected",
        {"count": 6, "ended_count": 600, "expected_count": 2, "expressions": ("a", "b")},
    )
    assert Texts("en").message(result.message) == (
        "6 of 6 trials succeeded, none of 600 transactions failed, and the expectations a and b were met."
    )
    many = replace(met.message, arguments={"count": 4, "expressions": ("a", "b", "c", "d")})
    (result,) = summary([*well, replace(met, message=many)])
    assert Texts("zh").message(result.message) == (
        "6 次试验全部成功，600 个事务无一失败，4 项验收条件全部满足，其中有 a 和 b。"
    )
    assert keys(summary([*well, met, missed])) == ["found.expect.missed", "found.well", "found.expect.met"]


@pytest.mark.parametrize(("count", "position"), [(1, 2), (2, 2), (3, 0)])
def test_disturbances_of_most_trials_precede_the_answer(count: int, position: int) -> None:
    steal = (Check("steal", "noticed", {}),)
    names = ["001", "002", "003", "004"]
    trials = [
        Trial(number, name, "t", 1, 1, "ok", throughput_per_s=10.0, checks=steal if number <= count else ())
        for number, name in enumerate(names, 1)
    ]
    arguments = {
        "count": count,
        "of": 4,
        "check": Message("check-name.steal"),
        "advice": Message("advice.steal"),
    }
    noticed = Finding(
        Subject.CHECKS, Message("found.check.advice", arguments).rated("caution"), tuple(names[:count])
    )
    answer, missed = finding("found.highest", "good"), finding("found.expect.missed", "problem")
    assert summary([answer, missed, noticed], trials)[position] == noticed


def test_checks_are_one_sentence_for_all_that_they_noticed() -> None:
    def noticed(name: str, *trials: str) -> Finding:
        params = {
            "count": len(trials),
            "of": 5,
            "check": Message(f"check-name.{name}"),
            "advice": Message(f"advice.{name}"),
        }
        return Finding(Subject.CHECKS, Message("found.check.advice", params).rated("caution"), trials)

    assert keys(summary([noticed("steal", "001")])) == ["found.check.advice"]
    (result,) = summary([noticed("steal", "001", "002"), noticed("swap", "002", "003")])
    assert result.message.code == "found.checks"
    assert result.message.arguments == {
        "checks": tuple(
            Message("mark.quoted", {"text": Message(f"check-name.{name}")}) for name in ("steal", "swap")
        ),
        "count": 3,
        "of": 5,
    }
    assert result.evidence == ("001", "002", "003")


def test_what_is_true_of_several_lines_is_reported_once() -> None:
    def edge(where: str) -> Finding:
        line = Message("saturation.of", {"where": where})
        return Finding(
            Subject.SATURATION,
            Message("found.saturation.edge", {"line": line, "last": "64"}).rated("info"),
            (where,),
        )

    (result,) = summary([edge("storage = a"), edge("storage = b")])
    assert result.message.arguments["line"] == Message(
        "saturation.of-several", {"where": ["storage = a", "storage = b"]}
    )
    assert result.evidence == ("storage = a", "storage = b")
    (crossed,) = summary([edge("x = 1, y = 1"), edge("x = 1, y = 2")])
    assert crossed.message.arguments["line"] == Message("saturation.of-lines", {"count": 2})


# --- whole analyses
# -------------------------------------------------------------------------------------------

SWEEP = {"1": 100, "2": 190, "4": 340, "8": 500, "16": 520, "32": 420}


def repeated(count: int, spread: float = 0.01) -> dict[str, list[float]]:
    chance = random.Random(3)
    return {
        name: [value * (1 + spread * chance.uniform(-1, 1)) for _ in range(count)] for name,
        value in SWEEP.items()
    }  # fmt: skip


def test_a_sweep_says_where_it_saturates_then_what_to_choose_then_how_far_to_trust_it() -> None:
    assert summary_of(analysis_of(repeated(6))) == [
        "found.saturation.identified.apart.waiting", "found.recommend.trade", "found.intervals.unseen",
        "found.spread",
        "found.well",
    ]  # fmt: skip


def test_one_repeat_is_reported_to_be_descriptive_once() -> None:
    assert summary_of(analysis_of({name: [float(value)] for name, value in SWEEP.items()})) == [
        "found.saturation.once.waiting", "found.recommend.trade", "found.descriptive", "found.well",
    ]  # fmt: skip


def test_two_levels_have_a_highest_and_no_curve() -> None:
    assert summary_of(analysis_of({"1": [100.0, 101.0], "2": [150.0, 151.0]})) == [
        "found.effects.one", "found.highest", "found.saturation.few", "found.descriptive", "found.spread",
        "found.well",
    ]  # fmt: skip


def test_one_level_has_its_figure() -> None:
    assert summary_of(analysis_of({"base": [100.0] * 6}, levels={"base": {}})) == [
        "found.throughput", "found.intervals.unseen", "found.spread.one", "found.well",
    ]  # fmt: skip


def test_where_nothing_succeeded_that_is_all() -> None:
    assert summary_of(analysis_of({"1": [None, None], "2": [None, None]})) == [
        "found.nothing-measured", "found.trials.some",
    ]  # fmt: skip


def test_three_storages_have_a_statement_each_then_which_is_best_and_what_five_levels_cannot_support() -> (
    None
):
    assert summary_of(storages()) == [
        "found.saturation.once.waiting", "found.saturation.once.waiting", "found.effects.main.once",
        "found.highest.no-latency", "found.descriptive", "found.saturation.why.few-loads",
        "found.saturation.rebound",
    ]  # fmt: skip


def test_a_stream_says_what_factors_do_and_that_one_repeat_only_describes() -> None:
    assert summary_of(stream()) == [
        "found.effects.together", "found.effects.main.once", "found.effects.main.once",
        "found.effects.uneven.once",
        "found.recommend.trade", "found.descriptive", "found.well",
    ]  # fmt: skip
