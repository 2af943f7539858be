"""The check of readings: a number is a finite one of at most 64 bits, a count is no less than 0.

Text becomes such a number or is refused (`printed_numbers`); in JSON a text or a list may stand in a number's
place, and quotients of printed numbers may be infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from loadcell.ingest.base import LAST_S, Measured, NotItsOutputError, Reading
from loadcell.ingest.printed_numbers import MOST, UnusableNumberError
from loadcell.ingest.series import Intervals
from loadcell.ingest.text import Output
from loadcell.model.message import ForeignText, Message, MessageCode

OUTPUT_NUMBER_LINE = MessageCode("output.number.line", line=str, trouble=Message)
OUTPUT_VALUE = MessageCode("output.value", part=ForeignText, name=str, value=ForeignText)

#: No execution takes a century; a longer one would end after the last year that dates have.
_LONGEST_S = 100 * 365.25 * 86_400.0
#: Of a longer value a message shows the beginning.
_SHOWN = 40


def check(reading: Reading) -> None:
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
