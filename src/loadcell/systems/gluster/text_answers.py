"""Answers of the command line of GlusterFS for people, where it has none in XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

#: Of a file whose path the brick does not know.
_GFID: Final = "<gfid:"
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
    """Entries in split-brain, each once, and the number of bricks that answered.

    There may be more (`has_more`) where a brick did not answer, or where it is not known whether a path and a
    GFID are the same entry.
    """

    entries: tuple[str, ...]
    connected: int
    has_more: bool = False


@dataclass(frozen=True)
class RebalanceStatus:
    """A running rebalance of all nodes: the longest time, scanned files, and the estimate of its end."""

    running_s: float
    scanned: int
    left_s: float | None


def _no_gfids(_path: str) -> Collection[str]:
    return ()


def split_brain(
    text: str,
    copies: int = 1,
    gfids_of: Callable[[str], Collection[str]] = _no_gfids,
    *,
    of_all_bricks: bool = False,
) -> SplitBrain:
    """Entries by `volume heal VOLUME info split-brain`: for each brick its entries, status and number.

    `copies` bricks in succession have the same files. One may state the path of a file, and another its GFID.
    `gfids_of` has the GFIDs of a path, which may differ on other bricks unless they are `of_all_bricks`.
    Without all of them there are at least as many entries as the brick with the most states. Paths come
    first.
    """
    bricks: list[list[str]] = []
    connected = 0
    for row in text.splitlines():
        if row.startswith("Brick "):
            bricks.append([])
        elif row.startswith("Status: Connected"):
            connected += 1
        elif row.startswith(("/", _GFID)) and bricks:
            bricks[-1].append(row.removesuffix(" - Is in split-brain").strip())
    all_entries = dict.fromkeys(entry for brick in bricks for entry in brick)
    paths = [entry for entry in all_entries if not entry.startswith(_GFID)]
    path_of: dict[str, str] = {}
    unresolved: set[str] = set()
    if len(paths) < len(all_entries):
        for path in paths:
            gfids = gfids_of(path)
            path_of |= {f"{_GFID}{gfid}>": path for gfid in gfids}
            unresolved |= set() if gfids and of_all_bricks else {path}
    bricks = [list(dict.fromkeys(path_of.get(entry, entry) for entry in brick)) for brick in bricks]
    entries: dict[str, None] = {}
    has_more = connected < len(bricks)
    for begin in range(0, len(bricks), copies):
        distinct, is_least = _distinct(bricks[begin : begin + copies], unresolved)
        entries.update(dict.fromkeys(distinct))
        has_more |= is_least
    return SplitBrain(tuple(entries), connected, has_more and bool(entries))


def _distinct(bricks: list[list[str]], unresolved: set[str]) -> tuple[list[str], bool]:
    """Entries of bricks with the same files, each once, and True if there may be more of them.

    The GFIDs of `unresolved` paths are not known, or not of all bricks.
    """
    bricks = sorted(bricks, key=lambda brick: sum(entry.startswith(_GFID) for entry in brick))
    all_entries = dict.fromkeys(entry for brick in bricks for entry in brick)
    paths = [entry for entry in all_entries if not entry.startswith(_GFID)]
    further = [entry for entry in all_entries if entry.startswith(_GFID)]
    if not further or unresolved.isdisjoint(paths):
        return [*paths, *further], False
    most = max(map(len, bricks))
    distinct = [*paths, *further[: max(0, most - len(paths))]]
    return distinct, len(distinct) < len(all_entries)


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
