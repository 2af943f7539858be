"""One thread of the target that uses a whole core, while others are idle."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, declared_candidate, is_at_quota
from loadcell.model.message import ForeignText, Message, MessageCode, Share
from loadcell.model.resources import Resources

BUSY = MessageCode("limit.thread.busy", "info", thread=ForeignText, cpu_share=Share, delay_share=Share)


def _signs(used: Resources) -> tuple[Message, ...]:
    target = used.target
    thread = None if target is None else target.busiest_thread
    # The run delay of a thread belongs to whoever holds the cores.
    if target is None or thread is None or is_at_quota(target) or thread.cpu < AT_LIMIT:
        return ()
    return (BUSY(thread=thread.name, cpu_share=thread.cpu, delay_share=thread.run_delay),)


CANDIDATE = declared_candidate("thread", _signs)
