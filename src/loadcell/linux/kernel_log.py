"""Messages of the kernel with their times: its ring buffer, else the journal, else the files of syslog."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import ForeignText, MessageCode

UNREADABLE = MessageCode("host-reason.kernel-log", "info", error=ForeignText)

#: Older messages are of an earlier life of the machine.
AGE_S: Final = 24 * 3600
_MOST_LINES: Final = 20_000
_JOURNAL_S: Final = 1.2
_PART_BYTES: Final = 8192
_TAIL_BYTES: Final = 1 << 20
#: More than a ring buffer has; while new messages come faster than they are read, it has no end.
_MOST_RING_BYTES: Final = 32 << 20
_FILES: Final = ("var/log/kern.log", "var/log/messages", "var/log/syslog")
_RECORD: Final = re.compile(r"^(\d+),\d+,(\d+),[^;]*;(.*)$")
_JOURNAL_LINE: Final = re.compile(r"^(\d+\.\d+) \S+ [^:]*: ?(.*)$")
_SYSLOG: Final = re.compile(
    r"^(?:(?P<iso>\d{4}-\d\d-\d\dT\S+)|(?P<old>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)) \S+ "
    r"(?P<program>[^\s:\[]+)(?:\[\d+\])?: (?:\[ *\d+\.\d+\] )?(?P<text>.*)$"
)


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A message; UTC by the clock of the host."""

    utc_ns: int
    text: str


@dataclass(frozen=True)
class KernelMessages:
    """Messages of the last day, the oldest first, and the name of their source."""

    source: str
    lines: tuple[KernelLine, ...]


def read(root: Path = procfs.ROOT, age_s: float = AGE_S) -> KernelMessages:
    """Messages of the last `age_s` seconds. Raises UnavailableError."""
    now_ns = time.time_ns()
    source, lines = _source(root, now_ns)
    recent = [line for line in lines if now_ns - line.utc_ns <= age_s * 1e9]
    return KernelMessages(source, tuple(recent[-_MOST_LINES:]))


def _source(root: Path, now_ns: int) -> tuple[str, list[KernelLine]]:
    try:
        boot_ns = now_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return "/dev/kmsg", list(records(_ring(root / "dev/kmsg"), boot_ns))
    except OSError as error:
        refusal = error
    if root == procfs.ROOT and (output := _journal()):
        return "journal", list(journal_lines(output))
    for name in _FILES:
        try:
            text = tail(root / name)
        except OSError:
            continue
        return f"/{name}", list(syslog_lines(text, now_ns))
    raise UnavailableError(UNREADABLE(error=refusal.strerror or str(refusal)))


def _ring(path: Path) -> str:
    """Records, at most `_MOST_RING_BYTES`. The device gives one a read, and fails with EPIPE where the oldest
    was overwritten.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    parts: list[bytes] = []
    size = 0
    try:
        while size < _MOST_RING_BYTES:
            try:
                part = os.read(descriptor, _PART_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue
            if not part:
                break
            parts.append(part)
            size += len(part)
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace")


def records(text: str, boot_ns: int) -> Iterator[KernelLine]:
    """Messages of /dev/kmsg (Documentation/ABI/testing/dev-kmsg), whose times are since the boot."""
    for row in text.splitlines():
        match = _RECORD.match(row)
        if match and int(match[1]) >> 3 == 0:  # of the kernel itself
            yield KernelLine(boot_ns + int(match[2]) * 1000, match[3])


def _journal() -> str:
    command = ["journalctl", "-k", "-q", "--no-pager", "-o", "short-unix", "--since=-24h", f"-n{_MOST_LINES}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL, timeout=_JOURNAL_S)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def journal_lines(text: str) -> Iterator[KernelLine]:
    """Messages of `journalctl -o short-unix`."""
    for row in text.splitlines():
        if match := _JOURNAL_LINE.match(row):
            yield KernelLine(round(float(match[1]) * 1e9), match[2])


def tail(path: Path) -> str:
    """The end of a file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read(_TAIL_BYTES).decode("utf-8", "replace")


def syslog_lines(text: str, now_ns: int, programs: str = "kernel") -> Iterator[KernelLine]:
    """Messages of programs (a regular expression) in a file of syslog. A time without a year is of the last
    twelve months.
    """
    now = datetime.fromtimestamp(now_ns / 1e9).astimezone()
    for row in text.splitlines():
        match = _SYSLOG.match(row)
        if match is None or not re.fullmatch(programs, match["program"]):
            continue
        try:
            if match["iso"]:
                instant = datetime.fromisoformat(match["iso"]).astimezone(UTC)
            else:
                instant = datetime.strptime(f"{now.year} {match['old']}", "%Y %b %d %H:%M:%S").astimezone()
                if (instant - now).total_seconds() > 86_400:
                    instant = instant.replace(year=now.year - 1)
        except ValueError:
            continue
        yield KernelLine(round(instant.timestamp() * 1e9), match["text"])
