"""How an open loop went in one trial: what was due, what was achieved, how late the client was, what was left over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OpenLoop:
    """Rates are per second; distributions have the keys of `QUANTILES` in ms, and are None when nothing was counted.

    `pacing` is how late the client sent what found a free connection when it was due. `requests_mean` is how many
    requests were due and not answered, on average.
    """

    arrivals: str
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    pacing: Mapping[str, float] | None = None
    backlog_peak: int = 0
    backlog_at_end: int = 0
    requests_mean: float | None = None


def from_record(record: Mapping[str, Any]) -> OpenLoop | None:
    """What a `trial.json` says of it; None for a closed loop."""
    schedule = record.get("schedule")
    if not schedule:
        return None
    backlog = schedule.get("backlog") or {}
    return OpenLoop(
        arrivals=str(schedule.get("arrivals") or ""),
        offered_per_s=schedule.get("offered_per_s"),
        achieved_per_s=schedule.get("achieved_per_s"),
        pacing=schedule.get("pacing_error"),
        backlog_peak=backlog.get("peak") or 0,
        backlog_at_end=backlog.get("at_end") or 0,
        requests_mean=schedule.get("requests_mean"),
    )
