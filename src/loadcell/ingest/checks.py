"""Checks of readings: every number is usable, and the totals that a text prints agree with the stored values.

A usable number is a finite one of at most 64 bits, a usable count no less than 0. Text becomes such a number
or is refused (`printed_numbers`); in JSON a text or a list may stand in a number's place, and quotients of
printed numbers may be infinite.

A reader that files lines under the wrong head, merges two executions or drops a direction stores values
that disagree with the tool's summary. Rounding does not: both differ by less than `AGREEMENT_SHARE`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.ingest.base import LAST_S, Interval, Measured, NotItsOutputError, PrintedTotal, Reading
from loadcell.ingest.printed_numbers import MOST, UnusableNumberError, number
from loadcell.ingest.series import Intervals
from loadcell.ingest.text import Output
from loadcell.model import numbers
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.trial_record import Check

if TYPE_CHECKING:
    from loadcell.ingest.base import Samples
    from loadcell.ingest.read import Execution
    from loadcell.model.json import JsonObject

OUTPUT_NUMBER_LINE = MessageCode("output.number.line", line=str, trouble=Message)
OUTPUT_VALUE = MessageCode("output.value", part=ForeignText, name=str, value=ForeignText)
IMPORT_TOTAL_DISAGREES = MessageCode(
    "import.total-disagrees", "caution", source=str, part=str, label=str, printed=str, stored=str
)

#: No execution takes a century; a longer one would end after the last year that dates have.
_LONGEST_S = 100 * 365.25 * 86_400.0
#: Of a longer value a message shows the beginning.
_SHOWN = 40


def check_numbers(reading: Reading) -> None:
    """Raises NotItsOutputError for the first value of an execution that is no usable one."""
    for measured in reading.measured:
        for name, value, usable in _values(measured):
            if value is not None and not usable:
                shown = repr(value)[:_SHOWN]
                raise NotItsOutputError(
                    OUTPUT_VALUE(part=str(measured.title)[:_SHOWN], name=name, value=shown)
                )


def at_line(output: Output, error: UnusableNumberError) -> Message:
    """The trouble with a number, and the first line that has it."""
    lines = enumerate(output.lines(), 1)
    line = next((number for number, text in lines if error.text in text), None)
    return error.message if line is None else OUTPUT_NUMBER_LINE(line=str(line), trouble=error.message)


def _values(measured: Measured) -> Iterator[tuple[str, object, bool]]:
    """Values by name, each with whether it is usable."""
    for name, value in (
        ("throughput_per_s", measured.throughput_per_s),
        *measured.response.items(),
    ):
        yield name, value, _is_number(value) and _least(value) >= 0
    for name, length_s in (("duration_s", measured.duration_s), ("intervals", _ended_s(measured))):
        yield name, length_s, _is_number(length_s) and 0 <= _least(length_s) <= _LONGEST_S
    for name, value in measured.figures.items():
        yield name, value, _is_number(value)
    for name, count in (
        ("succeeded", measured.succeeded),
        ("failed", measured.failed),
        ("clients", measured.clients),
        *measured.errors.items(),
    ):
        yield name, count, isinstance(count, int) and _is_number(count) and count >= 0
    began_s = measured.began_s
    yield "began_s", began_s, _is_number(began_s) and 0 <= _least(began_s) <= LAST_S
    yield "title", measured.title, isinstance(measured.title, str)
    for name, setting in measured.settings.items():
        yield name, setting, isinstance(setting, str) or _is_number(setting)
    # Those of a text, which come one by one or in columns, were checked as they came.
    if not isinstance(measured.intervals, Intervals):
        for interval in measured.intervals:
            for name, value in (
                ("start_s", interval.start_s),
                ("duration_s", interval.duration_s),
                ("throughput_per_s", interval.throughput_per_s),
            ):
                yield f"intervals.{name}", value, _is_number(value) and _least(value) >= 0


def _ended_s(measured: Measured) -> float | None:
    """When the last interval ended, after the beginning."""
    if not len(measured.intervals):
        return None
    last = measured.intervals[-1]
    return (
        last.start_s + last.duration_s if _is_number(last.start_s) and _is_number(last.duration_s) else None
    )


def _is_number(value: object) -> bool:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return usable and math.isfinite(_least(value)) and abs(_least(value)) <= MOST


def _least(value: object) -> float:
    """A value that is a number; NaN for others."""
    return value if isinstance(value, int | float) else math.nan


#: Name of the check in trial records.
NAME = "printed-totals"
#: Printed durations and rates are rounded, to two digits at worst (wrk: up to 3% of a short run).
AGREEMENT_SHARE = 0.05
#: Intervals are compared with the total where they cover the duration within this share.
COVERED_SHARE = 0.05
THROUGHPUT = "throughput_per_s"
#: Derived from intervals: their mean throughput.
INTERVALS = "intervals"


@dataclass(frozen=True)
class Disagreement:
    """A printed total, and the stored value that differs from it."""

    total: PrintedTotal
    stored: float


def printed_total(label: str, text: str, figure: str, *, factor: float = 1.0) -> PrintedTotal:
    """A total from its text, in the unit of `figure` after multiplication by `factor`. Raises ValueError."""
    decimals = re.search(r"[.,](\d+)\s*$", text)
    last_digit = 10.0 ** -len(decimals[1]) if decimals else 1.0
    return PrintedTotal(label, number(text) * factor, figure, last_digit / 2 * factor)


def counted_rate(
    label: str, count: float | None, duration_s: float | None, rounding_s: float
) -> tuple[PrintedTotal, ...]:
    """The rate that a printed count and time give, to compare with the rate that is printed beside them.

    None where nothing was counted, or where the time is not longer than its rounding.
    """
    if not count or not duration_s or duration_s <= rounding_s:
        return ()
    rate = count / duration_s
    return (PrintedTotal(label, rate, THROUGHPUT, rate * rounding_s / duration_s),)


def disagreements(measured: Measured) -> list[Disagreement]:
    """Printed totals of an execution that its stored values differ from."""
    return list(_differing((total, _stored(measured, total.figure)) for total in measured.printed))


def of_samples(samples: Samples) -> list[Disagreement]:
    """Printed means of a monitor that the means of its stored columns differ from."""
    return list(_differing((total, samples.mean(total.figure)) for total in samples.printed))


def check(execution: Execution) -> Check | None:
    """The check of one trial and of the samples that belong to it; None where nothing was printed."""
    readings = [item.source.reading.samples for item in execution.watched]
    samples = [item for item in readings if item is not None and item.printed]
    if not execution.measured.printed and not samples:
        return None
    differing = [
        *disagreements(execution.measured),
        *(item for watched in samples for item in of_samples(watched)),
    ]
    return Check(NAME, "noticed" if differing else "ok", _detail(differing))


def detail(parts: Sequence[Measured]) -> JsonObject:
    """Printed totals that the stored values of several parts differ from, by part and label."""
    several = len(parts) > 1
    return {
        f"{part.title}: {label}" if several else label: values
        for part in parts
        for label, values in _detail(disagreements(part)).items()
    }


def _detail(differing: Iterable[Disagreement]) -> JsonObject:
    return {item.total.label: {"printed": item.total.value, "stored": item.stored} for item in differing}


def remarks(source: str, measured: Sequence[Measured], samples: Samples | None) -> Iterator[Message]:
    """A warning for each total that disagrees, by the name of its file."""
    parts = [(part.title, disagreements(part)) for part in measured]
    if samples is not None:
        parts.append((samples.table, of_samples(samples)))
    for title, differing in parts:
        for item in differing:
            yield IMPORT_TOTAL_DISAGREES(
                source=source,
                part=title,
                label=item.total.label,
                printed=numbers.significant(item.total.value),
                stored=numbers.significant(item.stored),
            )


def _differing(pairs: Iterable[tuple[PrintedTotal, float | None]]) -> Iterator[Disagreement]:
    for total, stored in pairs:
        if stored is None:
            continue
        larger = max(abs(total.value), abs(stored))
        if abs(total.value - stored) > AGREEMENT_SHARE * larger + total.rounding:
            yield Disagreement(total, stored)


def _stored(measured: Measured, figure: str) -> float | None:
    if figure == INTERVALS:
        return _mean_rate(measured)
    if figure == "attempted":
        counts = (measured.succeeded, measured.failed)
        return None if None in counts else float(sum(count or 0 for count in counts))
    if figure in (THROUGHPUT, "succeeded", "failed", "duration_s", "clients"):
        value: float | None = getattr(measured, figure)
        return value
    return measured.response.get(figure, measured.figures.get(figure))


def _mean_rate(measured: Measured) -> float | None:
    """Mean throughput of intervals that cover the whole duration."""
    if not measured.duration_s or not len(measured.intervals):
        return None
    covered_s, done = _covered(measured.intervals)
    if abs(covered_s - measured.duration_s) > COVERED_SHARE * measured.duration_s:
        return None
    return done / covered_s


def _covered(intervals: Sequence[Interval]) -> tuple[float, float]:
    """Seconds and operations of all intervals."""
    if isinstance(intervals, Intervals):
        columns = intervals.columns()
        return float(columns["duration"].sum()), float((columns["rate"] * columns["duration"]).sum())
    return (
        sum(interval.duration_s for interval in intervals),
        sum(interval.throughput_per_s * interval.duration_s for interval in intervals),
    )
