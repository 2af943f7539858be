"""Progress of a run in the output of a notebook's cell, which changes in place."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

from loadcell.execution.forecast import Course
from loadcell.execution.progress import PROGRESS_COURSE, PROGRESS_PATH, PROGRESS_REUSED, unscored
from loadcell.execution.progress_current import MARKS, PROGRESS_NOTE, CurrentProgress
from loadcell.model.message import Message
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.problems import Writer, in_english

#: Finished trials that are shown: a notebook stores its outputs.
_LINES = 30
#: Each update is a message to the browser.
_LEAST_BETWEEN_S = 0.25


def is_kernel() -> bool:
    """True in the kernel of a notebook, where IPython is loaded."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookProgress(CurrentProgress):
    """The finished trials, and below them the present one and a bar."""

    def __init__(self, write: Writer = in_english, *, verbose: bool = False) -> None:
        super().__init__(write=write, verbose=verbose)
        self._lines: list[str] = []
        self._hidden = 0
        self._handle: Any = None
        self._shown_at = 0.0

    def fetching(self, message: Message) -> None:
        self.say(self.write(message))

    def run_began(self, course: Course) -> None:
        super().run_began(course)
        title = self.write(PROGRESS_COURSE(title=course.title, size=course.size))
        self.say(title + (self.write(PROGRESS_REUSED(trials=course.reused)) if course.reused else ""))
        self.say(self.write(PROGRESS_PATH(path=course.path)))

    def phase(self, name: str) -> None:
        super().phase(name)
        self._update()

    def preparing(self, done_rows: int, total_rows: int) -> None:
        super().preparing(done_rows, total_rows)
        self._update()

    def interval(self, rate_per_s: float, p99_ms: float | None, errors: int, backlog: int) -> None:
        super().interval(rate_per_s, p99_ms, errors, backlog)
        self._update()

    def trial_ended(self, record: TrialRecord) -> None:
        super().trial_ended(record)
        self.say(f"{MARKS.get(record.status, '?')} {self.outcome(record)}")

    def unscored_ended(self, record: TrialRecord) -> None:
        super().unscored_ended(record)
        if record.status in ("ok", "invalid"):
            self.say(f"{MARKS['ok']} {unscored(record, self.write)}")

    def run_ended(self) -> None:
        self._update(at_once=True)

    def noted(self, text: str) -> str:
        return f"{self.write(PROGRESS_NOTE())}  {text}"

    def say(self, text: str) -> None:
        self._lines.append(text)
        if len(self._lines) > _LINES:
            del self._lines[2]  # behind the title and the path
            self._hidden += 1
        self._update(at_once=True)

    def _update(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self._shown_at < _LEAST_BETWEEN_S:
            return
        self._shown_at = now
        bundle = {"text/plain": self.text(), "text/html": self.html()}
        if self._handle is None:
            display = sys.modules["IPython"].display
            self._handle = display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def text(self) -> str:
        """The state as plain text."""
        return "\n".join([*self._all_lines(), *filter(None, self._present_lines())])

    def html(self) -> str:
        """The state as HTML, with a bar."""
        text = escape("\n".join([*self._all_lines(), *filter(None, self._present_lines())]))
        bar = ""
        present = self.present()
        if present is not None:
            bar = f'<progress value="{present.share:.3f}" max="1" style="width: 100%"></progress>'
        return f'<pre style="white-space: pre-wrap; margin: 0">{text}</pre>{bar}'

    def _all_lines(self) -> list[str]:
        hidden = ["…"] if self._hidden else []
        return [*self._lines[:2], *hidden, *self._lines[2:]]

    def _present_lines(self) -> tuple[str, ...]:
        present = self.present()
        if present is None:
            return ()
        now = "  ".join(part for part in (present.trial, present.phase, present.values) if part)
        return now, present.search, f"{present.count}  {present.remaining}".rstrip()
