"""CPU time of clock_gettime and pwrite in a process with the library for faults, beside one without.

    python -m bench.preload --rounds 15

No fault is active, as during the trials of a run without a fault. Pages of 8 KiB go to a file in the page
cache. One process per measurement, on one processor, with and without the library in turn.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.paired import ROOT, keep, note, on_processors, ratio_to_aim, spread, values_in_turn
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.preload import Preload

#: Calls of a measurement, by kind: a fraction of a second.
CALLS = {"clock": 10_000_000, "pwrite": 300_000}


def per_call_ns(command: tuple[str | Path, ...], variables: dict[str, str]) -> float:
    """CPU nanoseconds of a call, as the process measures them."""
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    result = {}
    with tempfile.TemporaryDirectory() as directory, on_processors(min(os.sched_getaffinity(0))):
        program, data = Path(directory, "calls"), Path(directory, "data")
        source = ROOT / "bench" / "preload_calls.c"
        subprocess.run(("cc", "-O2", "-o", program, source), check=True)
        user = Account("", os.geteuid(), os.getegid(), (), other=False)
        plain = environment()
        preloaded = Preload.install(Path(directory), user).variables(plain)
        for kind, calls in CALLS.items():
            command = (program, kind, str(calls), data)
            contenders: dict[str, Callable[[], float]] = {
                "with": functools.partial(per_call_ns, command, preloaded),
                "without": functools.partial(per_call_ns, command, plain),
            }
            values = values_in_turn(rounds, contenders, f"ns per {kind}")
            result[kind] = {
                "with": spread(values["with"]),
                "without": spread(values["without"]),
                "ratio": ratio_to_aim(None, values["with"], values["without"]),
            }
            note(f"{kind}: {result[kind]}")
    keep("preload", f"python -m bench.preload --rounds {rounds}", result)


if __name__ == "__main__":
    main()
