"""Time that judging a trial takes: 100 faults within an hour of 1,000 requests per second."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from bench.paired import keep, note, spread

sys.path.insert(0, "tests")
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.timeline import SLOT_NS, Slots, Timeline

FAULTS, EVERY_S, FOR_S, PER_SLOT = 100, 36, 1, 10


def timeline() -> Timeline:
    """Successes evenly within slots, of response times in 20 classes; none while a fault lasts."""
    random = np.random.default_rng(1)
    begins = [number * EVERY_S + 20 for number in range(FAULTS)]
    down = {slot for begin in begins for slot in range(begin * 100, (begin + FOR_S) * 100)}
    slots = [slot for slot in range(FAULTS * EVERY_S * 100) if slot not in down]
    counts = random.poisson(PER_SLOT, len(slots)) + 1
    starts = [slot * SLOT_NS for slot in slots]
    responses = tuple(
        tuple((int(limit), 1) for limit in random.integers(1, 21, count) * 100_000) for count in counts
    )
    return Timeline(
        slots=Slots(
            tuple(starts),
            tuple(int(count) for count in counts),
            ((),) * len(slots),
            tuple(start + 100_000 for start in starts),
            tuple(start + 9_900_000 for start in starts),
            (2_000_000,) * len(slots),
            responses,
        )
    )


def fault(number: int) -> FaultRecord:
    """A fault at its time."""
    at_s = float(number * EVERY_S + 20)
    applied, undone = (Instants(instant, instant, instant) for instant in (at_s, at_s + FOR_S))
    return FaultRecord("hang", "server", "undone", applied, undone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    recorded, faults = timeline(), [fault(number) for number in range(FAULTS)]
    merging, judging = [], []
    for _ in range(rounds):
        began = time.process_time()
        completions = Completions.of([recorded], float(FAULTS * EVERY_S))
        merged = time.process_time()
        judgements = judge(faults, completions, 8)
        judging.append(time.process_time() - merged)
        merging.append(merged - began)
        assert all(judgement.effect is not None for judgement in judgements)
    note(f"an hour of slots as arrays: {spread(merging)} s; {FAULTS} faults judged: {spread(judging)} s")
    result = {"faults": FAULTS, "arrays_cpu_s": spread(merging), "judge_cpu_s": spread(judging)}
    keep("fault_judgement", f"python -m bench.fault_judgement --rounds {rounds}", result)


if __name__ == "__main__":
    main()
