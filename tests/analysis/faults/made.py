"""Timelines of a known server: one queue with a constant service time, under constant or random arrivals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from loadcell.analysis.faults.completions import Completions
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.timeline import SLOT_NS, Slots, SlowRequest, Timeline


def timeline(
    successes: Sequence[tuple[float, float]],
    failures: Sequence[tuple[float, str]] = (),
    slow: Sequence[SlowRequest] = (),
) -> Timeline:
    """A timeline of successes (instant, response time) and failures (instant, code), in seconds."""
    by_slot: dict[int, list[tuple[int, int]]] = defaultdict(list)
    errors: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for at_s, response_s in successes:
        at_ns = round(at_s * 1e9)
        by_slot[at_ns // SLOT_NS].append((at_ns, round(response_s * 1e9)))
    for at_s, code in failures:
        errors[round(at_s * 1e9) // SLOT_NS].append((code, 1))
    numbers = sorted(by_slot.keys() | errors.keys())
    rows = [sorted(by_slot.get(number, ())) for number in numbers]
    return Timeline(
        slots=Slots(
            tuple(number * SLOT_NS for number in numbers),
            tuple(len(row) for row in rows),
            tuple(tuple(errors.get(number, ())) for number in numbers),
            tuple(row[0][0] if row else None for row in rows),
            tuple(row[-1][0] if row else None for row in rows),
            tuple(max((response for _, response in row), default=0) for row in rows),
            tuple(tuple((response, 1) for _, response in row) for row in rows),
        ),
        slow=tuple(slow),
    )


def queue(
    arrivals_s: Sequence[float],
    service_s: float,
    stopped: Callable[[float], float] = lambda at_s: at_s,
) -> list[tuple[float, float]]:
    """Instants and response times of a queue with one server; `stopped` moves an instant within a stop to its
    end.
    """
    done, free_s = [], 0.0
    for at_s in arrivals_s:
        begin_s = stopped(max(at_s, free_s))
        free_s = stopped(begin_s + service_s)
        done.append((free_s, free_s - at_s))
    return done


def stop(at_s: float, for_s: float) -> Callable[[float], float]:
    """Service stops at an instant for a time."""
    return lambda instant_s: at_s + for_s if at_s <= instant_s < at_s + for_s else instant_s


def constant(rate_per_s: float, until_s: float) -> list[float]:
    """Arrivals at a constant rate."""
    return [number / rate_per_s for number in range(int(until_s * rate_per_s))]


def poisson(rate_per_s: float, until_s: float, seed: int = 1) -> list[float]:
    """Arrivals of a Poisson process."""
    steps = np.random.default_rng(seed).exponential(1 / rate_per_s, int(until_s * rate_per_s * 1.3) + 50)
    times = np.cumsum(steps)
    return [float(time) for time in times[times < until_s]]


def completions(successes: Sequence[tuple[float, float]], until_s: float) -> Completions:
    """The completions of a measurement."""
    return Completions.of([timeline([pair for pair in successes if pair[0] < until_s])], until_s)


def fault(at_s: float, for_s: float | None = None) -> FaultRecord:
    """A fault that is applied and undone at once at its times."""
    undone = None if for_s is None else Instants(at_s + for_s, at_s + for_s, at_s + for_s)
    return FaultRecord(
        "hang", "server", "applied" if for_s is None else "undone", Instants(at_s, at_s, at_s), undone
    )
