"""Outcomes of expectations over all trials of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.runs import run_of
from loadcell.analysis import expectation_findings, ranking
from loadcell.analysis.analyse import analyse
from loadcell.analysis.faults import effects as fault_effects
from loadcell.analysis.faults import lost_writes
from loadcell.analysis.finding import Subject
from loadcell.model.fault_record import FaultRecord
from loadcell.model.trial_record import Check, ExpectationResult, TrialRecord
from loadcell.report.texts import Texts


@pytest.mark.parametrize(
    ("expression", "values", "least", "text"),
    [
        ("latency.p99 < 20ms", [10.0, 31.2, 25.0], 31.2, "31.2 ms"),
        ("error_rate <= 5%", [0.01, 0.8, 0.02], 0.8, "80%"),
        ("throughput > 900/s", [950.0, 700.0, 800.0], 700.0, "700.0/s"),
        ("errors == 0", [0.0, 12.0, 3.0], 12.0, "12"),
        ("target.memory < 1GiB", [1024.0, 2 * 1024.0**3, 0.0], 2 * 1024.0**3, "2 GiB"),
    ],
)
def test_a_missed_expectation_names_its_least_favourable_value_and_treatment(
    expression: str, values: list[float], least: float, text: str
) -> None:
    run, records = run_of({"10": [100], "20": [100], "30": [100]})
    records = [
        replace(record, expect=(ExpectationResult(expression, verdict, value),))
        for record, verdict, value in zip(records, ("met", "missed", "missed"), values, strict=True)
    ]
    analysis = analyse(run, records)
    (outcome,) = analysis.expectations
    assert (outcome.verdict, outcome.met, outcome.missed, outcome.unknown) == ("missed", 1, 2, 0)
    assert (outcome.value, outcome.value_text) == (least, text)
    assert (outcome.treatment, outcome.trials[0]) == (records[1].treatment, records[1].name)
    finding = next(item for item in analysis.findings if item.message.code == "found.expect.missed")
    assert text in finding.message.text
    assert analysis.document()["expectations"] == [outcome.document()]


def test_an_expectation_without_values_is_unknown() -> None:
    run, records = run_of({"10": [100, 100]})
    records = [replace(record, expect=(ExpectationResult("tpmC > 1", "unknown"),)) for record in records]
    (outcome,) = analyse(run, records).expectations
    assert (outcome.verdict, outcome.unknown, outcome.value, outcome.treatment) == ("unknown", 2, None, None)


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "was more than 90.0 s, with clients = 10."), ("zh", "最差值为 90.0 s 以上（clients = 10）。")],
)
def test_a_recovery_that_was_not_seen_is_the_least_favourable(lang: str, text: str) -> None:
    run, records = run_of({"10": [100], "20": [100]})
    expected = (
        ExpectationResult("recovery < 30s", "missed", at_least=90_000.0),
        ExpectationResult("recovery < 30s", "met", 5000.0),
    )
    analysis = analyse(
        run, [replace(record, expect=(item,)) for record, item in zip(records, expected, strict=True)]
    )
    (outcome,) = analysis.expectations
    assert (outcome.value, outcome.at_least, outcome.treatment) == (None, 90_000.0, records[0].treatment)
    [missed] = [item for item in analysis.findings if item.code is expectation_findings.MISSED]
    assert Texts(lang).message(missed.message).endswith(text)


def with_faults(record: TrialRecord, *expected: ExpectationResult) -> TrialRecord:
    """The trial with three faults, two of them of one title, and these expectations."""
    faults = tuple(FaultRecord(action, "redis", "undone") for action in ("hang", "kill", "kill"))
    return replace(record, faults=faults, expect=expected)


def test_expectations_of_plan_and_faults_are_apart_and_count_each_trial_once() -> None:
    run, (record,) = run_of({"10": [100]})
    expected = [
        ExpectationResult("recovery < 5s", verdict, value, fault=fault)
        for verdict, value, fault in (
            ("missed", 9000.0, None), ("met", 1000.0, 0), ("missed", 9000.0, 1), ("unknown", None, 2)
        )
    ]  # fmt: skip
    analysis = analyse(run, [with_faults(record, *expected)])
    counts = [(item.fault, item.verdict, item.met, item.missed) for item in analysis.expectations]
    assert counts == [
        (None, "missed", 0, 1), ("hang redis", "met", 1, 0), ("kill redis", "missed", 0, 1)
    ]  # fmt: skip
    assert analysis.expectations[2].value == 9000.0
    texts = [finding.message.text for finding in analysis.findings if "expect" in finding.message.code]
    assert texts[0] == (
        "The expectation recovery < 5s was missed in 1 of 1 trial. The least favourable value was 9,000 ms."
    )
    assert "kill redis: recovery < 5s was missed in 1 of 1 trial." in texts[1]
    assert texts[-1] == "1 expectation was met in every assessable trial: hang redis: recovery < 5s."


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "3 expectations were met in every assessable trial: a > 1; kill redis: b > 1, c > 1."),
        ("zh", "所有可判断的试验均满足 3 项验收条件：a > 1；kill redis：b > 1、c > 1。"),
    ],
)
def test_met_expectations_are_grouped_by_fault(lang: str, text: str) -> None:
    run, (record,) = run_of({"10": [100]})
    expected = [ExpectationResult(f"{name} > 1", "met", 2.0, fault=1) for name in "bc"]
    expected.append(ExpectationResult("a > 1", "met", 2.0))
    [met] = [
        finding
        for finding in analyse(run, [with_faults(record, *expected)]).findings
        if finding.code is expectation_findings.MET
    ]
    assert Texts(lang).message(met.message) == text


def test_what_was_missed_and_not_judged_is_always_in_the_summary() -> None:
    """Ahead of the effects of faults; many are one sentence."""
    faults = [fault_effects.OUTAGES.finding(cases=["kill"], count=1, of=1)]
    faults += [lost_writes.NO_LOSS_ALONE.finding(acknowledged=5)]
    faults += [fault_effects.NONE.finding(cases=["clock"], count=1, of=1)]
    run, (record,) = run_of({"10": [100]})
    expected = [ExpectationResult(f"m{number} > 1", "missed", 0.0, fault=0) for number in range(4)]
    expected += [ExpectationResult("u > 1", "unknown", fault=0), ExpectationResult("v > 1", "met", 2.0)]
    analysis = analyse(run, [with_faults(record, *expected)])
    not_met = [finding for finding in analysis.findings if finding.subject is Subject.EXPECTATIONS]
    shown = ranking.summary([*faults, *analysis.findings], analysis.trials)
    codes = [finding.code for finding in shown]
    assert len(not_met) == 6
    assert codes[:3] == [
        expectation_findings.MISSED_MANY, expectation_findings.UNKNOWN, fault_effects.OUTAGES
    ]  # fmt: skip
    assert expectation_findings.MET in codes
    assert shown[0].message.text.startswith("4 expectations were missed: hang redis: m0 > 1 (0); ")


def test_results_of_faults_precede_disturbances_of_the_machine() -> None:
    run, (record,) = run_of({"10": [100]})
    analysis = analyse(run, [replace(record, checks=(Check("cpu-steal", "noticed"),))])
    [disturbed] = [finding for finding in analysis.findings if finding.subject is Subject.CHECKS]
    outage = fault_effects.OUTAGES.finding(cases=["kill"], count=1, of=1)
    lost = lost_writes.LOSS_ALONE.finding(acknowledged=5, lost=1)
    first = [finding.code for finding in ranking.summary([disturbed, outage, lost], analysis.trials)]
    assert first == [lost_writes.LOSS_ALONE, fault_effects.OUTAGES, disturbed.code]
    assert ranking.summary([disturbed], analysis.trials) == (disturbed,)
