"""Throughput and p99 around a fault, over time from its injection, and the phases of the load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions, Numbers
from loadcell.model.fault_judgement import FaultJudgement
from loadcell.model.fault_record import FaultRecord

Phase = Literal["before", "applied", "held", "undone", "recovered"]
PHASES: Final[tuple[Phase, ...]] = ("before", "applied", "held", "undone", "recovered")
#: Load that is shown before a fault and after the recovery from it.
BEFORE_S, AFTER_S = 10.0, 10.0
#: Shortest span of time of a point.
_SHORTEST_S = 0.1


@dataclass(frozen=True, eq=False)
class Around:
    """A value for each span of time: its beginning from the injection, successes per second, and p99."""

    t_s: Numbers
    rate_per_s: Numbers
    p99_ms: Numbers


def ends_s(fault: FaultRecord, judgement: FaultJudgement) -> tuple[float, float] | None:
    """The first and the last instant that is shown of a fault, from the start of the measurement; None where
    it was not applied or not judged.
    """
    if fault.applied is None or judgement.until_s is None:
        return None
    recovered_s = judgement.recovery.at_s if judgement.recovery else None
    last_s = max(
        fault.applied.ended_s, fault.undone.ended_s if fault.undone else 0.0, recovered_s or judgement.until_s
    )
    return max(0.0, fault.applied.began_s - BEFORE_S), min(judgement.until_s, last_s + AFTER_S)


def around(
    completions: Completions, fault: FaultRecord, judgement: FaultJudgement, points: int
) -> Around | None:
    """The load around a fault in about `points` spans; None where it was not applied or not judged."""
    ends = ends_s(fault, judgement)
    if ends is None or fault.applied is None:
        return None
    width = max(round(_SHORTEST_S / SLOT_S), round((ends[1] - ends[0]) / points / SLOT_S))
    injected = completions.slot(fault.applied.began_s)
    begin = injected - (injected - completions.slot(ends[0])) // width * width
    count = (completions.slot(ends[1]) - begin) // width
    if count < 1:
        return None
    end = begin + count * width
    succeeded = completions.succeeded[begin:end].reshape(count, width).sum(axis=1)
    rate: Numbers = succeeded.astype(np.float64) / (width * SLOT_S)
    t_s: Numbers = (np.arange(count, dtype=np.float64) * width + begin) * SLOT_S - fault.applied.began_s
    return Around(t_s, rate, _p99_ms(completions, begin, width, count))


def _p99_ms(completions: Completions, begin: int, width: int, count: int) -> Numbers:
    """99th percentile of each span; NaN where nothing succeeded."""
    slot, response_s, number = completions.responses(begin, begin + count * width)
    span = (slot - begin) // width
    order = np.lexsort((response_s, span))
    span, response_s, number = span[order], response_s[order], number[order]
    totals = np.bincount(span, number, minlength=count)
    before = np.concatenate(([0.0], np.cumsum(totals)))
    rank = np.cumsum(number) - before[span]
    reached = np.flatnonzero(rank >= 0.99 * totals[span] - 1e-9)
    p99_ms = np.full(count, np.nan)
    # the first of each span that reaches the rank: later ones are overwritten from the back
    p99_ms[span[reached[::-1]]] = response_s[reached[::-1]] * 1e3
    return p99_ms


def phases(fault: FaultRecord, judgement: FaultJudgement) -> list[tuple[Phase, float, float]]:
    """The phases of the load, with their beginning and end from the injection."""
    ends = ends_s(fault, judgement)
    if ends is None or fault.applied is None:
        return []
    injected_s = fault.applied.began_s
    undone_s = fault.undone.began_s if fault.undone else None
    recovered_s = judgement.recovery.at_s if judgement.recovery else None
    last_s = ends[1]
    held_until_s = last_s if undone_s is None and recovered_s is None else undone_s or recovered_s or last_s
    steps: list[tuple[Phase, float, float]] = [
        ("before", ends[0], injected_s),
        ("applied", injected_s, fault.applied.ended_s),
        ("held", fault.applied.ended_s, min(held_until_s, last_s)),
        (
            "undone",
            held_until_s,
            min(last_s, last_s if recovered_s is None else max(recovered_s, held_until_s)),
        ),
    ]
    if recovered_s is not None:
        steps.append(("recovered", max(recovered_s, held_until_s), last_s))
    return [
        (phase, begin_s - injected_s, end_s - injected_s)
        for phase, begin_s, end_s in steps
        if end_s > begin_s
    ]
