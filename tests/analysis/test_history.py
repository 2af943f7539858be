"""The runs of one plan over time: changes, between which runs they lie, what differs there, and what cannot
be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.runs import run_of as records_of
from loadcell.analysis.history import METRICS, History, Options, Run, find, history, run_of


def runs(levels: Sequence[float | None], *, treatments: int = 1, **more: Any) -> list[Run]:
    """A run for each level with 1 % of scatter; `more` are changes of the run's record by position."""
    chance = np.random.default_rng(11)
    results = []
    for item, level in enumerate(levels):
        figures = {
            str(n + 1): [None if level is None else level * float(chance.normal(1, 0.01)) for _ in range(3)]
            for n in range(treatments)
        }
        run, records = records_of(figures)
        started = f"2026-03-{item + 1:02d}T08:00:00Z"
        fields = {"started_utc": started, "loadcell_version": "1.0"} | more.get(f"at_{item}", {})
        run = replace(run, **fields)
        results.append(run_of(f"run-{item}", "finished", run, records, {}, METRICS["throughput"]))
    return results


def sentences_of(plan_history: History) -> list[str]:
    return [finding.message.code for finding in find(plan_history)]


def test_a_fall_lies_between_two_runs_and_says_what_else_changed() -> None:
    newer = {f"at_{item}": {"loadcell_version": "2.0"} for item in range(8, 16)}
    timeline = history(runs([100.0] * 8 + [90.0] * 8, **newer), METRICS["throughput"])
    (event,) = timeline.events
    assert (event.last, event.first) == (7, 8)
    assert event.changes[0].share == pytest.approx(-0.1, abs=0.02)
    assert [(difference.path, difference.before, difference.after) for difference in event.differences] == [
        ("loadcell_version", "1.0", "2.0")
    ]
    assert sentences_of(timeline) == ["history.fell.alone", "history.differs"]


def test_treatments_that_change_combined_are_one_event_the_largest_first() -> None:
    timeline = history(runs([100.0] * 8 + [120.0] * 8, treatments=3), METRICS["throughput"])
    (event,) = timeline.events
    assert len(event.changes) == 3
    assert abs(event.changes[0].share) == max(abs(change.share) for change in event.changes)
    assert sentences_of(timeline) == ["history.rose", "history.nothing-differs"]
    assert next(finding.severity for finding in find(timeline)) == "good"


def test_more_response_time_is_worse() -> None:
    chance = np.random.default_rng(1)
    figures = [
        records_of({"1": [level * float(chance.normal(1, 0.01))]}) for level in [100.0] * 8 + [130.0] * 8
    ]
    matches = [
        run_of(f"run-{n}", "finished", replace(run, started_utc=f"2026-03-{n + 1:02d}"), records, {},
        METRICS["p99"])
        for n, (run, records) in enumerate(figures)
    ]  # fmt: skip
    timeline = history(matches, METRICS["p99"])
    assert sentences_of(timeline)[0] == "history.rose.alone"
    assert next(iter(find(timeline))).severity == "problem"


@pytest.mark.parametrize("method", ["t-test", "permutation", "windows"])
def test_every_way_of_judging_finds_a_clear_change(method: Any) -> None:
    timeline = history(runs([100.0] * 10 + [80.0] * 10), METRICS["throughput"], Options(method=method))
    assert [(event.last, event.first) for event in timeline.events] == [(9, 10)]


def test_runs_without_a_value_are_stepped_over() -> None:
    timeline = history(runs([100.0] * 7 + [None, None] + [80.0] * 7), METRICS["throughput"])
    assert [(event.last, event.first) for event in timeline.events] == [(6, 9)]
    assert sentences_of(timeline)[-1] == "history.without"


def test_a_change_near_the_scatter_has_a_range_of_runs_and_the_differences_within_it() -> None:
    """A setting differs from run 10 on, two runs before the likeliest place."""
    newer = {f"at_{item}": {"loadcell_version": "2.0"} for item in range(10, 24)}
    levels = [100.0] * 10 + [99.0, 99.0] + [96.0] * 12
    timeline = history(runs(levels, **newer), METRICS["throughput"])
    (event,) = timeline.events
    (change,) = event.changes
    assert event.last >= 10, "the setting does not differ between the two likeliest runs"
    assert change.since < 10 <= change.until
    assert event.places == change.until - change.since > 1
    assert [difference.path for difference in event.differences] == ["loadcell_version"]
    assert sentences_of(timeline) == ["history.fell.alone", "history.place", "history.differs"]
    arguments = [*find(timeline)][1].message.arguments
    assert (arguments["since"], arguments["until"]) == (f"run-{change.since}", f"run-{change.until}")


def test_a_clear_change_has_one_place() -> None:
    timeline = history(runs([100.0] * 8 + [50.0] * 8), METRICS["throughput"])
    (change,) = timeline.events[0].changes
    assert (change.since, change.until) == (7, 8)


def test_a_change_too_small_to_matter_is_none() -> None:
    timeline = history(runs([100.0] * 20 + [101.5] * 20), METRICS["throughput"])
    assert timeline.events == ()
    assert sentences_of(timeline) == ["history.no-change"]
    small = history(runs([100.0] * 20 + [101.5] * 20), METRICS["throughput"], Options(least_change=0.005))
    assert len(small.events) == 1


def test_a_last_run_that_is_off_is_called_out_and_no_change_yet() -> None:
    timeline = history(runs([100.0] * 12 + [80.0]), METRICS["throughput"])
    assert timeline.events == ()
    assert [latest_run.share for latest_run in timeline.latest] == [pytest.approx(-0.2, abs=0.02)]
    assert sentences_of(timeline) == ["history.no-change", "history.latest-below"]


@pytest.mark.parametrize("levels", [[100.0], [100.0, 90.0], [100.0] * 5, [None] * 9])
def test_too_few_runs_say_so_and_nothing_else(levels: list[float | None]) -> None:
    timeline = history(runs(levels), METRICS["throughput"])
    assert sentences_of(timeline)[0] == "history.too-few"


def test_one_run_is_spoken_of_in_the_singular() -> None:
    (finding, *_) = find(history(runs([100.0]), METRICS["throughput"]))
    assert finding.message.text.startswith("Only 1 run has")


def test_a_treatment_that_few_runs_have_is_named_as_not_judged() -> None:
    old, new = runs([100.0] * 8), runs([100.0] * 3, treatments=2)
    timeline = history([*old, *new], METRICS["throughput"])
    assert [line.treatment for line in timeline.series] == ["1", "2"]
    assert sentences_of(timeline) == ["history.no-change", "history.some-too-few"]


def test_a_constant_level_is_no_change() -> None:
    run, records = records_of({"1": [5.0, 5.0]})
    flat = [run_of(f"r{n}", "finished", run, records, {}, METRICS["throughput"]) for n in range(9)]
    assert sentences_of(history(flat, METRICS["throughput"])) == ["history.no-change"]


@pytest.mark.parametrize("nothing", [0.0, float("nan"), None])
def test_runs_in_which_nothing_succeeded_are_named_and_make_no_level(nothing: float | None) -> None:
    run, records = records_of({"1": [nothing, nothing]})
    bare = [run_of(f"r-{n}", "finished", run, records, {}, METRICS["throughput"]) for n in range(3)]
    timeline = history([*runs([100.0] * 8), *bare], METRICS["throughput"])
    assert sentences_of(timeline) == ["history.no-change", "history.without"]


def test_a_level_that_came_back_is_two_events() -> None:
    timeline = history(runs([100.0] * 15 + [60.0] * 10 + [100.0] * 15), METRICS["throughput"])
    assert [(event.last, event.first) for event in timeline.events] == [(14, 15), (24, 25)]


def test_the_level_holds_for_all_treatments_together() -> None:
    false, chance = 0, np.random.default_rng(12)
    for _ in range(40):
        unchanged = [
            run_of(f"run-{n}", "finished", replace(run, started_utc=f"2026-03-{n + 1:02d}"), records, {},
            METRICS["throughput"])
            for n in range(10)
            for run, records in [records_of({str(k): [float(chance.normal(100, 2))] for k in range(16)})]
        ]  # fmt: skip
        false += bool(history(unchanged, METRICS["throughput"]).events)
    assert false <= 2


def test_runs_that_depend_on_the_one_before_are_said_to() -> None:
    drift = [100.0]
    chance = np.random.default_rng(13)
    for _ in range(39):
        drift.append(100 + 0.8 * (drift[-1] - 100) + float(chance.normal(0, 3)))
    timeline = history(runs(drift), METRICS["throughput"])
    assert 0.4 < timeline.dependent["1"] <= 0.9
    assert "history.dependent" in sentences_of(timeline)
    ignored = history(runs(drift), METRICS["throughput"], Options(method="windows"))
    assert {"history.dependent", "history.dependent.ignored"} & {*sentences_of(ignored)} <= {
        "history.dependent.ignored"
    }
