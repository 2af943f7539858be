"""Series that nobody measured: noise that remembers, warm-ups, trends, and dips, from a seed."""

from __future__ import annotations

import numpy as np

from loadcell.stats.energy import Array


def noise(chance: np.random.Generator, n: int, alike: float = 0.0, sd: float = 0.05) -> Array:
    """`n` values round 0 of standard deviation `sd`, neighbours correlated by `alike`
    (first-order process).
    """
    steps = chance.normal(0, sd * np.sqrt(1 - alike**2), n)
    values = np.empty(n)
    values[0] = chance.normal(0, sd)
    for i in range(1, n):
        values[i] = alike * values[i - 1] + steps[i]
    return values


def throughput(chance: np.random.Generator, n: int, alike: float = 0.3, sd: float = 0.03) -> Array:
    """A steady series round 1000."""
    return 1000 * (1 + noise(chance, n, alike, sd))


def warming(chance: np.random.Generator, n: int, depth: float, tau: float) -> Array:
    """A series that begins `depth` below its level and nears it with time constant `tau`."""
    curve: Array = 1 - depth * np.exp(-np.arange(n) / tau)
    return curve * throughput(chance, n)


def dipping(
    chance: np.random.Generator, n: int, period: int, length: int, depth: float, first: int = 40
) -> Array:
    """A series that falls by `depth` for `length` values every `period`."""
    places = np.arange(n)
    inside = ((places - first) % period < length) & (places >= first)
    return np.where(inside, 1 - depth, 1.0) * throughput(chance, n)
