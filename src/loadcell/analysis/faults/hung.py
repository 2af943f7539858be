"""Clients with a request in progress for more than 1 s."""

from __future__ import annotations

import numpy as np

from loadcell.analysis.faults.completions import Numbers, SlowRequests
from loadcell.model.fault_judgement import HungClients

#: A client hangs from the moment on at which its request has been in progress for so long.
HUNG_AFTER_S = 1.0


def hung_clients(slow: SlowRequests, clients: int, begin_s: float, end_s: float) -> HungClients:
    """The hung clients between two instants: most of them at once, and their longest request."""
    changes = over_time(slow, begin_s, end_s)
    number = int(max(changes[:, 1], default=0))
    inside = (slow.start_s + HUNG_AFTER_S < end_s) & (slow.end_s > begin_s)
    inside &= slow.end_s - slow.start_s > HUNG_AFTER_S
    longest_s = float(np.max(slow.end_s[inside] - slow.start_s[inside], initial=0.0))
    return HungClients(number, number / clients if clients else 0.0, longest_s)


def over_time(slow: SlowRequests, begin_s: float, end_s: float) -> Numbers:
    """Rows of an instant and the number of hung clients from then on; none without hung clients."""
    spans: dict[int, list[tuple[float, float]]] = {}
    since = np.maximum(slow.start_s + HUNG_AFTER_S, begin_s)
    until = np.minimum(slow.end_s, end_s)
    for client, begin, end in zip(slow.client.tolist(), since.tolist(), until.tolist(), strict=True):
        if begin < end:
            spans.setdefault(client, []).append((begin, end))
    changes: list[tuple[float, int]] = []
    for of_client in spans.values():
        latest = -np.inf
        for begin, end in sorted(of_client):
            # several requests of one client hang at once: it counts once
            if end > latest:
                changes += [(max(begin, latest), 1), (end, -1)]
                latest = end
    if not changes:
        return np.zeros((0, 2))
    table = np.array(sorted(changes), np.float64)
    table[:, 1] = np.cumsum(table[:, 1])
    return table
