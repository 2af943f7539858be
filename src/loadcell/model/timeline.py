"""Timeline of a load under faults, as the engine reports it: completions in slots, and slow requests.

Instants are nanoseconds from the start of the measurement; those of the warm-up are negative.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Length of a slot.
SLOT_NS = 10_000_000
#: Outcome of a slow request that succeeded; of others it is the code of the error.
SUCCEEDED = "ok"


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots with completions, in order; a value of each column per slot.

    `first_ns` and `last_ns` are instants of successes, None without one. `response_ns` are pairs of an upper
    limit of response times and a number of successes, `errors` of an error code and a number of failures.
    """

    start_ns: tuple[int, ...] = ()
    succeeded: tuple[int, ...] = ()
    errors: tuple[tuple[tuple[str, int], ...], ...] = ()
    first_ns: tuple[int | None, ...] = ()
    last_ns: tuple[int | None, ...] = ()
    slowest_ns: tuple[int, ...] = ()
    response_ns: tuple[tuple[tuple[int, int], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SlowRequest:
    """A request with a service time of 1 s or more, or one in progress at the end of the load."""

    client: int
    intended_ns: int
    start_ns: int
    end_ns: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Timeline of a client group; the only one has no name."""

    group: str = ""
    slots: Slots = field(default_factory=Slots)
    slow: tuple[SlowRequest, ...] = ()
