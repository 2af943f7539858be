"""Observation of a finished trial for a search: its value, and whether it met the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loadcell.design.search.model import Probe
from loadcell.model.trial_record import SearchObservation, Status, TrialRecord
from loadcell.plan.search import Search

#: The share of the offered load that must be completed for a rate to be sustained: what is under way at the
#: window's ends, and the chance in Poisson arrivals, are the rest. The report judges by the same share
#: (analysis/keeping_up.py).
SUSTAINED_SHARE = 0.98
#: The `reason_code` of a trial in which ever more was due than the target took: an answer, and no accident.
_OVERLOADED = "overloaded"


def observed(
    search: Search, group: int, probe: Probe, record: TrialRecord, figures: Mapping[str, float | None]
) -> SearchObservation:
    """Observation of a finished trial; `figures` are its metrics by key.

    `met` is None when the trial says nothing about its level, `value` None when it has no usable value.
    """
    observation = SearchObservation(group, probe.level, search.labels[probe.level], probe.stage, probe.why)
    if record.reason_code == _OVERLOADED:
        return replace(observation, met=False, kept_up=False)
    value = figures.get(search.metric)
    if record.status is not Status.OK or not value:
        return observation
    bounds = tuple(bound.judge(figures).result(bound.text) for bound in search.bounds)
    observation = replace(observation, bounds=bounds)
    if any(bound.verdict == "unknown" for bound in bounds):
        return observation
    kept_up = _sustained(figures) if search.keeping_up else None
    met = all(bound.verdict == "met" for bound in bounds) and kept_up is not False
    return replace(observation, value=value, met=met, kept_up=kept_up)


def _sustained(figures: Mapping[str, float | None]) -> bool | None:
    offered, achieved = figures.get("offered"), figures.get("throughput")
    return None if not offered or achieved is None else achieved >= SUSTAINED_SHARE * offered
