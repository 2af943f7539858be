"""Resources by treatment: medians over its successful trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.resource_metrics import METRICS
from loadcell.model.resources import Resources


@dataclass(frozen=True)
class Used:
    """Resources of one treatment: medians over its trials by metric, and names of the busiest parts.

    Values of disks and interfaces are those of the one that was the busiest in most trials, in the trials
    that have it.
    """

    treatment: Treatment
    values: Mapping[str, float] = field(default_factory=dict)
    disk: str = ""
    thread: str = ""
    #: True if the target worked within the client's process, whose use is that of both
    in_client: bool = False


def by_treatment(treatments: Sequence[Treatment], trials: Sequence[Trial]) -> tuple[Used, ...]:
    """Resources of the treatments whose trials recorded any."""
    return tuple(_used(treatments, trials))


def _used(treatments: Sequence[Treatment], trials: Sequence[Trial]) -> Iterator[Used]:
    for treatment in treatments:
        used = [
            trial.resources
            for trial in trials
            if trial.treatment == treatment.id and trial.counts and trial.resources is not None
        ]
        if not used:
            continue
        disk = _commonest([item.disk.device for item in used if item.disk is not None])
        link = _commonest([item.link.interface for item in used if item.link is not None])
        used = [_with_devices(item, disk, link) for item in used]
        values = {
            metric.key: median(present)
            for metric in METRICS
            if (present := [value for item in used if (value := metric.value(item)) is not None])
            # a maximum of fewer trials than the mean beside it may lie below that
            and (len(present) == len(used) or not metric.key.endswith(".max"))
        }
        threads = [
            item.served.busiest_thread.name
            for item in used
            if item.served is not None and item.served.busiest_thread is not None
        ]
        in_client = any(item.in_client for item in used)
        yield Used(treatment, values, disk, _commonest(threads), in_client)


def _with_devices(used: Resources, disk: str, link: str) -> Resources:
    """The same with this disk and interface alone, so that medians are of one device."""
    return replace(
        used,
        disks=tuple(item for item in used.disks if item.device == disk),
        links=tuple(item for item in used.links if item.interface == link),
    )


def _commonest(names: Sequence[str]) -> str:
    return max(dict.fromkeys(names), key=names.count, default="")


def document(used: Sequence[Used]) -> JsonObject:
    """As plain JSON, by treatment: values in the units of `loadcell.model.metrics.Metric.kind`."""
    return {item.treatment.id: dict(item.values) for item in used}
