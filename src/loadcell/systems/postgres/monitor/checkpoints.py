"""Checkpoints, as the server's counters tell of them: when one began and why, when it was done and what it
wrote.

A checkpoint is counted when it begins; its times are added when all is written and synced.
"""

from __future__ import annotations

from loadcell.monitors.base import Row

_REASONS = {"checkpoints_timed": "timed", "checkpoints_requested": "requested"}


class Checkpoints:
    """Turns differences into events."""

    def __init__(self) -> None:
        self._buffers = 0

    def events(self, row: Row) -> list[Row]:
        """Events of a row of differences: `checkpoint` (with `reason`), `checkpoint-end` (with `write_s`,
        `sync_s`, `buffers`).
        """
        events: list[Row] = []
        for column, reason in _REASONS.items():
            if row.get(column):
                events.append({"event": "checkpoint", "reason": reason})
                self._buffers = 0
        self._buffers += row.get("checkpoint_buffers") or 0
        write_ms, sync_ms = row.get("checkpoint_write_ms") or 0.0, row.get("checkpoint_sync_ms") or 0.0
        if write_ms > 0 or sync_ms > 0 or row.get("checkpoints_done"):
            events.append(
                {
                    "event": "checkpoint-end",
                    "write_s": write_ms / 1e3,
                    "sync_s": sync_ms / 1e3,
                    "buffers": self._buffers,
                }
            )
            self._buffers = 0
        return events
