"""Marks on the time axis of a trial, from intervals, dips and events with known times."""

from __future__ import annotations

import json

import pytest

from loadcell.analysis.marks import MOST_OF_KIND, TimeMark, of_trials
from loadcell.store.frames import Frame

COLUMNS = {
    "trial": "text", "phase": "text", "operation": "text",
    "t_s": "number", "duration_s": "number", "throughput_per_s": "number",
}  # fmt: skip
EVENTS = {"trial": "text", "t_s": "number", "event": "text", "detail": "text"}
NO_EVENTS = Frame.from_rows(EVENTS, [])  # type: ignore[arg-type]


def intervals(*throughput: float, trial: str = "a", phase: str = "measure") -> list[tuple[object, ...]]:
    return [
        (trial, phase, "transaction", float(second), 1.0, value) for second, value in enumerate(throughput)
    ]


def stalls(rows: list[tuple[object, ...]]) -> dict[str, list[tuple[float, float | None]]]:
    marks = of_trials(Frame.from_rows(COLUMNS, rows), (), NO_EVENTS)  # type: ignore[arg-type]
    return {trial: [(mark.begin_s, mark.end_s) for mark in of] for trial, of in marks.items()}


def test_neighbouring_intervals_without_success_are_one_stall() -> None:
    assert stalls(intervals(100, 0, 0, 0, 90, 0, 80)) == {"a": [(1, 4), (5, 6)]}


def test_a_stall_may_last_to_the_end_and_does_not_reach_into_another_trial() -> None:
    rows = [*intervals(50, 0, 0), *intervals(0, 0, 70, trial="b")]
    assert stalls(rows) == {"a": [(1, 3)], "b": [(0, 2)]}


def test_warm_up_and_missing_values_are_no_stalls() -> None:
    assert stalls(intervals(0, 0, phase="warmup")) == {}
    assert stalls(intervals(100, float("nan"), 100)) == {}


def event(name: str, t_s: float | None, **detail: object) -> tuple[object, ...]:
    return ("a", t_s, name, json.dumps(detail))


def marks_of(*rows: tuple[object, ...]) -> list[TimeMark]:
    events = Frame.from_rows(EVENTS, rows)  # type: ignore[arg-type]
    return of_trials(Frame({}), (), events).get("a", [])


@pytest.mark.parametrize(
    ("row", "mark"),
    [
        (event("restart", 3.0, reason="it ended"), TimeMark("a", "restart", 3.0, about="it ended")),
        (event("neighbour", 4.5, pid=7, who="gcc"), TimeMark("a", "neighbour", 4.5, about="gcc")),
        (event("clock-step", 2.0, step_s=-1.5), TimeMark("a", "clock-step", 2.0, about="-1.5")),
        (event("sampling-gap", 9.0, length_s=4.0), TimeMark("a", "sampling-gap", 5.0, 9.0)),
    ],
)
def test_events_have_their_time_and_subject(row: tuple[object, ...], mark: TimeMark) -> None:
    assert marks_of(row) == [mark]


def test_phases_unknown_events_and_those_without_time_are_left_out() -> None:
    assert marks_of(event("phase", 0.0, phase="measure"), event("x", 1.0), event("restart", None)) == []


def test_of_many_marks_of_one_kind_the_longest_stay() -> None:
    gaps = [event("sampling-gap", 100.0 * n, length_s=float(n)) for n in range(1, 51)]
    marks = marks_of(*gaps, event("restart", 1.0))
    lengths = [mark.length_s for mark in marks if mark.kind == "sampling-gap"]
    assert lengths == [float(n) for n in range(51 - MOST_OF_KIND, 51)]
    assert [mark.kind for mark in marks if mark.kind == "restart"] == ["restart"]
