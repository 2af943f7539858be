"""The CPU of the machine: it is full, and none of target, load generator and other processes has half."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Evidence, Sign, declared_candidate, full_machine, other_cores
from loadcell.model.message import Message, MessageCode, Number

SHARED = MessageCode(
    "limit.machine.shared", "info", client_cores=Number, cores=Number, machine=Message, others=Number
)


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    if used.served is None or used.host.cpu is None or not used.host.cores:
        return None
    return Sign(
        (full_machine(evidence),),
        SHARED(
            cores=evidence.target_cores,
            client_cores=evidence.client_cores,
            others=other_cores(evidence),
            machine=evidence.machine,
        ),
    )


#: A side with half of the machine, or another resource at its limit, is the more exact answer.
CANDIDATE = declared_candidate("machine", _signs, rank=1)
