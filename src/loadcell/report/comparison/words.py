"""Words of comparisons, of runs and of machines: names of sides, contexts and rows; formats of scores, facts
and ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from loadcell.analysis.compare import locations
from loadcell.analysis.compare.compare import OVERALL, Comparison, Row
from loadcell.analysis.compare.metrics import DIFFERENT, Metric, Reason, Word
from loadcell.analysis.compare.sides import Sides, name
from loadcell.analysis.hosts.compare import Row as ScoreRow
from loadcell.analysis.hosts.compare import Times
from loadcell.analysis.hosts.facts import FACTS, Fact
from loadcell.analysis.hosts.findings import row_name, score_name
from loadcell.analysis.hosts.scores import Score
from loadcell.model import numbers
from loadcell.model.message import Labels, Message
from loadcell.model.metrics import value_text
from loadcell.report.host import in_words
from loadcell.report.texts import Texts
from loadcell.stats.two_samples import Effect

VERDICT = Labels("compare.verdict", get_args(Word))
REASON = Labels("compare.reason", get_args(Reason))


def apart(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Names as they are, or with the other name in brackets where they coincide."""
    return [
        name if names.count(name) == 1 else f"{name} ({other})"
        for name, other in zip(names, others, strict=True)
    ]


class Words:
    """Names for everything in a comparison."""

    def __init__(self, comparison: Comparison, texts: Texts) -> None:
        self.comparison = comparison
        self.sides: Sides = comparison.sides
        self.texts = texts

    def side(self, index: int) -> str:
        """A side by its place."""
        return name(self.sides, self.sides.sides[index])

    def context(self, context: str) -> str:
        """A context; empty where there is only one."""
        called = locations.context_name(self.sides, context)
        return self.texts.message(called) if isinstance(called, Message) else called

    def metric(self, metric: Metric) -> str:
        """Name of a metric, as in a sentence."""
        return self.texts.message(locations.metric_name(metric))

    def short(self, metric: Metric) -> str:
        """Short name of a metric; of a resource its key, which fits into a column of a terminal."""
        return (
            metric.name if metric.resource is not None else self.texts.message(locations.short_name(metric))
        )

    def row(self, row: Row) -> str:
        """A row on its own: side (of several), context, figure."""
        parts = [self.side(row.side)] if len(self.sides.sides) > 2 else []
        return " · ".join(
            part for part in (*parts, self.context(row.context), self.short(row.metric)) if part
        )

    def change(self, effect: Effect | None) -> str:
        """`+4.9%`."""
        return self.texts("mark.none") if effect is None else numbers.change(effect.ratio - 1)

    def marked_change(self, row: Row) -> str:
        """The same of a row, with a mark where the medians do not agree with it."""
        change = self.change(row.effect)
        return change if row.contrary_medians is None else f"{change} *"

    def count(self, effect: Effect | None) -> str:
        """Number of values, `3 / 6` where the sides differ."""
        if effect is None:
            return self.texts("mark.none")
        return " / ".join(map(numbers.whole, dict.fromkeys(effect.sizes or (effect.n,))))

    def interval(self, effect: Effect | None) -> str:
        """`+2.1% … +7.0%`, or why there is none."""
        if effect is None or effect.low is None or effect.high is None:
            return self.texts("mark.none")
        return f"{numbers.change(effect.low - 1)} … {numbers.change(effect.high - 1)}"

    def verdict(self, row: Row) -> str:
        """`faster`."""
        return self.word(row.verdict.word)

    def word(self, word: Word) -> str:
        """A verdict's word."""
        return self.texts(VERDICT(word))

    def reason(self, row: Row) -> str:
        """`within the noise`."""
        return self.texts(REASON(row.verdict.reason))

    def figure(self, row: Row, which: int) -> str:
        """The median of the first side (0) or of the row's own (1); of a resource with its unit."""
        value = row.medians[which]
        if value is None:
            return self.texts("mark.none")
        if row.metric.resource is not None:
            return value_text(row.metric.resource.kind, value)
        if row.metric.is_size:
            return numbers.size(value)
        return numbers.rate(value) if row.metric.key is None else numbers.significant(value)

    def by_importance(self, rows: Sequence[Row]) -> list[Row]:
        """Headlines first, then what is over all contexts, what is clear, the first metric, and the rest."""
        headline = self.comparison.headline

        def importance(row: Row) -> int:
            if row in headline:
                return 0
            if row.context == OVERALL:
                return 1
            if row.verdict.word in DIFFERENT:
                return 2
            return 3 if row.metric == self.comparison.metrics[0] else 4

        return sorted(rows, key=importance)


#: Symbols of units, which are the same in every language; the others are in the catalogue.
SYMBOLS = {
    "mib_per_s": "MiB/s", "read_mib_per_s": "MiB/s", "write_mib_per_s": "MiB/s", "access_ns": "ns",
    "sync_ms": "ms",
    "iops": "IOPS", "mbit_per_s": "Mbit/s",
}  # fmt: skip
_UNIT = Labels("hosts.unit", ("events_per_s", "transactions_per_s"))
_FACT = Labels("hosts.fact", FACTS)


def score_text(score: Score, texts: Texts) -> str:
    """`MEMCPY, 256 MiB, 1 thread`."""
    return texts.value("name", score_name(score))


def both_text(row: ScoreRow, texts: Texts) -> str:
    """The same of a score that two machines have."""
    return texts.value("name", row_name(row))


def unit(score: Score, texts: Texts) -> str:
    """`MiB/s`."""
    return SYMBOLS.get(score.figure) or texts(_UNIT(score.figure))


def spread(score: Score, texts: Texts) -> str:
    """`4,790 … 4,811`: what the repeats were; nothing of one."""
    repeats = score.repeats
    if repeats.low is None or repeats.high is None or len(repeats.values) < 2:
        return texts("mark.none")
    return f"{numbers.rate(repeats.low)} … {numbers.rate(repeats.high)}"


def times(value: float) -> str:
    """`×1.38`."""
    return f"×{numbers.significant(value)}"


def ends(span: Times, texts: Texts) -> str:
    """`×1.31 … ×1.44`; nothing where one value stands against one."""
    if span.low is None or span.high is None:
        return texts("mark.none")
    return f"{times(span.low)} … {times(span.high)}"


def fact_name(fact: Fact, texts: Texts) -> str:
    """Name of a fact; a kernel setting by its name."""
    return texts.or_none(_FACT(fact.key)) or fact.key


def fact_values(fact: Fact, texts: Texts) -> list[str]:
    """Both values with their unit; what is known to be nothing (no mitigation at work) is another thing than
    what is not known.
    """
    return [
        texts("hosts.facts.nothing") if value == "" else in_words(fact.key, value, texts)
        for value in fact.values
    ]
