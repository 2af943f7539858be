"""A disk: requests in progress nearly all the time, and tasks that wait for them."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, Observation, declared_candidate
from loadcell.model.message import ForeignText, Message, MessageCode, Share

#: A device with parallel queues may be utilised all the time and have capacity left. Then no task waits.
IO_PRESSURE = 0.5
#: Of the bytes of the disk, the least share that the target moves.
OF_TARGET = 0.5
WAITING = MessageCode(
    "limit.disk.waiting", "info", device=ForeignText, utilisation_share=Share, pressure_share=Share
)


def _signs(trial: Observation) -> tuple[Message, ...]:
    disk, pressure = trial.used.disk, trial.used.host.pressure
    if disk is None or pressure is None or pressure.io is None:
        return ()
    if disk.utilisation < AT_LIMIT or pressure.io < IO_PRESSURE:
        return ()
    # Utilisation and pressure are those of the whole machine: another process may have caused them.
    target = trial.used.target
    moved = 0.0 if target is None else (target.read_bytes_per_s or 0) + (target.write_bytes_per_s or 0)
    if moved < OF_TARGET * disk.bytes_per_s:
        return ()
    return (WAITING(device=disk.device, utilisation_share=disk.utilisation, pressure_share=pressure.io),)


CANDIDATE = declared_candidate("disk", _signs)
