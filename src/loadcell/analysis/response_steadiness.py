"""Steady state of open loops by their response times.

Throughput of an open loop is the offered load, steady or not: its mean is known within a per cent even where
the response time is hardly known. A queue's response times are correlated over many intervals, so their mean
is known much less well than that of throughput, and their 99th percentile less well still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.series import MOST_MISSING, Timeline
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Share
from loadcell.stats.steady_state import Steadiness, judge

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


def findings(judged: Sequence[ResponseSteadiness]) -> Iterator[Finding]:
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
