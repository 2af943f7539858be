"""A server ends with the run that started it, whoever runs it and however the run ends."""

from __future__ import annotations

import contextlib
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

from execution.live import living, until
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench

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
    """A run in a separate process, and its server's process id (the primary's)."""
    command = [*prefix, sys.executable, str(_RUNNER), str(work), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        report = json.loads(process.stdout.readline())
        assert report["alive"]
        yield process, report["pid"][0]
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
def test_a_killed_run_takes_its_server_along(shared: Bench[Postgres], number: signal.Signals) -> None:
    with runner(shared.work, "standbys") as (process, server):
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        assert gone(server)
        assert all(gone(child.pid) for child in children)


def test_its_data_are_sound_afterwards(shared: Bench[Postgres]) -> None:
    with runner(shared.work) as (process, server):
        process.kill()
        assert gone(server)
    shared.up()
    assert any("database system was shut down at" in line for line in shared.log), (
        "a fast shutdown, not a crash"
    )


def test_a_server_outlives_the_thread_that_brought_it_up(shared: Bench[Postgres]) -> None:
    with runner(shared.work, "thread") as (process, server):
        assert psutil.pid_exists(server)
        process.kill()
        assert gone(server)


def test_a_normal_user_runs_one_too(bench: Bench[Postgres]) -> None:
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


def shared_memory() -> set[str]:
    """Names of PostgreSQL's files in /dev/shm, and numbers of System V segments."""
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    files = {path.name for path in Path("/dev/shm").glob("PostgreSQL.*")}
    return files | {line.split()[1] for line in segments}


def killed(server: int) -> None:
    """Kill a server with all its processes, so that nothing is left to put anything away."""
    processes = [psutil.Process(server), *psutil.Process(server).children(recursive=True)]
    os.kill(server, signal.SIGSTOP)
    for process in reversed(processes):
        with contextlib.suppress(psutil.NoSuchProcess):  # it was on its way to its end
            process.kill()
    until(lambda: not living([process.pid for process in processes]), "its end")


def held(server: int) -> set[str]:
    """Shared memory of a server, of that present."""
    maps = {Path(entry.path).name for entry in psutil.Process(server).memory_maps(grouped=False)}
    lines = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {name for name in maps if name.startswith("PostgreSQL.")} | {
        line[1] for line in lines if int(line[4]) == server
    }


@pytest.mark.parametrize(("how", "servers"), [("", 1), ("standbys", 2)])
def test_servers_killed_with_their_run_leave_no_shared_memory(
    bench: Bench[Postgres], how: str, servers: int
) -> None:
    with runner(bench.work, how) as (process, _):
        pids = [child.pid for child in psutil.Process(process.pid).children() if child.name() == "postgres"]
        assert len(pids) == servers
        memory = set().union(*map(held, pids))
        assert len(memory) >= 2 * servers, "a file and a segment of each"
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        for pid in pids:
            killed(pid)
        process.wait()
        assert memory <= shared_memory(), "nobody was there to remove it"
        Postgres.release(bench.work)
        assert not memory & shared_memory()


def test_shared_memory_in_use_is_left_alone(shared: Bench[Postgres]) -> None:
    target = shared.up()
    [server] = target.processes()
    memory = held(server)
    Postgres.release(shared.work)
    assert memory <= shared_memory()
    assert target.alive()
    killed(server)
    target.down()
    assert not memory & shared_memory(), "the end of a killed server removes it"
