"""Passes over the tests after the ordinary one: each decides what becomes of a test's calls.

Standard library only, because it runs between tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loadcell.pytest_plugin import timing
from loadcell.pytest_plugin.timing import Arguments, Budget, Counts, Measurement, Sample


class Stage:
    """A pass that only calls: each function once.

    `samples` are those of the test that runs, `uses_function` is True once it has passed a function to a
    fixture.
    """

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.uses_function = False

    def begin(self, node_id: str) -> None:  # noqa: ARG002 - of subclasses
        """Begin a test."""
        self.samples = []
        self.uses_function = False

    @contextmanager
    def around(self) -> Iterator[None]:
        """Have the block be the test's call phase."""
        yield

    def call(self, function: Callable[[], Any]) -> Any:
        """Call the test function."""
        with self.around():
            return function()

    def measure(self, function: Callable[..., Any], arguments: Arguments, budget: Budget) -> Measurement:  # noqa: ARG002
        """Call a function that the test passes to a fixture."""
        return self._function(function, arguments)

    def measure_counted(
        self, function: Callable[..., Any], arguments: Arguments, counts: Counts
    ) -> Measurement:
        """Call a function with a setup and a teardown."""
        changed = None if counts.setup is None else counts.setup()
        args, kwargs = arguments if changed is None else changed
        measurement = self._function(function, (args, kwargs))
        if counts.teardown is not None:
            counts.teardown(*args, **kwargs)
        return measurement

    def _function(self, function: Callable[..., Any], arguments: Arguments) -> Measurement:
        self.uses_function = True
        args, kwargs = arguments
        began_ns = time.perf_counter_ns()
        result = function(*args, **kwargs)
        return Measurement((Sample(1, time.perf_counter_ns() - began_ns),), 1, result)


@dataclass(slots=True)
class Calibration:
    """Calls of a sample by node id: those of the first repeat hold for all others."""

    calls: dict[str, int] = field(default_factory=dict)


class TimedStage(Stage):
    """A repeat: call phases and functions are timed."""

    def __init__(self, calibration: Calibration) -> None:
        super().__init__()
        self._calibration = calibration
        self._node_id = ""

    def begin(self, node_id: str) -> None:
        super().begin(node_id)
        self._node_id = node_id

    @contextmanager
    def around(self) -> Iterator[None]:
        began_ns = time.perf_counter_ns()
        try:
            yield
        finally:
            self._add(time.perf_counter_ns() - began_ns)

    def call(self, function: Callable[[], Any]) -> Any:
        began_ns = time.perf_counter_ns()  # a context manager would take a microsecond of it
        try:
            return function()
        finally:
            self._add(time.perf_counter_ns() - began_ns)

    def _add(self, elapsed_ns: int) -> None:
        if not self.uses_function:
            self.samples.append(Sample(1, elapsed_ns))

    def measure(self, function: Callable[..., Any], arguments: Arguments, budget: Budget) -> Measurement:
        self.uses_function = True
        calls = self._calibration.calls
        measurement = timing.measure(function, arguments, budget, calls.get(self._node_id))
        calls[self._node_id] = measurement.calls
        self.samples.extend(measurement.samples)
        return measurement

    def measure_counted(
        self, function: Callable[..., Any], arguments: Arguments, counts: Counts
    ) -> Measurement:
        self.uses_function = True
        measurement = timing.measure_counted(function, arguments, counts)
        self.samples.extend(measurement.samples)
        return measurement


def wrapped(stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
    """A test function whose call the stage makes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return stage.call(lambda: function(*args, **kwargs))

    return call


def keywords(values: Mapping[str, object] | None) -> dict[str, object]:
    """Keyword arguments, none for None."""
    return dict(values or {})
