"""Timed samples of a function: calibrated loops of calls, less the time of the loop itself.

Standard library only, because it runs between tests.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

#: A clock that returns nanoseconds.
Clock = Callable[[], int]
#: Positional and named arguments of a call.
Arguments = tuple[Sequence[Any], Mapping[str, Any]]

#: Shortest sample in steps of the clock, and in nanoseconds: a step is then 1/10,000 of it.
_STEPS, _SHORTEST_NS = 10_000, 1_000_000
_MOST_CALLS = 1 << 30
#: A loop that lasts as long as this does so by its calls.
_LONG_NS = 500_000_000
#: Readings of the clock by which its step is measured.
_READINGS = 1_000
#: Samples of the empty loop, of which the median counts, and their least number of calls.
_EMPTY_SAMPLES, _LEAST_EMPTY = 5, 1_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Consecutive calls: their number, and the time of all, in nanoseconds."""

    calls: int
    elapsed_ns: float


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of the samples of one trial.

    `seconds` is the total duration of the samples, `shortest_s` that of one, `rounds` their least number.
    `warmup_calls` precede them.
    """

    seconds: float
    shortest_s: float = 0.0
    rounds: int = 1
    warmup_calls: int = 0
    without_gc: bool = False
    clock: Clock = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of samples of one trial; each has a setup and a teardown outside of its time.

    `setup` may return the arguments of the calls.
    """

    rounds: int
    iterations: int
    warmup_rounds: int = 0
    setup: Callable[[], Arguments | None] | None = None
    teardown: Callable[..., object] | None = None
    without_gc: bool = False
    clock: Clock = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class Measurement:
    """Samples, the calls of one, and the result of the last call."""

    samples: tuple[Sample, ...]
    calls: int
    result: Any


def in_nanoseconds(seconds: Callable[[], float]) -> Clock:
    """A clock of seconds as one of nanoseconds."""
    return lambda: round(seconds() * 1e9)


def step_ns(clock: Clock) -> int:
    """Smallest step of a clock."""
    readings = [clock() for _ in range(_READINGS)]
    steps = (after - before for before, after in itertools.pairwise(readings) if after > before)
    return min(steps, default=1)


def _loop(
    clock: Clock, iterator: Iterator[int], function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[int, Any]:
    result = None
    begin = clock()
    for _ in iterator:
        result = function(*args, **kwargs)
    return clock() - begin, result


def _bare_loop(
    clock: Clock,
    iterator: Iterator[int],
    function: Callable[..., Any],
    args: Any,  # noqa: ARG001
    kwargs: Any,  # noqa: ARG001
) -> tuple[int, Any]:
    result = None
    begin = clock()
    for _ in iterator:
        result = function()
    return clock() - begin, result


def _empty() -> None:
    pass


def _empty_of_any(*_: Any, **__: Any) -> None:
    pass


class Timed:
    """A function with its arguments, and the loop that calls it."""

    def __init__(self, function: Callable[..., Any], arguments: Arguments, clock: Clock) -> None:
        self._function, (self._args, self._kwargs), self._clock = function, arguments, clock
        is_bare = not self._args and not self._kwargs
        self._loop = _bare_loop if is_bare else _loop
        self._none: Callable[..., None] = _empty if is_bare else _empty_of_any

    def run(self, calls: int) -> tuple[int, Any]:
        """Time of the loop in nanoseconds, and the last result. Raises what the function raises."""
        return self._loop(self._clock, iter(range(calls)), self._function, self._args, self._kwargs)

    def overhead_ns(self, calls: int) -> float:
        """Time of the loop with an empty function, for `calls` calls."""
        count = max(calls, _LEAST_EMPTY)
        samples = sorted(
            self._loop(self._clock, iter(range(count)), self._none, self._args, self._kwargs)[0]
            for _ in range(_EMPTY_SAMPLES)
        )
        return samples[_EMPTY_SAMPLES // 2] / count * calls

    def calibrate(self, shortest_ns: float) -> int:
        """Calls of a sample that lasts `shortest_ns`."""
        calls = 1
        while calls < _MOST_CALLS:
            elapsed_ns, _ = self.run(calls)
            if shortest_ns <= elapsed_ns < _LONG_NS:  # perhaps by an interruption of the process
                elapsed_ns = min(elapsed_ns, self.run(calls)[0])
            if elapsed_ns >= shortest_ns:
                break
            needed = math.ceil(1.2 * calls * shortest_ns / max(1, elapsed_ns))
            calls = min(calls * 10, max(calls * 2, needed))
        return calls


@contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def measure(
    function: Callable[..., Any], arguments: Arguments, budget: Budget, calls: int | None
) -> Measurement:
    """Samples within a budget; the calls of a sample are calibrated unless `calls` is given.

    The first sample, which fills caches or calibrates, does not count. Raises what the function raises.
    """
    timed = Timed(function, arguments, budget.clock)
    with _no_collection() if budget.without_gc else nullcontext():
        if budget.warmup_calls:
            timed.run(budget.warmup_calls)
        if calls is None:
            steps_ns = _STEPS * step_ns(budget.clock)
            calls = timed.calibrate(max(_SHORTEST_NS, steps_ns, budget.shortest_s * 1e9))
        elif calls > 1:
            timed.run(calls)
        overhead_ns = timed.overhead_ns(calls) if calls > 1 else 0.0
        samples: list[Sample] = []
        spent_ns, result = 0.0, None
        while len(samples) < budget.rounds or spent_ns < budget.seconds * 1e9:
            elapsed_ns, result = timed.run(calls)
            spent_ns += elapsed_ns
            samples.append(Sample(calls, max(0.0, elapsed_ns - overhead_ns)))
    return Measurement(tuple(samples), calls, result)


def measure_counted(function: Callable[..., Any], arguments: Arguments, counts: Counts) -> Measurement:
    """Samples by their numbers. Raises what the functions raise."""
    samples: list[Sample] = []
    result: Any = None
    with _no_collection() if counts.without_gc else nullcontext():
        for number in range(counts.warmup_rounds + counts.rounds):
            changed = None if counts.setup is None else counts.setup()
            args, kwargs = arguments if changed is None else changed
            timed = Timed(function, (args, kwargs), counts.clock)
            elapsed_ns, result = timed.run(counts.iterations)
            if number >= counts.warmup_rounds:
                overhead_ns = timed.overhead_ns(counts.iterations) if counts.iterations > 1 else 0.0
                samples.append(Sample(counts.iterations, max(0.0, elapsed_ns - overhead_ns)))
            if counts.teardown is not None:
                counts.teardown(*args, **kwargs)
    return Measurement(tuple(samples), counts.iterations, result)
