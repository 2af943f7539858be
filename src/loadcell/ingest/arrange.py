"""Executions that were read become treatments and repeats: what differs on purpose between them is a factor."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcell.ingest.base import Measured
from loadcell.ingest.formats import Source

#: A level of a factor: a number of clients, a file, a part, or a setting that the tool printed.
Level = str | int | float

CLIENTS, PART, FILE = "load.clients", "part", "file"


@dataclass(frozen=True)
class Watched:
    """A monitor's samples of one execution, which began at `origin_s` of their clock; those from `begin_s` to
    `end_s` are its own.
    """

    source: Source
    origin_s: float
    begin_s: float = -math.inf
    end_s: float = math.inf


@dataclass(frozen=True)
class Execution:
    """One measurement, where it is from, and its place in the run: its levels by factor, and which repeat of
    them it is.
    """

    measured: Measured
    source: Source
    levels: Mapping[str, Level]
    repeat: int
    watched: tuple[Watched, ...] = ()

    @property
    def treatment(self) -> str:
        """An id that is safe in a file name."""
        return treatment_id(self.levels)


@dataclass(frozen=True)
class Arranged:
    """All executions in the order they were read; the factors with their levels in the order they came."""

    executions: tuple[Execution, ...]
    factors: Mapping[str, tuple[Level, ...]]

    @property
    def repeats(self) -> int:
        """The most of any treatment."""
        return max((execution.repeat for execution in self.executions), default=1)


def arrange(sources: Sequence[Source], *, by_file: bool, settings: Sequence[str] = ()) -> Arranged:
    """Clients, parts and settings named in `own` are factors where they differ; files only when asked
    (`by_file`).

    Executions that differ in none of these are repeats of each other.
    """
    measured = [(source, measured_part) for source in sources for measured_part in source.reading.measured]
    all_levels = [
        _levels(source, measured_part, by_file=by_file, settings=settings)
        for source, measured_part in measured
    ]
    keys = [
        key
        for key in (FILE, PART, *settings, CLIENTS)
        if len({repr(levels.get(key)) for levels in all_levels}) > 1
    ]
    seen: Counter[str] = Counter()
    executions = []
    factors: dict[str, dict[Level, None]] = {key: {} for key in keys}
    for (source, measured_part), levels in zip(measured, all_levels, strict=True):
        levels_of_source = {key: level for key in keys if (level := levels.get(key)) is not None}
        for key, level in levels_of_source.items():
            factors[key].setdefault(level)
        seen[treatment_id(levels_of_source)] += 1
        executions.append(
            Execution(measured_part, source, levels_of_source, seen[treatment_id(levels_of_source)])
        )
    return Arranged(tuple(executions), {key: tuple(levels) for key, levels in factors.items()})


def _levels(
    source: Source, measured: Measured, *, by_file: bool, settings: Sequence[str]
) -> dict[str, Level | None]:
    levels: dict[str, Level | None] = {PART: measured.title or None, CLIENTS: measured.clients}
    if by_file:
        levels[FILE] = source.path.stem
    levels |= {key: measured.settings[key] for key in settings if key in measured.settings}
    return levels


def treatment_id(levels: Mapping[str, Level]) -> str:
    """`clients=5,part=cpu`; `all` where nothing varies."""
    text = ",".join(f"{key.rpartition('.')[2]}={level}" for key, level in levels.items()) or "all"
    return re.sub(r"[^\w=,.+-]", "-", text)[:80]
