"""Ids of treatments, which are parts of the names of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count

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
