"""Children that need no secret do not get it in their environment."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loadcell.cli.http import LOGIN
from loadcell.linux import process
from loadcell.report.pictures import VEGA_LITE, Painter


def test_only_what_programs_ask_for_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    monkeypatch.setenv(LOGIN, "Bearer hunter2")
    monkeypatch.setenv("LOADCELL_X_API_KEY", "hunter2")
    monkeypatch.setenv("LC_TIME", "C")
    variables = process.plain_environment()
    assert not variables.keys() & {"PGPASSWORD", LOGIN, "LOADCELL_X_API_KEY"}
    assert variables["LC_TIME"] == "C"
    assert "PATH" in variables


def test_the_child_that_draws_pictures_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    with Painter(VEGA_LITE) as painter:
        assert painter._process is not None
        file, deadline = Path(f"/proc/{painter._process.pid}/environ"), time.monotonic() + 30
        while not (environment := file.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.01)  # the new process has not executed the program yet
    assert b"PATH=" in environment
    assert b"hunter2" not in environment
