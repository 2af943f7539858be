"""The client's own lateness in response times: how wrong a p99 may be that passes the check. Simulated with
fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loadcell.model.latency import MOST_LATE, late_in_tail, tail_lateness
from loadcell.stats.energy import Array
from truth.assertions import at_least, at_most

REQUESTS = 200_000
#: Service times of mean or median 1 ms.
SERVICE: dict[str, Callable[[np.random.Generator], Array]] = {
    "exponential": lambda chance: chance.exponential(1, REQUESTS),
    "nearly constant": lambda chance: chance.normal(1, 0.02, REQUESTS),
    "log-normal": lambda chance: np.exp(chance.normal(0, 1, REQUESTS)),
}


def everyone_late(chance: np.random.Generator, scale_ms: float) -> Array:
    """All requests a little late, as on a slow client."""
    return chance.exponential(scale_ms / 4.6, REQUESTS)


def stalls(chance: np.random.Generator, scale_ms: float) -> Array:
    """Two of a hundred requests become due while the client does not run."""
    return np.where(chance.random(REQUESTS) < 0.02, chance.random(REQUESTS) * 2 * scale_ms, 0.0)


def values(times_ms: Array) -> dict[str, float | None]:
    return {
        "count": times_ms.size,
        "p95_ms": float(np.quantile(times_ms, 0.95)),
        "p99_ms": float(np.quantile(times_ms, 0.99)),
    }


@pytest.mark.parametrize("kind", SERVICE)
@pytest.mark.parametrize("lateness", [everyone_late, stalls], ids=["everyone late", "stalls"])
def test_a_p99_that_passes_is_nearly_that_of_the_target(
    kind: str, lateness: Callable[[np.random.Generator, float], Array]
) -> None:
    """By the mean alone, stalls passed that made p99 27 to 490 % too high."""
    chance = np.random.default_rng(20261123)
    passed, caught = [], []
    for scale in np.geomspace(0.01, 10, 30):
        service = SERVICE[kind](chance)
        true = float(np.quantile(service, 0.99))
        late = lateness(chance, scale * true)
        response = values(service + late)
        too_high = (response["p99_ms"] or 0.0) / true - 1
        (caught if late_in_tail(values(late), response) else passed).append(too_high)
        tail = tail_lateness(values(late), response)
        assert tail is not None
        assert bool(late_in_tail(values(late), response)) == (
            tail["late_ms"] > MOST_LATE * tail["response_ms"]
        )
    title = f"p99 of {kind} service, {lateness.__name__.replace('_', ' ')}: too high by"
    at_most(f"{title} (passed, worst)", max(passed), 0.07)
    at_least(f"{title} (caught, worst)", max(caught), 1.0)
