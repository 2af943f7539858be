"""The GlusterFS under the target's data: progress of rebalance and heal, and contents of bricks.

All questions have time limits: a management daemon that does not answer costs samples, never the trial.
"""

from __future__ import annotations

import contextlib
import os
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from loadcell.model.message import Message, MessageCode
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.plan.parts import Options
from loadcell.systems.base import TargetError
from loadcell.systems.gluster.monitor_rows import (
    HEAL_TABLE,
    PROGRESS_TABLE,
    Forecast,
    heal_rows,
    progress_rows,
)
from loadcell.systems.gluster.storage import Gluster
from loadcell.systems.gluster.volume import NAME, Brick, Volume

NO_STORAGE = MessageCode("gluster.monitor-no-storage", "caution")
UNANSWERED = MessageCode("gluster.monitor-unanswered", "caution")

#: Each look starts several programs.
_INTERVAL_S = 2.0
_LIMIT_S = 3.0
#: Inner data of GlusterFS in a brick: links to the same files.
_INNER = ".glusterfs"
#: How long the files of all bricks may be counted at the end.
_COUNT_LIMIT_S = 2.0


class GlusterMonitorOptions(Options):
    """The gluster monitor has nothing to set."""


class GlusterMonitor(Monitor[GlusterMonitorOptions]):
    """Asks the management plane every 2 s, and counts files and descriptors of the bricks."""

    name = "gluster"
    summary = "the GlusterFS under the target's data: rebalance, heal, and bricks with files and descriptors"
    Options = GlusterMonitorOptions
    by_default = False
    table = PROGRESS_TABLE
    tables: ClassVar[Mapping[str, SampleTable]] = {
        "heal": HEAL_TABLE,
        "bricks": SampleTable("gluster-bricks", (
            "brick", "host", "running", "open_descriptors", "files", "size_bytes",
        )),
    }  # fmt: skip

    def __init__(
        self,
        options: GlusterMonitorOptions,
        context: MonitorContext,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(options, context)
        self._monotonic = monotonic
        storage = context.storage
        self._volume: Volume | None = storage.volume if isinstance(storage, Gluster) else None
        self._further: dict[str, list[Row]] = {}
        self._unanswered = 0
        self._looked = False
        self._files: dict[str, int] = {}
        self._heal = Forecast()

    @property
    def interval_ns(self) -> int:
        return round(_INTERVAL_S * 1e9)

    def sample(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002
        if self._volume is None:
            return []
        first, self._looked = not self._looked, True
        rows = self._look(self._volume, count=first)
        if first:
            for row in self._further["bricks"]:
                node = f"host-{row['host']}"
                self._files[node] = self._files.get(node, 0) + row.get("files", 0)
        return rows

    def finish(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002
        if self._volume is not None:
            self._further["bricks"] = self._bricks(self._volume, count=True)
        return []

    def further_rows(self) -> Mapping[str, list[Row]]:
        rows, self._further = self._further, {}
        return rows

    def remarks(self) -> Sequence[tuple[Message, int]]:
        if self._volume is None:
            return [(NO_STORAGE(), 1)]
        return [(UNANSWERED(), self._unanswered)] if self._unanswered else []

    def _look(self, volume: Volume, *, count: bool) -> list[Row]:
        self._further["bricks"] = self._bricks(volume, count=count)
        rows = self._progress(volume)
        if volume.options.replica > 1:
            summary = self._ask(volume, "heal", NAME, "info", "summary")
            self._further["heal"] = heal_rows(summary, self._heal, self._monotonic())
        return rows

    def _progress(self, volume: Volume) -> list[Row]:
        """Rows of the removal of bricks or the rebalance of this trial."""
        if volume.removing:
            places = [volume.brick(number).location for number in volume.removing]
            answer = self._ask(volume, "remove-brick", NAME, *places, "status")
            return progress_rows(answer, "remove-brick", self._files)
        if volume.rebalanced:
            return progress_rows(self._ask(volume, "rebalance", NAME, "status"), "rebalance", self._files)
        return []

    def _ask(self, volume: Volume, *words: str) -> ET.Element:
        try:
            return volume.command_line.ask_again("volume", *words, limit_s=_LIMIT_S)
        except TargetError:  # a fault may have stopped what answers; another command may have the volume
            self._unanswered += 1
            return ET.Element("none")

    def _bricks(self, volume: Volume, *, count: bool) -> list[Row]:
        deadline = self._monotonic() + _COUNT_LIMIT_S
        rows = []
        for brick in volume.bricks:
            pids = volume.brick_processes(brick)
            row: Row = {
                "brick": brick.number,
                "host": brick.host,
                "running": len(pids),
                "open_descriptors": sum(_open_files(pid, brick) for pid in pids),
            }
            if count and (contents := _contents(brick.path, lambda: self._monotonic() > deadline)):
                row["files"], row["size_bytes"] = contents
            rows.append(row)
        return rows


def _open_files(pid: int, brick: Brick) -> int:
    """Descriptors of a process on files of a brick."""
    inside = f"{brick.path}/"
    number = 0
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                path = str(Path(entry.path).readlink())
                # names of inner data alone: files are opened by their links there
                number += path.startswith(inside) and _is_data(path.removeprefix(inside))
    return number


def _is_data(path: str) -> bool:
    """True for a file, also by its link `.glusterfs/ab/cd/...`; false for files of GlusterFS itself."""
    first, _, inner = path.partition("/")
    return first != _INNER or (len(inner) > 2 and inner[2] == "/")


def _contents(path: Path, late: Callable[[], bool]) -> tuple[int, int] | None:
    """Files of a brick and their allocated size in bytes; None if it takes too long."""
    files = size = 0
    for root, directories, names in os.walk(path):
        if late():
            return None
        if Path(root) == path and _INNER in directories:
            directories.remove(_INNER)
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(f"{root}/{name}")
                files, size = files + 1, size + status.st_blocks * 512
    return files, size


PART = GlusterMonitor
