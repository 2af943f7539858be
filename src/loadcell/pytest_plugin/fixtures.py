"""The fixtures `loadcell` and `benchmark`: a test passes the function that is to be timed.

`benchmark` has the interface that pytest-benchmark documents.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from loadcell.pytest_plugin import timing
from loadcell.pytest_plugin.stages import Stage, keywords
from loadcell.pytest_plugin.timing import Arguments, Budget, Clock, Counts, Sample

if TYPE_CHECKING:
    from loadcell.pytest_plugin.settings import BenchmarkSettings


class FixtureUsedTwiceError(Exception):
    """A test passed a second function to its fixture."""


class FunctionStats:
    """Times of a function, in seconds for one call, by the names that pytest-benchmark gives them."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.data = [sample.elapsed_ns / sample.calls / 1e9 for sample in samples]
        self.iterations = samples[0].calls if samples else 0
        self.rounds = len(samples)

    def __getitem__(self, name: str) -> Any:
        """A value by its name. Raises KeyError."""
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    @property
    def stats(self) -> FunctionStats:
        """The same: pytest-benchmark nests them."""
        return self

    @cached_property
    def min(self) -> float:
        """Shortest time."""
        return min(self.data, default=math.nan)

    @cached_property
    def max(self) -> float:
        """Longest time."""
        return max(self.data, default=math.nan)

    @cached_property
    def mean(self) -> float:
        """Mean time."""
        return math.fsum(self.data) / len(self.data) if self.data else math.nan

    @cached_property
    def median(self) -> float:
        """Median time."""
        return self._quantile(0.5)

    @cached_property
    def stddev(self) -> float:
        """Standard deviation; 0 of a single sample."""
        if len(self.data) < 2:
            return 0.0
        squares = math.fsum((value - self.mean) ** 2 for value in self.data)
        return math.sqrt(squares / (len(self.data) - 1))

    @cached_property
    def q1(self) -> float:
        """First quartile."""
        return self._quantile(0.25)

    @cached_property
    def q3(self) -> float:
        """Third quartile."""
        return self._quantile(0.75)

    @cached_property
    def iqr(self) -> float:
        """Interquartile range."""
        return self.q3 - self.q1

    @cached_property
    def total(self) -> float:
        """Sum of all times."""
        return math.fsum(self.data)

    @cached_property
    def ops(self) -> float:
        """Calls per second."""
        return 1 / self.mean if self.mean else 0.0

    def _quantile(self, share: float) -> float:
        """A quantile, interpolated between order statistics (Hyndman and Fan 1996, type 7)."""
        if not self.data:
            return math.nan
        ordered = sorted(self.data)
        position = share * (len(ordered) - 1)
        low = math.floor(position)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (position - low) * (ordered[high] - ordered[low])


class FunctionFixture:
    """The object that a test uses as `benchmark`, or as `loadcell`.

    `stage` is None where nothing is measured: the function is then called once.
    """

    def __init__(self, node: pytest.Item, stage: Stage | None, settings: BenchmarkSettings) -> None:
        self._node = node
        marker = node.get_closest_marker("benchmark")
        self._marked: Mapping[str, Any] = {} if marker is None else marker.kwargs
        self._stage, self._settings = stage, settings
        self._is_used = False
        callspec = getattr(node, "callspec", None)
        self.name: str = node.name
        self.fullname: str = node.nodeid
        self.param: str | None = None if callspec is None else callspec.id
        self.params: dict[str, Any] | None = None if callspec is None else dict(callspec.params)
        self.group: str | None = self._marked.get("group")
        self.extra_info: dict[str, Any] = {}
        self.stats: FunctionStats | None = None

    @property
    def enabled(self) -> bool:
        """True if the function is measured."""
        return self._stage is not None

    @property
    def disabled(self) -> bool:
        """True if the function is only called."""
        return not self.enabled

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Measure a function with these arguments, and return the result of its last call."""
        self._use()
        if self._stage is None:
            return function(*args, **kwargs)
        measurement = self._stage.measure(function, (args, kwargs), self._budget())
        self.stats = FunctionStats(measurement.samples)
        return measurement.result

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
        setup: Callable[[], Arguments | None] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
        teardown: Callable[..., object] | None = None,
    ) -> Any:
        """Measure a function by numbers: `rounds` samples of `iterations` calls; returns the last result.

        The rounds are those of all repeats together, at least one in each. Raises TypeError and ValueError.
        """
        self._use()
        _check_counts(rounds, warmup_rounds, iterations)
        if setup is not None and iterations != 1:
            from loadcell.pytest_plugin.messages import SETUP_ITERATIONS  # noqa: PLC0415 - only of errors

            raise ValueError(SETUP_ITERATIONS().text)
        repeats = self._settings.repeats
        counts = Counts(
            math.ceil(rounds / repeats), iterations, math.ceil(warmup_rounds / repeats), setup, teardown,
            self._value("disable_gc", self._settings.disable_gc), self._clock(),
        )  # fmt: skip
        stage = self._stage or Stage()
        measurement = stage.measure_counted(target, (tuple(args), keywords(kwargs)), counts)
        if self._stage is not None:
            self.stats = FunctionStats(measurement.samples)
        return measurement.result

    def weave(self, target: str | Callable[..., Any], **_options: object) -> None:
        """Measure the call of a function that the test makes itself, until the end of the test.

        `target` is a function or a method, or its name `package.module.function`. Other options have no
        effect. Raises ImportError and AttributeError.
        """
        function = pkgutil.resolve_name(target) if isinstance(target, str) else target
        if isinstance(target, str):
            path, _, name = target.rpartition(".")
            owner = pkgutil.resolve_name(path)
        else:
            path, _, name = function.__qualname__.rpartition(".")
            owner = pkgutil.resolve_name(f"{function.__module__}:{path}")

        @functools.wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            return self(function, *args, **kwargs)

        setattr(owner, name, measured)
        self._node.addfinalizer(lambda: setattr(owner, name, function))

    patch = weave

    def _use(self) -> None:
        if self._is_used:
            from loadcell.pytest_plugin.messages import USED_TWICE  # noqa: PLC0415 - only of errors

            raise FixtureUsedTwiceError(USED_TWICE().text)
        self._is_used = True

    def _value(self, name: str, default: Any) -> Any:
        return self._marked.get(name, default)

    def _budget(self) -> Budget:
        """The part of one repeat in the limits, which are those of all repeats."""
        settings = self._settings
        warmup = self._value("warmup", settings.warmup)
        return Budget(
            seconds=float(self._value("max_time", settings.max_time)) / settings.repeats,
            shortest_s=float(self._value("min_time", settings.min_time)),
            rounds=math.ceil(int(self._value("min_rounds", settings.min_rounds)) / settings.repeats),
            warmup_calls=int(self._value("warmup_iterations", settings.warmup_iterations))
            if warmup is True
            else 0,
            without_gc=bool(self._value("disable_gc", settings.disable_gc)),
            clock=self._clock(),
        )

    def _clock(self) -> Clock:
        timer = self._value("timer", None) or self._settings.timer
        return Budget(0).clock if timer is None else timing.in_nanoseconds(timer)


def _check_counts(rounds: int, warmup_rounds: int, iterations: int) -> None:
    for name, value, least in (
        ("rounds", rounds, 1),
        ("iterations", iterations, 1),
        ("warmup_rounds", warmup_rounds, 0),
    ):
        if not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number, not {value!r}")
        if value < least:
            from loadcell.pytest_plugin.messages import COUNT_TOO_SMALL  # noqa: PLC0415 - only of errors

            raise ValueError(COUNT_TOO_SMALL(name=name, least=str(least), value=str(value)).text)


def timer_named(name: str) -> Callable[[], float]:
    """The function `module.name`. Raises ImportError and AttributeError."""
    module, _, function = name.rpartition(".")
    timer: Callable[[], float] = getattr(importlib.import_module(module), function)
    return timer
