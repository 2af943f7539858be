"""The finding of nghttpd: its threads slept most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.analyse import Analysis
from loadcell.analysis.finders import finder
from loadcell.analysis.finding import Finding
from loadcell.model.message import Share
from loadcell.store.read import StoredRun
from loadcell_nghttpd.messages import THREADS_ASLEEP

#: The share of samples from which on the finding is reported.
MOSTLY = 0.3


@finder
def threads_asleep(stored: StoredRun, analysis: Analysis) -> Iterator[Finding]:
    """Reports the share of samples that found a worker thread asleep, if it is large."""
    samples = stored.samples("nghttpd")
    if not samples.has("state", "tid"):
        return
    states = samples.take(samples.numbers("tid") > 0).text("state")
    asleep = Share(states.isin("S").mean()) if len(states) else Share(0)
    if asleep >= MOSTLY:
        yield Finding("trust", THREADS_ASLEEP(asleep_share=asleep))
