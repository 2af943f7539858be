"""A session that measures: the ordinary pass, the repeats, the record, and the comparison."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadcell.pytest_plugin import (
    gate,
    messages,
    record,
    rounds,
    runs,
    sampling,
    serial,
    settings,
    table,
    wording,
)
from loadcell.pytest_plugin.options import value_of
from loadcell.pytest_plugin.results import TestResult
from loadcell.pytest_plugin.rounds import Order, Rounds, failure_of
from loadcell.pytest_plugin.stages import Stage

if TYPE_CHECKING:
    from loadcell.model.message import Message
    from loadcell.pytest_plugin.sampling import Stacks
    from loadcell.pytest_plugin.settings import Settings

#: Fixtures whose function is timed in place of the test.
FIXTURES = frozenset({"loadcell", "benchmark"})
MARKER = "loadcell"


def register(config: pytest.Config, name: str) -> None:
    """Register the plugin of this session. Raises pytest.UsageError for an option that cannot be used."""
    try:
        chosen = settings.of_config(config)
        if chosen.gate is not None:
            gate.check(chosen.gate, chosen.results)
        if chosen.labels:  # its module loads those of the report
            record.check(chosen)
    except wording.ERRORS as error:
        raise pytest.UsageError(wording.of_error(error)) from None
    session = Session(config, chosen)
    config.pluginmanager.register(session.rounds, f"{name}-rounds")
    config.pluginmanager.register(session, name)


class Session:
    """The plugin of a session with `--loadcell`.

    `disabled` is True if functions of fixtures are only called.
    """

    def __init__(self, config: pytest.Config, chosen: Settings) -> None:
        self.config, self.settings = config, chosen
        self.disabled = bool(value_of(config, "--benchmark-disable")) and not value_of(
            config, "--benchmark-enable"
        )
        self.rounds = Rounds()
        self.run: Path | None = None
        self.results: dict[str, TestResult] = {}
        self.stacks: dict[str, Stacks] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._first = Stage()
        self._failed = False

    @property
    def stage(self) -> Stage:
        """The pass over the tests, which decides on their calls."""
        return self.rounds.stage or self._first

    def pytest_report_header(self) -> list[str]:
        """Remarks on options that have no effect."""
        remarks: list[Message] = []
        if serial.was_applied(self.config):
            remarks.append(messages.XDIST())
        if self.settings.unused:
            remarks.append(messages.UNUSED(options=self.settings.unused))
        return [f"loadcell: {wording.written(remark)}" for remark in remarks]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a phase of the ordinary pass."""
        self._reports.setdefault(report.nodeid, []).append(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Measure after the ordinary pass, once plugins such as pytest-cov have ended theirs."""
        result = yield
        option = self.config.option
        only_shows = any(getattr(option, name, False) for name in ("collectonly", "setuponly", "setupplan"))
        if not only_shows and not session.shouldstop and not session.shouldfail:
            self._measure(session)
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Have the session fail where the gate does."""
        if self._failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _measure(self, session: pytest.Session) -> None:
        items = self._chosen(session.items)
        if not self.results:
            self._say(messages.NO_TESTS())
            return
        order = Order(self.settings.repeats, self.settings.seed, self._traces_memory())
        self._line("")
        self._say(messages.PROGRESS(tests=len(items), repeats=order.repeats, seed=str(order.seed)))
        started_ns, state = time.time_ns(), "interrupted"
        try:
            if items:
                os.chdir(self.config.invocation_params.dir)  # a test of the ordinary pass may have left it
                rounds.measure(self.rounds, items, self.results, order, self._on_repeat)
                self._profile(items)
            state = "finished"
        finally:
            self._line("")
            self.run = record.write(record.Recorded(
                self.settings, self.config, tuple(self.results.values()), started_ns, time.time_ns(), state,
                runs.command(self.config), self.stacks,
            ))  # fmt: skip
        if runs.is_follower():
            runs.report_path(self.run)
            return
        self._finish(self.run)

    def _profile(self, items: Sequence[pytest.Item]) -> None:
        """Profile the slowest tests, in the first of several runs."""
        if self.settings.profiled and not runs.is_follower():
            chosen = sampling.slowest(list(self.results.values()), self.settings.profiled)
            self.stacks = sampling.profile(self.rounds, items, chosen)

    def _finish(self, run: Path) -> None:
        """Print the results, make further runs, and compare them."""
        for line in table.lines(list(self.results.values()), self.settings.group_by):
            self._line(line)
        for remark in table.remarks(list(self.results.values()), self.rounds.directories):
            self._say(remark)
        made = [run]
        try:
            for number in range(2, self.settings.runs + 1):
                self._say(messages.RUN_STARTED(number=number, runs=self.settings.runs))
                made.append(runs.another(self.config, number))
            record.publish(run)
            for path in made:
                self._say(messages.RUN_PATH(path=str(path)))
            if self.settings.gate is not None:
                self._line("")
                outcome = gate.compare(self.settings.gate, made, self.settings.results, self._terminal)
                for remark in outcome.remarks:
                    self._say(remark)
                self._failed = outcome.fails
        except wording.ERRORS as error:
            self._line(wording.of_error(error))
            self._failed = True

    def _chosen(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Tests to be timed: those that passed. Tests that failed get a result, too."""
        chosen: dict[str, pytest.Item] = {}
        for item in items:
            if not self._is_wanted(item) or item.nodeid in self.results:
                continue
            reports = self._reports.get(item.nodeid, [])
            failure = failure_of(reports) if reports else "skipped"
            if failure == "skipped" or any(hasattr(report, "wasxfail") for report in reports):
                continue
            marker = item.get_closest_marker("benchmark")
            group = None if marker is None else marker.kwargs.get("group")
            self.results[item.nodeid] = TestResult(item.nodeid, group=group, failure=failure)
            if failure is None:
                chosen[item.nodeid] = item
        return list(chosen.values())

    def _is_wanted(self, item: pytest.Item) -> bool:
        uses_fixture = bool(FIXTURES.intersection(getattr(item, "fixturenames", ())))
        if self.disabled and uses_fixture:
            return False
        return not self.settings.only_marked or uses_fixture or item.get_closest_marker(MARKER) is not None

    def _traces_memory(self) -> bool:
        return self.settings.traces_memory and not runs.is_follower()

    @property
    def _terminal(self) -> Any:
        return self.config.pluginmanager.get_plugin("terminalreporter")

    def _on_repeat(self, number: int) -> None:
        if self._terminal is not None:
            self._terminal.write(f"{number}/{self.settings.repeats} ")
            self._terminal.flush()

    def _say(self, message: Message) -> None:
        self._line(f"loadcell: {wording.written(message)}")

    def _line(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write_line(text)
