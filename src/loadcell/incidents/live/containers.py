"""Limited control groups of this host, v2 and v1, read twice."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.incidents.evidence.containers import ControlGroups, CpuLimit, MemoryLimit
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import cgroups
from loadcell.linux.cgroups import GroupCounts
from loadcell.linux.host_counters import difference
from loadcell.linux.procfs import read_number

_HOME: Final = "sys/fs/cgroup"
#: Groups of a host that are looked at.
_MOST_GROUPS: Final = 3_000
_IDENTITY: Final = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")


@dataclass(frozen=True)
class _Group:
    """A group with its limits, None without one, and its counters."""

    path: Path
    cores: float | None
    memory_bytes: int | None
    counts: GroupCounts
    kills: int


class ContainerGatherer(Gatherer):
    name = "containers"
    gathers = (ControlGroups,)

    def gather(self, host: Host) -> Iterable[ControlGroups]:
        before = {path: _read(path) for path in _folders(host.root / _HOME)}
        limited = {
            path: group
            for path, group in before.items()
            if group.cores is not None or group.memory_bytes is not None
        }
        begin = time.monotonic()
        if limited:
            time.sleep(host.interval_s)
        interval_s = max(time.monotonic() - begin, 1e-3)
        now = [(old, _read(path)) for path, old in limited.items()]
        home = host.root / _HOME
        yield ControlGroups(
            SOURCE,
            interval_s,
            tuple(item for old, new in now if (item := _cpu(old, new, home)) is not None),
            tuple(limit for old, new in now if (limit := _memory(old, new, home)) is not None),
        )


def _folders(home: Path) -> Iterator[Path]:
    """All groups of all hierarchies with limits, those above first."""
    count = 0
    for path, names, files in os.walk(home):
        if not {"cpu.max", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes"}.isdisjoint(files):
            count += 1
            yield Path(path)
        if count >= _MOST_GROUPS:
            return
        names.sort()


def _read(path: Path) -> _Group:
    quota = cgroups.cpu_quota([path])
    return _Group(
        path,
        quota,
        cgroups.memory_limit([path]),
        cgroups.group_counts(path),
        cgroups.memory_kills(path),
    )


def _name(path: Path, home: Path) -> str:
    """Path below the hierarchies; identities of containers are shortened as their tools do."""
    return _IDENTITY.sub(r"\1", f"/{path.relative_to(home)}")


def _cpu(old: _Group, new: _Group, home: Path) -> CpuLimit | None:
    if new.cores is None or None in (new.counts.periods, old.counts.periods):
        return None

    def increase(name: str) -> int:
        return difference(getattr(old.counts, name) or 0, getattr(new.counts, name) or 0)

    return CpuLimit(
        _name(new.path, home),
        new.cores,
        increase("periods"),
        increase("throttled_periods"),
        increase("throttled_us") / 1e6,
        new.counts.periods or 0,
        new.counts.throttled_periods or 0,
    )


def _memory(old: _Group, new: _Group, home: Path) -> MemoryLimit | None:
    if not new.memory_bytes:
        return None
    used = [read_number(new.path / name) for name in ("memory.current", "memory.usage_in_bytes")]
    events = old.counts.memory_events, new.counts.memory_events
    return MemoryLimit(
        _name(new.path, home),
        new.memory_bytes,
        next((size for size in used if size is not None), 0),
        new.kills,
        difference(old.kills, new.kills),
        difference(events[0].get("max", 0), events[1].get("max", 0)),
    )


PART = ContainerGatherer
