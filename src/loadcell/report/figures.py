"""Metrics of a workload, tool or monitor: names and formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from loadcell.analysis.error_codes import figure_name
from loadcell.model import numbers

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment
    from loadcell.report.texts import Texts

#: Metrics drawn instead of throughput in records that do not declare their metrics: older ones and imports.
UNDECLARED_HEADLINES = ("access_ns", "mib_per_s", "mbit_per_s", "mbits_per_s")
#: By so small a part its ratio to throughput may vary where throughput says the same.
SAME_SHARE = 0.01


def name(figure: str, texts: Texts) -> str:
    """A metric's name in the reader's language, with its unit."""
    return texts.message(figure_name(figure))


def write(value: float, repeats: Iterable[float]) -> str:
    """Format of a value: counts (retransmits) in full, everything else by its first digits."""
    counted = value == round(value) and all(repeat == round(repeat) for repeat in repeats)
    return numbers.whole(value) if counted else numbers.rate(value)


def foremost(treatments: Sequence[Treatment]) -> str | None:
    """The figure of their own that all these treatments are about; None where there is none, or throughput in
    another unit.
    """
    for name in _headlines(treatments):
        values = [treatment.figures[name].median for treatment in treatments if name in treatment.figures]
        if values and len(values) == len(treatments) and all(values):
            ratios = [
                (value or 0) / (treatment.throughput.median or 1)
                for value, treatment in zip(values, treatments, strict=True)
            ]
            same = len(ratios) > 1 and max(ratios) - min(ratios) <= SAME_SHARE * max(ratios)
            return None if same else name
    return None


def _headlines(treatments: Sequence[Treatment]) -> Sequence[str]:
    """Keys of the metrics that their parts declared as headlines."""
    facts = [trial.metrics for treatment in treatments for trial in treatment.trials if trial.metrics]
    if not facts:
        return UNDECLARED_HEADLINES
    return list(dict.fromkeys(key for metrics in facts for key, fact in metrics.items() if fact.headline))
