"""Outcomes of expectations over all trials of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.runs import run_of
from loadcell.analysis.analyse import analyse
from loadcell.model.trial_record import ExpectationResult


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
