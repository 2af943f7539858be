"""Metrics of faults: for expectations, comparisons and queries.

Those of a trial are the worst of its faults, and lost operations their sum; faults that are judged together
lost the same operations. A metric is unknown where that of any fault is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from loadcell.model.fault_judgement import EFFECT_VALUES, MANAGEMENT, FaultJudgement
from loadcell.model.message import MessageCode
from loadcell.model.metrics import Kind, declare

Value = float | None
_METRICS: dict[str, Callable[[FaultJudgement], Value]] = {}
_SUMMED: Final = "lost_operations"
RECOVERY: Final = "recovery"
#: A fault that is never undone has none, and does not make that of its trial unknown.
_OF_UNDO: Final = "recovery_from_undo"


def _declare(
    key: str, kind: Kind, value: Callable[[FaultJudgement], Value], *, per_group: bool = True
) -> None:
    meaning = MessageCode(f"metric-meaning.{key}", "info")
    declare(key, kind, meaning(), "lower", additive=False, per_group=per_group)
    _METRICS[key] = value


def _ms(value_s: Value) -> Value:
    return None if value_s is None else value_s * 1e3


_declare("pause", "time", lambda judged: _ms(judged.pause_s))
_declare("dip", "share", lambda judged: judged.dip.depth if judged.dip else None)
_declare(_SUMMED, "count", lambda judged: judged.lost)
_declare(RECOVERY, "time", lambda judged: _ms(judged.recovery.from_injection_s) if judged.recovery else None)
_declare(_OF_UNDO, "time", lambda judged: _ms(judged.recovery.from_undo_s) if judged.recovery else None)
_declare("hung_clients", "count", lambda judged: judged.hung.number if judged.hung else None)
_declare("effect", "effect", lambda judged: EFFECT_VALUES[judged.effect] if judged.effect else None)
_declare(
    "management",
    "management",
    lambda judged: float(MANAGEMENT.index(judged.management.verdict)) if judged.management else None,
    per_group=False,
)
_declare(
    "management_answer",
    "time",
    lambda judged: _ms(judged.management.longest_s) if judged.management else None,
    per_group=False,
)

#: Keys of all metrics of faults.
KEYS: Final = tuple(_METRICS)


def of_fault(judgement: FaultJudgement) -> dict[str, Value]:
    """The metrics of one fault; None where one is unknown."""
    return {key: value(judgement) for key, value in _METRICS.items()}


def least_recoveries_ms(judgements: Sequence[FaultJudgement]) -> dict[str, Value]:
    """Lower bounds on `recovery` and `recovery_from_undo` of the worst of these faults; None without any."""
    recoveries = [judged.recovery for judged in judgements if judged.recovery is not None]
    return {
        RECOVERY: _longest_ms(item.from_injection_s or item.at_least_s for item in recoveries),
        _OF_UNDO: _longest_ms(item.from_undo_s or item.at_least_from_undo_s for item in recoveries),
    }


def _longest_ms(bounds_s: Iterable[Value]) -> Value:
    """The largest of these bounds; None without any."""
    return _ms(max((bound_s for bound_s in bounds_s if bound_s is not None), default=None))


def of_trial(judgements: Sequence[FaultJudgement]) -> dict[str, Value]:
    """The metrics of a trial's faults; none without faults."""
    return {key: _combined(key, judgements) for key in KEYS} if judgements else {}


def _combined(key: str, judgements: Sequence[FaultJudgement]) -> Value:
    values = [
        (judged.until_s, _METRICS[key](judged))
        for judged in judgements
        if not (key == _OF_UNDO and _has_no_undo(judged)) and judged.unjudged != "in-outage"
    ]
    present = [(until_s, value) for until_s, value in values if value is not None]
    if not present or len(present) < len(values):
        return None
    if key != _SUMMED:
        return max(value for _, value in present)
    # faults with one due time are judged until the same instant
    lost: dict[float | None, float] = {}
    for until_s, value in present:
        lost[until_s] = max(value, lost.get(until_s, 0.0))
    return sum(lost.values())


def _has_no_undo(judgement: FaultJudgement) -> bool:
    """True if the load recovered from a fault that is never undone."""
    recovery = judgement.recovery
    return recovery is not None and recovery.censored is None and recovery.from_undo_s is None
