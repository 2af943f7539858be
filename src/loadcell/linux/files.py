"""Small files of /proc and /sys, and the lists of numbers in them."""

from __future__ import annotations

from pathlib import Path

from loadcell.linux.procfs import read_small


def line(path: Path) -> str | None:
    """A file's only line; None when there is none."""
    return read_small(path).strip() or None


def text(path: Path) -> str:
    """A file that may be long; empty when it is gone or not ours to read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def whole(path: Path) -> int | None:
    """A file's number; None when there is none."""
    number = line(path)
    return int(number) if number is not None and number.lstrip("-").isdecimal() else None


def chosen(words: str | None) -> str | None:
    """`always [madvise] never` -> `madvise`."""
    return words[words.find("[") + 1 : words.find("]")] if words and "[" in words else words


def numbers(listed: str | None) -> list[int]:
    """`0-2,8` -> [0, 1, 2, 8] (the kernel's list format)."""
    numbers_read: list[int] = []
    for part in (listed or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal():
            numbers_read.extend(range(int(first), int(last if last.isdecimal() else first) + 1))
    return numbers_read
