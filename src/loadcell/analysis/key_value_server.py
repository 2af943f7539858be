"""Activity of a key-value server at each treatment: rates, hits, memory, evictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.server import measured, ratio
from loadcell.analysis.treatments import Treatment
from loadcell.store.frames import Frame

#: What is divided by the time it was counted in: of samples whose time lies in the measurement from their
#: beginning on. The first one that is taken in a measurement counts from before it, when the server may have
#: had nothing to do.
_RATES = ("elapsed_s", "commands", "cpu_s")
_SUMS = ("hits", "misses", "evicted_keys", "expired_keys", "forks")
_MOST = ("used_memory_bytes", "rss_bytes", "fragmentation", "clients")

EVICTED_NOTHING = FindingCode(
    "found.server.evicted-nothing", Subject.EFFECTS, "caution", (Concern.TRUST, 30), settings=list
)


@dataclass(frozen=True)
class KeyValueServed:
    """One treatment's values, over all trials that count; None where the server did not tell, rates also
    where no sample began and ended in a measurement.

    `cpu` is in processors; memory, fragmentation and clients are the highest that were seen; `saving_share`
    is the share of the looks at which it was writing its data to disk.
    """

    treatment: Treatment
    commands_per_s: float | None
    hit_share: float | None
    cpu: float | None
    used_memory_bytes: float | None
    fragmentation: float | None
    evicted_keys: int | None
    expired_keys: int
    clients: int | None
    saving_share: float


def by_treatment(
    samples: Frame, saving_columns: Sequence[str], treatments: Iterable[Treatment]
) -> tuple[KeyValueServed, ...]:
    """Values of each treatment that was watched, from the samples of a `KeyValueTable`."""
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
    for name in saving_columns:
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
            KeyValueServed(
                treatment,
                commands_per_s=ratio(row.get("commands"), row.get("elapsed_s")),
                hit_share=ratio(hits, looked_up),
                cpu=ratio(row.get("cpu_s"), row.get("elapsed_s")),
                used_memory_bytes=row.get("used_memory_bytes"),
                fragmentation=row.get("fragmentation"),
                evicted_keys=None if (evicted := row.get("evicted_keys")) is None else round(evicted),
                expired_keys=round(row.get("expired_keys", 0)),
                clients=None if clients is None else int(clients),
                saving_share=row["saving"],
            )
        )
    return tuple(served)


def findings(served: Sequence[KeyValueServed], eviction_settings: Sequence[str]) -> Iterator[Finding]:
    """A remark if treatments differ in how the server evicts keys, and none was evicted."""
    if len(served) < 2 or any(item.evicted_keys != 0 for item in served):
        return
    paths = dict.fromkeys(
        path
        for item in served
        for path in item.treatment.values
        if path.rpartition(".")[2] in eviction_settings
    )
    differing = [path for path in paths if len({str(item.treatment.values.get(path)) for item in served}) > 1]
    if differing:
        names = tuple(path.rpartition(".")[2] for path in differing)
        yield EVICTED_NOTHING.finding(tuple(item.treatment.id for item in served), settings=names)
