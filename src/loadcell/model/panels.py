"""Sample tables, and their chart panels over time, declared as data.

A table has the columns of a monitor's CSV file, and the monitor declares it. A panel is one view of the
columns of a table, below the others on the same time axis.

The package of a system declares those of its tables when it is imported, and so does a module named `panels`
in any other package; extensions name theirs by the entry-point group `loadcell.panels`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from loadcell.model import extensions
from loadcell.model.message import Labels, MessageCode, Number, Unit

#: A value of a CSV file; None is an empty field.
Cell: TypeAlias = str | float | None
Row: TypeAlias = dict[str, Cell]


@dataclass(frozen=True)
class SampleTable:
    """One CSV file of a trial: `name` without suffix, and its columns in order, without those of the sampler.

    Columns in `text` hold text, all others numbers. The unit of a number is the suffix of the column's name.
    Raises ValueError for a text column that the table does not have.
    """

    name: str
    columns: tuple[str, ...]
    text: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if unknown := self.text - set(self.columns):
            raise ValueError(f"the table {self.name} has no column {', '.join(sorted(unknown))}")

    @property
    def file(self) -> str:
        """Name of the file in the trial's directory."""
        return f"{self.name}.csv"


#: How neighbouring values become one point.
Reduction = Literal["mean", "max", "sum"]

KIB: Final = 2**10
MIB: Final = 2**20


@dataclass(frozen=True)
class Line:
    """A column of the table.

    `name` is the code of its label; `divide` converts values to the unit of the panel.

    `proper` is a label from outside (a group's name, a server's term), shown as it is; `colour` overrides the
    panel's. With an
    `envelope`, a band shows the range of the values that a point stands for. A line with `hidden_at_zero` is
    drawn only if its sum is above zero.
    """

    column: str
    name: str
    how: Reduction = "mean"
    divide: float = 1.0
    proper: str = ""
    colour: str = ""
    envelope: bool = False
    hidden_at_zero: bool = False


@dataclass(frozen=True)
class Panel:
    """One view of the rows of `source`: the monitor with the table, or another source of the report (`load`,
    `waits`, `server`).

    `title` is the code of its heading. Panels are in the order of `position`. `total` names a column of which
    rows with 0 are the totals, which are drawn alone. `top` is a fixed upper end of the axis; `least` a lower
    bound of it, so that noise does not fill the panel. `legend`: also with one line; `legend_below`: for long
    names. `alternative` replaces `lines` if none of them has values.
    `by` is a column of texts: the only line becomes one for each of the texts with the largest values, in a
    chart that is folded at first (cores, disks).
    `checkpoints`: marks those of the server. `colour` is the index of the first line's colour. `proper` is a
    heading from outside (the name of a series), shown as it is.
    """

    source: str
    title: str
    lines: tuple[Line, ...]
    position: int
    stacked: bool = False
    top: float | None = None
    least: float = 0.0
    legend: bool = False
    legend_below: bool = False
    alternative: tuple[Line, ...] = ()
    total: str | None = None
    checkpoints: bool = False
    colour: int = 0
    proper: str = ""
    by: str = ""


@dataclass(frozen=True)
class NamedSeries:
    """A monitor whose table has series by name in long form: columns `name`, `labels`, `measure` and `value`.

    `measure` is `value`, `rate` (per second) or `mean`.
    """

    source: str


@dataclass(frozen=True)
class Aggregate:
    """A column of a sample table as one number a trial; `heading` is the code of its heading.

    A value is shown as a `Count`, as `Bytes`, or as a `Number` whose unit is in the heading.
    """

    column: str
    how: Reduction
    heading: str
    unit: Unit = Number


@dataclass(frozen=True)
class AggregateTable:
    """Aggregates of a monitor's samples, shown of runs that were made of other programs' outputs.

    `title` is the code of its heading, which with `.note` is that of the note below it.
    """

    source: str
    title: str
    columns: tuple[Aggregate, ...]
    position: int


@dataclass(frozen=True)
class DipCause:
    """A column that may explain dips of throughput: `name` in records, `message` in sentences.

    `total` is as in `Panel`.
    """

    source: str
    column: str
    name: str
    message: MessageCode
    total: str | None = None


@dataclass(frozen=True)
class DatabaseTables:
    """Tables of the monitor of an SQL server, which a report sums up by treatment, with its events
    `checkpoint` and `checkpoint-end`.

    `samples` has the columns `looks`, `sessions_idle_in_transaction`, `elapsed_s` and some of `commits`,
    `rollbacks`, `deadlocks`, `blocks_hit`, `blocks_read`, `temp_bytes`, `wal_bytes`, `wal_full_pages`.
    `waits` has `wait_event_type` (`CPU`: none), `wait_event` and `sessions`; `statements` has `query`,
    `calls`, `total_ms`, `rows`, `blocks_hit` and `blocks_read` (empty: the server does not count them).
    """

    samples: str
    waits: str
    statements: str


@dataclass(frozen=True)
class KeyValueTable:
    """The table of the monitor of a key-value server, which a report sums up by treatment.

    It has `elapsed_s` and some of the columns `commands`, `cpu_s`, `hits`, `misses`, `evicted_keys`,
    `expired_keys`, `used_memory_bytes`, `fragmentation` and `clients`. Columns `saving` are above 0 while the
    server writes its data to disk. `eviction_settings` have an effect only where keys are evicted. `title` is
    the code of the heading, which takes a `product`; with `.note` it is that of the note below it.
    """

    samples: str
    title: str
    saving: tuple[str, ...] = ()
    eviction_settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class BrickTables:
    """Tables of the monitor of a distributed storage.

    `bricks` has the columns `brick`, `host`, `open_descriptors`, `files` and `size_bytes`, the last two at
    the beginning and the end of a trial. `progress` has `node`, `task`, `status`, `files`, `size_bytes`,
    `scanned`, `failures`, `skipped`, `run_time_s`, `files_per_s` and `left_s`.
    """

    bricks: str
    progress: str


@dataclass(frozen=True)
class FactUnit:
    """Unit of facts of a target, by their paths in the record; `*` stands for one part with any name."""

    unit: Unit
    paths: tuple[str, ...]


@dataclass(frozen=True)
class VaryingFacts:
    """Facts of a target that are different in any two runs, or results of the load, by their paths in the
    record; no comparison lists them. `*` stands for one part with any name.
    """

    paths: tuple[str, ...]


@dataclass(frozen=True)
class FactLabels:
    """Facts of a target that have a label in the reader's language, by their paths in the record.

    The code of a label is `fact.` with the path; a part follows the label of its parent. Facts without one
    are shown under their names in the record, as the settings of a server are.
    """

    paths: tuple[str, ...]

    def __post_init__(self) -> None:
        Labels(_FACT, self.paths)


@dataclass(frozen=True)
class MachineTarget:
    """A target that is the machine itself, which it shares with no server: `server` in its facts."""

    server: str


_FACT: Final = "fact"

Declaration: TypeAlias = (
    Panel
    | NamedSeries
    | AggregateTable
    | DipCause
    | DatabaseTables
    | KeyValueTable
    | BrickTables
    | FactUnit
    | VaryingFacts
    | FactLabels
    | MachineTarget
)

_declared: list[Declaration] = []


def declare(*items: Declaration) -> None:
    """Declare what is made of a sample table."""
    _declared.extend(items)


def all_panels() -> tuple[Panel, ...]:
    """All panels of loadcell and its extensions, from top to bottom. Raises ExtensionError."""
    return tuple(sorted((item for item in _all() if isinstance(item, Panel)), key=lambda item: item.position))


def named_series() -> frozenset[str]:
    """The monitors with tables of series by name. Raises ExtensionError."""
    return frozenset(item.source for item in _all() if isinstance(item, NamedSeries))


def aggregate_tables() -> tuple[AggregateTable, ...]:
    """All tables of aggregates, from top to bottom. Raises ExtensionError."""
    tables = (item for item in _all() if isinstance(item, AggregateTable))
    return tuple(sorted(tables, key=lambda item: item.position))


def dip_causes() -> tuple[DipCause, ...]:
    """All that may explain dips of throughput. Raises ExtensionError."""
    return tuple(item for item in _all() if isinstance(item, DipCause))


def database_tables() -> tuple[DatabaseTables, ...]:
    """The tables of all monitors of SQL servers. Raises ExtensionError."""
    return tuple(item for item in _all() if isinstance(item, DatabaseTables))


def key_value_tables() -> tuple[KeyValueTable, ...]:
    """The tables of all monitors of key-value servers. Raises ExtensionError."""
    return tuple(item for item in _all() if isinstance(item, KeyValueTable))


def brick_tables() -> tuple[BrickTables, ...]:
    """The tables of all monitors of distributed storage. Raises ExtensionError."""
    return tuple(item for item in _all() if isinstance(item, BrickTables))


@cache
def fact_units() -> Mapping[str, Unit]:
    """Units of facts of targets by their paths. Raises ExtensionError."""
    return {path: item.unit for item in _all() if isinstance(item, FactUnit) for path in item.paths}


@cache
def varying_facts() -> frozenset[str]:
    """Paths of the facts that are different in any two runs. Raises ExtensionError."""
    return frozenset(path for item in _all() if isinstance(item, VaryingFacts) for path in item.paths)


@cache
def fact_labels() -> Mapping[str, str]:
    """Codes of the labels of facts by their paths. Raises ExtensionError."""
    paths = (path for item in _all() if isinstance(item, FactLabels) for path in item.paths)
    return {path: f"{_FACT}.{path}" for path in paths}


@cache
def machine_targets() -> frozenset[str]:
    """`server` in the facts of targets that are the machine itself. Raises ExtensionError."""
    return frozenset(item.server for item in _all() if isinstance(item, MachineTarget))


@cache
def _all() -> tuple[Declaration, ...]:
    root = Path(__file__).parents[1]
    for file in sorted(root.rglob("panels.py")):
        importlib.import_module(".".join((root.name, *file.relative_to(root).with_suffix("").parts)))
    for file in sorted(root.glob("systems/*/__init__.py")):
        importlib.import_module(f"{root.name}.systems.{file.parent.name}")
    extensions.load_all(extensions.PANELS)
    return tuple(_declared)
