"""Steps of the wall clock that time services state in the log of the system."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux import kernel_log, procfs

_TAGS: Final = ("chronyd", "ntpd", "ntpdate", "rdate", "systemd-timesyncd", "sntp")
_FILES: Final = ("var/log/syslog", "var/log/messages", "var/log/daemon.log")
#: chronyd; ntpd; ntpdate and sntp; openntpd.
_STEP: Final = re.compile(
    r"(?:clock was stepped by|time reset|step time server \S+ offset|set local clock to .*\(offset) "
    r"(?P<size>[-+]?\d+\.?\d*) ?s"
)
_LIMIT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """A step by its line."""

    utc_ns: int
    size_s: float
    source: str
    text: str


def steps(root: Path, now_ns: int, age_s: float) -> list[LoggedStep]:
    """Steps of the last `age_s` seconds."""
    return [
        step
        for line, source in _lines(root, now_ns)
        if now_ns - line.utc_ns <= age_s * 1e9 and (step := _step(line, source)) is not None
    ]


def _step(line: kernel_log.KernelLine, source: str) -> LoggedStep | None:
    match = _STEP.search(line.text)
    return LoggedStep(line.utc_ns, float(match["size"]), source, line.text) if match else None


def _lines(root: Path, now_ns: int) -> Iterator[tuple[kernel_log.KernelLine, str]]:
    if root == procfs.ROOT and (output := _journal()):
        yield from ((line, "journal") for line in kernel_log.journal_lines(output))
        return
    for name in _FILES:
        try:
            text = kernel_log.tail(root / name)
        except OSError:
            continue
        programs = "|".join(_TAGS)
        yield from ((line, f"/{name}") for line in kernel_log.syslog_lines(text, now_ns, programs))


def _journal() -> str:
    tags = [word for tag in _TAGS for word in ("-t", tag)]
    command = ["journalctl", "-q", "--no-pager", "-o", "short-unix", "--since=-1h", "-n5000", *tags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL, timeout=_LIMIT_S)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
