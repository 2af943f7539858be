"""Findings on a run: first where throughput was highest and what it cost, last how far to trust it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.runs import analysis_of, findings_by_code, run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.error_codes import meaning
from loadcell.analysis.finding import Subject
from loadcell.analysis.trials import from_record
from loadcell.execution.record import explained
from loadcell.model.trial_record import Check, ErrorRecord, ExpectationResult, Status
from loadcell.report.texts import Texts
from records import trial, with_field

PEAK: dict[str, list[float]] = {"10": [100, 102], "20": [190, 192], "40": [198, 200], "80": [150, 152]}


def test_the_highest_median_is_named_with_its_price() -> None:
    result = findings_by_code(analysis_of(PEAK))["found.highest"]
    assert result["treatment"] == "clients = 40"
    assert result["throughput_per_s"] == 199
    assert (result["p50_ms"], result["p99_ms"]) == (pytest.approx(1.99), pytest.approx(19.9))


def test_a_lower_level_that_is_nearly_as_good_is_recommended() -> None:
    result = findings_by_code(analysis_of(PEAK))["found.recommend.trade"]
    assert (result["treatment"], result["best"]) == ("clients = 20", "clients = 40")
    assert result["lost_share"] == pytest.approx(1 - 191 / 199)
    assert result["tail_ms"] < result["best_tail_ms"]


def threads(throughputs: dict[str, list[float]]) -> Analysis:
    """A run whose factor is a number, but no load."""
    return analysis_of(throughputs, levels={name: {"load.threads": int(name)} for name in throughputs})


def test_the_fall_beyond_the_peak_is_measured_at_the_last_level() -> None:
    result = findings_by_code(threads(PEAK))["found.falls"]
    assert result["treatment"] == "threads = 80"
    assert result["fell_share"] == pytest.approx(1 - 151 / 199)


def test_a_peak_at_the_last_level_may_lie_beyond_it() -> None:
    rising = findings_by_code(threads({"10": [100, 101], "20": [150, 151], "40": [220, 221]}))
    assert rising["found.at-edge"] == {"treatment": "threads = 40"}
    assert "found.falls" not in rising


def test_of_a_load_saturation_says_that_instead() -> None:
    assert not {"found.falls", "found.at-edge"} & set(findings_by_code(analysis_of(PEAK)))
    assert "found.saturation.measured.waiting" in findings_by_code(analysis_of(PEAK))


def test_two_levels_are_no_curve_that_could_have_an_edge() -> None:
    assert "found.at-edge" not in findings_by_code(threads({"10": [100, 101], "20": [150, 151]}))


def test_overlapping_repeats_are_not_distinguished() -> None:
    result = findings_by_code(analysis_of({"10": [50, 51], "20": [100, 110], "40": [105, 112]}))["found.tied"]
    assert result["best"] == "clients = 40"
    assert result["treatments"] == ("clients = 20",)


def test_what_is_not_distinguished_from_the_highest_is_neither_the_lowest_nor_a_fall() -> None:
    messages = findings_by_code(threads({"10": [100, 140], "20": [150, 100], "40": [145, 99]}))
    assert len(messages["found.tied"]["treatments"]) == 2
    assert not {"found.lowest", "found.falls"} & set(messages)


def test_many_ties_are_counted_not_listed() -> None:
    result = findings_by_code(analysis_of({str(n): [100, 110 + n / 10] for n in range(1, 9)}))[
        "found.tied.many"
    ]
    assert result["count"] == 7
    assert len(result["treatments"]) == 4


def test_failed_trials_count_in_no_median() -> None:
    analysis = analysis_of({"10": [100, None], "20": [90, 91]})
    assert analysis.treatments[0].throughput.values == (100,)
    assert analysis.treatments[0].statuses == {"ok": 1, "failed": 1}
    assert findings_by_code(analysis)["found.trials.some"]["ok_count"] == 3


def test_nothing_measured_is_reported_and_nothing_else_is_claimed() -> None:
    keys = set(findings_by_code(analysis_of({"10": [None, None]})))
    assert keys == {"found.nothing-measured", "found.trials.some"}


def test_planned_trials_without_a_record_are_not_run() -> None:
    run, records = run_of({"10": [100, 101]})
    analysis = analyse(run, records[:1])
    assert [trial.status for trial in analysis.trials] == ["ok", "not-run"]
    assert findings_by_code(analysis)["found.unfinished"] == {"count": 1}
    records[0] = replace(records[0], status=Status.ABORTED)  # a resumed run does it again
    assert findings_by_code(analyse(run, records[:1]))["found.unfinished"] == {"count": 2}


def test_failed_transactions_are_named_by_their_most_frequent_code() -> None:
    run, records = run_of({"10": [100, 101]})
    errors = (
        ErrorRecord("40001", 10, message="", meaning="serialisation failure"),
        ErrorRecord("40P01", 20, message="", meaning="deadlock"),
    )
    records[0] = replace(with_field(records[0], "totals.transactions.failed", 30), errors=errors)
    result = findings_by_code(analyse(run, records))["found.errors.coded"]
    assert (result["code"], result["code_count"], result["count"]) == ("40P01", 20, 30)
    assert result["failed_share"] == pytest.approx(30 / 2030)


def test_that_all_failed_alike_is_not_said_by_two_counts() -> None:
    run, records = run_of({"10": [100, 101]})
    error = ErrorRecord("http-404", 20, message="", meaning="not found")
    records[0] = replace(with_field(records[0], "totals.transactions.failed", 20), errors=(error,))
    (sentence,) = (
        Texts("en", "request").message(finding.message)
        for finding in analyse(run, records).findings
        if finding.subject is Subject.ERRORS
    )
    assert "20 requests failed" in sentence
    assert "all with http-404, not found" in sentence
    assert "times" not in sentence


def test_a_failure_names_its_operation_and_its_cause_once() -> None:
    run, records = run_of({"10": [100, 101]})
    error = explained(ErrorRecord("WRONGTYPE", 20, message=""), "resp")
    records[0] = replace(
        with_field(records[0], "totals.transactions.failed", 20),
        errors=(replace(error, operation="tag"), error),
    )
    [finding] = [item for item in analyse(run, records).findings if item.subject is Subject.ERRORS]
    sentence = Texts("en", "operation").message(finding.message)
    assert "all with WRONGTYPE, the key holds another type of value (operation tag): use" in sentence
    assert sentence.count("another type of value") == 1
    assert "键的值类型不符（操作 tag）" in Texts("zh", "operation").message(finding.message)


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (20, "all with NEWER: restart the server. Throughput"),
        (30, "most often with NEWER (20 times): restart the server. Throughput"),
    ],
)
def test_code_without_a_meaning_has_its_remedy(failed: int, words: str) -> None:
    run, records = run_of({"10": [100, 101]})
    error = ErrorRecord("NEWER", 20, message="", meaning="", advice="restart the server")
    records[0] = replace(with_field(records[0], "totals.transactions.failed", failed), errors=(error,))
    (sentence,) = (
        Texts("en", "request").message(finding.message)
        for finding in analyse(run, records).findings
        if finding.subject is Subject.ERRORS
    )
    assert words in sentence


@pytest.mark.parametrize("code", ["NOSCRIPT", "EXECABORT"])
def test_codes_of_scripts_and_transactions_have_a_meaning(code: str) -> None:
    assert meaning(code)


@pytest.mark.parametrize(
    ("verdicts", "key"),
    [
        (["met", "met"], "found.expect.met"),
        (["met", "missed"], "found.expect.missed.alone"),
        (["met", "unknown"], "found.expect.unknown"),
    ],
)
def test_expectations_are_counted_over_trials(verdicts: list[str], key: str) -> None:
    run, records = run_of({"10": [100, 101]})
    records = [
        replace(record, expect=(ExpectationResult("errors == 0", verdict, 0.0),))
        for record, verdict in zip(records, verdicts, strict=True)
    ]
    results = {name for name in findings_by_code(analyse(run, records)) if name.startswith("found.expect")}
    assert results == {key}


def test_an_expectation_on_too_few_transactions_says_how_many_it_needs() -> None:
    run, records = run_of({"10": [100, 101, 102]})
    results = (
        ExpectationResult("latency.p99 < 1s", "unknown", count=98, needed=100),
        ExpectationResult("latency.p99 < 1s", "unknown", count=40, needed=100),
        ExpectationResult("latency.p99 < 1s", "met", 5.0),
    )
    records = [replace(record, expect=(expected,)) for record, expected in zip(records, results, strict=True)]
    result = findings_by_code(analyse(run, records))["found.expect.few"]
    assert (result["count"], result["of"], result["fewest"], result["needed"]) == (2, 3, 40, 100)


def test_what_checks_noticed_is_grouped_by_check() -> None:
    run, records = run_of({"10": [100, 101, 102]})
    noticed = Check("steal", "noticed", {"steal_percent": 4.0})
    records = [
        replace(record, checks=(check,))
        for record, check in zip(records, (noticed, noticed, Check("steal", "ok")), strict=True)
    ]
    matches = [finding for finding in analyse(run, records).findings if finding.subject is Subject.CHECKS]
    assert [finding.message.arguments["count"] for finding in matches] == [2]
    assert matches[0].evidence == tuple(record.name for record in records[:2])


@pytest.mark.parametrize(
    ("repeats", "key"), [(1, "found.descriptive"), (5, "found.descriptive"), (6, "found.intervals.unseen")]
)
def test_below_six_repeats_it_is_descriptive_only(repeats: int, key: str) -> None:
    analysis = analysis_of({"10": [100.0 + 5 * n % 7 for n in range(repeats)]})
    assert [finding.message.code for finding in analysis.findings if finding.subject is Subject.TRUST] == [
        key
    ]


def test_some_with_too_few_repeats_are_pointed_out() -> None:
    analysis = analysis_of({"10": [100.0] * 6, "20": [90.0] * 5 + [None]})
    result = next(finding for finding in analysis.findings if finding.subject is Subject.TRUST)
    assert result.message.code == "found.partly-descriptive"
    assert result.evidence == ("20",)


def test_a_wide_spread_is_a_caution_and_a_narrow_one_is_not() -> None:
    def severity(values: list[float]) -> Any:
        return next(
            item.severity for item in analysis_of({"10": values}).findings if item.subject is Subject.SPREAD
        )

    assert severity([100, 101]) == "info"
    assert severity([100, 120]) == "caution"


def test_a_slow_block_is_drift_of_the_machine() -> None:
    steady = {str(n): [100.0 * n, 100.0 * n] for n in range(1, 7)}
    drifting = {str(n): [100.0 * n, 90.0 * n] for n in range(1, 7)}
    assert "found.drift" not in findings_by_code(analysis_of(steady))
    result = findings_by_code(analysis_of(drifting))["found.drift"]
    assert result["block"] == "2"
    assert result["range_share"] == pytest.approx(10 / 90**0.5 / 10)


def test_findings_are_plain_json() -> None:
    import json

    document = analysis_of({"10": [100, None], "20": [90, 91]}).document()
    assert json.loads(json.dumps(document)) == document
    assert [entry["status"] for entry in document["trials"]] == ["ok", "ok", "failed", "ok"]


def test_a_failure_that_strikes_a_statement_and_ends_its_transaction_is_one_failure() -> None:
    record = trial(
        errors=(
            ErrorRecord("23505", 3, "insert", "m", "w"),
            ErrorRecord("23505", 3, "transaction", "m", "w"),
            ErrorRecord("40001", 2, "delete", "m", "w"),
        )
    )
    errors = from_record(record).errors
    assert [(error.code, error.count, error.transactions) for error in errors] == [
        ("23505", 3, 3),
        ("40001", 2, 0),
    ]


def test_intervals_are_not_said_to_cover_more_than_they_do() -> None:
    result = findings_by_code(analysis_of({"10": [100.0, 105, 103, 101, 104, 102]}))["found.intervals.unseen"]
    assert result["coverage_share"] == 0.95
