"""Remarks on expectations whose verdict does not depend on the target, or that nothing measures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from loadcell.model import fault_metrics, write_metrics
from loadcell.model.message import Message, MessageCode, Seconds
from loadcell.plan.expect import COMPARATORS, Expectation, metric
from loadcell.plan.model import Resolved
from loadcell.plan.parts import Advice

NEVER_MET = MessageCode("expect.never-met", "caution", expectation=str, range=Message)
ALWAYS_MET = MessageCode("expect.always-met", "caution", expectation=str, range=Message)
REVERSED = MessageCode("expect.reversed", "caution", expectation=str, opposite=str)
NOT_NEGATIVE = MessageCode("expect.not-negative", "caution", metric=str)
SHARE_OF_ALL = MessageCode("expect.share-of-all", "caution", metric=str)
NOT_COUNTED = MessageCode("expect.not-counted", "caution", expectation=str)
NO_FAULTS = MessageCode("expect.no-faults", "caution", expectation=str, metric=str)
WITHIN_LOAD = MessageCode("expect.within-load", "caution", metric=str, longest_s=Seconds)

#: Shares of a total; others, such as the CPU time of several cores, can be more than 100%.
_OF_ALL = ("error_rate", "fairness", "dip")
#: Beginnings of the metrics that nobody wants to be bad, where the plan causes no faults.
_OF_SPEED = ("latency", "service", "throughput", "queries")
_LOWER, _HIGHER = ("<", "<="), (">", ">=")


def remarks(settings: Resolved) -> Iterator[Advice]:
    """Advice on the expectations of a treatment: those that are always or never met, seem reversed, or have
    no monitor or fault that they need.
    """
    load = settings.load
    longest_s = float(load.warmup + load.duration + settings.limits.load_slack)
    for expectation in settings.expect:
        if not settings.faults and expectation.metric.rpartition(".")[2] in fault_metrics.KEYS:
            without = NO_FAULTS(expectation=expectation.text, metric=expectation.metric)
            yield Advice("expect", without, expectation.text)
            continue
        if (message := _decided(expectation, longest_s)) is None and not settings.faults:
            message = _reversed(expectation)
        if message is not None:
            yield Advice("expect", message, expectation.text)
    if write_metrics.MONITOR not in settings.monitors:
        of_faults = (expectation for fault in settings.faults for expectation in fault.expect)
        for expectation in (*settings.expect, *of_faults):
            if expectation.metric in write_metrics.KEYS:
                yield Advice("monitors", NOT_COUNTED(expectation=expectation.text), expectation.text)


def _decided(expectation: Expectation, longest_s: float) -> Message | None:
    """A remark where all possible values of the metric have the same verdict."""
    try:
        bounded = metric(expectation.metric)
    except KeyError:  # of the plan, which may have any value
        return None
    if bounded.kind in {"effect", "management"}:
        return None
    most, reason = math.inf, NOT_NEGATIVE(metric=bounded.key)
    if bounded.kind == "time":
        most, reason = longest_s * 1000, WITHIN_LOAD(metric=bounded.key, longest_s=longest_s)
    elif bounded.key.rpartition(".")[2] in _OF_ALL:
        most, reason = 1.0, SHARE_OF_ALL(metric=bounded.key)
    compare, threshold = COMPARATORS[expectation.comparator], expectation.threshold
    # Between the ends the verdict changes at the threshold only.
    verdicts = {compare(value, threshold) for value in (0.0, most)}
    if 0 <= threshold <= most:
        verdicts.add(compare(threshold, threshold))
    if len(verdicts) > 1:
        return None
    return (ALWAYS_MET if verdicts.pop() else NEVER_MET)(expectation=expectation.text, range=reason)


def _reversed(expectation: Expectation) -> Message | None:
    """A remark on a bound that only a slow system meets."""
    try:
        better = metric(expectation.metric).better
    except KeyError:
        return None
    parts = expectation.metric.split(".")
    meets_slow = _HIGHER if better == "lower" else _LOWER
    if expectation.comparator not in meets_slow or not set(parts) & set(_OF_SPEED):
        return None
    comparator = (_LOWER if better == "lower" else _HIGHER)[meets_slow.index(expectation.comparator)]
    opposite = expectation.text.replace(expectation.comparator, comparator, 1)
    return REVERSED(expectation=expectation.text, opposite=opposite)
