"""fio's JSON (`--output-format=json` or `json+`): reads, writes and syncs of each job apart.

Latencies of several processes become one distribution. Counts, means, deviations and extremes merge exactly.
Percentiles merge only by the buckets that `--output-format=json+` prints; without them there are none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from loadcell.ingest.base import OUTPUT_INCOMPLETE, Measured, PrintedTotal, Reading, Unread
from loadcell.ingest.printed_numbers import integer
from loadcell.ingest.readers import PrintedForPeople, Reader, Unsupported, by_text
from loadcell.ingest.text import documents
from loadcell.model.message import Labels, MessageCode

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

UNSUPPORTED_FIO_2 = MessageCode("unsupported.fio-2", path=str)
UNSUPPORTED_FIO_MIXED = MessageCode("unsupported.fio-mixed", path=str)

#: fio's percentiles by their rank as text, and the record's keys.
_RANKS = {
    "50.000000": "p50_ms",
    "90.000000": "p90_ms",
    "95.000000": "p95_ms",
    "99.000000": "p99_ms",
    "99.900000": "p99.9_ms",
    "99.990000": "p99.99_ms",
}


def merged(latencies: Sequence[JsonObject]) -> JsonObject:
    """Latency statistics of all processes in fio's keys (ns); a single one as it is."""
    measured = [latency for latency in latencies if latency.get("N", latency.get("mean"))]
    if len(measured) < 2:
        return measured[0] if measured else (latencies[0] if latencies else {})
    count = sum(latency["N"] for latency in measured)
    mean = sum(latency["N"] * latency["mean"] for latency in measured) / count
    squares = sum(latency["N"] * (latency["stddev"] ** 2 + latency["mean"] ** 2) for latency in measured)
    return {
        "N": count,
        "min": min(latency["min"] for latency in measured),
        "max": max(latency["max"] for latency in measured),
        "mean": mean,
        "stddev": math.sqrt(max(0.0, squares / count - mean**2)),
        "percentile": _percentiles(measured),
    }


def _percentiles(latencies: Sequence[JsonObject]) -> JsonObject:
    """By the buckets of all; empty where one process has none."""
    buckets: Counter[int] = Counter()
    for latency in latencies:
        if not latency.get("bins"):
            return {}
        for value, count in latency["bins"].items():
            buckets[integer(value)] += count
    total, below, percentiles = sum(buckets.values()), 0, {}
    pending = list(_RANKS)
    for value in sorted(buckets):
        below += buckets[value]
        while pending and below >= float(pending[0]) / 100 * total:
            percentiles[pending.pop(0)] = value
    return percentiles


#: Statistics of fsync that reports have names for.
_SYNC = Labels("figure.sync", ("min_ms", "mean_ms", "stdev_ms", "max_ms"))
NAME = "fio"

_DIRECTIONS = ("read", "write", "trim")
#: Options that are settings; none of those that name logs and results.
_OPTIONS = (
    "rw", "bs", "size", "iodepth", "ioengine", "direct", "fdatasync", "fsync", "sync", "numjobs", "filename",
    "directory", "bssplit", "buffered", "hipri", "nrfiles", "offset", "random_distribution", "rate",
    "rate_iops", "rwmixread", "rwmixwrite", "thinktime", "thread",
)  # fmt: skip


def read(lines: Iterable[str]) -> Reading:
    """A part for each job and direction that did something: operations per second, MiB/s and the time of each
    (lat = slat + clat).

    Processes of one job (`numjobs`) are one part. Several documents one after the other are several
    executions; other lines (fio's own notes) are unread. Jobs that a `stonewall` parts, and executions, are
    turns of their own.
    """
    unread = Unread()
    measured: list[Measured] = []
    for document in documents(lines, "jobs", "`fio --output-format=json`", unread):
        try:
            first = 1 + max((previous.turn for previous in measured), default=-1)
            measured += [
                part
                for processes, turn in _jobs(document["jobs"])
                for part in _parts(processes, document, first + turn)
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.add(OUTPUT_INCOMPLETE(tool=NAME, reason=f"{type(error).__name__}: {error}"))
    return unread.reading(measured)


def _jobs(jobs: Sequence[JsonObject]) -> list[tuple[list[JsonObject], int]]:
    """The processes of each job, and its turn: with `numjobs` fio repeats a job, in one group, and reports
    each process unless `group_reporting` is set.
    """
    processes: dict[tuple[object, ...], list[JsonObject]] = {}
    turns: dict[tuple[object, ...], int] = {}
    for job, turn in zip(jobs, _turns(jobs), strict=True):
        same = (job.get("jobname"), int(job.get("groupid", 0)), repr(job.get("job options")))
        processes.setdefault(same, []).append(job)
        turns[same] = turn
    return [(processes[same], turns[same]) for same in processes]


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


def _parts(processes: Sequence[JsonObject], document: JsonObject, turn: int) -> list[Measured]:
    """The directions of one job, over all of its processes."""
    job = processes[0]
    options = {**document.get("global options", {}), **job.get("job options", {})}
    settings = {
        "version": document.get("fio version", ""),
        **{key: options[key] for key in _OPTIONS if key in options},
    }
    errors: Counter[str] = Counter()
    for process in processes:
        if process.get("error"):
            errors[f"errno {process['error']}"] += int(process.get("total_err", 1) or 1)
    # one entry of several processes is what `group_reporting` leaves
    clients = len(processes) if len(processes) > 1 else integer(str(options.get("numjobs", 1)))
    parts = []
    for direction in _DIRECTIONS:
        counted = [process[direction] for process in processes if _total_ios(process, direction)]
        if not counted:
            continue
        runtime_ms = max(part["runtime"] for part in counted)
        count = sum(part["total_ios"] for part in counted)
        # of less than a millisecond there are only the rates that fio prints
        if len(counted) > 1 and runtime_ms:
            rate = count / runtime_ms * 1e3
            bandwidth = sum(part["io_bytes"] for part in counted) / runtime_ms * 1e3
        else:
            rate = sum(part["iops"] for part in counted)
            bandwidth = sum(part["bw_bytes"] for part in counted)
        figures = {"mib_per_s": bandwidth / 2**20}
        syncs = [(process.get("sync") or {}).get("lat_ns") or {} for process in processes]
        if direction == "write" and any(sync.get("N") for sync in syncs):
            figures |= {f"sync_{key}": value for key, value in _times(merged(syncs)).items()}
        parts.append(
            Measured(
                f"{job.get('jobname', 'job')} {direction}",
                "operation",
                rate,
                count,
                sum(errors.values()),
                runtime_ms / 1e3,
                clients,
                _response(counted),
                figures,
                settings,
                errors,
                began_s=_began_s(document, runtime_ms),
                turn=turn,
                printed=_printed(counted),
            )
        )
    return parts


def _printed(parts: Sequence[JsonObject]) -> tuple[PrintedTotal, ...]:
    """The rates that fio prints of each process, added up; of a single one, whose rates are stored, those
    that follow from its counts; none without a runtime.
    """
    if not any(part["runtime"] for part in parts):
        return ()
    if len(parts) > 1:
        return (
            PrintedTotal("iops", sum(part["iops"] for part in parts), "throughput_per_s"),
            PrintedTotal("bw_bytes", sum(part["bw_bytes"] for part in parts) / 2**20, "mib_per_s"),
        )
    (part,) = parts
    seconds = part["runtime"] / 1e3
    return (
        PrintedTotal("total_ios/runtime", part["total_ios"] / seconds, "throughput_per_s"),
        PrintedTotal("io_bytes/runtime", part["io_bytes"] / seconds / 2**20, "mib_per_s"),
    )


def _total_ios(process: JsonObject, direction: str) -> int:
    return int((process.get(direction) or {}).get("total_ios", 0))


def _began_s(document: JsonObject, runtime_ms: float) -> float | None:
    """fio writes when it ended; when each of several groups did, it does not say."""
    ended_ms = document.get("timestamp_ms")
    groups = {job.get("groupid", 0) for job in document["jobs"]}
    return None if not ended_ms or len(groups) > 1 else (ended_ms - runtime_ms) / 1e3


def _response(parts: Sequence[JsonObject]) -> dict[str, float]:
    """Total times, with the percentiles of the completion, which are all that fio has of them."""
    total = merged([part.get("lat_ns") or {} for part in parts])
    completion = merged([part.get("clat_ns") or {} for part in parts])
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
    unsupported=(
        Unsupported(re.compile(rb'"fio version"\s*:\s*"fio-[12]\.'), UNSUPPORTED_FIO_2),
        # with `both` reads and writes are there, too
        Unsupported(
            re.compile(rb'\A(?![\s\S]*"read"\s*:\s*\{)[\s\S]*?"mixed"\s*:\s*\{'),
            UNSUPPORTED_FIO_MIXED,
        ),
    ),
)
