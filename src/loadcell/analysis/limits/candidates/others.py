"""Other processes on the machine: they take most of its CPU time while target and client wait for cores."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    Evidence,
    Sign,
    declared_candidate,
    full_machine,
    half_of,
    other_cores,
)
from loadcell.model.message import Message, MessageCode, Number

BUSY = MessageCode("limit.others.busy", "info", cores=Number, of=Number, machine=Message)


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    if used.served is None or used.host.cpu is None or not used.host.cores:
        return None
    others = other_cores(evidence)
    return Sign(
        (full_machine(evidence), half_of(others, evidence)),
        BUSY(cores=others, of=used.host.cores, machine=evidence.machine),
    )


CANDIDATE = declared_candidate("others", _signs)
