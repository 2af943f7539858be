"""Content of a result of a function, independent of the library that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ColumnKind = Literal["number", "text", "mixed", "empty"]
#: A result that is no number, text, column or table, of which nothing can be compared.
OPAQUE: Final = "opaque"


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A column: its values, and of them missing ones (None or not a number).

    Of numbers `sum`, and `weighted` by pseudo-random weights of 0 to 1, which depends on their order;
    `magnitude` is the sum of their absolute values. Of other values `digest` is the SHA-256 of their texts.
    """

    kind: ColumnKind
    values: int
    missing: int = 0
    sum: float = 0.0
    weighted: float = 0.0
    magnitude: float = 0.0
    digest: str = ""

    def equals(self, other: ColumnSummary, tolerance: float) -> bool:
        """True if all values may be equal: numbers within `tolerance`, relative to their mean magnitude."""
        if (self.values, self.missing) != (other.values, other.missing):
            return False
        if "empty" in (self.kind, other.kind):
            return self.values == self.missing
        if self.kind != other.kind or self.digest != other.digest:
            return False
        limit = tolerance * max(self.magnitude, other.magnitude)
        return abs(self.sum - other.sum) <= limit and abs(self.weighted - other.weighted) <= limit


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """A result: the name of its type, its size, and its columns by position; a single value is one column.

    Results of trials with the same `group` have to be equal within `tolerance`. `type` is of the library;
    `kind` is `opaque` where nothing can be compared.
    """

    group: str
    tolerance: float
    type: str
    kind: Literal["value", "column", "table", "opaque"]
    columns: tuple[ColumnSummary, ...] = ()
    size_bytes: int | None = None

    def equals(self, other: ResultSummary) -> bool:
        """True if both have equal content; the smaller tolerance counts."""
        tolerance = min(self.tolerance, other.tolerance)
        return (
            self.kind == other.kind != OPAQUE
            and len(self.columns) == len(other.columns)
            and all(
                mine.equals(theirs, tolerance)
                for mine, theirs in zip(self.columns, other.columns, strict=True)
            )
        )
