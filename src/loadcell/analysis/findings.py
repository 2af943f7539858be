"""Findings of a run in reading order: result, cost, failures, how far to trust it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis import best as best_level
from loadcell.analysis import (
    comparability,
    drift,
    effects_findings,
    groups,
    leaks,
    open_loop_capacity,
    recommend_findings,
    saturation_findings,
    search,
    validity,
)
from loadcell.analysis.best import Best
from loadcell.analysis.effects import Effects
from loadcell.analysis.figure_names import figure_name
from loadcell.analysis.finding import Finding
from loadcell.analysis.layout import Layout
from loadcell.analysis.recommend import RATE, Recommendation
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.search import Searched
from loadcell.analysis.sweep import LOAD, Sweep
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import STATUSES, Trial
from loadcell.model.message import Argument, Message, Severity
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import ExpectationResult
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: Repeats further apart than this make small differences between treatments meaningless.
WIDE_SPREAD = 0.10
#: Checks of the data, worth a word also when they hold.
VERIFIED = ("tpcc-consistency", "pgbench-balances", "values")
#: Values from here on are written without a fraction.
INTEGER_FROM = 100
#: How many names a sentence lists before it only counts.
MOST_NAMES = 4


def throughput(treatments: Sequence[Treatment], layout: Layout) -> Iterator[Finding]:
    """Where throughput was highest, what that cost, and how surely it was the highest; of unlike things, that
    none is.
    """
    if (unlike := comparability.count(treatments)) > 1:
        evidence = tuple(treatment.id for treatment in treatments if treatment.measured)
        yield Finding("throughput", Message("found.unlike", {"count": unlike}).rated("info"), evidence)
        return
    best = best_level.find(treatments, layout)
    if best is None:
        if not any(treatment.statuses.get("ok") for treatment in treatments):  # else `unusable` says it
            yield Finding("throughput", Message("found.nothing-measured").rated("problem"))
        return
    top = best.treatment
    params: dict[str, Argument] = {"treatment": top.label, "throughput_per_s": top.throughput.median or 0.0}
    p50, p99 = top.latency_ms("p50_ms"), top.latency_ms("p99_ms")
    if p50 is not None and p99 is not None:
        params |= {"p50_ms": p50, "p99_ms": p99}
    measured = [treatment for treatment in treatments if treatment.measured]
    if best.lowest is top and len(measured) > 1:  # all alike: none is the highest
        alike: dict[str, Argument] = {"count": len(measured), "throughput_per_s": params["throughput_per_s"]}
        yield Finding(
            "throughput", Message("found.alike", alike).rated("info"), tuple(item.id for item in measured)
        )
        return
    only = best.lowest is top
    behind = open_loop_capacity.fell_behind(top)
    has_tail = "p99_ms" in params and not behind
    key = ("found.throughput" if only else "found.highest") + ("" if has_tail else ".no-latency")
    well: Severity = "problem" if not params["throughput_per_s"] else "info" if behind else "good"
    yield Finding("throughput", Message(key, params).rated(well), (top.id,))
    # A metric that is the throughput under another name (IOPS) is reported above.
    for name, value in top.figures.items():
        if value.median is not None and not math.isclose(value.median, top.throughput.median or 0.0):
            counted = abs(value.median) >= INTEGER_FROM or value.median == round(value.median)
            figure = round(value.median) if counted else value.median
            arguments: dict[str, Argument] = {
                "name": figure_name(name),
                "figure": figure,
                "treatment": top.label,
            }
            key = "found.figure" if len(measured) > 1 else "found.figure.alone"
            yield Finding("throughput", Message(key, arguments).rated("info"), (top.id,))
    yield from groups.findings(top)
    if not only:
        yield from _besides_the_best(best)


def _besides_the_best(best: Best) -> Iterator[Finding]:
    top, highest = best.treatment, best.treatment.throughput.median or 0.0
    if best.tied:
        names = tuple(treatment.label for treatment in best.tied)
        params: dict[str, Argument] = {
            "count": len(names),
            "best": top.label,
            "treatments": names[:MOST_NAMES],
        }
        key = "found.tied" if len(names) <= MOST_NAMES else "found.tied.many"
        yield Finding("throughput", Message(key, params).rated("info"), tuple(item.id for item in best.tied))
    if best.factor != LOAD:
        yield from _along_the_factor(best)
    lowest = best.lowest.throughput.median
    # else what lies between the two is not known; nor is it a wonder that the fewest were done where the
    # fewest fell due
    if lowest and best.lowest not in best.tied and best.factor != RATE:
        params = {
            "treatment": best.lowest.label,
            "throughput_per_s": lowest,
            "factor_times": highest / lowest,
        }
        yield Finding("throughput", Message("found.lowest", params).rated("info"), (best.lowest.id,))


def _along_the_factor(best: Best) -> Iterator[Finding]:
    """Course of throughput along a numeric factor; for a load, saturation reports it in more detail."""
    top, highest = best.treatment, best.treatment.throughput.median or 0.0
    if best.at_edge and open_loop_capacity.fell_behind(top):
        return  # more that falls due would not be answered either
    if best.at_edge:
        yield Finding(
            "throughput", Message("found.at-edge", {"treatment": top.label}).rated("caution"), (top.id,)
        )
    elif best.last is not None and best.last is not top and best.last not in best.tied and highest:
        fell = 1 - (best.last.throughput.median or 0.0) / highest
        phrase = Message("found.falls", {"treatment": best.last.label, "fell_share": fell})
        yield Finding("throughput", phrase.rated("info"), (best.last.id,))


def trials(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Which trials count, and what became of the others."""
    states = Counter(trial.status for trial in all_trials)
    total = len(all_trials)
    if states["ok"] == total:
        yield Finding("trials", Message("found.trials.all", {"count": total}).rated("good"))
        return
    others = tuple(
        Message(f"count.{status}", {"count": states[status]})
        for status in STATUSES
        if status != "ok" and states[status]
    )
    broken = tuple(trial.name for trial in all_trials if trial.status != "ok")
    params: dict[str, Argument] = {"ok_count": states["ok"], "count": total, "others": others}
    yield Finding("trials", Message("found.trials.some", params).rated("problem"), broken)
    remaining = states["not-run"] + states["aborted"]
    if remaining:
        yield Finding("trials", Message("found.unfinished", {"count": remaining}).rated("caution"))


def given_up(run: RunRecord) -> Iterator[Finding]:
    """Why a run ended before its end, where nobody interrupted it."""
    if run.state == "failed" and run.reason:
        reason = Message(run.reason_code or "", run.reason_args or {}, recorded=(run.reason, ""))
        yield Finding("trials", Message("found.given-up", {"why": reason}).rated("problem"))


def errors(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Transactions that failed or were tried again."""
    ended = sum(trial.succeeded + trial.failed for trial in all_trials)
    failed = sum(trial.failed for trial in all_trials)
    if not ended:
        return
    if not failed:
        yield Finding("errors", Message("found.errors.none", {"count": ended}).rated("good"))
    else:
        codes: Counter[str] = Counter()
        meanings: dict[str, Message] = {}
        remedies = {
            error.code: error.remedy for trial in all_trials for error in trial.errors if error.remedy
        }
        for trial in all_trials:
            for error in trial.errors:
                if error.transactions:
                    codes[error.code] += error.transactions
                    meanings.setdefault(error.code, error.meaning)
        params: dict[str, Argument] = {"count": failed, "failed_share": failed / ended}
        key = "found.errors.some"
        if codes:
            code, often = codes.most_common(1)[0]
            params |= {"code": code, "meaning": meanings[code]}
            alike = often == failed
            key = "found.errors.all-alike" if alike else "found.errors.coded"
            if not alike:
                params["code_count"] = often
            if code in remedies:
                key = "found.errors.all-alike.remedied" if alike else "found.errors.coded.remedied"
                params["remedy"] = remedies[code]
            elif not meanings[code].text:
                key = "found.errors.all-alike.bare" if alike else "found.errors.coded.bare"
        evidence = tuple(trial.name for trial in all_trials if trial.failed)
        yield Finding("errors", Message(key, params).rated("problem"), evidence)
    retried = sum(trial.retried for trial in all_trials)
    if retried:
        phrase = Message("found.retried", {"count": retried, "retried_share": retried / ended})
        yield Finding("errors", phrase.rated("info"))


def expectations(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Which of the plan's expectations held."""
    missed: dict[str, list[str]] = {}
    unknown: dict[str, list[str]] = {}
    every: dict[str, int] = {}
    few: dict[str, list[ExpectationResult]] = {}
    for trial in all_trials:
        for judged in trial.expectations:
            if judged.needed is not None:
                few.setdefault(judged.expression, []).append(judged)
            every[judged.expression] = every.get(judged.expression, 0) + 1
            if judged.verdict != "met":
                where = missed if judged.verdict == "missed" else unknown
                where.setdefault(judged.expression, []).append(trial.name)
    met = [expression for expression in every if expression not in missed and expression not in unknown]
    for expression, names in missed.items():
        params: dict[str, Argument] = {"expression": expression, "count": len(names), "of": every[expression]}
        yield Finding("expectations", Message("found.expect.missed", params).rated("problem"), tuple(names))
    for expression, names in unknown.items():
        if expression not in missed:
            params = {"expression": expression, "count": len(names), "of": every[expression]}
            key = "found.expect.unknown"
            if fewer := few.get(expression):
                key = "found.expect.few"
                least = min(fewer, key=lambda one: one.count or 0)
                params |= {"fewest": least.count or 0, "needed": least.needed or 0}
            yield Finding("expectations", Message(key, params).rated("caution"), tuple(names))
    if met:
        phrase = Message("found.expect.met", {"count": len(met), "expressions": tuple(met)})
        yield Finding("expectations", phrase.rated("good"))


def held(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Verifications of the data after the load that succeeded."""
    for name in VERIFIED:
        verdicts = [check.verdict for trial in all_trials for check in trial.checks if check.name == name]
        if verdicts and all(verdict == "ok" for verdict in verdicts):
            params: dict[str, Argument] = {"check": Message(f"held.{name}"), "count": len(verdicts)}
            yield Finding("checks", Message("found.held", params).rated("good"))


def spread(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Spread of repeats of one treatment, and of blocks."""
    spreads = {
        treatment: spread_of_treatment
        for treatment in treatments
        if (spread_of_treatment := treatment.throughput.spread) is not None
    }
    measured = [treatment for treatment in treatments if treatment.measured]
    if measured and all(len(treatment.throughput.values) < 2 for treatment in measured):
        yield Finding("spread", Message("found.spread.none").rated("caution"))
    elif spreads:
        worst, most = max(spreads.items(), key=lambda item: item[1])
        params: dict[str, Argument] = {
            "spread_share": median(spreads.values()), "worst_share": most, "treatment": worst.label,
        }  # fmt: skip
        wide = most > WIDE_SPREAD
        key = "found.spread" if len(spreads) > 1 else "found.spread.one"
        yield Finding("spread", Message(key, params).rated("caution" if wide else "info"), (worst.id,))
    found_drift = drift.find(treatments)
    if found_drift is not None and found_drift.range_share > drift.NOTABLE:
        slowest = min(found_drift.blocks, key=lambda block: found_drift.blocks[block])
        params = {"block": str(slowest), "range_share": found_drift.range_share}
        yield Finding("spread", Message("found.drift", params).rated("caution"))


def trust(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Precision and reach of the results beyond this run."""
    measured = [treatment for treatment in treatments if treatment.measured]
    if not measured:
        return
    few = [treatment for treatment in measured if treatment.throughput.descriptive_only]
    repeats = [len(treatment.throughput.values) for treatment in measured]
    params: dict[str, Argument] = {"count": min(repeats), "needed": FEWEST_FOR_INTERVAL}
    if len(few) == len(measured):
        key = "found.descriptive" if min(repeats) == max(repeats) else "found.descriptive.varied"
        params |= {"most": max(repeats)}
        yield Finding("trust", Message(key, params).rated("caution"))
    elif few:
        params |= {"count": len(few), "of": len(measured)}
        evidence = tuple(treatment.id for treatment in few)
        yield Finding("trust", Message("found.partly-descriptive", params).rated("caution"), evidence)
    else:
        reached = min(item.throughput.interval.coverage for item in measured if item.throughput.interval)
        # `or more`: 6 repeats reach 96.9 %, and 97 % would be too much
        params |= {"coverage_share": math.floor(reached * 100) / 100}
        yield Finding("trust", Message("found.intervals", params).rated("good"))


def unusable(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Succeeded trials without a value, or with nothing done."""
    empty = [trial for trial in all_trials if trial.status == "ok" and not trial.throughput_per_s]
    if empty:
        names = tuple(trial.name for trial in empty)
        yield Finding("trials", Message("found.trials.empty", {"count": len(names)}).rated("problem"), names)


def find(
    treatments: Sequence[Treatment],
    all_trials: Sequence[Trial],
    layout: Layout,
    lines: Sequence[Saturation | Sweep],
    effects: Effects,
    recommendation: Recommendation | None,
    searches: Sequence[Searched] = (),
) -> tuple[Finding, ...]:
    """Every finding, in reading order.

    What a search found stands in the place of the best level of those tried.
    """
    return (
        *(search.findings(searches) if searches else throughput(treatments, layout)),
        *leaks.findings(all_trials),
        *saturation_findings.summary(lines),
        *open_loop_capacity.findings(treatments),
        *effects_findings.summary(effects),
        *([recommend_findings.choice(recommendation)] if recommendation is not None else []),
        *spread(treatments),
        *trials(all_trials),
        *unusable(all_trials),
        *errors(all_trials),
        *expectations(all_trials),
        *held(all_trials),
        *validity.findings(all_trials),
        *trust(treatments),
    )
