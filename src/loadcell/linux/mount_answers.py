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
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    """Answers by mount point; `silent` were asked and did not answer for so long; others were not asked."""

    by_point: dict[str, Answer]
    silent: dict[str, float]


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
    answers, silence = _asked(asked, limit_s, on_wait) if asked else ({}, {})
    silence |= {device: age_s for device, age_s in pending.items() if device in first_of}
    return Answers(
        {mount.point: answers[mount.device] for mount in mounts if mount.device in answers},
        {mount.point: silence[mount.device] for mount in mounts if mount.device in silence},
    )


def outstanding() -> dict[str, float]:
    """Processes of earlier calls that still wait for a mount: device and age in seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return {
        stat.name.removeprefix(mount_questions.PREFIX): now_s - stat.start / ticks
        for stat in procfs.all_stats(procfs.ROOT)
        if stat.name.startswith(mount_questions.PREFIX) and stat.state not in "ZX"
    }


def _asked(
    mounts: Sequence[Mount], limit_s: float, on_wait: Callable[[dict[str, Answer]], None] | None
) -> tuple[dict[str, Answer], dict[str, float]]:
    command = [
        sys.executable, "-I", "-S", str(Path(mount_questions.__file__)), str(limit_s), str(AT_ONCE),
    ]  # fmt: skip
    answers: dict[str, Answer] = {}
    silence: dict[str, float] | None = None
    begin = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions = json.dumps([[mount.device, mount.point] for mount in mounts])
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(questions.encode())
        process.stdin.close()
        deadline = time.monotonic() + limit_s + _START_S
        for row in _lines(process.stdout.fileno(), deadline, lambda: on_wait(answers) if on_wait else None):
            index, seconds, *values = json.loads(row)
            if index < 0:
                silence = {mounts[number].device: seconds for number in values[0]}
                break
            error, blocks, free, size, inodes, free_inodes = values
            answers[mounts[index].device] = Answer(
                seconds, error, blocks * size, free * size, inodes, free_inodes
            )
        process.kill()
    if silence is None:  # the program is late on a busy machine
        elapsed_s = time.monotonic() - begin
        unanswered = [mount.device for mount in mounts if mount.device not in answers]
        silence = dict.fromkeys(unanswered[:AT_ONCE], elapsed_s)
    return answers, silence


def _lines(descriptor: int, deadline: float, on_wait: Callable[[], None]) -> Iterator[bytes]:
    """Lines of a pipe until its end or the deadline."""
    remainder = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (remaining_s := deadline - time.monotonic()) > 0:
            if not selector.select(min(remaining_s, _WAIT_S)):
                on_wait()
                continue
            part = os.read(descriptor, _PART_BYTES)
            if not part:
                return
            *lines, remainder = (remainder + part).split(b"\n")
            yield from lines


_WAIT_S: Final = 0.25
_PART_BYTES: Final = 1 << 16
