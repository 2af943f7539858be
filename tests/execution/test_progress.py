"""Output of a run in progress: time left, a line a trial, and on a terminal two lines that live."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadcell.execution import progress
from loadcell.execution.forecast import Course, Forecast
from loadcell.execution.progress import (
    PROGRESS_TITLE,
    LineProgress,
    Progress,
    duration,
    milliseconds,
    rate,
)
from loadcell.execution.progress_live import LiveProgress
from loadcell.execution.runner import without_secrets
from loadcell.execution.worker import WORKER_NO_ENGINE
from loadcell.model.message import as_written
from loadcell.model.trial_record import ExpectationResult, Schedule, Status, Totals, TrialRecord
from loadcell.report.texts import Texts
from records import latency, trial


def course(trials: int = 4, load_s: float = 10.0, reused: int = 0) -> Course:
    return Course(
        PROGRESS_TITLE(title="A title [x]", title_zh="标题"),
        Path("results/p/r"),
        [(f"{n:03d}-a={n}-r1", load_s) for n in range(1, trials + 1)],
        reused,
    )


def ended(status: str = "ok", **more: Any) -> TrialRecord:
    totals = Totals(throughput_per_s=1234.5, errors=0, response=latency(p99_ms=4.206))
    return trial(**{"name": "001-a=1-r1", "status": Status(status), "totals": totals, **more})


class TestForecast:
    def forecast(self) -> tuple[Forecast, list[float]]:
        now = [0.0]
        return Forecast(course(), clock=lambda: now[0]), now

    def test_before_anything_is_known_it_is_the_loads_and_a_guess(self) -> None:
        forecast, _ = self.forecast()
        assert forecast.left_s() == 4 * (10 + 2)

    def test_it_learns_what_trials_take_besides_their_loads(self) -> None:
        forecast, now = self.forecast()
        forecast.trial_began()
        now[0] = 15.0
        forecast.trial_ended()
        assert forecast.left_s() == 3 * (10 + 5)

    def test_the_first_trial_starts_the_target_and_is_forgotten_when_there_are_others(self) -> None:
        forecast, now = self.forecast()
        for took in (60.0, 11.0):
            forecast.trial_began()
            now[0] += took
            forecast.trial_ended()
        assert forecast.left_s() == 2 * (10 + 1)

    def test_the_first_trial_of_each_target_is_foretold_by_those_of_others(self) -> None:
        now = [0.0]
        targets = ("disk", "memory", "disk", "memory", "volume", "volume")
        forecast = Forecast(replace(course(trials=6), targets=targets), clock=lambda: now[0])
        for took in (60.0, 110.0, 11.0):
            forecast.trial_began()
            now[0] += took
            forecast.trial_ended()
        assert forecast.left_s() == (10 + 1) + (10 + (50 + 100) / 2) + (10 + 1)

    def test_it_counts_down_within_a_trial_but_not_below_it(self) -> None:
        forecast, now = self.forecast()
        forecast.trial_began()
        now[0] = 5.0
        assert forecast.left_s() == 48 - 5
        now[0] = 500.0
        assert forecast.left_s() == 36
        assert 0 <= forecast.share_done() <= 1

    def test_where_requests_are_counted_it_goes_by_those_that_are_made(self) -> None:
        now = [0.0]
        forecast = Forecast(replace(course(trials=2, load_s=0.0), counted=True), clock=lambda: now[0])
        forecast.trial_began()
        now[0] = 2.0  # starting and warming up
        forecast.measuring()
        now[0], forecast.share = 5.0, 0.25
        assert forecast.left_s() == 3 * 3 + (
            5 + 3 * 3
        )  # three times as long again; and the other trial whole
        assert forecast.share_done() == 0.125
        now[0] = 14.0
        forecast.trial_ended()
        assert (forecast.share_done(), forecast.share) == (0.5, None)
        forecast.trial_began()
        assert forecast.left_s() == 14
        now[0] = 15.0
        forecast.measuring()
        now[0], forecast.share = 16.0, 0.5
        assert forecast.left_s() == 1  # this one is twice as fast

    def test_at_the_end_nothing_is_left(self) -> None:
        forecast, _ = self.forecast()
        for _ in range(4):
            forecast.trial_began()
            forecast.trial_ended()
        assert (forecast.left_s(), forecast.share_done()) == (0, 1)
        assert Forecast(course(trials=0)).share_done() == 1


class TestLines:
    @pytest.mark.parametrize(
        ("record", "line"),
        [
            (ended(), "a=1-r1  1,234/s  p99 4.21 ms  errors 0"),
            (ended("failed", reason="the target died", totals=None), "a=1-r1  failed: the target died"),
            (ended("invalid", reason="the client was the limit"),
             "a=1-r1  1,234/s  p99 4.21 ms  errors 0  invalid: the client was the limit"),
            (ended(expect=(ExpectationResult("errors == 0", "missed", 1),)),
             "a=1-r1  1,234/s  p99 4.21 ms  errors 0  missed: errors == 0"),
            (ended(schedule=Schedule(offered_per_s=1240.0)), "a=1-r1  1,234/s  p99 4.21 ms  errors 0"),
            (ended(schedule=Schedule(offered_per_s=2000.0)),
             "a=1-r1  1,234/s of 2,000/s offered  p99 4.21 ms  errors 0"),
        ],
    )  # fmt: skip
    def test_a_trial_in_a_line(self, record: TrialRecord, line: str) -> None:
        assert progress.outcome(record) == line

    @pytest.mark.parametrize("lang", ["en", "zh"])
    def test_no_line_holds_a_secret(self, lang: str) -> None:
        reason = WORKER_NO_ENGINE(said="the server refused s3cret")
        failed = replace(
            ended("failed", totals=None),
            reason=reason.text,
            reason_code=reason.code,
            reason_args=reason.plain_arguments,
            advice="do not use s3cret",
        )
        hidden = without_secrets(failed, lambda text: text.replace("s3cret", "***"))
        line = progress.outcome(hidden, Texts(lang).message)
        assert "s3cret" not in line
        assert "***" in line

    def test_a_trial_without_a_reason_has_a_sentence_in_each_language(self) -> None:
        failed = ended("failed", totals=None)
        assert progress.outcome(failed).endswith("failed: no reason was recorded")
        assert "没有记录原因" in progress.outcome(failed, Texts("zh").message)

    def test_a_line_a_trial_with_count_and_time_left(self) -> None:
        stream = io.StringIO()
        progress = LineProgress(stream)
        progress.run_began(course(trials=2, reused=1))
        for name in ("002-a=1-r1", "003-a=1-r1"):
            progress.trial_began(name)
            progress.phase("measure")
            progress.interval(5.0, 1.0, 0, 0)
            progress.trial_ended(ended())
        progress.run_ended()
        assert stream.getvalue().splitlines() == [
            "A title [x]: 2 trials (1 reused), about 24 s",
            "writing results/p/r",
            "[2/3] a=1-r1  1,234/s  p99 4.21 ms  errors 0  10 s remaining",
            "[3/3] a=1-r1  1,234/s  p99 4.21 ms  errors 0",
        ]

    def test_quiet_says_only_what_must_be_said_and_that_once(self) -> None:
        stream = io.StringIO()
        progress = Progress(stream)
        progress.run_began(course())
        progress.trial_ended(ended())
        progress.note(as_written("another loadcell is running"))
        progress.note(as_written("another loadcell is running"))
        assert stream.getvalue() == "another loadcell is running\n"

    def test_quantities(self) -> None:
        assert [rate(value) for value in (0.51, 99.44, 12345.6)] == ["0.5/s", "99.4/s", "12,346/s"]
        assert [milliseconds(value) for value in (0.00474, 0.2131, 4.206, 42.06, 1230.4)] == [
            "4.7 µs", "0.213 ms", "4.21 ms", "42.1 ms", "1,230 ms",
        ]  # fmt: skip
        assert [duration(value) for value in (0.4, 59.4, 90, 3725)] == [
            "0 s",
            "59 s",
            "1 min 30 s",
            "1 h 02 min",
        ]


class TestOnATerminal:
    def screen(self, width: int = 80) -> tuple[LiveProgress, Console]:
        console = Console(
            file=io.StringIO(), force_terminal=True, width=width, color_system=None, highlight=False
        )
        return LiveProgress(console), console

    def drawn(self, progress: LiveProgress, console: Console) -> list[str]:
        with console.capture() as capture:
            console.print(progress._render())
        return capture.get().splitlines()

    def test_the_present_trial_and_the_whole_run_in_two_lines_of_80_columns(self) -> None:
        progress, console = self.screen()
        progress.run_began(course())
        progress.trial_began("001-clients=160,shared_buffers=512MB-r1")
        progress.phase("measure")
        progress.interval(12345.6, 42.06, 3, 0)
        now, bar = self.drawn(progress, console)
        progress.run_ended()
        assert now == "clients=160,shared_buffers=512MB-r1  measuring 0 s  12,346/s  p99 42.1 ms  erro…"
        assert bar.startswith("0/4 ")
        assert bar.endswith(" 48 s remaining")
        assert len(bar) == 80

    def test_requests_that_are_made_of_those_that_are_asked_for(self) -> None:
        progress, console = self.screen()
        progress.run_began(replace(course(trials=1, load_s=0.0), counted=True))
        progress.trial_began("001-a=1-r1")
        progress.phase("measure")
        assert (
            "remaining" not in self.drawn(progress, console)[1]
        )  # nothing is known before the first are made
        progress.made(250, 1_000)
        progress.interval(12345.6, 42.06, 3, 0)
        *_, now, bar = self.drawn(progress, console)
        progress.run_ended()
        assert "25% complete  12,346/s" in now
        assert bar.endswith(" remaining")

    def test_rows_while_data_are_loaded(self) -> None:
        progress, console = self.screen()
        progress.run_began(course())
        progress.trial_began("001-a=1-r1")
        progress.phase("prepare")
        progress.preparing(50_000, 200_000)
        assert "preparing data 0 s  25% of 200,000 rows" in self.drawn(progress, console)[0]
        progress.run_ended()

    def test_data_that_a_service_stores_before_it_is_ready(self) -> None:
        progress, console = self.screen()
        progress.run_began(course())
        progress.trial_began("001-a=1-r1")
        progress.phase("up")
        progress.filling(0.4)
        assert "starting the target 0 s  40% of the data stored" in self.drawn(progress, console)[0]
        progress.filling(1.0)
        assert "all data stored; waiting until it is ready" in "".join(self.drawn(progress, console))
        progress.phase("warmup")
        assert "stored" not in "".join(self.drawn(progress, console))
        progress.run_ended()

    def test_finished_trials_scroll_by_with_their_state(self) -> None:
        progress, console = self.screen()
        progress.run_began(course())
        progress.trial_began("001-a=1-r1")
        progress.trial_ended(ended())
        progress.trial_began("002-a=1-r1")
        progress.trial_ended(ended("failed", reason="it broke [really]", totals=None))
        progress.note(as_written("mind [this]"))
        progress.run_ended()
        assert isinstance(console.file, io.StringIO)
        message = console.file.getvalue()
        assert "A title [x]" in message
        assert "✓ a=1-r1  1,234/s" in message
        assert "✗ a=1-r1  failed: it broke [really]" in message
        assert "mind [this]" in message
