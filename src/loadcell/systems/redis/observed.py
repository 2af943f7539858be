"""What a Redis shows to monitors: where it is."""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.systems.redis.connection import Address


@dataclass(frozen=True)
class Observed:
    """`address` is for a session of the monitor's own."""

    address: Address
