"""Moments of a trial that its charts over time mark: stalls, dips, restarts, clock steps and other events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.steadiness import Judged
from loadcell.model.json import JsonObject
from loadcell.store.frames import Frame

STALL, DIP, INCIDENT = "stall", "dip", "incident"
#: Kinds from top to bottom; the others are names of events.
KINDS = (STALL, DIP, INCIDENT, "restart", "clock-step", "sampling-gap", "neighbour", "monitor")
#: Marks of one kind in one trial; of more, the longest.
MOST_OF_KIND = 30


@dataclass(frozen=True)
class TimeMark:
    """Something that happened in a trial, in seconds from the measurement's start; `end_s` is None for an
    instant.

    `share` is the depth of a dip; `about` is what the event names: a process, a reason.
    """

    trial: str
    kind: str
    begin_s: float
    end_s: float | None = None
    share: float | None = None
    about: str = ""

    @property
    def length_s(self) -> float:
        """Duration; 0 for an instant."""
        return 0.0 if self.end_s is None else self.end_s - self.begin_s


def of_trials(
    intervals: Frame, judged: Iterable[Judged], events: Frame, incidents: Iterable[TimeMark] = ()
) -> dict[str, list[TimeMark]]:
    """The marks of each trial with any, by their beginning."""
    by_kind: dict[tuple[str, str], list[TimeMark]] = {}
    for mark in (*_stalls(intervals), *_dips(judged), *_events(events), *incidents):
        by_kind.setdefault((mark.trial, mark.kind), []).append(mark)
    by_trial: dict[str, list[TimeMark]] = {}
    for (trial, _), marks in by_kind.items():
        longest = sorted(marks, key=lambda mark: -mark.length_s)[:MOST_OF_KIND]
        by_trial.setdefault(trial, []).extend(longest)
    return {trial: sorted(marks, key=lambda mark: mark.begin_s) for trial, marks in by_trial.items()}


def _stalls(intervals: Frame) -> Iterator[TimeMark]:
    """Neighbouring intervals of the measurement in which nothing succeeded."""
    if not intervals.has("trial", "phase", "operation", "t_s", "duration_s", "throughput_per_s"):
        return
    measured = intervals.text("operation").isin("transaction") & intervals.text("phase").isin("measure")
    frame = intervals.select("trial", "t_s", "duration_s", "throughput_per_s").take(measured)
    still = frame.numbers("throughput_per_s") == 0
    if not still.any():
        return
    frame = frame.adding({"still": still.astype(np.float64)}).sorted_by("trial", "t_s")
    trial, begin_s, end_s = "", 0.0, 0.0
    for name, time, length, stands in frame.rows("trial", "t_s", "duration_s", "still"):
        if trial and (name != trial or not stands):
            yield TimeMark(trial, STALL, begin_s, end_s)
            trial = ""
        if stands and time is not None and length is not None:
            begin_s = begin_s if trial else time
            trial, end_s = name, time + length
    if trial:
        yield TimeMark(trial, STALL, begin_s, end_s)


def _dips(judged: Iterable[Judged]) -> Iterator[TimeMark]:
    for item in judged:
        for dip in item.steadiness.dips.dips if item.steadiness.dips else ():
            begin_s, end_s = item.seconds(dip.begin), item.seconds(dip.end)
            yield TimeMark(item.trial.name, DIP, begin_s, end_s, share=dip.depth)


def _events(events: Frame) -> Iterator[TimeMark]:
    if not events.has("trial", "event", "t_s", "detail"):
        return
    named = events.take(events.text("event").isin(*KINDS))
    for trial, kind, time, detail in named.rows("trial", "event", "t_s", "detail"):
        if time is not None:
            yield _event(trial, kind, time, json.loads(detail or "{}"))


def _event(trial: str, kind: str, time: float, detail: JsonObject) -> TimeMark:
    gap_s = detail.get("length_s")
    about = detail.get("who") or detail.get("reason") or detail.get("what") or detail.get("step_s") or ""
    if isinstance(gap_s, int | float):  # an event has the time at which the gap ended
        return TimeMark(trial, kind, time - gap_s, time)
    return TimeMark(trial, kind, time, about=str(about))
