"""Names of sides, contexts and rows, in one language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from loadcell.analysis.compare import findings
from loadcell.analysis.compare.compare import OVERALL, Comparison, Reason, Row
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Sides
from loadcell.model import numbers
from loadcell.model.message import Labels, Message
from loadcell.report.texts import Texts
from loadcell.stats.hodges_lehmann import Effect

VERDICT = Labels("compare.verdict", ("faster", "slower", "same", "ambiguous"))
REASON = Labels("compare.reason", get_args(Reason))


class Words:
    """Names for everything in a comparison."""

    def __init__(self, comparison: Comparison, texts: Texts) -> None:
        self.comparison = comparison
        self.sides: Sides = comparison.sides
        self.texts = texts

    def side(self, index: int) -> str:
        """A side by its place."""
        return findings.name(self.sides, self.sides.sides[index])

    def context(self, context: str) -> str:
        """A context; empty where there is only one."""
        called = findings.context_name(self.sides, context)
        return self.texts.message(called) if isinstance(called, Message) else called

    def metric(self, metric: Metric) -> str:
        """Name of a metric, as in a sentence."""
        return self.texts.message(findings.metric_name(metric))

    def short(self, metric: Metric) -> str:
        """Short name of a metric."""
        return metric.name if metric.key is not None and metric.name != "mean" else self.metric(metric)

    def row(self, row: Row) -> str:
        """A row on its own: side (of several), context, figure."""
        parts = [self.side(row.side)] if len(self.sides.sides) > 2 else []
        return " · ".join(
            part for part in (*parts, self.context(row.context), self.short(row.metric)) if part
        )

    def change(self, effect: Effect | None) -> str:
        """`+4.9%`."""
        return self.texts("mark.none") if effect is None else numbers.change(effect.ratio - 1)

    def interval(self, effect: Effect | None) -> str:
        """`+2.1% … +7.0%`, or why there is none."""
        if effect is None or effect.low is None or effect.high is None:
            return self.texts("mark.none")
        return f"{numbers.change(effect.low - 1)} … {numbers.change(effect.high - 1)}"

    def verdict(self, row: Row) -> str:
        """`faster`."""
        return self.texts(VERDICT(row.verdict.word))

    def reason(self, row: Row) -> str:
        """`within the noise`."""
        return self.texts(REASON(row.verdict.reason))

    def figure(self, row: Row, which: int) -> str:
        """The median of the first side (0) or of the row's own (1)."""
        value = row.medians[which]
        if value is None:
            return self.texts("mark.none")
        return numbers.rate(value) if row.metric.key is None else numbers.significant(value)

    def by_importance(self, rows: Sequence[Row]) -> list[Row]:
        """Headlines first, then what is over all contexts, what is clear, the first metric, and the rest."""
        headline = self.comparison.headline

        def importance(row: Row) -> int:
            if row in headline:
                return 0
            if row.context == OVERALL:
                return 1
            if row.verdict.word in {"faster", "slower"}:
                return 2
            return 3 if row.metric == self.comparison.metrics[0] else 4

        return sorted(rows, key=importance)
