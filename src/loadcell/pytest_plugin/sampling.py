"""Profile of the slowest tests: a timer of CPU time samples the functions of the main thread."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_high
from types import FrameType
from typing import Any, Final

import pytest

from loadcell.pytest_plugin.results import TestResult
from loadcell.pytest_plugin.rounds import Rounds
from loadcell.pytest_plugin.stages import Stage
from loadcell.pytest_plugin.timing import Arguments, Measurement

#: Samples per second of CPU time.
FREQUENCY: Final = 1000
#: Duration of the calls of a test in seconds, and the most calls.
_SECONDS, _MOST_CALLS = 1.0, 200
#: Frames of this directory call the test.
_HERE: Final = str(Path(__file__).parent)


@dataclass(slots=True)
class Stacks:
    """Samples by stack, from the outermost function, and the duration of the calls."""

    counts: Counter[str] = field(default_factory=Counter)
    duration_s: float = 0.0

    @property
    def folded(self) -> str:
        """Lines of a stack and its number of samples."""
        return "".join(f"{stack} {count}\n" for stack, count in sorted(self.counts.items()))


class SamplingStage(Stage):
    """A pass in which the call phases are sampled."""

    def __init__(self) -> None:
        super().__init__()
        self.stacks: dict[str, Stacks] = {}
        self._node_id = ""

    def begin(self, node_id: str) -> None:
        super().begin(node_id)
        self._node_id = node_id

    @contextmanager
    def around(self) -> Iterator[None]:
        stacks = self.stacks.setdefault(self._node_id, Stacks())

        def sample(_: int, frame: FrameType | None) -> None:
            if stack := _stack_of(frame):
                stacks.counts[stack] += 1

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGPROF, sample)
        began_s = time.perf_counter()
        signal.setitimer(signal.ITIMER_PROF, 1 / FREQUENCY, 1 / FREQUENCY)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            stacks.duration_s += time.perf_counter() - began_s
            signal.signal(signal.SIGPROF, before)

    def _function(self, function: Callable[..., Any], arguments: Arguments) -> Measurement:
        self.uses_function = True
        args, kwargs = arguments
        end_s = time.perf_counter() + _SECONDS / _MOST_CALLS
        result = function(*args, **kwargs)
        while time.perf_counter() < end_s:
            result = function(*args, **kwargs)
        return Measurement((), 1, result)


def _stack_of(frame: FrameType | None) -> str:
    """Functions from the outermost within the test; empty outside of it."""
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_HERE):
            return ";".join(reversed(names))
        name = f"{frame.f_globals.get('__name__', '?')}.{code.co_qualname}"
        names.append(name.replace(";", ",").replace(" ", "_"))
        frame = frame.f_back
    return ""


def slowest(results: Sequence[TestResult], count: int) -> list[TestResult]:
    """The tests with the longest median call phase that passed."""
    timed = [result for result in results if result.call_times_ms]
    return sorted(timed, key=lambda result: -median_high(result.call_times_ms))[:count]


def profile(rounds: Rounds, items: Sequence[pytest.Item], results: Sequence[TestResult]) -> dict[str, Stacks]:
    """Call these tests again for a second each, or 200 times; their samples by node id."""
    by_node_id = {item.nodeid: item for item in items}
    chosen = [by_node_id[result.node_id] for result in results]
    stage = SamplingStage()
    for position, item in enumerate(chosen):
        for _ in rounds.run([item], stage, item):
            pass
        took_s = max(stage.stacks.get(item.nodeid, Stacks()).duration_s, _SECONDS / _MOST_CALLS)
        more = min(_MOST_CALLS, math.ceil(_SECONDS / took_s))
        following = chosen[position + 1] if position + 1 < len(chosen) else None
        for _ in rounds.run([item] * more, stage, following):
            pass
    return stage.stacks
