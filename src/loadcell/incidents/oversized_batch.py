"""A batch that does not fit into memory: the live set follows its size, and smaller batches are healthy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.batches import Batches, BatchLevel
from loadcell.model.message import Bytes, Count, MessageCode, Number, Share
from loadcell.stats.power_law import Exponent, exponent

SIGNS = MessageCode("incident.oversized-batch.signs", "info", least=Number, coverage_share=Share)
_SEEN = MessageCode(
    "incident.oversized-batch.seen", "info",
    factor=str, size=Number, count=Count, of=Count, fitting=Number, peak_bytes=Bytes, exponent=Number,
    low=Number, high=Number, unit_bytes=Bytes, needed_bytes=Bytes,
)  # fmt: skip
_WITH_LIMIT = MessageCode(
    "incident.oversized-batch.seen-limit", "info",
    factor=str, size=Number, count=Count, of=Count, fitting=Number, peak_bytes=Bytes, exponent=Number,
    low=Number, high=Number, unit_bytes=Bytes, needed_bytes=Bytes, limit_bytes=Bytes,
)  # fmt: skip
_ENOUGH = MessageCode("incident.oversized-batch.enough", "info", factor=str, size=Number, peak_bytes=Bytes)
_OTHER_LEVELS = MessageCode("incident.oversized-batch.other-levels", "info", factor=str, size=Number)
_EVERY_LEVEL = MessageCode("incident.oversized-batch.every-level", "info", factor=str, count=Count)
_FLAT = MessageCode(
    "incident.oversized-batch.flat", "info",
    factor=str, exponent=Number, low=Number, high=Number, least=Number,
)  # fmt: skip
_FEW = MessageCode("incident.oversized-batch.few", "info", factor=str, count=Count)

#: Memory that doubles with four times the size still follows it: a fixed part that is not known, or a live
#: set that the heap limits, lowers the exponent of a proportional one.
LEAST: Final = 0.5
COVERAGE: Final = 0.95
#: Of the trials of the largest level.
_MOST_FAIL: Final = 0.5


class OversizedBatch(Incident[Batches]):
    name = "oversized-batch"
    needs = Batches
    source = (
        "N. R. Draper, H. Smith: Applied Regression Analysis, 1998, 1.4; "
        "measured with the plan incident-batch: an exponent of 0.89"
    )
    signs = SIGNS(least=LEAST, coverage_share=COVERAGE)

    def examine(self, evidence: Batches) -> Iterator[Judgement]:
        levels = evidence.levels
        first = next((index for index, level in enumerate(levels) if level.troubled), None)
        if first is None:
            largest = max(levels, key=lambda level: level.peak_bytes or 0)
            yield self.healthy(
                _ENOUGH(factor=evidence.factor, size=largest.size, peak_bytes=largest.peak_bytes or 0)
            )
        elif not _are_largest(levels[first:]):
            yield self.healthy(_OTHER_LEVELS(factor=evidence.factor, size=levels[first].size))
        elif first == 0:
            yield self.healthy(_EVERY_LEVEL(factor=evidence.factor, count=len(levels)))
        else:
            yield self._judged(evidence, levels[:first], levels[first:])

    def _judged(
        self, evidence: Batches, fitting: Sequence[BatchLevel], troubled: Sequence[BatchLevel]
    ) -> Judgement:
        growth = _growth(evidence, [*fitting, troubled[0]])
        if growth is None:
            count = sum(len(level.peaks_bytes) for level in evidence.levels)
            return self.unseen(_FEW(factor=evidence.factor, count=count))
        values = {"factor": evidence.factor, "exponent": growth.value, "low": growth.low, "high": growth.high}
        if growth.value < LEAST or growth.low <= 0:
            return self.healthy(_FLAT(**values, least=LEAST))
        unit_bytes = _unit_bytes(evidence, fitting)
        worst = troubled[0]
        values |= {
            "size": worst.size,
            "count": len(worst.troubled),
            "of": len(worst.trials),
            "fitting": fitting[-1].size,
            "peak_bytes": max(level.peak_bytes or 0 for level in fitting),
            "unit_bytes": round(unit_bytes),
            "needed_bytes": round(evidence.fixed_bytes + unit_bytes * worst.size),
        }
        summary = _SEEN(**values)
        if evidence.limit_bytes is not None:
            summary = _WITH_LIMIT(**values, limit_bytes=evidence.limit_bytes)
        return self.diagnosis(
            "critical", "high" if growth.low >= LEAST else "medium", summary, quotes=_quotes(evidence)
        )


def _are_largest(levels: Sequence[BatchLevel]) -> bool:
    """True if all of these levels have trials that lack memory, and the largest has mostly such."""
    largest = levels[-1]
    return all(level.troubled for level in levels) and (
        len(largest.troubled) >= _MOST_FAIL * len(largest.trials)
    )


def _growth(evidence: Batches, levels: Sequence[BatchLevel]) -> Exponent | None:
    """The exponent of the peaks above the fixed part. Of levels beyond the limit only the smallest counts:
    the limit cuts off the peaks of all.
    """
    points = [
        (level.size, peak - evidence.fixed_bytes)
        for level in levels
        for peak in level.peaks_bytes
        if level.size > 0 and peak > evidence.fixed_bytes
    ]
    sizes, peaks = [size for size, _ in points], [peak for _, peak in points]
    return exponent(sizes, peaks, COVERAGE, evidence.resolution_bytes)


def _unit_bytes(evidence: Batches, levels: Sequence[BatchLevel]) -> float:
    """Memory of one row: the median of those levels whose memory is not cut off by its limit."""
    values = [
        (peak - evidence.fixed_bytes) / level.size
        for level in levels
        for peak in level.peaks_bytes
        if level.size > 0
    ]
    return max(0.0, median(values)) if values else 0.0


def _quotes(evidence: Batches) -> list[Quote]:
    """The reasons of the trials that lacked memory."""
    return [
        Quote(trial.name, 0, trial.reason)
        for level in evidence.levels
        for trial in level.troubled
        if trial.reason
    ]


PART = OversizedBatch
