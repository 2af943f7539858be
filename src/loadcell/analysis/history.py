"""A plan's runs as series of values, and their lasting changes: between which runs, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from loadcell.analysis.compare import differences
from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.treatments import short_keys, treatments
from loadcell.analysis.trials import Trial, of_run
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, Share
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.stats import change_points, distributions
from loadcell.stats.repeats import summarise


@dataclass(frozen=True)
class Metric:
    """A metric of a trial: its name in the catalogue, and its direction of improvement."""

    name: str
    of: Callable[[Trial], float | None]
    higher_is_better: bool


def _latency(key: str) -> Callable[[Trial], float | None]:
    return lambda trial: (trial.response or {}).get(key)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", lambda trial: trial.throughput_per_s, True),
        *(Metric(name, _latency(f"{name}_ms"), False) for name in ("mean", "p50", "p95", "p99", "p99.9")),
    )
}


@dataclass(frozen=True, eq=False)
class Run:
    """One run: name and start, records, and for each treatment the median over the succeeded repeats."""

    name: str
    started_utc: str
    state: str
    run: RunRecord
    records: Sequence[TrialRecord]
    environment: JsonObject
    values: Mapping[str, float]
    repeats: Mapping[str, int]

    @property
    def without(self) -> tuple[str, ...]:
        """The treatments it has no figure of."""
        return tuple(name for name in self.repeats if name not in self.values)

    @property
    def short(self) -> str:
        """The argument of other commands for this run."""
        return self.name.rpartition("-")[2]


@dataclass(frozen=True, eq=False)
class Series:
    """One treatment over the runs with a value for it: `places` are positions among all runs."""

    treatment: str
    label: str
    places: tuple[int, ...]
    values: tuple[float, ...]


def run_of(
    name: str,
    state: str,
    run: RunRecord,
    records: Sequence[TrialRecord],
    environment: JsonObject,
    metric: Metric,
) -> Run:
    """A run from its documents."""
    treatments_of_run = treatments(run, of_run(run, records))
    summaries = {
        treatment.id: summarise([metric.of(trial) for trial in treatment.trials if trial.counts])
        for treatment in treatments_of_run
    }
    return Run(
        name,
        run.started_utc or "",
        state,
        run,
        records,
        environment,
        {key: summary.median for key, summary in summaries.items() if _figure(summary.median)},  # type: ignore[misc]
        {key: len(summary.values) for key, summary in summaries.items()},
    )


def _figure(value: float | None) -> bool:
    """True if there is a value: without successes there is none to compare with."""
    return value is not None and math.isfinite(value) and value > 0


def series_of(runs: Sequence[Run]) -> tuple[Series, ...]:
    """A series a treatment, in the order of the latest run that has it; those of older runs only
    come last.
    """
    names: dict[str, None] = {}
    for run in reversed(runs):
        names.update(dict.fromkeys(run.values))
    labels = _labels(runs)
    series = []
    for name in names:
        places = tuple(position for position, run in enumerate(runs) if name in run.values)
        values = tuple(runs[position].values[name] for position in places)
        series.append(Series(name, labels.get(name, name), places, values))
    return tuple(series)


def _labels(runs: Sequence[Run]) -> dict[str, str]:
    """Labels of treatments by the latest run that has them."""
    labels: dict[str, str] = {}
    for run in runs:
        treatments = run.run.treatments
        short = short_keys(list(dict.fromkeys(key for treatment in treatments for key in treatment.levels)))
        for treatment in treatments:
            pairs = (f"{short[key]} = {level}" for key, level in treatment.levels.items())
            labels[treatment.id] = ", ".join(pairs) or treatment.id
    return labels


Method = Literal["t-test", "permutation", "windows"]
#: Runs on either side of a change: two may be a slip and its echo, three are a level.
LEAST_RUNS = 3
#: Runs from which a change can be found at all.
FEWEST_RUNS = 2 * LEAST_RUNS
#: A change smaller than this share is not worth a word.
LEAST_CHANGE = 0.02
#: The chance at which a last run within its level is called out.
LATEST_LEVEL = 0.01
#: Runs before the last that its level must have.
FEWEST_BEFORE = 5


@dataclass(frozen=True)
class Options:
    """Options of the search for changes."""

    method: Method = "t-test"
    level: float = change_points.LEVEL
    least_change: float = LEAST_CHANGE


@dataclass(frozen=True)
class Change:
    """One treatment's figure changed between two runs (positions): the means before and after, and the chance
    of it.
    """

    series: Series
    last: int
    first: int
    before: float
    after: float
    p: float

    @property
    def share(self) -> float:
        """The new mean relative to the old one, less 1."""
        return self.after / self.before - 1 if self.before else math.inf


@dataclass(frozen=True)
class Event:
    """All changes between the same two runs, the largest first, and what else differs between these runs."""

    last: int
    first: int
    changes: tuple[Change, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Latest:
    """The last run lies outside what its level's runs let expect: `share` off their mean, by chance `p`."""

    series: Series
    share: float
    p: float


@dataclass(frozen=True)
class History:
    """Everything about a plan's runs."""

    runs: tuple[Run, ...]
    metric: Metric
    options: Options
    series: tuple[Series, ...]
    events: tuple[Event, ...]
    latest: tuple[Latest, ...]

    @property
    def judged(self) -> tuple[Series, ...]:
        """The series that are long enough to be judged."""
        return tuple(series for series in self.series if len(series.values) >= FEWEST_RUNS)

    def changes_of(self, series: Series) -> tuple[Change, ...]:
        """One treatment's changes, in order of time."""
        return tuple(change for event in self.events for change in event.changes if change.series is series)


def history(runs: Sequence[Run], metric: Metric, options: Options | None = None) -> History:
    """Find the changes in runs, which are in order of time."""
    how = options or Options()
    series = series_of(runs)
    changes: dict[tuple[int, int], list[Change]] = {}
    latest = []
    for series_item in series:
        changes_of_series = _changes(series_item, how)
        for change in changes_of_series:
            changes.setdefault((change.last, change.first), []).append(change)
        begins = series_item.places.index(changes_of_series[-1].first) if changes_of_series else 0
        slip = _latest(series_item, begins)
        if slip is not None and abs(slip.share) >= how.least_change:
            latest.append(slip)
    events = tuple(
        Event(last, first, tuple(sorted(changes_of_series, key=lambda change: -abs(change.share))),
        _between(runs[last], runs[first]))
        for (last, first), changes_of_series in sorted(changes.items())
    )  # fmt: skip
    return History(tuple(runs), metric, how, series, events, tuple(latest))


def _changes(series: Series, how: Options) -> list[Change]:
    if len(series.values) < FEWEST_RUNS:
        return []
    if how.method == "permutation":
        points = change_points.by_permutation(series.values, how.level, LEAST_RUNS)
    elif how.method == "windows":
        points = change_points.by_windows(series.values, how.level, least_change=how.least_change)
    else:
        points = change_points.by_t_test(series.values, how.level, LEAST_RUNS)
    return [
        Change(
            series, series.places[point.at - 1], series.places[point.at], point.before, point.after, point.p
        )
        for point in points
        if point.magnitude >= how.least_change
    ]


def _latest(series: Series, begins: int) -> Latest | None:
    """True if the last value lies where the next of its level would: Student's prediction interval."""
    before = series.values[begins:-1]
    if len(before) < FEWEST_BEFORE:
        return None
    mean, scatter = fmean(before), stdev(before)
    off = series.values[-1] - mean
    if mean == 0 or off == 0:
        return None
    spread = scatter * math.sqrt(1 + 1 / len(before))
    p = float(2 * distributions.stdtr(len(before) - 1, -abs(off) / spread)) if spread else 0.0
    return Latest(series, off / mean, p) if p <= LATEST_LEVEL else None


def _between(before: Run, after: Run) -> tuple[Difference, ...]:
    """Other differences between two runs: plan, target, machine and tools, the likeliest
    explanation first.
    """
    return (
        *differences.plans(before.run, after.run),
        *differences.targets(before.records, after.records),
        *differences.hosts(before.environment, after.environment),
        *differences.tools(before.run, after.run),
    )


#: How many differences a sentence names before it only counts.
MOST_NAMED = 3

METRIC_NAMES = {name: MessageCode(f"history.metric.{name}") for name in METRICS}
TOO_FEW = FindingCode("history.too-few", Subject.HISTORY, "caution", count=Count, needed=Count)
SOME_TOO_FEW = FindingCode("history.some-too-few", Subject.HISTORY, "info", count=Count, needed=Count)
WITHOUT = FindingCode("history.without", Subject.HISTORY, "caution", count=Count, runs=list)
NO_CHANGE = FindingCode("history.no-change", Subject.HISTORY, "good", count=Count)
NO_CHANGE_MANY = FindingCode("history.no-change.many", Subject.HISTORY, "good", count=Count, treatments=Count)
FELL = FindingCode(
    "history.fell", Subject.HISTORY, "problem", after=str, before=str, change_share=Share, count=Count,
    date=str, metric=Message, of=Count, treatment=str,
)  # fmt: skip
FELL_ALONE = FindingCode(
    "history.fell.alone", Subject.HISTORY, "problem", after=str, before=str, change_share=Share, date=str,
    metric=Message,
)  # fmt: skip
ROSE = FindingCode(
    "history.rose", Subject.HISTORY, "good", after=str, before=str, change_share=Share, count=Count,
    date=str, metric=Message, of=Count, treatment=str,
)  # fmt: skip
ROSE_ALONE = FindingCode(
    "history.rose.alone", Subject.HISTORY, "good", after=str, before=str, change_share=Share, date=str,
    metric=Message,
)  # fmt: skip
DIFFERS = FindingCode("history.differs", Subject.HISTORY, "info", differences=list)
DIFFERS_MORE = FindingCode("history.differs.more", Subject.HISTORY, "info", count=Count, differences=list)
DIFFERENCE = MessageCode("history.difference", after=str, before=str, path=str)
NOT_SET = MessageCode("history.not-set")
NOTHING_DIFFERS = FindingCode("history.nothing-differs", Subject.HISTORY, "info")
LATEST_BELOW = FindingCode(
    "history.latest-below", Subject.HISTORY, "caution", change_share=Share, count=Count, of=Count, run=str,
    treatment=str,
)  # fmt: skip
LATEST_ABOVE = FindingCode(
    "history.latest-above", Subject.HISTORY, "caution", change_share=Share, count=Count, of=Count, run=str,
    treatment=str,
)  # fmt: skip


def find(history: History) -> Iterator[Finding]:
    """Nothing here speaks of treatments that have too few runs, but to say so."""
    yield from _judged(history)
    bare = [run.short for run in history.runs if run.without]
    if bare:
        yield WITHOUT.finding(tuple(bare), count=len(bare), runs=bare[-MOST_NAMED:])


def _judged(history: History) -> Iterator[Finding]:
    runs = history.runs
    judged = history.judged
    if not judged:
        yield TOO_FEW.finding(count=sum(bool(run.values) for run in runs), needed=FEWEST_RUNS)
        return
    for event in reversed(history.events):
        yield from _event(history, event)
    if not history.events:
        code = NO_CHANGE if len(judged) == 1 else NO_CHANGE_MANY
        yield code.finding(count=len(runs), treatments=len(judged))
    if history.latest:
        most = max(history.latest, key=lambda change: abs(change.share))
        better = (most.share > 0) == history.metric.higher_is_better
        yield (LATEST_ABOVE if most.share > 0 else LATEST_BELOW).finding(
            (),
            "info" if better else "caution",
            run=runs[most.series.places[-1]].short,
            treatment=most.series.label,
            change_share=abs(most.share),
            count=len(history.latest),
            of=len(judged),
        )
    if len(judged) < len(history.series):
        yield SOME_TOO_FEW.finding(count=len(history.series) - len(judged), needed=FEWEST_RUNS)


def _event(history: History, event: Event) -> Iterator[Finding]:
    most = event.changes[0]
    rose = most.share > 0
    better = rose == history.metric.higher_is_better
    before, after = history.runs[event.last], history.runs[event.first]
    several = len(history.judged) > 1
    code = (ROSE if several else ROSE_ALONE) if rose else (FELL if several else FELL_ALONE)
    yield code.finding(
        tuple(change.series.treatment for change in event.changes),
        "good" if better else "problem",
        metric=METRIC_NAMES[history.metric.name](),
        treatment=most.series.label,
        change_share=abs(most.share),
        before=before.short,
        after=after.short,
        date=after.started_utc[:10],
        count=len(event.changes),
        of=len(history.judged),
    )
    if not event.differences:
        yield NOTHING_DIFFERS.finding()
        return
    named = tuple(_difference(difference) for difference in event.differences[:MOST_NAMED])
    more = len(event.differences) - len(named)
    yield (DIFFERS_MORE if more else DIFFERS).finding(differences=named, count=more)


def _difference(difference: Difference) -> Message:
    before, after = (
        NOT_SET() if value is None else str(value) for value in (difference.before, difference.after)
    )
    return DIFFERENCE(path=difference.path, before=before, after=after)
