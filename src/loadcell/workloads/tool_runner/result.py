"""Results of a tool in the form of the engine's (`_engine.pyi`), and its progress as the engine writes it.

Intervals are those that the tool prints while it runs, or else those that were read afterwards.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loadcell.ingest.base import Interval, Measured
from loadcell.ingest.readers import pgbench

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

TRANSACTION = "transaction"
#: The record's keys of a distribution's values that the engine's results have.
_TIMES = {
    "mean_ms": "mean_ns",
    "stdev_ms": "stdev_ns",
    "min_ms": "min_ns",
    "max_ms": "max_ns",
    "p50_ms": "p50_ns",
    "p90_ms": "p90_ns",
    "p95_ms": "p95_ns",
    "p99_ms": "p99_ns",
    "p99.9_ms": "p999_ns",
    "p99.99_ms": "p9999_ns",
}
_QUERIES = "queries_per_s"


@dataclass(frozen=True)
class Window:
    """When it was measured."""

    start_mono_ns: int
    start_utc_ns: int
    duration_ns: int


def named_apart(parts: Sequence[Measured]) -> tuple[Measured, ...]:
    """The same with a number behind titles that a part before has (two jobs of fio of one name)."""
    taken: set[str] = set()
    named = []
    for part in parts:
        title, number = part.title, 2
        while title in taken:
            title, number = f"{part.title} ({number})", number + 1
        taken.add(title)
        named.append(replace(part, title=title))
    return tuple(named)


def total_of(parts: Sequence[Measured], *, at_once: bool) -> Measured:
    """All parts as one: parts that work at once, in one turn, add up; of those that follow each other the
    first stands for all.

    Of parts that add up, only the mean and the extremes of their times can be known.
    """
    first = parts[0]
    parts = [part for part in parts if part.turn == first.turn]
    if len(parts) == 1 or not at_once:
        return first
    rates = [part.throughput_per_s for part in parts if part.throughput_per_s is not None]
    count = sum(part.succeeded or 0 for part in parts)
    merged: dict[str, float] = {}
    if all("min_ms" in part.response and "max_ms" in part.response for part in parts):
        merged["min_ms"] = min(part.response["min_ms"] for part in parts)
        merged["max_ms"] = max(part.response["max_ms"] for part in parts)
    if all("mean_ms" in part.response for part in parts) and count:
        spent_ms = sum(part.response["mean_ms"] * (part.succeeded or 0) for part in parts)
        merged["mean_ms"] = spent_ms / count
    return replace(
        first,
        throughput_per_s=sum(rates) if rates else None,
        succeeded=count,
        failed=max((part.failed or 0 for part in parts), default=0),
        duration_s=max((part.duration_s for part in parts if part.duration_s is not None), default=None),
        response=merged,
        figures={},
        printed=(),
    )


def groups(parts: Sequence[Measured]) -> JsonObject:
    """Where parts that work at once did so in several turns: how many, and which parts were `counted`; else
    nothing.
    """
    turns = {part.turn for part in parts}
    if len(turns) == 1:
        return {}
    return {"groups": len(turns), "counted": [part.title for part in parts if part.turn == parts[0].turn]}


def figures(parts: Sequence[Measured]) -> dict[str, float]:
    """The tool's metrics; for several parts with the part's name in front."""
    if len(parts) == 1:
        return {name: float(value) for name, value in parts[0].figures.items() if name != _QUERIES}
    return {
        f"{_word(part.title)}.{name}": float(value)
        for part in parts
        for name, value in part.figures.items()
        if name != _QUERIES
    }


def _word(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-") or "part"


def result(
    total: Measured,
    parts: Sequence[Measured],
    window: Window,
    metrics: Mapping[str, float],
    about: JsonObject,
    client: JsonObject,
) -> JsonObject:
    """The engine's result, as far as a tool can tell it.

    `about` is what the trial's record says of the tool.
    """
    queries = total.figures.get(_QUERIES)
    several = (
        [{**_operation(part, "type"), "name": part.title} for part in parts]
        if len(parts) > 1
        else _kinds(total)
    )
    return {
        "outcome": "completed",
        "reason": None,
        "advice": None,
        "window": {
            "start_mono_ns": window.start_mono_ns,
            "start_utc_ns": window.start_utc_ns,
            "duration_ns": window.duration_ns,
        },
        "operations": [_operation(total, TRANSACTION), *several],
        "queries": {} if queries is None else {"per_s": queries},
        "errors": [
            {"code": code, "operation": TRANSACTION, "count": count, "message": ""}
            for part in parts
            for code, count in part.errors.items()
            if count
        ],
        "schedule": None,
        "lifetime": None,
        "client": dict(client),
        "figures": dict(metrics),
        "unit": total.unit,
        "tool": dict(about),
    }


def _kinds(total: Measured) -> list[JsonObject]:
    """The kinds of transaction that one execution counted apart."""
    kinds = []
    for name, part in total.parts.items():
        rate = part.succeeded / total.duration_s if total.duration_s else None
        measured = Measured(name, total.unit, rate, part.succeeded, part.failed, response=part.response)
        kinds.append({**_operation(measured, part.kind), "name": name})
    return kinds


def _operation(measured: Measured, kind: str) -> JsonObject:
    succeeded, failed = measured.succeeded or 0, measured.failed or 0
    return {
        "name": TRANSACTION,
        "kind": kind,
        "attempted": succeeded + failed,
        "carried_in": 0,
        "succeeded": succeeded,
        "failed": failed,
        "in_flight": 0,
        "retried": 0,
        "throughput_per_s": measured.throughput_per_s,
        "response": _times(measured.response, measured.succeeded),
        "service": None,
        "failed_response": None,
    }


def _times(response: Mapping[str, float], count: int | None) -> JsonObject | None:
    """A distribution; `count` is None where the tool does not say of how many."""
    times = {_TIMES[name]: value * 1e6 for name, value in response.items() if name in _TIMES}
    return {"count": count, **times} if times else None


def interval_event(
    tool_interval: Interval, origin_mono_ns: int, origin_utc_ns: int, phase: str
) -> JsonObject:
    """One stretch of the series, as the tool said it."""
    start_ns = round(tool_interval.start_s * 1e9)
    succeeded = round(tool_interval.throughput_per_s * tool_interval.duration_s)
    return {
        "type": "interval",
        "phase": phase,
        "start_mono_ns": origin_mono_ns + start_ns,
        "start_utc_ns": origin_utc_ns + start_ns,
        "duration_ns": round(tool_interval.duration_s * 1e9),
        "operations": [
            {
                "name": TRANSACTION,
                "kind": TRANSACTION,
                "started": None,
                "succeeded": succeeded,
                "failed": tool_interval.failed,
                "retried": None,
                "throughput_per_s": tool_interval.throughput_per_s,
                "response": _times(tool_interval.response, succeeded),
                "service": None,
            }
        ],
    }


#: Gives the interval that a line of output is; None for any other line.
Follow = Callable[[str], Interval | None]


@dataclass(frozen=True)
class Progress:
    """Progress lines of a tool: their pattern, and the interval of a match, by its beginning and length (s).

    The group `at` is the time at the end of the interval.
    """

    line: re.Pattern[str]
    interval: Callable[[re.Match[str], float, float], Interval]

    def follow(self) -> Follow:
        """A reader of the lines of one execution."""
        return _Follower(self.line, self.interval)


class _Follower:
    def __init__(self, line: re.Pattern[str], of: Callable[[re.Match[str], float, float], Interval]) -> None:
        self._line, self._of = line, of
        self._ended_s = 0.0

    def __call__(self, line: str) -> Interval | None:
        match = self._line.match(line)
        if match is None:
            return None
        if float(match["at"]) > pgbench.EPOCH_S:
            return None  # the length of the first is only known from the second: read when it has ended
        begun_s, self._ended_s = self._ended_s, float(match["at"])
        length_s = self._ended_s - begun_s
        return self._of(match, begun_s, length_s) if length_s > 0 else None


_SYSBENCH = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ (?:tps|eps): (?P<rate>[\d.]+) .*?lat \(ms,(?P<rank>\d+)%\): "
    r"(?P<late>[\d.]+)"
    r"(?: err/s:? (?P<errors>[\d.]+))?"
)


def _of_sysbench(match: re.Match[str], begun_s: float, length_s: float) -> Interval:
    late = float(match["late"])
    failed = None if match["errors"] is None else round(float(match["errors"]) * length_s)
    response = {f"p{match['rank']}_ms": late} if late else {}
    return Interval(begun_s, length_s, float(match["rate"]), failed, response)


SYSBENCH = Progress(_SYSBENCH, _of_sysbench)
PGBENCH = Progress(pgbench.PROGRESS, pgbench.interval_of)


Say = Callable[[str], None]


def phase(say: Say, name: str) -> tuple[int, int]:
    """A phase begins now: its instant, monotonic and since 1970."""
    mono_ns, utc_ns = time.monotonic_ns(), time.time_ns()
    say(json.dumps({"type": "phase", "phase": name, "mono_ns": mono_ns, "utc_ns": utc_ns}))
    return mono_ns, utc_ns


class Intervals:
    """The series of one measurement that began at an instant.

    `follow` knows the tool's interval lines; None: it has none.
    """

    def __init__(self, say: Say, follow: Follow | None, began: tuple[int, int]) -> None:
        self._say, self._follow = say, follow
        self._mono_ns, self._utc_ns = began
        self._shift_ns: int | None = None
        self._count = 0

    def line(self, line: str) -> None:
        """One line of the output, just printed."""
        if self._follow is None or (interval := self._follow(line)) is None:
            return
        if self._shift_ns is None:  # the tool counts from when it had started up
            end_ns = round((interval.start_s + interval.duration_s) * 1e9)
            self._shift_ns = max(0, time.monotonic_ns() - self._mono_ns - end_ns)
        self._tell(interval)

    def finish(self, parts: Sequence[Measured]) -> None:
        """Intervals of the finished output, if there was no live progress."""
        if not self._count:
            for interval in parts[0].intervals:
                self._tell(interval)

    def _tell(self, interval: Interval) -> None:
        self._count += 1
        shift_ns = self._shift_ns or 0
        event = interval_event(interval, self._mono_ns + shift_ns, self._utc_ns + shift_ns, "measure")
        self._say(json.dumps(event))
