"""Result of an open loop in one trial: offered and completed load, lateness of the client, backlog at the
end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadcell.model.trial_record import Schedule


@dataclass(frozen=True)
class OpenLoop:
    """Rates are per second; distributions have the keys of `QUANTILES` in ms, and are None when nothing was
    counted.

    `pacing` is how late the client sent what found a free connection when it was due. `requests_mean` is how
    many requests were due and not answered, on average.
    """

    arrivals: str
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    pacing: Mapping[str, float] | None = None
    backlog_peak: int = 0
    backlog_at_end: int = 0
    requests_mean: float | None = None


def from_schedule(schedule: Schedule | None) -> OpenLoop | None:
    """Open loop of a trial; None for a closed one."""
    if schedule is None:
        return None
    return OpenLoop(
        arrivals=schedule.arrivals,
        offered_per_s=schedule.offered_per_s,
        achieved_per_s=schedule.achieved_per_s,
        pacing=schedule.pacing_error.values() if schedule.pacing_error else None,
        backlog_peak=schedule.backlog.peak,
        backlog_at_end=schedule.backlog.at_end,
        requests_mean=schedule.requests_mean,
    )
