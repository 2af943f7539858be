"""Contract of readers of tools' outputs: measurements, samples, and the lines that were not understood.

Samples of a monitor's output are values at instants, in the columns of loadcell's monitor, others in a
separate table.

Ids of treatments, which are parts of the names of files, are made here, too.
"""

from __future__ import annotations

import csv
import math
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Literal, TypeVar

from loadcell.model.message import Count, ForeignText, Message, MessageCode, MessageError
from loadcell.model.panels import Row
from loadcell.plan.secret_patterns import without_secrets

OUTPUT_CUT_SHORT = MessageCode("output.cut-short", execution=str)
OUTPUT_INCOMPLETE = MessageCode("output.incomplete", tool=str, reason=ForeignText)
IMPORT_UNREAD = MessageCode("import.unread", "info", count=Count)
IMPORT_UNREAD_LINE = MessageCode("import.unread-line", "info", source=str, lines=Message, example=str)
IMPORT_UNREAD_LINES = MessageCode("import.unread-lines", "info", source=str, lines=Message, examples=str)
IMPORT_MISSING = MessageCode("import.missing", "info", source=str, count=Count, examples=str)
IMPORT_UNUSED = MessageCode("import.unused", "info", source=str, columns=list)
IMPORT_ASSUMED_INTERVAL = MessageCode("import.assumed-interval", "info", source=str, tool=str, interval=str)

#: Lines that stand for more than they are, among those that were not understood.

#: Lines that were not understood are counted; this many are kept as examples.
MOST_SHOWN = 5
#: Characters of a line in which secrets are recognised, before an example is cut.
_MOST_READ = 4000


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
class PrintedTotal:
    """A total in the tool's own text, which the stored value of `figure` must agree with.

    `label` is the tool's word for it. `figure` is a field of the execution (`throughput_per_s`, `succeeded`,
    `attempted`), `intervals` (their mean throughput), a key of its response times or metrics, or a column of
    samples (its mean). `value` has the unit of that figure; `rounding` is half of its last printed digit.
    """

    label: str
    value: float
    figure: str
    rounding: float = 0.0


@dataclass(frozen=True)
class Measured:
    """One execution of a tool, or one of the parts that it reports apart.

    `throughput_per_s` counts `unit`s; `response` has milliseconds by the record's keys (`mean_ms`, `p99_ms`
    ...), only those that the tool gave; `figures` are its further metrics, the unit in the name; None is what
    the tool did not say, and is never guessed. `parts` are kinds of transaction that it counted apart;
    `began_s` is when it began, in seconds since 1970. Of a tool whose parts work at once, those of one `turn`
    do, and turns follow each other. `printed` are the totals to check stored values by. `command` is the
    command that the text shows before the output.
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
    printed: Sequence[PrintedTotal] = ()
    command: str = ""


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

    `samples` is what a monitor's output held instead of executions. Of a table, `missing` counts the cells
    that were no usable values, and `unused` are the columns that were not asked for.
    """

    measured: tuple[Measured, ...]
    unread: int = 0
    examples: tuple[str, ...] = ()
    samples: Samples | None = None
    missing: int = 0
    missing_examples: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


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
                self.examples.append(without_secrets(line.strip()[:_MOST_READ])[:200])

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
    except (ValueError, ArithmeticError):
        return False


#: More instants than this (two days of seconds) are not taken from one file.
MOST_INSTANTS = 200_000
#: Seconds since 1970 in the year 9999, after which no calendar goes.
LAST_S = 253_370_764_800.0
#: Other values are held in memory up to this size, then in a file.
_SPOOLED_BYTES = 8 * 2**20

#: Columns of values without a dedicated column: their object (a device, a process; empty: the machine), name
#: and value.
OTHER_COLUMNS = ("object", "name", "value")

#: Rows that are written together.
ROWS_AT_ONCE = 4096

Item = TypeVar("Item")
How = Literal["set", "sum", "max"]


class TooManyError(Exception):
    """The file has more instants than are taken."""


@dataclass(frozen=True)
class OtherValue:
    """A value without a column."""

    object: str
    name: str
    value: float


class Samples:
    """Rows by the instant (s) they belong to; `absolute` where instants are seconds since 1970.

    `monitor` and `file` are those that such samples have in a run; `table` is what is beside them called. Its
    columns are `table_columns`, some of which are `text`.
    """

    table_columns: Sequence[str] = OTHER_COLUMNS
    text: Sequence[str] = ("name", "object")
    #: Settings of the sampled program.
    settings: Mapping[str, str] = {}

    def __init__(
        self, monitor: str, file: str, table: str, columns: Sequence[str], *, absolute: bool
    ) -> None:
        self.monitor, self.file, self.table, self.columns = monitor, file, table, tuple(columns)
        self.absolute = absolute
        self._rows: dict[float, array[float]] = {}
        self._places = {column: index for index, column in enumerate(columns)}
        self._instant: Callable[[float], float | None] = lambda at_s: at_s
        #: How far apart instants were taken to be, where the monitor printed no times.
        self.assumed_interval_s: float | None = None
        self._origin_s: float | None = None
        #: Means that the monitor printed of whole columns.
        self.printed: Sequence[PrintedTotal] = ()
        self._others = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - closed with the samples
            _SPOOLED_BYTES, "w+", encoding="utf-8", newline=""
        )
        self._writer = csv.writer(self._others)
        self.others_count = 0

    def put(self, at_s: float, column: str, value: float, how: How = "set") -> None:
        """A value of an instant: several are added up, or the largest counts.

        Raises TooManyError, and ValueError for an instant that no calendar has.
        """
        row = self._row(at_s)
        position = self._places[column]
        old = row[position]
        if how == "set" or math.isnan(old):
            row[position] = value
        else:
            row[position] = old + value if how == "sum" else max(old, value)

    def get(self, at_s: float, column: str) -> float | None:
        """The value in a cell."""
        row = self._rows.get(at_s)
        value = math.nan if row is None else float(row[self._places[column]])
        return None if math.isnan(value) else value

    def mean(self, column: str) -> float | None:
        """Mean of a column over the instants that have it."""
        position = self._places[column]
        values = [row[position] for row in self._rows.values() if row[position] == row[position]]
        return math.fsum(values) / len(values) if values else None

    def touch(self, at_s: float) -> None:
        """There was a sample at this instant, whatever it held. Raises TooManyError."""
        self._row(at_s)

    def number(self, instant: Callable[[float], float | None]) -> None:
        """Instants of the rows put by number; a row without a known instant is left out."""
        self._instant = instant
        self._rows = {at_s: row for at_s, row in self._rows.items() if instant(at_s) is not None}

    def _row(self, at_s: float) -> array[float]:
        row = self._rows.get(at_s)
        if row is None:
            if not 0 <= at_s <= LAST_S:
                raise ValueError(at_s)
            if len(self._rows) >= MOST_INSTANTS:
                raise TooManyError
            row = self._rows[at_s] = array("d", [math.nan]) * len(self.columns)
        return row

    def add_other(self, at_s: float, kind: str, name: str, value: float) -> None:
        """A value that has no column. Raises TooManyError."""
        self._row(at_s)
        self._writer.writerow((repr(at_s), kind, name, repr(value)))
        self.others_count += 1

    def __len__(self) -> int:
        return len(self._rows)

    def _instants(self) -> list[tuple[float, float]]:
        """When, and under which key, in the order of time."""
        instants = ((self._instant(at_s), at_s) for at_s in self._rows)
        return sorted((when, at_s) for when, at_s in instants if when is not None)

    @property
    def origin_s(self) -> float:
        """Where the monitor's own clock begins; by default at the first instant."""
        return self.first_s if self._origin_s is None else self._origin_s

    @origin_s.setter
    def origin_s(self, origin_s: float) -> None:
        self._origin_s = origin_s

    @property
    def first_s(self) -> float:
        """The earliest instant."""
        return self._instants()[0][0]

    @property
    def last_s(self) -> float:
        """The latest instant."""
        return self._instants()[-1][0]

    def rows(self) -> Iterator[tuple[float, Mapping[str, float]]]:
        """Instants in their order, with what is known at each."""
        for when, at_s in self._instants():
            values = self._rows[at_s].tolist()
            yield (
                when,
                {column: value for column, value in zip(self.columns, values, strict=True) if value == value},
            )

    def others(self) -> Iterator[tuple[float, OtherValue]]:
        """Values without a column, in order."""
        self._others.flush()
        self._others.seek(0)
        for at_s, kind, name, value in csv.reader(self._others):
            when = self._instant(float(at_s))
            if when is not None:
                yield when, OtherValue(kind, name, float(value))

    def table_rows(self) -> Iterator[tuple[float, Row]]:
        """Rows of the table beside, with their instants."""
        for when, other in self.others():
            yield when, {"object": other.object, "name": other.name, "value": other.value}

    def figures(self, begin_s: float, end_s: float) -> Mapping[str, float]:  # noqa: ARG002 - of subclasses
        """Metrics by key, of a time for which there are samples."""
        return {}

    def __del__(self) -> None:
        """The file is nobody else's."""
        self._others.close()


def batched(rows: Iterable[Item], count: int) -> Iterator[list[Item]]:
    """Rows in batches."""
    iterator = iter(rows)
    while some := list(islice(iterator, count)):
        yield some


#: A level of a factor: a number of clients, a file, a part, or a setting that the tool printed.
Level = str | int | float

#: So that the name of a trial's directory stays short.
_LONGEST = 80


class TreatmentIds:
    """Ids of the treatments of one run, of which no two are alike."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, levels: Mapping[str, Level]) -> str:
        """`clients=5,part=cpu`; `all` where nothing varies. What would be written alike (two long URLs) is
        numbered.
        """
        key = repr(tuple(levels.items()))
        if key not in self._ids:
            text = (
                ",".join(f"{factor.rpartition('.')[2]}={level}" for factor, level in levels.items()) or "all"
            )
            first = name = re.sub(r"[^\w=,.+-]", "-", text)[:_LONGEST]
            numbers = count(2)
            while name in self._taken:
                name = f"{first}+{next(numbers)}"
            self._ids[key] = name
            self._taken.add(name)
        return self._ids[key]
