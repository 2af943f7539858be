"""Other processes on the machine: they take most of its CPU time while target and client wait for cores."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Evidence, Sign, declared_candidate, full_machine, half_of
from loadcell.model.message import MessageCode, Number, Share

BUSY = MessageCode("limit.others.busy", "info", cores=Number, of=Number, busy_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    if used.served is None or used.host.cpu is None or not used.host.cores:
        return None
    both_sides = evidence.target_cores + evidence.client_cores
    others = max(0.0, evidence.host_busy * used.host.cores - both_sides)
    return Sign(
        (full_machine(evidence), half_of(others, used.host)),
        BUSY(cores=others, of=used.host.cores, busy_share=evidence.host_busy),
    )


CANDIDATE = declared_candidate("others", _signs)
