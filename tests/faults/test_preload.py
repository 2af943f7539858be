"""The library for faults, in real processes: what it changes, what stays, and what ends it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadcell.faults.base import FaultError
from loadcell.faults.clock_fault import ClockOptions
from loadcell.faults.clock_step import ClockStep
from loadcell.faults.fsync_errors import FailingFlushes
from loadcell.faults.storage_fault import StorageFaultOptions
from loadcell.faults.write_errors import FailingWrites
from loadcell.linux.fault_control import Counts, FaultControl
from loadcell.plan.units import Duration
from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload
from loadcell.systems.subjects import Subject

HOUR_NS = 3_600_000_000_000
#: Evaluates each line that it reads, and prints the result, or the number of an error.
_EVALUATOR = """
import ctypes, os, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)

def seconds_of(name, *words):
    pair = (ctypes.c_long * 2)()
    getattr(libc, name)(*words, pair) if name == "clock_gettime" else getattr(libc, name)(pair, *words)
    return pair[0]

def waited_s(name):
    deadline = time.time() + 0.2
    pair = (ctypes.c_long * 2)(int(deadline), int(deadline % 1 * 1e9))
    condition, mutex = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    began = time.monotonic()
    if name == "pthread_cond_timedwait":
        libc.pthread_mutex_lock(mutex)
        libc.pthread_cond_timedwait(condition, mutex, pair)
    elif name == "sem_timedwait":
        libc.sem_timedwait(condition, pair)
    elif name == "pthread_mutex_timedlock":
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_timedlock(mutex, pair)
    else:
        libc.clock_nanosleep(0, 1, pair, None)
    return time.monotonic() - began

def took_s(action):
    began = time.monotonic()
    action()
    return time.monotonic() - began

def forked():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, b"%f" % time.time())
        os._exit(0)
    os.wait()
    return float(os.read(reading, 100))

files = [os.open(name, os.O_RDWR | os.O_CREAT) for name in sys.argv[1:]]
print("up", flush=True)
for line in sys.stdin:
    try:
        print(repr(eval(line)), flush=True)
    except OSError as error:
        print(repr(("error", error.errno)), flush=True)
"""
#: A library whose constructor and allocator read the clock and write, before and while others are set up.
_EARLY = """
#define _GNU_SOURCE
#include <stddef.h>
#include <time.h>
#include <unistd.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t size) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return __libc_malloc(size);
}
__attribute__((constructor)) static void begin(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) == 0 && time(NULL) > 0) write(1, "early\\n", 6);
}
"""


@pytest.fixture
def preload(tmp_path: Path) -> Preload:
    return Preload.install(tmp_path, Account("me", os.geteuid(), os.getegid(), (), other=False))


@contextmanager
def evaluator(preload: Preload, *files: Path) -> Iterator[Callable[[str], Any]]:
    """A process with the library; gives the values of expressions in it."""
    process = subprocess.Popen(
        (sys.executable, "-c", _EVALUATOR, *files),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=preload.variables(environment()),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    pipe, output = process.stdin, process.stdout

    def ask(expression: str) -> Any:
        pipe.write(expression + "\n")
        pipe.flush()
        return eval(output.readline())

    try:
        assert output.readline() == "up\n"
        ask.__dict__["pid"] = process.pid
        yield ask
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_wall_clock_of_all_functions_steps_and_steps_back(preload: Preload, sign: int) -> None:
    control = FaultControl(preload.control)
    functions = (
        "time.time()", "seconds_of('gettimeofday', None)", "libc.time(None)", "seconds_of('timespec_get', 1)",
        "seconds_of('clock_gettime', 0)", "seconds_of('clock_gettime', 5)", "forked()",
        "float(subprocess.run(['date', '+%s'], stdout=-1).stdout)",
        "float(os.popen('date +%s').read())",
    )  # fmt: skip
    with evaluator(preload) as ask:
        for shift_s in (0, sign * 3600):
            if shift_s:
                control.shift_clock(sign * HOUR_NS)
            for function in functions:
                assert abs(ask(function) - time.time() - shift_s) < 3, function
            assert control.clock_was_read() == bool(shift_s)
        control.end("clock")
        assert all(abs(ask(function) - time.time()) < 3 for function in functions)


def test_durations_stay_exact_while_the_clock_is_shifted(preload: Preload) -> None:
    waits = (
        "took_s(lambda: time.sleep(0.2))", "took_s(lambda: threading.Event().wait(0.2))",
        *(f"waited_s('{name}')" for name in (
            "pthread_cond_timedwait", "pthread_mutex_timedlock", "sem_timedwait", "clock_nanosleep",
        )),
    )  # fmt: skip
    with evaluator(preload) as ask:
        for shift_ns in (HOUR_NS, -HOUR_NS):
            FaultControl(preload.control).shift_clock(shift_ns)
            assert abs(ask("time.monotonic()") - time.monotonic()) < 1
            for wait in waits:
                assert 0.19 <= ask(wait) < 1, wait


def test_a_clock_shifts_evenly_and_keeps_the_difference(preload: Preload) -> None:
    with evaluator(preload) as ask:
        began_ns = time.monotonic_ns()
        FaultControl(preload.control).shift_clock(10_000_000_000, began_ns, 1_000_000_000)
        errors = []
        while time.monotonic_ns() - began_ns < 700_000_000:
            shifted_s, mono_ns = ask("(time.time(), time.monotonic_ns())")
            errors.append(abs(shifted_s - time.time() - 10 * (mono_ns - began_ns) / 1e9))
        assert min(errors) < 0.1
        time.sleep(0.4)
        assert abs(ask("time.time()") - time.time() - 10) < 1


def test_calls_on_files_of_the_directory_fail_and_no_others(preload: Preload, tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "data-of-another"
    data.mkdir()
    other.mkdir()
    control = FaultControl(preload.control)
    writes = (
        "os.write({}, b'x')", "os.pwrite({}, b'x', 0)", "os.writev({}, [b'x'])", "os.pwritev({}, [b'x'], 0)",
        "os.posix_fallocate({}, 0, 4096)",
    )  # fmt: skip
    flushes = ("os.fsync({})", "os.fdatasync({})")
    with evaluator(preload, data / "file", other / "file") as ask:
        inside, outside = "files[0]", "files[1]"
        control.fail_calls("writes", data, errno.ENOSPC, 1.0)
        assert {ask(call.format(inside)) for call in writes} == {("error", errno.ENOSPC)}
        assert control.counts("writes") == Counts(len(writes), len(writes))
        assert not (data / "file").stat().st_size, "a failed call has no effect"
        working = [*(call.format(outside) for call in writes), *(call.format(inside) for call in flushes)]
        assert ("error", errno.ENOSPC) not in [ask(call) for call in working]
        control.fail_calls("flushes", data, errno.EIO, 1.0)
        assert {ask(call.format(inside)) for call in flushes} == {("error", errno.EIO)}
        control.end("writes")
        control.end("flushes")
        results = [ask(call.format(inside)) for call in (*writes, *flushes)]
        assert not [result for result in results if isinstance(result, tuple)], results


def test_a_share_of_the_calls_fails(preload: Preload, tmp_path: Path) -> None:
    control = FaultControl(preload.control)
    control.fail_calls("writes", tmp_path, errno.EIO, 0.25)
    with evaluator(preload, tmp_path / "file") as ask:
        assert ask("[libc.pwrite(files[0], b'x', 1, 0) for _ in range(4000)].count(-1)") == pytest.approx(
            1000, abs=120
        )
    assert control.counts("writes").calls == 4000


def test_libraries_may_call_before_this_one_is_set_up(preload: Preload, tmp_path: Path) -> None:
    source, library = tmp_path / "early.c", tmp_path / "early.so"
    source.write_text(_EARLY)
    subprocess.run(("cc", "-shared", "-fPIC", "-w", "-o", library, source), check=True)
    for variables in (
        preload.variables({**environment(), "LD_PRELOAD": str(library)}),
        {**preload.variables(environment()), "LD_PRELOAD": f"{library}:{preload.library}"},
    ):
        done = subprocess.run(("date", "+%s"), env=variables, capture_output=True, text=True, check=True)
        early, seconds = done.stdout.split()
        assert early == "early"
        assert abs(int(seconds) - time.time()) < 3


def test_without_its_file_the_library_changes_nothing(preload: Preload) -> None:
    variables = preload.variables(environment())
    FaultControl(preload.control).shift_clock(HOUR_NS)
    shifted = subprocess.run(("date", "+%s"), env=variables, capture_output=True, check=True).stdout
    assert int(shifted) - time.time() > 3000
    for content in (None, b"", b"x" * 4096):
        preload.control.unlink(missing_ok=True)
        if content is not None:
            preload.control.write_bytes(content)
        done = subprocess.run(("date", "+%s"), env=variables, capture_output=True, check=True)
        assert abs(int(done.stdout) - time.time()) < 3
        assert done.stderr == b""


def test_a_fault_is_undone_by_any_process_twice_and_after_the_end_of_the_run(
    preload: Preload, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    with evaluator(preload, tmp_path / "data" / "file") as ask:
        pid = ask.__dict__["pid"]
        subject = Subject("server", lambda: (pid,), data=tmp_path / "data", fault_control=preload.control)
        faults = (
            ClockStep(ClockOptions(subject="server", by=Duration(3600)), subject),
            FailingWrites(StorageFaultOptions(subject="server"), subject),
            FailingFlushes(StorageFaultOptions(subject="server", error="ENOSPC"), subject),
        )
        for fault in faults:
            arguments = fault.prepare()
            assert fault.is_undone(arguments)
            fault.apply()
            assert not fault.is_undone(arguments)
            for _ in range(2):
                fault.undo(arguments)
                assert fault.is_undone(arguments)
        preload.control.unlink()
        for fault in faults:
            fault.undo(arguments)
            assert fault.is_undone(arguments)


def test_a_process_without_the_library_and_a_missing_directory_are_reported(
    preload: Preload, tmp_path: Path
) -> None:
    options = StorageFaultOptions(subject="server", directory="pg_wal")
    without = Subject("server", lambda: (os.getpid(),), data=tmp_path, fault_control=preload.control)
    with pytest.raises(FaultError, match="has not loaded the library"):
        FailingWrites(options, without).prepare()
    with evaluator(preload) as ask:
        pid = ask.__dict__["pid"]
        subject = Subject("server", lambda: (pid,), data=tmp_path, fault_control=preload.control)
        with pytest.raises(FaultError, match="there is no directory"):
            FailingWrites(options, subject).prepare()


def test_a_place_from_which_no_library_can_be_loaded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    me = Account("me", os.geteuid(), os.getegid(), (), other=False)
    with pytest.raises(TargetError, match="no library can be loaded"):
        Preload.install(tmp_path / "a b", me)
    with pytest.raises(TargetError, match="cannot write the library"):
        Preload.install(tmp_path / "missing", me)
