"""Runs made of outputs as `loadcell import` makes them, without the report that follows."""

from __future__ import annotations

from pathlib import Path

from loadcell.ingest import read, write_run
from loadcell.store.read import StoredRun, read_run


def made(
    home: Path, tool: str, *files: Path, by_file: bool = False, interval_s: float | None = None
) -> StoredRun:
    """The run; raises what `loadcell import` would tell."""
    sources = read.read(files, tool, interval_s=interval_s)
    arranged = read.attached(read.arrange(sources, by_file=by_file), sources)
    path = write_run.write(
        arranged, sources, results=home, name=tool, title=tool, command=["loadcell", "import", tool]
    )
    return read_run(path)
