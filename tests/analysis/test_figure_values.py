"""Values of metrics with their units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fake_runs
from loadcell.analysis import figure_values
from loadcell.model.metrics import Kind, MetricFacts
from loadcell.report.context import ReportContext
from loadcell.store.read import read_run


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("time_s", 4.06, "4.06 s"),
        ("peak_live_mib", 6.7, "6.70 MiB"),
        ("peak_bytes", 2 * 2**20, "2 MiB"),
        ("busy_percent", 12.5, "12.5%"),
        ("rows_per_s", 1234.4, "1,234/s"),
        ("wait_us", 3.5, "3.50 µs"),
        ("retained", 799998.0, "799,998"),
        ("classes", 7.0, "7"),
    ],
)
def test_a_name_that_ends_in_a_unit(name: str, value: float, text: str) -> None:
    assert figure_values.written(name, value, {}) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 0.043, "4.3%"),
        ("bandwidth", 2.0**20, "1 MiB/s"),
        ("time", 358.479, "358 ms"),
        ("count", 5, "5"),
    ],
)
def test_a_declared_kind_gives_the_unit(kind: Kind, value: float, text: str) -> None:
    facts = {"gc.x": MetricFacts(kind, "lower")}
    assert figure_values.written("gc.x", value, facts) == text
    assert figure_values.written("gc.other", 5.0, facts) == "5"


def test_a_name_that_states_its_unit_has_no_second_one() -> None:
    facts = {"latency_ms": MetricFacts("time", "lower")}
    assert figure_values.written("latency_ms", 7.25, facts, has_unit=True) == "7.25"


def test_the_finding_on_the_fastest_treatment_has_the_unit(tmp_path: Path) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.Shape())
    for path in (run / "trials").glob("*/trial.json"):
        trial = json.loads(path.read_text())
        trial["totals"]["figures"] = {"time_s": 4.06}
        path.write_text(json.dumps(trial))
    context = ReportContext.of(read_run(run), "en")
    [finding] = [item for item in context.findings if item.message.code == "found.figure"]
    assert context.texts.message(finding.message).startswith("time_s: 4.06 s (")
    assert finding.document()["params"]["value"] == 4.06
