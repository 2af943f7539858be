"""Repeats of tests by pytest's own protocol: fixtures of a function are set up again for every repeat."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from loadcell.pytest_plugin import tracing
from loadcell.pytest_plugin.order import shuffled
from loadcell.pytest_plugin.results import Outcome, TestResult
from loadcell.pytest_plugin.stages import Calibration, Stage, TimedStage, wrapped

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: Longest line of a failure.
_LONGEST = 300


def resident_bytes() -> int | None:
    """Resident set of this process; None where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - between timed calls
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def failure_of(reports: Sequence[pytest.TestReport]) -> str | None:
    """The first failure of a test in one line; None if it passed, `skipped` if it did not run."""
    for report in reports:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = str(report.longrepr if crash is None else crash.message)
            return " ".join(text.split())[:_LONGEST]
    if any(report.skipped for report in reports):
        return "skipped"
    return None


@dataclass(slots=True)
class Watch:
    """Memory around the call phase of the test that runs."""

    before_bytes: int | None = None
    after_bytes: int | None = None

    @property
    def growth_bytes(self) -> int | None:
        """Growth of the resident set; None if it was not measured."""
        if self.before_bytes is None or self.after_bytes is None:
            return None
        return self.after_bytes - self.before_bytes


class Rounds:
    """A plugin that runs tests again, in stages, while pytest reports nothing of them."""

    def __init__(self) -> None:
        self.stage: Stage | None = None
        self.directories: dict[str, None] = {}
        self._reports: list[pytest.TestReport] = []
        self._watch = Watch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test without a report, if it is run again."""
        if self.stage is None:
            return None
        self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
        return True

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Time tests that are no plain functions, and watch the memory of all."""
        if self.stage is None:
            return (yield)
        self._watch = Watch(resident_bytes())
        try:
            with _replaced(item, self.stage):
                return (yield)
        finally:
            self._watch.after_bytes = resident_bytes()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Time a test function."""
        stage = self.stage
        if stage is None:
            return (yield)
        if iscoroutinefunction(pyfuncitem.obj):
            # A plugin runs it in the hooks after this one.
            with stage.around():
                return (yield)
        with _attribute(pyfuncitem, "obj", wrapped(stage, pyfuncitem.obj)):
            return (yield)

    def run(
        self, items: Sequence[pytest.Item], stage: Stage, after: pytest.Item | None
    ) -> Iterator[tuple[pytest.Item, Outcome]]:
        """Run tests in this order; `after` is the test that follows the last one."""
        self.stage = stage
        try:
            for item, following in zip(items, (*items[1:], after), strict=True):
                yield item, self._run(item, stage, following)
        finally:
            self.stage = None

    def _run(self, item: pytest.Item, stage: Stage, following: pytest.Item | None) -> Outcome:
        gc.collect()
        directory, threads = os.getcwd(), threading.active_count()  # noqa: PTH109
        _renew(item)
        stage.begin(item.nodeid)
        began_ns = time.time_ns()
        # A test that is run twice in a row keeps its module, not its own fixtures.
        following = item.parent if following is item else following  # type: ignore[assignment]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        ended_ns = time.time_ns()
        if self._has_moved(directory):
            self.directories[item.nodeid] = None
        failure = failure_of(self._reports)
        return Outcome(
            samples=() if failure else tuple(stage.samples),
            failure=failure,
            started_utc_ns=began_ns,
            ended_utc_ns=ended_ns,
            growth_bytes=self._watch.growth_bytes,
            threads=max(0, threading.active_count() - threads),
        )

    @staticmethod
    def _has_moved(directory: str) -> bool:
        """True if the test changed the working directory, which is then that of before."""
        with contextlib.suppress(OSError):
            if os.getcwd() == directory:  # noqa: PTH109
                return False
        os.chdir(directory)
        return True


def _renew(item: pytest.Item) -> None:
    """Have a method get another instance of its class, as in every session."""
    if isinstance(item, pytest.Function) and item.cls is not None and "_instance" in vars(item):
        del item._instance
        item._obj = None


@contextlib.contextmanager
def _attribute(item: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(item, name)
    setattr(item, name, value)
    try:
        yield
    finally:
        setattr(item, name, before)


@contextlib.contextmanager
def _replaced(item: Any, stage: Stage) -> Iterator[None]:
    """Have the stage call what is no plain test function: of a unittest its method, else the entire item."""
    if isinstance(item, pytest.Function):
        if getattr(item, "nofuncargs", False) and not iscoroutinefunction(item.obj):
            with _attribute(item, "obj", wrapped(stage, item.obj)):
                yield
        else:
            yield
        return
    item.runtest = wrapped(stage, item.runtest)
    try:
        yield
    finally:
        del item.runtest


@dataclass(frozen=True, slots=True)
class Order:
    """A request for a measurement: repeats, the seed of their order, and whether memory is traced."""

    repeats: int
    seed: int
    traces_memory: bool


def measure(
    rounds: Rounds,
    items: Sequence[pytest.Item],
    results: dict[str, TestResult],
    order: Order,
    on_repeat: Callable[[int], None],
) -> None:
    """Run all tests in repeats, and trace their memory once; outcomes are added to `results` at once."""
    source = random.Random(order.seed)  # noqa: S311 - an order, no secret
    orders = [shuffled(items, source) for _ in range(order.repeats)]
    calibration = Calibration()
    gc.collect()
    gc.freeze()  # what the session has loaded is not searched before every test
    try:
        for number, ordered in enumerate(orders, 1):
            is_last = number == order.repeats and not order.traces_memory
            after = None if is_last else orders[number][0] if number < order.repeats else items[0]
            stage = TimedStage(calibration)
            for item, outcome in rounds.run(ordered, stage, after):
                result = results[item.nodeid]
                result.outcomes[number] = outcome
                if stage.uses_function:
                    result.subject = "function"
            on_repeat(number)
        if order.traces_memory:
            memory = tracing.MemoryStage()
            for _ in rounds.run(items, memory, None):
                pass
            for node_id, peak_bytes in memory.peaks_bytes.items():
                results[node_id].peak_bytes = peak_bytes
    finally:
        gc.unfreeze()
