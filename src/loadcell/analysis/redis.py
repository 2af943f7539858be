"""Activity and state of a Redis at each treatment, from the samples of its monitor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.waits import measured
from loadcell.store.frames import Frame

#: What is divided by the time it was counted in: of samples whose time lies in the measurement from their
#: beginning on. The first one that is taken in a measurement counts from before it, when the server may have
#: had nothing to do.
_RATES = ("elapsed_s", "commands", "cpu_s")
_SUMS = ("hits", "misses", "evicted_keys", "expired_keys", "forks")
_MOST = ("used_memory_bytes", "rss_bytes", "fragmentation", "clients")


@dataclass(frozen=True)
class RedisServed:
    """One treatment's figures, over all trials that count; None where the server did not tell, rates also
    where no sample began and
    ended in a measurement.

    `cpu` is in processors; memory, fragmentation and clients are the highest that were seen; `saving_share`
    is the share of the looks at which it was writing its data to disk.
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


def by_treatment(samples: Frame, treatments: Iterable[Treatment]) -> tuple[RedisServed, ...]:
    """Values of each treatment that was watched."""
    treatments = tuple(treatments)
    frame = measured(samples, treatments)
    if not len(frame):
        return ()
    groups = frame.groups("treatment")
    complete = frame.numbers("t_s") >= frame.numbers("elapsed_s") if frame.has("elapsed_s") else False
    columns = {}
    for name in (*_RATES, *_SUMS, *_MOST):
        if samples.has_values(name):
            values = frame.numbers(name)
            if name in _RATES:
                columns[name] = groups.sum(np.where(complete, values, 0.0))
            else:
                columns[name] = groups.sum(values) if name in _SUMS else groups.max(values)
    saving = np.zeros(len(frame))
    for name in ("rdb_saving", "aof_rewriting"):
        if frame.has(name):
            saving[frame.numbers(name) > 0] = 1.0
    columns["saving"] = groups.mean(saving)
    rows = {
        treatment: {
            name: value for name, values in columns.items() if (value := float(values[group])) == value
        }
        for group, treatment in enumerate(frame.text("treatment")[groups.first].tolist())
    }
    served = []
    for treatment in treatments:
        row = rows.get(treatment.id)
        if row is None:
            continue
        hits, misses = row.get("hits"), row.get("misses")
        looked_up = None if hits is None or misses is None else hits + misses
        clients = row.get("clients")
        served.append(
            RedisServed(
                treatment,
                commands_per_s=_ratio(row.get("commands"), row.get("elapsed_s")),
                hit_share=_ratio(hits, looked_up),
                cpu=_ratio(row.get("cpu_s"), row.get("elapsed_s")),
                used_memory_bytes=row.get("used_memory_bytes"),
                fragmentation=row.get("fragmentation"),
                evicted_keys=round(row.get("evicted_keys", 0)),
                expired_keys=round(row.get("expired_keys", 0)),
                clients=None if clients is None else int(clients),
                saving_share=row["saving"],
            )
        )
    return tuple(served)


def _ratio(part: float | None, total: float | None) -> float | None:
    return None if part is None or not total else part / total
