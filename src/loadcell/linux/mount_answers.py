"""Sizes of mounts, each asked by a disposable process under a time limit: one that hangs delays none."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loadcell.linux import mount_questions, procfs
from loadcell.linux.mount_table import Mount

#: Mounts asked at the same time; those that hang occupy one place each.
AT_ONCE: Final = 128
#: Grace for the start of the program.
_START_S: Final = 0.7


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a mount: the time that it took, an error number (0 for none), sizes and inodes."""

    seconds: float
    error: int = 0
    size_bytes: int = 0
    free_bytes: int = 0
    inodes: int = 0
    free_inodes: int = 0


@dataclass(frozen=True)
class Answers:
    """Answers by mount point; `silent` were asked and did not answer for so long.

    The process that asked a mount of `failed` ended without an answer. Others were not asked.
    """

    by_point: dict[str, Answer]
    silent: dict[str, float]
    failed: frozenset[str] = frozenset()


@dataclass
class _Asked:
    """Answers of devices, the instants at which they were asked, and the last one of a look at answers."""

    answers: dict[str, Answer] = field(default_factory=dict)
    instants: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    looked: float = 0.0

    def take(self, row: list[Any], devices: Sequence[str]) -> None:
        """Take a row of the program."""
        kind, *values = row
        if kind == "looked":
            self.looked = values[0]
            return
        device = devices[values[0]]
        if kind == "asked":
            self.instants[device] = values[1]
        elif kind == "ended":
            self.failed.add(device)
        else:
            seconds, error, blocks, free, size, inodes, free_inodes = values[1:]
            self.answers[device] = Answer(seconds, error, blocks * size, free * size, inodes, free_inodes)

    def silence(self) -> dict[str, float]:
        """Times without an answer, each from the question to the last look."""
        return {
            device: max(0.0, self.looked - instant)
            for device, instant in self.instants.items()
            if device not in self.answers and device not in self.failed
        }


def ask(
    mounts: Sequence[Mount], limit_s: float, on_wait: Callable[[dict[str, Answer]], None] | None = None
) -> Answers:
    """Ask all mounts, those of one file system once. `on_wait` gets the answers so far, several times.

    A mount whose process of an earlier call still hangs is not asked again: its silence is the age of that
    process.
    """
    pending = outstanding()
    first_of: dict[str, Mount] = {}
    for mount in mounts:
        first_of.setdefault(mount.device, mount)
    asked = [mount for device, mount in first_of.items() if device not in pending]
    result = _asked(asked, limit_s, on_wait) if asked else _Asked()
    silence = result.silence() | {device: age_s for device, age_s in pending.items() if device in first_of}
    return Answers(
        {mount.point: result.answers[mount.device] for mount in mounts if mount.device in result.answers},
        {mount.point: silence[mount.device] for mount in mounts if mount.device in silence},
        frozenset(mount.point for mount in mounts if mount.device in result.failed),
    )


def outstanding() -> dict[str, float]:
    """Processes of earlier calls that still wait for a mount: device and age in seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return {
        stat.name.removeprefix(mount_questions.PREFIX): now_s - stat.start / ticks
        for stat in procfs.trusted_stats(mount_questions.PREFIX, "D")
    }


def ask_after_others(mounts: Sequence[Mount], limit_s: float) -> Answers:
    """Ask mounts that another part of the same examination asks: first wait for its answers.

    Mounts that it still waits for at half of the limit are not asked.
    """
    devices = {mount.device for mount in mounts}
    end = time.monotonic() + limit_s
    time.sleep(min(_OTHERS_S, limit_s / 2))
    deadline = end - limit_s / 2
    while (busy := devices & _being_asked()) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return ask([mount for mount in mounts if mount.device not in busy], end - time.monotonic())


#: Time in which another part has normally asked.
_OTHERS_S: Final = 0.3
_LOOK_S: Final = 0.02


def _being_asked() -> set[str]:
    return {
        stat.name.removeprefix(mount_questions.PREFIX)
        for stat in procfs.trusted_stats(mount_questions.PREFIX, "DSR")
    }


def _asked(
    mounts: Sequence[Mount], limit_s: float, on_wait: Callable[[dict[str, Answer]], None] | None
) -> _Asked:
    command = [
        sys.executable, "-I", "-S", str(Path(mount_questions.__file__)), str(limit_s), str(AT_ONCE),
    ]  # fmt: skip
    result = _Asked()
    devices = [mount.device for mount in mounts]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions = json.dumps([[mount.device, mount.point] for mount in mounts])
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(questions.encode())
            process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        deadline = time.monotonic() + limit_s + _START_S
        wait = on_wait or (lambda _: None)
        for row in _lines(process.stdout.fileno(), deadline, lambda: wait(result.answers)):
            result.take(json.loads(row), devices)
        process.kill()
    return result


def _lines(descriptor: int, deadline: float, on_wait: Callable[[], None]) -> Iterator[bytes]:
    """Lines of a pipe until its end or the deadline; `on_wait` is called again and again."""
    remainder = b""
    next_wait = time.monotonic() + _WAIT_S
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (remaining_s := deadline - time.monotonic()) > 0:
            ready = selector.select(min(remaining_s, _WAIT_S))
            if time.monotonic() >= next_wait:
                on_wait()
                next_wait = time.monotonic() + _WAIT_S
            if not ready:
                continue
            part = os.read(descriptor, _PART_BYTES)
            if not part:
                return
            *lines, remainder = (remainder + part).split(b"\n")
            yield from lines


_WAIT_S: Final = 0.25
_PART_BYTES: Final = 1 << 16
