"""What monitors' samples come to in a trial: means, maxima and sums of columns. Pure: a frame in, figures out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

How = Literal["mean", "max", "sum"]

#: Figure -> column and how its samples are put together, of the machine ...
HOST: Mapping[str, tuple[str, How]] = {
    "cpu-mean": ("cpu_busy_percent", "mean"), "cpu-max": ("cpu_busy_percent", "max"), "iowait": ("cpu_iowait_percent", "mean"),
    "steal": ("cpu_steal_percent", "mean"), "disk-read": ("disk_read_bytes_per_s", "mean"),
    "disk-write": ("disk_write_bytes_per_s", "mean"), "disk-busy": ("disk_util_max_percent", "max"),
    "received": ("net_rx_bytes_per_s", "mean"), "sent": ("net_tx_bytes_per_s", "mean"),
}  # fmt: skip
#: ... and of a JVM.
JVM: Mapping[str, tuple[str, How]] = {
    "young-gcs": ("young_gcs", "sum"), "young-gc-ms": ("young_gc_ms", "sum"), "full-gcs": ("full_gcs", "sum"),
    "full-gc-ms": ("full_gc_ms", "sum"), "concurrent-gcs": ("concurrent_gcs", "sum"),
    "concurrent-gc-ms": ("concurrent_gc_ms", "sum"), "old": ("old_percent", "max"), "metaspace": ("metaspace_percent", "max"),
    "heap": ("heap_used_bytes", "max"),
}  # fmt: skip


def by_trial(samples: pl.DataFrame, figures: Mapping[str, tuple[str, How]]) -> dict[str, dict[str, float]]:
    """Each trial's figures by name; those without a value are left out."""
    if samples.is_empty():
        return {}
    known = {
        name: one for name, one in figures.items() if one[0] in samples.columns and samples[one[0]].count()
    }
    if not known:
        return {}
    wanted = [_figure(column, how).alias(name) for name, (column, how) in known.items()]
    found = samples.group_by("trial", maintain_order=True).agg(wanted)
    return {
        str(row["trial"]): {name: float(row[name]) for name in known if row[name] is not None}
        for row in found.iter_rows(named=True)
    }


def _figure(column: str, how: How) -> pl.Expr:
    values = pl.col(column)
    if how == "sum":  # of nothing it would be 0, which is another thing than not known
        return pl.when(values.count() > 0).then(values.sum())
    return values.mean() if how == "mean" else values.max()
