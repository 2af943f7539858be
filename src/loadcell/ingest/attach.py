"""Which execution a monitor's samples belong to: by the order of the files, or by the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loadcell.ingest.arrange import Arranged, Execution, Watched
from loadcell.ingest.base import ImportProblemError, Measured
from loadcell.ingest.formats import Source
from loadcell.ingest.messages import (
    IMPORT_SAMPLES_ELSEWHERE,
    IMPORT_SAMPLES_SHARED,
    IMPORT_SAMPLES_TWICE,
    IMPORT_SAMPLES_UNMATCHED,
)


def watching(sources: Sequence[Source]) -> list[Source]:
    """Those that hold a monitor's samples."""
    return [source for source in sources if source.reading.samples is not None]


def alone(source: Source) -> Source:
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
        own_samples = [source for source in watched if source.reading.measured]
        others = [source for source in watched if not source.reading.measured]
        if own_samples and others:
            raise ImportProblemError(
                IMPORT_SAMPLES_TWICE(
                    path=own_samples[0].path,
                    monitor=monitor,
                    other=others[0].path,
                    name=others[0].path.name,
                    tool=own_samples[0].tool,
                )
            )
        if own_samples:
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
