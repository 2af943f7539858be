"""Judgement of the management plane during a fault, from the answers to a probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.model.fault_judgement import Management, ManagementJudgement
from loadcell.model.fault_record import FaultRecord

#: An answer is slow above this, and above a multiple of the longest one before the faults: starting a process
#: for each operation takes a good part of a second on a busy machine.
_SLOW_S = 2.0
_TIMES_USUAL = 3.0


@dataclass(frozen=True)
class Answer:
    """An operation of the probe; instants are seconds from the start of the measurement."""

    operation: str
    began_s: float
    ended_s: float
    succeeded: bool

    @property
    def took_s(self) -> float:
        return self.ended_s - self.began_s


def judge_management(
    fault: FaultRecord, answers: Sequence[Answer], first_fault_s: float, until_s: float
) -> ManagementJudgement | None:
    """The judgement of the answers between a fault and its undo, for one that is not undone until `until_s`;
    None without any. An answer counts for a fault if its operation began within that time, or before the
    first fault of the trial and had not ended when this one was applied.
    """
    if fault.applied is None:
        return None
    start_s = fault.applied.began_s
    end_s = fault.undone.began_s if fault.undone is not None else until_s
    during = [
        answer
        for answer in answers
        if start_s <= answer.began_s < end_s or answer.began_s < first_fault_s <= start_s < answer.ended_s
    ]
    if not during:
        return None
    before = [answer.took_s for answer in answers if answer.ended_s < first_fault_s]
    longest = max(during, key=lambda answer: answer.took_s)
    failed = tuple(dict.fromkeys(answer.operation for answer in during if not answer.succeeded))
    is_slow = longest.took_s > max(_SLOW_S, _TIMES_USUAL * max(before, default=0.0))
    verdict: Management = "down" if failed else "slow" if is_slow else "ok"
    return ManagementJudgement(verdict, len(during), longest.took_s, longest.operation, failed)
