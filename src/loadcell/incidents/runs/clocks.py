"""The wall clock during each trial, from the samples of the host."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.clocks import ClockReading, Clocks
from loadcell.incidents.runs.base import start_ns
from loadcell.store.read import StoredRun


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """Readings of the clock of each trial with samples."""
    frame = stored.samples("host")
    if not frame.has("trial", "mono_ns", "clock_offset_step_s"):
        return
    steps: dict[str, list[tuple[int, float]]] = {}
    for trial, mono_ns, step_s in frame.rows("trial", "mono_ns", "clock_offset_step_s"):
        if mono_ns is not None and step_s is not None:
            steps.setdefault(trial, []).append((int(mono_ns), step_s))
    for record in stored.trials:
        begin_ns, samples = start_ns(record), sorted(steps.get(record.name, ()))
        mono_ns = record.measure.started_mono_ns if record.measure else None
        if begin_ns is None or mono_ns is None or len(samples) < 2:
            continue
        changes_s = [step_s for _, step_s in samples]
        before_s = sum(step_s for at_ns, step_s in samples if at_ns <= mono_ns)
        offset_ns = begin_ns - mono_ns - round(before_s * 1e9)
        readings = [ClockReading(samples[0][0] - (samples[1][0] - samples[0][0]), offset_ns)]
        for (at_ns, _), step_s in zip(samples, changes_s, strict=True):
            offset_ns += round(step_s * 1e9)
            readings.append(ClockReading(at_ns, offset_ns))
        yield Clocks(record.name, tuple(readings), has_services=False)
