"""Other processes on the machine: they take most of its CPU time while target and client wait for cores."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Evidence, Sign, declared_candidate, full_machine, half_of
from loadcell.model.message import Message, MessageCode, Number

BUSY = MessageCode("limit.others.busy", "info", cores=Number, of=Number, machine=Message)


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    if used.served is None or used.host.cpu is None or not used.host.cores:
        return None
    both_sides = evidence.target_cores + evidence.client_cores
    others = evidence.host_busy * used.host.cores - both_sides - (used.runner_cores or 0.0)
    others = max(0.0, others)
    return Sign(
        (full_machine(evidence), half_of(others, evidence)),
        BUSY(cores=others, of=used.host.cores, machine=evidence.machine),
    )


CANDIDATE = declared_candidate("others", _signs)
