"""Names of scores and resources: codes of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.hosts.compare import Row
from loadcell.analysis.hosts.hypothesis import Candidate
from loadcell.analysis.hosts.scores import Score
from loadcell.model.message import Argument, Message

#: Tests there is a name for, by section.
TESTS = {
    "memory": ("sysbench", "memcpy", "dumb", "mcblock", "copy", "scale", "add", "triad"),
    "disk": ("randread", "randwrite", "randrw", "read", "write", "readwrite"),
    "network": ("rr", "crr", "stream"),
}
#: Those of a disk that write, and may have to flush what they wrote.
WRITING = ("randwrite", "randrw", "write", "readwrite")
SYNC = "sync_ms"


def score_name(score: Score) -> Argument:
    """A score in a few words; one of a test that nobody knows by its id."""
    name = _name(score)
    if not isinstance(name, Message):
        return name
    if score.depth > 1:
        name = Message("hosts.score.deep", {"name": name, "depth": score.depth})
    if score.threads > 1 and score.section not in ("cpu", "memory"):  # whose names have them
        name = Message("hosts.score.threads", {"name": name, "threads": score.threads})
    return name


def listed(names: Sequence[Argument]) -> Argument:
    """Several names as one value of a sentence."""
    return tuple(name if isinstance(name, Message) else str(name) for name in names)  # type: ignore[return-value]


def row_name(row: Row) -> Argument:
    """A score of two machines; what was asked of all processors was done by as many threads as each has."""
    first, second = row.scores
    if first.threads == second.threads:
        return score_name(first)
    return Message("hosts.score.unlike", {"name": score_name(first), "threads": second.threads})


def _name(score: Score) -> Argument:
    params: dict[str, Argument] = {"threads": score.threads}
    match score.section:
        case "cpu":
            return Message("hosts.score.cpu", params)
        case "latency" if score.size_bytes:
            return Message("hosts.score.latency", {"size_bytes": score.size_bytes})
        case "disk" if score.figure == SYNC:
            return Message("hosts.score.disk.sync")
        case "disk" if score.fdatasync and score.test in WRITING:
            return Message(f"hosts.score.disk.{score.test}.flushed")
        case "memory" if score.test in TESTS["memory"] and score.size_bytes:
            return Message(
                f"hosts.score.memory.{score.test}.size", {**params, "size_bytes": score.size_bytes}
            )
        case _ if score.test in TESTS.get(score.section, ()):
            return Message(f"hosts.score.{score.section}.{score.test}", params)
        case _:
            return score.id


def candidate_name(candidate: Candidate) -> Argument:
    """Name of a candidate: that of its score, or of the resource in the inventory."""
    if candidate.score is None:
        return Message(f"hosts.resource.{candidate.resource}")
    return score_name(candidate.score)
