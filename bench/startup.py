"""Time of `loadcell --help`, as a whole process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.paired import keep, spread

RUNS = 20


def main() -> None:
    """Time it beside an empty Python, in turn."""
    loadcell = Path(sys.executable).with_name("loadcell")
    times: dict[str, list[float]] = {"loadcell --help": [], "python -c pass": []}
    for _ in range(RUNS):
        for name, command in (
            ("loadcell --help", [str(loadcell), "--help"]),
            ("python -c pass", [sys.executable, "-c", "pass"]),
        ):
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times[name].append((time.perf_counter() - begun) * 1e3)
    result = {name: spread(values) for name, values in times.items()}
    keep("startup", "python -m bench.startup", {"wall_ms": result})
    for name, values in result.items():
        print(f"{name}: {values['median']:.0f} ms ({values['min']:.0f} to {values['max']:.0f})")


if __name__ == "__main__":
    main()
