"""Metrics of the resources that a trial used: for expectations, comparisons, histories and queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Direction, Kind, declare
from loadcell.model.resources import Resources


@dataclass(frozen=True)
class ResourceMetric:
    """A metric by its key; `path` leads to its value in `Resources`, in the unit of its kind.

    Of a target within the client's process it is that of the process, which does the work of both.
    """

    key: str
    kind: Kind
    path: tuple[str, ...]
    better: Direction

    def value(self, used: Resources) -> float | None:
        """The value of a trial; None where it is not known."""
        value: object = used
        for name in ("served" if name == "target" else name for name in self.path):
            value = None if value is None else getattr(value, name)
        return float(value) if isinstance(value, int | float) else None


_DECLARED: list[ResourceMetric] = []


def _declare(key: str, kind: Kind, path: str, better: Direction = "neither") -> None:
    meaning = MessageCode(f"metric-meaning.{key}", "info")
    declare(key, kind, meaning(), better, per_group=False)
    _DECLARED.append(ResourceMetric(key, kind, tuple(path.split(".")), better))


# Less is better where it is a cost of the work: CPU and memory of the target, waiting, swapping.
_declare("host.cpu", "share", "host.cpu.busy")
_declare("host.cpu.max", "share", "host.cpu_max")
_declare("host.core.max", "share", "host.busiest_core")
_declare("host.context_switches", "rate", "host.context_switches_per_s")
_declare("host.memory.available", "size", "host.memory_available_bytes", "higher")
_declare("host.memory.bandwidth", "bandwidth", "host.memory_traffic_bytes_per_s")
_declare("host.swap", "bandwidth", "host.swap_bytes_per_s", "lower")
_declare("target.cpu", "share", "target.cores", "lower")
_declare("target.cpu.max", "share", "target.cores_max", "lower")
_declare("target.thread.max", "share", "target.busiest_thread.cpu")
_declare("target.memory", "size", "target.memory_max_bytes", "lower")
_declare("client.cores", "count", "client.cores", "lower")
_declare("client.cores.max", "count", "client.cores_max", "lower")
_declare("disk.utilisation", "share", "disk.utilisation")
_declare("disk.queue", "count", "disk.queue")
_declare("disk.await", "time", "disk.await_ms", "lower")
_declare("disk.read", "bandwidth", "disk.read_bytes_per_s")
_declare("disk.write", "bandwidth", "disk.write_bytes_per_s")
_declare("net.received", "bandwidth", "link.received_bytes_per_s")
_declare("net.sent", "bandwidth", "link.sent_bytes_per_s")
_declare("pressure.cpu", "share", "host.pressure.cpu", "lower")
_declare("pressure.io", "share", "host.pressure.io", "lower")
_declare("pressure.memory", "share", "host.pressure.memory", "lower")

METRICS: Final = tuple(_DECLARED)


def metric_values(used: Resources | None) -> Mapping[str, float]:
    """Values of the metrics that a trial has, by key; empty without resources."""
    if used is None:
        return {}
    values = {metric.key: metric.value(used) for metric in METRICS}
    return {key: value for key, value in values.items() if value is not None}
