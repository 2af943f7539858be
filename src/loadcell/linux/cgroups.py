"""Control groups of a process, v2 and v1: its limits of CPU time and memory, and the counters beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.linux.procfs import line, read_small, text

#: v1 writes "no limit" as a huge number.
_NO_LIMIT = 1 << 60
_HOME = "sys/fs/cgroup"


@dataclass(frozen=True, slots=True)
class GroupCounters:
    """Limits and running counters of one instant; None, or missing, where there is no limit.

    `periods` and `throttled_periods` are those of the group that was throttled most (`cpu.stat`).
    `memory_events` count by name (`high`, `max`, `oom`).
    """

    cpu_quota_cores: float | None = None
    periods: int | None = None
    throttled_periods: int | None = None
    memory_limit_bytes: int | None = None
    memory_events: Mapping[str, int] = field(default_factory=dict)


def read_groups(root: Path, pid: int | str = "self") -> GroupCounters:
    """The counters of a process' groups and of all groups above; empty if it is gone or hidden."""
    paths = folders(root, pid)
    periods, throttled = max(map(_periods, paths), key=lambda pair: pair[1] or 0, default=(None, None))
    events: dict[str, int] = {}
    for path in paths:  # a group counts the events of those below it, too
        for name, count in _memory_events(path).items():
            events[name] = max(count, events.get(name, 0))
    return GroupCounters(cpu_quota(paths), periods, throttled, memory_limit(paths), events)


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
    """The smallest limit of these groups in bytes; None without a limit."""
    sizes = (line(path / name) for path in paths for name in ("memory.max", "memory.limit_in_bytes"))
    limits = (int(size) for size in sizes if size and size.isdecimal())
    return min((limit for limit in limits if limit < _NO_LIMIT), default=None)


def _quota(path: Path) -> float | None:
    words = (line(path / "cpu.max") or "").split()
    if len(words) != 2:
        words = [line(path / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    if all(word.isdecimal() for word in words) and int(words[1]):
        return int(words[0]) / int(words[1])
    return None


def _periods(path: Path) -> tuple[int | None, int | None]:
    """Enforcement periods of a group, and those in which it was throttled."""
    counts = _counts(path / "cpu.stat")
    return counts.get("nr_periods"), counts.get("nr_throttled")


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
