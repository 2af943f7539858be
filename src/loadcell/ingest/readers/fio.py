"""fio's JSON (`--output-format=json` or `json+`): reads, writes and syncs of each job apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from loadcell.ingest.base import Measured, Reading, Unread
from loadcell.ingest.messages import OUTPUT_INCOMPLETE
from loadcell.ingest.readers import PrintedForPeople, Reader, by_text
from loadcell.ingest.text import documents
from loadcell.model.message import Labels

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

#: Statistics of fsync that reports have names for.
_SYNC = Labels("figure.sync", ("min_ms", "mean_ms", "stdev_ms", "max_ms"))
NAME = "fio"

_DIRECTIONS = ("read", "write", "trim")
#: fio's percentiles by their rank as text, and the record's keys.
_RANKS = {
    "50.000000": "p50_ms",
    "90.000000": "p90_ms",
    "95.000000": "p95_ms",
    "99.000000": "p99_ms",
    "99.900000": "p99.9_ms",
    "99.990000": "p99.99_ms",
}


def read(lines: Iterable[str]) -> Reading:
    """A part for each job and direction that did something: operations a second, MiB/s and the time of each
    (lat = slat + clat).

    Several documents one after the other are several executions; other lines (fio's own notes) are unread.
    Jobs that a `stonewall` parts, and executions, are turns of their own.
    """
    unread = Unread()
    measured: list[Measured] = []
    for document in documents(lines, "jobs", "`fio --output-format=json`", unread):
        try:
            first = 1 + max((previous.turn for previous in measured), default=-1)
            turns = _turns(document["jobs"])
            measured += [
                part
                for job, turn in zip(document["jobs"], turns, strict=True)
                for part in _parts(job, document, first + turn)
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.add(OUTPUT_INCOMPLETE(tool=NAME, reason=f"{type(error).__name__}: {error}"))
    return unread.reading(measured)


def _turns(jobs: Sequence[JsonObject]) -> list[int]:
    """Which jobs worked at once, and which after those.

    A `stonewall` makes a group, and so does `new_group`, which lets work at once.

    fio does not say which it was, but how long all took (`elapsed`, whole seconds rounded up, files' making
    included): groups that would not fit into that one after the other worked at once. Of others that is not
    known, and nothing is added up.
    """
    groups = [int(job.get("groupid", 0)) for job in jobs]
    longest_ms: dict[int, float] = {}
    for job, group in zip(jobs, groups, strict=True):
        took_ms = max(((job.get(direction) or {}).get("runtime", 0) for direction in _DIRECTIONS), default=0)
        longest_ms[group] = max(longest_ms.get(group, 0), took_ms)
    elapsed_s = max((job.get("elapsed", 0) for job in jobs), default=0)
    if sum(longest_ms.values()) / 1e3 > elapsed_s > 0:
        return [0] * len(jobs)
    order = {group: turn for turn, group in enumerate(longest_ms)}
    return [order[group] for group in groups]


def _parts(job: JsonObject, document: JsonObject, turn: int) -> list[Measured]:
    options = {**document.get("global options", {}), **job.get("job options", {})}
    names = ("rw", "bs", "size", "iodepth", "ioengine", "direct", "fdatasync", "fsync", "sync", "numjobs")
    settings = {
        "version": document.get("fio version", ""),
        **{key: options[key] for key in names if key in options},
    }
    errors = {f"errno {job['error']}": int(job.get("total_err", 1) or 1)} if job.get("error") else {}
    jobs = int(options.get("numjobs", 1)) if document.get("global options", {}).get("group_reporting") else 1
    parts = []
    for direction in _DIRECTIONS:
        part = job.get(direction) or {}
        if not part.get("total_ios"):
            continue
        figures = {"mib_per_s": part["bw_bytes"] / 2**20}
        sync = (job.get("sync") or {}).get("lat_ns") or {}
        if direction == "write" and sync.get("N"):
            figures |= {f"sync_{key}": value for key, value in _times(sync).items()}
        parts.append(
            Measured(
                f"{job.get('jobname', 'job')} {direction}",
                "operation",
                part["iops"],
                part["total_ios"],
                sum(errors.values()),
                part["runtime"] / 1e3,
                jobs,
                _response(part),
                figures,
                settings,
                errors,
                began_s=_began_s(document, part),
                turn=turn,
            )
        )
    return parts


def _began_s(document: JsonObject, part: JsonObject) -> float | None:
    """fio writes when it ended; when each of several groups did, it does not say."""
    ended_ms = document.get("timestamp_ms")
    groups = {job.get("groupid", 0) for job in document["jobs"]}
    return None if not ended_ms or len(groups) > 1 else (ended_ms - part["runtime"]) / 1e3


def _response(part: JsonObject) -> dict[str, float]:
    """Whole times, with the percentiles of the completion, which are all that fio has of them."""
    total, completion = part.get("lat_ns") or {}, part.get("clat_ns") or {}
    return _times(total or completion, total.get("percentile") or completion.get("percentile"))


def _times(latency: JsonObject, percentiles: JsonObject | None = None) -> dict[str, float]:
    names = {"min": "min_ms", "max": "max_ms", "mean": "mean_ms", "stddev": "stdev_ms"}
    times = {key: latency[name] / 1e6 for name, key in names.items() if name in latency}
    percentiles = percentiles or latency.get("percentile") or {}
    return {**times, **{key: percentiles[rank] / 1e6 for rank, key in _RANKS.items() if rank in percentiles}}


READER = Reader(
    NAME,
    by_text(read),
    anywhere=(b'"fio version"',),
    for_people=PrintedForPeople(
        re.compile(rb"\): rw=\w+, bs=|: \(groupid=\d+, jobs=\d+\)"), "fio --output-format=json"
    ),
)
