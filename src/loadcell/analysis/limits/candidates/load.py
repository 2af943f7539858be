"""A load too small for any limit: an open loop kept to its schedule on a machine that was mostly idle."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Observation, declared_candidate
from loadcell.model.message import Message, MessageCode, Share

#: CPU of the machine below which half of its capacity is free.
MOSTLY_IDLE = 0.5
IDLE = MessageCode("limit.load.idle", "info", busy_share=Share)


def _signs(trial: Observation) -> tuple[Message, ...]:
    cpu = trial.used.host.cpu
    if not trial.sustained or cpu is None or cpu.busy >= MOSTLY_IDLE:
        return ()
    return (IDLE(busy_share=cpu.busy),)


CANDIDATE = declared_candidate("load", _signs)
