"""Time series of trials: made small enough to be looked at, and on an even grid to be judged.

Steady state of open loops by their response times.

Throughput of an open loop is the offered load, steady or not: its mean is known within a per cent even where
the response time is hardly known. A queue's response times are correlated over many intervals, so their mean
is known much less well than that of throughput, and their 99th percentile less well still.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Share
from loadcell.model.panels import Aggregate, DipCause, Reduction
from loadcell.stats.energy import Array
from loadcell.stats.steady_state import Steadiness, judge
from loadcell.store.frames import Column, Frame, Groups, Numbers, group_rows


def bucket_size(points: int, at_most: int) -> int:
    """Number of neighbouring points become one so that `points` shrink to `at_most` or fewer."""
    return max(1, math.ceil(points / at_most))


#: Suffixes of the names under which `thin` gives the extremes of the joined values.
LOWEST, HIGHEST = "_lowest", "_highest"


def thin(
    frame: Frame, columns: Mapping[str, Reduction], at_most: int, envelope: Collection[str] = ()
) -> Frame:
    """Join neighbouring rows of each trial until none has more than `at_most`.

    `frame` has `trial`, `t_s` (where the time a row stands for ended, in seconds from the measurement's
    start; rows up to 0 are warm-up and never join with rows after it) and `columns`, of which those missing
    in the frame are left out. A joined row takes the last `t_s`, and of every other column what its
    `Reduction` says over the values there are; peaks are kept by `max`. For the columns of `envelope` it also
    has their extremes (`<column>_lowest`, `<column>_highest`), if rows were joined. Where the frame has these
    already, its rows were joined before: they are those of all.
    """
    reductions = {name: kind for name, kind in columns.items() if frame.has(name)}
    if not len(frame):
        return frame.select("trial", "t_s", *reductions)
    extremes = [name + end for name in reductions if name in envelope for end in (LOWEST, HIGHEST)]
    joined_before = [name for name in extremes if frame.has(name)]
    ordered = frame.select("trial", "t_s", *reductions, *joined_before)
    ordered = ordered.take(~np.isnan(ordered.numbers("t_s"))).sorted_by("trial", "t_s")
    size = bucket_size(max(ordered.groups("trial").sizes, default=0), at_most)
    if size == 1:
        return ordered
    in_window = ordered.numbers("t_s") > 0
    position = group_rows(ordered.text("trial"), in_window).positions()
    groups = group_rows(ordered.text("trial"), in_window, position // size)
    thinned: dict[str, Column] = {
        name: reduced(groups, kind, ordered.numbers(name)) for name, kind in reductions.items()
    }
    for name in extremes:
        values = ordered.numbers(
            name if name in joined_before else name.removesuffix(LOWEST).removesuffix(HIGHEST)
        )
        thinned[name] = groups.min(values) if name.endswith(LOWEST) else groups.max(values)
    return ordered.select("trial", "t_s").take(groups.last()).adding(thinned)


def reduced(groups: Groups, kind: Reduction, values: Numbers) -> Numbers:
    """One value for each group; NaN for a group without any."""
    if kind == "sum":
        return groups.sum_of_any(values)
    return groups.max(values) if kind == "max" else groups.mean(values)


def aggregates(samples: Frame, columns: Sequence[Aggregate]) -> dict[str, dict[Aggregate, float]]:
    """Each trial's aggregates of a monitor's samples; those without a value are left out."""
    present = [aggregate for aggregate in columns if samples.has_values(aggregate.column)]
    if not present:
        return {}
    groups = samples.groups("trial")
    values = {item: reduced(groups, item.how, samples.numbers(item.column)) for item in present}
    return {
        str(trial): {item: float(of[group]) for item, of in values.items() if not np.isnan(of[group])}
        for group, trial in enumerate(samples.text("trial")[groups.first].tolist())
    }


#: An interval shorter than this share of the usual length is a remainder, whose rate is mostly chance.
COMPLETE_SHARE = 0.5
#: A record with a larger share of the measurement missing is not judged as a series.
MOST_MISSING = 0.02


@dataclass(frozen=True)
class Timeline:
    """The measured part of one trial: value i is the throughput from `i` to `i + 1` times `step_s` after its
    start.

    `response_ms` are the mean response times of the same intervals, NaN without requests; empty if there are
    none.
    """

    trial: str
    step_s: float
    throughput: Array
    response_ms: Array = field(default_factory=lambda: np.array([]))

    @property
    def length_s(self) -> float:
        """Duration in seconds."""
        return self.step_s * self.throughput.size

    def on_grid(self, t_s: Array, values: Array) -> Array:
        """Samples taken at `t_s` (each standing for the time that ended there) as means on the same grid; NaN
        without any.
        """
        places = np.ceil(t_s / self.step_s).astype(int) - 1
        inside = (places >= 0) & (places < self.throughput.size) & np.isfinite(values)
        count = np.bincount(places[inside], minlength=self.throughput.size)
        total = np.bincount(places[inside], weights=values[inside], minlength=self.throughput.size)
        averages: Array = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
        return averages

    def place_of(self, t_s: float) -> float:
        """Where on the grid an instant lies; it may be outside."""
        return t_s / self.step_s


def of_trials(intervals: Frame) -> dict[str, Timeline]:
    """The timeline of every trial whose intervals are even and (nearly) all there."""
    numbers = ("t_s", "duration_s", "throughput_per_s")
    if not intervals.has("trial", "phase", "operation", *numbers):
        return {}
    measured = intervals.text("operation").isin("transaction") & intervals.text("phase").isin("measure")
    for name in numbers:
        measured &= ~np.isnan(intervals.numbers(name))
    times = ("response_mean_ms",) if intervals.has("response_mean_ms") else ()
    frame = intervals.select("trial", *numbers, *times).take(measured).sorted_by("trial", "t_s")
    groups = frame.groups("trial")
    lines = {}
    for trial, rows in zip(frame.text("trial")[groups.first].tolist(), groups.parts(), strict=True):
        line = _timeline(str(trial), *(frame.numbers(name)[rows] for name in (*numbers, *times)))
        if line is not None:
            lines[line.trial] = line
    return lines


def _timeline(
    trial: str, begin: Array, lengths: Array, rates: Array, response_ms: Array | None = None
) -> Timeline | None:
    step_s = float(np.median(lengths))
    complete = (lengths >= COMPLETE_SHARE * step_s) & np.isfinite(rates)
    if step_s <= 0 or not complete.any():
        return None
    spanned = float(begin[complete][-1] - begin[complete][0]) + step_s
    if complete.sum() * step_s < (1 - MOST_MISSING) * spanned:
        return None
    line = Timeline(trial, step_s, np.ascontiguousarray(rates[complete]))
    return line if response_ms is None else replace(line, response_ms=response_ms[complete])


def samples_of(frame: Frame, cause: DipCause) -> dict[str, tuple[Array, Array]]:
    """Trial -> (t_s, values) of a column of a monitor's samples; empty where these lack it."""
    if cause.total is not None and frame.has(cause.total):
        frame = frame.take(frame.numbers(cause.total) == 0)
    if not frame.has("t_s", cause.column):
        return {}
    timed = frame.take(~np.isnan(frame.numbers("t_s")))
    groups, trials = timed.groups("trial"), timed.text("trial")
    t_s, values = timed.numbers("t_s"), timed.numbers(cause.column)
    return {
        str(trial): (t_s[rows], values[rows])
        for trial, rows in zip(trials[groups.first].tolist(), groups.parts(), strict=True)
    }


#: A mean response time that is known less well than this is a reason to measure for longer.
ROUGH = 0.05

ALL = FindingCode(
    "found.steady.response.all", Subject.STEADY, "good", (Concern.WELL, 60), count=Count, error_share=Share
)
ALL_ROUGH = FindingCode(
    "found.steady.response.rough", Subject.STEADY, "caution", (Concern.TRUST, 240), count=Count,
    error_share=Share,
)  # fmt: skip
CHANGED = FindingCode(
    "found.steady.response.changed", Subject.STEADY, "caution", (Concern.TRUST, 60), change_share=Share,
    count=Count, of=Count, trial=str,
)  # fmt: skip
UNCLEAR = FindingCode(
    "found.steady.response.unclear", Subject.STEADY, "caution", (Concern.TRUST, 235), count=Count, of=Count
)


@dataclass(frozen=True)
class ResponseSteadiness:
    """Judgement on the mean response time of each interval of one open-loop trial, in milliseconds."""

    trial: str
    steadiness: Steadiness

    @property
    def change(self) -> float:
        """Change along the trial as a share of the mean; of one that never settled, that of its beginning."""
        trend = self.steadiness.trend
        return self.steadiness.first if trend is None or self.steadiness.first else trend.change

    def document(self) -> JsonObject:
        """As plain JSON."""
        within, trend = self.steadiness.within, self.steadiness.trend
        return {
            "state": self.steadiness.state,
            "mean_ms": within.mean if within else None,
            "mean_error": within.error_share if within else None,
            "trend": {"change": trend.change, "p": trend.p} if trend else None,
        }


def judge_response(line: Timeline) -> ResponseSteadiness | None:
    """Judgement on a timeline's response times; None where too many intervals lack them."""
    present = np.isfinite(line.response_ms)
    if not present.any() or present.mean() < 1 - MOST_MISSING:
        return None
    return ResponseSteadiness(line.trial, judge(line.response_ms[present]))


def response_findings(judged: Sequence[ResponseSteadiness]) -> Iterator[Finding]:
    """Findings on open-loop trials whose throughput was steady."""
    changed = [item for item in judged if item.steadiness.steady is False]
    unclear = [item for item in judged if item.steadiness.state == "too-dependent"]
    names = tuple(item.trial for item in judged)
    if changed:
        worst = max(changed, key=lambda item: abs(item.change))
        yield CHANGED.finding(
            tuple(item.trial for item in changed),
            count=len(changed), of=len(judged), trial=worst.trial, change_share=abs(worst.change),
        )  # fmt: skip
    if unclear:
        yield UNCLEAR.finding(tuple(item.trial for item in unclear), count=len(unclear), of=len(judged))
    errors = [
        share
        for item in judged
        if (within := item.steadiness.within) and (share := within.error_share) is not None
    ]
    if errors and not changed and not unclear:
        error = median(errors)
        yield (ALL_ROUGH if error > ROUGH else ALL).finding(names, count=len(judged), error_share=error)
