"""Saturation, effects and the recommendation as plain JSON, for `loadcell report --json`."""

from __future__ import annotations

import math
from typing import Any

from loadcell.analysis.effects import Change, Effects, Ratio
from loadcell.analysis.recommend import Recommendation
from loadcell.analysis.saturation import Mark, Saturation
from loadcell.analysis.sweep import Sweep
from loadcell.analysis.usl import Estimate


def saturation(line: Saturation | Sweep) -> dict[str, Any]:
    """A line of rising load: its marks as numbers of clients; without marks where it is too short."""
    sweep = line.sweep if isinstance(line, Saturation) else line
    document: dict[str, Any] = {"held": dict(sweep.held), "loads": [float(load) for load in sweep.loads]}
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


def effects(analysis: Effects) -> dict[str, Any]:
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
            for pair in analysis.together
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


def _change(change: Change) -> dict[str, Any]:
    base = None if change.base is None else change.base.id
    return {
        "factor": change.key,
        "before": change.before,
        "after": change.after,
        "base": base,
        **_ratio(change.ratio),
    }


def recommendation(recommendation: Recommendation | None) -> dict[str, Any] | None:
    """Treatments by id."""
    if recommendation is None:
        return None
    return {
        "treatment": recommendation.choice.id, "best": recommendation.best.id, "lowest": recommendation.lowest.id, "compared_by": recommendation.tail,
        "gain_times": recommendation.gain_times if math.isfinite(recommendation.gain_times) else None,
        "lost_share": recommendation.lost_share, "alike": [item.id for item in recommendation.alike], "founded": recommendation.founded,
        "next_broke": None if recommendation.next_broke is None else recommendation.next_broke.id,
        "unsound": recommendation.unsound, "at_edge": recommendation.at_edge,
    }  # fmt: skip
