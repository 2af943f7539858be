"""Reads the files that were named: each by its tool, folders too, and those together that are one output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from loadcell.ingest import attach, benchmarksql_folder
from loadcell.ingest.formats import ANY, Source, read_file, together
from loadcell.ingest.text_blocks import Told


def read(
    files: Sequence[Path], tool: str, *, interval_s: float | None = None, on_progress: Told | None = None
) -> list[Source]:
    """Every output in the order it was named.

    Without any execution among them each monitor's samples stand for one.

    `told` hears of each output how far it is read.
    Raises ImportProblemError.
    """
    sources = [_one(path, also, tool, interval_s, on_progress) for path, also in together(files, tool)]
    if not any(source.reading.measured for source in sources):
        sources = [
            attach.alone(source) if source.reading.samples is not None else source for source in sources
        ]
    return sources


def _one(
    path: Path, also: Sequence[Path], tool: str, interval_s: float | None, on_progress: Told | None
) -> Source:
    if tool == benchmarksql_folder.TOOL or (tool == ANY and benchmarksql_folder.is_folder(path)):
        return benchmarksql_folder.read(path, on_progress)
    source = read_file(path, tool, also=also, on_progress=on_progress)
    if source.tool == benchmarksql_folder.TOOL:
        return benchmarksql_folder.beside(source)
    samples = source.reading.samples
    if interval_s is not None and samples is not None and samples.assumed_interval_s is not None:
        # Lines without times: only now it is known that how far apart they are matters.
        from loadcell.ingest.readers import jstat

        timed = partial(jstat.read, interval_s=interval_s)
        return read_file(path, source.tool, also=also, read=lambda output: timed(output.lines()))
    return source
