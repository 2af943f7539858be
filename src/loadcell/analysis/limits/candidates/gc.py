"""Garbage collections of a JVM: its threads stand still in pauses for most of the time.

A collector works on all its threads meanwhile, so that the CPU looks busy: that of the target, of a tool that
runs the JVM, or of processes that belong to neither side.
"""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    MOSTLY,
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    unmet_demand,
)
from loadcell.model.message import MessageCode, Share

PAUSED = MessageCode("limit.gc.paused", "info", paused_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    share = evidence.paused_share
    if share is None:
        return None
    return Sign((at_limit(share, MOSTLY), unmet_demand(evidence)), PAUSED(paused_share=min(1.0, share)))


CANDIDATE = declared_candidate(
    "gc", _signs, explains=("cpu", "thread", "client", "others", "machine", "pool")
)
