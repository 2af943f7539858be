"""Steadiness of the trials of a run, each judged separately."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Protocol

import numpy as np

from loadcell.analysis import series
from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Rank, Statement, Subject
from loadcell.analysis.series import ResponseSteadiness, Timeline, judge_response
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.message import Change, Count, Factor, Message, MessageCode, Seconds, Severity, Share
from loadcell.model.panels import DipCause, dip_causes
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.units import Duration
from loadcell.stats import dips as dip_search
from loadcell.stats.energy import Array
from loadcell.stats.steady_state import FEWEST_VALUES, Steadiness, judge
from loadcell.store.frames import Frame

#: Events of a trial that may come with dips.
CHECKPOINT = "checkpoint"
#: Values round a dip in which a cause may lie: samples and intervals are not taken at the same instant.
REACH = 2
#: Something comes with dips when it is this many times as much in them,
NOTABLE_TIMES = 1.5
#: and chance brings it there in fewer than this share of cases.
MEETING_LEVEL = 0.05
#: Checkpoints explain dips when at least this share of the dips begins at one.
MOST_AT_EVENT = 0.7
#: A mean within a trial that is known less well than this is a reason to measure for longer.
ROUGH = 0.05
#: How many things a sentence names that come with dips.
MOST_NAMED = 2


def _code(name: str, severity: Severity, rank: Rank, /, **arguments: type) -> FindingCode:
    return FindingCode(f"found.steady.{name}", Subject.STEADY, severity, rank, **arguments).marked(
        of_load=True
    )


ALL = _code("all", "good", (Concern.WELL, 60), count=Count, error_share=Share)
ALL_BARE = _code("all.bare", "good", (Concern.WELL, 60), count=Count)
ALL_ROUGH = _code("all.rough", "caution", (Concern.TRUST, 240), count=Count, error_share=Share)
NEVER = _code("never", "caution", (Concern.TRUST, 50), count=Count, of=Count)
_TREND: dict[str, type] = {
    "change_share": Share, "count": Count, "of": Count, "treatment": str, "trial": str,
}  # fmt: skip
FELL = _code("fell", "caution", (Concern.TRUST, 60), **_TREND)
ROSE = _code("rose", "caution", (Concern.TRUST, 70), **_TREND)
#: Throughput of some trials fell, and of others rose.
DRIFTED = _code(
    "drifted", "caution", (Concern.TRUST, 60), change=Change, falling=Count, of=Count, rising=Count,
    treatment=str, trial=str,
)  # fmt: skip
_LATE: dict[str, type] = {"count": Count, "difference_share": Share, "longest_s": Seconds, "of": Count}
WARMUP = _code("warmup", "caution", (Concern.TRUST, 230), **_LATE)
WARMUP_HIGH = _code("warmup.high", "caution", (Concern.TRUST, 230), **_LATE)
UNCLEAR = _code("unclear", "info", (Concern.TRUST, 250), count=Count)
TOO_SHORT = _code("too-short", "info", (Concern.TRUST, 260), count=Count).marked(evidence=Evidence.METHOD)
TOO_SHORT_SOME = _code(
    "too-short.some", "info", (Concern.TRUST, 260), count=Count, others=Count, short=Count
).marked(evidence=Evidence.METHOD)
DIPS = FindingCode(
    "found.dips",
    Subject.STEADY,
    "caution",
    (Concern.TRUST, 190),
    count=Count,
    depth_share=Share,
    dips=Count,
    length_s=Seconds,
    lost_share=Share,
    of=Count,
    period_s=Seconds,
    trial=str,
).marked(states=Statement.DIPS)
DIPS_WITH = FindingCode("found.dips.with", Subject.STEADY, "info", (Concern.TRUST, 270), causes=list)
DIPS_ALONE = FindingCode("found.dips.alone", Subject.STEADY, "info", (Concern.TRUST, 280)).marked(
    implied_by=(Statement.DIPS,)
)
WITH_CHECKPOINTS = MessageCode("with.checkpoints", count=Count, of=Count)
WITH_TIMES = MessageCode("with.times", factor_times=Factor, what=Message)
WITH_ONLY = MessageCode("with.only", what=Message)


@dataclass(frozen=True)
class Cause:
    """Something that came with a trial's dips: `times` as much as beside them, or, of events, at `dips` of
    the dips.
    """

    name: str
    message: MessageCode
    times: float | None = None
    dips: int | None = None


@dataclass(frozen=True)
class Judged:
    """One trial with its judgement, and what came with its dips; of an open loop, with that on its response
    times.
    """

    trial: Trial
    timeline: Timeline
    steadiness: Steadiness
    causes: tuple[Cause, ...] = ()
    response: ResponseSteadiness | None = None

    @property
    def steady(self) -> bool | None:
        """True if throughput, and response times of an open loop, were steady; None when that is unknown."""
        verdicts = [self.steadiness.steady, *([self.response.steadiness.steady] if self.response else [])]
        return False if False in verdicts else None if None in verdicts else True

    def seconds(self, values: float) -> float:
        """A number of values of the series as seconds."""
        return values * self.timeline.step_s

    def document(self) -> JsonObject:
        """As plain JSON."""
        steadiness, within = self.steadiness, self.steadiness.within
        dips, trend = steadiness.dips, steadiness.trend
        return {
            "trial": self.trial.name, "state": steadiness.state,
            "warmup_s": self.seconds(steadiness.settled_after), "warmup_difference": steadiness.first,
            "mean_per_s": within.mean if within else None,
            "mean_error": within.error_share if within else None,
            "effective_values": within.effective if within else None,
            "trend": {"change": trend.change, "p": trend.p} if trend else None,
            "response": self.response.document() if self.response else None,
            "dips": None if dips is None else {
                "count": len(dips.dips), "length_s": self.seconds(dips.length), "depth": dips.depth,
                "period_s": None if dips.period is None else self.seconds(dips.period), "lost": dips.lost,
                "with": [
                    {"name": cause.name, "times": _finite(cause.times),
                    "dips": cause.dips} for cause in self.causes
                ],
            },
        }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


class Recorded(Protocol):
    """The trials' documents, and what was recorded over time; a stored run gives it."""

    trials: list[TrialRecord]

    def intervals(self) -> Frame:
        """A row an interval and operation."""
        ...

    def samples(self, monitor: str) -> Frame:
        """A monitor's samples."""
        ...

    def events(self) -> Frame:
        """An event with its time."""
        ...


def judge_all(trials: Sequence[Trial], recorded: Recorded) -> tuple[Judged, ...]:
    """Every measured trial, in run order; those that broke off are no measure of steadiness.

    Nothing is read for trials that are too short anyway.
    """
    steps = {record.name: _steps(record) for record in recorded.trials}
    measured = [
        trial for trial in trials if trial.status in {"ok", "invalid"} and steps.get(trial.name) is not None
    ]
    able = any((steps[trial.name] or (0, 0.0))[0] >= FEWEST_VALUES for trial in measured)
    lines = series.of_trials(recorded.intervals()) if able else {}
    judged = [
        Judged(
            trial,
            line,
            judge(line.throughput),
            response=judge_response(line) if trial.open_loop is not None else None,
        )
        for trial in measured
        if (line := lines.get(trial.name) or _unread(trial.name, steps[trial.name])) is not None
    ]
    if not any(judgement.steadiness.dips for judgement in judged):
        return tuple(judged)
    frames = {source: recorded.samples(source) for source in {cause.source for cause in dip_causes()}}
    samples = {cause: series.samples_of(frames[cause.source], cause) for cause in dip_causes()}
    checkpoints = _times_of(recorded.events(), CHECKPOINT)
    return tuple(
        replace(
            judgement,
            causes=_causes(
                judgement,
                {
                    cause: by_trial[judgement.trial.name]
                    for cause, by_trial in samples.items()
                    if judgement.trial.name in by_trial
                },
                checkpoints.get(judgement.trial.name, []),
            ),
        )
        for judgement in judged
    )


def _steps(record: TrialRecord) -> tuple[int, float] | None:
    """Number of intervals a trial's measurement has, and their length in seconds; None when it was not
    measured.
    """
    duration_s = record.measure.duration_s if record.measure else None
    written = (record.settings.get("load") or {}).get("interval") or 1.0
    step_s = float(Duration.read(written)) if isinstance(written, str) else float(written)
    return None if not duration_s else (round(duration_s / step_s), step_s)


def _unread(trial: str, steps: tuple[int, float] | None) -> Timeline | None:
    """A timeline that is too short to be worth reading; None for one that should have been there."""
    if steps is None or steps[0] >= FEWEST_VALUES:
        return None
    return Timeline(trial, steps[1], np.array([]))


def _times_of(events: Frame, name: str) -> dict[str, list[float]]:
    """Trial -> when an event came, in seconds from the measurement's start."""
    if not events.has("trial", "event", "t_s"):
        return {}
    times: dict[str, list[float]] = {}
    for trial, t_s in events.take(events.text("event").isin(name)).rows("trial", "t_s"):
        if t_s is not None:
            times.setdefault(trial, []).append(t_s)
    return times


def _causes(
    judged: Judged, samples: Mapping[DipCause, tuple[Array, Array]], checkpoints: Sequence[float]
) -> tuple[Cause, ...]:
    """Causes of the dips: events first, then what grew most."""
    dips, line = judged.steadiness.dips, judged.timeline
    if dips is None:
        return ()
    causes = []
    places = [line.place_of(t_s) for t_s in checkpoints]
    reach = REACH + dips.width // 2
    at_event = sum(any(dip.begin - reach <= position <= dip.end for position in places) for dip in dips.dips)
    if at_event and at_event >= MOST_AT_EVENT * len(dips.dips) and len(places) <= 2 * len(dips.dips):
        causes.append(Cause("checkpoints", WITH_CHECKPOINTS, dips=at_event))
    where = dip_search.mask(dips, line.throughput.size, REACH)
    grown = []
    for cause, (t_s, values) in samples.items():
        meeting = dip_search.meets(where, line.on_grid(t_s, values))
        if meeting is not None and meeting.times >= NOTABLE_TIMES and meeting.p <= MEETING_LEVEL:
            grown.append(Cause(cause.name, cause.message, times=meeting.times))
    return (*causes, *sorted(grown, key=lambda cause: -(cause.times or 0.0)))


def findings(judged: Sequence[Judged], treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Findings on a run's steadiness; nothing without timelines, or on trials with faults."""
    judged = [judgement for judgement in judged if not judgement.trial.faults]
    labels = {treatment.id: treatment.label for treatment in treatments}
    able = [judgement for judgement in judged if judgement.steadiness.steady is not None]
    # Under valgrind a server is read for what it lost: its throughput counts in nothing, steady or not.
    counted = [
        judgement
        for judgement in judged
        if judgement.trial.throughput_per_s is not None and not judgement.trial.examined
    ]
    if counted and not able:
        short = sum(judgement.steadiness.state == "too-short" for judgement in counted)
        code = TOO_SHORT if short == len(counted) else TOO_SHORT_SOME if short else UNCLEAR
        yield code.finding(count=len(counted), short=short, others=len(counted) - short)
    unsettled = [judgement for judgement in able if judgement.steadiness.state == "never-settled"]
    trending = [judgement for judgement in able if judgement.steadiness.state == "trend"]
    by_throughput = [judgement for judgement in able if judgement.response is None]
    if by_throughput and not unsettled and not trending:
        yield _all_steady(by_throughput)
    yield from series.response_findings(
        [judgement.response for judgement in able if judgement.response and judgement.steadiness.steady]
    )
    if unsettled:
        yield NEVER.finding(_names(unsettled), count=len(unsettled), of=len(able))
    yield from _trends(trending, len(able), labels)
    yield from _warmups([judgement for judgement in able if judgement not in unsettled], len(able))
    yield from _dips(judged)


def _names(judged: Iterable[Judged], first: Judged | None = None) -> tuple[str, ...]:
    """Names of the trials, `first` before the others."""
    return tuple(dict.fromkeys(item.trial.name for item in (*([first] if first else []), *judged)))


def _all_steady(able: Sequence[Judged]) -> Finding:
    errors = [
        share
        for judgement in able
        if (w := judgement.steadiness.within) and (share := w.error_share) is not None
    ]
    error = median(errors) if errors else 0.0
    code = ALL_ROUGH if error > ROUGH else ALL if errors else ALL_BARE
    return code.finding(_names(able), count=len(able), error_share=error)


def _trends(trending: Sequence[Judged], of: int, labels: Mapping[str, str]) -> Iterator[Finding]:
    if not trending:
        return
    worst = max(trending, key=lambda judgement: abs(_change(judgement)))
    falling = sum(_change(judgement) < 0 for judgement in trending)
    rising = len(trending) - falling
    yield (DRIFTED if falling and rising else ROSE if rising else FELL).finding(
        _names(trending, worst),
        count=len(trending),
        falling=falling,
        rising=rising,
        of=of,
        trial=worst.trial.name,
        change=_change(worst),
        change_share=abs(_change(worst)),
        treatment=labels.get(worst.trial.treatment, worst.trial.treatment),
    )


def _change(judged: Judged) -> float:
    return judged.steadiness.trend.change if judged.steadiness.trend else 0.0


def _warmups(settled: Sequence[Judged], of: int) -> Iterator[Finding]:
    """Trials whose warm-up went on into the measurement."""
    late = [judgement for judgement in settled if judgement.steadiness.settled_after]
    if not late:
        return
    longest = max(late, key=lambda judgement: judgement.seconds(judgement.steadiness.settled_after))
    yield (WARMUP if longest.steadiness.first < 0 else WARMUP_HIGH).finding(
        _names(late),
        count=len(late),
        of=of,
        longest_s=longest.seconds(longest.steadiness.settled_after),
        difference_share=abs(longest.steadiness.first),
    )


def _dips(judged: Sequence[Judged]) -> Iterator[Finding]:
    """Periodic dips: of the trial they cost most, and in how many trials they are."""
    periodic = [
        (judgement, dips)
        for judgement in judged
        if (dips := judgement.steadiness.dips) and dips.period is not None
    ]
    if not periodic:
        return
    worst, dips = max(periodic, key=lambda item: item[1].lost)
    yield DIPS.finding(
        _names((judgement for judgement, _ in periodic), worst),
        count=len(periodic), of=len(judged), trial=worst.trial.name, dips=len(dips.dips),
        period_s=_about(worst.seconds(dips.period or 0.0)), length_s=worst.seconds(dips.length),
        depth_share=dips.depth, lost_share=dips.lost,
    )  # fmt: skip
    causes = tuple(_cause_message(cause, len(dips.dips)) for cause in worst.causes[:MOST_NAMED])
    yield (DIPS_WITH if causes else DIPS_ALONE).finding((worst.trial.name,), causes=causes)


def _cause_message(cause: Cause, of: int) -> Message:
    if cause.dips is not None:
        return cause.message(count=cause.dips, of=of)
    cause_name = cause.message()
    if cause.times is None or not np.isfinite(cause.times):
        return WITH_ONLY(what=cause_name)
    return WITH_TIMES(what=cause_name, factor_times=cause.times)


def _about(seconds: float) -> float:
    """A period as it is known: to about 1 %."""
    return round(seconds) if seconds >= 10 else round(seconds, 1)
