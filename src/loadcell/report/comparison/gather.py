"""Puts together what a comparison is made from: stored runs, what else differs between them, and what is
known of noise; and gives it with its results to scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.analysis.compare import compare as comparing
from loadcell.analysis.compare import differences, findings, percentiles, provenance, sides
from loadcell.analysis.compare.compare import OVERALL, Comparison, Noise, Row
from loadcell.analysis.compare.differences import Difference, disturbed
from loadcell.analysis.compare.metrics import (
    METRICS,
    USUAL,
    USUAL_LEAST_EFFECTS,
    CannotCompareError,
    LeastEffects,
    Metric,
    named,
)
from loadcell.analysis.compare.sides import RunGroup, Sides
from loadcell.analysis.finding import Finding
from loadcell.analysis.treatments import unit_of
from loadcell.analysis.trials import Trial
from loadcell.model.message import MessageCode
from loadcell.model.run_record import RunRecord
from loadcell.report.comparison.words import apart
from loadcell.report.sections.provenance import labels as labels_of
from loadcell.store import trial_files
from loadcell.store.layout import LATENCY, RUN, StoreError
from loadcell.store.read import StoredRun, read_run

if TYPE_CHECKING:
    from loadcell.analysis.compare.percentiles import Histogram, Place

REFUSED_SEVERAL_RUNS = MessageCode("compare.refused.several-runs")
REFUSED_TWICE = MessageCode("compare.refused.twice", run=str)
REFUSED_OTHER_PLAN = MessageCode("compare.refused.other-plan", first=str, other=str)
REFUSED_NO_SHARED = MessageCode("compare.refused.no-shared-treatment", first=str, other=str)
REFUSED_NOISE = MessageCode("compare.refused.noise", run=str)
MORE_DIFFERENCES = MessageCode("compare.more-differences", count=str)

#: In an open loop throughput is what was asked for: the response time is what is compared first.
OPEN_LOOP = tuple(METRICS[name] for name in ("p50", "p95", "p99", "throughput"))
#: Runs beside these that are looked at for one with identical arms, newest first.
_MOST_NEIGHBOURS = 50
#: Runs of a side that its name lists.
_MOST_LABELS = 3
#: Differences that a refusal lists.
MOST_DIFFERENCES = 20


@dataclass(frozen=True)
class Wanted:
    """The request for a comparison. `runs` are directories with their labels (None: their names).

    With `against` they are one side, compared with the runs there as the other, which `against_label` names.
    """

    runs: Sequence[tuple[Path, str | None]]
    against: Sequence[tuple[Path, str | None]] = ()
    against_label: str | None = None
    factor: str | None = None
    levels: Sequence[str] = ()
    metrics: Sequence[str] = ()
    least_effects: LeastEffects = USUAL_LEAST_EFFECTS
    noise: Path | None = None
    anyway: bool = False


@dataclass(frozen=True)
class Gathered:
    """A comparison with what it rests on.

    `differences` are those between the first run and each other one, by label; of their provenance those
    between the sides. `first_runs` is how many of the runs are the first side, where sides are several runs.
    """

    runs: tuple[StoredRun, ...]
    comparison: Comparison
    differences: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict)
    noise_from: str | None = None
    first_runs: int | None = None

    def side_of(self, position: int) -> int:
        """The side of a run, where sides are runs."""
        return position if self.first_runs is None else int(position >= self.first_runs)

    @property
    def unit(self) -> str:
        """Unit of throughput in these runs."""
        return unit_of(record for run in self.runs for record in run.trials)

    @property
    def all_differences(self) -> list[Difference]:
        """Those of all runs together, each thing once, with all its values."""
        return differences.merged(difference for of_run in self.differences.values() for difference in of_run)

    def histograms(self, side: int, context: str, at_most: int) -> dict[Place, Histogram]:
        """Latencies of a side's succeeded trials, by block, or by run where a side is several; trials whose
        log cannot be read are left out.
        """
        chosen = self.comparison.sides.sides[side]
        if self.comparison.sides.kind != "runs":
            return self._of_trials(self.runs[0], chosen.trials.get(context, ()), at_most)
        runs = [run for position, run in enumerate(self.runs) if self.side_of(position) == side]
        of_runs = [
            self._of_trials(run, trials.get(context, ()), at_most)
            for run, trials in zip(runs, chosen.runs, strict=True)
        ]
        if len(of_runs) == 1:
            return of_runs[0]
        return {
            (number, ""): percentiles.pooled(list(item.values()))
            for number, item in enumerate(of_runs, 1)
            if item
        }

    def _of_trials(self, run: StoredRun, of_context: Sequence[Trial], at_most: int) -> dict[Place, Histogram]:
        histograms: dict[Place, Histogram] = {}
        trials = [trial for trial in of_context if trial.counts]
        for trial in trials[:at_most]:
            try:
                path = run.directory(trial.name) / LATENCY
                histogram = percentiles.Histogram(*trial_files.read_histogram(path, "transaction/response"))
            except (OSError, ValueError):
                continue
            if histogram.total:
                histograms[trial.block, trial.arm or ""] = histogram
        return histograms


def gather(wanted: Wanted) -> Gathered:
    """Read the runs and compare them. Raises StoreError and CannotCompareError."""
    named_runs = [*wanted.against, *wanted.runs]
    stored = tuple(read_run(path) for path, _ in named_runs)
    first_runs = len(wanted.against) or None
    labels = _labels([(run, label) for run, (_, label) in zip(stored, named_runs, strict=True)], first_runs)
    if len(stored) == 1:
        if wanted.factor is None and not wanted.levels and stored[0].run.aa:
            chosen = sides.arms(stored[0].run, stored[0].trials)
        else:
            chosen = sides.levels(stored[0].run, stored[0].trials, wanted.factor, wanted.levels)
        by_label: dict[str, tuple[Difference, ...]] = {}
    else:
        if wanted.factor is not None or wanted.levels:
            raise CannotCompareError(REFUSED_SEVERAL_RUNS())
        by_label = _differences_by_label(stored, labels, first_runs, wanted.anyway)
        chosen = sides.run_groups(
            _groups(labels, stored, first_runs, wanted.against_label), anyway=wanted.anyway
        )
    metrics = named(wanted.metrics, _trials(chosen)) or _usual(chosen)
    named(tuple(wanted.least_effects.named), _trials(chosen))
    noise, source = _noise(chosen, stored, metrics, wanted)
    comparison = comparing.compare(chosen, metrics, least_effects=wanted.least_effects, noise=noise)
    return Gathered(stored, comparison, by_label, source, first_runs)


def _groups(
    labels: Sequence[str], stored: Sequence[StoredRun], first_runs: int | None, first_label: str | None
) -> list[RunGroup]:
    """The runs by side: each run one, or the first ones against the others."""
    if first_runs is None:
        return [RunGroup(label, [(run.run, run.trials)]) for label, run in zip(labels, stored, strict=True)]
    parts = (stored[:first_runs], stored[first_runs:])
    names = _names_of_groups(labels, stored, first_runs, first_label)
    return [
        RunGroup(name, [(run.run, run.trials) for run in part])
        for name, part in zip(names, parts, strict=True)
    ]


def _names_of_groups(
    labels: Sequence[str], stored: Sequence[StoredRun], first_runs: int, first_label: str | None
) -> list[str]:
    """The names of the first runs and of the others: the labels that only they have, or their runs."""
    distinct = _distinct_labels([stored[:first_runs], stored[first_runs:]])
    return [
        first_label or distinct[0] or _joined(labels[:first_runs]),
        distinct[1] or _joined(labels[first_runs:]),
    ]


def _joined(labels: Sequence[str]) -> str:
    """The name of a side of several runs."""
    return ", ".join(labels) if len(labels) <= _MOST_LABELS else f"{labels[0]}, …, {labels[-1]}"


def _usual(chosen: Sides) -> tuple[Metric, ...]:
    """Metrics without a choice: response times first in an open loop, else throughput.

    A headline metric, which reports draw instead of throughput, takes its place, with the percentiles that
    all trials carry.
    """
    trials = _trials(chosen)
    if trials and all(trial.open_loop is not None for trial in trials):
        return OPEN_LOOP
    headlines = {key for trial in trials for key, facts in trial.metrics.items() if facts.headline}
    shared = [key for key in sorted(headlines) if all(trial.figures.get(key) for trial in trials)]
    if len(headlines) != 1 or not shared:
        return USUAL
    carried = [
        metric
        for metric in USUAL[1:]
        if all(metric.of(trial) is not None and not metric.scarce(trial) for trial in trials)
    ]
    return (*named(shared, trials), *carried)


def _trials(chosen: Sides) -> list[Trial]:
    """Trials of all sides that count."""
    return [
        trial for side in chosen.sides for trials in side.trials.values() for trial in trials if trial.counts
    ]


def _labels(runs: Sequence[tuple[StoredRun, str | None]], first_runs: int | None) -> list[str]:
    """Short, distinct names: where each run is a side, the labels that it alone has (`version=2`); else the
    short id of a run that loadcell named, and the directory's name of another.
    """
    ids = [run.short_id for run, _ in runs]
    distinct = _distinct_labels([[run] for run, _ in runs]) if first_runs is None else [""] * len(runs)
    names = [label or alone or run_id for (_, label), alone, run_id in zip(runs, distinct, ids, strict=True)]
    seen: set[Path] = set()
    for (run, label), run_id in zip(runs, ids, strict=True):
        if run.path.resolve() in seen:
            raise CannotCompareError(REFUSED_TWICE(run=label or run_id))
        seen.add(run.path.resolve())
    return apart(names, [run.path.resolve().parent.name for run, _ in runs])


def _distinct_labels(parts: Sequence[Sequence[StoredRun]]) -> list[str]:
    """For each part the labels that all its runs have and no run of another has; empty if a part has none."""
    of_parts = [[set(labels_of(run.run)) for run in part] for part in parts]
    distinct = []
    for number, part in enumerate(of_parts):
        others = [labels for other, of_part in enumerate(of_parts) if other != number for labels in of_part]
        distinct.append(", ".join(sorted(set.intersection(*part).difference(*others))))
    return distinct if all(distinct) else [""] * len(distinct)


def _differences_by_label(
    stored: Sequence[StoredRun], labels: Sequence[str], first_runs: int | None, anyway: bool
) -> dict[str, tuple[Difference, ...]]:
    """Differences by run; those of the provenance and of the targets by side. Raises CannotCompareError if
    the plans differ and that was not confirmed.
    """
    first = stored[0]
    records = [run.run for run in stored]
    by_label: dict[str, tuple[Difference, ...]] = {}
    if first_runs is not None:
        of_plans = [item for run in records[1:] for item in differences.plans(first.run, run)]
        by_label[_names_of_groups(labels, stored, first_runs, None)[1]] = (
            *provenance.differences(records[:first_runs], records[first_runs:]),
            *_of_targets(stored[:first_runs], stored[first_runs:], of_plans),
        )
    for label, run in zip(labels[1:], stored[1:], strict=True):
        of_plan = differences.plans(first.run, run.run)
        if of_plan and not anyway:
            raise _refused(first.run, run.run, labels[0], label, of_plan)
        by_label[label] = (
            *by_label.get(label, ()),
            *(provenance.differences([first.run], [run.run]) if first_runs is None else ()),
            *of_plan,
            *differences.hosts(first.environment, run.environment),
            *(_of_targets([first], [run], of_plan) if first_runs is None else ()),
            *differences.tools(first.run, run.run),
            *differences.designs(first.run, run.run),
        )
    return by_label


def _refused(
    first: RunRecord, other: RunRecord, label: str, other_label: str, of_plan: Sequence[Difference]
) -> CannotCompareError:
    """The refusal of runs of different plans: their titles, and what differs.

    Without a treatment in common, the settings of their first treatments are compared.
    """
    listed = list(of_plan)
    before, after = (run.title or run.plan_name or "" for run in (first, other))
    if before != after:
        listed.insert(0, Difference("plan", "title", before, after))
    ids = [{treatment.id for treatment in run.treatments} for run in (first, other)]
    apart = ids[0].isdisjoint(ids[1]) and any(len(names_of_run) > 1 for names_of_run in ids)
    if apart:
        single = [replace(run, treatments=run.treatments[:1]) for run in (first, other)]
        listed += differences.plans(*single)
    shown = [_without_sections(difference).message for difference in listed[:MOST_DIFFERENCES]]
    hidden = len(listed) - len(shown)
    more = [MORE_DIFFERENCES(count=str(hidden))] if hidden else []
    code = REFUSED_NO_SHARED if apart else REFUSED_OTHER_PLAN
    return CannotCompareError(code(first=label, other=other_label), [*shown, *more])


def _without_sections(difference: Difference) -> Difference:
    """A difference in which a whole section of a plan is `…`."""
    before, after = (
        "…" if isinstance(value, dict) else value for value in (difference.before, difference.after)
    )
    return replace(difference, before=before, after=after)


def _of_targets(
    before: Sequence[StoredRun], after: Sequence[StoredRun], of_plan: Sequence[Difference]
) -> Iterator[Difference]:
    """Differences of the targets that the plans do not say already."""
    names = {target.path.rsplit(".", 1)[-1] for target in of_plan}
    for target in differences.targets([run.trials for run in before], [run.trials for run in after]):
        if target.path.rsplit(".", 1)[-1] not in names:
            yield target


def _noise(
    chosen: Sides, stored: Sequence[StoredRun], metrics: tuple[Metric, ...], wanted: Wanted
) -> tuple[Noise, str | None]:
    """Noise of identical arms of this plan, and the run it is from."""
    if chosen.kind == "arms":
        return {}, None
    if wanted.noise is not None:
        run = read_run(wanted.noise)
        other = [item for item in differences.plans(stored[0].run, run.run) if item.path != "treatments"]
        if other and not wanted.anyway:
            raise CannotCompareError(REFUSED_NOISE(run=run.id), [item.message for item in other[:20]])
        return _floor(run, metrics), run.id
    for run in [side for side in stored if side.run.aa] or _adjacent_runs(stored):
        floor = _floor(run, metrics)
        if floor:
            return floor, run.id
    return {}, None


def _floor(run: StoredRun, metrics: tuple[Metric, ...]) -> dict[tuple[str, str], float]:
    arms = comparing.compare(sides.arms(run.run, run.trials), metrics, cross_checks=0)
    return comparing.noise_floor(arms)


def _adjacent_runs(stored: Sequence[StoredRun]) -> Iterator[StoredRun]:
    """A/A runs of the same plan on the same machine, beside these runs, newest first."""
    paths = {run.path.resolve() for run in stored}
    home = stored[0].path.resolve().parent
    neighbours = sorted(
        (path.parent for path in home.glob(f"*/{RUN}")), key=lambda path: path.name, reverse=True
    )
    for path in neighbours[:_MOST_NEIGHBOURS]:
        if path in paths or not _has_arms(path / RUN):
            continue
        try:
            run = read_run(path)
        except StoreError:
            continue
        same_plan = all(
            difference.path == "treatments" for difference in differences.plans(stored[0].run, run.run)
        )
        moved = {difference.path for difference in differences.hosts(stored[0].environment, run.environment)}
        if same_plan and not any(path.startswith(("hostname", "cpu", "memory_bytes")) for path in moved):
            yield run


def _has_arms(path: Path) -> bool:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and bool(document.get("aa"))


def all_findings(gathered: Gathered) -> list[Finding]:
    """Every finding, differences first."""
    return [
        *findings.differing(gathered.comparison.sides, gathered.all_differences),
        *findings.find(gathered.comparison, gathered.noise_from),
    ]


def data(gathered: Gathered) -> Mapping[str, object]:
    """The comparison for scripts."""
    comparison = gathered.comparison
    return {
        "what": comparison.sides.kind,
        "factor": comparison.sides.factor,
        "paired": comparison.sides.paired,
        "unit": gathered.unit,
        "runs": [run.path for run in gathered.runs],
        "sides": [side.label for side in comparison.sides.sides],
        "contexts": comparison.sides.contexts,
        "least_effect": comparison.least_effect,
        "unit_of_values": comparison.sides.unit,
        "noise_from": gathered.noise_from,
        "differences": [
            {"side": label, **vars(difference)}
            for label, of_run in gathered.differences.items()
            for difference in of_run
        ],
        "disturbed": [
            {
                "side": item.side.label,
                "trials": item.count,
                "of": item.of,
                "kinds": item.kinds,
                "waited": item.waited,
            }
            for item in disturbed(comparison.sides)
        ],
        "rows": [_row_document(row, gathered) for row in comparison.rows],
        "ranking": [
            {"side": comparison.sides.sides[rank.index].label, "value": rank.value, "groups": rank.groups}
            for rank in comparison.ranking
        ],
        "findings": all_findings(gathered),
    }  # fmt: skip


def _row_document(row: Row, gathered: Gathered) -> Mapping[str, object]:
    effect, checked = row.effect, row.checked
    return {
        "side": gathered.comparison.sides.sides[row.side].label,
        "context": None if row.context == OVERALL else row.context,
        "metric": row.metric.name,
        "medians": row.medians,
        "contrary_medians": row.contrary_medians,
        "ratio": effect and effect.ratio,
        "interval": None if effect is None or effect.low is None else [effect.low, effect.high],
        "coverage": None if effect is None or effect.low is None else effect.coverage,
        "values": 0 if effect is None else effect.n,
        "values_of_sides": None if effect is None else (effect.sizes or (effect.n, effect.n)),
        "p": effect and effect.p,
        "adjusted_p": row.adjusted_p,
        "gate_p": row.gate_p,
        "least_effect": row.least_effect,
        "noise": row.noise,
        "verdict": row.verdict.word,
        "reason": row.verdict.reason,
        "ratio_of_medians": checked and checked.medians,
        "ratio_of_means": checked and checked.means,
        "cliffs_delta": checked and checked.delta,
    }
