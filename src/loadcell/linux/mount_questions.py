"""Program that asks mounts for their size, one process each, and prints the answers as they come.

Input: rows `DEVICE PATH` as JSON. Output: JSON rows, with instants of the monotonic clock.

- `asked`, index, instant: a process is about to ask
- `answer`, index, seconds, error number, blocks, free blocks and block size, inodes and free ones
- `ended`, index: the process ended without an answer
- `looked`, instant: all answers until then have been printed

Processes that do not return are killed and not waited for: in uninterruptible sleep they end when the mount
answers. Their names have the device, so that the next call does not add one. The program is small, because
such a process retains its memory.
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
#: Longest time between two looks at the answers.
_INTERVAL_S = 0.25


def main() -> None:
    """Ask the mounts on standard input; arguments are the limit in seconds and the processes at one time."""
    limit_s, most = float(sys.argv[1]), int(sys.argv[2])
    questions = json.load(sys.stdin)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    started: dict[int, int] = {}
    deadline = time.monotonic() + limit_s
    waiting = list(enumerate(questions))[::-1]
    instant = 0.0
    while (waiting or started) and instant < deadline:
        while waiting and len(started) < most:
            index, (device, path) = waiting.pop()
            started[index] = _ask(index, device, path, reader, writer)
        select.select([reader], [], [], max(0.0, min(deadline - time.monotonic(), _INTERVAL_S)))
        instant = time.monotonic()
        ended = _ended()  # before the rows: an answer precedes the end
        for row in _rows(reader):
            kind, index = json.loads(row)[:2]
            if kind == "answer":
                del started[index]
            sys.stdout.write(row + "\n")
        for index in [index for index, pid in started.items() if pid in ended]:
            del started[index]
            sys.stdout.write(json.dumps(["ended", index]) + "\n")
        sys.stdout.write(json.dumps(["looked", instant]) + "\n")
        sys.stdout.flush()
    for pid in started.values():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _ended() -> set[int]:
    """Processes that have ended since the last call."""
    pids = set()
    with contextlib.suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            pids.add(pid)
    return pids


def _rows(reader: int) -> list[str]:
    """Complete rows: each is written at once, and shorter than what a pipe writes at once."""
    with contextlib.suppress(BlockingIOError):
        return os.read(reader, 1 << 16).decode().splitlines()
    return []


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
        os.write(writer, (json.dumps(["asked", index, begin]) + "\n").encode())
        try:
            about = os.statvfs(path)
            values = [0, about.f_blocks, about.f_bavail, about.f_frsize, about.f_files, about.f_favail]
        except OSError as error:
            values = [error.errno or 1, 0, 0, 0, 0, 0]
        row = ["answer", index, time.monotonic() - begin, *values]
        os.write(writer, (json.dumps(row) + "\n").encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
