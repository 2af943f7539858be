"""The wall clock during each trial, from the samples of the host."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.clocks import ClockReading, Clocks
from loadcell.incidents.runs.base import samples, start_ns
from loadcell.store.read import StoredRun


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """Readings of the clock of each trial with samples."""
    for record, rows in samples(stored, "host", ("mono_ns", "clock_offset_step_s")):
        steps = sorted(
            (int(at_ns), step_s) for at_ns, step_s in rows if at_ns is not None and step_s is not None
        )
        begin_ns = start_ns(record)
        mono_ns = record.measure.started_mono_ns if record.measure else None
        if begin_ns is None or mono_ns is None or len(steps) < 2:
            continue
        before_s = sum(step_s for at_ns, step_s in steps if at_ns <= mono_ns)
        offset_ns = begin_ns - mono_ns - round(before_s * 1e9)
        readings = [ClockReading(steps[0][0] - (steps[1][0] - steps[0][0]), offset_ns)]
        for at_ns, step_s in steps:
            offset_ns += round(step_s * 1e9)
            readings.append(ClockReading(at_ns, offset_ns))
        yield Clocks(record.name, tuple(readings), has_services=False)
