"""Findings of a run in reading order: result, cost, failures, how far to trust it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis import (
    drift,
    effects_findings,
    error_findings,
    expectation_findings,
    figure_values,
    flames,
    groups,
    independence,
    open_loop,
    recommend,
    saturation,
    search,
    search_descent,
    validity,
)
from loadcell.analysis.effects import Effects
from loadcell.analysis.error_codes import figure_name
from loadcell.analysis.faults import effects as fault_effects
from loadcell.analysis.faults import group_findings, lost_writes
from loadcell.analysis.faults.repeats import FaultOfTreatment
from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Statement, Subject
from loadcell.analysis.layout import Layout
from loadcell.analysis.recommend import RATE, Best, Recommendation
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.search import Searched
from loadcell.analysis.sweep import LOAD, Sweep
from loadcell.analysis.treatments import Treatment, quantities
from loadcell.analysis.trials import STATUSES, Trial
from loadcell.model.message import (
    Count,
    Factor,
    Message,
    MessageCode,
    Milliseconds,
    Rate,
    Severity,
    Share,
)
from loadcell.model.run_record import RunRecord
from loadcell.plan.workload import text_of
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL, scatter_widely

#: Repeats further apart than this make small differences between treatments meaningless.
WIDE_SPREAD = 0.05
#: How many names a sentence lists before it only counts.
MOST_NAMES = 4

SPREAD_NONE_IMPORTED = FindingCode(
    "found.spread.none.imported", Subject.SPREAD, "caution", (Concern.TRUST, 120)
).marked(of_load=True)
NOTHING_MEASURED = FindingCode(
    "found.nothing-measured", Subject.THROUGHPUT, "problem", (Concern.STANDS, 10)
).marked(evidence=Evidence.TROUBLE, of_load=True)
THROUGHPUT = FindingCode(
    "found.throughput", Subject.THROUGHPUT, "good", (Concern.ANSWER, 230), p50_ms=Milliseconds,
    p99_ms=Milliseconds, throughput_per_s=Rate,
).marked(unworded=("treatment",))  # fmt: skip
THROUGHPUT_NO_LATENCY = FindingCode(
    "found.throughput.no-latency", Subject.THROUGHPUT, "good", (Concern.ANSWER, 230), throughput_per_s=Rate
).marked(unworded=("treatment",))
UNLIKE = FindingCode("found.unlike", Subject.THROUGHPUT, "info", (Concern.ANSWER, 200), count=Count)
ALIKE = FindingCode(
    "found.alike", Subject.THROUGHPUT, "info", (Concern.ANSWER, 220), count=Count, throughput_per_s=Rate
)
FIGURE = FindingCode(
    "found.figure", Subject.THROUGHPUT, "info", (Concern.ANSWER, 240), figure=str, name=str, treatment=str
).marked(unworded=("value",))
FIGURE_ALONE = FindingCode(
    "found.figure.alone", Subject.THROUGHPUT, "info", (Concern.ANSWER, 240), figure=str, name=str
).marked(unworded=("treatment", "value"))
HIGHEST = FindingCode(
    "found.highest",
    Subject.THROUGHPUT,
    "good",
    (Concern.ANSWER, 210),
    p50_ms=Milliseconds,
    p99_ms=Milliseconds,
    throughput_per_s=Rate,
    treatment=str,
).marked(states=Statement.HIGHEST, implied_by=(Statement.TRADE_OFF,))
HIGHEST_NO_LATENCY = FindingCode(
    "found.highest.no-latency",
    Subject.THROUGHPUT,
    "good",
    (Concern.ANSWER, 210),
    throughput_per_s=Rate,
    treatment=str,
).marked(states=Statement.HIGHEST, implied_by=(Statement.TRADE_OFF,))
TIED = FindingCode(
    "found.tied", Subject.THROUGHPUT, "info", (Concern.ANSWER, 280), best=str, treatments=list
).marked(implied_by=(Statement.SATURATION, Statement.NO_CHOICE), unworded=("count",))
TIED_MANY = FindingCode(
    "found.tied.many",
    Subject.THROUGHPUT,
    "info",
    (Concern.ANSWER, 280),
    best=str,
    count=Count,
    treatments=list,
).marked(implied_by=(Statement.SATURATION, Statement.NO_CHOICE))
AT_EDGE = FindingCode("found.at-edge", Subject.THROUGHPUT, "caution", (Concern.ANSWER, 260), treatment=str)
FALLS = FindingCode(
    "found.falls", Subject.THROUGHPUT, "info", (Concern.ANSWER, 270), fell_share=Share, treatment=str
)
LOWEST = FindingCode(
    "found.lowest", Subject.THROUGHPUT, "info", (Concern.COST, 30), factor_times=Factor,
    throughput_per_s=Rate, treatment=str,
).marked(implied_by=(Statement.SATURATION, Statement.CHANGE))  # fmt: skip
SPREAD = FindingCode(
    "found.spread", Subject.SPREAD, "info", (Concern.TRUST, 210), spread_share=Share, treatment=str,
    worst_share=Share,
)  # fmt: skip
SPREAD_ONE = FindingCode(
    "found.spread.one", Subject.SPREAD, "info", (Concern.TRUST, 210), treatment=str, worst_share=Share
).marked(of_load=True, unworded=("spread_share",))
SPREAD_NONE = FindingCode("found.spread.none", Subject.SPREAD, "caution", (Concern.TRUST, 120)).marked(
    implied_by=(Statement.NO_REPEATS,), of_load=True, imported=SPREAD_NONE_IMPORTED
)
DRIFT = FindingCode(
    "found.drift", Subject.SPREAD, "caution", (Concern.TRUST, 100), block=str, range_share=Share
)
TRIALS_EMPTY = FindingCode(
    "found.trials.empty", Subject.TRIALS, "problem", (Concern.STANDS, 30), count=Count, of=Count
).marked(evidence=Evidence.RESULTS, of_load=True)
TRIALS_ALL = FindingCode("found.trials.all", Subject.TRIALS, "good", (Concern.WELL, 20), count=Count).marked(
    evidence=Evidence.RESULTS, of_load=True
)
TRIALS_SOME = FindingCode(
    "found.trials.some", Subject.TRIALS, "problem", (Concern.WRONG, 10), count=Count, ok_count=Count,
    others=list,
)  # fmt: skip
ABANDONED = FindingCode("found.given-up", Subject.TRIALS, "problem", (Concern.STANDS, 0), why=Message)
UNFINISHED = FindingCode("found.unfinished", Subject.TRIALS, "caution", (Concern.STANDS, 50), count=Count)
HELD = FindingCode("found.held", Subject.CHECKS, "good", (Concern.WELL, 10), check=str, count=Count).marked(
    evidence=Evidence.RESULTS
)
DESCRIPTIVE = FindingCode(
    "found.descriptive", Subject.TRUST, "caution", (Concern.TRUST, 110), count=Count, needed=Count
).marked(states=Statement.NO_REPEATS, of_load=True, unworded=("most",))
DESCRIPTIVE_VARIED = FindingCode(
    "found.descriptive.varied",
    Subject.TRUST,
    "caution",
    (Concern.TRUST, 110),
    count=Count,
    most=Count,
    needed=Count,
).marked(states=Statement.NO_REPEATS, of_load=True)
PARTLY_DESCRIPTIVE = FindingCode(
    "found.partly-descriptive", Subject.TRUST, "caution", (Concern.TRUST, 130), count=Count, needed=Count,
    of=Count,
)  # fmt: skip
INTERVALS = FindingCode(
    "found.intervals", Subject.TRUST, "good", (Concern.TRUST, 140), count=Count, coverage_share=Share
).marked(unworded=("needed",))
INTERVALS_UNSEEN = FindingCode(
    "found.intervals.unseen", Subject.TRUST, "info", (Concern.TRUST, 140), count=Count, coverage_share=Share
).marked(unworded=("needed",))
INTERVALS_DEPENDENT = FindingCode(
    "found.intervals.dependent", Subject.TRUST, "caution", (Concern.TRUST, 105), count=Count,
    coverage_share=Share,
).marked(unworded=("needed",))  # fmt: skip
INTERVALS_BY = {
    "independent": INTERVALS, "unseen": INTERVALS_UNSEEN, "dependent": INTERVALS_DEPENDENT,
}  # fmt: skip
#: How many trials have a status.
COUNTED = {status: MessageCode(f"count.{status}", count=Count) for status in STATUSES}


def throughput(treatments: Sequence[Treatment], layout: Layout) -> Iterator[Finding]:
    """Where throughput was highest, what that cost, and how surely it was the highest; of unlike things, that
    none is. Nothing of treatments that differ by their faults.
    """
    if not recommend.is_choice(treatments):
        return
    if (unlike := quantities(treatments)) > 1:
        evidence = tuple(treatment.id for treatment in treatments if treatment.measured)
        yield UNLIKE.finding(evidence, count=unlike)
        return
    best = recommend.best_of(treatments, layout)
    if best is None:
        if not any(treatment.statuses.get("ok") for treatment in treatments):  # else `unusable` says it
            yield NOTHING_MEASURED.finding()
        return
    top = best.treatment
    throughput_per_s = top.throughput.median or 0.0
    p50, p99 = top.latency_ms("p50_ms"), top.latency_ms("p99_ms")
    measured = [treatment for treatment in treatments if treatment.measured]
    if best.lowest is top and len(measured) > 1:  # all alike: none is the highest
        ids = tuple(item.id for item in measured)
        yield ALIKE.finding(ids, count=len(measured), throughput_per_s=throughput_per_s)
        return
    only = best.lowest is top
    behind = open_loop.fell_behind(top)
    if p50 is None or p99 is None or behind:
        code = THROUGHPUT_NO_LATENCY if only else HIGHEST_NO_LATENCY
    else:
        code = THROUGHPUT if only else HIGHEST
    well: Severity = "problem" if not throughput_per_s else "info" if behind else "good"
    yield code.finding(
        (top.id,), well, treatment=top.label, throughput_per_s=throughput_per_s, p50_ms=p50, p99_ms=p99
    )
    # A metric that is the throughput under another name (IOPS) is reported above.
    for name, value in top.figures.items():
        if value.median is not None and not math.isclose(value.median, top.throughput.median or 0.0):
            shown = figure_name(name)
            facts = {key: fact for trial in top.trials for key, fact in trial.metrics.items()}
            has_unit = bool(shown.code) and not figure_values.is_size(name, top.trials)
            figure = figure_values.written(name, value.median, facts, has_unit=has_unit)
            code = FIGURE if len(measured) > 1 else FIGURE_ALONE
            yield code.finding((top.id,), name=shown, figure=figure, treatment=top.label, value=value.median)
    yield from groups.findings(top)
    if not only:
        yield from _besides_the_best(best)


def _besides_the_best(best: Best) -> Iterator[Finding]:
    top, highest = best.treatment, best.treatment.throughput.median or 0.0
    if best.tied:
        names = tuple(treatment.label for treatment in best.tied)
        yield (TIED if len(names) <= MOST_NAMES else TIED_MANY).finding(
            tuple(item.id for item in best.tied),
            count=len(names),
            best=top.label,
            treatments=names[:MOST_NAMES],
        )
    if best.factor != LOAD:
        yield from _along_the_factor(best)
    lowest = best.lowest.throughput.median
    # else what lies between the two is not known; nor is it a wonder that the fewest were done where the
    # fewest fell due
    if lowest and best.lowest not in best.tied and best.factor != RATE:
        yield LOWEST.finding(
            (best.lowest.id,),
            treatment=best.lowest.label,
            throughput_per_s=lowest,
            factor_times=highest / lowest,
        )


def _along_the_factor(best: Best) -> Iterator[Finding]:
    """Course of throughput along a numeric factor; for a load, saturation reports it in more detail."""
    top, highest = best.treatment, best.treatment.throughput.median or 0.0
    if best.at_edge and open_loop.fell_behind(top):
        return  # more that falls due would not be answered either
    if best.at_edge:
        yield AT_EDGE.finding((top.id,), treatment=top.label)
    elif best.last is not None and best.last is not top and best.last not in best.tied and highest:
        fell = 1 - (best.last.throughput.median or 0.0) / highest
        yield FALLS.finding((best.last.id,), treatment=best.last.label, fell_share=fell)


def trials(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Which trials count, and what became of the others."""
    states = Counter(trial.status for trial in all_trials)
    total = len(all_trials)
    if states["ok"] == total:
        yield TRIALS_ALL.finding(count=total)
        return
    others = tuple(
        COUNTED[status](count=states[status]) for status in STATUSES if status != "ok" and states[status]
    )
    broken = tuple(trial.name for trial in all_trials if trial.status != "ok")
    yield TRIALS_SOME.finding(broken, ok_count=states["ok"], count=total, others=others)
    remaining = states["not-run"] + states["aborted"]
    if remaining:
        yield UNFINISHED.finding(count=remaining)


def abandoned(run: RunRecord) -> Iterator[Finding]:
    """Why a run ended before its end, where nobody interrupted it."""
    if run.state == "failed" and run.reason:
        reason = Message(run.reason_code or "", run.reason_args or {}, recorded=(run.reason, ""))
        yield ABANDONED.finding(why=reason)


def held(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Verifications of the data after the load that succeeded."""
    verdicts: dict[str, list[str]] = {}
    for trial in all_trials:
        for check in trial.checks:
            verdicts.setdefault(check.name, []).append(check.verdict)
    for name, of_check in verdicts.items():
        met = text_of("held", name)
        if met is not None and all(verdict == "ok" for verdict in of_check):
            yield HELD.finding(check=met, count=len(of_check))


def spread(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Spread of repeats of one treatment, and of blocks."""
    spreads = {
        treatment: spread_of_treatment
        for treatment in treatments
        if (spread_of_treatment := treatment.throughput.spread) is not None
    }
    measured = [treatment for treatment in treatments if treatment.measured]
    if measured and all(len(treatment.throughput.values) < 2 for treatment in measured):
        yield SPREAD_NONE.finding()
    elif spreads:
        worst, most = max(spreads.items(), key=lambda item: item[1])
        yield (SPREAD if len(spreads) > 1 else SPREAD_ONE).finding(
            (worst.id,),
            "caution" if scatter_widely([item.throughput for item in spreads], WIDE_SPREAD) else "info",
            spread_share=median(spreads.values()),
            worst_share=most,
            treatment=worst.label,
        )
    drift_of_run = drift.of_blocks(treatments)
    if drift_of_run is not None and drift_of_run.notable:
        slowest = min(drift_of_run.blocks, key=lambda block: drift_of_run.blocks[block])
        yield DRIFT.finding(block=slowest, range_share=drift_of_run.range_share)


def trust(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Precision and reach of the results beyond this run."""
    measured = [treatment for treatment in treatments if treatment.measured]
    if not measured:
        return
    few = [treatment for treatment in measured if treatment.throughput.descriptive_only]
    repeats = [len(treatment.throughput.values) for treatment in measured]
    if len(few) == len(measured):
        yield (DESCRIPTIVE if min(repeats) == max(repeats) else DESCRIPTIVE_VARIED).finding(
            count=min(repeats), most=max(repeats), needed=FEWEST_FOR_INTERVAL
        )
    elif few:
        evidence = tuple(treatment.id for treatment in few)
        yield PARTLY_DESCRIPTIVE.finding(
            evidence, count=len(few), of=len(measured), needed=FEWEST_FOR_INTERVAL
        )
    else:
        reached = min(item.throughput.interval.coverage for item in measured if item.throughput.interval)
        # `or more`: 6 repeats reach 96.9 %, and 97 % would be too much
        yield INTERVALS_BY[independence.of_repeats(treatments)].finding(
            count=min(repeats), coverage_share=math.floor(reached * 100) / 100, needed=FEWEST_FOR_INTERVAL
        )


def unusable(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Succeeded trials without a value, or with nothing done."""
    empty = [trial for trial in all_trials if trial.status == "ok" and not trial.throughput_per_s]
    if empty:
        names = tuple(trial.name for trial in empty)
        yield TRIALS_EMPTY.finding(names, count=len(names), of=len(all_trials))


def find(
    treatments: Sequence[Treatment],
    all_trials: Sequence[Trial],
    layout: Layout,
    lines: Sequence[Saturation | Sweep],
    effects: Effects,
    recommendation: Recommendation | None,
    searches: Sequence[Searched] = (),
    faults: Sequence[FaultOfTreatment] = (),
) -> tuple[Finding, ...]:
    """Every finding, in reading order.

    What a search found stands in the place of the best level of those tried.
    """
    with_faults = {fault.treatment.id for fault in faults}
    return (
        *fault_effects.findings(faults),
        *group_findings.findings(faults),
        *lost_writes.findings(treatments),
        *lost_writes.uncertain(treatments),
        *(search.findings(searches) if searches else throughput(treatments, layout)),
        *search_descent.findings(searches),
        *flames.leak_findings(all_trials),
        *saturation.summary(lines),
        *open_loop.findings([treatment for treatment in treatments if treatment.id not in with_faults]),
        *effects_findings.summary(effects),
        *(
            [recommend.choice(recommendation), *recommend.left_out(recommendation)]
            if recommendation is not None
            else []
        ),
        *spread(treatments),
        *trials(all_trials),
        *unusable(all_trials),
        *error_findings.errors(all_trials),
        *expectation_findings.expectations(treatments, all_trials),
        *held(all_trials),
        *validity.findings(all_trials),
        *trust(treatments),
    )
