"""perf: what its complaints mean, a real process sampled by it, and how sampled stacks are named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from execution.live import until
from loadcell.plan.profile import CpuProfile
from loadcell.profilers import perf
from loadcell.profilers.perf import CpuSampler, ProfilerError, named, trouble
from loadcell.store.write import RunWriter

#: A process that begins another on request; both do nothing but work.
BUSY = """
import os, sys
def work_of_the_test():
    while True: sum(range(1000))
print("here", flush=True)
sys.stdin.readline()
child = os.fork()
if child:
    print(child, flush=True)
work_of_the_test()
"""
#: of each; at 997 a second some 150 samples
WORK_S = 0.15

COMPLAINTS = [
    (
        "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider "
        "adjusting /proc/sys/kernel/perf_event_paranoid setting to open\naccess to performance monitoring",
        "does not allow perf to sample", "kernel.perf_event_paranoid=1",
    ),
    (
        "Error:\nNo permission to enable cycles event.\n\nYou may not have permission to collect stats.",
        "does not allow perf to sample", "--cap-add PERFMON",
    ),
    (
        "perf_event_open(...) failed unexpectedly with error 1 (Operation not permitted)",
        "does not allow perf",
        "seccomp",
    ),
    ("Error:\nToo many events are opened.\nToo many open files", "limit of open files", "ulimit -n"),
    ((
        "/usr/bin/perf: line 13: exec: perf_5.10: not found\nE: linux-perf-5.10 is not installed.\nWARNING: "
        "perf not found for kernel 5.10"
    ), "does not match the kernel", "apt-get install linux-perf"),
    ("  Error: unknown option `control'\n\n Usage: perf record [<options>]", "too old", "linux-perf"),
    (
        "The sys_perf_event_open() syscall returned with 38 (Function not implemented) for event (cpu-clock)",
        "no perf events",
        "CONFIG_PERF_EVENTS",
    ),
    ("Couldn't create thread/CPU maps: No such process", "ended as perf started", "try again"),
    ("Error:\nsomething else", "could not sample the target: Error:", "output.log"),
    ("", "no output", "output.log"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "finding", "advice"), COMPLAINTS)
def test_what_perf_complains_of_has_a_remedy(output: str, finding: str, advice: str) -> None:
    error = trouble(output)
    assert finding in error.finding
    assert advice in error.advice


def test_a_missing_perf_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProfilerError, match="not installed") as caught:
        perf.find_program()
    assert "linux-perf" in caught.value.advice


def test_a_target_without_processes_is_refused(tmp_path: Path) -> None:
    sampler = CpuSampler(CpuProfile(), tmp_path)
    with pytest.raises(ProfilerError, match="no processes on this machine"):
        sampler.attach([])
    sampler.end()
    sampler.remove()
    assert list(tmp_path.iterdir()) == []


def test_processes_of_one_role_are_put_together() -> None:
    folded = (
        "postgres-11;main;work 2\npostgres-12;main;work 3\npostgres-13;main 1\nother;main 4\npostgres-11 1\n"
    )
    roles = {11: "postgres: client backend", 12: "postgres: client backend", 13: "postgres; x"}
    assert named(folded, roles) == [
        "other;main 4",
        "postgres: client backend 1",
        "postgres: client backend;main;work 5",
        "postgres: x;main 1",
    ]


def cpu_s(pid: int) -> float:
    """CPU time that a process has used."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def may_sample(home: Path) -> bool:
    """True if this machine's kernel lets perf sample at all, as perf itself finds."""
    command = ["perf", "record", "--quiet", "--output", str(home / "asked.data"), "--", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_process_and_what_it_begins_are_sampled(tmp_path: Path) -> None:
    """A kernel that forbids it is named as the reason."""
    busy = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    work = tmp_path / "work"
    work.mkdir()
    sampler = CpuSampler(CpuProfile(frequency=997), work)
    writer = RunWriter(tmp_path / "run")
    record = writer.trial("profile-it")
    child = 0
    try:
        assert busy.stdin is not None
        assert busy.stdout is not None
        busy.stdout.readline()
        if not may_sample(tmp_path):
            with pytest.raises(
                ProfilerError, match=r"does not allow perf to sample|no perf events"
            ) as caught:
                sampler.attach([busy.pid])
            assert caught.value.advice
            return
        sampler.attach([busy.pid])
        busy.stdin.write("\n")
        busy.stdin.flush()
        child = int(busy.stdout.readline())
        sampler.phase("measure", time.monotonic_ns())
        before = {pid: cpu_s(pid) for pid in (busy.pid, child)}
        until(lambda: all(cpu_s(pid) >= used + WORK_S for pid, used in before.items()), "both to work")
        sampler.phase("drain", time.monotonic_ns())
        sampler.end()
        profile = sampler.collect(record, "it", print)
        folded = (record.path / "profile.folded").read_text()
    finally:
        sampler.end()
        sampler.remove()
        busy.kill()
        if child:
            os.kill(child, signal.SIGKILL)
        busy.communicate()
        record.abandon()
        writer.close()
    assert profile.processes == 2
    assert 0 < profile.samples <= 2 * 997 * 60
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == profile.samples
    assert all(line.startswith("python") for line in folded.splitlines()), folded[:500]
    assert any("Eval" in line for line in folded.splitlines()), folded[:2000]
    assert "<svg" in (record.path / "profile.svg").read_text()
    assert list(work.iterdir()) == []
