"""Garbage collection within a measurement: its share of the time, and of the slowest requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions, Numbers
from loadcell.model import gc_pauses
from loadcell.model.gc_pauses import GcLog, HeapChange, Pause
from loadcell.model.panels import Row

_QUANTILES = {gc_pauses.IN_P99: 0.99, gc_pauses.IN_P999: 0.999}
#: Requests beyond a quantile; of fewer a share means nothing.
FEWEST_BEYOND = 10
#: Response times are counted in classes of this relative width: a request has the middle of its class.
_CLASS_WIDTH = 1 / 16


def metrics(log: GcLog, duration_s: float, completions: Completions | None) -> dict[str, float]:
    """Metrics of a measurement that lasted `duration_s`, by key; instants of the log are from its start.

    Pauses are counted where they end. Their time and its share are those of their union: a young collection
    that fails has the full one within it, in the collectors of JDK 11.
    """
    if duration_s <= 0:
        return {}
    pauses = [pause for pause in log.pauses if 0 <= pause.end_ns < duration_s * 1e9]
    begins, ends = stopped(log.pauses, duration_s)
    values = {
        gc_pauses.COUNT: float(len(pauses)),
        gc_pauses.TOTAL: stopped_ns(pauses) / 1e6,
        gc_pauses.LONGEST: max((pause.duration_ns for pause in pauses), default=0) / 1e6,
        gc_pauses.SHARE: float((ends - begins).sum()) / duration_s,
    }
    if (allocated := _allocated_per_s(log.changes, duration_s)) is not None:
        values[gc_pauses.ALLOCATION] = allocated
    promoted = [
        change.promoted_bytes
        for change in log.changes
        if 0 <= change.end_ns < duration_s * 1e9 and change.promoted_bytes is not None
    ]
    if promoted:
        values[gc_pauses.PROMOTION] = sum(promoted) / duration_s
    if completions is not None:
        for key, quantile in _QUANTILES.items():
            if (share := share_in_pauses(completions, log.pauses, quantile)) is not None:
                values[key] = share
    return values


def stopped_ns(pauses: Iterable[Pause]) -> int:
    """Time in which the program stood: that of pauses within others counts once."""
    return sum(time_ns for _, time_ns in _parts(pauses))


def _parts(pauses: Iterable[Pause]) -> Iterator[tuple[Pause, int]]:
    """Each pause with the part of its time in which no earlier one stopped the program."""
    until_ns = -(1 << 63)
    for pause in sorted(pauses, key=lambda pause: (pause.start_ns, -pause.end_ns)):
        yield pause, max(0, pause.end_ns - max(pause.start_ns, until_ns))
        until_ns = max(until_ns, pause.end_ns)


def stopped(pauses: Sequence[Pause], duration_s: float) -> tuple[Numbers, Numbers]:
    """Begins and ends in seconds of the times in which the program stood, in order, within the measurement.

    Pauses that overlap, as one within another, are one.
    """
    begins: list[float] = []
    ends: list[float] = []
    for pause in sorted(pauses, key=lambda pause: pause.start_ns):
        begin_s, end_s = max(0.0, pause.start_ns / 1e9), min(duration_s, pause.end_ns / 1e9)
        if end_s <= begin_s:
            continue
        if ends and begin_s <= ends[-1]:
            ends[-1] = max(ends[-1], end_s)
        else:
            begins.append(begin_s)
            ends.append(end_s)
    return np.array(begins), np.array(ends)


def share_in_pauses(completions: Completions, pauses: Sequence[Pause], quantile: float) -> float | None:
    """Share of the successful requests above a quantile of response time that were in progress in a pause;
    None where they are fewer than `FEWEST_BEYOND`.

    Of a request its slot of completion (10 ms) and its class of response time are known. Within its slot it
    may have ended at any time outside pauses: it counts by the part of this time at which it would overlap
    one.
    """
    slots, limits_s, counts = completions.responses(0, len(completions.succeeded))
    beyond = round((1 - quantile) * int(counts.sum()))
    if beyond < FEWEST_BEYOND:
        return None
    begins, ends = stopped(pauses, completions.duration_s)
    order = np.argsort(-limits_s, kind="stable")
    slots, limits_s, counts = slots[order], limits_s[order], counts[order]
    # all requests of slower classes, and an equal part of those in the class of the quantile
    limit_s = limits_s[int(np.searchsorted(np.cumsum(counts), beyond))]
    first, last = (int(np.searchsorted(-limits_s, -limit_s, side)) for side in ("left", "right"))
    weights = counts[:last].astype(np.float64)
    in_last = weights[first:].sum()
    weights[first:] *= (beyond - weights[:first].sum()) / in_last
    times_s: Numbers = limits_s[:last] * (1 - _CLASS_WIDTH / 2)
    overlaps = _overlaps(slots[:last].astype(np.float64) * SLOT_S, times_s, begins, ends)
    return float((weights * overlaps).sum() / weights.sum())


def _overlaps(slots_s: Numbers, times_s: Numbers, begins: Numbers, ends: Numbers) -> Numbers:
    """Probability that requests which ended within a slot, after these response times, overlap a pause.

    A request that ended at `t` was in progress in a pause if this began before `t` and ended after its start.
    """
    if not len(begins):
        return np.zeros(len(slots_s))
    first = np.searchsorted(ends, slots_s - times_s, "right")
    last = np.searchsorted(begins, slots_s + SLOT_S, "left")
    overlaps = (last > first).astype(np.float64)
    # a pause that began before the slot and ended after the latest start is in all of them
    certain = np.maximum(last - 1, 0)
    covered = (begins[certain] <= slots_s) & (ends[certain] >= slots_s + SLOT_S - times_s)
    for row in np.flatnonzero((last > first) & ~covered).tolist():
        window = slice(int(first[row]), int(last[row]))
        overlaps[row] = _part(slots_s[row], times_s[row], begins[window], ends[window])
    return overlaps


def _part(slot_s: float, time_s: float, begins: Numbers, ends: Numbers) -> float:
    """Part of a slot, without the pauses in it, at whose instants a request would overlap a pause."""
    until_s = slot_s + SLOT_S
    paused = np.maximum(0.0, np.minimum(ends, until_s) - np.maximum(begins, slot_s)).sum()
    free = SLOT_S - float(paused)
    if free < SLOT_S * 1e-3:
        return 1.0
    overlapping, at_s = 0.0, slot_s
    for begin_s, end_s in zip(begins.tolist(), ends.tolist(), strict=True):
        since_s, to_s = max(at_s, begin_s), min(until_s, end_s + time_s)
        if to_s > since_s:
            overlapping += to_s - since_s
            at_s = to_s
    return min(1.0, max(0.0, overlapping - float(paused)) / free)


def _allocated_per_s(changes: Sequence[HeapChange], duration_s: float) -> float | None:
    """Bytes allocated per second between the first and the last collection of the measurement."""
    inside = [change for change in changes if 0 <= change.end_ns < duration_s * 1e9]
    if len(inside) < 2:
        return None
    allocated = sum(growth_bytes for _, growth_bytes in islice(_growths(inside), 1, None))
    elapsed_s = (inside[-1].end_ns - inside[0].end_ns) / 1e9
    return allocated / elapsed_s if elapsed_s > 0 else None


def _growths(changes: Iterable[HeapChange]) -> Iterator[tuple[HeapChange, int]]:
    """Changes in the order of their ends, with the bytes allocated since the one before and meanwhile.

    One with another within its pause (a young collection that fails, with the full one) is left out: they
    free the same memory, and the inner one ends first.
    """
    before: HeapChange | None = None
    for change in changes:
        if before is not None and change.encloses(before):
            continue
        since = 0 if before is None else max(0, change.before_bytes - before.after_bytes)
        yield change, since + change.allocated_bytes
        before = change


def per_second(log: GcLog, begin_s: int, end_s: int) -> Iterator[tuple[float, Row]]:
    """A row for each second from `begin_s` on, of the pauses that ended in it, with the time of its end."""
    pauses: dict[int, list[tuple[Pause, int]]] = {}
    for pause, time_ns in _parts(log.pauses):
        pauses.setdefault(math.floor(pause.end_ns / 1e9), []).append((pause, time_ns))
    after: dict[int, int] = {}
    allocated: dict[int, int] = {}
    for change, growth_bytes in _growths(log.changes):
        second = math.floor(change.end_ns / 1e9)
        after[second] = change.after_bytes
        allocated[second] = allocated.get(second, 0) + growth_bytes
    for second in range(begin_s, end_s):
        ended = pauses.get(second, [])
        yield (
            second + 1.0,
            {
                "pauses": len(ended),
                "pause_ms": sum(time_ns for _, time_ns in ended) / 1e6,
                "longest_pause_ms": max((pause.duration_ns for pause, _ in ended), default=0) / 1e6,
                "heap_after_bytes": after.get(second),
                "allocated_bytes": allocated.get(second),
            },
        )


def rows(log: GcLog) -> Iterator[tuple[float, Row]]:
    """A row for each pause, with the time of its start."""
    for pause in log.pauses:
        values: Mapping[str, str | float | None] = {
            "duration_ms": pause.duration_ns / 1e6,
            "kind": pause.kind,
            "name": pause.name,
            "cause": pause.cause,
            "before_bytes": pause.before_bytes,
            "after_bytes": pause.after_bytes,
            "capacity_bytes": pause.capacity_bytes,
            "promoted_bytes": pause.promoted_bytes,
        }
        yield pause.start_ns / 1e9, dict(values)
