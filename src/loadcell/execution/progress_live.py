"""Progress on a terminal: finished trials scroll by, and two lines below them live."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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
    unscored,
)
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.terminal import Terminal
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.problems import Writer, in_english

PROGRESS_REUSED_LIVE = MessageCode("progress.reused.live", "info", trials=str)
PROGRESS_NOTE = MessageCode("progress.note", "info")
PROGRESS_ROWS = MessageCode("progress.rows", "info", rows=Count, share=str)
PROGRESS_INDEXING = MessageCode("progress.indexing", "info", rows=Count)
PROGRESS_MADE = MessageCode("progress.made", "info", share=str)
PROGRESS_BACKLOG = MessageCode("progress.backlog", "info", count=Count)

_REFRESH_PER_S = 4
_STYLES = {"ok": "green", "invalid": "yellow", "failed": "red", "timed-out": "red", "aborted": "yellow"}
_MARKS = {"ok": "✓", "invalid": "!", "failed": "✗", "timed-out": "✗", "aborted": "-"}


class LiveProgress(Progress):
    """An overall bar with the time left; the present trial with its phase, rate, p99 and errors."""

    def __init__(
        self, console: Console | None = None, write: Writer = in_english, *, verbose: bool = False
    ) -> None:
        super().__init__(write=write, verbose=verbose)
        self._console = console or Terminal(stderr=True, highlight=False)
        self._forecast: Forecast | None = None
        self._trial = ""
        self._phase = ""
        self._phase_began = 0.0
        self._figures = ""
        self._made = ""
        self._sought: Sought | None = None
        self._live = Live(
            console=self._console,
            refresh_per_second=_REFRESH_PER_S,
            get_renderable=self._render,
            transient=True,
        )

    def fetching(self, message: Message) -> None:
        self.say(_safe(self.write(message)))

    def run_began(self, course: Course) -> None:
        self._forecast = Forecast(course)
        reused = self.write(PROGRESS_REUSED_LIVE(trials=course.reused)) if course.reused else ""
        self.say(f"[bold]{_safe(self.write(course.title))}[/bold]  {self.write(course.size)}{reused}")
        self._console.print(f"[dim]{_safe(str(course.path))}[/dim]", soft_wrap=True)
        self._live.start()

    def sought(self, sought: Sought, course: Course) -> None:
        if self._forecast is not None:
            self._forecast.course = course
        self._sought = sought

    def trial_began(self, name: str) -> None:
        super().trial_began(name)
        if self._forecast is not None:
            self._forecast.trial_began()
        self._trial, self._figures, self._made = name.partition("-")[2], "", ""

    def phase(self, name: str) -> None:
        super().phase(name)
        self._phase = phase_name(name, self.write)
        self._phase_began, self._figures = time.monotonic(), ""
        if name == "measure" and self._forecast is not None:
            self._forecast.measuring()

    def preparing(self, done_rows: int, total_rows: int) -> None:
        if total_rows:
            share = f"{done_rows / total_rows:.0%}"
            is_loading = done_rows < total_rows
            code = PROGRESS_ROWS if is_loading else PROGRESS_INDEXING
            self._figures = self.write(code.pick(share=share, rows=total_rows))

    def filling(self, share: float) -> None:
        self._figures = self.write(filled(share))
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
        self._figures = f"{self._made}{rate(rate_per_s)}  {p99}{failed}{waiting}"

    def trial_ended(self, record: TrialRecord) -> None:
        super().trial_ended(record)
        if self._forecast is not None:
            self._forecast.trial_ended()
        status = record.status
        missed = any(result.verdict == "missed" for result in record.expect)
        style = "yellow" if status == "ok" and missed else _STYLES.get(status, "red")
        self.say(f"[{style}]{_MARKS.get(status, '?')}[/{style}] {_safe(self.outcome(record))}")
        self._trial = self._phase = self._figures = ""

    def unscored_began(self, name: str) -> None:
        self._trial, self._figures = name, ""

    def unscored_ended(self, record: TrialRecord) -> None:
        super().unscored_ended(record)
        if record.status in ("ok", "invalid"):
            self.say(f"[green]✓[/green] {_safe(unscored(record, self.write))}")
        self._trial = self._phase = self._figures = ""

    def run_ended(self) -> None:
        self._live.stop()

    def noted(self, text: str) -> str:
        return f"[yellow]{self.write(PROGRESS_NOTE())}[/yellow]  {_safe(text)}"

    def say(self, text: str) -> None:
        self._console.print(text)

    def _render(self) -> RenderableType:
        forecast = self._forecast
        if forecast is None:
            return Text("")
        course = forecast.course
        bar = Table.grid(padding=(0, 1), expand=True)
        bar.add_column(no_wrap=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True, justify="right")
        is_measurable = not course.counted or forecast.done or forecast.share is not None
        bar.add_row(
            Text(f"{course.reused + forecast.done}/{course.of}"),
            ProgressBar(total=1.0, completed=forecast.share_done()),
            Text(self.write(PROGRESS_LEFT(duration=duration(forecast.left_s()))) if is_measurable else ""),
        )
        now = Text(self._trial, overflow="ellipsis", no_wrap=True)
        if self._phase:
            now.append(f"  {self._phase} {duration(time.monotonic() - self._phase_began)}", style="dim")
        if self._figures:
            now.append(f"  {self._figures}", style="cyan")
        if self._sought is None:
            return Group(now, bar)
        return Group(
            now,
            Text(bracket(self._sought, self.write), style="magenta", overflow="ellipsis", no_wrap=True),
            bar,
        )


def _safe(text: str) -> str:
    """Text from outside is not markup."""
    return escape(text)
