"""Names of scores and resources: codes of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.hosts.compare import Row
from loadcell.analysis.hosts.hypothesis import Candidate
from loadcell.analysis.hosts.scores import Score
from loadcell.model.message import Argument, Bytes, Count, Message, MessageCode

SYNC = "sync_ms"
_THREADS: dict[str, type] = {"threads": Count}
#: Tests there is a name for, by section and test.
TESTS = {
    section: {name: MessageCode(f"hosts.score.{section}.{name}", **arguments) for name in names}
    for section, names, arguments in (
        ("memory", ("sysbench", "memcpy", "dumb", "mcblock", "copy", "scale", "add", "triad"), _THREADS),
        ("disk", ("randread", "randwrite", "randrw", "read", "write", "readwrite"), {}),
        ("network", ("rr", "crr", "stream"), {}),
    )
}
#: Tests of a memory with the size that they work on.
SIZED = {
    name: MessageCode(f"hosts.score.memory.{name}.size", threads=Count, size_bytes=Bytes)
    for name in TESTS["memory"]
}
#: Tests of a disk that write, and may have to flush what they wrote.
FLUSHED = {
    name: MessageCode(f"hosts.score.disk.{name}.flushed")
    for name in ("randwrite", "randrw", "write", "readwrite")
}
SCORE_CPU = MessageCode("hosts.score.cpu", threads=Count)
SCORE_LATENCY = MessageCode("hosts.score.latency", size_bytes=Bytes)
SCORE_DEEP = MessageCode("hosts.score.deep", depth=Count, name=Message)
SCORE_THREADS = MessageCode("hosts.score.threads", name=Message, threads=Count)
SCORE_UNLIKE = MessageCode("hosts.score.unlike", name=Message, threads=Count)
DISK_SYNC = MessageCode("hosts.score.disk.sync")
RESOURCES = {name: MessageCode(f"hosts.resource.{name}") for name in ("clock", "cores", "memory-speed")}


def score_name(score: Score) -> Argument:
    """A score in a few words; one of a test that nobody knows by its id."""
    name = _name(score)
    if not isinstance(name, Message):
        return name
    if score.depth > 1:
        name = SCORE_DEEP(name=name, depth=score.depth)
    if score.threads > 1 and score.section not in ("cpu", "memory"):  # whose names have them
        name = SCORE_THREADS(name=name, threads=score.threads)
    return name


def listed(names: Sequence[Argument]) -> Argument:
    """Several names as one value of a sentence."""
    return tuple(name if isinstance(name, Message) else str(name) for name in names)  # type: ignore[return-value]


def row_name(row: Row) -> Argument:
    """A score of two machines; what was asked of all processors was done by as many threads as each has."""
    first, second = row.scores
    if first.threads == second.threads:
        return score_name(first)
    return SCORE_UNLIKE(name=score_name(first), threads=second.threads)


def _name(score: Score) -> Argument:
    match score.section:
        case "cpu":
            return SCORE_CPU(threads=score.threads)
        case "latency" if score.size_bytes:
            return SCORE_LATENCY(size_bytes=score.size_bytes)
        case "disk" if score.figure == SYNC:
            return DISK_SYNC()
        case "disk" if score.fdatasync and score.test in FLUSHED:
            return FLUSHED[score.test]()
        case "memory" if score.test in SIZED and score.size_bytes:
            return SIZED[score.test](threads=score.threads, size_bytes=score.size_bytes)
        case section if score.test in TESTS.get(section, ()):
            return TESTS[section][score.test].pick(threads=score.threads)
        case _:
            return score.id


def candidate_name(candidate: Candidate) -> Argument:
    """Name of a candidate: that of its score, or of the resource in the inventory."""
    if candidate.score is None:
        return RESOURCES[candidate.resource]()
    return score_name(candidate.score)
