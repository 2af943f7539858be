"""Limits of the target's control groups in each trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.containers import ControlGroups, CpuLimit, MemoryLimit
from loadcell.model.resources import ControlGroupUse, ProcessUse
from loadcell.store.read import StoredRun

#: The kernel's usual period.
_PERIOD_S: Final = 0.1
_TARGET: Final = "target"


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The limits of each trial that recorded any."""
    for record in stored.trials:
        served = record.resources.served if record.resources else None
        duration_s = record.measure.duration_s if record.measure else 0.0
        if served is not None and served.control_group is not None and duration_s:
            cpu, memory = _cpu(served.control_group, duration_s), _memory(served, served.control_group)
            yield ControlGroups(record.name, duration_s, cpu, memory)


def _cpu(group: ControlGroupUse, duration_s: float) -> tuple[CpuLimit, ...]:
    if not group.cpu_quota_cores or group.throttled_share is None:
        return ()
    periods = round(duration_s / _PERIOD_S)
    throttled = round(periods * group.throttled_share)
    return (CpuLimit(_TARGET, group.cpu_quota_cores, periods, throttled, None, periods, throttled),)


def _memory(served: ProcessUse, group: ControlGroupUse) -> tuple[MemoryLimit, ...]:
    if not group.memory_limit_bytes:
        return ()
    kills, reached = group.memory_oom_events or 0, group.memory_max_events or 0
    used = served.memory_max_bytes or 0
    return (MemoryLimit(_TARGET, group.memory_limit_bytes, used, kills, kills, reached),)
