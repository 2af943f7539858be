"""Commands that hang within the process of the tests are ended."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import click
import pytest

import lines
from in_time import TookTooLong, in_time


def hang() -> None:
    """As a command that waits for what never comes, and lets nothing stop it."""
    while True:
        try:
            threading.Event().wait()
        except Exception:
            continue


def test_a_call_that_hangs_fails_with_its_stack(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGUSR2)
    with pytest.raises(TookTooLong, match="not ended after") as caught, in_time(0.1):
        hang()
    assert "hang" in [entry.name for entry in caught.traceback]
    assert "in hang" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGUSR2) is before


def test_one_that_swallows_it_once_gets_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("in_time._AGAIN_S", 0.05)
    interruptions = []

    def deaf() -> None:
        while len(interruptions) < 2:
            try:
                time.sleep(60)
            except TookTooLong as error:
                interruptions.append(error)
        hang()

    with pytest.raises(TookTooLong), in_time(0.05):
        deaf()


def test_one_that_ends_is_let_be() -> None:
    with in_time(0.2):
        pass
    time.sleep(0.3)
    assert "in time" not in [thread.name for thread in threading.enumerate()]


def test_commands_called_by_tests_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "in_time", lambda: in_time(0.1))
    monkeypatch.setattr(lines, "main", click.command("hang")(hang))
    with pytest.raises(TookTooLong):
        lines.called(tmp_path)
    with pytest.raises(TookTooLong):
        lines.refused()
