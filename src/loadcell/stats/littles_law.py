"""Little's law of one load: the mean number of requests in the system is throughput times response time.

In a closed loop each of N clients is always in a transaction, or rests, so `N = X (R + Z)` (Little 1961; the
interactive response-time law of Denning and Buzen 1978). In an open loop N is the time average of the
requests that were due and not answered, and `N = X R`.
"""

from __future__ import annotations

from dataclasses import dataclass

#: What clocks and rounding may hide; the edges of the window come on top.
TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class LittlesLaw:
    """`expected` is N and `measured` is X (R + Z); `tolerance` is a share of `expected`."""

    expected: float
    measured: float
    tolerance: float
    holds: bool


def judge(
    expected: float, measured: float, edges: float, *, pipeline: int = 1, absent: float = 0.0
) -> LittlesLaw:
    """The law of a load with `expected` clients, or requests in the system of an open loop.

    A client that was between two transactions at an edge of the window is in no response time, for at most
    the longest one: `edges` is that time as a share of `expected` over the window. Nor is a client without a
    connection: `absent` is the mean number of these. Where each client sends up to `pipeline` requests at
    once,
    the last answer to a batch is its end: the measured number lies between `expected` and that many times as
    much.
    """
    tolerance = TOLERANCE + edges
    holds = expected * (1 - tolerance) - absent <= measured <= expected * (1 + tolerance) * pipeline
    return LittlesLaw(expected, measured, tolerance, holds)
