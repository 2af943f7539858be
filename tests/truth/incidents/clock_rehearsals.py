"""Rehearsals of clocks: a preloaded library shifts that of a process, never that of the host."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from incidents.test_clocks import server, shifted
from loadcell.incidents import application_logs
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.clocks import ClockReading, Clocks
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.clocks import ClockGatherer
from loadcell.linux.fault_control import FaultControl
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload

from .case import judged
from .rehearsal import Outcome, Rehearsal, has, is_without

_WRITING = """
import sys, time, threading
end = time.monotonic() + float(sys.argv[2])
file, lock = open(sys.argv[1], "w"), threading.Lock()
def work(name):
    number = 0
    while time.monotonic() < end:
        number += 1
        now = time.time_ns() // 10**6
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"
        with lock:
            file.write(f"{stamp} [{name}] INFO imported {number} rows\\n"); file.flush()
        time.sleep(0.02)
threads = [threading.Thread(target=work, args=(f"worker-{n}",)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def _log_steps(chance: random.Random, directory: Path) -> Outcome:
    """A service that logs, whose clock a preloaded library shifts forth and back."""
    size = chance.uniform(2, 30)
    back = size * chance.uniform(0.9, 1.0)
    preload = Preload.install(directory, Account("me", os.geteuid(), os.getegid(), (), other=False))
    control = FaultControl(preload.control)

    def write(name: str, shifts: list[float]) -> tuple[list[Evidence], float]:
        """The log as evidence, and the time of the last shift."""
        path = directory / name
        words = (sys.executable, "-c", _WRITING, str(path), "9")
        process = subprocess.Popen(words, env=preload.variables(environment()))
        for shift in shifts:
            time.sleep(3)
            control.shift_clock(round(shift * 1e9))
        last = time.monotonic()
        process.wait(60)
        control.shift_clock(0)
        seen, _reading = application_logs.read([(path, name)])
        return [seen], last

    name = "log-clock-steps"
    seen, last = write("a.log", [size, size - back])
    is_seen, delay_s = has(name, seen), time.monotonic() - last
    after, _ = write("b.log", [])
    return Outcome(f"{size:.1f} s and {back:.1f} s", is_seen, is_without(name, after), delay_s)


_CLOCK = """
import sys, time
for _ in range(int(sys.argv[1])):
    steady = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    print(steady, time.clock_gettime_ns(time.CLOCK_REALTIME) - steady, flush=True)
    time.sleep(0.2)
"""


def _read_clock(directory: Path, shifts: list[int]) -> tuple[Clocks, float]:
    """Readings of a process whose wall clock is shifted, a second each, and the time of the last shift."""
    preload = Preload.install(directory, Account("me", os.geteuid(), os.getegid(), (), other=False))
    control = FaultControl(preload.control)
    words = (sys.executable, "-c", _CLOCK, str(5 * (len(shifts) + 1)))
    with subprocess.Popen(
        words, env=preload.variables(environment()), stdout=subprocess.PIPE, text=True
    ) as process:
        for shift in shifts:
            time.sleep(1)
            control.shift_clock(shift)
        last = time.monotonic()
        output, _ = process.communicate(timeout=30)
    readings = [tuple(map(int, line.split())) for line in output.splitlines()]
    return Clocks("clock", tuple(ClockReading(at_ns, offset_ns) for at_ns, offset_ns in readings)), last


def _shifted(name: str, shifts_s: list[float], size: str, directory: Path) -> Outcome:
    """A process whose clock is shifted, and one whose clock is not."""
    seen, last = _read_clock(directory, [round(shift * 1e9) for shift in shifts_s])
    is_seen, delay_s = has(name, [seen]), time.monotonic() - last
    after, _ = _read_clock(directory, [])
    return Outcome(size, is_seen, is_without(name, [after]), delay_s)


def _fight(chance: random.Random, directory: Path) -> Outcome:
    size = chance.uniform(0.7, 30)
    back = size * chance.uniform(0.85, 1.0)
    return _shifted("fighting-clocks", [size, size - back], f"{size:.1f} s and {back:.1f} s", directory)


def _step(chance: random.Random, directory: Path) -> Outcome:
    size = chance.uniform(0.6, 30) * chance.choice([-1, 1])
    return _shifted("clock-step", [size], f"{size:+.1f} s", directory)


def _servers(chance: random.Random, directory: Path) -> Outcome:
    shift = chance.uniform(0.7, 30) * chance.choice([-1, 1])
    (directory / "proc/5").mkdir(parents=True, exist_ok=True)
    (directory / "proc/5/stat").write_text("5 (ntpd) S 1 " + "0 " * 40)
    (directory / "etc").mkdir(exist_ok=True)

    def look(names: tuple[int, ...], port: int) -> list[Evidence]:
        lines = (f"server 127.0.0.{number}\n" for number in names)
        (directory / "etc/ntp.conf").write_text("".join(lines))
        return [item for item in ClockGatherer().gather(Host(directory, interval_s=0.2, time_port=port))
                if isinstance(item, Evidence)]  # fmt: skip

    with (
        server(shifted(0)) as port,
        server(shifted(0.01), "127.0.0.2", port),
        server(shifted(shift), "127.0.0.3", port),
    ):
        begin = time.monotonic()
        seen = look((1, 2, 3), port)
        delay_s = time.monotonic() - begin
        after = look((1, 2), port)

    def is_warned(evidence: list[Evidence]) -> bool:
        """The opinion of the kernel, a note, depends on the machine."""
        return any("time-services" in judged(item).warning for item in evidence)

    is_judged = any({*judged(item).all, *judged(item).healthy} & {"time-services"} for item in after)
    return Outcome(f"{shift:+.1f} s", is_warned(seen), is_judged and not is_warned(after), delay_s)


REHEARSALS: Final = (
    Rehearsal(
        "log-clock-steps", "a service whose clock a preloaded library shifts", "one source", _log_steps
    ),
    Rehearsal("fighting-clocks", "a preloaded library that shifts the clock", "one source", _fight),
    Rehearsal("clock-step", "a preloaded library that shifts the clock", "no step", _step),
    Rehearsal("time-services", "three time servers on the loopback", "without the outlier", _servers),
)
