"""The trials of a run that are to come, and a forecast of the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from loadcell.model.message import Count, Message, MessageCode

PROGRESS_SEARCH = MessageCode("progress.search", "info", trials=str)
PROGRESS_TRIALS = MessageCode("progress.trials", "info", count=Count)

#: Before the first trial has ended: what a trial takes besides its load (loadcell.design.estimate).
_FIRST_GUESS_S = 2.0


@dataclass(frozen=True)
class Course:
    """Trials that will be run, by name, each with the seconds of load in it.

    `about`: the expected number of trials of a search, without names. `counted`: loads end by a number of
    requests, whose time is not among the seconds. `targets` identifies the target of each trial, whose first
    trial also starts it and loads its data; without it all trials have the same.
    """

    title: Message
    path: Path
    trials: Sequence[tuple[str, float]]
    reused: int = 0
    about: bool = False
    counted: bool = False
    targets: Sequence[str] = ()

    @property
    def size(self) -> Message:
        """Number of trials, in words."""
        count = len(self.trials)
        return PROGRESS_SEARCH(trials=count) if self.about else PROGRESS_TRIALS(count=count)

    @cached_property
    def firsts(self) -> frozenset[int]:
        """Positions of the first trials of targets."""
        positions = dict(zip(reversed(self.targets), reversed(range(len(self.targets))), strict=True))
        return frozenset(positions.values()) if self.targets else frozenset({0})

    @property
    def total(self) -> int:
        """Trials of the whole run, those kept from before included."""
        return len(self.trials) + self.reused

    @property
    def of(self) -> str:
        """The total, marked where it may still change."""
        return f"~{self.total}" if self.about else str(self.total)


@dataclass
class Forecast:
    """Time left, from the loads still to come and what trials have taken besides their loads so far."""

    course: Course
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    #: of the present trial's requests those that are made, 0 to 1; None where they are not counted, or none
    #: is
    share: float | None = None
    #: of the first trials of targets, and of the others
    _firsts: list[float] = field(default_factory=list)
    _others: list[float] = field(default_factory=list)
    _began: float | None = None
    _measuring: float | None = None

    def trial_began(self) -> None:
        """The next trial begins now."""
        self._began = self.clock()

    def measuring(self) -> None:
        """Its measurement begins now."""
        self._measuring = self.clock()

    def trial_ended(self) -> None:
        """It has ended."""
        if self._began is not None and self.done < len(self.course.trials):
            took = self.clock() - self._began
            overheads = self._firsts if self.done in self.course.firsts else self._others
            overheads.append(max(0.0, took - self.course.trials[self.done][1]))
        self.done += 1
        self._began = self._measuring = self.share = None

    def overhead_s(self, index: int) -> float:
        """Expected duration of a trial besides its load: the mean so far of first trials of targets, or of
        the others; of all where there are none of its kind.

        Where requests are counted the load is part of it, and the first trial's is foretold from what it has
        made.
        """
        of_kind = self._firsts if index in self.course.firsts else self._others
        overheads = of_kind or self._firsts or self._others
        if overheads:
            return sum(overheads) / len(overheads)
        to_come = self._to_come_s
        return _FIRST_GUESS_S if to_come is None else self._took_s + to_come

    @property
    def _took_s(self) -> float:
        """Duration of the present trial so far."""
        return 0.0 if self._began is None else self.clock() - self._began

    @property
    def _to_come_s(self) -> float | None:
        """Remaining duration of the present trial's requests at their present rate; None if they are not
        counted.
        """
        if not self.share or self._measuring is None:
            return None
        return (self.clock() - self._measuring) * (1 - self.share) / self.share

    def expected_s(self, index: int) -> float:
        """The whole time of one trial."""
        return self.course.trials[index][1] + self.overhead_s(index)

    def left_s(self) -> float:
        """From now to the end of the run."""
        if self.done >= len(self.course.trials):
            return 0.0
        to_come = self._to_come_s
        if to_come is None:
            to_come = max(0.0, self.expected_s(self.done) - self._took_s)
        return to_come + sum(
            self.expected_s(index) for index in range(self.done + 1, len(self.course.trials))
        )

    def share_done(self) -> float:
        """0 to 1, by expected time; by trials, and the present one's requests, where those are counted."""
        if self.course.counted:
            trials = len(self.course.trials)
            return (self.done + (self.share or 0.0)) / trials if trials else 1.0
        total_s = sum(self.expected_s(index) for index in range(len(self.course.trials)))
        return 1 - self.left_s() / total_s if total_s else 1.0
