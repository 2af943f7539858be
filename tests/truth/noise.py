"""Series of completions with the noise of a real load: blocks of a recorded timeline in random order.

`timeline-noise.txt` has for each slot of 10 ms the number of successes of an open loop of 1,000 Poisson
arrivals per second on PostgreSQL (sysbench oltp_point_select with 8 clients, 40 s).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.timeline import SLOT_NS, Slots, Timeline

FIXTURE = Path(__file__).with_name("timeline-noise.txt")
#: Blocks of one second keep what neighbouring slots have in common.
BLOCK = 100
AT_S, FOR_S, SECONDS = 15.0, 5.0, 40


def effects_of_noise(series: int) -> list[str | None]:
    """Effects in a number of series without any."""
    recorded = np.array(FIXTURE.read_text().split(), np.int64)
    random = np.random.default_rng(7)
    effects: list[str | None] = []
    for _ in range(series):
        starts = random.integers(0, len(recorded) - BLOCK, SECONDS)
        counts = np.concatenate([recorded[start : start + BLOCK] for start in starts])
        applied, undone = Instants(AT_S, AT_S, AT_S), Instants(AT_S + FOR_S, AT_S + FOR_S, AT_S + FOR_S)
        fault = FaultRecord("hang", "server", "undone", applied, undone)
        (judgement,) = judge([fault], Completions.of([_timeline(counts)], SECONDS), 8)
        effects.append(judgement.effect)
    return effects


def _timeline(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Timeline:
    """Successes evenly within each slot, all with one response time."""
    filled = np.flatnonzero(counts).tolist()
    number = [int(counts[slot]) for slot in filled]
    return Timeline(
        slots=Slots(
            tuple(slot * SLOT_NS for slot in filled),
            tuple(number),
            ((),) * len(filled),
            tuple(
                slot * SLOT_NS + SLOT_NS // (2 * count) for slot, count in zip(filled, number, strict=True)
            ),
            tuple(
                (slot + 1) * SLOT_NS - SLOT_NS // (2 * count)
                for slot, count in zip(filled, number, strict=True)
            ),
            (1_000_000,) * len(filled),
            tuple(((1_000_000, count),) for count in number),
        )
    )
