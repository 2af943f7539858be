"""Mount FUSE file systems whose server answers, answers late, or is stopped, and examine the host meanwhile.

Run in a private mount namespace (`unshare -m`), by root, with the seconds of the measurement. MOUNTS is the
number of mounts, STATE is stopped, slow or healthy. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from doctor import diagnoses, examination
from fuse_server import mount, serve

#: Shown by `loadcell doctor RUN` and the report of the run.
RETAINED = Path("doctor.json")
DELAYS = {"stopped": 0.0, "slow": 1.5, "healthy": 0.0}


def server(points: list[str], delay_s: float) -> int:
    """The process id of a server of mounts at these points."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for point in points:
                threading.Thread(target=serve, args=(mount(point), delay_s), daemon=True).start()
            os.write(writer, b"1")
            signal.pause()
        except OSError as error:
            sys.stderr.write(f"cannot mount: {error}; it needs root and /dev/fuse\n")
        os._exit(1)
    os.close(writer)
    if os.read(reader, 1) != b"1":
        sys.exit(1)
    return pid


def examine(points: list[str]) -> tuple[float, float]:
    """The share of these mounts that the doctor names, and the seconds that it took.

    The first examination that names one, or the first of all, is retained as `doctor.json`.
    """
    begin = time.monotonic()
    document = examination("--live")
    seconds = time.monotonic() - begin
    hung = [item for item in diagnoses(document) if item["incident"] == "hung-mount"]
    named = {point for item in hung for point in item["values"]["points"]} & set(points)
    if not RETAINED.exists() or (named and not _names_mount(RETAINED)):
        RETAINED.write_text(json.dumps(document))
    return len(named) / len(points), seconds


def _names_mount(path: Path) -> bool:
    return any(item["incident"] == "hung-mount" for item in diagnoses(json.loads(path.read_text())))


def main() -> None:
    """Print the metrics of the plan."""
    state = os.environ.get("STATE", "stopped")
    if state not in DELAYS:
        sys.exit(f"STATE is {state}: use one of {', '.join(DELAYS)}")
    base = Path(tempfile.mkdtemp(prefix="mounts-", dir=Path.cwd()))
    points = [str(base / str(number)) for number in range(int(os.environ.get("MOUNTS", "3")))]
    for point in points:
        Path(point).mkdir()
    pid = server(points, DELAYS[state])
    try:
        if state == "stopped":
            os.kill(pid, signal.SIGSTOP)
        local = subprocess.run(["df", "-l"], capture_output=True, timeout=10, check=False)
        begin, results = time.monotonic(), [examine(points)]
        while time.monotonic() - begin < float(sys.argv[1]):
            results.append(examine(points))
        elapsed_s = time.monotonic() - begin
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for point in points:
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)
    count = len(points) * len(results)
    print(f"mounts: {count}")
    print(f"mounts per second: {count / elapsed_s:.2f}")
    print(f"recognised: {sum(share for share, _ in results) / len(results):.2f}")
    print(f"answered: {int(local.returncode == 0):d}")
    print(f"examination: {max(seconds for _, seconds in results):.2f} s")


if __name__ == "__main__":
    main()
