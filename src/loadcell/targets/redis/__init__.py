"""Redis as a target, and what speaks as it does: a server run by loadcell from the machine's binaries, or one that stands already."""

from __future__ import annotations

from loadcell.targets.redis.options import RedisOptions
from loadcell.targets.redis.target import Redis

PART = Redis

__all__ = ["PART", "Redis", "RedisOptions"]
