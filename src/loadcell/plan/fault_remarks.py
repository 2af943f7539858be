"""Remarks on faults that a load may not be able to judge."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.model.fault_judgement import HOLD_S, LEAST_BASELINE_S
from loadcell.model.message import MessageCode, Seconds
from loadcell.plan.model import Resolved
from loadcell.plan.parts import Advice, Parts

CLOSED_LOOP = MessageCode("faults.closed-loop", "caution")
NO_BASELINE = MessageCode("faults.no-baseline", "caution", fault=str, least_s=Seconds)
UNCONFIRMED = MessageCode(
    "faults.recovery-unconfirmed", "caution", fault=str, after_s=Seconds, least_s=Seconds
)


def remarks(settings: Resolved, parts: Parts) -> Iterator[Advice]:
    """Advice on the faults of a treatment."""
    if settings.faults and any(group.load.rate is None for group in settings.client_groups):
        yield Advice("load.rate", CLOSED_LOOP())
    for number, fault in enumerate(settings.faults):
        at, path = fault.timing.at, f"faults.{number}"
        if (remark := parts.faults[fault.action].remark) is not None:
            yield Advice(path, remark(fault=fault.title), fault.title)
        if (message := parts.faults[fault.action].remark_on(fault.options)) is not None:
            yield Advice(path, message, fault.title)
        if at is None:
            continue
        if at < LEAST_BASELINE_S:
            yield Advice(f"{path}.at", NO_BASELINE(fault=fault.title, least_s=LEAST_BASELINE_S), fault.title)
        if settings.load.count is not None:
            continue
        lasts = parts.faults[fault.action].lasts
        # one that lasts to the end on purpose is about its effect, not about a recovery from its undo
        end_s = fault.ends_s if lasts and fault.ends_s is not None else float(at)
        after_s = max(0.0, float(settings.load.duration) - end_s)
        if after_s < HOLD_S:
            yield Advice(path, UNCONFIRMED(fault=fault.title, after_s=after_s, least_s=HOLD_S), fault.title)
