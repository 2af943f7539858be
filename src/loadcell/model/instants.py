"""Instants as text."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_text(nanoseconds: int | None = None) -> str:
    """An instant (default: now) as ISO 8601 with microseconds and Z."""
    nanoseconds = time.time_ns() if nanoseconds is None else nanoseconds
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction // 1000:06d}Z"
