"""Program that asks mounts for their size, one process each, and prints the answers as they come.

Input: rows `DEVICE PATH` as JSON. Output: a JSON row for each that answered: index, seconds, error number,
blocks, free blocks and block size, inodes and free ones. Processes that do not return are killed and
not waited for: in uninterruptible sleep they end when the mount answers. Their names have the device, so
that the next call does not add one. The program is small, because such a process retains its memory.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time

#: Names of the processes; 15 characters at most.
PREFIX = "lcm-"


def main() -> None:
    """Ask the mounts on standard input; arguments are the limit in seconds and the processes at one time."""
    limit_s, most = float(sys.argv[1]), int(sys.argv[2])
    questions = json.load(sys.stdin)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    started: dict[int, int] = {}
    begin = time.monotonic()
    waiting = list(enumerate(questions))[::-1]
    while waiting or started:
        while waiting and len(started) < most:
            index, (device, path) = waiting.pop()
            started[index] = _ask(index, device, path, reader, writer)
        remaining_s = begin + limit_s - time.monotonic()
        if remaining_s <= 0 or not select.select([reader], [], [], remaining_s)[0]:
            break
        for row in _rows(reader):
            os.waitpid(started.pop(json.loads(row)[0]), 0)
            sys.stdout.write(row + "\n")
        sys.stdout.flush()
    for pid in started.values():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    # what was asked and did not answer
    sys.stdout.write(json.dumps([-1, time.monotonic() - begin, sorted(started)]) + "\n")


def _rows(reader: int) -> list[str]:
    """Complete rows: each is written at once, and shorter than what a pipe writes at once."""
    return os.read(reader, 1 << 16).decode().splitlines()


def _ask(index: int, device: str, path: str, reader: int, writer: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.close(reader)
        os.close(1)
        with contextlib.suppress(OSError), open("/proc/self/comm", "w") as file:  # noqa: PTH123 - small
            file.write(PREFIX + device)
        begin = time.monotonic()
        try:
            about = os.statvfs(path)
            values = [0, about.f_blocks, about.f_bavail, about.f_frsize, about.f_files, about.f_favail]
        except OSError as error:
            values = [error.errno or 1, 0, 0, 0, 0, 0]
        os.write(writer, (json.dumps([index, time.monotonic() - begin, *values]) + "\n").encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
