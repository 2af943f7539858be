"""Which tool's output is read by whom; and who recognises an output that nobody named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadcell.tools import ab, dd, fio, iperf3, mbw, pgbench, redis_benchmark, stress_ng, sysbench, wrk
from loadcell.tools.base import NotItsOutputError, Reading

Read = Callable[[Iterable[str]], Reading]

#: By the name that `loadcell import` takes; the surest to be recognised first.
READERS: Mapping[str, Read] = {
    "sysbench": sysbench.read,
    "pgbench": pgbench.read,
    "pgbench-log": pgbench.read_log,
    "fio": fio.read,
    "iperf3": iperf3.read,
    "ab": ab.read,
    "wrk": wrk.read,
    "redis-benchmark": redis_benchmark.read,
    "mbw": mbw.read,
    "stress-ng": stress_ng.read,
    "dd": dd.read,
}
#: Stands for whichever recognises the output.
ANY = "auto"


class ImportProblemError(Exception):
    """A file that cannot be imported: which, what was found, and what to do."""


@dataclass(frozen=True)
class Source:
    """One file that was read: by which tool's reader, and what was in it."""

    path: Path
    tool: str
    reading: Reading


def read_file(path: Path, tool: str) -> Source:
    """Read one file as a tool's output, or as whichever recognises it. Raises ImportProblemError."""
    candidates = list(READERS) if tool == ANY else [tool]
    refused = {}
    for name in candidates:
        try:
            return Source(path, name, READERS[name](_lines(path)))
        except NotItsOutputError as error:
            refused[name] = str(error)
    if tool != ANY:
        raise ImportProblemError(
            f"{path} is no output of {tool}: {refused[tool]}. Name another tool, or `{ANY}` to have it recognised."
        )
    raise ImportProblemError(
        f"{path} is the output of no tool that is known here ({', '.join(READERS)}). Plain tables: `loadcell import csv`."
    )


def _lines(path: Path) -> Iterator[str]:
    """The file line by line, whatever bytes are in it. Raises ImportProblemError where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline=None) as file:
            yield from file
    except OSError as error:
        raise ImportProblemError(
            f"{path} cannot be read: {error.strerror or error}. Check its name and rights."
        ) from None
