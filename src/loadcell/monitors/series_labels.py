"""Long sets of labels, written once in a trial: rows of samples have a short form of them.

A row is written for each series and sample, and labels of 4 KB would make up most of the data of a trial, on
a disk that is perhaps the one under test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from loadcell.model.panels import Row, SampleTable

#: The further table of a monitor of series.
LABELS: Final = "labels"
#: Characters of labels that rows have whole, and those that are left of longer ones before their digest.
LONGEST_IN_ROWS: Final = 160
_BEGINNING: Final = 120
_DIGEST_BYTES: Final = 6


def labels_table(table: SampleTable) -> SampleTable:
    """The table of long labels beside a table of series: their short form, and the whole text."""
    return SampleTable(f"{table.name}-labels", ("labels", "text"), frozenset({"labels", "text"}))


@dataclass
class LongLabels:
    """Short forms of labels. They are the same in all trials. `redact` takes secrets out before the cut."""

    redact: Callable[[str], str]
    _short: dict[str, str] = field(default_factory=dict)
    _new: list[Row] = field(default_factory=list)

    def short(self, labels: str) -> str:
        """Labels as rows have them. To be asked for recorded series only, whose number has a bound."""
        if len(labels) <= LONGEST_IN_ROWS:
            return labels
        short = self._short.get(labels)
        if short is None:
            text = self.redact(labels)
            digest = hashlib.blake2s(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
            short = self._short[labels] = f"{text[:_BEGINNING]}...#{digest}"
            self._new.append({"labels": short, "text": text})
        return short

    def new_rows(self) -> list[Row]:
        """Rows of the labels that are new since the last call."""
        rows, self._new = self._new, []
        return rows
