"""Results of timed tests, before they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from loadcell.pytest_plugin.timing import Sample

#: What is timed of a test: its call phase, or the function that it passes to a fixture.
Subject = Literal["call-phase", "function"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One repeat of one test: its samples, or the failure in one line.

    `growth_bytes` is the growth of the resident set during the call phase, `threads` the number of threads
    that it left running.
    """

    samples: tuple[Sample, ...] = ()
    failure: str | None = None
    started_utc_ns: int = 0
    ended_utc_ns: int = 0
    growth_bytes: int | None = None
    threads: int = 0

    @property
    def calls(self) -> int:
        """Number of timed calls."""
        return sum(sample.calls for sample in self.samples)

    @property
    def call_ms(self) -> float | None:
        """Mean time of a call in milliseconds; None without any."""
        calls = self.calls
        return sum(sample.elapsed_ns for sample in self.samples) / calls / 1e6 if calls else None


@dataclass(slots=True)
class TestResult:
    """A test: its node id, what is timed of it, and its outcomes by repeat.

    `failure` is that of the pass before the measurement, in one line: such a test is not timed.
    `peak_bytes` is the peak allocation of an extra call. `group` is that of the marker.
    """

    __test__ = False

    node_id: str
    subject: Subject = "call-phase"
    group: str | None = None
    failure: str | None = None
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    peak_bytes: int | None = None

    @property
    def call_times_ms(self) -> Sequence[float]:
        """Times of a call of all repeats that passed."""
        return [value for outcome in self.outcomes.values() if (value := outcome.call_ms) is not None]
