"""A plan's runs as series of values, and their lasting changes: between which runs, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

import numpy as np

from loadcell.analysis.compare import differences, provenance
from loadcell.analysis.compare import metrics as compared_metrics
from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.treatments import labels, treatments
from loadcell.analysis.trials import of_run
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, Number, Share
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.stats import change_points, distributions
from loadcell.stats.change_points import ChangePoint
from loadcell.stats.repeats import summarise
from loadcell.store.layout import short_id

#: Metrics that a history can be of, by name.
METRICS = {
    name: compared_metrics.METRICS[name] for name in ("throughput", "mean", "p50", "p95", "p99", "p99.9")
} | {name: compared_metrics.RESOURCES[name] for name in ("target.cpu", "target.memory", "host.cpu")}


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
        return short_id(self.name)


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
    names_of_runs = [labels(run.run.treatments) for run in runs]
    label_of = {name: label for names_of_run in names_of_runs for name, label in names_of_run.items()}
    series = []
    for name in names:
        places = tuple(position for position, run in enumerate(runs) if name in run.values)
        values = tuple(runs[position].values[name] for position in places)
        series.append(Series(name, label_of.get(name, name), places, values))
    return tuple(series)


Method = Literal["t-test", "permutation", "windows"]
#: Runs on either side of a change: two may be a slip and its echo, three are a level.
LEAST_RUNS = 3
#: Runs from which a change can be found at all.
FEWEST_RUNS = 2 * LEAST_RUNS
#: A change smaller than this share is not worth a word.
LEAST_CHANGE = 0.02
#: The chance at which a last run within its level is called out.
LATEST_LEVEL = 0.01
#: Standard errors from which a correlation of neighbouring runs is reported (chance exceeds them in 1 %).
CERTAIN_CORRELATION = 2.5
#: Runs before the last that its level must have.
FEWEST_BEFORE = 5


@dataclass(frozen=True)
class Options:
    """Options of the search for changes; `level` is the chance of a false change in any treatment."""

    method: Method = "t-test"
    level: float = change_points.LEVEL
    least_change: float = LEAST_CHANGE


@dataclass(frozen=True)
class Change:
    """One treatment's figure changed between two runs (positions): the means before and after, and the chance
    of it.

    `last` and `first` are neighbours, the likeliest place. With `change_points.PLACE_COVERAGE` the change
    lies between `since` and `until`.
    """

    series: Series
    last: int
    first: int
    since: int
    until: int
    before: float
    after: float
    p: float

    @property
    def share(self) -> float:
        """The new mean relative to the old one, less 1."""
        return self.after / self.before - 1 if self.before else math.inf


@dataclass(frozen=True)
class Event:
    """All changes between the same two runs, the largest first, and what else differs between the runs among
    which the largest may lie.
    """

    last: int
    first: int
    changes: tuple[Change, ...]
    differences: tuple[Difference, ...]

    @property
    def places(self) -> int:
        """Number of pairs of neighbouring runs between which the largest change may lie."""
        most = self.changes[0]
        return sum(most.since < position <= most.until for position in most.series.places)


@dataclass(frozen=True)
class Latest:
    """The last run lies outside what its level's runs let expect: `share` off their mean, by chance `p`."""

    series: Series
    share: float
    p: float


@dataclass(frozen=True)
class History:
    """Everything about a plan's runs.

    `dependent` has the correlation of neighbouring runs by treatment, where it is more than chance.
    """

    runs: tuple[Run, ...]
    metric: Metric
    options: Options
    series: tuple[Series, ...]
    events: tuple[Event, ...]
    latest: tuple[Latest, ...]
    dependent: Mapping[str, float]

    @property
    def metric_name(self) -> Message:
        """The metric as it is called in a sentence."""
        return METRIC_NAMES[self.metric.name]()

    @property
    def judged(self) -> tuple[Series, ...]:
        """The series that are long enough to be judged."""
        return tuple(series for series in self.series if len(series.values) >= FEWEST_RUNS)

    def changes_of(self, series: Series) -> tuple[Change, ...]:
        """One treatment's changes, in order of time."""
        return tuple(change for event in self.events for change in event.changes if change.series is series)


def history(runs: Sequence[Run], metric: Metric, options: Options | None = None) -> History:
    """Find the changes in runs, which are in order of time.

    The level is that of all treatments together: each has its share of it (Bonferroni).
    """
    how = options or Options()
    series = series_of(runs)
    judged = sum(len(item.values) >= FEWEST_RUNS for item in series)
    of_one = replace(how, level=how.level / max(1, judged))
    changes: dict[tuple[int, int], list[Change]] = {}
    latest = []
    dependent = {}
    for series_item in series:
        points = _change_points(series_item, of_one)
        changes_of_series = _changes(series_item, points, how.least_change)
        for change in changes_of_series:
            changes.setdefault((change.last, change.first), []).append(change)
        starts = [series_item.places.index(change.first) for change in changes_of_series]
        begins = starts[-1] if starts else 0
        if len(series_item.values) >= FEWEST_RUNS:
            between = [point.at for point in points]
            dependence = change_points.correlation(np.asarray(series_item.values), between)
            if dependence * math.sqrt(len(series_item.values)) >= CERTAIN_CORRELATION:
                dependent[series_item.treatment] = dependence
        slip = _latest(series_item, begins, LATEST_LEVEL / max(1, judged))
        if slip is not None and abs(slip.share) >= how.least_change:
            latest.append(slip)
    events = tuple(
        _event_of(runs, sorted(changes_of_place, key=lambda change: -abs(change.share)))
        for _, changes_of_place in sorted(changes.items())
    )
    return History(tuple(runs), metric, how, series, events, tuple(latest), dependent)


def _event_of(runs: Sequence[Run], changes: Sequence[Change]) -> Event:
    """The event of changes at one place, the largest first."""
    most = changes[0]
    return Event(most.last, most.first, tuple(changes), _between(runs[most.since], runs[most.until]))


def _change_points(series: Series, how: Options) -> Sequence[ChangePoint]:
    if len(series.values) < FEWEST_RUNS:
        return ()
    if how.method == "permutation":
        return change_points.by_permutation(series.values, how.level, LEAST_RUNS)
    if how.method == "windows":
        return change_points.by_windows(series.values, how.level, least_change=how.least_change)
    return change_points.by_t_test(series.values, how.level, LEAST_RUNS)


def _changes(series: Series, points: Sequence[ChangePoint], least_change: float) -> list[Change]:
    return [
        Change(
            series,
            series.places[point.at - 1],
            series.places[point.at],
            series.places[point.earliest - 1],
            series.places[point.latest],
            point.before,
            point.after,
            point.p,
        )
        for point in points
        if point.magnitude >= least_change
    ]


def _latest(series: Series, begins: int, level: float) -> Latest | None:
    """The last value, if it lies outside Student's prediction interval of the runs of its level before it."""
    before = series.values[begins:-1]
    if len(before) < FEWEST_BEFORE:
        return None
    mean, scatter = fmean(before), stdev(before)
    off = series.values[-1] - mean
    if mean == 0 or off == 0:
        return None
    spread = scatter * math.sqrt(1 + 1 / len(before))
    p = float(2 * distributions.student_cdf(len(before) - 1, -abs(off) / spread)) if spread else 0.0
    return Latest(series, off / mean, p) if p <= level else None


def _between(before: Run, after: Run) -> tuple[Difference, ...]:
    """Other differences between two runs: provenance, plan, target, machine and tools, the likeliest
    explanation first.
    """
    return (
        *provenance.differences([before.run], [after.run]),
        *differences.plans(before.run, after.run),
        *differences.targets([before.records], [after.records]),
        *differences.hosts(before.environment, after.environment),
        *differences.tools(before.run, after.run),
    )


#: How many differences a sentence names before it only counts.
MOST_NAMED = 3

METRIC_NAMES = {name: MessageCode(f"history.metric.{name}") for name in METRICS}
TOO_FEW = FindingCode("history.too-few", Subject.HISTORY, "caution", count=Count, needed=Count)
SOME_TOO_FEW = FindingCode("history.some-too-few", Subject.HISTORY, "info", count=Count, needed=Count)
WITHOUT = FindingCode("history.without", Subject.HISTORY, "caution", count=Count, runs=list)
DEPENDENT = FindingCode(
    "history.dependent", Subject.HISTORY, "caution", count=Count, of=Count, correlation=Number
)
DEPENDENT_IGNORED = FindingCode(
    "history.dependent.ignored", Subject.HISTORY, "caution", count=Count, of=Count, correlation=Number
)
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
PLACE = FindingCode(
    "history.place", Subject.HISTORY, "info", confidence_share=Share, count=Count, since=str, until=str
)
DIFFERS = FindingCode("history.differs", Subject.HISTORY, "info", differences=list)
DIFFERS_MORE = FindingCode("history.differs.more", Subject.HISTORY, "info", count=Count, differences=list)
DIFFERENCE = MessageCode("history.difference", after=list, before=list, path=str)
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
    if history.dependent:
        strongest = max(history.dependent.values())
        yield (DEPENDENT if history.options.method == "t-test" else DEPENDENT_IGNORED).finding(
            tuple(history.dependent), count=len(history.dependent), of=len(judged), correlation=strongest
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
        metric=history.metric_name,
        treatment=most.series.label,
        change_share=abs(most.share),
        before=before.short,
        after=after.short,
        date=after.started_utc[:10],
        count=len(event.changes),
        of=len(history.judged),
    )
    if event.places > 1:
        yield PLACE.finding(
            since=history.runs[most.since].short,
            until=history.runs[most.until].short,
            count=event.places,
            confidence_share=change_points.PLACE_COVERAGE,
        )
    if not event.differences:
        yield NOTHING_DIFFERS.finding()
        return
    named = tuple(_difference(difference) for difference in event.differences[:MOST_NAMED])
    more = len(event.differences) - len(named)
    yield (DIFFERS_MORE if more else DIFFERS).finding(differences=named, count=more)


def _difference(difference: Difference) -> Message:
    before, after = map(differences.values, (difference.before, difference.after))
    return DIFFERENCE(path=difference.path, before=before, after=after)
