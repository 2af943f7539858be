"""Time and memory of an examination of logs: two logs of different sizes, each in a separate process."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

MIB = 1 << 20


def main(
    module: str,
    description: str | None,
    formats: Iterable[str],
    write: Callable[[Path, str, int], None],
    examine: Callable[[Path], int],
    unit: str,
) -> None:
    """Print a line for each format: size, seconds, and the peak memory with that of a log of a tenth.

    `write` makes a log of about that many bytes, `examine` returns the number of its events (`unit`).
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--size", type=int, default=50, help="MiB of the log")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        print(_measured(options.read, examine))
        return
    with tempfile.TemporaryDirectory() as directory:
        for name in formats:
            results = []
            for size_mib in (options.size / 10, options.size):
                path = Path(directory, f"{name}.log")
                write(path, name, round(size_mib * MIB))
                words = [sys.executable, "-m", module, "--read", str(path)]
                output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
                results.append((size_mib, *output.split()))
            (_, _, _, small_mib, _), (size_mib, seconds, cpu_s, peak_mib, count) = results
            print(
                f"{name:8} {size_mib:.0f} MiB, {int(count):,} {unit}: {seconds} s "
                f"({cpu_s} s of processor time), "
                f"peak {peak_mib} MiB ({small_mib} MiB for a tenth)"
            )


def _measured(path: Path, examine: Callable[[Path], int]) -> str:
    """Seconds, processor time and peak memory of an examination, and the number of events."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    count = examine(path)
    elapsed_s, cpu_s = time.perf_counter() - begin, time.process_time() - begin_cpu
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{elapsed_s:.2f} {cpu_s:.2f} {peak_mib:.0f} {count}"
