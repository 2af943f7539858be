"""Numbers in the lines that a program prints.

Lines are JSON objects, rows of CSV below their header, or names with values (`queue 3`, `queue=3 lag=0.5`,
`queue{shard="a"}: 3`); a lone number has the name `value`.

The text is that of a foreign program, and a regular expression holds the interpreter lock: quantifiers are
possessive and lines have a bound, so that the time of a line grows in proportion to its length.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from loadcell.monitors.series import Series

#: The name of a number that stands alone.
VALUE: Final = "value"
#: Characters that are stored of a line without a number: messages have it.
_LONGEST_STORED: Final = 300
#: Longest line that is read, in characters.
LONGEST_LINE: Final = 1 << 16
_NUMBER = r"[-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?|[nN][aA][nN]|[iI]nf(?:inity)?)"
_ALONE = re.compile(rf"\s*+({_NUMBER})\s*+")
#: A colon is part of the name unless a number follows that ends the pair.
_NAME = rf"[^\W\d][\w./%-]*+(?::(?!\s*+{_NUMBER}(?:[\s,;]|$))[\w./%-]*+)*+"
_PAIR = re.compile(
    rf"\s*+(?P<name>{_NAME})(?:\{{(?P<labels>[^{{}}]*+)\}})?"
    rf"(?:\s*+[=:]\s*+|\s++)(?P<value>{_NUMBER})(?:\s*+[,;]\s*+|\s++|$)"
)
_COLUMN = re.compile(r'\s*+"?[^\W\d][^",={}]*+"?\s*+')
#: Levels of nested JSON objects, whose keys are joined by dots.
_DEEPEST: Final = 4
#: Characters of such a name, which is refused later: names below a long one must not fill the memory.
_LONGEST_PATH: Final = 1 << 12

Values = list[tuple[Series, float]]


@dataclass
class OutputReader:
    """Reads lines one after the other. `unread` counts those without a number; `first_unread` is the
    beginning of one, out of which `redact` took secrets before it was cut.

    `too_long` counts lines above `LONGEST_LINE`, which are not looked at.
    """

    redact: Callable[[str], str] = str
    unread: int = 0
    too_long: int = 0
    first_unread: str = ""
    _header: list[str] = field(default_factory=list)

    def read(self, line: str) -> Values:
        """The numbers of a line (NaN and infinite ones, too), none of a header or of other text."""
        if len(line) > LONGEST_LINE:
            self.too_long += 1
            self._store(line)
            return []
        text = line.strip()
        if not text:
            return []
        values = self._values(text)
        if values is None:
            self.unread += 1
            self._store(text)
            return []
        return values

    def _store(self, text: str) -> None:
        if not self.first_unread:
            self.first_unread = self.redact(text)[:_LONGEST_STORED]

    def _values(self, text: str) -> Values | None:
        """The numbers of a line; None for a line of none of the forms."""
        if text.startswith("{"):
            try:
                return list(_flat(json.loads(text))) or None
            except (ValueError, RecursionError):
                return None
        if (alone := _ALONE.fullmatch(text)) is not None:
            return [(Series(VALUE), float(alone[1]))]
        if (pairs := _pairs(text)) is not None or "," not in text:
            return pairs
        return self._row(text)

    def _row(self, text: str) -> Values | None:
        """A row below its header; [] for a header."""
        try:
            [fields] = csv.reader([text])
        except (csv.Error, ValueError):
            return None
        names = [name.strip() for name in fields]
        if all(_COLUMN.fullmatch(name) for name in names) and len({*names}) == len(names):
            self._header = names
            return []
        if len(fields) != len(self._header):
            return None
        numbers = [(name, _ALONE.fullmatch(value)) for name, value in zip(self._header, fields, strict=True)]
        return [(Series(name), float(number[1])) for name, number in numbers if number is not None] or None


def _pairs(text: str) -> Values | None:
    values: Values = []
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None:
            return None
        values.append((Series(pair["name"], (pair["labels"] or "").strip()), float(pair["value"])))
        position = pair.end()
    return values


def _flat(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[Series, float]]:
    """Numbers of a JSON object by their path; truth values are 0 and 1."""
    if isinstance(value, int | float):
        if name:
            yield Series(name), _number(value)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, below in value.items():
            path = f"{name}.{key}" if name else str(key)
            yield from _flat(below, path[:_LONGEST_PATH], depth + 1)


def _number(value: float) -> float:
    """Infinite for an integer that is too large for a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
