"""Samples of waits against threads, sockets and rows whose state is known."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadcell.execution.blocked_samples import BlockedSamples
from loadcell.execution.wait_samples import WaitSamples
from loadcell.linux.thread_states import ThreadState, thread_state

ROOT = Path("/")


def recorded(root: Path, tid: int, state: str, call: str | None) -> None:
    """A thread of process 7 in a recorded tree."""
    home = root / f"proc/7/task/{tid}"
    home.mkdir(parents=True)
    (home / "stat").write_text(f"{tid} (a) b) {state} 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 5 6 7 8")
    if call is not None:
        (home / "syscall").write_text(call)


@pytest.mark.parametrize(
    ("state", "call", "blocked", "flushing"),
    [
        ("D", "75 0x5 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f\n", True, True),  # fdatasync
        ("D", "17 0x5 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f\n", True, False),  # pread64
        ("D", "running\n", True, False),
        ("D", "-1 0x7f 0x7f\n", True, False),  # a page fault
        ("D", None, True, None),  # the kernel does not tell
        ("S", None, False, False),
        ("R", "running\n", False, False),
    ],
)
def test_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, call: str | None, blocked: bool,
    flushing: bool | None,
) -> None:  # fmt: skip
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    recorded(tmp_path, 7, state, call)
    seen = thread_state(tmp_path, 7, 7)
    assert seen is not None
    assert (seen.blocked, seen.flushing) == (blocked, flushing)
    assert thread_state(tmp_path, 7, 8) is None, "a thread that has ended"


def test_blocked_threads_are_counted_by_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for tid, state in enumerate("DDSR", start=7):
        recorded(tmp_path, tid, state, "74 0x5")
    samples, threads = BlockedSamples(), dict.fromkeys(range(7, 11), 7)
    assert samples.use({7}) is None, "without a look"
    for _ in range(3):
        samples.look(tmp_path, threads)
    blocked = samples.use({7, 9})
    assert blocked is not None
    assert (blocked.looks, blocked.mean, blocked.working_mean, blocked.flushing_share) == (3, 2.0, 1.0, 1.0)


def test_a_random_choice_stands_for_thousands_of_threads(tmp_path: Path) -> None:
    """A third of 900 threads is blocked; each look reads 30. Standard error of the mean: 8% of 300."""
    threads = {}
    for tid in range(1, 901):
        recorded(tmp_path, tid, "D" if tid % 3 == 0 else "S", "17 0x5")
        threads[tid] = 7
    samples = BlockedSamples()
    for _ in range(40):
        samples.look(tmp_path, threads)
    blocked = samples.use(set(threads))
    assert blocked is not None
    assert blocked.mean == pytest.approx(300, rel=0.25)


def test_one_flushing_thread_of_many_is_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 90 threads is always in fdatasync; a look reads 30. Expected: 1, standard error 0.1."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for tid in range(1, 91):
        recorded(tmp_path, tid, "D" if tid == 45 else "S", "75 0x5")
    samples = BlockedSamples()
    for _ in range(200):
        samples.look(tmp_path, dict.fromkeys(range(1, 91), 7))
    blocked = samples.use({45})
    assert blocked is not None
    assert blocked.coverage == pytest.approx(1 / 3)
    assert blocked.flushing_share is not None
    assert blocked.flushing_share == pytest.approx(1, abs=0.3)
    of_others = samples.use({44})
    assert of_others is not None
    assert of_others.flushing_share == 0.0, "a thread that does not work"


def test_independent_flushes_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 60 threads flushes in 2% of the time: one does in 70% of it."""
    chance = random.Random(1)
    state = "loadcell.execution.blocked_samples.thread_state"
    monkeypatch.setattr(
        state, lambda *_: ThreadState("D", True) if chance.random() < 0.02 else ThreadState("S", False)
    )
    samples = BlockedSamples()
    for _ in range(400):
        samples.look(ROOT, dict.fromkeys(range(60), 1))
    blocked = samples.use(set(range(60)))
    assert blocked is not None
    assert blocked.flushing_share == pytest.approx(1 - 0.98**60, abs=0.07)


def test_threads_behind_a_flush_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One flushes, two wait for it by futex, one reads its socket; then nobody flushes."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for tid, (state, call) in enumerate([("D", "75 0x5"), *[("S", "202 0x1")] * 2, ("S", "0 0x7")], start=7):
        recorded(tmp_path, tid, state, call)
    samples, threads = BlockedSamples(), dict.fromkeys(range(7, 11), 7)
    samples.look(tmp_path, threads)
    (tmp_path / "proc/7/task/7/stat").write_text("7 (a) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 5 6 7 8")
    samples.look(tmp_path, threads)
    working, others = samples.use({7, 8, 9, 10}), samples.use({8, 9, 10})
    assert working is not None
    assert others is not None
    assert (working.flush_waiting_mean, others.flush_waiting_mean) == (1.5, 0.0)


def test_threads_behind_one_flush_of_many_threads_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 200 threads flushes in 90% of the time, while 150 wait for it; a look reads 30."""
    chance, on = random.Random(3), [False]

    def state(_root: Path, _pid: int, tid: int, _read: object) -> ThreadState:
        return ThreadState("D", True) if tid == 0 and on[0] else ThreadState("S", False)

    module = "loadcell.execution.blocked_samples"
    monkeypatch.setattr(f"{module}.thread_state", state)
    monkeypatch.setattr(f"{module}.waits_for_thread", lambda _root, _pid, tid, _read: 0 < tid <= 150)
    samples = BlockedSamples()
    for _ in range(600):
        on[0] = chance.random() < 0.9
        samples.look(ROOT, dict.fromkeys(range(200), 1))
    blocked = samples.use(set(range(200)))
    assert blocked is not None
    assert blocked.flush_waiting_mean == pytest.approx(0.9 * 151, rel=0.25)


def test_counters_of_running_threads_correct_what_looks_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is blocked in 90% of the time, runs in 5% and sleeps in 5%; half of the looks wake it."""
    chance = random.Random(1)

    def woken(*_: object) -> ThreadState:
        drawn = chance.random()
        if chance.random() < 0.5 or drawn < 0.05:
            return ThreadState("R", False)
        return ThreadState("S", False) if drawn < 0.1 else ThreadState("D", True)

    monkeypatch.setattr("loadcell.execution.blocked_samples.thread_state", woken)
    samples = BlockedSamples()
    for _ in range(2000):
        samples.look(ROOT, {7: 7})
    blocked = samples.use({7}, 0.05)
    assert blocked is not None
    assert blocked.mean == pytest.approx(0.45, abs=0.04)
    assert blocked.working_mean == pytest.approx(0.9, abs=0.02)
    assert blocked.flushing_share == pytest.approx(0.9, abs=0.02)
    assert blocked.coverage == pytest.approx(0.475, abs=0.04), "half of the looks tell nothing"


def test_hidden_calls_leave_flushes_unknown(tmp_path: Path) -> None:
    recorded(tmp_path, 7, "D", None)
    samples = BlockedSamples()
    samples.look(tmp_path, {7: 7})
    blocked = samples.use({7})
    assert blocked is not None
    assert (blocked.mean, blocked.flushing_share) == (1.0, None)


def test_a_process_that_sleeps_is_not_blocked() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(0.3)
        samples = WaitSamples(ROOT)
        samples.begin({process.pid: process.pid})
        deadline = time.monotonic() + 10
        while samples.target.looks < 3 and time.monotonic() < deadline:
            samples.look({process.pid: process.pid}, {os.getpid(): os.getpid()})
            time.sleep(0.02)
        samples.end()
        blocked = samples.target.use({process.pid})
        assert blocked is not None
        assert (blocked.mean, blocked.flushing_share) == (0.0, 0.0)
        assert samples.accept_queue() is None, "no port was given"
    finally:
        process.kill()
        process.wait()


def test_waits_of_sessions_are_means_over_all_looks() -> None:
    samples = WaitSamples(ROOT)
    samples.sampled_sessions([{"looks": 2, "sessions": 8.0, "sessions_active": 6.0}])
    samples.sampled_sessions([{"looks": 1, "sessions": 8.0, "sessions_active": 3.0}, {"looks": 0}])
    samples.sampled_waits([{"wait_event_type": "Lock", "wait_event": "tuple", "looks": 2, "sessions": 9}])
    samples.sampled_waits([{"wait_event_type": "CPU", "wait_event": "CPU", "looks": 1, "sessions": 3}])
    used = samples.sessions()
    assert used is not None
    assert (used.looks, used.sessions, used.active) == (3, 8.0, 5.0)
    assert [(wait.event, wait.sessions) for wait in used.waits] == [("tuple", 3.0), ("CPU", 1.0)]
    samples.begin({})
    samples.end()
    assert samples.sessions() is None, "a new window"
