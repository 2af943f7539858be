"""fio's JSON (`--output-format=json` or `json+`): reads, writes and syncs of each job apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from loadcell.tools.base import Measured, NotItsOutputError, Reading

NAME = "fio"

_DIRECTIONS = ("read", "write", "trim")
#: fio's percentiles by their rank as text, and the record's keys.
_RANKS = {"50.000000": "p50_ms", "90.000000": "p90_ms", "95.000000": "p95_ms", "99.000000": "p99_ms", "99.900000": "p99.9_ms", "99.990000": "p99.99_ms"}  # fmt: skip


def read(lines: Iterable[str]) -> Reading:
    """A part for each job and direction that did something: operations a second, MiB/s and the time of each (lat = slat + clat).

    Lines before the JSON (fio's own notes) are unread.
    """
    text = "".join(lines)
    begin = text.find("{")
    try:
        document = json.loads(text[begin:] if begin >= 0 else text)
        jobs = document["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise NotItsOutputError(
            f"no whole JSON with `jobs`, as `fio --output-format=json` writes ({error})"
        ) from None
    found = [part for job in jobs for part in _parts(job, document)]
    before = [line for line in text[: max(begin, 0)].splitlines() if line.strip()]
    return Reading(tuple(found), len(before), tuple(before[:5]))


def _parts(job: Mapping[str, Any], document: Mapping[str, Any]) -> list[Measured]:
    options = {**document.get("global options", {}), **job.get("job options", {})}
    kept = ("rw", "bs", "size", "iodepth", "ioengine", "direct", "fdatasync", "fsync", "sync", "numjobs")
    settings = {
        "version": document.get("fio version", ""),
        **{key: options[key] for key in kept if key in options},
    }
    errors = {f"errno {job['error']}": int(job.get("total_err", 1) or 1)} if job.get("error") else {}
    jobs = int(options.get("numjobs", 1)) if document.get("global options", {}).get("group_reporting") else 1
    found = []
    for direction in _DIRECTIONS:
        part = job.get(direction) or {}
        if not part.get("total_ios"):
            continue
        figures = {"mib_per_s": part["bw_bytes"] / 2**20}
        sync = (job.get("sync") or {}).get("lat_ns") or {}
        if direction == "write" and sync.get("N"):
            figures |= {f"sync_{key}": value for key, value in _times(sync).items()}
        found.append(
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
            )
        )
    return found


def _response(part: Mapping[str, Any]) -> dict[str, float]:
    """Whole times, with the percentiles of the completion, which are all that fio has of them."""
    whole = part.get("lat_ns") or part.get("clat_ns") or {}
    found = _times(whole)
    own = (part.get("lat_ns") or {}).get("percentile") or (part.get("clat_ns") or {}).get("percentile") or {}
    return {**found, **{key: own[rank] / 1e6 for rank, key in _RANKS.items() if rank in own}}


def _times(latency: Mapping[str, Any]) -> dict[str, float]:
    names = {"min": "min_ms", "max": "max_ms", "mean": "mean_ms", "stddev": "stdev_ms"}
    found = {key: latency[name] / 1e6 for name, key in names.items() if name in latency}
    own = latency.get("percentile") or {}
    return {**found, **{key: own[rank] / 1e6 for rank, key in _RANKS.items() if rank in own}}
