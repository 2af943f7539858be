"""A server ends with the run that started it, whoever runs it and however the run ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from .conftest import Bench

_RUNNER = Path(__file__).with_name("runner.py")

#: Ends being root, but keeps the right to read, as the interpreter may lie where only root can go.
_AS_NOBODY = [
    "setpriv",
    "--reuid=nobody",
    "--regid=nogroup",
    "--clear-groups",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search",
]


@contextmanager
def runner(
    work: Path, how: str = "", prefix: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A run in a separate process, and its server's process id."""
    command = [*prefix, sys.executable, str(_RUNNER), str(work), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        report = json.loads(process.stdout.readline())
        assert report["alive"]
        [pid] = report["pid"]
        yield process, pid
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def gone(pid: int, limit_s: float = 10) -> bool:
    deadline = time.monotonic() + limit_s
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not psutil.pid_exists(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_takes_its_server_along(shared: Bench, number: signal.Signals) -> None:
    with runner(shared.work) as (process, server):
        children = psutil.Process(server).children(recursive=True)
        assert children
        process.send_signal(number)
        assert gone(server)
        assert all(gone(child.pid) for child in children)


def test_its_data_are_sound_afterwards(shared: Bench) -> None:
    with runner(shared.work) as (process, server):
        process.kill()
        assert gone(server)
    shared.up()
    assert any("database system was shut down at" in line for line in shared.log), (
        "a fast shutdown, not a crash"
    )


def test_a_server_outlives_the_thread_that_brought_it_up(shared: Bench) -> None:
    with runner(shared.work, "thread") as (process, server):
        assert psutil.pid_exists(server)
        process.kill()
        assert gone(server)


def test_a_normal_user_runs_one_too(bench: Bench) -> None:
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        prefix = tuple(_AS_NOBODY)
        bench.work.chmod(0o777)
    with runner(bench.work, "", prefix) as (process, server):
        me = process.pid
        assert psutil.Process(server).uids().real == psutil.Process(me).uids().real != 0
        process.kill()
        assert gone(server)
    with runner(bench.work, "down", prefix) as (process, server):
        assert process.wait(timeout=30) == 0
        assert gone(server, limit_s=0)
    assert list(bench.work.iterdir()) == []
