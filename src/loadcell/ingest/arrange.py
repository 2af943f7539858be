"""Executions that were read become treatments and repeats: what differs on purpose between them is a factor."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcell.ingest.base import Measured
from loadcell.ingest.formats import Source

CLIENTS, PART, FILE = "load.clients", "part", "file"


@dataclass(frozen=True)
class Watched:
    """A monitor's samples of one execution, which began at `origin_s` of their clock; those from `begin_s` to `end_s` are its own."""

    source: Source
    origin_s: float
    begin_s: float = -math.inf
    end_s: float = math.inf


@dataclass(frozen=True)
class Execution:
    """One measurement, where it is from, and its place in the run: its levels by factor, and which repeat of them it is."""

    measured: Measured
    source: Source
    levels: Mapping[str, Any]
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
    factors: Mapping[str, tuple[Any, ...]]

    @property
    def repeats(self) -> int:
        """The most of any treatment."""
        return max((one.repeat for one in self.executions), default=1)


def arrange(sources: Sequence[Source], *, by_file: bool, own: Sequence[str] = ()) -> Arranged:
    """Clients, parts and settings named in `own` are factors where they differ; files only when asked (`by_file`).

    Executions that differ in none of these are repeats of each other.
    """
    measured = [(source, one) for source in sources for one in source.reading.measured]
    all_levels = [_levels(source, one, by_file=by_file, own=own) for source, one in measured]
    keys = [
        key
        for key in (FILE, PART, *own, CLIENTS)
        if len({repr(levels.get(key)) for levels in all_levels}) > 1
    ]
    seen: Counter[str] = Counter()
    executions = []
    factors: dict[str, dict[Any, None]] = {key: {} for key in keys}
    for (source, one), levels in zip(measured, all_levels, strict=True):
        kept = {key: levels[key] for key in keys if levels.get(key) is not None}
        for key, level in kept.items():
            factors[key].setdefault(level)
        seen[treatment_id(kept)] += 1
        executions.append(Execution(one, source, kept, seen[treatment_id(kept)]))
    return Arranged(tuple(executions), {key: tuple(levels) for key, levels in factors.items()})


def _levels(source: Source, one: Measured, *, by_file: bool, own: Sequence[str]) -> dict[str, Any]:
    levels: dict[str, Any] = {PART: one.title or None, CLIENTS: one.clients}
    if by_file:
        levels[FILE] = source.path.stem
    levels |= {key: one.settings[key] for key in own if key in one.settings}
    return levels


def treatment_id(levels: Mapping[str, Any]) -> str:
    """`clients=5,part=cpu`; `all` where nothing varies."""
    text = ",".join(f"{key.rpartition('.')[2]}={level}" for key, level in levels.items()) or "all"
    return re.sub(r"[^\w=,.+-]", "-", text)[:80]
