"""Progress of a run: the interface, and the plain line-by-line form."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from typing import TextIO

from loadcell.execution.forecast import Course, Forecast
from loadcell.model.message import Count, Message, MessageCode, as_written
from loadcell.model.printable import printable
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import Status, TrialRecord
from loadcell.plan.expect import QUANTILES, enough
from loadcell.plan.problems import Writer, in_english

PROGRESS_TITLE = MessageCode("progress.title", "info", title=str, title_zh=str)
PROGRESS_COURSE = MessageCode("progress.course", "info", size=Message, title=Message)
PROGRESS_REUSED = MessageCode("progress.reused", "info", trials=str)
PROGRESS_ABOUT = MessageCode("progress.about", "info", duration=str)
PROGRESS_PATH = MessageCode("progress.path", "info", path=str)
PROGRESS_BEST = MessageCode("progress.best", "info", level=str, rate=str)
PROGRESS_LEFT = MessageCode("progress.left", "info", duration=str)
PROGRESS_UNSCORED = MessageCode("progress.unscored", "info", name=str, result=Message)
PROGRESS_UNSCORED_FAILED = MessageCode(
    "progress.unscored.failed", "info", name=str, reason=Message, remedy=Message
)
PROGRESS_OUTPUT_LOG = MessageCode("progress.output-log", "info")
PROGRESS_PROFILED = MessageCode("progress.profiled", "info", count=Count, event=str)
PROGRESS_CLASSES = MessageCode("progress.classes", "info", count=Count)
PROGRESS_PROFILE = MessageCode("progress.profile", "info", tool=str)
PROGRESS_PROFILED_RATE = MessageCode("progress.profiled.rate", "info", rate=str, samples=Message)
PROGRESS_CPU = MessageCode("progress.cpu", "info")
PROGRESS_NO_REASON = MessageCode("progress.no-reason", "info")
PROGRESS_SAME_REASON = MessageCode("progress.same-reason", "info")
PROGRESS_WITHOUT_RESULT = MessageCode("progress.without-result", "info", reason=Message, status=Message)
PROGRESS_OFFERED = MessageCode("progress.offered", "info", offered=str, throughput=str)
PROGRESS_P99 = MessageCode("progress.p99", "info", p99=str)
PROGRESS_ERRORS = MessageCode("progress.errors", "info", errors=str)
PROGRESS_MISSED = MessageCode("progress.missed", "info", conditions=list)
PROGRESS_UNJUDGED = MessageCode("progress.unjudged", "info", condition=str, count=Count, needed=Count)
PROGRESS_INVALID = MessageCode("progress.invalid", "info", reason=Message)
PROGRESS_STARTING = MessageCode("progress.phase.up", "info")
PROGRESS_FILLING = MessageCode("progress.filling", "info", share=str)
PROGRESS_FILLED = MessageCode("progress.filled", "info")
PROGRESS_PREPARING = MessageCode("progress.phase.prepare", "info")
PROGRESS_WARMING_UP = MessageCode("progress.phase.warmup", "info")
PROGRESS_MEASURING = MessageCode("progress.phase.measure", "info")
PROGRESS_COLLECTING = MessageCode("progress.phase.collect", "info")
PROGRESS_VERIFYING = MessageCode("progress.phase.verify", "info")
PROGRESS_PUTTING_AWAY = MessageCode("progress.phase.cleanup", "info")
PROGRESS_PHASE = MessageCode("progress.phase-ended", "info", phase=str, duration=str)

#: Phase of a trial -> its name.
_PHASES = {
    "up": PROGRESS_STARTING,
    "prepare": PROGRESS_PREPARING,
    "warmup": PROGRESS_WARMING_UP,
    "measure": PROGRESS_MEASURING,
    "collect": PROGRESS_COLLECTING,
    "verify": PROGRESS_VERIFYING,
    "cleanup": PROGRESS_PUTTING_AWAY,
}

#: A shorter phase is shown with tenths of a second.
_SHORT_S = 9.95


def title_of(run: RunRecord) -> Message:
    """The title of a run's plan, in the reader's language if it has one there."""
    return PROGRESS_TITLE(title=run.title_in("en"), title_zh=run.title_in("zh"))


@dataclass(frozen=True)
class Sought:
    """State of a search: its `stage`, the factor and the levels of others it is `among`.

    `ends` are the first and the last level, `between` those between which the answer lies (without an upper
    one before any was too high), `best` is the best level so far, and `value` its value per second. `low`,
    `high` and `at` are the positions of these, from 0 to 1.
    """

    stage: str
    factor: str
    among: str
    ends: tuple[str, str]
    between: tuple[str, str | None]
    best: str | None
    value: float | None
    low: float
    high: float
    at: float | None


#: How wide the line is on which a bracket is seen to close.
_LINE = 24


def bracket(sought: Sought, write: Writer = in_english) -> str:
    """The search on one line: `refine clients 1 ······├────●──┤···· 256  best 64: 12,345/s`."""
    low, high = (round(share * (_LINE - 1)) for share in (sought.low, sought.high))
    line = ["·" if not low <= column <= high else "─" for column in range(_LINE)]
    line[low] = "├"
    line[high] = "┤" if sought.between[1] is not None else "→"
    if sought.at is not None:
        line[round(sought.at * (_LINE - 1))] = "●"
    among = f" ({sought.among})" if sought.among else ""
    best = ""
    if sought.best is not None and sought.value is not None:
        best = f"  {write(PROGRESS_BEST(level=sought.best, rate=rate(sought.value)))}"
    stage = write(Message(f"stage.{sought.stage}"))
    return f"{stage} {sought.factor}{among} {sought.ends[0]} {''.join(line)} {sought.ends[1]}{best}"


class Progress:
    """Says nothing (`--quiet`), except what must be said; others fill in what they show.

    `write` writes messages in the reader's language. `verbose`: each phase of a trial gets a line when it has
    ended.
    """

    def __init__(
        self, stream: TextIO | None = None, write: Writer = in_english, *, verbose: bool = False
    ) -> None:
        self.stream = stream or sys.stderr
        self.write = write
        self._verbose = verbose
        self._present_phase: tuple[str, float] | None = None
        self._noted: set[str] = set()
        self._before: TrialRecord | None = None

    def fetching(self, message: Message) -> None:
        """A package of a server is fetched, before the run begins."""

    def run_began(self, course: Course) -> None:
        """The run begins."""

    def sought(self, sought: Sought, course: Course) -> None:
        """A search has decided on its next trial: where it stands, and what is ahead now."""

    def trial_began(self, name: str) -> None:
        """A trial begins."""
        if self._verbose:
            self.say(name)

    def phase(self, name: str) -> None:
        """It comes to its next phase."""
        self._phase_ended()
        self._present_phase = (name, time.monotonic())

    def _phase_ended(self) -> None:
        if self._verbose and self._present_phase is not None:
            name, began = self._present_phase
            took = duration(time.monotonic() - began, tenths=True)
            self.say(f"  {self.write(PROGRESS_PHASE(phase=phase_name(name, self.write), duration=took))}")
        self._present_phase = None

    def preparing(self, done_rows: int, total_rows: int) -> None:
        """Data are being loaded."""

    def filling(self, share: float) -> None:
        """A service that starts has stored this share of its data; with all of them it is soon ready."""
        if self._verbose:
            self.say(f"  {self.write(filled(share))}")

    def made(self, requests: int, of: int) -> None:
        """This many of the measurement's requests have ended, if their number ends it; precedes each
        interval.
        """

    def interval(self, rate_per_s: float, p99_ms: float | None, errors: int, backlog: int) -> None:
        """An interval of the load has gone by; `errors` counts since the measurement's start."""

    def trial_ended(self, record: TrialRecord) -> None:  # noqa: ARG002
        """A trial has ended; its trial.json."""
        self._phase_ended()

    def outcome(self, record: TrialRecord) -> str:
        """The line of a trial that has ended."""
        line = outcome(record, self.write, self._before)
        self._before = record
        return line

    def unscored_began(self, name: str) -> None:
        """A trial begins that counts in no figure."""

    def unscored_ended(self, record: TrialRecord) -> None:
        """It has ended; its trial.json. That it failed has to be said: nothing else tells."""
        if record.status not in ("ok", "invalid"):
            reason = reason_of(record)
            remedy = (reason and reason.remedy) or PROGRESS_OUTPUT_LOG()
            self.note(
                PROGRESS_UNSCORED_FAILED(
                    name=record.name, reason=reason or PROGRESS_NO_REASON(), remedy=remedy
                )
            )

    def run_ended(self) -> None:
        """The run has ended, however."""

    def note(self, message: Message, *, key: str = "") -> None:
        """Show a note to the user once; of notes that share a `key`, only the first."""
        text = self.write(message)
        if (key or text) not in self._noted:
            self._noted.add(key or text)
            self.say(self.noted(text))

    def noted(self, text: str) -> str:
        """The line of a note."""
        return text

    def say(self, text: str) -> None:
        """Print a line."""
        print(printable(text), file=self.stream, flush=True)


class LineProgress(Progress):
    """A line a trial: for logs, and wherever the output is no terminal."""

    def __init__(
        self, stream: TextIO | None = None, write: Writer = in_english, *, verbose: bool = False
    ) -> None:
        super().__init__(stream, write, verbose=verbose)
        self._forecast: Forecast | None = None

    def fetching(self, message: Message) -> None:
        self.say(self.write(message))

    def run_began(self, course: Course) -> None:
        self._forecast = Forecast(course)
        line = self.write(PROGRESS_COURSE(title=course.title, size=course.size))
        if course.reused:
            line += self.write(PROGRESS_REUSED(trials=course.reused))
        if not course.counted:
            line += self.write(PROGRESS_ABOUT(duration=duration(self._forecast.left_s())))
        self.say(line)
        self.say(self.write(PROGRESS_PATH(path=course.path)))

    def sought(self, sought: Sought, course: Course) -> None:
        if self._forecast is not None:
            self._forecast.course = course
        self.say(f"  {bracket(sought, self.write)}")

    def trial_began(self, name: str) -> None:
        super().trial_began(name)
        if self._forecast is not None:
            self._forecast.trial_began()

    def trial_ended(self, record: TrialRecord) -> None:
        super().trial_ended(record)
        forecast = self._forecast
        if forecast is None:
            return
        forecast.trial_ended()
        course = forecast.course
        count = f"[{course.reused + forecast.done:>{len(str(course.total))}}/{course.of}]"
        line = f"{count} {self.outcome(record)}"
        if forecast.done < len(course.trials) and not course.counted:
            line += f"  {self.write(PROGRESS_LEFT(duration=duration(forecast.left_s())))}"
        self.say(line)

    def unscored_ended(self, record: TrialRecord) -> None:
        super().unscored_ended(record)
        if record.status in ("ok", "invalid"):
            self.say(unscored(record, self.write))


def unscored(record: TrialRecord, write: Writer = in_english) -> str:
    """A finished trial that only profiles, in one line."""
    return write(PROGRESS_UNSCORED(name=record.name, result=profiled(record)))


def profiled(record: TrialRecord) -> Message:
    """Result of a trial that only profiles: `1,234 samples of cpu-clock, at 5,678/s`."""
    profile = record.profile
    count, event = (profile.samples, profile.event) if profile else (0, "")
    if profile is not None and profile.classes is not None:
        samples = PROGRESS_CLASSES(count=profile.classes.grown)
    elif profile is not None and profile.python is not None and not profile.samples:
        samples = PROGRESS_PROFILE(tool=profile.tool)
    else:
        samples = PROGRESS_PROFILED(count=count, event=event or PROGRESS_CPU())
    if not record.totals:
        return samples
    return PROGRESS_PROFILED_RATE(samples=samples, rate=rate(record.totals.throughput_per_s or 0.0))


def reason_of(record: TrialRecord) -> Message | None:
    """Why a trial has no result, or an invalid one."""
    if not record.reason_code:
        return None if record.reason is None else as_written(record.reason, record.advice or "")
    recorded = (record.reason or "", record.advice or "")
    return Message(record.reason_code, record.reason_args or {}, recorded=recorded)


#: An open loop that completed a smaller share of the offered load did not keep up: the offered load is shown.
_SUSTAINED = 0.99


def outcome(record: TrialRecord, write: Writer = in_english, before: TrialRecord | None = None) -> str:
    """A finished trial in one line: its metrics, or why it has none; not again where that is the reason of
    the trial `before`.
    """
    name, totals = record.name.partition("-")[2], record.totals
    reason = reason_of(record) or PROGRESS_NO_REASON()
    if before is not None and record.reason is not None and record.reason == before.reason:
        reason = PROGRESS_SAME_REASON()
    if record.status not in ("ok", "invalid") or totals is None:
        status = Message(f"status.{record.status}")
        return f"{name}  {write(PROGRESS_WITHOUT_RESULT(status=status, reason=reason))}"
    throughput = totals.throughput_per_s or 0.0
    p99_ms = totals.response.percentile_ms("99") if totals.response else None
    count = (totals.response.count if totals.response else None) or math.inf
    shown = p99_ms is not None and enough(count, QUANTILES["p99"])
    offered_per_s = record.schedule.offered_per_s if record.schedule else None
    throughput_text = rate(throughput)
    if offered_per_s is not None and throughput < _SUSTAINED * offered_per_s:
        throughput_text = write(PROGRESS_OFFERED(throughput=throughput_text, offered=rate(offered_per_s)))
    parts = [name, throughput_text]
    if shown and p99_ms is not None:
        parts.append(write(PROGRESS_P99(p99=milliseconds(p99_ms))))
    parts.append(write(PROGRESS_ERRORS(errors=totals.errors)))
    missed = [result.expression for result in record.expect if result.verdict == "missed"]
    if missed:
        parts.append(write(PROGRESS_MISSED(conditions=missed)))
    parts += (
        write(PROGRESS_UNJUDGED(condition=result.expression, count=result.count, needed=result.needed))
        for result in record.expect
        if result.needed is not None
    )
    if record.status is Status.INVALID:
        parts.append(write(PROGRESS_INVALID(reason=reason)))
    return "  ".join(parts)


def rate(per_second: float) -> str:
    """`1,234/s`, with a decimal where it matters."""
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def milliseconds(value: float) -> str:
    """Three significant digits: `0.213 ms`, `4.21 ms`, `1,230 ms`; below 0.1 ms in
    microseconds: `4.7 µs`.
    """
    if 0 < value < 0.1:
        return f"{value * 1e3:.1f} µs"
    if value >= 100:
        return f"{value:,.0f} ms"
    return f"{value:.3f} ms" if value < 1 else f"{value:.2f} ms" if value < 10 else f"{value:.1f} ms"


def filled(share: float) -> Message:
    """The state of a service that stores its data before it is ready."""
    return PROGRESS_FILLED() if share >= 1 else PROGRESS_FILLING(share=f"{share:.0%}")


def phase_name(name: str, write: Writer = in_english) -> str:
    """A phase of a trial in the reader's language."""
    code = _PHASES.get(name)
    return name if code is None else write(code())


def duration(seconds: float, *, tenths: bool = False) -> str:
    """`45 s`, `12 min 30 s`, `3 h 05 min`; with `tenths`, below ten seconds `4.2 s`."""
    if tenths and seconds < _SHORT_S:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"
