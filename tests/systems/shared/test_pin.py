"""Processes put on processors, by the launcher that starts servers and by hand: read back from the kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from signal import Signals

import pytest

from loadcell.linux import launcher
from loadcell.plan.affinity import Pin, ranges
from loadcell.systems.shared import account

MINE = tuple(sorted(os.sched_getaffinity(0)))
ONE = str(MINE[-1])
#: says where it may run and what its memory policy is, and so does a process that it starts
LOOK = "grep Cpus_allowed_list /proc/self/status; head -c 200 /proc/self/numa_maps | head -1"


def started(where: Pin) -> subprocess.CompletedProcess[str]:
    """A shell with children, started as servers are."""
    who = account.Account(account.current(), os.geteuid(), os.getegid(), (), other=False, pin=where)
    command = who.command(["/bin/sh", "-c", LOOK], directory=Path("/"), death=Signals.SIGKILL)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def may_place_memory() -> bool:
    """True if this machine's kernel (or a container's filter of system calls) permits it."""
    code = "from loadcell.linux import launcher; launcher.pin('', 'bind:0')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_what_the_launcher_starts_runs_there_with_its_children() -> None:
    done = started(Pin(cpus=ONE))
    assert done.returncode == 0, done.stderr
    assert f"Cpus_allowed_list:\t{ONE}\n" in done.stdout


def test_what_is_not_said_stays_as_it_is() -> None:
    assert f"Cpus_allowed_list:\t{ranges(MINE)}\n" in started(Pin()).stdout


def test_memory_comes_from_where_the_plan_says_or_the_reason_is_named() -> None:
    done = started(Pin(memory="bind:0"))
    if may_place_memory():
        assert " bind:0 " in done.stdout
    else:
        assert done.returncode == launcher.CANNOT_LAUNCH
        assert "the kernel refuses the memory policy bind:0" in done.stderr


def test_processors_that_are_not_there_are_named() -> None:
    done = started(Pin(cpus="4000"))
    assert done.returncode == launcher.CANNOT_LAUNCH
    assert done.stderr == "cannot pin: the kernel refuses CPUs 4000: Invalid argument\n"


def test_a_process_that_pinned_itself_reads_it_back() -> None:
    code = f"from loadcell.linux import launcher; launcher.pin('{ONE}', ''); print(*launcher.pinned())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == ONE
    assert launcher.pinned()[0] == ranges(MINE), "and nobody else has moved"


def test_a_node_that_is_not_there_is_refused_by_the_kernel() -> None:
    code = "from loadcell.linux import launcher; launcher.pin('', 'bind:900')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "the kernel refuses the memory policy bind:900" in done.stderr


def test_a_machine_whose_calls_nobody_has_looked_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(OSError, match="Function not implemented"):
        launcher.pin("", "bind:0")
    assert launcher.pinned()[1] == ""
