"""Rows of the gluster monitor from answers of the management plane, with forecasts of the time left."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.gluster.hosts import NETWORK

PROGRESS_TABLE = SampleTable(
    "gluster",
    (
        "node", "task", "status", "files", "size_bytes", "scanned", "failures", "skipped", "run_time_s",
        "files_per_s", "left_s",
    ), text=frozenset({"node", "task", "status"}),
)  # fmt: skip
HEAL_TABLE = SampleTable(
    "gluster-heal", ("brick", "status", "entries", "split_brain", "files_per_s", "left_s"),
    text=frozenset({"status"}),
)  # fmt: skip

_NODE = re.compile(rf"{re.escape(NETWORK)}\.(\d+)")
_BRICK = re.compile(r"brick-(\d+)$")
_IN_PROGRESS = "in progress"
#: Samples that a rate of healing is measured over.
_SAMPLES = 6


@dataclass
class Forecast:
    """Rate at which entries become fewer, over the last samples."""

    _seen: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_SAMPLES))

    def rate(self, now_s: float, entries: int) -> float | None:
        """Entries per second; None while there are none, or as long as they do not become fewer."""
        self._seen.append((now_s, entries))
        (then_s, before), (now_s, now) = self._seen[0], self._seen[-1]
        return (before - now) / (now_s - then_s) if now < before and now_s > then_s else None


def progress_rows(answer: ET.Element, task: str, files: Mapping[str, int]) -> list[Row]:
    """A row for each node of a status, `localhost` being the first host.

    `files` are those of each node at the start: scanned ones in proportion to these give the time left.
    """
    rows = []
    for node in answer.iter("node"):
        match = _NODE.fullmatch(node.findtext("nodeName") or "")
        name = f"host-{match[1] if match else 1}"
        run_time_s = float(node.findtext("runtime") or 0)
        scanned, moved = int(node.findtext("lookups") or 0), int(node.findtext("files") or 0)
        status = node.findtext("statusStr") or ""
        row: Row = {
            "node": name,
            "task": task,
            "status": status,
            "files": moved,
            "size_bytes": int(node.findtext("size") or 0),
            "scanned": scanned,
            "failures": int(node.findtext("failures") or 0),
            "skipped": int(node.findtext("skipped") or 0),
            "run_time_s": run_time_s,
            "files_per_s": moved / run_time_s if run_time_s > 0 else None,
        }
        if status != _IN_PROGRESS:
            row["left_s"] = 0.0
        elif scanned and run_time_s > 0 and name in files:
            row["left_s"] = max(0, files[name] - scanned) * run_time_s / scanned
        rows.append(row)
    return rows


def heal_rows(answer: ET.Element, forecast: Forecast, now_s: float) -> list[Row]:
    """A row for each brick of a heal summary; rate and time left are those of the whole volume."""
    rows: list[Row] = []
    for brick in answer.iter("brick"):
        match = _BRICK.search(brick.findtext("name") or "")
        rows.append(
            {
                "brick": int(match[1]) if match else None,
                "status": brick.findtext("status") or "",
                "entries": _number(brick.findtext("totalNumberOfEntries")),
                "split_brain": _number(brick.findtext("numberOfEntriesInSplitBrain")),
            }
        )
    counts = [row["entries"] for row in rows if row["entries"] is not None]
    if counts:
        entries = sum(counts)
        rate = forecast.rate(now_s, entries)
        for row in rows:
            row["files_per_s"] = rate
            row["left_s"] = 0.0 if not entries else None if rate is None else entries / rate
    return rows


def _number(text: str | None) -> int | None:
    """A number; None for the `-` of a brick that is not connected."""
    return int(text) if text and text.isdigit() else None
