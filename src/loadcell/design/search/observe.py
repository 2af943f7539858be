"""What a search takes from a finished trial: its value, and whether it met the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.design.search.model import Probe
from loadcell.plan.search import Search

#: Of what was due, the share that has to be done for a rate to be kept up with: what is under way at the window's ends, and
#: the chance in Poisson arrivals, are the rest. The report judges by the same share (analysis/keeping_up.py).
KEPT_UP = 0.98
#: The `reason_code` of a trial in which ever more was due than the target took: an answer, and no accident.
_OVERLOADED = "overloaded"


def observed(
    search: Search, probe: Probe, record: Mapping[str, Any], figures: Mapping[str, float | None]
) -> dict[str, Any]:
    """As plain JSON: `met` is None when the trial says nothing of its level, `value` None when it has no figure that can be used."""
    found: dict[str, Any] = {
        "level": probe.level,
        "label": search.labels[probe.level],
        "stage": probe.stage,
        "why": probe.why,
        "value": None,
        "met": None,
        "bounds": [],
        "kept_up": None,
    }
    if record.get("reason_code") == _OVERLOADED:
        return {**found, "met": False, "kept_up": False}
    value = figures.get(search.metric)
    if record["status"] != "ok" or not value:
        return found
    verdicts = [(bound, bound.judge(figures)) for bound in search.bounds]
    found["bounds"] = [{"expression": bound.text, **verdict.document()} for bound, verdict in verdicts]
    if any(verdict.verdict == "unknown" for _, verdict in verdicts):
        return found
    kept_up = _kept_up(figures) if search.keeping_up else None
    met = all(verdict.verdict == "met" for _, verdict in verdicts) and kept_up is not False
    return {**found, "value": value, "met": met, "kept_up": kept_up}


def _kept_up(figures: Mapping[str, float | None]) -> bool | None:
    offered, achieved = figures.get("offered"), figures.get("throughput")
    return None if not offered or achieved is None else achieved >= KEPT_UP * offered
