"""Aggregates of monitors' samples in a trial: means, maxima and sums of columns.

Pure: a frame in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadcell.analysis.series import reduced
from loadcell.model.panels import Reduction
from loadcell.store.frames import Frame

#: Figure -> column and how its samples are put together, of the machine ...
HOST: Mapping[str, tuple[str, Reduction]] = {
    "cpu-mean": ("cpu_busy_percent", "mean"), "cpu-max": ("cpu_busy_percent", "max"), "iowait": ("cpu_iowait_percent", "mean"),
    "steal": ("cpu_steal_percent", "mean"), "disk-read": ("disk_read_bytes_per_s", "mean"),
    "disk-write": ("disk_write_bytes_per_s", "mean"), "disk-busy": ("disk_util_max_percent", "max"),
    "received": ("net_rx_bytes_per_s", "mean"), "sent": ("net_tx_bytes_per_s", "mean"),
}  # fmt: skip
#: ... and of a JVM.
JVM: Mapping[str, tuple[str, Reduction]] = {
    "young-gcs": ("young_gcs", "sum"), "young-gc-ms": ("young_gc_ms", "sum"), "full-gcs": ("full_gcs", "sum"),
    "full-gc-ms": ("full_gc_ms", "sum"), "concurrent-gcs": ("concurrent_gcs", "sum"),
    "concurrent-gc-ms": ("concurrent_gc_ms", "sum"), "old": ("old_percent", "max"), "metaspace": ("metaspace_percent", "max"),
    "heap": ("heap_used_bytes", "max"),
}  # fmt: skip


def by_trial(samples: Frame, metrics: Mapping[str, tuple[str, Reduction]]) -> dict[str, dict[str, float]]:
    """Each trial's metrics by name; those without a value are left out."""
    columns = {name: column for name, column in metrics.items() if samples.has_values(column[0])}
    if not columns:
        return {}
    groups = samples.groups("trial")
    values = {
        name: reduced(groups, kind, samples.numbers(column)) for name, (column, kind) in columns.items()
    }
    return {
        str(trial): {name: float(of[group]) for name, of in values.items() if not np.isnan(of[group])}
        for group, trial in enumerate(samples.text("trial")[groups.first].tolist())
    }
