"""Answers of the command line of GlusterFS for people, where it has none in XML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_HMS: Final = re.compile(r"(\d+):(\d\d):(\d\d)")
_OPEN: Final = re.compile(r"^Current open fds: (\d+)")
_LEFT: Final = re.compile(r"Estimated time left for rebalance to complete\s*:\s*(\d+:\d\d:\d\d)")
_IN_PROGRESS: Final = re.compile(
    r"^\s*(?P<node>\S+)\s+(?P<files>\d+)\s+\S+\s+(?P<scanned>\d+)\s+\d+\s+\d+"
    r"\s+in progress\s+(?P<time>\d+:\d\d:\d\d)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class SplitBrain:
    """Entries in split-brain, each once, and the number of bricks that answered."""

    entries: tuple[str, ...]
    connected: int


@dataclass(frozen=True)
class RebalanceStatus:
    """A running rebalance of all nodes: the longest time, scanned files, and the estimate of its end."""

    running_s: float
    scanned: int
    left_s: float | None


def split_brain(text: str) -> SplitBrain:
    """Entries by `volume heal VOLUME info split-brain`: for each brick its entries, status and number."""
    entries: dict[str, None] = {}
    connected = 0
    for row in text.splitlines():
        if row.startswith("Status: Connected"):
            connected += 1
        elif row.startswith(("/", "<gfid:")):
            entries[row.removesuffix(" - Is in split-brain").strip()] = None
    return SplitBrain(tuple(entries), connected)


def open_files(text: str) -> tuple[tuple[str, int], ...]:
    """Present number by brick, by `volume top VOLUME open`."""
    counts = []
    brick = ""
    for row in text.splitlines():
        if row.startswith("Brick:"):
            brick = row.removeprefix("Brick:").strip()
        elif match := _OPEN.match(row):
            counts.append((brick, int(match[1])))
    return tuple(counts)


def rebalance(text: str) -> RebalanceStatus | None:
    """Status by `volume rebalance VOLUME status`; None if none runs."""
    nodes = list(_IN_PROGRESS.finditer(text))
    if not nodes:
        return None
    estimate = _LEFT.search(text)
    return RebalanceStatus(
        max(seconds(node["time"]) for node in nodes),
        sum(int(node["scanned"]) for node in nodes),
        seconds(estimate[1]) if estimate else None,
    )


def seconds(text: str) -> float:
    """`412:10:05` in seconds."""
    match = _HMS.search(text)
    hours, minutes, remainder = (int(part) for part in match.groups()) if match else (0, 0, 0)
    return float(hours * 3600 + minutes * 60 + remainder)
