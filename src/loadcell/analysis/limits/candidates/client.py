"""The client: one of its threads uses a whole core in a closed loop.

In an open loop threads of the client wait actively for the next instant, so that CPU time is no sign there.
"""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, Observation, declared_candidate
from loadcell.model.message import Message, MessageCode, Share

BUSY = MessageCode("limit.client.busy", "info", cpu_share=Share, delay_share=Share)


def _signs(trial: Observation) -> tuple[Message, ...]:
    client = trial.used.client
    thread = None if client is None else client.busiest_thread
    if trial.sustained is not None or thread is None or thread.cpu < AT_LIMIT:
        return ()
    return (BUSY(cpu_share=thread.cpu, delay_share=thread.run_delay),)


CANDIDATE = declared_candidate("client", _signs)
