"""Memory: tasks wait for reclaim or for pages that were swapped out (pressure stall information)."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Observation, declared_candidate
from loadcell.model.message import Message, MessageCode, Share

#: Share of time in which some task waited for memory. Without a shortage it is 0 to 1%.
MEMORY_PRESSURE = 0.2
#: Of the memory that it may use, the least share that the target has.
OF_TARGET = 0.5
STALLED = MessageCode("limit.memory.stalled", "info", pressure_share=Share)


def _signs(trial: Observation) -> tuple[Message, ...]:
    pressure = trial.used.host.pressure
    if pressure is None or pressure.memory is None or pressure.memory < MEMORY_PRESSURE:
        return ()
    # Pressure is that of the whole machine: another process may have caused it.
    target, total = trial.used.target, trial.used.host.memory_total_bytes
    if target is None or target.memory_max_bytes is None:
        return ()
    group = target.control_group
    limit = (group.memory_limit_bytes if group is not None else None) or total
    if limit is None or target.memory_max_bytes < OF_TARGET * limit:
        return ()
    return (STALLED(pressure_share=pressure.memory),)


#: Reclaim reads pages again from the disk, so that a busy disk follows from it.
CANDIDATE = declared_candidate("memory", _signs, explains=("disk",))
