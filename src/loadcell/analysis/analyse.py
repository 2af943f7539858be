"""A whole run analysed: documents in, one plain value out, for the report, the terminal and `--json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from loadcell.analysis import (
    effects,
    expectations,
    findings,
    groups,
    placements,
    plans,
    recommend,
    resource_use,
    same_results,
    saturation,
    scaling,
)
from loadcell.analysis.effects import Change, Effects, Ratio
from loadcell.analysis.expectations import ExpectationOutcome
from loadcell.analysis.faults.repeats import faults_of
from loadcell.analysis.finding import Finding
from loadcell.analysis.groups import OfGroup
from loadcell.analysis.layout import Layout, lay_out
from loadcell.analysis.limits import findings as limit_findings
from loadcell.analysis.limits import judge as limit_judge
from loadcell.analysis.limits.judge import Limit
from loadcell.analysis.open_loop import open_loop_result
from loadcell.analysis.recommend import Recommendation
from loadcell.analysis.saturation import Mark, Saturation
from loadcell.analysis.scaling import Scaling
from loadcell.analysis.search import Searched, searched
from loadcell.analysis.sweep import Sweep, speed_of
from loadcell.analysis.treatments import Treatment, quantities, treatments
from loadcell.analysis.trials import OfType, Trial, of_run
from loadcell.analysis.usl import Estimate
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.stats.repeats import Repeats


def saturation_document(line: Saturation | Sweep) -> JsonObject:
    """A line of rising load: its marks as numbers of clients; without marks where it is too short."""
    sweep = line.sweep if isinstance(line, Saturation) else line
    document: JsonObject = {"held": dict(sweep.held), "loads": [float(load) for load in sweep.loads]}
    if not isinstance(line, Saturation):
        return {**document, "judged": False}
    law = line.law
    low, high = line.between
    return {
        **document, "judged": True, "flat": line.flat,
        **{name: _mark(line, getattr(line, name)) for name in ("peak", "enough", "knee", "power")},
        "peak_between": {"low": low, "high": high},
        "usl": {
            "identified": law.identified, "reason": law.reason or None, "missed_share": law.missed,
            "lambda_per_s": _estimate(law.rate), "sigma": _estimate(law.sigma), "kappa": _estimate(law.kappa),
            "peak_load": _estimate(law.peak_load), "peak_throughput_per_s": _estimate(law.peak_throughput),
            "ceiling_per_s": _estimate(law.ceiling),
        },
    }  # fmt: skip


def _mark(line: Saturation, mark: Mark | None) -> dict[str, float | None] | None:
    if mark is None:
        return None
    low, high = line.reach(mark) or (None, None)
    return {"load": line.load(mark), "low": low, "high": high}


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def effects_document(analysis: Effects) -> JsonObject:
    """Factors by key, ratios of throughput, shares of its variation."""
    return {
        "design": analysis.design, "reason": analysis.reason or None, "repeated": analysis.repeated,
        "main": [
            {
                "factor": main.key, "explained_share": main.share, "is_significant": main.real,
                "levels": {level: _ratio(ratio) for level, ratio in main.levels.items()},
                "change": _change(main.change),
            }
            for main in analysis.mains
        ],
        "interactions": [
            {
                "factors": [pair.of, pair.at], "explained_share": pair.share, "is_significant": pair.real,
                "changes": {level: _change(change) for level, change in pair.changes.items()},
            }
            for pair in analysis.interactions
        ],
        "higher_share": analysis.higher, "noise_share": analysis.noise,
        "changes": [_change(change) for change in analysis.changes],
        "choices": [
            {
                "factor": choice.key, "level": choice.level, "buys": choice.buys, "risks": choice.risks,
                "alike": [*choice.alike], "surely": choice.surely,
            }
            for choice in analysis.choices
        ],
    }  # fmt: skip


def _ratio(ratio: Ratio) -> dict[str, float | None]:
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}


def _change(change: Change) -> JsonObject:
    base = None if change.base is None else change.base.id
    return {
        "factor": change.key,
        "before": change.before,
        "after": change.after,
        "base": base,
        **_ratio(change.ratio),
    }


def recommendation_document(recommendation: Recommendation | None) -> JsonObject | None:
    """Treatments by id."""
    if recommendation is None:
        return None
    return {
        "treatment": recommendation.choice.id, "best": recommendation.best.id,
        "lowest": recommendation.lowest.id, "compared_by": recommendation.tail,
        "gain_times": recommendation.gain_times if math.isfinite(recommendation.gain_times) else None,
        "lost_share": recommendation.lost_share, "alike": [item.id for item in recommendation.alike],
        "founded": recommendation.founded,
        "next_broke": None if recommendation.next_broke is None else recommendation.next_broke.id,
        "unsound": recommendation.unsound, "at_edge": recommendation.at_edge,
    }  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """A run's trials in run order, its treatments in the plan's order, how these lie, and what was found.

    `saturation` holds the lines of rising load (bare ones where they are too short to judge), `effects` what
    factors do to throughput, `recommendation` what to choose, None where there is no choice. Where treatments
    measure unlike things, and so are not `comparable`, there is neither. `scalings` are times of calls by
    the size of the data.
    """

    trials: tuple[Trial, ...]
    treatments: tuple[Treatment, ...]
    layout: Layout
    saturation: tuple[Saturation | Sweep, ...]
    effects: Effects
    recommendation: Recommendation | None
    findings: tuple[Finding, ...]
    searches: tuple[Searched, ...] = ()
    comparable: bool = True
    limits: tuple[Limit, ...] = ()
    expectations: tuple[ExpectationOutcome, ...] = ()
    scalings: tuple[Scaling, ...] = ()

    def document(self) -> JsonObject:
        """As plain JSON: `loadcell report --json` prints it."""
        return {
            "treatments": [_treatment(treatment) for treatment in self.treatments],
            "trials": [
                {
                    "number": trial.number, "name": trial.name, "treatment": trial.treatment,
                    "repeat": trial.repeat, "block": trial.block, "status": trial.status,
                    "reason": trial.reason, "reason_code": trial.reason_code, "advice": trial.advice,
                    "throughput_per_s": trial.throughput_per_s,
                    "response": dict(trial.response) if trial.response else None,
                    "open_loop": None if trial.open_loop is None else asdict(trial.open_loop),
                    "attempted": trial.attempted, "succeeded": trial.succeeded, "failed": trial.failed,
                    "retried": trial.retried, "figures": dict(trial.figures),
                }
                for trial in self.trials
            ],
            "resources": resource_use.document(
                resource_use.by_treatment(self.treatments, self.trials)
            ),
            "bottlenecks": limit_judge.documents(self.limits),
            "expectations": [outcome.document() for outcome in self.expectations],
            "saturation": [saturation_document(line) for line in self.saturation],
            "effects": effects_document(self.effects),
            "recommendation": recommendation_document(self.recommendation),
            **({"searches": [search.document() for search in self.searches]} if self.searches else {}),
            "findings": [finding.document() for finding in self.findings],
        }  # fmt: skip


def _treatment(treatment: Treatment) -> JsonObject:
    return {
        "id": treatment.id, "label": treatment.label, "levels": dict(treatment.levels),
        "throughput_per_s": _repeats(treatment.throughput), "queries_per_s": _repeats(treatment.queries),
        "response": {key: _repeats(repeats) for key, repeats in treatment.latency.items()},
        "failed": treatment.failed, "retried": treatment.retried, "statuses": dict(treatment.statuses),
        "open_loop": _open_loop(treatment),
        "figures": {name: _repeats(repeats) for name, repeats in treatment.figures.items()},
        "types": [_type(repeats) for repeats in treatment.types],
        "outcomes": [_type(repeats) for repeats in treatment.outcomes],
        "groups": [_group(repeats) for repeats in groups.over(treatment)],
    }  # fmt: skip


def _type(of_type: OfType) -> JsonObject:
    return {
        "name": of_type.name, "succeeded": of_type.succeeded, "failed": of_type.failed,
        "share": of_type.share,
        "throughput_per_s": _repeats(of_type.throughput),
        "response": {key: _repeats(figures) for key, figures in of_type.response.items()},
    }  # fmt: skip


def _group(of_group: OfGroup) -> JsonObject:
    return {
        "name": of_group.name, "clients": of_group.clients, "succeeded": of_group.succeeded,
        "failed": of_group.failed,
        "share": of_group.share, "throughput_per_s": _repeats(of_group.throughput),
        "response": {key: _repeats(figures) for key, figures in of_group.response.items()},
        "offered_per_s": _repeats(of_group.offered), "backlog_peak": _repeats(of_group.backlog),
    }  # fmt: skip


def _open_loop(treatment: Treatment) -> JsonObject | None:
    loop = open_loop_result(treatment)
    if loop is None:
        return None
    return {
        "arrivals": loop.arrivals, "offered_per_s": _repeats(loop.offered),
        "achieved_per_s": _repeats(loop.achieved),
        "kept_up": loop.sustained, "overloaded": loop.overloaded, "backlog_peak": _repeats(loop.backlog),
        "service": {key: _repeats(repeats) for key, repeats in loop.service.items()},
        "pacing_error": {key: _repeats(repeats) for key, repeats in loop.pacing.items()},
    }  # fmt: skip


def _repeats(repeats: Repeats) -> JsonObject:
    interval = repeats.interval
    return {
        "median": repeats.median,
        "interval": None
        if interval is None
        else {"low": interval.low, "high": interval.high, "coverage": interval.coverage},
        "descriptive_only": repeats.descriptive_only,
        "spread": repeats.spread,
        "repeats": list(repeats.values),
    }


def analyse(run: RunRecord, records: Sequence[TrialRecord], profiles: Sequence[TrialRecord] = ()) -> Analysis:
    """Analyse a run from its record and those of its finished trials, and of trials that only profile."""
    results = same_results.compared(records)
    trials = same_results.without_different(of_run(run, records), results)
    treatments_of_run = treatments(run, trials, profiles)
    layout = lay_out(treatments_of_run)
    searches = searched(run, records, trials)
    # The probes of a search are no sweep and no design: where they lie depends on what was found.
    lines = () if searches else saturation.find(treatments_of_run)
    comparable = quantities(treatments_of_run) <= 1
    held = () if searches or not comparable else treatments_of_run
    on_throughput = effects.find(held, speed_of, run.design or "full")
    faults = faults_of(treatments_of_run, {record.name: record for record in records})
    # Response times under faults are those of the outage, and what a fault costs is no throughput.
    recommendation = None if faults else recommend.find(held, layout)
    limits = limit_judge.by_treatment(treatments_of_run)
    by_size = scaling.scalings(treatments_of_run)
    findings_of_run = findings.find(
        treatments_of_run,
        trials,
        layout,
        lines,
        on_throughput,
        recommendation,
        searches,
        faults,
    )
    findings_of_run = (
        *findings.abandoned(run),
        *findings_of_run,
        *limit_findings.findings(limits, lines, treatments_of_run),
        *plans.findings(records, treatments_of_run),
        *placements.findings(run, records),
        *scaling.findings(by_size),
        *same_results.findings(results, {item.id: item.label for item in treatments_of_run}),
    )
    return Analysis(
        trials,
        treatments_of_run,
        layout,
        lines,
        on_throughput,
        recommendation,
        findings_of_run,
        searches,
        comparable,
        limits,
        expectations.outcomes(trials),
        by_size,
    )
