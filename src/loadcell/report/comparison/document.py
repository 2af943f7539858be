"""A comparison as plain JSON."""

from __future__ import annotations

from typing import Any

from loadcell.analysis.compare.compare import OVERALL, Row
from loadcell.report.comparison.build import said
from loadcell.report.comparison.gather import Gathered


def document(gathered: Gathered) -> dict[str, Any]:
    """Everything that was found, for scripts."""
    comparison = gathered.comparison
    return {
        "what": comparison.sides.what,
        "factor": comparison.sides.factor,
        "paired": comparison.sides.paired,
        "unit": gathered.unit,
        "runs": [str(run.path) for run in gathered.runs],
        "sides": [side.label for side in comparison.sides.sides],
        "contexts": dict(comparison.sides.contexts),
        "least_effect": comparison.least_effect,
        "noise_from": gathered.noise_from,
        "differences": [
            {
                "side": label, "kind": one.kind, "path": one.path, "before": one.before, "after": one.after,
                "treatments": list(one.treatments),
            }
            for label, each in gathered.differences.items()
            for one in each
        ],
        "rows": [_row(row, gathered) for row in comparison.rows],
        "ranking": [
            {"side": comparison.sides.sides[one.index].label, "value": one.value, "groups": one.groups}
            for one in comparison.ranking
        ],
        "findings": [finding.document() for finding in said(gathered)],
    }  # fmt: skip


def _row(row: Row, gathered: Gathered) -> dict[str, Any]:
    effect, checked = row.effect, row.checked
    return {
        "side": gathered.comparison.sides.sides[row.side].label,
        "context": None if row.context == OVERALL else row.context,
        "metric": row.metric.name,
        "medians": list(row.medians),
        "ratio": effect and effect.ratio,
        "interval": None if effect is None or effect.low is None else [effect.low, effect.high],
        "values": 0 if effect is None else effect.n,
        "p": effect and effect.p,
        "adjusted_p": row.adjusted_p,
        "noise": row.noise,
        "verdict": row.verdict.word,
        "reason": row.verdict.reason,
        "ratio_of_medians": checked and list(checked.medians),
        "ratio_of_means": None if checked is None or checked.means is None else list(checked.means),
        "cliffs_delta": checked and checked.delta,
    }
