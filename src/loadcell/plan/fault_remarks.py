"""Remarks on faults that a load may not be able to judge."""

from __future__ import annotations

import math
from collections.abc import Iterator

from loadcell.model.fault_judgement import HOLD_S, LEAST_BASELINE_S
from loadcell.model.message import MessageCode, Seconds
from loadcell.plan.faults import PlannedFault
from loadcell.plan.model import Resolved
from loadcell.plan.parts import Advice, Parts
from loadcell.plan.units import Duration

CLOSED_LOOP = MessageCode("faults.closed-loop", "caution")
NO_BASELINE = MessageCode("faults.no-baseline", "caution", fault=str, least_s=Seconds)
CUT_OFF = MessageCode("faults.cut-off", "caution", fault=str, lasts_s=Seconds, planned=str)
SHORT_BACKLOG = MessageCode(
    "faults.short-backlog", "caution", fault=str, lasts_s=Seconds, backlog=str, enough=str
)
UNCONFIRMED = MessageCode(
    "faults.recovery-unconfirmed", "caution", fault=str, after_s=Seconds, least_s=Seconds
)

#: Backlogs to propose; for a longer fault whole hours.
_HOUR_S = 3600
_BACKLOGS = (Duration(60), Duration(300), Duration(_HOUR_S))


def remarks(settings: Resolved, parts: Parts) -> Iterator[Advice]:
    """Advice on the faults of a treatment."""
    yield from _of_backlog(settings, parts)
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
        if fault.ends_s is not None and fault.ends_s > settings.load.duration:
            lasts_s = float(settings.load.duration) - float(at)
            message = CUT_OFF(fault=fault.title, lasts_s=lasts_s, planned=fault.timing.for_ or "")
            yield Advice(f"{path}.for", message, fault.title)
        elif after_s < HOLD_S:
            yield Advice(path, UNCONFIRMED(fault=fault.title, after_s=after_s, least_s=HOLD_S), fault.title)


def _of_backlog(settings: Resolved, parts: Parts) -> Iterator[Advice]:
    """A remark on the longest fault that stops the load for longer than its requests may wait."""
    opened = [group.load for group in settings.client_groups if group.load.rate is not None]
    stops = [fault for fault in settings.faults if parts.faults[fault.action].stops_load]
    if not opened or not stops:
        return
    longest = max(stops, key=lambda fault: _lasts_s(fault, settings))
    lasts_s, backlog = _lasts_s(longest, settings), min(load.max_backlog for load in opened)
    if lasts_s > backlog:
        hours = Duration((lasts_s // _HOUR_S + 1) * _HOUR_S)
        enough = next((item for item in _BACKLOGS if item > lasts_s), hours)
        message = SHORT_BACKLOG(
            fault=longest.title, lasts_s=lasts_s, backlog=backlog.text, enough=enough.text
        )
        yield Advice("load.max_backlog", message)


def _lasts_s(fault: PlannedFault, settings: Resolved) -> float:
    """Length of a fault in seconds, as far as the plan states it."""
    timing = fault.timing
    until_end_s = math.inf if settings.load.count is not None else float(settings.load.duration)
    if timing.at is not None:
        until_end_s -= timing.at
    lasts_s = min(until_end_s, math.inf if timing.for_ is None else float(timing.for_))
    return lasts_s if math.isfinite(lasts_s) else 0.0
