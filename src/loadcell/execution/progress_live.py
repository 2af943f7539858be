"""Progress on a terminal: finished trials scroll by, and two lines below them live."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadcell.execution.forecast import Course
from loadcell.execution.progress import unscored
from loadcell.execution.progress_current import (
    MARKS,
    PROGRESS_NOTE,
    PROGRESS_REUSED_LIVE,
    CurrentProgress,
)
from loadcell.model.message import Message
from loadcell.model.terminal import Terminal
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.problems import Writer, in_english

_REFRESH_PER_S = 4
_STYLES = {"ok": "green", "invalid": "yellow", "failed": "red", "timed-out": "red", "aborted": "yellow"}


class LiveProgress(CurrentProgress):
    """An overall bar with the time left; the present trial with its phase, rate, p99 and errors."""

    def __init__(
        self, console: Console | None = None, write: Writer = in_english, *, verbose: bool = False
    ) -> None:
        super().__init__(write=write, verbose=verbose)
        self._console = console or Terminal(stderr=True, highlight=False)
        self._live = Live(
            console=self._console,
            refresh_per_second=_REFRESH_PER_S,
            get_renderable=self._render,
            transient=True,
        )

    def fetching(self, message: Message) -> None:
        self.say(_safe(self.write(message)))

    def run_began(self, course: Course) -> None:
        super().run_began(course)
        reused = self.write(PROGRESS_REUSED_LIVE(trials=course.reused)) if course.reused else ""
        self.say(f"[bold]{_safe(self.write(course.title))}[/bold]  {self.write(course.size)}{reused}")
        self._console.print(f"[dim]{_safe(str(course.path))}[/dim]", soft_wrap=True)
        self._live.start()

    def trial_ended(self, record: TrialRecord) -> None:
        super().trial_ended(record)
        status = record.status
        missed = any(result.verdict == "missed" for result in record.expect)
        style = "yellow" if status == "ok" and missed else _STYLES.get(status, "red")
        self.say(f"[{style}]{MARKS.get(status, '?')}[/{style}] {_safe(self.outcome(record))}")

    def unscored_ended(self, record: TrialRecord) -> None:
        super().unscored_ended(record)
        if record.status in ("ok", "invalid"):
            self.say(f"[green]✓[/green] {_safe(unscored(record, self.write))}")

    def run_ended(self) -> None:
        self._live.stop()

    def noted(self, text: str) -> str:
        return f"[yellow]{self.write(PROGRESS_NOTE())}[/yellow]  {_safe(text)}"

    def say(self, text: str) -> None:
        self._console.print(text)

    def _render(self) -> RenderableType:
        present = self.present()
        if present is None:
            return Text("")
        bar = Table.grid(padding=(0, 1), expand=True)
        bar.add_column(no_wrap=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True, justify="right")
        bar.add_row(
            Text(present.count), ProgressBar(total=1.0, completed=present.share), Text(present.remaining)
        )
        now = Text(present.trial, overflow="ellipsis", no_wrap=True)
        if present.phase:
            now.append(f"  {present.phase}", style="dim")
        if present.values:
            now.append(f"  {present.values}", style="cyan")
        if not present.search:
            return Group(now, bar)
        search = Text(present.search, style="magenta", overflow="ellipsis", no_wrap=True)
        return Group(now, search, bar)


def _safe(text: str) -> str:
    """Text from outside is not markup."""
    return escape(text)
