"""Contract of readers of tools' outputs: measurements, and the lines that were not understood."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.model.message import Message, MessageError

if TYPE_CHECKING:
    from loadcell.ingest.samples import Samples

#: Lines that were not understood are counted; this many are kept as examples.
MOST_SHOWN = 5


@dataclass(frozen=True)
class Interval:
    """A stretch of one execution, as the tool reported it while it ran; `response` in ms by the record's keys
    (`mean_ms` ...).

    `lowest_per_s` and `highest_per_s` are throughputs of those that were joined to it; None of one that the
    tool printed.
    """

    start_s: float
    duration_s: float
    throughput_per_s: float
    failed: int | None = None
    response: Mapping[str, float] = field(default_factory=dict)
    lowest_per_s: float | None = None
    highest_per_s: float | None = None


@dataclass(frozen=True)
class Measured:
    """One execution of a tool, or one of the parts that it reports apart.

    `throughput_per_s` counts `unit`s; `response` has milliseconds by the record's keys (`mean_ms`, `p99_ms`
    ...), only those that the tool gave; `figures` are its further metrics, the unit in the name; None is what
    the tool did not say, and is never guessed. `parts` are kinds of transaction that it counted apart;
    `began_s` is when it began, in seconds since 1970. Of a tool whose parts work at once, those of one `turn`
    do, and turns follow each other.
    """

    title: str
    unit: str
    throughput_per_s: float | None
    succeeded: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    clients: int | None = None
    response: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    intervals: Sequence[Interval] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)
    began_s: float | None = None
    turn: int = 0


@dataclass(frozen=True)
class Part:
    """A kind of transaction (a type, or an outcome of some that succeeded) within an execution."""

    succeeded: int
    failed: int = 0
    response: Mapping[str, float] = field(default_factory=dict)
    kind: str = "type"


@dataclass(frozen=True)
class Reading:
    """All that one output held: executions in their order, and how many lines were not understood, with the
    first of them.

    `samples` is what a monitor's output held instead of executions.
    """

    measured: tuple[Measured, ...]
    unread: int = 0
    examples: tuple[str, ...] = ()
    samples: Samples | None = None


@dataclass(frozen=True)
class Source:
    """One output: the tool, and its reading.

    `also` are files that continue `path`, and `stored` those that a run keeps where `path` is a folder.
    `shown` is the name that users gave where it is no file's (`-`).
    """

    path: Path
    tool: str
    reading: Reading
    also: tuple[Path, ...] = ()
    shown: str = ""
    stored: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.shown or str(self.path)


class ImportProblemError(MessageError):
    """A file that cannot be imported: which, what was found, and what to do."""

    def __str__(self) -> str:
        return ". ".join(filter(None, (self.finding, self.advice)))


class NotItsOutputError(MessageError):
    """The text is no output of this tool; the reason says what was looked for."""


class Unread:
    """Counts the lines that nobody understood, and keeps the first."""

    def __init__(self) -> None:
        self.count = 0
        self.examples: list[str] = []

    def add(self, line: str | Message) -> None:
        """One more, or a message in place of several; an empty line is none."""
        line = str(line)
        if line.strip():
            self.count += 1
            if len(self.examples) < MOST_SHOWN:
                self.examples.append(line.strip()[:200])

    def more(self, count: int, example: str = "") -> None:
        """Count several at once."""
        if count > 0 and example.strip():
            self.add(example)
            count -= 1
        self.count += max(0, count)

    def reading(self, measured: Iterable[Measured], samples: Samples | None = None) -> Reading:
        """With what was understood."""
        return Reading(tuple(measured), self.count, tuple(self.examples), samples)


def understood(take: Callable[[str], bool], line: str) -> bool:
    """True if a reader took a line; a line cut within a number is not understood."""
    try:
        return take(line)
    except ValueError:
        return False


_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?$")
#: With points (or spaces, or the Swiss apostrophe) between thousands there is a decimal comma, or another
#: group.
_GROUPED_BY_POINT = re.compile(r"-?\d{1,3}(\.\d{3})+,\d+$|-?\d{1,3}(\.\d{3}){2,}$")
_GROUPED_BY_SPACE = re.compile(r"-?\d{1,3}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?$")
_COMMA = re.compile(r"-?\d+,\d+$")


def number(text: str) -> float:
    """`12.5`, `1,234,567.8`, `1.234,5`, `1 234,5` (thousands), `0,0667` (a decimal comma).

    Raises ValueError on anything else, `nan` too.

    `1,234` alone could be either; tools that group write more than one figure that way, so it is taken as
    thousands.
    """
    text = text.strip()
    if _GROUPED.match(text):
        return float(text.replace(",", ""))
    if _GROUPED_BY_POINT.match(text):
        return float(text.replace(".", "").replace(",", "."))
    if _GROUPED_BY_SPACE.match(text):
        return float(re.sub(r"[^\d.,-]", "", text).replace(",", "."))
    if _COMMA.match(text):
        return float(text.replace(",", "."))
    number = float(text)
    if not math.isfinite(number) or "_" in text:  # `nan`, `inf`, and what is a number to Python alone
        raise ValueError(f"no figure: {text!r}")
    return number


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
}


def milliseconds(text: str) -> float:
    """`5.05ms`, `12.31us`, `1.2s` -> ms. Raises ValueError."""
    match = re.fullmatch(r"\s*([\d.,]+)\s*([a-zµ]+)\s*", text)
    if match is None or match[2] not in _TIME_MS:
        raise ValueError(f"no time: {text!r}")
    return number(match[1]) * _TIME_MS[match[2]]
