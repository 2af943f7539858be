"""What a Redis did and held at each treatment, out of the samples of its monitor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.waits import measured

#: What is divided by the time it was counted in: of samples whose time lies in the measurement from their beginning on. The first
#: one that is taken in a measurement counts from before it, when the server may have had nothing to do.
_RATES = ("elapsed_s", "commands", "cpu_s")
_SUMS = ("hits", "misses", "evicted_keys", "expired_keys", "forks")
_MOST = ("used_memory_bytes", "rss_bytes", "fragmentation", "clients")


@dataclass(frozen=True)
class RedisServed:
    """One treatment's figures, over all trials that count; None where the server did not tell, rates also where no sample began and
    ended in a measurement.

    `cpu` is in processors; memory, fragmentation and clients are the highest that were seen; `saving_share` is the share
    of the looks at which it was writing its data to disk.
    """

    treatment: Treatment
    commands_per_s: float | None
    hit_share: float | None
    cpu: float | None
    used_memory_bytes: float | None
    fragmentation: float | None
    evicted_keys: int
    expired_keys: int
    clients: int | None
    saving_share: float


def by_treatment(samples: pl.DataFrame, treatments: Iterable[Treatment]) -> tuple[RedisServed, ...]:
    """The figures of each treatment that was watched."""
    treatments = tuple(treatments)
    if samples.is_empty():
        return ()
    there = set(samples.columns)
    known = [name for name in (*_RATES, *_SUMS, *_MOST) if name in there and samples[name].count()]
    whole = pl.col("t_s") >= pl.col("elapsed_s") if "elapsed_s" in there else pl.lit(False)
    saving = pl.max_horizontal(
        [pl.col(name).fill_null(0) > 0 for name in ("rdb_saving", "aof_rewriting") if name in there]
        or [pl.lit(False)]
    )
    frame = (
        measured(samples, treatments)
        .group_by("treatment")
        .agg(
            *(pl.col(name).filter(whole).sum() for name in known if name in _RATES),
            *(pl.col(name).sum() for name in known if name in _SUMS),
            *(pl.col(name).max() for name in known if name in _MOST),
            saving.mean().alias("saving"),
        )
    )
    rows = {row["treatment"]: row for row in frame.iter_rows(named=True)}
    found = []
    for treatment in treatments:
        row = rows.get(treatment.id)
        if row is None:
            continue
        hits, misses = row.get("hits"), row.get("misses")
        looked_up = None if hits is None or misses is None else hits + misses
        clients = row.get("clients")
        found.append(
            RedisServed(
                treatment,
                commands_per_s=_ratio(row.get("commands"), row.get("elapsed_s")),
                hit_share=_ratio(hits, looked_up),
                cpu=_ratio(row.get("cpu_s"), row.get("elapsed_s")),
                used_memory_bytes=row.get("used_memory_bytes"),
                fragmentation=row.get("fragmentation"),
                evicted_keys=int(row.get("evicted_keys") or 0),
                expired_keys=int(row.get("expired_keys") or 0),
                clients=None if clients is None else int(clients),
                saving_share=float(row["saving"] or 0.0),
            )
        )
    return tuple(found)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
