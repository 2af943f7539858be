"""Time of `loadcell host`: as a whole process on this machine, and of its queries alone on very large
machines.

The aim is below 2 s, also for the page of a baseline (`--baseline RUN`: one that was made before), from an
empty process on. The large ones are trees of files (tests/linux/trees.py): 1,024 processors on 8 nodes, and
5,000 mounts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.paired import ROOT, keep, spread

ROUNDS = 7
#: Reads a baseline and writes its page.
PAGE = """
import sys
from pathlib import Path
from loadcell.report.hosts import page
from loadcell.report.hosts.gather import of_run
from loadcell.store.read import read_run
path = Path(sys.argv[1])
page.document(of_run(read_run(path)), "en").publish(("html",), path)
"""


def main() -> None:
    """Time each in turn and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--baseline", metavar="RUN", help="the directory of a baseline, whose page is timed too"
    )
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from linux import trees
    from loadcell.linux import inventory

    loadcell = str(Path(sys.executable).with_name("loadcell"))
    with TemporaryDirectory(prefix="loadcell-bench-") as home:
        large, mounted = Path(home) / "large", Path(home) / "mounted"
        trees.processors(large, 1024, sockets=8, nodes=8, threads_per_core=2)
        trees.write(
            large, "proc/cpuinfo", "".join(trees.KUNPENG_CPUINFO.format(number=n) for n in range(1024))
        )
        rows = (f"{n} 1 8:{n} / / rw - xfs /dev/sd{n} rw" for n in range(5000))
        trees.write(mounted, "proc/self/mountinfo", "\n".join(rows))
        contenders: dict[str, Callable[[], object]] = {
            "loadcell host": lambda: subprocess.run(
                [loadcell, "host"], check=True, stdout=subprocess.DEVNULL
            ),
            "loadcell host --json": lambda: subprocess.run(
                [loadcell, "host", "--json"], check=True, stdout=subprocess.DEVNULL
            ),
            "1,024 processors": lambda: inventory.collect(large, limit_s=60),
            "5,000 mounts": lambda: inventory.collect(mounted, limit_s=60),
        }
        if asked.baseline:
            contenders["a baseline's page"] = lambda: subprocess.run(
                [sys.executable, "-c", PAGE, asked.baseline], check=True
            )
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, contender in contenders.items():
                begun = time.perf_counter()
                contender()
                times[name].append(time.perf_counter() - begun)
    result = {name: spread(values) for name, values in times.items()}
    command = f"python -m bench.host_speed{' --baseline RUN' if asked.baseline else ''}"
    keep("host_speed", command, {"wall_s": result})
    for name, values in result.items():
        print(f"{name:22} {values['median']:.2f} s ({values['min']:.2f} to {values['max']:.2f})")


if __name__ == "__main__":
    main()
