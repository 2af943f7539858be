"""State of a run in progress, for displays that change: its present trial, and the remaining time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TextIO

from loadcell.execution.forecast import Course, Forecast
from loadcell.execution.progress import (
    PROGRESS_ERRORS,
    PROGRESS_LEFT,
    Progress,
    Sought,
    bracket,
    duration,
    filled,
    milliseconds,
    phase_name,
    rate,
)
from loadcell.model.message import Count, MessageCode
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.problems import Writer, in_english

PROGRESS_REUSED_LIVE = MessageCode("progress.reused.live", "info", trials=str)
PROGRESS_NOTE = MessageCode("progress.note", "info")
PROGRESS_ROWS = MessageCode("progress.rows", "info", rows=Count, share=str)
PROGRESS_INDEXING = MessageCode("progress.indexing", "info", rows=Count)
PROGRESS_MADE = MessageCode("progress.made", "info", share=str)
PROGRESS_BACKLOG = MessageCode("progress.backlog", "info", count=Count)

#: Marks of finished trials by their status.
MARKS = {"ok": "✓", "invalid": "!", "failed": "✗", "timed-out": "✗", "aborted": "-"}


@dataclass(frozen=True)
class Present:
    """State at a moment: texts in the reader's language, and the completed share (0 to 1).

    `phase` includes its duration so far, `search` is empty in other designs, and `remaining` where the time
    is not known.
    """

    trial: str
    phase: str
    values: str
    search: str
    count: str
    share: float
    remaining: str


class CurrentProgress(Progress):
    """Notes what the runner reports; `present` is its state."""

    def __init__(
        self, stream: TextIO | None = None, write: Writer = in_english, *, verbose: bool = False
    ) -> None:
        super().__init__(stream, write, verbose=verbose)
        self._forecast: Forecast | None = None
        self._trial = ""
        self._phase = ""
        self._phase_began = 0.0
        self._values = ""
        self._made = ""
        self._sought: Sought | None = None

    def run_began(self, course: Course) -> None:
        self._forecast = Forecast(course)

    def sought(self, sought: Sought, course: Course) -> None:
        if self._forecast is not None:
            self._forecast.course = course
        self._sought = sought

    def trial_began(self, name: str) -> None:
        super().trial_began(name)
        if self._forecast is not None:
            self._forecast.trial_began()
        self._trial, self._values, self._made = name.partition("-")[2], "", ""

    def phase(self, name: str) -> None:
        super().phase(name)
        self._phase = phase_name(name, self.write)
        self._phase_began, self._values = time.monotonic(), ""
        if name == "measure" and self._forecast is not None:
            self._forecast.measuring()

    def preparing(self, done_rows: int, total_rows: int) -> None:
        if total_rows:
            share = f"{done_rows / total_rows:.0%}"
            is_loading = done_rows < total_rows
            code = PROGRESS_ROWS if is_loading else PROGRESS_INDEXING
            self._values = self.write(code.pick(share=share, rows=total_rows))

    def filling(self, share: float) -> None:
        self._values = self.write(filled(share))
        super().filling(share)

    def made(self, requests: int, of: int) -> None:
        # the numbers themselves would push the errors off a narrow terminal
        self._made = f"{self.write(PROGRESS_MADE(share=f'{requests / of:.0%}'))}  "
        if self._forecast is not None:
            self._forecast.share = requests / of

    def interval(self, rate_per_s: float, p99_ms: float | None, errors: int, backlog: int) -> None:
        p99 = "" if p99_ms is None else f"p99 {milliseconds(p99_ms)}  "
        waiting = f"  {self.write(PROGRESS_BACKLOG(count=backlog))}" if backlog else ""
        failed = self.write(PROGRESS_ERRORS(errors=errors))
        self._values = f"{self._made}{rate(rate_per_s)}  {p99}{failed}{waiting}"

    def trial_ended(self, record: TrialRecord) -> None:
        super().trial_ended(record)
        if self._forecast is not None:
            self._forecast.trial_ended()
        self._trial = self._phase = self._values = ""

    def unscored_began(self, name: str) -> None:
        self._trial, self._values = name, ""

    def unscored_ended(self, record: TrialRecord) -> None:
        super().unscored_ended(record)
        self._trial = self._phase = self._values = ""

    def present(self) -> Present | None:
        """The state now; None before the run has begun."""
        forecast = self._forecast
        if forecast is None:
            return None
        course = forecast.course
        is_measurable = not course.counted or forecast.done or forecast.share is not None
        in_phase = f"{self._phase} {duration(time.monotonic() - self._phase_began)}" if self._phase else ""
        remaining = PROGRESS_LEFT(duration=duration(forecast.left_s())) if is_measurable else None
        return Present(
            trial=self._trial,
            phase=in_phase,
            values=self._values,
            search="" if self._sought is None else bracket(self._sought, self.write),
            count=f"{course.reused + forecast.done}/{course.of}",
            share=forecast.share_done(),
            remaining="" if remaining is None else self.write(remaining),
        )
