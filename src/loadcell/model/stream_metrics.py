"""Metrics of a load of streams, by the names that the engine reports them by."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Direction, Kind, declare

RUN_TIME: Final = "stream.run_time"
SENT: Final = "stream.sent"
SENT_BYTES: Final = "stream.sent_bytes"
BLOCKED_TIME: Final = "stream.blocked_time"
BLOCKED_SHARE: Final = "stream.blocked_share"
UNACKNOWLEDGED_MAX: Final = "stream.unacknowledged.max"
UNACKNOWLEDGED_MEAN: Final = "stream.unacknowledged.mean"
OUTSTANDING_MAX: Final = "stream.outstanding.max"
LOST: Final = "stream.lost"
DUPLICATED: Final = "stream.duplicated"
LATE: Final = "stream.late"
REORDERED: Final = "stream.reordered"
UNKNOWN: Final = "stream.unknown"
OVERACKNOWLEDGED: Final = "stream.overacknowledged"
RESULTS: Final = "stream.results"

_KINDS: Final[dict[str, tuple[Kind, Direction]]] = {
    RUN_TIME: ("time", "lower"),
    SENT: ("count", "neither"),
    SENT_BYTES: ("size", "neither"),
    BLOCKED_TIME: ("time", "neither"),
    BLOCKED_SHARE: ("share", "neither"),
    UNACKNOWLEDGED_MAX: ("size", "neither"),
    UNACKNOWLEDGED_MEAN: ("size", "neither"),
    OUTSTANDING_MAX: ("count", "neither"),
    LOST: ("count", "lower"),
    DUPLICATED: ("count", "lower"),
    LATE: ("count", "lower"),
    REORDERED: ("count", "lower"),
    UNKNOWN: ("count", "lower"),
    OVERACKNOWLEDGED: ("count", "lower"),
    RESULTS: ("count", "neither"),
}
#: All of them; the report has tables of their own for them.
KEYS: Final = tuple(_KINDS)
#: What a service may do wrong with records.
FAULTY: Final = (LOST, DUPLICATED, LATE, REORDERED, UNKNOWN, OVERACKNOWLEDGED)
#: Those of them that are no failed records.
WRONG_ANSWERS: Final = FAULTY[1:]

for _key, (_kind, _better) in _KINDS.items():
    declare(_key, _kind, MessageCode(f"metric-meaning.{_key}", "info")(), _better, per_group=False)
