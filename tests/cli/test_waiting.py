"""Nothing waits without a word, takes memory without a limit, or prints more than anybody reads."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loadcell.cli import main
from loadcell.ingest import inputs
from loadcell.model.message import Message
from loadcell.plan import secrets, source
from loadcell.store import query

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1" / "results"
RUN = next((DATA / "groups").iterdir())


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_plan_that_nobody_writes_is_refused(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_WAIT_S", 0.2)
    result = CliRunner().invoke(main, ["check", str(pipe)])
    assert result.exit_code == 2
    assert "a pipe without a writer" in result.output


def test_a_plan_from_a_pipe_is_read(pipe: Path) -> None:
    writer = threading.Thread(target=pipe.write_text, args=("target: nothing\n",))
    writer.start()
    result = CliRunner().invoke(main, ["check", str(pipe)])
    writer.join()
    assert "target" in result.output


def test_an_import_of_a_pipe_says_that_it_waits(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "QUIET_S", 0.1)

    announced, waiting_for = threading.Event(), inputs.IMPORT_WAITING

    def announce(**arguments: Any) -> Message:
        announced.set()
        return waiting_for(**arguments)

    def write() -> None:
        announced.wait(60)
        pipe.write_text("clients,tps\n1,100\n")

    monkeypatch.setattr(inputs, "IMPORT_WAITING", announce)

    writer = threading.Thread(target=write)
    writer.start()
    results = str(pipe.parent / "results")
    words = ["import", "csv", str(pipe), "--column", "throughput=tps", "--results", results]
    result = CliRunner().invoke(main, words)
    writer.join()
    assert result.stderr.startswith(f"waiting for {pipe}")
    assert result.exit_code == 0, result.output


def test_a_file_without_an_end_is_refused() -> None:
    try:
        descriptor = os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return  # only root reads the kernel's log, and not in every container
    os.close(descriptor)
    result = CliRunner().invoke(main, ["import", "auto", "/proc/kmsg"])
    assert result.exit_code == 2
    assert "has not ended" in result.stderr


def test_a_query_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "LONGEST_S", 0.5)
    monkeypatch.setattr(query, "MOST_VALUES", 100_000)
    endless = "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000000000) b"
    for sql, reason in ((endless, "was stopped after"), ("FROM range(1000000000)", "more than 100,000 rows")):
        began = time.monotonic()
        result = CliRunner().invoke(main, ["query", sql, str(RUN)])
        assert result.exit_code == 2
        assert reason in result.output
        assert time.monotonic() - began < 60


def test_a_mistake_prints_little(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("target: nothing\n" + "\n".join(f"key{number}: {'x' * 300}" for number in range(3000)))
    for options in ([], ["--json"]):
        result = CliRunner().invoke(main, ["check", str(plan), *options])
        assert result.exit_code == 2
        assert len(result.output) < 200_000


@pytest.mark.parametrize("text", ["a", "x://", "a:", "password=", " password='", "x://u:", "a+", "://a:b"])
def test_the_search_for_secrets_takes_linear_time(text: str) -> None:
    long = text * (100_000 // len(text))
    began = time.process_time()
    secrets.holds_literal(long)
    assert time.process_time() - began < 2
