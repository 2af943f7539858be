"""Metrics of numbered writes, by two sets: acknowledged writes and a final read (monitor `writes`)."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Direction, declare

#: The monitor that writes, in plans.
MONITOR: Final = "writes"
ACKNOWLEDGED: Final = "acknowledged_writes"
LOST: Final = "lost_writes"
UNCERTAIN: Final = "uncertain_writes"
RECOVERED: Final = "recovered_writes"
UNEXPECTED: Final = "unexpected_writes"

_BETTER: dict[str, Direction] = {
    ACKNOWLEDGED: "neither",
    LOST: "lower",
    UNCERTAIN: "lower",
    RECOVERED: "neither",
    UNEXPECTED: "lower",
}
#: All of them, in the order of the report, which has a table of them.
KEYS: Final = tuple(_BETTER)

for _key, _better in _BETTER.items():
    declare(
        _key,
        "count",
        MessageCode(f"metric-meaning.{_key}", "info")(),
        _better,
        additive=False,
        per_group=False,
    )
