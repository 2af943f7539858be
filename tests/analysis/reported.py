"""Values that no tool of ours produced, from two published performance reports: what an analysis must cope
with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.runs import run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.model.latency import Latency
from records import with_field

#: pgbench on three storages: clients -> (mean response time in ms, transactions/s), one measurement each.
STORAGES: Mapping[str, Mapping[int, tuple[float, float]]] = {
    "curve": {
        16: (4.712, 3393.83), 32: (6.382, 5014.27), 64: (9.817, 6513.94), 128: (17.554, 7289.05),
        256: (36.463, 6920.91),
    },
    "ceph": {
        16: (3.027, 5285.65), 32: (4.318, 7411.27), 64: (6.519, 9816.15), 128: (13.958, 9167.86),
        256: (26.835, 9535.27),
    },
    "curve-striped": {
        16: (2.410, 6639.28), 32: (3.687, 8677.54), 64: (5.912, 10824.06), 128: (11.012, 11620.58),
        256: (26.581, 9625.85),
    },
}  # fmt: skip

#: A stream of a million records: (retained records, rules, threads) -> seconds, one measurement each.
STREAM: Mapping[tuple[int, int, int], float] = {
    (200_000, 1, 1): 21, (200_000, 1, 4): 24, (200_000, 10, 1): 46, (200_000, 10, 4): 23,
    (500_000, 1, 1): 22, (500_000, 1, 4): 26, (500_000, 10, 1): 79, (500_000, 10, 4): 22,
}  # fmt: skip
RECORDS = 1_000_000


def storages() -> Analysis:
    """The three storages as one run."""
    throughputs: dict[str, Sequence[float | None]] = {}
    levels: dict[str, dict[str, Any]] = {}
    means: dict[str, float] = {}
    for storage, line in STORAGES.items():
        for clients, (mean_ms, throughput) in line.items():
            name = f"storage={storage},clients={clients}"
            throughputs[name] = [throughput]
            levels[name] = {"storage": storage, "load.clients": clients}
            means[name] = mean_ms
    run, records = run_of(throughputs, levels=levels)
    return analyse(
        run,
        [with_field(record, "totals.response", Latency(1000, means[record.treatment])) for record in records],
    )


def stream() -> Analysis:
    """The stream as one run: its throughput is records per second."""
    names = {cell: f"retained={cell[0]},rules={cell[1]},threads={cell[2]}" for cell in STREAM}
    factors = ("engine.retained_records", "engine.rules", "engine.threads")
    return analyse(
        *run_of(
            {names[cell]: [RECORDS / seconds] for cell, seconds in STREAM.items()},
            levels={names[cell]: dict(zip(factors, cell, strict=True)) for cell in STREAM},
        )
    )
