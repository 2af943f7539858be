"""Tools that show what loadcell's monitors show, and work for both to see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Seconds of a tool's window, and of the work within it.
WINDOW_S, LEAD_S = 5, 0.7
#: Two hundred ticks of the clock that most tools count CPU time with.
CPU_S = 2.0
#: Waits for a line, uses CPU time in a second thread with a name, and ends with its standard input.
BUSY = f"""
import ctypes, sys, threading, time
def work():
    ctypes.CDLL(None).prctl(15, b"truth-worker", 0, 0, 0)
    while time.thread_time() < {CPU_S}: sum(range(1000))
    print("done", flush=True)
    time.sleep(600)
sys.stdin.readline()
threading.Thread(target=work, daemon=True).start()
sys.stdin.readline()
"""
ENVIRONMENT = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO", "S_COLORS": "never"}


@dataclass
class Busy:
    """A process that does its work when told."""

    process: subprocess.Popen[str]

    @property
    def pid(self) -> int:
        return self.process.pid

    def work(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def busy() -> Iterator[Busy]:
    command = [sys.executable, "-c", BUSY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Busy(process)


def tool(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def output(process: subprocess.Popen[str]) -> str:
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return text
