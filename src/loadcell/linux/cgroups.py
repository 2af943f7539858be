"""Control groups of a process, v2 and v1: its limits of CPU time and memory, and the counters beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.linux.host_counters import difference
from loadcell.linux.procfs import line, read_small, text

#: v1 writes "no limit" as a huge number.
_NO_LIMIT = 1 << 60
_MEMORY_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
_HOME = "sys/fs/cgroup"


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Running counters of one group; None, or missing, where it has none.

    Enforcement periods of its CPU limit, those in which it was throttled, and for how long in microseconds
    (`cpu.stat`); `memory_events` count by name (`high`, `max`, `oom`).
    """

    periods: int | None = None
    throttled_periods: int | None = None
    throttled_us: int | None = None
    memory_events: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupEffects:
    """Effects of limits between two instants, of the group where each was largest; None where not known."""

    throttled_share: float | None = None
    throttled_us: int | None = None
    memory_events: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupCounters:
    """Limits of one instant, None without a limit, and the counters of each group that has any.

    `identity` is the same for processes of the same groups, and differs for all others; empty if unknown.
    """

    cpu_quota_cores: float | None = None
    memory_limit_bytes: int | None = None
    by_path: Mapping[Path, GroupCounts] = field(default_factory=dict)
    identity: str = ""

    def since(self, before: GroupCounters) -> GroupEffects:
        """Increases within each group: which one has the largest counter may change in between.

        Groups that are not in both instants have no base.
        """
        pairs = [(before.by_path[path], now) for path, now in self.by_path.items() if path in before.by_path]
        events: dict[str, int] = {}
        for old, now in pairs:  # a group counts the events of those below it, too
            for name, count in now.memory_events.items():
                increase = difference(old.memory_events.get(name, 0), count)
                events[name] = max(increase, events.get(name, 0))
        shares = [share for old, now in pairs if (share := _throttled_share(old, now)) is not None]
        times_us = [
            difference(old.throttled_us, now.throttled_us)
            for old, now in pairs
            if old.throttled_us is not None and now.throttled_us is not None
        ]
        return GroupEffects(max(shares, default=None), max(times_us, default=None), events)


def read_groups(root: Path, pid: int | str = "self") -> GroupCounters:
    """The counters of a process' groups and of all groups above; empty if it is gone or hidden."""
    paths = folders(root, pid)
    counts = {path: group_counts(path) for path in paths}
    by_path = {path: group for path, group in counts.items() if group != GroupCounts()}
    limits = cpu_quota(paths), memory_limit(paths)
    if not by_path and limits == (None, None):
        return GroupCounters()
    return GroupCounters(*limits, by_path, _identity(paths))


def _identity(paths: Iterable[Path]) -> str:
    """Devices and inodes of groups: names of groups may have personal data, and may be used again."""
    inodes = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        inodes.append(f"{status.st_dev}:{status.st_ino}")
    return hashlib.sha256(" ".join(inodes).encode()).hexdigest()[:16] if inodes else ""


def folders(root: Path, pid: int | str = "self") -> list[Path]:
    """Directories of the groups of a process, each followed by those above it."""
    home = root / _HOME
    paths: dict[Path, None] = {}
    for row in text(root / "proc" / str(pid) / "cgroup").splitlines():
        _, _, groups = row.partition(":")
        controllers, _, path = groups.partition(":")
        if ".." in path:
            continue
        top = home / controllers
        group = top / path.strip("/")
        for folder in (group, *group.parents):
            paths[folder] = None
            if folder in (home, top):
                break
    return list(paths)


def cpu_quota(paths: Iterable[Path]) -> float | None:
    """The smallest quota of these groups, in processors' worth of time; None without a limit."""
    return min((quota for path in paths if (quota := _quota(path)) is not None), default=None)


def memory_limit(paths: Iterable[Path]) -> int | None:
    """The smallest limit of these groups in bytes; None without a limit.

    `memory.high` is one, too: above it the kernel throttles the group and reclaims its memory.
    """
    sizes = (line(path / name) for path in paths for name in _MEMORY_LIMITS)
    limits = (int(size) for size in sizes if size and size.isdecimal())
    return min((limit for limit in limits if limit < _NO_LIMIT), default=None)


def _quota(path: Path) -> float | None:
    words = (line(path / "cpu.max") or "").split()
    if len(words) != 2:
        words = [line(path / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    if all(word.isdecimal() for word in words) and int(words[1]):
        return int(words[0]) / int(words[1])
    return None


def _throttled_share(before: GroupCounts, now: GroupCounts) -> float | None:
    """Share of the enforcement periods in which a group was throttled."""
    if before.periods is None or now.periods is None:
        return None
    if before.throttled_periods is None or now.throttled_periods is None:
        return None
    periods = difference(before.periods, now.periods)
    return min(1.0, difference(before.throttled_periods, now.throttled_periods) / periods) if periods else 0.0


def group_counts(path: Path) -> GroupCounts:
    """Counters of one group by its directory."""
    counts = _counts(path / "cpu.stat")
    throttled_us = counts.get("throttled_usec")
    if throttled_us is None and "throttled_time" in counts:  # v1, in nanoseconds
        throttled_us = counts["throttled_time"] // 1000
    return GroupCounts(
        counts.get("nr_periods"), counts.get("nr_throttled"), throttled_us, _memory_events(path)
    )


def memory_kills(path: Path) -> int:
    """Processes of a group that the kernel killed at its limit: v2, and v1 since Linux 4.13."""
    return max(_counts(path / name).get("oom_kill", 0) for name in ("memory.events", "memory.oom_control"))


def _memory_events(path: Path) -> dict[str, int]:
    counts = _counts(path / "memory.events")
    events: dict[str, int] = {name: counts[name] for name in ("high", "max", "oom") if name in counts}
    if failures := line(path / "memory.failcnt"):  # v1
        events["max"] = int(failures) if failures.isdecimal() else 0
    return events


def _counts(path: Path) -> dict[str, int]:
    """Lines with a name and a number."""
    pairs = (row.partition(" ") for row in read_small(path).splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdecimal()}
