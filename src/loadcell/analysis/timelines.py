"""What was recorded of a trial over time, on one even grid: throughput, and whatever may explain it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadcell.stats.energy import Array

if TYPE_CHECKING:
    import polars as pl

#: An interval shorter than this share of the usual length is a remainder, whose rate is mostly chance.
WHOLE = 0.5
#: A record with a larger share of the measurement missing is not judged as a series.
MOST_MISSING = 0.02


@dataclass(frozen=True)
class Timeline:
    """The measured part of one trial: value i is the throughput from `i` to `i + 1` times `step_s` after its start."""

    trial: str
    step_s: float
    throughput: Array

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.step_s * self.throughput.size

    def on_grid(self, t_s: Array, values: Array) -> Array:
        """Samples taken at `t_s` (each standing for the time that ended there) as means on the same grid; NaN without any."""
        places = np.ceil(t_s / self.step_s).astype(int) - 1
        inside = (places >= 0) & (places < self.throughput.size) & np.isfinite(values)
        count = np.bincount(places[inside], minlength=self.throughput.size)
        total = np.bincount(places[inside], weights=values[inside], minlength=self.throughput.size)
        means: Array = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
        return means

    def place_of(self, t_s: float) -> float:
        """Where on the grid an instant lies; it may be outside."""
        return t_s / self.step_s


def of_trials(intervals: pl.DataFrame) -> dict[str, Timeline]:
    """The timeline of every trial whose intervals are even and (nearly) all there."""
    import polars as pl

    if not {"trial", "phase", "operation", "t_s", "duration_s", "throughput_per_s"} <= set(intervals.columns):
        return {}
    measured = (
        intervals.filter((pl.col("operation") == "transaction") & (pl.col("phase") == "measure"))
        .select("trial", "t_s", "duration_s", "throughput_per_s")
        .drop_nulls()
        .sort("trial", "t_s")
    )
    begin, lengths, rates = (
        measured[column].to_numpy() for column in ("t_s", "duration_s", "throughput_per_s")
    )
    counts = measured.group_by("trial", maintain_order=True).len()
    found, at = {}, 0
    for trial, count in counts.iter_rows():
        own = slice(at, at + count)
        timeline = _timeline(trial, begin[own], lengths[own], rates[own])
        if timeline is not None:
            found[trial] = timeline
        at += count
    return found


def _timeline(trial: str, begin: Array, lengths: Array, rates: Array) -> Timeline | None:
    step_s = float(np.median(lengths))
    whole = (lengths >= WHOLE * step_s) & np.isfinite(rates)
    if step_s <= 0 or not whole.any():
        return None
    spanned = float(begin[whole][-1] - begin[whole][0]) + step_s
    if whole.sum() * step_s < (1 - MOST_MISSING) * spanned:
        return None
    return Timeline(trial, step_s, np.ascontiguousarray(rates[whole]))


def samples_of(frame: pl.DataFrame, columns: Mapping[str, str]) -> dict[str, dict[str, tuple[Array, Array]]]:
    """Trial -> name -> (t_s, values) of those of `columns` (name -> column) that a monitor's samples have."""
    import polars as pl

    present = {name: column for name, column in columns.items() if column in frame.columns}
    if not present or "t_s" not in frame.columns:
        return {}
    found: dict[str, dict[str, tuple[Array, Array]]] = {}
    wanted = frame.select("trial", "t_s", *present.values()).filter(pl.col("t_s").is_not_null())
    for key, own in wanted.partition_by("trial", as_dict=True).items():
        times = own["t_s"].to_numpy()
        found[str(key[0])] = {
            name: (times, own[column].cast(pl.Float64).fill_null(float("nan")).to_numpy())
            for name, column in present.items()
        }
    return found
