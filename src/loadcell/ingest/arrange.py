"""Arrangement of executions: treatments, repeats, and the samples of monitors that belong to each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.ingest.base import ImportProblemError, Measured, Source
from loadcell.ingest.messages import (
    IMPORT_SAMPLES_ELSEWHERE,
    IMPORT_SAMPLES_SHARED,
    IMPORT_SAMPLES_TWICE,
    IMPORT_SAMPLES_UNMATCHED,
)

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


def watching(sources: Sequence[Source]) -> list[Source]:
    """Those that hold a monitor's samples."""
    return [source for source in sources if source.reading.samples is not None]


def samples_alone(source: Source) -> Source:
    """A monitor's output by itself: an execution of which nothing is known but what the machine did
    meanwhile.
    """
    samples = source.reading.samples
    assert samples is not None
    length_s = samples.last_s - samples.first_s
    began_s = samples.first_s if samples.absolute else None
    title = source.path.stem
    measured = Measured(title, "operation", None, duration_s=length_s or None, began_s=began_s)
    return replace(source, reading=replace(source.reading, measured=(measured,)))


def attached(arranged: Arranged, sources: Sequence[Source]) -> Arranged:
    """With the samples of every monitor at the executions they belong to.

    As many files of a monitor as of loads: the first belongs to the first, and so on. One file of a monitor
    and several executions: each has what was sampled while it ran, where tool and monitor say when. Raises
    ImportProblemError.
    """
    executions = list(arranged.executions)
    by_monitor: dict[str, list[Source]] = {}
    for source in watching(sources):
        assert source.reading.samples is not None
        by_monitor.setdefault(source.reading.samples.monitor, []).append(source)
    loads = [source for source in sources if source.reading.measured]
    for monitor, watched in by_monitor.items():
        with_loads = [source for source in watched if source.reading.measured]
        others = [source for source in watched if not source.reading.measured]
        if with_loads and others:
            raise ImportProblemError(
                IMPORT_SAMPLES_TWICE(
                    path=with_loads[0].path,
                    monitor=monitor,
                    other=others[0].path,
                    name=others[0].path.name,
                    tool=with_loads[0].tool,
                )
            )
        if with_loads:
            pairs = [(source, source) for source in watched]
        elif len(watched) == len(loads):
            pairs = list(zip(watched, loads, strict=True))
        elif len(watched) == 1:
            pairs = [(watched[0], load) for load in loads]
        else:
            raise ImportProblemError(
                IMPORT_SAMPLES_UNMATCHED(count=len(watched), monitor=monitor, loads=len(loads))
            )
        for source, load in pairs:
            indices = [number for number, execution in enumerate(executions) if execution.source is load]
            shared = len(indices) > 1 or (len(watched) == 1 and len(loads) > 1)
            for number in indices:
                executions[number] = _with(executions[number], source, by_time=shared and source is not load)
    return replace(arranged, executions=tuple(executions))


def _with(execution: Execution, source: Source, *, by_time: bool) -> Execution:
    samples, measured = source.reading.samples, execution.measured
    assert samples is not None
    # Its own samples are those of its time, whatever their clock says.
    has_instants = source is not execution.source and samples.absolute and measured.began_s is not None
    if by_time and not (has_instants and measured.duration_s):
        who = source.tool if not samples.absolute else execution.source.tool
        raise ImportProblemError(
            IMPORT_SAMPLES_SHARED(path=source.path, executions=execution.source.path, tool=who)
        )
    if has_instants and measured.began_s is not None:
        begin_s = measured.began_s
        end_s = begin_s + (measured.duration_s or 0.0)
        overlap = samples.first_s <= end_s and samples.last_s >= begin_s
        if overlap or by_time:
            # A sample tells of the time before it.
            limits = {"begin_s": begin_s, "end_s": end_s + 1.0} if by_time else {}
            return replace(execution, watched=(*execution.watched, Watched(source, begin_s, **limits)))
        raise ImportProblemError(IMPORT_SAMPLES_ELSEWHERE(path=source.path, executions=execution.source.path))
    return replace(execution, watched=(*execution.watched, Watched(source, samples.origin_s)))
