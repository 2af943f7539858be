"""Signals during a run, and those of the process around it."""

from __future__ import annotations

import signal
import time

import pytest

from loadcell.execution.interrupts import Interrupted, Interrupts

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def test_handlers_are_those_of_before() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts() as interrupts:
        assert signal.getsignal(signal.SIGINT) == interrupts._asked
    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert interrupts.signal is None


def test_the_first_signal_is_recorded_and_breaks_a_step() -> None:
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.bounded(None):
        signal.raise_signal(signal.SIGTERM)
    assert (interrupts.requested, interrupts.signal) == (True, signal.SIGTERM)


def test_a_process_that_is_to_survive_only_loses_its_load_at_the_second_signal() -> None:
    kills: list[str] = []
    with Interrupts(lambda: kills.append("load"), ends_process=False) as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert kills == []
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert kills == ["load", "load"]
    assert interrupts.signal == signal.SIGINT


def test_a_timer_of_the_process_runs_on_after_the_run() -> None:
    rings: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rings.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with Interrupts():
            time.sleep(0.15)
            assert rings == []
        time.sleep(0.05)
        assert len(rings) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
