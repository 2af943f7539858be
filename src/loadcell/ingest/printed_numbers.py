"""The only place where text of a tool's output becomes a number.

What no tool prints is refused: `nan`, `inf`, Python's own forms (`1_000`), and numbers beyond 64 bits, whose
sums and products overflow.
"""

from __future__ import annotations

import math
import re

from loadcell.model.message import ForeignText, Message, MessageCode

OUTPUT_NUMBER_NONE = MessageCode("output.number.none", text=ForeignText)
OUTPUT_NUMBER_NO_INTEGER = MessageCode("output.number.no-integer", text=ForeignText)
OUTPUT_NUMBER_TOO_LARGE = MessageCode("output.number.too-large", text=ForeignText)

#: Tools count in at most 64 bits.
MOST = 2**64
#: More digits than any number has that is not larger.
_MOST_DIGITS = 40
#: A message shows the beginning of longer texts.
_SHOWN = 40


class UnusableNumberError(ValueError):
    """Text that is no usable number: `message` states why, `text` is its beginning."""

    def __init__(self, code: MessageCode, text: str) -> None:
        self.text = text[:_SHOWN]
        self.message: Message = code(text=repr(self.text + ("..." if len(text) > _SHOWN else "")))
        super().__init__(str(self.message))


def real(text: str) -> float:
    """`12.5`, `1e3`. Raises UnusableNumberError on anything else."""
    try:
        value = float(text)
    except ValueError:
        raise UnusableNumberError(OUTPUT_NUMBER_NONE, text) from None
    if not math.isfinite(value) and any(character.isdigit() for character in text):
        raise UnusableNumberError(OUTPUT_NUMBER_TOO_LARGE, text)
    if not math.isfinite(value) or "_" in text:
        raise UnusableNumberError(OUTPUT_NUMBER_NONE, text)
    return float(bounded(value, text))


def integer(text: str) -> int:
    """`12`, `-1`. Raises UnusableNumberError on anything else."""
    text = text.strip()
    if re.fullmatch(r"[+-]?\d+", text) is None:
        raise UnusableNumberError(OUTPUT_NUMBER_NO_INTEGER, text)
    if len(text) > _MOST_DIGITS:
        raise UnusableNumberError(OUTPUT_NUMBER_TOO_LARGE, text)
    return int(bounded(int(text), text))


def digits(text: str) -> int:
    """Digits of a match whose pattern bounds their number."""
    return int(text)


def bounded(value: float, text: str) -> float:
    """The value. Raises UnusableNumberError if it has more than 64 bits."""
    if abs(value) > MOST:
        raise UnusableNumberError(OUTPUT_NUMBER_TOO_LARGE, text)
    return value


def refused(text: str) -> float:
    """Refuse the words that Python's JSON has for infinity and NaN. Raises UnusableNumberError."""
    raise UnusableNumberError(OUTPUT_NUMBER_NONE, text)


_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?$")
#: With points (or spaces, or the Swiss apostrophe) between thousands there is a decimal comma, or another
#: group.
_GROUPED_BY_POINT = re.compile(r"-?\d{1,3}(\.\d{3})+,\d+$|-?\d{1,3}(\.\d{3}){2,}$")
_GROUPED_BY_SPACE = re.compile(r"-?\d{1,3}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?$")
_COMMA = re.compile(r"-?\d+,\d+$")


def number(text: str) -> float:
    """`12.5`, `1,234,567.8`, `1.234,5`, `1 234,5` (thousands), `0,0667` (a decimal comma).

    Raises UnusableNumberError on anything else.

    `1,234` alone could be either; tools that group write more than one figure that way, so it is taken as
    thousands.
    """
    text = text.strip()
    if _GROUPED.match(text):
        return real(text.replace(",", ""))
    if _GROUPED_BY_POINT.match(text):
        return real(text.replace(".", "").replace(",", "."))
    if _GROUPED_BY_SPACE.match(text):
        return real(re.sub(r"[^\d.,-]", "", text).replace(",", "."))
    if _COMMA.match(text):
        return real(text.replace(",", "."))
    return real(text)


def count(text: str) -> int:
    """A whole number, perhaps with groups of thousands: `1,234`. Raises UnusableNumberError."""
    value = number(text)
    if not value.is_integer():
        raise UnusableNumberError(OUTPUT_NUMBER_NO_INTEGER, text)
    return int(value)


_TIME_MS = {
    "ns": 1e-6,
    "us": 1e-3,
    "usec": 1e-3,
    "µs": 1e-3,
    "ms": 1.0,
    "msec": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "m": 6e4,
    "h": 3.6e6,
}


def milliseconds(text: str) -> float:
    """`5.05ms`, `12.31us`, `1.2s` -> ms. Raises UnusableNumberError."""
    match = re.fullmatch(r"\s*([\d.,]+)\s*([a-zµ]+)\s*", text)
    if match is None or match[2] not in _TIME_MS:
        raise UnusableNumberError(OUTPUT_NUMBER_NONE, text)
    return number(match[1]) * _TIME_MS[match[2]]
