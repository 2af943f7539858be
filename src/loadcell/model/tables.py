"""Sample tables: the columns of a monitor's CSV files, declared by the monitor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

#: A value of a CSV file; None is an empty field.
Cell: TypeAlias = str | float | None
Row: TypeAlias = dict[str, Cell]

#: Suffix of a column's name -> symbol of its unit; the longest suffix that fits counts.
UNITS: Final[Mapping[str, str]] = {
    "_percent": "%", "_bytes": "B", "_bytes_per_s": "B/s", "_per_s": "1/s",
    "_ns": "ns", "_ms": "ms", "_s": "s",
}  # fmt: skip


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

    def unit(self, column: str) -> str | None:
        """Symbol of a column's unit; None for text, counts and ratios."""
        return None if column in self.text else unit_of_column(column)


def unit_of_column(column: str) -> str | None:
    """Symbol of the unit that the name of a column of numbers states; None for counts and ratios."""
    suffixes = [suffix for suffix in UNITS if column.endswith(suffix)]
    return UNITS[max(suffixes, key=len)] if suffixes else None
