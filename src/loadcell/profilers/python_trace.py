"""Traces of viztracer as folded stacks: the own time of each call stack, in microseconds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.model import json
from loadcell.model.json import JsonObject
from loadcell.model.python_profile import OUTERMOST, TraceRecord, short_path

#: Complete events of the Trace Event Format, and the loop of the harness.
_COMPLETE: Final = "X"
_LOOP: Final = "_timed ("
_HARNESS: Final = "python_runner/harness.py:"
_CLOCK: Final = "time.perf_counter_ns"
#: Own time of the loop: of its statements, and of a function that is not written in Python.
_CALLS: Final = "[calls]"
_POSITION: Final = re.compile(r"(?P<function>.*) \((?P<file>.*):(?P<line>\d+)\)")


@dataclass(frozen=True)
class FoldedTrace:
    """The record of a trace, and its stacks."""

    record: TraceRecord
    folded: str


def read(file: Path, least_ns: int) -> FoldedTrace:
    """Read a trace; without events if it cannot be read."""
    try:
        document = json.parse(file.read_bytes())
        events = [event for event in document["traceEvents"] if event.get("ph") == _COMPLETE]
        is_cut = bool(document["viztracer_metadata"]["overflow"])
    except (OSError, json.MismatchError, KeyError, TypeError):
        events, is_cut = [], False
    self_us: dict[str, float] = defaultdict(float)
    threads: dict[object, list[JsonObject]] = defaultdict(list)
    for event in events:
        threads[event["tid"]].append(event)
    for of_thread in threads.values():
        for stack, time_us in _self_times(of_thread):
            if (within := _within_loop(stack)) is not None:
                self_us[within] += time_us
    folded = "".join(f"{stack} {round(time)}\n" for stack, time in sorted(self_us.items()) if round(time) > 0)
    return FoldedTrace(TraceRecord(len(events), least_ns, is_cut=is_cut), folded)


def _self_times(events: list[JsonObject]) -> Iterator[tuple[list[str], float]]:
    """Stack and own time of each call of a thread: its duration without that of the calls within it."""
    waiting: list[tuple[float, str, float]] = []  # end, name, own time
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while waiting and waiting[-1][0] <= event["ts"]:
            yield [name for _, name, _ in waiting], waiting.pop()[2]
        if waiting:
            end, name, self_us = waiting[-1]
            waiting[-1] = (end, name, self_us - event["dur"])
        waiting.append((event["ts"] + event["dur"], str(event["name"]), float(event["dur"])))
    while waiting:
        yield [name for _, name, _ in waiting], waiting.pop()[2]


def _within_loop(stack: list[str]) -> str | None:
    """Folded stack from the loop inwards; None of the harness itself."""
    loop = next((position for position, name in enumerate(stack) if name.startswith(_LOOP)), None)
    inner = stack if loop is None else stack[loop + 1 :]
    if any(_HARNESS in name for name in inner) or inner[:1] == [_CLOCK]:
        return None
    return ";".join([OUTERMOST, *(_short(name) for name in inner or [_CALLS])])


def _short(name: str) -> str:
    """`function (module.py:12)`: files of packages from the directory of packages, others without any."""
    match = _POSITION.fullmatch(name)
    if match is not None:
        name = f"{match['function']} ({short_path(match['file'])}:{match['line']})"
    return name.replace(";", ":").replace("\n", " ")
