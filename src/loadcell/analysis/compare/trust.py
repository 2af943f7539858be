"""Findings on the number of blocks, their independence, and the correction for many rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from loadcell.analysis.compare.compare import Comparison
from loadcell.analysis.compare.sides import FEWEST_RUNS
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.model.message import Count
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: Up to this correlation of neighbouring blocks, and from this number on, independence is taken as shown:
#: where differences are a first-order process, 93 % of the intervals then cover the truth or have no tick.
MOST_ALIKE, FEWEST_TO_SEE = 0.15, 15
#: A correlation of more than this many standard errors is reported as one (5 % of independent blocks).
SURELY_ALIKE = 1.7
DESCRIPTIVE = FindingCode("compare.descriptive", Subject.TRUST, "caution", count=Count, needed=Count)
DESCRIPTIVE_RUNS = FindingCode(
    "compare.descriptive.runs", Subject.TRUST, "caution", count=Count, needed=Count
)
PARTLY_DESCRIPTIVE = FindingCode(
    "compare.partly-descriptive", Subject.TRUST, "caution", count=Count, needed=Count, of=Count
)
_TRUST: dict[str, type] = {"blocks": Count, "count": Count}
TRUST_PAIRED = FindingCode("compare.trust.paired", Subject.TRUST, "good", **_TRUST)
TRUST_PAIRED_UNSEEN = FindingCode("compare.trust.paired.unseen", Subject.TRUST, "info", r=str, **_TRUST)
TRUST_PAIRED_ALIKE = FindingCode("compare.trust.paired.alike", Subject.TRUST, "caution", r=str, **_TRUST)
TRUST_RUNS = FindingCode("compare.trust.runs", Subject.TRUST, "good", count=Count, runs=Count)
TRUST_TRIALS = FindingCode("compare.trust.trials", Subject.TRUST, "caution", blocks=Count)


def trust(comparison: Comparison) -> Iterator[Finding]:
    """Number of blocks there are, and how the whole was corrected."""
    effects = [row.effect for row in comparison.rows if row.effect is not None]
    if not effects:
        return
    few = [effect for effect in effects if effect.descriptive_only]
    blocks = int(median(effect.n for effect in effects))
    if len(few) == len(effects):
        if all(row.effect is not None for row in comparison.headline):
            return  # each verdict already says that the values are too few
        of_runs = comparison.sides.kind == "runs"
        yield (DESCRIPTIVE_RUNS if of_runs else DESCRIPTIVE).finding(
            count=min(effect.n for effect in effects), needed=FEWEST_RUNS if of_runs else FEWEST_FOR_INTERVAL
        )
        return
    if few:
        yield PARTLY_DESCRIPTIVE.finding(count=len(few), of=len(effects), needed=FEWEST_FOR_INTERVAL)
    count = len(effects) - len(few)
    if comparison.sides.unit == "trial":
        yield TRUST_TRIALS.finding(blocks=blocks)
    elif comparison.sides.unit == "run":
        yield TRUST_RUNS.finding(count=count, runs=blocks)
    else:
        yield _trust_of_pairs(comparison, blocks, count)


def _trust_of_pairs(comparison: Comparison, blocks: int, count: int) -> Finding:
    """Findings on dependent blocks, whose intervals cover less than their nominal level."""
    headline = [row.effect for row in comparison.headline if row.effect is not None]
    alike = max((effect.alike for effect in headline if effect.alike is not None), default=0.0)
    code = trust_of_pairs(blocks, alike)
    return code.finding(blocks=blocks, count=count, r=f"{alike:.2f}")


def trust_of_pairs(blocks: int, alike: float) -> FindingCode:
    """Judge the independence of blocks by their number and the correlation of neighbours."""
    if alike > SURELY_ALIKE / math.sqrt(blocks):
        return TRUST_PAIRED_ALIKE
    seen = blocks >= FEWEST_TO_SEE and alike <= MOST_ALIKE
    return TRUST_PAIRED if seen else TRUST_PAIRED_UNSEEN
